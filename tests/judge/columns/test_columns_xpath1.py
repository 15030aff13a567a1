"""XPath 1.0 over columns against an evaluator of its Recommendation, record by record."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from columns_twin import TwinBatch, batch_of
from differential.xpath1 import Context, Node, compiled, document, to_boolean
from examples import examples, spread
from masktron.judge.columns.expressions import compile_test
from masktron.judge.columns.items import NotColumnar, Truth
from masktron.judge.columns.state import ColumnScope, Dialect
from masktron.judge.columns.xpath1 import XPATH1
from masktron.judge.columns.xpath2 import XPATH2
from masktron.sources.columns import Cell
from masktron.sources.record_layout import Layout
from rulebook_builder import layout
from xpath1_strategies import ODD, PLAIN, booleans, lexemes

LAYOUT = layout("@id", "V1", "V2", "V3", "name")
SCOPE = ColumnScope((), LAYOUT, XPATH1)
type Row = Mapping[str, str | None]


def every_pair() -> list[Row]:
    """Records in which V1 and V2 take all pairs of lexemes, and the others some."""
    values = [None, *PLAIN, *ODD]
    pairs = [(one, other) for one in values for other in values]
    size = len(values)
    return [
        {"V1": a, "V2": b, "V3": values[(3 * k + k // size) % size], "@id": values[(7 * k) % size], "name": b}
        for k, (a, b) in enumerate(pairs)
    ]


ROWS = every_pair()
BATCH = batch_of(LAYOUT, ROWS[::3])
SOME = batch_of(LAYOUT, ROWS[::17])


@lru_cache(maxsize=8)
def nodes_of(batch: TwinBatch, focus: int | None) -> list[Node | None]:
    """The node that each record is evaluated on; None where it is absent."""
    roots = (document(b"<Records>%s</Records>" % batch.record(i)) for i in range(len(batch)))
    records = [root.children[0].children[0] for root in roots]
    if focus is None:
        return list(records)
    name = batch.layout.fields[focus].tag
    return [next((n for n in record.children if n.local == name), None) for record in records]


def odd_rows(batch: TwinBatch, fields: frozenset[int]) -> np.ndarray:
    found = np.zeros(len(batch), dtype=bool)
    for at in fields:
        found |= batch.cells[at].status == Cell.ODD
    return found


def agrees(source: str, batch: TwinBatch, focus: int | None = None) -> Truth:
    """Compile a test, compare it with the Recommendation where it is sure, and return what it said."""
    test = compile_test(source, ColumnScope((), batch.layout, XPATH1).on(focus))
    truth = test.truth(batch)
    assert truth.holds.shape == truth.unsure.shape == (len(batch),)
    unknown = truth.unsure | odd_rows(batch, test.fields | ({focus} if focus is not None else frozenset()))
    wanted = compiled(source, {})
    for i, node in enumerate(nodes_of(batch, focus)):
        if node is not None and not unknown[i]:
            said = to_boolean(wanted(Context(node, 1, 1, {}, node)))
            assert bool(truth.holds[i]) == said, (source, batch.record(i))
    return truth


def test_three_valued_connectives() -> None:
    """What is unsure on one side only matters where the other leaves it open."""
    rows = [{"V1": a, "V2": "", "V3": c} for a in ("5", "0") for c in ("5", "0")]
    batch = batch_of(LAYOUT, [*rows, {"V1": "5", "V3": "5"}])
    # of two fields of which one is empty the first is not known
    cells = tuple(replace(c, start=np.where(c.status == Cell.EMPTY, 0, c.start)) for c in batch.cells)
    batch = replace(batch, cells=cells)
    unsure, sure = "(V1 | V2) = 5 and string(V1 | V2) = '5'", "V3 > 1"
    assert agrees(f"{unsure} and {sure}", batch).unsure.tolist() == [True, False, False, False, False]
    assert agrees(f"string(V1 | V2) = '5' or {sure}", batch).unsure.tolist() == [False, True, False, True, False]
    both = f"string(V1 | V2) = '5' and {sure} and V9 = 1 or not({sure})"
    assert not agrees(both, batch).unsure.any()


def test_what_is_no_number_of_xpath_1_is_known() -> None:
    """An exponent, a plus sign and INF are for no engine to say; nor are the digits of a number."""
    values = ["1e3", "+5", "INF", "-1E-2", "0.1", "1.14", "123456789012345678901234567890"]
    batch = batch_of(LAYOUT, [{"V1": a, "V2": b} for a in values for b in values])
    for source in (
        "V1 > V2",
        "number(V1) = number(V1)",
        "string(V1 + V2) = concat(V1, '')",
        "number(concat(V1, 'e3')) = 1",
    ):
        assert not agrees(source, batch).unsure.any()
    assert agrees("V1 = 114 div 100 and V1 = 1.14 and V1 = '1.14'", batch).holds.any()


def test_an_empty_cell_need_not_have_a_place() -> None:
    """Which of two fields comes first is asked of the cells, and an empty one may not know."""
    batch = batch_of(LAYOUT, [{"V1": "5", "V2": ""}, {"V1": "5", "V2": "7"}, {"V1": "5"}, {"V2": ""}])
    cells = tuple(replace(c, start=np.where(c.status == Cell.EMPTY, 0, c.start)) for c in batch.cells)
    truth = agrees("string(V1 | V2) = '5'", replace(batch, cells=cells))
    assert truth.unsure.tolist() == [True, False, False, False]
    assert not agrees("sum(V1 | V2 | V3) = 12", replace(batch, cells=cells)).unsure.any()


@pytest.mark.parametrize("codec", ["utf-8", "iso8859-1", "cp1252"])
@pytest.mark.parametrize("longest", [9, 70])
def test_texts_are_compared_in_every_encoding(codec: str, longest: int) -> None:
    """As bytes where these tell, and as texts where they do not: another encoding, a long text."""
    values = [None, "", "é", "è", "eé", "é" * longest, "é" * (longest - 1) + "e", "ab", "abc", "b"]
    rows = [{"V1": a, "V2": b} for a in values for b in values]
    batch = batch_of(LAYOUT, rows)
    cells = []
    text = batch.buffer.tobytes()
    for c in batch.cells:
        start = [len(text[:k].decode().encode(codec)) for k in c.start.tolist()]
        stop = [len(text[:k].decode().encode(codec)) for k in c.stop.tolist()]
        # where no cell is, the places mean nothing
        empty = c.status == Cell.ABSENT
        cells.append(replace(c, start=np.where(empty, 3, start), stop=np.where(empty, 9, stop)))
    other = np.frombuffer(text.decode().encode(codec), dtype=np.uint8)
    batch = replace(batch, buffer=other, codec=codec, cells=tuple(cells))
    wanted = [a is not None and b is not None and a == b for a in values for b in values]
    for test, expected in {
        "V1 = V2": wanted,
        "V1 != V2": [a is not None and b is not None and a != b for a in values for b in values],
        "V1 = 'é'": [row["V1"] == "é" for row in rows],
        "V1 != ''": [bool(row["V1"]) for row in rows],
        "V1 = ''": [row["V1"] == "" for row in rows],
        "V1 = 'Ж'": [False] * len(rows),
        "V1 = 'ab' or V1 = 'abc'": [row["V1"] in ("ab", "abc") for row in rows],
        "V1 = concat('é', '')": [row["V1"] == "é" for row in rows],
    }.items():
        truth = compile_test(test, SCOPE).truth(batch)
        assert truth.holds.tolist() == expected, test
        assert not truth.unsure.any()


OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
OPERANDS = ["V1", "(V1|V3)", "V9", "number(V1)", "string(V1)", "boolean(V1)", "5", "'5'", "''", "true()", "0 div 0"]
RIGHT = ["V2", "(V2|@id)", "V9", "string(V2)", "number(V2)", "boolean(V2)", "5", "'5'"]


@pytest.mark.parametrize(
    ("right", "left", "operator"), spread(itertools.product(RIGHT, OPERANDS, OPERATORS), every=13)
)
def test_comparisons_of_all_types(operator: str, left: str, right: str) -> None:
    agrees(f"{left} {operator} {right}", SOME)


@pytest.mark.parametrize(
    "source",
    spread(
        [
            *(f"V1 {operator} V2 = V3" for operator in ("+", "-", "*", "div", "mod")),
            *(f"1 div (V1 {operator} V2) < 0" for operator in ("+", "-", "*", "div", "mod")),
            "- V1 = V2",
            "- - V1 = V1",
            "1 div - V1 = 1 div V2",
            "- V1 * V2 > 3 - V3",
            *(f"{function}(V1) = V2" for function in ("floor", "ceiling", "round", "number")),
            *(f"1 div {function}(V1) < 0" for function in ("floor", "ceiling", "round", "number")),
            "round(V1 div V2) = V3",
        ],
        every=2,
    ),
)
def test_arithmetic_bit_by_bit(source: str) -> None:
    agrees(source, BATCH)


@pytest.mark.parametrize(
    "source",
    spread(
        [
            "string-length(V1) > string-length(V2)",
            "normalize-space(V1) = normalize-space(V2)",
            "contains(V1, V2)",
            "starts-with(V1, V2)",
            "substring(V1, 2) = '.5'",
            "substring(V1, V2) = V1",
            "substring('12345', V1, V2) = '345'",
            "substring('12345', V1, V2) = ''",
            "substring('12345', -42, 1 div 0) = '12345'",
            "substring('12345', -1 div V1) = '12345'",
            "substring('12345', -1 div V1, 1 div V2) = '12345'",
            "substring-before(V1, V2) = ''",
            "substring-after(V1, V2) = V1",
            "substring-before(V1, '.') = substring-after(V2, '.')",
            "translate(V1, '0123456789', '') = ''",
            "translate(V1, V2, 'xyz') = V1",
            "translate(V1, '5575', 'abcd') = translate(V2, '57', 'ac')",
            "translate(V1, '5575', 'abcd') = 'a'",
            "concat(V1, V2) = concat(V2, V1)",
            "concat(V1, '|', V2, '|', V3) = '5|7|'",
            "string(number(V1)) = V2",
            "string(V1 = V2) = 'true'",
            "string(number(V1)) = V1",
            "string(number(V1)) = 'Infinity'",
            "string(1 div V1) = '-Infinity' or string(0 * V1) = '0'",
            "number(substring(V1, 1, 2)) > number(V2)",
            "string(V1 | V2 | V3) = V2",
            "number(@id | V2) > 3",
            "boolean(string(V1))",
            "string(1000 * V1) = '5000'",
        ],
        every=2,
    ),
)
def test_functions_on_texts(source: str) -> None:
    agrees(source, BATCH)


@pytest.mark.parametrize(
    "source",
    spread(
        [
            "V1",
            "not(V1)",
            "V1 or V2 and not(V3)",
            "count(V1 | V2 | @id) = 2",
            "count(*) > count(@*) + 1",
            "sum(V1 | V2 | V3) = 0.6",
            "sum(*) > 5.14",
            "V1[. > V2]",
            "V1[. > ../V2]",
            "V1[number(.) = number(.)]",
            "V1[1] = V2[last()]",
            "V1[2]",
            "V1[count(../V2)]",
            "V1[. > 2][. < 10]",
            "*[local-name() = 'V1'] > 5",
            "*[. > 5]",
            "*[self::V1 or self::V2] = 5",
            "(V1 | V2)[. != '']",
            "V1/text()",
            "V1/.. and V1/../V2 = 5",
            "self::Record and not(self::V1) and self::node()",
            "name = 5 and @id != ''",
            "name(V1) = 'V1'",
            "local-name(V1 | V3) = 'V3'",
            "namespace-uri(V1) = ''",
            ".",
            "V1/V2 or V1/@x",
            ".//V1 = 5",
            "count(.//V1[. > 5] | .//V9) = 1",
            "descendant::V2[1] > 3",
            ".//*[local-name() = 'V2'] = V1",
            "ancestor::V1",
        ],
        every=2,
    ),
)
def test_paths_and_sets(source: str) -> None:
    agrees(source, BATCH)


@pytest.mark.parametrize(
    "source",
    spread(
        [
            ". > 2",
            ". = ../V2",
            "../V1 < .",
            "../@id",
            "number() > string-length()",
            "text() = 5",
            "local-name() = 'V3' and name(..) = 'Record'",
            "self::V3[. > 2] or self::V1",
            "parent::Record/V2 = 5 or parent::V1",
            "ancestor::Record[1]/V2 = 5",
            "ancestor::V1 or .//V1 or descendant::V1",
            "normalize-space() = ''",
            "..",
            "V1 or @id or node() or *",
            "../*[. = 5]",
            "string() = string(../V1)",
            "self::* and not(self::node()[2])",
        ],
        every=2,
    ),
)
def test_fields_as_focus(source: str) -> None:
    agrees(source, BATCH, focus=3)


@pytest.mark.parametrize(
    "source",
    ["*[1]", "(V1 | V2)[1] = 5", "(V1 | V2)[position() = 1]", "*[last()]", "*[. = 5][1]", "position() = 1"],
)
def test_positions_among_several_nodes_are_for_an_engine(source: str) -> None:
    with pytest.raises(NotColumnar, match="among several nodes"):
        compile_test(source, SCOPE)


@pytest.mark.parametrize(
    "source", ["ancestor::*", "ancestor::Records", "..", "ancestor::Record", ".//@id", ".//text()"]
)
def test_steps_that_leave_the_record(source: str) -> None:
    with pytest.raises(NotColumnar):
        compile_test(source, SCOPE)


def test_descendants_are_read_in_odd_cells_too() -> None:
    assert compile_test(".//V1", SCOPE).fields == {1, 2, 3, 4}
    assert compile_test("descendant::V1", SCOPE).fields == {1, 2, 3, 4}
    assert compile_test("V1", SCOPE).fields == {1}
    assert compile_test("V1/V2 = 5", SCOPE).fields == {1}


@pytest.mark.parametrize("dialect", [XPATH1, XPATH2])
def test_a_node_that_no_record_can_select_is_not_read(dialect: Dialect) -> None:
    """Where the name decides, an odd cell of another field leaves nothing unsure."""
    scope = replace(SCOPE, dialect=dialect)
    assert compile_test("*[local-name() = 'V2'] > 5", scope).fields == {2}
    assert compile_test("*[. > 5]", scope).fields == {1, 2, 3, 4}
    assert compile_test("*[local-name() = 'V2' and ../V3 = 5]", scope).fields >= {2, 3}


def reversed_in_file(rows: Sequence[Row]) -> TwinBatch:
    """A batch whose records have their fields in the order opposite to that of the layout."""
    turned = Layout(LAYOUT.record_path, LAYOUT.fields[::-1])
    batch = batch_of(turned, rows)
    return replace(batch, layout=LAYOUT, cells=batch.cells[::-1])


@pytest.mark.parametrize(
    "source",
    [
        "sum(V1 | V2 | V3) = 0.6",
        "sum(*[. < 1]) = 0.6",
        "string(V1 | V2) = V1",
        "number(V3 | V1) > 1",
        "name(*) = 'V3'",
    ],
)
def test_the_order_of_the_file_counts(source: str) -> None:
    values = [None, "0.1", "0.2", "0.3", "0.7", "5", ""]
    rows = [{"V1": a, "V2": b, "V3": c} for a in values for b in values for c in values]
    there = agrees(source, batch_of(LAYOUT, rows))
    turned = agrees(source, reversed_in_file(rows))
    sure = ~there.unsure & ~turned.unsure
    assert (there.holds[sure] != turned.holds[sure]).any()


@examples(30, full=400)
@given(
    booleans(texts=True),
    st.lists(
        st.fixed_dictionaries(dict.fromkeys(["V1", "V2", "V3", "@id", "name"], lexemes(plain=False))), max_size=12
    ),
)
def test_any_expression_on_any_text(source: str, rows: list[Row]) -> None:
    try:
        agrees(source, batch_of(LAYOUT, rows))
    except NotColumnar:
        assert chained(source) or positional(source) or "/text()" in source


def chained(source: str) -> bool:
    """Whether elementpath refuses ``a = b = c``, or reads ``- a | b`` in another way than libxml2."""
    return sum(source.count(sign) for sign in ("=", "<", ">")) > 1 or "- " in source


def positional(source: str) -> bool:
    return "last()" in source or "[1]" in source or "[2]" in source or "[(" in source


@examples(30, full=400)
@given(
    booleans(texts=False),
    st.lists(
        st.fixed_dictionaries(dict.fromkeys(["V1", "V2", "V3", "@id", "name"], lexemes(plain=True))), max_size=12
    ),
)
@example("sum(V1 | V2 | V3) = 5", [{"V1": "0.1", "V2": "0.2", "V3": "0.3", "@id": None, "name": None}])
def test_plain_data_leave_nothing_unsure(source: str, rows: list[Row]) -> None:
    try:
        truth = agrees(source, batch_of(LAYOUT, rows))
    except NotColumnar:
        reject()
    assert not truth.unsure.any(), source
