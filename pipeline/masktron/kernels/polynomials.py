"""Products of variables as an orthonormal basis, block by block: what a regression on many records needs of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-7
"""A term that others give but for this part of its own variation is dropped: as in R's `lm`."""
_BLOCK = 1 << 17
"""Numbers of a block of terms: 1 MB, so that it stays in the cache."""
_KEPT = 1 << 24
"""Numbers of a basis that is kept (128 MB); a larger one is made again each time it is gone through."""


def factors(degrees: int, variables: int, *, mixed: bool = True) -> list[tuple[int, int]]:
    """List the terms up to a degree, each as an earlier term (-1: none) times a variable.

    Parameters
    ----------
    degrees : int
        1 for the variables alone, 2 for products of two and squares too, 3 for terms of third degree too.
    variables : int
    mixed : bool
        Whether terms of third degree are all products of three, or cubes alone.

    Returns
    -------
    list of tuple of (int, int)
        In the order of the degrees; every term once.
    """
    terms = [(-1, j) for j in range(variables)]
    last = list(range(variables))
    for degree in range(2, degrees + 1):
        start = len(terms)
        for parent in last:
            own = terms[parent][1]
            # to go on from the last variable of the parent names each product once
            terms += [
                (parent, j) for j in range(own, variables) if mixed or degree < 3 or _is_power(terms, parent, j)
            ]
        last = list(range(start, len(terms)))
    return terms


def _is_power(terms: list[tuple[int, int]], term: int, variable: int) -> bool:
    while term >= 0:
        term, own = terms[term]
        if own != variable:
            return False
    return True


@dataclass(frozen=True, slots=True)
class OrthogonalPolynomials:
    """Functions of the records that are orthogonal over them, each with mean square 1; the first is the constant 1.

    Attributes
    ----------
    variables : ndarray of float64, shape (d, n)
        One row for each variable.
    terms : list of tuple of (int, int)
        As `factors` gives them.
    means : ndarray of float64, shape (m, 1)
        Of the terms.
    weights : ndarray of float64, shape (r, m)
        What makes the functions out of the centred terms, the constant left out.
    """

    variables: NDArray[np.float64]
    terms: list[tuple[int, int]]
    means: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def rank(self) -> int:
        """Number of functions beside the constant."""
        return len(self.weights)

    def blocks(self) -> list[NDArray[np.float64]] | Blocks:
        """Return the values of the functions, shape (r + 1, records of the block) each, to be gone through often."""
        blocks = Blocks(self)
        return list(blocks) if self.variables.shape[1] * (self.rank + 1) <= _KEPT else blocks


@dataclass(frozen=True, slots=True)
class Blocks:
    """The values of a basis, made anew each time they are gone through."""

    basis: OrthogonalPolynomials

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        basis = self.basis
        for terms in _terms(basis.variables, basis.terms):
            values = np.ones((basis.rank + 1, terms.shape[1]))
            np.matmul(basis.weights, terms - basis.means, out=values[1:])
            yield values


def basis(variables: NDArray[np.float64], terms: list[tuple[int, int]]) -> OrthogonalPolynomials:
    """Choose terms that no others give, and make them orthogonal.

    Terms are scaled to unit variance and taken in the order of a QR decomposition with pivots: at each step the one
    of which the chosen terms leave most. It ends where that is at most `TOLERANCE`. So exact relations between
    variables or terms, constants and duplicates leave a basis of the same space. Squares of condition numbers never
    arise: R is made of the terms themselves, not of their cross products.

    Parameters
    ----------
    variables : ndarray of float64, shape (d, n)
        One row for each variable, near 1 in size (standardised), finite.
    terms : list of tuple of (int, int)
        As `factors` gives them.

    Returns
    -------
    OrthogonalPolynomials
    """
    n, m = variables.shape[1], len(terms)
    none = OrthogonalPolynomials(variables, terms, np.zeros((m, 1)), np.empty((0, m)))
    if not n or not m:
        return none
    means = sum((block.sum(axis=1, keepdims=True) for block in _terms(variables, terms)), np.zeros((m, 1))) / n
    upper = np.empty((0, m))
    for block in _terms(variables, terms):
        upper = np.linalg.qr(np.concatenate([upper, (block - means).T]), mode="r")
    lengths = np.sqrt(np.square(upper).sum(axis=0))
    varying = np.flatnonzero(lengths > TOLERANCE * np.hypot(lengths, np.sqrt(n) * np.abs(means[:, 0])))
    if not varying.size:
        return none
    import scipy.linalg  # noqa: PLC0415 -- loads slowly

    upper, order = scipy.linalg.qr(upper[:, varying] / lengths[varying], mode="r", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(upper)) > TOLERANCE))
    inverse = scipy.linalg.solve_triangular(upper[:rank, :rank], np.eye(rank))
    chosen = varying[order[:rank]]
    weights = np.zeros((rank, m))
    weights[:, chosen] = np.sqrt(n) * inverse.T / lengths[chosen]
    return OrthogonalPolynomials(variables, terms, means, weights)


def _terms(variables: NDArray[np.float64], terms: list[tuple[int, int]]) -> Iterator[NDArray[np.float64]]:
    """Values of the terms, shape (m, records of the block) each."""
    rows = max(_BLOCK // max(len(terms), 1), 4 * len(terms))
    for start in range(0, variables.shape[1], rows):
        part = variables[:, start : start + rows]
        values = np.empty((len(terms), part.shape[1]))
        for at, (parent, variable) in enumerate(terms):
            if parent < 0:
                values[at] = part[variable]
            else:
                np.multiply(values[parent], part[variable], out=values[at])
        yield values
