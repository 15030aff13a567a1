"""The last word of `mask`: what is protected and what is not, of any method, with the figures that say so."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.results import DrawResult, MaskResult, SolvedResult, UnmovedResult


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> MaskResult:
    """A file masked block by block, to be given other figures."""
    folder = tmp_path_factory.mktemp("verdict")
    rows = [{"Id": at, "C": at * at % 89, **row} for at, row in enumerate(numbers(40))]
    data = write_data(folder / "d.xml", rows)
    rules = write_rules(folder / "r.sch", "A + B = T")
    return masktron.mask(data, rules, folder / "out.xml", k=4, roles={"Id": "key"})


def told(result: MaskResult, *, unchanged: float | None = None, **changes: Any) -> str:
    if unchanged is not None:
        figures = tuple(replace(one, value=unchanged) if one.name == "unchanged" else one for one in result.figures)
        changes["figures"] = figures
    return replace(result, **changes).verdict


def drawn(unmoved: int = 0, smallest: int | None = None) -> DrawResult:
    groups = None if smallest is None else 8
    return DrawResult(1, groups, smallest, (), None, None, UnmovedResult(0, unmoved, 0, 0))


def test_masking_block_by_block(masked: MaskResult) -> None:
    said = told(masked, linkage=99.5, unchanged=37.8, whole_record_k=1)
    assert said == (
        "Every rule holds, and in each block of masked fields at least 4 records are alike; in all masked fields "
        "together some record is unique. But 99.5 % of the records link to their original by distance and 37.8 % of "
        "the masked values are the respondents' own: whoever knows the original values of a respondent most likely "
        "finds the record. --grouping all, or a method that draws values (masktron methods), can lower this; --limit "
        "linkage=20 makes it a condition. Unmasked fields were not looked at, and may identify by themselves: Id."
    )
    assert "in all masked fields together only 2." in told(masked, whole_record_k=2)
    solved = (replace(masked.blocks[0], solved=(SolvedResult("T", "R1", 0, 0),)), *masked.blocks[1:])
    assert "at least 4 records are alike, solved fields apart;" in told(masked, blocks=solved)


def test_the_figures_are_those_of_the_file(masked: MaskResult) -> None:
    value = {figure.name: figure.value for figure in masked.figures}
    assert f"{masked.linkage:.1f} % of the records link" in masked.verdict
    assert f"{value['unchanged']:.1f} % of the masked values" in masked.verdict
    assert masked.as_dict()["verdict"] == masked.verdict
    assert " ".join(repr(masked).split()).endswith(masked.verdict)


def test_whole_records_in_groups(masked: MaskResult) -> None:
    said = told(masked, whole_record_k=4, linkage=11.0, unchanged=3.0, unmasked=())
    assert said == (
        "Every rule holds, and each record is the same as at least 3 others in all masked fields. 11.0 % of the "
        "records link to their original by distance and 3.0 % of the masked values are the respondents' own; another "
        "way to link may find more."
    )
    said = told(masked, whole_record_k=4, linkage=11.0, unchanged=72.0)
    assert "But 11.0 %" in said
    assert "A larger k, or a method that draws values" in said
    assert "--limit unchanged=20" in said


@pytest.mark.parametrize(
    ("contract", "draw", "said"),
    [
        ("partitioned-synthesis", drawn(smallest=6), "; masked values are drawn for groups of at least 6 records."),
        ("noise-added", drawn(), "; noise was added to the masked values."),
        ("model-drawn", drawn(), "; masked values are drawn from a model of the file."),
        ("marked-replaced", drawn(), "and all others are the respondents' own."),
    ],
)
def test_methods_that_draw(masked: MaskResult, contract: str, draw: DrawResult, said: str) -> None:
    found = told(masked, contract=contract, draw=draw, linkage=60.0, unchanged=1.0)
    assert said in found
    assert "alike" not in found
    assert "Another method or other parameters (masktron methods) can lower this" in found
    assert "can lower this" not in told(masked, contract=contract, draw=draw, linkage=6.0, unchanged=1.0)


def test_records_that_come_out_as_they_went_in(masked: MaskResult) -> None:
    assert "1 record comes out as it went in" in told(masked, draw=drawn(unmoved=1), linkage=1.0, unchanged=1.0)
    said = told(masked, draw=drawn(unmoved=47), linkage=1.0, unchanged=1.0)
    assert "by distance, 1.0 % of the masked values are the respondents' own and 47 records come out as they" in said


def test_where_nothing_is_protected(masked: MaskResult) -> None:
    said = told(masked, unchanged=100.0, linkage=100.0)
    assert said.startswith("Every rule holds. But nothing is protected: every masked value is the respondent's own.")
    assert "--limit linkage=20" in said
    assert "nothing is protected" not in told(masked, unchanged=99.99, linkage=99.99)


@pytest.mark.parametrize(
    ("linkage", "said"), [(99.97, "But 99.9 %"), (100.0, "But 100 %"), (0.0, "0 %"), (0.04, "less than 0.1 %")]
)
def test_neither_all_nor_nothing_unless_it_is_so(masked: MaskResult, linkage: float, said: str) -> None:
    assert f"{said} of the records link" in told(masked, linkage=linkage, unchanged=1.0)


def test_without_numbers_and_without_values(masked: MaskResult) -> None:
    said = told(masked, linkage=math.nan, unchanged=12.0)
    assert "12.0 % of the masked values are the respondents' own; linkage is of numbers, and none are masked." in said
    said = told(masked, linkage=math.nan, unchanged=math.nan)
    assert "No masked field has a value that could be compared." in said


def test_rules_that_were_not_tested_or_let_go(masked: MaskResult) -> None:
    said = told(masked, allowed=("a", "b"))
    assert said.startswith("Every rule holds, but for a, b, let go, and in each block")
    assert "Id, A, B, C, D, E and 2 more." in told(masked, unmasked=("Id", "A", "B", "C", "D", "E", "F", "G"))


def test_a_method_that_draws(masked: MaskResult, tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers(60))
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    result = masktron.mask(data, rules, tmp_path / "out.xml", method="noise")
    assert result.contract == "noise-added"
    assert "noise was added to the masked values" in result.verdict
