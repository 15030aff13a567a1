"""What a user asks of `tune`: the table ``[tune]`` of a file of settings, and options, checked once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from masktron.config import Config, Grouping
from masktron.declared import (
    HOW,
    Integer,
    MaybeInteger,
    Settings,
    Shape,
    Taken,
    Trust,
    declared_in,
    require,
    setting,
    with_commas,
)
from masktron.declared import integer as whole
from masktron.errors import UsageError
from masktron.figures import NAMES, Group, figure_of
from masktron.jobs.limits import refuse_only_assessed
from masktron.jobs.search.axes import Ways, pram_ways, recode_ways, swap_rates
from masktron.perturbation_settings import located_pram, matrices_named, moved_matrices
from masktron.problems.problem import Known
from masktron.recoding_settings import FromHierarchy, how_of, moved_hierarchies, resolved
from masktron.setting_values import Param
from masktron.settings_file import read_toml, require_beside

BUDGET = 600.0
"""Seconds that a run may take where nobody says otherwise."""
SEEDS = 3
"""Runs of a candidate that draws."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
type _Names = str | list[str] | tuple[str, ...]
type _Sizes = str | int | list[int] | tuple[int, ...]


type _Moving = Callable[[str, Path], Path]


def _moved(
    each: Callable[[Mapping[str, str], _Moving], Mapping[str, str]], ways: Ways, moved: _Moving
) -> dict[str, Any]:
    """Return ways with other files, given what returns one with another file."""
    return {name: tuple(each({name: how}, moved)[name] for how in own) for name, own in ways.items()}


def _listed(given: Any) -> tuple[Any, ...]:
    """Return what a list, or a text with commas, has, each once."""
    values = with_commas("", [given]) if isinstance(given, str) else given
    flat = isinstance(values, list | tuple) and not any(isinstance(one, list | tuple | dict) for one in values)
    require(flat, "a list of plain values", given)
    return tuple(dict.fromkeys(values))


def _names(given: _Names) -> tuple[str, ...]:
    for one in _listed(given):
        require(isinstance(one, str) and one, "names", one)
    return _listed(given)


def _methods(given: _Names) -> tuple[str, ...]:
    found = _names(given)
    if found:
        from masktron.methods import method_named  # noqa: PLC0415 -- loads all methods

        return tuple(method_named(name).name for name in found)
    return ()


def _among(what: str, listed: Callable[[], Iterable[str]], given: _Names) -> tuple[Any, ...]:
    found = _names(given)
    for name in found:
        _known(what, name, listed())
    return found


def _all_aggregators() -> list[str]:
    from masktron.aggregators import ALL  # noqa: PLC0415 -- loads all aggregators

    return [one.name for one in ALL]


def _sizes(given: _Sizes) -> tuple[int, ...]:
    """Read sizes of groups: whole numbers from 2."""
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int) else given
    try:
        sizes = [int(one) if isinstance(one, str) else whole(one) for one in _listed(parts)]
    except ValueError:
        sizes = [0]
    require(all(one >= 2 for one in sizes), "whole numbers of at least 2", given, "such as 3,5,10")
    return tuple(dict.fromkeys(sizes))


def _grid(given: Any) -> dict[str, dict[str, tuple[Param, ...]]]:
    require(
        isinstance(given, Mapping) and all(isinstance(own, Mapping) for own in given.values()),
        "a table METHOD = { NAME = [values] }",
        given,
        "for example [tune.params.noise] with c = [0.1, 0.3]",
    )
    if not given:
        return {}
    from masktron.methods import method_named  # noqa: PLC0415 -- loads all methods

    return {
        method_named(method).name: {
            key: tuple(tuple(one) if isinstance(one, list) else one for one in own)
            if isinstance(own, list | tuple)
            else (own,)
            for key, own in table.items()
        }
        for method, table in given.items()
    }


