"""Rank swapping: partners against all outcomes, values that stay, and what attacks find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from masktron.methods.rank_swapping import RankSwappingMethod
from masktron.synthesis.exchanging import BrokenRules, rank_gap
from masktron.synthesis.rank_swapping import RankSpread, rank_swapped, swapped_ranks
from paths import DOCS
from rank_attacks import intersections, links_by_intersection, links_by_likelihood

RANK_SPREADS: tuple[RankSpread, ...] = get_args(RankSpread.__value__)


def outcomes(n: int, width: int) -> dict[tuple[int, ...], Fraction]:
    """Probabilities of all outcomes within a window, by hand: each rank takes any free one above it alike."""

    def walk(at: int, partner: tuple[int, ...], share: Fraction) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        if at == n:
            yield partner, share
            return
        free = [rank for rank in range(at + 1, min(at + width + 1, n)) if partner[rank] == rank]
        if partner[at] != at or not free:
            yield from walk(at + 1, partner, share)
            return
        for rank in free:
            made = list(partner)
            made[at], made[rank] = rank, at
            yield from walk(at + 1, tuple(made), share / len(free))

    found: dict[tuple[int, ...], Fraction] = {}
    for partner, share in walk(0, tuple(range(n)), Fraction(1)):
        found[partner] = found.get(partner, Fraction(0)) + share
    return found


@pytest.mark.parametrize(("n", "width"), [(4, 2), (6, 3), (6, 5)])
def test_partners_within_a_window_have_the_probabilities_of_all_outcomes(n: int, width: int) -> None:
    generator = np.random.default_rng(n * width)
    wanted = outcomes(n, width)
    assert sum(wanted.values()) == 1
    runs = 3000
    drawn = [tuple(swapped_ranks(n, generator, width=width, spread="window").tolist()) for _ in range(runs)]
    assert set(drawn) <= set(wanted)
    for partner, share in wanted.items():
        # four standard errors, and what taking the nearest rank after six tries may add
        error = 4 * float(share * (1 - share) / runs) ** 0.5 + 0.01
        assert abs(drawn.count(partner) / runs - float(share)) < error


@given(st.integers(1, 60), st.integers(1, 20), st.sampled_from(RANK_SPREADS), st.integers(0, 10**6))
def test_ranks_change_places_in_pairs(n: int, width: int, spread: RankSpread, seed: int) -> None:
    partner = swapped_ranks(n, np.random.default_rng(seed), width=width, spread=spread)
    assert np.array_equal(partner[partner], np.arange(n))
    if spread == "window":
        assert np.abs(partner - np.arange(n)).max() <= width
    else:
        assert (partner == np.arange(n)).sum() == n % 2


def test_the_rank_without_a_partner_is_any() -> None:
    generator = np.random.default_rng(2)
    alone = [
        int(np.flatnonzero(swapped_ranks(5, generator, width=4, spread="distribution") == np.arange(5))[0])
        for _ in range(500)
    ]
    assert np.bincount(alone, minlength=5).min() > 60, "100 expected of each; the largest value would be one of few"


@given(st.integers(8, 50), st.sampled_from(RANK_SPREADS), st.floats(1.0, 100.0), st.integers(0, 10**6))
def test_each_value_stays_and_what_is_missing_goes_nowhere(n: int, spread: RankSpread, p: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n), rng.integers(0, 30, n)]).astype(float)
    known = rng.random(values.shape) < 0.8
    made = RankSwappingMethod(p=p, spread=spread).mask(values, rng, known=known).values
    for before, after, there in zip(values.T, made.T, known.T, strict=True):
        assert np.array_equal(np.sort(before[there]), np.sort(after[there]))
        assert np.array_equal(before[~there], after[~there])
    if spread == "window":
        width = min(max(5, int(np.ceil(p * n / 100))), n - 1)
        for before, after, there in zip(values.T, made.T, known.T, strict=True):
            assert rank_gap(before[there], before[there], after[there]).max(initial=0) <= width


def test_equal_values_are_ranked_at_random() -> None:
    """Else the order of the records would decide who among equal ones gets the next value."""
    values = np.array([0.0] * 20 + [1.0] * 20)
    got = np.zeros(40)
    for seed in range(200):
        got += rank_swapped(values, np.random.default_rng(seed), width=5, spread="window") != values
    assert got.min() > 0


def test_rank_correlations_are_what_the_page_says() -> None:
    values = np.random.default_rng(3).normal(size=(2000, 1))
    for p, spread, factor in ((15.0, "distribution", 3.4), (15.0, "window", 2.3)):
        made = RankSwappingMethod(p=p, spread=spread).mask(values, np.random.default_rng(4)).values  # type: ignore[arg-type]
        own = spearmanr(values[:, 0], made[:, 0])[0]
        assert own == pytest.approx(1 - factor * (p / 100) ** 2, abs=0.015)


def test_totals_are_computed_from_their_parts_wherever_they_stand() -> None:
    rng = np.random.default_rng(5)
    parts = np.rint(rng.lognormal(5, 1, size=(80, 3)))
    values = np.column_stack([parts.sum(axis=1), parts, np.full(80, 7.0)])
    made = RankSwappingMethod(p=30).mask(values, rng).values
    assert made[:, 0] == pytest.approx(made[:, 1:4].sum(axis=1))
    assert (made[:, 4] == 7).all()
    for column in (1, 2, 3):
        assert np.array_equal(np.sort(made[:, column]), np.sort(values[:, column]))


def test_exchanges_keep_rules_and_values() -> None:
    rng = np.random.default_rng(6)
    low = rng.normal(size=200)
    values = np.column_stack([low, low + rng.exponential(0.3, size=200)])

    def broken(made: NDArray[np.float64], records: NDArray[np.intp]) -> NDArray[np.intp]:
        assert made.shape == (len(records), 2)
        return (made[:, 0] > made[:, 1]).astype(np.intp)

    for spread in RANK_SPREADS:
        method = RankSwappingMethod(p=20, spread=spread)
        plain = method.mask(values, np.random.default_rng(1)).values
        kept = method.mask(
            values, np.random.default_rng(1), broken=BrokenRules(np.array([True, True]), broken)
        ).values
        assert (plain[:, 0] > plain[:, 1]).sum() > 40
        assert (kept[:, 0] > kept[:, 1]).sum() < 0.5 * (plain[:, 0] > plain[:, 1]).sum()
        assert np.array_equal(np.sort(kept, axis=0), np.sort(values, axis=0))
        assert (kept == values).all(axis=1).sum() == 0
        if spread == "window":
            gaps = [rank_gap(own, own, new).max() for own, new in zip(values.T, kept.T, strict=True)]
            assert max(gaps) <= 40


def test_the_key_undoes_it() -> None:
    """Which is why it is secret: partners depend on the number of records alone."""
    values = np.random.default_rng(7).lognormal(size=(101, 2))
    made = RankSwappingMethod(p=20).mask(values, np.random.default_rng(8)).values
    generator = np.random.default_rng(8)
    for before, after in zip(values.T, made.T, strict=True):
        generator.permutation(101)
        partner = swapped_ranks(101, generator, width=21, spread="distribution")
        ranks = np.argsort(np.argsort(after))
        assert np.array_equal(np.sort(after)[partner[ranks]], before)


# attacks

P = 12.0
N, KNOWN = 250, 5


def correlated() -> NDArray[np.float64]:
    rng = np.random.default_rng(9)
    return np.exp(rng.normal(size=(N, KNOWN)) @ (np.eye(KNOWN) + 0.4))


def test_a_window_is_found_by_intersection() -> None:
    """The respondent's own record is a candidate in every variable; known variables leave few others."""
    values, width = correlated(), int(np.ceil(P * N / 100))
    made = RankSwappingMethod(p=P, spread="window").mask(values, np.random.default_rng(1)).values
    assert np.diagonal(intersections(values, made, width)).all()
    assert links_by_intersection(values, made, width) > 0.25
    assert links_by_intersection(values[:, :2], made[:, :2], width) < 0.02


