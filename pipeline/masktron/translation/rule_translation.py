"""Each check of a rulebook on its way to the recoded file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from masktron.classify import Edit
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import form_of
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.recodings import Recoding
from masktron.rulebook.schema import Rulebook
from masktron.sources.records import Layout
from masktron.translation.translated_rules import TranslatedRule, Translation


def translated(
    rulebook: Rulebook, edits: Sequence[Edit], recodings: Mapping[str, Recoding], layout: Layout | None = None
) -> Translation:
    """Translate every check of a rulebook to the file in which fields are recoded.

    Parameters
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
        What `masktron.classify.classify` found of it, by index of the check.
    recodings : mapping of str to Recoding
        By field.
    layout : Layout, optional
        Of the file, as it was given to `classify`.

    Returns
    -------
    Translation
    """
    contexts = {check.index: pattern.rules[at].context for pattern, at, check in rulebook.situated()}
    rules = [_rule(edit, contexts[edit.check.index], recodings) for edit in edits]
    return Translation(rulebook, tuple(rules))


def _rule(edit: Edit, context: str, recodings: Mapping[str, Recoding]) -> TranslatedRule:
    check, old = edit.check, shown(edit)
    fields = tuple(name for name in edit.variables if name in recodings)
    if not fields:
        return TranslatedRule(check.id, check.index, "kept", old, old, check.test, context)
    reason = "rules on recoded fields are not translated"
    return TranslatedRule(check.id, check.index, "lost", old, "", "", "", reason, fields)


def shown(edit: Edit) -> str:
    """Return a rule in mathematics, or as it is written where it has no form."""
    match edit.constraint:
        case CrossRecordEdit():
            return render_cross_record(edit.constraint) or edit.check.test
        case OpaqueEdit():
            return edit.check.test
        case _:
            return render_form(form_of(edit.constraint))
