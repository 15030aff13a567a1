"""What was covered: how often each operator was evaluated, how often it was true, and what the columns decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from differential.case import Case, Check, Pattern, Rule
from differential.told import ERROR, FAILS, HOLDS, Told


@dataclass(slots=True)
class Count:
    """Sums over the checks in which an operator occurs.

    Attributes
    ----------
    checks : int
        Checks on one file each: what the project calls a case.
    true, false, errors : int
        Records by the answer to the test.
    asked, decided : int
        Records of flat files, and those of them that columns decided themselves.
    """

    checks: int = 0
    true: int = 0
    false: int = 0
    errors: int = 0
    asked: int = 0
    decided: int = 0

    def add(self, other: Count) -> None:
        """Add another count."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def share(self) -> float:
        """Percent true among the answers."""
        return 100 * self.true / max(1, self.true + self.false)


type Coverage = dict[str, Count]


def coverage(case: Case, told: Mapping[str, Told], decided: Mapping[str, int], *, columns: bool) -> Coverage:
    """Count what a case covers.

    Parameters
    ----------
    told : mapping
        What the reference says of each check.
    decided : mapping
        How many records the columns decided, for each check that they have.
    columns : bool
        Whether the columns were asked at all.
    """
    found: Coverage = {}
    for _, pattern, rule in case.rules:
        for check in rule.checks:
            if check.id not in told:
                continue
            marks = told[check.id].marks
            yes, no = (HOLDS, FAILS) if check.kind == "assert" else (FAILS, HOLDS)
            one = Count(
                1,
                marks.count(yes),
                marks.count(no),
                marks.count(ERROR),
                len(marks) if columns else 0,
                decided.get(check.id, 0) if columns else 0,
            )
            for label in set(labels(case, pattern, rule, check)):
                found.setdefault(label, Count()).add(one)
    return found


def labels(case: Case, pattern: Pattern, rule: Rule, check: Check) -> Iterator[str]:
    """Yield the operators and forms that a check has."""
    yield from (label.removeprefix("3.1:") for label in check.test.used())
    for let in rule.lets:
        if f"${let.name}" in check.test.text:
            yield "let of a rule"
            yield from (label.removeprefix("3.1:") for label in let.value.used())
    for name, lets in (("a pattern", pattern.lets), ("the schema", case.lets)):
        if any(f"${let.name}" in check.test.text for let in lets):
            yield f"let of {name}"
    for step in rule.context:
        for predicate in (step.predicate, step.above):
            yield from ((label.removeprefix("3.1:") for label in predicate.used()) if predicate else ())
    yield f"context {rule.label}"
    yield check.kind
    yield "value-of" if check.shown else ""
    yield "first match" if pattern.rules.index(rule) else "first rule"
    yield f"XPath {case.version}"
    yield f"namespace: {case.table.naming}"


def merged(parts: Iterator[Coverage]) -> Coverage:
    """Return the sum."""
    total: Coverage = {}
    for part in parts:
        for label, count in part.items():
            total.setdefault(label, Count()).add(count)
    total.pop("", None)
    return total


def thin(total: Coverage, *, least: int, low: float = 30, high: float = 70) -> list[str]:
    """Return the labels that occur too seldom, or are true too seldom or too often."""
    return sorted(label for label, count in total.items() if count.checks < least or not low <= count.share <= high)
