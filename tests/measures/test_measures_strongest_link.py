"""The strongest intruder against all permutations of small files, and against linkage."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import binomtest

import masktron
from cli_runner import write_rules
from masktron.measures import linkage, strongest_link, strongest_linkage
from masktron.measures.strongest_link import wilson
from masktron.methods.rank_swapping import RankSwappingMethod
from masktron.synthesis.shuffling import shuffled
from rank_attacks import links_by_likelihood

Points = NDArray[np.float64]


def best_assignments(costs: Points) -> float:
    """Right links of the assignment with the least cost, on average over all that have it."""
    n = len(costs)
    sums = {own: sum(costs[row, own[row]] for row in range(n)) for own in permutations(range(n))}
    least = min(sums.values())
    best = [own for own, cost in sums.items() if cost <= least + 1e-9]
    return float(np.mean([sum(own[row] == row for row in range(n)) for own in best]))


@pytest.mark.parametrize("alike", [False, True])
def test_one_to_one_is_the_best_of_all_permutations(alike: bool) -> None:
    fewer = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        before = rng.normal(size=(n, 2))
        after = before + 2 * rng.normal(size=(n, 2))
        if alike:
            after[: n // 2] = after[0]
            before[n - 1] = before[0]
        mean, spread = before.mean(axis=0), before.std(axis=0)
        costs = cdist((after - mean) / spread, (before - mean) / spread, "sqeuclidean")
        found = strongest_linkage(before, after)
        assert found.all["Euclidean", "one-to-one"] == pytest.approx(100 * best_assignments(costs) / n)
        assert found.all["Euclidean", "nearest"] == pytest.approx(linkage(before, after))
        assert found.share == max(found.all.values()) == found.all[found.distance, found.pick]
        fewer += found.share < 100
    assert fewer > 20


def test_categories_join_the_best_of_all_permutations() -> None:
    fewer = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        before = rng.normal(size=(n, 1))
        after = before + rng.normal(size=(n, 1))
        fields = [tuple(rng.integers(-1, 2, size=(2, n), dtype=np.int32)) for _ in range(2)]
        spread = before.std()
        costs = cdist(after / spread, before / spread, "sqeuclidean")
        for own, masked in fields:
            strangers = (own[:, np.newaxis] != own).mean()
            if strangers:
                costs += 2 / strangers * (masked[:, np.newaxis] != own)
        found = strongest_linkage(before, after, None, fields).all["Euclidean", "one-to-one"]
        assert found == pytest.approx(100 * best_assignments(costs) / n)
        fewer += found < 100
    assert fewer > 20


def test_a_yes_or_no_is_the_same_as_category_and_as_number() -> None:
    rng = np.random.default_rng(7)
    before, answers = rng.normal(size=(200, 2)), rng.random((200, 2)) < 0.2
    after, changed = before + rng.normal(size=(200, 2)), answers ^ (rng.random((200, 2)) < 0.1)
    as_numbers = strongest_linkage(np.hstack([before, answers]), np.hstack([after, changed])).all
    pairs = [tuple(one.astype(np.int32) for one in pair) for pair in zip(answers.T, changed.T, strict=True)]
    as_categories = strongest_linkage(before, after, None, pairs).all
    for pick in ("nearest", "one-to-one"):
        assert as_categories["Euclidean", pick] == pytest.approx(as_numbers["Euclidean", pick])


def kept_categories(n: int, keep: float, fields: int = 8) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Fields of eight categories, some of which are drawn anew."""
    rng = np.random.default_rng(8)
    found = []
    for _ in range(fields):
        own, other = rng.integers(0, 8, size=(2, n), dtype=np.int32)
        found.append((own, np.where(rng.random(n) < keep, own, other).astype(np.int32)))
    return found


def test_categories_that_masking_keeps_are_found_without_any_number() -> None:
    """As micro-aggregation by blocks leaves them: each field nearly as it was, the amount in groups."""
    pairs = kept_categories(300, 0.9)
    income = np.random.default_rng(1).lognormal(size=(300, 1))
    labels = income[:, 0].argsort().argsort() // 5
    grouped = np.array([income[labels == label].mean() for label in labels])[:, np.newaxis]
    assert strongest_linkage(income, grouped).share <= 20 + 1e-9
    assert strongest_linkage(income, grouped, None, pairs).share > 99
    alone = strongest_linkage(np.empty((300, 0)), np.empty((300, 0)), None, pairs).all
    assert min(alone.values()) > 98, "records with other categories are no doubles"
    drawn = strongest_linkage(income, income[::-1], None, kept_categories(300, 0)).all
    assert max(drawn.values()) < 3, "chance alone"


