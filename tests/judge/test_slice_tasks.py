"""An engine over a whole file, in slices by this process: it counts what `evaluate` counts, or leaves it to that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples, spread
from masktron.errors import DocumentError, RulebookError
from masktron.judge import second_opinions
from masktron.judge.exact import EngineChoice, evaluate
from masktron.judge.findings import Evaluation
from masktron.judge.request import EvaluationRequest
from masktron.judge.runner import engine_name
from masktron.judge.second_opinions import Cutting, Question, engine_opinions
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey
from masktron.sources.xml.slices import NotSlicedError, framed, slices
from refusals import refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
ENGINES = pytest.mark.parametrize(
    ("head", "engine"), [("", "auto"), ("", "saxon"), ('queryBinding="xslt2"', "auto")], ids=["libxml2", "s1", "s2"]
)


def record(at: int) -> str:
    """Records of which some fail, some raise errors in XPath 2, and some lack fields."""
    v2 = ("", f"<V2>{at % 7}</V2>", "<V2></V2>")[at % 3]
    return f'<Record id="{at}"><V1>{at % 11}</V1>{v2}<V3 unit="{at % 2}">{at % 5}</V3></Record>'


def rules(folder: Path, body: str, head: str = "") -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>{body}</schema>", encoding="utf-8")
    return read_rules(path)


BODY = """
<let name="limit" value="3"/>
<pattern><rule context="Record[V1 = 5]"><assert test="V3 = 0">m</assert></rule>
<rule context="Record"><let name="v" value="number(V1)"/><report test="$v > $limit">m</report>
<assert test="number(V1) &lt;= number(V2)">m</assert></rule></pattern>
<pattern><rule context="V3"><assert test="@unit = 0 or . = 2">m</assert></rule>
<rule context="Record/V1"><assert test="../@id != 4">m</assert></rule></pattern>
<pattern><rule context="@id"><assert test=". mod 13 != 1">m</assert></rule></pattern>
"""
ERRORS = """<pattern><rule context="Record[V2 + 1 > 2]"><assert test="V1 div xs:integer(V3) &lt; 3">m</assert></rule>
<rule context="Record"><assert test="xs:integer(V1) idiv xs:integer(V3) ge 0">m</assert></rule></pattern>"""
XS = '<ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>'
PLAIN = "<Data>\n" + "\n".join(record(at) for at in range(60)) + "\n</Data>\n"


def written(folder: Path, data: str | bytes) -> tuple[Path, Layout]:
    path = folder / "data.xml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path, survey(path, record="Record")[0]


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the file was not cut")

    monkeypatch.setattr(second_opinions._Asking, "_exactly", never)


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_opinions, "interpreter", lambda: None)


def count(request: EvaluationRequest, size: int = 300, small: int = 0) -> Evaluation:
    (found,) = engine_opinions(
        request,
        Question((request.engine,), frozenset(), 60),
        told=lambda _, done: request.tell(done),
        cutting=Cutting(small=small, size=size),
    )
    return found


def both(
    path: Path, book: Rulebook, layout: Layout, engine: EngineChoice, **options: Any
) -> tuple[Evaluation, Evaluation, list[int]]:
    """What is counted in small slices, what `evaluate` says, and the progress."""
    expected = evaluate(EvaluationRequest(path, book, layout, engine=engine, **options))
    done: list[int] = []
    request = EvaluationRequest(path, book, layout, engine=engine, progress=done.append, **options)
    return count(request), expected, done


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    assert found.records == expected.records
    for name in ("fired", "failed", "errors", "first"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.engine == expected.engine


@ENGINES
def test_counts_in_slices_are_those_of_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, engine: EngineChoice
) -> None:
    path, layout = written(tmp_path, PLAIN)
    book = rules(tmp_path, BODY, head)
    forbid(monkeypatch)
    found, expected, done = both(path, book, layout, engine)
    assert_same(found, expected)
    assert found.failed.all()
    assert done[-1] == found.records == 60
    assert len(done) > 5, "one slice for all"
    assert found.engine == engine_name(book, layout, engine)


def test_dynamic_errors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path, PLAIN)
    forbid(monkeypatch)
    found, expected, _ = both(path, rules(tmp_path, XS + ERRORS, 'queryBinding="xslt2"'), layout, "auto")
    assert_same(found, expected)
    assert found.errors.all()
    assert found.errors[1] < found.fired[1]


ISLANDS = {
    "comments and instructions": PLAIN.replace("<V1>", "<!-- </Recor --><V1>").replace("<V3", "<?x y?><V3"),
    "CDATA and references": PLAIN.replace("<V1>5<", "<V1><![CDATA[5]]><").replace("<V1>7<", "<V1>&#55;<"),
    "carriage returns": PLAIN.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "Latin-1": ('<?xml version="1.0" encoding="ISO-8859-1"?>\n' + PLAIN.replace("<V1>5", "<V1>é5")).encode("latin-1"),
    "windows-1252": ("<?xml version='1.0' encoding='cp1252'?>" + PLAIN.replace("<V1>5", "<V1>€")).encode("cp1252"),
    "UTF-8 with a declaration": '<?xml version="1.0" encoding="UTF-8"?>' + PLAIN.replace("<V1>5", "<V1>日"),
    "document type": "<!DOCTYPE Data>" + PLAIN,
    "around": "<!-- a --><?b c?>"
    + PLAIN.replace("<Data>", "<Data><!-- d -->").replace("</Data>", "<!-- e --></Data>"),
    "nested": PLAIN.replace("<Data>", "<A x='1'><B>").replace("</Data>", "</B></A>"),
    "empty records": PLAIN.replace("</Record>\n<R", "</Record><Record id='4'/>\n<R"),
    "end tags with space": PLAIN.replace("0</V3></Record>", "0</V3></Record >"),
    "repeated and nested fields": PLAIN.replace("<V1>3</V1>", "<V1>3</V1><V1>4</V1><H><V1>9</V1></H>"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", spread(ISLANDS, every=2))
@ENGINES
def test_any_well_formed_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: str, engine: EngineChoice
) -> None:
    path, layout = written(tmp_path, ISLANDS[name])
    forbid(monkeypatch)
    found, expected, _ = both(path, rules(tmp_path, BODY, head), layout, engine)
    assert_same(found, expected)
    assert found.failed.any()


@ENGINES
def test_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, engine: EngineChoice) -> None:
    data = PLAIN.replace("<Data>", "<p:Data xmlns:p='urn:x' xmlns='urn:x'><q:Part xmlns:q='urn:y'>")
    path, layout = written(tmp_path, data.replace("</Data>", "</q:Part></p:Data>"))
    body = "<ns prefix='d' uri='urn:x'/>" + BODY.replace("V", "d:V").replace("Record", "d:Record")
    forbid(monkeypatch)
    found, expected, _ = both(path, rules(tmp_path, body, head), layout, engine)
    assert_same(found, expected)
    assert found.failed.all()


WHOLE = '<pattern><rule context="Record"><assert test="count(../Record) = 60">m</assert></rule></pattern>'


@ENGINES
def test_rules_on_the_whole_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, engine: EngineChoice
) -> None:
    path, layout = written(tmp_path, PLAIN)
    forbid(monkeypatch)
    found, expected, _ = both(path, rules(tmp_path, BODY + WHOLE, head), layout, engine)
    assert_same(found, expected)
    assert not found.failed[-1]


@ENGINES
def test_the_original_is_read_for_every_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, engine: EngineChoice
) -> None:
    original = tmp_path / "original.xml"
    original.write_text("<Data><Record><V1>4</V1></Record><Record><V1>6</V1></Record></Data>")
    path, layout = written(tmp_path, PLAIN)
    body = '<pattern><rule context="V1"><assert test=". = document(\'o\')//V1">m</assert></rule></pattern>'
    monkeypatch.setattr(second_opinions, "ORIGINAL_SLICE", 0)
    forbid(monkeypatch)
    found, expected, _ = both(path, rules(tmp_path, body, head), layout, engine, original=original)
    assert_same(found, expected)
    assert 0 < found.failed[0] < 60


LEFT = {
    "UTF-16": PLAIN.encode("utf-16"),
    "something beside the records": PLAIN.replace("<Data>", "<Data><V1>5</V1>").replace(
        "</Data>", "<V1>5</V1></Data>"
    ),
    "another inside": PLAIN.replace('<Record id="30">', '<V3 unit="1">1</V3><Record id="30">'),
    "two parents": "<A><B>" + PLAIN[7:-9].replace('<Record id="30">', '</B><B id="1"><Record id="30">') + "</B></A>",
    "last record without content": PLAIN.replace("</Data>", "<Record/></Data>"),
    "comments across records": PLAIN.replace('<Record id="3', '<!-- --><Record id="3')
    .replace('<Record id="30">', '<!-- <Record id="0">')
    .replace('<!-- --><Record id="31">', '--><Record id="31">'),
    "no record": "<Data>\n</Data>",
}


@pytest.mark.parametrize("name", spread(LEFT, every=2))
@ENGINES
def test_what_cannot_be_cut_is_evaluated(tmp_path: Path, name: str, head: str, engine: EngineChoice) -> None:
    path, layout = written(tmp_path, LEFT[name])
    found, expected, _ = both(path, rules(tmp_path, BODY, head), layout, engine)
    assert_same(found, expected)


OPEN = "<?masktron-end a <![CDATA[ <!-- "
PIECES = st.sampled_from(
    [
        *(record(at) for at in range(8)),
        "<Record/>",
        "<Record id='1'><V1>5</V1></Record >",
        "<V1>5</V1>",
        "text",
        "<!-- <Record id='5'><V1>5</V1></Record> -->",
        "<![CDATA[</Record><Record>]]>",
        *(f"{mark}{end}" for mark in OPEN.split(" ", 1)[1].split() for end in ("", "</Record>")),
        "<?masktron-end </Record><Record>",
        "<!-- </Record>",
        "<![CDATA[</Record>",
        "-->",
        "]]>",
        "?>",
        "</Record>",
        "<Record id='6'>",
        "</Data><Data>",
    ]
)


@pytest.mark.few(1)
@pytest.mark.parametrize("engine", ["auto", "saxon"])
@settings(examples(20, full=250), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pieces=st.lists(PIECES, min_size=1, max_size=12), size=st.integers(1, 200))
def test_no_file_is_cut_wrongly(tmp_path: Path, engine: EngineChoice, pieces: list[str], size: int) -> None:
    path = tmp_path / "data.xml"
    path.write_text(f"<Data>{''.join(pieces)}</Data>")
    layout = Layout(("Data", "Record"), ())
    book = rules(tmp_path, BODY)
    try:
        expected = evaluate(EvaluationRequest(path, book, layout, engine=engine))
    except DocumentError:
        with pytest.raises(DocumentError):
            count(EvaluationRequest(path, book, layout, engine=engine), size)
        return
    assert_same(count(EvaluationRequest(path, book, layout, engine=engine), size), expected)


def test_slices_are_whole_records_and_all_there_is(tmp_path: Path) -> None:
    path, layout = written(tmp_path, PLAIN)
    frame = framed(path, layout)
    assert frame is not None
    for size in (1, 50, 1000, 10**6):
        pieces = list(slices(frame, size))
        assert frame.head + b"".join(pieces) + frame.tail == PLAIN.encode()
        assert all(piece.endswith(b"</Record>") for piece in pieces)
    path.write_text(PLAIN[:-30])
    with pytest.raises(NotSlicedError):
        list(slices(frame, 100))


def test_a_broken_file_has_the_error_of_evaluate(tmp_path: Path) -> None:
    path, layout = written(tmp_path, PLAIN)
    path.write_text(PLAIN.replace("<V1>8</V1>", "<V1>8</V2>", 1))
    with pytest.raises(DocumentError, match="the end tag does not match"):
        count(EvaluationRequest(path, rules(tmp_path, BODY), layout), 100)


def test_a_rule_that_stops_the_engine_has_the_error_of_evaluate(tmp_path: Path) -> None:
    path, layout = written(tmp_path, PLAIN)
    deep = "(" * 3000 + "V1" + ")" * 3000
    book = rules(tmp_path, BODY)
    check = replace(book.patterns[1].rules[0].checks[0], test=deep)
    broken = replace(book.patterns[1].rules[0], checks=(check,))
    patterns = (book.patterns[0], replace(book.patterns[1], rules=(broken, *book.patterns[1].rules[1:])))
    with refused(RulebookError, "cannot-evaluate"):
        count(EvaluationRequest(path, replace(book, patterns=patterns), layout))


def test_a_record_that_is_the_root_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "data.xml").write_text("<Record><V1>5</V1></Record>")
    assert framed(tmp_path / "data.xml", Layout(("Record",), ())) is None


def test_small_files_are_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path, PLAIN)
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="not cut"):
        count(EvaluationRequest(path, rules(tmp_path, BODY), layout), small=Cutting().small)
