"""A rulebook of nested records over columns: unrolled for units composed alike, and counted as it is written.

Theorem: a check fires on a node of a unit, and fails there, exactly where the check of that node does on the wide
record (`masktron.unrolling.unrolled.unroll`). So what a check does on the nodes of a unit is the sum of what its
unrolled checks do on the wide record. Where one of them is not known, or leaves a wide record open, the check is left
open for the whole unit, and the engine evaluates it as it is written.

Checks on records of one level alone are evaluated on its table. Theorem: a table of a level is a flat file whose
records have the fields of the level. A check says the same of a record there and in the nested file where its context
selects records or fields of that level only, and where neither it nor a context before it names what else stands in
these records: no records of other levels, and, where there are some in them, no node but by name. What reads the
records around one is refused by the compiler of columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from masktron.errors import RulebookError
from masktron.judge.columns.items import Outcome
from masktron.judge.columns.program import MOST_NODES, ColumnProgram, compile_program
from masktron.rulebook.analysis import context_of
from masktron.rulebook.context_match import ContextPath
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import (
    ANY,
    ContextItem,
    Expression,
    KindTest,
    NameTest,
    Path,
    Step,
    walk,
)
from masktron.rulebook.schema import Pattern, Rulebook
from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.flat_records import BatchRows, UnitBatch, UnitPart
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.record_layout import Layout
from masktron.sources.wide.wide_record import Composition, UnitField, UnitPlace, WideRecord
from masktron.unrolling.unrolled import order_bound, unroll

type _Codes = NDArray[np.uint64]

_FACTOR, _STEP, _START = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95), np.uint64(0x2545F4914F6CDD1D)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, slots=True, eq=False)
class UnitMembers:
    """Where the records within records stand in a batch.

    Attributes
    ----------
    counts : mapping of LevelPath to ndarray of intp
        Of each level but the top: how many of its records stand in each record of the level above.
    first : mapping of LevelPath to ndarray of intp
        Likewise the row of the first of them.
    """

    batch: UnitBatch
    counts: Mapping[LevelPath, NDArray[np.intp]]
    first: Mapping[LevelPath, NDArray[np.intp]]

    @classmethod
    def of(cls, batch: UnitBatch) -> Self:
        """Count the records of a batch."""
        counts = {path: batch.counts(path) for path in batch.levels if path}
        return cls(batch, counts, {path: np.cumsum(own) - own for path, own in counts.items()})

    def composition(self, unit: int) -> Composition:
        """Return the composition of a unit."""
        return self._composed(TOP, self.batch.tree.top, unit)

    def _composed(self, path: LevelPath, level: Level, row: int) -> Composition:
        kinds = []
        for child in level.children:
            below = (*path, child.name)
            count, first = (int(own[below][row]) if below in own else 0 for own in (self.counts, self.first))
            kinds.append(tuple(self._composed(below, child, first + at) for at in range(count)))
        return Composition(tuple(kinds))

    def groups(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield a code of each composition with its units, in ascending order.

        Equal compositions have equal codes in all batches. That units of one code are composed alike is very likely,
        and left to be tested where it matters (`masktron.judge.nested.unit_program`).
        """
        codes = self._codes()[TOP]
        order = np.argsort(codes, kind="stable")
        known = codes[order]
        for group in np.split(order, np.flatnonzero(known[1:] != known[:-1]) + 1):
            if len(group):
                yield int(codes[group[0]]), group

    def _codes(self) -> dict[LevelPath, _Codes]:
        """Return a hash of the composition of each record: of the numbers of records in it, and of their hashes."""
        found = {path: np.full(len(rows), _START) for path, rows in self.batch.levels.items()}
        for path in reversed(found):  # what is within a level comes behind it
            if not path:
                continue
            own, counts, first = found[path], self.counts[path], self.first[path]
            position = np.arange(len(own)) - np.repeat(first, counts)
            powers = np.multiply.accumulate(np.full(int(counts.max(initial=0)) + 1, _STEP))
            sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(own * powers[position], dtype=np.uint64)))
            inner = sums[first + counts] - sums[first] + counts.astype(np.uint64) * _FACTOR
            above = found[path[:-1]]
            above ^= _mixed(inner, len(path) + self._place(path))
        return found

    def _place(self, path: LevelPath) -> int:
        return [child.name for child in self.batch.tree.level(path[:-1]).children].index(path[-1]) * 64


