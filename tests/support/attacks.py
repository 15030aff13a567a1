"""What an attacker does who has the program, the rulebook, the settings and the published file, but not the key."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.metrics import roc_auc_score

from masktron.arrays import Floats
from masktron.errors import MasktronError
from masktron.measures.linkage import linkage

type Draw = Callable[[Floats], Floats]

KEY = bytes(range(5, 37))
"""A key for tests, and what stands for the secret of the agency."""
SEED = int.from_bytes(range(128, 144))
"""A seed that `mask` takes where it protects something."""
SHARE = 0.5
"""Of the difference, what a round adds: with all of it the search often does not end."""


def solutions(published: Floats, draw: Draw, *, signs: int, rounds: int) -> list[Floats]:
    """Solve draw(X) = published by X <- X + s (published - draw(X)).

    The noise hangs on singular vectors, whose signs jump while X moves. So the attacker has a program of his own that
    holds them fast, and tries both signs of the first `signs` directions: there are two solutions for each.
    """
    found = []
    for pattern in product((1.0, -1.0), repeat=signs):
        with patch.object(np.linalg, "svd", _Oriented(np.array(pattern))):
            found.append(_solution(published, draw, rounds))
    return found


class _Oriented:
    """The singular value decomposition with singular vectors that point the same way on each call."""

    def __init__(self, pattern: Floats) -> None:
        self._pattern = pattern
        self._svd = np.linalg.svd
        self._held: dict[tuple[int, ...], Floats] = {}

    def __call__(self, values: Floats, **options: bool) -> object:
        if not options.get("compute_uv", True):
            return self._svd(values, **options)
        left, sizes, right = self._svd(values, **options)
        held = self._held.setdefault(right.shape, right)
        signs = np.where((right * held).sum(axis=-1) < 0, -1.0, 1.0)
        several = min(signs.shape[-1], len(self._pattern))
        signs[..., :several] *= self._pattern[:several]
        return left * signs[..., None, :], sizes, right * signs[..., None]


def _solution(published: Floats, draw: Draw, rounds: int) -> Floats:
    spread = np.where(published.std(axis=0) > 0, published.std(axis=0), 1.0)
    guess, best, least = published, published, math.inf
    for _ in range(rounds):
        try:
            step = published - draw(guess)
        except MasktronError:  # the method refuses such an original
            break
        off = float(np.abs(step / spread).max())
        if off < least:
            best, least = guess, off
        guess = guess + SHARE * step
        if off < 1e-6 or not np.isfinite(guess).all():
            break
    return best


@dataclass(frozen=True)
class Gain:
    """How near a reconstruction comes to the original, in per cent: of cells, of cells, of records."""

    exact: float
    near: float
    linked: float

    @classmethod
    def of(cls, original: Floats, guess: Floats) -> Gain:
        exact = 100 * float((np.rint(guess) == original).mean())
        near = 100 * float((np.abs(guess - original) <= 0.01 * np.abs(original)).mean())
        return cls(exact, near, linkage(original, guess))

    def exceeds(self, other: Gain, records: int) -> bool:
        """Whether it is more than another one by three standard errors of a share of the records."""
        pairs = ((self.exact, other.exact), (self.near, other.near), (self.linked, other.linked))
        return any(one > two + three_errors(two, records) for one, two in pairs)


def three_errors(share: float, records: int) -> float:
    p = min(max(share / 100, 1 / records), 1 - 1 / records)
    return 300 * math.sqrt(p * (1 - p) / records)


@dataclass(frozen=True)
class Membership:
    """What tells somebody that a respondent is in a file: he knows the values of members and of others like them.

    Attributes
    ----------
    excess, error : float
        How many more of 100 values of a member are published than of somebody else's, and the standard error.
    hits, fields, record : float
        The area under the ROC curve, 0.5 for a guess, of three scores: how many values of a candidate are published;
        how near the nearest published value is, field by field; how near the nearest published record is.
    """

    excess: float
    error: float
    hits: float
    fields: float
    record: float

    @classmethod
    def of(cls, published: Floats, members: Floats, others: Floats) -> Membership:
        known = np.concatenate([members, others])
        is_member = np.arange(len(known)) < len(members)
        spread = np.where(published.std(axis=0) > 0, published.std(axis=0), 1.0)
        distances = np.column_stack([_nearest(own, there) for own, there in zip(known.T, published.T, strict=True)])
        found = 100 * (distances == 0).mean(axis=1)
        shares = (found[is_member], found[~is_member])
        records, _ = cKDTree(published / spread).query(known / spread)
        return cls(
            excess=float(shares[0].mean() - shares[1].mean()),
            error=math.sqrt(sum(share.var() / len(share) for share in shares)),
            hits=roc_auc_score(is_member, found),
            fields=roc_auc_score(is_member, -np.log(distances / spread + 1e-6).sum(axis=1)),
            record=roc_auc_score(is_member, -records),
        )


def guessed(published: Floats, known: Floats, *, target: int, of: int) -> NDArray[np.bool_]:
    """Tell for whom the published value is within 5 % of the true one, of the record whose known fields are nearest.

    Parameters
    ----------
    published, known : ndarray of float64, shape (n, p) and (m, p)
        Files, and the true values of respondents.
    target : int
        Column of the value that is asked for.
    of : int
        He knows the first columns, that many: all but the last of them exactly.
    """
    spread = np.array([*[1e-6] * (of - 1), 1.0])
    _, nearest = cKDTree(published[:, :of] / spread).query(known[:, :of] / spread)
    return np.asarray(np.abs(published[nearest, target] - known[:, target]) <= 0.05 * known[:, target])


def _nearest(values: Floats, published: Floats) -> Floats:
    """Return how far the nearest published number is from each value."""
    there = np.sort(published)
    at = np.searchsorted(there, values)
    below, above = there[np.maximum(at - 1, 0)], there[np.minimum(at, len(there) - 1)]
    return np.minimum(np.abs(values - below), np.abs(values - above))
