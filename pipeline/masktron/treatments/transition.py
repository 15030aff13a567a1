"""Transition matrices of post-randomisation: rows are true values, columns published ones, each row sums to 1."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from masktron.arrays import Floats
from masktron.errors import UsageError
from masktron.kernels.linear_algebra import product
from masktron.problems.problem import Place

_ROUNDED = 1e-9
"""By what the sum of a row that somebody wrote down may miss 1."""


def redrawing(shares: Floats, redrawn: float) -> Floats:
    """Return the matrix by which a value is drawn anew from the values of its group with a probability.

    R = (1 - a) I + a 1 s', with s the shares and a = `redrawn`. Since s' I = s' and s' 1 = 1, s' R = s': it is
    invariant. Since s_k R_kl = a s_k s_l for k != l, it is its own inverse by Bayes' theorem: the probability that a
    published l was l is R_ll.

    Parameters
    ----------
    shares : ndarray of float64, shape (c,)
        Above 0, with sum 1.
    redrawn : float
        From 0 to 1.

    Returns
    -------
    ndarray of float64, shape (c, c)
    """
    return (1 - redrawn) * np.eye(len(shares)) + redrawn * shares


def made_invariant(matrix: Floats, shares: Floats) -> Floats:
    """Return P Q, where Q undoes P by Bayes' theorem: published shares are expected to be the true ones.

    Q_jl = s_l P_lj / (s'P)_j, so that s'P Q = s': a value is drawn by P, and from what was drawn, which nobody sees,
    a value by Q. R = P Q has R_kl = s_l sum_j P_kj P_lj / (s'P)_j, so s_k R_kl = s_l R_lk, and R_kl is 0
    where s_l is.

    Parameters
    ----------
    matrix : ndarray of float64, shape (c, m)
        P; what is drawn in between may be a value that no record has.
    shares : ndarray of float64, shape (c,)
        s, from 0, with sum 1.

    Returns
    -------
    ndarray of float64, shape (c, c)

    Notes
    -----
    Source: Gouweleeuw, Kooiman, Willenborg and de Wolf (1998), Journal of Official Statistics 14, on invariant
    PRAM; in two stages: de Wolf and van Gelder (2004), An empirical evaluation of PRAM; van den Hout and Elamir
    (2006), Statistical disclosure control using post randomisation.
    """
    drawn = product(shares[None, :], matrix)[0]
    reached = drawn > 0
    back = (shares[:, None] * matrix[:, reached] / drawn[reached]).T
    found = product(np.ascontiguousarray(matrix[:, reached]), np.ascontiguousarray(back))
    return found / found.sum(axis=1, keepdims=True)  # the sums are 1 but for rounding


def most_ratio(matrix: Floats) -> float:
    """Return the largest ratio of two entries of a column: what a published value can do to odds of two true ones.

    Infinite where a column has a zero beside another number, or where there is a single true value.

    Notes
    -----
    Source: amplification by gamma, Evfimievski, Gehrke and Srikant (2003), Limiting privacy breaches in privacy
    preserving data mining.
    """
    if len(matrix) < 2:
        return float("inf")
    least, most = matrix.min(axis=0), matrix.max(axis=0)
    published = most > 0
    if (least[published] <= 0).any():
        return float("inf")
    return float((most[published] / least[published]).max(initial=1.0))


def checked_transition(matrix: Floats, where: str) -> Floats:
    """Return a matrix that somebody gave; errors name where it is from.

    Raises
    ------
    UsageError
        It is not square, an entry is no probability, or a row does not sum to 1.
    """
    found = np.asarray(matrix, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise UsageError.of("bad-matrix", where, detail="it is not square")
    if not ((found >= 0) & (found <= 1)).all():
        raise UsageError.of("bad-matrix", where, detail="an entry is not a number from 0 to 1")
    wrong = np.flatnonzero(np.abs(found.sum(axis=1) - 1) > _ROUNDED)
    if wrong.size:
        raise UsageError.of("bad-matrix", where, detail=f"row {wrong[0] + 1} does not sum to 1")
    return found


def transition_of_text(text: str, where: str) -> tuple[tuple[str, ...], Floats]:
    """Read a matrix from CSV: the first line has the published values, each further line a true value and its row.

    Parameters
    ----------
    text : str
        Commas or semicolons between cells. The first cell of the first line is not read.
    where : str
        Its file, for errors.

    Returns
    -------
    values : tuple of str, shape (c,)
        In the order of the first line.
    matrix : ndarray of float64, shape (c, c)
        Rows in the order of `values`, too.

    Raises
    ------
    UsageError
        Lines and columns do not have the same values, a cell is no number, or as for `checked_transition`.
    """
    rows = _rows(text, where)
    values = tuple(rows[0][1][1:]) if rows else ()
    if len({*values}) != len(values) or sorted(row[0] for _, row in rows[1:]) != sorted(values) or not values:
        raise UsageError.of("bad-matrix", where, detail="its lines and columns have different values")
    found = np.empty((len(values), len(values)))
    for line, row in rows[1:]:
        found[values.index(row[0])] = _numbers(row[1:], len(values), Place(where, line))
    return values, checked_transition(found, where)


def _rows(text: str, where: str) -> list[tuple[int, list[str]]]:
    """Return the cells of each line that has some, with its number."""
    text = text.lstrip("\ufeff")
    separator = ";" if ";" in text.lstrip().partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise UsageError.of("bad-matrix", Place(where, reader.line_num), detail=f"it is not CSV: {error}") from None
    return rows


def _numbers(cells: Sequence[str], count: int, where: Place) -> list[float]:
    if len(cells) != count:
        raise UsageError.of("bad-matrix", where, detail=f"{len(cells)} probabilities for {count} values")
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        raise UsageError.of("bad-matrix", where, detail="a cell is not a number") from None


def redrawn_for(change: float, slopes: Floats, caps: Floats) -> Floats | None:
    """Find the probability of drawing anew in each group by which a number of records are expected to change.

    It is one probability a, or what a group allows at most where that is less: the a with
    sum_g slopes_g min(a, caps_g) = change.

    Parameters
    ----------
    change : float
        Records.
    slopes : ndarray of float64, shape (groups,)
        Records of each group that are expected to change where all values are drawn anew.
    caps : ndarray of float64, shape (groups,)
        From 0 to 1.

    Returns
    -------
    ndarray of float64, shape (groups,), or None
        None where not so many can change.
    """
    below = 0.0
    for start, end in pairwise(np.unique([0.0, *caps.tolist()]).tolist()):
        slope = float(slopes[caps >= end].sum())
        if slope > 0 and below + slope * (end - start) >= change:
            found: Floats = np.minimum(start + (change - below) / slope, caps)
            return found
        below += slope * (end - start)
    return caps.copy() if change <= below * (1 + _ROUNDED) else None
