"""Trees and cuts: compiled code against the plain twin, known trees by scipy, and cuts by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import jensenshannon, pdist, squareform

from masktron.kernels import crest, crest_tree

HALVES = np.array([0.5, 0.5])


def wjsd(counts: np.ndarray, shares: np.ndarray) -> float:
    """Divergence of the classes of each part from those of the file, weighted by its records."""
    divergence = [jensenshannon(own, shares, base=2) ** 2 for own in counts]
    return float(np.average(divergence, weights=counts.sum(axis=1)))


@contextmanager
def compiled_from(n: int) -> Iterator[None]:
    before, crest.COMPILED_FROM = crest.COMPILED_FROM, n
    try:
        yield
    finally:
        crest.COMPILED_FROM = before


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int, int]:
    rng = np.random.default_rng(seed)
    n, d, classes = (int(rng.integers(low, high)) for low, high in ((2, 45), (1, 4), (1, 5)))
    points = rng.integers(0, 4, size=(n, d)) / 3.0 if seed % 2 else rng.normal(size=(n, d))
    codes = rng.integers(0, classes, size=n).astype(np.intp)
    shares = rng.dirichlet(np.ones(classes))
    return (
        points,
        codes,
        shares,
        float(rng.choice([0.0, 0.3, 0.5, 1.0])),
        int(rng.integers(2, 12)),
        int(rng.integers(1, 8)),
    )


def both_agree(seeds: range) -> None:
    for seed in seeds:
        points, codes, shares, alpha, neighbours, k = case(seed)
        k = min(k, len(points))
        found = []
        for n in (10**9, 0):
            with compiled_from(n):
                tree = crest.grow(points, codes, shares, alpha, neighbours, 1.0 / points.shape[1])
                found.append((tree.order, tree.parent, tree.squared, crest.cut(tree, codes, shares, k)))
        for plain, compiled in zip(*found, strict=True):
            assert plain.tolist() == compiled.tolist(), f"seed {seed}"
        sizes = np.bincount(found[0][3])
        assert sizes.min() >= k


@pytest.mark.full
def test_compiled_code_grows_and_cuts_as_the_plain_twin() -> None:
    both_agree(range(40))


@pytest.mark.full
def test_compiled_code_grows_and_cuts_as_the_plain_twin_at_length() -> None:
    both_agree(range(40, 4000))


@pytest.mark.parametrize("n", [20, 150])
def test_with_alpha_1_it_is_a_minimum_spanning_tree(n: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 3))
    tree = crest.grow(points, np.zeros(n, np.intp), np.ones(1), 1.0, 5, 1.0)
    known = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    edges = {frozenset((int(a), int(b))) for a, b in zip(known.row, known.col, strict=True)}
    assert {frozenset((v, int(tree.parent[v]))) for v in range(n) if tree.parent[v] >= 0} == edges
    assert np.sqrt(tree.squared).sum() == pytest.approx(known.data.sum())


@pytest.mark.parametrize("n", [12, 80])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_equal_records_are_a_path_that_can_be_cut_anywhere(n: int, alpha: float) -> None:
    points, codes = np.ones((n, 2)), np.zeros(n, np.intp)
    tree = crest.grow(points, codes, np.ones(1), alpha, 3, 1.0)
    assert np.bincount(tree.parent[tree.parent >= 0]).max() == 1
    assert np.bincount(crest.cut(tree, codes, np.ones(1), 3)).tolist().count(3) >= n // 3 - 1


def test_edges_are_measured_in_the_tree_that_there_is() -> None:
    # a record with both classes around it draws one more of each, not all of one class
    points = np.array([[0.0], [0.01], [0.30], [0.31], [0.32], [0.33]])
    codes = np.array([0, 1, 0, 0, 1, 1], dtype=np.intp)
    tree = crest.grow(points, codes, HALVES, 0.5, 2, 1.0)
    ends = codes[tree.parent[tree.order[1:]]], codes[tree.order[1:]]
    assert (ends[0] != ends[1]).all()
    assert crest.grow(points, codes, HALVES, 1.0, 2, 1.0).parent.tolist() != tree.parent.tolist()


def test_neighbours_are_those_of_figure_3() -> None:
    # record 2 stands between 1 and 3, of which 3 is nearer; 4 hangs on 3
    linked = [[1], [0, 2], [1, 3], [2]]
    points = np.array([[0.0], [2.0], [3.0], [4.0]])
    to_second = np.square(points[:, 0] - points[1, 0])
    found = [crest._neighbourhood(1, [0, 1, 2, 3], linked, to_second, wanted) for wanted in (0, 1, 2, 3)]
    assert found == [[1], [1, 2], [1, 2, 0], [1, 2, 0, 3]]


def chain(lengths: list[float]) -> crest.GrownTree:
    n = len(lengths) + 1
    return crest.GrownTree(np.arange(n), np.arange(n) - 1, np.square([0.0, *lengths]))


@pytest.mark.parametrize("from_n", [0, 10**9])
class TestCuts:
    def cut(
        self, from_n: int, lengths: list[float], codes: list[int], k: int, shares: np.ndarray = HALVES
    ) -> list[int]:
        with compiled_from(from_n):
            return crest.cut(chain(lengths), np.array(codes, dtype=np.intp), shares, k).tolist()

    def test_the_longest_edge_where_there_is_one_class(self, from_n: int) -> None:
        assert self.cut(from_n, [1, 1, 3, 2, 1], [0] * 6, 2, np.ones(1)) == [0, 0, 0, 1, 1, 1]

    @pytest.mark.parametrize("seed", range(30))
    def test_the_least_ratio_of_the_formula(self, from_n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 6))
        n = int(rng.integers(2 * k, 3 * k))
        lengths, codes, shares = rng.exponential(size=n - 1), rng.integers(0, 3, size=n), rng.dirichlet(np.ones(3))
        parts = {
            at: (np.bincount(codes[:at], minlength=3), np.bincount(codes[at:], minlength=3))
            for at in range(k, n - k + 1)
        }
        whole = wjsd(np.bincount(codes, minlength=3)[None], shares)
        ratio = {at: (wjsd(np.array(two), shares) - whole) / lengths[at - 1] for at, two in parts.items()}
        least = min(ratio, key=lambda at: ratio[at])
        # no part can be cut again
        assert self.cut(from_n, lengths.tolist(), codes.tolist(), k, shares) == [0] * least + [1] * (n - least)

    def test_a_second_cut_sees_the_part_that_is_left(self, from_n: int) -> None:
        # in the whole, the last edge but one separates less than the third; once the first two are off, it does not
        codes = [0, 1, 0, 0, 1, 1]
        assert self.cut(from_n, [1, 1, 1, 1, 1], codes, 2) == [0, 0, 1, 1, 2, 2]
        assert self.cut(from_n, [1, 1, 1, 1, 1], codes, 3) == [0, 0, 0, 1, 1, 1]

    def test_edges_without_length_are_cut_last(self, from_n: int) -> None:
        # those without length separate nothing, the short one does
        codes = [0, 1, 0, 1, 0, 1]
        assert self.cut(from_n, [1, 0, 1e-9, 0, 1], codes, 2) == [0, 0, 0, 1, 1, 1]
        assert self.cut(from_n, [1, 1e-9, 0, 1e-9, 1], codes, 2) == [0, 0, 1, 1, 2, 2]
        assert self.cut(from_n, [0, 0, 0, 0, 0], codes, 3) == [0, 0, 0, 1, 1, 1]

    def test_a_star_is_one_group(self, from_n: int) -> None:
        n = 40
        star = crest.GrownTree(np.arange(n), np.array([-1] + [0] * (n - 1)), np.ones(n))
        with compiled_from(from_n):
            assert set(crest.cut(star, np.zeros(n, np.intp), np.ones(1), 2).tolist()) == {0}


def test_what_has_been_compiled_is_known() -> None:
    crest.compile_tree()
    assert crest_tree.tree_ready()


def test_equal_records_do_not_take_the_cube_of_their_number() -> None:
    codes, shares = np.random.default_rng(2).integers(0, 2, 3_000).astype(np.intp), np.array([0.5, 0.5])
    crest.compile_tree()
    begun = time.process_time()
    crest.grow(np.zeros((3_000, 1)), codes, shares, 0.5, 5, 1.0)
    # a tenth of a second; with a search for each record alone, five seconds
    assert time.process_time() - begun < 1.5
