"""Suppressed cells of a key that come back from the released file alone, as other fields in it give them away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import alike

SUPPORTS = (1, 2, 3, 5, 10, 20)
"""Records that must show one same value before a missing one is read off them: the fewest that are reliable count."""
RELIABLE = 0.99
"""Share of the shown cells that the others of their group tell rightly, from which a group is trusted."""
TRUE = 0.9
"""Share of right guesses at suppressed cells from which a field counts as telling them."""
CHANCE = 1e-3
"""Most probability, over all fields and pairs that are tried, that chance alone makes a group look so reliable."""
PAIRS_OF = 5_000_000
"""Records times pairs of fields that are tried; of more, those with the other keys come first."""

type _Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ReadOff:
    """What other fields tell of the suppressed cells of a key.

    Attributes
    ----------
    fields : tuple of tuple of str
        The fields, or pairs of them, that tell cells; the one that tells most comes first.
    suppressed, guessed : int
        Suppressed cells, and those of them that are read off.
    cells : ndarray of int32, shape (n,)
        The code of each cell that is read off rightly; -1 elsewhere.
    untried : int
        Pairs of fields that were too many to try.
    """

    fields: tuple[tuple[str, ...], ...]
    suppressed: int
    guessed: int
    cells: _Codes
    untried: int

    @property
    def right(self) -> int:
        """How many cells are read off rightly."""
        return int((self.cells >= 0).sum())


def read_off(shown: _Codes, hidden: _Codes, telling: Mapping[str, _Codes], others: Mapping[str, _Codes]) -> ReadOff:
    """Read suppressed cells of a key off the records that have the same values in other fields.

    An intruder needs the released file alone. He hides each shown cell and guesses it from its group, the records
    with the same value in a field or in a pair of fields, where all others of the group show one same value. Where
    at least `RELIABLE` of these guesses are right, he makes the same guess for the missing cells of such groups.

    Suppression leaves out rare values first, so that what is shown may mislead him. Fields by which fewer than
    `TRUE` of his guesses at suppressed cells are right count as telling nothing.

    Parameters
    ----------
    shown : ndarray of int32, shape (n,)
        Codes of the key in the released file, -1 where missing.
    hidden : ndarray of int32, shape (n,)
        Codes of what was suppressed, -1 elsewhere.
    telling : mapping of str to ndarray of int32, shape (n,) each
        Released fields that are no suppressed keys, -1 where missing. One of them is in each pair.
    others : mapping of str to ndarray of int32, shape (n,) each
        The other keys. Alone they tell nothing: suppression sees to that.

    Returns
    -------
    ReadOff

    Notes
    -----
    Guesses count only where chance does not explain that they are right. In a group whose first s values are the
    same, the other m - s agree with probability p^(m - s) by chance, where p is the share of the value in the file
    or, for a pair, among the records that are alike in one of its fields. Let T records be such others, and q the
    share of right guesses. Chance reaches q with a probability of at most exp(-T KL(q, p)), with the mean of p
    (Hoeffding 1963, Probability inequalities for sums of bounded random variables, theorem 1). That, times the
    number of tries, must not exceed `CHANCE`.
    """
    tried, untried = _candidates(shown, telling, others)
    limit = math.log(CHANCE / (len(SUPPORTS) * max(1, len(tried))))
    found: dict[tuple[str, ...], _Codes] = {}
    for names, parts in tried:
        if (told := _told_by(shown, parts, limit)) is not None:
            guessed = (told >= 0) & (hidden >= 0)
            if guessed.any() and (told == hidden)[guessed].mean() >= TRUE:
                found[names] = np.where(guessed, told, np.int32(-1))
    cells, used = np.full(len(shown), -1, dtype=np.int32), list[tuple[str, ...]]()
    while found:
        # of as many cells, a single field comes first
        names = max(found, key=lambda one: int(((found[one] >= 0) & (cells < 0)).sum()))
        new = ((told := found.pop(names)) >= 0) & (cells < 0)
        if new.any():
            cells[new] = told[new]
            used.append(names)
    right = np.where(cells == hidden, cells, np.int32(-1))
    return ReadOff(tuple(used), int((hidden >= 0).sum()), int((cells >= 0).sum()), right, untried)


def _candidates(
    shown: _Codes, telling: Mapping[str, _Codes], others: Mapping[str, _Codes]
) -> tuple[list[tuple[tuple[str, ...], tuple[_Codes, ...]]], int]:
    """Return the fields and pairs that are tried, and how many pairs are left out as there are too many."""
    held = {name: own for name, own in telling.items() if _may_tell(own, shown)}
    beside = dict(others)
    if len(others) > 1:
        beside[", ".join(others)] = alike(others.values(), len(shown))[0].astype(np.int32)
    pairs = [((name, other), (own, codes)) for other, codes in beside.items() for name, own in held.items()]
    most = max(len(pairs), PAIRS_OF // max(1, len(shown)))
    pairs += [((a, b), (held[a], held[b])) for a, b in combinations(held, 2)]
    singles = [((name,), (own,)) for name, own in held.items()]
    return [*singles, *pairs[:most]], max(0, len(pairs) - most)


def _may_tell(codes: _Codes, shown: _Codes) -> bool:
    """Whether a field has several values, and a missing cell shares one with a cell that is shown."""
    open_, known = codes[(codes >= 0) & (shown < 0)], codes[(codes >= 0) & (shown >= 0)]
    return len(known) > 0 and bool((known != known[0]).any()) and bool(np.isin(open_, known).any())


def _told_by(shown: _Codes, parts: Sequence[_Codes], limit: float) -> _Codes | None:
    """Return what records alike in all parts tell of missing cells; None where that is no better than chance.

    Parameters
    ----------
    limit : float
        Logarithm of the probability up to which it is no chance.
    """
    there = np.logical_and.reduce([own >= 0 for own in parts])
    groups, count = alike([own[there] for own in parts], int(there.sum()))
    values = shown[there]
    known = values >= 0
    sizes = np.bincount(groups[known], minlength=count)
    if not (sizes[groups[~known]] > 0).any():
        return None
    own, cells = alike([groups[known].astype(np.int32), values[known]], int(known.sum()))
    copies = np.bincount(own, minlength=cells)[own]
    of_cell = np.zeros(cells, dtype=np.intp)
    of_cell[own] = groups[known]
    different = np.bincount(of_cell, minlength=count)
    size, kinds = sizes[groups[known]], different[groups[known]]
    # the others of the group all show another value than this one
    wrong, right = (kinds == 2) & (copies == 1), kinds == 1
    for support in SUPPORTS:
        enough = size > support
        good, bad = int((right & enough).sum()), int((wrong & enough).sum())
        # of m records that agree, m - s had to
        agreed = (right & enough).astype(np.float64) * (1.0 - support / np.maximum(size, 1))
        if not good or good < RELIABLE * (good + bad):
            continue
        # what a pair tells is no chance only where neither of its fields explains it
        alone = [one[there][known] for one in parts] if len(parts) > 1 else []
        shares = [_share(one, values[known]) for one in (*alone, np.zeros_like(values[known]))]
        likely = np.array(shares).max(axis=0)
        if _chance(agreed, likely, good / (good + bad)) <= limit:
            one_value = np.full(count, -1, dtype=np.int32)
            one_value[groups[known]] = values[known]
            one_value[(different != 1) | (sizes < support)] = -1
            told = np.full(len(shown), -1, dtype=np.int32)
            told[there] = np.where(known, np.int32(-1), one_value[groups])
            return told
    return None


def _share(codes: _Codes, values: _Codes) -> NDArray[np.float64]:
    """Share of a value among the other records with the same code; among all others where there is none."""
    n = len(values)
    both, cells = alike([codes, values], n)
    alone, of_code = np.bincount(codes)[codes] - 1, np.bincount(both, minlength=cells)[both] - 1
    everywhere = np.bincount(values)[values] / n
    return np.where(alone > 0, of_code / np.maximum(alone, 1), everywhere)


def _chance(agreed: NDArray[np.float64], likely: NDArray[np.float64], right: float) -> float:
    """Logarithm of the probability that so many values agree by chance."""
    trials = float(agreed.sum())
    if trials < 1:
        return 0.0
    p = min(float((agreed * likely).sum()) / trials, 1.0)
    if p >= right:
        return 0.0
    wrong = 0.0 if right == 1 else (1 - right) * math.log((1 - right) / (1 - p))
    return -trials * (right * math.log(right / max(p, 1e-300)) + wrong)
