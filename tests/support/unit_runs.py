"""Runs on a small file that is masked unit by unit, and such that end before their time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli_runner import write_data, write_rules
from masktron.config import Config
from masktron.executor.run_parts import RunPart, RunParts
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.results import MaskResult

KEY = bytes(range(32))
RECORDS = 240
type Files = tuple[Path, Path]
"""The data and the rules."""


class KilledError(BaseException):
    """As if the process had ended: nothing catches it."""


def sums(folder: Path, more: Callable[[random.Random], dict[str, object]], *rules: str) -> Files:
    """Write records with A + B = T, and what else is drawn for each, and rules.

    Parameters
    ----------
    folder : Path
    more : callable
        Draws the other fields of a record.
    *rules : str
    """
    draw = random.Random(5)
    rows: list[dict[str, object]] = []
    for _ in range(RECORDS):
        a, b = draw.randint(0, 600), draw.randint(0, 200)
        rows.append({**more(draw), "A": a, "B": b, "T": a + b})
    return write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *rules)


def unit_config(**others: Any) -> Config:
    """Return settings of a run in units of 70 records, by one worker, with a key that is known."""
    return replace(Config(k=3, secret=KEY, unit_records=70, workers=1), **others)


def mask(given: Files, out: str = "m.xml", *, resume: bool = False, **others: Any) -> MaskResult:
    """Mask a file in units, beside it."""
    data, rules = given
    return run_mask(MaskRequest(data, rules, data.parent / out, config=unit_config(**others), resume=resume))


@contextmanager
def killed_after(parts: int) -> Iterator[None]:
    """Let the run of this block end when it has entered so many parts.

    Parameters
    ----------
    parts : int
    """
    entered, done = RunParts.enter, 0

    def enter(self: RunParts, part: RunPart) -> None:
        nonlocal done
        done += 1
        if done > parts:
            raise KilledError
        entered(self, part)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(RunParts, "enter", enter)
        yield
