"""An explained rulebook for the eye."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table

from masktron.counts import counted
from masktron.preflight.conclusions import AllowedValues, Contradiction, Preflight, Redundancy, RulePart
from masktron.report.shared_tables import levels_table
from masktron.report.tables.cells import drawn, headed, noted, optional, table_of, tested_line, unbroken
from masktron.report.text import number, plain
from masktron.results import ExplainResult, FieldExplanation, RuleExplanation, StepExplanation
from masktron.step_kinds import ALL


def tables(result: ExplainResult) -> list[RenderableType]:
    """One row per rule: class and meaning, with data also counts, tier and aggregator; then the blocks."""
    rules = result.rules
    whole = [f"{r.id}: {r.tier.partition(': ')[2]}" for r in rules if r.tier is not None and r.tier.startswith("3")]
    return [
        f"{plain(result.rulebook)}: {counted(len(rules), 'rule')}, XPath {result.version}",
        _Explained(rules),
        *drawn(levels_table(result.levels)),
        *([_fields(result.fields)] if any(map(_said, result.fields)) else []),
        *([_blocks(rules)] if any(rule.block for rule in rules) else []),
        *_unmasked(rules),
        *_gravity(rules),
        *noted("needs the whole file", whole),
        *preflight_lines(result),
        *([_steps(result.steps)] if len(result.steps) > 1 else []),
        *noted("note", result.notes),
        *tested_line(result.tested),
        *([f"[yellow]mask would stop:[/] {_error(result.obstacle)}"] if result.obstacle else []),
    ]


ROOMY = 100
"""Columns that a terminal must have to show meaning and facts of rules side by side."""


@dataclass(frozen=True, slots=True)
class _Explained:
    """The rules in one table, or in a narrow terminal in two."""

    rules: tuple[RuleExplanation, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        facts = any(rule.fired is not None for rule in self.rules)
        if not facts or options.max_width >= ROOMY:
            yield self._table(meaning=True, facts=facts)
        else:
            yield self._table(meaning=True, facts=False)
            yield self._table(meaning=False, facts=True)

    def _table(self, *, meaning: bool, facts: bool) -> Table:
        planned = facts and any(rule.block for rule in self.rules)
        headers = ["rule"]
        headers += ["class", "what it says"] if meaning else []
        headers += ["fired", "failed", "needs"] if facts else []
        headers += ["kept by"] if planned else []
        table = headed(*headers)
        for rule in self.rules:
            row = [plain(rule.id)]
            row += [rule.kind, plain(rule.form or _otherwise(rule))] if meaning else []
            row += [optional(rule.fired), _failed(rule), _tier(rule)] if facts else []
            row += [_one_per_line(rule.candidates) or "-"] if planned else []
            table.add_row(*row)
        return unbroken(table, [rule.id for rule in self.rules])


def _otherwise(rule: RuleExplanation) -> str:
    """Say why a rule has no mathematics; of one that is not understood, which part is to blame."""
    return f"not understood: {rule.reason}" if rule.kind == "opaque" else rule.reason


def _failed(rule: RuleExplanation) -> str:
    return "-" if rule.failed is None else number(rule.failed)


def _tier(rule: RuleExplanation) -> str:
    """What the evaluation of a rule needs to see at a time: see `masktron.judge.walk`."""
    tier = rule.tier or ""
    return "passes" if "across records" in tier else {"1": "columns", "2": "record"}.get(tier[:1], "file")


def _blocks(rules: Sequence[RuleExplanation]) -> Table:
    table = headed("masked together", "aggregator", "why")
    for block, candidates, why in dict.fromkeys((r.block, r.candidates, r.why) for r in rules if r.block):
        table.add_row(plain(", ".join(block or ())), _one_per_line(candidates), plain(why or ""))
    return table


def _said(field: FieldExplanation) -> bool:
    """Whether the file says more of a field than its name."""
    return bool(field.label or field.missing or field.labels or field.name != field.column)


def _fields(fields: Sequence[FieldExplanation]) -> Table:
    table = headed("field", "label", "role", "kind", "missing")
    for field in fields:
        name = field.name if field.name == field.column else f"{field.name} ({field.column})"
        codes = (f"{code}: {label}" if label else code for code, label in field.missing.items())
        row = (name, field.label, field.role or "-", field.kind or "-", ", ".join(codes) or "-")
        table.add_row(*map(plain, row))
    return unbroken(table, [field.name for field in fields])


def _one_per_line(names: Sequence[str]) -> str:
    return ",\n".join(map(plain, names))


def _steps(steps: Sequence[StepExplanation]) -> str:
    """Say in which order `mask` changes the fields, where there is more than one step."""
    words = {**_STEPS, **{kind.kind: kind.order for kind in ALL}}
    told = [f"{words[step.kind]} {', '.join(step.fields)}".rstrip() for step in steps]
    return plain(f"steps: {'; '.join(told)}")


def _unmasked(rules: Sequence[RuleExplanation]) -> list[str]:
    """Rules without a block, by reason."""
    reasons = dict.fromkeys(rule.why for rule in rules if rule.why and not rule.block)
    return [plain(f"{why}: {', '.join(rule.id for rule in rules if rule.why == why)}") for why in reasons]


def _gravity(rules: Sequence[RuleExplanation]) -> Iterator[str]:
    """Say which rules are soft and which are hard, and because of which attribute."""
    kinds = dict.fromkeys((rule.soft, rule.marks) for rule in rules)
    for soft, marks in sorted(kinds, reverse=True):
        ids = ", ".join(rule.id for rule in rules if (rule.soft, rule.marks) == (soft, marks))
        said = " and ".join(marks)
        if soft:
            yield plain(f"soft, for {said} (a failure is reported and decides nothing): {ids}")
        elif marks:
            yield plain(f"hard, as {said} is none of the words that make a rule soft: {ids}")
        else:
            yield plain(f"hard, as {'they have' if ids.count(',') else 'it has'} no role, flag or severity: {ids}")


def _error(message: str) -> str:
    """Return the text of an error, each problem and each hint on a line of its own."""
    return re.sub("\n *->", "\n  ->", "\n".join(map(plain, message.split("\n"))))


_STEPS = {
    "units": "take each unit with all its members as one record",
    "masking": "mask",
}
"""What is said of what comes before and after the steps that settings ask for."""

COMPLETE = "where all numbers are there"


def preflight_lines(result: ExplainResult) -> list[RenderableType]:
    """Write what the rules say about each other, and what the file tests of them."""
    found = result.preflight
    return [
        *_contradictions(found.contradictions, frozenset(rule.id for rule in result.rules if rule.soft)),
        *noted("redundant", [_redundancy(each) for each in found.redundant]),
        *noted("the same", [", ".join(ids) for ids in found.duplicates]),
        *noted("can never hold", [_part(each) for each in found.impossible]),
        *noted("always true", found.always),
        *noted("untested", list(_untested(result))),
        *([_allowed(found.allowed)] if found.allowed else []),
        *noted(
            "ties", [f"{t.rule}: {', '.join(t.masked)} to {', '.join(t.unmasked)}, {t.meaning}" for t in result.ties]
        ),
        *noted("not looked at", [f"{rule}: {why}" for rule, why in found.skipped]),
        *noted("not decided", found.undecided),
        *_summary(found),
    ]


def _contradictions(found: Sequence[Contradiction], soft: Collection[str]) -> Iterator[str]:
    """Say which rules no record satisfies together; a record need not satisfy a soft one."""
    for each in found:
        ids = plain(", ".join(f"{rule} (soft)" if rule in soft else rule for rule in each.rules))
        if len(each.rules) == 1:
            says = f"no record satisfies {ids}"
        else:
            says = f"no record satisfies all of {ids}; without any one of them, some record might"
        if each.numbers_only:
            says += f" ({COMPLETE})"
        yield f"[red]contradiction[/]: {says}"


def _redundancy(found: Redundancy) -> str:
    by = f"follows from {', '.join(found.by)}" if found.by else "holds for every record"
    text = f"{found.rule} {by}"
    if found.through is not None:
        text += f": {found.through} always holds, so the rest of it is never asked"
    return f"{text} {COMPLETE}, which it asks for as well" if found.numbers_only else text


def _part(found: RulePart) -> str:
    return f"{found.part} in {found.rule}" + (f", because of {', '.join(found.by)}" if found.by else "")


def _untested(result: ExplainResult) -> Iterator[str]:
    """Say of which rules the records of the file test nothing, or not all."""
    reasons = dict.fromkeys(each.untested for each in result.coverage if each.untested is not None)
    for reason in reasons:
        yield f"{', '.join(each.rule for each in result.coverage if each.untested == reason)}: {reason}"


def _allowed(found: Sequence[AllowedValues]) -> Table:
    table = table_of()
    table.add_column("field", overflow="fold")
    table.add_column(f"what all rules leave to it, {COMPLETE}", overflow="fold")
    for each in found:
        table.add_row(plain(each.field), plain(_limits(each)))
    return table


def _limits(found: AllowedValues) -> str:
    if found.fixed is not None:
        return f"only {found.fixed}"
    if found.values is not None:
        listed = ", ".join(filter(None, found.values))
        empty = " or nothing" if "" in found.values else ""
        return f"one of {listed}{empty}" if listed else "nothing" if empty else "no text"
    low = "" if found.low is None else f"{found.low} {'<' if found.low_open else '<='} "
    high = "" if found.high is None else f" {'<' if found.high_open else '<='} {found.high}"
    return f"{low}{found.field}{high}"


def _summary(found: Preflight) -> Iterator[str]:
    if found.in_part:
        yield plain(
            "looked at as a whole, so that less may be found than there is: conditions that are not linear in "
            + ", ".join(found.in_part)
        )
    yield plain(f"pre-flight by {found.solver}")
