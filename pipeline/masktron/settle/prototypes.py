"""Settle: from aggregates to lexemes that satisfy every rule, as the deciding engine reads them.

An aggregate obeys the rules before rounding. For each group, in this order: each field is rounded to its grid and
the solved variables are recomputed; a search takes the nearest point of the grid that satisfies all rules; a finer
grid, for decimals; the median; the medoid, whose values are those of one record. The first candidate that the
engine accepts, written into a record of every combination of unmasked fields of the group, is the prototype. How
each group left is counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.errors import InfeasibleError
from masktron.read.lexical import parse_number
from masktron.read.records import Column
from masktron.settle.lattice import Candidate, Search
from masktron.settle.system import Recipe

BATCHES = (1, 8, 64, 512)
"""Candidates of each unsettled group that are judged in one go, round by round; the last size is repeated."""
EXITS = ("rounded", "lattice", "finer", "median", "medoid", "mode")

type Row = dict[str, str | None]


class Judge(Protocol):
    """Tells which records satisfy the rules that have to be kept."""

    def __call__(self, rows: Sequence[Row]) -> NDArray[np.bool_]:
        """Judge records given as lexemes by field name; shape (rows,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One block to settle.

    Attributes
    ----------
    variables : tuple of str
        Fields that the prototype replaces.
    columns : mapping of field name to Column
        All fields of the file, for the records to mask.
    members : tuple of ndarray of intp
        Records of each group.
    conditions : tuple of str
        Unmasked fields that the rules read.
    points : ndarray of float64, shape (n, d)
        Standardised coordinates of the block, in which the medoid is nearest to the mean; NaN where missing.
    targets : ndarray of float64, shape (groups, p)
        Aggregates; NaN where the group has no values.
    search : Search
    ways : callable
        Recipes for a group.
    observed : str or None
        Name of the aggregator where it takes observed values; then `choices` holds the records, shape (groups, p).
    pooled : ndarray of bool, shape (groups,)
        Groups that only a medoid can represent.
    """

    variables: tuple[str, ...]
    columns: Mapping[str, Column]
    members: tuple[NDArray[np.intp], ...]
    conditions: tuple[str, ...]
    points: NDArray[np.float64]
    targets: NDArray[np.float64]
    search: Search
    ways: Callable[[int], Sequence[Recipe]]
    pooled: NDArray[np.bool_]
    medians: NDArray[np.intp] | None
    observed: str | None = None
    choices: NDArray[np.intp] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Prototypes as written.

    Attributes
    ----------
    lexemes : ndarray of object, shape (groups, p)
        None where the field is absent.
    exits : ndarray of str, shape (groups,)
        How each group was settled: one of `EXITS`.
    """

    lexemes: NDArray[np.object_]
    exits: NDArray[np.str_]


def settle(task: Task, judge: Judge) -> Settled:
    """Find a prototype for every group.

    Raises
    ------
    InfeasibleError
        No candidate of a group satisfies the rules: the error names the fields.
    """
    chosen: dict[int, Candidate | Observed] = {}
    pending = {group: _candidates(task, group) for group in range(len(task.members))}
    for batch in itertools.chain(BATCHES, itertools.repeat(BATCHES[-1])):
        if not pending:
            break
        offers = {group: list(itertools.islice(source, batch)) for group, source in pending.items()}
        _refuse_exhausted(task, offers)
        chosen.update(_accept(task, offers, judge))
        pending = {group: source for group, source in pending.items() if group not in chosen}
    return _collect(task, chosen)


@dataclass(frozen=True, slots=True)
class Observed:
    """A prototype made of values that records hold."""

    lexemes: Mapping[str, str | None]
    stage: str


def _candidates(task: Task, group: int) -> Iterator[Candidate | Observed]:
    if task.observed is not None and task.choices is not None and not task.pooled[group]:
        yield _observed(task, task.choices[group], task.observed)
    elif not task.pooled[group]:
        target = {
            name: float(value)
            for name, value in zip(task.variables, task.targets[group], strict=True)
            if not np.isnan(value)
        }
        kept = _kept_missing(task, group)
        fixed = {name: _number(lexeme) for name, lexeme in kept.items()}
        for candidate in task.search.candidates(target, task.ways(group), fixed):
            yield Candidate({**kept, **candidate.lexemes}, candidate.stage)
        if task.medians is not None:
            yield _observed(task, task.medians[group], "median")
    for record in _by_distance(task, group):
        yield _observed(task, np.full(len(task.variables), record), "medoid")


def _kept_missing(task: Task, group: int) -> dict[str, str | None]:
    """Lexemes of the fields that all records of the group leave out, as the first of them writes it."""
    first = task.members[group][0]
    return {
        name: task.columns[name].lexemes[first] for name in task.variables if not task.columns[name].present[first]
    }


def _number(lexeme: str | None) -> Fraction | None:
    """What a rule reads in a field without a value: the number of a missing code, or nothing."""
    if lexeme is None or math.isnan(parse_number(lexeme)):
        return None
    return Fraction(lexeme.strip())


def _observed(task: Task, records: NDArray[np.intp], stage: str) -> Observed:
    return Observed(
        {name: task.columns[name].lexemes[at] for name, at in zip(task.variables, records, strict=True)}, stage
    )


def _by_distance(task: Task, group: int) -> NDArray[np.intp]:
    """Members of a group, the nearest to their mean first: the first is the medoid."""
    members = task.members[group]
    points = task.points[members]
    known = ~np.isnan(points)
    centre = np.where(known, points, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    distance = (np.where(known, points - centre, 0.0) ** 2).sum(axis=1)
    return members[np.lexsort((members, distance))]


def _accept(
    task: Task, offers: Mapping[int, Sequence[Candidate | Observed]], judge: Judge
) -> dict[int, Candidate | Observed]:
    """Return the first candidate of each group that the judge accepts in every context of the group."""
    rows: list[Row] = []
    spans: list[tuple[int, Candidate | Observed, int, int]] = []
    for group, candidates in offers.items():
        contexts = _contexts(task, group)
        for candidate in candidates:
            spans.append((group, candidate, len(rows), len(rows) + len(contexts)))
            rows += [{**context, **candidate.lexemes} for context in contexts]
    fine = judge(rows)
    accepted: dict[int, Candidate | Observed] = {}
    for group, candidate, start, stop in spans:
        if group not in accepted and fine[start:stop].all():
            accepted[group] = candidate
    return accepted


def _contexts(task: Task, group: int) -> list[Row]:
    """One record of the group for each combination of the unmasked fields that the rules read."""
    members = task.members[group]
    seen: dict[tuple[str | None, ...], Row] = {}
    for record in members if task.conditions else members[:1]:
        key = tuple(task.columns[name].lexemes[record] for name in task.conditions)
        if key not in seen:
            seen[key] = {name: column.lexemes[record] for name, column in task.columns.items()}
    return list(seen.values())


def _refuse_exhausted(task: Task, offers: Mapping[int, Sequence[object]]) -> None:
    for group, candidates in offers.items():
        if not candidates:
            fields = ", ".join(task.variables)
            tied = f" with the unmasked {', '.join(task.conditions)}" if task.conditions else ""
            raise InfeasibleError(
                f"no value for {fields} satisfies the rules{tied} in a group of {len(task.members[group])} records",
                hint=(
                    f"mask {', '.join(task.conditions)} as well, or give {fields} the role untouched"
                    if task.conditions
                    else "let a rule go with --allow, or give one of the fields the role untouched"
                ),
            )


def _collect(task: Task, chosen: Mapping[int, Candidate | Observed]) -> Settled:
    lexemes = np.empty((len(task.members), len(task.variables)), dtype=np.object_)
    exits = np.empty(len(task.members), dtype=f"<U{max(map(len, EXITS))}")
    for group, candidate in chosen.items():
        lexemes[group] = [candidate.lexemes[name] for name in task.variables]
        exits[group] = candidate.stage
    return Settled(lexemes, exits)
