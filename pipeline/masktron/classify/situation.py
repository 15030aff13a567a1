"""A pattern as its checks see it: variables, the places where its rules fire, and what earlier rules take away.

All of it is worked out once for a pattern. What earlier rules take grows from rule to rule, so that each adds its own
part to what is known of those before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import CrossRecordError, reads_other_records, stands_outside
from masktron.classify.forms import All, Disjunction, Effort, Formula, TooManyDisjunctsError, dnf
from masktron.classify.values import present
from masktron.errors import RulebookError
from masktron.reading.contexts import ANY_NODE, NodeSort, Place, meet, places
from masktron.reading.nodes import (
    Expression,
    FieldRef,
    OtherField,
    OtherNodes,
    Unknown,
    children,
    fields_of,
    reads_everything,
    walk,
)
from masktron.reading.reader import Scope, read
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook
from masktron.sources.record_layout import Layout

_LARGEST, _DEEPEST = 4000, 24
"""Parts of the value of a variable, and how deep they stand in each other, with all variables in it written out."""


@dataclass(frozen=True, slots=True)
class Before:
    """What the rules before one take of the nodes of one kind.

    Attributes
    ----------
    variables : frozenset of str
        Fields that their contexts read.
    named : frozenset of str
        Names in them, of fields or of other elements.
    reasons : tuple of str
        Why parts of the contexts have no form.
    taken : Disjunction or None
        Where one of them takes the node; None where this has too many alternatives.
    why : str
        The reason, where there is none.
    problem : Exception, optional
        Why there is no formula: a context depends on other records, or is nested too deeply.
    """

    variables: frozenset[str]
    named: frozenset[str]
    reasons: tuple[str, ...]
    taken: Disjunction | None
    why: str = ""
    problem: Exception | None = None


@dataclass(slots=True)
class _Chain:
    """The places that can take nodes of one kind, in order, and what has been added up of them."""

    places: list[tuple[int, Place]]
    known: list[Before]


@dataclass(slots=True)
class Situation:
    """A pattern of a rulebook; see the module.

    Parameters
    ----------
    rulebook, pattern
    layout : Layout, optional
    scope : Scope
        At the root of the document, with the names of the records.
    effort : Effort
    """

    rulebook: Rulebook
    layout: Layout | None
    pattern: Pattern
    scope: Scope
    effort: Effort
    fields: frozenset[str] | None = field(init=False)
    """Names of the file's fields, where they are known."""
    _outer: Scope | RulebookError | None = field(init=False, default=None)
    _places: dict[int, tuple[Place, ...] | RulebookError] = field(init=False, default_factory=dict)
    _inner: dict[tuple[int, Expression], Scope | RulebookError] = field(init=False, default_factory=dict)
    _chains: dict[NodeSort, _Chain] = field(init=False, default_factory=dict)
    _read: int = field(init=False, default=0)
    _unconditional: dict[NodeSort, list[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.fields = None if self.layout is None else frozenset(f.name for f in self.layout.fields)

    def outer(self) -> Scope:
        """Return the variables of the schema and the pattern, which are read at the document root.

        Raises
        ------
        RulebookError
            One of them cannot be parsed.
        """
        if self._outer is None:
            self._outer = _tried(lambda: bound(bound(self.scope, self.rulebook.lets), self.pattern.lets))
        return _result(self._outer)

    def places(self, position: int) -> tuple[Place, ...]:
        """Return the kinds of nodes on which a rule fires.

        Raises
        ------
        RulebookError
        """
        if position not in self._places:
            context = self.pattern.rules[position].context
            self._places[position] = _tried(lambda: places(context, self.outer(), self.fields))
        return _result(self._places[position])

    def test(self, position: int, check: Check, place: Place) -> Expression:
        """Translate the test of a check, as it is read at one kind of node.

        Raises
        ------
        RulebookError
        """
        key = (position, place.focus)
        if key not in self._inner:
            self._inner[key] = _tried(lambda: self._within(self.pattern.rules[position], place.focus))
        return read(check.test, _result(self._inner[key]))

    def _within(self, rule: Rule, focus: Expression) -> Scope:
        return bound(self.outer().starting_at(focus), rule.lets)

    def before(self, position: int, place: Place) -> Before:
        """Say what the rules before one take of the nodes of a place.

        Raises
        ------
        RulebookError
            The context of one of them cannot be parsed.
        """
        self._read_until(position)
        sort = place.sort
        chain = self._chains.get(sort)
        if chain is None:
            nothing = Before(frozenset(), frozenset(), (), Disjunction(self.effort))
            chain = self._chains[sort] = _Chain([], [nothing])
            for earlier in range(position):
                self._extend(sort, chain, earlier)
        until = bisect_left(chain.places, position, key=lambda item: item[0])
        while len(chain.known) <= until:
            chain.known.append(self._after(chain.known[-1], chain.places[len(chain.known) - 1][1]))
        return chain.known[until]

    def _read_until(self, position: int) -> None:
        while self._read < position:
            for sort, chain in self._chains.items():
                self._extend(sort, chain, self._read)
            for place in self.places(self._read):
                if not place.conditions:
                    self._unconditional.setdefault(place.sort, []).append(self._read)
            self._read += 1

    def _extend(self, sort: NodeSort, chain: _Chain, position: int) -> None:
        chain.places += [(position, place) for place in self.places(position) if meet(sort, place.sort)]

    def _after(self, known: Before, place: Place) -> Before:
        """Add what one more place takes."""
        variables = known.variables.union(*map(self.variables, place.conditions))
        named = known.named.union(*map(fields_of, place.conditions))
        if known.problem is not None:
            return Before(variables, named, known.reasons, None, problem=known.problem)
        conditions = Conditions(self.pattern.version)
        try:
            formulas = place_formulas(place, conditions, bare=True)
        except (CrossRecordError, RecursionError) as problem:
            return Before(variables, named, known.reasons, None, problem=problem)
        reasons = tuple(dict.fromkeys((*known.reasons, *conditions.reasons)))
        if known.taken is None:
            return Before(variables, named, reasons, None, known.why)
        self.effort.begin()
        try:
            taken = known.taken.copy()
            taken.add(dnf(All(tuple(formulas)), self.effort))
        except TooManyDisjunctsError as error:
            return Before(variables, named, reasons, None, error.reason)
        except RecursionError as problem:
            return Before(variables, named, reasons, None, problem=problem)
        return Before(variables, named, reasons, taken)

    def shadowed_by(self, position: int) -> Rule | None:
        """Return the first rule before one that takes all its nodes without a condition."""
        self._read_until(position)
        common: set[int] | None = None
        for place in self.places(position):
            found = {*self._unconditional.get(place.sort, ()), *self._unconditional.get(ANY_NODE, ())}
            if place.kind == "outside":
                found = set(self._unconditional.get(ANY_NODE, ()))
            common = found if common is None else common & found
        first = min((at for at in common or () if at < position), default=None)
        return None if first is None else self.pattern.rules[first]

    def variables(self, expression: Expression) -> frozenset[str]:
        """Return the fields that an expression reads."""
        names = fields_of(expression) - self._outside_names(expression)
        return names | self.fields if self.fields is not None and reads_everything(expression) else names

    def _outside_names(self, expression: Expression) -> frozenset[str]:
        """Names in an expression that are no fields: those of elements in a header, say."""
        nodes = [node for node in walk(expression) if isinstance(node, OtherNodes) and node.document is None]
        records = self.scope.record_names
        outside = {node.field for node in nodes if node.field and stands_outside(node, records, self.fields)}
        if self.fields is not None:
            unknown = (node for node in walk(expression) if isinstance(node, Unknown) and node.outside)
            outside |= {name for node in unknown for name in node.fields} - self.fields
        inside = {node.field for node in nodes if not stands_outside(node, records, self.fields)}
        inside |= {node.name for node in walk(expression) if isinstance(node, FieldRef | OtherField)}
        return frozenset(outside - inside)


def place_formulas(place: Place, conditions: Conditions, *, bare: bool = False) -> list[Formula]:
    """What must hold for a node of this kind to be there and to match; ``bare`` without its being there."""
    formulas = [conditions.truth(condition) for condition in place.conditions]
    if isinstance(place.focus, FieldRef) and not bare:
        formulas.insert(0, present(place.focus))
    return formulas


def bound(scope: Scope, lets: Iterable[Let]) -> Scope:
    """Return a scope with some variables more, each read in the scope of those before it.

    Raises
    ------
    RulebookError
    """
    for let in lets:
        value = read(let.value, scope)
        scope = scope.bind(let.name, _abridged(let.value, value) if "$" in let.value else value)
    return scope


def _abridged(source: str, value: Expression) -> Expression:
    """Give a variable up that would be too large if all variables in it were written out.

    A chain of variables grows with each, and doubles where one is read twice.
    """
    ahead = [(value, 1)]
    for _ in range(_LARGEST):
        if not ahead:
            return value
        node, depth = ahead.pop()
        if depth > _DEEPEST:
            break
        ahead += [(child, depth + 1) for child in children(node)]
    names = tuple(sorted(fields_of(value)))
    elsewhere = any(
        (isinstance(node, OtherNodes) and node.document is not None) or (isinstance(node, Unknown) and node.elsewhere)
        for node in walk(value)
    )
    return Unknown(source, names, reads_everything(value), reads_other_records(value), names, elsewhere)


def _tried[T](work: Callable[[], T]) -> T | RulebookError:
    try:
        return work()
    except RulebookError as error:
        return error


def _result[T](found: T | RulebookError) -> T:
    if isinstance(found, RulebookError):
        raise found.with_traceback(None)
    return found


def situations(
    rulebook: Rulebook, layout: Layout | None, scope: Scope, effort: Effort
) -> Iterator[tuple[Situation, int, Check]]:
    """Yield every check with its pattern and the position of its rule there, as `Rulebook.situated` does."""
    for pattern in rulebook.patterns:
        situation = Situation(rulebook, layout, pattern, scope, effort)
        for position, rule in enumerate(pattern.rules):
            for check in rule.checks:
                yield situation, position, check
