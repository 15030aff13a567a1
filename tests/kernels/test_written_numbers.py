"""The kernels write numbers as Python does, and as the plain way of the second reading does."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import FULL, examples
from masktron.kernels.written_numbers import NOTHING, OTHER, scale_doubles
from masktron.sources.tables.arrow_objects import object_columns

WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
SHORT = st.builds(
    lambda digits, scale: float(Decimal(digits).scaleb(-scale)), st.integers(-(10**16), 10**16), st.integers(0, 18)
)
EDGES = [0.0, -0.0, 1e15, -1e15, 999999999999999.0, 99999999999999.95, 1e-15, 9e-16, 0.1 + 0.2, 5e-324, 1e22, 1e300]


def written(values: list[Any], kind: pa.DataType, begin: int) -> list[str | None]:
    """What the kernels write of values that begin within an array; valid for Arrow."""
    column = pa.array([*[None] * begin, *values], kind).slice(begin)
    (found,) = object_columns(pa.record_batch({"x": column}), compiled=True)
    found.validate(full=True)
    (plain,) = object_columns(pa.record_batch({"x": column}))
    assert found.equals(plain)
    texts: list[str | None] = found.to_pylist()
    return texts


@pytest.mark.parametrize("kind", WHOLE, ids=str)
def test_integers_are_written_as_python_writes_them(kind: pa.DataType) -> None:
    limits = np.iinfo(str(kind))
    powers = [sign * 10**power + more for power in range(20) for sign in (1, -1) for more in (-1, 0, 1)]
    values = [*range(-130, 260), *powers, limits.min, limits.max]
    inside: list[int | None] = [value for value in values if limits.min <= value <= limits.max]
    for absent in ([], [None]):
        texts = written([*absent, *inside, *absent], kind, 3)
        assert texts == [*absent, *map(str, inside), *absent]


@examples(75, full=2000)
@given(st.lists(SHORT | st.floats(allow_infinity=False) | st.none(), min_size=1, max_size=30), st.integers(0, 3))
@example([*EDGES, None, float("nan")], 1)
@example([None], 0)
@example([float("nan"), 0.1 + 0.2], 0)
def test_doubles_are_written_with_the_digits_of_their_shortest_form(values: list[float | None], begin: int) -> None:
    for value, text in zip(values, written(values, pa.float64(), begin), strict=True):
        if value is None or value != value:  # noqa: PLR0124 -- NaN
            assert text is None
        else:
            assert text is not None
            shortest = Decimal(repr(value))
            assert Decimal(text) == shortest
            assert text.startswith("-") == shortest.is_signed()
            assert "E" in text or not ("." in text and text.endswith("0"))


def test_most_doubles_need_no_python() -> None:
    values = np.array([0.000793943, -4.109448968, 123456789012345.0, 1.5, 7.0, 0.0, 0.1 + 0.2, -0.0, np.nan, 3.0])
    scales, numbers = np.zeros(10, dtype=np.int8), np.zeros(10, dtype=np.int64)
    scales[-1] = NOTHING
    assert scale_doubles(values, scales, numbers) == 2
    assert scales.tolist() == [9, 9, 0, 1, 0, 0, 17, OTHER, OTHER, NOTHING]
    assert numbers[:7].tolist() == [793943, -4109448968, 123456789012345, 15, 7, 0, 30000000000000004]


@pytest.mark.parametrize(
    ("seed", "values"),
    [
        (1, lambda random, size: random.lognormal(0, 5, size)),
        (2, lambda random, size: random.random(size) * 10.0 ** random.integers(-5, 14, size)),
        (3, lambda random, size: np.round(random.lognormal(0, 4, size), random.integers(8, 18))),
        (
            4,
            lambda random, size: np.ldexp(
                random.integers(1, 2**53, size).astype(float), -random.integers(5, 60, size)
            ),
        ),
        (5, lambda random, size: random.integers(1, 10**6, size) / random.integers(1, 10**6, size)),
        (
            6,
            lambda random, size: np.nextafter(10.0 ** random.integers(-6, 15, size), random.choice([0, 1e300], size)),
        ),
        (
            7,
            lambda random, size: np.nextafter(2.0 ** random.integers(-20, 50, size), random.choice([0, 1e300], size)),
        ),
        (8, lambda random, size: 2.0 ** random.integers(-20, 50, size)),
    ],
    ids=["log-normal", "any size", "rounded", "many bits", "quotients", "near 10", "near 2", "powers of 2"],
)
def test_all_digits_of_a_double(seed: int, values: Callable[[np.random.Generator, int], NDArray[np.float64]]) -> None:
    size = 200_000 if FULL else 3000
    drawn = values(np.random.default_rng(seed), size)
    scales, numbers = np.zeros(size, dtype=np.int8), np.zeros(size, dtype=np.int64)
    left = scale_doubles(drawn, scales, numbers)
    assert left == (scales == OTHER).sum()
    assert left < size / 4 or seed in {6, 8}
    for value, scale, number in zip(drawn.tolist(), scales.tolist(), numbers.tolist(), strict=True):
        if scale != OTHER:
            assert Decimal(number).scaleb(-scale) == Decimal(repr(value)), value
            assert scale == 0 or number % 10
