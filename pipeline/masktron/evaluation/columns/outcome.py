"""What the evaluation over columns says, and what it leaves to an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch


class NotColumnar(Exception):  # noqa: N818 -- no mistake: the expression goes to an engine
    """An expression has no evaluation over columns; the text says why, for `explain`."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The effective boolean value of a test in each record.

    Attributes
    ----------
    holds : ndarray of bool, shape (n,)
        Means nothing where `unsure`.
    unsure : ndarray of bool, shape (n,)
        Records that an engine has to decide: a dynamic error, a lexical form that only it should read.
    """

    holds: NDArray[np.bool_]
    unsure: NDArray[np.bool_]


class Test(Protocol):
    """A compiled boolean expression."""

    @property
    def fields(self) -> frozenset[int]:
        """Positions in the layout of the fields that it reads."""
        ...

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch; records and cells that are odd may get any answer."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the checks of a program say of the records of a batch.

    Attributes
    ----------
    fired, failed : ndarray of uint8, shape (n, checks)
        Numbers of nodes of each record on which the check was evaluated, and on which it failed; 0 where `unsure`,
        and in the columns of checks that the program does not have.
    unsure : ndarray of bool, shape (n, checks)
        Where an engine has to evaluate the check on all nodes of the record.
    """

    fired: NDArray[np.uint8]
    failed: NDArray[np.uint8]
    unsure: NDArray[np.bool_]
