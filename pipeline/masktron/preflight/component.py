"""What the rules that share fields say about each other.

Every question is whether some record satisfies a set of rules. The rules are disjunctions; a record is found for
those without choice, then for one disjunct after the other of a rule that this record breaks, until none is broken or
every branch ends in a proved conflict. The rules of all conflicts together are then a conflict. The search is
bounded: beyond, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from masktron.classify.display import render_form
from masktron.classify.forms import is_about_missing
from masktron.constraints import Atom, Form, Linear, Member, Present, Product, Range
from masktron.preflight.conclusions import AllowedValues, Contradiction, Redundancy, RulePart
from masktron.preflight.conjunction import (
    CellKind,
    Clause,
    Sourced,
    Split,
    Universe,
    Witness,
    examine,
    negation,
    rows_in,
    universe_of,
)
from masktron.preflight.feasibility import Conflict, least
from masktron.reading.plain_text import decimal_text

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


QUESTION = -1
"""The number of what is asked, among the numbers of rules."""
STEPS = 20
"""Branches in which the least value of a field is looked for."""
VALUES = 40
"""Fields with more texts than this are not asked which of them remain."""

type _Decision = Witness | Conflict | None


@dataclass(frozen=True, slots=True)
class Known:
    """A rule with a normal form."""

    index: int
    id: str
    form: Form
    soft: bool


class Component:
    """Rules that share fields, and what was found about them.

    Attributes
    ----------
    contradictions, redundant, impossible, allowed, undecided : list
        As in `Preflight`; empty before `ask`.
    """

    def __init__(self, rules: Sequence[Known]) -> None:
        self.rules = rules
        self.hard = [rule for rule in rules if not rule.soft]
        self.ids = {rule.index: rule.id for rule in rules}
        self.any = universe_of((rule.form for rule in rules), complete=False)
        self.numbers = universe_of((rule.form for rule in rules), complete=True)
        self.models: list[Witness] = []
        self.contradictions: list[Contradiction] = []
        self.redundant: list[Redundancy] = []
        self.impossible: list[RulePart] = []
        self.allowed: list[AllowedValues] = []
        self.undecided: list[str] = []

    def ask(self) -> None:
        """Ask all questions; where rules contradict each other, everything follows, so no more is asked."""
        self._contradictions()
        if self.contradictions or self.undecided:
            return
        self._soft_contradictions()
        self._allowed()
        for rule in self.hard:
            self._parts(rule)
        self._redundancies()

    def follows(self, rule: Known) -> Redundancy | None:
        """Ask of one rule whether it follows from the others, whatever the fields hold; else None.

        Of rules that contradict each other everything would follow, so these have to have a common record.
        """
        others = [other for other in self.hard if other is not rule]
        return self._redundancy(rule, others) if self._implied(rule.form, others, self.any) else None

    # --- questions ---------------------------------------------------------------------------------------------

    def _contradictions(self) -> None:
        for universe in (self.any, self.numbers):
            live = list(self.hard)
            question = f"whether the rules on the fields of {self.rules[0].id} contradict each other"
            while (core := self._core(live, (), universe, question)) is not None:
                numbers_only = universe is self.numbers
                self.contradictions.append(Contradiction(self._named(core), numbers_only))
                last = max(core, key=lambda rule: rule.index)
                live.remove(last)
            if self.contradictions or self.undecided:
                return

    def _soft_contradictions(self) -> None:
        for rule in self.rules:
            if rule.soft:
                core = self._core([*self.hard, rule], (), self.any, f"whether {rule.id} contradicts others")
                if core is not None:
                    self.contradictions.append(Contradiction(self._named(core)))

    def _redundancies(self) -> None:
        """Ask of the last rule first, and leave it out if it follows, so that all that follow could go together."""
        left = list(self.hard)
        implied: list[Known] = []
        for rule in sorted(self.rules, key=lambda rule: (not rule.soft, -rule.index)):
            others = [other for other in left if other is not rule]
            if self._implied(rule.form, others, self.numbers):
                implied.append(rule)
                if self._implied(rule.form, others, self.any):
                    left = others
        found = (self._redundancy(rule, [other for other in left if other is not rule]) for rule in implied)
        self.redundant = [each for each in found if each.by or not each.numbers_only]

    def _redundancy(self, rule: Known, others: list[Known]) -> Redundancy:
        """Say which rules imply one that is known to follow from others."""
        clauses = negation(rule.form)
        core = self._core(others, clauses, self.any, f"whether {rule.id} follows from others")
        universe = self.any if core is not None else self.numbers
        by = core if core is not None else self._core(others, clauses, universe, "") or []
        through = None
        if len(rule.form) > 1:
            through = next((part for part in rule.form if self._implied((part,), by, universe)), None)
        return Redundancy(
            rule.id, self._named(by), None if through is None else render_form((through,)), numbers_only=core is None
        )

    def _implied(self, form: Form, rules: Sequence[Known], universe: Universe) -> bool:
        return isinstance(self._search(rules, negation(form), universe), Conflict)

    def _parts(self, rule: Known) -> None:
        """Ask whether each alternative can hold beside the other rules."""
        if len(rule.form) < 2:
            return
        others = [other for other in self.hard if other is not rule]
        for part in rule.form:
            if is_about_missing(part) or _is_unequal(part, rule.form) or self._seen((part,)):
                continue
            text = render_form((part,))
            core = self._core(others, ((part,),), self.numbers, f"whether '{text}' of {rule.id} can hold")
            if core is not None:
                self.impossible.append(RulePart(rule.id, text, self._named(core)))

    def _allowed(self) -> None:
        for name in sorted(self.numbers.numeric):
            low, low_open = self._least(name, 1)
            high, high_open = self._least(name, -1)
            if low is not None or high is not None:
                self.allowed.append(AllowedValues(name, _text(low), _text(high), low_open, high_open))
        for name in sorted(name for name in self.any.texts.keys() - self.numbers.numeric if self.any.texts[name]):
            values = self._values(name)
            if values is not None:
                self.allowed.append(AllowedValues(name, values=values))

    def _least(self, name: str, sign: int) -> tuple[Fraction | None, bool]:
        """Return the proved least value of a field and whether it is out of reach; negated, the greatest one."""
        start = [model for model in self.models if name in model.numbers]
        outcome: _Decision = min(start, key=lambda model: sign * model.numbers[name], default=None)
        if outcome is None:
            outcome = self._search(self.hard, (), self.numbers)
        bound: Fraction | None = None
        for _ in range(STEPS):
            if isinstance(outcome, Conflict):
                return bound, self._out_of_reach(name, sign, bound)
            if outcome is None:
                break
            bound = self._best(outcome, name, sign)
            if bound is None:
                return None, False
            outcome = self._search(self.hard, (((_beyond(name, sign, bound, is_open=True),),),), self.numbers)
        self.undecided.append(f"the {'least' if sign > 0 else 'greatest'} value of {name}")
        return None, False

    def _out_of_reach(self, name: str, sign: int, bound: Fraction | None) -> bool:
        if bound is None or self._seen(((Range(name, bound, bound),),)):
            return False
        at_most = (((_beyond(name, sign, bound, is_open=False),),),)
        return isinstance(self._search(self.hard, at_most, self.numbers), Conflict)

    def _best(self, model: Witness, name: str, sign: int) -> Fraction | None:
        """Return the best value among the records that satisfy the same alternatives as one does."""
        literals = [
            (literal, source)
            for literal, source in chosen(model, [(rule.form, rule.index) for rule in self.hard])
            if source != QUESTION
        ]
        rows = rows_in(literals, self.numbers)
        if sign < 0:
            rows = [replace(row, terms=tuple((n, -c if n == name else c) for n, c in row.terms)) for row in rows]
        point = least(rows, name)
        if point is None:
            return None
        values = {**point.values, name: sign * point.values[name]}
        corner = replace(model, numbers={**model.numbers, **values})
        movable = all(model.states[n] is CellKind.NUMBER for n in values)
        if movable and all(satisfied(corner, rule.form) for rule in self.hard):
            self.models.append(corner)
        return values[name]

    def _values(self, name: str) -> tuple[str, ...] | None:
        """Return the texts that a field can hold, where the rules allow no other text."""
        others: Clause = ((Member(name, self.any.texts[name], negated=True), Present(name)),)
        if len(self.any.texts[name]) > VALUES or self._seen(others):
            return None
        if not isinstance(self._search(self.hard, (others,), self.numbers), Conflict):
            return None
        kept = []
        for text in sorted(self.any.texts[name]):
            asked: Form = ((Member(name, frozenset({text})),),)
            if self._seen(asked) or not isinstance(self._search(self.hard, (asked,), self.numbers), Conflict):
                kept.append(text)
        return tuple(kept)

    # --- means -------------------------------------------------------------------------------------------------

    def _search(self, rules: Iterable[Known], asked: Sequence[Clause], universe: Universe) -> _Decision:
        clauses: list[tuple[Clause, int]] = [(clause, QUESTION) for clause in asked]
        rules = list(rules)
        clauses += [(rule.form, rule.index) for rule in rules]
        outcome = search(clauses, universe)
        if (
            isinstance(outcome, Witness)
            and universe is self.numbers
            and {r.index for r in self.hard} <= {r.index for r in rules}
        ):
            self.models.append(outcome)
        return outcome

    def _seen(self, clause: Clause) -> bool:
        """Whether a record that satisfies all hard rules, found before, answers a question."""
        return any(all(model.satisfies(literal) for literal in part) for model in self.models for part in clause)

    def _core(
        self, rules: Sequence[Known], asked: Sequence[Clause], universe: Universe, question: str
    ) -> list[Known] | None:
        """Return rules that leave no record for what is asked, none of which could be left out (deletion filter)."""
        outcome = self._search(rules, asked, universe)
        if outcome is None:
            self.undecided.append(question)
        if not isinstance(outcome, Conflict):
            return None
        core = [rule for rule in rules if rule.index in outcome.sources]
        narrow = universe is self.numbers and not asked
        if narrow and not self._conflict(core):
            core = list(rules)  # one that reads a text as a number takes part
            if not self._conflict(core):
                return None
        for rule in sorted(core, key=lambda rule: -rule.index):
            fewer = [other for other in core if other is not rule]
            if self._conflict(fewer) if narrow else isinstance(self._search(fewer, asked, universe), Conflict):
                core = fewer
        return core

    def _conflict(self, rules: Sequence[Known]) -> bool:
        """Whether no record satisfies rules in which the fields are numbers that these rules read as numbers."""
        read = universe_of((rule.form for rule in rules), complete=True).numeric
        clauses = [(rule.form, rule.index) for rule in rules]
        return isinstance(search(clauses, replace(self.numbers, numeric=read)), Conflict)

    def _named(self, rules: Iterable[Known]) -> tuple[str, ...]:
        return tuple(rule.id for rule in sorted(rules, key=lambda rule: rule.index))


def _is_unequal(part: tuple[Atom, ...], form: Form) -> bool:
    """Whether an alternative is one half of ``!=``, which is written as two orders."""
    for atom in part:
        rest = {other for other in part if other != atom}
        if any({*rest, mirrored} == set(other) for mirrored in _mirrored(atom) for other in form):
            return True
    return False


def _mirrored(atom: Atom) -> Iterator[Atom]:
    """Yield what lies on the other side of a strict bound."""
    match atom:
        case Linear(terms=terms, relation="<", bound=bound):
            yield Linear(tuple((name, -c) for name, c in terms), "<", -bound)
        case Range(variable=name, low=None, high=high, high_open=True):
            yield Range(name, high, None, low_open=True)
        case Range(variable=name, low=low, high=None, low_open=True):
            yield Range(name, None, low, high_open=True)
        case _:
            pass


def _beyond(name: str, sign: int, bound: Fraction, *, is_open: bool) -> Range:
    if sign > 0:
        return Range(name, None, bound, high_open=is_open)
    return Range(name, bound, None, low_open=is_open)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else decimal_text(value)
