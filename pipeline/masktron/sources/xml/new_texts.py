"""New texts: whether XML can hold them, and how they stand in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.large_arrays import kept, new_array
from masktron.problems.problem import Field, Place
from masktron.sources.column import Column
from masktron.sources.record_layout import Layout

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""The characters that libxml2's trees do not take."""
_TOGETHER = 1 << 16
"""Texts that are looked at, escaped and encoded at once."""
_SEPARATOR = "\0"
"""Stands between texts while they are escaped and encoded all at once: no text holds it, and no codec changes it."""


def check_replacements(layout: Layout, replacements: Mapping[str, Column], n: int) -> None:
    """Refuse arrays that are not of n records, and the first text, record by record, that XML cannot hold.

    Raises
    ------
    DocumentError
        A text cannot be held; it names field and record.
    UsageError
        A field has another number of new values than there are records, or codes without a text.
    """
    found: list[tuple[int, str, str]] = []
    for f in layout.fields:
        coded = replacements.get(f.name)
        if coded is None:
            continue
        _check_codes(f.name, coded, n)
        if (problem := _first_problem(coded)) is not None:
            found.append((problem[0], f.name, problem[1]))
    if found:
        row, name, why = min(found, key=lambda one: one[0])
        raise DocumentError.of(
            "cannot-hold", Place(record=row + 1, field=Field(name)), format="XML", detail=f"a new value: {why}"
        )


def _check_codes(name: str, coded: Column, n: int) -> None:
    if coded.codes.shape != (n,):
        raise UsageError.of(
            "bad-arrays", Place(field=Field(name)), detail=f"{coded.codes.shape} new values for {n:,} records"
        )
    if n and not 0 <= coded.codes.min() <= coded.codes.max() < len(coded.lexicon):
        raise UsageError.of(
            "bad-arrays", Place(field=Field(name)), detail=f"there are codes beyond its {len(coded.lexicon):,} texts"
        )


def _first_problem(coded: Column) -> tuple[int, str] | None:
    """Return the first record whose text XML cannot hold, and what libxml2 has against it."""
    texts = coded.lexicon.objects()
    if writable(texts):
        return None
    problems = {code: problem for code, text in enumerate(texts) if (problem := _problem(text))}
    rows = np.flatnonzero(np.isin(coded.codes, list(problems)))
    return (int(rows[0]), problems[int(coded.codes[rows[0]])]) if len(rows) else None


def writable(texts: NDArray[np.object_]) -> bool:
    """Tell whether all texts are such that XML can hold them, None apart."""
    return not any(_FORBIDDEN.search("".join(some)) for some in _chunks(texts[_is_there(texts)]))


def _problem(text: str | None) -> str:
    """Return what libxml2 has against a text."""
    if text is None:
        return ""
    try:
        etree.Element("x").text = text
    except ValueError as problem:
        return str(problem)
    return ""


def _chunks(texts: NDArray[np.object_]) -> Iterator[list[str]]:
    for at in range(0, len(texts), _TOGETHER):
        yield texts[at : at + _TOGETHER].tolist()


def _is_there(texts: NDArray[np.object_]) -> NDArray[np.bool_]:
    nothing: Any = None
    there: NDArray[np.bool_] = np.not_equal(texts, nothing).astype(np.bool_)
    return there


@dataclass(frozen=True, slots=True, eq=False)
class Octets:
    """The texts of a field as bytes of a file.

    Attributes
    ----------
    octets : ndarray of uint8
        All texts, escaped and encoded, with a byte between them.
    spans : ndarray of int64, shape (texts, 2)
        Where each begins and ends; both -1 where there is no text.
    codes : ndarray of int64, shape (n,)
        The text of each cell.
    """

    octets: NDArray[np.uint8]
    spans: NDArray[np.int64]
    codes: NDArray[np.int64]


def octets_of(coded: Column, codec: str, *, attribute: bool) -> Octets:
    """Lay out the texts of a field as libxml2 writes them; what the codec lacks becomes a reference."""
    texts = coded.lexicon.objects()
    there = _is_there(texts)
    together = bytearray()
    ends = [np.zeros(0, dtype=np.int64)]
    for some in _chunks(texts[there]):
        joined = escaped(_SEPARATOR.join(some), attribute=attribute) + _SEPARATOR
        encoded = joined.encode(codec, "xmlcharrefreplace")
        ends.append(len(together) + np.flatnonzero(np.frombuffer(encoded, dtype=np.uint8) == 0))
        together += encoded
    spans: NDArray[np.int64] = new_array((len(there), 2), np.int64)
    spans[:] = -1
    stops = np.concatenate(ends)
    spans[there, 0] = np.concatenate([[0], stops[:-1] + 1])[: len(stops)]
    spans[there, 1] = stops
    octets = kept(np.frombuffer(together, dtype=np.uint8))
    return Octets(octets, spans, np.ascontiguousarray(coded.codes, dtype=np.int64))


def escaped(text: str, *, attribute: bool) -> str:
    """Return a text with the references that libxml2 writes in elements or attributes."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    if attribute:
        text = text.replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
    return text