def _mixed(codes: _Codes, salt: int) -> _Codes:
    found = (codes + np.multiply(np.full(1, salt + 1, np.uint64), _FACTOR)) * _STEP
    return (found ^ (found >> _SHIFT)) * _FACTOR


type PlaceRows = Mapping[str, NDArray[np.intp]]
"""By the name of a place, the row of the member of each unit in its level; -1 where it has none."""


@dataclass(frozen=True, slots=True, eq=False)
class WideView:
    """How wide records of a class of compositions are seen in batches of units.

    Attributes
    ----------
    wide : WideRecord
    fields : tuple of UnitField or UnitPlace
        What each field of its layout is: a field of a member, or whether a member is there.
    """

    wide: WideRecord
    fields: tuple[UnitField | UnitPlace, ...]

    @classmethod
    def of(cls, wide: WideRecord) -> Self:
        """Find out what the fields of a wide record are."""
        known: dict[str, UnitField | UnitPlace] = {f"@{p.presence}": p for p in wide.places if p.presence}
        known |= {leaf.name: leaf for place in wide.places for leaf in place.leaves}
        return cls(wide, tuple(known[field.name] for field in wide.layout.fields))

    def rows(self, members: UnitMembers, units: NDArray[np.intp]) -> tuple[PlaceRows, NDArray[np.bool_]]:
        """Return where the members of units stand, and which of the units the wide record describes."""
        found: dict[str, NDArray[np.intp]] = {self.wide.unit.name: units}
        fits = np.ones(len(units), dtype=np.bool_)
        for place in self.wide.places:
            above = found[place.name]
            for kind, child in zip(place.members, place.level.children, strict=True):
                path = (*place.level_path, child.name)
                nobody = np.full(len(units), -1)
                if path not in members.counts:
                    found.update((member.name, nobody) for member in kind)
                    continue
                there = above >= 0
                counts = np.where(there, members.counts[path].take(above, mode="clip"), 0)
                first = members.first[path].take(above, mode="clip")
                fits &= counts <= len(kind)
                for at, member in enumerate(kind):
                    fits &= (counts > at) | (not member.sure)
                    found[member.name] = np.where(counts > at, first + at, nobody)
        return found, fits

    def batch(self, members: UnitMembers, units: NDArray[np.intp], rows: PlaceRows) -> Batch:
        """Return the wide records of units that this describes."""
        batch = members.batch
        return Batch(
            layout=self.wide.layout,
            codec=batch.codec,
            buffer=batch.buffer,
            offset=batch.offset,
            first=batch.first,
            starts=batch.starts[units],
            stops=batch.stops[units],
            lines=batch.lines[units],
            odd=batch.odd[units],
            cells=_WideCells(batch.levels, self, rows),
        )


class _WideCells(Sequence[Cells]):
    """The cells of wide records, gathered field by field when they are asked for."""

    def __init__(self, levels: Mapping[LevelPath, BatchRows], view: WideView, rows: PlaceRows) -> None:
        self._levels, self._view, self._rows = levels, view, rows
        self._known: dict[int, Cells] = {}

    def __len__(self) -> int:
        return len(self._view.fields)

    @overload
    def __getitem__(self, at: int) -> Cells: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Cells]: ...
    def __getitem__(self, at: int | slice) -> Cells | Sequence[Cells]:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        if at not in self._known:
            self._known[at] = self._gathered(self._view.fields[at])
        return self._known[at]

    def _gathered(self, one: UnitField | UnitPlace) -> Cells:
        place = one if isinstance(one, UnitPlace) else one.place
        rows = self._rows[place.name]
        there = rows >= 0
        level = self._levels.get(place.level_path)
        if isinstance(one, UnitPlace) or level is None:
            start = np.zeros(len(rows), dtype=np.int64)  # nobody reads the text of what says that a member is there
            stop, status = start + there, np.where(there, Cell.TEXT, Cell.ABSENT).astype(np.uint8)
            return Cells(start, stop if isinstance(one, UnitPlace) else start, status)
        cells = level.cells[place.level.fields.index(one.field)]
        status = cells.status.take(rows, mode="clip")
        if not there.all():
            status[~there] = Cell.ABSENT
        return Cells(cells.start.take(rows, mode="clip"), cells.stop.take(rows, mode="clip"), status)


