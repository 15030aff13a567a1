"""Evaluation of a file that is one document, by stylesheets that are compiled once for each rulebook and thread."""

from __future__ import annotations

import threading

from masktron.judge.exact import evaluate_whole
from masktron.judge.findings import Evaluation
from masktron.judge.programs import Documents
from masktron.judge.request import EvaluationRequest
from masktron.judge.runner import CORRECTED, EngineChoice, Runner, engine_name, engines_of, runs_of
from masktron.rulebook.analysis import once
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout


class _Thread(threading.local):
    """What stands for a thread among what is kept: compiled stylesheets are for the thread that compiled them."""

    def __init__(self) -> None:
        self.token = object()


_THREAD = _Thread()


def evaluate_document(request: EvaluationRequest) -> Evaluation:
    """Evaluate every check of a rulebook on a document.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As `masktron.judge.exact.evaluate`.
    """
    rulebook, layout = request.rulebook, request.layout
    if rulebook.reads_original:
        runners = _runners(rulebook, layout, request.engine, request.documents())
    else:
        runners = _kept_runners(rulebook, layout, request.engine, _THREAD.token)
    tally = request.tally()
    evaluate_whole(request.path, runners, tally, request.shown)
    request.tell(tally.records)
    used = engine_name(rulebook, layout, request.engine)
    return tally.evaluation(f"{used}{CORRECTED}" if tally.departed else used)


@once
def _kept_runners(rulebook: Rulebook, layout: Layout, engine: EngineChoice, _thread: object) -> tuple[Runner, ...]:
    return _runners(rulebook, layout, engine, Documents.of(rulebook, None))


def _runners(
    rulebook: Rulebook, layout: Layout, engine: EngineChoice, documents: Documents | None
) -> tuple[Runner, ...]:
    engines = engines_of(rulebook, layout, engine)
    whole = ("the file is one document",) * len(engines)
    return tuple(Runner(run, rulebook, layout, documents) for run in runs_of(engines, whole, range(len(engines))))
