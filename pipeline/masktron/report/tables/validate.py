"""A validation for the eye."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from masktron.counts import counted
from masktron.problems.problem import Problem, Sentence
from masktron.problems.wording import worded
from masktron.report.tables.cells import headed, noted, rules_shown, soft_warnings, tested_line, unbroken
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, further
from masktron.report.text import number, plain
from masktron.results import RecordFinding, RuleResult, ValidateResult


def tables(result: ValidateResult) -> list[RenderableType]:
    """One row per rule, the verdict below; of several files their findings and verdicts before it."""
    return [
        *rules_shown(result.rules),
        *(_finding(one, finding) for one in result.documents for finding in one.findings),
        *document_lines(result),
        *map(plain, labels_told(result)),
        *noted("note", result.notes),
        *tested_line(result.tested if result.records else None),
        validity(result),
    ]


_TEXT = 120
"""Characters of what a rule says."""
_ROOM = 60
"""Characters for the ids of the rules that a document breaks."""


def document_lines(result: ValidateResult) -> list[RenderableType]:
    """Draw a line for each of several files: its name, its verdict, and the rules that it breaks."""
    several = [*((one.data, _verdict(one)) for one in result.documents)]
    several += [(one.data, f"[red]not judged[/]: {_why(one.problem)}") for one in result.unread]
    if not several:
        return []
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, verdict in several:
        table.add_row(plain(name), verdict)
    return [table]


def _why(problem: Problem) -> str:
    line = f"line {problem.place.line}: " if problem.place.line else ""
    return plain(f"{line}{worded(problem).what}")


def _verdict(result: ValidateResult) -> str:
    broken = [rule for rule in result.rules if rule.violations]
    ids = textwrap.shorten(", ".join(rule.id for rule in broken), _ROOM, placeholder=" ...")
    if not any(rule.reached for rule in result.rules):
        return "[red]no rule fires on it[/]"
    verdict = "[green]valid[/]" if result.valid else "[red]not valid[/]"
    return f"{verdict}, {counted(len(broken), 'rule')} broken: {plain(ids)}" if broken else verdict


def _finding(result: ValidateResult, finding: RecordFinding) -> str:
    place = ":".join(str(one) for one in (result.data, finding.line, finding.column) if one)
    return f"{plain(place)}: {plain(finding.rule)}: {plain(' '.join(finding.message.split()))}"


def validity(result: ValidateResult) -> str:
    """Say whether the file is valid, and by which engine; of several files, how many are."""
    if not result.valid:
        verdict = f"[red]{_wrong(result)}[/]"
    elif result.violations:
        verdict = f"[green]valid[/]: {counted(result.violations, 'violation')}, all within what is allowed"
    else:
        fired = any(rule.reached for rule in result.rules)
        verdict = "[green]valid[/]" if fired else "[yellow]valid, but no rule fired[/]"
    # behind a list of rules a comma would make one more of it
    soft = f"{';' if ';' in verdict else ','} {soft_warnings(result.warnings)}" if result.warnings else ""
    records = counted(result.records, "document" if result.is_document else "record")
    if result.documents or result.unread:
        valid = sum(one.valid for one in result.documents)
        wrong = len(result.documents) - valid
        said = [f"{valid:,} valid", *([f"[red]{wrong:,} not valid[/]"] if wrong else [])]
        said += [f"[red]{len(result.unread):,} not judged[/]"] if result.unread else []
        said += [counted(result.violations, "violation")] if result.violations else []
        said += [soft_warnings(result.warnings)] if result.warnings else []
        return f"{plain(result.data)}: {', '.join(said)}  ({plain(result.engine)})"
    if result.is_document:
        return f"{plain(result.data)}: {verdict}{soft}  ({plain(result.engine)})"
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
    if result.is_document and not any(rule.reached for rule in result.rules):
        return "no rule fires on it"
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
    tells = _broken if result.is_document else _tells
    telling = [rule for rule in result.rules if not many or tells(rule)]
    shown = telling[:_ALL]
    table = ([_broken_rules(shown)] if result.is_document else rules_shown(shown)) if shown else []
    lines = []
    if beside := telling[_ALL:]:
        ids = ", ".join(rule.id for rule in beside)
        lines.append(
            SummaryLine("rules", f"{counted(len(beside), 'more rule')} of which something is to be said: {ids}")
        )
    if fired := sum(bool(rule.reached) for rule in result.rules if many and not tells(rule)):
        lines.append(SummaryLine("rules", f"{counted(fired, 'rule')} fired, and never failed"))
    misspelt = tuple(note for note in result.notes if any(_is_of(note, rule) for rule in result.rules))[:_TOLD_WHOLE]
    lines += [SummaryLine("note", note) for note in misspelt]
    others = [note for note in result.notes if note not in misspelt]
    lines += [*brief("note", others), *brief("fields", labels_told(result))]
    if result.records and result.is_document:
        lines.append(SummaryLine("tested", f"{result.tested.tested:,} of {len(result.rules):,} rules"))
    elif result.records:
        lines.append(SummaryLine("tested", str(result.tested)))
    rest = further("every rule and all notes")
    return [*table, Screenful(lines, rest, used=len(shown) + 3), *document_lines(result), validity(result)]


def _is_of(note: Sentence, rule: RuleResult) -> bool:
    """Whether a note says of a rule that it asks for what the file does not have, and what was meant."""
    why = note.references.get("why") if isinstance(note, Problem) else None
    untested = rule.untested
    return untested is not None and untested.misnamed and not untested.allowed and why == untested.problem


def _broken_rules(rules: Sequence[RuleResult]) -> Table:
    """One row per rule that documents break: how often it fired and failed, and what it says."""
    table = headed("rule", "fired", "failed", "errors", "what it says")
    for rule in rules:
        name = f"{plain(rule.id)} (soft)" if rule.soft else plain(rule.id)
        failed, said = number(rule.failed or 0), textwrap.shorten(rule.text, _TEXT, placeholder=" ...")
        table.add_row(name, number(rule.fired), f"[red]{failed}[/]", number(rule.errors), plain(said))
    return unbroken(table, [rule.id for rule in rules])


def _broken(rule: RuleResult) -> bool:
    """Whether a rule failed, could not be evaluated, or may fail: that it tests nothing is usual for a document."""
    return bool(rule.failed or rule.errors or rule.allowed is not None or not rule.passes)


def _tells(rule: RuleResult) -> bool:
    """Whether a rule failed, could not be evaluated, may fail, or tested nothing."""
    tested = rule.fired and rule.untested is None
    return bool(rule.failed or rule.errors or not tested or not rule.passes or rule.allowed is not None)
