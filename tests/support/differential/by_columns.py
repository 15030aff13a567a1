"""The tier of columns, on files of any size, watched: what it decides itself, and where the engine contradicts it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from differential.by_masktron import CHUNK, Answer, Files
from masktron.errors import RulebookError
from masktron.judge.columns.items import Outcome
from masktron.judge.columns.program import compile_program
from masktron.judge.deferral import DocumentFrame
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import Blocks, over_columns
from masktron.judge.walk import CompiledColumns
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import iter_batches, survey_plain

_BLOCK = 1 << 10


class _Watched:
    """A program of columns that is told to leave some checks open, and that counts what it decides."""

    def __init__(self, program: CompiledColumns, open_checks: Iterable[int]) -> None:
        self.program = program
        self.open = sorted(open_checks)
        self.decided: dict[int, int] = {}

    def evaluate(self, batch: Batch) -> Outcome:
        """Do what the program does."""
        said = self.program.evaluate(batch)
        fired, failed, unsure = said.fired.copy(), said.failed.copy(), said.unsure.copy()
        for k in range(unsure.shape[1]):
            self.decided[k] = self.decided.get(k, 0) + int((~unsure[:, k]).sum())
        fired[:, self.open], failed[:, self.open], unsure[:, self.open] = 0, 0, True
        return Outcome(fired, failed, unsure)

    def reads(self, check: int) -> frozenset[int]:
        """Return the fields that decide a check."""
        return self.program.reads(check)


def columns(files: Files) -> Answer | None:
    """Evaluate over columns, however small the file; None where it is not flat.

    A check on which the engine contradicts the columns is noted, and the rest evaluated once more without it.
    """
    found = survey_plain(files.data, record="Record")
    frame = DocumentFrame.of(files.data, files.layout)
    if found is None or frame is None:
        return None
    layout, _, plain = found
    if layout != files.layout:
        raise AssertionError(f"the fast survey finds another layout: {layout}, {files.layout}")
    broken: dict[str, str] = {}
    names = [check.id for check in files.rulebook.checks]
    while True:
        compiler = _Compiler([names.index(name) for name in broken])
        try:
            done = over_columns(
                EvaluationRequest(files.data, files.rulebook, layout, keep_verdicts=True),
                Blocks(frame, partial(iter_batches, files.data, layout, plain, block=_BLOCK, rows=CHUNK), compiler),
            )
        except RulebookError as error:
            rule = error.problem.place.rule
            if error.problem.code != "engines-disagree" or rule is None or rule.name in broken:
                raise
            broken[rule.name] = str(error)
            continue
        return Answer(done, {names[k]: count for k, count in compiler.decided().items()}, broken)


class _Compiler:
    """Compiles as `compile_program` does, and keeps an eye on the program."""

    def __init__(self, open_checks: Collection[int]) -> None:
        self._open = open_checks
        self._compiled: list[int] = []
        self._watched: list[_Watched] = []

    def __call__(
        self, rulebook: Rulebook, layout: Layout, checks: Collection[int]
    ) -> tuple[CompiledColumns, tuple[str, ...]]:
        program, reasons = compile_program(rulebook, layout, checks)
        self._watched.append(_Watched(program, self._open))
        self._compiled += [k for k in checks if not reasons[k]]
        return self._watched[-1], reasons

    def decided(self) -> dict[int, int]:
        """Return how many records the columns decided, for each check that they have."""
        return {k: sum(watched.decided.get(k, 0) for watched in self._watched) for k in self._compiled}