def test_the_figure_counts_masked_categories(tmp_path: Path) -> None:
    """The attack links by how many categories differ, and then by the rank of the amount."""
    rng = np.random.default_rng(3)
    names = [f"c{at}" for at in range(6)]
    data = pd.DataFrame({name: rng.choice(list("abcdefgh"), 150) for name in names})
    data["income"] = np.rint(rng.lognormal(14, 1, 150))
    roles = dict.fromkeys(names, "confidential")
    rules = write_rules(tmp_path / "r.sch", "income >= 0")
    result = masktron.mask(data, rules, k=5, secret=bytes(range(32)), method="mdav", roles=roles, nominal=names)
    original = data.loc[result.data.index]
    costs = sum((result.data[[name]].to_numpy() != original[name].to_numpy()).astype(float) for name in names)
    costs += cdist(result.data[["income"]].rank(), original[["income"]].rank()) / 300
    order = rng.permutation(150)
    attacked = 100 * float((order[linear_sum_assignment(costs[:, order])[1]] == np.arange(150)).mean())
    figures = {one.name: one.value for one in result.figures}
    assert attacked > 90
    assert figures["strongest_linkage"] >= attacked - 3
    assert figures["linkage"] <= 20 + 1e-9
    alone = masktron.mask(
        data[names], write_rules(tmp_path / "c.sch", "c0 != ''"), k=5, method="mdav", roles=roles, nominal=names
    )
    values = {one.name: one.value for one in alone.figures}
    assert values["strongest_linkage"] > 90
    assert math.isnan(values["linkage"])


def test_likelihood_sees_which_categories_are_kept() -> None:
    pairs = [*kept_categories(400, 0.95, 3), *kept_categories(400, 0, 12)[3:]]
    found = strongest_linkage(np.empty((400, 0)), np.empty((400, 0)), None, pairs)
    assert found.distance == "likelihood"
    assert found.share > 2 * found.all["Euclidean", "one-to-one"]


