"""``masktron keys``: risk before and after treatments that are only tried, and why they would stop a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli_runner import Runner, write_rules
from schema_files import conforms

ROWS = [
    {"AGE": 16 + 7 * at % 60, "REGION": ("N", "S")[at % 2], "A": 100 + 13 * at % 70, "B": 10 + at % 9}
    for at in range(60)
]
QUASI = ("--role", "REGION=quasi-identifier", "--role", "AGE=quasi-identifier")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    pd.DataFrame(ROWS).to_csv(tmp_path / "d.csv", index=False)
    write_rules(tmp_path / "r.sch", "B <= A", "not(AGE < 16)", "AGE <= 10 * sum(//AGE)")
    runner = Runner(capsys)

    def found(*more: object, code: int = 0) -> Any:
        outcome = runner("keys", tmp_path / "d.csv", "--rules", tmp_path / "r.sch", *QUASI, "--json", "-", *more)
        assert outcome.code == code, outcome.err
        if code:
            return outcome.err
        result = json.loads(outcome.out)
        conforms(result, "keys")
        return result

    return found


def figures(found: list[dict[str, Any]]) -> dict[str, float]:
    return {one["figure"]: one["value"] for one in found}


def test_without_treatments_the_risk_is_that_of_the_data(run: Any, tmp_path: Path) -> None:
    result = run()
    shared = pd.DataFrame(ROWS).groupby(["AGE", "REGION"]).size()
    assert figures(result["before"])["key_k"] == shared.min()
    assert figures(result["before"])["key_uniques"] == (shared == 1).sum()
    assert (result["treated"], result["figures"], result["fates"], result["obstacle"]) == (None, [], [], None)
    counts = pd.DataFrame(ROWS)["AGE"].value_counts().sort_index()
    ages = result["fields"][0]
    assert (ages["field"], ages["classes"]) == ("AGE", None)
    assert list(ages["values"].items()) == [(str(age), count) for age, count in counts.items()]
    assert result["keys"]["contributions"].keys() == {"AGE", "REGION"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["d.csv", "r.sch"]


def test_a_recoding_is_tried_and_what_it_loses_is_said(run: Any) -> None:
    result = run("--recode", "AGE=width:20", "--allow-lost", "*")
    ages = pd.DataFrame(ROWS)["AGE"] // 20 * 20
    assert result["fields"][0]["classes"] == {
        f"{low}-{low + 19}": count for low, count in ages.value_counts().sort_index().items()
    }
    shared = pd.DataFrame({"AGE": ages, "REGION": [row["REGION"] for row in ROWS]}).value_counts()
    assert figures(result["figures"])["key_k"] == shared.min() == result["treated"]["k"]
    assert [one["fate"] for one in result["fates"]] == ["vacuous", "lost"]
    assert result["obstacle"] is None
    # nobody lets the rule go: the same is tried, and why a run would stop is said
    stopped = run("--recode", "AGE=width:20")
    lost = next(one["rule"] for one in stopped["fates"] if one["fate"] == "lost")
    assert f"--allow-lost {lost}" in stopped["obstacle"]
    assert {**stopped, "obstacle": None} == result


def test_drawing_and_swapping_are_tried_and_left_out_where_they_cannot_be(run: Any, tmp_path: Path) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text('[pram]\nREGION = "change:0.3"\n', encoding="utf-8")
    drawn = run("--config", settings)
    assert [one["kind"] for one in drawn["treatments"]] == ["pram"]
    counts = next(one["classes"] for one in drawn["fields"] if one["field"] == "REGION")
    assert counts.keys() == {"N", "S"}
    assert sum(counts.values()) == len(ROWS)
    assert any("another run may draw others" in one for one in drawn["notes"])
    # once ages are recoded nobody is rare, so nobody is swapped: the recoding is tried without it, and why is said
    settings.write_text('[swap]\nregions = ["REGION"]\nk = 2\n', encoding="utf-8")
    stopped = run("--config", settings, "--recode", "AGE=width:20", "--allow-lost", "*")
    assert [one["kind"] for one in stopped["treatments"]] == ["recoding"]
    assert "[no-swaps]" in stopped["obstacle"]


def test_suppression_is_tried_after_recoding(run: Any) -> None:
    result = run("--recode", "AGE=width:20", "--allow-lost", "*", "--key-k", "3")
    assert figures(result["figures"])["key_k"] >= 3
    left = {one["field"]: sum(one["classes"].values()) for one in result["fields"]}
    gone = {one["field"]: one["how"] for one in result["treatments"] if one["kind"] == "suppression"}
    assert gone.keys() == left.keys() and sum(left.values()) < 2 * len(ROWS)
    assert all(f"k = 3: {len(ROWS) - left[name]} of {len(ROWS)} cells" in how for name, how in gone.items())
    assert any("local suppression" in one for one in result["notes"])


def test_suppression_that_cannot_be_done_leaves_the_recoding(run: Any) -> None:
    result = run("--recode", "AGE=width:20", "--allow-lost", "*", "--key-k", "61")
    assert "[too-few-records]" in result["obstacle"]
    assert [one["kind"] for one in result["treatments"]] == ["recoding"] and result["treated"] is not None


def test_a_recoding_that_cannot_be_used_is_an_error(run: Any) -> None:
    assert "a value below" not in run("--recode", "AGE=breaks:30,60", code=4)
    assert "[unknown-name]" in run("--recode", "AGE=fine:3", code=2)


def test_records_that_break_a_rule_are_left_out(run: Any, tmp_path: Path) -> None:
    rows = [*ROWS, {"AGE": 3, "REGION": "N", "A": 1, "B": 1}]
    pd.DataFrame(rows).to_csv(tmp_path / "d.csv", index=False)
    result = run()
    assert result["records"] == len(ROWS) and "3" not in result["fields"][0]["values"]
    assert any(one.startswith("1 record that breaks a rule is left out here") for one in result["notes"])
    told = [one for one in run("--invalid", "exclude")["notes"] if one.startswith("1 record that breaks a rule")]
    assert told == ["1 record that breaks a rule is left out"]
