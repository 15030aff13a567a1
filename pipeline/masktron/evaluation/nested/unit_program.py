"""A rulebook of nested records over columns: unrolled for the units of each composition, and counted as it is written.

Theorem: a check fires on a node of a unit, and fails there, exactly where the check of that node does on the wide
record (`masktron.unrolling.unrolled.unroll`). So what a check does on the nodes of a unit is the sum of what its
unrolled checks do on the wide record. Where one of them is not known, or leaves a wide record open, the check is left
open for the whole unit, and the engine evaluates it as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.columns.program import ColumnProgram, compile_program
from masktron.evaluation.nested.unit_groups import UnitMembers
from masktron.evaluation.nested.wide_batches import WideView
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.level_tree import Level, Tree
from masktron.sources.records import Layout
from masktron.sources.unit_batches import UnitBatch, WidePart
from masktron.sources.wide.composition import Composition
from masktron.sources.wide.wide_record import WideRecord
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


def wide_plan(
    rulebook: Rulebook, layout: Layout, top: Level, composition: Composition, checks: Collection[int]
) -> WidePlan:
    """Unroll and compile checks for the units of a composition.

    Parameters
    ----------
    rulebook : Rulebook
        Of the nested file.
    layout : Layout
        Of its units.
    top : Level
    composition : Composition
    checks : collection of int
        Which are wanted.
    """
    wide = WideRecord.of(top, composition, layout)
    unrolled = unroll(rulebook, wide, layout)
    wanted = frozenset(checks)
    reasons = {check: why for check, why in unrolled.reasons.items() if check in wanted}
    nodes = Counter(origin.check for origin in unrolled.origins)
    reasons |= {check: "it may fire on too many nodes" for check in wanted if nodes[check] > _MOST_NODES}
    asked = [at for at, origin in enumerate(unrolled.origins) if origin.check in wanted - reasons.keys()]
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
        np.array(sorted(wanted - reasons.keys()), dtype=np.intp),
        reasons,
    )


@dataclass(slots=True)
class _Plans:
    """The plans of the compositions that were met often enough, made when they are."""

    make: Callable[[Composition], WidePlan]
    _known: dict[int, WidePlan | None] = field(default_factory=dict)
    _met: Counter[int] = field(default_factory=Counter)

    def of(self, part: WidePart) -> WidePlan:
        """Return the plan of units that have one."""
        plan = self._known.get(part.code)
        if plan is None:
            plan = self._known[part.code] = self.make(part.composition)
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
    rulebook, layout, tree
        Of the nested file.
    checks : frozenset of int
        Those that are evaluated here.
    """

    def __init__(self, rulebook: Rulebook, layout: Layout, tree: Tree, checks: frozenset[int]) -> None:
        self._rulebook, self._layout, self._tree, self.checks = rulebook, layout, tree, checks
        self._plans = _Plans(self._plan)
        self._ordered = sorted(order_bound(rulebook) & checks)

    def _plan(self, composition: Composition) -> WidePlan:
        return wide_plan(self._rulebook, self._layout, self._tree.top, composition, self.checks)

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
        shape = (len(batch), len(self._rulebook.checks))
        outcome = Outcome(
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.bool_, order="F"),
        )
        outcome.unsure[:, sorted(self.checks)] = True
        if batch.given is None:
            batch.kept[:] = self._parts(batch)
        for part in batch.kept if batch.given is None else batch.given:
            plan = self._plans.of(part)
            _add(outcome, part.units, plan, plan.program.evaluate(part.batch))
        outcome.unsure[np.ix_(batch.mixed, self._ordered)] = True
        for check in self.checks:
            unsure = outcome.unsure[:, check]
            outcome.fired[unsure, check] = 0
            outcome.failed[unsure, check] = 0
        return outcome

    def _parts(self, batch: UnitBatch) -> Iterator[WidePart]:
        """Yield the units of a batch whose composition has a plan, as wide records."""
        members = UnitMembers.of(batch)
        for code, units in members.groups():
            plan = self._plans.met(code, members, units)
            if plan is None:
                continue
            rows, fits = plan.view.rows(members, units)
            if not fits.all():  # another composition with the same code: it is left to the engine
                units, rows = units[fits], {name: own[fits] for name, own in rows.items()}
            yield WidePart(code, plan.composition, units, plan.view.batch(members, units, rows))


def _add(outcome: Outcome, units: NDArray[np.intp], plan: WidePlan, own: Outcome) -> None:
    """Count what checks on wide records do for the checks as they are written."""
    outcome.unsure[np.ix_(units, plan.settled)] = False
    for at, check in zip(plan.checks.tolist(), plan.written.tolist(), strict=True):
        outcome.unsure[units, check] |= own.unsure[:, at]
        outcome.fired[units, check] += own.fired[:, at]
        outcome.failed[units, check] += own.failed[:, at]


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
        """Compile some checks: those that can be for units with one or two records of each kind."""
        tried = wide_plan(rulebook, layout, self._tree.top, _usual(self._tree.top), checks)
        chosen = frozenset(checks)
        reasons = tuple(
            tried.reasons.get(at, "") if at in chosen else "it was not asked for"
            for at in range(len(rulebook.checks))
        )
        known = frozenset(at for at in chosen if not reasons[at])
        return UnitProgram(rulebook, layout, self._tree, known), reasons


def _usual(level: Level) -> Composition:
    """Return a composition with two records of each kind, or one where no record of a file has more."""
    return Composition(
        tuple(tuple(_usual(child) for _ in range(min(child.most, 2))) for child in level.children)
    )
