"""The tier of columns, on files of any size, watched: what it decides itself, and where the engine contradicts it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import partial

from masktron.errors import RulebookError
from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.columns.program import compile_program
from masktron.evaluation.deferral import Frame
from masktron.evaluation.tiered import evaluate_columns
from masktron.evaluation.tiers import Program
from masktron.read.columns import Batch
from masktron.read.plain import iter_batches, survey_plain
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

from differential.by_masktron import CHUNK, Answer, Files

_BLOCK = 1 << 10
_APART = re.compile(r"the columns and .* disagree .*\((\w+)\)", re.DOTALL)


class _Watched:
    """A program of columns that is told to leave some checks open, and that counts what it decides."""

    def __init__(self, program: Program, open_checks: Iterable[int]) -> None:
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
    """Evaluate over columns, however small the file; None where it is not flat."""
    found = survey_plain(files.data, record="Record")
    frame = Frame.of(files.data, files.layout)
    if found is None or frame is None:
        return None
    layout, _, plain = found
    if layout != files.layout:
        raise AssertionError(f"the fast survey finds another layout: {layout}, {files.layout}")
    broken: dict[str, str] = {}
    while True:
        watched: list[_Watched] = []
        compiled: list[int] = []

        def compiler(rulebook: Rulebook, layout: Layout, checks: Collection[int]) -> tuple[Program, tuple[str, ...]]:
            program, reasons = compile_program(rulebook, layout, checks)
            names = [c.id for c in rulebook.checks]
            watched.append(_Watched(program, [names.index(name) for name in broken]))  # noqa: B023 - called at once
            compiled.extend(k for k in checks if not reasons[k])  # noqa: B023 - called at once
            return watched[-1], reasons

        try:
            done = evaluate_columns(
                files.data,
                files.rulebook,
                layout,
                frame,
                partial(iter_batches, files.data, layout, plain, block=_BLOCK, rows=CHUNK),
                compiler,
                keep_verdicts=True,
            )
        except RulebookError as error:
            name = _APART.search(str(error))
            if name is None or name[1] in broken:
                raise
            broken[name[1]] = str(error)
            continue
        decided = {files.rulebook.checks[k].id: watched[0].decided.get(k, 0) for k in compiled}
        return Answer(done, decided, broken)
