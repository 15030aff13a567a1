"""A validation on one screen: of many rules those that fail, warn or are not tested."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.problem import Problem, Sentence
from masktron.report.summaries.screenful import Screenful, SummaryLine, brief, further
from masktron.report.tables.cells import rules_table
from masktron.report.tables.validate import labels_told, validity
from masktron.results import RuleResult, ValidateResult

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
