"""Texts that are decoded once are those of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from made_columns import new_column
from masktron.settle import record_texts
from masktron.settle.record_texts import RecordTexts
from masktron.sources.column import Column

TEXTS = {"A": [None, "1", "02", "", "x"], "B": ["7", "8", "9", None, "7 "]}


@pytest.fixture
def columns() -> dict[str, Column]:
    codes = np.array([0, 1, 2, 3, 4, 2, 0], dtype=np.int32)
    return {name: new_column(own, codes) for name, own in TEXTS.items()}


@pytest.mark.parametrize("most", [1, 100])
def test_texts_are_those_of_the_columns(
    columns: dict[str, Column], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(record_texts, "MAX_TEXTS", most)
    texts = RecordTexts(columns)
    rows = np.array([6, 0, 3, 3, 5])
    for _ in range(2):
        for name, column in columns.items():
            assert texts.of(name, rows) == column.lexemes_of(rows).tolist()
        asked = (2, 6, 2, 4)
        expected = [{name: column.lexeme(record) for name, column in columns.items()} for record in asked]
        assert texts.rows(asked) == expected


def test_records_without_fields_have_rows() -> None:
    assert RecordTexts({}).rows((3, 1)) == [{}, {}]
