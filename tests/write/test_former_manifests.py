"""Manifests of each earlier form, as the code of their day wrote them: `check` reads them all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import masktron
from masktron.write.manifest import read_manifest
from paths import TESTS
from refusals import refused

KEPT = TESTS / "manifests"
FORMS = sorted(path.name for path in KEPT.iterdir() if path.is_dir())


def test_there_are_forms() -> None:
    assert len(FORMS) >= 9


@pytest.mark.parametrize("form", FORMS)
def test_check_reads_the_manifest_and_finds_the_file_as_it_was_written(form: str) -> None:
    folder = KEPT / form
    found = masktron.check(
        folder / "released.xml",
        KEPT / "survey.sch",
        original=KEPT / "survey.xml",
        manifest=folder / "released.manifest.json",
    )
    assert found.complies


@pytest.mark.parametrize("form", FORMS)
def test_a_manifest_says_k_and_fields(form: str) -> None:
    described = read_manifest(KEPT / form / "released.manifest.json")
    assert described.k == 3
    assert {*described.masked} - {"Sex"} == {"Age", "Wage", "Other", "Income"}  # the first runs left Sex as it was


@pytest.mark.parametrize("lacking", ["blocks", "solved", "copied"])
def test_the_first_form_has_nothing_less(lacking: str, tmp_path: Path) -> None:
    """What may be lacking is what the first manifests lacked, and nothing else."""
    content = json.loads((KEPT / FORMS[-1] / "released.manifest.json").read_text(encoding="utf-8"))
    if lacking == "blocks":
        del content["result"]["blocks"]
        (tmp_path / "m.json").write_text(json.dumps(content), encoding="utf-8")
        with refused(masktron.UsageError, "not-a-manifest"):
            read_manifest(tmp_path / "m.json")
        return
    for block in content["result"]["blocks"]:
        del block[lacking]
    (tmp_path / "m.json").write_text(json.dumps(content), encoding="utf-8")
    read = read_manifest(tmp_path / "m.json")
    assert read.solved == ()
    whole = read_manifest(KEPT / FORMS[-1] / "released.manifest.json")
    assert read.medoid_share >= whole.medoid_share  # what is not known of copies is never told as fewer
