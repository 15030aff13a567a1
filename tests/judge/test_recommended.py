"""XPath 1.0 by its Recommendation: conversions of ours in libxml2, against an evaluator that shares none of them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

import masktron
from cli_runner import write_data, write_rules
from differential import xpath1
from examples import examples
from masktron.judge import exact
from masktron.judge.columns.program import compile_program
from masktron.judge.conversions import PREFIX, URI, Reads, converted
from masktron.judge.deferral import DocumentFrame
from masktron.judge.findings import Departure, Evaluation
from masktron.judge.programs import FUNCTIONS, Documents, Program, misreads
from masktron.judge.recommended import Correction, reads_of
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import Blocks, over_columns
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.lexical import is_misread, xpath1_number, xpath1_text
from masktron.sources.xml.plain import iter_batches, survey, survey_plain

RECORD = (
    "<Record year='1.14'><V1>1.14</V1><V2>1.36</V2><V3>1e3</V3><V4>+5</V4><V5/>"
    "<V6>1<!-- c -->.14</V6><V7><a>1</a><b>.36</b></V7><?p 1.14?></Record>"
)
TESTS = [
    "V1 = 114 div 100",
    "V1 = 1.14 and V2 >= 1.36 and 1.36 <= V2",
    "V1 = '1.14' and V1 != V2",
    "V3 = 1000 or V4 = 5 or V5 = 0",
    "not(V3 > 1) and not(V4 < 9)",
    "V6 = 114 div 100 and V7 = 136 div 100",
    "@year = V1 and @year < 1.15 and @year * 100 = 114",
    "*[. = 1.14]",
    "*[. = 1.14][2]",
    "sum(V1 | V2) = 2.5",
    "sum(*) = 3",
    "-V1 = 0 - V1 and - - V1 = 1.14",
    "V1 * V2 = 1.5504 or V1 div V2 > 0.83",
    "V1 mod 1 = 1.14 - 1",
    "string(0.1 + 0.2) = '0.30000000000000004'",
    "concat(1000000 * 1000000000000, '|', 0.1 * 0.1) = '1000000000000000000|0.010000000000000002'",
    "string-length(V1 div 3) = 4",
    "number(concat('1', '.14')) = V1",
    "number(substring('x1.14', 2)) = 1.14",
    "'1.14' < 1.15 and '1e3' < 5 and not('1e3' > 5)",
    "'1.14' >= V1 and V1 <= '1.14'",
    "substring('12345', V1 + 1, 2.5) = '234'",
    "round(V1) = 1 and floor(-V1) = -2 and ceiling(V2) = 2",
    "true() = V1 and V5 = true() and boolean(V9) = false()",
    "true() > V9 and V1 >= false()",
    "V1 = V2 = false()",
    "V9 = 1 or V9 != 1 or V9 < 1",
    "number(V9) = number(V9) or string(number(V9)) = 'NaN'",
    "string(1 div 0) = 'Infinity' and string(-1 div 0) = '-Infinity' and string(-0) = '0'",
    "processing-instruction('p') = 1.14 and comment() = 5 or node() = 1.14",
    "count(*[. > 1]) = 4 and *[position() = last()] = 1.36",
    "translate(V1 + 1, '.', ',') = '2,14'",
    "ancestor::Data/Record/V1 = 1.14 and ../Record//b = .36",
    "* * * > 1 and *[1] mod 2 > 1",
]


@pytest.mark.parametrize("test", TESTS)
def test_a_rewritten_test_says_what_the_recommendation_says(test: str) -> None:
    """Libxml2 alone does not, for most of them."""
    text = f"<Data>{RECORD}</Data>"
    root = xpath1.document(text.encode())
    node = root.children[0].children[0]
    wanted = xpath1.to_boolean(xpath1.compiled(test, {})(xpath1.Context(node, 1, 1, {}, node)))
    record = etree.fromstring(text)[0]
    rewritten = etree.XPath(f"boolean({converted(test).text})", namespaces={PREFIX: URI}, extensions=dict(FUNCTIONS))
    assert rewritten(record) == wanted


def test_libxml2_alone_says_otherwise_of_many() -> None:
    record = etree.fromstring(f"<Data>{RECORD}</Data>")[0]
    apart = 0
    for test in TESTS:
        rewritten = etree.XPath(
            f"boolean({converted(test).text})", namespaces={PREFIX: URI}, extensions=dict(FUNCTIONS)
        )
        apart += rewritten(record) != etree.XPath(f"boolean({test})")(record)
    assert apart >= 9


@pytest.mark.parametrize(
    ("test", "reads"),
    [
        ("V1 = 'a' and count(V2) = 1 and V1 != V2", Reads.NOTHING),
        ("substring(V1, 1, 2) = '05' and concat(V1, 3) = 'a3'", Reads.NOTHING),
        ("V5 * V15 = V16", Reads.NODES),
        ("not(number(V8) < 1115) or V13 <= V12", Reads.NODES),
        ("V1 < '5'", Reads.NODES),
        ("V1[. > 3]", Reads.NODES),
        ("sum(//V1) = 0.5", Reads.NODES),
        ("V1 = 1.14", Reads.MORE),
        ("V1 < '1.14'", Reads.MORE),
        ("number(substring(V1, 1, 2)) = 5", Reads.MORE),
        ("string(number(V1)) != 'NaN'", Reads.MORE),
        ("concat(V1, V2 + 1) = 'a'", Reads.MORE),
        ("$unknown + 1 = 2", Reads.MORE),
        ("(V1 | V2)[1] = 1.14", Reads.MORE),
        ("concat(V1, 12345678901) = 'a'", Reads.MORE),
        ("concat(V1, 0.5) = 'a'", Reads.MORE),
        ("boolean(V1 + 1)", Reads.NODES),
        ("-V1 | V2 = 5", Reads.NODES),
    ],
)
def test_what_libxml2_can_get_wrong_of_a_test(test: str, reads: Reads) -> None:
    assert converted(test).reads is reads


def test_what_is_no_expression_stays_as_it_is() -> None:
    for text in ("V1 = ", "V1 eq 5", "(", "", "V1 V2", "if (a) then b else c", "/*[", "a::", "V1 =! 5"):
        assert converted(text).text == text
    for later in (
        "fn:number(V1)",
        "V1 => number()",
        "V1 union V2",
        "V1 | -V2",
        "V1/(V2)",
        ".[1]",
        "..[1]",
        "*:V1",
        "+V1",
        "V1 idiv 2",
    ):
        assert converted(f"{later} = 1.14").text == f"{later} = 1.14"
    deep = "(" * 3000 + "1" + ")" * 3000
    assert converted(deep).text == deep


@examples(20, full=2000)
@given(st.from_regex(r"[ \t]?-?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{0,3})?[ \n]?", fullmatch=True))
@example("1.14")
@example("1e3")
@example("\u00a05")
@example("9" * 400)
def test_numbers_are_read_as_the_recommendation_says(text: str) -> None:
    assert struct.pack("d", xpath1_number(text)) == struct.pack("d", xpath1.read(text))
    theirs = etree.XPath("number($text)")(etree.Element("a"), text=text)
    same = struct.pack("d", theirs) == struct.pack("d", xpath1_number(text))
    assert is_misread(text) == (not same and not (math.isnan(theirs) and math.isnan(xpath1_number(text))))


@examples(60, full=2000)
@given(st.floats())
@example(1e23)
@example(5e-324)
@example(-0.0)
def test_numbers_are_written_as_the_recommendation_says(number: float) -> None:
    assert xpath1_text(number) == xpath1.written(number)
    if math.isfinite(number):
        assert float(xpath1_text(number)) == number


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ("<R><V>1.25</V></R>", False),
        ("<R><V>1.14</V></R>", True),
        ("<R v='1.14'/>", True),
        ("<R>1.14<V/></R>", True),
        ("<R><V/>1.14<V/></R>", True),
        ("<R><V>1<!-- c -->.14</V></R>", True),
        ("<R><a>1</a><b>.14</b></R>", True),
        ("<R><a>1</a> <b>.14</b></R>", False),
        ("<R><!--1.14--></R>", True),
        ("<R><?p 1.14?></R>", True),
        ("<R><V>1e3</V></R>", True),
        ("<R><V>+5</V><V>INF</V><V>5.</V></R>", False),
    ],
)
def test_records_with_a_value_that_libxml2_misreads(record: str, wrong: bool) -> None:
    assert misreads(etree.fromstring(record)) == wrong


def columns(data: Path, rules: Path) -> Evaluation:
    """Evaluate over columns, however small the file."""
    found = survey_plain(data, record="Record")
    assert found is not None
    layout, _, plain = found
    frame = DocumentFrame.of(data, layout)
    assert frame is not None
    batches = partial(iter_batches, data, layout, plain, block=1 << 10, rows=17)
    rulebook = read_rules(rules)
    return over_columns(
        EvaluationRequest(data, rulebook, layout, keep_verdicts=True), Blocks(frame, batches, compile_program)
    )


def by_engine(data: Path, rules: Path, engine: exact.EngineChoice = "auto") -> Evaluation:
    return exact.evaluate(EvaluationRequest(data, read_rules(rules), survey(data, record="Record")[0], engine=engine))


LEXEMES = ["1.14", "1.36", "2.5", "1e3", "+5", "", "7", "0.1", "123456789012345678901234567890", "1.55040000000000"]


@pytest.mark.parametrize("evaluated", [columns, by_engine])
def test_departures_are_what_libxml2_counts_otherwise(
    tmp_path: Path, evaluated: Callable[[Path, Path], Evaluation]
) -> None:
    rows = [{"A": a, "B": b, "C": 9} for a in LEXEMES for b in LEXEMES]
    data = write_data(tmp_path / "d.xml", rows)
    tests = ["A + B != 2.5", "not(A > B)", "A * B = 1.5504 or C = 9", "string-length(A) > 2", "not(A = 114 div 100)"]
    rules = write_rules(tmp_path / "r.sch", *tests)
    found, alone = evaluated(data, rules), by_engine(data, rules, "unaided")
    ours, theirs = found.judged > 1, alone.judged > 1
    refused, accepted = (theirs & ~ours).sum(axis=0), (ours & ~theirs).sum(axis=0)
    wanted = tuple(
        Departure(k, int(a), int(b)) for k, (a, b) in enumerate(zip(refused, accepted, strict=True)) if a or b
    )
    assert {one.check for one in wanted} >= {1, 4}
    assert found.departures == wanted
    assert alone.departures == ()
    assert ("numbers as in XPath 1.0" in found.engine) == (evaluated is by_engine)


def test_columns_and_engine_say_the_same_with_and_without_misread_values(tmp_path: Path) -> None:
    tests = ["A + B = C", "string(A * B) = '1.5504'", "number(substring(A, 1, 4)) = 1.14", "A = 1.14 or B = '1.36'"]
    rules = write_rules(tmp_path / "r.sch", *tests)
    for lexemes in (LEXEMES, ["2.5", "7", ""]):
        rows = [{"A": a, "B": b, "C": "2.5"} for a in lexemes for b in lexemes]
        data = write_data(tmp_path / "d.xml", rows)
        one, other = columns(data, rules), by_engine(data, rules)
        assert np.array_equal(one.judged, other.judged)
        assert [f._replace(line=0) for f in one.findings] == [f._replace(line=0) for f in other.findings]


def test_a_file_that_libxml2_reads_right_is_libxml2s(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": "1.14", "B": "2.5"}] * 3)
    found = masktron.validate(data, write_rules(tmp_path / "r.sch", "A < B", "A = '1.14'", "B = 2.5"))
    assert found.valid
    assert not found.notes
    assert found.engine.startswith("libxml2 ")
    assert "numbers" not in found.engine


def test_messages_write_numbers_as_the_recommendation_says(tmp_path: Path) -> None:
    rules = tmp_path / "r.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record"><assert id="R1" '
        'test="A + B = 0.3"><value-of select="A + B"/> <value-of select="A"/></assert></rule></pattern></schema>'
    )
    data = write_data(tmp_path / "d.xml", [{"A": "0.1", "B": "0.2"}])
    (finding,) = masktron.validate(data, rules).evaluation.findings
    assert finding.message == "0.30000000000000004 0.1"


def test_variables_and_contexts_count_as_the_test_does(tmp_path: Path) -> None:
    rules = tmp_path / "r.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><let name="all" value="sum(//A)"/><pattern>'
        '<let name="text" value="\'x\'"/>'
        '<rule context="Record[A = 114 div 100]"><let name="double" value="2 * $all"/>'
        '<assert id="R1" test="B = \'y\'"/><assert id="R2" test="$text = B"/></rule>'
        '<rule context="Record"><assert id="R3" test="$all = 5"/><assert id="R4" test="B"/></rule></pattern>'
        '<pattern><rule context="Record"><let name="double" value="2 * $all"/><assert id="R5" test="B"/>'
        '<assert id="R6" test="$double &lt; 5"/></rule></pattern></schema>'
    )
    reads = reads_of(read_rules(rules))
    assert reads[0] is reads[1] is reads[3] is Reads.NODES
    assert (reads[4], reads[5]) == (Reads.NOTHING, Reads.NODES)


@pytest.mark.parametrize("test", ["sum(//A) &gt;= 0", "string(sum(//B)) = '0.30000000000000004'"])
def test_a_sum_that_is_computed_once_is_read_and_written_right(tmp_path: Path, test: str) -> None:
    rules = tmp_path / "r.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        f'<assert id="R1" test="{test}"/></rule></pattern></schema>'
    )
    # 1e1 is no number of XPath 1.0
    data = write_data(tmp_path / "d.xml", [{"A": "1e1", "B": "0.1"}, {"A": "1", "B": "0.2"}])
    wanted = 2 if "A" in test else 0
    assert by_engine(data, rules).failed.tolist() == [wanted]
    assert by_engine(data, rules, "unaided").failed.tolist() == [2 - wanted]


def test_a_domain_of_numbers_is_read_right(tmp_path: Path) -> None:
    original = write_data(tmp_path / "o.xml", [{"A": "1.14"}, {"A": "3"}])
    rules = write_rules(tmp_path / "r.sch", "number(A) * 100 = document('o.xml')//A * 100 or A = 3")
    data = write_data(tmp_path / "d.xml", [{"A": "1.140"}, {"A": "3"}])
    assert masktron.validate(data, rules, original=original).valid


def _never(checks: frozenset[int], report: bool) -> Program:
    raise AssertionError(checks, report)


def test_only_rules_that_read_the_original_are_asked_again_for_it(tmp_path: Path) -> None:
    tests = ("A = document('o.xml')//A * 1", "A > 5", "B = 'document'", "$a = 3")
    rules = write_rules(tmp_path / "r.sch", *tests, binding="")
    text = rules.read_text().replace("<pattern>", "<let name='a' value=\"document('o.xml')//A\"/><pattern>", 1)
    rules.write_text(text)
    original = write_data(tmp_path / "o.xml", [{"A": "1e1"}])
    book = read_rules(rules)
    book = replace(book, documents=("o.xml",))
    documents = Documents.of(book, original)
    correction = Correction(book, survey(original, record="Record")[0], frozenset(range(4)), False, documents, _never)
    assert correction._of_documents() == {0, 3}


SUMS = [
    "string(sum(//V1)) = '0.6000000000000001'",
    "$whole = '0.6000000000000001'",
    "string($sum) = '0.6000000000000001'",
    "contains(sum(//V1), '00001')",
    "substring(sum(//V1), 1, 30) = '0.6'",
    "number(string(sum(//V1))) = sum(//V1)",
    "string(count(//V1) div 7) = '0.428571428571429'",
    "sum(//V2) = 3.42",
    "string(sum(/Data/Record/V2)) = '3.42'",
    "//V1[string(sum(//V1)) = '0.6']",
]


@pytest.mark.parametrize("test", SUMS)
def test_numbers_that_are_computed_once_for_the_file_are_those_of_the_recommendation(
    test: str, tmp_path: Path
) -> None:
    """They stand in variables of the stylesheet, outside the expression that is rewritten."""
    rows = [{"V1": value, "V2": "1.14"} for value in ("0.1", "0.2", "0.3")]
    lets = '<let name="sum" value="sum(//V1)"/><let name="whole" value="string(sum(//V1))"/>'
    path = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", test, extra=lets)
    root = xpath1.document(path.read_bytes())
    known = {"sum": "sum(//V1)", "whole": "string(sum(//V1))"}
    values = {name: xpath1.compiled(text, {})(xpath1.Context(root, 1, 1, {}, root)) for name, text in known.items()}
    records = [node for node in root.children[0].children if node.kind == "element"]
    wanted = [
        xpath1.to_boolean(xpath1.compiled(test, {})(xpath1.Context(node, 1, 1, values, node))) for node in records
    ]
    (rule,) = masktron.validate(path, rules).rules
    assert rule.failed == wanted.count(False)
