"""Settle: from aggregates to lexemes that satisfy every rule, as the deciding engine reads them.

An aggregate obeys the rules before rounding. For each group, in this order: each field is rounded to its grid and
the solved variables are recomputed; a search takes the nearest point of the grid that satisfies all rules, first
around the aggregate, then by projection; a finer grid, for decimals; the median; the medoid, whose values are those
of one record. The first candidate that the engine accepts, written into a record of every combination of unmasked
fields of the group, is the prototype. How each group left is counted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from masktron.errors import InfeasibleError
from masktron.kernels.distinct import factorized
from masktron.progress import Told, untold
from masktron.settle.completion import Completion
from masktron.settle.lattice import Lexemes, Prototype, SettleExit
from masktron.sources.lexical import parse_number
from masktron.sources.records import Column

BATCHES = (1, 8, 64, 512)
"""Candidates of each unsettled group that are judged in one go, round by round; the last size is repeated."""
MAX_OFFERS = 20_000
"""Candidates that are held at a time, over all groups."""
MAX_ROWS = 5_000
"""Records that the judge is given at a time."""
EXITS: tuple[SettleExit, ...] = get_args(SettleExit.__value__)
"""How a group can be settled."""


class Judge(Protocol):
    """Tells which records satisfy the rules that have to be kept."""

    def __call__(self, rows: Sequence[Lexemes]) -> NDArray[np.bool_]:
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
    members : sequence of ndarray of intp
        Records of each group.
    conditions : tuple of str
        Unmasked fields that the rules read.
    distances : callable
        Of a group: from each of its members to their mean; the medoid is the nearest.
    candidates : callable
        Candidates for the prototype of a group, the best first.
    conflict : callable
        Ids of rules that no prototype of a group can satisfy together; empty where that is not proved.
    medians : callable or None
        Of a group: the records that hold the lower median of each variable, shape (p,), where that is a way out.
    observed : str or None
        Exit of groups whose aggregator takes observed values; then `choices` holds the records, shape (groups, p).
    completion : callable or None
        Of a group: what gives the solved variables of each of its records; None where the prototype says all.
    resort : callable or None
        Of a group: what comes after all candidates, in the place of the median and the medoid.
    pooled : ndarray of bool, shape (groups,)
        Groups that hold several patterns of missing values, so that no aggregator stands for them.
    """

    variables: tuple[str, ...]
    columns: Mapping[str, Column]
    members: Sequence[NDArray[np.intp]]
    conditions: tuple[str, ...]
    distances: Callable[[int], NDArray[np.float64]]
    candidates: Callable[[int], Iterator[Prototype]]
    pooled: NDArray[np.bool_]
    medians: Callable[[int], NDArray[np.intp]] | None
    conflict: Callable[[int], Sequence[str]] = lambda group: ()
    observed: SettleExit | None = None
    choices: NDArray[np.intp] | None = None
    completion: Callable[[int], Completion | None] | None = None
    resort: Callable[[int], Iterator[Prototype]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Prototypes as written.

    Attributes
    ----------
    lexemes : ndarray of object, shape (groups, p)
        None where the field is absent.
    exits : ndarray of str, shape (groups,)
        How each group was settled: one of `EXITS`.
    own : mapping of int to ndarray of object, shape (n,)
        Lexemes of variables that records have of their own, by the position of the variable.
    known : ndarray of float64, shape (groups, p), optional
        The lexemes as numbers, where that has been found out.
    """

    lexemes: NDArray[np.object_]
    exits: NDArray[np.str_]
    own: Mapping[int, NDArray[np.object_]] = field(default_factory=dict)
    known: NDArray[np.float64] | None = None

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The prototypes as numbers, shape (groups, p); NaN where a lexeme is none."""
        return numbers_of(self.lexemes) if self.known is None else self.known

    def column(self, position: int, labels: NDArray[np.intp]) -> NDArray[np.object_]:
        """Return the lexemes of a variable, record by record, given the group of each; shape (n,)."""
        if position in self.own:
            return self.own[position]
        written: NDArray[np.object_] = self.lexemes[labels, position]
        return written


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """Prototypes that were found for many groups at once.

    Attributes
    ----------
    lexemes, exits, numbers
        As in `Settled`.
    done : ndarray of bool, shape (groups,)
        Groups that have one; the others are looked at one by one.
    """

    lexemes: NDArray[np.object_]
    exits: NDArray[np.str_]
    numbers: NDArray[np.float64]
    done: NDArray[np.bool_]

    @classmethod
    def empty(cls, groups: int, variables: int) -> Begun:
        """Return the beginning without a prototype."""
        return cls(
            np.empty((groups, variables), dtype=np.object_),
            np.empty(groups, dtype=f"<U{max(map(len, EXITS))}"),
            np.full((groups, variables), np.nan),
            np.zeros(groups, dtype=np.bool_),
        )


def numbers_of(lexemes: NDArray[np.object_]) -> NDArray[np.float64]:
    """Read lexemes as numbers, as `masktron.sources.lexical.parse_number` does; NaN for None. Any shape."""
    codes, distinct = factorized(lexemes.ravel())
    # the code of None is -1, which takes the last entry
    numbers = np.array([*map(parse_number, distinct.tolist()), math.nan])
    read: NDArray[np.float64] = numbers[codes].reshape(lexemes.shape)
    return read


def settle(task: Task, judge: Judge, begun: Begun | None = None, told: Told = untold) -> Settled:
    """Find a prototype for every group that has none yet; `told` hears how many groups have one.

    Raises
    ------
    InfeasibleError
        No candidate of a group satisfies the rules: the error names the fields.
    """
    if begun is None:
        begun = Begun.empty(len(task.members), len(task.variables))
    chosen: dict[int, Prototype] = {}
    contexts = Contexts(task, judge)
    pending = {group: _candidates(task, group) for group in np.flatnonzero(~begun.done).tolist()}
    for batch in itertools.chain(BATCHES, itertools.repeat(BATCHES[-1])):
        if not pending:
            break
        for groups in itertools.batched(pending, max(1, MAX_OFFERS // batch)):
            offers = {group: list(itertools.islice(pending[group], batch)) for group in groups}
            _refuse_exhausted(task, offers)
            chosen.update(contexts.accepted(offers))
            told(int(begun.done.sum()) + len(chosen), len(task.members))
        pending = {group: source for group, source in pending.items() if group not in chosen}
    return _collect(task, chosen, begun)


def _candidates(task: Task, group: int) -> Iterator[Prototype]:
    pooled = task.pooled[group]
    if task.observed is not None and task.choices is not None and not pooled:
        yield _observed(task, task.choices[group], task.observed)
    yield from task.candidates(group)
    if task.resort is not None:
        yield from task.resort(group)
        return
    if task.medians is not None and not pooled:
        yield _observed(task, task.medians(group), "median")
    for record in _by_distance(task, group):
        yield _observed(task, np.full(len(task.variables), record), "medoid")


def _observed(task: Task, records: NDArray[np.intp], stage: SettleExit) -> Prototype:
    return Prototype(
        {name: task.columns[name].lexemes[at] for name, at in zip(task.variables, records, strict=True)}, stage
    )


def _by_distance(task: Task, group: int) -> NDArray[np.intp]:
    """Members of a group, the nearest to their mean first: the first is the medoid."""
    members = task.members[group]
    return members[np.lexsort((members, task.distances(group)))]


class Contexts:
    """The records that stand for a group before the judge: one for each combination of the unmasked fields.

    The one that refused most candidates of the group is asked first: it is likely to refuse the others too.
    """

    def __init__(self, task: Task, judge: Judge) -> None:
        self._task = task
        self._judge = judge
        self._records: dict[int, list[int]] = {}
        self._refused: dict[int, Counter[int]] = {}

    def accepted(self, offers: Mapping[int, Sequence[Prototype]]) -> dict[int, Prototype]:
        """Return the first candidate of each group that the judge accepts in every context of the group."""
        left = {group: list(candidates) for group, candidates in offers.items()}
        chosen: dict[int, Prototype] = {}
        while left:
            survivors = self._survivors(left)
            trials = [(group, own[0], self._of(group)) for group, own in survivors.items()]
            for (group, candidate, records), fine in zip(trials, self._verdicts(trials), strict=True):
                if fine.all():
                    chosen[group] = candidate
                else:
                    self._promote(group, [record for record, ok in zip(records, fine, strict=True) if not ok])
            left = {group: own[1:] for group, own in survivors.items() if group not in chosen and own[1:]}
        return chosen

    def judged(self, trials: Sequence[tuple[int, Prototype]]) -> list[bool]:
        """Tell of candidates of groups which of them the judge accepts in every context of their group."""
        verdicts = self._verdicts([(group, candidate, self._of(group)) for group, candidate in trials])
        return [bool(fine.all()) for fine in verdicts]

    def _survivors(self, offers: Mapping[int, Sequence[Prototype]]) -> dict[int, list[Prototype]]:
        """Return the candidates of each group that its first context accepts, without groups that have none."""
        trials = [(group, candidate, self._of(group)[:1]) for group, own in offers.items() for candidate in own]
        survivors: dict[int, list[Prototype]] = {}
        for (group, candidate, _), fine in zip(trials, self._verdicts(trials), strict=True):
            if fine[0]:
                survivors.setdefault(group, []).append(candidate)
        return survivors

    def _promote(self, group: int, refusing: Sequence[int]) -> None:
        """Put the context that has refused most candidates of the group before the others."""
        refused = self._refused.setdefault(group, Counter())
        refused.update(reversed(refusing))
        (hardest, _), *_ = refused.most_common(1)
        records = self._of(group)
        records.remove(hardest)
        records.insert(0, hardest)

    def _of(self, group: int) -> list[int]:
        if group not in self._records:
            task, members = self._task, self._task.members[group]
            fields = [task.columns[name].lexemes for name in task.conditions]
            seen = {tuple(lexemes[record] for lexemes in fields): int(record) for record in members[::-1]}
            self._records[group] = list(seen.values())[::-1]
        return self._records[group]

    def _verdicts(self, trials: Sequence[tuple[int, Prototype, list[int]]]) -> list[NDArray[np.bool_]]:
        """Judge candidates in some contexts, a bounded number of rows at a time."""
        rows = (
            _row(self._task, group, candidate, record) for group, candidate, records in trials for record in records
        )
        parts = [self._judged(slab) for slab in itertools.batched(rows, MAX_ROWS)]
        fine = np.concatenate([np.empty(0, dtype=np.bool_), *parts])
        return np.split(fine, np.cumsum([len(records) for *_, records in trials])[:-1]) if trials else []

    def _judged(self, rows: Sequence[Lexemes | None]) -> NDArray[np.bool_]:
        """Judge the records that there are."""
        fine = np.array([row is not None for row in rows], dtype=np.bool_)
        if fine.any():
            fine[fine] = self._judge([row for row in rows if row is not None])
        return fine


def _row(task: Task, group: int, candidate: Prototype, record: int) -> Lexemes | None:
    """Write a prototype into a record; None where a solved variable of the record has no value then."""
    row = {name: column.lexemes[record] for name, column in task.columns.items()} | dict(candidate.lexemes)
    completion = task.completion(group) if task.completion else None
    if completion is None:
        return row
    solved = completion(row)
    return None if solved is None else row | solved


def _refuse_exhausted(task: Task, offers: Mapping[int, Sequence[object]]) -> None:
    for group, candidates in offers.items():
        if not candidates:
            fields = ", ".join(task.variables)
            tied = f" with the unmasked {', '.join(task.conditions)}" if task.conditions else ""
            rules = task.conflict(group)
            proof = f"; {', '.join(rules)} cannot hold {'together ' if len(rules) > 1 else ''}there" if rules else ""
            raise InfeasibleError(
                f"no value for {fields} satisfies the rules{tied} in a group of {len(task.members[group])} "
                f"records{proof}",
                hint=(
                    f"mask {', '.join(task.conditions)} as well, or give {fields} the role untouched"
                    if task.conditions
                    else "let a rule go with --allow, or give one of the fields the role untouched"
                ),
            )


def _collect(task: Task, chosen: Mapping[int, Prototype], begun: Begun) -> Settled:
    for group, candidate in chosen.items():
        begun.lexemes[group] = [candidate.lexemes.get(name) for name in task.variables]
        begun.exits[group] = candidate.stage
    found = np.fromiter(chosen, dtype=np.intp, count=len(chosen))
    begun.numbers[found] = numbers_of(begun.lexemes[found])
    return Settled(begun.lexemes, begun.exits, _own(task, chosen, begun.lexemes), begun.numbers)


def _own(task: Task, chosen: Mapping[int, Prototype], lexemes: NDArray[np.object_]) -> dict[int, NDArray[np.object_]]:
    """Complete the records of all groups that have solved variables."""
    if task.completion is None:
        return {}
    completed = [(group, found) for group in sorted(chosen) if (found := task.completion(group)) is not None]
    labels = np.empty(sum(map(len, task.members)), dtype=np.intp)
    for group, members in enumerate(task.members):
        labels[members] = group
    places = {name: task.variables.index(name) for _, found in completed for name in found.variables}
    own = {name: lexemes[labels, position] for name, position in places.items()}
    for group, found in completed:
        for record in task.members[group].tolist():
            row = _row(task, group, chosen[group], record)
            if row is None:
                raise AssertionError(f"record {record} of group {group} was accepted and cannot be completed")
            for name in found.variables:
                own[name][record] = row[name]
    return {places[name]: column for name, column in own.items()}
