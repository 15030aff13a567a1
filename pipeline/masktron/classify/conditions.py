"""From the tree of an XPath expression to a formula: what is true when the expression is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

from masktron.classify.amounts import Amounts, absolute
from masktron.classify.crossrecord import CrossRecordError, reads_other_records
from masktron.classify.forms import FALSE, TRUE, All, Formula, Leaf, Negation, Some, choice
from masktron.classify.integrality import castable, fractional, integrality, remainder
from masktron.classify.kinds import ValueKind, kind_of
from masktron.classify.quantities import (
    Amount,
    Cases,
    Comparing,
    Extreme,
    Nothing,
    Quantity,
    Unresolved,
    UntranslatableError,
    add,
    compare,
    constant,
    lift,
    subtract,
)
from masktron.classify.truth import decide, number_of, undecidable
from masktron.classify.values import (
    domain_of,
    emptiness,
    equals_text,
    is_string_call,
    joined_list,
    member,
    present,
    root_of_square,
    spread,
)
from masktron.constraints import Form, Lexical, Missing, Present, Untranslated, Whole
from masktron.reading.nodes import (
    And,
    Boolean,
    Call,
    Castable,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldRef,
    If,
    Not,
    Number,
    Or,
    OtherDocument,
    OtherField,
    OtherNodes,
    Quantified,
    Sequence,
    Text,
    Unknown,
    VariableReference,
    fields_of,
    reads_everything,
    walk,
)
from masktron.reading.plain_text import source_of
from masktron.rulebook.expressions.tree import MIRRORED
from masktron.rulebook.schema import XPathVersion


@dataclass(slots=True)
class Conditions:
    """Translates conditions of one rule.

    Attributes
    ----------
    version : str
        XPath version; it decides how text and numbers compare.
    lints, reasons : list of str
        What was noticed on the way: doubtful comparisons; why something has no form.
    """

    version: XPathVersion
    lints: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    @property
    def modern(self) -> bool:
        """Whether untyped values compare as text (XPath 2 and later)."""
        return self.version != "1.0"

    @property
    def amounts(self) -> Amounts:
        """The translator of numeric expressions."""
        return Amounts(self.modern, self.truth)

    def truth(self, expression: Expression) -> Formula:
        """Translate the effective boolean value of an expression.

        Raises
        ------
        CrossRecordError
            It depends on other records.
        TooManyDisjunctsError
        """
        found = self._connective(expression)
        return found if found is not None else self._simple(expression)

    def _connective(self, expression: Expression) -> Formula | None:  # noqa: PLR0911 -- as above
        match expression:
            case Boolean(value=value):
                return TRUE if value else FALSE
            case And(parts=parts):
                return All(tuple(self.truth(part) for part in parts))
            case Or(parts=parts):
                return Some(tuple(self.truth(part) for part in parts))
            case Not(operand=operand) | Call(name="empty", arguments=(operand,)):
                return Negation(self.truth(operand) if isinstance(expression, Not) else self._exists(operand))
            case If(condition=condition, then=then, otherwise=otherwise):
                return choice(self.truth(condition), self.truth(then), self.truth(otherwise))
            case Quantified(every=every, cases=cases):
                return self._quantified(every, cases)
            case Comparison():
                return self.comparison(expression)
            case _:
                return None

    def _simple(self, expression: Expression) -> Formula:  # noqa: PLR0911 -- as above
        match expression:
            case FieldRef() | Sequence() | OtherNodes():
                return self._exists(expression)
            case Call(name="boolean", arguments=(operand,)):
                return self.truth(operand)
            case Call(name="exists", arguments=(operand,)):
                return self._exists(operand)
            case Call(name="index-of"):
                return self._exists(expression)
            case Call(name="contains", arguments=(Text(value=listed), inner)):
                found = joined_list(listed, inner)
                return found if found is not None else self.engine(expression)
            case Castable():
                return castable(expression, source_of(expression), self.version) or self.engine(expression)
            case _:
                pass
        match kind_of(expression):
            case "number":
                return self._nonzero(expression)
            case "string":
                return self.comparison(Comparison("!=", expression, Text("")))
            case _:
                return self.engine(expression)

    def _exists(self, expression: Expression) -> Formula:
        match expression:
            case FieldRef():
                return present(expression)
            case Sequence(items=items):
                return Some(tuple(self._exists(item) for item in items))
            case Call(name="index-of", arguments=(OtherNodes() as nodes, value, *_)):
                return domain_of(value, nodes) or self.engine(expression)
            case OtherNodes(document=str()):
                return domain_of(None, expression) or self.engine(expression)
            case Number() | Text() | Boolean():
                return TRUE
            case _:
                return self.engine(expression)

    def _quantified(self, every: bool, cases: tuple[tuple[Expression, Expression], ...]) -> Formula:
        parts: list[Formula] = []
        for item, condition in cases:
            if isinstance(item, OtherNodes):
                parts.append(self._over_document(every, item, condition))
                continue
            there = self._exists(item) if isinstance(item, FieldRef) else TRUE
            holds = self.truth(condition)
            parts.append(Some((Negation(there), holds)) if every else All((there, holds)))
        return All(tuple(parts)) if every else Some(tuple(parts))

    def _over_document(self, every: bool, item: OtherNodes, condition: Expression) -> Formula:
        """``some $x in $original//V1 satisfies $x = V1``."""
        elsewhere = item.document is not None and not every
        match condition:
            case Comparison(operator="=", left=left, right=right) if elsewhere and item in (left, right):
                return self.comparison(condition)
            case _:
                pass
        return self.engine(Quantified(every, ((item, condition),)))

    def engine(self, expression: Expression, reason: str = "") -> Formula:
        """Leave a condition to the engine: one atom, on one variable if it reads no more.

        Raises
        ------
        CrossRecordError
            It depends on other records.
        """
        if reads_other_records(expression):
            raise CrossRecordError(expression)
        names = tuple(sorted(fields_of(expression)))
        source = source_of(expression)
        free = reads_everything(expression) or any(
            isinstance(node, OtherNodes | OtherField | OtherDocument | VariableReference) for node in walk(expression)
        )
        problem = "" if free else undecidable(source, self.version)
        constant = not names and not any(isinstance(node, Unknown) for node in walk(expression))
        if constant and not free and not problem:
            return TRUE if decide(source, self.version, {}) else FALSE
        free = free or bool(problem)
        opposite = f"not({source})"
        if len(names) == 1 and not free:
            return Leaf(
                ((Lexical(names[0], source, self.version),),), ((Lexical(names[0], opposite, self.version),),)
            )
        self.reasons.append(f"{source}: {problem or reason or 'it has no normal form'}")
        version = "" if free or not names else self.version
        positive: Form = ((Untranslated(names, source, version),),)
        return Leaf(positive, ((Untranslated(names, opposite, version),),))

    # --- comparisons ------------------------------------------------------------------------------------------

    def comparison(self, expression: Comparison) -> Formula:  # noqa: PLR0911 -- one branch per kind of operand
        """Translate a comparison."""
        expression = emptiness(expression)
        left, right = expression.left, expression.right
        if (found := self._where_there(expression)) is not None:
            return found
        if isinstance(left, OtherNodes) or isinstance(right, OtherNodes):
            return self._with_outside(expression)
        if (found := integrality(expression, self.version)) is not None:
            return found
        if expression.general and (pairs := spread(left, right)) is not None:
            return self._over_pairs(expression.operator, *pairs)
        kinds = (kind_of(left), kind_of(right))
        if "boolean" in kinds:
            return self._booleans(expression)
        if "other" in kinds:
            return self.engine(expression)
        return self._text(expression) if self._as_text(kinds, expression) else self._numeric(expression)

    def _where_there(self, expression: Comparison) -> Formula | None:
        """``A/number() > 3``: false where the path leads nowhere; None for any other comparison."""
        match expression:
            case Comparison(left=If(condition=there, then=then, otherwise=Sequence(items=()))):
                found = replace(expression, left=then)
            case Comparison(right=If(condition=there, then=then, otherwise=Sequence(items=()))):
                found = replace(expression, right=then)
            case _:
                return None
        return All((self.truth(there), self.comparison(found)))

    def _with_outside(self, expression: Comparison) -> Formula:
        """A comparison with nodes of another document, or of other records."""
        value, nodes = expression.left, expression.right
        if isinstance(value, OtherNodes):
            value, nodes = nodes, value
        if expression.operator == "=" and isinstance(nodes, OtherNodes) and (found := domain_of(value, nodes)):
            return found
        return self.engine(expression)

    def _over_pairs(
        self, operator: ComparisonOperator, left: tuple[Expression, ...], right: tuple[Expression, ...]
    ) -> Formula:
        """A general comparison is true if it is for some pair of items."""
        if operator == "=" and (found := member(left, right, modern=self.modern)) is not None:
            return found
        pairs = tuple(self.comparison(Comparison(operator, one, two)) for one in left for two in right)
        return pairs[0] if len(pairs) == 1 else Some(pairs)

    def _booleans(self, expression: Comparison) -> Formula:
        if expression.operator not in ("=", "!="):
            return self.engine(expression)
        if self.modern and {kind_of(expression.left), kind_of(expression.right)} != {"boolean"}:
            return self.engine(expression)
        left, right = self.truth(expression.left), self.truth(expression.right)
        same = choice(left, right, Negation(right))
        return same if expression.operator == "=" else Negation(same)

    def _as_text(self, kinds: tuple[ValueKind, ValueKind], expression: Comparison) -> bool:
        """Whether XPath compares these operands as text."""
        if "number" in kinds:
            if self.modern and ("string" in kinds or ("node" in kinds and not expression.general)):
                self._lint(
                    f"{source_of(expression)} compares text with a number, which XPath 2 refuses: use number()"
                )
                return True
            return False
        return self.modern or expression.operator in ("=", "!=")

    def _text(self, expression: Comparison) -> Formula:
        left, right = expression.left, expression.right
        if isinstance(left, Text) and not isinstance(right, Text):
            left, right = right, left
        comparable = expression.operator in ("=", "!=") and kind_of(left) != "number"
        if comparable and isinstance(right, Text) and (found := equals_text(left, right.value)) is not None:
            return found if expression.operator == "=" else _differs(found, left)
        self._doubtful(expression)
        return self.engine(expression, "it compares text, not numbers")

    def _doubtful(self, expression: Comparison) -> None:
        kinds = {kind_of(expression.left), kind_of(expression.right)}
        quoted = any(isinstance(s, Text) and _looks_numeric(s.value) for s in (expression.left, expression.right))
        if kinds == {"node"} or (quoted and expression.operator not in ("=", "!=")):
            self._lint(
                f"{source_of(expression)} compares text, not numbers ('10' < '9'): "
                "put number() around the fields if they hold numbers"
            )

    def _lint(self, text: str) -> None:
        if text not in self.lints:
            self.lints.append(text)

    def _numeric(self, expression: Comparison) -> Formula:
        how = self._how(expression)
        if (found := rounded(expression, self.amounts.of, how, self.version)) is not None:
            return found
        try:
            left, right = self.amounts.of(expression.left), self.amounts.of(expression.right)
            if (root := root_of_square(expression.left, right)) is not None:
                left, right = absolute(self.amounts.of(root[0])), constant(root[1])
            return compare(expression.operator, left, right, how)
        except UntranslatableError as error:
            return how.otherwise(error.reason)

    def _nonzero(self, expression: Expression) -> Formula:
        """The effective boolean value of a number: false for zero and for NaN."""
        if (found := remainder(expression, self.version)) is not None:
            return found
        how = self._how(expression)
        try:
            amount = self.amounts.of(expression)
        except UntranslatableError as error:
            return how.otherwise(error.reason)
        zero = constant(0)
        return Some((compare("<", amount, zero, how), compare(">", amount, zero, how)))

    def _how(self, expression: Expression) -> Comparing:
        sides = (expression.left, expression.right) if isinstance(expression, Comparison) else ()
        direct = frozenset(side.name for side in sides if isinstance(side, FieldRef))
        return Comparing(
            lambda reason: self.engine(expression, reason), direct=frozenset() if self.modern else direct
        )


