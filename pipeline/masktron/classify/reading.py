"""One check on its way to an edit, and what its author may want to hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches

from masktron.classify.arithmetic_edits import is_order, linear_edit, product_edit
from masktron.classify.conditions import Conditions
from masktron.classify.conjunctions import Conjunction
from masktron.classify.crossrecord import CrossRecordError, cross_record_edit, reads_other_records
from masktron.classify.edit import Edit, asked_by
from masktron.classify.forms import (
    ALWAYS,
    NEVER,
    NO_CODES,
    Negation,
    Some,
    TooManyDisjunctsError,
    complete,
    conjoin,
    dnf,
    variables_of_atom,
)
from masktron.classify.situation import Before, Situation, place_formulas
from masktron.classify.tallies import TallyReader
from masktron.classify.values import domain_edit, value_edit
from masktron.constraints import (
    Constraint,
    CrossRecordEdit,
    Form,
    GoverningEdit,
    Linear,
    Monomial,
    OpaqueEdit,
    Polynomial,
    Product,
    Untranslated,
)
from masktron.errors import RulebookError
from masktron.problems.problem import Field, Note, Sentence
from masktron.reading.contexts import Place
from masktron.reading.nodes import Expression, FieldRef, Text, Unknown, VariableReference, fields_of, walk
from masktron.reading.plain_text import source_of
from masktron.rulebook.schema import Check, Rule, XPathVersion
from masktron.sources.record_layout import Layout

_CENTS = 2
"""Fraction digits that amounts have as a rule."""


def name_lints(expressions: Iterable[Expression], layout: Layout | None, known: frozenset[str]) -> list[Note]:
    """Doubts about field names: minus signs inside, unknown names, a namespace that was forgotten.

    Parameters
    ----------
    expressions : iterable of Expression
        All that the rule reads.
    layout : Layout or None
        Of the file, where one is at hand.
    known : frozenset of str
        Names that rules of the rulebook use elsewhere.
    """
    found: list[Note] = []
    references = {n for expression in expressions for n in walk(expression) if isinstance(n, FieldRef)}
    names = frozenset(field.name for field in layout.fields) if layout else known
    for reference in sorted(references, key=lambda r: r.name):
        lint = _minus(reference.name, names - {reference.name} if layout is None else names) or (
            _in_layout(reference, layout) if layout else None
        )
        if lint:
            found.append(lint)
    return found


def _minus(name: str, known: frozenset[str]) -> Note | None:
    parts = name.split("-")
    if len(parts) > 1 and name not in known and all(part in known for part in parts):
        template = "{field} is one name in XPath, not a difference: write {instead} with blanks"
        return Note(template, field=Field(name), instead=" - ".join(parts))
    return None


def _in_layout(reference: FieldRef, layout: Layout) -> Note | None:
    own = Field(reference.name)
    field = layout.field(reference.name)
    if field is None:
        names = [f.name for f in layout.fields]
        same = [name for name in names if name.casefold() == reference.name.casefold()]
        near = same or get_close_matches(reference.name, names, n=1)
        hint = f": did you mean {near[0]}?" if near else ""
        return Note("the file has no field {field}{hint}", field=own, hint=hint)
    uri = field.tag[1:].partition("}")[0] if field.tag.startswith("{") else ""
    if reference.namespace in ("*", uri):
        return None
    if not reference.namespace:
        template = "{field} has no prefix, but the file's {field} is in the namespace {uri}: no match"
        return Note(template, field=own, uri=uri)
    template = "{field} is asked for in the namespace {uri}, where the file has none: no match"
    return Note(template, field=own, uri=reference.namespace)


def truth_lints(test: Expression, form: Form | None, kind: str) -> list[str]:
    """Doubts about tests that do not depend on the record."""
    said = "report never fires" if kind == "report" else "assert cannot fail"
    if isinstance(test, Text):
        return [f"the test is the text '{test.value}', which is always true: take out the quotes"]
    if form == NEVER:
        return ["no record can satisfy this rule"]
    if form == ALWAYS:
        return [f"this {said}: it does not depend on the record" if not fields_of(test) else f"this {said}"]
    return []


def shadow_lint(context: str, earlier: str, line: int) -> str:
    """A rule that never fires."""
    return (
        f"this rule never fires: every node of {context} is taken by the rule with context {earlier} in line {line}"
    )


def equality_lints(form: Form, decimals: Mapping[str, int] | None = None, *, plain: bool = False) -> list[str]:
    """Doubts about equalities that can fail in doubles although they hold in decimals.

    Parameters
    ----------
    form : Form
    decimals : mapping of str to int, optional
        Fraction digits of the fields, where data are at hand; without them, only what the rule itself shows counts.
    plain : bool
        The rule is one in plain text.
    """
    fragile = {_in_decimals(conjunction, decimals) for conjunction in form} - {()}
    digits = decimals or {}
    return [
        f"equality on decimals ({', '.join(names)}) without tolerance may fail by rounding: write a tolerance of "
        f"half a unit of the last digit, as in {tolerance((digits.get(name, 0) for name in names), plain=plain)}"
        for names in sorted(fragile, key=", ".join)
    ]


def tolerance(digits: Iterable[int], *, plain: bool) -> str:
    """Write a tolerance of half a unit of the last digit, given fraction digits of fields; of cents without any."""
    half = f"{Decimal(5).scaleb(-(max(digits, default=0) or _CENTS) - 1):f}"
    return f"abs(A - B) <= {half}" if plain else f"A - B <= {half} and B - A <= {half}"


def _in_decimals(conjunction: Conjunction, decimals: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return the fields of the first equality on decimals; none where there is no such equality."""
    for atom in conjunction:
        if not isinstance(atom, Linear | Product | Polynomial) or atom.relation != "=":
            continue
        variables = variables_of_atom(atom)
        if any((decimals or {}).get(name) for name in variables) or _has_fractions(atom):
            return tuple(variables)
    return ()


