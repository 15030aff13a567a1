"""Local suppression against all suppressions of small files, and against intruders who know the program."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import FULL
from masktron.errors import InfeasibleError
from masktron.treatments import suppression
from masktron.treatments.allowing import Allowed
from masktron.treatments.key_patterns import suppressing
from masktron.treatments.suppression import LocalSuppression, NoWayError, local_suppression
from masktron.treatments.suppression_check import kept
from refusals import refused

type Codes = NDArray[np.int64]
SEEDS = range(600 if FULL else 60)


@dataclass
class Case:
    codes: Codes
    k: int
    cost: NDArray[np.float64]
    refused: NDArray[np.bool_]

    @property
    def allowed(self) -> Allowed | None:
        if not self.refused.any():
            return None
        bits = 2 ** np.arange(self.codes.shape[1])
        return lambda records, which: ~self.refused[records, which @ bits]

    def stands(self, record: int, which: NDArray[np.bool_]) -> bool:
        return not which.any() or not self.refused[record, which @ 2 ** np.arange(len(which))]

    def run(self, **options: object) -> LocalSuppression:
        return local_suppression(
            list(self.codes.T),
            self.k,
            np.random.default_rng(1),
            importance=self.cost,
            allowed=self.allowed,
            **options,
        )  # type: ignore[arg-type]


def case(seed: int) -> Case:
    """Make 2 to 8 records of up to 3 keys: a third with missing values, a half with importance, some with rules."""
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    low = -1 if seed % 3 == 0 else 0
    codes = np.column_stack([rng.integers(low, rng.integers(1, 4), n) for _ in range(m)])
    cost = np.ones(m) if seed % 2 else rng.integers(1, 5, m).astype(float)
    return Case(codes, k, cost, rng.random((n, 2**m)) < (0.25 if seed % 4 == 3 else 0))


def ways(own: Case, record: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return every way to write a record, with its cost."""
    row, found = own.codes[record], []
    for bits in product([False, True], repeat=len(row)):
        which = np.array(bits)
        if not (which & (row < 0)).any() and own.stands(record, which):
            found.append((float(own.cost[which].sum()), tuple(np.where(which, -1, row).tolist())))
    return sorted(found)


def least(own: Case, *, size: int | None = None, wildcards: bool = False) -> float:
    """Try all suppressions: the least cost of one that keeps the promise, infinite where there is none."""
    every, best = [ways(own, record) for record in range(len(own.codes))], [np.inf]
    keys = range(own.codes.shape[1])
    parts = list(combinations(keys, size or len(keys)))

    def promised(rows: list[tuple[int, ...]]) -> bool:
        for part in parts:
            seen = [tuple(row[at] for at in part) for row in rows]
            for one in seen:
                alike = sum(
                    all(a == b or (wildcards and -1 in (a, b)) for a, b in zip(one, other, strict=True))
                    for other in seen
                )
                if alike < own.k:
                    return False
        return True

    plain = size is None and not wildcards

    def go(rows: list[tuple[int, ...]], cost: float) -> None:
        if cost >= best[0] - 1e-9:
            return
        if plain and sum(max(0, own.k - count) for count in Counter(rows).values()) > len(every) - len(rows):
            return
        if len(rows) == len(every):
            best[0] = cost if promised(rows) else best[0]
            return
        for price, written in every[len(rows)]:
            go([*rows, written], cost + price)

    go([], 0.0)
    return best[0]


def promise_kept(own: Case, found: LocalSuppression, **options: object) -> None:
    """Look at cells one by one."""
    assert not (found.cells & (own.codes < 0)).any()
    written = np.where(found.cells, -1, own.codes)
    assert not kept(list(own.codes.T), list(written.T), own.k, **options)  # type: ignore[arg-type]
    assert all(own.stands(record, which) for record, which in enumerate(found.cells))
    assert found.cost == pytest.approx(float((found.cells @ own.cost).sum()))


def test_the_least_suppression_is_found() -> None:
    infeasible = dearer = above = 0
    for seed in SEEDS:
        own = case(seed)
        best = least(own)
        if np.isinf(best):
            infeasible += 1
            with pytest.raises(InfeasibleError):
                own.run()
            continue
        exact, quick = own.run(), own.run(exact_up_to=0)
        promise_kept(own, exact)
        promise_kept(own, quick)
        assert exact.exact
        assert exact.cost == pytest.approx(best)
        assert quick.bound <= best + 1e-9 <= quick.cost + 2e-9
        assert exact.bound == pytest.approx(best)
        dearer += quick.cost > best + 1e-9
        above += quick.bound > 0
    assert infeasible > 3
    assert 0 < dearer < len(SEEDS) / 4, "the greedy algorithm is another one, and rarely worse"
    assert above > len(SEEDS) / 3


