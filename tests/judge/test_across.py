"""Rules across records, gathered in one pass and judged in another: as the engines see them in the whole document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from across_rules import (
    BOTH,
    CONSTANT,
    DOMAIN,
    FIELDS,
    GOOD,
    LAYOUT,
    LETS,
    NAMESPACED,
    ORDERED,
    ORDERED_LATER,
    UNIQUE,
    UNIQUE_LATER,
    WHOLE,
    WHOLE_LATER,
    book_of,
    in_version,
    plain,
    qualified,
    rows_of,
)
from across_runs import Row, around, batches, carried, engine_judge, gathered, texts, verdicts_of, write
from examples import examples, spread
from masktron.judge.across.two_passes import Across, ColumnJudge
from masktron.judge.columns.items import Outcome
from masktron.judge.exact import evaluate
from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schema import Rulebook, XPathVersion
from masktron.sources.columns import Batch
from masktron.sources.key_table import KeyTable
from masktron.sources.record_layout import Layout
from rulebook_builder import rulebook

numbers = st.sampled_from([None, "1", "0.1", "2.5", "1.14", "3", "-4.7", "1e3", "", "x"])


rows = st.one_of(rows_of(numbers), rows_of(plain))


def compare(
    book: Rulebook, of: Layout, data: Sequence[Row], size: int, original: Sequence[Row] | None = None
) -> frozenset[int]:
    """Assert that what is evaluated here is as in the whole document; return the checks that were."""
    across = gathered(book, of, data, size, original)
    inside, outside = sorted(across.checks - across.outside), sorted(across.outside)
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "data.xml", of, texts(of, data))
        other = path if original is None else write(Path(folder) / "original.xml", of, texts(of, original))
        expected = evaluate(EvaluationRequest(path, book, of, original=other))
        judged = verdicts_of(across, of, data, size, other)
        found = carried(across, of, data, size, Path(folder) / "carried.xml", other)
        beside = around(across, of, Path(folder) / "around.xml", other)
    assert np.array_equal(judged[:, inside], expected.verdicts[:, inside])
    for chosen, here in ((inside, found), (outside, beside)):
        for name in ("fired", "failed", "errors"):
            assert np.array_equal(getattr(here, name)[chosen], getattr(expected, name)[chosen]), name
        assert shown(here, chosen) == shown(expected, chosen)
    return across.checks


def shown(found: Evaluation, checks: Sequence[int]) -> list[tuple[object, ...]]:
    findings = (f for f in found.findings if f.check in checks)
    return [(f.check, f.kind, f.record, f.line, f.location, f.message) for f in findings]


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@examples(2, full=12)
@given(data=rows, size=st.integers(1, 4))
def test_keys_are_those_of_the_whole_document(version: XPathVersion, data: list[Row], size: int) -> None:
    tests = UNIQUE if version == "1.0" else UNIQUE + UNIQUE_LATER
    compare(book_of(tests, version), LAYOUT, data, size)


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@examples(5, full=12)
@given(data=rows, size=st.integers(1, 4))
def test_counts_and_totals_are_those_of_the_whole_document(version: XPathVersion, data: list[Row], size: int) -> None:
    later = [t for t in WHOLE if version != "1.0" or "abs" not in t]
    compare(book_of(later if version == "1.0" else later + WHOLE_LATER, version, message="A"), LAYOUT, data, size)


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@examples(5, full=12)
@given(data=rows, size=st.integers(1, 4))
def test_order_and_neighbours_are_those_of_the_whole_document(
    version: XPathVersion, data: list[Row], size: int
) -> None:
    tests = ORDERED if version == "1.0" else ORDERED + ORDERED_LATER
    compare(book_of(tests, version, message="preceding-sibling::Record[1]/V"), LAYOUT, data, size)


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("context", spread(["/", "Records", "/Records"], every=2))
@settings(max_examples=4)
@given(data=rows)
def test_totals_may_stand_at_the_root(version: XPathVersion, context: str, data: list[Row]) -> None:
    tests = [t for t in CONSTANT if version != "1.0" or (t in WHOLE and "abs" not in t)]
    tests = [t for t in tests if "+ A" not in t and "preceding" not in t]
    compare(book_of(tests, version, context=context, kind="report", message="count(//Record)"), LAYOUT, data, 3)


FORMS = [(version, test) for version in BOTH for test in in_version(version)]


@pytest.mark.few(16)
@pytest.mark.parametrize(
    ("version", "test"), [*FORMS[::2], *(pytest.param(*one, marks=pytest.mark.full) for one in FORMS[1::2])]
)
def test_every_form_is_evaluated_on_plain_records(version: XPathVersion, test: str) -> None:
    nested = "[ID[" in test
    assert compare(book_of([test], version), LAYOUT, GOOD, 3) == (frozenset() if nested else frozenset({0}))


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("total", ["sum(//V)", "sum(//Record[A = current()/A]/V)"])
def test_sums_are_bit_by_bit_those_of_the_engine(version: XPathVersion, total: str) -> None:
    data: list[Row] = [
        {"ID": str(i), "A": str(i % 3), "V": f"{i * 7919 % 1000}.{i * 104729 % 997}"} for i in range(200)
    ]
    # what is left after the subtraction are the last bits
    left = f"({total} - {50_000 if '[' not in total else 17_000}) * 1000000000000"
    assert compare(book_of([f"{left} = 1"], version, message=left), LAYOUT, data, 64) == {0}
    # 3602879701896397 / 2 ** 55
    tenth: list[Row] = [{"ID": "1", "A": "1", "V": "0.1"}]
    assert compare(book_of([f"{total} > 0.2"], version, message=total), LAYOUT, tenth, 1) == {0}


@pytest.mark.few(3)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("shared", "own", "test"), spread(LETS, every=3))
@examples(2, full=4)
@given(data=rows_of(plain))
def test_variables_stand_for_what_they_select(
    version: XPathVersion, shared: dict[str, str], own: dict[str, str], test: str, data: list[Row]
) -> None:
    for schema, pattern in ((shared, {}), ({}, shared)):
        book = rulebook([("Record", test)], version=version, schema_lets=schema, pattern_lets=pattern, rule_lets=own)
        # in XPath 2, a condition on a text may be an error
        assert compare(book, LAYOUT, data, 2) == {0} or version != "1.0"


@pytest.mark.few(3)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("context", "test"), spread(FIELDS, every=3))
@settings(max_examples=4)
@given(data=rows_of(plain))
def test_rules_may_fire_on_fields_and_on_some_records(
    version: XPathVersion, context: str, test: str, data: list[Row]
) -> None:
    assert compare(rulebook([(context, test)], version=version), LAYOUT, data, 2) == {0} or version != "1.0"


@pytest.mark.parametrize("context", ["Record[A = 1]", "Record[2]", "Records/Record[A]"])
def test_one_value_for_all_does_not_fire_on_all(context: str) -> None:
    compare(rulebook([(context, "count(//Record) = 8")]), LAYOUT, [*GOOD[:3], {"ID": "9"}, *GOOD[3:]], 3)


@pytest.mark.parametrize("version", BOTH)
@settings(max_examples=4)
@given(data=rows_of(plain))
def test_only_the_first_rule_of_a_pattern_fires(version: XPathVersion, data: list[Row]) -> None:
    unique = "count(//Record[ID = current()/ID]) = 1"
    book = rulebook([("Record[A = 1]", "B"), ("Record", unique), ("*", "count(//Record) = 2")], version=version)
    assert compare(book, LAYOUT, data, 2) == {0, 1}


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@examples(4, full=10)
@given(data=rows_of(plain), original=rows_of(plain))
def test_values_of_the_original(version: XPathVersion, data: list[Row], original: list[Row]) -> None:
    tests = [t if version == "1.0" else t.replace("document(", "doc(") for t in DOMAIN]
    if version != "1.0":
        tests.append("some $v in doc('o.xml')//A satisfies $v = A")
    book = replace(book_of(tests, version), documents=("o.xml",))
    assert compare(book, LAYOUT, data, 2, original) >= set(range(7)) - {5}


def test_the_original_may_have_its_fields_in_another_order() -> None:
    test = "count(document('o.xml')//Record[ID = current()/A]) > 0 and A = document('o.xml')//Record[2]/B"
    book = replace(book_of([test], "1.0"), documents=("o.xml",))
    other = replace(LAYOUT, fields=LAYOUT.fields[::-1])
    across = Across(book, LAYOUT, [0], original_layout=other)
    assert across.checks == {0}
    assert [[join.other.fields for join in a.selection.joins] for a in across.aggregates] == [[{3}], []]
    assert [a.selection.target for a in across.aggregates] == [None, 1]


@pytest.mark.parametrize("version", BOTH)
def test_names_may_have_a_namespace(version: XPathVersion) -> None:
    # attributes have none
    of = replace(NAMESPACED, fields=(replace(NAMESPACED.fields[0], tag="id"), *NAMESPACED.fields[1:]))
    of = replace(of, nsmap=((None, "urn:p"),))
    tests = [qualified(t) for t in (UNIQUE[0], UNIQUE[2], *UNIQUE[14:18], *WHOLE[:8])]
    book = replace(book_of(tests, version, context="p:Record", message="p:ID"), namespaces=(("p", "urn:p"),))
    assert compare(book, of, GOOD, 3) == set(range(len(tests)))


ONLY_1 = ["count(//Record[number(ID) = current()/ID]) = 1", "count(//Record[ID = number(current()/ID)]) < 2"]


@examples(4, full=10)
@given(data=rows)
def test_a_node_is_a_number_where_it_is_compared_with_one(data: list[Row]) -> None:
    compare(book_of(ONLY_1, "1.0"), LAYOUT, data, 2)
    assert compare(book_of(ONLY_1, "1.0"), LAYOUT, GOOD, 2) == {0, 1}
    assert not gathered(book_of(ONLY_1, "2.0"), LAYOUT, GOOD, 2).checks


def test_all_that_can_stand_at_the_root_is_evaluated_there() -> None:
    across = gathered(book_of(CONSTANT[:8], "2.0", context="/Records", message="count(//Record)"), LAYOUT, GOOD, 3)
    assert across.outside == across.checks == set(range(8))


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("context", "test"), [("/Records", "count(Record) = @n"), ("/", "sum(//V) > /Records/@n")])
def test_a_control_total_may_stand_in_the_root(version: XPathVersion, context: str, test: str) -> None:
    of = replace(LAYOUT, root_attributes=(("n", "7"),))
    across = gathered(rulebook([(context, test)], version=version), of, GOOD, 3, outside=["@n"])
    assert across.outside == {0}
    with TemporaryDirectory() as folder:
        expected = evaluate(
            EvaluationRequest(write(Path(folder) / "data.xml", of, texts(of, GOOD)), across.original, of)
        )
        found = around(across, of, Path(folder) / "around.xml", None)
    assert found.fired[0] == expected.fired[0] == 1
    assert found.failed[0] == expected.failed[0]


@pytest.mark.parametrize(
    "other", ["count(@*) = 1", "attribute::node()", "@node()", "count(attribute::*) = 1", "count(Record/@*) = 1"]
)
def test_a_rule_that_reads_all_attributes_must_not_see_ours(other: str) -> None:
    unique = "count(//Record[ID = current()/ID]) = 1"
    across = gathered(book_of([unique, "count(//Record) = 7", other], "1.0"), LAYOUT, GOOD, 3)
    assert 1 in across.checks
    assert "all attributes" in across.reasons[0]


REFUSED: list[tuple[str, str, list[Row]]] = [
    ("count(//Record[ID = current()/ID]) = 1", "markup", [{"ID": "a&b"}, {"ID": "a&b"}]),
    ("sum(//V) > 1", "may or may not be a number", [{"V": "1e3"}]),
    ("count(//Record[V > 2 * current()/V]) < 3", "plain comparison", [{"V": "1"}]),
    ("count(//Record[V > current()/V and A < current()/A]) < 3", "two comparisons", [{"V": "1"}]),
    ("(//Record/V)[2] = 1", "position", [{"V": "1"}]),
    ("//V[1] = 2", "position among fields", [{"V": "1"}]),
    ("name(preceding-sibling::Record[1]/V) = 'V'", "axis", [{"V": "1"}]),
    ("sum(following-sibling::Record/V) > 1", "another order", [{"V": "0.5"}]),
    ("//Record[2][A = 1]/V = 1", "chosen by its position", [{"V": "1"}]),
    ("count(//Record[position() < 3 and V]) = 1", "position", [{"V": "1"}]),
    ("count(//Record/*) = 1", "all fields", [{"V": "1"}]),
    ("string(/Records) = '1'", "absolute path", [{"V": "1"}]),
]


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("test", "why", "data"), REFUSED)
def test_what_is_not_certain_is_left_to_the_whole_document(
    version: XPathVersion, test: str, why: str, data: list[Row]
) -> None:
    across = gathered(rulebook([("Record", test)], version=version), LAYOUT, data, 1)
    assert not across.checks
    assert why in across.reasons[0]


LATER_REFUSED: list[tuple[str, str, list[Row]]] = [
    ("sum(//V) > 1", "no number", [{"V": "x"}]),
    ("sum(//V) > 1", "no number", [{"V": ""}]),
    ("count(index-of(//ID, ID)) = 1", "index-of", [{"V": "1"}]),
    ("count(//Record[V = 0]) = 1", "error", [{"V": "x"}]),
    ("min(//V) > 1", "negative zero", [{"V": "-0"}]),
]


@pytest.mark.parametrize(("test", "why", "data"), LATER_REFUSED)
def test_errors_are_left_to_the_whole_document(test: str, why: str, data: list[Row]) -> None:
    across = gathered(rulebook([("Record", test)], version="3.1"), LAYOUT, data, 1)
    assert not across.checks
    assert why in across.reasons[0]


@pytest.mark.parametrize("version", BOTH)
def test_a_message_that_reads_other_records_in_a_way_of_its_own_keeps_its_check(version: XPathVersion) -> None:
    test = "count(//Record[ID = current()/ID]) = 1"
    for message, kept in (("count(//Record[ID = current()/ID])", True), ("//Record[1]/@*", False)):
        assert bool(gathered(book_of([test], version, message=message), LAYOUT, GOOD, 3).checks) == kept


@pytest.mark.parametrize("test", ["not($last/../B = 2)", "name($last) = 'V'", "deep-equal($last, V)"])
def test_a_node_of_a_neighbour_is_no_value_where_it_is_asked_for_itself(test: str) -> None:
    book = rulebook([("Record", test)], version="2.0", rule_lets={"last": "preceding-sibling::Record[1]/V"})
    assert not gathered(book, LAYOUT, GOOD, 3).checks


def test_a_text_of_a_neighbour_is_read_as_it_is() -> None:
    odd: list[Row] = [{"ID": "1", "V": value} for value in ("a\nb\t", "'\"", " é ", "", "x")]
    tests = [f"preceding-sibling::Record[1]/V = {value}" for value in ("'a\nb\t'", "concat('\"', \"'\")", "' é '")]
    book = book_of([*tests, "string-length(preceding-sibling::Record[1]/V) = 4"], "2.0", message="string-length(V)")
    assert compare(book, LAYOUT, odd, 2) == {0, 1, 2, 3}


def test_elements_beside_the_records_are_no_records() -> None:
    tests = ["count(//ID[. = current()/ID]) = 1", "count(/Records/Record[ID = current()/ID]) = 1"]
    book = book_of(tests, "1.0")
    across = gathered(book, LAYOUT, GOOD, 3, outside=["Header", "ID"])
    assert across.checks == {1}
    assert gathered(book_of(["count(../*) = 3"], "1.0"), LAYOUT, GOOD, 3, outside=["Header"]).checks == frozenset()


class HalfSure:
    """Columns that say what they are told, and leave every second record to the engine."""

    def __init__(self, verdicts: NDArray[np.uint8]) -> None:
        self.verdicts = verdicts

    def evaluate(self, batch: Batch) -> Outcome:
        here = self.verdicts[batch.first : batch.first + len(batch)]
        unsure = np.zeros(here.shape, dtype=np.bool_)
        unsure[::2] = True
        fired, failed = here != Verdict.NOT_FIRED, here == Verdict.FAILS
        return Outcome((fired & ~unsure).astype(np.uint8), (failed & ~unsure).astype(np.uint8), unsure)


def test_conditions_may_be_judged_over_columns() -> None:
    book = book_of(["count(//Record[A = 1]) = 4", "sum(//V[. > 3]) < 100"], "1.0")
    across = Across(book, LAYOUT, [0, 1])
    conditions = across.conditions()
    engine = engine_judge(conditions, LAYOUT, range(2))
    truth = np.concatenate([engine(batch) for batch in batches(LAYOUT, GOOD, 3)])
    assert {*truth.ravel()} == {Verdict.HOLDS, Verdict.FAILS}
    for batch in batches(LAYOUT, GOOD, 3):
        assert np.array_equal(ColumnJudge(HalfSure(truth), engine)(batch), truth[batch.first :][: len(batch)])
        # the engine has the last word only where it is asked
        turned = np.where(truth == Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS).astype(np.uint8)
        wrong = ColumnJudge(HalfSure(turned), engine)(batch) != truth[batch.first :][: len(batch)]
        assert np.array_equal(wrong.all(axis=1), np.arange(len(batch)) % 2 == 1)


KEYS = st.lists(st.binary(max_size=5), max_size=40)


@given(parts=st.lists(KEYS, max_size=4))
def test_keys_are_numbered_by_their_bytes(parts: list[list[bytes]]) -> None:
    table = KeyTable()
    known: dict[bytes, int] = {}
    for keys in parts:
        ends = np.cumsum([len(key) for key in keys], dtype=np.int64)
        starts = ends - np.array([len(key) for key in keys], dtype=np.int64)
        there = np.array([not key.startswith(b"\0") for key in keys], dtype=np.bool_)
        found = table.number(np.frombuffer(b"".join(keys) + b"!", dtype=np.uint8), starts, ends, there)
        want = [
            known.setdefault(key, len(known)) if is_there else -1 for key, is_there in zip(keys, there, strict=True)
        ]
        assert found.tolist() == want
    assert len(table) == len(known)


def test_keys_of_one_hash_are_told_apart() -> None:
    def numbered(table: KeyTable, key: bytes) -> int:
        at = np.array([0, len(key)], dtype=np.int64)
        return int(table.number(np.frombuffer(key, dtype=np.uint8), at[:1], at[1:], np.array([True]))[0])

    one, other = KeyTable(), KeyTable()
    assert numbered(one, b"one") == numbered(other, b"two") == 0
    one._hashes[:], one._slots[:] = other._hashes, other._slots
    assert (numbered(one, b"two"), numbered(one, b"two")) == (1, 1)


def test_a_table_grows() -> None:
    table = KeyTable()
    for start in range(0, 20_000, 5_000):
        values = np.arange(start - 1_000, start + 5_000, dtype=np.int64)
        at = np.arange(len(values), dtype=np.int64) * 8
        found = table.number(values.view(np.uint8), at, at + 8, values >= 0)
        assert np.array_equal(found, np.maximum(values, -1))
    assert len(table) == 20_000
