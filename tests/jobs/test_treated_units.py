"""Treated keys in files that are masked unit by unit, by several workers, and in runs that were ended."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import unit_runs
from examples import parts
from masktron import memory
from masktron.config import Role
from masktron.errors import UsageError
from masktron.executor.run_parts import parts_folder
from masktron.jobs.check import CheckRequest, run_check
from masktron.results import MaskResult
from refusals import refused
from unit_runs import Files, killed_after, sums

TREATMENTS: tuple[dict[str, Any], ...] = (
    {"recode": {"AGE": "width:2"}, "key_k": 3},
    {"recode": {"AGE": "width:10"}},
    {"pram": {"JOB": "change:0.2"}, "swap": {"regions": ("REGION",), "keys": ("AGE",), "k": 3}},
)


@pytest.fixture
def given(tmp_path: Path) -> Files:
    def keys(draw: random.Random) -> dict[str, object]:
        return {"AGE": draw.randint(16, 80), "REGION": draw.choice("nnsw"), "JOB": draw.choice("abc")}

    return sums(tmp_path, keys, "A + B = T", "not(AGE < 16)")


def mask(given: Files, out: str, *, resume: bool = False, **others: Any) -> MaskResult:
    roles = dict.fromkeys(("AGE", "REGION", "JOB"), Role.QUASI_IDENTIFIER)
    return unit_runs.mask(given, out, resume=resume, roles=roles, **others)


def written(given: Files, out: str) -> bytes:
    """Return what a run has written, the records and their rules."""
    path = given[0].parent / out
    rules = path.with_suffix(".rules.sch")
    return path.read_bytes() + (rules.read_bytes() if rules.exists() else b"")


@pytest.mark.full
@pytest.mark.parametrize("treatment", parts(TREATMENTS, 1))
def test_treated_keys_are_the_same_in_units_whoever_masks_them(given: Files, treatment: dict[str, Any]) -> None:
    result = mask(given, "one.xml", **treatment)
    assert result.treatments
    assert all(block.cut is not None for block in result.blocks)
    mask(given, "two.xml", workers=2, **treatment)
    assert written(given, "one.xml") == written(given, "two.xml")
    manifest = given[0].parent / "one.manifest.json"
    checked = run_check(CheckRequest(given[0].parent / "one.xml", given[1], manifest=manifest, original=given[0]))
    assert checked.complies, checked.problems


@pytest.mark.full
def test_memory_decides_on_the_size_of_units_and_on_nothing_else(
    given: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    treatment = TREATMENTS[1]
    monkeypatch.setattr(memory, "BASE", 399_000_000)
    monkeypatch.setattr(memory, "WHOLE_CELL", 10_000)
    mask(given, "small.xml", unit_records=None, memory=400_000_000, **treatment)
    size = json.loads((given[0].parent / "small.manifest.json").read_text())["config"]["unit_records"]
    mask(given, "sized.xml", unit_records=size, **treatment)
    assert size < 240
    assert written(given, "small.xml") == written(given, "sized.xml")
    assert not [path for path in given[0].parent.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("treatment", parts(TREATMENTS, 1))
def test_a_run_with_treated_keys_goes_on_to_the_same_bytes_by_its_key_alone(
    given: Files, treatment: dict[str, Any]
) -> None:
    with killed_after(4):
        mask(given, "m.xml", **treatment)
    folder = parts_folder(given[0].parent / "m.xml")
    assert folder.exists()
    assert not (given[0].parent / "m.rules.sch").exists()
    if treatment.keys() != {"recode"}:  # classes are drawn from nothing
        with refused(UsageError, "needs-setting"):
            mask(given, "m.xml", resume=True, secret=None, **treatment)
    with refused(UsageError, "cannot-resume"):
        mask(given, "m.xml", resume=True, **{**treatment, "recode": {"AGE": "width:3"}})
    assert folder.exists(), "who made a mistake loses nothing"
    mask(given, "whole.xml", **treatment)
    mask(given, "m.xml", resume=True, **treatment)
    assert written(given, "m.xml") == written(given, "whole.xml")
    assert not folder.exists()
