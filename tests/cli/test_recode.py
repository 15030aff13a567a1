"""``masktron hierarchy`` and ``masktron recode``: from a file to the settings of the best recoding."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli_runner import Runner
from masktron.hierarchies import read_hierarchy
from refusals import code_of
from schema_files import conforms

ROWS = [(age, region, sex) for age in (16, 18, 23, 27, 34, 37) for region in ("N1", "N2", "S1") for sex in "mf"]
UNSEEN = "7979"
"""A value that no message may show."""
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="adult" test="AGE &gt;= 16">16 or older</assert>
<assert id="sum" test="INCOME + OTHER = TOTAL">the sum</assert>
<assert id="mean" test="AGE &lt;= 10 * sum(//AGE)">age and all ages</assert>
</rule></pattern></schema>"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Eighteen kinds of people twice, one of them once more, and one whom nobody is like."""
    rows = [*ROWS, *ROWS, ROWS[0], (59, "S2", "f")]
    lines = [
        f"{age},{region},{sex},{100 + at},{at % 7},{100 + at + at % 7}" for at, (age, region, sex) in enumerate(rows)
    ]
    (tmp_path / "survey.csv").write_text("AGE,REGION,SEX,INCOME,OTHER,TOTAL\n" + "\n".join(lines) + "\n")
    (tmp_path / "rules.sch").write_text(RULES)
    (tmp_path / "age.csv").write_text(
        "".join(f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*\n" for age in range(10, 60))
    )
    (tmp_path / "region.csv").write_text("N1,N,*\nN2,N,*\nS1,S,*\nS2,S,*\n")
    return tmp_path / "survey.csv"


def recode(run: Runner, survey: Path, *more: object) -> tuple[Any, Any]:
    """Run the command on two hierarchies; return what it says, and its result."""
    folder = survey.parent
    outcome = run(
        "recode", survey, "--rules", folder / "rules.sch", "--hierarchy", f"AGE={folder / 'age.csv'}",
        "--hierarchy", f"REGION={folder / 'region.csv'}", "--role", "SEX=quasi-identifier", "--allow-lost", "mean",
        "--json", folder / "result.json", *more,
    )  # fmt: skip
    result = json.loads((folder / "result.json").read_text()) if (folder / "result.json").exists() else None
    return outcome, result


def test_a_hierarchy_is_made_for_looking_through(run: Runner, survey: Path) -> None:
    out = survey.parent / "made.csv"
    outcome = run("hierarchy", survey, "--field", "AGE", "--width", "10", "--levels", 3, "--out", out, "--json", "-")
    assert outcome.code == 0
    result = json.loads(outcome.out)
    conforms(result, "hierarchy")
    assert (result["values"], result["classes"]) == (60, [6, 3, 1])
    assert [labels["37"] for labels in read_hierarchy(out, "AGE").levels] == ["37", "30-39", "20-39", "*"]
    outcome = run("hierarchy", survey, "--field", "REGION", "--digits", "1", "--out", out)
    assert outcome.code == 0
    assert out.read_text() == "N1;N;*\nN2;N;*\nS1;S;*\nS2;S;*\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--field", "AEG", "--width", "5"), "[unknown-name]"),
        (("--field", "AGE"), "[needs-setting]"),
        (("--field", "AGE", "--width", "5", "--digits", "2"), "[needs-setting]"),
        (("--field", "AGE", "--digits", "2", "--levels", "3"), "[needs-setting]"),
        (("--field", "AGE", "--digits", "2,x"), "must be integers with commas between"),
        (("--field", "AGE", "--digits", "2,3"), "must be falling numbers"),
        (("--field", "AGE", "--width", "0"), "must be above 0"),
        (("--field", "REGION", "--width", "5"), "[no-hierarchy]"),
    ],
)
def test_no_hierarchy_is_made_of_what_cannot_be_one(
    run: Runner, survey: Path, arguments: tuple[str, ...], said: str
) -> None:
    outcome = run("hierarchy", survey, *arguments, "--out", survey.parent / "made.csv")
    assert (outcome.code, said in outcome.err, "Traceback" in outcome.err) == (2, True, False), outcome.err
    assert not (survey.parent / "made.csv").exists()


