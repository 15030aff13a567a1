"""Oddly spelled rulebooks of every construct: masktron's own way says what the engine says of the whole document."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples import parts
from masktron.judge.nested import unit_program
from spelled import compare
from spelled.cases import generate
from spelled.judged import judged


@pytest.fixture(autouse=True)
def each_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_program, "ENOUGH", 1)


def test_a_seed_always_gives_the_same_files() -> None:
    one, other = generate(7), generate(7)
    assert (one.rulebook, one.units) == (other.rulebook, other.units)
    assert generate(8).rulebook != one.rulebook


@pytest.mark.parametrize("seeds", parts((range(at, at + 6) for at in range(0, 120, 6)), 1))
def test_verdicts_are_those_of_the_engine(seeds: range, tmp_path: Path) -> None:
    found = compare.compared(seeds, tmp_path)
    sys.stdout.write(f"{found.checks} checks, {found.tiers}\n")
    assert not found.disagreements, "\n".join(found.disagreements)
    assert found.checks > 40 * len(seeds)
    assert found.failing > 0.2 * found.checks
    assert found.tiers["COLUMNS"] > 0.2 * found.checks


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where ``<`` is taken for ``<=``, the engine says otherwise."""

    def careless(folder: Path, record: str, phase: str) -> dict[str, object]:
        rules = folder / "rules.sch"
        text = rules.read_text(encoding="utf-8")
        rules.write_text(text.replace("&lt;=", "&lt;"), encoding="utf-8")
        return judged(folder, record, phase, engines=False)

    monkeypatch.setattr(compare, "judged", careless)
    assert any("<=" in one for one in compare.compared(range(1), tmp_path).disagreements)
