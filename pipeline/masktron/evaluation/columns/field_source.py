"""Where expressions read fields: in a batch, or, to try an expression, nowhere."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.items import NO, NOWHERE, Bools, always
from masktron.kernels.bytewise import order_cells
from masktron.sources.columns import Batch, Cell, Numbers, Texts

_ORDERED_CODECS = ("utf-8", "ascii", "iso8859-1")
"""In which bytes follow each other as code points do."""


class FieldSource(Protocol):
    """Where fields are read."""

    @property
    def dry(self) -> bool:
        """Whether there are no records: an expression is only tried."""
        ...

    def present(self, at: int) -> Bools:
        """Return where a field is there."""
        ...

    def filled(self, at: int) -> Bools:
        """Return where a field has text."""
        ...

    def numbers(self, at: int) -> Numbers:
        """Return a field as numbers."""
        ...

    def texts(self, at: int) -> Texts:
        """Return a field as texts."""
        ...

    def places(self, at: int) -> tuple[NDArray[np.int64], Bools]:
        """Return where a field stands in the file, and where this is known."""
        ...

    def also(self, fields: Iterable[int]) -> None:
        """Take fields as read: they decide what is asked for where they are odd."""
        ...

    def order(self, at: int, other: int | str, *, alike: bool = False) -> NDArray[np.int8] | None:
        """Return -1, 0 or 1 for a field that comes before, is, or comes after another field or a constant.

        With ``alike`` only the zeros are asked for. None where bytes do not say how code points follow each other.
        """
        ...


def nothing(rows: int) -> Numbers:
    """Return the numbers of a field that no record has."""
    nan = np.full(rows, np.nan)
    zero = np.zeros(rows, dtype=np.int64)
    return Numbers(np.zeros(rows, dtype=np.uint8), nan, nan, zero, np.full(rows, -1, dtype=np.int16))


def no_texts(rows: int) -> Texts:
    """Return the texts of a field that no record has."""
    return Texts(np.full(rows, -1, dtype=np.int32), ())


class BatchSource:
    """The fields of a batch."""

    dry = False

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._present: dict[int, Bools] = {NOWHERE: NO}

    def present(self, at: int) -> Bools:
        """Return where a field is there."""
        if at not in self._present:
            self._present[at] = always(self.batch.cells[at].status != Cell.ABSENT)
        return self._present[at]

    def filled(self, at: int) -> Bools:
        """Return where a field has text."""
        return NO if at == NOWHERE else always(self.batch.cells[at].status >= Cell.TEXT)

    def numbers(self, at: int) -> Numbers:
        """Return a field as numbers."""
        return nothing(1) if at == NOWHERE else self.batch.numbers(at)

    def texts(self, at: int) -> Texts:
        """Return a field as texts."""
        return no_texts(1) if at == NOWHERE else self.batch.texts(at)

    def places(self, at: int) -> tuple[NDArray[np.int64], Bools]:
        """Return where a field stands in the file: an empty one may be a single tag."""
        cells = self.batch.cells[at]
        return cells.start, cells.status == Cell.TEXT

    def also(self, fields: Iterable[int]) -> None:
        """Read nothing: odd cells are no matter of a source."""

    def order(self, at: int, other: int | str, *, alike: bool = False) -> NDArray[np.int8] | None:
        """Return how a field and another, or a constant, follow each other."""
        if NOWHERE in (at, other):
            return np.zeros(1, dtype=np.int8)
        if codecs.lookup(self.batch.codec).name not in _ORDERED_CODECS:
            return None
        data, cells = self.batch.buffer, self.batch.cells[at]
        order = np.empty(len(self.batch), dtype=np.int8)
        if isinstance(other, int):
            others = self.batch.cells[other]
            order_cells(data, cells.start, cells.stop, data, others.start, others.stop, order, alike)
            return order
        try:
            text = np.frombuffer(bytearray(other.encode(self.batch.codec)), dtype=np.uint8)
        except UnicodeEncodeError:
            return None
        zero = np.zeros(1, dtype=np.int64)
        order_cells(data, cells.start, cells.stop, text, zero, zero + len(text), order, alike)
        return order


class DrySource:
    """Fields without records: an expression that is evaluated on them is known to be evaluable on any others."""

    dry = True

    def __init__(self) -> None:
        self.read: set[int] = set()

    def present(self, at: int) -> Bools:
        """Note that a field is read."""
        self._note(at)
        return np.zeros(0, dtype=np.bool_)

    filled = present

    def numbers(self, at: int) -> Numbers:
        """Note that a field is read."""
        self._note(at)
        return nothing(0)

    def texts(self, at: int) -> Texts:
        """Note that a field is read."""
        self._note(at)
        return no_texts(0)

    def places(self, at: int) -> tuple[NDArray[np.int64], Bools]:
        """Note that a field is read."""
        return np.zeros(0, dtype=np.int64), self.present(at)

    def also(self, fields: Iterable[int]) -> None:
        """Note that fields are read."""
        for at in fields:
            self._note(at)

    def order(self, at: int, other: int | str, *, alike: bool = False) -> NDArray[np.int8] | None:
        """Note that fields are read."""
        self._note(at)
        if isinstance(other, int):
            self._note(other)
        return np.zeros(0, dtype=np.int8)

    def _note(self, at: int) -> None:
        if at >= 0:
            self.read.add(at)