def test_the_best_recoding_with_what_it_makes_of_rules_and_risk(run: Runner, survey: Path) -> None:
    settings = survey.parent / "found.toml"
    outcome, result = recode(run, survey, "--suppressed", "1", "--write", settings)
    assert outcome.code == 0, outcome.err
    conforms(result, "recode")
    assert result["keys"] == ["AGE", "REGION", "SEX"]
    assert result["fixed"] == ["SEX"]
    assert (result["nodes"], result["records"], result["suppressed"]) == (9, len(ROWS) * 2 + 2, 1)
    best = result["choices"][result["chosen"]]
    level = {name: read_hierarchy(survey.parent / f"{name.lower()}.csv", name).levels for name in ("AGE", "REGION")}
    at = best["levels"]
    rows = [*ROWS, *ROWS, ROWS[0], (59, "S2", "f")]
    after = Counter(
        (level["AGE"][at["AGE"]][str(age)], level["REGION"][at["REGION"]][region], sex) for age, region, sex in rows
    )
    assert sum(size for size in after.values() if size < 3) == best["left"] == 1
    assert result["after"]["key_k"] == min(after.values()) == 1
    assert result["before"]["key_uniques"] == 1
    assert result["before"]["global_risk"] == pytest.approx(100 * 37 / 74)
    assert result["after"]["global_risk"] == pytest.approx(100 * len(after) / 74, abs=1e-5)
    fates = {rule["id"]: rule["fate"] for rule in result["fates"]}
    assert "sum" not in fates
    assert fates["mean"] == "lost"
    assert result["recode"] == {
        name: f"{(survey.parent / name.lower()).as_posix()}.csv:{one}" for name, one in at.items() if one
    }
    assert tomllib.loads(settings.read_text()) == {
        "recode": {name: f"{name.lower()}.csv:{one}" for name, one in at.items() if one}
    }
    for shown in ("recommended", "loss (entropy)", "key_k", "[recode]", "local suppression"):
        assert shown in outcome.out
    assert result["kept"] == 1
    many = Counter(fates.values())
    said = ", ".join(
        f"{many[fate]} {fate}" for fate in ("exact", "implied", "weakened", "vacuous", "removed", "lost")
    )
    assert f"rules by the recommended recoding: 1 kept, {said}\n" in outcome.out
    assert "rule mean is lost (" in outcome.out


def test_a_recoding_that_leaves_nothing_of_a_field_says_so(run: Runner, survey: Path) -> None:
    rules = survey.parent / "rules.sch"
    long = "a-rule-whose-name-would-not-fit-into-a-narrow-column-of-a-table"
    rules.write_text(RULES.replace('"adult"', f'"{long}"'))
    outcome, result = recode(run, survey, "--suppressed", "1", "--importance", "AGE=9")
    assert outcome.code == 0, outcome.err
    assert f"rule {long} is " in " ".join(outcome.out.split())
    for one in result["choices"]:
        tops = {"AGE": 2, "REGION": 2}
        assert one["emptied"] == [name for name, level in one["levels"].items() if level == tops[name]]
    best = result["choices"][result["chosen"]]
    emptied = [one for one in result["choices"] if one["emptied"]]
    assert best["emptied"] == []
    assert min(one["loss"] for one in emptied) < best["loss"], "it is last nevertheless"
    order = [bool(one["emptied"]) for one in result["choices"]]
    assert order == sorted(order)
    assert " (nothing left)" in outcome.out
    assert any(line.rstrip().endswith("recommended") for line in outcome.out.splitlines())
    outcome, result = recode(run, survey, "--key-k", "6", "--suppressed", "1")
    assert outcome.code == 0, outcome.err
    assert all(one["emptied"] for one in result["choices"])
    notes = " ".join(result["notes"])
    assert f"nothing is left of {', '.join(result['choices'][0]['emptied'])} by the recommended recoding" in notes
    assert "No usable recoding was found: none leaves something of every field. Name fewer keys" in notes
    assert "no usable recoding: fewer keys, or this, which leaves nothing of " in outcome.out
    assert "recommended, in masktron.toml" not in outcome.out