def _has_fractions(atom: Linear | Product | Polynomial) -> bool:
    if isinstance(atom, Linear):
        return atom.bound.denominator != 1 or (max(abs(c) for _, c in atom.terms) > 1 and _is_decimal_scale(atom))
    monomials: tuple[Monomial, ...] = (*atom.left, atom.right) if isinstance(atom, Product) else atom.terms
    return any(_power_of_ten(abs(monomial.coefficient.numerator)) for monomial in monomials)


def _is_decimal_scale(atom: Linear) -> bool:
    """Integer coefficients such as 3 and 100 come from decimals such as 0.03."""
    return any(_power_of_ten(abs(coefficient.numerator)) for _, coefficient in atom.terms)


def _power_of_ten(value: int) -> bool:
    return value >= 10 and str(value).rstrip("0") == "1"


def opaque_edit(reasons: Sequence[str], variables: tuple[str, ...]) -> OpaqueEdit:
    """Say why a rule has no normal form."""
    return OpaqueEdit("; ".join(dict.fromkeys(reasons)) or "it has no normal form", variables)


def governing_edit(core: Form, form: Form) -> GoverningEdit | None:
    """One alternative with orders between variables, or several alternatives of which one at least is understood."""
    if len(core) == 1:
        orders = [atom for atom in core[0] if isinstance(atom, Linear)]
        return GoverningEdit(form) if orders and _only_orders(core[0]) else None
    return None if all(_has_untranslated(conjunction) for conjunction in core) else GoverningEdit(form)


def _only_orders(conjunction: Conjunction) -> bool:
    return all(
        is_order(atom) if isinstance(atom, Linear) else not isinstance(atom, Product | Polynomial | Untranslated)
        for atom in conjunction
    )