def _differs(equal: Formula, left: Expression) -> Formula:
    """``!=`` between text: a node that is not there differs from nothing."""
    differs = Negation(equal)
    return (
        differs
        if is_string_call(left)
        else All((*(present(f) for f in walk(left) if isinstance(f, FieldRef)), differs))
    )


def _looks_numeric(text: str) -> bool:
    return number_of(text) is not None


def rounded(
    comparison: Comparison, amount: Callable[[Expression], Amount], how: Comparing, version: str
) -> Formula | None:
    """Translate the comparison of a rounded number with a constant, or its equality with a field.

    With an integer y, ``floor(x) = y`` says that ``y <= x < y + 1``; ``ceiling(x)`` is ``-floor(-x)``, and
    ``round(x)`` is ``floor(x + 1/2)`` in all versions of XPath.

    Returns
    -------
    Formula or None
        None where the comparison is of another kind.
    """
    for call, other, operator in (
        (comparison.left, comparison.right, comparison.operator),
        (comparison.right, comparison.left, MIRRORED[comparison.operator]),
    ):
        match call:
            case Call(name="floor" | "ceiling" | "round" as name, arguments=(inner,)):
                try:
                    value, limit = amount(inner), amount(other)
                except UntranslatableError:
                    return None  # whoever asks finds the reason again, on the way to the engine
                return _floor(*_as_floor(name, operator, value, limit), how, version)
            case _:
                pass
    return None


