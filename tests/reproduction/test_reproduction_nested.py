"""The comparison of households masked under their rules with other ways: the survey, the measures, and small runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from lxml import etree

import masktron
from reproduction import nested_compared
from reproduction.generated_households import write_households
from reproduction.nested_compared import RULES, NestedComparison, compared, lost, sharing


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NestedComparison]:
    folder = tmp_path_factory.mktemp("nested")
    return folder, compared(folder, 260, (3,))


def test_the_made_survey_obeys_its_rules(tmp_path: Path) -> None:
    result = masktron.validate(write_households(tmp_path / "survey.xml", 600), RULES)
    assert not [one.id for one in result.rules if one.violations]
    assert {one.id for one in result.rules if one.fired} == {one.id for one in result.rules}


@pytest.mark.full
def test_only_the_masked_households_keep_rules_and_stay_alike(small: tuple[Path, NestedComparison]) -> None:
    ours, persons, flat = small[1].outcomes
    assert (ours.broken, ours.apart) == ({}, 0)
    assert ours.alike >= 3
    assert persons.broken["gross"] > small[1].households / 2
    assert {"gross", "disposable", "equivalised"} <= flat.broken.keys()
    assert min(persons.apart, flat.apart, flat.differing) > small[1].households / 3
    assert ours.person_loss > persons.person_loss > 0
    assert persons.household_loss == 0


@pytest.mark.full
def test_other_ways_change_numbers_alone(small: tuple[Path, NestedComparison]) -> None:
    def frame(name: str) -> list[tuple[str, str | None]]:
        own = {*nested_compared.OF_HOUSEHOLDS, *nested_compared.OF_PERSONS}
        tree = etree.parse(small[0] / name)
        return [(one.tag, "number" if one.tag in own else one.text) for one in tree.iter()]

    assert frame("survey.xml") == frame("flat file-3.xml") == frame("persons alone-3.xml")


def test_households_share_what_all_their_persons_have(tmp_path: Path) -> None:
    def household(total: int, *wages: int) -> str:
        own = "".join(f"<Person><Wage>{wage}</Wage></Person>" for wage in wages)
        return f"<Household><Gross>{total}</Gross>{own}</Household>"

    text = household(5, 2, 3) + household(5, 2, 3) + household(5, 3, 2) + household(5, 5)
    (tmp_path / "made.xml").write_text(f"<Survey>{text}</Survey>", encoding="utf-8")
    assert sharing(tmp_path / "made.xml") == [2, 2, 1, 1]


def test_loss_by_hand() -> None:
    before = pd.DataFrame({"A": [0.0, 2.0], "B": [1.0, 1.0]})
    assert lost(before, pd.DataFrame({"A": [1.0, 1.0], "B": [1.0, 1.0]})) == 100
    assert lost(before, pd.DataFrame({"A": [0.0, 1.0], "B": [1.0, 1.0]})) == 50


@pytest.mark.full
def test_the_page_has_every_way(
    small: tuple[Path, NestedComparison], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "page.md"
    monkeypatch.setattr(nested_compared, "compared", lambda folder, persons, ks: small[1])
    monkeypatch.setattr(sys, "argv", ["nested_compared", "--persons", "260", "--k", "3", "--out", str(out)])
    assert nested_compared.main() == 0
    text = out.read_text(encoding="utf-8")
    assert "| masktron | 3 |" in text
    assert "| `gross` | 0 |" in text
