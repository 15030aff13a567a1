"""What a numeric expression is worth, and how two of them compare: rational functions of the fields, with cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from masktron.classify.arithmetic_edits import signs
from masktron.classify.forms import ALWAYS, FALSE, NEVER, All, Formula, Leaf, Some, choice, conjoin, disjoin
from masktron.classify.polynomial import MonomialSum, relation_of
from masktron.constraints import Atom, Form, Lexical, Missing, Present, Range, Relation, Whole
from masktron.reading.nodes import ComparisonOperator
from masktron.reading.plain_text import decimal_text
from masktron.rulebook.expressions.tree import MIRRORED

_MAX_PARTS = 32
ZERO, ONE = MonomialSum.constant(Fraction(0)), MonomialSum.constant(Fraction(1))


class UntranslatableError(Exception):
    """A subexpression has no normal form; caught where the smallest condition around it becomes one atom."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Quantity:
    """``numerator / denominator``.

    Attributes
    ----------
    poles : tuple of MonomialSum
        Every divisor, as often as it divides.
    operands : frozenset of str
        Fields that were read, those that cancel included: where one is missing, so is the quantity.
    empties : frozenset of str
        Operands that, absent, make the quantity the empty sequence of XPath 2, with which every comparison is false.
    whole : frozenset of str
        Operands that were cast to an integer, which fails for other numbers.
    nan : bool
        Never a number.
    """

    numerator: MonomialSum
    denominator: MonomialSum = ONE
    poles: tuple[MonomialSum, ...] = ()
    operands: frozenset[str] = frozenset()
    empties: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    nan: bool = False


@dataclass(frozen=True, slots=True)
class Cases:
    """One amount where a condition holds, another where it does not."""

    condition: Formula
    then: Amount
    otherwise: Amount


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An amount without a formula; a comparison with it is left to the engine."""

    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """The empty sequence of XPath 2: computing with it gives nothing, and every comparison with it is false."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest (or the least) of some amounts, none of them with cases; NaN where one of them is.

    ``max(a, b) <= c`` is a conjunction and ``max(a, b) >= c`` a disjunction, without asking which is greater.
    """

    maximum: bool
    parts: tuple[Quantity | Extreme, ...]


type Amount = Quantity | Cases | Extreme | Unresolved | Nothing

NOT_A_NUMBER = Quantity(ZERO, nan=True)


def constant(value: Fraction | int) -> Quantity:
    """Make an amount from a number."""
    return Quantity(MonomialSum.constant(Fraction(value)))


_MOST_CASES = 4096
"""Cases of an amount: beyond them, forms take minutes, and a condition is an engine's."""


def lift(operation: Callable[[Quantity, Quantity], Quantity], left: Amount, right: Amount) -> Amount:
    """Apply an operation case by case.

    Raises
    ------
    UntranslatableError
        There are too many cases.
    """
    if isinstance(left, Cases) and isinstance(right, Cases) and _cases(left) * _cases(right) > _MOST_CASES:
        raise UntranslatableError(f"it has more than {_MOST_CASES:,} cases of what is there")
    return _lifted(operation, left, right)


def _cases(amount: Amount) -> int:
    return _cases(amount.then) + _cases(amount.otherwise) if isinstance(amount, Cases) else 1


def _lifted(  # noqa: PLR0911 -- one branch per kind of amount
    operation: Callable[[Quantity, Quantity], Quantity], left: Amount, right: Amount
) -> Amount:
    if isinstance(left, Cases):
        return Cases(left.condition, _lifted(operation, left.then, right), _lifted(operation, left.otherwise, right))
    if isinstance(right, Cases):
        return Cases(right.condition, _lifted(operation, left, right.then), _lifted(operation, left, right.otherwise))
    if isinstance(left, Unresolved) or isinstance(right, Unresolved):
        return left if isinstance(left, Unresolved) else right
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return Nothing()
    if isinstance(left, Extreme) or isinstance(right, Extreme):
        return _lift_extreme(operation, left, right)
    try:
        return operation(left, right)
    except UntranslatableError as error:
        return Unresolved(error.reason)


