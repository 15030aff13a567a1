"""Which remedies suit a refusal: made of its facts, the settings and the fields, from what gives up least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from masktron.counts import counted
from masktron.errors import RefusalFacts, RefusalKind
from masktron.figures import OF_KEYS_ALONE
from masktron.jobs.remedies.field_remedies import MOST_FIELDS, all_unmasked, masked_as_well, one_unmasked
from masktron.jobs.remedies.group_remedies import (
    DRAWING,
    aggregated_by,
    grouped_otherwise,
    larger_groups,
    of_other_kinds,
    other_group_sizes,
    other_grouping,
    other_methods,
    smaller_groups,
    with_groups_of,
)
from masktron.jobs.remedies.key_remedies import (
    coarser_keys,
    key_left_out,
    keys_in_classes,
    keys_shared,
    keys_shared_by_fewer,
    not_recoded,
    rules_lost,
)
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.jobs.remedies.remedy_cost import cost_of
from masktron.problems.problem import Setting
from masktron.results.refusal import RemedyResult


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


def _copied(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from grouped_otherwise(fact, now)
    share = math.ceil(10_000 * fact.groups / fact.records) / 100
    yield RemedyResult(
        "observed-share",
        f"let {counted(fact.groups, 'group')} of a block publish one record's values",
        (Setting("--max-observed-share", (f"{share:g}",)),),
        settings={"max_observed_share": share},
        reveals=f"the values of {fact.groups} respondents in {', '.join(fact.fields)} are published as they were",
    )
    yield from smaller_groups(now)
    yield from one_unmasked(fact.fields, now)
    yield from rules_let_go(rules_in_the_way(fact, now), now)


def _no_prototype(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from grouped_otherwise(fact, now)
    yield from masked_as_well(fact.conditions, now)
    yield from smaller_groups(now)
    yield from one_unmasked(fact.fields, now)
    yield from rules_let_go(rules_in_the_way(fact, now), now)


def _few_records(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records >= 2:
        yield with_groups_of(fact.records, now)
    if fact.records >= 6:
        yield with_groups_of(fact.records // 2, now)


def _rare_units(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield RemedyResult(
        "exclude",
        "leave out what fewer than k are composed like",
        (Setting("--rare-units", ("exclude",)),),
        settings={"rare_units": "exclude"},
        reveals="totals and counts are without these units, and that some are left out tells something of them",
    )
    if 2 <= fact.records < now.config.k:
        yield with_groups_of(fact.records, now)


def _missing_pattern(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield RemedyResult(
        "missing",
        "let records with a rare pattern of missing values take over another's",
        drops=(Setting("--keep-missing"),),
        settings={"keep_missing": False},
        reveals="nothing more; some values become missing, or stop being so",
    )
    yield from smaller_groups(now)
    yield from one_unmasked(fact.fields, now)


def _across(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from other_group_sizes(now)
    yield from all_unmasked(fact.fields, now)
    yield from rules_let_go(fact.rules, now)


def _aggregator(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield RemedyResult(
        "aggregator",
        "let the least loss decide which aggregator masks a block",
        drops=(Setting("--aggregator", (str(now.config.aggregator),)),),
        settings={"aggregator": None},
    )
    for name in ("mean", "median"):
        if name != now.config.aggregator:
            yield aggregated_by(name, now)
    yield from rules_let_go(fact.rules, now)


def _no_aggregator(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from of_other_kinds(fact.fields, now)
    yield from one_unmasked(fact.fields, now)
    yield from rules_let_go(fact.rules, now)


def _method(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from other_methods(now, ("mdav", *DRAWING))
    yield from smaller_groups(now)
    yield from one_unmasked(fact.fields, now)


def _contract(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from other_methods(now, ("mdav",))
    yield from one_unmasked(fact.fields, now)


def _limits(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    yield from keys_shared(fact.figures, now)
    if fact.figures and {*OF_KEYS_ALONE}.issuperset(fact.figures) and not now.masked_keys:
        return
    yield from other_grouping(now)
    yield from larger_groups(now)
    yield from other_methods(now, ("mdav", *DRAWING))
    yield from smaller_groups(now)


def _written(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if now.config.order != "keep":
        yield RemedyResult(
            "order",
            "write the records in the order of the original",
            (Setting("--keep-order"),),
            (Setting("--shuffle"),) if now.config.order == "random" else (),
            {"order": "keep"},
            reveals="the order of the original, by which a record may be found",
        )
    yield from other_group_sizes(now)
    yield from all_unmasked(fact.fields, now)
    yield from rules_let_go(fact.rules, now)


def _original(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records:
        yield RemedyResult(
            "exclude",
            f"leave out {counted(fact.records, 'record that breaks', 'records that break')} a rule",
            (Setting("--invalid", ("exclude",)),),
            settings={"invalid": "exclude"},
            reveals="totals and counts are without these records, and that some are left out tells something of them",
        )
    yield from rules_let_go(fact.rules, now, together=True)


def _keys(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    if fact.records >= 2:  # a tail that is coded has so few
        yield with_groups_of(fact.records, now)
    yield from not_recoded(fact.conditions, now)
    if fact.rules:
        yield from rules_lost(fact.rules, now) if fact.conditions else rules_let_go(fact.rules, now)
    else:
        yield from keys_in_classes(fact.conditions, now)
        yield from keys_shared_by_fewer(now)


def _suppression(fact: RefusalFacts, now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield coarser and fewer keys, fewer records that share them, and rules that keep cells from being left out."""
    keys = fact.conditions
    yield from coarser_keys(keys, now)
    yield from keys_in_classes(keys, now)
    yield from keys_shared_by_fewer(now)
    if len(keys) > 1:
        yield from map(key_left_out, keys[:MOST_FIELDS], repeat(now))
    own = {rule: [keys.index(name) for name in read & {*keys}] for rule, read in now.rules.items()}
    yield from rules_let_go(sorted((rule for rule in own if own[rule]), key=lambda rule: min(own[rule])), now)
    yield from rules_let_go(fact.rules, now)


_MAKERS: Mapping[RefusalKind, Callable[[RefusalFacts, RefusedRun], Iterator[RemedyResult]]] = {
    "copied": _copied,
    "no-prototype": _no_prototype,
    "few-records": _few_records,
    "rare-units": _rare_units,
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


def rules_let_go(rules: Iterable[str], now: RefusedRun, *, together: bool = False) -> Iterator[RemedyResult]:
    """Yield that a rule may be broken in the masked file; each by itself, or all."""
    own = [rule for rule in dict.fromkeys(rules) if rule not in now.config.allow]
    for several in [own] if together and own else [[rule] for rule in own[:MOST_FIELDS]]:
        yield RemedyResult(
            "allow",
            f"do not keep {', '.join(several)}",
            (Setting("--allow", tuple(dict.fromkeys([*now.config.allow, *several]))),),
            settings={"allow": [*now.config.allow, *several]},
            reveals=f"the masked file may break {', '.join(several)}",
        )


def rules_in_the_way(fact: RefusalFacts, now: RefusedRun) -> tuple[str, ...]:
    """Return the rules that are known to stand in the way, else those that read several fields of the block."""
    if fact.rules:
        return fact.rules
    own = {*fact.fields, *fact.conditions}
    reading = {rule: names & own for rule, names in now.rules.items() if not names.isdisjoint(fact.fields)}
    return tuple(sorted(reading, key=lambda rule: -len(reading[rule])))
