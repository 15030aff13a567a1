"""The command line as a user meets it: help, tables at any width, JSON, outputs, hostile names, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree
from rich.console import RenderableType

import masktron
from cli_runner import SCHEMATRON, Runner, numbers, write_data, write_rules
from masktron.commands import COMMANDS as LISTED
from masktron.partitions.kdcut import Cut
from masktron.report.rendering import render, tables_of
from masktron.report.text import number
from masktron.results import CutResult
from schema_files import conforms

COMMANDS = sorted(LISTED.keys() - {"report", "web", "completion"})
IDS = ["a-rather-long-rule-name", "short"]
SVRL = "{http://purl.oclc.org/dsdl/svrl}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{**row, "Id": f"K{at}"} for at, row in enumerate(numbers())]
    rows[2]["T"] = -1
    return write_data(tmp_path / "data.xml", rows)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0")


# help and tables


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(command: str, run: Runner) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "Example: masktron " + command in outcome.out
    assert "--json" in outcome.out


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[list[RenderableType]]:
    folder = tmp_path_factory.mktemp("drawn")
    body = "".join(
        f'<pattern><rule context="Record"><assert id="{name}" test="A + B = T and (A &gt;= 0 or B &gt;= 0 or '
        'T &gt;= 0)">m</assert></rule></pattern>'
        for name in IDS
    )
    (folder / "r.sch").write_text(f'<schema xmlns="{SCHEMATRON}">{body}</schema>')
    data = write_data(folder / "d.xml", numbers())
    return [
        tables_of(masktron.validate(data, folder / "r.sch")),
        tables_of(masktron.explain(folder / "r.sch", data)),
        tables_of(replace(masktron.mask(data, folder / "r.sch", folder / "m.xml"), output="m", manifest="n")),
    ]


@pytest.mark.parametrize("columns", [60, 80, 118, 200])
def test_ids_are_not_broken_and_lines_fit(columns: int, drawn: list[list[RenderableType]]) -> None:
    pages = [render(page, width=columns).splitlines() for page in drawn]
    assert max(len(line) for page in pages for line in page) <= columns
    for name in IDS:
        assert any(line.startswith(f"{name} ") for line in pages[0])
        assert any(line.startswith(f"{name} ") for line in pages[1])
    beside = any("what it says" in line and "needs" in line for line in pages[1])
    assert beside == (columns >= 100)
    explained = "\n".join(pages[1])
    assert "A + B = T" in explained
    assert "needs" in explained
    assert " mean" in explained


def test_without_a_terminal_there_is_no_colour_and_no_progress_of_quick_stages(
    data: Path, rules: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masktron.report.watch.QUICK", 600.0)
    outcome = run("validate", data, "--rules", rules)
    assert "\x1b" not in outcome.out + outcome.err
    assert outcome.err == ""


def test_json_on_standard_output_is_alone_there(data: Path, rules: Path, run: Runner) -> None:
    outcome = run("validate", data, "--rules", rules, "--json", "-")
    conforms(json.loads(outcome.out), "validate")
    assert "violation" in outcome.err
    outcome = run("explain", rules, "--data", data, "--json", "-")
    conforms(json.loads(outcome.out), "explain")


def test_what_a_cut_costs_is_told(data: Path, rules: Path, tmp_path: Path) -> None:
    write_data(data, numbers())
    masked = masktron.mask(data, rules, tmp_path / "m.xml")
    (block, *others) = masked.blocks
    conforms(masked.as_dict(), "mask")
    assert [one.cut for one in masked.blocks] == [None] * len(masked.blocks)
    for cut, said in (
        (CutResult.of(Cut(1_000_000, 16, 62_500, 45_000.0, False), 3_000_000.0), "1.500 percentage points"),
        (CutResult(2000, 2, 1000, -0.01, True), "-0.010 percentage points"),
    ):
        result = replace(masked, blocks=(replace(block, cut=cut), *others))
        conforms(result.as_dict(), "mask")
        assert result.as_dict()["blocks"][0]["cut"]["blocks"] == cut.blocks
        text = " ".join(repr(result).split())
        records, largest = number(cut.records), number(cut.largest)
        assert f"cut: A, B, T: {records} records in {cut.blocks} blocks of at most {largest}" in text
        how = "measured" if cut.measured else "estimated"
        assert f"costs {said} of information loss ({how})" in text


@pytest.mark.full
def test_the_demo_has_json_and_names_what_is_confidential(tmp_path: Path, run: Runner) -> None:
    outcome = run("demo", "--out", tmp_path / "demo", "--json", tmp_path / "demo.json")
    assert outcome.code == 0
    content = json.loads((tmp_path / "demo.json").read_text())
    conforms(content, "demo")
    assert content["complies"]
    for folder in ("household", "business", "establishments"):
        listed = {line.split()[0] for line in outcome.out.splitlines() if line.startswith("  ")}
        assert {p.name for p in (tmp_path / "demo" / folder).iterdir()} - {"patterns.sch"} <= listed
    assert [line for line in outcome.out.splitlines() if "manifest.json  " in line and "confidential" in line]


# what rules did


def test_tiers_and_reasons(data: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = write_rules(tmp_path / "r.sch", "A >= 0", "not(Id = preceding-sibling::*/Id)", "string-length(Id) > 0")
    arguments = ("explain", rules, "--data", data, "--role", "Id=identifier", "--json", "-")
    local, whole, gone = json.loads(run(*arguments).out)["rules"]
    assert (local["tier"], local["aggregator"], local["block"]) == (
        "2: record by record (the file is small, or not written as plain records)",
        "mean",
        ["A"],
    )
    assert whole["tier"].startswith("3: whole document (")
    assert "preceding-sibling" in whole["tier"]
    assert gone["block"] is None
    assert "removed identifier Id" in gone["why"]
    assert json.loads(run("explain", rules, "--json", "-").out)["rules"][0]["tier"] is None
    assert "needs the whole file in memory" not in run("validate", data, "-r", rules).out
    monkeypatch.setattr("masktron.jobs.common.LARGE", 10)
    out = run("validate", data, "-r", rules).out
    assert "R2: needs the whole file in memory (the axis preceding-sibling)" in out
    assert "R1: needs" not in out


def test_explain_says_what_would_stop_and_what_is_given_up(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    out = run("explain", rules, "--data", data, "--role", "Id=record-id").out
    assert "these data break R1: mask needs --invalid exclude or --allow RULE-ID for that\n" in out
    assert "mask would stop" not in out
    assert "k = 41 needs at least 41 records" in run("explain", rules, "--data", data, "-k", 41).out
    rules.write_text(rules.read_text().replace("<assert ", '<assert role="warning" '))
    content = json.loads(run("explain", rules, "--data", data, "--role", "Id=record-id", "--json", "-").out)
    assert content["rules"][0]["why"].startswith("soft and broken by these data")
    assert content["rules"][0]["block"] is None
    assert run("explain", rules, "--data", data, "--allow", "R9").code == 2


# SVRL


def test_the_id_attribute_is_the_usual_key_also_of_nested_records(tmp_path: Path, rules: Path, run: Runner) -> None:
    data = tmp_path / "nested.xml"
    data.write_text(
        '<Data><Record id=" h1 "><A>1</A><B>1</B><T>2</T><P><Q>1</Q></P></Record>\n'
        '<Record id="h2"><A>1</A><B>1</B><T>3</T></Record></Data>'
    )
    run("validate", data, "-r", rules, "--svrl", tmp_path / "f.svrl")
    (finding,) = etree.parse(tmp_path / "f.svrl").getroot().iter(f"{SVRL}failed-assert")
    assert "h2" in [p[0].text for p in finding.iter(f"{SVRL}property-reference") if p.get("property") == "record_id"]


# outputs


def test_outputs_are_checked_before_anything_runs(
    data: Path, rules: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("ran")

    monkeypatch.setattr("masktron.jobs.validate.run_validate", never)
    monkeypatch.setattr("masktron.jobs.mask.run_mask", never)
    hard, link = tmp_path / "hard.xml", tmp_path / "link.xml"
    hard.hardlink_to(data)
    link.symlink_to(data)
    part = tmp_path / "part.sch"
    part.write_text(f'<pattern xmlns="{SCHEMATRON}"/>')
    toml = tmp_path / "s.toml"
    toml.write_text("k = 5")
    for option, path, says in (
        ("--json", hard, "would overwrite the data"),
        ("--svrl", link, "would overwrite the data"),
        ("--json", rules, "would overwrite the rulebook"),
        ("--svrl", part, "would overwrite a rulebook"),
        ("--json", tmp_path, "would overwrite a folder"),
        ("--json", tmp_path / "none" / "x.json", "does not exist"),
        ("--svrl", "-", "needs a file"),
    ):
        outcome = run("validate", data, "-r", rules, option, path)
        assert (outcome.code, says in outcome.err) == (2, True), outcome
    same = tmp_path / "same"
    assert "the file of --json" in run("validate", data, "-r", rules, "--json", same, "--svrl", same).err
    for options, says in (
        (("--out", part), "would overwrite a rulebook"),
        (("--out", hard), "would overwrite the data"),
        (("--out", tmp_path / "o.xml", "--json", tmp_path / "o.manifest.json"), "the file of --manifest"),
        (("--out", tmp_path / "o.xml", "--manifest", toml, "--config", toml), "would overwrite the settings"),
        (("--out", "-"), "needs a file"),
    ):
        outcome = run("mask", data, "-r", rules, *options)
        assert (outcome.code, says in outcome.err) == (2, True), outcome


def test_the_manifest_is_for_its_owner_alone_and_results_say_what_they_are(tmp_path: Path, run: Runner) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    old = os.umask(0o022)
    try:
        assert run("mask", data, "-r", rules, "-o", tmp_path / "m.xml", "--json", tmp_path / "m.json").code == 0
    finally:
        os.umask(old)
    manifest = tmp_path / "m.manifest.json"
    assert manifest.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "m.xml").stat().st_mode & 0o777 == 0o644
    for path in (manifest, tmp_path / "m.json"):
        assert "CONFIDENTIAL" in json.loads(path.read_text())["notice"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_refused_at_once(data: Path, rules: Path, tmp_path: Path, run: Runner) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    domain = write_rules(tmp_path / "domain.sch", "A = document('o.xml')//A")
    for code, arguments in (
        (4, ("validate", pipe, "-r", rules)),
        (3, ("validate", data, "-r", pipe)),
        (4, ("validate", data, "-r", domain, "--original", pipe)),
        (2, ("check", data, "-r", rules, "--manifest", pipe)),
        (2, ("check", data, "-r", rules, "--manifest", "/dev/zero")),
        (2, ("explain", rules, "--config", pipe)),
        (4, ("mask", pipe, "-r", rules, "--out", tmp_path / "o.xml")),
    ):
        outcome = run(*arguments)
        assert outcome.code == code, outcome
        assert "a pipe or a device" in outcome.err


def test_addresses_are_not_fetched(rules: Path, run: Runner) -> None:
    outcome = run("validate", "http://example.org/d.xml", "-r", rules)
    outcome.refuses(4, "cannot-read")


# hostile names


def test_names_cannot_steer_the_terminal(tmp_path: Path, run: Runner) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    name = "a&#10;valid [/red][bold] &#x9b;2J &#x202e;x"
    (tmp_path / "r.sch").write_text(
        f'<schema xmlns="{SCHEMATRON}"><pattern><rule context="Record">'
        f'<assert id="{name}" test="A + B = T + 1">m</assert></rule></pattern></schema>'
    )
    outcomes = [
        run("validate", data, "-r", tmp_path / "r.sch"),
        run("explain", tmp_path / "r.sch", "--data", data),
        run("check", data, "-r", tmp_path / "r.sch"),
        run("mask", data, "-r", tmp_path / "r.sch", "-o", tmp_path / "o.xml", "--allow", "x"),
        run("validate", data, "-r", tmp_path / "r.sch", "--json", "-"),
    ]
    for outcome in outcomes:
        assert not {"\x9b", "\x1b", "\u202e"} & set(outcome.out + outcome.err)
    assert r"a valid [/red][bold] \x9b2J \u202ex" in outcomes[0].out
    assert json.loads(outcomes[-1].out)["rules"][0]["id"] == "a valid [/red][bold] \x9b2J \u202ex"


@pytest.mark.full
def test_any_encoding_of_the_terminal_will_do(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"Größe": 1}, {"Größe": 2}])
    rules = write_rules(tmp_path / "r.sch", "Größe >= 2")
    done = subprocess.run(
        [sys.executable, "-m", "masktron", "explain", rules, "--data", data],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Gr\\xf6\\xdfe" in done.stdout


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="file names are Unicode here")
def test_file_names_that_are_no_text(tmp_path: Path, rules: Path, run: Runner) -> None:
    data = write_data(tmp_path / "bad\udcff.xml", numbers())
    outcome = run("validate", data, "-r", rules, "--json", tmp_path / "r.json")
    assert outcome.code == 0
    assert "bad\\udcff.xml" in outcome.out
    assert json.loads((tmp_path / "r.json").read_text())["data"].endswith("bad\udcff.xml")


# signals


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing(
    number: str, tmp_path: Path, rules: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    out = tmp_path / "out"
    out.mkdir()

    def killed(*_: object, **__: object) -> None:
        assert list(out.iterdir()), "the temporary file is there"
        os.kill(os.getpid(), signal.Signals[number])
        time.sleep(30)  # until it is heard

    monkeypatch.setattr("masktron.jobs.revalidate.Asking.revalidation", killed)
    outcome = run("mask", data, "-r", rules, "-o", out / "m.xml")
    assert outcome.code == 128 + signal.Signals[number]
    assert not list(out.iterdir())


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_progress_is_shown_on_a_terminal_and_only_there(tmp_path: Path, rules: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    master, slave = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "masktron", "validate", data, "-r", rules],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        check=False,
    )
    os.close(slave)
    shown = os.read(master, 100_000).decode(errors="replace")
    os.close(master)
    assert done.returncode == 0
    assert "starting" in shown or "validating" in shown
    assert b"\x1b" not in done.stdout
    assert b"40 records, valid" in done.stdout


def test_rules_are_listed_and_changed_where_they_stand(rules: Path, run: Runner, tmp_path: Path) -> None:
    before = rules.read_bytes()
    listed = run("rules", rules, "--json", "-")
    conforms(found := json.loads(listed.out), "rules")
    name = found["rules"][0]["id"] or "#1"
    assert [one["test"] for one in found["rules"]] == ["A + B = T", "A >= 0"] and found["output"] is None
    other = tmp_path / "other.sch"
    assert run("rules", rules, "--change", name, "--test", "A < T", "--out", other).code == 0
    assert (rules.read_bytes(), other.read_bytes()) == (before, before.replace(b"A + B = T", b"A &lt; T"))
    assert run("rules", other, "--change", name, "--test", "A + B = T").code == 0
    assert other.read_bytes() == before
    softened = run("rules", other, "--change", name, "--soft")
    assert softened.code == 0
    assert f"{name} warning" in " ".join(softened.out.split())
    told = json.loads(run("rules", other, "--json", "-").out)["rules"]
    assert [one["id"] for one in told if one["soft"]] == [name]
    assert b'role="warning"' in other.read_bytes()
    assert run("rules", other, "--change", name, "--hard").code == 0
    assert other.read_bytes() == before
    new = tmp_path / "new.sch"
    words = ("--context", "Record", "--test", "B > 1", "--message", "B {B}", "--id", "b")
    assert run("rules", new, "--add", *words).code == 0
    assert run("rules", new, "--add", *words).code == 0
    assert [one["id"] for one in json.loads(run("rules", new, "--up", "b-2", "--json", "-").out)["rules"]] == [
        "b-2",
        "b",
    ]
    assert "written" in run("rules", new, "--remove", "b-2").out
    assert json.loads(run("explain", new, "--json", "-").out)["rules"][0]["id"] == "b"


def test_what_rules_cannot_change_stays_as_it_is(rules: Path, run: Runner, tmp_path: Path) -> None:
    before = rules.read_bytes()
    proposals = tmp_path / "suggest.json"
    proposals.write_text('{"job": "explain"}')
    for words, code, said in (
        (("--change", "none", "--test", "A"), 2, "[unknown-name]"),
        (("--change", "#1", "--test", ""), 2, "[bad-value]"),
        (("--change", "#1", "--remove", "#2"), 2, "[given-twice]"),
        (("--test", "A"), 2, "[needs-setting]"),
        (("--soft",), 2, "[needs-setting]"),
        (("--accept", "1"), 2, "[needs-setting]"),
        (("--out", "x.sch"), 2, "[needs-setting]"),
        (("--suggested", proposals, "--accept", "1"), 2, "[not-suggested-rules]"),
        (("--remove", "#1", "--out", tmp_path), 2, "[would-overwrite]"),
    ):
        outcome = run("rules", rules, *words)
        assert (outcome.code, said in outcome.err) == (code, True), outcome.err
        assert rules.read_bytes() == before
    rules.write_text("A + B")
    assert run("rules", rules).code == 3
    assert run("rules", tmp_path / "none.sch").code == 3
