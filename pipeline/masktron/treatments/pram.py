"""Post-randomisation (PRAM): categories are drawn anew by known probabilities, among those that the rules admit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices, require_arrays, require_value
from masktron.errors import InfeasibleError, UsageError
from masktron.kernels.distinct import alike, codes_of
from masktron.kernels.linear_algebra import product
from masktron.problems.problem import Place
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes, asked, checked_codes, checked_weights

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


MOST_VALUES = 500
"""Values of a field, or combinations of fields treated together, for each of which the rules are asked."""


@dataclass(frozen=True, slots=True, eq=False)
class PramGroup:
    """Records of one stratum for which the rules admit the same values.

    Attributes
    ----------
    values : ndarray of intp, shape (c,)
        Those that its records have, as numbers of rows of `PramLaw.domain`.
    counts : ndarray of intp, shape (c,)
        Records with each of them.
    admitted : int
        How many values of the file the rules admit in them, c or more.
    matrix : ndarray of float64, shape (c, c)
        Probability of each published value (column) given the true one (row).
    """

    values: Indices
    counts: Indices
    admitted: int
    matrix: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PramLaw:
    """By which probabilities each record is drawn.

    Attributes
    ----------
    codes : tuple of ndarray of intp, shape (n,) each
        The original.
    domain : ndarray of intp, shape (values, fields)
        The combinations of codes that occur.
    value : ndarray of intp, shape (n,)
        Row of `domain` that each record has; -1 where a value is missing: these stay as they are.
    group : ndarray of intp, shape (n,)
        -1 where a value is missing.
    groups : tuple of PramGroup
    """

    codes: tuple[KeyCodes, ...]
    domain: NDArray[np.intp]
    value: Indices
    group: Indices
    groups: tuple[PramGroup, ...]

    @property
    def figures(self) -> PramFigures:
        """What the law protects, and what it changes."""
        treated = int((self.group >= 0).sum())
        open_ones = [one for one in self.groups if len(one.values) > 1]
        return PramFigures(
            records=treated,
            missing=len(self.group) - treated,
            groups=len(self.groups),
            given=sum(int(one.counts.sum()) for one in self.groups if one.admitted == 1),
            alone=sum(int(one.counts.sum()) for one in self.groups if len(one.values) == 1 < one.admitted),
            expected=sum(float((one.counts * (1 - np.diag(one.matrix))).sum()) for one in open_ones),
            odds=max((most_ratio(one.matrix) for one in open_ones), default=float("inf")),
            confidence=max((_confidence(one) for one in open_ones), default=1.0),
        )


@dataclass(frozen=True, slots=True)
class PramFigures:
    """What a report says of a field. None of it is a value of a record.

    Attributes
    ----------
    records, missing : int
        Records that are drawn, and those that lack a value, which stay as they are.
    groups : int
    given : int
        Records in which the rules admit one value alone: it stays, and everybody knows it from the rules.
    alone : int
        Records in a group in which all have one value, although the rules admit others: it stays, unprotected.
    expected : float
        Records that are expected to change.
    odds : float
        Whatever somebody knew before: in records that are neither `given` nor `alone`, the published value makes the
        odds of one true value against another at most so many times larger. Infinite where some value can be
        published by some true values alone.
    confidence : float
        For who knows the shares of the values in a group, and nothing else of the record: the largest probability
        that a published value is the true one.
    """

    records: int
    missing: int
    groups: int
    given: int
    alone: int
    expected: float
    odds: float
    confidence: float


@dataclass(frozen=True, slots=True, eq=False)
class Randomised:
    """What PRAM has made of a field, or of several together.

    Attributes
    ----------
    codes : tuple of ndarray of intp, shape (n,) each
        What is written.
    changed : int
        Records that have another value than before.
    figures : PramFigures
    """

    codes: tuple[KeyCodes, ...]
    changed: int
    figures: PramFigures


def pram_law(
    columns: Sequence[NDArray[np.integer[Any]]],
    *,
    change: float | None = None,
    minimum: float = 0.0,
    matrix: Floats | None = None,
    admissible: AdmitsCodes | None = None,
    strata: NDArray[np.integer[Any]] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> PramLaw:
    """Find the transition probabilities of each record, so that expected frequencies are those of the file.

    Parameters
    ----------
    columns : sequence of ndarray of int, shape (n,) each
        KeyCodes of one field, or of several that are drawn together, -1 where missing. What is drawn is a combination
        that some record has.
    change : float, optional
        Share of the records that is expected to change, above 0 and below 1, of those that lack no value.
    minimum : float
        Probability with which every value stays at least, from 0 and below 1. With `change` alone.
    matrix : ndarray of float64, shape (c, c), optional
        In the place of `change`, for a single field: row and column i are of code i. It is made invariant.
    admissible : callable, optional
        Which values the rules admit in which record; all where not given.
    strata : ndarray of int, shape (n,), optional
        Values are drawn among records with the same number.
    weights : ndarray of float64, shape (n,), optional
        Weighted frequencies are then expected to be those of the file, in the place of counts.

    Returns
    -------
    PramLaw

    Raises
    ------
    UsageError
        An argument is wrong, or so large a share cannot change: the error says how large it can be.
    InfeasibleError
        There are more than 500 values, or the rules do not admit what a record has.

    Notes
    -----
    Let A_i be the values that the rules admit in record i, all else as it is. A_i does not depend on the record's own
    value. Records of a stratum with one A form a group g; every one of them has a value of A. With weights w (or 1),
    let s_k be the share of the weight of g with value k, and R an invariant matrix for these shares: s'R = s'.

    *Admitted*: R_kl = 0 where s_l = 0, and where s_l > 0 some record of g has l, so that l is in A. Nothing is drawn
    that the rules forbid, in no record, and no record has to be drawn twice.
    *Invariant*: the expected weight published with l in g is sum_k W s_k R_kl = W s_l, with W the weight of g. So it
    is in each group, in each stratum and in the file, and jointly with all that decides A.
    *Deniable*: R depends on the group, not on the record. Whatever was known before of a record of g, by Bayes' rule
    published l multiplies the odds of k against k' by R_kl / R_k'l, at most the largest ratio in a column
    (`PramFigures.odds`). With m independent releases of a record the bounds multiply.

    With `change`, R = (1 - a) I + a 1 s' (`redrawing`), one a for all groups, less where `minimum` asks for it:
    R_kk >= minimum for all k where a <= (1 - minimum) / (1 - min s). With `matrix`, R = P Q (`made_invariant`).

    Source: Gouweleeuw, Kooiman, Willenborg and de Wolf (1998), Post randomisation for statistical disclosure control:
    theory and implementation, Journal of Official Statistics 14; de Wolf and van Gelder (2004), An empirical
    evaluation of PRAM. That groups have the same admitted values is ours.
    """
    codes = checked_codes(columns, "PRAM")
    n = len(codes[0])
    weight = checked_weights(weights, n)
    _require_one_way(change, minimum, matrix, len(codes))
    domain, value = _domain(codes)
    if matrix is not None:
        matrix = checked_transition(matrix, "transition matrix")
        if domain.size and int(domain.max()) >= len(matrix):
            raise UsageError.of("bad-arrays", detail="the matrix has no row for a value of the file")
    group, admitted = _grouped(codes, domain, value, admissible, strata)
    found = []
    members = np.argsort(group, kind="stable")[int((group < 0).sum()) :]
    starts = np.flatnonzero(np.diff(group[members], prepend=-1))
    for rows in np.split(members, starts[1:]) if len(members) else ():
        values, local = np.unique(value[rows], return_inverse=True)
        shares = np.bincount(local, weight[rows])
        found.append((values, np.bincount(local).astype(np.intp), shares / shares.sum()))
    if matrix is None:
        assert change is not None  # noqa: S101 -- one of both is given
        matrices = _redrawn(change, minimum, [one[1:] for one in found])
    else:
        matrices = [made_invariant(matrix[domain[values, 0]], shares) for values, _, shares in found]
    groups = tuple(
        PramGroup(values, counts, int(many), one)
        for (values, counts, _), many, one in zip(found, admitted, matrices, strict=True)
    )
    return PramLaw(codes, domain, value, group, groups)


def randomised(law: PramLaw, generator: np.random.Generator, *, allow_alone: bool = False) -> Randomised:
    """Draw what is published of each record, independently of all others.

    Parameters
    ----------
    law : PramLaw
    generator : numpy.random.Generator
        From a stream of the secret of the release (`masktron.streams`). It gives one number for each record of the
        file, so that what is drawn for a record depends on its place, and not on the order of groups.
    allow_alone : bool
        Whether records of `PramFigures.alone` may stay as they are.

    Returns
    -------
    Randomised

    Raises
    ------
    InfeasibleError
        Nothing can change, or records would stay as they are and unprotected.
    """
    figures = law.figures
    if figures.records and figures.expected <= 0:
        raise InfeasibleError.of("pram-no-choice", alone=figures.records, records=figures.records)
    if figures.alone and not allow_alone:
        raise InfeasibleError.of("pram-no-choice", alone=figures.alone, records=figures.records)
    uniform = generator.random(len(law.value))
    drawn = law.value.copy()
    order = np.lexsort((law.value, law.group))
    order = order[int((law.group < 0).sum()) :]
    # one part for each group and true value
    starts = np.flatnonzero(np.diff(law.group[order], prepend=-2) | np.diff(law.value[order], prepend=-2))
    for rows in np.split(order, starts[1:]) if len(order) else ():
        group = law.groups[law.group[rows[0]]]
        row = group.matrix[np.searchsorted(group.values, law.value[rows[0]])]
        drawn[rows] = group.values[_inverted(row, uniform[rows])]
    known = drawn >= 0
    written = []
    for at, column in enumerate(law.codes):
        copy = column.copy()
        copy[known] = law.domain[drawn[known], at]
        written.append(copy)
    return Randomised(tuple(written), int((drawn != law.value).sum()), figures)


def _require_one_way(change: float | None, minimum: float, matrix: Floats | None, fields: int) -> None:
    if (change is None) == (matrix is None):
        raise UsageError.of("bad-arrays", detail="PRAM takes either a share (change=0.1) or a matrix")
    if matrix is not None and (fields > 1 or minimum):
        raise UsageError.of("bad-arrays", detail="a matrix is for a single field, and has its own diagonal")
    require_value(change is None or 0 < change < 1, "change", "above 0 and below 1", change)
    require_value(0 <= minimum < 1, "minimum", "from 0 and below 1", minimum)


def _domain(codes: tuple[KeyCodes, ...]) -> tuple[NDArray[np.intp], Indices]:
    """Return the combinations that occur, in rising order, and the row of each record; -1 where it lacks a value."""
    n = len(codes[0])
    complete = np.logical_and.reduce([column >= 0 for column in codes])
    table = np.stack([column[complete] for column in codes], axis=1)
    numbers, count = alike([column.astype(np.int32) for column in table.T], len(table))
    first = _first_of(numbers, count)
    order = np.lexsort(table[first].T[::-1])
    domain, rows = table[first[order]], np.argsort(order)[numbers]
    if len(domain) > MOST_VALUES:
        raise InfeasibleError.of(
            "too-many-values", number=len(domain), things="values or combinations to draw", most=MOST_VALUES
        )
    value = np.full(n, -1, dtype=np.intp)
    value[complete] = rows
    return domain, value


def _grouped(
    codes: tuple[KeyCodes, ...],
    domain: NDArray[np.intp],
    value: Indices,
    admissible: AdmitsCodes | None,
    strata: NDArray[np.integer[Any]] | None,
) -> tuple[Indices, list[int]]:
    """Return the group of each record, -1 where it lacks a value, and how many values each group is admitted."""
    n = len(value)
    known = value >= 0
    bits = np.zeros((n, -(-len(domain) // 8)), dtype=np.uint8)
    many = np.zeros(n, dtype=np.intp)
    own = np.ones(n, dtype=np.bool_)
    for row, combination in enumerate(domain):
        if admissible is None:
            may = np.ones(n, dtype=np.bool_)
        else:
            proposed = [np.where(known, code, column) for code, column in zip(combination, codes, strict=True)]
            may = asked(admissible, proposed)
        bits[:, row // 8] |= may.astype(np.uint8) << (row % 8)
        many += may
        own[value == row] = may[value == row]
    if not own.all():
        raise InfeasibleError.of("own-value-refused", Place(record=int(np.flatnonzero(~own)[0]) + 1))
    columns = [column.astype(np.int32) for column in bits.T]
    if strata is not None:
        require_arrays(np.shape(strata) == (n,), f"strata must have one number for each of {n} records")
        columns.append(codes_of(np.asarray(strata)))
    of_known, count = alike([column[known] for column in columns], int(known.sum()))
    group = np.full(n, -1, dtype=np.intp)
    group[known] = of_known
    return group, many[known][_first_of(of_known, count)].tolist()


def _first_of(numbers: Indices, count: int) -> Indices:
    """Return where each number from 0 occurs first, shape (count,)."""
    first = np.zeros(count, dtype=np.intp)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def _redrawn(change: float, minimum: float, groups: Sequence[tuple[Indices, Floats]]) -> list[Floats]:
    """Return the matrices of groups, each with its counts and shares, by which a share of all records changes."""
    slopes = np.array([float((counts * (1 - shares)).sum()) for counts, shares in groups])
    caps = np.array(
        [min(1.0, (1 - minimum) / (1 - shares.min())) if len(shares) > 1 else 0.0 for _, shares in groups]
    )
    records = sum(int(counts.sum()) for counts, _ in groups)
    redrawn = redrawn_for(change * records, slopes, caps)
    if redrawn is None:
        most = float((slopes * caps).sum()) / records if records else 0.0
        raise UsageError.of("pram-share-too-large", change=100 * change, most=100 * most)
    return [redrawing(shares, float(a)) for (_, shares), a in zip(groups, redrawn, strict=True)]


def _inverted(row: Floats, uniform: Floats) -> Indices:
    """Return the place of the value that each number from 0 to 1 stands for: never one of probability 0."""
    possible = np.flatnonzero(row > 0)
    ends = np.cumsum(row[possible])[:-1]
    return possible[np.searchsorted(ends, uniform, side="right")]


def _confidence(one: PramGroup) -> float:
    """Return the largest probability that a published value is the true one, given the counts of the group."""
    published = (one.counts[:, None] * one.matrix).sum(axis=0)
    reached = published > 0
    return float(((one.counts * np.diag(one.matrix))[reached] / published[reached]).max())
