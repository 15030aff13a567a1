"""Typed values become lexemes and come back bit by bit; two ways to write them say the same."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.errors import DocumentError, UsageError
from masktron.sources.tables.arrow_columns import one_dictionary, replaced, taken, values_of
from masktron.sources.tables.arrow_lexemes import lexemes_of, typed_of
from masktron.sources.tables.arrow_values import UnfitError
from masktron.sources.variables import Typed
from refusals import refused
from typed_texts import column_texts

D = Decimal
LONG = "a text that is too long for the view itself"
DATE, TIME, MOMENT = datetime.date, datetime.time, datetime.datetime
UTC = datetime.UTC
WRITTEN: list[tuple[pa.DataType, list[Any], list[str | None]]] = [
    (pa.int8(), [-128, None, 127], ["-128", None, "127"]),
    (pa.int64(), [2**53 + 1, -(2**63)], ["9007199254740993", "-9223372036854775808"]),
    (pa.uint64(), [2**64 - 1], ["18446744073709551615"]),
    (pa.float16(), [np.float16(0.1), np.float16(65504), None], ["0.1", "65500", None]),
    (pa.float32(), [0.1, 16777216.0, -0.0, float("nan")], ["0.1", "16777216", "-0", None]),
    (pa.float64(), [0.1 + 0.2, 1e22, 1e-7, 2.0], ["0.30000000000000004", "1" + "0" * 22, "0.0000001", "2"]),
    (pa.float64(), [1e300, -1.5e-300, 5e-324, -0.0, 0.0], ["1E+300", "-1.5E-300", "5E-324", "-0", "0"]),
    (pa.decimal32(5, 2), [D("1.50"), None, D("-0.05")], ["1.5", None, "-0.05"]),
    (pa.decimal64(12, 2), [D("9999999999.99")], ["9999999999.99"]),
    (pa.decimal128(38, 0), [D("1" + "0" * 36 + "1")], ["1" + "0" * 36 + "1"]),
    (pa.decimal128(5, -3), [D("1E+3"), D(0)], ["1000", "0"]),
    (pa.decimal256(76, 2), [D("1" * 50 + ".50")], ["1" * 50 + ".5"]),
    (pa.bool_(), [True, None, False], ["true", None, "false"]),
    (pa.string(), ["007", "", " x ", None], ["007", "", " x ", None]),
    (pa.large_string(), ["é"], ["é"]),
    (pa.string_view(), [LONG, None], [LONG, None]),
    (pa.date32(), [DATE(1, 1, 1), None, DATE(9999, 12, 31)], ["0001-01-01", None, "9999-12-31"]),
    (pa.date64(), [DATE(2024, 2, 29)], ["2024-02-29"]),
    (pa.time32("s"), [TIME(1, 2, 3)], ["01:02:03"]),
    (pa.time32("ms"), [TIME(1, 2, 3, 500_000)], ["01:02:03.5"]),
    (pa.time64("us"), [TIME(23, 59, 59, 999_999)], ["23:59:59.999999"]),
    (pa.time64("ns"), [1], ["00:00:00.000000001"]),
    (pa.timestamp("s"), [MOMENT(1, 1, 1), MOMENT(9999, 12, 31)], ["0001-01-01T00:00:00", "9999-12-31T00:00:00"]),
    (pa.timestamp("ms"), [MOMENT(2024, 1, 1, 0, 0, 0, 120_000)], ["2024-01-01T00:00:00.12"]),
    (pa.timestamp("us", tz="Europe/Rome"), [MOMENT(2024, 7, 1, 12, tzinfo=UTC)], ["2024-07-01T12:00:00Z"]),
    (pa.timestamp("ns", tz="+05:30"), [-1, None], ["1969-12-31T23:59:59.999999999Z", None]),
    (pa.null(), [None, None], [None, None]),
]  # fmt: skip


def _both(column: pa.ChunkedArray) -> list[str | None]:
    """The lexemes, on which both ways agree."""
    first = lexemes_of(column, "x", "f").to_pylist()
    assert first == [text for chunk in column.chunks for text in column_texts(chunk)]
    return first


def _column(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """A column in two chunks and an empty one, of which one begins within its array."""
    array = pa.array(values, type=kind)
    padded = pa.concat_arrays([array.slice(0, 1), array]).slice(1)
    return pa.chunked_array([padded.slice(0, 1), array.slice(0, 0), padded.slice(1)], type=kind)


@pytest.mark.parametrize(("kind", "values", "lexemes"), WRITTEN, ids=[str(kind) for kind, _, _ in WRITTEN])
def test_lexemes_of_every_type_and_back(kind: Any, values: list[Any], lexemes: list[str | None]) -> None:
    column = _column(values, kind)
    assert _both(column) == lexemes
    back = values_of(pa.chunked_array([pa.array(lexemes, pa.string())]), kind)
    assert back.type == kind
    assert _both(back) == lexemes
    if not pa.types.is_floating(kind):
        assert back.to_pylist() == column.to_pylist()
    rows = pa.array([len(values) - 1, 0])
    assert _both(taken(column, rows)) == [lexemes[-1], lexemes[0]]


@pytest.mark.parametrize(("kind", "values", "lexemes"), WRITTEN, ids=[str(kind) for kind, _, _ in WRITTEN])
def test_categories_of_every_type(kind: Any, values: list[Any], lexemes: list[str | None]) -> None:
    distinct = [value for value in values if value is not None and value == value][::-1]  # noqa: PLR0124
    dictionary = pa.array(distinct, type=kind)
    indices = pa.array([*range(len(distinct)), None], pa.int8())
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(indices, dictionary, ordered=True)])
    expected = [text for text in lexemes if text is not None][::-1]
    assert _both(column) == [*expected, None]
    back = values_of(pa.chunked_array([pa.array([*expected[::-1], None], pa.string())]), column.type, expected)
    assert back.type == column.type
    assert back.chunk(0).dictionary.to_pylist() == dictionary.to_pylist()
    if len(expected) > 1:
        changed = np.array([True] + [False] * len(expected))
        new = replaced(column, changed, pa.chunked_array([pa.array([expected[1], *expected[1:], None])]), "x")
        assert _both(new) == [expected[1], *expected[1:], None]
        assert new.chunk(0).dictionary.equals(dictionary)


def test_chunks_with_other_categories_and_missing_ones_among_them() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["a", None, "b"])),
        pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array(["b", "c"])),
    ]
    column = pa.chunked_array(chunks, type=kind)
    assert _both(column) == ["a", None, None, "b", "c", "b"]
    assert _both(taken(column, pa.array([4, 1, 0]))) == ["c", None, "a"]
    new = replaced(column, np.array([True] * 6), pa.chunked_array([["c", None, "b", "a", "a", "a"]]), "x")
    assert _both(new) == ["c", None, "b", "a", "a", "a"]
    assert new.type == kind


def test_more_categories_than_an_index_counts() -> None:
    parts = [
        pa.DictionaryArray.from_arrays(
            pa.array(range(100), pa.int8()), pa.array([f"{part}-{at}" for at in range(100)])
        )
        for part in range(2)
    ]
    column = pa.chunked_array(parts)
    assert len(set(_both(column))) == 200
    with pytest.raises(UnfitError, match="more categories than the type can count"):
        one_dictionary(column)
    many = pa.chunked_array([pa.array([str(at) for at in range(40_000)])])
    wide = values_of(many, pa.dictionary(pa.int32(), pa.string()))
    assert lexemes_of(wide, "x", "f").equals(many)
    with pytest.raises(UnfitError, match="more categories"):
        values_of(many, pa.dictionary(pa.int16(), pa.string()))


NO_TEXT = [
    pa.binary(),
    pa.binary(4),
    pa.duration("s"),
    pa.list_(pa.int8()),
    pa.struct([("a", pa.int8())]),
    pa.map_(pa.string(), pa.int8()),
    pa.month_day_nano_interval(),
    pa.run_end_encoded(pa.int32(), pa.int8()),
    pa.dense_union([pa.field("a", pa.int8())]),
    pa.dictionary(pa.int8(), pa.binary()),
    pa.uuid(),
]


@pytest.mark.parametrize("kind", NO_TEXT, ids=str)
def test_types_without_a_text_form_are_refused_by_name(kind: Any) -> None:
    detail = f"values of type {kind}, which have no text form"
    with refused(DocumentError, "column-not-readable", field="x", detail=detail):
        lexemes_of(pa.chunked_array([], type=kind), "x", "f")


WITHOUT: list[tuple[pa.DataType, Any, str]] = [
    (pa.float32(), float("inf"), "an infinite number"),
    (pa.float64(), float("-inf"), "an infinite number"),
    (pa.date32(), 3_000_000, "a date before the year 1 or after 9999"),
    (pa.date32(), -719_163, "a date before the year 1 or after 9999"),
    (pa.timestamp("s"), 253_402_300_800, "a date before the year 1 or after 9999"),
    (pa.timestamp("s", tz="UTC"), 10**14, "a date before the year 1 or after 9999"),
    (pa.time32("s"), 90_000, "a time beyond 24 hours"),
]


@pytest.mark.parametrize(("kind", "value", "what"), WITHOUT)
def test_values_without_a_text_form_are_refused_with_their_record(kind: Any, value: Any, what: str) -> None:
    counts = pa.array([value], pa.int32() if kind.bit_width == 32 else pa.int64()) if isinstance(value, int) else None
    odd = pa.array([value], type=kind) if counts is None else counts.view(kind)
    column = pa.chunked_array([pa.nulls(2, kind), pa.concat_arrays([pa.nulls(1, kind), odd])])
    with refused(DocumentError, "value-not-readable", where="f, record 4", field="x", detail=what):
        lexemes_of(column, "x", "f")
    unused = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), odd)
    with refused(DocumentError, "value-not-readable", where="f", field="x", detail=what):
        lexemes_of(pa.chunked_array([unused]), "x", "f")


UNFIT: list[tuple[pa.DataType, str, str]] = [
    (pa.int8(), "128", "out of range"),
    (pa.int64(), "1e999999999", "it is not a number"),
    (pa.int64(), "1e300", "out of range"),
    (pa.uint8(), "-1", "out of range"),
    (pa.int32(), "1.5", "it has a fraction"),
    (pa.int32(), "q7", "it is not a number"),
    (pa.float16(), "100000", "out of range"),
    (pa.float32(), "16777217", "it would be another number"),
    (pa.float64(), "INF", "it is not a number"),
    (pa.decimal128(5, 2), "1000", "out of range"),
    (pa.decimal32(5, 2), "1000", "out of range"),
    (pa.decimal128(5, 2), "1.005", "it has more fraction digits"),
    (pa.decimal128(5, -3), "1500", "it has more fraction digits"),
    (pa.bool_(), "yes", "it is not true or false"),
    (pa.date32(), "2024-02-30", "it is not a date"),
    (pa.date32(), "20240201", "it is not a date"),
    (pa.time32("s"), "24:00:00", "it is not a time of day"),
    (pa.time32("s"), "10:00:00.5", "more fraction digits"),
    (pa.timestamp("s"), "2024-01-01T00:00:00Z", "it has a time zone"),
    (pa.timestamp("s", tz="UTC"), "2024-01-01T00:00:00", "it has no time zone"),
    (pa.timestamp("ns"), "9999-01-01T00:00:00", "out of range"),
    (pa.null(), "1", "the column had no value"),
    (pa.dictionary(pa.int8(), pa.string()), "z", "none of the categories"),
]


@pytest.mark.parametrize(("kind", "lexeme", "why"), UNFIT, ids=lambda value: str(value)[:20])
def test_what_does_not_fit_is_refused_without_showing_it(kind: Any, lexeme: str, why: str) -> None:
    if pa.types.is_dictionary(kind):
        original = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["a"]))])
    else:
        original = pa.chunked_array([pa.nulls(1, kind)])
    with refused(UsageError, "new-value-does-not-fit", field="x") as caught:
        replaced(original, np.array([True]), pa.chunked_array([[lexeme]]), "x")
    assert why in str(caught.value)
    assert lexeme not in str(caught.value).replace(str(kind), "")


def test_masked_values_take_other_spellings_of_a_number() -> None:
    for kind, lexeme, value in (
        (pa.decimal128(5, 2), "2.500", D("2.50")),
        (pa.decimal128(5, 2), "0e99", D("0.00")),
        (pa.int8(), "1.0", 1),
        (pa.float32(), "2.50", 2.5),
        (pa.timestamp("s", tz="UTC"), "2024-01-01T01:00:00+01:00", MOMENT(2024, 1, 1, tzinfo=UTC)),
    ):
        assert values_of(pa.chunked_array([[lexeme]]), kind).to_pylist() == [value]


def test_cells_that_have_not_changed_keep_their_bits() -> None:
    odd = np.array([0x7FF8000000000001, 0x8000000000000000, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)
    column = pa.chunked_array([pa.array(odd)])
    new = replaced(column, np.array([False, False, True]), pa.chunked_array([[None, "-0", "2"]]), "x")
    assert new.to_numpy().view(np.uint64).tolist() == [0x7FF8000000000001, 0x8000000000000000, 0x4000000000000000]
    midday = pa.chunked_array([pa.array([86_400_000 + 5], pa.int64()).view(pa.date64())])
    assert _both(midday) == ["1970-01-02"]
    assert replaced(midday, np.array([False]), pa.chunked_array([["1970-01-02"]]), "x").equals(midday)


@given(st.data())
def test_binary_fractions_are_written_alike_by_both_ways(data: st.DataObject) -> None:
    width, bits = data.draw(st.sampled_from([(16, np.uint16), (32, np.uint32), (64, np.uint64)]))
    numbers = data.draw(st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=20))
    values = np.array(numbers, dtype=bits).view(f"f{width // 8}")
    values = values[~np.isinf(values)]
    column = pa.chunked_array([pa.array(values)])
    lexemes = _both(column)
    back = values_of(pa.chunked_array([pa.array(lexemes, pa.string())]), column.type).combine_chunks()
    numbers = values[~np.isnan(values)]
    assert back.drop_null().to_numpy(zero_copy_only=False).view(bits).tolist() == numbers.view(bits).tolist()


def test_all_fractions_of_16_bits_are_written_alike() -> None:
    _both(pa.chunked_array([pa.array(np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16))]))
    _both(pa.chunked_array([pa.array(np.exp2(np.arange(-149, 128), dtype=np.float32))]))


def test_types_say_what_lexemes_do_not() -> None:
    assert typed_of(pa.dictionary(pa.int8(), pa.float16())) == Typed(
        11, lower=Fraction(-65504), upper=Fraction(65504)
    )
    for kind, exact in ((pa.float32(), np.float32), (pa.float64(), np.float64)):
        found = typed_of(kind)
        assert (found.bits, found.upper, found.places) == (np.finfo(exact).nmant + 1, np.finfo(exact).max, None)
    for bits in (8, 16, 32, 64):
        signed, unsigned = np.iinfo(f"int{bits}"), np.iinfo(f"uint{bits}")
        assert typed_of(pa.from_numpy_dtype(signed.dtype)) == Typed.integer(bits)
        assert (Typed.integer(bits).lower, Typed.integer(bits).upper) == (signed.min, signed.max)
        assert typed_of(pa.from_numpy_dtype(unsigned.dtype)) == Typed.integer(bits, signed=False)
        assert (Typed.integer(bits, signed=False).lower, Typed.integer(bits, signed=False).upper) == (0, unsigned.max)
    assert typed_of(pa.string_view()) == typed_of(pa.dictionary(pa.int8(), pa.large_string())) == Typed(text=True)
    for precision, scale, largest in ((5, 2, "999.99"), (3, -2, "99900"), (2, 4, "0.0099")):
        bound = Fraction(largest)
        assert typed_of(pa.decimal128(precision, scale)) == Typed(lower=-bound, upper=bound, places=scale)
