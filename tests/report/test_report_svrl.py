"""SVRL: complete whatever the limit, valid, in the order of the rulebook, bounded in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.judge.findings import Evaluation, Finding
from masktron.report.formats.listed import Spool
from masktron.report.formats.svrl import SVRL
from masktron.report.outputs import Outputs
from masktron.results import RuleResult, ValidateResult
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from paths import SCHEMAS
from report_files import COUNTS, write_pair

GRAMMAR = etree.RelaxNG(file=str(SCHEMAS / "svrl.rng"))


def results_of(root: etree._Element) -> list[etree._Element]:
    return [each for each in root if each.get("location") is not None]


def properties_of(result: etree._Element) -> dict[str, str]:
    return {str(p.get("property")): p[0].text or "" for p in result if p.get("property")}


@pytest.mark.parametrize("limit", ["0", "1", "all"])
def test_it_has_every_finding_whatever_the_limit(limit: str, tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    out = tmp_path / "out.svrl"
    assert (
        run("validate", data, "-r", rules, "--svrl", out, "--max-findings", limit, "--allow-unfired", "silent").code
        == 1
    )
    root = etree.parse(out)
    assert GRAMMAR.validate(root), GRAMMAR.error_log
    expected = masktron.validate(data, rules).findings
    results = results_of(root.getroot())
    assert len(results) == len(expected) == 9
    for result, finding in zip(results, expected, strict=True):
        own = properties_of(result)
        assert (result.get("id") or own.get("rule")) == finding.rule
        assert result.get("location") == finding.location
        assert result[-1].text == (finding.message or None)
        assert (own["record"], own["line"], own["column"], own["record_id"]) == (
            str(finding.record),
            str(finding.line),
            str(finding.column),
            finding.record_id,
        )
        assert own.get("kind") == ("error" if finding.kind == "error" else None)
        assert own.get("artefact") == ("true" if finding.artefact else None)
    assert properties_of(results[0])["values"] == "V1=5; V3=1"
    assert properties_of(results[-1])["values"] == "V9=z; V9=y"
    head = [each.text or "" for each in root.getroot().iterchildren(f"{{{SVRL}}}text")]
    assert "CONFIDENTIAL" in head[0]
    for rule, (fired, failed, errors) in COUNTS.items():
        assert any(
            t.startswith(f"{rule} (") and f"fired {fired}, failed {failed}, errors {errors}" in t for t in head
        )


def test_without_values_it_counts(tmp_path: Path, run: Runner) -> None:
    data, rules = write_pair(tmp_path)
    run("validate", data, "-r", rules, "--svrl", tmp_path / "out.svrl", "--release-safe")
    root = etree.parse(tmp_path / "out.svrl")
    assert GRAMMAR.validate(root), GRAMMAR.error_log
    assert b"CONFIDENTIAL" not in (tmp_path / "out.svrl").read_bytes()
    assert [(e.get("id"), e.get("location"), etree.QName(e).localname) for e in results_of(root.getroot())] == [
        ("whole", "/Data/Record", "failed-assert"),
        ("two", "/Data/Record", "successful-report"),
        ("add", "/Data/Record", "failed-assert"),
        (None, "/Data/Record", "failed-assert"),
    ]
    whole = results_of(root.getroot())[0]
    assert [p for p in whole if p.get("property")] == []
    assert whole[-1].text == ("failed on 2 of 3 nodes, errors on 1: V1 is <[V1]> & {0} [name of .]")


def test_texts_that_xml_cannot_hold(tmp_path: Path) -> None:
    rulebook = read_rules(write_rules(tmp_path / "r.sch", "A"))
    layout = Layout(("Data", "Record"), ())
    odd = 'a\x00b\ud800"<\r\n\t\uffff\u2028&'
    with Outputs({"svrl": tmp_path / "o.svrl", "csv": tmp_path / "o.csv"}).opened(
        rulebook, layout, "d.xml"
    ) as reports:
        reports.add(Finding(0, "failed-assert", 0, 1, f"/Data/{odd}", odd, 1, odd, (("A", odd),)))
        reports.finish(_result(rulebook, 1))
    (result,) = results_of(etree.parse(tmp_path / "o.svrl").getroot())
    shown = 'a\ufffdb\ufffd"<\r\n\t\ufffd\u2028&'
    assert result.get("location") == f"/Data/{shown}"
    assert result[-1].text == shown
    assert properties_of(result)["record_id"] == shown
    assert shown.replace('"', '""') in (tmp_path / "o.csv").read_bytes().decode()


def _result(rulebook: object, failed: int) -> ValidateResult:
    rules = tuple(
        RuleResult(c.id, "linear", failed, failed, 0, c.soft, str(c.origin))
        for c in rulebook.checks  # type: ignore[attr-defined]
    )
    nothing = np.zeros(len(rules), dtype=np.int64)
    evaluation = Evaluation(None, nothing, nothing, nothing, (), "engine", failed)
    return ValidateResult("d.xml", failed, failed, 0, rules, (), "engine", evaluation, rulebook)  # type: ignore[arg-type]


@pytest.mark.full
def test_memory_does_not_grow_with_the_findings(tmp_path: Path) -> None:
    """10,000 findings of two rules in turn make 15 MB of SVRL; a small part of that is ever in memory."""
    rulebook = read_rules(write_rules(tmp_path / "r.sch", "A", "B"))
    layout = Layout(("Data", "Record"), ())
    wanted = Outputs({name: tmp_path / f"o.{name}" for name in ("svrl", "csv", "json")}, limit=None)
    tracemalloc.start()
    try:
        with wanted.opened(rulebook, layout, "d.xml") as reports:
            for at in range(5_000):
                for check in (0, 1):
                    where = f"/Data/Record[{at + 1}]"
                    reports.add(Finding(check, "failed-assert", at, at, where, "x" * 1000, 3, "K", (("A", f"{at}"),)))
            reports.finish(_result(rulebook, 5_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = (tmp_path / "o.svrl").stat().st_size
    assert size > 12_500_000
    assert peak < 6_000_000
    records = [int(p[0].text or 0) for _, p in etree.iterparse(tmp_path / "o.svrl") if p.get("property") == "record"]
    assert records == [*range(1, 5_001)] * 2


def test_a_spool_gives_back_what_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.report.formats.listed._MOST", 5_000)
    generator = np.random.default_rng(1)
    with Spool(tmp_path) as spool:
        expected = dict.fromkeys(range(40), "")
        for at in range(20_000):
            check = int(generator.integers(0, 40))
            text = f"{at}é" * int(generator.integers(0, 60))
            expected[check] += text
            spool.add(check, text)
        for check, text in expected.items():
            assert b"".join(spool.pieces(check)).decode() == text
            assert max(map(len, spool.pieces(check))) < 15_000
            assert len(list(spool.pieces(check))) > 3
        assert b"".join(spool.pieces(99)) == b""
    assert list(tmp_path.iterdir()) == []


def test_all_failing_records_of_a_file(tmp_path: Path, run: Runner) -> None:
    rows = [{"A": at % 7} for at in range(3000)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A < 3", "A != 6")
    run("validate", data, "-r", rules, "--svrl", tmp_path / "o.svrl", "--max-findings", "5")
    found = [
        (e.get("id"), properties_of(e)["record"]) for e in results_of(etree.parse(tmp_path / "o.svrl").getroot())
    ]
    assert found == [("R1", str(at + 1)) for at in range(3000) if at % 7 >= 3] + [
        ("R2", str(at + 1)) for at in range(3000) if at % 7 == 6
    ]