@pytest.mark.parametrize("wildcards", [False, True])
def test_subsets_of_keys(wildcards: bool) -> None:
    seen = bounded = 0
    for seed in SEEDS[: len(SEEDS) // 2]:
        own = case(seed)
        own.codes = own.codes[:4]
        size = 1 + seed % own.codes.shape[1]
        best = least(own, size=size, wildcards=wildcards)
        if np.isinf(best):
            with pytest.raises(InfeasibleError):
                own.run(subsets=size, missing_matches=wildcards)
            continue
        try:
            found = own.run(subsets=size, missing_matches=wildcards)
        except InfeasibleError:
            assert own.allowed is not None, "without rules there is always a way"
            continue
        promise_kept(own, found, subsets=size, missing_matches=wildcards)
        assert found.bound <= best + 1e-9 <= found.cost + 2e-9
        seen += 1
        bounded += found.bound > 0
    assert seen > 15
    assert bounded > 7


@pytest.mark.parametrize(
    ("rows", "k", "cost", "bound"),
    [
        ([[0, 0], [1, 1], [1, 1], [1, 1]], 3, [1, 1], 2),  # two cells of the first record, or one of two others
        ([[0, -1], [0, 1], [2, -1]], 3, [1, 3], 1),  # the third record loses its first cell
        ([[2, 2], [-1, -1], [-1, 0], [2, 2]], 4, [2, 2], 2),
    ],
)
def test_no_suppression_costs_less_than_the_bound_where_missing_values_match(
    rows: list[list[int]], k: int, cost: list[float], bound: float
) -> None:
    own = Case(np.array(rows), k, np.array(cost, dtype=float), np.zeros((len(rows), 4), dtype=bool))
    assert suppression.wildcard_bound(suppressing(own.codes, k, own.cost, None, np.random.default_rng(0))) == bound
    found = own.run(missing_matches=True)
    assert bound <= least(own, wildcards=True) <= found.cost
    assert found.exact == (found.cost == bound)


def test_by_hand() -> None:
    # the example of docs/suppression.md: age group, region, occupation
    keys = [np.array([0, 0, 0, 1, 1, 1, 0]), np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 2, 1])]
    found = local_suppression(keys, 2, np.random.default_rng(0))
    # 3 and 7 differ in the region alone
    assert found.cells.tolist() == [
        [False] * 3,
        [False] * 3,
        [False, True, False],
        *[[False] * 3] * 3,
        [False, True, False],
    ]
    assert (found.cost, found.bound, found.exact, found.told) == (2, 2, True, 0)
    assert (found.at_risk, found.records, found.combinations_before, found.combinations) == (2, 2, 4, 3)
    assert found.by_key.tolist() == [0, 2, 0]
    # a region that matters five times as much stays: 1, 2, 3 lose the occupation, 7 and one of 4 to 6 also the age
    dear = local_suppression(keys, 2, np.random.default_rng(0), importance=[1, 5, 1])
    assert (dear.by_key.tolist(), dear.cost) == ([2, 0, 5], 7)
    weak = local_suppression(keys, 2, np.random.default_rng(0), missing_matches=True)
    assert 0 < weak.told == weak.cost <= 2


class InOrder:
    """A generator that leaves records in their order."""

    def permutation(self, n: int) -> NDArray[np.intp]:
        return np.arange(n)


def published(n: int, sizes: tuple[int, ...], **options: object) -> Iterator[tuple[Codes, Codes, float]]:
    """Yield every original, every file that it can become, and how probable that is, over all orders of records."""
    domain = list(product(*map(range, sizes)))
    made = {}
    for rows in product(domain, repeat=n):
        codes = np.array(rows)
        cells = local_suppression(list(codes.T), 2, InOrder(), **options).cells  # type: ignore[arg-type]
        made[rows] = np.where(cells, -1, codes)
    orders = list(permutations(range(n)))
    for rows in made:
        for order in orders:
            written = np.empty((n, len(sizes)), dtype=np.int64)
            written[list(order)] = made[tuple(rows[at] for at in order)]
            yield np.array(rows), written, 1 / len(orders)


def best_guesses(n: int, sizes: tuple[int, ...], **options: object) -> tuple[float, float]:
    """Return how surely an intruder who knows program and keys finds a record, and how surely he tells a cell."""
    links: dict[tuple[bytes, tuple[int, ...]], NDArray[np.float64]] = defaultdict(lambda: np.zeros(n))
    cells: dict[tuple[bytes, int, int], NDArray[np.float64]] = defaultdict(lambda: np.zeros(max(sizes)))
    for codes, written, probability in published(n, sizes, **options):
        seen = written.tobytes()
        for record, row in enumerate(codes.tolist()):
            links[seen, tuple(row)][record] += probability
            for key in np.flatnonzero(written[record] < 0):
                cells[seen, record, int(key)][row[key]] += probability
    return max(own.max() / own.sum() for own in links.values()), max(own.max() / own.sum() for own in cells.values())


