"""Exact evaluation: what counts, where findings point, and what becomes of errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from masktron.errors import RulebookError, UsageError
from masktron.judge.exact import EngineChoice, RecordJudge, evaluate
from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.locality import locality, why_not_local
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Field, Layout
from masktron.sources.xml.microdata import chunk_document
from masktron.sources.xml.plain import detect_layout
from paths import RULEBOOKS
from refusals import refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
LAYOUT = Layout(("Data", "Record"), tuple(Field(f"V{i}", f"V{i}") for i in range(1, 17)))
XSLT2 = 'queryBinding="xslt2"'
DATA = """<Data>
<Record id="1"><V1>5</V1><V2>0</V2>
 <V3>1</V3></Record>
<Record id="2"><V1></V1><V2></V2><V3>2</V3></Record>
<Record id="3"><V1>7</V1><V2>1</V2><V2>0</V2></Record>
</Data>"""


def rules(folder: Path, body: str, head: str = "") -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>{body}</schema>", encoding="utf-8")
    return read_rules(path)


def run(
    folder: Path,
    body: str,
    head: str = "",
    data: str = DATA,
    engine: EngineChoice = "auto",
    limit: int = 1000,
    original: Path | None = None,
) -> Evaluation:
    path = folder / "data.xml"
    path.write_text(data, encoding="utf-8")
    layout = detect_layout(path, record="Record")
    return evaluate(
        EvaluationRequest(path, rules(folder, body, head), layout, engine=engine, limit=limit, original=original)
    )


def rule(test: str, context: str = "Record", message: str = "") -> str:
    return f'<pattern><rule context="{context}"><assert test="{test}">{message}</assert></rule></pattern>'


ENGINES = pytest.mark.parametrize(
    ("head", "engine"), [("", "libxml2"), ("", "saxon"), (XSLT2, "saxon")], ids=["libxml2", "saxon1", "saxon2"]
)


@ENGINES
def test_fields_are_contexts(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    done = run(
        tmp_path, rule("number(.) &lt; 2 and ../V1", "V3", "<name/>=<value-of select='.'/>"), head, engine=engine
    )
    assert done.fired.tolist() == [2]
    assert done.verdicts[:, 0].tolist() == [Verdict.HOLDS, Verdict.FAILS, Verdict.NOT_FIRED]
    (finding,) = done.findings
    assert (finding.record, finding.line, finding.location) == (1, 4, "/Data/Record[2]/V3")
    assert finding.message == "V3=2"


@ENGINES
def test_repeated_fields_are_told_apart(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    done = run(tmp_path, rule("number(.) != 0", "V2"), head, engine=engine)
    assert [f.location for f in done.findings] == ["/Data/Record[1]/V2", "/Data/Record[3]/V2[2]"] or head
    assert (done.fired.tolist(), done.failed.tolist()) == ([4], [2])


@ENGINES
def test_attributes_and_text_fire(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    body = rule("number(.) &lt; 3", "@id") + rule("normalize-space(.) != '7'", "V1/text()")
    done = run(tmp_path, body, head, engine=engine)
    assert done.fired.tolist() == [3, 2]
    assert [f.location for f in done.findings] == ["/Data/Record[3]/@id", "/Data/Record[3]/V1/text()[1]"]


@ENGINES
def test_a_node_fires_the_first_rule_only(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    body = """<pattern><rule context="Record[V3]"><report test="true()">a</report></rule>
        <rule context="Record"><report test="true()">b</report></rule>
        <rule context="Record[V1]"><report test="true()">never</report></rule></pattern>
        <pattern><rule context="Record[V1]"><report test="true()">other pattern</report></rule></pattern>"""
    done = run(tmp_path, body, head, engine=engine)
    assert done.fired.tolist() == [2, 1, 0, 3]
    assert done.verdicts.T.tolist() == [[2, 2, 0], [0, 0, 2], [0, 0, 0], [2, 2, 2]]


def test_the_order_of_included_rules_decides_which_fires(tmp_path: Path) -> None:
    (tmp_path / "rule.sch").write_text(f'<rule {ISO} context="Record"><report test="true()">inc</report></rule>')
    own = '<rule context="Record[V3]"><report test="true()">own</report></rule>'
    first = run(tmp_path, f'<pattern><include href="rule.sch"/>{own}</pattern>')
    last = run(tmp_path, f'<pattern>{own}<include href="rule.sch"/></pattern>')
    assert first.fired.tolist() == [3, 0]
    assert last.fired.tolist() == [2, 1]


@ENGINES
def test_variables_of_every_level(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    body = """<let name="records" value="count(//Record)"/><let name="x" value="1"/>
      <pattern><let name="y" value="$x + 1"/><let name="first" value="number(/Data/Record[1]/V1)"/>
        <rule context="Record[count(V2) = $y]"><let name="x" value="$x + $y"/><let name="z" value="$x * 2"/>
          <assert test="$z = 6 and $first = 5 and $records = 3">x</assert></rule></pattern>
      <pattern><let name="y" value="10"/><rule context="Record">
          <assert test="$x = 1 and $y = 10">y</assert></rule></pattern>"""
    done = run(tmp_path, body, head, engine=engine)
    assert (done.fired.tolist(), done.violations) == ([1, 3], 0)


def test_dynamic_errors_are_findings_of_their_check_and_node(tmp_path: Path) -> None:
    body = """<pattern><rule context="Record"><let name="n" value="xs:integer(V1)"/>
      <assert test="$n &gt; 5">n</assert><assert test="V2 = 0">v2</assert><report test="V2 eq 0">e</report>
      <assert test="true()">fine</assert></rule></pattern>"""
    done = run(tmp_path, body, XSLT2)
    assert done.verdicts.tolist() == [[2, 1, 3, 1], [3, 3, 3, 1], [1, 1, 3, 1]]
    assert done.errors.tolist() == [1, 1, 3, 0]
    assert done.failed.tolist() == [1, 0, 0, 0]
    assert done.violations == 6
    assert {f.kind for f in done.findings if f.check == 2} == {"error"}
    assert all(f.message for f in done.findings if f.kind == "error")


def test_an_error_in_a_context_is_a_finding_and_no_silent_mismatch(tmp_path: Path) -> None:
    body = """<pattern><rule context="Record[V2 = 1]"><assert test="true()">a</assert></rule>
      <rule context="Record"><assert test="true()">b</assert></rule></pattern>"""
    done = run(tmp_path, body, XSLT2)
    assert done.verdicts.tolist() == [[0, 1], [3, 0], [1, 0]]
    assert (done.fired.tolist(), done.errors.tolist()) == ([1, 1], [1, 0])


@pytest.mark.parametrize("level", ["schema", "pattern"])
def test_an_error_in_a_variable_fails_what_reads_it_and_nothing_else(tmp_path: Path, level: str) -> None:
    let = "<let name='bad' value='xs:integer(string(/Data/Record[2]/V1))'/>"
    patterns = (
        '<pattern>{}<rule context="Record"><assert test="$bad = 1">a</assert>'
        '<assert test="V3 or V2">b</assert></rule></pattern>'
    ).format(let if level == "pattern" else "")
    done = run(tmp_path, (let if level == "schema" else "") + patterns, XSLT2)
    assert done.errors.tolist() == [3, 0]
    assert done.fired.tolist() == [3, 3]


def test_an_error_in_a_message_does_not_hide_the_failure(tmp_path: Path) -> None:
    done = run(tmp_path, rule("false()", message="a <value-of select='xs:integer(string(V1))'/> z"), XSLT2)
    assert done.failed.tolist() == [3]
    assert done.findings[0].message == "a 5 z"
    assert done.findings[1].message.startswith("a [Cannot convert")


def test_what_libxml2_cannot_evaluate_names_the_check(tmp_path: Path) -> None:
    body = rule("V1") + '<pattern><rule context="Record" id="bad"><assert test="count(5)">x</assert></rule></pattern>'
    where = f"{tmp_path / 'rules.sch'}:1, rule bad"
    with refused(RulebookError, "cannot-evaluate", expression="'count(5)'", where=where):
        run(tmp_path, body)


@ENGINES
def test_records_with_positions(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    body = rule("V1 = 9", "Record[2]") + rule("V1 = 9", "Record/*[1]")
    if engine == "libxml2":
        with refused(UsageError, "not-supported", construct="a context that takes more than linear time in libxml2"):
            run(tmp_path, body, head, engine=engine)
        return
    done = run(tmp_path, body, head, engine=engine)
    assert done.fired.tolist() == [1, 3]
    if not head:
        assert "Saxon" in run(tmp_path, body).engine


@ENGINES
@pytest.mark.parametrize(
    ("context", "fired"),
    [
        ("Record[V = current()/V][2]", "..hh"),
        ("*[current()/V = V][last()]", "..hh"),
        ("Record[3][V = current()/V]", "..h."),
        ("Record[V = current()/V]", "hhhh"),
    ],
)
def test_current_is_the_node_itself_in_a_context_with_positions(
    tmp_path: Path, context: str, fired: str, head: str, engine: EngineChoice
) -> None:
    """As in match patterns of Saxon; the context is no path from another node."""
    data = "<Data>" + "".join(f"<Record><V>{at % 2}</V></Record>\n" for at in range(4)) + "</Data>"
    done = run(tmp_path, rule("current() = .", context), head, data=data, engine=engine)
    assert "".join(".h"[int(verdict == Verdict.HOLDS)] for verdict in done.judged[:, 0]) == fired


@ENGINES
@pytest.mark.parametrize("context", ["V1 | V3", "(V1|V3)", "Record/V1 | //V3", "./V1|../V3", "Record/(V1|V3)"])
def test_contexts_beyond_match_patterns(tmp_path: Path, context: str, head: str, engine: EngineChoice) -> None:
    if "/(" in context and not head:
        pytest.skip("not XPath 1.0")
    assert run(tmp_path, rule("true()", context), head, engine=engine).fired.tolist() == [5]


@ENGINES
def test_nodes_outside_records_are_seen(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    data = DATA.replace("<Record id", "<Head><V3>9</V3></Head>\n<Record id", 1)
    done = run(tmp_path, rule("number(.) &lt; 9", "V3") + rule("count(//Record) = 2", "/"), head, data, engine)
    assert done.fired.tolist() == [3, 1]
    assert [(f.record, f.line, f.location) for f in done.findings] == [
        (-1, 2, "/Data/Head/V3"),
        (-1, 1, "/"),
    ]


@ENGINES
def test_namespaced_data(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    data = DATA.replace("<Data>", '<Data xmlns="urn:d">')
    body = '<ns prefix="a" uri="urn:d"/><ns prefix="b" uri="urn:d"/>' + (
        '<pattern><rule context="a:Record[b:V3]"><assert test="a:V1 = 5">x</assert></rule>'
        '<rule context="b:Record"><assert test="true()">x</assert></rule></pattern>' + rule("true()")
    )
    done = run(tmp_path, body, head, data, engine)
    assert done.fired.tolist() == [2, 1, 0]
    assert done.findings[0].location == "/Q{urn:d}Data/Q{urn:d}Record[2]"
    assert done.findings[0].kind == ("error" if head else "failed-assert")


@ENGINES
def test_the_figures_as_printed(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    good = {"V5": "3", "V15": "0.5", "V16": "1.5", "V9": "1", "V10": "2", "V14": "3", "V3": "7500", "V8": "1114"}
    good |= {"V13": "5", "V12": "5"}
    bad = [("V14", "4"), ("V16", "2"), ("V3", "7501"), ("V13", "6"), ("V8", ""), ("V3", "")]
    root = chunk_document(LAYOUT, [good, *({**good, name: value} for name, value in bad)])
    path = tmp_path / "data.xml"
    path.write_bytes(etree.tostring(root))
    text = (RULEBOOKS / "figures.sch").read_text()
    (tmp_path / "rules.sch").write_text(text.replace("<schema>", f"<schema {head}>"))
    done = evaluate(EvaluationRequest(path, read_rules(tmp_path / "rules.sch"), LAYOUT, engine=engine))
    assert done.fired.tolist() == [7] * 4
    failing = [np.flatnonzero(done.verdicts[:, k] == Verdict.FAILS).tolist() for k in range(4)]
    assert failing == [[1], [2], [3, 6], [4]]
    assert done.findings[0].message == "Linear Constraint total_others 1 + total_personal 2 != total_family 4"


def test_figure_5_reads_the_original(tmp_path: Path) -> None:
    original = tmp_path / "original.xml"
    original.write_text("<Data><Record><V1>5</V1></Record><Record><V1>7</V1></Record></Data>")
    data = tmp_path / "data.xml"
    data.write_text("<Data><Record><V1>7</V1></Record><Record><V1>6</V1></Record><Record/></Data>")
    rulebook = read_rules(RULEBOOKS / "figure-5.sch")
    done = evaluate(EvaluationRequest(data, rulebook, LAYOUT, original=original))
    assert done.verdicts[:, 0].tolist() == [Verdict.HOLDS, Verdict.FAILS, Verdict.ERROR]
    itself = evaluate(EvaluationRequest(data, rulebook, LAYOUT, original=data))
    assert itself.verdicts[:, 0].tolist() == [Verdict.HOLDS, Verdict.HOLDS, Verdict.ERROR]
    batch = RecordJudge(rulebook, LAYOUT, original=original)
    assert batch.verdicts(etree.parse(data).getroot())[:, 0].tolist() == [1, 2, 3]
    with refused(UsageError, "needs-setting"):
        RecordJudge(rulebook, LAYOUT)
    with refused(UsageError, "needs-setting"):
        evaluate(EvaluationRequest(data, rulebook, LAYOUT))


@pytest.mark.parametrize("engine", ["libxml2", "saxon"])
def test_document_in_xpath_1(tmp_path: Path, engine: EngineChoice) -> None:
    original = tmp_path / "o.xml"
    original.write_text("<Data><Record><V1>5</V1></Record></Data>")
    body = '<let name="o" value="document(\'m.xml\')"/>' + rule(
        "V1 = $ o//V1 and document('m.xml')/Data/Record/V1 = V1"
    )
    done = run(tmp_path, body, engine=engine, original=original)
    assert done.verdicts[:, 0].tolist() == [1, 2, 2]


@ENGINES
def test_chunks_do_not_matter(tmp_path: Path, head: str, engine: EngineChoice) -> None:
    rows = [{"V1": str(i % 7), "V2": str(i % 5)} for i in range(53)]
    path = tmp_path / "data.xml"
    path.write_bytes(etree.tostring(chunk_document(LAYOUT, rows), pretty_print=True))
    body = rule("number(V1) &lt; number(V2)") + rule("number(.) != 3", "V2") + rule("count(../Record) = 53")
    rulebook = rules(tmp_path, body, head)
    done = [
        evaluate(EvaluationRequest(path, rulebook, LAYOUT, engine=engine), chunk=size) for size in (1, 10, 53, 5000)
    ]
    for other in done[1:]:
        assert np.array_equal(other.verdicts, done[0].verdicts)
        assert other.findings == done[0].findings
    assert [f.line for f in done[0].findings if f.check == 0] == [2 + 4 * i for i in range(53) if i % 7 >= i % 5]
    assert done[0].failed.tolist() == [sum(i % 7 >= i % 5 for i in range(53)), sum(i % 5 == 3 for i in range(53)), 0]


def test_findings_are_capped_and_counts_are_not(tmp_path: Path) -> None:
    data = f"<Data>{'<Record><V1>1</V1><V1>1</V1></Record>' * 30}</Data>"
    seen: list[int] = []
    path = tmp_path / "data.xml"
    path.write_text(data)
    rulebook = rules(tmp_path, rule("false()", "V1") + rule("true()"))
    done = evaluate(EvaluationRequest(path, rulebook, LAYOUT, limit=7, progress=seen.append), chunk=4)
    assert done.failed.tolist() == [60, 0]
    assert [f.record for f in done.findings] == [0, 0, 1, 1, 2, 2, 3]
    assert seen == [4, 8, 12, 16, 20, 24, 28, 30]


@pytest.mark.full
def test_true_lines_beyond_what_libxml2_counts(tmp_path: Path) -> None:
    path = tmp_path / "data.xml"
    path.write_text("<Data>" + "\n<Record><V1>1</V1>\n<V2>2</V2></Record>" * 40_000 + "</Data>")
    done = evaluate(
        EvaluationRequest(path, rules(tmp_path, rule("../V1 = 2 or count(../../x) = 0", "V2[. = 3]")), LAYOUT)
    )
    assert done.fired.tolist() == [0]
    text = path.read_text()
    at = text.rindex("<V2>2")
    path.write_text(f"{text[:at]}<V2>3{text[at + 5 :]}")
    done = evaluate(EvaluationRequest(path, rules(tmp_path, rule("../V1 = 2", "V2[. = 3]")), LAYOUT))
    assert [(f.record, f.line) for f in done.findings] == [(39_999, 80_001)]


def test_no_records(tmp_path: Path) -> None:
    path = tmp_path / "data.xml"
    path.write_text("<Data/>")
    done = evaluate(EvaluationRequest(path, rules(tmp_path, rule("V1") + rule("not(Record)", "Data")), LAYOUT))
    assert done.verdicts.shape == (0, 2)
    assert done.fired.tolist() == [0, 1]


def test_a_batch_is_cheap_and_has_the_columns_of_the_rulebook(tmp_path: Path) -> None:
    rulebook = rules(tmp_path, rule("V1 = 1") + rule("count(//Record) = 1") + rule("V2 = 2"))
    batch = RecordJudge(rulebook, LAYOUT)
    assert batch.checks == {0, 2}
    root = chunk_document(LAYOUT, [{"V1": "1"}, {"V2": "2"}])
    assert batch.verdicts(root).tolist() == [[1, 0, 2], [2, 0, 1]]
    assert RecordJudge(rulebook, LAYOUT, checks=[2]).verdicts(root).tolist() == [[0, 0, 2], [0, 0, 1]]
    assert batch.verdicts(chunk_document(LAYOUT, [])).shape == (0, 3)
    assert RecordJudge(rulebook, LAYOUT, checks=[]).verdicts(root).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_libxml2_is_refused_for_later_versions(tmp_path: Path) -> None:
    with refused(UsageError, "not-supported", construct="XPath 2.0 in libxml2"):
        run(tmp_path, rule("V1"), XSLT2, engine="libxml2")


LOCAL = [
    ("V1 + V2 = V3", 0),
    ("../V7", 1),
    ("count(preceding-sibling::*)", 1),
    ("every $x in V1 satisfies $x &gt; 2".replace("&gt;", ">"), 0),
    ("if (V1) then V2 else V3", 0),
    ("xs:integer(V1) = 3 and V1 castable as xs:integer", 0),
    ("document('m.xml')//Record/V1 = V1", 0),
    ("V1[last()] and V2[../V3]", 0),
    ("current()/V1", 0),
    ("matches(V1, 'a') and abs(V1 - V2) <= 2", 0),
    ("sum((V1, V2)) to 3", 0),
    ("5 + 3", -1),
    ("document('m.xml')//V1", -1),
]
WHOLE = [
    ("../V7", 0),
    ("V1/../../x", 0),
    ("/Data/V1", 0),
    ("//V1", 0),
    ("V1[/Data]", 0),
    ("preceding-sibling::*", 0),
    ("ancestor::*", 1),
    ("following::V1", 1),
    ("root(.)//V1", 0),
    ("root()//V1", 0),
    ("id('a')", 0),
    ("lang('en')", 0),
    ("path(.)", 0),
    ("V1 or unknown-function(V2)", 0),
    ("some $x in . satisfies $x/..", 0),
    ("for $x in V1 return $x/../..", 0),
    ("V1", -1),
    (".", -1),
    ("string()", -1),
    ("function($a) { $a }(1)", 0),
    ("$undeclared", 0),
    ("V1 = (", 0),
]


@pytest.mark.parametrize(("expression", "depth"), LOCAL)
def test_local_expressions(expression: str, depth: int) -> None:
    assert why_not_local(expression, (), depth) == ""


@pytest.mark.parametrize(("expression", "depth"), WHOLE)
def test_expressions_that_need_the_document(expression: str, depth: int) -> None:
    assert why_not_local(expression, (), depth)


CONTEXTS = [
    ("Record", True),
    ("/Data/Record", True),
    ("Data/Record[V1 = 2]/V3", True),
    ("V3", True),
    ("Record/*", True),
    ("Record/@id", True),
    ("Record//text()", True),
    ("Record/V3[1]", True),
    ("Record[1]", False),
    ("Record[last()]/V3", False),
    ("Record[preceding-sibling::Record]", False),
    ("Record[../@year]", False),
    ("Data[@year]/Record", False),
    ("/", False),
    ("Data", False),
    ("*", False),
    ("@*", False),
    ("text()", False),
    (".", False),
    ("node()", False),
    ("V3 | /", False),
    ("Record[$all > 2]", False),
]


@pytest.mark.parametrize(("context", "local"), CONTEXTS)
def test_contexts(tmp_path: Path, context: str, *, local: bool) -> None:
    body = f'<let name="all" value="count(//Record)"/>{rule("V1", context.replace(">", "&gt;"))}'
    (reason,) = locality(rules(tmp_path, body), LAYOUT)
    assert (reason == "") is local


def test_a_rule_after_one_that_needs_the_document_needs_it_too(tmp_path: Path) -> None:
    body = """<pattern><rule context="Record[1]"><assert test="V1"/></rule>
      <rule context="V2"><assert test="."/></rule>
      <rule context="Record"><assert test="V1"/></rule></pattern>"""
    assert [bool(reason) for reason in locality(rules(tmp_path, body), LAYOUT)] == [True, False, True]


def test_names_that_also_stand_outside_the_records(tmp_path: Path) -> None:
    rulebook = rules(tmp_path, rule("V1") + rule(".", "V3") + rule(".", "Record/V3"))
    assert [bool(r) for r in locality(rulebook, LAYOUT, frozenset({"V3"}))] == [False, True, False]
    assert [bool(r) for r in locality(rulebook, LAYOUT, frozenset({"V3", "Record"}))] == [True, True, True]


@pytest.mark.full
@pytest.mark.parametrize("head", ["", XSLT2])
def test_a_list_of_codes_may_be_long(tmp_path: Path, head: str) -> None:
    codes = range(3, 1500)
    body = "".join(rule(test) for test in (" or ".join(f"V1 = {code}" for code in codes), "V2 + " * 1500 + "0 = 0"))
    assert run(tmp_path, body, head).fired.tolist() == [3, 3]


def test_a_chain_leaves_the_record_with_any_of_its_operands() -> None:
    assert why_not_local("../A or B or C", (), 0, {}) == "a step to the parent of the record"
    assert why_not_local("A or ../B or C", (), 0, {}) == "a step to the parent of the record"
    assert why_not_local("A or B or //C", (), 0, {}) == "an absolute path"
    assert why_not_local("A or B or C", (), 0, {}) == ""
