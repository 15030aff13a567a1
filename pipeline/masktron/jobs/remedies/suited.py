"""Which remedies suit a refusal: made of its facts, the settings and the fields, from what gives up least."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from masktron.codes import MOST_CODES
from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.errors import RefusalFacts, RefusalKind
from masktron.figures import OF_KEYS_ALONE, figure_of
from masktron.jobs.outside_limits import KEY_K, fewest_alike, weight_classes
from masktron.methods import method_named
from masktron.methods.base import Partitioning
from masktron.recoding_settings import Breaks, FromHierarchy, how_of
from masktron.results.refusal import RemedyKind, RemedyResult
from masktron.roles import FieldFacts
from masktron.sources.records import Records

MOST_FIELDS = 4
"""Fields of a block that are looked at one by one: those with few values first."""
MOST_VALUES = 100
"""Different whole numbers of a field up to which it may be taken as categories in their order."""
_COST: tuple[RemedyKind, ...] = get_args(RemedyKind.__value__)
"""From what leaves the protection as it was to what gives most up."""
_CLASSES = (10, 5)
"""Classes in which a key is written, about."""
_WIDTH = re.compile(r"width:([0-9]+)")
_DRAWN = ("noise", "cart")
"""Methods that draw values for each record: one for numbers, and one for categories, too."""


@dataclass(frozen=True, slots=True)
class RefusedRun:
    """What remedies are made of.

    Attributes
    ----------
    config : Config
        As it was stated.
    fields : mapping of str to FieldFacts
        Empty where the original was refused.
    rules : mapping of str to frozenset of str
        Fields that a rule reads, by its id.
    records : Records or None
        Those that would be released.
    heights : mapping of str to int
        Of fields recoded by a hierarchy: its highest level that leaves more than one value.
    """

    config: Config
    fields: Mapping[str, FieldFacts] = field(default_factory=dict)
    rules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    records: Records | None = None
    heights: Mapping[str, int] = field(default_factory=dict)

    @property
    def masked(self) -> tuple[str, ...]:
        """The fields that are masked."""
        return tuple(name for name, fact in self.fields.items() if fact.role is Role.CONFIDENTIAL)

    @property
    def keys(self) -> tuple[str, ...]:
        """The quasi-identifiers that are written as they are, but for the weight."""
        return tuple(name for name, fact in self.fields.items() if fact.role is Role.QUASI_IDENTIFIER)

    @property
    def masked_keys(self) -> tuple[str, ...]:
        """The quasi-identifiers that are masked, or may be where the fields are not known."""
        return tuple(name for name in self.config.quasi_identifiers if name in self.masked or not self.fields)

    def groups(self, k: int) -> bool:
        """Tell whether the records make two groups of k, as far as that is known."""
        return self.records is None or len(self.records) >= 2 * k

    def values(self, name: str) -> int:
        """Return how many different values a field has."""
        return 0 if self.records is None else len(self.records.columns[name].texts())

    def width(self, name: str, classes: int) -> int:
        """Return the width that makes at most so many classes: 1, 2 or 5 by a power of ten; 0 for texts."""
        numbers = self._numbers(name)
        if not numbers.size:
            return 0
        least = (float(numbers.max()) - float(numbers.min())) / classes
        widths = (step * 10**power for power in range(15) for step in (1, 2, 5))
        return next((width for width in widths if width >= least), 0)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a field; none where it has texts, too."""
        column = None if self.records is None else self.records.columns[name]
        if column is None or not bool(column.is_number[column.present].all()):
            return np.empty(0)
        return column.values[column.present]

    def whole(self, name: str) -> bool:
        """Tell whether all values of a field are whole numbers."""
        if self.records is None:
            return False
        column = self.records.columns[name]
        return not column.decimals and bool(column.is_number[column.present].all())


def remedies_for(facts: Sequence[RefusalFacts], now: RefusedRun) -> tuple[RemedyResult, ...]:
    """Return what may help against a refusal, the cheapest first; none twice.

    Parameters
    ----------
    facts : sequence of RefusalFacts
        Why `mask` was refused; that of a method where there are none.
    now : RefusedRun

    Returns
    -------
    tuple of RemedyResult
        Untried.
    """
    found: dict[str, RemedyResult] = {}
    for fact in facts or (RefusalFacts("method"),):
        for remedy in _MAKERS[fact.kind](fact, now):
            found.setdefault(remedy.pasted, remedy)
    return tuple(sorted(found.values(), key=cost_of))


