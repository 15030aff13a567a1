"""Whether some record satisfies a set of rules: branch on the disjunct of a rule that the last record breaks.

The rules are disjunctions; a record is found for those without choice, then for one disjunct after the other of a
rule that this record breaks, until none is broken or every branch ends in a proved conflict. The rules of all
conflicts together are then a conflict. The search is bounded: beyond, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from masktron.constraints import Product
from masktron.preflight.conjunction import Sourced, Split, Witness, examine
from masktron.preflight.feasibility import Conflict
from masktron.preflight.literals import Clause, Universe

BRANCHES = 200
"""Conjunctions examined for one question."""


@dataclass(slots=True)
class _Budget:
    left: int


def search(
    clauses: Sequence[tuple[Clause, int]], universe: Universe, *, branches: int = BRANCHES
) -> Witness | Conflict | None:
    """Find a record that satisfies all clauses, or prove that there is none.

    Parameters
    ----------
    clauses : sequence of (Clause, int)
        Each with the number of the rule that it comes from.
    universe : Universe
    branches : int
        Conjunctions to examine at most.

    Returns
    -------
    Model, Conflict or None
        None where the search ended before either, or the solver's answer could not be proved.
    """
    for clause, source in clauses:
        if not clause:
            return Conflict(frozenset({source}))
    fixed = tuple((literal, source) for clause, source in clauses if len(clause) == 1 for literal in clause[0])
    open_ = [(clause, source) for clause, source in clauses if len(clause) > 1]
    return _branch(tuple(dict.fromkeys(fixed)), open_, universe, _Budget(branches))


def chosen(model: Witness, clauses: Sequence[tuple[Clause, int]]) -> tuple[Sourced, ...]:
    """Return the literals of one disjunct of each clause that a model satisfies."""
    found = [
        (literal, source)
        for clause, source in clauses
        for literal in next(c for c in clause if all(model.satisfies(each) for each in c))
    ]
    return tuple(dict.fromkeys((*model.literals, *found)))


def _branch(
    literals: tuple[Sourced, ...], open_: Sequence[tuple[Clause, int]], universe: Universe, budget: _Budget
) -> Witness | Conflict | None:
    budget.left -= 1
    if budget.left < 0:
        return None
    outcome = examine(literals, universe)
    if not isinstance(outcome, tuple):
        return outcome
    model, split = outcome
    if split is not None:
        source = min(split.sources, default=-1)
        alternatives: Clause = tuple((alternative,) for alternative in split.alternatives)
        return _tried(alternatives, source, split, literals, open_, universe, budget)
    broken = [entry for entry in open_ if not satisfied(model, entry[0])]
    if not broken and any(isinstance(literal, Product) for literal, _ in literals):
        # The record need not satisfy the products, so that it says nothing of rules that nobody decided.
        broken = [entry for entry in open_ if not _asked(literals, entry[0])]
    if not broken:
        return model
    clause, source = min(broken, key=lambda entry: len(entry[0]))
    rest = [entry for entry in open_ if entry != (clause, source)]
    return _tried(clause, source, None, literals, rest, universe, budget)


def _tried(
    clause: Clause,
    source: int,
    split: Split | None,
    literals: tuple[Sourced, ...],
    rest: Sequence[tuple[Clause, int]],
    universe: Universe,
    budget: _Budget,
) -> Witness | Conflict | None:
    """Try the alternatives in turn; a conflict that none of them takes part in is one of the whole."""
    causes = split.sources if split is not None else frozenset({source})
    decided = True
    for conjunction in clause:
        added = tuple((literal, source) for literal in conjunction)
        outcome = _branch(tuple(dict.fromkeys((*literals, *added))), rest, universe, budget)
        if isinstance(outcome, Witness):
            return outcome
        if outcome is None:
            decided = False
        elif source not in outcome.sources:
            return outcome
        else:
            causes |= outcome.sources
    return Conflict(causes) if decided else None


def _asked(literals: tuple[Sourced, ...], clause: Clause) -> bool:
    known = {literal for literal, _ in literals}
    return any(known.issuperset(conjunction) for conjunction in clause)


def satisfied(model: Witness, clause: Clause) -> bool:
    """Whether a record satisfies a clause."""
    return any(all(model.satisfies(literal) for literal in conjunction) for conjunction in clause)
