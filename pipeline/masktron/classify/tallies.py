"""What counts and totals over the file have to satisfy: linear conditions on tallies, read off the expression."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import (
    CrossRecordError,
    conditions_on,
    own_value,
    reads_other_records,
    stands_outside,
)
from masktron.classify.forms import ALWAYS, Effort, TooManyDisjunctsError, conjoin, dnf
from masktron.constraints import Form, Relation, Tally, TallyBound
from masktron.reading.nodes import (
    OPPOSITE,
    And,
    Arithmetic,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldRef,
    Negative,
    Not,
    Number,
    Or,
    OtherField,
    OtherNodes,
    Sequence,
    Unknown,
    changed,
    walk,
)
from masktron.rulebook.schema import XPathVersion

_NUMERIC = frozenset({"number", "data", "string"})


class _NotUnderstoodError(Exception):
    """A condition is not linear in tallies."""


@dataclass(frozen=True, slots=True)
class _Amount:
    """``sum(coefficient * tally) + constant``."""

    terms: dict[Tally, Fraction]
    constant: Fraction = Fraction(0)

    def plus(self, other: _Amount, factor: Fraction = Fraction(1)) -> _Amount:
        terms = dict(self.terms)
        for tally, coefficient in other.terms.items():
            terms[tally] = terms.get(tally, Fraction(0)) + factor * coefficient
        return _Amount({t: c for t, c in terms.items() if c}, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> _Amount:
        return _Amount({}).plus(self, factor)


@dataclass(frozen=True, slots=True)
class TallyReader:
    """Reads conditions on counts and totals.

    Attributes
    ----------
    version : str
        XPath version of the rulebook.
    records : collection of str
        Local names of the record elements.
    fields : collection of str or None
        Names of the fields of the file, where they are known.
    """

    version: XPathVersion
    records: Collection[str]
    fields: Collection[str] | None

    def bounds(  # noqa: PLR0911 -- one branch per kind of node
        self, test: Expression, *, wanted: bool = True
    ) -> tuple[TallyBound, ...]:
        """Return what tallies have to satisfy for a test to be as wanted; nothing for what is not understood.

        All of them are necessary, together they need not be sufficient: of a conjunction, the parts that are
        understood are returned; of a disjunction, nothing is.
        """
        match test:
            case Not(operand=inner):
                return self.bounds(inner, wanted=not wanted)
            case Call(name="boolean", arguments=(inner,)):
                return self.bounds(inner, wanted=wanted)
            case And(parts=parts) if wanted:
                return tuple(bound for part in parts for bound in self.bounds(part))
            case Or(parts=parts) if not wanted:
                return tuple(bound for part in parts for bound in self.bounds(part, wanted=False))
            case Comparison(operator=operator) if reads_other_records(test):
                try:
                    return tuple(self._comparison(test, operator if wanted else OPPOSITE[operator]))
                except (_NotUnderstoodError, CrossRecordError, TooManyDisjunctsError):
                    return ()
            case _:
                return ()

    def _comparison(self, test: Comparison, operator: ComparisonOperator) -> list[TallyBound]:
        left, right = test.left, test.right
        if operator in (">", ">="):
            left, right, operator = right, left, "<" if operator == ">" else "<="
        if operator == "!=":
            raise _NotUnderstoodError
        limit = self.amount(right)
        match left:
            case Call(name="abs", arguments=(inner,)) if operator in ("<", "<="):
                amount = self.amount(inner)
                return [_bound(amount, operator, limit), _bound(amount.times(Fraction(-1)), operator, limit)]
            case _:
                return [_bound(self.amount(left), operator, limit)]

    def amount(self, expression: Expression) -> _Amount:  # noqa: PLR0911 -- one branch per kind of node
        """Read a linear expression in tallies.

        Raises
        ------
        _NotUnderstoodError
            It is not linear, or reads the record at hand.
        """
        match expression:
            case Number(value=value):
                return _Amount({}, value)
            case Negative(operand=operand):
                return self.amount(operand).times(Fraction(-1))
            case Arithmetic(operator="+" | "-" as operator, left=left, right=right):
                return self.amount(left).plus(self.amount(right), Fraction(1 if operator == "+" else -1))
            case Arithmetic(operator="*", left=left, right=right):
                one, other = self.amount(left), self.amount(right)
                if one.terms and other.terms:
                    raise _NotUnderstoodError
                return one.times(other.constant) if one.terms else other.times(one.constant)
            case Arithmetic(operator="div", left=left, right=right):
                return self._quotient(left, right)
            case Call(name="sum" | "avg" as function, arguments=(nodes,)):
                return self._figures("sum" if function == "sum" else "avg", nodes)
            case Call(name="count", arguments=(OtherNodes() as nodes,)):
                return _Amount({self._tally("count", nodes): Fraction(1)})
            case Call(name="number", arguments=(inner,)) | Cast(operand=inner):
                return self._outside(inner)
            case _:
                return self._outside(expression)

    def _quotient(self, left: Expression, right: Expression) -> _Amount:
        """A division by a constant, or a sum by the count of what is summed: the average."""
        above, below = self.amount(left), self.amount(right)
        if not below.terms and below.constant:
            return above.times(1 / below.constant)
        match [*above.terms.items()], [*below.terms.items()]:
            case [(Tally(function="sum") as total, factor)], [(Tally(function="count") as count, divisor)]:
                same = (total.where, total.by) == (count.where, count.by) and count.field in ("", total.field)
                if same and not above.constant and not below.constant:
                    return _Amount({replace(total, function="avg"): factor / divisor})
            case _:
                pass
        raise _NotUnderstoodError

    def _figures(self, function: Any, nodes: Expression) -> _Amount:
        match nodes:
            case Call(name=name, arguments=(inner,)) if name in _NUMERIC:
                return self._figures(function, inner)
            case Cast(operand=inner):
                return self._figures(function, inner)
            case Sequence(items=items) if function == "sum":
                total = _Amount({})
                for item in items:
                    total = total.plus(self._figures(function, item))
                return total
            case OtherNodes(field=str()):
                return _Amount({self._tally(function, nodes): Fraction(1)})
            case _:
                raise _NotUnderstoodError

    def _outside(self, nodes: Expression) -> _Amount:
        """A number in a header: one that no record and no other record changes."""
        if not isinstance(nodes, OtherNodes) or nodes.document is not None or nodes.where:
            raise _NotUnderstoodError
        if not stands_outside(nodes, self.records, self.fields):
            raise _NotUnderstoodError
        return _Amount({Tally("outside", nodes.path): Fraction(1)})

    def _tally(self, function: Any, nodes: OtherNodes) -> Tally:
        if nodes.document is not None or nodes.path.startswith(("preceding", "following")):
            raise _NotUnderstoodError
        if stands_outside(nodes, self.records, self.fields):
            raise _NotUnderstoodError
        where, by = ALWAYS, []
        for condition in conditions_on(nodes):
            if (name := own_value(condition, nodes.field)) is not None:
                by.append(name)
            else:
                where = conjoin(where, self._form(condition, nodes.field))
        return Tally(function, nodes.field or "", where, tuple(sorted(set(by))))

    def _form(self, condition: Expression, field: str | None) -> Form:
        """Read a predicate on other records as a condition on the record at hand: it means the same for each."""
        truth = isinstance(condition, Comparison | And | Or | Not | Call | OtherField)
        if not truth or any(isinstance(node, FieldRef | OtherNodes) for node in walk(condition)):
            raise _NotUnderstoodError  # a position, or something of the record at hand
        home = changed(condition, lambda node: _at_home(node, field))
        if any(isinstance(node, Unknown | OtherField) for node in walk(home)):
            raise _NotUnderstoodError
        return dnf(Conditions(self.version).truth(home), Effort())


def _at_home(node: Expression, field: str | None) -> Expression | None:
    """Return the field of the record at hand that takes the place of one of other records."""
    match node:
        case OtherField(name="."):
            if field is None:
                raise _NotUnderstoodError
            return FieldRef(field)
        case OtherField(name=name):
            return FieldRef(name)
        case Unknown(source=source, fields=(name,)) if field is not None and source == f"../{name}":
            return FieldRef(name)
        case _:
            return None


def _bound(left: _Amount, operator: ComparisonOperator, right: _Amount) -> TallyBound:
    amount = left.plus(right, Fraction(-1))
    if not any(tally.function != "outside" for tally in amount.terms):
        raise _NotUnderstoodError
    ordered = sorted(amount.terms.items(), key=lambda term: (term[0].function, term[0].field, str(term[0].where)))
    relations: dict[ComparisonOperator, Relation] = {"=": "=", "<": "<", "<=": "<="}
    return TallyBound(tuple(ordered), relations[operator], -amount.constant)
