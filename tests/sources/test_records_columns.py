"""A column that holds each text once answers as lists of its cells do, and takes a few bytes for each cell."""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from masktron.kernels.distinct import codes_of
from masktron.sources import column as module
from masktron.sources.column import Column, OnDemand, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexicon import Lexicon
from masktron.sources.variables import Variable
from masktron.sources.xml.layout import survey_exactly
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey_plain

CELLS = {
    None: (Status.ABSENT, math.nan),
    "": (Status.EMPTY, math.nan),
    "-9": (Status.CODE, math.nan),
    "none": (Status.CODE, math.nan),
    "5": (Status.PRESENT, 5.0),
    "5.0": (Status.PRESENT, 5.0),
    "é": (Status.PRESENT, math.nan),
    "\ud800": (Status.PRESENT, math.nan),
    "abc": (Status.PRESENT, math.nan),
}
TEXTS = st.lists(st.sampled_from(list(CELLS)), max_size=12)


def column(texts: list[str | None], *, repeated: bool = False) -> Column:
    """Return a column with each of `CELLS` in its lexicon, each twice where texts may be repeated."""
    known = [*CELLS, *(reversed(CELLS) if repeated else ())]
    at: list[int] = []
    for row, text in enumerate(texts):
        places = [place for place, one in enumerate(known) if one == text]
        at.append(places[row % len(places)])
    lexicon = Lexicon.of(known, distinct=not repeated)
    return Column.of_texts(Variable.named("A"), lexicon, np.array(at), frozenset({"-9", "none"}))


@examples(40, full=300)
@given(texts=TEXTS, repeated=st.booleans(), long=st.booleans())
def test_arrays_are_those_of_the_cells(texts: list[str | None], repeated: bool, long: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONG_COLUMN", 0 if long else 1 << 14)
        own = column(texts, repeated=repeated)
        cells = [CELLS[text] for text in texts]
        present = [state == Status.PRESENT for state, _ in cells]
        assert len(own) == len(texts)
        assert own.lexemes.tolist() == texts
        assert own.status.tolist() == [int(state) for state, _ in cells]
        assert np.array_equal(own.values, [number for _, number in cells], equal_nan=True)
        assert own.present.tolist() == present
        assert own.is_number.tolist() == [not math.isnan(number) for _, number in cells]
        assert own.held.tolist() == [text if held else None for text, held in zip(texts, present, strict=True)]
        assert own.numeric == (any(present) and {"é", "\ud800", "abc"}.isdisjoint(texts))
        numbers = {"-9": -9.0, "5": 5.0, "5.0": 5.0}
        assert np.array_equal(own.as_read(), [numbers.get(text or "", math.nan) for text in texts], equal_nan=True)
        assert (own.values is own.values) == (not long)


@examples(40, full=300)
@given(texts=TEXTS, repeated=st.booleans())
def test_texts_are_numbered_as_cells_are(texts: list[str | None], repeated: bool) -> None:
    own = column(texts, repeated=repeated)
    cells = np.array(texts, dtype=object)
    assert own.numbered().tolist() == codes_of(cells).tolist()
    assert own.numbered(held=True).tolist() == codes_of(own.held).tolist()
    found, codes = own.ranked()
    distinct = found.objects().tolist()
    assert found.distinct
    assert [distinct[code] for code in codes] == texts
    assert distinct == sorted(set(texts), key=lambda text: (text is not None, text or ""))
    assert own.tells_apart == (len(set(texts)) == len(texts))
    for states in ((), (Status.CODE,), (Status.EMPTY, Status.CODE)):
        asked = states or (Status.PRESENT,)
        assert sorted(own.texts(*states)) == sorted({str(text) for text in texts if CELLS[text][0] in asked})
    assert sorted(own.written_numbers()) == sorted({"5", "5.0"}.intersection(map(str, texts)))


@examples(40, full=300)
@given(pairs=st.lists(st.tuples(*[st.sampled_from(list(CELLS))] * 2), max_size=12), repeated=st.booleans())
def test_cells_of_two_columns_are_compared_as_texts(
    pairs: list[tuple[str | None, str | None]], repeated: bool
) -> None:
    own, other = column([a for a, _ in pairs], repeated=repeated), column([b for _, b in pairs])
    assert own.same_texts(other).tolist() == [a == b for a, b in pairs]
    again = own.taken(np.arange(len(own))[::-1])
    assert own.same_texts(again).tolist() == [a == b for (a, _), (b, _) in zip(pairs, pairs[::-1], strict=True)]


def test_some_cells_are_those_of_all() -> None:
    own = column([None, "5", "", "é", "5", "-9"])
    rows = np.array([4, 0, 3])
    assert own.taken(rows).lexemes.tolist() == own.lexemes_of(rows).tolist() == ["5", None, "é"]
    assert [own.lexeme(row) for row in rows.tolist()] == ["5", None, "é"]
    assert own.taken(own.present).lexemes.tolist() == ["5", "é", "5"]
    assert own.holds(rows).tolist() == [True, False, True]
    several = OnDemand.lexemes({"A": own})
    assert ("A" in several, "B" in several, list(several), len(several)) == (True, False, ["A"], 1)
    assert several["A"].tolist() == own.lexemes.tolist()


@examples(40, full=300)
@given(texts=st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=9))
def test_a_lexicon_gives_its_texts_back(texts: list[str | None]) -> None:
    own = Lexicon.of(texts)
    assert len(own) == len(texts)
    assert own.objects().tolist() == [own[at] for at in range(len(own))] == texts
    assert own.some(np.arange(len(own))[::-1]).tolist() == texts[::-1]
    assert own.absent().tolist() == [text is None for text in texts]
    assert own.same().tolist() == [texts.index(text) for text in texts]
    with pytest.raises(IndexError):
        own[len(texts)]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 16, 17, 64, 65, 200])
