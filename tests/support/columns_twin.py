"""Batches made from lexemes, with numbers and texts in plain Python: the twin of the kernels, and their oracle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from masktron.sources.columns import Batch, Cell, Cells, NumberForm, Numbers, Texts
from masktron.sources.lexical import XML_SPACE, libxml2_number
from masktron.sources.record_layout import Layout

_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?(?:[0-9]+\.[0-9]*|\.[0-9]+)")
_WORD = re.compile(r"[^0-9+\-.eEINFNa \t\r\n]")


def form_of(lexeme: str) -> NumberForm:
    """Which kind of number a text spells."""
    text = lexeme.strip(XML_SPACE)
    if not text:
        return NumberForm.BLANK
    if _INTEGER.fullmatch(text):
        return NumberForm.INTEGER
    if _DECIMAL.fullmatch(text):
        return NumberForm.DECIMAL
    return NumberForm.WORDS if _WORD.search(text) else NumberForm.OTHER


class TwinBatch(Batch):
    """A batch that reads its cells one by one."""

    __slots__ = ()

    def lexeme(self, at: int, row: int) -> str | None:
        """Content of a cell; None where it is absent or odd."""
        cells = self.cells[at]
        if cells.status[row] in (Cell.ABSENT, Cell.ODD):
            return None
        return self.buffer[cells.start[row] : cells.stop[row]].tobytes().decode(self.codec)

    def numbers(self, at: int) -> Numbers:
        """Read every cell as number."""
        rows = [self._number(self.lexeme(at, row)) for row in range(len(self))]
        form, double, other, mantissa, scale = zip(*rows, strict=True) if rows else ((),) * 5
        return Numbers(
            np.array(form, dtype=np.uint8),
            np.array(double, dtype=np.float64),
            np.array(other, dtype=np.float64),
            np.array(mantissa, dtype=np.int64),
            np.array(scale, dtype=np.int16),
        )

    def _number(self, lexeme: str | None) -> tuple[int, float, float, int, int]:
        form = NumberForm.NOTHING if lexeme is None else form_of(lexeme)
        if lexeme is None or form not in (NumberForm.INTEGER, NumberForm.DECIMAL):
            return form, np.nan, np.nan, 0, -1
        text = lexeme.strip(XML_SPACE)
        sign, digits, exponent = Decimal(text).as_tuple()
        mantissa = int("".join(map(str, digits)))
        assert isinstance(exponent, int)
        exact = mantissa < 10**18
        return (
            form,
            float(text),
            libxml2_number(text),
            (-mantissa if sign else mantissa) if exact else 0,
            -exponent if exact else -1,
        )

    def texts(self, at: int) -> Texts:
        """Code every cell by its text."""
        found: dict[str, int] = {}
        codes = [
            -1 if (lexeme := self.lexeme(at, row)) is None else found.setdefault(lexeme, len(found))
            for row in range(len(self))
        ]
        return Texts(np.array(codes, dtype=np.int32), tuple(found))


def batch_of(layout: Layout, rows: Sequence[Mapping[str, str | None]], *, first: int = 0) -> TwinBatch:
    """Make a batch from lexemes by field name; None or not given is absent.

    Lexemes with ``&``, ``<`` or carriage returns are written escaped and make their cells odd. The layout has no
    namespaces.
    """
    text = bytearray()
    starts: list[int] = []
    stops: list[int] = []
    where = np.zeros((len(layout.fields), 2, len(rows)), dtype=np.int64)
    status = np.zeros((len(layout.fields), len(rows)), dtype=np.uint8)
    for i, row in enumerate(rows):
        starts.append(len(text))
        text += f"<{layout.record_tag}".encode()
        for wanted in (True, False):
            for at, field in enumerate(layout.fields):
                lexeme = row.get(field.name)
                if field.attribute != wanted or lexeme is None:
                    continue
                written = quoteattr(lexeme)[1:-1] if wanted else escape(lexeme, {"\r": "&#13;"})
                text += f' {field.tag}="'.encode() if wanted else f"<{field.tag}>".encode()
                where[at, 0, i] = len(text)
                text += written.encode()
                where[at, 1, i] = len(text)
                text += b'"' if wanted else f"</{field.tag}>".encode()
                plain = written == lexeme and not (wanted and set(lexeme) & set("\t\n"))
                status[at, i] = (Cell.TEXT if lexeme else Cell.EMPTY) if plain else Cell.ODD
            text += b">" if wanted else b""
        text += f"</{layout.record_tag}>".encode()
        stops.append(len(text))
        text += b"\n"
    return TwinBatch(
        layout=layout,
        codec="utf-8",
        buffer=np.frombuffer(bytes(text), dtype=np.uint8),
        offset=0,
        first=first,
        starts=np.array(starts, dtype=np.int64),
        stops=np.array(stops, dtype=np.int64),
        lines=np.arange(1, len(rows) + 1, dtype=np.int64),
        odd=np.zeros(len(rows), dtype=np.bool_),
        cells=tuple(Cells(where[at, 0], where[at, 1], status[at]) for at in range(len(layout.fields))),
    )


def real(twin: TwinBatch) -> Batch:
    """The same batch, read by the kernels."""
    names = ("layout", "codec", "offset", "first", "starts", "stops", "lines", "odd", "cells")
    return Batch(buffer=twin.buffer.copy(), **{name: getattr(twin, name) for name in names})
