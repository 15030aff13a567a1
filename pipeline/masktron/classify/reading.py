"""One check on its way to an edit: context, earlier contexts and variables put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import (
    CrossRecordError,
    cross_record_edit,
    reads_other_records,
    stands_outside,
)
from masktron.classify.edit import Edit, asked_by
from masktron.classify.forms import ALWAYS, MAX_DISJUNCTS, TooManyDisjunctsError, complete, conjoin
from masktron.classify.formula import All, Formula, Negation, dnf, implication
from masktron.classify.governing import governing_edit
from masktron.classify.linear import linear_edit
from masktron.classify.lints import equality_lints, name_lints, shadow_lint, truth_lints
from masktron.classify.opaque import opaque_edit
from masktron.classify.product import product_edit
from masktron.classify.tallies import TallyReader
from masktron.classify.values import domain_edit, present, value_edit
from masktron.constraints import (
    Constraint,
    CrossRecordEdit,
    Form,
)
from masktron.errors import RulebookError
from masktron.read.records import Layout
from masktron.read.rulebook import Check, Let, Pattern, Rule, Rulebook
from masktron.read.xpath import Scope, translate
from masktron.read.xpath_context import Place, places
from masktron.read.xpath_ir import (
    Expression,
    FieldRef,
    OtherField,
    OtherNodes,
    Unknown,
    Variable,
    fields_of,
    reads_everything,
    walk,
)
from masktron.read.xpath_source import source_of

CLASSES: tuple[Callable[[Form, Form], Constraint | None], ...] = (
    domain_edit,
    value_edit,
    product_edit,
    linear_edit,
    governing_edit,
)
"""Each takes the alternatives without missing values, and all of them, and returns the edit if it is of its class."""


@dataclass(slots=True)
class Reading:
    """One check on its way to an edit."""

    rulebook: Rulebook
    layout: Layout | None
    pattern: Pattern
    position: int
    check: Check
    scope: Scope

    @property
    def rule(self) -> Rule:
        """The rule of the check."""
        return self.pattern.rules[self.position]

    @property
    def fields(self) -> frozenset[str] | None:
        """Names of the file's fields, where they are known."""
        return None if self.layout is None else frozenset(field.name for field in self.layout.fields)

    def named(self) -> frozenset[str]:
        """Names of the fields that the rule reads; none where it cannot be parsed."""
        try:
            return frozenset(name for expression in self._expressions() for name in fields_of(expression))
        except RulebookError:
            return frozenset()

    def edit(self, known: frozenset[str]) -> Edit:
        """Classify."""
        try:
            expressions = self._expressions()
        except RulebookError as error:
            return Edit(self.check, self.pattern.id, opaque_edit([error.what], ()), (), (error.what,))
        variables = self._variables(expressions)
        conditions = Conditions(self.rulebook.version)
        constraint, form = self._constraint(conditions, variables)
        lints = [*conditions.lints, *name_lints(expressions, self.layout, known), *self._rule_lints(form)]
        asked = asked_by(self._own_expressions())
        return Edit(self.check, self.pattern.id, constraint, variables, tuple(dict.fromkeys(lints)), asked)

    def _constraint(self, conditions: Conditions, variables: tuple[str, ...]) -> tuple[Constraint, Form | None]:
        try:
            form = ALWAYS
            for place in self._places(self.position):
                form = conjoin(form, dnf(self._formula(place, conditions)))
        except CrossRecordError as error:
            return self._cross_record(error.expression, variables), None
        except TooManyDisjunctsError:
            return opaque_edit([f"it has more than {MAX_DISJUNCTS} alternatives"], variables), None
        except RecursionError:
            return opaque_edit(["it is nested too deeply"], variables), None
        return _of_form(form, conditions.reasons, variables), form

    def _formula(self, place: Place, conditions: Conditions) -> Formula:
        """The context's predicates, and that no earlier rule takes the node, imply the test."""
        if place.kind in ("any", "outside"):
            test = self._test(place)
            if place.kind == "outside":
                raise CrossRecordError(test)
            return conditions.engine(Unknown(f"{self.check.test} on every element", everything=True))
        test = self._test(place)
        try:
            wanted = conditions.truth(test)
        except CrossRecordError:
            raise CrossRecordError(test) from None
        if self.check.kind == "report":
            wanted = Negation(wanted)
        taken = (All(tuple(_place_formulas(earlier, conditions, bare=True))) for earlier in self._earlier(place))
        return implication([*_place_formulas(place, conditions), *map(Negation, taken)], wanted)

    def _cross_record(self, expression: Expression, variables: tuple[str, ...]) -> CrossRecordEdit:
        """Say what a condition on several records asks; what depends on more than the test is not understood."""
        own = self._places(self.position)
        test = self._test(own[0])
        if len(own) > 1 or (own[0].kind != "outside" and not reads_other_records(test)):
            return CrossRecordEdit("other", variables, f"it depends on other records: {source_of(expression)}")
        wanted = self.check.kind == "assert"
        tallies = TallyReader(self.rulebook.version, self.scope.record_names, self.fields)
        return cross_record_edit(test, variables, wanted=wanted, bounds=tallies.bounds(test, wanted=wanted))

    def _places(self, position: int) -> tuple[Place, ...]:
        return places(self.pattern.rules[position].context, self._outer(), self.fields)

    def _earlier(self, place: Place) -> list[Place]:
        found = [p for position in range(self.position) for p in self._places(position)]
        return [p for p in found if p.meets(place)]

    def _outer(self) -> Scope:
        """Variables of the schema and the pattern, which are read at the document root."""
        return _bound(_bound(self.scope, self.rulebook.lets), self.pattern.lets)

    def _test(self, place: Place) -> Expression:
        outer = self._outer()
        inner = Scope(place.focus, outer.variables, outer.namespaces, outer.record_names, place.focus)
        return translate(self.check.test, _bound(inner, self.rule.lets))

    def _expressions(self) -> list[Expression]:
        """All that decides whether the rule holds: tests, conditions of the context and of earlier ones."""
        found = self._own_expressions()
        for place in self._places(self.position):
            found += [condition for earlier in self._earlier(place) for condition in earlier.conditions]
        return found

    def _own_expressions(self) -> list[Expression]:
        """The tests and the conditions of the context, without those of earlier ones."""
        found: list[Expression] = []
        for place in self._places(self.position):
            found += [self._test(place), *place.conditions]
            found += [place.focus] if place.kind == "field" else []
        return found

    def _variables(self, expressions: Iterable[Expression]) -> tuple[str, ...]:
        names: set[str] = set()
        for expression in expressions:
            names |= fields_of(expression) - self._outside_names(expression)
            if self.fields is not None and reads_everything(expression):
                names |= self.fields
        return tuple(sorted(names))

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

    def _rule_lints(self, form: Form | None) -> list[str]:
        lints: list[str] = []
        own = self._places(self.position)
        for position in range(self.position):
            earlier = self.pattern.rules[position]
            taken = [p for p in self._places(position) if not p.conditions]
            if all(any(t.meets(p) and t.kind in (p.kind, "any") for t in taken) for p in own):
                return [shadow_lint(self.rule.context, earlier.context, earlier.origin.line)]
        if form is not None:
            lints += truth_lints(self._test(own[0]), form, self.check.kind) + equality_lints(form)
        unbound = {n.name for e in self._expressions() for n in _variables_in(e)}
        return lints + [f"the variable ${name} is not defined" for name in sorted(unbound)]


def _variables_in(expression: Expression) -> Iterable[Variable]:
    return (node for node in walk(expression) if isinstance(node, Variable))


def _bound(scope: Scope, lets: Iterable[Let]) -> Scope:
    for let in lets:
        scope = scope.bind(let.name, translate(let.value, scope))
    return scope


def _place_formulas(place: Place, conditions: Conditions, *, bare: bool = False) -> list[Formula]:
    """What must hold for a node of this kind to be there and to match; ``bare`` without its being there."""
    formulas = [conditions.truth(condition) for condition in place.conditions]
    if isinstance(place.focus, FieldRef) and not bare:
        formulas.insert(0, present(place.focus))
    return formulas


def _of_form(form: Form, reasons: list[str], variables: tuple[str, ...]) -> Constraint:
    """Read the class off the form: the first class that accepts its alternatives without missing values."""
    core = complete(form) or form
    for as_edit in CLASSES:
        if (edit := as_edit(core, form)) is not None:
            return edit
    return opaque_edit(reasons, variables)
