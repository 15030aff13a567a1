"""Treated keys in files that are masked unit by unit, by several workers, and in runs that were ended."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli_runner import write_data, write_rules
from masktron import memory_costs
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.executor.run_parts import RunPart, RunParts, parts_folder
from masktron.jobs.check import run_check
from masktron.jobs.mask import run_mask
from masktron.results import MaskResult

KEY = bytes(range(32))
TREATMENTS: tuple[dict[str, Any], ...] = (
    {"recode": {"AGE": "width:10"}},
    {"recode": {"AGE": "width:2"}, "key_k": 3},
    {"pram": {"JOB": "change:0.2"}, "swap": {"regions": ("REGION",), "keys": ("AGE",), "k": 3}},
)
NAMES = ("recode", "both", "drawn")


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, Path]:
    draw = random.Random(5)
    rows: list[dict[str, object]] = []
    for _ in range(240):
        a, b = draw.randint(0, 600), draw.randint(0, 200)
        keys = {"AGE": draw.randint(16, 80), "REGION": draw.choice("nnsw"), "JOB": draw.choice("abc")}
        rows.append({**keys, "A": a, "B": b, "T": a + b})
    return write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T", "not(AGE < 16)")


def settings(**others: Any) -> Config:
    roles = dict.fromkeys(("AGE", "REGION", "JOB"), Role.QUASI_IDENTIFIER)
    return replace(Config(k=3, key=KEY, unit_records=70, workers=1, roles=roles), **others)


def mask(given: tuple[Path, Path], out: str, *, resume: bool = False, **others: Any) -> MaskResult:
    return run_mask(*given, given[0].parent / out, config=settings(**others), resume=resume)


def written(given: tuple[Path, Path], out: str) -> bytes:
    """Return what a run has written, the records and their rules."""
    path = given[0].parent / out
    rules = path.with_suffix(".rules.sch")
    return path.read_bytes() + (rules.read_bytes() if rules.exists() else b"")


@pytest.mark.parametrize("treatment", TREATMENTS, ids=NAMES)
def test_treated_keys_are_the_same_in_units_whoever_masks_them(
    given: tuple[Path, Path], treatment: dict[str, Any]
) -> None:
    result = mask(given, "one.xml", **treatment)
    assert result.treatments
    assert all(block.cut is not None for block in result.blocks)
    mask(given, "two.xml", workers=2, **treatment)
    assert written(given, "one.xml") == written(given, "two.xml")
    manifest = given[0].parent / "one.manifest.json"
    checked = run_check(given[0].parent / "one.xml", given[1], manifest=manifest, original=given[0])
    assert checked.complies, checked.problems


def test_memory_decides_on_the_size_of_units_and_on_nothing_else(
    given: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    treatment = TREATMENTS[1]
    monkeypatch.setattr(memory_costs, "BASE", 399_000_000)
    monkeypatch.setattr(memory_costs, "WHOLE_CELL", 10_000)
    mask(given, "small.xml", unit_records=None, memory=400_000_000, **treatment)
    size = json.loads((given[0].parent / "small.manifest.json").read_text())["config"]["unit_records"]
    mask(given, "sized.xml", unit_records=size, **treatment)
    assert size < 240
    assert written(given, "small.xml") == written(given, "sized.xml")
    assert not [path for path in given[0].parent.iterdir() if path.name.startswith(".")]


class Killed(BaseException):
    """As if the process had ended."""


@pytest.mark.parametrize("treatment", TREATMENTS, ids=NAMES)
def test_a_run_with_treated_keys_goes_on_to_the_same_bytes_by_its_key_alone(
    given: tuple[Path, Path], treatment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, done = RunParts.enter, 0

    def enter(self: RunParts, part: RunPart) -> None:
        nonlocal done
        done += 1
        if done == 5:
            raise Killed
        entered(self, part)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RunParts, "enter", enter)
        mask(given, "m.xml", **treatment)
    folder = parts_folder(given[0].parent / "m.xml")
    assert folder.exists()
    assert not (given[0].parent / "m.rules.sch").exists()
    if treatment is not TREATMENTS[0]:
        with pytest.raises(UsageError, match="only with the key"):
            mask(given, "m.xml", resume=True, key=None, **treatment)
    with pytest.raises(UsageError, match="cannot be resumed"):
        mask(given, "m.xml", resume=True, **{**treatment, "recode": {"AGE": "width:3"}})
    assert folder.exists(), "who made a mistake loses nothing"
    mask(given, "whole.xml", **treatment)
    mask(given, "m.xml", resume=True, **treatment)
    assert written(given, "m.xml") == written(given, "whole.xml")
    assert not folder.exists()