def _as_floor(
    name: str, operator: ComparisonOperator, value: Amount, limit: Amount
) -> tuple[ComparisonOperator, Amount, Amount]:
    """Write a comparison of a rounded value with a limit as one of ``floor(value)``."""
    zero = constant(0)
    match name:
        case "ceiling":
            return MIRRORED[operator], lift(subtract, zero, value), lift(subtract, zero, limit)
        case "round":
            return operator, lift(add, value, constant(Fraction(1, 2))), limit
        case _:
            return operator, value, limit


def _floor(
    operator: ComparisonOperator, value: Amount, limit: Amount, how: Comparing, version: str
) -> Formula | None:
    if not isinstance(limit, Quantity) or limit.nan or (limit.poles and operator != "="):
        return None
    if operator == "!=":
        equal = _floor("=", value, limit, how, version)
        there = sorted(how.direct | limit.empties | _empties(value))
        return None if equal is None else All((*(present(FieldRef(name)) for name in there), Negation(equal)))
    number = None if limit.operands else limit.numerator.value
    if number is not None:
        return _against_number(operator, value, number / (limit.denominator.value or 1), how)
    whole = _whole(limit, version) if operator == "=" else None
    if whole is None:
        return None
    above = compare("<", value, lift(add, limit, constant(1)), how)
    return All((compare("<=", limit, value, how), above, whole))