def checks_by_level(rulebook: Rulebook, tree: Tree) -> dict[LevelPath, list[int]]:
    """Return the checks that may be evaluated on the table of one level.

    Parameters
    ----------
    rulebook : Rulebook
        Of the nested file.
    tree : Tree
    """
    placing = _Placing(rulebook, tree)
    found: dict[LevelPath, list[int]] = {}
    for pattern in rulebook.patterns:
        for check, path in placing.of(pattern):
            found.setdefault(path, []).append(check)
    return found


class _Placing:
    def __init__(self, rulebook: Rulebook, tree: Tree) -> None:
        self._rulebook = rulebook
        self._levels = dict(tree.levels())
        self._records = {level.name for level in self._levels.values()}

    def of(self, pattern: Pattern) -> Iterator[tuple[int, LevelPath]]:
        before: list[str] = []
        lets = [*self._rulebook.lets, *pattern.lets]
        for rule in pattern.rules:
            paths = context_of(self._rulebook, rule.context)
            if paths is None:
                return
            before += [one.text for path in paths for step in path.steps for one in step.predicates]
            at = self._level(paths)
            if at is None:
                continue
            for check in rule.checks:
                if all(
                    self._stays(text, at)
                    for text in (*before, *(let.value for let in (*lets, *rule.lets)), check.test)
                ):
                    yield check.index, at

    def _level(self, paths: Sequence[ContextPath]) -> LevelPath | None:
        """Return the only level of which paths may select records or fields."""
        found: set[LevelPath] = set()
        for path in paths:
            name = path.steps[-1].plain_name if path.steps else None
            if name is None:
                return None
            local, attribute = name.rpartition(":")[2], path.steps[-1].kind == "attribute"
            found |= {at for at, level in self._levels.items() if _has(level, local, attribute=attribute)}
        return found.pop() if len(found) == 1 else None

    def _stays(self, text: str, at: LevelPath) -> bool:
        """Whether an expression names no records, and nothing but by name where there are some in the level."""
        try:
            parts = list(walk(parsed(text, self._rulebook.namespaces)))
        except RulebookError:
            return False
        named = [one.test for one in parts if isinstance(one, Step)]
        if any(isinstance(test, KindTest) and test.asked for test in named):
            return False
        if any(isinstance(test, NameTest) and test.local in self._records for test in named):
            return False
        return not self._levels[at].children or not any(map(_beyond_names, parts))


def _beyond_names(part: Expression) -> bool:
    """Whether an expression reads nodes of a record that it does not name."""
    match part:
        case ContextItem() | Step(axis="descendant" | "descendant-or-self" | "self"):
            return True
        case Step(axis=axis, test=KindTest(kind=kind)):
            return kind == "text" or (kind == "node" and axis != "parent")
        case Step(test=NameTest(local=local, space=space)):
            return ANY in (local, space)
        case Path(hops=hops):
            return any(hop.deep for hop in hops)
        case _:
            return False


def _has(level: Level, local: str, *, attribute: bool) -> bool:
    fields = {(f.tag.rpartition("}")[2], f.attribute) for f in level.fields}
    return (local, attribute) in fields or (not attribute and level.name == local)


ENOUGH = 100
"""Units of a composition from which on rules are unrolled for it: for fewer, the engine takes less time."""
_MOST_PLANS = 500
_MOST_PLACES = 64
"""Members, all the way down, beyond which a unit is left to the engine."""


@dataclass(frozen=True, slots=True, eq=False)
class WidePlan:
    """Checks of a rulebook, unrolled and compiled for the units of one composition.

    Attributes
    ----------
    composition : Composition
    view : WideView
    program : ColumnProgram
        Of the unrolled checks.
    checks : ndarray of intp, shape (m,)
        Which of these it has.
    written : ndarray of intp, shape (m,)
        The check, as it is written, of each of them.
    settled : ndarray of intp
        The checks, as they are written, that are evaluated so, also where none of their nodes is in such a unit.
    reasons : dict of int to str
        Why one is not.
    """

    composition: Composition
    view: WideView
    program: ColumnProgram
    checks: NDArray[np.intp]
    written: NDArray[np.intp]
    settled: NDArray[np.intp]
    reasons: dict[int, str]


