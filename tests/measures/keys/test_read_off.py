"""Hidden values of keys that other fields give away: every way to guess them, and what chance alone shows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import parts
from masktron.measures.keys.read_off import ReadOff, Telling, read_off

type Codes = NDArray[np.int32]

N = 900


def codes(values: NDArray[np.int64]) -> Codes:
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def field(values: NDArray[np.int64], *, number: bool = False) -> Telling:
    """A field, which may be sorted and added to others where it is a number."""
    return (
        Telling(codes(values), (np.argsort(values, kind="stable"),), values.astype(float))
        if number
        else Telling(codes(values))
    )


def suppressed(region: NDArray[np.int64], seed: int, share: float = 0.2) -> tuple[Codes, Codes]:
    gone = np.random.default_rng(1000 + seed).random(len(region)) < share
    return np.where(gone, -1, region).astype(np.int32), region.astype(np.int32)


def drawn(region: NDArray[np.int64], seed: int, share: float = 0.3) -> tuple[Codes, Codes]:
    """A share of the values is drawn anew, each from the values of the file."""
    generator = np.random.default_rng(2000 + seed)
    anew = generator.random(len(region)) < share
    return np.where(anew, generator.permutation(region), region).astype(np.int32), region.astype(np.int32)


def made(seed: int, kind: str, n: int = N) -> tuple[NDArray[np.int64], dict[str, Telling], dict[str, Codes]]:
    """A region, fields that tell it or do not, and the other keys."""
    generator = np.random.default_rng(seed)
    region, sex, age, x, y = (generator.integers(0, size, n) for size in (4, 2, 8, 2, 2))
    noise, anything = generator.random(n), generator.integers(0, 4, n)
    if kind == "dominant":
        region = (generator.random(n) < 0.03).astype(np.int64)
    own: dict[str, Telling] = {
        "weight": {"X": field(100 * sex + 7 * region)},
        "pair": {"X": field((2 * sex + region) % 4)},
        "triple": {"X": field(x), "Y": field(y), "Z": field((region + x + 2 * y) % 4)},
        "exclusive or": {"X": field(anything), "Y": field(generator.integers(0, 4, n))},
        "near": {"X": field(2 * np.where(noise < 0.04, anything, region) + x)},
        "likely": {"X": field(np.where(noise < 0.2, anything, region))},
        "runs": {"X": field(10_000 * region + generator.permutation(n), number=True)},
    }.get(kind, {"X": field(generator.integers(0, 150, n), number=True)})
    if kind == "exclusive or":
        own["Z"] = Telling(((region + own["X"].codes + own["Y"].codes) % 4).astype(np.int32))
    own["NOISE"] = field(generator.integers(0, n // 3, n), number=True)
    return region, own, {"SEX": codes(sex), "AGE": codes(age)}


TOLD = {
    "weight": ("X",),
    "pair": ("X", "SEX"),
    "triple": ("X", "Y", "Z"),
    "exclusive or": ("X", "Y", "Z"),
    "near": ("X",),
    "runs": ("X",),
}


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.parametrize("seed", parts(range(20), 2))
@pytest.mark.parametrize("hide", [suppressed, drawn])
def test_hidden_values_come_back(kind: str, seed: int, hide: object) -> None:
    region, telling, others = made(seed, kind)
    if hide is drawn:
        shown, true = drawn(region, seed)
        found = read_off(shown, true, {**telling, **{name: Telling(own) for name, own in others.items()}}, {})
    else:
        shown, true = suppressed(region, seed)
        found = read_off(shown, true, telling, others)
    assert set(found.fields[0]) == set(TOLD[kind])
    assert found.hidden == (shown != true).sum()
    assert found.suppressed == (shown < 0).sum()
    assert found.right > 0.9 * found.hidden
    assert found.right >= 0.9 * found.guessed
    assert (found.cells[found.cells >= 0] == true[found.cells >= 0]).all()


@pytest.mark.parametrize("kind", ["chance", "dominant", "likely"])
@pytest.mark.parametrize("seed", parts(range(60), 5))
def test_nothing_is_told_that_chance_explains_or_that_is_unreliable(seed: int, kind: str) -> None:
    """Of a value that nearly all have, nearly all guesses are right by chance; "likely" tells 85 % of the values.

    Of a dozen hidden values it may tell more, and then that is said.
    """
    region, telling, others = made(seed, kind, 60 + 97 * seed % 900)
    for found in (
        read_off(*suppressed(region, seed), telling, others),
        read_off(*drawn(region, seed), telling, {}),
    ):
        lucky = kind == "likely" and found.hidden < 20 and found.right > 0.9 * found.hidden
        assert found.fields == () or lucky


@pytest.mark.parametrize("seed", range(3))
def test_many_independent_fields_tell_nothing(seed: int) -> None:
    """Groups of two or three among hundreds agree by chance, in some of hundreds of sets."""
    generator = np.random.default_rng(seed)
    telling = {f"F{at}": field(generator.integers(0, 5 + 20 * at, 120), number=True) for at in range(12)}
    region = generator.integers(0, 2, 120)
    for hide in (suppressed, drawn):
        assert read_off(*hide(region, seed), telling, {}).fields == ()


def test_a_few_right_guesses_are_no_proof() -> None:
    """Sixteen tested values of two agree with a field by chance once in some 65,000 ways to guess them."""
    region = np.tile([0, 1], 20)
    telling = {"X": Telling(codes(region))}
    assert read_off(*suppressed(region, 1), telling, {}).fields == ()
    assert read_off(*suppressed(np.tile(region, 9), 1), {"X": Telling(np.tile(codes(region), 9))}, {}).fields


def test_a_lucky_guess_among_many_wrong_ones_counts_for_nothing() -> None:
    """Each value stands in two records, and the only hidden cell is the same as in the other record."""
    pair = np.repeat(np.arange(150), 2)
    region = np.random.default_rng(7).integers(0, 4, 300)
    region[:2] = 1
    shown, true = codes(region), codes(region)
    shown[0] = -1
    assert read_off(shown, true, {"PAIR": Telling(codes(pair))}, {}).fields == ()


def test_a_number_is_read_off_a_sum() -> None:
    generator = np.random.default_rng(4)
    region, part, other = (
        generator.integers(1, 12, N),
        generator.integers(1000, 9000, N),
        generator.integers(0, 99, N),
    )
    region[:6] = 70 + np.arange(6)
    shown, true = suppressed(region, 4)
    shown[:6] = -1
    telling = {
        name: field(own, number=True) for name, own in {"OTHER": other, "PART": part, "TOTAL": region + part}.items()
    }
    found = read_off(shown, true, telling, {}, np.arange(80.0))
    assert found.fields == (("PART", "TOTAL"),)
    assert found.right == found.hidden
    telling["TOTAL"] = field(region + part + generator.integers(-1, 2, N), number=True)
    assert read_off(shown, true, telling, {}, np.arange(80.0)).fields == ()


def test_the_order_of_the_file_tells_what_runs_through_it() -> None:
    region = np.repeat(np.arange(4), 50)
    order = {"ORDER": Telling(np.full(200, -1, dtype=np.int32), (np.arange(200),))}
    for shown, true in (suppressed(region, 1), drawn(region, 1)):
        found = read_off(shown, true, order, {})
        assert found.fields == (("ORDER",),)
        assert found.right > 0.85 * found.hidden


def test_the_other_keys_alone_tell_nothing_and_a_field_alone_comes_before_a_pair() -> None:
    region, telling, _ = made(1, "weight")
    shown, true = suppressed(region, 1)
    keys = {"COUNTY": codes(region), "TOWN": telling["X"].codes}
    assert read_off(shown, true, {"NOISE": telling["NOISE"]}, keys).fields == ()
    assert read_off(shown, true, telling, {"COUNTY": codes(region)}).fields == (("X",),)


def test_guesses_that_shown_values_mislead_count_for_nothing() -> None:
    """Each street shows one region; what was suppressed in it is another one, as it was rare."""
    street = np.repeat(np.arange(30), 8)
    region = street % 3
    shown, true = codes(region), codes(region)
    true[::8], shown[::8] = (region[::8] + 1) % 3, -1
    found = read_off(shown, true, {"STREET": field(street)}, {})
    assert (found.fields, found.guessed, found.right) == ((), 0, 0)


def test_pairs_that_are_too_many_are_counted() -> None:
    region, telling, others = made(2, "chance", 300)
    telling = {f"{name}{at}": one for name, one in telling.items() for at in range(8)}
    shown, true = suppressed(region, 2)
    assert read_off(shown, true, telling, others).untried == 0
    found: ReadOff = read_off(shown, true, telling, others, work=1)
    assert found.untried > 100
    assert read_off(true, true, {}, {}).fields == ()
