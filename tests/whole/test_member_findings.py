"""What findings on nested records show: the values that the rule reads, and which member it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import Runner
from masktron.judge.findings import MOST_CHARACTERS, MOST_MEMBERS

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
RULES = f"""<schema {ISO}>
  <pattern><rule context="Household">
    <assert id="total" test="sum(Person/Income) = Total">The total is not that of the persons.</assert>
  </rule></pattern>
  <pattern><rule context="Household/Person">
    <assert id="wage" test="Wage + Benefit = Income">The parts are not the income.</assert>
    <assert id="below" test="Income &lt;= ../Total">More than all.</assert>
    <assert id="adult" test="not(Role = 'head') or Age &gt;= 16">A young head.</assert>
  </rule></pattern>
</schema>"""
PERSONS = (
    ("17", "1", "head", "40", "60", "40", "100"),
    ("17", "2", "child", "", "30", "30", "70"),
    ("23", "1", "head", "12", "0", "5", "5"),
)
TOTALS = {"17": "170", "23": "4"}
NAMES = ("Role", "Age", "Wage", "Benefit", "Income")


def book(folder: Path, body: str) -> Path:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO}>{body}</schema>", encoding="utf-8")
    return path


def household(number: str, persons: str, total: str) -> str:
    return f"<Household><HID>{number}</HID><Total>{total}</Total>{persons}</Household>"


def person(number: str, cells: dict[str, str]) -> str:
    return f"<Person><PID>{number}</PID>{''.join(f'<{k}>{v}</{k}>' for k, v in cells.items() if v)}</Person>"


def nested(folder: Path) -> tuple[Path, dict[str, Any]]:
    units = (
        household(hid, "".join(person(p[1], dict(zip(NAMES, p[2:], strict=True))) for p in PERSONS if p[0] == hid), t)
        for hid, t in TOTALS.items()
    )
    path = folder / "survey.xml"
    path.write_text(f"<Survey>{''.join(units)}</Survey>", encoding="utf-8")
    return path, {}


def two_tables(folder: Path) -> tuple[Path, dict[str, Any]]:
    path = folder / "households.csv"
    path.write_text("HID,Total\n" + "".join(f"{hid},{t}\n" for hid, t in TOTALS.items()), encoding="utf-8")
    beside = folder / "persons.csv"
    rows = ["HID,PID," + ",".join(NAMES), *map(",".join, PERSONS)]
    beside.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path, {"levels": {"Household": {"key": "HID"}, "Person": {"data": str(beside), "key": "PID"}}}


def one_table(folder: Path) -> tuple[Path, dict[str, Any]]:
    path = folder / "flat.csv"
    rows = ["HID,Total,PID," + ",".join(NAMES), *(",".join((p[0], TOTALS[p[0]], *p[1:])) for p in PERSONS)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    levels = {
        "Household": {"key": "HID", "fields": ["Total"]}, "Person": {"same_table": True, "key": "PID"},
    }  # fmt: skip
    return path, {"levels": levels}


def rules_in(folder: Path) -> Path:
    path = folder / "rules.sch"
    path.write_text(RULES, encoding="utf-8")
    return path


FORMS = (nested, two_tables, one_table)


@pytest.mark.parametrize("form", FORMS)
def test_a_finding_shows_what_its_rule_reads_of_person_and_household(
    tmp_path: Path, form: Callable[[Path], tuple[Path, dict[str, Any]]]
) -> None:
    data, said = form(tmp_path)
    rules = rules_in(tmp_path)
    found = {
        (one.rule, one.record, (one.member or "").partition(" (")[0]): dict(one.values)
        for one in masktron.validate(data, rules, **said).findings
    }
    assert found == {
        ("wage", 1, "Person 2"): {"Benefit": "30", "Income": "70", "Wage": "30"},
        ("total", 2, ""): {"Total": "4", "Income": ("5",)},
        ("below", 2, "Person 1"): {"Income": "5", "Total": "4"},
        ("adult", 2, "Person 1"): {"Age": "12", "Role": "head"},
    }


def big(folder: Path, incomes: list[str]) -> Path:
    persons = "".join(f"<Person><Income>{income}</Income></Person>" for income in incomes)
    path = folder / "survey.xml"
    filler = household("2", "<Person><Income>1</Income></Person><Person><Income>1</Income></Person>", "2")
    path.write_text(f"<Survey>{household('1', persons, '7')}{filler}</Survey>", encoding="utf-8")
    return path


SUM = (
    '<pattern><rule context="Household"><assert id="t" test="sum(Person/Income) = Total">T.</assert></rule></pattern>'
)


def test_of_many_members_the_first_are_shown_and_the_rest_counted(tmp_path: Path, run: Runner) -> None:
    path = big(tmp_path, [str(i) for i in range(MOST_MEMBERS + 5)])
    rules = book(tmp_path, SUM)
    reports = {name: tmp_path / f"f.{name}" for name in ("csv", "json", "svrl", "sarif", "junit")}
    run("validate", path, "--rules", rules, *(x for name, out in reports.items() for x in (f"--{name}", out)))
    listed = " | ".join(str(i) for i in range(MOST_MEMBERS))
    for name in ("csv", "svrl", "junit"):
        assert f"Total=7; Income={listed} (5 more)" in reports[name].read_text(encoding="utf-8"), name
    (one,) = json.loads(reports["json"].read_text(encoding="utf-8"))["findings"]
    assert one["values"]["Income"] == [str(i) for i in range(MOST_MEMBERS)]
    assert (one["more"], one["member"]) == ({"Income": 5}, None)
    assert '"more"' in reports["sarif"].read_text(encoding="utf-8")


def test_long_values_of_members_are_bounded(tmp_path: Path) -> None:
    text = "0" * (MOST_CHARACTERS // 2 - 1) + "1"
    path = big(tmp_path, [text] * 4)
    (one,) = masktron.validate(path, book(tmp_path, SUM)).findings
    assert one.values["Income"] == (text, text)
    assert one.more == {"Income": 2}


def test_no_value_is_listed_behind_one_that_was_left_out(tmp_path: Path) -> None:
    path = big(tmp_path, ["1", "0" * MOST_CHARACTERS + "2", "3"])
    (one,) = masktron.validate(path, book(tmp_path, SUM)).findings
    assert (one.values["Income"], one.more) == (("1",), {"Income": 2})


def test_a_field_that_no_member_of_the_record_has_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "survey.xml"
    units = (household(number, f"<Person><Age>{number}</Age>{more}</Person>" * 2, "7") for number, more in (
        ("1", ""), ("2", "<Income>1</Income>")))  # fmt: skip
    path.write_text(f"<Survey>{''.join(units)}</Survey>", encoding="utf-8")
    found = masktron.validate(path, book(tmp_path, SUM)).findings
    assert [dict(one.values) for one in found] == [{"Total": "7"}, {"Total": "7", "Income": ("1", "1")}]


def test_a_finding_on_an_element_or_attribute_of_a_member_is_about_the_member(tmp_path: Path) -> None:
    path = tmp_path / "survey.xml"
    persons = '<Person id="a"><Age>3</Age></Person><Person id="b"><Age>9</Age></Person>'
    path.write_text(f"<Survey>{household('1', persons, '7') * 2}</Survey>", encoding="utf-8")
    body = """<pattern><rule context="Person/Age"><assert id="e" test=". &lt; 5">E.</assert></rule></pattern>
    <pattern><rule context="Person/@id"><assert id="a" test=". = 'a'">A.</assert></rule></pattern>"""
    found = masktron.validate(path, book(tmp_path, body)).findings
    assert sorted((one.rule, one.record, one.member) for one in found) == [
        (rule, record, "Person 2 (@id b)") for rule in ("a", "e") for record in (1, 2)
    ]


def test_a_member_within_a_member_has_both_places_and_its_own_values(tmp_path: Path) -> None:
    spells = ["<Spell><Begin>1</Begin><End>2</End></Spell>", "<Spell><Begin>5</Begin><End>3</End></Spell>"]
    persons = f"<Person><Age>9</Age>{spells[0]}</Person><Person><Age>4</Age>{''.join(spells)}</Person>"
    path = tmp_path / "survey.xml"
    path.write_text(
        f"<Survey>{household('1', persons, '7')}{household('2', persons, '7')}</Survey>", encoding="utf-8"
    )
    body = """<pattern><rule context="Spell"><assert id="s" test="Begin &lt;= End or ../Age &gt; 5">S.</assert>
    </rule></pattern>
    <pattern><rule context="Person">
    <assert id="p" test="count(Spell[Begin &gt; 3]) = 0 or ../Total = 8">P.</assert></rule></pattern>"""
    found = [(one.rule, one.record, one.member, dict(one.values)) for one in
             masktron.validate(path, book(tmp_path, body)).findings]  # fmt: skip
    spell = {"Begin": "5", "End": "3", "Age": "4"}
    assert sorted(found, key=str) == [
        ("p", 1, "Person 2", {"Total": "7", "Begin": ("1", "5")}),
        ("p", 2, "Person 2", {"Total": "7", "Begin": ("1", "5")}),
        ("s", 1, "Person 2, Spell 2", spell),
        ("s", 2, "Person 2, Spell 2", spell),
    ]


def test_what_fails_within_a_member_is_called_no_rounding_artefact(tmp_path: Path) -> None:
    persons = "<Person><A>0.1</A><B>0.2</B><C>0.3</C></Person>" * 2
    path = tmp_path / "survey.xml"
    path.write_text(f"<Survey>{household('1', persons, '7') * 2}</Survey>", encoding="utf-8")
    body = '<pattern><rule context="Person"><assert id="s" test="A + B = C">S.</assert></rule></pattern>'
    found = masktron.validate(path, book(tmp_path, body)).findings
    assert [one.values["C"] for one in found] == ["0.3"] * 4
    assert not any(one.artefact for one in found)


def test_the_page_and_the_table_name_the_member(tmp_path: Path, run: Runner) -> None:
    data, _ = nested(tmp_path)
    rules = rules_in(tmp_path)
    out, page, told = tmp_path / "f.csv", tmp_path / "f.html", tmp_path / "f.json"
    run("validate", data, "--rules", rules, "--csv", out, "--html", page, "--json", told)
    with out.open(newline="", encoding="utf-8") as stream:
        rows = {row["rule"]: row for row in csv.DictReader(stream)}
    assert rows["wage"]["member"] == "Person 2"
    assert rows["total"]["member"] == ""
    assert "Person 2" in page.read_text(encoding="utf-8")
    again = tmp_path / "again.html"
    run("report", told, "--html", again)
    assert "Person 2" in again.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", (two_tables, one_table))
def test_the_keys_of_levels_name_household_and_person(
    tmp_path: Path, form: Callable[[Path], tuple[Path, dict[str, Any]]]
) -> None:
    data, said = form(tmp_path)
    rules = rules_in(tmp_path)
    found = {one.rule: (one.record_id, one.member) for one in masktron.validate(data, rules, **said).findings}
    assert found == {
        "wage": ("17", "Person 2 (PID 2)"),
        "total": ("23", None),
        "below": ("23", "Person 1 (PID 1)"),
        "adult": ("23", "Person 1 (PID 1)"),
    }
    asked = masktron.validate(data, rules, record_id="Total", **said).findings
    assert {one.rule: one.record_id for one in asked} == {"wage": "170", "total": "4", "below": "4", "adult": "4"}


def key_and_member(run: Runner, data: Path, rules: Path, settings: str, *more: str) -> tuple[str, str]:
    said, out = data.with_name("said.toml"), data.with_name("f.csv")
    said.write_text(settings, encoding="utf-8")
    assert run("validate", data, "--rules", rules, "--config", said, "--csv", out, *more).code == 1
    with out.open(newline="", encoding="utf-8") as stream:
        row = next(row for row in csv.DictReader(stream) if row["rule"] == "wage")
    return row["record_id"], row["member"]


def test_declared_keys_and_identifiers_name_household_and_person(tmp_path: Path, run: Runner) -> None:
    data, _ = nested(tmp_path)
    rules = rules_in(tmp_path)
    assert key_and_member(run, data, rules, "") == ("", "Person 2")
    both = '[roles]\nHID = "identifier"\nPID = "identifier"'
    assert key_and_member(run, data, rules, both) == ("17", "Person 2 (PID 2)")
    assert key_and_member(run, data, rules, both, "--record-id", "Total") == ("170", "Person 2 (PID 2)")
    key_before_identifier = '[roles]\nRole = "identifier"\nPID = "record-id"\nTotal = "identifier"\nHID = "record-id"'
    assert key_and_member(run, data, rules, key_before_identifier) == ("17", "Person 2 (PID 2)")


def test_a_declared_identifier_names_flat_records_before_an_id(tmp_path: Path, run: Runner) -> None:
    data = tmp_path / "flat.xml"
    data.write_text('<D><R id="a"><N>7</N><A>1</A></R><R id="b"><N>8</N><A>2</A></R></D>', encoding="utf-8")
    rules = book(
        tmp_path, '<pattern><rule context="R"><assert id="wage" test="A &lt; 2">S.</assert></rule></pattern>'
    )
    assert key_and_member(run, data, rules, "") == ("b", "")
    assert key_and_member(run, data, rules, '[roles]\nN = "identifier"') == ("8", "")
    assert key_and_member(run, data, rules, '[roles]\nN = "identifier"', "--record-id", "@id") == ("b", "")
