"""What many texts are is what few are: a kernel reads numbers as Python does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from masktron.sources import column
from masktron.sources.column import KnownTexts, ReadTexts
from masktron.sources.lexicon import Lexicon

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


def read(texts: list[str | None], *, many: int, together: int = 1 << 16) -> ReadTexts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column, "_MANY", many)
        patch.setattr(column, "_AT_ONCE", together)
        return KnownTexts(Lexicon.of(texts), frozenset({"99", "x"})).read(text=False)


@given(st.lists(SPELLED | st.sampled_from(ODD) | st.none(), max_size=20), st.integers(1, 9))
@example([*ODD, None, "1.25", "99"], 4)
@example([], 1)
def test_kernels_read_texts_as_python_does(texts: list[str | None], together: int) -> None:
    one, other = read(texts, many=1000), read(texts, many=0, together=together)
    assert other.states.tolist() == one.states.tolist()
    assert other.numbers.view(np.int64).tolist() == one.numbers.view(np.int64).tolist()
    assert other.decimals.tolist() == one.decimals.tolist()


def test_plain_numbers_need_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(text: str) -> float:
        raise AssertionError(text)

    monkeypatch.setattr(column, "parse_number", refused)
    found = read(["1", None, "-2.50", "99", " 3 "], many=0)
    assert found.numbers[[0, 2, 4]].tolist() == [1, -2.5, 3]
    assert found.decimals.tolist() == [0, 0, 2, 0, 0]
    with pytest.raises(AssertionError, match="1e3"):
        read(["1", "1e3"], many=0)