def _against_number(operator: ComparisonOperator, value: Amount, number: Fraction, how: Comparing) -> Formula:
    """``floor(x) <= c`` is ``x < floor(c) + 1``, ``floor(x) >= c`` is ``x >= ceil(c)``, and so on."""
    match operator:
        case "<=":
            return compare("<", value, constant(floor(number) + 1), how)
        case "<":
            return compare("<", value, constant(ceil(number)), how)
        case ">=":
            return compare(">=", value, constant(ceil(number)), how)
        case ">":
            return compare(">=", value, constant(floor(number) + 1), how)
        case _ if number.denominator != 1:
            return FALSE
        case _:
            return All((compare(">=", value, constant(number), how), compare("<", value, constant(number + 1), how)))


def _whole(limit: Quantity, version: str) -> Formula | None:
    """Ask that a field plus an integer, or an integer minus a field, is an integer; None for other limits."""
    if limit.denominator.value != 1 or limit.whole or limit.operands != limit.numerator.variables:
        return None
    if len(limit.operands) != 1 or not limit.numerator.linear:
        return None
    if any(abs(c) != 1 if powers else c.denominator != 1 for powers, c in limit.numerator.terms):
        return None
    (name,) = limit.operands
    lacking = Present(name, negated=True) if name in limit.empties else Missing(name)
    return Leaf(((Whole(name),),), (*fractional(name, version), (lacking,)))


def _empties(amount: Amount) -> frozenset[str]:
    match amount:
        case Quantity(empties=empties):
            return empties
        case Extreme(parts=parts):
            return frozenset[str]().union(*map(_empties, parts))
        case Cases(then=then, otherwise=otherwise):
            return _empties(then) | _empties(otherwise)
        case Unresolved() | Nothing():
            return frozenset()