def _has_untranslated(conjunction: Conjunction) -> bool:
    return any(isinstance(atom, Untranslated) for atom in conjunction)


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

    situation: Situation
    position: int
    check: Check
    ran_out: bool = field(init=False, default=False)
    """Whether there was more to compare than the effort allows."""
    _translated: dict[Place, Expression] = field(init=False, default_factory=dict)

    @property
    def rule(self) -> Rule:
        """The rule of the check."""
        return self.situation.pattern.rules[self.position]

    @property
    def version(self) -> XPathVersion:
        """The version of XPath."""
        return self.situation.pattern.version

    def named(self) -> frozenset[str]:
        """Names of the fields that the rule reads; none where it cannot be parsed."""
        try:
            own = frozenset(name for expression in self._expressions() for name in fields_of(expression))
            return own.union(*(before.named for _, before in self._places_and_before()))
        except RulebookError:
            return frozenset()

    def edit(self, known: frozenset[str]) -> Edit:
        """Classify."""
        situation = self.situation
        try:
            expressions = self._expressions()
            before = [before for _, before in self._places_and_before()]
        except RulebookError as error:
            own = bool(situation.rulebook.own_functions)  # which the engine knows, and nobody here
            why = "it may call functions of the rulebook" if own else error.what
            return Edit(self.check, situation.pattern.id, opaque_edit([why], ()), (), () if own else (why,))
        read = frozenset[str]().union(*map(situation.variables, expressions), *(own.variables for own in before))
        variables = tuple(sorted(read))
        conditions = Conditions(self.version)
        situation.effort.begin()
        constraint, form = self._constraint(conditions, variables)
        lints: list[Sentence] = [
            *conditions.lints,
            *name_lints(expressions, situation.layout, known),
            *self._rule_lints(form),
        ]
        asked = asked_by(expressions)
        return Edit(self.check, situation.pattern.id, constraint, variables, tuple(dict.fromkeys(lints)), asked)

    def _constraint(self, conditions: Conditions, variables: tuple[str, ...]) -> tuple[Constraint, Form | None]:
        effort = self.situation.effort
        try:
            form = ALWAYS
            for place, before in self._places_and_before():
                form = conjoin(form, self._form(place, before, conditions), effort)
        except CrossRecordError as error:
            return self._cross_record(error.expression, variables), None
        except TooManyDisjunctsError as error:
            self.ran_out = True
            return opaque_edit([error.reason], variables), None
        except RecursionError:
            return opaque_edit(["it is nested too deeply"], variables), None
        return constraint_of(form, conditions.reasons, variables, self.situation.rulebook.missing), form

    def _form(self, place: Place, before: Before, conditions: Conditions) -> Form:
        """The context's predicates, and that no earlier rule takes the node, imply the test."""
        effort = self.situation.effort
        test = self._test(place)
        if place.kind in ("any", "outside"):
            if place.kind == "outside":
                raise CrossRecordError(test)
            return dnf(conditions.engine(Unknown(f"{self.check.test} on every element", everything=True)), effort)
        try:
            wanted = conditions.truth(test)
        except CrossRecordError:
            raise CrossRecordError(test) from None
        if self.check.kind == "report":
            wanted = Negation(wanted)
        if before.problem is not None:
            raise before.problem.with_traceback(None)
        spared = Some((*(Negation(own) for own in place_formulas(place, conditions)), wanted))
        conditions.reasons[:0] = before.reasons
        if before.taken is None:
            raise TooManyDisjunctsError(before.why)
        if before.taken.empty:
            return dnf(spared, effort)
        found = before.taken.copy()
        for part in spared.parts:
            found.add(dnf(part, effort))
        return found.form()

    def _cross_record(self, expression: Expression, variables: tuple[str, ...]) -> CrossRecordEdit:
        """Say what a condition on several records asks; what depends on more than the test is not understood."""
        situation = self.situation
        own = situation.places(self.position)
        test = self._test(own[0])
        if len(own) > 1 or (own[0].kind != "outside" and not reads_other_records(test)):
            return CrossRecordEdit(
                "other", variables, f"it depends on other records: {self.check.written or source_of(expression)}"
            )
        wanted = self.check.kind == "assert"
        tallies = TallyReader(self.version, situation.scope.record_names, situation.fields)
        bounds = tallies.bounds(test, wanted=wanted)
        return cross_record_edit(test, variables, wanted=wanted, bounds=bounds, written=self.check.written)

    def _places_and_before(self) -> Iterator[tuple[Place, Before]]:
        for place in self.situation.places(self.position):
            yield place, self.situation.before(self.position, place)

    def _test(self, place: Place) -> Expression:
        if place not in self._translated:
            self._translated[place] = self.situation.test(self.position, self.check, place)
        return self._translated[place]

    def _expressions(self) -> list[Expression]:
        """The tests and the conditions of the context, without those of earlier ones."""
        found: list[Expression] = []
        for place in self.situation.places(self.position):
            found += [self._test(place), *place.conditions]
            found += [place.focus] if place.kind == "field" else []
        return found

    def _rule_lints(self, form: Form | None) -> list[str]:
        lints: list[str] = []
        earlier = self.situation.shadowed_by(self.position)
        if earlier is not None:
            return [shadow_lint(self.rule.shown, earlier.shown, earlier.origin.line)]
        if form is not None:
            own = self.situation.places(self.position)
            lints += truth_lints(self._test(own[0]), form, self.check.kind)
            lints += equality_lints(form, plain=bool(self.check.written))
        unbound = {node.name for e in self._expressions() for node in walk(e) if isinstance(node, VariableReference)}
        return lints + [f"the variable ${name} is not defined" for name in sorted(unbound)]


def constraint_of(
    form: Form, reasons: list[str], variables: tuple[str, ...], missing: Mapping[str, frozenset[str]] = NO_CODES
) -> Constraint:
    """Read the class off the form: the first class that accepts its alternatives without missing values.

    Parameters
    ----------
    missing : mapping of str to frozenset of str
        Codes that mean that there is none, by field, ``*`` for all.
    """
    core = complete(form, missing) or form
    for as_edit in CLASSES:
        if (edit := as_edit(core, form)) is not None:
            return edit
    return opaque_edit(reasons, variables)
