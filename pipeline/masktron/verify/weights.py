"""Weights of records left out, spread over those of their class that were released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.problems.problem import Sentence
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Reweighted
from masktron.verify.cells import number_of, rounded_text
from masktron.verify.findings import Findings
from masktron.verify.release import Release

type _Class = tuple[str | None, ...]


def verify(step: Reweighted, release: Release) -> Findings:
    """Test whether weights were spread by the factors of the original that the manifest describes."""
    before = release.before
    if before is None or not release.is_original or not {step.field, *step.within} <= before.columns.keys():
        return Findings()
    return Findings([*weight_deviations(step, before, release.keep)])


def weight_deviations(step: Reweighted, before: Dataset, keep: NDArray[np.bool_]) -> Iterator[Sentence]:
    """Say where the factors of a manifest are not those by which weighted counts of classes stay as they were.

    Parameters
    ----------
    step : Reweighted
    before : Dataset
        All records of the original, n, as earlier steps leave them.
    keep : ndarray of bool, shape (n,)
        Those that were released.
    """
    cells = _cells(step, before)
    everything = _totals(Counter(cells))
    released = _totals(Counter(cell for cell, kept in zip(cells, keep.tolist(), strict=True) if kept))
    if lost := everything.keys() - released.keys():
        yield (
            f"the weights {step.field} cannot have been spread as the manifest says: "
            f"{counted(len(lost), 'class has', 'classes have')} no record left to take the others' weight"
        )
    elif dict(step.factors) != {
        key: total / released[key] for key, total in everything.items() if total != released[key]
    }:
        yield f"the weights {step.field} were spread by other factors than the original has"


def reweighted(step: Reweighted, before: Dataset) -> Column:
    """Return the weights of all records as a step writes them."""
    column, cells = before.columns[step.field], _cells(step, before)
    written: dict[tuple[_Class, str | None], str] = {}
    for key, text in set(cells):
        weight = None if text is None else number_of(text)
        if weight is not None and key in step.factors:
            written[key, text] = _written(weight * step.factors[key], step.decimals)
    texts = [written.get(cell, own) for cell, own in zip(cells, column.lexemes.tolist(), strict=True)]
    return Column.of_cells(column.variable, texts, column.known.missing)


def _cells(step: Reweighted, before: Dataset) -> list[tuple[_Class, str | None]]:
    """Return the class and the weight of each record; a code for 'missing' is a value of a class like any other."""
    fields = []
    for name in step.within:
        column = before.columns[name]
        texts = [None if text is None else str(text).strip() for text in column.lexicon.objects()]
        fields.append([texts[code] for code in column.codes.tolist()])
    return [*zip(zip(*fields, strict=True), before.columns[step.field].held.tolist(), strict=True)]


def _totals(cells: Mapping[tuple[_Class, str | None], int]) -> dict[_Class, Fraction]:
    """Add up the weights of classes: those above 0, since a record with another one is left out."""
    found: dict[_Class, Fraction] = {}
    for (key, text), times in cells.items():
        weight = None if text is None else number_of(text)
        if weight is not None and weight > 0:
            found[key] = found.get(key, Fraction(0)) + weight * times
    return found


def _written(weight: Fraction, decimals: int) -> str:
    """Write a weight without zeros at the end of its fraction."""
    text = rounded_text(weight, decimals)
    return text.rstrip("0").rstrip(".") if decimals else text
