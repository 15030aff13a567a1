"""Derive per record: which variables of a block are solved in which group, and what the rules say without them.

Groups of at least k records share the grouped variables of the block; a solved one follows in each record from these
and from the record's own unmasked fields (`masktron.classify.elimination`). Where an equality is one alternative of
a rule, a group whose records share another alternative needs no solving: its variables are all grouped.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.classify.elimination import Elimination, Solved, eliminate, equality, is_equality, is_linear
from masktron.classify.forms import is_about_missing
from masktron.classify.polynomial import polynomial_of
from masktron.constraints import Atom, Form, Linear, Polynomial, Product
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.masking.judging import RecordRules
from masktron.partitions.mdav import standardise
from masktron.plan import Block
from masktron.problems.problem import Rule, fields

APART = 1e-9
"""Share of the largest term by which two values of an unmasked expression differ for certain."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """The rules of a block for groups in which certain equalities are solved in each record.

    Attributes
    ----------
    elimination : Elimination or None
        None where nothing is solved.
    forms : tuple of (int, Form)
        The rules, in terms of grouped variables as far as that can be written; disjuncts keep their places.
    """

    elimination: Elimination | None
    forms: tuple[tuple[int, Form], ...]

    @property
    def solved(self) -> frozenset[str]:
        """The solved variables."""
        return frozenset() if self.elimination is None else frozenset(self.elimination.solutions)


class Reductions:
    """Finds the reduction for a group of records; those with the same equalities share it."""

    def __init__(self, rules: RecordRules, block: Block) -> None:
        self._rules = rules
        self._block = block
        self._forms = dict(zip(block.checks, rules.forms(block), strict=True))
        self._of = functools.cache(self._reduced)

    def group(self, members: NDArray[np.intp]) -> Reduction:
        """Return the reduction for a group: equalities are solved that its records need.

        They need an equality if they share no alternative of the rule without one.
        """
        active: list[Solved] = []
        for check in dict.fromkeys(one.check for one in self._block.solved):
            holds = self._rules.satisfied_by(self._forms[check])[members].all(axis=0)
            own = [one for one in self._block.solved if one.check == check]
            places = {one.disjunct for one in own}
            shared = np.flatnonzero(holds).tolist()
            if shared and places.issuperset(shared):
                active += [one for one in own if one.disjunct == shared[0]]
        return self._of(tuple(one for one in self._block.solved if one in active))

    @property
    def all(self) -> Reduction:
        """The reduction for records in which every equality is solved, as far as they do not exclude each other."""
        return self._of(self._together)

    @property
    def live(self) -> NDArray[np.bool_]:
        """Records that `all` is true of, shape (n,)."""
        fine = np.ones(self._rules.file.n, dtype=np.bool_)
        for one in self._together if self.all.elimination is not None else ():
            fine &= self._rules.satisfied_by(self._forms[one.check])[:, one.disjunct]
        return fine

    @property
    def _together(self) -> tuple[Solved, ...]:
        first = {one.check: one.disjunct for one in reversed(self._block.solved)}
        return tuple(one for one in self._block.solved if first[one.check] == one.disjunct)

    def _reduced(self, active: tuple[Solved, ...]) -> Reduction:
        equalities = [(one.variable, equality(self._forms[one.check], one)) for one in active]
        found = eliminate(equalities, self._block.variables) if active else None
        if found is None:
            return Reduction(None, tuple(self._forms.items()))
        places = {check: {(one.disjunct, one.atom) for one in active if one.check == check} for check in self._forms}
        return Reduction(
            found, tuple((check, found.form(form, places[check])) for check, form in self._forms.items())
        )


def tying(block: Block, forms: Sequence[Form]) -> frozenset[str]:
    """Return the fields in which a group has to be constant: those beside masked ones in what cannot be moved.

    Inequalities are left to the search; the equalities that are solved in each record are true by construction.
    """
    solved = {(one.check, one.disjunct, one.atom) for one in block.solved}
    return frozenset(
        name
        for check, form in zip(block.checks, forms, strict=True)
        for position, conjunction in enumerate(form)
        for at, atom in enumerate(conjunction)
        if (check, position, at) not in solved and not _is_inequality(atom)
        and not variables_of(atom).isdisjoint(block.variables)
        for name in variables_of(atom)
    )  # fmt: skip


def _is_inequality(atom: Atom) -> bool:
    return isinstance(atom, Linear | Product | Polynomial) and atom.relation != "="


def solved_parts(rules: RecordRules, block: Block) -> NDArray[np.float64]:
    """Return what grouping can lose of the solved variables, as coordinates, shape (n, d).

    Theorem: where the solution of a variable is linear, its squared deviation in a record is that of the grouped
    part of the solution, so that the distance of records in that part, in units of the variable's own spread, is
    what they lose of the variable if they share a prototype. Proof: the unmasked part is the same before and after.
    """
    elimination = Reductions(rules, block).all.elimination
    columns = [np.empty((rules.file.n, 0))]
    for name, solution in () if elimination is None else elimination.solutions.items():
        own = [(powers[0][0], c) for powers, c in solution.terms if powers and powers[0][0] in block.grouped]
        unit = rules.file.deviation(name)
        if is_linear(solution) and own and np.isfinite(unit) and unit > 0:
            part = np.sum([float(c) * rules.file.values[other] for other, c in own], axis=0)
            spread = float(np.nanstd(part)) if not np.isnan(part).all() else 0.0
            if np.isfinite(spread):
                columns.append(standardise(part[:, None]) * (spread / unit))
    return np.concatenate(columns, axis=1)


def refuse_torn(rules: RecordRules, block: Block, k: int) -> None:
    """Stop before groups are formed, where an equality leaves no group of k for one prototype.

    Theorem: if a rule is one equality ``f(masked) = g(unmasked)``, the records of a group with one prototype have one
    value of g. Proof: f has one value on the prototype. So a value of g that fewer than k records have refuses all
    partitions. Alternatives that hold where a value is missing change nothing if each record satisfies the equality:
    then none of its values is missing, and a prototype has the pattern of a record of its group.

    Raises
    ------
    InfeasibleError
        Naming the fields on both sides.
    """
    for check, form in zip(block.checks, rules.forms(block), strict=True):
        places = [at for at, conjunction in enumerate(form) if not is_about_missing(conjunction)]
        if len(places) != 1 or not rules.satisfied_by(form)[:, places[0]].all():
            continue
        for atom in form[places[0]]:
            if is_equality(atom):
                _refuse_lonely(rules, block, check, atom, k)


def _refuse_lonely(rules: RecordRules, block: Block, check: int, atom: Linear | Product | Polynomial, k: int) -> None:
    masked = frozenset(block.variables)
    terms = polynomial_of(atom).terms
    reading = [{name for name, _ in powers} for powers, _ in terms]
    if any(names & masked and names - masked for names in reading) or not any(names - masked for names in reading):
        return
    unmasked = [(powers, c) for powers, c in terms if powers and not {name for name, _ in powers} & masked]
    parts = np.array(
        [
            float(c) * np.prod([rules.file.seen[name] ** float(p) for name, p in powers], axis=0)
            for powers, c in unmasked
        ]
    )
    if not np.isfinite(parts).all():
        return
    ordered = np.sort(parts.sum(axis=0))
    steps = np.flatnonzero(np.diff(ordered) > APART * np.abs(parts).max()) + 1
    sizes = np.diff([0, *steps.tolist(), len(ordered)])
    if sizes.min() < k:
        own = tuple(sorted(masked & variables_of(atom)))
        others = tuple(sorted(variables_of(atom) - masked))
        raise InfeasibleError.of(
            "unmasked-in-the-way",
            rules.file.source,
            fields=fields(own),
            conditions=fields(others),
            rules=(Rule(rules.rulebook.checks[check].id),),
            reason=f"fewer than k = {k} records share the value that it fixes",
            facts=[RefusalFacts("no-prototype", own, others, (rules.rulebook.checks[check].id,))],
        )