def _lift_extreme(
    operation: Callable[[Quantity, Quantity], Quantity], left: Quantity | Extreme, right: Quantity | Extreme
) -> Amount:
    """Move an operation inside: exact, because adding keeps the order, and a factor keeps or turns it."""
    if operation not in (add, subtract):
        sign = sign_of(right)
        if isinstance(left, Quantity) and operation is multiply:
            left, right, sign = right, left, sign_of(left)
        if sign is None or not isinstance(left, Extreme):
            return Unresolved("it multiplies or divides by a maximum")
        return extreme(left.maximum == (sign >= 0), [lift(operation, part, right) for part in left.parts])
    if isinstance(left, Extreme):
        return extreme(left.maximum, [lift(operation, part, right) for part in left.parts])
    assert isinstance(right, Extreme)  # noqa: S101 -- for the type checker
    return extreme(right.maximum == (operation is add), [lift(operation, left, part) for part in right.parts])


def sign_of(amount: Amount) -> int | None:
    """Return the sign of an amount that is a number; None for any other."""
    if not isinstance(amount, Quantity) or amount.operands or amount.nan or amount.denominator != ONE:
        return None
    value = amount.numerator.value
    return None if value is None else (value > 0) - (value < 0)


def extreme(maximum: bool, amounts: Sequence[Amount]) -> Amount:
    """Return the greatest or the least of amounts."""
    parts: list[Quantity | Extreme] = []
    for position, amount in enumerate(amounts):
        match amount:
            case Cases(condition=condition, then=then, otherwise=otherwise):
                rest = amounts[position + 1 :]
                return Cases(
                    condition,
                    extreme(maximum, [*parts, then, *rest]),
                    extreme(maximum, [*parts, otherwise, *rest]),
                )
            case Unresolved() | Nothing():
                return amount
            case Extreme(maximum=same, parts=inner) if same == maximum:
                parts += inner
            case _:
                parts.append(amount)
    if len(parts) > _MAX_PARTS:
        return Unresolved("it takes the maximum of too many terms")
    return parts[0] if len(parts) == 1 else Extreme(maximum, tuple(dict.fromkeys(parts)))


def _joined(left: Quantity, right: Quantity, numerator: MonomialSum, denominator: MonomialSum) -> Quantity:
    return Quantity(
        numerator,
        denominator,
        (*left.poles, *right.poles),
        left.operands | right.operands,
        left.empties | right.empties,
        left.whole | right.whole,
        left.nan or right.nan,
    )


def add(left: Quantity, right: Quantity) -> Quantity:
    """Sum of two quantities."""
    if left.denominator == right.denominator:
        return _joined(left, right, left.numerator + right.numerator, left.denominator)
    crossed = left.numerator * right.denominator + right.numerator * left.denominator
    return _joined(left, right, crossed, left.denominator * right.denominator)


