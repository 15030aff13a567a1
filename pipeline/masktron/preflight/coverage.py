"""What the records of a file test of each rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.classify.display import render_form
from masktron.classify.forms import form_of, is_about_missing, satisfied
from masktron.classify.truth import variables_of_atom
from masktron.constraints import (
    Atom,
    CrossRecordEdit,
    Form,
    InDomain,
    OpaqueEdit,
    Untranslated,
)
from masktron.evaluation.findings import Evaluation, Verdict
from masktron.preflight.conclusions import MISSING, Alternative, Coverage
from masktron.sources.column import OnDemand
from masktron.sources.dataset import Dataset


def coverage(
    edits: Sequence[Edit], records: Dataset, evaluation: Evaluation, spared: Mapping[int, Form]
) -> tuple[Coverage, ...]:
    """Count, for each rule, which alternatives the records satisfy.

    Rules over several records, and rules that are not understood, are left out. Whether an alternative holds is read
    off the normal form, in doubles; a rule with conditions that only the engine can decide has no alternatives here.
    A missing code that is a number counts as this number, since rules read it so.

    Parameters
    ----------
    edits : sequence of Edit
    records : Dataset
    evaluation : Evaluation
        Of the same records; its verdicts tell on which records a rule fires.
    spared : mapping of int to Form
        Negated antecedents, see `masktron.preflight.antecedent.escapes`.
    """
    read = _Read(records, evaluation)
    known = {field.name for field in records.layout.fields}
    return tuple(
        read.coverage(edit, spared.get(edit.check.index))
        for edit in edits
        if not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit) and known.issuperset(edit.variables)
    )


class _Read:
    """The records as rules read them."""

    def __init__(self, records: Dataset, evaluation: Evaluation) -> None:
        self.seen = {name: column.as_read() for name, column in records.columns.items()}
        self.texts = OnDemand.lexemes(records.columns)
        self.verdicts = evaluation.judged

    def coverage(self, edit: Edit, spared: Form | None) -> Coverage:
        fired = self.verdicts[:, edit.check.index] != Verdict.NOT_FIRED
        form = form_of(edit.constraint)
        alternatives = tuple(self._alternatives(form, fired)) if len(form) > 1 and _decidable(form) else ()
        asked = None if spared is None or not _decidable(spared) else int((fired & ~self._holding(spared)).sum())
        return Coverage(edit.check.id, int(fired.sum()), asked, alternatives)

    def _alternatives(self, form: Form, fired: NDArray[np.bool_]) -> Iterator[Alternative]:
        usual = [(render_form((part,)), self._holding((part,))) for part in form if not is_about_missing(part)]
        missing = tuple(part for part in form if is_about_missing(part))
        parts = [*usual, *([(MISSING, self._holding(missing))] if missing else [])]
        number = np.sum([holding for _, holding in parts], axis=0)
        for text, holding in parts:
            yield Alternative(text, int((holding & fired).sum()), int((holding & fired & (number == 1)).sum()))

    def _holding(self, form: Form) -> NDArray[np.bool_]:
        found = np.zeros(len(self.verdicts), dtype=np.bool_)
        for part in form:
            own = np.ones(len(self.verdicts), dtype=np.bool_)
            for atom in part:
                own &= satisfied(atom, self.seen, self.texts)
            found |= own
        return found


def _decidable(form: Form) -> bool:
    return not any(_needs_engine(atom) for part in form for atom in part)


def _needs_engine(atom: Atom) -> bool:
    """Whether the columns cannot tell if an atom holds."""
    if isinstance(atom, Untranslated):
        return not atom.version or not variables_of_atom(atom)
    return isinstance(atom, InDomain)