def test_a_sample_finds_categories_as_all_records_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of the search that are smaller than the file, and a field of which each category is rare."""
    monkeypatch.setattr(strongest_link, "_BLOCK", 300)
    rng = np.random.default_rng(2)
    own = rng.integers(0, 400, size=1_000, dtype=np.int32)
    pairs = [
        *kept_categories(1_000, 0.5, 5),
        (own, np.where(rng.random(1_000) < 0.5, own, own[::-1]).astype(np.int32)),
    ]
    nothing = np.empty((1_000, 0))
    exact = strongest_linkage(nothing, nothing, None, pairs)
    monkeypatch.setattr(strongest_link, "EXACT", 900)
    sampled = strongest_linkage(nothing, nothing, None, pairs)
    assert sampled.interval is not None
    for distance in ("Euclidean", "likelihood"):
        assert sampled.all[distance, "nearest"] == pytest.approx(exact.all[distance, "nearest"], abs=5)


def test_mahalanobis_sees_through_relations() -> None:
    rng = np.random.default_rng(2)
    common = rng.normal(size=(300, 1)) * 10
    before = np.hstack([common + rng.normal(size=(300, 1)) for _ in range(4)])
    root = np.linalg.cholesky(np.cov(before, rowvar=False))
    after = before + 0.3 * rng.normal(size=(300, 4)) @ root.T
    found = strongest_linkage(before, after)
    assert (found.distance, found.pick) == ("Mahalanobis", "one-to-one")
    assert found.share > 2 * found.all["Euclidean", "nearest"]
    mixed = np.array([[1.0, 2, 0, 0], [0, 1, 3, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    again = strongest_linkage(before @ mixed, after @ mixed).all
    assert again["Mahalanobis", "nearest"] == pytest.approx(found.all["Mahalanobis", "nearest"], abs=1), "affine"


def test_ranks_see_through_a_curve() -> None:
    before = np.exp(np.random.default_rng(3).normal(size=(100, 2)) * 2)
    found = strongest_linkage(before, before**0.3)
    assert found.all["ranks", "nearest"] == 100
    assert found.all["Euclidean", "nearest"] < 20


def test_what_is_known_exactly_leaves_few_to_choose_from() -> None:
    rng = np.random.default_rng(4)
    before, after = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    assert strongest_linkage(before, after, np.arange(60)).share == 100
    pairs = strongest_linkage(before, after, np.repeat(np.arange(30), 2)).all["Euclidean", "nearest"]
    assert 30 < pairs < 70, "one of two"
    assert strongest_linkage(before, after).all["Euclidean", "nearest"] < 10


def test_groups_of_equal_records_are_linked_by_chance() -> None:
    rng = np.random.default_rng(5)
    before = rng.normal(size=(100, 3))
    labels = np.argsort(np.argsort(before[:, 0])) // 5
    after = np.stack([before[labels == label].mean(axis=0) for label in labels])
    found = strongest_linkage(before, after)
    assert found.share <= 20 + 1e-9, "k records share their values"
    same = np.ones((100, 1))
    assert strongest_linkage(same, same).all == pytest.approx(dict.fromkeys(found.all, 1.0)), "no order helps"


def test_an_assignment_that_is_one_of_many_does_not_follow_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strongest_link, "_standardised", lambda *files: files)
    places = np.arange(40.0)
    # across each other: every assignment costs the same
    found = strongest_linkage(np.column_stack([places, places]), np.column_stack([places, -places]))
    assert found.all["Euclidean", "one-to-one"] <= 15


@pytest.mark.full
def test_a_sample_finds_what_all_records_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that all compete for each other, and classes of 20, which are assigned whole."""
    rng = np.random.default_rng(6)
    before = rng.normal(size=(1_000, 3))
    for noise, known in ((0.05, None), (0.6, np.arange(1_000) // 20)):
        after = before + noise * rng.normal(size=before.shape)
        exact = strongest_linkage(before, after, known)
        assert exact.interval is None
        monkeypatch.setattr(strongest_link, "EXACT", 900)
        sampled = strongest_linkage(before, after, known)
        assert sampled.interval is not None
        assert sampled.interval[0] < exact.share < sampled.interval[1]
        for key, share in exact.all.items():
            assert sampled.all[key] == pytest.approx(share, abs=6), key
        assert strongest_linkage(before, after, known) == sampled, "the seed is fixed"
        monkeypatch.setattr(strongest_link, "EXACT", 1_000)


@pytest.mark.parametrize(("found", "tried"), [(0, 20), (1, 500), (250, 500), (500, 500)])
def test_the_interval_is_that_of_wilson(found: int, tried: int) -> None:
    wanted = binomtest(found, tried).proportion_ci(0.95, "wilson")
    assert wilson(found, tried) == pytest.approx((100 * wanted.low, 100 * wanted.high))


def test_likelihood_finds_swapped_ranks_as_the_attack_by_simulation_does() -> None:
    """The oracle simulates the program; here it is learned from half of the respondents."""
    before = np.exp(np.random.default_rng(9).normal(size=(300, 4)) @ (np.eye(4) + 0.4))
    after = RankSwappingMethod(p=15, spread="window").mask(before, np.random.default_rng(1)).values
    found = strongest_linkage(before, after)
    oracle = links_by_likelihood(
        before, after, width=int(0.15 * 300), spread="window", generator=np.random.default_rng(2)
    )
    assert found.all["likelihood", "nearest"] == pytest.approx(100 * oracle, abs=10)
    assert (found.distance, found.pick) == ("likelihood", "one-to-one")
    assert found.share > found.all["ranks", "one-to-one"] + 5


def test_likelihood_sees_which_fields_tell_where_they_are_shuffled() -> None:
    """Two columns follow from kept ones, and two from nothing: all ranks together hide that."""
    rng = np.random.default_rng(3)
    before = np.exp(rng.normal(size=(400, 4)) @ (np.eye(4) + 0.4))
    kept = np.column_stack([before[:, 0] + before[:, 1] + rng.normal(size=400), before[:, 2:]])
    found = strongest_linkage(before, shuffled(before, kept, np.random.default_rng(1)))
    assert found.distance == "likelihood"
    assert found.share > 2 * max(share for (distance, _), share in found.all.items() if distance != "likelihood")


def test_likelihood_learns_nothing_from_the_record_itself() -> None:
    """Of files that have nothing to do with each other, chance alone is found, however few records there are."""
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = strongest_linkage(rng.normal(size=(20, 6)), rng.normal(size=(20, 6)))
        shares.append([share for (distance, _), share in found.all.items() if distance == "likelihood"])
    assert np.mean(shares, axis=0) == pytest.approx([5, 5], abs=2)


def test_missing_values_and_bounds() -> None:
    before = np.array([[1.0, np.nan], [2, 3], [5, np.nan], [9, 1]])
    assert strongest_linkage(before, before).share == 100
    assert strongest_linkage(np.empty((0, 2)), np.empty((0, 2))).share == 0
    assert strongest_linkage(np.empty((3, 0)), np.empty((3, 0))).share == pytest.approx(100 / 3)
