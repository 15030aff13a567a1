"""A rulebook of nested records over columns: unrolled for units composed alike, and counted as it is written.

Theorem: a check fires on a node of a unit, and fails there, exactly where the check of that node does on the wide
record (`masktron.unrolling.unrolled.unroll`). So what a check does on the nodes of a unit is the sum of what its
unrolled checks do on the wide record. Where one of them is not known, or leaves a wide record open, the check is left
open for the whole unit, and the engine evaluates it as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.columns.program import ColumnProgram, compile_program
from masktron.evaluation.nested.level_checks import checks_by_level
from masktron.evaluation.nested.unit_groups import UnitMembers
from masktron.evaluation.nested.wide_batches import WideView
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.level_tree import Level, LevelPath, Tree
from masktron.sources.records import Layout
from masktron.sources.unit_batches import UnitBatch, UnitPart
from masktron.sources.wide.wide_record import Composition, WideRecord
from masktron.unrolling.element_order import order_bound
from masktron.unrolling.unrolled import unroll

ENOUGH = 100
"""Units of a composition from which on rules are unrolled for it: for fewer, the engine takes less time."""
_MOST_PLANS = 500
_MOST_PLACES = 64
"""Members, all the way down, beyond which a unit is left to the engine."""
_MOST_NODES = 255


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
    reasons |= {check: "it may fire on too many nodes" for check in checks if nodes[check] > _MOST_NODES}
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
    """Checks of a rulebook over batches of units; as `masktron.evaluation.tiers.CompiledColumns`.

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
        shape = (len(batch), self._width)
        outcome = Outcome(
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.bool_, order="F"),
        )
        outcome.unsure[:, sorted(self._wide)] = True
        if batch.given is None:
            batch.kept[:] = [*self._level_parts(batch), *self._wide_parts(batch)]
        for part in batch.kept if batch.given is None else batch.given:
            if isinstance(part.of, Composition):
                _add_wide(outcome, part, self._plans.of(part.code, part.of))
            elif part.of in self._tables:
                _add_level(outcome, part, self._tables[part.of])
        outcome.unsure[np.ix_(batch.mixed, self._ordered)] = True
        for check in self._checks:
            unsure = outcome.unsure[:, check]
            unsure |= batch.odd
            outcome.fired[unsure, check] = 0
            outcome.failed[unsure, check] = 0
        return outcome

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
        outcome.unsure[:, check] |= fired > _MOST_NODES
        outcome.fired[:, check] += fired.astype(np.uint8)
        outcome.failed[:, check] += failed.astype(np.uint8)


class UnitCompiler:
    """Compiles checks for the units of a nested file; as `masktron.evaluation.tiers.ColumnCompiler`.

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
