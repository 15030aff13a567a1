"""What a treatment changes as one: records, or whole households."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.kernels.distinct import codes_of
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes, asked


@dataclass(frozen=True, slots=True, eq=False)
class RecordUnits:
    """Units of a file.

    Attributes
    ----------
    of_record : ndarray of intp, shape (n,)
        Unit of each record, from 0.
    first : ndarray of intp, shape (units,)
        The first record of each unit.
    """

    of_record: Indices
    first: Indices

    def __len__(self) -> int:
        return len(self.first)

    def any_record(self, of_records: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell of which units some record is marked, shape (units,)."""
        return np.bincount(self.of_record[of_records], minlength=len(self)) > 0

    def unlike(self, columns: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.bool_]:
        """Tell which records differ from the first one of their unit in some column, shape (n,)."""
        found = np.zeros(len(self.of_record), dtype=np.bool_)
        for column in columns:
            found |= column != column[self.first][self.of_record]
        return found

    def admitted(self, admissible: AdmitsCodes) -> AdmitsCodes:
        """Return what asks which units may have which values: those that the rules admit in all their records."""

        def of_units(proposed: Sequence[KeyCodes]) -> NDArray[np.bool_]:
            return ~self.any_record(~asked(admissible, [codes[self.of_record] for codes in proposed]))

        return of_units


def record_units(households: KeyCodes) -> RecordUnits:
    """Put records together by the number of their household; one with -1 is a unit of its own.

    Parameters
    ----------
    households : ndarray of intp, shape (n,)
    """
    n, alone = len(households), households < 0
    of_record = codes_of(np.where(alone, int(households.max(initial=0)) + 1 + np.arange(n), households))
    first = np.zeros(int(of_record.max(initial=-1)) + 1, dtype=np.intp)
    first[of_record[::-1]] = np.arange(n)[::-1]
    return RecordUnits(of_record.astype(np.intp), first)
