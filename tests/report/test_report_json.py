"""JSON and SARIF: valid, with the same findings as in Python, capped for each rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.problems.readers import Reader, reading
from paths import SCHEMAS
from report_files import write_pair

SARIF = {
    "": "$schema version runs",
    "runs": "tool columnKind artifacts invocations results properties",
    "tool": "driver",
    "driver": "name version rules",
    "rules": "id shortDescription help defaultConfiguration properties",
    "defaultConfiguration": "level",
    "results": "ruleId ruleIndex level message locations partialFingerprints properties",
    "locations": "physicalLocation logicalLocations",
    "physicalLocation": "artifactLocation region",
    "artifactLocation": "uri index",
    "region": "startLine startColumn",
    "logicalLocations": "fullyQualifiedName kind name",
    **dict.fromkeys(("shortDescription", "help", "message"), "text"),
}
"""The names that SARIF 2.1.0 (OASIS) knows in the parts that are written."""


def unknown_to_sarif(content: Any, part: str = "") -> list[str]:
    """Name what SARIF does not know; what is ours stands in ``properties``."""
    if isinstance(content, list):
        return [name for one in content for name in unknown_to_sarif(one, part)]
    if not isinstance(content, dict) or part not in SARIF:
        return []
    found = [f"{part}.{name}" for name in content if name not in SARIF[part].split()]
    return found + [name for own, inner in content.items() for name in unknown_to_sarif(inner, own)]


def conforms(content: Any) -> None:
    schema = json.loads((SCHEMAS / "validate.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(content)


def test_the_file_has_what_the_result_has(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    run("validate", data, "-r", rules, "--json", tmp_path / "o.json")
    content = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    conforms(content)
    result = masktron.validate(data, rules)
    with reading(Reader.TERMINAL):
        told = result.as_dict()
    assert len(content["notes"]) == len(told["notes"])
    assert {**content, "notes": told["notes"]} == told  # which are in the language of the caller
    assert content["confidential"].startswith("CONFIDENTIAL")
    assert len(content["findings"]) == 9
    assert [finding["artefact"] for finding in content["findings"]].count(True) == 1
    assert content["findings"][-1]["values"] == {"V9": ["z", "y"]}


@pytest.mark.parametrize(("limit", "listed"), [("0", 0), ("1", 4), ("2", 7), ("all", 9)])
def test_the_limit_is_for_each_rule_and_counts_are_exact(
    limit: str, listed: int, tmp_path: Path, run: Runner
) -> None:
    data, rules = write_pair(tmp_path)
    reports = ("--json", tmp_path / "o.json", "--sarif", tmp_path / "o.sarif")
    run("validate", data, "-r", rules, *reports, "--max-findings", limit)
    content = json.loads((tmp_path / "o.json").read_text())
    conforms(content)
    assert len(content["findings"]) == listed
    assert content["limit"] == (None if limit == "all" else int(limit))
    assert (content["violations"], content["warnings"]) == (6, 3)
    assert len(json.loads((tmp_path / "o.sarif").read_text())["runs"][0]["results"]) == listed


def test_sarif_has_rules_places_and_levels(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    spaced = data.rename(tmp_path / "my data.xml")
    run("validate", spaced, "-r", rules, "--sarif", tmp_path / "o.sarif", "--max-failures", "add=100%")
    content = json.loads((tmp_path / "o.sarif").read_text())
    (sarif,) = content["runs"]
    assert (content["version"], unknown_to_sarif(content)) == ("2.1.0", [])
    assert all(run["executionSuccessful"] in (True, False) for run in sarif["invocations"])
    assert len({rule["id"] for rule in sarif["tool"]["driver"]["rules"]}) == len(sarif["tool"]["driver"]["rules"])
    assert all(one["message"]["text"] for one in sarif["results"])
    own = {rule["id"]: rule for rule in sarif["tool"]["driver"]["rules"]}
    assert own["add"]["properties"]["allowed"] == "100%"
    assert (own["add"]["properties"]["passes"], own["whole"]["properties"]["passes"]) == (True, False)
    assert own["add"]["shortDescription"]["text"] == "number(A) + number(B) = number(T)"
    assert "CONFIDENTIAL" in sarif["properties"]["confidential"]
    found = masktron.validate(spaced, rules).findings
    for result, finding in zip(sarif["results"], found, strict=True):
        (place,) = result["locations"]
        assert sarif["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert result["level"] == finding.severity
        assert place["physicalLocation"]["region"] == {"startLine": finding.line, "startColumn": finding.column}
        assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("/my%20data.xml")
        assert place["logicalLocations"][0]["fullyQualifiedName"] == finding.location
        assert result["properties"]["record_id"] == finding.record_id
    assert {result["level"] for result in sarif["results"]} == {"error", "warning", "note"}
    assert sarif["results"][0]["message"]["text"] == "V1 is <5> & {{0}} Record"


def test_fingerprints_follow_the_key_of_a_record(tmp_path: Path, run: Runner) -> None:
    rows = [{"Id": f"K{at}", "A": at} for at in range(6)]
    rules = write_rules(tmp_path / "r.sch", "A < 3")

    def fingerprints(rows: list[dict[str, object]], *options: str) -> list[str]:
        run("validate", write_data(tmp_path / "d.xml", rows), "-r", rules, "--sarif", tmp_path / "o.sarif", *options)
        results = json.loads((tmp_path / "o.sarif").read_text())["runs"][0]["results"]
        return [result["partialFingerprints"]["ruleAndRecord/v1"] for result in results]

    assert len(set(fingerprints(rows, "--record-id", "Id"))) == 3
    assert fingerprints(rows, "--record-id", "Id") == fingerprints(rows[1:], "--record-id", "Id")
    assert fingerprints(rows) != fingerprints(rows[1:])


def test_no_findings_no_list(tmp_path: Path, run: Runner) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": 1}])
    rules = write_rules(tmp_path / "r.sch", "A = 1")
    outcome = run("validate", data, "-r", rules, "--json", "-", "--sarif", tmp_path / "o.sarif")
    assert outcome.code == 0
    assert json.loads(outcome.out)["findings"] == []
    assert json.loads((tmp_path / "o.sarif").read_text())["runs"][0]["results"] == []


def test_the_frame_has_the_listed_findings(tmp_path: Path) -> None:
    data, rules = write_pair(tmp_path)
    frame = masktron.validate(data, rules).to_frame()
    assert list(frame["rule"])[:3] == ["whole"] * 3
    assert list(frame.loc[frame["rule"] == "whole", "record"]) == [1, 2, 4]
    assert int(frame["artefact"].sum()) == 1
    empty = masktron.validate(data, rules, max_findings=0).to_frame()
    assert list(empty.columns) == list(frame.columns)
    assert len(empty) == 0


DIAGNOSED = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="a" test="A &lt; 6" diagnostics="d" properties="p">big</assert></rule></pattern>
<diagnostics><diagnostic id="d">secret <value-of select="A"/></diagnostic></diagnostics>
<properties><property id="p">of <value-of select="count(//Record)"/></property></properties></schema>"""


