"""Whole rulebooks over columns against the engine that decides: contexts, first match, variables, reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from columns_twin import batch_of
from examples import examples, parts, spread
from masktron.judge.columns.items import Outcome
from masktron.judge.columns.program import ColumnProgram, compile_program
from masktron.judge.exact import RecordJudge, evaluate
from masktron.judge.findings import Verdict
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schema import Check, Pattern, Rule, Rulebook
from masktron.sources.record_layout import Field, Layout
from masktron.sources.xml.microdata import chunk_document
from rulebook_builder import HERE, layout, lets, rulebook
from xpath1_strategies import booleans, lexemes

LAYOUT = layout("@id", "V1", "V2", "V3", "name")
NAMES = tuple(f.name for f in LAYOUT.fields)
type Row = Mapping[str, str | None]
VALUES = (None, "", "5", "7", "2", "-1", "0.3", "x")
ROWS: list[Row] = [
    {"V1": a, "V2": b, "V3": VALUES[(3 * i + j) % 8], "@id": VALUES[(i + j) % 8], "name": VALUES[(5 * j + i) % 8]}
    for i, a in enumerate(VALUES)
    for j, b in enumerate(VALUES)
]


def whole(book: Rulebook, of: Layout = LAYOUT) -> tuple[ColumnProgram, tuple[str, ...]]:
    return compile_program(book, of, range(len(book.checks)))


def verdicts(outcome: Outcome) -> np.ndarray:
    fails = np.where(outcome.failed > 0, Verdict.FAILS, Verdict.HOLDS)
    return np.where(outcome.fired > 0, fails, Verdict.NOT_FIRED)


def agrees(book: Rulebook, rows: Sequence[Row], of: Layout = LAYOUT) -> tuple[Outcome, tuple[str, ...]]:
    """Compare what the program is sure of with the engine, and return what it said."""
    program, reasons = whole(book, of)
    outcome = program.evaluate(batch_of(of, rows))
    columnar = [k for k, reason in enumerate(reasons) if not reason]
    assert program.checks == set(columnar)
    engine = RecordJudge(book, of, checks=columnar)
    wanted = engine.verdicts(chunk_document(of, rows)) if columnar else np.zeros(outcome.fired.shape)
    sure = ~outcome.unsure
    assert not outcome.fired[~sure].any() and not outcome.failed[~sure].any()
    np.testing.assert_array_equal(verdicts(outcome)[sure], wanted[sure])
    return outcome, reasons


def counted(book: Rulebook, rows: Sequence[Row], folder: Path) -> Outcome:
    """Compare the numbers of nodes, too, of a rulebook that is columnar on data that are plain."""
    outcome, reasons = agrees(book, rows)
    assert not any(reasons) and not outcome.unsure.any()
    path = folder / "data.xml"
    path.write_bytes(b"<Records>" + batch_of(LAYOUT, rows).buffer.tobytes() + b"</Records>")
    done = evaluate(EvaluationRequest(path, book, LAYOUT))
    assert done.fired.tolist() == outcome.fired.sum(axis=0, dtype=int).tolist()
    assert done.failed.tolist() == outcome.failed.sum(axis=0, dtype=int).tolist()
    return outcome


CONTEXTS = [
    *("Record", "/Records/Record", "//Record", "Records/Record", "Records//Record", "./Record", "self::Record"),
    *("Record[V1 > 4]", "Record[V1][V2 = 5]", "Record[not(V1)]", "Record[@id = 5 or V9]", "Record[V1 = V2]"),
    *("V3", "Record/V3", "//V3", "/Records/Record/V3", "Records//V3", "V3[. > 2]", "Record[V1 > 4]/V3[. > 2]"),
    *(
        "V3[1]",
        "V3[2]",
        "Record/V3[last()]",
        "V3[../V1 = current()]",
        "Record[V1 = current()]/V3",
        "../V3",
        "Record//V3",
        "child::V3",
    ),
    *("@id", "Record/@id", "//@id", "/Records/Record/@id", "@id[. = 5]", "Record[V2 = 5]/@id", "attribute::id"),
    *("Record/*", "Record/@*", "Record/*[. = 5]", "Record/*[local-name() = 'V1']", "Record/*[not(self::V1)]"),
    *("V1 | V2", "Record | V3", "Record[V1 = 5] | Record[V2 = 5]", "V1[. = 5] | V1[. = 7]"),
    *("V9", "Household", "/Record", "Record/Record", "V1/V2", "Records/V1", "Record[V9]", "name", "V1/@id", "p:V1"),
]


@pytest.mark.parametrize("context", spread(CONTEXTS, every=2))
@pytest.mark.parametrize("kind", parts(["assert", "report"], 1))
def test_contexts(context: str, kind: Literal["assert", "report"], tmp_path: Path) -> None:
    test = "boolean(self::Record) and V1 > 4 or not(self::Record) and . = 5"
    if "Record" in context.rpartition("/")[2]:
        test = "V1 > 4"
    if "|" in context:
        test = "V1 or local-name() = 'V1'"
    counted(rulebook([(context, test)], kind=kind, namespaces={"p": "urn:p"}), ROWS, tmp_path)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ("*", "above the records"),
        ("//*", "above the records"),
        ("Records", "above the records"),
        ("/Records", "above the records"),
        ("/", "the document"),
        ("text()", "other nodes"),
        ("V1/text()", "other nodes"),
        ("comment()", "other nodes"),
        ("node()", "other nodes"),
        (".", "other nodes"),
        ("Record[1]", "for Saxon"),
        ("Record[position() < 5]", "for Saxon"),
        ("Record/*[1]", "for Saxon"),
        ("Records[Record]/Record", "above the records"),
        ("Record[../Record/V1 = 5]", "parent of the record"),
        ("Record[count(preceding-sibling::Record) = 0]", "no evaluation"),
        ("V1/..", "for Saxon"),
        ("V1/parent::Record", "for Saxon"),
    ],
)
def test_contexts_that_only_an_engine_follows(context: str, why: str) -> None:
    program, reasons = whole(rulebook([(context, "true()")]))
    assert why in reasons[0], reasons
    assert not program.checks and not program.evaluate(batch_of(LAYOUT, ROWS)).fired.any()


def test_attributes_above_the_records() -> None:
    known = replace(LAYOUT, root_attributes=(("id", "3"),))
    deep = replace(LAYOUT, record_path=("Records", "Part", "Record"))
    for where, context, refused in [
        (known, "@id", True),
        (known, "Record/@id", False),
        (known, "//@*", True),
        (LAYOUT, "@id", False),
        (deep, "@id", True),
        (deep, "Record/@id", False),
        (deep, "Part/Record[@id = 5]", False),
        (deep, "Records/Record", False),
        (deep, "Records//Record", False),
    ]:
        book = rulebook([(context, ". = 5")]) if "@id" in context[-3:] else rulebook([(context, "true()")])
        _, reasons = agrees(book, ROWS, where)
        assert bool(reasons[0]) == refused, (context, reasons)


FIRST_MATCH = [
    [("Record[V1 = 5]", "V2 = 5"), ("Record[V2 = 5]", "V3 > 2"), ("Record", "V1 = 7")],
    [("Record", "V1 = 7"), ("Record[V1]", "false()")],
    [("V3[. > 2]", ". = 5"), ("V3 | V1", ". > 4"), ("Record/*", ". < 4"), ("Record", "V1")],
    [("@id", ". = 5"), ("Record/@*", "false()"), ("Record[@id]", "V1 = @id")],
    [("Record[V1 = 5]/V2", ". > 4"), ("Record[V2]/V2[. < 5]", ". = 2"), ("//V2", "../V1")],
]


@pytest.mark.parametrize("rules", FIRST_MATCH)
def test_a_node_fires_the_first_rule_that_takes_it(rules: list[tuple[str, str]], tmp_path: Path) -> None:
    outcome = counted(rulebook(rules), ROWS, tmp_path)
    assert outcome.fired.any()


def test_what_only_an_engine_follows_closes_the_later_rules_on_its_nodes() -> None:
    rules = [
        ("V1", ". = 5"),
        ("Record[../Record]", "V1"),
        ("V2 | Record", "true()"),
        ("V3", ". = 5"),
        (".", "1"),
        ("V1", "1"),
    ]
    _, reasons = agrees(rulebook(rules), ROWS)
    assert [bool(reason) for reason in reasons] == [False, True, True, False, True, True]
    assert reasons[2].startswith("an earlier rule of the pattern: ") and reasons[5].startswith("an earlier rule")


def test_a_pattern_that_saxon_decides_is_not_evaluated_as_libxml2_would() -> None:
    # an exponent is no number in XPath 1.0, and one for Saxon
    book = rulebook([("V1", ". = 1000"), ("Record[1]", "V1")])
    rows = [{"V1": "1e3"}]
    assert RecordJudge(book, LAYOUT, checks=[0, 1]).verdicts(chunk_document(LAYOUT, rows))[0, 0] == Verdict.HOLDS
    assert all(agrees(book, rows)[1])
    alone, reasons = agrees(rulebook([("V1", ". = 1000")]), rows)
    assert not any(reasons) and alone.failed.tolist() == [[1]]


def test_a_context_above_the_records_takes_records_from_later_rules() -> None:
    _, reasons = agrees(rulebook([("*", "true()"), ("Record", "V1 = 5"), ("@id", ". = 5")]), ROWS)
    assert [bool(reason) for reason in reasons] == [True, False, False]


def test_an_unsure_context_leaves_the_later_rules_unsure() -> None:
    rows = [{"V1": "a&b"}, {"V1": "5"}, {"V1": "7", "V2": "a&b"}, {"V2": "a&b"}]
    book = rulebook([("Record[V1 = 5]", "V2 = 5"), ("Record", "not(V2)"), ("V2", ". != 3")])
    outcome, reasons = agrees(book, rows)
    assert not any(reasons)
    assert outcome.unsure.tolist() == [
        [True, True, False],
        [False, False, False],
        [False, True, True],
        [False, True, True],
    ]


def test_odd_cells_count_where_they_are_read() -> None:
    rows = [{"V1": "a&b"}, {"V2": "a&b"}, {"V3": "a&b"}, {"V1": "5", "V2": "a&b"}]
    book = rulebook([("Record[V1 = 5]", "V2 = 5"), ("Record", "V3"), ("V1", "true()"), ("V2", "../V1")])
    outcome, _ = agrees(book, rows)
    assert outcome.unsure.tolist() == [
        [True, True, True, False],
        [False, False, False, True],
        [False, True, False, False],
        [True, False, False, True],
    ]
    program, _ = whole(book)
    assert [program.reads(k) for k in range(4)] == [{1, 2}, {1, 3}, {1}, {1, 2}]


def test_odd_records_are_unsure() -> None:
    batch = replace(batch_of(LAYOUT, ROWS), odd=np.arange(len(ROWS)) % 3 == 0)
    program, _ = whole(rulebook([("Record[V1 = 5]", "V2"), ("V3", ". = 5")]))
    outcome = program.evaluate(batch)
    assert outcome.unsure[::3].all() and not outcome.unsure[1::3].any()
    assert not outcome.fired[::3].any()


def test_a_test_that_is_unsure_counts_only_where_its_rule_fires() -> None:
    rows = [{"V1": "5", "V2": "a&b"}, {"V1": "6", "V2": "a&b"}]
    outcome, _ = agrees(rulebook([("Record[V1 = 5]", "V2 = 1000")]), rows)
    assert outcome.unsure.tolist() == [[True], [False]]


def test_variables(tmp_path: Path) -> None:
    book = rulebook(
        [("V3[. > $bound]", "../V1[. = $bound] or $both"), ("V1[. != $bound]", "$own[2] or $own = . and not($far)")],
        schema_lets={"bound": "2 + 2", "far": "1 > 2"},
        pattern_lets={"bound": "$bound - 1"},
        rule_lets={"both": "../V2 = 5", "bound": "5", "own": "../V2"},
    )
    counted(book, ROWS, tmp_path)
    values = {"a": "V1", "b": "V2 + 1", "c": "concat('x', V3)"}
    counted(rulebook([("Record", "$a[. > $b] or $c = 'x5'")], rule_lets=values), ROWS, tmp_path)


def test_variables_are_seen_by_what_uses_them_alone() -> None:
    # on a record, the step to its parent leaves it; on a field it does not
    book = rulebook([("Record", "$up"), ("V3", "$up = 5"), ("V1", "1")], rule_lets={"up": "../V1"})
    _, reasons = agrees(book, ROWS)
    assert reasons[0].startswith("$up: ") and not reasons[1] and not reasons[2]


def test_variables_that_read_the_document_are_for_an_engine() -> None:
    book = rulebook(
        [("Record", "V1 = $all"), ("V3", ". = $here"), ("Record/V1", "$fine = 1")],
        schema_lets={"all": "count(//Record)", "here": ".", "fine": "1"},
    )
    _, reasons = whole(book)
    assert [bool(reason) for reason in reasons] == [True, True, False]
    assert "$all" in reasons[0]


def test_patterns_are_apart() -> None:
    checks = [Check(f"c{k}", k, "assert" if k % 2 else "report", "V1 = 5", (), HERE) for k in range(4)]
    first = Pattern("a", lets({"x": "1"}), (Rule("Record[V2]", (), (checks[0], checks[1]), HERE),), HERE, "1.0")
    second = Pattern(
        "b", (), (Rule("Record", (), (checks[2],), HERE), Rule("V1", (), (checks[3],), HERE)), HERE, "1.0"
    )
    book = replace(rulebook([("Record", "1")]), patterns=(first, second))
    outcome, reasons = agrees(book, ROWS)
    assert not any(reasons) and (outcome.fired.sum(axis=0) > 0).all()


def test_only_the_checks_that_are_asked_for() -> None:
    book = rulebook([("Record[V1 = 5]", "V2"), ("Record", "V3"), ("V1", ". = 5")])
    program, reasons = compile_program(book, LAYOUT, [1])
    assert [bool(reason) for reason in reasons] == [True, False, True]
    full, _ = whole(book)
    batch = batch_of(LAYOUT, ROWS)
    np.testing.assert_array_equal(program.evaluate(batch).failed[:, 1], full.evaluate(batch).failed[:, 1])
    assert not program.evaluate(batch).fired[:, [0, 2]].any()
    assert program.reads(0) == frozenset()


def test_namespaces() -> None:
    tag = "{urn:d}"
    fields = (Field("V1", f"{tag}V1"), Field("V2", "V2"), Field("V3", "{urn:e}V3"))
    there = Layout((f"{tag}Records", f"{tag}Record"), fields)
    spaces = {"d": "urn:d", "e": "urn:e", "again": "urn:d"}
    rules = [
        ("d:Record[d:V1 = 5]", "V2 = 5"),
        ("again:Record/e:V3", ". = ../again:V1"),
        ("Record", "false()"),
        ("V1", "false()"),
        ("d:Record/e:*", "false()"),
        ("d:Record", "d:* > 4 and not(V1) and local-name(d:V1) = 'V1' and count(*) = 3"),
        ("d:V1", "namespace-uri() = 'urn:d' and name(..) = 'Record'"),
    ]
    book = rulebook(rules, namespaces=spaces)
    program, reasons = whole(book, there)
    assert [bool(reason) for reason in reasons] == [False] * 6 + [True]
    rows = [{"V1": a, "V2": b, "V3": a} for a in VALUES for b in VALUES]
    engine = RecordJudge(book, there, checks=range(7)).verdicts(chunk_document(there, rows))
    plain = replace(there, record_path=("Records", "Record"), fields=tuple(Field(f.name, f.name) for f in fields))
    batch = replace(batch_of(plain, rows), layout=there)
    np.testing.assert_array_equal(verdicts(program.evaluate(batch))[:, :6], engine[:, :6])
    assert (engine[:, [0, 1, 5]] > 0).any(axis=0).all() and not engine[:, 2:5].any()


def test_expressions_that_are_not_columnar_say_why() -> None:
    for test, why in {
        "//V1 = 5": "absolute",
        "/Records/Record/V1 = 5": "absolute",
        "document('x')//V1 = V1": "document()",
        "../Record": "parent of the record",
        "preceding-sibling::Record": "preceding-sibling",
        "string(.) = '5'": "text of the whole record",
        "$unknown = 1": "not known",
        "V1 = (": "not understood",
        "lang('en')": "lang",
        " or ".join(f"V1 = {k}" for k in range(300)): "",
        "not(" * 130 + "V1" + ")" * 130: "nested too deeply",
        "(" * 100 + "V1" + ")" * 100: "",
    }.items():
        _, reasons = whole(rulebook([("Record", test)]))
        assert why in reasons[0] and bool(reasons[0]) == bool(why), (test, reasons)


@examples(30, full=150)
@given(
    st.lists(st.tuples(st.sampled_from(CONTEXTS), booleans(texts=False, depth=2)), min_size=1, max_size=4),
    st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, lexemes(plain=False))), max_size=6),
    st.sampled_from(["assert", "report"]),
)
def test_any_rulebook(rules: list[tuple[str, str]], rows: list[Row], kind: Literal["assert", "report"]) -> None:
    agrees(rulebook(rules, kind=kind), rows)


def test_empty_batches() -> None:
    outcome, _ = agrees(rulebook([("Record[V1 = V2]", "string(V1) = 'x'"), ("V3", "sum(../V1 | . | ../V2) = 5")]), [])
    assert outcome.fired.shape == (0, 2)


XPATH2 = [
    [("Record[V1 = 5]", "V2 = 5"), ("Record[V2 = 5]", "V3 > 2"), ("Record", "V1 = 7")],
    [("Record[V1 > 4]", "V2"), ("Record/V3[. > 2]", ". = 5"), ("V3", "number(.) = number(.)")],
    [("V3[xs:integer(.) = 5]", "true()"), ("V3 | V1", ". = '5'"), ("Record", "V1 = 5")],
    [("Record[V1 = 'x'] | Record[xs:integer(V1) > 4]", "exists(V2)"), ("Record", "empty(V2)")],
    [("Record[every $f in (V1, V2) satisfies $f = '5']", "V3"), ("Record/@id[. = ('5', '7')]", ". eq ../V1")],
    [("V3[1]", ". = '5'"), ("*:V1", ". = '5'"), ("Record[@id castable as xs:integer]", "xs:integer(@id) > 4")],
]


@pytest.mark.parametrize("rules", XPATH2)
@pytest.mark.parametrize("kind", ["assert", "report"])
def test_rules_of_later_versions(rules: list[tuple[str, str]], kind: Literal["assert", "report"]) -> None:
    """An error in a context, or in one of its alternatives, leaves the later rules to Saxon."""
    outcome, reasons = agrees(rulebook(rules, version="2.0", kind=kind), ROWS)
    assert not all(reasons)
    assert outcome.fired.any()


@pytest.mark.parametrize("context", CONTEXTS)
def test_contexts_of_later_versions(context: str) -> None:
    book = rulebook([(context, "true()")], version="2.0", kind="report", namespaces={"p": "urn:p"})
    agrees(book, ROWS)
