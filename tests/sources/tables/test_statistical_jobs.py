"""Samples in formats of statistical packages: every job says and makes of them what it does of their XML twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import masktron
from examples import parts
from made_columns import new_column
from masktron.config import Config
from masktron.errors import ViolationError
from masktron.results import MaskResult
from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from paths import ROOT
from refusals import code_of
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


def survey(path: Path) -> Path:
    """Write a file with a label and a missing code; the second one is that of SPSS or of Stata."""
    frame = pd.DataFrame({"n": [1, 2, 3], "t": ["a", "b", "c"], "x": [0.5, 1.5, 2.5]})
    labels = {"n": {1.0: "one", 3.0: "refused"}}
    if path.suffix == ".sav":
        pyreadstat.write_sav(
            frame, path, column_labels={"n": "A number"}, variable_value_labels=labels, missing_ranges={"n": [3]}
        )
    else:
        frame["n"] = pd.Series([1, 2, "a"], dtype=object)
        pyreadstat.write_dta(
            *(frame, path),
            column_labels={"n": "A number"},
            variable_value_labels={"n": {1: "one", "a": "refused"}},
            missing_user_values={"n": ["a"]},
        )
    return path


def with_other(path: Path, what: str) -> None:
    """Write a file again with something else in it."""
    sav = path.suffix == ".sav"
    read, write = (pyreadstat.read_sav, pyreadstat.write_sav) if sav else (pyreadstat.read_dta, pyreadstat.write_dta)
    frame, meta = read(str(path), user_missing=True)
    said = {"column_labels": meta.column_names_to_labels, "variable_value_labels": meta.variable_value_labels}
    missing = "missing_ranges" if sav else "missing_user_values"
    said[missing] = {"n": [3]} if sav else {"n": ["a"]}
    match what:
        case "value":
            frame["x"] = frame["x"] + 1
        case "text":
            frame["t"] = "z"
        case "record":
            frame = frame.iloc[:2]
        case "label of a value":
            said["variable_value_labels"] = {"n": {1: "other", **({3: "refused"} if sav else {"a": "refused"})}}
        case "label of a variable":
            said["column_labels"] = {"n": "Another"}
        case "missing code":
            said[missing] = {}
            frame["n"] = [1, 2, 3]
            if not sav:
                said["variable_value_labels"] = {"n": {1: "one"}}
    write(frame, str(path), **said)


OTHER = ["nothing", "value", "text", "record", "label of a value", "label of a variable", "missing code"]


@pytest.mark.parametrize("name", ["spss", "stata"])
@pytest.mark.parametrize("what", OTHER)
def test_a_file_that_is_written_otherwise_than_meant_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    kind = type(table_format(name))
    own = kind.write

    def wrong(self: object, target: Path, release: object) -> None:
        own(self, target, release)  # type: ignore[arg-type]
        with_other(target, what)

    monkeypatch.setattr(kind, "write", wrong)
    source = open_source(survey(tmp_path / f"a.{FORMATS[name]}"))
    # numbers may be spelled in other ways than files have them
    new = {"x": new_column(np.array(["0.50", "7.0"], dtype=object), np.array([0, 1, 1]))}
    out = tmp_path / f"b.{FORMATS[name]}"
    if what == "nothing":
        assert source.write(out, new) == 3
        return
    with pytest.raises(ViolationError) as caught:
        source.write(out, new)
    assert code_of(caught.value) == "self-check-failed"
    assert "does not say" in str(caught.value)
