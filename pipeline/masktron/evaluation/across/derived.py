"""Batches whose records carry the values of aggregates, as attributes that stand in no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cell, Cells, NumberForm, Numbers, Texts
from masktron.sources.record_layout import Field, Layout


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """An attribute that every record of a batch gets: integers, each distinct one once.

    Attributes
    ----------
    name : str
        Of the attribute, which has no namespace.
    values : ndarray of int64, shape (distinct,)
    codes : ndarray of intp, shape (n,)
        Positions in `values`.
    """

    name: str
    values: NDArray[np.int64]
    codes: NDArray[np.intp]


class DerivedBatch(Batch):
    """A batch with more attributes, behind the fields that it has."""

    __slots__ = ("_added", "_inner")
    _added: tuple[Derived, ...]
    _inner: Batch

    @classmethod
    def of(cls, inner: Batch, added: Sequence[Derived]) -> DerivedBatch:
        """Return a batch with some attributes added."""
        size = len(inner.buffer)
        extra = bytearray()
        cells = list(inner.cells)
        for derived in added:
            texts = [str(value).encode() for value in derived.values.tolist()]
            ends = size + len(extra) + np.cumsum([len(text) for text in texts], dtype=np.int64)
            starts = ends - np.array([len(text) for text in texts], dtype=np.int64)
            extra += b"".join(texts)
            status = np.full(len(inner), Cell.TEXT, dtype=np.uint8)
            cells.append(Cells(starts[derived.codes], ends[derived.codes], status))
        batch = cls(
            layout=extended(inner.layout, [derived.name for derived in added]),
            codec=inner.codec,
            buffer=np.concatenate((inner.buffer, np.frombuffer(bytes(extra), dtype=np.uint8))),
            offset=inner.offset,
            first=inner.first,
            starts=inner.starts,
            stops=inner.stops,
            lines=inner.lines,
            odd=inner.odd,
            cells=tuple(cells),
        )
        object.__setattr__(batch, "_added", tuple(added))
        object.__setattr__(batch, "_inner", inner)
        return batch

    @property
    def inner(self) -> Batch:
        """The batch as it is in the file; the buffer of this one begins with that of it."""
        return self._inner

    @property
    def added(self) -> tuple[Derived, ...]:
        """The attributes that were added."""
        return self._added

    def numbers(self, at: int) -> Numbers:
        """Return a field as numbers."""
        own = at - len(self._inner.cells)
        if own < 0:
            return self._inner.numbers(at)
        derived = self._added[own]
        doubles = derived.values.astype(np.float64)[derived.codes]
        return Numbers(
            form=np.full(len(self), NumberForm.INTEGER, dtype=np.uint8),
            double=doubles,
            libxml2=doubles,
            mantissa=derived.values[derived.codes],
            scale=np.zeros(len(self), dtype=np.int16),
        )

    def texts(self, at: int) -> Texts:
        """Return a field as text."""
        own = at - len(self._inner.cells)
        if own < 0:
            return self._inner.texts(at)
        derived = self._added[own]
        return Texts(derived.codes.astype(np.int32), tuple(str(value) for value in derived.values.tolist()))

    def record(self, row: int) -> bytes:
        """Return the bytes of one record, with the attributes that were added."""
        text = self._inner.record(row)
        end = next(at for at in range(1, len(text)) if text[at : at + 1] in (b" ", b"\t", b"\n", b"\r", b"/", b">"))
        added = "".join(f' {d.name}="{d.values[d.codes[row]]}"' for d in self._added)
        return text[:end] + added.encode() + text[end:]

    def records(self, rows: NDArray[np.int64]) -> bytes:
        """Return the bytes of some records, each with the attributes that were added."""
        return b"".join(self.record(int(row)) for row in rows)


def extended(layout: Layout, names: Sequence[str]) -> Layout:
    """Return a layout with more attributes of the record, behind its fields."""
    return replace(layout, fields=(*layout.fields, *(Field(f"@{name}", name, attribute=True) for name in names)))
