"""What `explain` says of the method of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks import SEED
from cli_runner import Runner

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="R">
<assert id="sum" test="A + B = T">sum</assert></rule></pattern></schema>"""


@pytest.fixture
def explain(tmp_path: Path) -> list[str]:
    """The command, for 40 records with numbers and a category."""
    records = "".join(f"<R><A>{i % 7}</A><B>{i}</B><T>{i % 7 + i}</T><G>{'xyz'[i % 3]}</G></R>" for i in range(40))
    (tmp_path / "data.xml").write_text(f"<D>{records}</D>")
    (tmp_path / "rules.sch").write_text(RULES)
    return ["explain", str(tmp_path / "rules.sch"), "--data", str(tmp_path / "data.xml"), "--nominal", "G"]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("noise", "noise draws a value of its own for every record in A, B, T; there"),
        ("noise", "noise draws numbers only; masked by groups: G"),
        ("cart", "cart draws a value of its own for every record in A, B, T, G; there"),
        ("mst", "groups are formed by mst"),
    ],
)
def test_explain_says_what_the_method_does(run: Runner, explain: list[str], method: str, told: str) -> None:
    outcome = run(*explain, "--method", method)
    assert outcome.code == 0
    assert told in " ".join(outcome.out.split())


def test_the_default_needs_no_note(run: Runner, explain: list[str]) -> None:
    assert "groups are formed by" not in run(*explain).out


def test_what_would_stop_mask_is_said(run: Runner, explain: list[str]) -> None:
    nominal = [argument for name in ("A", "B", "T") for argument in ("--role", f"{name}=untouched")]
    outcome = run(*explain, *nominal, "--method", "noise")
    assert outcome.code == 0
    assert "mask would stop: " in outcome.out


@pytest.mark.parametrize("wrong", [["--method", "nois"], ["--method", "noise", "--param", "c=-1"]])
def test_a_wrong_method_is_refused_with_and_without_data(run: Runner, explain: list[str], wrong: list[str]) -> None:
    assert run(*explain, *wrong).code == 2
    assert run(*explain[:2], *wrong).code == 2


def test_assess_says_that_drawn_values_promise_no_groups(run: Runner, explain: list[str], tmp_path: Path) -> None:
    data, out, manifest = (str(tmp_path / name) for name in ("data.xml", "out.xml", "out.json"))
    asked = ["mask", data, "--rules", explain[1], "--role", "G=untouched", "--out", out, "--manifest", manifest]
    for method, told in (("noise", True), ("mdav", False)):
        masked = run(*asked, "--method", method, "--seed", SEED)
        assert masked.code == 0
        assert "--grouping all" not in masked.out
        outcome = run("assess", out, "--original", data, "--manifest", manifest, "--measures", "block_k")
        assert ("promises no identical groups" in " ".join(outcome.out.split())) is told


def test_records_within_the_thresholds_are_not_blamed_on_rules(
    run: Runner, explain: list[str], tmp_path: Path
) -> None:
    asked = ["mask", str(tmp_path / "data.xml"), "--rules", explain[1], "--role", "G=untouched"]
    said = []
    for at in range(6):  # with some keys the rules give a record or two their draw back, and that is said
        out = tmp_path / f"out{at}.xml"
        outcome = run(*asked, "--method", "hierarchical", "--seed", SEED + at, "--out", str(out))
        assert outcome.code == 0
        assert "had nothing to replace" in " ".join(outcome.out.split())
        said.append("when the rules were kept" in outcome.out)
    assert not all(said)
