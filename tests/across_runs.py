"""Rules across records on small files, by the batches of the twin: for comparison with the whole document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from lxml import etree

from columns_twin import TwinBatch, batch_of
from masktron.evaluation.across.judging import AcrossJudge
from masktron.evaluation.across.plan import Across, plan_across
from masktron.evaluation.findings import Evaluation, Finding, Verdict
from masktron.read.microdata import chunk_document
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

type Row = Mapping[str, str | None]


def write(path: Path, layout: Layout, rows: Sequence[Row]) -> Path:
    """Write a flat file, one record a line."""
    root = chunk_document(layout, rows)
    root.text = "\n"
    for record in root:
        record.tail = "\n"
    path.write_bytes(etree.tostring(root))
    return path


def batches(layout: Layout, rows: Sequence[Row], size: int) -> Iterator[TwinBatch]:
    for first in range(0, len(rows), size):
        batch = batch_of(layout, rows[first : first + size], first=first)
        batch.lines[:] += first + 1
        yield batch


def gathered(
    book: Rulebook, layout: Layout, rows: Sequence[Row], size: int, original: Sequence[Row] | None = None
) -> Across:
    """Plan all checks and make the first pass."""
    across, _ = plan_across(book, layout, range(len(book.checks)), original_layout=layout if book.documents else None)
    for batch in batches(layout, rows, size):
        across.first_pass(batch)
    if across.reads_original:
        for batch in batches(layout, rows if original is None else original, size):
            across.original_pass(batch)
    across.finish()
    return across


def evaluated(across: Across, layout: Layout, rows: Sequence[Row], size: int, original: Path | None) -> Evaluation:
    """Make the second pass, with all findings."""
    judge = AcrossJudge(across, original)
    width = len(across.rulebook.checks)
    verdicts = np.zeros((len(rows), width), dtype=np.uint8)
    findings: list[Finding] = []
    fired, failed, errors = (np.zeros(width, dtype=np.int64) for _ in range(3))
    if across.outside:
        fired, failed, errors, findings = judge.outside(chunk_document(layout, []))
    for batch in batches(layout, rows, size):
        here = judge.verdicts(across.extend(batch))
        verdicts[batch.first : batch.first + len(batch)] = here
        wrong = np.flatnonzero((here >= Verdict.FAILS).any(axis=1))
        findings += judge.findings(batch, wrong)
    fired += ((verdicts == Verdict.HOLDS) | (verdicts == Verdict.FAILS) | (verdicts == Verdict.ERROR)).sum(axis=0)
    failed += (verdicts == Verdict.FAILS).sum(axis=0)
    errors += (verdicts == Verdict.ERROR).sum(axis=0)
    ordered = tuple(sorted(findings, key=lambda f: (f.check, f.record)))
    return Evaluation(verdicts, fired, failed, errors, ordered, "across")
