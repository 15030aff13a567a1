"""The nested document of tables, which engines read: made of what the second readers of the tables have.

It is joined here anew, by dictionaries of keys as they stand in the documents of the tables, and shares nothing with
`level_rows`. Each record begins a line, so that a line tells which record is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from masktron.errors import DocumentError
from masktron.sources.joined.level_columns import LevelColumns
from masktron.sources.source import Source
from masktron.sources.tables.document import TwinNames, twin_frame
from masktron.sources.xml.microdata import iter_records

_BREAKS = {"\r": "&#13;", "\n": "&#10;"}
_IN_ATTRIBUTES = {**_BREAKS, "\t": "&#9;"}
type _Texts = dict[str, str]


@dataclass(slots=True)
class _Level:
    """The records of one level as they are found.

    Attributes
    ----------
    columns : LevelColumns
    own : collection of str
        Its columns.
    heads : list of str
        Each record without what is within it and without its end tag.
    numbers : dict
        Of records by their key, with the number of the record above where only that tells them apart.
    within : list of list of int
        By level below, then by record: the records in it.
    """

    columns: LevelColumns
    own: Collection[str]
    below: list[_Level] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    numbers: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict)
    members: list[list[int]] = field(default_factory=list)

    @property
    def tag(self) -> str:
        return self.columns.setting.name

    def add(self, texts: _Texts, above: int) -> int:
        """Take a record, or another row of one that is known; return its number."""
        one = self.columns
        place = (-1 if one.named or not one.path else above, tuple(texts[name] for name in one.key))
        if one.grouped and place in self.numbers:
            return self.numbers[place]
        number = len(self.heads)
        if one.joins:
            self.numbers[place] = number
        self.heads.append(_head(self.tag, self.own, texts))
        self.members.append([])
        return number


def write_nested_document(
    path: Path, levels: Sequence[LevelColumns], tables: Sequence[Source], names: TwinNames
) -> None:
    """Write the document of tables whose keys have been found to join them.

    Parameters
    ----------
    path : Path
    levels : sequence of LevelColumns
        Each before those within it.
    tables : sequence of Source
        What `LevelColumns.table` numbers.
    names : TwinNames
        What stands around the records of the top level, and the namespace of all.

    Raises
    ------
    DocumentError
        The second reader of a table finds keys that the first one did not.
    """
    made = [_Level(one, frozenset(one.fields or ())) for one in levels]
    by_path = {one.columns.path: one for one in made}
    for one in made[1:]:
        by_path[one.columns.path[:-1]].below.append(one)
    above = [(None if not one.columns.path else by_path[one.columns.path[:-1]]) for one in made]
    for at, table in enumerate(tables):
        here = [(one, over) for one, over in zip(made, above, strict=True) if one.columns.table == at]
        for number, texts in enumerate(_rows(table), start=1):
            try:
                _take(texts, here)
            except KeyError as problem:
                raise DocumentError(
                    f"record {number} has the key {problem} by one reader and not by another",
                    where=str(table.path),
                    hint="nothing was written: please report this file",
                ) from None
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before, after = twin_frame(names)
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>{before}\n')
        for number in range(len(made[0].heads)):
            _put(file, made[0], number)
        file.write(f"{after}\n")


def _rows(table: Source) -> Iterator[_Texts]:
    """Yield the cells of each row of a table, attributes with their ``@``."""
    with table.blamed(), closing(iter_records(table.document_path, table.layout)) as records:
        for record in records:
            attributes = {"@" + str(name): str(text) for name, text in record.attrib.items()}
            yield attributes | {str(cell.tag): cell.text or "" for cell in record}


def _take(texts: _Texts, levels: Sequence[tuple[_Level, _Level | None]]) -> None:
    """Take the records of a row: one of each level of its table."""
    number = -1
    for level, over in levels:
        one, above = level.columns, number
        if over is not None and one.parent_key:
            above = over.numbers[-1, tuple(texts[name] for name in one.parent_key)]
        known = len(level.heads)
        number = level.add(texts, above)
        if over is not None and number == known:
            over.members[above].append(len(over.below) * number + over.below.index(level))


def _put(file: TextIO, level: _Level, number: int) -> None:
    file.write(level.heads[number])
    kinds = len(level.below)
    for kind, inner in enumerate(level.below):
        for place in level.members[number]:
            if place % kinds == kind:
                file.write("\n")
                _put(file, inner, place // kinds)
    file.write(f"</{level.tag}>" + ("" if level.columns.path else "\n"))


def _head(tag: str, own: Collection[str], texts: _Texts) -> str:
    attributes = "".join(
        f" {name[1:]}={quoteattr(text, _IN_ATTRIBUTES)}"
        for name, text in texts.items()
        if name in own and name.startswith("@")
    )
    inner = "".join(
        f"<{name}>{escape(text, _BREAKS)}</{name}>"
        for name, text in texts.items()
        if name in own and not name.startswith("@")
    )
    return f"<{tag}{attributes}>{inner}"
