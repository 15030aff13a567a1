"""SVRL: well-formed, in the order of the standard, and with the same counts and findings as the evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from masktron.errors import DocumentError
from masktron.evaluation.exact import evaluate
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.request import EvaluationRequest
from masktron.report.formats.svrl import SVRL
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.records import Layout
from svrl_files import write_svrl

LAYOUT = Layout(("Data", "Record"), ())
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2">
<ns prefix="q" uri="urn:q"/>
<pattern id="first"><rule context="Record[V3]" role="warning">
  <assert id="int" test="xs:integer(V1) &lt; 5">V1 is &lt;<value-of select="V1"/>&gt; &amp; <name/></assert>
  <report id="rep" test="V3 = '2'" flag="f">two</report></rule></pattern>
<pattern id="silent"><rule context="None"><assert test="1">x</assert></rule></pattern>
</schema>"""
DATA = """<Data><Record><V1>5</V1><V3>1</V3></Record>
<Record><V1>x</V1><V3>2</V3></Record>
<Record><V1>1</V1></Record><Record><V1>7</V1><V3>2</V3></Record></Data>"""
# ISO/IEC 19757-3, annex D, as far as it concerns what is written here
GRAMMAR = f"""<grammar xmlns="http://relaxng.org/ns/structure/1.0" ns="{SVRL}"
  datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes"><start><element name="schematron-output">
  <zeroOrMore><ref name="text"/></zeroOrMore>
  <zeroOrMore><element name="ns-prefix-in-attribute-values">
    <attribute name="prefix" ns=""><data type="NMTOKEN"/></attribute>
    <attribute name="uri" ns=""/></element></zeroOrMore>
  <oneOrMore><element name="active-pattern"><optional><attribute name="id" ns=""/></optional>
      <optional><attribute name="name" ns=""/></optional></element>
    <zeroOrMore><element name="fired-rule"><attribute name="context" ns=""/><ref name="marks"/></element>
      <zeroOrMore><choice><element name="failed-assert"><ref name="result"/></element>
        <element name="successful-report"><ref name="result"/></element></choice></zeroOrMore></zeroOrMore>
  </oneOrMore>
  </element></start>
  <define name="text"><element name="text"><text/></element></define>
  <define name="marks"><optional><attribute name="role" ns=""><data type="NMTOKEN"/></attribute></optional>
    <optional><attribute name="flag" ns=""><data type="NMTOKEN"/></attribute></optional></define>
  <define name="result"><optional><attribute name="id" ns=""/></optional><attribute name="location" ns=""/>
    <attribute name="test" ns=""/><ref name="marks"/>
    <zeroOrMore><element name="property-reference"><attribute name="property" ns=""><data type="NMTOKEN"/></attribute>
      <ref name="text"/></element></zeroOrMore><ref name="text"/></define></grammar>"""


@pytest.fixture
def evaluated(tmp_path: Path) -> tuple[Rulebook, Evaluation]:
    (tmp_path / "rules.sch").write_text(RULES)
    (tmp_path / "data.xml").write_text(DATA)
    rulebook = read_rules(tmp_path / "rules.sch")
    return rulebook, evaluate(EvaluationRequest(tmp_path / "data.xml", rulebook, LAYOUT))


def test_it_is_svrl(tmp_path: Path, evaluated: tuple[Rulebook, Evaluation]) -> None:
    write_svrl(tmp_path / "out.svrl", *evaluated, key=lambda record: f"K{record}\x01<&")
    root = etree.parse(tmp_path / "out.svrl")
    grammar = etree.RelaxNG(etree.fromstring(GRAMMAR))
    assert grammar.validate(root), grammar.error_log
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


def test_it_says_what_the_evaluation_says(tmp_path: Path, evaluated: tuple[Rulebook, Evaluation]) -> None:
    rulebook, evaluation = evaluated
    write_svrl(tmp_path / "out.svrl", rulebook, evaluation, key=lambda record: f"key-{record}")
    root = etree.parse(tmp_path / "out.svrl").getroot()
    names = [etree.QName(e).localname for e in root if etree.QName(e).localname != "text"]
    assert names == ["ns-prefix-in-attribute-values", "active-pattern", "fired-rule"] + ["failed-assert"] * 3 + [
        "successful-report"
    ] * 2 + ["active-pattern"]
    results = [e for e in root if e.get("location")]
    properties = [{p.get("property"): p[0].text for p in e if p.get("property")} for e in results]
    assert [(e.get("id"), e.get("location"), e.get("role"), e.get("flag")) for e in results] == [
        ("int", "/Data/Record[1]", "warning", None),
        ("int", "/Data/Record[2]", "warning", None),
        ("int", "/Data/Record[4]", "warning", None),
        ("rep", "/Data/Record[2]", "warning", "f"),
        ("rep", "/Data/Record[4]", "warning", "f"),
    ]
    assert [(p["record"], p["record_id"], p["line"]) for p in properties] == [
        (str(f.record + 1), f"key-{f.record}", str(f.line)) for f in evaluation.findings
    ]
    assert [p.get("kind") for p in properties] == [
        "error" if f.kind == "error" else None for f in evaluation.findings
    ]
    assert [e[-1].text for e in results] == [f.message for f in evaluation.findings]
    head = [e.text or "" for e in root.iterchildren(f"{{{SVRL}}}text")]
    assert any("CONFIDENTIAL" in text for text in head)
    assert any(text.startswith("int (") and "fired 3, failed 2, errors 1" in text for text in head)


def test_a_report_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, evaluated: tuple[Rulebook, Evaluation]
) -> None:
    with pytest.raises(DocumentError):
        write_svrl(tmp_path / "none" / "out.svrl", *evaluated)

    def broken(record: int) -> str:
        raise RuntimeError(record)

    with pytest.raises(RuntimeError):
        write_svrl(tmp_path / "out.svrl", *evaluated, key=broken)
    assert not (tmp_path / "out.svrl").exists()
