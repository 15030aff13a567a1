"""Each step of a manifest in turn: whether it can have made the released file, and what it leaves for the next."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.verify import drawn_values, recoding, suppressed_keys, swapping, weights
from masktron.verify.findings import Findings
from masktron.verify.record_rules import RecordRules
from masktron.write.manifest import DescribedRelease
from masktron.write.treatments import Postrandomised, Recoded, Reweighted, Suppressed, Swapped, Treatment


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A released file beside its original.

    Attributes
    ----------
    described : DescribedRelease
    original : Dataset
        All its records, n, read with the missing codes of the manifest.
    released : Dataset
        Read with the missing codes of the manifest, too.
    rows : ndarray of intp or None
        The row of the original of each released record; None where they are not known.
    is_original : bool
        Whether the original is the one that the manifest describes.
    rules : RecordRules or None
        Where they are those of the manifest.
    """

    described: DescribedRelease
    original: Dataset
    released: Dataset
    rows: Indices | None
    is_original: bool
    rules: RecordRules | None

    @property
    def keep(self) -> NDArray[np.bool_]:
        """The records of the original that were released, shape (n,)."""
        return ~np.isin(np.arange(len(self.original)), np.array(sorted(self.described.excluded), dtype=np.intp))

    @property
    def suppressed(self) -> frozenset[str]:
        """Fields of which cells may have been suppressed."""
        steps = (step for step in self.described.treatments if isinstance(step, Suppressed))
        return frozenset(name for step in steps for name in step.changed)


def verify_steps(release: Release) -> tuple[Findings, Dataset]:
    """Ask each step in turn whether it can have made the released file of what earlier ones leave.

    Returns
    -------
    found : Findings
    left : Dataset
        As `left_by_steps` returns it.
    """
    found, before, changed = Findings(), release.original, set[str]()
    for step in release.described.treatments:
        match step:
            case Recoded():
                if release.is_original and step.recoding.field in before.columns:
                    found.problems += recoding.verify(
                        step, release.original, release.keep, release.described.k, release.described.weight
                    )
            case Reweighted():
                if release.is_original and {step.field, *step.within} <= before.columns.keys():
                    found.problems += weights.verify(step, before, release.keep)
            case Postrandomised() | Swapped():
                if release.rows is None:
                    unknown = "which record of the original each released record comes from is not known"
                    found.not_checked.append(f"what was done to {', '.join(step.fields)}: {unknown}")
                else:
                    found.add(_changed(step, before, release, release.rows, changed))
                changed.update(step.fields)
            case Suppressed():
                pass  # `verify_suppressed` tests it, which needs no original
            case _:
                assert_never(step)
        before = _after(step, before, release.released, release.rows)
    return found, before


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
    return before.with_columns(columns)


def verify_suppressed(described: DescribedRelease, released: Dataset) -> Findings:
    """Test what suppression promises of the released file alone."""
    found = Findings()
    for step in described.treatments:
        if isinstance(step, Suppressed):
            found.add(suppressed_keys.verify(step, released, described))
    return found


def _changed(
    step: Postrandomised | Swapped, before: Dataset, release: Release, rows: Indices, changed: Collection[str]
) -> Findings:
    """Test values that were drawn anew or swapped, after some fields were changed, against the release."""
    found, names, how = Findings(), ", ".join(step.fields), step.settings
    fields = release.released.columns.keys() & before.columns.keys()
    if gone := [name for name in step.fields if name not in fields]:
        found.problems.append(f"the file has no field {', '.join(gone)}, whose values were changed")
        return found
    if isinstance(step, Swapped):
        done, read = f"the regions {names} cannot have been swapped as the manifest says", [*step.settings.similar]
    else:
        done, read = f"the values of {names} cannot have been drawn anew", [*step.settings.within]
        read += [] if step.weight is None else [step.weight]
    read += [] if how.household is None else [how.household]
    if gone := [name for name in read if name not in before.columns]:
        found.problems.append(f"{done}: there is no field {gone[0]!r}")
        return found
    order = np.argsort(rows)
    suppressed = release.suppressed
    kept, released = before.taken(rows[order]), release.released.taken(order)
    unknown = suppressed.intersection(changed)
    match step:
        case Swapped():
            return swapping.verify(step, kept, released, suppressed=suppressed, unknown=unknown)
        case Postrandomised():
            if release.rules is None:
                found.not_checked.append(f"draws of {names}: need the rulebook of the manifest")
                return found
            return drawn_values.verify(step, kept, released, release.rules, suppressed=suppressed, unknown=unknown)
        case _:
            assert_never(step)
