"""Numbers of a large table are those of a small one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from masktron.sources.column import Column
from masktron.sources.record_layout import Field
from masktron.sources.tables import columns_of_cells
from masktron.sources.tables.columns_of_cells import column_of
from masktron.sources.variables import Typed

SPELLED = st.from_regex(r"\A[ \t\n]?[+-]?[0-9]{0,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?[ \r]?\Z")
ODD = (
    "",
    " ",
    "-0",
    "5.",
    ".5",
    "+5",
    "1e3",
    "1e400",
    "INF",
    "NaN",
    "é",
    "0.10",
    "99",
    " 99 ",
    "1" * 19,
    "x",
    "-",
    "1_0",
)


def read(texts: list[str | None], *, compiled: bool) -> Column:
    half = len(texts) // 2
    lexemes = pa.chunked_array([pa.array(part, pa.string()) for part in (texts[:half], texts[half:])])
    return column_of(Field("A", "A"), lexemes, frozenset({"99", "x"}), Typed(), compiled=compiled)


@given(st.lists(SPELLED | st.sampled_from(ODD) | st.none(), max_size=20))
@example([*ODD, None, "1.25", "99"])
@example([])
def test_kernels_read_cells_as_python_does(texts: list[str | None]) -> None:
    one, other = (read(texts, compiled=compiled) for compiled in (False, True))
    assert other.lexemes.tolist() == one.lexemes.tolist() == texts
    assert other.status.tolist() == one.status.tolist()
    assert other.values.view(np.int64).tolist() == one.values.view(np.int64).tolist()
    assert other.decimals == one.decimals


def test_plain_numbers_need_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(text: str) -> float:
        raise AssertionError(text)

    monkeypatch.setattr(columns_of_cells, "parse_number", refused)
    found = read(["1", None, "-2.50", "99", " 3 "], compiled=True)
    assert found.values[[0, 2, 4]].tolist() == [1, -2.5, 3]
    assert found.decimals == 2
    with pytest.raises(AssertionError, match="1e3"):
        read(["1", "1e3"], compiled=True)
