"""Smaller cases that still disagree: fewer checks, rules, records and fields, simpler expressions and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic

from differential.case import Case, Check, Let, Pattern, Rule, Step
from differential.data import Cell, Row, Table

type Fails = Callable[[Case], bool]

_PLAIN = ("", "1", "a")


def shrink(case: Case, fails: Fails, *, seconds: float = 60) -> Case:
    """Return a case for which `fails` still holds, and which no single step makes smaller.

    Parameters
    ----------
    case : Case
        One that fails.
    fails : callable
    seconds : float
        After which the smallest so far is returned.
    """
    end = monotonic() + seconds
    found = True
    while found and monotonic() < end:
        found = False
        for step in _STEPS:
            case, smaller = _descend(case, step, fails, end)
            found = found or smaller
    return case


def _descend(case: Case, step: Callable[[Case], Iterator[Case]], fails: Fails, end: float) -> tuple[Case, bool]:
    """Follow the first smaller case that fails, again and again."""
    any_smaller = False
    while monotonic() < end:
        smaller = next((c for c in step(case) if monotonic() < end and c.checks and c != case and fails(c)), None)
        if smaller is None:
            break
        case, any_smaller = smaller, True
    return case, any_smaller


def _fewer_checks(case: Case) -> Iterator[Case]:
    checks = case.checks
    if len(checks) > 1:
        for check in checks:
            yield only(case, {check.id})
        for check in checks:
            yield only(case, {c.id for c in checks} - {check.id})


def only(case: Case, wanted: set[str]) -> Case:
    """Return the case with some checks alone; rules before them stay, since a node fires the first that matches."""
    patterns: list[Pattern] = []
    for pattern in case.patterns:
        rules = [replace(r, checks=tuple(c for c in r.checks if c.id in wanted)) for r in pattern.rules]
        last = max((i for i, r in enumerate(rules) if r.checks), default=-1)
        kept = [
            r if r.checks else replace(r, checks=full.checks[:1])
            for r, full in zip(rules, pattern.rules, strict=True)
        ]
        if last >= 0:
            patterns.append(replace(pattern, rules=tuple(kept[: last + 1])))
    return replace(case, patterns=tuple(patterns))


def _fewer_rules(case: Case) -> Iterator[Case]:
    for i, pattern in enumerate(case.patterns):
        yield replace(case, patterns=case.patterns[:i] + case.patterns[i + 1 :])
        for j in range(len(pattern.rules)):
            rules = pattern.rules[:j] + pattern.rules[j + 1 :]
            if rules:
                yield _with_pattern(case, i, replace(pattern, rules=rules))


def _fewer_lets(case: Case) -> Iterator[Case]:
    for k in range(len(case.lets)):
        yield replace(case, lets=case.lets[:k] + case.lets[k + 1 :])
    for i, pattern in enumerate(case.patterns):
        for k in range(len(pattern.lets)):
            yield _with_pattern(case, i, replace(pattern, lets=pattern.lets[:k] + pattern.lets[k + 1 :]))
    for rule, put in _rules(case):
        for k in range(len(rule.lets)):
            yield put(replace(rule, lets=rule.lets[:k] + rule.lets[k + 1 :]))


def _fewer_rows(case: Case) -> Iterator[Case]:
    rows = case.table.rows
    size = len(rows) // 2
    while size:
        for at in range(0, len(rows), size):
            yield _with_table(case, rows=rows[:at] + rows[at + size :])
        size //= 2


def _fewer_fields(case: Case) -> Iterator[Case]:
    for column in case.table.columns:
        rows = tuple(replace(r, cells=tuple(c for c in r.cells if c.column != column.name)) for r in case.table.rows)
        yield _with_table(case, columns=tuple(c for c in case.table.columns if c != column), rows=rows)
    for i, row in enumerate(case.table.rows):
        for k in range(len(row.cells)):
            yield _with_row(case, i, replace(row, cells=row.cells[:k] + row.cells[k + 1 :]))


def _simpler_file(case: Case) -> Iterator[Case]:
    if case.table.encoding != "UTF-8" or case.table.mark:
        yield _with_table(case, encoding="UTF-8", mark=False)
    for i, row in enumerate(case.table.rows):
        if row.inside or row.before:
            yield _with_row(case, i, replace(row, inside="", before=""))


def _simpler_expressions(case: Case) -> Iterator[Case]:
    for rule, put in _rules(case):
        if len(rule.context) > 1:
            yield from (put(replace(rule, context=(step,))) for step in rule.context)
        for k, step in enumerate(rule.context):
            for smaller in _simpler_steps(step):
                yield put(replace(rule, context=(*rule.context[:k], smaller, *rule.context[k + 1 :])))
        for k, let in enumerate(rule.lets):
            for value in let.value.simpler():
                yield put(replace(rule, lets=(*rule.lets[:k], Let(let.name, value), *rule.lets[k + 1 :])))
        for k, check in enumerate(rule.checks):
            for smaller_check in _simpler_checks(check):
                yield put(replace(rule, checks=(*rule.checks[:k], smaller_check, *rule.checks[k + 1 :])))


def _simpler_steps(step: Step) -> Iterator[Step]:
    if step.above is not None:
        yield replace(step, above=None)
        yield from (replace(step, above=e) for e in step.above.simpler())
    if step.predicate is not None:
        yield replace(step, predicate=None)
        yield from (replace(step, predicate=e) for e in step.predicate.simpler())


def _simpler_checks(check: Check) -> Iterator[Check]:
    if check.shown is not None:
        yield replace(check, shown=None)
    if check.kind == "report":
        yield replace(check, kind="assert")
    yield from (replace(check, test=test) for test in check.test.simpler())


def _simpler_cells(case: Case) -> Iterator[Case]:
    for i, row in enumerate(case.table.rows):
        for k, cell in enumerate(row.cells):
            for smaller in _simpler_cell(cell):
                yield _with_row(case, i, replace(row, cells=(*row.cells[:k], smaller, *row.cells[k + 1 :])))


def _simpler_cell(cell: Cell) -> Iterator[Cell]:
    if cell.spelling != "plain":
        yield replace(cell, spelling="plain")
    if cell.lexeme in _PLAIN:
        return
    yield from (replace(cell, lexeme=text) for text in _PLAIN)
    for at in range(len(cell.lexeme)):
        yield replace(cell, lexeme=cell.lexeme[:at] + cell.lexeme[at + 1 :])


def _with_pattern(case: Case, i: int, pattern: Pattern) -> Case:
    return replace(case, patterns=(*case.patterns[:i], pattern, *case.patterns[i + 1 :]))


def _with_table(case: Case, **changes: object) -> Case:
    table: Table = replace(case.table, **changes)  # type: ignore[arg-type]
    return replace(case, table=table)


def _with_row(case: Case, i: int, row: Row) -> Case:
    rows = case.table.rows
    return _with_table(case, rows=(*rows[:i], row, *rows[i + 1 :]))


def _rules(case: Case) -> Iterator[tuple[Rule, Callable[[Rule], Case]]]:
    """Yield every rule, with what puts another in its place."""
    for i, pattern in enumerate(case.patterns):
        for j, rule in enumerate(pattern.rules):

            def put(other: Rule, i: int = i, j: int = j, pattern: Pattern = pattern) -> Case:
                rules = (*pattern.rules[:j], other, *pattern.rules[j + 1 :])
                return _with_pattern(case, i, replace(pattern, rules=rules))

            yield rule, put


_STEPS = (
    _fewer_checks,
    _fewer_rules,
    _fewer_lets,
    _fewer_rows,
    _fewer_fields,
    _simpler_file,
    _simpler_expressions,
    _simpler_cells,
)