def seconds_of(text: str | float) -> float:
    """Read a time: seconds, or a number with ``s``, ``m`` or ``h`` behind it.

    Raises
    ------
    UsageError
        It is none, or not above 0.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smh]?)", str(text).strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        expected = "a time above 0 such as 90s, 10m or 1h"
        raise UsageError.of("bad-value", name="budget", expected=expected, given=repr(text))
    return seconds


class TuneSettings(Settings):
    """What is to be tried, and how long.

    Attributes
    ----------
    methods : tuple of str
        Methods to try; those that suit most files where none is named.
    k : tuple of int
        Smallest groups to try; 3, 5, 10 and 20 and that of the settings where none is named.
    least : int
        The k that the settings name, below which none is tried that nobody asked for; 0 where they name none.
    wider : tuple of str
        Limits that the command has wider than the settings, as sentences for the notes.
    groupings : tuple of str
        ``rules`` or ``all``, or both where none is named.
    aggregators : tuple of str
        Aggregators to ask for by name, beside the least loss that decides.
    params : mapping of str to mapping
        For a method the values of its parameters that are tried, by name: ``{"noise": {"c": (0.1, 0.3)}}``.
    recode : mapping of str to tuple of str
        For a key the ways to recode it that are tried, beside leaving it alone: ``{"AGE": ("width:5",)}``.
    key_k : tuple of int
        Records that share each combination of keys, by local suppression, tried beside suppressing nothing.
    pram : mapping of str to tuple of str
        For a key, or ``AGE+STATUS``, the ways to draw it anew that are tried, beside not drawing it:
        ``{"REGION": ("change:0.1",)}``.
    swap_rate : tuple of float
        Rates at which records are swapped, as the settings say all else, tried beside not swapping.
    class_fields : tuple of str
        Fields with the class of each record, for methods that need one.
    risk, utility : str or None
        Figures that are the axes.
    budget : float
        Seconds.
    workers : int or None
        Processes that try candidates; as many as there are cores, at most 4, where nobody says. 0 for the process
        that was called, which ends a candidate that takes too long where it next tells of its progress, not at once.
    seeds : int
        Runs of each candidate that draws.
    sample : int or None
        Records of the sample on which a larger file is compared first; 0 for none.
    """

    # fmt: off
    methods: Taken[tuple[str, ...], _Names] = setting(
        "Methods to try, with commas between: see masktron methods.",
        HOW, converter=_methods, default=(), metavar="NAMES", shown="those that suit most files", page="methods",
        form=Shape.VALUE,
    )
    k: Taken[tuple[int, ...], _Sizes] = setting(
        "Smallest groups to try.",
        HOW, converter=_sizes, default=(), short="-k", metavar="N,N", shown="3,5,10,20", page="tuning",
        form=Shape.VALUE,
    )
    least: int = 0
    wider: tuple[str, ...] = ()
    groupings: Taken[tuple[Grouping, ...], _Names] = setting(
        "Groupings to try.",
        HOW, converter=partial(_among, "grouping", lambda: ("rules", "all")), default=(), option="--grouping",
        metavar="rules,all", shown="both", page="methods", form=Shape.VALUE,
    )
    aggregators: Taken[tuple[str, ...], _Names] = setting(
        "Aggregators to ask for, beside the one that loses least.",
        HOW, converter=partial(_among, "aggregator", _all_aggregators), default=(), option="--aggregator",
        metavar="NAMES", page="methods", form=Shape.VALUE,
    )
    params: Taken[Mapping[str, Mapping[str, tuple[Param, ...]]], Any] = setting(
        "Values of parameters to try, by method.", converter=_grid, factory=dict, option="", form=Shape.VALUE
    )
    recode: Taken[Ways, Any] = setting(
        "Try a key recoded so, beside leaving it as it is: AGE=width:5, AGE=age.csv:2; also several ways for "
        "one field.",
        HOW, converter=recode_ways, factory=dict, metavar="FIELD=HOW", form=Shape.LIST, page="recoding",
        trust=Trust(files=partial(_moved, moved_hierarchies), instead="--recode {}=FILE:LEVEL"),
    )
    key_k: Taken[tuple[int, ...], _Sizes] = setting(
        "Try keys suppressed until N records share each combination, beside suppressing nothing.",
        HOW, converter=_sizes, default=(), metavar="N,N", page="suppression", form=Shape.VALUE,
    )
    pram: Taken[Ways, Any] = setting(
        "Try a key drawn anew so, beside leaving it as it is: REGION=change:0.1, SEX=sex.csv; AGE+STATUS are "
        "drawn together; also several ways for one field.",
        HOW, converter=pram_ways, factory=dict, metavar="FIELD=HOW", form=Shape.LIST, page="pram",
        trust=Trust(files=partial(_moved, moved_matrices), instead="--pram {}=FILE"),
    )
    swap_rate: Taken[tuple[float, ...], Any] = setting(
        "Try records swapped at these rates, from 0 to 1, as [swap] in settings says all else, beside not "
        "swapping.",
        HOW, converter=swap_rates, default=(), metavar="N,N", page="swapping", form=Shape.VALUE,
    )
    class_fields: Taken[tuple[str, ...], _Names] = setting(
        "Fields with the class of each record, for methods that need one.",
        HOW, converter=_names, default=(), option="--class", metavar="FIELDS", form=Shape.VALUE,
    )
    risk: str | None = setting(
        "The risk on the map.",
        HOW, converter=lambda name: _axis(name, "risk"), default=None, metavar="FIGURE", shown="disclosure_risk",
        page="tuning",
    )
    utility: str | None = setting(
        "The loss on the map.",
        HOW, converter=lambda name: _axis(name, "utility"), default=None, metavar="FIGURE", shown="pil",
        page="tuning",
    )
    budget: Taken[float, str | float] = setting(
        "What the run may take: 90s, 10m, 1h.",
        HOW, converter=seconds_of, default=BUDGET, metavar="TIME", shown="10m", page="tuning",
    )
    seeds: Integer = setting(
        "Runs of a candidate that draws.", HOW, default=SEEDS, least=1, page="tuning"
    )
    sample: MaybeInteger = setting(
        "Compare larger files on so many records first; 0 for all.",
        HOW, default=None, shown="21000, of more than 50000", least=0, page="tuning",
    )
    workers: MaybeInteger = setting(
        "Processes that try candidates, each with the file in memory; 0: this one. No figure depends on it.",
        HOW, default=None, shown="the number of cores, at most 4", least=0, page="workers",
    )
    # fmt: on

    def read(self, wishes: Mapping[str, object]) -> Self:
        """Return a copy in which options that are there replace what was asked for.

        Parameters
        ----------
        wishes : mapping of str to value
            By the keys of the table ``[tune]``: None for what was not given, texts with commas for lists.

        Raises
        ------
        UsageError
            One of them is wrong.
        """
        given: dict[str, Any] = {_field(name): value for name, value in wishes.items() if value is not None}
        return replace(self, **given)


def tune_settings_in(path: Path, *, named: bool = True) -> TuneSettings:
    """Read the table ``[tune]`` of a file of settings, which the user has named or not.

    Raises
    ------
    UsageError
        It has an unknown key or a wrong value; or a file that nobody named names one outside its folder.
    """
    table = read_toml(path)
    k = table.get("k", 0)
    asked = tune_settings_from(table.get("tune", {}), f"{path}: [tune]")
    # a path in a file of settings starts at its folder
    ways = {name: tuple(resolved(how, path.parent) for how in own) for name, own in asked.recode.items()}
    pram = {name: tuple(located_pram(how, path.parent) for how in own) for name, own in asked.pram.items()}
    found = replace(asked, recode=ways, pram=pram, least=k if isinstance(k, int) else 0)
    if not named:
        require_beside(found, path, ("tune",))
    return found


def hierarchies_in(config: Config, asked: TuneSettings) -> list[tuple[str, FromHierarchy]]:
    """Return the hierarchies by which fields are recoded, in the settings and in what is asked for."""
    ways = [*((name, (how,)) for name, how in config.recode.items()), *asked.recode.items()]
    found = [(name, how_of(f"recode.{name}", how)) for name, own in ways for how in own]
    return [(name, how) for name, how in found if isinstance(how, FromHierarchy)]


def matrices_in(config: Config, asked: TuneSettings) -> list[tuple[str, Path]]:
    """Return the matrices by which fields are drawn anew, in the settings and in what is asked for."""
    ways = [*((name, (how,)) for name, how in config.pram.items()), *asked.pram.items()]
    return [one for name, own in ways for how in own for one in matrices_named({name: how})]


def wider_limits(own: Mapping[str, float], asked: Mapping[str, float]) -> tuple[str, ...]:
    """Say which limits of settings a command has widened, with both bounds."""
    return tuple(
        f"the limit {name} of this run is {asked[name]:g}, wider than that of the settings, {bound:g}"
        for name, bound in own.items()
        if name in asked and figure_of(name).meets(asked[name], bound) is False
    )


def tune_settings_from(table: object, where: str = "") -> TuneSettings:
    """Build what is asked for from plain data: the keys are those of `TuneSettings`, and ``class``.

    Raises
    ------
    UsageError
        It is no table, or has an unknown key or a wrong value.
    """
    if not isinstance(table, Mapping):
        raise UsageError.of("bad-value", where, name="tune", expected="a table NAME = value", given=repr(table))
    known = ["class" if name == _field("class") else name for name in declared_in(TuneSettings)]
    settings: dict[str, Any] = {}
    try:
        for name, value in table.items():
            _known("setting of tune", name, known)
            settings[_field(name)] = value
        return TuneSettings(**settings)
    except UsageError as error:
        error.at(where)
        raise


def _field(name: str) -> str:
    """Return the attribute of a key: ``class`` is a word of Python."""
    return "class_fields" if name == "class" else name


def _axis(name: str, group: Group) -> str:
    """Refuse what is no figure of this side of the map."""
    require(isinstance(name, str), "the name of a figure", name)
    _known("figure", name, NAMES)
    figure = figure_of(str(name))
    if figure.group != group and not (group == "risk" and figure.group == "contract"):
        own = tuple(one for one in NAMES if figure_of(one).group == group)
        raise UsageError.of("unknown-name", kind=f"figure of {group}", name=name, known=Known("", own))
    refuse_only_assessed(name)
    return name


def _known(what: str, name: object, names: Iterable[str]) -> None:
    listed = tuple(names)
    if name not in listed:
        raise UsageError.of("unknown-name", kind=what, name=str(name), known=Known(str(name), listed))
