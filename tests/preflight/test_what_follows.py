"""Rules that follow from those near them: the same as the whole pre-flight finds, where all are near."""

from __future__ import annotations

from pathlib import Path

from cli_runner import write_rules
from masktron.classify import classify
from masktron.jobs.rulebooks import open_rulebook
from masktron.preflight.rulebook import preflight, what_follows

TESTS = (
    "number(A) <= number(B)",
    "number(B) <= number(C)",
    "number(A) <= number(C)",
    "A >= 0",
    "not(number(C) = 0) or number(A) = 0",
    "not(number(A) = 0) or number(C) = 0",
    "D >= 1",
)


def test_what_follows_is_what_the_preflight_finds(tmp_path: Path) -> None:
    edits = classify(open_rulebook(write_rules(tmp_path / "r.sch", *TESTS)))
    ids = [edit.check.id for edit in edits]
    whole = {one.rule: one.by for one in preflight(edits).redundant if not one.numbers_only}
    found = {one.rule: one.by for one in what_follows(edits, asked=ids)}
    assert set(found) == set(whole) == {"R3", "R5"}
    assert found["R3"] == ("R1", "R2")
    assert {one.rule for one in what_follows(edits, asked=["R3"])} == {"R3"}
    assert not {one.rule for one in what_follows(edits, asked=ids, nearest=1)} & {"R3"}