def cost_of(remedy: RemedyResult) -> int:
    """Return the place of a remedy among the kinds of remedies, from those that give nothing up."""
    return _COST.index(remedy.kind)


def _copied(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _groups_otherwise(fact, now)
    share = math.ceil(10_000 * fact.groups / fact.records) / 100
    yield RemedyResult(
        "observed-share",
        f"let {counted(fact.groups, 'group')} of a block publish one record's values",
        (f"--max-observed-share {share:g}",),
        settings={"max_observed_share": share},
        reveals=f"the values of {fact.groups} respondents in {', '.join(fact.fields)} are published as they were",
    )
    yield from _smaller(now)
    yield from _unmasked(fact.fields, now)
    yield from _let_go(_rules_of(fact, now), now)


def _no_prototype(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _groups_otherwise(fact, now)
    yield from _masked_too(fact.conditions, now)
    yield from _smaller(now)
    yield from _unmasked(fact.fields, now)
    yield from _let_go(_rules_of(fact, now), now)


def _few_records(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records >= 2:
        yield _with_k(fact.records, now)
    if fact.records >= 6:
        yield _with_k(fact.records // 2, now)


def _missing_pattern(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield RemedyResult(
        "missing",
        "let records with a rare pattern of missing values take over another's",
        without=("--keep-missing",),
        settings={"keep_missing": False},
        reveals="nothing more; some values become missing, or stop being so",
    )
    yield from _smaller(now)
    yield from _unmasked(fact.fields, now)


def _across(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _other_sizes(now)
    yield from _all_unmasked(fact.fields, now)
    yield from _let_go(fact.rules, now)


def _aggregator(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield RemedyResult(
        "aggregator",
        "let the least loss decide which aggregator masks a block",
        without=(f"--aggregator {now.config.aggregator}",),
        settings={"aggregator": None},
    )
    for name in ("mean", "median"):
        if name != now.config.aggregator:
            yield _aggregated_by(name, now)
    yield from _let_go(fact.rules, now)


def _no_aggregator(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _as_kinds(fact.fields, now)
    yield from _unmasked(fact.fields, now)
    yield from _let_go(fact.rules, now)


def _method(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _methods(now, ("mdav", *_DRAWN))
    yield from _smaller(now)
    yield from _unmasked(fact.fields, now)


def _contract(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _methods(now, ("mdav",))
    yield from _unmasked(fact.fields, now)


def _limits(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from _keys_shared(fact.figures, now)
    if fact.figures and OF_KEYS_ALONE.issuperset(fact.figures) and not now.masked_keys:
        return
    yield from _grouped(now)
    yield from _larger(now)
    yield from _methods(now, ("mdav", *_DRAWN))
    yield from _smaller(now)


def _written(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if now.config.order != "keep":
        yield RemedyResult(
            "order",
            "write the records in the order of the original",
            ("--keep-order",),
            ("--shuffle",) if now.config.order == "random" else (),
            {"order": "keep"},
            reveals="the order of the original, by which a record may be found",
        )
    yield from _other_sizes(now)
    yield from _all_unmasked(fact.fields, now)
    yield from _let_go(fact.rules, now)


def _original(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records:
        yield RemedyResult(
            "exclude",
            f"leave out {counted(fact.records, 'record that breaks', 'records that break')} a rule",
            ("--invalid exclude",),
            settings={"invalid": "exclude"},
            reveals="totals and counts are without these records, and that some are left out tells something of them",
        )
    yield from _let_go(fact.rules, now, together=True)


def _keys(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records >= 2:  # a tail that is coded has so few
        yield _with_k(fact.records, now)
    yield from _as_they_are(fact.conditions, now)
    if fact.rules:
        yield from _lost(fact.rules, now) if fact.conditions else _let_go(fact.rules, now)
    else:
        yield from _in_classes(fact.conditions, now)
        yield from _shared_by_fewer(now)


def _suppression(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield coarser and fewer keys, fewer records that share them, and rules that keep cells from being left out."""
    keys = fact.conditions
    yield from _coarser(keys, now)
    yield from _in_classes(keys, now)
    yield from _shared_by_fewer(now)
    if len(keys) > 1:
        yield from map(_left_out, keys[:MOST_FIELDS], repeat(now))
    own = {rule: [keys.index(name) for name in read & {*keys}] for rule, read in now.rules.items()}
    yield from _let_go(sorted((rule for rule in own if own[rule]), key=lambda rule: min(own[rule])), now)
    yield from _let_go(fact.rules, now)


_MAKERS: Mapping[RefusalKind, Callable[[RefusalFacts, RefusedRun], Iterator[RemedyResult]]] = {
    "copied": _copied,
    "no-prototype": _no_prototype,
    "few-records": _few_records,
    "missing-pattern": _missing_pattern,
    "across-records": _across,
    "total": _across,
    "aggregator": _aggregator,
    "no-aggregator": _no_aggregator,
    "solved-loss": _no_prototype,
    "method": _method,
    "contract": _contract,
    "limits": _limits,
    "written": _written,
    "original": _original,
    "keys": _keys,
    "suppression": _suppression,
}


def _groups_otherwise(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield what leaves the groups at least as large as they are."""
    yield from _as_kinds(fact.fields, now)
    if now.config.aggregator is None:
        kinds = {now.fields[name].kind for name in fact.fields if name in now.fields}
        if Kind.NOMINAL not in kinds:
            yield _aggregated_by("median", now)
    yield from _grouped(now)
    yield from _larger(now)
    yield from _methods(now, _DRAWN)


def _as_kinds(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield other kinds of values for fields that may have them: codes in order, codes without, quantities."""
    for name in _few_first(names, now):
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
        (f"{options[kind]} {shlex.quote(name)}",),
        tuple(
            f"{options[own]} {shlex.quote(name)}" for own, names in held.items() if own is not kind and name in names
        ),
        {key: value for key, value in lists.items() if _plain(getattr(config, key)) != value},
    )


def _aggregated_by(name: str, now: RefusedRun) -> RemedyResult:
    old = now.config.aggregator
    return RemedyResult(
        "aggregator",
        f"mask by the {name} of a group wherever that suits the fields",
        (f"--aggregator {name}",),
        () if old is None else (f"--aggregator {old}",),
        {"aggregator": name},
        reveals="a median is a value that some respondent had" if name == "median" else "",
    )


def _grouped(now: RefusedRun) -> Iterator[RemedyResult]:
    if now.config.grouping == "rules":
        yield RemedyResult(
            "grouping",
            "form groups once, over all masked fields",
            ("--grouping all",),
            settings={"grouping": "all"},
        )
    else:
        yield RemedyResult(
            "grouping",
            "form groups for each block of fields that share a rule",
            ("--grouping rules",),
            settings={"grouping": "rules"},
            reveals="records are alike block by block, and no more in all masked fields together",
        )


def _larger(now: RefusedRun) -> Iterator[RemedyResult]:
    yield from (_with_k(k, now) for k in (2 * now.config.k, 4 * now.config.k) if now.groups(k))


def _smaller(now: RefusedRun) -> Iterator[RemedyResult]:
    if now.config.k > 3:
        yield _with_k(3, now)


def _other_sizes(now: RefusedRun) -> Iterator[RemedyResult]:
    if now.groups(2 * now.config.k):
        yield _with_k(2 * now.config.k, now)
    yield from _smaller(now)


def _with_k(k: int, now: RefusedRun) -> RemedyResult:
    larger = k > now.config.k
    return RemedyResult(
        "larger-k" if larger else "smaller-k",
        f"groups of at least {k} records",
        (f"-k {k}",),
        settings={"k": k},
        reveals="" if larger else f"values are shared by {k} records instead of {now.config.k}",
    )


def _methods(now: RefusedRun, names: Iterable[str]) -> Iterator[RemedyResult]:
    numbers = any(now.fields[name].numeric for name in now.masked)
    for name in names:
        method = method_named(name)
        draws = not issubclass(method, Partitioning)
        if name == now.config.method or (draws and not method.categories and not numbers):
            continue
        yield RemedyResult(
            "method",
            f"mask by {name}",
            (f"--method {name}",),
            tuple(f"--param {shlex.quote(f'{key}={value}')}" for key, value in now.config.params.items()),
            {"method": name},
            reveals="values are drawn: no groups of k records share them" if draws else "",
        )


def _masked_too(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the unmasked fields which rules read beside masked ones are masked, too."""
    own = [name for name in names if name in now.fields and now.fields[name].role is not Role.IDENTIFIER]
    open_ = [name for name in own if now.fields[name].role not in (Role.CONFIDENTIAL, Role.WEIGHT)]
    if not open_:
        return
    codes = [name for name in open_ if now.fields[name].numeric and now.values(name) <= MOST_CODES]
    codes = [name for name in codes if now.config.kind_of(name) is None]
    settings: dict[str, Any] = {"roles": _roles(now.config, dict.fromkeys(open_, Role.CONFIDENTIAL))}
    if codes:
        settings["nominal"] = [*now.config.nominal, *codes]
    yield RemedyResult(
        "mask-more",
        f"mask {', '.join(open_)} as well",
        (
            *(f"--role {shlex.quote(f'{name}=confidential')}" for name in open_),
            *(f"--nominal {shlex.quote(name)}" for name in codes),
        ),
        settings=settings,
    )


def _unmasked(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each field that it is released as it is, if another one is left to mask."""
    if len(now.masked) > 1:
        for name in _few_first(names, now):
            yield _released([name], now)


def _all_unmasked(names: Sequence[str], now: RefusedRun) -> Iterator[RemedyResult]:
    if names and not {*now.masked} <= {*names}:
        yield _released(names, now)


def _released(names: Sequence[str], now: RefusedRun) -> RemedyResult:
    several = len(names) > 1
    return RemedyResult(
        "role",
        f"release {', '.join(names)} as {'they are' if several else 'it is'}, and measure the risk of that",
        tuple(f"--role {shlex.quote(f'{name}=quasi-identifier')}" for name in names),
        settings={"roles": _roles(now.config, dict.fromkeys(names, Role.QUASI_IDENTIFIER))},
        reveals=f"every value of {', '.join(names)}",
    )


def _left_out(name: str, now: RefusedRun) -> RemedyResult:
    """Return that a key is not released."""
    recode = {key: how for key, how in now.config.recode.items() if key != name}
    return RemedyResult(
        "role",
        f"leave {name} out of the file",
        (f"--role {shlex.quote(f'{name}=identifier')}",),
        () if name not in now.config.recode else (f"--recode {shlex.quote(f'{name}={now.config.recode[name]}')}",),
        {
            "roles": _roles(now.config, {name: Role.IDENTIFIER}),
            **({"recode": recode} if recode != dict(now.config.recode) else {}),
        },
        reveals=f"nothing more; rules that read {name} are not asked",
    )


def _keys_shared(figures: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are recoded or suppressed, by themselves and all at once, where a limit on keys is broken."""
    broken = [one for one in map(figure_of, figures) if "keys" in one.needs and one.group == "risk"]
    if not broken:
        return
    always = [*_weight_in_classes(now), *_suppressed(now)]
    yield from always
    yield from _coarser(now.keys, now)
    yield from _in_classes(now.keys, now)
    for several in (always, *([*_in_classes(now.keys, now, (classes,)), *always] for classes in _CLASSES)):
        if len(several) > 1:
            yield _together(several)


def _suppressed(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that keys are suppressed, until as many share them as a limit asks for."""
    k = fewest_alike(now.config.limits)
    if now.config.key_k is None or now.config.key_k < k:
        yield RemedyResult(
            "suppress",
            f"leave out cells of keys until {k} records share each combination",
            (f"--key-k {k}",),
            settings={"key_k": k},
        )


def _weight_in_classes(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the weight, which is a key where it is written, takes few values."""
    weight = next((name for name, fact in now.fields.items() if fact.role is Role.WEIGHT), None)
    if weight is None or now.records is None or weight in now.config.recode:
        return
    how = weight_classes(now.records.columns[weight], now.config.k)
    yield RemedyResult(
        "recode",
        f"write the means of classes of {weight}",
        (f"--recode {shlex.quote(f'{weight}={how}')}",),
        settings={"recode": {**now.config.recode, weight: how}},
    )


def _in_classes(names: Iterable[str], now: RefusedRun, some: Sequence[int] = _CLASSES) -> Iterator[RemedyResult]:
    """Yield that keys with many numbers are written in some ten or five classes; those in classes, in wider ones."""
    for name in names:
        how = now.config.recode.get(name)
        if how is None and now.values(name) > _CLASSES[0]:
            for width in dict.fromkeys(now.width(name, classes) for classes in some):
                if width:
                    yield _of_width(name, width, now)
        elif how is not None and (found := _WIDTH.fullmatch(how)):
            yield _of_width(name, 2 * int(found[1]), now)


def _coarser(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield the next level of hierarchies, and every other break."""
    for name in names:
        how = how_of(name, now.config.recode[name]) if name in now.config.recode else None
        if isinstance(how, FromHierarchy) and how.level < now.heights.get(name, 0):
            yield _recoded_as(
                name, f"{how.path.as_posix()}:{how.level + 1}", f"write {name} by level {how.level + 1}", now
            )
        elif isinstance(how, Breaks) and how.statistic is None and len(how.breaks) > 2:
            breaks = now.config.recode[name].partition(":")[2].split(",")[::2]
            yield _recoded_as(name, f"breaks:{','.join(breaks)}", f"write {name} in half as many classes", now)


def _recoded_as(name: str, text: str, what: str, now: RefusedRun) -> RemedyResult:
    """Return that a field is recoded in another way than it is, if it is."""
    how = now.config.recode.get(name)
    return RemedyResult(
        "recode",
        what,
        (f"--recode {shlex.quote(f'{name}={text}')}",),
        () if how is None else (f"--recode {shlex.quote(f'{name}={how}')}",),
        settings={"recode": {**now.config.recode, name: text}},
    )


def _of_width(name: str, width: int, now: RefusedRun) -> RemedyResult:
    return _recoded_as(name, f"width:{width}", f"write {name} in classes of {width}", now)


def _together(several: Sequence[RemedyResult]) -> RemedyResult:
    """Join remedies of keys into one: none of them may help by itself."""
    recode = {name: how for one in several for name, how in one.settings.get("recode", {}).items()}
    changed: dict[str, Any] = {key: value for one in several for key, value in one.settings.items()}
    return RemedyResult(
        max(several, key=cost_of).kind,
        "; ".join(one.what for one in several),
        tuple(option for one in several for option in one.options),
        tuple(option for one in several for option in one.without),
        {**changed, **({"recode": recode} if recode else {})},
    )


def _as_they_are(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each recoded field that it is not."""
    for name in names:
        if how := now.config.recode.get(name):
            yield RemedyResult(
                "role",
                f"do not recode {name}",
                without=(f"--recode {shlex.quote(f'{name}={how}')}",),
                settings={"recode": {key: one for key, one in now.config.recode.items() if key != name}},
                reveals=f"every value of {name}",
            )


def _shared_by_fewer(now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield a smaller k for keys, and that none is suppressed."""
    k = now.config.key_k
    if k is None:
        return
    for fewer in sorted({KEY_K, 2}, reverse=True):
        if fewer < k:
            yield RemedyResult(
                "smaller-key-k",
                f"let {fewer} records share each combination of keys",
                (f"--key-k {fewer}",),
                settings={"key_k": fewer, "keys": dict(now.config.keys)},
                reveals=f"keys are shared by {fewer} records instead of {k}",
            )
    yield RemedyResult(
        "smaller-key-k",
        "suppress no key",
        without=(f"--key-k {k}",),
        settings={"key_k": None, "keys": {}},
        reveals="records may be alone with their keys",
    )


def _lost(rules: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that recoding may leave nothing of a rule."""
    for rule in rules:
        yield RemedyResult(
            "allow-lost",
            f"let recoding leave nothing of {rule}",
            (f"--allow-lost {shlex.quote(rule)}",),
            settings={"allow_lost": [*now.config.allow_lost, rule]},
            reveals=f"nothing is asked any more of what {rule} said",
        )


def _let_go(rules: Iterable[str], now: RefusedRun, *, together: bool = False) -> Iterator[RemedyResult]:
    """Yield that a rule may be broken in the masked file; each by itself, or all."""
    own = [rule for rule in dict.fromkeys(rules) if rule not in now.config.allow]
    for several in [own] if together and own else [[rule] for rule in own[:MOST_FIELDS]]:
        yield RemedyResult(
            "allow",
            f"do not keep {', '.join(several)}",
            tuple(f"--allow {shlex.quote(rule)}" for rule in several),
            settings={"allow": [*now.config.allow, *several]},
            reveals=f"the masked file may break {', '.join(several)}",
        )


def _rules_of(fact: RefusalFacts, now: RefusedRun) -> tuple[str, ...]:
    """Return the rules that are known to stand in the way, else those that read several fields of the block."""
    if fact.rules:
        return fact.rules
    own = {*fact.fields, *fact.conditions}
    reading = {rule: names & own for rule, names in now.rules.items() if not names.isdisjoint(fact.fields)}
    return tuple(sorted(reading, key=lambda rule: -len(reading[rule])))


def _few_first(names: Iterable[str], now: RefusedRun) -> list[str]:
    """Order masked fields from the fewest different values, and take some."""
    own = [name for name in names if name in now.masked]
    return sorted(own, key=lambda name: (now.values(name), name))[:MOST_FIELDS]


def _roles(config: Config, changed: Mapping[str, Role]) -> dict[str, str]:
    return {name: str(role) for name, role in {**config.roles, **changed}.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: list(order) for key, order in value.items()}
    return list(value)
