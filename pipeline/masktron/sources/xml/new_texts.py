"""New texts: whether XML can hold them, and how they stand in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.large_arrays import kept, new_array
from masktron.sources.records import Coded, Layout

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""The characters that libxml2's trees do not take."""
_TOGETHER = 1 << 16
"""Texts that are looked at, escaped and encoded at once."""
_SEPARATOR = "\0"
"""Stands between texts while they are escaped and encoded all at once: no text holds it, and no codec changes it."""


def check_texts(layout: Layout, replacements: Mapping[str, Coded]) -> None:
    """Refuse the first text, record by record, that XML cannot hold.

    Raises
    ------
    DocumentError
        It names field and record.
    """
    found: list[tuple[int, str, str]] = []
    for f in layout.fields:
        coded = replacements.get(f.name)
        if coded is None or writable(coded.texts):
            continue
        problems = {code: problem for code, text in enumerate(coded.texts) if (problem := _problem(text))}
        rows = np.flatnonzero(np.isin(coded.codes, list(problems)))
        if len(rows):
            found.append((int(rows[0]), f.name, problems[int(coded.codes[rows[0]])]))
    if found:
        row, name, problem = min(found, key=lambda one: one[0])
        raise DocumentError(
            f"the new value of {name!r} in record {row + 1} cannot be written as XML: {problem}",
            hint="values are text without control characters",
        )


def writable(texts: NDArray[np.object_]) -> bool:
    """Tell whether all texts are such that XML can hold them, None apart."""
    try:
        return not any(_FORBIDDEN.search("".join(some)) for some in _chunks(_present(texts)))
    except TypeError:
        return False


def _problem(text: object) -> str:
    """Return what libxml2 has against a text."""
    if text is None:
        return ""
    try:
        etree.Element("x").text = text  # type: ignore[assignment]
    except (TypeError, ValueError) as problem:
        return str(problem)
    return "" if isinstance(text, str) else f"it is no text but {type(text).__name__}"


def _present(texts: NDArray[np.object_]) -> NDArray[np.object_]:
    return texts[_is_there(texts)]


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


def octets_of(coded: Coded, codec: str, *, attribute: bool) -> Octets:
    """Lay out the texts of a field as libxml2 writes them; what the codec lacks becomes a reference."""
    there = _is_there(coded.texts)
    together = bytearray()
    ends = [np.zeros(0, dtype=np.int64)]
    for some in _chunks(coded.texts[there]):
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
