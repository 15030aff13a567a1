"""Documents without records: judged as one each, many under one rulebook, which is compiled once."""

from __future__ import annotations

import csv
import json
import threading
from pathlib import Path

import pytest
from lxml import etree

import masktron
from cli_runner import SCHEMATRON, Runner
from masktron.judge import runner
from masktron.rulebook.schematron import reader
from refusals import code_of

RULES = f"""<schema xmlns="{SCHEMATRON}" queryBinding="QUERY"><pattern id="p">
<rule context="/article"><assert id="title" test="title">An article has a title.</assert>
<report id="old" test="@year &lt; 2000" role="warning">It is from <value-of select="@year"/>.</report></rule>
<rule context="section"><assert id="text" test="count(para) &gt;= 1">A section has a paragraph.</assert></rule>
<rule context="table"><assert id="rows" test="row">A table has rows.</assert></rule></pattern></schema>"""
SECTION = "<section><para>x</para></section>"
NOTES = "<note><b/></note><note><b/></note>"
GOOD = f"<article year='2020'><title>A</title>{SECTION}{NOTES}{SECTION}</article>"
BAD = f"<article year='1999'>{SECTION}{NOTES}<section/><section/></article>"
BINDINGS = ("xslt", "xslt2")


@pytest.fixture(params=BINDINGS)
def rules(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "book.sch"
    path.write_text(RULES.replace("QUERY", request.param))
    return path


def documents(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / f"{name}.xml" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths


def counts(result: masktron.ValidateResult) -> dict[str, tuple[int, int | None]]:
    return {rule.id: (rule.fired, rule.failed) for rule in result.rules}


@pytest.mark.parametrize(
    "text", ["<article><title/></article>", "<article year='1'><title/><a><b/></a><c><d/></c></article>"]
)
def test_a_file_in_which_no_records_repeat_is_one_document(tmp_path: Path, rules: Path, text: str) -> None:
    found = masktron.validate(*documents(tmp_path, text=text), rules)
    assert (found.is_document, found.valid, found.records) == (True, True, 1)
    assert found.tested.tested == 2


def test_findings_of_a_document_lead_to_their_elements(tmp_path: Path, rules: Path) -> None:
    good, bad = documents(tmp_path, good=GOOD, bad=BAD)
    one = masktron.validate(good, rules, record="article")
    assert one.is_document
    assert (one.valid, one.records, one.documents) == (True, 1, ())
    assert counts(one) == {"title": (1, 0), "old": (1, 0), "text": (2, 0), "rows": (0, 0)}
    other = masktron.validate(bad, rules, record="article")
    assert counts(other) == {"title": (1, 1), "old": (1, 1), "text": (3, 2), "rows": (0, 0)}
    assert [(found.rule, found.line) for found in other.findings] == [
        ("title", 1),
        ("old", 1),
        ("text", 1),
        ("text", 1),
    ]
    assert other.findings[2].location.endswith("section[2]")


def test_the_root_may_be_named_as_the_record(tmp_path: Path, rules: Path, run: Runner) -> None:
    (good,) = documents(
        tmp_path, good="<article><title/><section><para/></section><section><para/></section></article>"
    )
    assert masktron.validate(good, rules).exit_code == 3  # two records: the rule on tables is not tested
    assert masktron.validate(good, rules, record="article").valid
    assert run("validate", good, "-r", rules, "--record", "article").code == 0


def test_a_document_that_no_rule_is_about_is_not_valid(tmp_path: Path, rules: Path, run: Runner) -> None:
    (foreign,) = documents(tmp_path, foreign="<memo><a/><b><c/></b></memo>")
    outcome = run("validate", foreign, "-r", rules)
    assert outcome.code == 3
    assert "no rule fires on it" in outcome.out


def test_many_documents_have_a_line_each_and_the_worst_exit_code(tmp_path: Path, rules: Path, run: Runner) -> None:
    paths = documents(tmp_path, good=GOOD, bad=BAD)
    outcome = run("validate", *paths, "-r", rules)
    assert outcome.code == 1
    lines = [line.split() for line in outcome.out.splitlines() if ".xml  " in line]
    assert [(line[0].rpartition("/")[2], *line[1:3]) for line in lines][:2] == [
        ("good.xml", "valid"),
        ("bad.xml", "not", "valid,"),
    ]
    assert "2 documents: 1 valid, 1 not valid, 3 violations, 1 warning" in " ".join(outcome.out.split())
    assert run("validate", *documents(tmp_path, a=GOOD, b=GOOD), "-r", rules).code == 0
    broken = documents(tmp_path, good=GOOD, broken="<a>", bad=BAD)
    outcome = run("validate", *broken, "-r", rules)
    assert outcome.code == 4
    assert "1 not judged" in outcome.out


def test_python_gets_the_result_of_each(tmp_path: Path, rules: Path) -> None:
    paths = documents(tmp_path, good=GOOD, bad=BAD, broken="<a>")
    found = masktron.validate(paths, rules)
    assert [one.valid for one in found.documents] == [True, False]
    assert [(one.data, one.exit_code) for one in found.unread] == [(str(paths[2]), 4)]
    assert (found.valid, found.exit_code, found.records, found.violations) == (False, 4, 2, 3)
    assert counts(found)["text"] == (5, 2)
    for one, path in zip(found.documents, paths, strict=False):
        alone = masktron.validate(path, rules, record="article")
        assert (counts(one), one.findings) == (counts(alone), alone.findings)
    frame = found.to_frame()
    assert frame["data"].unique().tolist() == [str(paths[1])]
    assert len(found.as_dict()["documents"]) == 2


def test_reports_on_many_documents(tmp_path: Path, rules: Path, run: Runner) -> None:
    (tmp_path / "x").mkdir()
    paths = [*documents(tmp_path, good=GOOD, bad=BAD), *documents(tmp_path / "x", bad=BAD)]
    out = {name: tmp_path / f"out-{name}" for name in ("json", "csv", "sarif", "junit", "svrl", "html")}
    words = [word for name, path in out.items() for word in (f"--{name}", path)]
    assert run("validate", *paths, "-r", rules, *words).code == 1
    told = json.loads(out["json"].read_text())
    assert [(one["data"], one["violations"]) for one in told["documents"]] == [
        (str(path), count) for path, count in zip(paths, (0, 3, 3), strict=True)
    ]
    assert (told["violations"], told["records"]) == (6, 3)
    runs = json.loads(out["sarif"].read_text())["runs"]
    assert [len(one["results"]) for one in runs] == [0, 4, 4]
    suites = etree.parse(out["junit"]).getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [
        (str(path), count) for path, count in zip(paths, "022", strict=True)
    ]
    with out["csv"].open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["document"] for row in rows] == [*[str(paths[1])] * 4, *[str(paths[2])] * 4]
    assert sorted(path.name for path in out["svrl"].iterdir()) == ["bad-2.xml.svrl", "bad.xml.svrl", "good.xml.svrl"]
    assert len(list(out["html"].iterdir())) == 3


def test_reports_of_released_counts_show_no_value(tmp_path: Path, rules: Path, run: Runner) -> None:
    paths = documents(tmp_path, good=GOOD, bad=BAD.replace("1999", "1873"))
    out = {name: tmp_path / f"out-{name}" for name in ("json", "csv", "sarif", "junit", "svrl")}
    words = [word for name, path in out.items() for word in (f"--{name}", path)]
    outcome = run("validate", *paths, "-r", rules, *words, "--release-safe", "--verbose")
    written = [path.read_text() for one in out.values() for path in ([one] if one.is_file() else one.iterdir())]
    assert not any("1873" in text for text in (outcome.out, outcome.err, *written))


def test_a_folder_of_reports_is_no_file(tmp_path: Path, rules: Path, run: Runner) -> None:
    paths = documents(tmp_path, good=GOOD, bad=BAD)
    outcome = run("validate", *paths, "-r", rules, "--svrl", paths[0])
    assert code_of(outcome.err) == "would-overwrite"
    assert paths[0].read_text() == GOOD


def test_a_link_in_a_folder_of_reports_leads_nowhere(tmp_path: Path, rules: Path, run: Runner) -> None:
    paths = documents(tmp_path, good=GOOD, bad=BAD)
    (tmp_path / "svrl").mkdir()
    (tmp_path / "svrl" / "good.xml.svrl").symlink_to(paths[0])
    outcome = run("validate", *paths, "-r", rules, "--svrl", tmp_path / "svrl")
    assert code_of(outcome.err) == "would-overwrite"
    assert paths[0].read_text() == GOOD


def test_a_rulebook_is_read_and_compiled_once(tmp_path: Path, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compiled, read = runner.compile_program, reader.compile_all
    monkeypatch.setattr(runner, "compile_program", lambda *a, **k: made.append("compiled") or compiled(*a, **k))
    monkeypatch.setattr(reader, "compile_all", lambda book: made.append("read") or read(book))
    good, bad = documents(tmp_path, good=GOOD, bad=BAD)
    assert masktron.validate([good, bad], rules).documents[0].valid
    first = len(made)
    for path in (good, bad, bad):
        masktron.validate([path], rules)
    assert len(made) == first
    assert made.count("read") == 1
    rules.write_text(rules.read_text().replace('test="title"', 'test="heading"'))
    assert not masktron.validate([good], rules).valid
    assert made.count("read") == 2


def test_an_included_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (good,) = documents(tmp_path, good=GOOD)
    rules, part = tmp_path / "book.sch", tmp_path / "part.sch"
    rules.write_text(f'<schema xmlns="{SCHEMATRON}"><include href="part.sch"/></schema>')
    for test, valid in (("title", True), ("heading", False)):
        part.write_text(
            f'<pattern xmlns="{SCHEMATRON}"><rule context="/article">'
            f'<assert test="{test}">m</assert></rule></pattern>'
        )
        assert masktron.validate(good, rules).valid is valid


def test_each_thread_compiles_for_itself(tmp_path: Path, rules: Path) -> None:
    good, bad = documents(tmp_path, good=GOOD, bad=BAD)
    found: list[bool] = []

    def judge() -> None:
        found.extend(one.valid for one in masktron.validate([good, bad], rules).documents)

    for _ in range(3):
        thread = threading.Thread(target=judge)
        thread.start()
        thread.join()
    assert found == [True, False] * 3


def test_codes_beside_many_documents(tmp_path: Path) -> None:
    codes, one, two = documents(
        tmp_path, codes="<codes><c>A</c></codes>", one="<d><k>A</k><l><m/></l></d>", two="<d><k>B</k><l><m/></l></d>"
    )
    rules = tmp_path / "book.sch"
    rules.write_text(
        f'<schema xmlns="{SCHEMATRON}"><pattern><rule context="k"><assert id="c" '
        "test=\". = document('codes.xml')/codes/c\">m</assert></rule></pattern></schema>"
    )
    given = {"documents": {"codes.xml": codes}}
    assert [each.valid for each in masktron.validate([one, two], rules, **given).documents] == [True, False]
    codes.write_text("<codes><c>B</c></codes>")
    assert [each.valid for each in masktron.validate([one, two], rules, **given).documents] == [False, True]
