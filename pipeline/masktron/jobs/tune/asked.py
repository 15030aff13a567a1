"""What a user asks of `tune`: the table ``[tune]`` of a file of settings, and options, checked once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from masktron.aggregators import ALL as AGGREGATORS
from masktron.config import Config, Grouping, Param, did_you_mean, read_toml, require_beside
from masktron.errors import UsageError
from masktron.figures import NAMES, Group, figure_of
from masktron.jobs.tune.axes import pram_ways, recode_ways, swap_rates
from masktron.methods import method_named
from masktron.perturbation_settings import located_pram, matrices_named, moved_matrices
from masktron.recoding_settings import FromHierarchy, how_of, moved_hierarchies, resolved
from masktron.trust import HARMLESS, declared, trust_of

BUDGET = 600.0
"""Seconds that a run may take where nobody says otherwise."""
SEEDS = 3
"""Runs of a candidate that draws."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_GROUPINGS = ("rules", "all")
_AXES: Mapping[str, Callable[[object], object]] = {
    "recode": recode_ways,
    "pram": pram_ways,
    "swap_rate": swap_rates,
}


def _hierarchies(ways: Mapping[str, tuple[str, ...]], moved: Callable[[str, Path], Path]) -> dict[str, Any]:
    return {name: tuple(moved_hierarchies({name: how}, moved)[name] for how in own) for name, own in ways.items()}


def _matrices(ways: Mapping[str, tuple[str, ...]], moved: Callable[[str, Path], Path]) -> dict[str, Any]:
    return {name: tuple(moved_matrices({name: how}, moved)[name] for how in own) for name, own in ways.items()}


@dataclass(frozen=True, slots=True)
class TuneSettings:
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

    methods: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    k: tuple[int, ...] = field(default=(), metadata=HARMLESS)
    least: int = 0
    wider: tuple[str, ...] = ()
    groupings: tuple[Grouping, ...] = field(default=(), metadata=HARMLESS)
    aggregators: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    params: Mapping[str, Mapping[str, tuple[Param, ...]]] = field(default_factory=dict, metadata=HARMLESS)
    recode: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata=declared(files=_hierarchies, option="--recode {}=FILE:LEVEL")
    )
    key_k: tuple[int, ...] = field(default=(), metadata=HARMLESS)
    pram: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata=declared(files=_matrices, option="--pram {}=FILE")
    )
    swap_rate: tuple[float, ...] = field(default=(), metadata=HARMLESS)
    class_fields: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    risk: str | None = field(default=None, metadata=HARMLESS)
    utility: str | None = field(default=None, metadata=HARMLESS)
    budget: float = field(default=BUDGET, metadata=HARMLESS)
    workers: int | None = field(default=None, metadata=HARMLESS)
    seeds: int = field(default=SEEDS, metadata=HARMLESS)
    sample: int | None = field(default=None, metadata=HARMLESS)

    def __post_init__(self) -> None:
        for name in self.methods:
            method_named(name)
        for k in self.k:
            _whole("k", k, 2)
        for key_k in self.key_k:
            _whole("key_k", key_k, 2)
        for name in self.groupings:
            _known("grouping", name, _GROUPINGS)
        for name in self.aggregators:
            _known("aggregator", name, [one.name for one in AGGREGATORS])
        for name in self.params:
            method_named(name)
        if self.risk is not None:
            _axis(self.risk, "risk")
        if self.utility is not None:
            _axis(self.utility, "utility")
        number = isinstance(self.budget, int | float) and not isinstance(self.budget, bool)
        _require(
            number and 0 < self.budget < math.inf,
            f"budget must be a time above 0, not {self.budget!r}",
            "for example 90s, 10m or 1h",
        )
        _whole("seeds", self.seeds, 1)
        if self.workers is not None:
            _whole("workers", self.workers, 0)
        if self.sample is not None:
            _whole("sample", self.sample, 0)

    def read(self, wishes: Mapping[str, object]) -> TuneSettings:
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
        given = {name: value for name, value in wishes.items() if value is not None}
        return replace(self, **{_field(name): _read(name, value) for name, value in given.items()})


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
        raise UsageError("tune must be a table NAME = value", where=where)
    known = ["class" if name == _field("class") else name for name in trust_of(TuneSettings)]
    settings: dict[str, Any] = {}
    try:
        for name, value in table.items():
            _known("setting of tune", name, known)
            settings[_field(name)] = _read(name, value)
        return TuneSettings(**settings)
    except UsageError as error:
        raise UsageError(error.what, where=where, hint=error.hint) from error