@pytest.mark.parametrize("exact", [0, pytest.param(1500, marks=pytest.mark.full)])
def test_who_knows_the_program_finds_k_records_and_no_cell(exact: int) -> None:
    link, cell = best_guesses(4, (2, 2), exact_up_to=exact)
    assert link == pytest.approx(0.5)
    assert cell < 1


def test_missing_values_that_match_all_give_records_away() -> None:
    link, cell = best_guesses(3, (2, 2), missing_matches=True)
    assert link == pytest.approx(1)
    assert cell == pytest.approx(1)


@pytest.mark.parametrize("seed", [24, 97, 306, 400, 401])
def test_records_that_are_written_alike_differ_in_what_is_suppressed(seed: int) -> None:
    rng, k = np.random.default_rng(seed), 2 + seed % 4
    keys = [rng.integers(0, rng.integers(2, 6), 30) for _ in range(3)]
    if rng.random() < 0.5:
        keys[0][rng.random(30) < 0.2] = -1
    found = local_suppression(keys, k, rng, exact_up_to=0, importance=rng.integers(1, 9, 3).astype(float).tolist())
    assert found.told == 0
    assert found.cells.any()
    groups = defaultdict(list)
    for row, cells in zip(np.column_stack(keys).tolist(), found.cells.tolist(), strict=True):
        groups[tuple(-1 if gone else value for value, gone in zip(row, cells, strict=True))].append(row)
    for written, rows in groups.items():
        assert len(rows) >= k
        for key, value in enumerate(written):
            values = {row[key] for row in rows}
            assert values == {value} if value >= 0 or values == {-1} else len(values) > 1


@pytest.mark.parametrize(("k", "keys"), [(2, 12), (7, 3), (9, 1)])
def test_files_of_other_shapes(k: int, keys: int) -> None:
    rng = np.random.default_rng(k)
    codes = np.minimum(rng.geometric(0.4, (300, keys)) - 1, 7)
    codes[rng.random(codes.shape) < 0.05] = -1
    found = local_suppression(list(codes.T), k, rng)
    assert not kept(list(codes.T), list(np.where(found.cells, -1, codes).T), k)
    assert 0 < found.bound <= found.cost < (codes >= 0).sum()


@pytest.mark.parametrize("keys", [4, 11])
def test_combinations_beyond_numbers_of_64_bits(keys: int) -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2**31 - 2, size=(60, keys))[rng.integers(0, 60, 180)]
    rows[::9, 1] += 1
    found = local_suppression(list(rows.T), 2, rng)
    assert 0 < found.bound <= found.cost < rows.size / 2
    assert not kept(list(rows.T), list(np.where(found.cells, -1, rows).T), 2)
    twins = local_suppression(list(np.vstack([rows, rows]).T), 2, rng)
    assert twins.cost == 0


def test_the_same_key_gives_the_same_cells() -> None:
    keys = list(np.random.default_rng(3).integers(0, 6, (3, 200)))
    first, second, other = (local_suppression(keys, 3, np.random.default_rng(seed)).cells for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_key_that_may_not_be_missing_stays() -> None:
    rng = np.random.default_rng(6)
    keys = [rng.integers(0, 5, 120) for _ in range(3)]
    for exact in (0, 1500):
        found = local_suppression(keys, 3, rng, allowed=lambda _, which: ~which[:, 1], exact_up_to=exact)
        assert found.by_key[1] == 0
        assert found.by_key.sum() > 0


def test_what_cannot_be_kept_is_refused_by_name() -> None:
    keys = [np.array([0, 0, 1]), np.array([0, 0, 1])]
    with refused(NoWayError, "keys-stay-rare", keys=("age", "region"), k=2) as caught:
        local_suppression(
            keys, 2, np.random.default_rng(0), names=("age", "region"), allowed=lambda records, _: records != 2
        )
    assert caught.value.forbidden == ("age", "region")
    with refused(InfeasibleError, "too-few-records", records=1):
        local_suppression([np.array([0])], 2, np.random.default_rng(0))


def test_a_result_that_breaks_the_promise_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        suppression, "greedy", lambda file: (np.zeros(file.codes.shape, dtype=bool), np.empty(0, int))
    )
    with pytest.raises(RuntimeError, match="promise"):
        local_suppression([np.array([0, 1])], 2, np.random.default_rng(0), exact_up_to=0)
