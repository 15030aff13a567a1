"""Each step of a manifest in turn: whether it can have made the released file, and what it leaves for the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from masktron.arrays import Indices
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.verify import drawn_values, recoding, suppressed_keys, swapping, weights
from masktron.verify.findings import Findings
from masktron.verify.release import Release
from masktron.write.treatments import Postrandomised, Recoded, Reweighted, Suppressed, Swapped, Treatment


def verify_steps(release: Release) -> Findings:
    """Ask each step in turn whether it can have made the released file of what earlier ones leave."""
    found, before, changed = Findings(), release.original, frozenset[str]()
    for step in release.described.treatments:
        found.add(_verified(step, replace(release, before=before, changed=changed)))
        if isinstance(step, Postrandomised | Swapped):
            changed |= {*step.fields}
        if before is not None:
            before = _after(step, before, release.released, release.rows)
    return found


def _verified(step: Treatment, release: Release) -> Findings:
    match step:
        case Recoded():
            return recoding.verify(step, release)
        case Reweighted():
            return weights.verify(step, release)
        case Postrandomised():
            return drawn_values.verify(step, release)
        case Swapped():
            return swapping.verify(step, release)
        case Suppressed():
            return suppressed_keys.verify(step, release)
        case _:
            assert_never(step)


def left_by_steps(
    treatments: Iterable[Treatment], original: Dataset, released: Dataset, rows: Indices | None
) -> Dataset:
    """Return records of an original as the steps of a manifest leave them: what its fields are compared with.

    Cells that were drawn, swapped or suppressed are those of the release: there is nothing to compare them with.

    Parameters
    ----------
    treatments : iterable of Treatment
    original, released : Dataset
        Read with the missing codes of the manifest.
    rows : ndarray of intp or None
        The row of the original of each released record; None where these cells are to be those of the original.
    """
    for step in treatments:
        original = _after(step, original, released, rows)
    return original


def _after(step: Treatment, before: Dataset, released: Dataset, rows: Indices | None) -> Dataset:
    """Return records as one step leaves them; fields that are not there are not missed here."""
    match step:
        case Recoded():
            name = step.recoding.field
            there = [name] if name in before.columns else []
            return before.with_columns({name: recoding.recoded(step, before.columns[name]) for name in there})
        case Reweighted():
            there = [step.field] if {step.field, *step.within} <= before.columns.keys() else []
            return before.with_columns({name: weights.reweighted(step, before) for name in there})
        case Postrandomised() | Swapped() | Suppressed():
            names = step.changed
        case _:
            assert_never(step)
    if rows is None:
        return before
    columns: dict[str, Column] = {}
    for name in names:
        if name in before.columns and name in released.columns:
            was, now = before.columns[name], released.columns[name]
            gone = now.where(now.states == Status.ABSENT)
            columns[name] = was.without(rows[gone]) if isinstance(step, Suppressed) else was.with_cells(rows, now)
        elif name in before.columns and isinstance(step, Suppressed):
            columns[name] = before.columns[name].without(rows)  # all its cells may have been left out
    return before.with_columns(columns)
