"""The flat document of the wide records of a nested file, which engines read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from masktron.sources.wide.member_rows import MemberRows
from masktron.sources.wide.wide_record import UnitField, UnitPlace, kind_text

_AT_ONCE = 5000
"""Units of which the texts are in memory at a time."""
_ATTRIBUTE = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_ELEMENT = {"\r": "&#13;"}


def write_wide(path: Path, members: MemberRows) -> None:
    """Write the wide records of all units of a nested file, in their order, each on a line of its own.

    A field has the text that it has in the nested file; what is not there has no element or attribute.
    """
    *around, record = members.wide.layout.record_path
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("<?xml version='1.0' encoding='UTF-8'?>\n" + "".join(f"<{tag}>" for tag in around) + "\n")
        units = len(members.rows[members.wide.unit.name])
        kinds = members.kind_codes(members.wide.kinds) if members.wide.kind else None
        for first in range(0, units, _AT_ONCE):
            for line in _lines(members, record, kinds, np.arange(first, min(first + _AT_ONCE, units))):
                file.write(line)
        file.write("".join(f"</{tag}>" for tag in reversed(around)) + "\n")


def _lines(
    members: MemberRows, record: str, kinds: NDArray[np.intp] | None, units: NDArray[np.intp]
) -> Iterator[str]:
    tags: list[list[str]] = []
    elements: list[list[str]] = []
    if kinds is not None:
        tags.append([f' {members.wide.kind}="{kind_text(code)}"' for code in kinds[units].tolist()])
    for place in members.wide.places:
        rows = members.rows[place.name][units]
        if place.presence:
            tags.append([f' {place.presence}="1"' if row >= 0 else "" for row in rows.tolist()])
        for leaf in place.leaves:
            (tags if leaf.field.attribute else elements).append(_cells(members, place, leaf, rows))
    for parts in zip(zip(*tags, strict=True), zip(*elements, strict=True), strict=True) if tags and elements else ():
        yield f"<{record}{''.join(parts[0])}>{''.join(parts[1])}</{record}>\n"
    if not (tags and elements):
        for one in zip(*(tags or elements), strict=True):
            yield f"<{record}{''.join(one)}/>\n" if tags else f"<{record}>{''.join(one)}</{record}>\n"


def _cells(members: MemberRows, place: UnitPlace, leaf: UnitField, rows: NDArray[np.intp]) -> list[str]:
    """Return the cells of a field of some members in XML, the empty text where there is none."""
    path = place.level_path
    table = members.tables.tables.get(path)
    column = None if table is None else table.records.columns.get(leaf.field.name)
    if column is None:  # a field, or a kind of members, that no unit of this file has
        return [""] * len(rows)
    there = rows >= 0
    codes, which = np.unique(column.codes[rows[there]], return_inverse=True)
    distinct = [_cell(leaf, text) for text in column.lexicon.some(codes.astype(np.intp))]
    found = np.full(len(rows), "", dtype=np.object_)
    found[there] = np.array(distinct, dtype=np.object_)[which]
    return list(found.tolist())


def _cell(leaf: UnitField, text: str | None) -> str:
    if text is None:
        return ""
    name = leaf.name.removeprefix("@")
    if leaf.field.attribute:
        return f' {name}="{escape(text, _ATTRIBUTE)}"'
    return f"<{name}>{escape(text, _ELEMENT)}</{name}>" if text else f"<{name}/>"
