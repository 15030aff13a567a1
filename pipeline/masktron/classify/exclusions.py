"""``x < 2 or x > 2`` put together as ``x != 2``, for the display: a form itself has intervals alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.classify.bounds import Terms, as_bound, bounded, bounds_of, terms_of
from masktron.constraints import Atom, Range

_MOST = 500
"""Conjunctions of a form up to which it is put together; the display of a longer one is no help."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """An expression has a value, and none of these."""

    terms: Terms
    values: frozenset[Fraction]


type Piece = Atom | Excluded


@dataclass(frozen=True, slots=True)
class _Found:
    """The interval that an atom wants, and its place: which conjunction, and where in it."""

    interval: Range
    conjunction: int
    position: int

    @property
    def begins(self) -> tuple[bool, Fraction, bool]:
        """What comes before in the order of the line."""
        return self.interval.low is not None, self.interval.low or Fraction(0), self.interval.low_open

    def touches(self, later: _Found) -> bool:
        """Whether the other interval begins, open, where this one ends, open."""
        end = self.interval.high
        return end is not None and end == later.interval.low and self.interval.high_open and later.interval.low_open


def with_exclusions(conjunctions: Sequence[tuple[Atom, ...]]) -> list[tuple[Piece, ...]]:
    """Put together conjunctions that differ in one atom, where these are intervals with one open end in common.

    ``(C and x < a) or (C and a < x < b) or (C and x > b)`` is ``C and x is a number, not a, not b``.
    """
    found: list[tuple[Piece, ...]] = [tuple(conjunction) for conjunction in conjunctions]
    if len(found) > _MOST:
        return found
    while (fewer := _fewer(found)) is not None:
        found = fewer
    return found


def _fewer(conjunctions: list[tuple[Piece, ...]]) -> list[tuple[Piece, ...]] | None:
    """Put together the first of them that can be."""
    alike: dict[tuple[frozenset[Piece], Terms], list[_Found]] = {}
    for i, conjunction in enumerate(conjunctions):
        for j, piece in enumerate(conjunction):
            bound = None if isinstance(piece, Excluded) else as_bound(piece)
            if bound is not None:
                others = frozenset((*conjunction[:j], *conjunction[j + 1 :]))
                alike.setdefault((others, terms_of(bound)), []).append(_Found(bounds_of(bound), i, j))
    runs = ((terms, run) for (_, terms), found in alike.items() for run in _touching(found))
    return next((_together(conjunctions, terms, run) for terms, run in runs), None)


def _touching(found: list[_Found]) -> Iterator[list[_Found]]:
    """Yield runs of two and more intervals, each of which touches the next."""
    run: list[_Found] = []
    for one in sorted(found, key=lambda one: one.begins):
        if run and not run[-1].touches(one):
            if len(run) > 1:
                yield run
            run = []
        run.append(one)
    if len(run) > 1:
        yield run


def _together(conjunctions: list[tuple[Piece, ...]], terms: Terms, run: list[_Found]) -> list[tuple[Piece, ...]]:
    first, last = run[0].interval, run[-1].interval
    values = frozenset(one.interval.high for one in run[:-1] if one.interval.high is not None)
    ends = first.low is not None or last.high is not None
    whole = Range("", first.low, last.high, first.low_open, last.high_open)
    place = min(run, key=lambda one: one.conjunction)
    i, j = place.conjunction, place.position
    pieces = (*(bounded(terms, whole) if ends else ()), Excluded(terms, values))
    joined = (*conjunctions[i][:j], *pieces, *conjunctions[i][j + 1 :])
    gone = {one.conjunction for one in run} - {i}
    return [joined if k == i else own for k, own in enumerate(conjunctions) if k not in gone]
