"""Suppressed cells that come back: against guessing cell by cell in plain Python, and against chance."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import parts
from masktron.measures.keys.read_off import RELIABLE, SUPPORTS, ReadOff, read_off

type Codes = NDArray[np.int32]
KINDS = ("weight", "modulo", "postcode", "masked", "chance", "dominant", "likely")


def codes(values: NDArray[np.int64]) -> Codes:
    return values.astype(np.int32)


def made(seed: int, kind: str, n: int = 900) -> tuple[Codes, dict[str, Codes], dict[str, Codes]]:
    """A region, fields that tell it or do not, and the other keys."""
    generator = np.random.default_rng(seed)
    region, sex, age = (generator.integers(0, size, n) for size in (6, 2, 8))
    if kind == "dominant":
        region = (generator.random(n) < 0.03).astype(np.int64)
    own = {
        "weight": 100 * sex + 7 * region,
        "modulo": (3 * sex + region) % 7,
        "postcode": 40 * region + generator.integers(0, 40, n),
        "masked": np.argsort(np.argsort(region + generator.random(n))) // 4,
        "likely": np.where(generator.random(n) < 0.6, region, generator.integers(0, 6, n)),
    }.get(kind, generator.integers(0, 150, n))
    telling = {"X": codes(own), "Y": codes(generator.integers(0, n // 3, n))}
    return codes(region), telling, {"SEX": codes(sex), "AGE": codes(age)}


def suppressed(region: Codes, seed: int, share: float = 0.2) -> tuple[Codes, Codes]:
    gone = np.random.default_rng(1000 + seed).random(len(region)) < share
    return np.where(gone, np.int32(-1), region), np.where(gone, region, np.int32(-1))


def guessed(shown: Codes, groups: Codes) -> dict[int, int]:
    """Guess each missing cell as an intruder does who goes through the file by hand; by record."""
    members: dict[int, list[int]] = {}
    for at, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(at)
    others = {
        at: [int(shown[one]) for one in members[group] if one != at and shown[one] >= 0]
        for at, group in enumerate(groups.tolist())
    }
    for support in SUPPORTS:
        tries = {at: own[0] for at, own in others.items() if len(own) >= support and len({*own}) == 1}
        right = [value == shown[at] for at, value in tries.items() if shown[at] >= 0]
        if right and sum(right) >= RELIABLE * len(right):
            return {at: value for at, value in tries.items() if shown[at] < 0}
    return {}


def expected(shown: Codes, hidden: Codes, groups: Codes) -> tuple[int, int]:
    found = guessed(shown, groups)
    return len(found), sum(int(hidden[at]) == value for at, value in found.items())


@pytest.mark.parametrize("kind", ["weight", "modulo", "postcode", "masked"])
@pytest.mark.parametrize("seed", parts(range(20), 3))
def test_cells_are_those_that_somebody_guesses_by_hand(seed: int, kind: str) -> None:
    region, telling, others = made(seed, kind)
    shown, hidden = suppressed(region, seed)
    found = read_off(shown, hidden, telling, others)
    pair = kind == "modulo"
    assert found.fields[0] == (("X", "SEX") if pair else ("X",))
    groups = telling["X"] * 2 + others["SEX"] if pair else telling["X"]
    told, right = expected(shown, hidden, groups)
    assert found.suppressed == (hidden >= 0).sum()
    assert found.guessed >= told > 0.9 * found.suppressed
    assert found.right >= right > 0.95 * told
    assert (found.cells[found.cells >= 0] == hidden[found.cells >= 0]).all()


@pytest.mark.parametrize("kind", ["chance", "dominant", "likely"])
@pytest.mark.parametrize("seed", parts(range(60), 8))
def test_nothing_is_told_that_chance_explains(seed: int, kind: str) -> None:
    """Of a value that nearly all have, nearly all guesses are right by chance."""
    region, telling, others = made(seed, kind, 60 + 97 * seed % 900)
    assert read_off(*suppressed(region, seed), telling, others).fields == ()


def test_the_other_keys_alone_tell_nothing_and_a_field_alone_comes_before_a_pair() -> None:
    region, telling, _ = made(1, "weight")
    shown, hidden = suppressed(region, 1)
    nothing = {"Y": telling["Y"]}
    assert read_off(shown, hidden, nothing, {"COUNTY": region, "TOWN": telling["X"]}).fields == ()
    assert read_off(shown, hidden, telling, {"COUNTY": region}).fields == (("X",),)


def test_guesses_that_shown_values_mislead_count_for_nothing() -> None:
    """Each street shows one region; what was suppressed in it is another one, as it was rare."""
    street = np.repeat(np.arange(30), 8)
    region = street % 3
    shown, hidden = codes(region), np.full(len(region), -1, dtype=np.int32)
    hidden[::8], shown[::8] = (region[::8] + 1) % 3, -1
    found = read_off(shown, hidden, {"STREET": codes(street)}, {})
    assert (found.fields, found.guessed, found.right) == ((), 0, 0)


def test_pairs_that_are_too_many_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    region, telling, others = made(2, "chance")
    shown, hidden = suppressed(region, 2)
    assert read_off(shown, hidden, telling, others).untried == 0
    monkeypatch.setattr(sys.modules["masktron.measures.keys.read_off"], "PAIRS_OF", 1)
    found: ReadOff = read_off(shown, hidden, telling, others)
    assert found.untried == 1
    monkeypatch.undo()
    assert read_off(shown, np.full(len(shown), -1, dtype=np.int32), {}, {}).fields == ()