def test_one_search_for_the_best_alone_leaves_something_of_each_field(
    run: Runner, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masktron.jobs.recode._MOST_MINIMAL", 0)
    outcome, result = recode(run, survey, "--suppressed", "1", "--importance", "AGE=9")
    assert outcome.code == 0, outcome.err
    assert [bool(one["emptied"]) for one in result["choices"]] == [False, True]
    assert result["chosen"] == 0
    outcome, result = recode(run, survey, "--key-k", "6", "--suppressed", "1")
    assert [bool(one["emptied"]) for one in result["choices"]] == [True]


@pytest.mark.full
def test_a_weight_counts_for_key_k_where_it_is_recoded(run: Runner, survey: Path) -> None:
    """What the note says of the weight is so: `--key-k` counts a recoded weight, and leaves none of it out."""
    lines = survey.read_text().splitlines()
    survey.write_text(
        "\n".join([f"{lines[0]},W", *(f"{line},{1 + at % 50}" for at, line in enumerate(lines[1:]))]) + "\n"
    )
    rules = survey.parent / "rules.sch"
    rules.write_text(
        RULES.replace('<assert id="mean"', '<assert id="mean" role="warning"').replace(
            "AGE &gt;= 16", "not(AGE &lt; 16)"
        )
    )
    out = survey.parent / "out.csv"
    common = ("mask", survey, "--rules", rules, "--out", out, "-k", "3", "--role", "W=weight", "--key-k", "3",
              "--role", "AGE=quasi-identifier", "--role", "REGION=quasi-identifier", "--role", "SEX=quasi-identifier",
              "--allow", "mean", "--recode", "AGE=width:20", "--allow-lost", "mean")  # fmt: skip
    outcome = run(*common)
    assert outcome.code == 0, outcome.err
    keys = ["AGE", "REGION", "SEX"]
    written = pd.read_csv(out, dtype=str).fillna("missing")
    assert written.groupby(keys).size().min() >= 3
    assert written.groupby([*keys, "W"]).size().min() < 3, "the weight as it was is no key"
    outcome = run(*common, "--recode", "W=breaks:0,25:mean", "--limit", "key_k=3")
    assert outcome.code == 0, outcome.err
    written = pd.read_csv(out, dtype=str).fillna("missing")
    assert written.groupby([*keys, "W"]).size().min() >= 3
    assert "missing" not in set(written["W"])


def test_limits_and_diversity_ask_for_more(run: Runner, survey: Path) -> None:
    losses = []
    for more in (
        (),
        ("--limit", "global_risk=9"),
        ("--diversity", "INCOME=13"),
        ("--limit", "key_uniques=0"),
        ("--limit", "l_diversity=4"),
    ):
        outcome, result = recode(run, survey, "--suppressed", "1", *more)
        assert outcome.code == 0, outcome.err
        losses.append(result["choices"][result["chosen"]]["loss"])
    assert min(losses[1:]) > losses[0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--hierarchy", "AGE=other.csv"), 2, "[given-twice]"),
        (("--hierarchy", "SEX"), 2, "[bad-value]"),
        (("--hierarchy", "SEX=none.csv"), 2, "the file does not exist"),
        (("--key-k", "1"), 2, "[bad-value]"),
        (("--suppressed", "5 records"), 2, "[bad-value]"),
        (("--loss", "entropie"), 2, "[unknown-name]"),
        (("--limit", "linkage=5"), 2, "[unknown-name]"),
        (("--importance", "INCOME=2"), 2, "[unknown-name]"),
        (("--importance", "AGE=0"), 2, "importance['AGE'] must be above 0"),
        (("--diversity", "AGE=2"), 2, "[unknown-name]"),
        (("--diversity", "INCOME=x"), 2, "[bad-value]"),
        (("--role", "AGE=weight"), 2, "[role-does-not-fit]"),
        (("--write", "rules.sch"), 2, "[would-overwrite]"),
        (("--write", "there.toml"), 2, "[cannot-write-settings]"),
        (("--limit", "global_risk=0.5"), 5, "[recoding-out-of-reach]"),
        (("--key-k", "50"), 5, "levels to the hierarchies of SEX"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    run: Runner, survey: Path, arguments: tuple[str, ...], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(survey.parent)
    Path("there.toml").touch()
    outcome, result = recode(run, survey, *arguments)
    assert (outcome.code, said in outcome.err, "Traceback" in outcome.err) == (code, True, False), outcome.err
    assert result is None


def test_a_row_of_names_is_refused_or_left_out(run: Runner, survey: Path) -> None:
    path = survey.parent / "region.csv"
    path.write_text("code,part,all\n" + path.read_text())
    (survey.parent / "age.csv").write_text("code;ten;all\n" + (survey.parent / "age.csv").read_text())
    outcome, result = recode(run, survey, "--suppressed", "1")
    assert (outcome.code, result) == (2, None)
    assert "seems to name its levels" in outcome.err
    outcome, result = recode(run, survey, "--suppressed", "1", "--header")
    assert outcome.code == 0, outcome.err
    assert result["keys"] == ["AGE", "REGION", "SEX"]


def test_what_mask_counts_otherwise_is_said(run: Runner, survey: Path) -> None:
    lines = survey.read_text().splitlines()
    weighted = [f"{lines[0]},W", *(f"{line},{at}" for at, line in enumerate(lines[1:], 1))]
    weighted[5] = weighted[5].replace(f"{weighted[5].split(',')[1]},", ",", 1)
    survey.write_text("\n".join(weighted) + "\n")
    outcome, result = recode(run, survey, "--suppressed", "2", "--role", "W=weight")
    assert outcome.code == 0, outcome.err
    notes = " ".join(result["notes"])
    assert "W: a weight is no key here; for mask --key-k it is one where it is recoded, and never left out" in notes
    assert "a limit of mask, such as key_k, counts it as one where it is written, recoded or not" in notes
    assert "REGION: a missing value is a value of its own here" in notes


def test_values_that_are_not_in_the_hierarchy_are_refused_unseen(run: Runner, survey: Path) -> None:
    survey.write_text(survey.read_text().replace("\n59,", f"\n{UNSEEN},"))
    outcome, result = recode(run, survey)
    assert (outcome.code, code_of(outcome.err)) == (4, "hierarchy-lacks-value")
    assert "survey.csv:75" in outcome.err
    assert UNSEEN not in outcome.err
    assert result is None


def test_a_recoding_that_loses_a_hard_rule_is_not_recommended(run: Runner, survey: Path) -> None:
    folder = survey.parent
    common = ("--hierarchy", f"REGION={folder / 'region.csv'}", "--role", "SEX=quasi-identifier", "--suppressed", "1")
    command = ("recode", survey, "--rules", folder / "rules.sch", "--hierarchy", f"AGE={folder / 'age.csv'}", *common)
    outcome = run(*command, "--key-k", "10")
    outcome.refuses(5, "recodings-lose-rules", rules=("mean",))
    # where ages may stay as they are, another recoding is taken than the one that loses least
    outcome = run(*command, "--key-k", "4", "--importance", "REGION=9", "--json", folder / "other.json")
    assert outcome.code == 0, outcome.err
    result = json.loads((folder / "other.json").read_text())
    assert result["chosen"] > 0
    assert result["choices"][0]["lost"] == ["mean"]
    assert result["choices"][result["chosen"]]["levels"]["AGE"] == 0