def test_the_default_resists_more_than_a_window_that_keeps_as_much() -> None:
    """As far in ranks on average, of squares: 0.753 p there, 0.617 p in a window."""
    values = correlated()
    found: dict[str, float] = {}
    for spread, p in (("distribution", P * 0.617 / 0.753), ("window", P)):
        width = int(np.ceil(p * N / 100))
        made = RankSwappingMethod(p=p, spread=spread).mask(values, np.random.default_rng(2)).values  # type: ignore[arg-type]
        found[spread] = links_by_likelihood(
            values,
            made,
            width=width,
            spread=spread,
            generator=np.random.default_rng(3),  # type: ignore[arg-type]
        )
        assert np.diagonal(intersections(values, made, width)).all() == (spread == "window")
    assert found["distribution"] < found["window"] - 0.05
    assert found["distribution"] > 0.2, "no protection from who knows five variables"


def shares_of(spread: RankSpread, *, n: int, p: int, runs: int) -> tuple[float, float, float]:
    """Per cent of the ranks that move beyond p and beyond 2 p, and the mean way divided by p."""
    width = p * n // 100
    moved = np.concatenate([
        np.abs(swapped_ranks(n, np.random.default_rng(seed), width=width, spread=spread) - np.arange(n))
        for seed in range(runs)
    ])  # fmt: skip
    return 100 * float((moved > width).mean()), 100 * float((moved > 2 * width).mean()), float(moved.mean()) / width


@pytest.mark.parametrize("spread", RANK_SPREADS)
def test_how_many_records_move_beyond_p_is_what_the_page_says(spread: RankSpread) -> None:
    page = (DOCS / "methods" / "exchanging.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {spread} ") and "drawn" not in line)
    beyond, far, way = (float(cell) for cell in row.strip("| ").split("|")[2:])
    found = shares_of(spread, n=1000, p=15, runs=60)
    # a run of 1,000 ranks has a standard error of at most two points
    assert found[0] == pytest.approx(beyond, abs=0.8)
    assert found[1] == pytest.approx(far, abs=0.8)
    assert found[2] == pytest.approx(way, abs=0.02)
    assert (found[0] == 0) is (spread == "window")


@pytest.mark.parametrize("n", [200, 3000])
@pytest.mark.parametrize("p", [5, 15])
def test_about_a_fifth_and_about_half_move_beyond_p(n: int, p: int) -> None:
    assert 15 < shares_of("distribution", n=n, p=p, runs=10)[0] < 22
    assert 40 < shares_of("buckets", n=n, p=p, runs=10)[0] < 58
    assert shares_of("window", n=n, p=p, runs=10)[0] == 0


def test_the_call_for_users_of_sdcmicro_moves_nothing_beyond_p() -> None:
    page = (DOCS / "how-to" / "sdcmicro.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `rankSwap("))
    given = dict(re.findall(r"--param (\w+)=(\w+)", row))
    method = RankSwappingMethod(p=float(given.pop("p")), **given)
    values = np.arange(400.0)[:, None]
    drawn = method.mask(values, np.random.default_rng(1)).values
    assert np.abs(drawn - values).max() == 60
