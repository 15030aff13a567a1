"""Long numbers have separators where people read them, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.report.rendering import render, tables_of
from masktron.report.text import number
from masktron.results import EngineResult, MaskResult, TotalResult


@pytest.mark.parametrize(
    ("value", "spec", "shown"),
    [
        (2000, "", "2000"),
        (9999, "", "9999"),
        (10_000, "", "10,000"),
        (1_000_080, "", "1,000,080"),
        (1030037.333, ".12g", "1,030,037.333"),
        (-795259228.295, ".12g", "-795,259,228.295"),
        (77512, ".3f", "77,512.000"),
        (0.5, ".3f", "0.500"),
        (float("nan"), ".3f", "nan"),
        (float("inf"), ".3f", "inf"),
        (1e300, ".12g", "1e+300"),
    ],
)
def test_a_number(value: float, spec: str, shown: str) -> None:
    assert number(value, spec) == shown


MILLION = 1_000_080


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> MaskResult:
    folder = tmp_path_factory.mktemp("masked")
    data, rules = write_data(folder / "d.xml", numbers(12)), write_rules(folder / "r.sch", "A + B = T")
    return masktron.mask(data, rules, folder / "o.xml", k=3)


def test_the_table_of_mask(masked: MaskResult) -> None:
    result = replace(
        masked,
        records_in=MILLION,
        records_out=MILLION - 80,
        totals=(TotalResult("A", 1029983.718, 1030037.333, 0.005, MILLION),),
        engines=(EngineResult("an engine", MILLION, 0, True, rules=1),),
        blocks=tuple(replace(block, groups=200_016) for block in masked.blocks),
    )
    shown = " ".join(render(tables_of(result)).split())
    for wanted in (
        "1,000,080 records in, 1,000,000 out",
        "A 1,000,080 1,029,983.718 1,030,037.333 0.005",
        "an engine 1 of 1 1,000,080 0 agrees",
        "mean 200,016 ",
    ):
        assert wanted in shown
    content = json.dumps(result.as_dict())
    assert "1000080" in content
    assert "1,000" not in content
