"""What the columns of points are: numbers, places in an order, or the categories of a nominal variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.problems.problem import Known

NUMBER: Final = "number"
ORDINAL: Final = "ordinal"
NOMINAL: Final = "nominal"
KINDS: Final = (NUMBER, ORDINAL, NOMINAL)
"""As `masktron.config.Kind` spells them."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The variables whose columns stand side by side in points.

    Attributes
    ----------
    kinds : tuple of str
        Of each variable: ``number``, ``ordinal`` or ``nominal``.
    widths : tuple of int
        Columns of each variable: 1, or one for each category of a nominal one, as
        `masktron.partitions.encode.encode_nominal` makes them.

    Raises
    ------
    UsageError
        A kind is unknown, or a number or an order has not one column.
    """

    kinds: tuple[str, ...]
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        for kind, width in zip(self.kinds, self.widths, strict=True):
            if kind not in KINDS:
                raise UsageError.of("unknown-name", kind="kind of variables", name=kind, known=Known(kind, KINDS))
            if width < 0 or (kind != NOMINAL and width != 1):
                name = f"the columns of a variable of the kind {kind}"
                raise UsageError.of("bad-value", name=name, expected="1", given=width)

    @classmethod
    def numbers(cls, d: int) -> Kinds:
        """Return the kinds of d numbers."""
        return cls((NUMBER,) * d, (1,) * d)

    @classmethod
    def of_codes(cls, nominal: NDArray[np.bool_]) -> Kinds:
        """Return the kinds of p columns: codes of categories where a mask of shape (p,) says so, else numbers."""
        return cls(tuple(NOMINAL if one else NUMBER for one in nominal.tolist()), (1,) * len(nominal))

    @classmethod
    def joined(cls, parts: Iterable[Kinds]) -> Kinds:
        """Return the kinds of points side by side."""
        every = list(parts)
        return cls(
            tuple(kind for part in every for kind in part.kinds),
            tuple(width for part in every for width in part.widths),
        )

    @property
    def columns(self) -> int:
        """Columns of all variables together."""
        return sum(self.widths)

    def spans(self) -> Iterator[tuple[str, slice]]:
        """Yield the kind and the columns of each variable."""
        start = 0
        for kind, width in zip(self.kinds, self.widths, strict=True):
            yield kind, slice(start, start + width)
            start += width

    def of(self, kind: str) -> NDArray[np.bool_]:
        """Mark the columns of a kind, shape (columns,)."""
        return np.repeat(np.array([one == kind for one in self.kinds], dtype=np.bool_), self.widths)

    def only(self, kind: str) -> Kinds:
        """Return the variables of a kind."""
        widths = tuple(width for one, width in zip(self.kinds, self.widths, strict=True) if one == kind)
        return Kinds((kind,) * len(widths), widths)

    def having(self, columns: NDArray[np.bool_]) -> Kinds:
        """Return what is left of the variables in some of the columns, a mask of shape (columns,)."""
        left = [(kind, int(columns[span].sum())) for kind, span in self.spans()]
        kept = [(kind, width) for kind, width in left if width or kind == NOMINAL]
        return Kinds(tuple(kind for kind, _ in kept), tuple(width for _, width in kept))

    def require(self, points: NDArray[np.float64]) -> None:
        """Refuse points that have another number of columns.

        Raises
        ------
        UsageError
        """
        if points.shape[1] != self.columns:
            shapes = (f"points of {points.shape[1]} columns", f"kinds of {self.columns}")
            raise UsageError.of("arrays-differ", shapes=shapes)
