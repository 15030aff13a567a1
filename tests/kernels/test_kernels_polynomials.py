"""Terms against all products, and the basis against what spans the same space."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.kernels import polynomials
from masktron.kernels.polynomials import OrthogonalPolynomials, basis, factors

RNG = np.random.default_rng(8)


def products(terms: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    named: list[tuple[int, ...]] = []
    for parent, variable in terms:
        named.append((*(named[parent] if parent >= 0 else ()), variable))
    return named


def values(space: OrthogonalPolynomials) -> NDArray[np.float64]:
    return np.concatenate(list(space.blocks()), axis=1)


def columns(variables: NDArray[np.float64], terms: list[tuple[int, int]]) -> NDArray[np.float64]:
    every = [np.ones(variables.shape[1])]
    every += [prod(variables[j] for j in term) for term in products(terms)]  # type: ignore[misc]
    return np.array(every)


@pytest.mark.parametrize("variables", range(6))
@pytest.mark.parametrize("degrees", [1, 2, 3])
def test_every_product_is_listed_once(variables: int, degrees: int) -> None:
    expected = [c for d in range(1, degrees + 1) for c in combinations_with_replacement(range(variables), d)]
    assert products(factors(degrees, variables)) == expected
    cubes = [(j, j, j) for j in range(variables)] if degrees == 3 else []
    assert products(factors(degrees, variables, mixed=False)) == [c for c in expected if len(c) < 3] + cubes


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), d=st.integers(0, 4), top=st.integers(1, 6))
def test_orthonormal_and_of_the_same_span(seed: int, n: int, d: int, top: int) -> None:
    rng = np.random.default_rng(seed)
    variables = rng.integers(-top, top + 1, size=(d, n)) / top
    terms = factors(3, d)
    space = basis(variables, terms)
    functions = values(space)
    every = columns(variables, terms)
    assert functions.shape == (space.rank + 1, n)
    assert space.rank + 1 == np.linalg.matrix_rank(every, tol=1e-9)
    np.testing.assert_allclose(functions @ functions.T / n, np.eye(space.rank + 1), atol=1e-8)
    left = every - (every @ functions.T / n) @ functions
    np.testing.assert_allclose(left, 0, atol=1e-8)


def test_the_tolerance_is_a_part_of_a_terms_own_variation() -> None:
    a, b, c = RNG.normal(size=(3, 400))
    for left, rank in ((1e-5, 3), (1e-9, 2), (0.0, 2)):
        assert basis(np.array([a, b, a + b + left * c]), factors(1, 3)).rank == rank
        # the same variation on top of a large mean is no variation
        assert basis(np.array([a, 1 + left * c]), factors(1, 2)).rank == rank - 1


def test_many_blocks_kept_or_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = RNG.normal(size=(3, 1000))
    whole = values(basis(variables, factors(2, 3)))
    monkeypatch.setattr(polynomials, "_BLOCK", 9)
    kept = basis(variables, factors(2, 3)).blocks()
    monkeypatch.setattr(polynomials, "_KEPT", 0)
    again = basis(variables, factors(2, 3)).blocks()
    assert isinstance(kept, list)
    assert not isinstance(again, list)
    assert len(kept) == len(list(again)) == len(list(again)) > 20
    # signs are those of the decomposition
    for blocks in (kept, again):
        parts = np.concatenate(list(blocks), axis=1)
        np.testing.assert_allclose(np.abs(parts), np.abs(whole), atol=1e-9)
