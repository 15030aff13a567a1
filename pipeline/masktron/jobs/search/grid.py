"""Which candidates there are: methods x k x grouping x aggregator x parameters x treatments of keys.

Few and different ones stand first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from masktron.config import Config, Grouping, config_from
from masktron.errors import UsageError
from masktron.jobs.search.asked import TuneSettings
from masktron.jobs.search.axes import unlike_pram
from masktron.methods import method_named
from masktron.methods.base import Method, Partitioning
from masktron.problems.problem import Setting
from masktron.recoding_settings import resolved
from masktron.results import TuneCandidate
from masktron.results.tune import KeyTreatment
from masktron.setting_values import Param

NO_WAYS: Mapping[str, str] = MappingProxyType({})
SIZES = (3, 5, 10, 20)
"""Smallest groups that are tried where nobody names any: what agencies use, and one beyond."""


_ROUNDS: tuple[tuple[tuple[str, Mapping[str, Param]], ...], ...] = (
    (
        ("mdav", {}),
        ("noise", {}),
        ("microhybrid", {}),
        ("ipso", {}),
    ),
    (
        ("muralidhar_sarathy", {}),
        ("sequential", {}),
        ("hybrid_micro", {}),
        ("noise", {"c": 0.5}),
        ("muralidhar_sarathy", {"alpha": 0.5}),
    ),
)
"""What is tried of the methods that suit most files of numbers, in the order of rounds; the sizes come between."""
_CATEGORIES: tuple[tuple[str, Mapping[str, Param]], ...] = (("cart", {}), ("latent_class", {}))
"""Methods that draw categories, where some are masked."""
_WITH_CLASS: tuple[tuple[str, Mapping[str, Param]], ...] = (("crest", {}), ("camp_crest", {}))
"""Methods that need the class of each record, where it is named."""


def candidates(config: Config, asked: TuneSettings, *, numbers: bool, categories: bool) -> tuple[TuneCandidate, ...]:
    """Return the candidates in the order in which they are tried: useful wherever it ends.

    What the settings say stands first. Then one of each kind of method, then other sizes of groups, then what
    differs less. Each is tried with each treatment of keys: first what is early in both orders.

    Parameters
    ----------
    config : Config
    asked : TuneSettings
    numbers, categories : bool
        Whether fields of this kind are masked.
    """
    made = _Grid(config, asked)
    found = list(made.named() if asked.methods else made.usual(numbers=numbers, categories=categories))
    first: list[TuneCandidate] = []
    for one in (*made.present(), *found):
        if one not in first:
            first.append(one)
    return tuple(one.treating(keys) for one, keys in in_turn(first, treatments_tried(config, asked)))


class _Grid:
    """Makes candidates of what was asked for."""

    def __init__(self, config: Config, asked: TuneSettings) -> None:
        self._config = config
        self._asked = asked
        own = (config.k,) if not asked.k or config.k in asked.k else ()
        sizes = asked.k or tuple(k for k in SIZES if k >= asked.least) or (config.k,)
        # that of the settings first, then those that are far from it and from each other
        self._sizes = (*own, *(k for k in _spread(sizes) if k not in own))
        self._groupings = asked.groupings or (config.grouping, "all" if config.grouping == "rules" else "rules")

    def present(self) -> Iterator[TuneCandidate]:
        """Yield what the settings say, where nothing else was asked for."""
        config, asked = self._config, self._asked
        fits = not asked.methods and config.k in self._sizes and config.grouping in self._groupings
        if fits:
            yield _candidate(config.method, config.k, config.grouping, dict(config.params), config.aggregator)

    def named(self) -> Iterator[TuneCandidate]:
        """Yield the methods that were named, with the sizes in turn."""
        grids = [list(self._crossed(name, params)) for name in self._asked.methods for params in self._grid(name)]
        for turn in itertools.zip_longest(*grids):
            yield from (one for one in turn if one is not None)

    def usual(self, *, numbers: bool, categories: bool) -> Iterator[TuneCandidate]:
        """Yield what suits most files: round by round one of each kind, with more sizes between the rounds."""
        first, second = _ROUNDS
        sizes, (own, *others) = self._sizes, self._groupings
        if not numbers:
            first, second = first[:1], ()
        if categories:
            first = (*first, *_CATEGORIES)
        if self._asked.class_fields or "class" in self._config.params:
            first = (*first, *_WITH_CLASS)
        mdav = [_candidate("mdav", k, grouping) for k in sizes for grouping in self._groupings]
        yield _candidate("mdav", sizes[0], own)
        yield from (_candidate("mdav", sizes[0], other) for other in others)
        yield from (self._made(name, sizes[0], own, params) for name, params in first)
        yield from mdav
        yield from (self._made(name, sizes[0], own, params) for name, params in second)
        yield from (_candidate("mdav", sizes[0], own, aggregator=name) for name in self._asked.aggregators)
        if numbers:
            yield from (self._made("microhybrid", k, own, {}) for k in sizes[1:])
            yield from (self._made(name, sizes[0], own, {}) for name in ("univariate", "mu_approx"))
        for name in self._asked.params:
            for params in self._grid(name):
                yield self._made(name, sizes[0], own, params)

    def _crossed(self, name: str, params: Mapping[str, Param]) -> Iterator[TuneCandidate]:
        """Yield a method with all sizes, groupings and aggregators that mean something for it."""
        sizes = self._sizes if _has_size(name) else self._sizes[:1]
        groupings = self._groupings[:1] if draws_values(method_named(name)) else self._groupings
        aggregators = (None, *self._asked.aggregators) if not draws_values(method_named(name)) else (None,)
        for k, grouping, aggregator in itertools.product(sizes, groupings, aggregators):
            yield self._made(name, k, grouping, params, aggregator)

    def _grid(self, name: str) -> Iterator[dict[str, Param]]:
        """Yield the combinations of the parameters that were asked for."""
        table = self._asked.params.get(name, {})
        for values in itertools.product(*table.values()):
            yield dict(zip(table, values, strict=True))

    def _made(
        self, name: str, k: int, grouping: Grouping, params: Mapping[str, Param], aggregator: str | None = None
    ) -> TuneCandidate:
        """Build a candidate; a method that needs a class gets the one that was named."""
        own = dict(params)
        if method_named(name).needs_class and "class" not in own:
            named = self._asked.class_fields or self._config.params.get("class")
            if named:
                own["class"] = named
        return _candidate(name, k, grouping, own, aggregator)


def _candidate(
    method: str,
    k: int,
    grouping: Grouping,
    params: Mapping[str, Param] = MappingProxyType({}),
    aggregator: str | None = None,
) -> TuneCandidate:
    return TuneCandidate(method, params, k, grouping, aggregator, draws=draws_values(method_named(method)))


def with_keys(config: Config, recode: Mapping[str, str], pram: Mapping[str, str] = NO_WAYS) -> Config:
    """Return settings in which fields that some candidate treats are quasi-identifiers, in all candidates.

    Raises
    ------
    UsageError
        Such a field is masked, or removed; or it is drawn anew alone and with others, or drawn and swapped.
    """
    known = replace(config, recode={**config.recode, **recode}, pram={**config.pram, **pram})
    return replace(config, roles=known.roles)


def settings_of(candidate: TuneCandidate, config: Config) -> Config:
    """Return the settings with a candidate in them."""
    return config_from(candidate.settings, base=config)


def position_of(candidate: int | TuneCandidate, found: Sequence[TuneCandidate]) -> int:
    """Return the position of a candidate among those that there are.

    Raises
    ------
    UsageError
        It is none of them.
    """
    if isinstance(candidate, int):
        if candidate not in range(len(found)):
            expected = f"a number from 0 to {len(found) - 1}"
            raise UsageError.of("bad-value", name="the candidate", expected=expected, given=candidate)
        return candidate
    for at, one in enumerate(found):
        if one.settings == candidate.settings:
            return at
    expected = "one of those that are asked for now: ask as the last run did, or run once without a number"
    raise UsageError.of("bad-value", name="the candidate", expected=expected, given=candidate.called)


def draws_values(kind: type[Method]) -> bool:
    """Tell whether a method draws a value for each record; else groups of records share their values."""
    return not issubclass(kind, Partitioning)


def _has_size(name: str) -> bool:
    """Whether the size of groups is a parameter of a method."""
    return "k" in method_named(name).parameters


def _spread(sizes: Sequence[int]) -> list[int]:
    """Order sizes so that each is far from those before it, by ratios: 3, 5, 10, 20 as 5, 20, 3, 10."""
    left = sorted(set(sizes))
    order = [left.pop((len(left) - 1) // 2)]
    while left:
        order.append(left.pop(max(range(len(left)), key=lambda at: min(_apart(left[at], one) for one in order))))
    return order


def _apart(one: int, other: int) -> float:
    return max(one / other, other / one)


def treatments_tried(config: Config, asked: TuneSettings) -> list[KeyTreatment]:
    """Return the treatments of keys: those of the settings first.

    What is an axis is tried as the settings have it, not at all, and as it was asked for; all else is always done as
    the settings have it.

    Raises
    ------
    UsageError
        Rates are asked for, and no regions are named.
    """
    own = {name: resolved(how, Path()) for name, how in config.recode.items()}
    recode = {
        name: list(dict.fromkeys((own.get(name), *((None, *asked.recode[name]) if name in asked.recode else ()))))
        for name in dict.fromkeys((*own, *asked.recode))
    }
    pram = {
        name: unlike_pram((config.pram.get(name), *((None, *asked.pram[name]) if name in asked.pram else ())))
        for name in dict.fromkeys((*config.pram, *asked.pram))
    }
    sizes = list(dict.fromkeys((config.key_k, *((None, *asked.key_k) if asked.key_k else ()))))
    found = in_turn(in_turn(in_turn(_crossed(recode), _crossed(pram)), _swaps(config, asked)), sizes)
    return [KeyTreatment(recoded, drawn, swapped, key_k) for ((recoded, drawn), swapped), key_k in found]


def _crossed(axes: Mapping[str, Sequence[str | None]]) -> list[dict[str, str]]:
    """Return all combinations of ways, by field; None leaves a field as it is."""
    found: list[dict[str, str]] = [{}]
    for name, hows in axes.items():
        found = [one if how is None else {**one, name: how} for one, how in in_turn(found, hows)]
    return found


def _swaps(config: Config, asked: TuneSettings) -> list[dict[str, Any]]:
    """Return how records are swapped: as the settings say, and with other rates."""
    own = dict(config.swap)
    if not asked.swap_rate:
        return [own]
    if not own:
        raise UsageError.of(
            "needs-setting",
            name=Setting("--swap-rate"),
            needed="the fields to swap, from coarse to fine",
            setting=Setting("--swap", ("COUNTY,MUNICIPALITY",)),
        )
    rates = [rate for rate in asked.swap_rate if rate != own.get("rate", 0.0)]
    return [own, {}, *({**own, "rate": rate} for rate in rates)]


def in_turn[One, Other](first: Sequence[One], second: Sequence[Other]) -> list[tuple[One, Other]]:
    """Return all pairs, those first whose members stand first in both."""
    places = sorted(itertools.product(range(len(first)), range(len(second))), key=lambda at: (sum(at), at[1]))
    return [(first[one], second[other]) for one, other in places]
