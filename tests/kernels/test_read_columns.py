"""Columns of a batch are made once, and texts are told apart by their bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from columns_twin import batch_of, real
from masktron.kernels.texts import code_texts
from masktron.sources.record_layout import Field, Layout

LAYOUT = Layout(("D", "R"), (Field("V", "V"), Field("@a", "a", True)))
LEXEMES = st.one_of(
    st.none(), st.text(alphabet="aAbé€ \t0\n&𝄞", max_size=3), st.text(max_size=40).filter(str.isprintable)
)


@given(st.lists(LEXEMES, max_size=60))
def test_texts_are_those_of_the_twin(lexemes):
    twin = batch_of(LAYOUT, [{"V": lexeme, "@a": lexeme} for lexeme in lexemes])
    for at in (0, 1):
        found, expected = real(twin).texts(at), twin.texts(at)
        assert found.codes.tolist() == expected.codes.tolist()
        assert found.values == expected.values
        assert found.codes.dtype == np.int32


@pytest.mark.parametrize("codec", ["iso8859-1", "cp1252", "koi8-r"])
def test_texts_are_decoded_as_the_file_is_encoded(codec):
    texts = ["a", "ü" if codec != "koi8-r" else "ж", "", "a"]
    twin = batch_of(LAYOUT, [{"V": "x" * len(text)} for text in texts])
    batch = real(twin)
    for row, text in enumerate(texts):
        batch.buffer[batch.cells[0].start[row] : batch.cells[0].stop[row]] = list(text.encode(codec))
    object.__setattr__(batch, "codec", codec)
    assert [batch.texts(0).values[code] for code in batch.texts(0).codes] == texts


def test_columns_are_made_once():
    batch = real(batch_of(LAYOUT, [{"V": "1"}]))
    assert batch.texts(0) is batch.texts(0)
    assert batch.numbers(0) is batch.numbers(0)
    assert batch.record(0) == b"<R><V>1</V></R>"


def test_texts_whose_hashes_meet_are_told_apart():
    # a table of four places for three texts: at least two of them meet, or stand next to each other
    data = np.frombuffer(b"abcabc", dtype=np.uint8).copy()
    starts = np.arange(6, dtype=np.int64)
    for order in ([0, 1, 2, 3, 4, 5], [2, 5, 1, 0, 4, 3]):
        codes, firsts = np.empty(6, dtype=np.int32), np.empty(6, dtype=np.int32)
        slots = np.full(4, -1, dtype=np.int32)
        places = starts[order]
        count = code_texts(data, places, places + 1, np.full(6, 2, dtype=np.uint8), slots, codes, firsts)
        assert count == 3
        assert [data[places[firsts[code]]] for code in codes] == [data[place] for place in places]
