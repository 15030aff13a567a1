"""Each step of a manifest in turn: whether it can have made the released file, and what it leaves for the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from masktron.arrays import Indices
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Postrandomised, Recoded, Reweighted, Suppressed, Swapped, Treatment
from masktron.verify import drawn_values, recoding, suppressed_keys, swapping, weights
from masktron.verify.findings import Findings
from masktron.verify.release import Release

VERIFIERS: Mapping[type[Treatment], Callable[[Any, Release], Findings]] = {
    Recoded: recoding.verify,
    Reweighted: weights.verify,
    Postrandomised: drawn_values.verify,
    Swapped: swapping.verify,
    Suppressed: suppressed_keys.verify,
}
"""What asks a step of each kind whether it can have made a released file."""
COMPUTED: Mapping[type[Treatment], Callable[[Any, Dataset], Column]] = {
    Recoded: recoding.recoded,
    Reweighted: weights.reweighted,
}
"""What computes the field again that a step of a kind has computed."""


def verify_steps(release: Release) -> Findings:
    """Ask each step in turn whether it can have made the released file of what earlier ones leave."""
    found, before, changed = Findings(), release.original, frozenset[str]()
    for step in release.described.treatments:
        found.add(VERIFIERS[type(step)](step, replace(release, before=before, changed=changed)))
        if step.untrue:
            changed |= {*step.changed}
        if before is not None:
            before = _after(step, before, release.released, release.rows)
    return found


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
    if step.computed:
        there = step.changed if {*step.reads} <= before.columns.keys() else ()
        return before.with_columns({name: COMPUTED[type(step)](step, before) for name in there})
    if rows is None:
        return before
    columns: dict[str, Column] = {}
    for name in step.changed:
        if name in before.columns and name in released.columns:
            was, now = before.columns[name], released.columns[name]
            gone = now.where(now.states == Status.ABSENT)
            columns[name] = was.without(rows[gone]) if isinstance(step, Suppressed) else was.with_cells(rows, now)
        elif name in before.columns and isinstance(step, Suppressed):
            columns[name] = before.columns[name].without(rows)  # all its cells may have been left out
    return before.with_columns(columns)
