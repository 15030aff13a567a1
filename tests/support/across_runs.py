"""Rules across records on small files, by the batches of the twin: for comparison with the whole document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from columns_twin import TwinBatch, batch_of
from masktron.judge.across.two_passes import Across, EngineJudge
from masktron.judge.exact import RecordJudge, evaluate
from masktron.judge.findings import Evaluation
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schema import Pattern, Rulebook
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import chunk_document

type Row = Mapping[str, str | None]


def frame(layout: Layout) -> tuple[bytes, bytes]:
    """What a file has before and after its records."""
    root = chunk_document(layout, [{}])
    record = root
    while record.tag != layout.record_tag:
        record = record[0]
    parent = record.getparent()
    assert parent is not None
    parent.remove(record)
    parent.text = "\n"
    head, tail = etree.tostring(root).split(b"\n")
    return head + b"\n", tail


def write(path: Path, layout: Layout, records: Sequence[bytes]) -> Path:
    """Write a flat file, one record a line."""
    head, tail = frame(layout)
    path.write_bytes(head + b"".join(record + b"\n" for record in records) + tail)
    return path


@dataclass(frozen=True)
class Around:
    """Makes documents of records of a batch."""

    layout: Layout

    def document(self, batch: Batch, rows: NDArray[np.int64]) -> etree._Element:
        head, tail = frame(self.layout)
        records = b"".join(batch.record(int(row)) for row in rows)
        return etree.fromstring(head + records + tail)


def engine_judge(
    book: Rulebook, layout: Layout, checks: Collection[int], original: Path | None = None
) -> EngineJudge:
    return EngineJudge(RecordJudge(book, layout, checks=checks, original=original), Around(layout))


def batches(layout: Layout, rows: Sequence[Row], size: int) -> Iterator[TwinBatch]:
    for first in range(0, len(rows), size):
        batch = batch_of(unqualified(layout), rows[first : first + size], first=first)
        batch.lines[:] += first + 1
        yield replace(batch, layout=layout)


def unqualified(layout: Layout) -> Layout:
    """The layout of a file whose default namespace is not declared."""

    def local(tag: str) -> str:
        return tag.rpartition("}")[2]

    fields = tuple(replace(f, tag=local(f.tag)) for f in layout.fields)
    return replace(layout, record_path=tuple(map(local, layout.record_path)), fields=fields)


def texts(layout: Layout, rows: Sequence[Row]) -> list[bytes]:
    return [batch.record(row) for batch in batches(layout, rows, 100) for row in range(len(batch))]


def gathered(
    book: Rulebook,
    layout: Layout,
    rows: Sequence[Row],
    size: int,
    original: Sequence[Row] | None = None,
    outside: Collection[str] = (),
) -> Across:
    """Plan all checks and make the first pass."""
    across = Across(
        book, layout, range(len(book.checks)), outside=outside, original_layout=layout if book.documents else None
    )
    judges: dict[str, EngineJudge] = {}
    for source, predicates in across.predicates.items():
        if not predicates:
            continue
        conditions = replace(across.conditions(source), documents=())
        judges[source] = engine_judge(conditions, layout, range(len(conditions.checks)))
    for batch in batches(layout, rows, size):
        across.take(batch, "file", judges.get("file"))
    if across.reads_original:
        for batch in batches(layout, rows if original is None else original, size):
            across.take(batch, "original", judges.get("original"))
    across.finish()
    return across


def verdicts_of(
    across: Across, layout: Layout, rows: Sequence[Row], size: int, original: Path | None
) -> NDArray[np.uint8]:
    """Make the second pass: the engine on every record, which carries its aggregates."""
    judge = engine_judge(across.rulebook, across.layout, across.checks - across.outside, original)
    parts = [np.zeros((0, len(across.rulebook.checks)), dtype=np.uint8)]
    parts += [judge(across.extend(batch)) for batch in batches(layout, rows, size)]
    return np.concatenate(parts)


def carried(
    across: Across, layout: Layout, rows: Sequence[Row], size: int, path: Path, original: Path | None
) -> Evaluation:
    """Evaluate the rewritten checks, with findings, on a file in which the records carry their aggregates."""
    extended = (across.extend(batch) for batch in batches(layout, rows, size))
    records = [batch.record(row) for batch in extended for row in range(len(batch))]
    book = only(across.rulebook, across.checks - across.outside)
    return evaluate(EvaluationRequest(write(path, layout, records), book, across.layout, original=original))


def around(across: Across, layout: Layout, path: Path, original: Path | None) -> Evaluation:
    """Evaluate the rewritten checks on nodes outside the records, where the file has lost these."""
    book = only(across.rulebook, across.outside)
    return evaluate(EvaluationRequest(write(path, layout, []), book, layout, original=original))


def only(book: Rulebook, checks: Collection[int]) -> Rulebook:
    """Make all other checks true; none leaves, so that the indices stay."""

    def kept(pattern: Pattern) -> Pattern:
        rules = (
            replace(
                rule,
                checks=tuple(
                    c if c.index in checks else replace(c, kind="assert", test="true()", message=())
                    for c in rule.checks
                ),
            )
            for rule in pattern.rules
        )
        return replace(pattern, rules=tuple(rules))

    return replace(book, patterns=tuple(kept(pattern) for pattern in book.patterns))
