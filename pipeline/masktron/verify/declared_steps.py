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
from masktron.write.treatments import Postrandomised, Recoded, Reweighted, Suppressed, Swapped


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
        return frozenset(name for step in steps for name in (*step.fields, *step.also))


def verify_steps(release: Release) -> tuple[Findings, Dataset]:
    """Ask each step in turn, and return what was found, and the original as the steps leave it.

    Cells that were drawn, swapped or suppressed are then those of the release: there is nothing to compare them with
    one by one.
    """
    found, before, described = Findings(), release.original, release.described
    changed: set[str] = set()
    for step in described.treatments:
        match step:
            case Recoded():
                name = step.recoding.field
                if name not in before.columns:
                    continue  # that it is gone is found where fields are compared
                if release.is_original:
                    found.problems += recoding.verify(
                        step, release.original, release.keep, described.k, described.weight
                    )
                before = before.with_columns({name: recoding.recoded(step, before.columns[name])})
            case Reweighted():
                if not {step.field, *step.within} <= before.columns.keys():
                    continue
                if release.is_original:
                    found.problems += weights.verify(step, before, release.keep)
                before = before.with_columns({step.field: weights.reweighted(step, before)})
            case Postrandomised() | Swapped():
                if release.rows is None:
                    continue  # that the numbers of records differ is found where they are counted
                found.add(_changed(step, before, release, release.rows, changed))
                changed.update(step.fields)
                before = _with_drawn(before, release, release.rows, step.fields)
            case Suppressed():
                if release.rows is not None:
                    before = _with_suppressed(before, release, release.rows, (*step.fields, *step.also))
            case _:
                assert_never(step)
    return found, before


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


def _with_drawn(before: Dataset, release: Release, rows: Indices, names: Iterable[str]) -> Dataset:
    """Return records with the cells of the release in some fields."""
    now = release.released.columns
    there = [name for name in names if name in before.columns and name in now]
    return before.with_columns({name: before.columns[name].with_cells(rows, now[name]) for name in there})


def _with_suppressed(before: Dataset, release: Release, rows: Indices, names: Iterable[str]) -> Dataset:
    """Return records without the cells of some fields that the release lacks."""
    columns: dict[str, Column] = {}
    for name in names:
        if name in before.columns and name in release.released.columns:
            now = release.released.columns[name]
            columns[name] = before.columns[name].without(rows[now.where(now.states == Status.ABSENT)])
    return before.with_columns(columns)
