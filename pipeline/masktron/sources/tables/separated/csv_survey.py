"""Where the records of a file in CSV are, and what separates their cells: found block by block.

A file that is in memory is one block.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.kernels.separated import Places, survey
from masktron.sources.tables.separated.csv_dialect import CANDIDATES, ENDINGS, CsvDialect, named

_NONE = np.zeros(0, dtype=np.int64)


class CsvText(Protocol):
    """The bytes of a file: UTF-8 without a byte order mark. Places are counted from the first one."""

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        """Yield the bytes in blocks, each with whether it is the last one."""

    def part(self, begin: int, size: int) -> bytes | memoryview:
        """Return some of the bytes."""


class HeldText:
    """Bytes that are in memory.

    Parameters
    ----------
    data : bytes
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        """Yield all in one block."""
        yield self._data, True

    def part(self, begin: int, size: int) -> memoryview:
        """Return some of the bytes."""
        return memoryview(self._data)[begin : begin + size]


@dataclass(frozen=True, slots=True)
class Segment:
    """Whole records that follow each other.

    Attributes
    ----------
    begin, size : int
        Where they are in the bytes of the file.
    records : int
        How many.
    line : int
        Of the first one, from 1.
    """

    begin: int
    size: int
    records: int
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class CsvSurvey:
    """A file in a dialect.

    Attributes
    ----------
    dialect : CsvDialect
        With the delimiter and what ends lines.
    facts : ndarray of int64
        What `masktron.kernels.separated.survey` says of all blocks, with places in the file.
    segments : tuple of Segment
        Those of all records, up to the first error; a line of names is one.
    """

    dialect: CsvDialect
    facts: Places
    segments: tuple[Segment, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self[kernel.ERROR] == kernel.SOUND

    @property
    def columns(self) -> int:
        """Cells of the first record."""
        return self[kernel.COLUMNS]

    def __getitem__(self, fact: int) -> int:
        return int(self.facts[fact])


def survey_of(text: CsvText, dialect: CsvDialect, suffix: str, where: str) -> CsvSurvey:
    """Find the records of a file, and what separates their cells where that is not known.

    That is what cuts all records into as many cells, and into several. A file that nothing cuts so is surveyed with
    what comes farthest, which tells what is wrong.

    Parameters
    ----------
    text : CsvText
    dialect : CsvDialect
        What is known.
    suffix : str
        The delimiter that the name of the file stands for; empty for any.
    where : str
        The file.

    Raises
    ------
    DocumentError
        Several delimiters would do, or another one than the name stands for.
    """
    if dialect.delimiter:
        return _surveyed(text, dialect)
    tried = [replace(dialect, delimiter=mark) for mark in CANDIDATES if mark not in {dialect.quote, dialect.escape}]
    found = {one.delimiter: _surveyed(text, one, several=True) for one in tried}
    several = {mark: one for mark, one in found.items() if one.columns > 1}
    sound = [mark for mark, one in several.items() if one.sound]
    if suffix and suffix not in several and sound:
        raise DocumentError.of(
            "unclear-delimiter",
            where,
            detail=f"its name stands for a {named(suffix)}, its lines for a {named(sound[0])}",
        )
    if suffix in found:
        return found[suffix]
    if len(sound) > 1:
        raise DocumentError.of(
            "unclear-delimiter", where, detail=f"{' or '.join(map(named, sound))} would cut all lines alike"
        )
    if sound:
        return several[sound[0]]
    farthest = max(several, key=lambda mark: several[mark][kernel.AT], default="")
    return found[farthest or next(iter(found))]


def _surveyed(text: CsvText, dialect: CsvDialect, *, several: bool = False) -> CsvSurvey:
    """Find the records, up to the first error; where several columns are wanted, not behind a block with one."""
    facts, segments = np.zeros(kernel.FACTS, dtype=np.int64), []
    begin, rest, held = 0, b"", b""
    with closing(text.blocks()) as blocks:
        for block, last in blocks:
            held += block
            if not last and len(held) < len(rest):
                continue  # a record of many blocks is not looked at from its beginning for each of them
            data, held = rest + held, b""
            before, line = int(facts[kernel.RECORDS]), max(1, int(facts[kernel.LINE]))
            survey(np.frombuffer(data, dtype=np.uint8), *dialect.codes, facts, _NONE, _NONE, last)
            if found := int(facts[kernel.RECORDS]) - before:
                segments.append(Segment(begin, int(facts[kernel.STOP]), found, line))
                facts[kernel.STOP] += begin  # the first record, which ends at BODY, is not behind another block
            done = int(facts[kernel.AT])
            begin, rest = begin + done, data[done:]
            facts[kernel.AT] = begin
            if facts[kernel.ERROR] != kernel.SOUND or (several and facts[kernel.COLUMNS] == 1):
                break
    ending = ENDINGS.get(int(facts[kernel.ENDING]), "\n")
    return CsvSurvey(replace(dialect, ending=ending), facts, tuple(segments))
