"""The weights of records left out go to the records of their class: sums, refusals, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest

import masktron
from cli_runner import write_rules
from masktron.errors import InfeasibleError, MasktronError, UsageError
from paths import SCHEMAS
from plain_rows import write_csv
from refusals import refused

HOW: dict[str, Any] = {
    "roles": {"ID": "identifier", "W": "weight", "G": "quasi-identifier", "H": "quasi-identifier"},
    "k": 5,
    "invalid": "exclude",
}


def survey(tmp_path: Path, *rules: str) -> tuple[Path, Path]:
    """Return 240 records, of which each third breaks the sum, and one of these has no weight."""
    rows = [
        {
            "ID": at,
            "G": "NESW"[at % 4],
            "H": "" if at % 7 == 0 else "mf"[at // 4 % 2],
            "W": -1 if at == 11 else 20 + at * 7 % 31 + (at % 2) / 2,
            "A": 10 + at * 13 % 700,
            "B": 10 + at * 17 % 500,
            "T": 20 + at * 13 % 700 + at * 17 % 500 + (at % 3 == 2),
        }
        for at in range(240)
    ]
    data = write_csv(tmp_path / "d.csv", rows)
    return data, write_rules(tmp_path / "r.sch", "A + B = T", "A >= 0", *rules)


def sums(path: Path, fields: list[str]) -> pd.Series:
    table = pd.read_csv(path)
    return table[table.W > 0].groupby(fields, dropna=False).W.sum()


@pytest.mark.parametrize("fields", [["G"], ["G", "H"]], ids=str)
def test_weights_add_up_by_class_to_those_of_the_original(tmp_path: Path, fields: list[str]) -> None:
    data, rules = survey(tmp_path)
    result = masktron.mask(data, rules, tmp_path / "m.csv", reweight=fields, **{**HOW, "k": 2})
    assert result.records_out == 240 - 80
    before, after = sums(data, fields), sums(tmp_path / "m.csv", fields)
    assert (before - after).abs().max() < 240 * 5e-6
    original = pd.read_csv(data)
    kept = original[original["T"] == original.A + original.B]
    assert (before - kept.groupby(fields, dropna=False).W.sum()).abs().max() > 1  # something was left out
    checked = masktron.check(tmp_path / "m.csv", rules, original=data, manifest=tmp_path / "m.manifest.json")
    assert checked.complies, checked.problems
    content = json.loads((tmp_path / "m.manifest.json").read_text())
    jsonschema.validate(content, json.loads((SCHEMAS / "manifest.schema.json").read_text()))
    assert f"spread over those of the same {', '.join(fields)}" in " ".join(result.notes)
    assert "lack them" not in " ".join(result.notes)


def test_figures_and_the_weighted_means_are_of_the_new_weights(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    result = masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G"], **HOW)
    table, original = pd.read_csv(tmp_path / "m.csv"), pd.read_csv(data)
    for one in result.totals:
        assert one.after == pytest.approx((table[one.name] * table.W).sum(), rel=1e-9)
        whole = original[original.W > 0]
        assert one.before == pytest.approx((whole[one.name] * whole.W).sum(), rel=1e-9)


def test_check_finds_a_changed_weight_and_forged_factors(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    out, manifest = tmp_path / "m.csv", tmp_path / "m.manifest.json"
    masktron.mask(data, rules, out, reweight=["G"], **HOW)
    content = json.loads(manifest.read_text())
    (done,) = content["treatments"]
    done["factors"][0]["factor"] = "9/8"
    manifest.write_text(json.dumps(content))
    problems = masktron.check(out, rules, original=data, manifest=manifest).problems
    assert "the weights W were spread by other factors than the original has" in problems
    assert any(one.startswith("the unmasked field W differs from the original in") for one in problems)
    done["within"] = ["H"]
    manifest.write_text(json.dumps(content))
    with refused(
        MasktronError, "not-a-manifest", reason="its 'treatments' are not what 'reweight' of its 'config' asks for"
    ):
        masktron.check(out, rules, original=data, manifest=manifest)


def test_the_page_for_others_says_what_was_done(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    page = tmp_path / "about.html"
    masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G", "H"], **{**HOW, "k": 2})
    masktron.write_report(tmp_path / "m.manifest.json", html_public=page)
    text = page.read_text()
    assert (
        "W is the survey weight, raised: the weights of records left out went to those of the same G, H, where"
        in text
    )
    assert "Totals and counts of this file lack them; weighted counts by G, H do not." in text


def test_a_later_survey_has_its_weights_spread_alike(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G"], **HOW)
    later = tmp_path / "later.csv"
    table = pd.read_csv(data)
    table["W"] = table.W.where(table.W < 0, table.W + 3)
    table.to_csv(later, index=False)
    masktron.rerun(tmp_path / "m.manifest.json", later, tmp_path / "again.csv")
    assert (sums(later, ["G"]) - sums(tmp_path / "again.csv", ["G"])).abs().max() < 240 * 5e-6


def test_nothing_changes_where_no_record_is_left_out(tmp_path: Path) -> None:
    data, _ = survey(tmp_path)
    clean = write_rules(tmp_path / "clean.sch", "A >= 0")
    table = pd.read_csv(data)
    table.loc[11, "W"] = 20
    table.to_csv(data, index=False)
    result = masktron.mask(data, clean, tmp_path / "m.csv", reweight=["G"], **HOW)
    assert result.treatments == ()
    assert sorted(pd.read_csv(tmp_path / "m.csv").W) == sorted(table.W)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"reweight": ["GG"]}, "unknown-name"),
        ({"reweight": ["A"]}, "role-does-not-fit"),
        ({"reweight": ["W"]}, "role-does-not-fit"),
        ({"roles": {**HOW["roles"], "W": "untouched"}}, "needs-setting"),
        ({"recode": {"W": "breaks:0,30:mean"}}, "field-not-usable"),
        ({"pram": {"G": "change:0.2"}}, "weights-not-spread"),
        ({"swap": {"regions": ["G"], "keys": ["H"], "k": 3}}, "weights-not-spread"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(tmp_path: Path, more: dict[str, Any], code: str) -> None:
    data, rules = survey(tmp_path)
    with refused(UsageError, code):
        masktron.mask(data, rules, tmp_path / "m.csv", **{**HOW, "reweight": ["G"], **more})
    assert not (tmp_path / "m.csv").exists()


def test_a_class_of_which_no_record_is_left_is_refused(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    table = pd.read_csv(data)
    table["G"] = table.G.where(table.index != 23, "X")
    table.to_csv(data, index=False)
    with refused(InfeasibleError, "weights-not-spread", fields=("G",)):
        masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G"], **HOW)


def test_cells_of_a_class_are_not_left_out(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, "(string(G) = '') = (string(R) = '')")
    table = pd.read_csv(data)
    table.insert(2, "R", table.G.str.lower())
    table["G"] = table.G.where(table.index % 40 != 1, "X")
    table.to_csv(data, index=False)
    how = {**HOW, "roles": {**HOW["roles"], "R": "untouched"}, "key_k": 10}
    for within in ("G", "R"):
        with refused(InfeasibleError, "weights-not-spread", fields=(within,)):
            masktron.mask(data, rules, tmp_path / "m.csv", reweight=[within], **how)
    assert not (tmp_path / "m.csv").exists()


def test_the_weight_of_few_records_is_told_to_nobody(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    with refused(InfeasibleError, "weights-not-spread", fields=("G",)):
        masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G"], **{**HOW, "k": 30})


def test_codes_for_missing_are_classes_of_their_own_and_check_knows_them(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    out = tmp_path / "m.csv"
    masktron.mask(data, rules, out, reweight=["G"], missing={"G": ["N"]}, **HOW)
    checked = masktron.check(out, rules, original=data, manifest=tmp_path / "m.manifest.json")
    assert checked.complies, checked.problems


def test_long_weights_keep_the_digits_of_a_double(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    table = pd.read_csv(data)
    table["W"] = table.W.where(table.W < 0, table.W / 7)
    parquet = tmp_path / "d.parquet"
    table.to_parquet(parquet, index=False)
    masktron.mask(parquet, rules, tmp_path / "m.parquet", reweight=["G"], numeric=["A", "B", "T"], **HOW)
    after = pd.read_parquet(tmp_path / "m.parquet")
    before = table[table.W > 0]
    assert (before.groupby("G").W.sum() - after.groupby("G").W.sum()).abs().max() < 1e-9


def test_a_rule_on_the_weight_is_kept_or_stops_the_run(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, "W <= 50.5")
    with refused(InfeasibleError, "steps-break-rules", fields=("W",)):
        masktron.mask(data, rules, tmp_path / "m.csv", reweight=["G"], **HOW)
    assert not (tmp_path / "m.csv").exists()


def test_the_page_for_others_names_what_moved(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    table = pd.read_csv(data)
    table["B"] = table.B.where(table.G != "N", table.B + 4000)
    table["T"] = table.A + table.B
    table.loc[11, "W"] = 20
    table.to_csv(data, index=False)
    found = masktron.mask(data, rules, tmp_path / "m.csv", method="cart", **{**HOW, "invalid": "stop"})
    page = tmp_path / "about.html"
    masktron.write_report(tmp_path / "m.manifest.json", html_public=page)
    text = page.read_text()
    lost = [one.field for one in found.concerns if one.kind == "unexplained"]
    assert {"B", "T"} <= {*lost}
    assert f"Do not compare {', '.join(lost)} between categories of the unmasked fields" in text
    moved = ", ".join(one.field for one in found.concerns if one.kind == "moved-total")
    assert (f"Do not take totals or means of {moved} from this file" in text) == bool(moved)