def negate(amount: Quantity) -> Quantity:
    """The opposite."""
    return replace(amount, numerator=-amount.numerator)


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Difference of two quantities."""
    return add(left, negate(right))


def multiply(left: Quantity, right: Quantity) -> Quantity:
    """Product of two quantities."""
    return _joined(left, right, left.numerator * right.numerator, left.denominator * right.denominator)


def divide(left: Quantity, right: Quantity) -> Quantity:
    """Quotient of two quantities.

    Raises
    ------
    UntranslatableError
        The divisor is the constant zero.
    """
    if right.denominator == ONE and (value := right.numerator.value) is not None:
        if not value:
            raise UntranslatableError("it divides by zero")
        return _joined(left, right, left.numerator.scaled(1 / value), left.denominator)
    quotient = _joined(left, right, left.numerator * right.denominator, left.denominator * right.numerator)
    return replace(quotient, poles=(*quotient.poles, right.numerator))


def total(parts: Sequence[Amount]) -> Amount:
    """Sum of amounts; zero for none."""
    result: Amount = constant(0)
    for part in parts:
        result = lift(add, result, part)
    return result


_REMEMBERED = 1024
"""Comparisons whose forms are remembered: counts and sums over members ask the same few in each of many cases."""


@dataclass(frozen=True, slots=True)
class Comparing:
    """How to compare.

    Attributes
    ----------
    otherwise : callable
        What a comparison becomes that has no form, given the reason.
    direct : frozenset of str
        The node sets among the operands (XPath 1.0).
    """

    otherwise: Callable[[str], Formula]
    direct: frozenset[str] = field(default_factory=frozenset)


def compare(  # noqa: PLR0911 -- one branch per kind of amount
    operator: ComparisonOperator, left: Amount, right: Amount, how: Comparing
) -> Formula:
    """Compare two amounts as XPath does: false with NaN, except ``!=``."""
    if isinstance(left, Cases):
        then, otherwise = (compare(operator, part, right, how) for part in (left.then, left.otherwise))
        return choice(left.condition, then, otherwise)
    if isinstance(right, Cases):
        then, otherwise = (compare(operator, left, part, how) for part in (right.then, right.otherwise))
        return choice(right.condition, then, otherwise)
    for side in (left, right):
        if isinstance(side, Unresolved):
            return how.otherwise(side.reason)
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return FALSE
    if isinstance(left, Extreme) or isinstance(right, Extreme):
        return _compare_extreme(operator, left, right, how)
    assert isinstance(left, Quantity)  # noqa: S101 -- for the type checker
    assert isinstance(right, Quantity)  # noqa: S101
    if operator in (">", ">="):
        left, right, operator = right, left, "<" if operator == ">" else "<="
    try:
        return _leaf(operator, subtract(left, right), how)
    except UntranslatableError as error:
        return how.otherwise(error.reason)


def _compare_extreme(operator: ComparisonOperator, left: Amount, right: Amount, how: Comparing) -> Formula:
    """``max(...) <= x`` where all parts are, ``max(...) >= x`` where one is and none is NaN."""
    if not isinstance(left, Extreme) or (isinstance(right, Extreme) and _needs_all(operator, left)):
        left, right, operator = right, left, MIRRORED[operator]  # the disjunction outside: it has fewer alternatives
    assert isinstance(left, Extreme)  # noqa: S101 -- for the type checker
    quantities = _quantities(left)
    alike = len({(q.operands, q.poles) for q in quantities}) == 1
    if any(q.nan for q in quantities):
        return compare(operator, NOT_A_NUMBER, expanded(right, how), how)
    unlike = not alike and (operator == "=" or not _needs_all(operator, left))
    if operator == "!=" or any(q.whole or (q.poles and unlike) for q in quantities):
        return compare(operator, expanded(left, how), right, how)
    if operator == "=":
        return All((_compare_extreme("<=", left, right, how), _compare_extreme(">=", left, right, how)))
    parts = tuple(compare(operator, part, right, how) for part in left.parts)
    if _needs_all(operator, left):
        return All(parts)
    names = sorted({name for q in quantities for name in q.operands})
    numbers = Leaf((tuple(Range(name, None, None) for name in names),), _any_of(Missing(name) for name in names))
    return Some(parts) if alike else All((Some(parts), numbers))


def _needs_all(operator: ComparisonOperator, left: Extreme) -> bool:
    """Whether every part has to compare, or one is enough."""
    return (operator in ("<", "<=")) == left.maximum


def _quantities(amount: Quantity | Extreme) -> list[Quantity]:
    return [amount] if isinstance(amount, Quantity) else [q for part in amount.parts for q in _quantities(part)]


def expanded(amount: Amount, how: Comparing) -> Amount:
    """Write an extreme as cases: the first part that no other exceeds; every operand counts, because NaN wins."""
    match amount:
        case Cases(condition=condition, then=then, otherwise=otherwise):
            return Cases(condition, expanded(then, how), expanded(otherwise, how))
        case Extreme(maximum=maximum, parts=parts):
            best, *others = (expanded(part, how) for part in parts)
            for other in others:
                nothing = lift(subtract, other, other), lift(subtract, best, best)
                first = compare(">=" if maximum else "<=", best, other, how)
                best = Cases(first, lift(add, best, nothing[0]), lift(add, other, nothing[1]))
            return best
        case _:
            return amount


def _leaf(operator: ComparisonOperator, difference: Quantity, how: Comparing) -> Formula:
    if difference.nan:
        there: Form = (tuple(Present(name) for name in sorted(how.direct | difference.empties)),)
        lacking = _any_of(Present(name, negated=True) for name in sorted(how.direct | difference.empties))
        return Leaf(there, lacking) if operator == "!=" else FALSE
    if difference.poles and not _simple(difference.poles):
        return _with_poles(operator, difference, how)
    direct = how.direct
    return _two_sided(lambda: _true(operator, difference, direct), lambda: _false(operator, difference, direct), how)


def _two_sided(positive: Callable[[], Form], negative: Callable[[], Form], how: Comparing) -> Formula:
    """Make a leaf; where only one side has a form, the engine decides the other."""
    sides: list[Form | None] = []
    reason = ""
    for side in (positive, negative):
        try:
            sides.append(side())
        except UntranslatableError as error:
            sides.append(None)
            reason = error.reason
    if None not in sides:
        return Leaf(sides[0] or NEVER, sides[1] or NEVER)
    engine = how.otherwise(reason)
    if sides == [None, None] or not isinstance(engine, Leaf):
        return engine
    return Leaf(
        engine.positive if sides[0] is None else sides[0],
        engine.negative if sides[1] is None else sides[1],
    )


@lru_cache(_REMEMBERED)
def _true(operator: ComparisonOperator, difference: Quantity, direct: frozenset[str]) -> Form:
    """Where ``difference operator 0``."""
    if operator != "!=":
        return _related(difference, "=" if operator == "=" else "<=" if operator == "<=" else "<")
    present: Form = (tuple(Present(name) for name in sorted(direct | difference.empties)),)
    return conjoin(disjoin(_unequal(difference), _not_a_number(difference)), present)


@lru_cache(_REMEMBERED)
def _false(operator: ComparisonOperator, difference: Quantity, direct: frozenset[str]) -> Form:
    """Where not ``difference operator 0``: the reverse, or an operand is no number."""
    match operator:
        case "!=":
            absent = _any_of(Present(name, negated=True) for name in sorted(direct | difference.empties))
            return disjoin(_related(difference, "="), absent)
        case "=":
            reverse = _unequal(difference)
        case _:
            reverse = _related(negate(difference), "<=" if operator == "<" else "<")
    lacking = _any_of(Present(name, negated=True) for name in sorted(difference.empties))
    return disjoin(reverse, _not_a_number(difference), lacking)


def _unequal(difference: Quantity) -> Form:
    return disjoin(_related(difference, "<"), _related(negate(difference), "<"))


def _not_a_number(difference: Quantity) -> Form:
    missing = _any_of(Missing(name) for name in sorted(difference.operands - difference.empties))
    return disjoin(missing, _undefined(difference))


def _with_poles(operator: ComparisonOperator, difference: Quantity, how: Comparing) -> Formula:
    """Several divisions: where a divisor is zero, the engine decides."""
    regular = _leaf(operator, replace(difference, poles=()), how)
    infinite = operator == "=" and len(difference.poles) == 1
    at_zero = FALSE if infinite else how.otherwise("a divisor is zero")
    poles = tuple(dict.fromkeys(difference.poles))
    return choice(Some(tuple(_is_zero(pole) for pole in poles)), at_zero, regular)


def _simple(poles: tuple[MonomialSum, ...]) -> bool:
    """Whether there is one division, by one variable times a positive number.

    Of ``-V``, ``0 - V`` and ``V * -1``, which are one polynomial, the zero has different signs in doubles.
    """
    if len(poles) != 1 or len(poles[0].terms) != 1:
        return False
    ((_, scale),) = poles[0].terms
    return poles[0].linear and scale > 0


def _is_zero(polynomial: MonomialSum) -> Formula:
    missing = _any_of(Missing(name) for name in sorted(polynomial.variables))
    return Leaf(order(polynomial, "="), disjoin(order(polynomial, "<"), order(-polynomial, "<"), missing))


def _any_of(atoms: Iterable[Atom]) -> Form:
    return tuple((atom,) for atom in atoms)


def _related(difference: Quantity, relation: Relation) -> Form:
    """``difference relation 0``, where all operands are numbers."""
    numbers: tuple[Atom, ...] = tuple(Range(name, None, None) for name in sorted(difference.operands))
    whole: tuple[Atom, ...] = tuple(Whole(name, lexical=True) for name in sorted(difference.whole))
    numerator, denominator = difference.numerator, difference.denominator
    if (value := denominator.value) is not None:
        form = order(numerator.scaled(1 / value), relation)
    elif relation == "=":
        form = conjoin(order(numerator, "="), disjoin(order(denominator, "<"), order(-denominator, "<")))
    else:
        form = disjoin(
            conjoin(order(-denominator, "<"), order(numerator, relation)),
            conjoin(order(denominator, "<"), order(-numerator, relation)),
            _at_pole(difference),
        )
    return conjoin(((*numbers, *whole),), form)


def _at_pole(difference: Quantity) -> Form:
    """``difference < 0`` where its one divisor is zero: it is infinite there, with the sign of its numerator.

    A limit: of a field that holds ``-0``, the infinity has the other sign. To ask how a zero is written would leave
    no means for any rule with a quotient, so the form says what holds of ``0``, and the engine decides each record.
    """
    residue = _residue(difference)
    return conjoin(order(difference.poles[0], "="), order(residue, "<")) if difference.poles else NEVER


def _undefined(difference: Quantity) -> Form:
    """Where the one divisor and its dividend are both zero: 0 div 0 is NaN."""
    if not difference.poles:
        return NEVER
    numbers: tuple[Atom, ...] = tuple(Range(name, None, None) for name in sorted(difference.operands))
    return conjoin((numbers,), conjoin(order(difference.poles[0], "="), order(_residue(difference), "=")))


def _residue(difference: Quantity) -> MonomialSum:
    """Return the numerator where the divisor is zero; what else is in the denominator is positive."""
    if not difference.poles:
        return ZERO
    (pole,) = difference.poles
    (name,) = pole.variables
    return difference.numerator.without(name)


def order(polynomial: MonomialSum, relation: Relation) -> Form:
    """Write ``polynomial relation 0`` as a form."""
    if (value := polynomial.value) is not None:
        true = value == 0 if relation == "=" else value < 0 or (value == 0 and relation == "<=")
        return ALWAYS if true else NEVER
    if not polynomial.linear and (by_sign := signs(polynomial, relation)) is not None:
        return by_sign
    if len(polynomial.variables) == 1 and not polynomial.linear:
        return ((_lexical(polynomial, relation),),)
    return ((relation_of(polynomial, relation),),)


def _lexical(polynomial: MonomialSum, relation: Relation) -> Lexical:
    """A condition on powers of one variable."""
    (name,) = polynomial.variables
    parts = []
    for powers, coefficient in polynomial.terms:
        factors = [f"number({name})"] * sum(power for _, power in powers)
        parts.append(" * ".join([_exact(coefficient), *factors]))
    return Lexical(name, f"{' + '.join(parts)} {relation} 0")


def _exact(value: Fraction) -> str:
    text = decimal_text(value)
    return f"({value.numerator} div {value.denominator})" if "/" in text else text


def all_of(parts: Sequence[Formula]) -> Formula:
    """Conjunction that is the part itself where there is one."""
    return parts[0] if len(parts) == 1 else All(tuple(parts))
