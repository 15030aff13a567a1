"""A released file beside its original, as the steps of its manifest find them: what each verifier is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.classify import Edit
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Suppressed
from masktron.verify.findings import Findings
from masktron.verify.record_rules import RecordRules
from masktron.write.manifest import DescribedRelease


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A released file, or one level of it, and what its manifest says; beside its original where that is given.

    Attributes
    ----------
    described : DescribedRelease
    original : Dataset or None
        All its records, n, read with the missing codes of the manifest.
    released : Dataset
        Read with the missing codes of the manifest, too.
    rows : ndarray of intp or None
        The row of the original of each released record; None where they are not known.
    is_original : bool
        Whether the original is the one that the manifest describes.
    rules : RecordRules or None
        Where they are those of the manifest.
    edits : sequence of Edit
        Of the rules that count.
    names : LevelNames
        What fields are called.
    as_masked : bool
        Whether the file is, byte by byte, the one that the manifest describes.
    before : Dataset or None
        The original as earlier steps leave it.
    changed : frozenset of str
        Fields that earlier steps drew anew or swapped.
    """

    described: DescribedRelease
    original: Dataset | None
    released: Dataset
    rows: Indices | None
    is_original: bool
    rules: RecordRules | None = None
    edits: Sequence[Edit] = ()
    names: LevelNames = AS_THEY_ARE
    as_masked: bool = False
    before: Dataset | None = None
    changed: frozenset[str] = frozenset()

    @property
    def keep(self) -> NDArray[np.bool_]:
        """The records of the original that were released, shape (n,)."""
        n = 0 if self.original is None else len(self.original)
        return ~np.isin(np.arange(n), np.array(sorted(self.described.excluded), dtype=np.intp))

    @property
    def suppressed(self) -> frozenset[str]:
        """Fields of which cells may have been suppressed."""
        steps = (step for step in self.described.treatments if isinstance(step, Suppressed))
        return frozenset(name for step in steps for name in step.changed)

    @property
    def unknown(self) -> frozenset[str]:
        """Suppressed fields that earlier steps changed: what they were then is not known any more."""
        return self.suppressed & self.changed

    def pair(
        self, changed: Sequence[str], read: Sequence[str | None], done: str, cannot: str, found: Findings
    ) -> tuple[Dataset, Dataset] | None:
        """Return released records as they were before a step changed them, and as they are, in the original's order.

        Parameters
        ----------
        changed, read : sequence of str or None
            Fields that the step changed, and those that it read, some of which may be None.
        done, cannot : str
            What the step did, and that it cannot have done so.
        found : Findings
            Takes why there is no such pair; then None is returned.
        """
        names = ", ".join(changed)
        if self.before is None:
            found.not_checked.append(f"values of {names}, {done}: need the original")
        elif self.rows is None:
            unknown = "which record of the original each released record comes from is not known"
            found.not_checked.append(f"what was done to {names}: {unknown}")
        elif gone := [
            name for name in changed if name not in self.released.columns or name not in self.before.columns
        ]:
            found.problems.append(f"the file has no field {', '.join(gone)}, whose values were changed")
        elif lost := [name for name in read if name is not None and name not in self.before.columns]:
            found.problems.append(f"{cannot}: there is no field {lost[0]!r}")
        else:
            order = np.argsort(self.rows)
            return self.before.taken(self.rows[order]), self.released.taken(order)
        return None
