"""What a user should know of how a table reads: every command says it, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_rules

NOTE = "column 'B' has 'NA' beside numbers"


def table(path: Path) -> Path:
    """Write numbers, of which one column has NA between them."""
    rows = [f"{100 + 7 * at % 40},{'NA' if at % 5 == 0 else at % 3}" for at in range(30)]
    path.write_text("\n".join(["A,B", *rows]) + "\n")
    return path


def test_every_command_says_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, data, masked = Runner(capsys), table(tmp_path / "d.csv"), tmp_path / "m.csv"
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    told, roles = tmp_path / "told.json", ("--role", "B=untouched", "--role", "A=confidential")
    manifest = tmp_path / "m.manifest.json"
    for arguments in (
        ("validate", data, "-r", rules),
        ("explain", rules, "--data", data),
        ("mask", data, "-r", rules, "--out", masked, "--numeric", "A", *roles),
        ("check", masked, "-r", rules, "--original", data, "--manifest", manifest),
        ("assess", masked, "--original", data, "--manifest", manifest),
    ):
        done = run(*arguments, "--json", told)
        assert done.code == 0, (arguments, done.out, done.err)
        assert done.out.count(NOTE) == 1, (arguments, done.out)
        assert [NOTE in note for note in json.loads(told.read_text())["notes"]].count(True) == 1


def test_no_command_says_it_of_texts_that_are_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, data, masked = Runner(capsys), table(tmp_path / "d.csv"), tmp_path / "m.csv"
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    roles = ("--role", "B=untouched", "--role", "A=confidential", "--missing", "B=NA")
    manifest = tmp_path / "m.manifest.json"
    for arguments in (
        ("describe", data, "--missing", "NA"),
        ("suggest", data, "--missing", "B=NA"),
        ("validate", data, "-r", rules, "--missing", "NA"),
        ("explain", rules, "--data", data, "--missing", "B=NA"),
        ("mask", data, "-r", rules, "--out", masked, "--numeric", "A", *roles),
        ("check", masked, "-r", rules, "--original", data, "--manifest", manifest),
        ("assess", masked, "--original", data, "--manifest", manifest),
        ("assess", masked, "--original", data, "--same-order", "--missing", "NA"),
    ):
        done = run(*arguments)
        assert done.code == 0, (arguments, done.out, done.err)
        assert "beside numbers" not in done.out, arguments
    refused = run("mask", data, "-r", write_rules(tmp_path / "s.sch", "A < 101"), "--out", masked, *roles)
    assert (refused.code, "beside numbers" in refused.out + refused.err) == (1, False)


def test_what_is_not_declared_is_still_said(tmp_path: Path, run: Runner) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a b,C\n1,NA\nNA,2\n.,3\n")
    shown = " ".join(run("describe", data, "--missing", "a_x0020_b=NA").out.split())
    assert "column 'a b' has '.' beside numbers" in shown
    assert "null=." in shown
    assert "column 'C' has 'NA' beside numbers" in shown


def test_a_report_for_release_does_not_quote_the_file(tmp_path: Path, run: Runner) -> None:
    rules, told = write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "told.json"
    data = table(tmp_path / "d.csv")
    done = run("validate", data, "-r", rules, "--release-safe", "--json", told, "--sarif", tmp_path / "s.json")
    assert done.code == 0
    for text in (done.out, done.err, told.read_text(), (tmp_path / "s.json").read_text()):
        assert "NA" not in text
    assert "left out, as they may quote the file: 1 note on how it reads" in json.loads(told.read_text())["notes"]


def test_a_file_that_breaks_its_rules_is_explained_with_its_notes(tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "A < 101")
    data, out = table(tmp_path / "d.csv"), tmp_path / "m.csv"
    done = run("mask", data, "-r", rules, "--out", out, "--role", "B=untouched")
    assert done.code == 1
    assert done.out.count(NOTE) + done.err.count(NOTE) == 1, (done.out, done.err)


def test_validate_says_what_the_fields_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, data, told = Runner(capsys), table(tmp_path / "d.csv"), tmp_path / "told.json"
    rules, schema = write_rules(tmp_path / "r.sch", "A < 101"), tmp_path / "s.json"
    fields = [{"name": "A", "title": "Annual income", "missingValues": ["999"]}, {"name": "B", "title": "Not read"}]
    schema.write_text(json.dumps({"fields": fields}))
    done = run("validate", data, "-r", rules, "--metadata", schema, "--json", told)
    assert done.code == 1
    assert "field: A: Annual income; missing 999" in done.out
    assert "Not read" not in done.out
    (field,) = json.loads(told.read_text())["fields"]
    assert field == {"name": "A", "label": "Annual income", "labels": {}, "missing": {"999": ""}}
    assert masktron.validate(data, rules, metadata=schema).fields[0].label == "Annual income"
    assert masktron.validate(data, rules).fields == ()
    schema.write_text('{"fields": [{"name": "Q"}]}')
    assert run("validate", data, "-r", rules, "--metadata", schema).code == 2