def shortened(rulebook: Rulebook, checks: Collection[int]) -> Rulebook:
    """Return a rulebook with some of its checks alone, and the rules on which these depend."""
    patterns = []
    for pattern in rulebook.patterns:
        rules = [
            replace(rule, checks=tuple(check for check in rule.checks if check.index in checks))
            for rule in pattern.rules
        ]
        last = max((at for at, rule in enumerate(rules) if rule.checks), default=-1)
        if last >= 0:
            patterns.append(replace(pattern, rules=tuple(rules[: last + 1])))
    return replace(rulebook, patterns=tuple(patterns))


def wide_plan(
    rulebook: Rulebook, layout: Layout, top: Level, composition: Composition, checks: frozenset[int]
) -> WidePlan:
    """Unroll and compile checks for the units of a composition.

    Parameters
    ----------
    rulebook : Rulebook
        Of the nested file; see `shortened`.
    layout : Layout
        Of its units.
    top : Level
    composition : Composition
    checks : frozenset of int
        Those of the rulebook.
    """
    wide = WideRecord.of(top, composition, layout)
    unrolled = unroll(rulebook, wide, layout)
    reasons = dict(unrolled.reasons)
    nodes = Counter(origin.check for origin in unrolled.origins)
    reasons |= {check: "it may fire on too many nodes" for check in checks if nodes[check] > MOST_NODES}
    asked = [at for at, origin in enumerate(unrolled.origins) if origin.check not in reasons]
    program, why_not = compile_program(unrolled.rulebook, wide.layout, asked)
    for at in asked:
        if why_not[at]:
            reasons.setdefault(unrolled.origins[at].check, why_not[at])
    known = [at for at in asked if unrolled.origins[at].check not in reasons]
    written = [unrolled.origins[at].check for at in known]
    return WidePlan(
        composition,
        WideView.of(wide),
        program,
        np.array(known, dtype=np.intp),
        np.array(written, dtype=np.intp),
        np.array(sorted(checks - reasons.keys()), dtype=np.intp),
        reasons,
    )


@dataclass(slots=True)
class _Plans:
    """The plans of the compositions that were met often enough, made when they are."""

    make: Callable[[Composition], WidePlan]
    _known: dict[int, WidePlan | None] = field(default_factory=dict)
    _met: Counter[int] = field(default_factory=Counter)

    def of(self, code: int, composition: Composition) -> WidePlan:
        """Return the plan of a composition that has one."""
        plan = self._known.get(code)
        if plan is None:
            plan = self._known[code] = self.make(composition)
        return plan

    def met(self, code: int, members: UnitMembers, units: NDArray[np.intp]) -> WidePlan | None:
        """Return the plan of some units; None where the engine takes them."""
        if code not in self._known:
            self._met[code] += len(units)
            if self._met[code] < ENOUGH or len(self._known) >= _MOST_PLANS:
                return None
            composition = members.composition(int(units[0]))
            self._known[code] = self.make(composition) if _places(composition) <= _MOST_PLACES else None
            del self._met[code]
        return self._known[code]


def _places(composition: Composition) -> int:
    return 1 + sum(_places(member) for kind in composition.members for member in kind)


