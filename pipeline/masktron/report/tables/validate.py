"""A validation for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.problem import Problem, Sentence
from masktron.report.tables.cells import noted, rules_table, soft_warnings, tested_line
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, further
from masktron.report.text import plain
from masktron.results import RuleResult, ValidateResult


def tables(result: ValidateResult) -> list[RenderableType]:
    """One row per rule, the verdict below."""
    return [
        rules_table(result.rules),
        *map(plain, labels_told(result)),
        *noted("note", result.notes),
        *tested_line(result.tested if result.records else None),
        validity(result),
    ]


def validity(result: ValidateResult) -> str:
    """Say whether the file is valid, and by which engine."""
    if not result.valid:
        verdict = f"[red]{_wrong(result)}[/]"
    elif result.violations:
        verdict = f"[green]valid[/]: {counted(result.violations, 'violation')}, all within what is allowed"
    else:
        fired = any(rule.reached for rule in result.rules)
        verdict = "[green]valid[/]" if fired else "[yellow]valid, but no rule fired[/]"
    # behind a list of rules a comma would make one more of it
    soft = f"{';' if ';' in verdict else ','} {soft_warnings(result.warnings)}" if result.warnings else ""
    records = counted(result.records, "record")
    return f"{plain(result.data)}: {records}, {verdict}{soft}  ({plain(result.engine)})"


def labels_told(result: ValidateResult) -> list[str]:
    """Say what the labels of the fields are, and what codes for missing values they have."""
    lines = []
    for field in result.fields:
        codes = ", ".join(f"{code}: {label}" if label else code for code, label in field.missing.items())
        said = "; ".join(filter(None, (field.label, f"missing {codes}" if codes else "")))
        lines += [f"field: {field.name}: {said}"] if said else []
    return lines


def _wrong(result: ValidateResult) -> str:
    """Return the violations, which rules have more than they may, where any may have some, and which test nothing.

    What a rule finds that reads a field that the file never has is no violation of the data.
    """
    idle = [rule.id for rule in result.rules if rule.idle]
    violations = sum(rule.violations for rule in result.rules if not rule.soft and not rule.idle)
    over = [rule.id for rule in result.rules if not rule.passes and not rule.idle]
    bounded = over and any(rule.allowed is not None for rule in result.rules)
    said = [
        *([counted(violations, "violation")] if violations or not idle else []),
        *([f"too many of {plain(', '.join(over))}"] if bounded else []),
        *([f"not tested: {plain(', '.join(idle))}"] if idle else []),
    ]
    return "; ".join(said)


_TOLD_WHOLE = 4
"""Notes on misspelt rules that are never cut: the end says what was meant."""
_ALL = 20
"""Rules that are all shown; of more, only those of which something is to be said."""


def summary(result: ValidateResult) -> list[RenderableType]:
    """Rules, notes as far as they fit, and the verdict below."""
    many = len(result.rules) > _ALL
    telling = [rule for rule in result.rules if not many or _tells(rule)]
    shown = telling[:_ALL]
    lines = []
    if beside := telling[_ALL:]:
        ids = ", ".join(rule.id for rule in beside)
        lines.append(
            SummaryLine("rules", f"{counted(len(beside), 'more rule')} of which something is to be said: {ids}")
        )
    if silent := len(result.rules) - len(telling):
        lines.append(SummaryLine("rules", f"{counted(silent, 'rule')} fired, and never failed"))
    misspelt = tuple(note for note in result.notes if any(_is_of(note, rule) for rule in result.rules))[:_TOLD_WHOLE]
    lines += [SummaryLine("note", note) for note in misspelt]
    others = [note for note in result.notes if note not in misspelt]
    lines += [*brief("note", others), *brief("fields", labels_told(result))]
    if result.records:
        lines.append(SummaryLine("tested", str(result.tested)))
    rest = further("every rule and all notes")
    table = [rules_table(shown)] if shown else []
    return [*table, Screenful(lines, rest, used=len(shown) + 3), validity(result)]


def _is_of(note: Sentence, rule: RuleResult) -> bool:
    """Whether a note says of a rule that it asks for what the file does not have, and what was meant."""
    why = note.references.get("why") if isinstance(note, Problem) else None
    untested = rule.untested
    return untested is not None and untested.misnamed and not untested.allowed and why == untested.problem


def _tells(rule: RuleResult) -> bool:
    """Whether a rule failed, could not be evaluated, may fail, or tested nothing."""
    tested = rule.fired and rule.untested is None
    return bool(rule.failed or rule.errors or not tested or not rule.passes or rule.allowed is not None)
