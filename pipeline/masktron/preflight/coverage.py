"""What the records of a file test of each rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.classify.bounds import linear_bound
from masktron.classify.display import render_form
from masktron.classify.forms import form_of, is_about_missing, satisfied
from masktron.classify.truth import variables_of_atom
from masktron.constraints import (
    Atom,
    CrossRecordEdit,
    Form,
    InDomain,
    Linear,
    OpaqueEdit,
    Polynomial,
    Product,
    Range,
    Untranslated,
)
from masktron.evaluation.findings import Evaluation, Verdict
from masktron.preflight.conclusions import MISSING, Alternative, Coverage
from masktron.sources.records import OnDemand, Records

_LONG = 6
"""Fields with more fraction digits have no grid of their own, see `masktron.settle.grid`, whose search is not loaded
for this."""
ROUNDING = 1e-9
"""Part of a step of the grid by which a distance in doubles may exceed it."""


def coverage(
    edits: Sequence[Edit], records: Records, evaluation: Evaluation, spared: Mapping[int, Form]
) -> tuple[Coverage, ...]:
    """Count, for each rule, which alternatives the records satisfy and how many come near its bounds.

    Rules over several records, and rules that are not understood, are left out. Whether an alternative holds is read
    off the normal form, in doubles; a rule with conditions that only the engine can decide has no alternatives here.
    A missing code that is a number counts as this number, since rules read it so.

    Parameters
    ----------
    edits : sequence of Edit
    records : Records
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

    def __init__(self, records: Records, evaluation: Evaluation) -> None:
        self.columns = records.columns
        self.seen = {name: column.as_read() for name, column in records.columns.items()}
        self.texts = OnDemand.lexemes(records.columns)
        self.verdicts = evaluation.judged

    def coverage(self, edit: Edit, spared: Form | None) -> Coverage:
        fired = self.verdicts[:, edit.check.index] != Verdict.NOT_FIRED
        form = form_of(edit.constraint)
        alternatives = tuple(self._alternatives(form, fired)) if len(form) > 1 and _decidable(form) else ()
        asked = None if spared is None or not _decidable(spared) else int((fired & ~self._holding(spared)).sum())
        return Coverage(edit.check.id, int(fired.sum()), asked, alternatives, self._at_bound(form, fired))

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

    def _at_bound(self, form: Form, fired: NDArray[np.bool_]) -> int | None:
        """Count records in which one step of one field would reach a bound of an alternative that holds.

        None without a bound, and where a field of one has long fractions: then there is no step to speak of. None
        where an equality is among several alternatives, too: one step takes a record off it, so that a record that it
        holds is near to breaking the rule, however far the bounds are.
        """
        near = np.zeros(len(self.verdicts), dtype=np.bool_)
        bounded = False
        pointed = len(form) > 1 and any(_pointed(atom) for part in form for atom in part)
        for part in form if _decidable(form) and not pointed else ():
            for atom in part:
                if isinstance(atom, Range | Linear) and _inequality(atom):
                    if any(self.columns[name].decimals > _LONG for name in variables_of_atom(atom)):
                        return None
                    bounded = True
                    near |= self._near(atom) & self._holding((part,))
        return int((near & fired).sum()) if bounded else None

    def _near(self, atom: Range | Linear) -> NDArray[np.bool_]:
        terms, interval = linear_bound(atom)
        total = np.sum([float(c) * self.seen[name] for name, c in terms], axis=0)
        step = max(abs(float(c)) * 10.0 ** -self.columns[name].decimals for name, c in terms) * (1 + ROUNDING)
        near = np.zeros(len(self.verdicts), dtype=np.bool_)
        for bound in _bounds((interval.low, interval.high)):
            near |= np.abs(total - float(bound)) <= step
        return near


def _bounds(ends: Iterable[Fraction | None]) -> Iterator[Fraction]:
    return (end for end in ends if end is not None)


def _inequality(atom: Range | Linear) -> bool:
    _, interval = linear_bound(atom)
    return interval.low is None or interval.low != interval.high


def _pointed(atom: Atom) -> bool:
    """Whether an atom holds at, or but at, single values of a number."""
    match atom:
        case Range() | Linear():
            return not _inequality(atom)
        case _:
            return isinstance(atom, Product | Polynomial)


def _decidable(form: Form) -> bool:
    return not any(_needs_engine(atom) for part in form for atom in part)


def _needs_engine(atom: Atom) -> bool:
    """Whether the columns cannot tell if an atom holds."""
    if isinstance(atom, Untranslated):
        return not atom.version or not variables_of_atom(atom)
    return isinstance(atom, InDomain)
