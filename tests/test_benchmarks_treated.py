"""The benchmark of treatments masks a file that keeps its rules, and compares its runs with the one without any."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import masktron
from paths import ROOT


@pytest.fixture
def treated(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the benchmark defines."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return runpy.run_path(str(ROOT / "benchmarks" / "treated.py"))


def test_the_file_keeps_its_rules_and_has_rare_combinations(treated: dict[str, Any], tmp_path: Path) -> None:
    data, rules = tmp_path / "people.csv", tmp_path / "people.sch"
    treated["write_people"](data, 2000)
    rules.write_text(treated["_RULES"], encoding="utf-8")
    result = masktron.validate(data, rules)
    assert (result.records, result.violations) == (2000, 0)
    assert all(rule.fired for rule in result.rules)
    assert pd.read_csv(data).groupby(list(treated["KEYS"])).size().min() < treated["KEY_K"]


def test_runs_are_compared_with_the_one_without_treatments(treated: dict[str, Any]) -> None:
    measured = treated["Measured"]
    runs = {"no treatment": measured(10.0, 300.0, 8.0), "--recode": measured(15.0, 310.0, 10.0)}
    rows = treated["rows_of"](runs, measured(1.0, 60.0, 0.5))
    assert [(one.ratio, one.cpu_ratio, one.readings) for one in rows] == [(1.0, 1.0, 16.0), (1.5, 1.25, 20.0)]
    assert treated["table"](rows).splitlines()[3] == "| --recode | 15.0 s | 10.0 s | 1.50 | 1.25 | 20 | 310 MB |"


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("no treatment", {"records_out": 99}, "99 records"),
        ("--recode", {"violations": 2}, "2 violations"),
        ("--key-k", {"figures": [{"figure": "key_k", "value": 2.0}]}, "key_k is 2"),
    ],
)
def test_a_run_that_does_less_ends_the_benchmark(
    treated: dict[str, Any], name: str, changed: dict[str, Any], says: str
) -> None:
    result = {"records_out": 100, "violations": 0, "figures": [{"figure": "key_k", "value": 3.0}]}
    treated["require_kept"](name, result, 100)
    with pytest.raises(SystemExit, match=says):
        treated["require_kept"](name, {**result, **changed}, 100)


@pytest.mark.full
def test_the_benchmark_masks_in_each_way(treated: dict[str, Any], tmp_path: Path) -> None:
    figures = tmp_path / "figures" / "treated.json"
    treated["main"](["--scale", "0.01", "--json", str(figures)])
    content = json.loads(figures.read_text(encoding="utf-8"))
    assert content["records"] == 1000
    assert [one["name"] for one in content["runs"]] == [*treated["WAYS"]]
    assert all(one["cpu"] > content["bare"]["cpu"] > 0 for one in content["runs"])
