"""Hashes of what runs give: a change that is meant to leave results alone leaves all of them alone."""

from __future__ import annotations

import json
import sys

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import golden


def test_every_method_format_and_treatment_is_in_some_case() -> None:
    cases = golden.selected()
    assert len(cases) <= 300
    for axis, values in golden.AXES.items():
        assert {case[axis] for case in cases} == {*values}
    kept = json.loads(golden.KEPT.read_text())
    assert {*kept} == {" ".join(case.values()) for case in cases}
    assert sum("refused" not in hashed for hashed in kept.values()) > 0.8 * len(cases)


def test_a_changed_hash_is_said() -> None:
    kept = {"mdav csv": {"release": "a", "figures": "b"}}
    assert golden.differences(kept, {"mdav csv": {"release": "a", "figures": "b"}}) == []
    assert golden.differences(kept, {"mdav csv": {"release": "x", "figures": "b"}}) == ["mdav csv: release changed"]
    assert golden.differences(kept, {"ipso csv": {"refused": "UsageError"}}) == ["ipso csv: no such run is kept"]


@pytest.mark.full
def test_hashes_are_those_that_are_kept() -> None:
    found = dict(golden.run(golden.selected(), jobs=2))
    assert golden.differences(json.loads(golden.KEPT.read_text()), found) == []