@pytest.mark.parametrize("many", [300, 20_001])
def test_equal_texts_of_any_length_are_found(length: int, many: int) -> None:
    draw = np.random.default_rng(length)
    texts = ["".join(chr(97 + 25 * at) for at in row) for row in draw.integers(0, 2, (300, length))]
    texts = (texts * (many // 300 + 1))[:many]
    places: dict[str, int] = {}
    assert Lexicon.of(texts).same().tolist() == [places.setdefault(text, at) for at, text in enumerate(texts)]


def whole(path: Path) -> Dataset:
    layout, _ = survey_exactly(path)
    return read_records(path, layout)


def in_batches(path: Path) -> Dataset:
    found = survey_plain(path)
    assert found is not None
    layout, _, plain = found
    return read_records(path, layout, plain=plain)


@pytest.mark.full
@pytest.mark.parametrize("read", [whole, in_batches])
def test_a_cell_takes_few_bytes(tmp_path: Path, read: Callable[[Path], Dataset]) -> None:
    fields, rows = [f"V{at}" for at in range(8)], 4000
    made = "".join(
        "<r>" + "".join(f"<{name}>{(row * 7 + at) % 97}.5</{name}>" for at, name in enumerate(fields)) + "</r>\n"
        for row in range(rows)
    )
    path = tmp_path / "data.xml"
    path.write_text(f"<f>{made}</f>")
    read(path)
    gc.collect()
    tracemalloc.start()
    try:
        records = read(path)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(records) == rows
    assert taken / (rows * len(fields)) < 4 + 8 / len(fields) + 2  # a code, the line of the record, all else


def test_decimals_are_those_of_the_cells_that_are_left() -> None:
    """What records that are left out are spelled like says nothing of those that stay."""
    own = Column.of_cells(Variable.named("A"), ["1", "2.125", "3.5"])
    assert own.decimals == 3
    left = own.taken(np.array([True, False, True]))
    assert left.decimals == 1
    assert left.apart(np.array([0])).decimals == 1, "a part has the scale of all"
