"""pyschematron as the second opinion: its own decisions, its silences, and what a disagreement is worth."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from pyschematron.direct_mode.xml_validation.results.validation_results import FiredRuleResult
from pyschematron.direct_mode.xml_validation.validators import SimpleSchematronXMLValidator

from examples import examples
from masktron.errors import RulebookError
from masktron.evaluation.findings import Evaluation, Verdict
from masktron.evaluation.pyschematron_validator import CRASHES, PyschematronValidator
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.second_opinion import Opinion, compare, evaluate_with_pyschematron
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import detect_layout
from paths import SHARED_DATA

CENSUS = SHARED_DATA / "census.csv"
ORDER = [
    *("AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL", "PTOTVAL"),
    *("STATETAX", "TAXINC", "WSALVAL"),
]
FIGURES = [
    "1.0 * number(V9) + 1.0 * number(V10) = number(V14)",
    "number(V5) * number(V15) = number(V16)",
    "0 &lt;= number(V3) and number(V3) &lt;= 7500",
    "not(number(V8) &lt; 1115) or (number(V13) &lt;= number(V12))",
]


def asserts(*tests: str) -> str:
    return "".join(f'<pattern><rule context="Record"><assert test="{t}">m</assert></rule></pattern>' for t in tests)


def rulebook(folder: Path, inside: str, binding: str = "xslt") -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="{binding}">{inside}</schema>',
        encoding="utf-8",
    )
    return read_rules(path)


def data(folder: Path, *records: str, name: str = "data.xml") -> Path:
    path = folder / name
    path.write_text(f"<Data>{''.join(f'<Record>{r}</Record>' for r in records)}</Data>", encoding="utf-8")
    return path


def opinion(folder: Path, inside: str, *records: str, binding: str = "xslt", chunk: int = 25) -> Opinion:
    path = data(folder, *records)
    return evaluate_with_pyschematron(
        EvaluationRequest(path, rulebook(folder, inside, binding), detect_layout(path, record="Record")), chunk=chunk
    )


def evaluation(verdicts: list[list[int]]) -> Evaluation:
    """Return an evaluation with one node for each verdict."""
    array = np.array(verdicts, dtype=np.uint8)
    return Evaluation(
        verdicts=array,
        fired=(array != Verdict.NOT_FIRED).sum(axis=0),
        failed=(array == Verdict.FAILS).sum(axis=0),
        errors=(array == Verdict.ERROR).sum(axis=0),
        findings=(),
        engine="by hand",
        records=len(array),
    )


CONTEXTS = [
    "Record",
    "Record[V1 > 2]",
    "Record[@a]",
    "V1",
    "Record/V2",
    "@a",
    "Record/@a",
    "*",
    "/",
    "V1 | V2",
    "Data",
    "//V3",
]
TESTS = [
    "V1 > 2",
    "V1 = V2",
    "@a",
    "@a = '1'",
    "not(V1)",
    "number(V1) + number(V2) = 3",
    "count(*) = 3",
    "../V1",
    "$x",
    ". > 1",
    "string(V2 | V1) = '1'",
    "V2[1] = $x",
    "count(../Record) = 2",
    "not(preceding-sibling::*)",
    "//V1 = 2",
    "string-length() = 2",
    "local-name() = 'Record' and V1",
    "*/text() = '2'",
    "count(V1/following-sibling::*) = 1",
]


@examples(10, full=100)
@given(
    rules=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(CONTEXTS),
                st.lists(
                    st.tuples(st.sampled_from(TESTS), st.sampled_from(["assert", "report"])), min_size=1, max_size=3
                ),
            ),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    ),
    records=st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=4),
    attribute=st.booleans(),
    binding=st.sampled_from(["xslt", "xslt2", "xpath31"]),
)
def test_the_decisions_are_those_of_the_untouched_validator(
    tmp_path_factory: pytest.TempPathFactory,
    rules: list[list[tuple[str, list[tuple[str, str]]]]],
    records: list[list[int]],
    attribute: bool,
    binding: str,
) -> None:
    patterns = "".join(
        "<pattern>"
        + "".join(
            f'<rule context="{context}">'
            + "".join(f'<{k} test="{t.replace("<", "&lt;")}">m</{k}>' for t, k in checks)
            + "</rule>"
            for context, checks in pattern
        )
        + "</pattern>"
        for pattern in rules
    )
    book = rulebook(tmp_path_factory.mktemp("rules"), "<let name='x' value='1'/>" + patterns, binding)
    shown = "".join(
        f"<Record{' a="1"' if attribute else ''}>"
        + "".join(f"<V{i}>{v}</V{i}>" for i, v in enumerate(r, 1))
        + "</Record>"
        for r in records
    )
    document = etree.ElementTree(etree.fromstring(f"<Data>{shown}</Data>"))
    try:
        result = SimpleSchematronXMLValidator(book.pyschematron_schema).validate_xml(document)
    except CRASHES:
        return
    expected = [
        (
            node.xml_node.xpath_location,
            int(str(c.check.fpi).removeprefix("masktron:")),
            Verdict.FAILS if c.check_result else Verdict.HOLDS,
        )
        for node in result.node_results
        for pattern in node.pattern_results
        for rule in pattern.rule_results
        if isinstance(rule, FiredRuleResult)
        for c in rule.check_results
    ]
    decided = list(PyschematronValidator(book.pyschematron_schema).decide(document))
    assert [(index, verdict) for _, index, verdict, _ in decided] == [(i, v) for _, i, v in expected]
    assert [node.path for node, *_ in decided] == [place for place, *_ in expected]


def census(folder: Path) -> Path:
    if not CENSUS.exists():
        pytest.skip(f"{CENSUS.name} is not beside this checkout")
    with CENSUS.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    records = []
    for row in rows:
        values = [row[name] for name in ORDER]
        inverse = 1 / float(values[10])
        values += [str(int(values[8]) + int(values[9])), repr(inverse), repr(float(values[4]) * inverse)]
        records.append("".join(f"<V{i}>{v}</V{i}>" for i, v in enumerate(values, 1)))
    return data(folder, *records)


@pytest.mark.full
def test_census_takes_seconds(tmp_path: Path) -> None:
    path = census(tmp_path)
    book = rulebook(tmp_path, asserts(*FIGURES))
    began = time.perf_counter()
    result = evaluate_with_pyschematron(EvaluationRequest(path, book, detect_layout(path)))
    assert time.perf_counter() - began < 30
    assert result.complete
    assert result.fired.tolist() == [1080] * 4
    assert result.failed.tolist() == [0, 0, 0, 0]
    assert result.errors.sum() == 0
    assert compare(evaluation([[Verdict.HOLDS] * 4] * 1080), result, book).disagreements == ()


@pytest.mark.full
def test_census_figure_5_takes_seconds(tmp_path: Path) -> None:
    path = census(tmp_path)
    domain = """<pattern name="Value-domain restriction"><rule context="Record">
        <let name="original" value="document('microdata.xml')"/>
        <assert test="exists(index-of($ original //Record/V1, V1))">not in domain</assert></rule></pattern>"""
    began = time.process_time()  # other processes do not count
    result = evaluate_with_pyschematron(
        EvaluationRequest(path, rulebook(tmp_path, domain, "xslt2"), detect_layout(path), original=path)
    )
    assert time.process_time() - began < 10
    assert (result.fired.tolist(), result.failed.tolist()) == ([1080], [0])


@pytest.mark.parametrize("call", ["document('o.xml')", "doc('o.xml')"])
@pytest.mark.parametrize(
    "test", ["V1 = {}//V1", "exists(index-of({}/Data/Record/V1, V1))", "V1 = {}//Record[V1 &lt; 2]/V1"]
)
def test_document_is_the_original_file(tmp_path: Path, call: str, test: str) -> None:
    original = data(tmp_path, "<V1>1</V1>", "<V1>2</V1>", name="original.xml")
    masked = data(tmp_path, "<V1>1</V1>", "<V1>3</V1>")
    book = rulebook(tmp_path, asserts(test.format(call)), "xslt2")
    result = evaluate_with_pyschematron(
        EvaluationRequest(masked, book, detect_layout(masked, record="Record"), original=original)
    )
    assert result.verdicts.tolist() == [[Verdict.HOLDS], [Verdict.FAILS]]


def test_only_paths_into_the_original_are_remembered(tmp_path: Path) -> None:
    inside = """<let name="o" value="document('o.xml')"/><pattern><rule context="Record"><let name="r" value="."/>
        <assert test="$r/V1 = 1">m</assert><assert test="$o//V1 = 1">m</assert></rule></pattern>"""
    path = data(tmp_path, "<V1>1</V1>", "<V1>2</V1>")
    result = evaluate_with_pyschematron(
        EvaluationRequest(
            path, rulebook(tmp_path, inside, "xslt2"), detect_layout(path, record="Record"), original=path
        )
    )
    assert result.verdicts.tolist() == [[1, 1], [2, 1]]


def test_a_message_can_make_attributes_visible(tmp_path: Path) -> None:
    inside = """<pattern><rule context="Record"><assert test="V1"><value-of select="@a"/></assert></rule></pattern>
        <pattern><rule context="@a"><assert test=". = 2">m</assert></rule></pattern>"""
    book = rulebook(tmp_path, inside, "xslt2")
    document = etree.ElementTree(etree.fromstring('<Data><Record a="1"><V1/></Record></Data>'))
    assert [(i, v) for _, i, v, _ in PyschematronValidator(book.pyschematron_schema).decide(document)] == [
        (0, 1),
        (1, 2),
    ]
    assert SimpleSchematronXMLValidator(book.pyschematron_schema).validate_xml(document).has_failed_asserts()


def test_a_fired_report_fails_and_the_first_rule_decides(tmp_path: Path) -> None:
    inside = """<pattern><rule context="Record[V1 > 5]"><report test="V2 > 1">m</report></rule>
        <rule context="Record"><assert test="V2 > 1">m</assert></rule></pattern>"""
    result = opinion(tmp_path, inside, "<V1>9</V1><V2>2</V2>", "<V1>1</V1><V2>0</V2>", "<V1>9</V1><V2>0</V2>")
    assert result.verdicts.tolist() == [[2, 0], [0, 2], [1, 0]]
    assert result.fired.tolist() == [2, 1]
    assert result.failed.tolist() == [1, 1]


def test_field_contexts_count_nodes(tmp_path: Path) -> None:
    inside = '<pattern><rule context="V1"><assert test=". > 1 and ../V2">m</assert></rule></pattern>'
    result = opinion(tmp_path, inside, "<V1>1</V1><V1>2</V1><V2/>", "<V2/>")
    assert (result.fired.tolist(), result.failed.tolist()) == ([2], [1])
    assert result.verdicts.tolist() == [[Verdict.FAILS], [Verdict.NOT_FIRED]]


def test_an_error_is_one_of_its_check_and_record(tmp_path: Path) -> None:
    records = ("<V1>1</V1>", "<V1/>", "<V1>1</V1>")
    result = opinion(tmp_path, asserts("V1 = 1", "true()"), *records, binding="xslt2")
    assert result.verdicts.tolist() == [[1, 1], [3, 1], [1, 1]]
    assert (result.fired.tolist(), result.errors.tolist()) == ([3, 3], [1, 0])
    assert "FORG0001" in result.problems[0]


def test_what_pyschematron_cannot_parse_is_an_error_of_that_check(tmp_path: Path) -> None:
    result = opinion(tmp_path, asserts("format-number(V1, '0') = '1'", "V1"), "<V1>1</V1>")
    assert result.verdicts.tolist() == [[Verdict.ERROR, Verdict.HOLDS]]
    assert "format-number" in result.problems[0]


@pytest.mark.parametrize(
    "inside",
    [
        "<let name='x' value=\"format-number(1, '0')\"/>" + asserts("$x = '1'"),
        "<pattern><let name='x' value=\"format-number(1, '0')\"/><rule context='Record'>"
        "<assert test=\"$x = '1'\">m</assert></rule></pattern>",
        "<pattern><rule context=\"Record[format-number(V1, '0') = '1']\"><assert test='V1'>m</assert></rule>"
        "</pattern>",
    ],
    ids=["schema let", "pattern let", "context"],
)
def test_a_scope_that_crashes_takes_its_checks_along(tmp_path: Path, inside: str) -> None:
    result = opinion(tmp_path, inside, "<V1>1</V1>")
    assert list(result.crashed) == [0]
    agreement = compare(evaluation([[Verdict.HOLDS]]), result, rulebook(tmp_path, inside))
    (difference,) = agreement.disagreements
    assert difference.deviation is not None
    assert difference.deviation.id == "xslt-functions"
    assert difference.error


@pytest.mark.parametrize(
    "inside",
    [
        asserts("count(//Record[V1 = 1]) = 1"),
        asserts("not(preceding-sibling::Record/V1 = V1)"),
        asserts("count(../Record) = 2"),
        "<let name='all' value='//V1'/>" + asserts("$all"),
        "<pattern><let name='all' value='Data/Record'/>"
        "<rule context='Record'><assert test='$all'>m</assert></rule></pattern>",
        "<pattern><rule context='Record[1]'><assert test='V1'>m</assert></rule></pattern>",
        "<pattern><rule context='Data'><assert test='Record'>m</assert></rule></pattern>",
        "<pattern><rule context='V1'><assert test='../../Record'>m</assert></rule></pattern>",
        "<pattern><rule context='V1'><let name='up' value='ancestor::Data'/>"
        "<assert test='$up'>m</assert></rule></pattern>",
    ],
)
def test_checks_on_several_records_are_not_compared(tmp_path: Path, inside: str) -> None:
    result = opinion(tmp_path, inside, "<V1>1</V1>", "<V1>2</V1>", chunk=1)
    assert list(result.not_compared) == [0]
    assert result.fired.tolist() == [0]
    agreement = compare(evaluation([[2], [2]]), result, rulebook(tmp_path, inside))
    assert agreement.disagreements == ()
    assert len(agreement.not_compared) == 1


@pytest.mark.parametrize(
    "inside",
    [
        "<pattern><rule context='V1'><assert test='../V1'>m</assert></rule></pattern>",
        "<pattern><rule context='V1[../V1]'>"
        "<assert test='following-sibling::V2 or true()'>m</assert></rule></pattern>",
        "<pattern><rule context='/Data/Record'><assert test='V1[1]'>m</assert></rule></pattern>",
        "<pattern><rule context='V1'><let name='r' value='..'/><assert test='$r/V1'>m</assert></rule></pattern>",
        asserts("V1/../V1[position() = last()]"),
    ],
)
def test_checks_inside_a_record_are_compared(tmp_path: Path, inside: str) -> None:
    result = opinion(tmp_path, inside, "<V1>1</V1>", "<V1>2</V1>", chunk=1)
    assert not result.not_compared
    assert result.verdicts.tolist() == [[Verdict.HOLDS]] * 2


def test_some_records_of_the_file(tmp_path: Path) -> None:
    path = data(tmp_path, *(f"<V1>{i}</V1>" for i in range(60)))
    book = rulebook(tmp_path, asserts("V1 mod 2 = 0"))
    seen: list[int] = []
    wanted = np.array([1, 2, 24, 25, 59])
    result = evaluate_with_pyschematron(
        EvaluationRequest(path, book, detect_layout(path, record="Record"), progress=seen.append),
        records=wanted,
        chunk=2,
    )
    assert result.records.tolist() == wanted.tolist()
    assert not result.complete
    assert result.verdicts[:, 0].tolist() == [2, 1, 1, 2, 2]
    assert seen == [2, 4, 5]  # one in twelve is wanted: documents are made of 24


def test_a_rulebook_without_schema_is_refused(tmp_path: Path) -> None:
    path = data(tmp_path, "<V1/>")
    bare = Rulebook(tmp_path / "r.sch", "xslt", "1.0", (), (), ())
    with pytest.raises(RulebookError, match="no schema"):
        evaluate_with_pyschematron(EvaluationRequest(path, bare, detect_layout(path, record="Record")))


def test_a_known_deviation_is_named_and_does_not_block(tmp_path: Path) -> None:
    result = opinion(tmp_path, asserts("V1 = 5"), "<V1>5</V1>", "<V1>6</V1>")
    agreement = compare(evaluation([[1], [2]]), result, rulebook(tmp_path, asserts("V1 = 5")))
    (difference,) = agreement.disagreements
    assert difference.deviation is not None
    assert difference.deviation.id == "equal-number-text"
    assert (difference.records, difference.examples) == (1, (0,))
    assert (difference.ours, difference.theirs) == ((2, 1), (2, 2))
    assert agreement.blocking == ()
    assert "equal-number-text" in str(difference)


def test_an_unexplained_difference_blocks(tmp_path: Path) -> None:
    inside = asserts("number(V1) = 5")
    result = opinion(tmp_path, inside, "<V1>5</V1><V2>1_0</V2>", "<V1>1_0</V1>", "<V1>6</V1>")
    # Wrong on the first record, where another field has an underscore; on the second it explains the difference.
    ours = evaluation([[2], [1], [2]])
    agreement = compare(ours, result, rulebook(tmp_path, inside))
    assert [(d.deviation and d.deviation.id, d.examples) for d in agreement.disagreements] == [
        (None, (0,)),
        ("underscore", (1,)),
    ]
    assert [d.examples for d in agreement.blocking] == [(0,)]


def test_the_number_of_fired_nodes_counts(tmp_path: Path) -> None:
    inside = "<pattern><rule context='V1'><assert test='. > 0'>m</assert></rule></pattern>"
    result = opinion(tmp_path, inside, "<V1>1</V1><V1>2</V1>")
    (difference,) = compare(evaluation([[1]]), result, rulebook(tmp_path, inside)).blocking
    assert (difference.records, difference.ours, difference.theirs) == (0, (1, 0), (2, 0))


def test_a_false_check_and_an_error_are_both_violations(tmp_path: Path) -> None:
    inside = asserts("V1 = 1")
    result = opinion(tmp_path, inside, "<V1/>", binding="xslt2")
    assert compare(evaluation([[2]]), result, rulebook(tmp_path, inside, "xslt2")).disagreements == ()


def test_namespaces_and_parents_of_records(tmp_path: Path) -> None:
    path = tmp_path / "data.xml"
    path.write_text(
        '<d:Data xmlns:d="urn:d"><d:Part><d:Record><d:V1>1</d:V1></d:Record><d:Record><d:V1>2</d:V1></d:Record>'
        "</d:Part><d:Part><d:Record><d:V1>3</d:V1></d:Record></d:Part></d:Data>",
        encoding="utf-8",
    )
    inside = (
        '<ns prefix="x" uri="urn:d"/>'
        '<pattern><rule context="x:Record"><assert test="x:V1 > 1">m</assert></rule></pattern>'
    )
    layout = detect_layout(path, record="Record")
    result = evaluate_with_pyschematron(EvaluationRequest(path, rulebook(tmp_path, inside), layout), chunk=2)
    assert result.verdicts[:, 0].tolist() == [2, 1, 1]
    assert not result.not_compared