def seconds_of(text: str | float) -> float:
    """Read a time: seconds, or a number with ``s``, ``m`` or ``h`` behind it.

    Raises
    ------
    UsageError
        It is none, or not above 0.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smh]?)", str(text).strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    _require(seconds > 0, f"budget must be a time above 0, not {text!r}", "for example 90s, 10m or 1h")
    return seconds


def _field(name: str) -> str:
    """Return the attribute of a key: ``class`` is a word of Python."""
    return "class_fields" if name == "class" else name


def _read(name: str, value: Any) -> Any:
    """Read a value of the table, or the text of an option."""
    if name == "budget":
        return seconds_of(value)
    if name in ("k", "key_k"):
        return _sizes(name, value)
    if name in _AXES:
        return _AXES[name](value)
    if name == "params":
        return _grid(value)
    if name in ("methods", "groupings", "aggregators", "class"):
        names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        for one in _sequence(name, names):
            _require(isinstance(one, str) and bool(one), f"{name} must be names, not {one!r}")
        return _sequence(name, names)
    if name in ("risk", "utility"):
        _require(isinstance(value, str), f"{name} must be the name of a figure, not {value!r}")
    return value


def _sizes(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, str):
        return _sequence(name, [value] if isinstance(value, int) else value)
    try:
        return tuple(dict.fromkeys(int(part) for part in value.split(",")))
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise UsageError(
            f"{name} must be whole numbers with commas between, not {value!r}", hint=f"for example {option} 3,5,10"
        ) from None


def _grid(value: object) -> dict[str, dict[str, tuple[Param, ...]]]:
    _require(
        isinstance(value, Mapping) and all(isinstance(own, Mapping) for own in value.values()),
        "tune.params must be a table METHOD = { NAME = [values] }",
        "for example [tune.params.noise] with c = [0.1, 0.3]",
    )
    assert isinstance(value, Mapping)  # noqa: S101 -- it is, and mypy is told so
    return {
        method: {
            key: tuple(tuple(one) if isinstance(one, list) else one for one in own)
            if isinstance(own, list | tuple)
            else (own,)
            for key, own in table.items()
        }
        for method, table in value.items()
    }


def _sequence(name: str, value: object) -> tuple[Any, ...]:
    _require(isinstance(value, list | tuple), f"{name} must be a list, not {value!r}")
    assert isinstance(value, Sequence)  # noqa: S101 -- it is
    return tuple(dict.fromkeys(value))


def _axis(name: object, group: Group) -> None:
    """Refuse what is no figure of this side of the map."""
    _known("figure", name, NAMES)
    figure = figure_of(str(name))
    own = [one for one in NAMES if figure_of(one).group == group]
    _require(
        figure.group == group or (group == "risk" and figure.group == "contract"),
        f"{name} is a figure of {figure.group}, not of {group}",
        f"one of {', '.join(own)}",
    )
    _require("class" not in figure.needs, f"{name} needs a class, which only assess is told", "take another figure")
    _require(
        "earlier" not in figure.needs,
        f"{name} needs an earlier release, and only assess is told of one",
        "take another figure; masktron assess --against EARLIER shows this one",
    )


def _whole(name: str, value: object, least: int) -> None:
    fine = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _require(fine, f"{name} must be a whole number of at least {least}, not {value!r}")


def _known(what: str, name: object, names: Iterable[str]) -> None:
    listed = list(names)
    _require(name in listed, f"unknown {what} {name!r}", did_you_mean(str(name), listed))


def _require(condition: bool, what: str, hint: str = "") -> None:
    if not condition:
        raise UsageError(what, hint=hint)
