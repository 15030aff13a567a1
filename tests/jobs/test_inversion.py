"""Solving mask(X, key) = published: whoever has the key has the original, and without it there is nothing to gain."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import masktron
from attacks import KEY, Floats, Gain, solutions
from cli_runner import write_data, write_rules
from masktron.jobs import randomness
from masktron.methods.base import Method
from masktron.methods.hybrid_micro import HybridMicroMethod
from masktron.methods.ipso import IpsoMethod
from masktron.methods.microhybrid import MicrohybridMethod
from masktron.methods.muralidhar_sarathy import MuralidharSarathyMethod
from masktron.methods.noise import NoiseMethod
from masktron.methods.sequential import SequentialMethod
from masktron.release_secret import secret_of_seed
from masktron.streams import Streams

OWN = (NoiseMethod, MuralidharSarathyMethod)
"""Methods that add noise to the value of the record itself."""
N = 120

type Make = Callable[[], np.random.Generator]


def amounts() -> Floats:
    """A, B, C = A + B, D: amounts, all of one stratum."""
    generator = np.random.default_rng(3)
    first, second = np.rint(generator.lognormal(6, 1, size=(2, N)))
    other = np.rint(generator.lognormal(7, 0.5, size=N) * np.sqrt(first))
    return np.column_stack([first, second, first + second, other])


def generators(key: bytes, *bound: str) -> Make:
    return lambda: Streams(key, *bound).generator("draw", 0, 0)


def guesses(seeds: int, *bound: str) -> Iterator[Make]:
    """What an attacker tries: no key, short seeds, and the streams that releases had before there was a key."""
    yield generators(bytes(32), *bound)
    for seed in range(seeds):
        yield generators(secret_of_seed(seed), *bound)
        yield lambda seed=seed: np.random.default_rng([seed, 0, 0])  # type: ignore[misc]


def drawn(method: Method, values: Floats, make: Make) -> Floats:
    classes = (np.arange(len(values)) % 3)[:, None] if method.needs_class else None
    return method.mask(values, make(), classes=classes).values


def gains(original: Floats, published: Floats, method: Method, make: Make, *, signs: int, rounds: int) -> list[Gain]:
    """What each solution would give, had the attacker somebody to tell him the right one."""
    found = solutions(published, lambda values: drawn(method, values, make), signs=signs, rounds=rounds)
    return [Gain.of(original, one) for one in (*found, np.mean(found, axis=0))]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.name)
def test_with_the_key_the_original_is_solved_for(kind: type[Method]) -> None:
    """The attack is one: every cell within 1 % with the key, so a key that can be found protects nothing."""
    original, method, make = amounts(), kind(), generators(KEY, "original")
    published = drawn(method, original, make)
    assert max(gain.near for gain in gains(original, published, method, make, signs=3, rounds=60)) > 95


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", (IpsoMethod, MicrohybridMethod, HybridMicroMethod, SequentialMethod), ids=lambda kind: kind.name
)
def test_moments_alone_leave_nothing_to_invert(kind: type[Method]) -> None:
    """With the key, too, the file says no more of a record than before."""
    original, method, make = amounts(), kind(), generators(KEY, "original")
    published = drawn(method, original, make)
    before = Gain.of(original, published)
    found = gains(original, published, method, make, signs=2, rounds=15)
    assert not any(gain.exceeds(before, N) for gain in found)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.name)
def test_without_the_key_nothing_is_gained_over_linking_the_file(kind: type[Method]) -> None:
    original, method = amounts(), kind()
    published = drawn(method, original, generators(KEY, "original"))
    before = Gain.of(original, published)
    for make in guesses(1, "original"):
        tried = gains(original, published, method, make, signs=2, rounds=15)
        assert not any(gain.exceeds(before, N) for gain in tried)


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What the streams of each run are bound to besides the key: the attacker is given it, secret or not."""
    seen: list[tuple[str, ...]] = []

    def spying(key: bytes, *others: str) -> Streams:
        seen.append(others)
        return Streams(key, *others)

    monkeypatch.setattr(randomness, "Streams", spying)
    return seen


def released(folder: Path, values: Floats, *tests: str, **settings: object) -> Floats:
    """What `mask` publishes, in the order of the original."""
    rows = [dict(zip("ABCD", map(int, row), strict=True)) for row in values]
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    masktron.mask(data, rules, folder / "m.xml", **{"order": "keep", **settings})
    records = etree.parse(folder / "m.xml").getroot().findall("Record")
    return np.array([[float(record.findtext(name)) for name in "ABCD"] for record in records])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.name)
def test_a_published_file_is_not_solved_for(tmp_path: Path, bound: list[tuple[str, ...]], kind: type[Method]) -> None:
    """With the key from the manifest it is, rounded and settled by rules as it is; with all else it is not."""
    original, method = amounts(), kind()
    published = released(tmp_path, original, "A + B = C", "A >= 0 and B >= 0", "D >= 0", method=kind.name, secret=KEY)
    secret = bytes.fromhex(json.loads((tmp_path / "m.manifest.json").read_text())["secret"])
    assert secret == KEY
    known = gains(original, published, method, generators(secret, *bound[0]), signs=3, rounds=30)
    before = Gain.of(original, published)
    assert max(gain.linked for gain in known) > 75
    assert before.linked < 50
    for make in guesses(1, *bound[0]):
        tried = gains(original, published, method, make, signs=2, rounds=15)
        assert not any(gain.exceeds(before, N) for gain in tried)


def test_what_streams_are_bound_to_never_changes(tmp_path: Path, bound: list[tuple[str, ...]]) -> None:
    """So a key and the same settings repeat a release; who changes it says why, as for tools/golden.json."""
    released(tmp_path, amounts(), "A + B = C", secret=KEY, method="noise")
    assert [part[:8] for part in bound[0][1:]] == ["0279fa38", "2af32449"]


def test_equal_parameters_are_bound_alike_and_other_codes_otherwise(
    tmp_path: Path, bound: list[tuple[str, ...]]
) -> None:
    """However a number is given; and codes that mean 'missing' decide what earlier steps draw."""
    for alpha in (0, 0.0, [0], (0.0,)):
        released(tmp_path, amounts(), "A >= 0", secret=KEY, method="muralidhar_sarathy", params={"alpha": alpha})
    assert len({*bound}) == 1
    bound.clear()
    values = amounts()
    values[:, 0] = np.arange(N) % 3
    how: dict[str, Any] = {"roles": {"A": "quasi-identifier"}, "pram": {"A": "change:0.1"}}
    for code in ("7", "8"):
        released(tmp_path, values, "D >= 0", secret=KEY, missing={"B": [code]}, **how)
    assert len({*bound}) == 2
