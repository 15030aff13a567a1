"""Flat files as batches, cut with regular expressions: the twin of the reader, for files that tests write."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from columns_twin import TwinBatch
from masktron.judge.columns.items import Outcome
from masktron.judge.programs import Original
from masktron.judge.runner import Run, Runner
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.record_layout import Field, Layout
from masktron.sources.xml.parser import parse_text


def batches_of(path: Path, layout: Layout, size: int, codec: str = "utf-8") -> Generator[Batch]:
    """Cut a file whose records have no prefix and no record inside into batches."""
    text = path.read_bytes()
    name = layout.record_tag.rpartition("}")[2].encode()
    spans = [m.span() for m in re.finditer(rb"<%s(?:\s[^>]*)?(?:/>|>.*?</%s\s*>)" % (name, name), text, re.DOTALL)]
    for first in range(0, len(spans), size):
        some = spans[first : first + size]
        yield _batch(text, some, first, layout, codec)


def _batch(text: bytes, spans: list[tuple[int, int]], first: int, layout: Layout, codec: str) -> Batch:
    offset = spans[0][0]
    cells = [[_cell(text[a:b], field, a - offset) for a, b in spans] for field in layout.fields]
    return TwinBatch(
        layout=layout,
        codec=codec,
        buffer=np.frombuffer(text[offset : spans[-1][1]], dtype=np.uint8),
        offset=offset,
        first=first,
        starts=np.array([a - offset for a, _ in spans], dtype=np.int64),
        stops=np.array([b - offset for _, b in spans], dtype=np.int64),
        lines=np.array([1 + len(re.findall(rb"\r\n|\r|\n", text[:a])) for a, _ in spans], dtype=np.int64),
        odd=np.array([_odd(text[a:b], layout) for a, b in spans], dtype=np.bool_),
        cells=tuple(
            Cells(*(np.array(part, dtype=np.int64) for part in columns[:2]), np.array(columns[2], dtype=np.uint8))
            for columns in (tuple(zip(*column, strict=True)) for column in cells)
        ),
    )


def _odd(record: bytes, layout: Layout) -> bool:
    """Whether there is more in a record than fields with text or CDATA in them."""
    inner = re.sub(rb"^<[^>]*>|</[^>]*>$", b"", record)
    for field in layout.fields:
        tag = field.tag.rpartition("}")[2].encode()
        inner = re.sub(rb"<%s(/>|>[^<]*(<!\[CDATA\[.*?\]\]>)?[^<]*</%s>)" % (tag, tag), b"", inner, flags=re.DOTALL)
    return bool(inner.strip()) or b"xmlns" in record


def _cell(record: bytes, field: Field, at: int) -> tuple[int, int, int]:
    tag = field.tag.rpartition("}")[2].encode()
    head = record[: record.index(b">") + 1]
    if field.attribute:
        found = [m.span(1) for m in re.finditer(rb'\s%s="([^"]*)"' % tag, head)]
        odd = any(set(record[a:b]) & set(b"&\t\r\n") for a, b in found)
    else:
        pattern = rb"<%s(?:/>|>(.*?)</%s>)" % (tag, tag)
        found = [m.span(1) for m in re.finditer(pattern, record, re.DOTALL)]
        odd = len(found) > 1 or any(set(record[max(a, 0) : max(b, 0)]) & set(b"&<\r") for a, b in found)
    if not found:
        return 0, 0, Cell.ABSENT
    start, stop = found[0]
    if odd:
        return 0, 0, Cell.ODD
    return (at + start, at + stop, Cell.TEXT) if stop > start >= 0 else (0, 0, Cell.EMPTY)


@dataclass
class FakeProgram:
    """Answers by the engine, and leaves open what raises errors, what is odd, and what chance picks."""

    runners: list[Runner]
    layout: Layout
    checks: int
    random: np.random.Generator
    share: float
    fields: frozenset[int]
    spoil: tuple[int, int] | None = None
    """A record and a check on which it lies."""
    asked: int = 0

    def evaluate(self, batch: Batch) -> Outcome:
        tags = self.layout.record_path
        before = b"".join(f"<{t}>".encode() for t in tags[:-1])
        after = b"".join(f"</{t}>".encode() for t in reversed(tags[:-1]))
        text = b"".join(batch.record(row) for row in range(len(batch))).decode(batch.codec).encode()
        counts = np.zeros((3, len(batch), self.checks), dtype=np.uint8)
        for runner in self.runners:
            events = runner.events(parse_text(before + text + after), len(batch))
            for k, kind in enumerate(events.kinds):
                np.add.at(counts[k], (events.record[kind], events.check[kind]), 1)
        fired, failed, errors = counts
        unsure = (errors > 0) | (self.random.random(errors.shape) < self.share) | batch.odd[:, None]
        for cells in batch.cells:
            unsure |= (cells.status == Cell.ODD)[:, None]
        if self.spoil is not None and 0 <= self.spoil[0] - batch.first < len(batch):
            row, check = self.spoil[0] - batch.first, self.spoil[1]
            failed[row, check] = 1 - failed[row, check]
        fired[unsure] = failed[unsure] = 0
        self.asked += int(unsure.sum())
        return Outcome(fired, failed, unsure)

    def reads(self, check: int) -> frozenset[int]:
        return self.fields


@dataclass
class FakeCompiler:
    """Takes all checks, or all but some."""

    seed: int = 0
    share: float = 0.0
    without: frozenset[int] = frozenset()
    spoil: tuple[int, int] | None = None
    program: FakeProgram | None = None
    original: Path | None = None

    def __call__(
        self, rulebook: Rulebook, layout: Layout, checks: Collection[int]
    ) -> tuple[FakeProgram, tuple[str, ...]]:
        own = frozenset(checks) - self.without
        engine = "libxml2" if rulebook.version == "1.0" else "saxon"
        document = Original(self.original) if self.original is not None and rulebook.documents else None
        runners = [Runner(Run(engine, False, own), rulebook, layout, document)] if own else []
        everything = frozenset(range(len(layout.fields)))
        random = np.random.default_rng(self.seed)
        width = len(rulebook.checks)
        self.program = FakeProgram(runners, layout, width, random, self.share, everything, self.spoil)
        return self.program, tuple("" if i in own else "not asked" for i in range(width))
