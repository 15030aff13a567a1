"""What pyschematron is not asked: Python's matcher, which it uses, tries every reading of a pattern without end."""

from __future__ import annotations

from typing import Any

from masktron.rulebook.backtracking import suspects
from masktron.rulebook.schema import Pattern, Rulebook

WHY = "a pattern that can be read in exponentially many ways"
"""Why a check is not compared."""


def not_compared(rulebook: Rulebook) -> dict[int, str]:
    """Return the checks with a pattern of that kind, and all checks of a Schematron pattern that matches with one."""
    found: dict[int, str] = {}
    for pattern in rulebook.patterns:
        if _shared(rulebook, pattern):
            found |= {check.index: WHY for rule in pattern.rules for check in rule.checks}
        found |= {check.index: WHY for rule in pattern.rules for check in rule.checks if suspects(check.test)}
    return found


def _shared(rulebook: Rulebook, pattern: Pattern) -> bool:
    lets = (*rulebook.lets, *pattern.lets, *(let for rule in pattern.rules for let in rule.lets))
    return any(map(suspects, [*(let.value for let in lets), *(rule.context for rule in pattern.rules)]))


def without(schema: Any, left_out: dict[int, str]) -> Any:
    """Return a schema of pyschematron's without some checks; their rules still match, so that others see the same."""
    if not left_out:
        return schema
    patterns = []
    for pattern in schema.patterns:
        rules = [
            rule.with_updated(checks=tuple(check for check in rule.checks if _index(check) not in left_out))
            for rule in pattern.rules
        ]
        if any(rule.checks for rule in rules):
            patterns.append(pattern.with_updated(rules=tuple(rules)))
    return schema.with_updated(patterns=tuple(patterns))


def _index(check: Any) -> int:
    return int(str(check.fpi).removeprefix("masktron:"))
