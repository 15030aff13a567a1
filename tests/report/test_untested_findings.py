"""What a rule finds that reads a field which no record has is no finding: reports say what the console says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import masktron
from cli_runner import Runner, write_rules


def pair(folder: Path) -> tuple[Path, Path]:
    data = folder / "data.xml"
    data.write_text("<Data><Record><A>1</A></Record><Record><A>3</A></Record></Data>", encoding="utf-8")
    return data, write_rules(folder / "rules.sch", "A > 2", "Aa > 2")


def rules_in(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as stream:
        return [row["rule"] for row in csv.DictReader(stream)]


def test_no_report_lists_findings_of_a_misspelt_rule(tmp_path: Path, run: Runner) -> None:
    data, rules = pair(tmp_path)
    reports = {name: tmp_path / f"f.{name}" for name in ("csv", "json", "svrl", "sarif", "junit", "html")}
    done = run("validate", data, "--rules", rules, *(x for name, out in reports.items() for x in (f"--{name}", out)))
    assert done.code == 3
    assert "1 violation; not tested: R2" in done.out
    assert rules_in(reports["csv"]) == ["R1"]
    told = json.loads(reports["json"].read_text(encoding="utf-8"))
    assert [one["rule"] for one in told["findings"]] == ["R1"]
    assert reports["svrl"].read_text(encoding="utf-8").count("<svrl:failed-assert") == 1
    assert "R2 fails" not in reports["html"].read_text(encoding="utf-8").partition("The first findings")[2]
    assert [one.rule for one in masktron.validate(data, rules).findings] == ["R1"]


def test_where_a_rule_need_not_be_tested_its_findings_count(tmp_path: Path, run: Runner) -> None:
    data, rules = pair(tmp_path)
    out = tmp_path / "f.csv"
    assert run("validate", data, "--rules", rules, "--csv", out, "--allow-unfired", "R2").code == 1
    assert rules_in(out) == ["R1", "R2", "R2"]


def test_of_nested_files_too(tmp_path: Path) -> None:
    data = tmp_path / "survey.xml"
    house = "<House><Total>1</Total><Person><Age>3</Age></Person><Person><Age>4</Age></Person></House>"
    data.write_text(f"<S>{house * 2}</S>", encoding="utf-8")
    rules = write_rules(tmp_path / "rules.sch", "Total > 3", "Age > 3", context="House")
    assert [one.rule for one in masktron.validate(data, rules).findings] == ["R1", "R1"]