class UnitProgram:
    """Checks of a rulebook over batches of units; as `masktron.judge.walk.CompiledColumns`.

    Parameters
    ----------
    rulebook, tree
        Of the nested file.
    tables : mapping of LevelPath to ColumnProgram
        Checks that are evaluated on the table of a level.
    wide : frozenset of int
        Checks that are evaluated on wide records.
    """

    def __init__(
        self,
        rulebook: Rulebook,
        tree: Tree,
        tables: Mapping[LevelPath, ColumnProgram],
        wide: frozenset[int],
    ) -> None:
        self._width = len(rulebook.checks)
        self._tables, self._wide = tables, wide
        self._ordered = sorted(order_bound(rulebook) & wide)
        short = shortened(rulebook, wide)
        self._plans = _Plans(lambda composition: wide_plan(short, tree.layout, tree.top, composition, wide))
        self._checks = sorted(wide.union(*(program.checks for program in tables.values())))

    def reads(self, check: int) -> frozenset[int]:
        """Refuse: what decides a check stands in several levels.

        Raises
        ------
        ValueError
        """
        raise ValueError(f"check {check} reads cells of several levels: nothing is remembered of equal ones")

    def evaluate(self, batch: Batch) -> Outcome:
        """Evaluate all checks on all units of a batch."""
        if not isinstance(batch, UnitBatch):
            raise TypeError("not a batch of units")
        outcome = Outcome.blank(len(batch), self._width)
        outcome.unsure[:, sorted(self._wide)] = True
        if batch.given is None:
            batch.kept[:] = [*self._level_parts(batch), *self._wide_parts(batch)]
        for part in batch.kept if batch.given is None else batch.given:
            if isinstance(part.of, Composition):
                _add_wide(outcome, part, self._plans.of(part.code, part.of))
            elif part.of in self._tables:
                _add_level(outcome, part, self._tables[part.of])
        outcome.unsure[np.ix_(batch.mixed, self._ordered)] = True
        outcome.unsure[np.ix_(batch.odd, self._checks)] = True
        return outcome.cleared(self._checks)

    def _level_parts(self, batch: UnitBatch) -> Iterator[UnitPart]:
        """Yield the tables of the levels that have checks."""
        for path in self._tables.keys() & batch.levels.keys():
            yield UnitPart(0, path, batch.unit_of(path), batch.table(path))

    def _wide_parts(self, batch: UnitBatch) -> Iterator[UnitPart]:
        """Yield the units of a batch whose composition has a plan, as wide records."""
        if not self._wide:
            return
        members = UnitMembers.of(batch)
        for code, units in members.groups():
            plan = self._plans.met(code, members, units)
            if plan is None:
                continue
            rows, fits = plan.view.rows(members, units)
            # a unit of another composition with the same code is left to the engine
            own = {name: found[fits] for name, found in rows.items()}
            yield UnitPart(code, plan.composition, units[fits], plan.view.batch(members, units[fits], own))


def _add_wide(outcome: Outcome, part: UnitPart, plan: WidePlan) -> None:
    """Count what checks on wide records do for the checks as they are written."""
    own, units = plan.program.evaluate(part.batch), part.units
    outcome.unsure[np.ix_(units, plan.settled)] = False
    for at, check in zip(plan.checks.tolist(), plan.written.tolist(), strict=True):
        outcome.unsure[units, check] |= own.unsure[:, at]
        outcome.fired[units, check] += own.fired[:, at]
        outcome.failed[units, check] += own.failed[:, at]


def _add_level(outcome: Outcome, part: UnitPart, program: ColumnProgram) -> None:
    """Count what checks on the records of a level do in their units."""
    own, rows = program.evaluate(part.batch), len(outcome.unsure)
    for check in program.checks:
        fired, failed = (
            np.bincount(part.units, weights=counts[:, check], minlength=rows) for counts in (own.fired, own.failed)
        )
        outcome.unsure[part.units[own.unsure[:, check]], check] = True
        outcome.unsure[:, check] |= fired > MOST_NODES
        outcome.fired[:, check] += fired.astype(np.uint8)
        outcome.failed[:, check] += failed.astype(np.uint8)


class UnitCompiler:
    """Compiles checks for the units of a nested file; as `masktron.judge.walk.ColumnCompiler`.

    Parameters
    ----------
    tree : Tree
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __call__(
        self, rulebook: Rulebook, layout: Layout, checks: Collection[int]
    ) -> tuple[UnitProgram, tuple[str, ...]]:
        """Compile some checks: on the table of a level, or for units with one or two records of each kind."""
        tables: dict[LevelPath, ColumnProgram] = {}
        left = set(checks)
        for path, own in checks_by_level(rulebook, self._tree).items():
            program, _ = compile_program(rulebook, self._tree.layout_of(path), left.intersection(own))
            if program.checks:
                tables[path] = program
                left -= program.checks
        short, top = shortened(rulebook, left), self._tree.top
        reasons = wide_plan(short, self._tree.layout, top, _usual(top), frozenset(left)).reasons if left else {}
        wide = frozenset(left - reasons.keys())
        asked = dict.fromkeys(checks, "") | reasons
        return UnitProgram(rulebook, self._tree, tables, wide), tuple(
            asked.get(at, "it was not asked for") for at in range(len(rulebook.checks))
        )


def _usual(level: Level) -> Composition:
    """Return a composition with two records of each kind, or one where no record of a file has more."""
    return Composition(tuple(tuple(_usual(child) for _ in range(min(child.most, 2))) for child in level.children))