def test_diagnostics_are_in_all_reports_of_findings_and_in_none_without_values(tmp_path: Path, run: Runner) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": 1}, {"A": 9}])
    rules = tmp_path / "r.sch"
    rules.write_text(DIAGNOSED, encoding="utf-8")
    told = [
        {"kind": "diagnostic", "id": "d", "text": "secret 9"},
        {"kind": "property", "id": "p", "text": "of 2"},
    ]
    reports = {kind: tmp_path / f"out.{kind}" for kind in ("json", "sarif", "svrl")}
    options = [part for kind, path in reports.items() for part in (f"--{kind}", path)]
    run("validate", data, "-r", rules, *options)
    content = json.loads(reports["json"].read_text(encoding="utf-8"))
    jsonschema.validate(content, json.loads((SCHEMAS / "validate.schema.json").read_text(encoding="utf-8")))
    assert [finding["diagnostics"] for finding in content["findings"]] == [told]
    (result,) = json.loads(reports["sarif"].read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["properties"]["diagnostics"] == told
    assert b"secret 9" in reports["svrl"].read_bytes()
    (finding,) = masktron.validate(data, rules).findings
    assert finding.diagnostics == (("diagnostic", "d", "secret 9"), ("property", "p", "of 2"))
    for path in reports.values():
        path.unlink()
    run("validate", data, "-r", rules, *options, "--release-safe")
    for path in reports.values():
        assert b"secret" not in path.read_bytes()
