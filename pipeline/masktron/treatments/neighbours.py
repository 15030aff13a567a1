"""What the neighbours in a sorted file tell of a field: most of a few records beside each have its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices

SIDES = (1, 3, 7)
"""Neighbours on each side among which the majority is taken: small places and long runs are seen by others."""
LEAST_GAIN = 0.25
"""Share of the wrong guesses that neighbours spare, from which on they tell."""
_BEYOND_CHANCE = 4.0
"""Standard deviations of a share by chance by which right guesses must exceed those without neighbours."""
_MOST_GUESSED = 50_000
"""Units that are guessed; of more, such as are spread evenly over the order. Neighbours are those of the file."""


@dataclass(frozen=True, slots=True)
class NeighbourGuess:
    """How often the majority of neighbours has the value of a unit.

    Attributes
    ----------
    right : float
        Share of the units that are rightly guessed by the best number of neighbours.
    without : float
        Share that is rightly guessed by the most frequent value.
    guessed : int
        Units that were guessed.
    sides : int
        Neighbours on each side.
    """

    right: float
    without: float
    guessed: int
    sides: int

    @property
    def gain(self) -> float:
        """Share of the wrong guesses that neighbours spare (Goodman and Kruskal 1954)."""
        return (self.right - self.without) / (1 - self.without) if self.without < 1 else 0.0

    @property
    def tells(self) -> bool:
        """Whether neighbours spare a quarter of the wrong guesses at least, and not by chance."""
        chance = sqrt(self.without * (1 - self.without) / self.guessed) if self.guessed else 0.0
        return self.gain >= LEAST_GAIN and self.right - self.without > _BEYOND_CHANCE * chance


def neighbour_guess(codes: NDArray[np.integer[Any]], orders: Sequence[Indices]) -> NeighbourGuess:
    """Guess each value by the majority of its neighbours, itself left out, and count how often that is right.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        The value of each unit, from 0; -1 where missing: nobody guesses that, and it has no vote.
    orders : sequence of ndarray of intp, shape (m,) each
        Units in the orders in which somebody may sort them.

    Returns
    -------
    NeighbourGuess
        By the order, and the number of neighbours, that guess best. Of two values with as many votes the one that is
        more frequent in the file is guessed.
    """
    tried = []
    for order in orders:
        own = codes[order]
        own = own[own >= 0]
        times = np.bincount(own)
        if np.count_nonzero(times) < 2:
            continue
        at = np.unique(np.linspace(0, len(own) - 1, min(len(own), _MOST_GUESSED)).astype(np.intp))
        # what neighbours know is compared with what is known without: the same units, by the most frequent value
        without = float(np.mean(own[at] == times.argmax()))
        for sides in SIDES:
            right = float(np.mean(_majority(own, at, sides, times) == own[at]))
            tried.append(NeighbourGuess(right, without, len(at), sides))
    return max(tried, key=lambda one: one.gain, default=NeighbourGuess(0.0, 1.0, 0, SIDES[0]))


def _majority(own: NDArray[np.integer[Any]], at: Indices, sides: int, times: Indices) -> NDArray[np.integer[Any]]:
    """Return the value that most neighbours have, of units in order at some places, shape (places,)."""
    steps = np.array([step for step in range(-sides, sides + 1) if step])
    places = at[:, None] + steps
    there = (places >= 0) & (places < len(own))
    votes = np.where(there, own[np.clip(places, 0, len(own) - 1)], -1)
    best, most = np.full(len(at), -1, dtype=own.dtype), np.zeros(len(at))
    for column in votes.T:
        score = (votes == column[:, None]).sum(axis=1) + times[column] / (times.sum() + 1)
        better = (column >= 0) & (score > most)
        best[better], most[better] = column[better], score[better]
    return best


def sorted_by(ranks: NDArray[np.integer[Any]], generator: np.random.Generator) -> Indices:
    """Sort units by their values; those with the same value stand in random order, which says nothing.

    Parameters
    ----------
    ranks : ndarray of int, shape (n,)
        Ranks of the values, -1 where missing: these are left out.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of intp, shape (m,)
    """
    mixed = generator.permutation(len(ranks))
    order: Indices = mixed[np.argsort(ranks[mixed], kind="stable")]
    return order[ranks[order] >= 0]
