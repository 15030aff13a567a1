"""Expressions in a form that takes libxml2 linear time: the same verdicts as without, and nothing else is touched."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from masktron.judge import stylesheet_scope
from masktron.judge.exact import evaluate
from masktron.judge.request import EvaluationRequest
from masktron.judge.shortcuts import shortcuts
from masktron.rulebook.expressions.forbidden import screen
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.schema import Origin
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import detect_layout

ORIGINAL = "document('o.xml')"
REPLACED = [
    "A = preceding-sibling::*/A",
    "not(A = preceding-sibling::*/A)",
    "not( A=preceding-sibling :: R / A )",
    "B = 1 or A = preceding-sibling::*/A and B",
    "count(../R[A = preceding-sibling::*/A]) = 0",
    f"A = {ORIGINAL}/D/R/A",
    f"{ORIGINAL}//A = A",
    f"{ORIGINAL}//R/A &lt; A and {ORIGINAL}//R/A &gt;= B",
    f"A != {ORIGINAL}//R/A",
    f"{ORIGINAL}//A = true()",
    f"A = {ORIGINAL}//R/@a",
    f"count({ORIGINAL}//A) &lt; 4",
    f"A + 1 = {ORIGINAL}//A + 1",
    f"not({ORIGINAL}//A = A) or A = preceding-sibling::*/A",
    f"A = ({ORIGINAL}//A | {ORIGINAL}//B)",
    "count(//R[A = current()/A]) = 1",
    "count(/D/R[current()/A = A]) = 1",
    "count(../R[A = current()/A]) = 1",
    "not(../R[A = current()/A and B = 1])",
    "sum(//R[A = current()/B and A &gt; 0]/A) &lt; 2 or //R[@a = current()/A]",
    "count(//R[A = current()/A][1]) = 1 or count(//A) &gt; 3",
    "count(//R[A = current()/A and count(../R[B = current()/B]) &gt; 1]) &lt; 3",
    "sum(/D/R/A) &lt; 9 or count(//R) = 3",
    "not(preceding-sibling::R[A = current()/A])",
    "not(preceding-sibling::R[A = current()/A and 2])",
    "count(../R[A = current()/A and B = 1 and 3]) = 1",
    "count(../S[A = current()/A and B = current()/B]) &lt; 2",
    "count(//R[A = current()/A and B = 1]/A) = 1",
    "//R[A = current()/../R/A]/B = B",
    "A = preceding-sibling::*/A = true()",
    f"A = {ORIGINAL}//child::A",
    "count(//R)-1 = 2 or//R[A = current()/A]/B = 1",
    "boolean((preceding-sibling::R[(A = current()/A) and B]))",
]
BOTH = [test for test in REPLACED if "current()" in test]
KEPT = [
    "1 - A = preceding-sibling::*/A",
    "A = preceding-sibling::*/A + 1",
    "A = preceding-sibling::*/B",
    "A = preceding-sibling::*/A/text()",
    "A = preceding-sibling::*[1]/A",
    "B = A = preceding-sibling::*/A",
    "../A = preceding-sibling::*/A",
    f"A = {ORIGINAL}//R[1]/A",
    f"A = {ORIGINAL}//A[. = 1]",
    f"A = {ORIGINAL}//A/text()",
    f"count({ORIGINAL}) = 1",
    "A = 'preceding-sibling::*/A'",
    "count(//R[A = current()/A][1]) = 1",
    "count(//R[A = current()/A and position() = 1]) = 1",
    "count(//R[A = current()/A or B = 1]) = 1",
    "count(//R[B = 1 and A = current()/A]) = 1",
    "count(//R[A != current()/A]) = 1",
    "count(//R[A = current()/A + 1]) = 1",
    "count(//R[number(A) = current()/A]) = 1",
    "count(B//R[A = current()/A]) = 1",
    "count(//R[../R[B = 1]]) = 1",
    "count(//R[sum(/D/R/A) = 1]) = 1",
    "//R[(../R)[A = B]]",
    "count(../R[A = $x]) = 1",
    "count(preceding-sibling::R[A = current()/A]) = 1",
    "count(//R[B//A = current()/A]) = 1",
    "count(//R[A[1] = current()/A]) = 1",
    "count(//Q{urn:r}R[A = current()/A]) = 1",
]

values = st.sampled_from(["", "0", "1", "1.0", " 1", "2", "x"])
fields = st.lists(st.tuples(st.sampled_from("AB"), values), max_size=3)
records = st.lists(st.tuples(st.sampled_from("RRRS"), fields, st.sampled_from(["", ' a="1"'])), max_size=6)


def found(expression: str) -> list[str]:
    text = expression.replace("&lt;", "<").replace("&gt;", ">")
    calls = screen(text, Origin(Path("rules.sch"), 1), ())
    return [text[part.start : part.end] for part in shortcuts(parsed(text), calls, "document('{}')".format)]


def write(folder: Path, tests: list[str]) -> Path:
    asserts = "".join(f'<assert test="{test}">m</assert>' for test in tests)
    path = folder / "rules.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>'
        f'<rule context="R">{asserts}</rule></pattern></schema>'
    )
    return path


def document(path: Path, content: list[tuple[str, list[tuple[str, str]], str]]) -> Path:
    inner = "".join(
        f"<{name}{attribute}>{''.join(f'<{f}>{v}</{f}>' for f, v in own)}</{name}>"
        for name, own, attribute in content
    )
    path.write_text(f"<D>{inner}<R><A>1</A><B>2</B></R></D>")
    return path


@pytest.mark.parametrize("expression", REPLACED)
def test_is_replaced(expression: str) -> None:
    assert found(expression)


@pytest.mark.parametrize("expression", KEPT)
def test_is_left_as_it_is(expression: str) -> None:
    assert found(expression) == []


def test_a_path_from_the_root_finds_records_that_are_no_siblings() -> None:
    (deep,), (beside,) = (list(shortcuts(parsed(f"{path}R[A = current()/A]"), (), str)) for path in ("//", "../"))
    assert deep.text == "key('{name}', current()/A)"
    assert deep.start == beside.start == 0
    assert "count(.. | current()/..) = 1" in beside.text


@examples(7, full=100)
@given(content=records, original=records)
def test_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, content: list[object], original: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("shortcuts")
    rulebook = read_rules(write(folder, REPLACED))
    data = document(folder / "data.xml", content)  # type: ignore[arg-type]
    other = document(folder / "original.xml", original)  # type: ignore[arg-type]
    layout = detect_layout(data, record="R")
    quick = evaluate(EvaluationRequest(data, rulebook, layout, original=other, engine="libxml2"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stylesheet_scope, "shortcuts", lambda *_, **__: ())
        plain = evaluate(EvaluationRequest(data, rulebook, layout, original=other, engine="libxml2"))
    assert quick.verdicts.tolist() == plain.verdicts.tolist()
    assert [(f.check, f.record, f.message) for f in quick.findings] == [
        (f.check, f.record, f.message) for f in plain.findings
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("binding", ["xslt", "xslt2"])
@examples(7, full=100)
@given(content=records)
def test_saxon_finds_the_same(tmp_path_factory: pytest.TempPathFactory, binding: str, content: list[object]) -> None:
    folder = tmp_path_factory.mktemp("saxon")
    path = write(folder, BOTH)
    path.write_text(path.read_text().replace("<schema ", f'<schema queryBinding="{binding}" '))
    rulebook = read_rules(path)
    data = document(folder / "data.xml", content)  # type: ignore[arg-type]
    layout = detect_layout(data, record="R")
    quick = evaluate(EvaluationRequest(data, rulebook, layout, engine="saxon"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stylesheet_scope, "shortcuts", lambda *_, **__: ())
        plain = evaluate(EvaluationRequest(data, rulebook, layout, engine="saxon"))
    assert quick.verdicts.tolist() == plain.verdicts.tolist()


def test_names_in_braces_stay_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, ["count(//R[A = current()/Q{}A]) = 1"])
    path.write_text(path.read_text().replace("<schema ", '<schema queryBinding="xslt3" '))
    data = tmp_path / "data.xml"
    data.write_text("<D><R><A>1</A></R><R><A>2</A></R><R><A>2</A></R></D>")
    request = EvaluationRequest(data, read_rules(path), detect_layout(data, record="R"), engine="saxon")
    assert evaluate(request).failed.tolist() == [2]


@pytest.mark.full
def test_takes_linear_time(tmp_path: Path) -> None:
    """Without shortcuts, 20,000 records take minutes."""
    tests = ["not(A = preceding-sibling::*/A)", f"B = {ORIGINAL}//B", "count(//R[A = current()/A]) = 1"]
    tests += ["count(../R[A = current()/A and B &gt; 1]) &lt; 2", "sum(//B) &gt; B"]
    rulebook = read_rules(write(tmp_path, tests))
    data = document(tmp_path / "data.xml", [("R", [("A", f"{i}x"), ("B", f"{i % 9}")], "") for i in range(20_000)])
    began = time.process_time()  # other processes do not count
    result = evaluate(
        EvaluationRequest(data, rulebook, detect_layout(data, record="R"), original=data, engine="libxml2")
    )
    assert time.process_time() - began < 10
    assert result.fired.tolist() == [20_001] * 5
    assert result.failed.tolist() == [0] * 5
