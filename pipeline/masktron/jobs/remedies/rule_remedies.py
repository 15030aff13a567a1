"""Remedies that let rules go, and which rules stand in the way."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from masktron.errors import RefusalFacts
from masktron.jobs.remedies.field_remedies import MOST_FIELDS
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.results.refusal import RemedyResult


def rules_let_go(rules: Iterable[str], now: RefusedRun, *, together: bool = False) -> Iterator[RemedyResult]:
    """Yield that a rule may be broken in the masked file; each by itself, or all."""
    own = [rule for rule in dict.fromkeys(rules) if rule not in now.config.allow]
    for several in [own] if together and own else [[rule] for rule in own[:MOST_FIELDS]]:
        yield RemedyResult(
            "allow",
            f"do not keep {', '.join(several)}",
            tuple(f"--allow {shlex.quote(rule)}" for rule in dict.fromkeys([*now.config.allow, *several])),
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
