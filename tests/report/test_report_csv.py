"""CSV of failing records: one line a finding, readable by any reader of CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.judge.findings import Finding
from masktron.report.outputs import Outputs
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from report_files import COUNTS, write_pair


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_it_has_every_finding(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    run("validate", data, "-r", rules, "--csv", tmp_path / "o.csv", "--max-findings", "0")
    rows = rows_of(tmp_path / "o.csv")
    expected = masktron.validate(data, rules).findings
    assert sorted(int(row["record"]) for row in rows) == [int(row["record"]) for row in rows]
    by_rule = {(row["rule"], row["record"]): row for row in rows}
    assert len(by_rule) == len(rows) == len(expected)
    for finding in expected:
        row = by_rule[finding.rule, str(finding.record)]
        assert row["marking"] == "CONFIDENTIAL"
        assert (row["record_id"], row["kind"], row["severity"]) == (finding.record_id, finding.kind, finding.severity)
        assert (row["line"], row["column"], row["location"]) == (
            str(finding.line),
            str(finding.column),
            finding.location,
        )
        assert (row["message"], row["artefact"]) == (finding.message, str(finding.artefact).lower())
    assert by_rule["add", "2"]["values"] == "A absent; B absent; T absent; V3=2"
    assert len(pd.read_csv(tmp_path / "o.csv")) == len(rows)


def test_a_valid_file_has_the_header_alone(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    data.write_text("<Data><Record><V1>1</V1></Record></Data>")
    run("validate", data, "-r", rules, "--csv", tmp_path / "o.csv")
    assert (
        (tmp_path / "o.csv")
        .read_text()
        .startswith("marking,record,record_id,member,line,column,rule,kind,severity,artefact")
    )
    assert rows_of(tmp_path / "o.csv") == []


def test_without_values_it_counts(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    run("validate", data, "-r", rules, "--csv", tmp_path / "o.csv", "--release-safe", "--max-failures", "add=3")
    rows = {row["rule"]: row for row in rows_of(tmp_path / "o.csv")}
    for rule, counts in COUNTS.items():
        assert tuple(int(rows[rule][name]) for name in ("fired", "failed", "errors")) == counts
    assert (rows["add"]["allowed"], rows["add"]["passes"], rows["whole"]["passes"]) == ("3", "true", "false")
    assert rows["whole"]["text"] == "V1 is <[V1]> & {0} [name of .]"


FORMULA = '=HYPERLINK("http://192.0.2.1/","x")'
CELLS = {
    FORMULA: f"'{FORMULA}",
    "+1+cmd|' /C calc'!A0": "'+1+cmd|' /C calc'!A0",
    "-A must hold": "'-A must hold",
    "@SUM(1)": "'@SUM(1)",
    "\t=1": "'\t=1",
    "\uff1d1": "'\uff1d1",
    "-5+1": "'-5+1",
    "-5\n": "'-5\n",
    "-5": "-5",
    "+3.25": "+3.25",
    "-.5": "-.5",
    "-1,234.50": "-1,234.50",
    "-1e-5": "-1e-5",
    "5 = 5": "5 = 5",
    "/Data/Record[2]": "/Data/Record[2]",
    "'=1": "'=1",
    "": "",
}


@pytest.mark.parametrize("text", CELLS)
def test_no_cell_is_a_formula_and_numbers_stay(tmp_path: Path, text: str) -> None:
    rulebook = read_rules(write_rules(tmp_path / "r.sch", "A"))
    with Outputs({"csv": tmp_path / "o.csv"}).opened(rulebook, Layout(("Data", "Record"), ()), "d.xml") as reports:
        reports.add(Finding(0, "failed-assert", 0, 1, text, text, 1, text, ((text, None),)))
    (row,) = rows_of(tmp_path / "o.csv")
    assert {row["record_id"], row["message"], row["location"]} == {CELLS[text]}
    assert row["values"] == f"{CELLS[text]} absent" or text.startswith(("-", "+"))
    assert not row["values"].startswith(("=", "+", "-", "@"))


def test_texts_of_rules_are_no_formulas_either(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    rules.write_text(rules.read_text().replace('id="add"', 'id="=add"'))
    run("validate", data, "-r", rules, "--csv", tmp_path / "o.csv")
    run("validate", data, "-r", rules, "--csv", tmp_path / "counts.csv", "--release-safe")
    for name in ("o.csv", "counts.csv"):
        found = {row["rule"] for row in rows_of(tmp_path / name)}
        assert "'=add" in found and "=add" not in found
