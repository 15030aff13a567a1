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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.kernels.distinct import factorized
from masktron.problems.problem import Note, Rule, fields
from masktron.progress import Told, untold
from masktron.settle.completion import Completion
from masktron.settle.lattice import Lexemes, Prototype, SettleExit
from masktron.settle.record_texts import RecordTexts
from masktron.sources.column import Column
from masktron.sources.lexical import parse_number
from masktron.sources.lexicon import Lexicon

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
class BlockRecords:
    """The records of a block, group by group, into which prototypes are written.

    Attributes
    ----------
    variables : tuple of str
        Fields that a prototype replaces.
    conditions : tuple of str
        Unmasked fields that the rules read.
    columns : mapping of field name to Column
        All fields of the file, for the records to mask.
    members : sequence of ndarray of intp
        Records of each group.
    completion : callable or None
        Of a group: what gives the solved variables of each of its records; None where the prototype says all.
    """

    variables: tuple[str, ...]
    conditions: tuple[str, ...]
    columns: Mapping[str, Column]
    members: Sequence[NDArray[np.intp]]
    completion: Callable[[int], Completion | None] | None = None
    _texts: RecordTexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_texts", RecordTexts(self.columns))

    def held_by(self, records: Iterable[int], stage: SettleExit) -> Prototype:
        """Return the prototype of values that records hold, one record for each variable."""
        lexemes = {name: self.columns[name].lexeme(at) for name, at in zip(self.variables, records, strict=True)}
        return Prototype(lexemes, stage)

    def contexts(self, group: int) -> list[int]:
        """Return a record for each combination of the unmasked fields in a group."""
        members = self.members[group][::-1]
        fields = [self._texts.of(name, members) for name in self.conditions]
        texts = zip(*fields, strict=True) if fields else [()] * len(members)
        seen = dict(zip(texts, members.tolist(), strict=True))
        return list(seen.values())[::-1]

    def rows(self, trials: Sequence[tuple[int, Prototype, int]]) -> list[dict[str, str | None] | None]:
        """Write prototypes of groups into records; None where a solved variable of the record has no value then."""
        texts = self._texts.rows([record for *_, record in trials])
        return [
            self._completed(group, {**row, **own.lexemes}) for (group, own, _), row in zip(trials, texts, strict=True)
        ]

    def _completed(self, group: int, row: dict[str, str | None]) -> dict[str, str | None] | None:
        completion = self.completion(group) if self.completion else None
        if completion is None:
            return row
        solved = completion(row)
        return None if solved is None else {**row, **solved}

    def completed(
        self, chosen: Mapping[int, Prototype], lexemes: NDArray[np.object_]
    ) -> dict[int, NDArray[np.object_]]:
        """Complete the records of all groups that have solved variables, by the position of the variable."""
        if self.completion is None:
            return {}
        completed = [(group, found) for group in sorted(chosen) if (found := self.completion(group)) is not None]
        labels = np.empty(sum(map(len, self.members)), dtype=np.intp)
        for group, members in enumerate(self.members):
            labels[members] = group
        places = {name: self.variables.index(name) for _, found in completed for name in found.variables}
        own = {name: lexemes[labels, position] for name, position in places.items()}
        for group, found in completed:
            for some in itertools.batched(self.members[group].tolist(), MAX_ROWS):
                rows = self.rows([(group, chosen[group], record) for record in some])
                for record, row in zip(some, rows, strict=True):
                    if row is None:
                        raise AssertionError(f"record {record} of group {group} was accepted and cannot be completed")
                    for name in found.variables:
                        own[name][record] = row[name]
        return {places[name]: column for name, column in own.items()}

    def refusal(self, group: int, rules: Sequence[str]) -> InfeasibleError:
        """Return the error that a group has no prototype, with rules that are known to exclude each other."""
        facts = [RefusalFacts("no-prototype", self.variables, self.conditions, tuple(rules), groups=1)]
        masked, others = fields(self.variables), fields(self.conditions)
        known, where = tuple(map(Rule, rules)) or "the rules", f" in a group of {len(self.members[group])} records"
        if not others:
            why = Note("no value satisfies {rules:and}{where}", rules=known, where=where)
            return InfeasibleError.of(
                "aggregator-unsuitable", fields=masked, aggregator="groups", reasons=(why,), facts=facts
            )
        return InfeasibleError.of(
            "unmasked-in-the-way",
            fields=masked,
            conditions=others,
            rules=known,
            reason=f"no value satisfies them{where}",
            facts=facts,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Prototypes as written.

    Attributes
    ----------
    written : tuple of Lexicon
        The lexemes of each variable, group by group; None where the field is absent.
    stages : ndarray of uint8, shape (groups,)
        How each group was settled, as a position in `EXITS`.
    own : mapping of int to Lexicon
        Lexemes of variables that records have of their own, record by record, by the position of the variable.
    known : ndarray of float64, shape (groups, p), optional
        The lexemes as numbers, where that has been found out.
    """

    written: tuple[Lexicon, ...]
    stages: NDArray[np.uint8]
    own: Mapping[int, Lexicon] = field(default_factory=dict)
    known: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        lexemes: NDArray[np.object_],
        exits: NDArray[np.str_],
        own: Mapping[int, NDArray[np.object_] | Lexicon] | None = None,
        known: NDArray[np.float64] | None = None,
    ) -> Settled:
        """Take lexemes as objects, shape (groups, p) and (n,), and exits by their names, shape (groups,)."""
        given = {} if own is None else own
        return cls(
            tuple(Lexicon.of(column.tolist()) for column in lexemes.T),
            np.array([EXITS.index(one) for one in exits.tolist()], dtype=np.uint8),
            {at: one if isinstance(one, Lexicon) else Lexicon.of(one.tolist()) for at, one in given.items()},
            known,
        )

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.stages)

    @property
    def lexemes(self) -> NDArray[np.object_]:
        """All lexemes as objects, shape (groups, p); made anew at each call."""
        found = np.empty((self.groups, len(self.written)), dtype=np.object_)
        for position in range(len(self.written)):
            found[:, position] = self.texts(position)
        return found

    def texts(self, position: int) -> NDArray[np.object_]:
        """Return the lexemes of a variable as objects, shape (groups,); made anew at each call."""
        return self.written[position].objects()

    @property
    def exits(self) -> NDArray[np.str_]:
        """How each group was settled, by the names in `EXITS`, shape (groups,); made anew at each call."""
        return np.array(EXITS)[self.stages]

    def left_by(self, stage: str) -> NDArray[np.bool_]:
        """Return which groups were settled in a way, shape (groups,); none in one that is no `SettleExit`."""
        names = [at for at, name in enumerate(EXITS) if name == stage]
        return np.isin(self.stages, names)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The prototypes as numbers, shape (groups, p); NaN where a lexeme is none."""
        return numbers_of(self.lexemes) if self.known is None else self.known

    def numbers_at(self, position: int) -> NDArray[np.float64]:
        """Return the prototypes of a variable as numbers, shape (groups,); NaN where a lexeme is none."""
        return numbers_of(self.texts(position)) if self.known is None else self.known[:, position]

    def some(self, position: int, labels: NDArray[np.intp], records: NDArray[np.intp]) -> NDArray[np.object_]:
        """Return the lexemes of a variable in some records as objects, given the group of each record of the file."""
        own = self.own.get(position)
        return self.written[position].some(labels[records]) if own is None else own.some(records)

    def column(self, position: int, labels: NDArray[np.intp]) -> Lexicon:
        """Return the lexemes of a variable, record by record, given the group of each, shape (n,)."""
        return self.own[position] if position in self.own else self.written[position].only(labels)


@dataclass(frozen=True, slots=True, eq=False)
class PrototypeTable:
    """The prototypes of all groups while they are being found; its arrays are written in place.

    Attributes
    ----------
    lexemes : ndarray of object, shape (groups, p)
    exits : ndarray of str, shape (groups,)
    numbers : ndarray of float64, shape (groups, p)
        As in `Settled`.
    done : ndarray of bool, shape (groups,)
        Groups that have a prototype.
    """

    lexemes: NDArray[np.object_]
    exits: NDArray[np.str_]
    numbers: Floats
    done: NDArray[np.bool_]

    @classmethod
    def empty(cls, groups: int, variables: int) -> PrototypeTable:
        """Return the table without a prototype."""
        return cls(
            np.empty((groups, variables), dtype=np.object_),
            np.empty(groups, dtype=f"<U{max(map(len, EXITS))}"),
            np.full((groups, variables), np.nan),
            np.zeros(groups, dtype=np.bool_),
        )

    @property
    def found(self) -> int:
        """Number of groups that have a prototype."""
        return int(self.done.sum())

    def close(self, groups: NDArray[np.intp], stage: str) -> None:
        """Say how groups were settled whose prototypes have been written."""
        self.done[groups] = True
        self.exits[groups] = stage

    def write(self, variables: Sequence[str], chosen: Mapping[int, Prototype]) -> None:
        """Write the prototypes of single groups."""
        for group, prototype in chosen.items():
            self.lexemes[group] = [prototype.lexemes.get(name) for name in variables]
            self.exits[group] = prototype.stage
        groups = np.fromiter(chosen, dtype=np.intp, count=len(chosen))
        self.numbers[groups] = numbers_of(self.lexemes[groups])
        self.done[groups] = True


def numbers_of(lexemes: NDArray[np.object_]) -> NDArray[np.float64]:
    """Read lexemes as numbers, as `masktron.sources.lexical.parse_number` does; NaN for None. Any shape."""
    codes, distinct = factorized(lexemes.ravel())
    # the code of None is -1, which takes the last entry
    numbers = np.array([*map(parse_number, distinct.tolist()), math.nan])
    read: NDArray[np.float64] = numbers[codes].reshape(lexemes.shape)
    return read


def settle(
    records: BlockRecords,
    candidates: Callable[[int], Iterator[Prototype]],
    judge: Judge,
    table: PrototypeTable | None = None,
    *,
    conflict: Callable[[int], Sequence[str]] = lambda group: (),
    told: Told = untold,
) -> Settled:
    """Find a prototype for every group that has none yet.

    Parameters
    ----------
    records : BlockRecords
    candidates : callable
        Candidates for the prototype of a group, the best first.
    judge : Judge
    table : PrototypeTable, optional
        Prototypes that were found for many groups at once; the others are written into it.
    conflict : callable, optional
        Ids of rules that no prototype of a group can satisfy together; empty where that is not proved.
    told : callable, optional
        Hears how many groups have a prototype.

    Raises
    ------
    InfeasibleError
        No candidate of a group satisfies the rules: the error names the fields.
    """
    groups = len(records.members)
    table = PrototypeTable.empty(groups, len(records.variables)) if table is None else table
    chosen: dict[int, Prototype] = {}
    judged = ContextJudge(records, judge)
    pending = {group: candidates(group) for group in np.flatnonzero(~table.done).tolist()}
    for batch in itertools.chain(BATCHES, itertools.repeat(BATCHES[-1])):
        if not pending:
            break
        for some in itertools.batched(pending, max(1, MAX_OFFERS // batch)):
            offers = {group: list(itertools.islice(pending[group], batch)) for group in some}
            for group, own in offers.items():
                if not own:
                    raise records.refusal(group, conflict(group))
            chosen.update(judged.accepted(offers))
            told(table.found + len(chosen), groups)
        pending = {group: source for group, source in pending.items() if group not in chosen}
    table.write(records.variables, chosen)
    return Settled.of(table.lexemes, table.exits, records.completed(chosen, table.lexemes), table.numbers)


class ContextJudge:
    """Judges prototypes in the records that stand for their group: one for each combination of the unmasked fields.

    The one that refused most candidates of the group is asked first: it is likely to refuse the others too.
    """

    def __init__(self, records: BlockRecords, judge: Judge) -> None:
        self._records = records
        self._judge = judge
        self._contexts: dict[int, list[int]] = {}
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
        if group not in self._contexts:
            self._contexts[group] = self._records.contexts(group)
        return self._contexts[group]

    def _verdicts(self, trials: Sequence[tuple[int, Prototype, list[int]]]) -> list[NDArray[np.bool_]]:
        """Judge candidates in some contexts, a bounded number of rows at a time."""
        asked = ((group, candidate, record) for group, candidate, records in trials for record in records)
        parts = [self._judged(self._records.rows(slab)) for slab in itertools.batched(asked, MAX_ROWS)]
        fine = np.concatenate([np.empty(0, dtype=np.bool_), *parts])
        return np.split(fine, np.cumsum([len(records) for *_, records in trials])[:-1]) if trials else []

    def _judged(self, rows: Sequence[Lexemes | None]) -> NDArray[np.bool_]:
        """Judge the records that there are."""
        fine = np.array([row is not None for row in rows], dtype=np.bool_)
        if fine.any():
            fine[fine] = self._judge([row for row in rows if row is not None])
        return fine
