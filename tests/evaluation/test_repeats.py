"""What pyschematron is asked once: which fields decide a rule, and that equal ones are enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from elementpath import XPath1Parser
from elementpath.xpath31 import XPath31Parser
from elementpath.xpath_nodes import EtreeElementNode
from lxml import etree

from masktron.evaluation import pyschematron_validator
from masktron.evaluation.pyschematron_validator import PyschematronValidator
from masktron.evaluation.repeats import Contents, constants, fields_read
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.second_opinion import evaluate_with_pyschematron
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import detect_layout

NAMESPACES = {"s": "urn:s", "xs": "http://www.w3.org/2001/XMLSchema", "fn": "http://www.w3.org/2005/xpath-functions"}


def token(source: str, version: str = "3.1"):  # type: ignore[no-untyped-def]
    parser = XPath1Parser(NAMESPACES) if version == "1.0" else XPath31Parser(NAMESPACES)
    if version != "1.0":
        parser.external_function(lambda uri: None, "document").label = "function"
    return parser.parse(source)


@pytest.mark.parametrize("version", ["1.0", "3.1"])
@pytest.mark.parametrize(
    ("test", "fields"),
    [
        ("A + B = number(T)", "A B T"),
        ("s:A = 1 and not(s:B)", "A B"),
        ("@id = A/@unit", "@id A @unit"),
        ("A[B > 1][2]//C", "A B C"),
        ("string-length(A) = 4 or -A * 2 < $limit", "A"),
        ("concat(A, 'x') = translate(B, '1', '2')", "A B"),
        ("$sum = T", "A B T"),
        ("count(A | B) = 1", "A B"),
        ("true()", ""),
    ],
)
def test_named_children_and_attributes_decide(test: str, fields: str, version: str) -> None:
    lets = [("sum", token("A + B", version))] if "$sum" in test else []
    assert fields_read(lets, [token(test, version)], frozenset({"limit"})) == frozenset(fields.split())


@pytest.mark.parametrize(
    ("test", "fields"),
    [
        ("some $q in (A, B) satisfies $q castable as xs:integer", "A B"),
        ("if (A) then xs:date(B) > xs:date('2000-01-01') else fn:matches(C, 'x')", "A B C"),
        ("let $a := A return $a + 1", "A"),
        ("A = document('o.xml')/Data/Record[X > 1]/A", "A"),
        ("A = $original//Record/A", "A"),
        ("A instance of element()", "A"),
    ],
)
def test_later_versions_have_more_to_say(test: str, fields: str) -> None:
    assert fields_read([], [token(test)], frozenset({"original"})) == frozenset(fields.split())


@pytest.mark.parametrize(
    "test",
    [
        *(". = 1", "../A = 1", "* = 1", "@* = 1", "//A = 1", "/Data/A = 1", "A/.. = 1", "A/text() = 1", "$other = 1"),
        *("position() = 1", "A[position() = 1]", "last() = 2", "name() = 'R'", "name(A) = 'A'", "string() = '1'"),
        *("preceding-sibling::A = 1", "A/following-sibling::B", "ancestor::A"),
        *("normalize-space() = '1'", "number() = 1", "string-length() = 1", "self::A", "node()", "lang('en')"),
    ],
)
def test_what_may_read_more_is_asked_each_time(test: str) -> None:
    for version in ("1.0", "3.1"):
        assert fields_read([], [token(test, version)], frozenset()) is None


@pytest.mark.parametrize(
    "test",
    [
        "document(A)/B = 1",
        "generate-id(A) = generate-id(B)",
        "document('o.xml') = 1",
        "doc($u)//A = 1",
        "A ! B",
        "A => count()",
    ],
)
def test_so_are_documents_with_other_names_and_identities(test: str) -> None:
    known = fields_read([], [token(test)], frozenset())
    assert known == (frozenset() if "'o.xml'" in test else None)


def test_variables_around_are_the_same_everywhere_if_they_read_no_record() -> None:
    lets = [
        ("text", None),
        ("limit", token("2 * 3")),
        ("original", token("document('o.xml')")),
        ("values", token("$original/Data/Record/A")),
        ("total", token("sum(//A)")),
        ("data", token("Data/Record")),
        ("more", token("$total + 1")),
    ]
    assert constants(lets, frozenset({"known", "limit"})) == {"known", "text", "limit", "original", "values"}
    # a variable that hides one of the same name
    assert constants([("known", token("//A"))], frozenset({"known"})) == frozenset()


def key(text: str, *names: str) -> object:
    return Contents().key(EtreeElementNode(etree.fromstring(text)), frozenset(names))


def test_equal_contents_have_equal_keys() -> None:
    names = ("A", "B", "@id")
    alike = ["<R id='1'><A>1</A><C/><B>2</B></R>", "<R id='1'> <A>1</A><B>2</B><C>3</C></R>"]
    assert len({key(text, *names) for text in alike}) == 1
    unlike = [
        *("<R id='1'><B>2</B><A>1</A></R>", "<R id='2'><A>1</A><B>2</B></R>", "<R id='1'><A>1</A></R>"),
        *("<R id='1'><A>1</A><B/></R>", "<R id='1'><A>1</A><A>1</A><B>2</B></R>", "<R><A>1</A><B>2</B></R>"),
        *("<R id='1'><A>1<X/></A><B>2</B></R>", "<R id='1'><A x='1'>1</A><B>2</B></R>"),
        *("<R id='1'><A>1<!-- --></A><B>2</B></R>", "<R id='1'><A xmlns='u'>1</A><B>2</B></R>", alike[0]),
    ]
    assert len({key(text, *names) for text in unlike}) == len(unlike)


def test_a_decision_is_made_once_for_equal_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all documents of a file; where a context could see attributes that an evaluation builds, each time."""
    asked: list[int] = []
    real = pyschematron_validator._CheckValidator.decide

    def decide(self: pyschematron_validator._CheckValidator, context: object) -> object:
        asked.append(self.index)
        return real(self, context)

    monkeypatch.setattr(pyschematron_validator._CheckValidator, "decide", decide)
    rows = [(record % 3, record) for record in range(60)]
    data = tmp_path / "data.xml"
    data.write_text("<D>" + "".join(f"<R><A>{a}</A><B>{b}</B></R>" for a, b in rows) + "</D>", encoding="utf-8")
    rules = tmp_path / "rules.sch"
    for context, times in (("R", [3, 60, 60]), ("R | @no", [60, 60, 60])):
        rules.write_text(
            '<schema xmlns="http://purl.oclc.org/dsdl/schematron">'
            + "".join(
                f'<pattern><rule context="{context}"><assert test="{test}">m</assert></rule></pattern>'
                for test in ("A &lt; 2", "number(B) != 7", "../R/A and A &lt; 2")
            )
            + "</schema>",
            encoding="utf-8",
        )
        asked.clear()
        found = evaluate_with_pyschematron(
            EvaluationRequest(data, read_rules(rules), detect_layout(data, record="R"))
        )
        assert [asked.count(check) for check in range(3)] == times
        assert found.verdicts[:, 0].tolist() == [1 + (a == 2) for a, _ in rows]
        assert found.verdicts[:, 1].tolist() == [1 + (b == 7) for _, b in rows]


def test_a_crashed_let_is_remembered_as_an_error(tmp_path: Path) -> None:
    rules = tmp_path / "rules.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><pattern><rule context="R">'
        '<let name="n" value="xs:integer(A)"/><assert test="$n = 1">m</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    document = etree.ElementTree(etree.fromstring("<D>" + "<R><A>x</A></R><R><A>1</A></R>" * 2 + "</D>"))
    verdicts = [
        (int(verdict), bool(error))
        for _, _, verdict, error in PyschematronValidator(read_rules(rules).pyschematron_schema).decide(document)
    ]
    assert verdicts == [(3, True), (1, False)] * 2
