"""Samples in formats of statistical packages: every job says and makes of them what it does of their XML twin."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from examples import parts
from masktron.config import Config
from masktron.results import MaskResult
from masktron.sources.opening import open_source
from paths import ROOT
from sample_settings import untreated
from statistical_files import first_records, written

RULES = ROOT / "rules" / "household.sch"
SAMPLE = ROOT / "sample_xml" / "household.xml"
FORMATS = {"spss": "sav", "stata": "dta", "xpt": "xpt"}

type Household = tuple[Path, Config, MaskResult, Path]


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Household:
    folder = tmp_path_factory.mktemp("household")
    data, out = first_records(SAMPLE, 150, folder / "data.xml"), folder / "masked.xml"
    config = untreated("household").updated(
        secret=bytes(range(32)), documents={"household.xml": data}, max_observed_share=100.0
    )
    return data, config, masktron.mask(data, RULES, out, config=config), out


def counts(path: Path, config: Config) -> list[tuple[str, int, int]]:
    result = masktron.validate(path, RULES, documents=config.documents)
    return [(rule.id, rule.fired, rule.failed) for rule in result.rules]


@pytest.mark.full
@pytest.mark.parametrize("name", parts(list(FORMATS), 1))
def test_rules_values_and_figures_are_those_of_the_xml_twin(household: Household, tmp_path: Path, name: str) -> None:
    xml, config, expected, masked = household
    data = written(xml, name, tmp_path / f"data.{FORMATS[name]}")
    assert counts(data, config) == counts(xml, config)
    out = tmp_path / f"masked.{FORMATS[name]}"
    result = masktron.mask(data, RULES, out, config=config)
    assert [(one.name, one.value) for one in result.figures] == [(one.name, one.value) for one in expected.figures]
    assert result.min_group == expected.min_group
    before, after = open_source(masked).records().columns, open_source(out).records().columns
    assert set(before) == set(after)
    for field, column in before.items():
        own = after[field]
        # an empty element of XML is no value, and a fraction of a package has no zeros at its end
        same = (column.values == own.values) | (column.held == own.held)
        assert same.all(), field
    checked = masktron.check(out, RULES, original=data, manifest=tmp_path / "masked.manifest.json",
                             documents={"household.xml": data})  # fmt: skip
    assert checked.complies, checked.problems
