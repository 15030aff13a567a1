"""Fields by which somebody sorts the file and sees, by what most neighbours have, where another was changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.sources.records import Column, Records, Status
from masktron.treatments.neighbours import NeighbourGuess, neighbour_guess, sorted_by
from masktron.treatments.record_units import record_units

_RUN_OF_DIGITS = re.compile(r"([0-9]+)")


def moved_as_one(records: Records, household: str | None) -> Indices:
    """Return the first record of each unit of a treatment: records that change as one are no neighbours.

    Parameters
    ----------
    records : Records
    household : str or None
        The field whose value the records of a unit share; None where each record changes by itself.
    """
    if household is None:
        return np.arange(len(records))
    return record_units(records.columns[household].numbered(held=True).astype(np.intp)).first


def sorted_notes(
    name: str,
    was: NDArray[np.int32],
    units: Indices,
    columns: Mapping[str, Column],
    others: Sequence[str],
    *,
    in_order: bool,
) -> Iterator[str]:
    """Say by which fields, and whether by the order of the file, neighbours told a changed field in the original.

    Parameters
    ----------
    name : str
        The changed field.
    was : ndarray of int32, shape (n,)
        Its values before it was changed, as numbers; -1 where missing.
    units : ndarray of intp
        As `moved_as_one` says.
    columns : mapping of str to Column
        Fields as they are written.
    others : sequence of str
        Those to sort by.
    in_order : bool
        Whether the file stands in the order of the original.
    """
    generator = np.random.default_rng(0)  # of equal values any order will do: nothing is protected by it
    found: list[tuple[str, NeighbourGuess]] = [
        (other, neighbour_guess(was[units], [sorted_by(ranks[units], generator) for ranks in _ranks(columns[other])]))
        for other in others
    ]
    if in_order:
        found.append(("the order of the file", neighbour_guess(was[units], [np.arange(len(units))])))
    said = [
        f"{other} ({100 * guess.right:.0f} % right by the {2 * guess.sides} nearest, {100 * guess.without:.0f} % by "
        "the most frequent value)"
        for other, guess in found
        if guess.tells
    ]
    if said:
        yield (
            f"neighbours told {name} in the original, by {', '.join(said)}: whoever sorts the file so and takes what "
            f"most neighbours have finds where {name} was changed, and what it was; leave out or recode what sorts "
            f"(--role FIELD=identifier), write a random order (--shuffle), or count on no protection of {name}"
        )


def _ranks(column: Column) -> Iterator[NDArray[np.intp]]:
    """Yield ranks of the values, -1 where missing, as somebody may sort them: numbers; texts; texts with H9, H10."""
    if column.numeric:
        ranks = np.unique(column.values, return_inverse=True)[1].ravel().astype(np.intp)
        yield np.where(column.present, ranks, -1)
        return
    used = np.flatnonzero(column.used & (column.states == Status.PRESENT))
    texts = column.lexicon.some(used).tolist()
    ways: tuple[Callable[[str], Any], ...] = (str, _by_numbers)
    for key in ways:
        places = {text: at for at, text in enumerate(sorted(set(texts), key=key))}
        of_text = np.full(len(column.states), -1, dtype=np.intp)
        of_text[used] = [places[text] for text in texts]
        yield of_text[column.codes]


def _by_numbers(text: str) -> list[tuple[str, int]]:
    """Return a key by which runs of digits in a text count as numbers."""
    return [("0", int(part)) if part.isdigit() else (part, 0) for part in _RUN_OF_DIGITS.split(text)]
