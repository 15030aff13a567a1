"""The search for the prototype of a group: its cases, in order of plausibility.

A *case* fixes what is not a number: the pattern of missing values, the categories, and for each rule the disjunct
whose equalities are solved. The likeliest case is searched first, near the aggregate; then other combinations of
categories; then the whole pattern is projected, with categories and disjuncts left to the program; then come the
next patterns; then finer grids.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from masktron.classify.forms import holds, number_of, variables_of_atom
from masktron.constraints import Form, InDomain, Lexical, Untranslated, Whole
from masktron.settle.aim import aim
from masktron.settle.grid import Grid
from masktron.settle.lattice import Lexemes, Prototype, Search, SettleExit
from masktron.settle.mixed_integer import Problem
from masktron.settle.projection import conflict, project
from masktron.settle.residual import Free
from masktron.settle.residual_memory import ResidualMemory
from masktron.settle.residual_rules import Among, Condition, Disjunct, ResidualRule, satisfies, without
from masktron.settle.system import Recipe, equalities, long_fractions, recipes

MAX_PATTERNS = 4
"""Patterns of missing values that are tried for one group."""
MAX_COMBINATIONS = 8
"""Combinations of categories that are searched near the aggregate before the program chooses."""
MAX_CHOICES = 16
"""Disjuncts that are tried for many groups at once beside those that most records satisfy."""
MAX_CONTEXTS = 500
"""Combinations of unmasked fields that the search looks at; the engine looks at all."""
MAX_KNOWN = 2000
"""Combinations of contexts and categories whose rules are remembered: groups often share them."""
MAX_MEMORIES = 64
"""Kinds of prototypes, by what is open in them, of which it is remembered what is left of the rules."""
MAX_UNLIKE = 600
"""Points that engines read differently, kept for the end."""
NEAR = 1.0
"""Squared distance, in units of the fields' spreads, beyond which a projection is tried before the lattice: a solved
variable may be far from its aggregate, as a quotient of totals is."""
PROJECTED_POINTS = 64
"""Points around a projection that are offered: the engine may refuse the projection itself for its doubles."""
LEXICAL_REACH = 60
"""Grid steps around the target that are tried against a rule on the look of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class PrototypePattern:
    """A pattern of missing values that the prototype of a group may have, and what it aims at.

    Attributes
    ----------
    kept : mapping of field name to str or None
        What is written where the pattern has no value: a missing code, an empty text, or nothing.
    target : mapping of field name to float
        The aggregate of each number.
    centre : mapping of field name to float
        The mean of each number: what loses least.
    combinations : sequence of mapping of field name to str
        Categories, the likeliest combination first; one empty mapping where there are none.
    options : mapping of field name to (mapping of str to float)
        Every category of each field, with its distance from the group in units of a number's spread.
    contexts : sequence of mapping of field name to str or None
        Combinations of the unmasked fields in the group.
    counts : mapping of int to sequence of int
        For each rule, by its check, how many records of the group satisfy each disjunct.
    box : mapping of field name to (float, float)
        Least and largest original number.
    solved : frozenset of str
        Numbers that are no part of the prototype, as they follow in each record.
    """

    kept: Lexemes
    target: Mapping[str, float]
    centre: Mapping[str, float]
    combinations: Sequence[Mapping[str, str]]
    options: Mapping[str, Mapping[str, float]]
    contexts: Sequence[Lexemes]
    counts: Mapping[int, Sequence[int]]
    box: Mapping[str, tuple[float, float]]
    solved: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class _Asked:
    """What is left of the rules in the contexts of a pattern.

    Attributes
    ----------
    contexts, kept : sequence of mapping, mapping
        Those of the pattern, by which it is known again.
    left : mapping of object to (tuple of int, tuple of ResidualRule)
        By what is open, and the texts of the categories.
    """

    contexts: Sequence[Lexemes]
    kept: Lexemes
    left: dict[object, tuple[tuple[int, ...], tuple[ResidualRule, ...]]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class CandidateSearch:
    """Looks for the prototypes of a block.

    Attributes
    ----------
    forms : sequence of (int, Form)
        The rules of the block, each with the index of its check.
    search : Search
        With the grids of the original, and no rules.
    domain : callable
        The texts that a rule on the domain of a field admits; None where that is not known.
    derived : bool
        No theorem says that the rules hold at the target, so the search starts from a solution of the equalities.
    """

    forms: Sequence[tuple[int, Form]]
    search: Search
    domain: Callable[[InDomain], frozenset[str] | None]
    derived: bool = False
    _spelled: dict[str, dict[Fraction, str]] = field(init=False)
    _memories: dict[object, ResidualMemory] = field(init=False, default_factory=dict)
    _rules: dict[object, tuple[ResidualRule, ...]] = field(init=False, default_factory=dict)
    _cases: dict[object, Search] = field(init=False, default_factory=dict)
    _ways: dict[object, Sequence[Recipe]] = field(init=False, default_factory=dict)
    _asked: dict[int, _Asked] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._spelled = {}
        for atom in {a for _, form in self.forms for conjunction in form for a in conjunction}:
            if isinstance(atom, InDomain):
                texts = sorted(self.domain(atom) or (), reverse=True)
                own = {n: text for text in texts if (n := number_of(text)) is not None}
                self._spelled.setdefault(atom.variable, {}).update(own)

    def candidates(self, patterns: Sequence[PrototypePattern]) -> Iterator[Prototype]:
        """Yield candidates for a group, given its patterns, the likeliest first."""
        unlike: list[Prototype] = []
        for candidate in self._all(patterns[:MAX_PATTERNS]):
            if candidate.alike:
                yield candidate
            elif len(unlike) < MAX_UNLIKE:
                unlike.append(candidate)
        yield from unlike

    def _all(self, patterns: Sequence[PrototypePattern]) -> Iterator[Prototype]:
        patterns = [self._aimed(pattern) for pattern in patterns] if self.derived else patterns
        for pattern in patterns:
            for rank, texts in enumerate(pattern.combinations[:MAX_COMBINATIONS]):
                for candidate in self._case(pattern, texts, {}).near(pattern.target, (0.0, NEAR)):
                    yield _written(candidate, pattern, texts, _stage(candidate, pattern, rank))
            yield from self._coarser(pattern, (0.0, NEAR))
            yield from self._projected(pattern, coarser=False)
            yield from self._projected(pattern, coarser=True)
            for candidate in self._first(pattern).near(pattern.target, (NEAR, math.inf)):
                yield _written(candidate, pattern, pattern.combinations[0], candidate.stage)
        for pattern in patterns[:1]:
            for candidate in self._first(pattern).finer(pattern.target):
                yield _written(candidate, pattern, pattern.combinations[0], "finer")

    def _aimed(self, pattern: PrototypePattern) -> PrototypePattern:
        """Move the target to the solution of the equalities that is nearest to the means."""
        case = self._first(pattern)
        target = aim(
            pattern.target, pattern.centre, case.ways, case.scale, lambda values: satisfies(case.rules, values)
        )
        return replace(pattern, target=target)

    def _coarser(self, pattern: PrototypePattern, within: tuple[float, float]) -> Iterator[Prototype]:
        """Yield points whose sums come out exactly in doubles, in whatever order the engine adds."""
        case = self._first(pattern)
        search = case.coarser()
        if search.grids != case.grids:
            for candidate in search.near(pattern.target, within):
                yield _written(candidate, pattern, pattern.combinations[0], "lattice")

    def _projected(self, pattern: PrototypePattern, *, coarser: bool) -> Iterator[Prototype]:
        problem = self.problem(pattern)
        if coarser:
            search = replace(self.search, grids=problem.grids).coarser()
            if search.grids == problem.grids:
                return
            problem = replace(problem, grids=search.grids)
        for solution in project(problem):
            case = self._case(pattern, solution.texts, dict(solution.positions))
            search = case.coarser() if coarser else case
            near = search.near({name: float(value) for name, value in solution.numbers.items()})
            for candidate in itertools.islice(near, PROJECTED_POINTS):
                yield _written(candidate, pattern, solution.texts, _projection(pattern, solution.texts))

    def likeliest(self, pattern: PrototypePattern, positions: Mapping[int, int] | None = None) -> Search | None:
        """Return what the first case of a pattern asks of any target; None where that depends on the target.

        With `positions`, some rules take another disjunct than the one that most records satisfy.
        """
        texts = pattern.combinations[0]
        rules = self._residuals(pattern, texts, {})
        taken = positions or {}
        if any(isinstance(c, Lexical | Untranslated) for rule in rules for c in _chosen(rule, pattern, taken)):
            return None
        return self._case(pattern, texts, taken)

    def asked(self, pattern: PrototypePattern, positions: Mapping[int, int] | None = None) -> tuple[Condition, ...]:
        """Return the conditions of the case that `likeliest` returns, with those that read solved fields."""
        rules = self._remaining(pattern, _contexts(pattern, pattern.combinations[0]), {})
        return tuple(condition for rule in rules for condition in _chosen(rule, pattern, positions or {}))

    def choices(self, pattern: PrototypePattern) -> list[dict[int, int]]:
        """Return the cases in which one rule takes another disjunct than the one that most records satisfy."""
        found = []
        for rule in self._residuals(pattern, pattern.combinations[0], {}):
            first = _chosen(rule, pattern, {})
            found += [{rule.check: d.position} for d in rule.disjuncts if d.conditions is not first]
        return found[:MAX_CHOICES]

    def problem(self, pattern: PrototypePattern) -> Problem:
        """Return the projection of a pattern: categories and disjuncts are open."""
        rules = self._residuals(pattern, {}, pattern.options)
        single = [c for rule in rules if len(rule.disjuncts) == 1 for c in rule.disjuncts[0].conditions]
        return Problem(
            target=pattern.target,
            grids=self._grids(pattern, single),
            scale=self.search.scale,
            box=pattern.box,
            codes=self.search.codes,
            options=pattern.options,
            rules=rules,
        )

    def around(self, patterns: Sequence[PrototypePattern], texts: Lexemes, numbers: Mapping[str, Fraction]) -> Search:
        """Return how to look for other prototypes beside one: its categories stay, and the disjuncts that hold in it.

        Parameters
        ----------
        patterns : sequence of PrototypePattern
            Of the group.
        texts : mapping of field name to str or None
            The prototype, whose pattern is one of them.
        numbers : mapping of field name to Fraction
            What it holds in the fields that have a number.
        """
        own = next((pattern for pattern in patterns if _fits(pattern, texts, numbers)), patterns[0])
        pattern = replace(own, target={name: float(value) for name, value in numbers.items()})
        categories = {name: text for name in pattern.options if (text := texts[name]) is not None}
        holding = {
            rule.check: [d.position for d in rule.disjuncts if satisfies((replace(rule, disjuncts=(d,)),), numbers)]
            for rule in self._residuals(pattern, categories, {})
        }
        positions = {check: found[0] for check, found in holding.items() if found}
        return self._case(pattern, categories, positions)

    def conflict(self, patterns: Sequence[PrototypePattern]) -> tuple[int, ...]:
        """Return checks that no prototype of the group can satisfy together; empty where that is not proved."""
        found = [conflict(self.problem(pattern)) for pattern in patterns]
        return tuple(sorted({check for checks in found for check in checks})) if found and all(found) else ()

    def _residuals(
        self, pattern: PrototypePattern, texts: Mapping[str, str], options: Mapping[str, Mapping[str, float]]
    ) -> tuple[ResidualRule, ...]:
        """Return what the rules ask of the prototype alone; the same object where groups share it."""
        return self._shared(pattern, texts, options)[1]

    def _shared(
        self, pattern: PrototypePattern, texts: Mapping[str, str], options: Mapping[str, Mapping[str, float]]
    ) -> tuple[object, tuple[ResidualRule, ...]]:
        """Return what the rules ask of the prototype alone, with what is the same for the same rules."""
        free = _free_key(pattern, options)
        numbers, rules = self._left(pattern, texts, options, free)
        key = free, numbers
        if key not in self._rules:
            if len(self._rules) >= MAX_KNOWN:
                self._rules.clear()
                self._cases.clear()
                self._ways.clear()
            self._rules[key] = without(rules, pattern.solved)
        return key, self._rules[key]

    def _left(
        self,
        pattern: PrototypePattern,
        texts: Mapping[str, str],
        options: Mapping[str, Mapping[str, float]],
        free: object,
    ) -> tuple[tuple[int, ...], tuple[ResidualRule, ...]]:
        """Return what is left of the rules; of a pattern it is asked several times, with other targets."""
        memory = self._memory(pattern, options)  # before what was remembered is looked up: it may be forgotten here
        known = self._asked.get(id(pattern.contexts))
        if known is None or known.contexts is not pattern.contexts or known.kept is not pattern.kept:
            if len(self._asked) >= MAX_PATTERNS:
                self._asked.clear()
            known = self._asked[id(pattern.contexts)] = _Asked(pattern.contexts, pattern.kept)
        key = free, tuple(texts.items())
        if key not in known.left:
            known.left[key] = memory.asked(_contexts(pattern, texts))
        return known.left[key]

    def _remaining(
        self, pattern: PrototypePattern, contexts: Sequence[Lexemes], options: Mapping[str, Mapping[str, float]]
    ) -> tuple[ResidualRule, ...]:
        return self._memory(pattern, options).asked(contexts)[1]

    def _memory(self, pattern: PrototypePattern, options: Mapping[str, Mapping[str, float]]) -> ResidualMemory:
        key = _free_key(pattern, options)
        if key not in self._memories:
            if len(self._memories) >= MAX_MEMORIES:
                self._memories.clear()
                self._asked.clear()
                self._rules.clear()
                self._cases.clear()
            numbers = frozenset(pattern.target) | pattern.solved
            free = Free(numbers, {name: tuple(sorted(own)) for name, own in options.items()}, self.domain)
            self._memories[key] = ResidualMemory(self.forms, free)
        return self._memories[key]

    def _first(self, pattern: PrototypePattern) -> Search:
        """The likeliest case of a pattern."""
        return self._case(pattern, pattern.combinations[0], {})

    def _case(self, pattern: PrototypePattern, texts: Mapping[str, str], positions: Mapping[int, int]) -> Search:
        shared, rules = self._shared(pattern, texts, {})
        disjuncts = [_taken(rule, pattern, positions) for rule in rules]
        chosen = tuple(condition for one in disjuncts if one is not None for condition in one.conditions)
        lexical = any(isinstance(condition, Lexical | Untranslated) for condition in chosen)
        places = tuple(-1 if one is None else one.position for one in disjuncts)
        key = (shared, places, tuple(pattern.target.items()) if lexical else None)
        if key not in self._cases:
            grids = self._grids(pattern, chosen)
            self._cases[key] = replace(self.search, grids=grids, rules=rules, ways=self._recipes(chosen, grids))
        return self._cases[key]

    def _recipes(self, conditions: Sequence[Condition], grids: Mapping[str, Grid]) -> Sequence[Recipe]:
        """Return the ways to solve the equalities; remembered, as groups share them beside other unmasked fields."""
        system = tuple(equalities(conditions, grids))
        key = tuple(grids), system, long_fractions(grids)
        if key not in self._ways:
            self._ways[key] = recipes(list(grids), system, grids)
        return self._ways[key]

    def _grids(self, pattern: PrototypePattern, conditions: Iterable[Condition]) -> dict[str, Grid]:
        """The grids that conditions ask for: integers, or certain values."""
        grids = {name: self.search.grids[name] for name in pattern.target}
        for condition in dict.fromkeys(conditions):
            match condition:
                case Whole(variable=name):
                    grids[name] = replace(grids[name], whole=True)
                case Among(variable=name, values=values, negated=False):
                    grids[name] = self._only(name, grids[name], values)
                case Lexical() | Untranslated() if len(names := variables_of_atom(condition)) == 1:
                    (name,) = names
                    fits = _fitting(condition, grids[name], pattern.target[name]) if condition.version else ()
                    grids[name] = self._only(name, grids[name], fits)
                case _:
                    pass
        return grids

    def _only(self, name: str, grid: Grid, values: Iterable[Fraction]) -> Grid:
        spelled = self._spelled.get(name, {})
        texts = [spelled.get(v) or grid.lexeme(v) for v in values if v in spelled or grid.holds(v)]
        narrow = grid.only(texts) if texts else grid
        return narrow if narrow.among else grid


def _contexts(pattern: PrototypePattern, texts: Mapping[str, str]) -> list[dict[str, str | None]]:
    """What is known of the records of a group beside the numbers of their prototype."""
    return [{**context, **pattern.kept, **texts} for context in pattern.contexts[:MAX_CONTEXTS]]


def _fitting(atom: Lexical | Untranslated, grid: Grid, target: float) -> list[Fraction]:
    """Numbers around the target that a rule on the look of a number admits, as they would be written."""
    walk, (name,) = grid.walk(target), variables_of_atom(atom)
    points = (walk(offset) for offset in range(-LEXICAL_REACH, LEXICAL_REACH + 1))
    return [point for point in points if point is not None and holds(atom, {name: grid.lexeme(point)})]


def _fits(pattern: PrototypePattern, texts: Lexemes, numbers: Mapping[str, Fraction]) -> bool:
    """Whether a prototype has a pattern of missing values."""
    return pattern.target.keys() == numbers.keys() and all(texts[name] == kept for name, kept in pattern.kept.items())


def _free_key(pattern: PrototypePattern, options: Mapping[str, Mapping[str, float]]) -> object:
    """Return what is the same for patterns that leave the same open."""
    return tuple(pattern.target), pattern.solved, _items(options)


def _chosen(rule: ResidualRule, pattern: PrototypePattern, positions: Mapping[int, int]) -> tuple[Condition, ...]:
    """Conditions of the disjunct that a case takes."""
    best = _taken(rule, pattern, positions)
    return () if best is None else best.conditions


def _taken(rule: ResidualRule, pattern: PrototypePattern, positions: Mapping[int, int]) -> Disjunct | None:
    """The disjunct that a case takes: the one that is asked for, else the one most records satisfy."""
    if len(rule.disjuncts) < 2:
        return rule.disjuncts[0] if rule.disjuncts else None
    wanted, counts = positions.get(rule.check), pattern.counts[rule.check]
    return min(rule.disjuncts, key=lambda d: (d.position != wanted, -counts[d.position], d.position))


def _stage(candidate: Prototype, pattern: PrototypePattern, rank: int) -> SettleExit:
    if rank:
        return _projection(pattern, pattern.combinations[rank])
    return candidate.stage if pattern.target or not pattern.options else "mode"


def _projection(pattern: PrototypePattern, texts: Mapping[str, str]) -> SettleExit:
    """What a combination of categories is called: without any number, an observed one is a record of the group."""
    return "projected" if pattern.target or texts not in pattern.combinations[1:] else "medoid"


def _written(
    candidate: Prototype, pattern: PrototypePattern, texts: Mapping[str, str], stage: SettleExit
) -> Prototype:
    return replace(candidate, lexemes={**pattern.kept, **texts, **candidate.lexemes}, stage=stage)


def _items(options: Mapping[str, Mapping[str, float]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(sorted(own))) for name, own in options.items())
