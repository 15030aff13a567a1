"""Remedies that form other groups: other kinds of values, sizes, aggregators and methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from masktron.config import Kind
from masktron.errors import RefusalFacts
from masktron.jobs.remedies.field_remedies import fewest_values_first
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.likely_roles import MOST_CODES
from masktron.methods import method_named
from masktron.methods.base import Partitioning
from masktron.problems.problem import Setting
from masktron.results.refusal import RemedyResult

MOST_VALUES = 100
"""Different whole numbers of a field up to which it may be taken as categories in their order."""
DRAWING = ("noise", "cart")
"""Methods that draw values for each record: one for numbers, and one for categories, too."""


def grouped_otherwise(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield what leaves the groups at least as large as they are."""
    yield from of_other_kinds(fact.fields, now)
    if now.config.aggregator is None:
        kinds = {now.fields[name].kind for name in fact.fields if name in now.fields}
        if Kind.NOMINAL not in kinds:
            yield aggregated_by("median", now)
    yield from other_grouping(now)
    yield from larger_groups(now)
    yield from other_methods(now, DRAWING)


def of_other_kinds(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield other kinds of values for fields that may have them: codes in order, codes without, quantities."""
    for name in fewest_values_first(names, now):
        fact = now.fields[name]
        whole = now.whole(name)
        fine: list[Kind] = []
        if whole and now.values(name) <= MOST_VALUES:
            fine.append(Kind.ORDINAL)
        if now.values(name) <= MOST_CODES:
            fine.append(Kind.NOMINAL)
        if whole:
            fine.append(Kind.NUMBER)
        yield from (_as_kind(name, kind, now) for kind in fine if kind is not fact.kind)


def _as_kind(name: str, kind: Kind, now: RefusedRun) -> RemedyResult:
    config = now.config
    options = {Kind.ORDINAL: "--ordinal", Kind.NOMINAL: "--nominal", Kind.NUMBER: "--numeric"}
    held: Mapping[Kind, Iterable[str]] = {
        Kind.ORDINAL: config.ordinal,
        Kind.NOMINAL: config.nominal,
        Kind.NUMBER: config.numeric,
    }
    words = {
        Kind.ORDINAL: "categories in the order of their numbers",
        Kind.NOMINAL: "categories without an order",
        Kind.NUMBER: "a quantity",
    }
    lists: dict[str, Any] = {
        "nominal": [*(one for one in config.nominal if one != name), *([name] if kind is Kind.NOMINAL else [])],
        "numeric": [*(one for one in config.numeric if one != name), *([name] if kind is Kind.NUMBER else [])],
        "ordinal": {key: list(order) for key, order in config.ordinal.items() if key != name}
        | ({name: []} if kind is Kind.ORDINAL else {}),
    }
    return RemedyResult(
        "kind",
        f"mask {name} as {words[kind]}",
        (Setting(options[kind], (name,)),),
        tuple(Setting(options[own], (name,)) for own, names in held.items() if own is not kind and name in names),
        {key: value for key, value in lists.items() if _plain(getattr(config, key)) != value},
    )


def aggregated_by(name: str, now: RefusedRun) -> RemedyResult:
    """Return that all groups that it suits are masked by an aggregator."""
    old = now.config.aggregator
    return RemedyResult(
        "aggregator",
        f"mask by the {name} of a group wherever that suits the fields",
        (Setting("--aggregator", (name,)),),
        () if old is None else (Setting("--aggregator", (old,)),),
        {"aggregator": name},
        reveals="a median is a value that some respondent had" if name == "median" else "",
    )


def other_grouping(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that groups are formed over all fields, or where they are, by rules."""
    if now.config.grouping == "rules":
        yield RemedyResult(
            "grouping",
            "form groups once, over all masked fields",
            (Setting("--grouping", ("all",)),),
            settings={"grouping": "all"},
        )
    else:
        yield RemedyResult(
            "grouping",
            "form groups for each block of fields that share a rule",
            (Setting("--grouping", ("rules",)),),
            settings={"grouping": "rules"},
            reveals="records are alike block by block, and no more in all masked fields together",
        )


def larger_groups(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield groups of twice and four times as many records, where there are so many."""
    yield from (with_groups_of(k, now) for k in (2 * now.config.k, 4 * now.config.k) if now.groups(k))


def smaller_groups(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield groups of 3, where k is larger."""
    if now.config.k > 3:
        yield with_groups_of(3, now)


def other_group_sizes(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield groups of twice as many records, and of 3."""
    if now.groups(2 * now.config.k):
        yield with_groups_of(2 * now.config.k, now)
    yield from smaller_groups(now)


def with_groups_of(k: int, now: RefusedRun) -> RemedyResult:
    """Return that groups have at least k records."""
    larger = k > now.config.k
    return RemedyResult(
        "larger-k" if larger else "smaller-k",
        f"groups of at least {k} records",
        (Setting("-k", (str(k),)),),
        settings={"k": k},
        reveals="" if larger else f"values are shared by {k} records instead of {now.config.k}",
    )


def other_methods(now: RefusedRun, names: Iterable[str]) -> Iterator[RemedyResult]:
    """Yield other methods than that of the run, by name; none that draws where nothing could be drawn."""
    numbers = any(now.fields[name].numeric for name in now.masked)
    params = tuple(f"{key}={value}" for key, value in now.config.params.items())
    for name in names:
        method = method_named(name)
        draws = not issubclass(method, Partitioning)
        if name == now.config.method or (draws and not method.categories and not numbers):
            continue
        yield RemedyResult(
            "method",
            f"mask by {name}",
            (Setting("--method", (name,)),),
            (Setting("--param", params),) if params else (),
            {"method": name},
            reveals="values are drawn: no groups of k records share them" if draws else "",
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: list(order) for key, order in value.items()}
    return list(value)
