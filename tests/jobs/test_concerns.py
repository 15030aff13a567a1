"""What somebody has to look at before a masked file is published: signs, fields that identify, unchanged records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import KEY
from cli_runner import SCHEMATRON, numbers, write_data, write_rules
from masktron.report.pages.html import html_of
from masktron.report.pages.mask_page import mask_page
from masktron.report.sentences import concern_lines
from masktron.results import ConcernResult, MaskResult
from masktron.rulebook_text.rule_changes import NewRule, with_rules
from masktron.rulebook_text.rule_entries import rules_in
from schema_files import conforms

RECORDS = 60


def survey(folder: Path, **more: Any) -> Path:
    """Write records with small counts, a loss, a code for missing, ids and weights."""
    draws = np.random.default_rng(3)
    kids, loss = draws.integers(0, 3, RECORDS) ** 3, draws.integers(-50, 50, RECORDS)
    rent = [-9 if at % 10 == 0 else int(draws.integers(0, 5)) ** 2 for at in range(RECORDS)]
    rows = [
        {"Id": f"H{at * 7 % 61}", "Kids": kids[at], "Loss": loss[at], "Rent": rent[at], "W": 1 + at // 2, **more}
        for at in range(RECORDS)
    ]
    return write_data(folder / "d.xml", rows)


def masked(folder: Path, rules: str, **settings: Any) -> MaskResult:
    given: dict[str, Any] = {
        "method": "noise", "params": {"c": 1}, "roles": {"Id": "record-id", "W": "weight"},
        "missing": {"Rent": ["-9"]}, "numeric": ["Kids", "Rent"], "secret": KEY,
    }  # fmt: skip
    return masktron.mask(
        survey(folder), write_rules(folder / "r.sch", rules), folder / "out.xml", **{**given, **settings}
    )


def kinds(result: MaskResult) -> set[tuple[str, str]]:
    return {(one.kind, one.field) for one in result.concerns}


def test_values_below_0_and_ids_are_told_with_their_counts(tmp_path: Path) -> None:
    result = masked(tmp_path, "Loss >= -5000")
    found = {one for one in kinds(result) if one[0] != "moved-total"}  # the noise moves totals of so few records
    assert found == {("below-zero", "Kids"), ("below-zero", "Rent"), ("identifying-field", "Id")}
    told = {one.field: one for one in result.concerns if one.kind != "moved-total"}
    written = (tmp_path / "out.xml").read_text()
    assert told["Kids"].records == written.count("<Kids>-")
    assert told["Rent"].records == written.count("<Rent>-") - written.count("<Rent>-9<") > 0
    assert (told["Id"].records, told["Id"].of) == (RECORDS, RECORDS)
    conforms(json.loads(json.dumps(result.as_dict())), "mask")
    shown = " ".join(repr(result).split())
    assert f"Kids in {told['Kids'].records} records" in shown and "Id is written as it was" in shown
    page = html_of(mask_page(result))
    assert "Id is written as it was" in page


def test_the_rules_that_are_proposed_keep_fields_from_it(tmp_path: Path) -> None:
    result = masked(tmp_path, "Loss >= -5000")
    rules = [one.rule for one in result.concerns if one.rule is not None]
    assert [one.context for one in rules if "Rent" in one.id] == [
        "Record[number(Rent) = number(Rent)][number(Rent) != -9]"
    ]
    book = tmp_path / "r.sch"
    added = [NewRule(one.context, one.test, one.message, one.id) for one in rules]
    book.write_bytes(with_rules(rules_in(book.read_bytes(), "r.sch"), added, {}))
    again = masktron.mask(
        tmp_path / "d.xml", book, tmp_path / "out.xml", method="noise", params={"c": 1},
        roles={"Id": "identifier", "W": "weight"}, missing={"Rent": ["-9"]}, numeric=["Kids", "Rent"], secret=KEY,
    )  # fmt: skip
    assert {one.kind for one in again.concerns} == {"moved-total"}


@pytest.mark.few(1)
@pytest.mark.parametrize(("role", "kind"), [("weight", "identifying-weight"), ("untouched", "identifying-field")])
def test_fields_that_differ_in_nearly_every_record(tmp_path: Path, role: str, kind: str) -> None:
    rows = [{"A": at * 37 % 101, "B": at * at % 89, "W": f"{1 + max(at, 5) / 100}"} for at in range(60)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    settings: dict[str, Any] = {"roles": {"W": role}, "k": 3, "numeric": ["A", "B"]}
    result = masktron.mask(data, rules, tmp_path / "o.xml", **settings)
    assert [(one.kind, one.field, one.records) for one in result.concerns if one.field] == [(kind, "W", 54)]
    rows = [{**row, "W": f"{1 + max(at, 7) / 100}"} for at, row in enumerate(rows)]
    write_data(tmp_path / "d.xml", rows)
    result = masktron.mask(data, rules, tmp_path / "o.xml", **settings)
    assert [one.kind for one in result.concerns if one.field] == []


def test_records_that_came_out_as_they_went_in(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    settings: dict[str, Any] = {"k": 4, "numeric": ["A", "B"]}
    rows = [{"A": at % 7, "B": at % 5} for at in range(60)]  # 8 have each value, and 1 or 2 both
    result = masktron.mask(write_data(tmp_path / "d.xml", rows), rules, tmp_path / "o.xml", **settings)
    told = [(one.kind, one.records, one.of) for one in result.concerns]
    assert told == [("unchanged-records", 60, 60)] and "fewer than 4 records" in result.concerns[0].says
    assert 'a limit, such as limits={"unchanged": 50},' in result.concerns[0].hint  # of 100 %
    rows = [{"A": at % 5, "B": at % 5} for at in range(60)]
    alike = masktron.mask(write_data(tmp_path / "d.xml", rows), rules, tmp_path / "o.xml", **settings)
    assert alike.concerns == ()  # 12 of the original are like each of them


def test_one_line_tells_all_fields_below_0() -> None:
    one = ConcernResult("below-zero", "A", 2, 9, "X", "Y")
    lines = list(concern_lines([one, replace(one, field="B", records=1)]))
    assert len(lines) == 1 and "A in 2 records, B in 1 record" in lines[0]
    assert list(concern_lines([one])) == ["X; Y"]


def test_missing_values_that_masking_fills_or_makes_are_told(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"A": at, "B": None if at in (3, 30) else at % 9 + 20} for at in range(40)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    given: dict[str, Any] = {"k": 4, "numeric": ["B"], "grouping": "all", "secret": KEY}
    result = masktron.mask(data, rules, tmp_path / "o.xml", **given)
    lost = 40 - (tmp_path / "o.xml").read_text().count("<B>")
    (told,) = (one for one in result.concerns if one.kind == "missing-otherwise")
    assert lost == 0
    assert (told.records, told.of) == (2, 40)
    assert told.says.startswith("2 missing values got a value (B 2), since fewer than 4 records")
    kept = masktron.mask(data, rules, tmp_path / "p.xml", **{**given, "k": 2})
    assert (tmp_path / "p.xml").read_text().count("<B>") == 38
    assert "missing-otherwise" not in {one.kind for one in kept.concerns}


def test_a_missing_value_with_another_code_is_told(tmp_path: Path) -> None:
    """One respondent refused where all others do not know: the group has one code."""
    rows: list[dict[str, object]] = [{"A": at, "B": at % 9 + 20} for at in range(40)]
    for at in range(20, 32):
        rows[at]["B"] = -8 if at == 25 else -9
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    given: dict[str, Any] = {"k": 4, "numeric": ["B"], "grouping": "all", "secret": KEY}
    result = masktron.mask(data, rules, tmp_path / "o.xml", missing={"B": ["-8", "-9"]}, **given)
    (told,) = (one for one in result.concerns if one.kind == "missing-otherwise")
    assert (tmp_path / "o.xml").read_text().count("<B>-8</B>") == 0
    assert told.records == 1
    assert told.says.startswith("1 missing value got another code (B 1)")


def test_a_total_that_projection_moves_is_told_with_its_groups(tmp_path: Path) -> None:
    """Households share a wage, which the shortest hours among them bound: no shared wage keeps the sum."""
    rng = np.random.default_rng(5)
    units = []
    for wages, weight in zip(rng.integers(0, 1000, (90, 2)), rng.integers(1, 9, 90), strict=True):
        hours = wages // 100 + 1
        persons = "".join(f"<P><H>{h}</H><Wage>{w}</Wage></P>" for h, w in zip(hours, wages, strict=True))
        units.append(f"<U><W>{weight}</W>{persons}<Total>{wages.sum()}</Total></U>")
    data, rules, out = tmp_path / "d.xml", tmp_path / "r.sch", tmp_path / "o.xml"
    data.write_text(f"<S>{''.join(units)}</S>", encoding="utf-8")
    tests = ("U", "sum(P/Wage) = Total"), ("P", "Wage &lt;= 100 * H"), ("P", "Wage &gt;= 0")
    bodies = (f'<rule context="{where}"><assert test="{test}">m</assert></rule>' for where, test in tests)
    patterns = "".join(f"<pattern>{body}</pattern>" for body in bodies)
    rules.write_text(f'<schema xmlns="{SCHEMATRON}">{patterns}</schema>', encoding="utf-8")
    result = masktron.mask(data, rules, out, roles={"H": "untouched", "W": "weight"}, order="keep", secret=KEY)

    before, after = (_units(path) for path in (data, out))
    wages = ["Wage1", "Wage2"]
    change = 100 * ((after[wages].sum(axis=1) * after.W).sum() / (before[wages].sum(axis=1) * before.W).sum() - 1)
    groups = after.groupby([*wages, "Total"]).ngroup()
    sums = [(file[wages].sum(axis=1) * file.W).groupby(groups).sum() for file in (before, after)]
    moved = int(((sums[1] - sums[0]).abs() > 0.02 * sums[0]).sum())
    told = {one.field: one for one in result.concerns if one.kind == "moved-total"}
    assert change < -2 and 0 < moved < groups.nunique() and set(told) == {"Wage", "Total"}
    says = f"the total of Wage moves by {change:+.1f} %: in {moved} of {groups.nunique()} groups, "
    assert told["Wage"].says.startswith(says)
    assert result.verdict.protection.ground != "concern", "it says nothing of protection"


@pytest.mark.few(1)
def test_records_that_are_left_out_break_no_soft_rule_and_move_their_share_of_totals(tmp_path: Path) -> None:
    rows = numbers(40)
    rows[5] = {"A": 90000, "B": 1, "T": 1}
    data, rules = write_data(tmp_path / "d.xml", rows), tmp_path / "r.rules"
    rules.write_text("A + B == T\nwarn small: A <= 5000\nwarn few: B <= 500\n", encoding="utf-8")
    result = masktron.mask(data, rules, tmp_path / "o.xml", k=3, invalid="exclude", secret=KEY)
    kept = [row for at, row in enumerate(rows) if at != 5]
    many = sum(row["B"] > 500 for row in kept)  # type: ignore[operator]
    assert result.allowed == ("few",)
    assert [note for note in result.notes if note.startswith("soft rule")] == [
        f"soft rule few: broken in {many} original records, so it is not kept"
    ]
    (told,) = (one for one in result.concerns if one.kind == "moved-total")
    assert told.field == "A"
    assert told.says.endswith(" % in the records that were kept")
    assert told.hint == "look at the values of the records that were left out"


def _units(path: Path) -> pd.DataFrame:
    units = ElementTree.parse(path).getroot()
    return pd.DataFrame(
        {"W": float(unit.findtext("W", "")), "Total": float(unit.findtext("Total", ""))}
        | {f"Wage{at}": float(one.text or "") for at, one in enumerate(unit.findall("P/Wage"), 1)}
        for unit in units
    )


@pytest.mark.parametrize(
    ("method", "params", "lost"), [("ipso", {"conditions": []}, True), ("ipso", {}, False), ("mdav", {}, False)]
)
def test_categories_that_explain_a_number_no_longer_are_told(
    tmp_path: Path, method: str, params: dict[str, Any], lost: bool
) -> None:
    rng = np.random.default_rng(6)
    region, sex = rng.integers(0, 4, 300), rng.integers(1, 3, 300)
    pay = 1000 * region + 300 * sex + rng.integers(0, 900, 300)
    frame = pd.DataFrame(
        {"Region": np.array([*"NESW"])[region], "Sex": sex, "W": rng.integers(1, 50, 300), "Pay": pay}
    )
    frame["Age"] = rng.integers(18, 90, 300)
    frame.to_csv(tmp_path / "d.csv", index=False)
    roles = {"Region": "untouched", "Sex": "untouched", "W": "weight"}
    result = masktron.mask(
        tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "Pay > -100000"), tmp_path / "o.csv",
        method=method, params=params, roles=roles, order="keep", secret=KEY,
    )  # fmt: skip
    masked = pd.read_csv(tmp_path / "o.csv")

    def explained(file: pd.DataFrame, by: str, name: str = "Pay") -> float:
        mean = np.average(file[name], weights=file.W)
        products = file.assign(x=file[name] * file.W).groupby(by)
        of_each = products.x.sum() / products.W.sum()
        between = (file.W * (file[by].map(of_each) - mean) ** 2).sum()
        return float(100 * between / (file.W * (file[name] - mean) ** 2).sum())

    told = [one for one in result.concerns if one.kind == "unexplained"]
    assert [one.field for one in told] == ["Pay"] * lost
    before, after = explained(frame, "Region"), explained(masked, "Region")
    if lost:
        assert f"Region explained {before:.1f} % and explains {after:.1f} %" in told[0].says and before > 60
    changes = {
        f"{name}, {by}": abs(explained(masked, by, name) - explained(frame, by, name))
        for name in ("Pay", "Age")
        for by in ("Region", "Sex")
    }
    worst = max(changes, key=changes.__getitem__)
    figure = next(one for one in result.figures if one.name == "eta_squared_change")
    assert (figure.field, figure.value) == (worst, pytest.approx(changes[worst]))
