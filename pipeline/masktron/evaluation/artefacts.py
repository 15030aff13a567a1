"""Findings that are rounding artefacts: the rule fails in doubles, and holds in exact decimals.

The test is read as the tree of `read.xpath_ir` and evaluated twice on the fields that the finding shows: in doubles,
as the engines do, and in fractions. Truth has three values, as the tree does not say everything; what is not known to
hold exactly is no artefact. The verdict stays the engine's: this only says what lies behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from masktron.errors import RulebookError
from masktron.evaluation.arithmetic import FUNCTIONS, Number, Unclear, computed, size
from masktron.evaluation.findings import Finding
from masktron.read.lexical import XML_SPACE, libxml2_number, parse_number
from masktron.read.records import Layout
from masktron.read.rulebook import Let, Pattern, Rule, Rulebook
from masktron.read.xpath import Scope, translate
from masktron.read.xpath_context import places
from masktron.read.xpath_ir import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Comparison,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Or,
    Quantified,
    Sequence,
    Text,
)
from masktron.read.xpath_ir import Number as Literal
from masktron.read.xpath_scope import ROOT

type Item = Untyped | str | Number
type Items = tuple[Item, ...]
type _Values = tuple[tuple[str, str | None], ...]

_PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_NEAR = 1e-9
"""Relative distance beyond which two numbers that are read have the same order exactly and in doubles."""
_REMEMBERED = 20_000
"""Verdicts on equal cells that are kept."""
_NUMERIC_CASTS = frozenset({"decimal", "double", "integer", "float"})
_ORDERS: Mapping[str, Callable[[Number, Number], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Untyped(str):
    """The text of a node, which no schema gives a type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A test, whether the rule wants it to be true, and the two fields that it compares if it does no more."""

    test: Expression
    wanted: bool
    pair: tuple[str, str] | None

    @classmethod
    def of(cls, test: Expression, wanted: bool) -> _Asked:
        names = (_field_of(test.left), _field_of(test.right)) if isinstance(test, Comparison) else ()
        return cls(test, wanted, (names[0], names[1]) if len(names) == 2 and names[0] and names[1] else None)

    def is_clear(self, values: _Values) -> bool:
        """Whether the two fields are one number each, and far apart: they have the same order in every reading."""
        cells = dict(values)
        if self.pair is None or len(cells) != len(values):
            return False
        try:
            one, other = (float(cells[name] or "") for name in self.pair)
        except (ValueError, KeyError):
            return False
        return abs(one - other) > _NEAR * max(abs(one), abs(other))


def _field_of(operand: Expression) -> str | None:
    match operand:
        case FieldRef(name=name) | Call(name="number", arguments=(FieldRef(name=name),)):
            return name
        case _:
            return None


class Artefacts:
    """Tells rounding artefacts among the findings of a rulebook.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
        Of the file, for the name of its records.
    """

    def __init__(self, rulebook: Rulebook, layout: Layout) -> None:
        self._old = rulebook.version == "1.0"
        self._asked = dict(_tests(rulebook, layout))
        self._known: dict[tuple[int, _Values], bool] = {}

    def marked(self, finding: Finding) -> Finding:
        """Return the finding, with `Finding.artefact` where it is one."""
        return replace(finding, artefact=True) if self.is_artefact(finding) else finding

    def is_artefact(self, finding: Finding) -> bool:
        """Whether what failed holds in exact decimals; False where the tree cannot tell."""
        asked = self._asked.get(finding.check)
        if asked is None or finding.kind == "error" or not finding.values or asked.is_clear(finding.values):
            return False
        cells = finding.check, finding.values
        known = self._known.get(cells)
        if known is None:
            known = self._decide(asked, finding.values)
            if len(self._known) < _REMEMBERED:
                self._known[cells] = known
        return known

    def _decide(self, asked: _Asked, values: _Values) -> bool:
        fields: dict[str, Items] = {}
        for name, text in values:
            fields[name] = (*fields.get(name, ()), *(() if text is None else (Untyped(text),)))
        doubles = _Evaluation(fields, float, self._old)
        said = doubles.truth(asked.test)
        if not doubles.doubtful or _Evaluation(fields, Fraction, self._old).truth(asked.test) is not asked.wanted:
            return False
        if said is asked.wanted and self._old:
            said = _Evaluation(fields, libxml2_number, self._old).truth(asked.test)
        # where the doubles say what the rule wants, nothing that is known here made it fail
        return said is not asked.wanted


def _tests(rulebook: Rulebook, layout: Layout) -> Iterable[tuple[int, _Asked]]:
    """Yield the tests that are read at records, or at one field of them."""
    start = Scope(
        ROOT,
        namespaces=dict(rulebook.namespaces),
        record_names=frozenset({layout.record_tag.rpartition("}")[2]}),
        base=ROOT,
    )
    names = frozenset(field.name for field in layout.fields)
    for pattern in rulebook.patterns:
        for rule in pattern.rules:
            for check in rule.checks:
                try:
                    test = _test(rulebook, pattern, rule, check.test, start, names)
                except (RulebookError, RecursionError):
                    continue  # what the tree cannot say is no artefact
                if test is not None:
                    yield check.index, _Asked.of(test, check.kind == "assert")


def _test(
    rulebook: Rulebook, pattern: Pattern, rule: Rule, source: str, start: Scope, names: frozenset[str]
) -> Expression | None:
    outer = _bound(_bound(start, rulebook.lets), pattern.lets)
    found = places(rule.context, outer, names or None)
    if len(found) != 1 or found[0].kind not in ("record", "field"):
        return None
    focus = found[0].focus
    inner = Scope(focus, outer.variables, outer.namespaces, outer.record_names, focus)
    return translate(source, _bound(inner, rule.lets))


def _bound(scope: Scope, lets: Iterable[Let]) -> Scope:
    for let in lets:
        scope = scope.bind(let.name, translate(let.value, scope))
    return scope


class _Evaluation:
    """A test on the fields of a record, with numbers of one kind.

    Attributes
    ----------
    doubtful : bool
        Whether a comparison was made that exact numbers might decide otherwise.
    """

    def __init__(self, fields: Mapping[str, Items], reading: Callable[[str], Number], old: bool) -> None:
        self.fields = fields
        self.reading = reading
        self.old = old
        self.doubtful = False

    # truth: None where it is not known

    def truth(self, test: Expression) -> bool | None:
        """Return the effective boolean value."""
        try:
            return self._truth(test)
        except (Unclear, ArithmeticError, RecursionError):
            return None

    def _truth(self, test: Expression) -> bool | None:  # noqa: PLR0911 -- one branch per kind
        match test:
            case And(parts=parts):
                return _all(self.truth(part) for part in parts)
            case Or(parts=parts):
                return _any(self.truth(part) for part in parts)
            case Not(operand=operand) | Call(name="not", arguments=(operand,)):
                found = self.truth(operand)
                return None if found is None else not found
            case Call(name="boolean", arguments=(operand,)):
                return self.truth(operand)
            case Boolean(value=value):
                return value
            case If(condition=condition, then=then, otherwise=otherwise):
                return self._branch(condition, then, otherwise)
            case Quantified(every=every, cases=cases):
                known = [self.truth(case) for item, case in cases if self.items(item)]
                return _all(known) if every else _any(known)
            case Comparison():
                return self._compared(test)
            case Call(name=("exists" | "empty") as name, arguments=(operand,)):
                return bool(self.items(operand)) is (name == "exists")
            case FieldRef():
                return bool(self.items(test))
            case _:
                return None

    def _branch(self, condition: Expression, then: Expression, otherwise: Expression) -> bool | None:
        chosen = self.truth(condition)
        if chosen is not None:
            return self.truth(then if chosen else otherwise)
        first, second = self.truth(then), self.truth(otherwise)
        return first if first is second else None

    def _compared(self, test: Comparison) -> bool | None:
        left, right = self.items(test.left), self.items(test.right)
        if not test.general and max(len(left), len(right)) > 1:
            raise Unclear
        plain = _is_plain(test.left) and _is_plain(test.right)
        return _any([self._pair(test, one, other, plain) for one in left for other in right])

    def _pair(self, test: Comparison, left: Item, right: Item, plain: bool) -> bool | None:
        texts = isinstance(left, str) and isinstance(right, str)
        if texts and not (self.old and test.operator not in ("=", "!=")):
            return _text_order(test.operator, str(left), str(right))
        if not self.old and not all(_comparable(item, test.general) for item in (left, right)):
            return None  # a type error, or a comparison as texts
        one, other = self.number(left), self.number(right)
        self.doubtful |= not plain or size(one - other) <= _NEAR * max(size(one), size(other))
        return _ORDERS[test.operator](one, other)

    # values

    def number(self, item: Item) -> Number:
        """Return the number that an item is, NaN where it is none."""
        if not isinstance(item, str):
            return item
        text = item.strip(XML_SPACE)
        if _PLAIN.fullmatch(text):
            return self.reading(text)
        if not self.old or not math.isnan(libxml2_number(text)) or not math.isnan(parse_number(text)):
            raise Unclear  # an error in XPath 2, and engines of XPath 1.0 read exponents and plus signs in their ways
        return math.nan

    def items(self, expression: Expression) -> Items:  # noqa: PLR0911 -- as above
        """Return the items of a value."""
        match expression:
            case FieldRef(name=name):
                return self._field(name, text=expression.text)
            case Literal(value=value):
                return (self.reading(_decimal(value)) if _is_decimal(value) else self._quotient(value),)
            case Text(value=text):
                return (text,)
            case Sequence(items=parts):
                return tuple(item for part in parts for item in self.items(part))
            case Arithmetic(operator=operator, left=left, right=right):
                return self._computed(operator, self.operand(left), self.operand(right))
            case Negative(operand=operand):
                return tuple(-number for number in self.operand(operand))
            case Cast(target=target, operand=operand) if target in _NUMERIC_CASTS:
                return self._cast(target, self.operand(operand))
            case Call(name=name, arguments=arguments):
                return self._called(name, arguments)
            case If(condition=condition, then=then, otherwise=otherwise):
                chosen = self.truth(condition)
                if chosen is None:
                    raise Unclear
                return self.items(then if chosen else otherwise)
            case _:
                raise Unclear

    def _field(self, name: str, *, text: bool) -> Items:
        if name not in self.fields:
            raise Unclear
        return tuple(item for item in self.fields[name] if item or not text)

    def _quotient(self, value: Fraction) -> Number:
        one, other = self.reading(str(value.numerator)), self.reading(str(value.denominator))
        return computed("div", one, other)

    def operand(self, expression: Expression) -> tuple[Number, ...]:
        """Return the number of an operand; none for the empty sequence of XPath 2."""
        items = self._single(expression)
        if any(isinstance(item, str) and not isinstance(item, Untyped) for item in items) and not self.old:
            raise Unclear
        return tuple(map(self.number, items)) or ((math.nan,) if self.old else ())

    def _single(self, expression: Expression) -> Items:
        """Return the items where one is asked for: in XPath 1.0 the first of a node set."""
        items = self.items(expression)
        if len(items) > 1 and not self.old:
            raise Unclear
        return items[:1]

    def _computed(self, operator: str, left: tuple[Number, ...], right: tuple[Number, ...]) -> tuple[Number, ...]:
        return tuple(computed(operator, one, other) for one in left for other in right)

    def _cast(self, target: str, numbers: tuple[Number, ...]) -> tuple[Number, ...]:
        if target == "integer" and any(number != math.floor(number) for number in numbers):
            raise Unclear
        return numbers

    def _called(self, name: str, arguments: tuple[Expression, ...]) -> Items:
        match name, arguments:
            case "number", (operand,):
                items = self._single(operand)
                return tuple(map(self.number, items)) or (math.nan,)
            case "data", (operand,):
                return self.items(operand)
            case (("abs" | "floor" | "ceiling" | "round"), (operand,)):
                return tuple(FUNCTIONS[name]((number,)) for number in self.operand(operand))
            case "count", (operand,):
                return (self.reading(str(len(self.items(operand)))),)
            case (("sum" | "min" | "max" | "avg"), (operand,)):
                numbers = tuple(map(self.number, self.items(operand)))
                if not numbers:
                    return (self.reading("0"),) if name == "sum" else ()
                return (FUNCTIONS[name](numbers),)
            case _:
                raise Unclear


def _comparable(item: Item, general: bool) -> bool:
    """Whether an item can be compared with a number in XPath 2 and later."""
    return not isinstance(item, str) or (general and isinstance(item, Untyped))


def _is_plain(expression: Expression) -> bool:
    """Whether a number is read, not computed: exact numbers then have the same order, unless they are very near."""
    match expression:
        case FieldRef() | Literal() | Text():
            return True
        case Call(name="number" | "data", arguments=(operand,)) | Negative(operand=operand):
            return _is_plain(operand)
        case Sequence(items=items):
            return all(map(_is_plain, items))
        case _:
            return False


def _is_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(value: Fraction) -> str:
    """Spell a fraction whose denominator has no primes but 2 and 5."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(abs(value.numerator)).rjust(places + 1, "0")
    cut = len(digits) - places
    return ("-" if value < 0 else "") + digits[:cut] + (f".{digits[cut:]}" if places else "")


def _text_order(operator: str, left: str, right: str) -> bool:
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _all(found: Iterable[bool | None]) -> bool | None:
    known = list(found)
    return False if False in known else None if None in known else True


def _any(found: Iterable[bool | None]) -> bool | None:
    known = list(found)
    return True if True in known else None if None in known else False
