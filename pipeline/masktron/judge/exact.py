"""Exact evaluation: the original expressions, by the engine that decides, on every node of every record.

Checks that look only inside one record are evaluated chunk by chunk, so that memory stays bounded and time linear in
the size of the file; the rest on the whole document.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.judge.findings import Evaluation, Shown, starts_in_file
from masktron.judge.programs import Documents, Original
from masktron.judge.report_reader import (
    FindingMaker,
    Outside,
    RecordPlace,
    document_of,
    outside_names,
    read_report,
    records_of,
)
from masktron.judge.request import EvaluationRequest, VerdictTally
from masktron.judge.runner import CORRECTED, EngineChoice, Runner, engine_name, engines_of, runs_of
from masktron.rulebook.analysis import once
from masktron.rulebook.locality import locality, locality_within
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import Chunk, Spans, iter_chunks, record_spans
from masktron.sources.xml.parser import parse_tree

__all__ = ["EngineChoice", "RecordJudge", "evaluate"]


def evaluate(request: EvaluationRequest, *, chunk: int = 5000, leave_out: Collection[int] = ()) -> Evaluation:
    """Evaluate every check of a rulebook on a file.

    Parameters
    ----------
    request : EvaluationRequest
    chunk : int
        Number of records that are in memory at a time, for checks that look only inside a record.
    leave_out : collection of int
        Checks that are not evaluated.

    Returns
    -------
    Evaluation

    Raises
    ------
    RulebookError
        An engine cannot evaluate a check at all. (A dynamic error on a node is a finding.)
    DocumentError
        The file or the original cannot be read.
    UsageError
        The chosen engine does not know the XPath version of a rule, or one reads the original and there is none.
    """
    request = request.on_document()
    path, rulebook, layout = request.path, request.rulebook, request.layout
    runners = _document_runners(request) if layout.is_document else _file_runners(request, leave_out)
    tally = request.tally()
    spans = record_spans(path, layout)
    local = [r for r in runners if not r.run.whole]
    if local:
        for piece in iter_chunks(path, layout, chunk, spans=spans):
            _evaluate_chunk(piece, local, tally, request.shown)
            request.tell(tally.records)
    whole = [r for r in runners if r.run.whole]
    if whole:
        evaluate_whole(path, whole, tally, request.shown, spans)
        request.tell(tally.records)
    tally.judged_all(len(spans))  # which no check need have counted
    used = engine_name(rulebook, layout, request.engine, leave_out)
    return tally.evaluation(f"{used}{CORRECTED}" if tally.departed else used)


def _file_runners(request: EvaluationRequest, leave_out: Collection[int]) -> Sequence[Runner]:
    path, rulebook, layout = request.path, request.rulebook, request.layout
    reasons = locality_within(rulebook, layout, lambda: outside_names(path, layout))
    documents = request.documents()
    wanted = [index for index in range(len(rulebook.checks)) if index not in leave_out]
    return [Runner(run, rulebook, layout, documents) for run in runs_of(request.engines, reasons, wanted)]


class _Thread(threading.local):
    """What stands for a thread among what is kept: compiled stylesheets are for the thread that compiled them."""

    def __init__(self) -> None:
        self.token = object()


_THREAD = _Thread()


def _document_runners(request: EvaluationRequest) -> Sequence[Runner]:
    """Compile a rulebook for files that are one document each: once for all, where it reads no original."""
    rulebook, layout = request.rulebook, request.layout
    if rulebook.reads_original:
        return _whole_runners(rulebook, layout, request.engine, request.documents())
    return _kept_runners(rulebook, layout, request.engine, _THREAD.token)


@once
def _kept_runners(rulebook: Rulebook, layout: Layout, engine: EngineChoice, _thread: object) -> tuple[Runner, ...]:
    return _whole_runners(rulebook, layout, engine, Documents.of(rulebook, None))


def _whole_runners(
    rulebook: Rulebook, layout: Layout, engine: EngineChoice, documents: Documents | None
) -> tuple[Runner, ...]:
    engines = engines_of(rulebook, layout, engine)
    whole = ("the file is one document",) * len(engines)
    return tuple(Runner(run, rulebook, layout, documents) for run in runs_of(engines, whole, range(len(engines))))


def _evaluate_chunk(piece: Chunk, runners: list[Runner], tally: VerdictTally, shown: Shown) -> None:
    verdicts = tally.blank(len(piece.spans))
    wanted: list[tuple[Runner, NDArray[np.int64]]] = []
    for runner in runners:
        events = runner.events(piece.root, len(piece.spans), range(piece.first, piece.first + len(piece.spans)))
        tally.count(events, piece.first)
        if verdicts is not None:
            events.fill(verdicts)
        wanted.append((runner, tally.wanted(events)))
    tally.judged(len(piece.spans), verdicts)
    if any(len(rows) for _, rows in wanted):
        records = records_of(piece.root, runners[0].layout)
        places = _places(records, piece.spans, piece.first)
        report_rows([(runner, [places[row] for row in rows]) for runner, rows in wanted], tally, shown)


def _places(records: Sequence[etree._Element], spans: Spans, first: int = 0) -> list[RecordPlace]:
    return [
        RecordPlace(record, first + i, int(spans.lines[i]), int(spans.columns[i]), partial(spans.text, i))
        for i, record in enumerate(records)
    ]


def report_rows(wanted: Iterable[tuple[Runner, list[RecordPlace]]], tally: VerdictTally, shown: Shown) -> None:
    """Make the findings of checks on some records, in copies of these alone."""
    findings = []
    for runner, places in wanted:
        if places:
            make = FindingMaker(runner.layout, places, shown)
            text = runner.report(document_of(places, runner.layout))
            findings += [make(failure) for failure in read_report(text, runner.rulebook) if tally.asks(failure)]
    tally.add(findings)


def evaluate_whole(
    path: Path, runners: Sequence[Runner], tally: VerdictTally, shown: Shown, spans: Spans | None = None
) -> None:
    """Evaluate checks on the whole document, after those that look inside records; `spans` where they are known."""
    root = parse_tree(path).getroot()
    layout = runners[0].layout
    spans = record_spans(path, layout) if spans is None else spans
    verdicts = tally.judged_all(len(spans))
    for runner in runners:
        events = runner.events(root, len(spans))
        tally.count(events, 0)
        if verdicts is not None:
            events.fill(verdicts)
        if events.fails.any() and any(tally.room(int(check)) != 0 for check in np.unique(events.check[events.fails])):
            report_whole(path, root, _places(records_of(root, layout), spans), runner, tally, shown)


def report_whole(
    path: Path, root: etree._Element, places: Sequence[RecordPlace], runner: Runner, tally: VerdictTally, shown: Shown
) -> None:
    """Make the findings of checks on a whole document, of which `places` are the records."""
    text = runner.report(root)
    around = {failure.steps for failure in read_report(text, runner.rulebook) if failure.place < 0}
    outside = Outside(root, starts_in_file(path, around)) if around else None
    make = FindingMaker(runner.layout, places, shown, outside)
    for _, failures in groupby(read_report(text, runner.rulebook), key=lambda failure: failure.place):
        tally.add([make(failure) for failure in failures if tally.asks(failure)])


class RecordJudge:
    """Verdicts on small documents of records, compiled once and called many times.

    Each document is evaluated as if it were the whole file: a check that looks beyond its record sees the records
    of the document, and no others.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int, optional
        Indices of the checks to evaluate; by default those that look only inside their record.
    original : Path, Original or Documents, optional
        What ``document()`` returns; needed if a rule reads it.
    engine : {"auto", "unaided", "libxml2", "saxon"}
    """

    def __init__(
        self,
        rulebook: Rulebook,
        layout: Layout,
        *,
        checks: Collection[int] | None = None,
        original: Path | Original | Documents | None = None,
        engine: EngineChoice = "auto",
    ) -> None:
        if checks is None:
            checks = [i for i, reason in enumerate(locality(rulebook, layout)) if not reason]
        documents = original if isinstance(original, Documents) else Documents.of(rulebook, original)
        local = ("",) * len(rulebook.checks)
        self.checks = frozenset(checks)
        self._layout = layout
        self._width = len(rulebook.checks)
        self._runners = [
            Runner(run, rulebook, layout, documents)
            for run in runs_of(engines_of(rulebook, layout, engine), local, self.checks)
        ]

    def verdicts(self, root: etree._Element) -> NDArray[np.uint8]:
        """Evaluate a document such as `masktron.sources.xml.microdata.chunk_document` builds.

        Returns
        -------
        ndarray of uint8, shape (records, checks)
            `Verdict` codes; NOT_FIRED for checks that were not chosen.
        """
        found = [runner.events(root) for runner in self._runners]
        records = found[0].records if found else len(records_of(root, self._layout))
        result = np.zeros((records, self._width), dtype=np.uint8)
        for events in found:
            events.fill(result)
        return result
