"""From the tree of a numeric XPath expression to an amount."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from masktron.classify.forms import Formula
from masktron.classify.polynomial import MonomialSum
from masktron.classify.quantities import (
    NOT_A_NUMBER,
    Amount,
    Cases,
    Comparing,
    Extreme,
    Nothing,
    Quantity,
    Unresolved,
    UntranslatableError,
    add,
    all_of,
    compare,
    constant,
    divide,
    expanded,
    extreme,
    lift,
    multiply,
    sign_of,
    subtract,
    total,
)
from masktron.classify.truth import number_of
from masktron.classify.values import present
from masktron.reading import nodes as said
from masktron.reading.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Castable,
    Comparison,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Number,
    Or,
    Quantified,
    Text,
)

_OPERATIONS: dict[str, Callable[[Quantity, Quantity], Quantity]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "div": divide,
}


def _refuse(reason: str) -> Formula:
    raise UntranslatableError(reason)


_EXACTLY = Comparing(_refuse)
_MAX_OPTIONAL = 4
"""Aggregates over more nodes than this have a form only where all nodes are there: cases double with each node."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Translates numeric expressions.

    Attributes
    ----------
    modern : bool
        XPath 2 or later: an absent field is the empty sequence, not NaN.
    truth : callable
        Translates the conditions inside numeric expressions.
    """

    modern: bool
    truth: Callable[[Expression], Formula]

    def of(self, expression: Expression) -> Amount:  # noqa: PLR0911 -- one branch per kind of node
        """Translate an expression.

        Raises
        ------
        UntranslatableError
            It has no formula.
        """
        match expression:
            case Number(value=value):
                return constant(value)
            case FieldRef(name=name):
                return self._field(name, may_be_empty=self.modern)
            case Text(value=text) if not self.modern:
                number = number_of(text)
                return NOT_A_NUMBER if number is None else constant(number)
            case Negative(operand=operand):
                return lift(subtract, constant(0), self.of(operand))
            case Arithmetic(operator=operator, left=left, right=right):
                return self._arithmetic(operator, self.of(left), self.of(right))
            case If(condition=condition, then=then, otherwise=otherwise):
                return Cases(self.truth(condition), self.of(then), self.of(otherwise))
            case Cast(target=target, operand=operand):
                return self._cast(target, operand)
            case Call(name=name, arguments=arguments):
                return self._call(name, arguments)
            case said.Sequence(items=(only,)):
                return self.of(only)
            case said.Sequence(items=()) if self.modern:
                return Nothing()
            case Boolean() | Comparison() | And() | Or() | Not() | Quantified() | Castable() if not self.modern:
                return Cases(self.truth(expression), constant(1), constant(0))
            case _:
                raise UntranslatableError("it is not a number that can be computed")

    @staticmethod
    def _field(name: str, *, may_be_empty: bool, whole: bool = False) -> Quantity:
        own = frozenset({name})
        none: frozenset[str] = frozenset()
        return Quantity(
            MonomialSum.variable(name),
            operands=own,
            empties=own if may_be_empty else none,
            whole=own if whole else none,
        )

    @staticmethod
    def _arithmetic(operator: str, left: Amount, right: Amount) -> Amount:
        if operator not in _OPERATIONS:
            raise UntranslatableError(f"it computes with {operator}")
        if operator in ("*", "div") and sign_of(right) is None and (operator == "div" or sign_of(left) is None):
            return _scaled(operator, left, right)
        return lift(_OPERATIONS[operator], left, right)

    def _cast(self, target: str, operand: Expression) -> Amount:
        if target in ("decimal", "double", "float"):
            return self.of(operand)
        if isinstance(operand, FieldRef) and target in ("integer", "long", "int"):
            return self._field(operand.name, may_be_empty=self.modern, whole=True)
        raise UntranslatableError(f"it converts to xs:{target}")

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> Amount:
        match name, arguments:
            case "number", (operand,):
                return self._number(operand)
            case "abs", (operand,):
                return absolute(self.of(operand))
            case (("sum" | "count" | "avg" | "min" | "max"), (operand,)):
                items = operand.items if isinstance(operand, said.Sequence) else (operand,)
                return self._aggregate(name, items)
            case (("string" | "data"), (FieldRef() as operand,)) if not self.modern:
                return self._number(operand)
            case (("floor" | "ceiling" | "round"), (operand,)):
                return self._rounded(name, self.of(operand))
            case _:
                raise UntranslatableError(f"it computes {name}()")

    def _number(self, operand: Expression) -> Amount:
        match operand:
            case (
                FieldRef(name=name)
                | Call(name="string" | "data" | "normalize-space", arguments=(FieldRef(name=name),))
            ):
                return self._field(name, may_be_empty=False)
            case Text(value=text):
                number = number_of(text)
                return NOT_A_NUMBER if number is None else constant(number)
            case Boolean() | Comparison() | And() | Or() | Not() | Quantified() | Castable():
                return Cases(self.truth(operand), constant(1), constant(0))
            case _:
                return _emptied(self.of(operand))

    @staticmethod
    def _rounded(name: str, amount: Amount) -> Amount:
        value = amount.numerator.value if isinstance(amount, Quantity) and not amount.operands else None
        if value is None or not isinstance(amount, Quantity) or amount.nan:
            raise UntranslatableError(f"it computes {name}()")
        value /= amount.denominator.value or 1
        shifted = {"floor": value, "ceiling": -value, "round": value + Fraction(1, 2)}[name]
        floor = Fraction(shifted.numerator // shifted.denominator)
        return constant(-floor if name == "ceiling" else floor)

    # --- aggregates -------------------------------------------------------------------------------------------

    def _aggregate(self, name: str, items: tuple[Expression, ...]) -> Amount:
        """Nodes that are not there do not count; numbers always do."""
        nodes = [item for item in items if isinstance(item, FieldRef)]
        if name == "count":
            return total(
                [
                    Cases(present(i), constant(1), constant(0)) if isinstance(i, FieldRef) else constant(1)
                    for i in items
                    if _countable(i)
                ]
            )
        amounts = {item: self.of(item) for item in items}
        if len(nodes) > _MAX_OPTIONAL:
            every = all_of([present(node) for node in nodes])
            return Cases(
                every, self._combined(name, list(amounts.values())), Unresolved(f"{name}() of absent fields")
            )
        return self._over_present(name, list(items), amounts, [])

    def _over_present(
        self, name: str, items: list[Expression], amounts: dict[Expression, Amount], kept: list[Amount]
    ) -> Amount:
        if not items:
            return self._combined(name, kept)
        first, rest = items[0], items[1:]
        there = self._over_present(name, rest, amounts, [*kept, amounts[first]])
        if isinstance(first, FieldRef):
            return Cases(present(first), there, self._over_present(name, rest, amounts, kept))
        if not (read := _empties(amounts[first])):
            return there
        # an expression on fields that are not there is no item either
        every = all_of([present(FieldRef(field)) for field in sorted(read)])
        return Cases(every, there, self._over_present(name, rest, amounts, kept))

    def _combined(self, name: str, amounts: Sequence[Amount]) -> Amount:
        if name == "sum":
            return total(amounts)
        if not amounts:
            return Unresolved(f"{name}() of nothing")
        if name == "avg":
            return lift(divide, total(amounts), constant(len(amounts)))
        return extreme(name == "max", amounts)


def absolute(amount: Amount) -> Amount:
    """``abs(x)``: the greater of x and -x."""
    return extreme(True, [amount, lift(subtract, constant(0), amount)])


def _scaled(operator: str, left: Amount, right: Amount) -> Amount:
    """Multiply or divide by what is no number: an extreme keeps its order for a positive factor, else turns it."""
    operation = _OPERATIONS[operator]
    if operator == "*" and isinstance(right, Extreme):
        left, right = right, left
    if not isinstance(left, Extreme) or not isinstance(right, Quantity):
        return lift(operation, expanded(left, _EXACTLY), expanded(right, _EXACTLY))
    parts = [lift(operation, part, right) for part in left.parts]
    if any(isinstance(part, Unresolved) for part in parts):
        return lift(operation, expanded(left, _EXACTLY), right)
    same, turned = extreme(left.maximum, parts), extreme(not left.maximum, parts)
    zero = constant(0)
    if operator == "*":
        return Cases(compare(">=", right, zero, _EXACTLY), same, turned)
    at_zero = lift(operation, expanded(left, _EXACTLY), right)
    return Cases(
        compare(">", right, zero, _EXACTLY), same, Cases(compare("<", right, zero, _EXACTLY), turned, at_zero)
    )


def _empties(amount: Amount) -> frozenset[str]:
    """Return the fields without which an amount is the empty sequence.

    Raises
    ------
    UntranslatableError
        That depends on a case.
    """
    match amount:
        case Quantity(empties=empties):
            return empties
        case Extreme(parts=parts):
            return frozenset().union(*map(_empties, parts))
        case Cases(then=then, otherwise=otherwise):
            if Nothing() in (then, otherwise) or _empties(then) or _empties(otherwise):
                raise UntranslatableError("it computes with items that may be absent")
            return frozenset()
        case Nothing():
            raise UntranslatableError("it computes with items that are absent")
        case Unresolved():
            return frozenset()


def _countable(item: Expression) -> bool:
    if isinstance(item, FieldRef | Number | Text):
        return True
    raise UntranslatableError("it computes count()")


def _emptied(amount: Amount) -> Amount:
    """``number()`` of an expression: NaN where that is empty."""
    match amount:
        case Cases(condition=condition, then=then, otherwise=otherwise):
            return Cases(condition, _emptied(then), _emptied(otherwise))
        case Extreme(maximum=maximum, parts=parts):
            return extreme(maximum, [_emptied(part) for part in parts])
        case Quantity():
            return replace(amount, empties=frozenset())
        case Nothing():
            return NOT_A_NUMBER
        case Unresolved():
            return amount
