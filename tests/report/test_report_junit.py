"""JUnit XML: a test case for each rule, in the form that the tools around it take."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from cli_runner import Runner
from report_files import write_pair

# The form that Ant's task writes, and that everybody reads
XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:element name="testsuites"><xs:complexType><xs:sequence>
  <xs:element name="testsuite" type="suite" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType>
</xs:element>
<xs:complexType name="suite"><xs:sequence>
  <xs:element name="properties"><xs:complexType><xs:sequence>
    <xs:element name="property" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
      <xs:attribute name="name" type="name" use="required"/>
      <xs:attribute name="value" type="xs:string" use="required"/></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="testcase" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
    <xs:choice minOccurs="0"><xs:element name="skipped"/>
      <xs:element name="error" type="why"/><xs:element name="failure" type="why"/></xs:choice>
    <xs:attribute name="name" type="xs:token" use="required"/>
    <xs:attribute name="classname" type="xs:token" use="required"/>
    <xs:attribute name="time" type="xs:decimal" use="required"/></xs:complexType></xs:element>
  <xs:element name="system-out" type="xs:string"/><xs:element name="system-err" type="xs:string"/></xs:sequence>
  <xs:attribute name="name" type="name" use="required"/>
  <xs:attribute name="package" type="xs:token" use="required"/>
  <xs:attribute name="id" type="xs:int" use="required"/>
  <xs:attribute name="timestamp" use="required"><xs:simpleType><xs:restriction base="xs:dateTime">
    <xs:pattern value="[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"/></xs:restriction></xs:simpleType>
  </xs:attribute>
  <xs:attribute name="hostname" type="name" use="required"/>
  <xs:attribute name="tests" type="xs:int" use="required"/>
  <xs:attribute name="failures" type="xs:int" use="required"/>
  <xs:attribute name="errors" type="xs:int" use="required"/>
  <xs:attribute name="skipped" type="xs:int"/>
  <xs:attribute name="time" type="xs:decimal" use="required"/></xs:complexType>
<xs:complexType name="why"><xs:simpleContent><xs:extension base="xs:string">
  <xs:attribute name="message" type="xs:string"/>
  <xs:attribute name="type" type="xs:string" use="required"/></xs:extension></xs:simpleContent></xs:complexType>
<xs:simpleType name="name"><xs:restriction base="xs:token"><xs:minLength value="1"/></xs:restriction></xs:simpleType>
</xs:schema>"""


def report(folder: Path, run: Runner, *options: str) -> etree._Element:
    data, rules = write_pair(folder)
    run("validate", data, "-r", rules, "--junit", folder / "o.xml", "--allow-unfired", "silent", *options)
    root = etree.parse(folder / "o.xml").getroot()
    schema = etree.XMLSchema(etree.fromstring(XSD))
    assert schema.validate(root), schema.error_log
    return root[0]


def cases(suite: etree._Element) -> dict[str, etree._Element | None]:
    return {str(case.get("name")): next(iter(case), None) for case in suite.iterchildren("testcase")}


def test_a_rule_is_a_test_case(tmp_path: Path, run: Runner) -> None:
    suite = report(tmp_path, run)
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "2", "0", "1"]
    found = cases(suite)
    assert {name: None if case is None else case.tag for name, case in found.items()} == {
        "whole": "failure",
        "two": None,
        "add": "failure",
        "silent": "skipped",
        "No name at all": None,
    }
    whole = found["whole"]
    assert whole is not None
    assert whole.get("message") == "failed on 2 of 3 nodes, errors on 1: V1 is <[V1]> & {0} [name of .]"
    lines = (whole.text or "").splitlines()
    assert lines[0] == "record 1 (K1), line 3, column 3, /Data/Record[1]: V1 is <5> & {0} Record [V1=5; V3=1]"
    assert len(lines) == 3
    said = suite.findtext("system-out") or ""
    assert "two: failed on 2 of 3 nodes; a soft rule: two of [V9]" in said
    confidential = [p.get("value") for p in suite.iter("property") if p.get("name") == "confidential"]
    assert "CONFIDENTIAL" in str(confidential)


def test_thresholds_decide_what_fails(tmp_path: Path, run: Runner) -> None:
    suite = report(tmp_path, run, "--max-failures", "add=3", "--max-failures", "two=1")
    found = cases(suite)
    assert {name for name, case in found.items() if case is not None and case.tag == "failure"} == {"whole", "two"}
    assert "add: failed on 3 of 3 nodes (3 allowed); within its threshold" in (suite.findtext("system-out") or "")
    assert {p.get("name"): p.get("value") for p in suite.iter("property")}["max-failures add"] == "3"


def test_only_errors_are_an_error_and_examples_are_few(tmp_path: Path, run: Runner) -> None:
    _, rules = write_pair(tmp_path)
    records = "".join(f"<Record><V1>x{at}</V1><V3>1</V3><A>0</A><B>0</B><T>0</T></Record>" for at in range(25))
    (tmp_path / "many.xml").write_text(f"<Data>{records}</Data>")
    run("validate", tmp_path / "many.xml", "-r", rules, "--junit", tmp_path / "o.xml", "--allow-unfired", "*")
    suite = etree.parse(tmp_path / "o.xml").getroot()[0]
    case = cases(suite)["whole"]
    assert case is not None
    assert (case.tag, case.get("type"), suite.get("errors"), suite.get("failures")) == (
        "error",
        "dynamic-error",
        "1",
        "0",
    )
    lines = (case.text or "").splitlines()
    assert len(lines) == 11
    assert lines[-1] == "... and 15 more"


def test_without_values(tmp_path: Path, run: Runner) -> None:
    suite = report(tmp_path, run, "--release-safe")
    assert [case.text for case in cases(suite).values() if case is not None and case.tag == "failure"] == [None] * 2
    assert "CONFIDENTIAL" not in (tmp_path / "o.xml").read_text()
