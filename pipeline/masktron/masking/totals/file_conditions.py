"""Conditions on totals over the file, and numbers outside the records where rules look for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.classify.forms import ALWAYS, variables_of
from masktron.constraints import CrossRecordEdit, Relation, Tally, TallyBound
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.judging import RecordRules, held_disjuncts
from masktron.settle.grid import LONG, common_measure
from masktron.settle.prototypes import numbers_of
from masktron.sources.lexical import parse_number
from masktron.sources.xml.parser import parse_tree

type TextColumns = Mapping[str, NDArray[np.object_]]
"""Lexemes by field, record by record; None where absent."""


@dataclass(frozen=True, slots=True, eq=False)
class TallyTerm:
    """A coefficient times a figure of some records.

    Attributes
    ----------
    chosen : ndarray of bool, shape (n,)
        Records that count.
    decimals : int or None
        Fraction digits of the field, where it is a masked number that is summed; None for what no step moves.
    """

    tally: Tally
    coefficient: Fraction
    chosen: NDArray[np.bool_]
    decimals: int | None = None

    def figure(self, columns: TextColumns) -> Fraction | None:
        """Return the sum, average or count, exactly; None where a value is no number, or an average of nothing."""
        if not self.tally.field:
            return Fraction(int(self.chosen.sum()))
        found = Counter(lexeme for lexeme in columns[self.tally.field][self.chosen] if lexeme is not None)
        if self.tally.function == "count":
            return Fraction(found.total())
        total = Fraction(0)
        for lexeme, count in found.items():
            if np.isnan(parse_number(lexeme)):
                return None
            total += count * Fraction(lexeme.strip())
        if self.tally.function == "sum":
            return total
        return total / found.total() if found else None

    def weights(self, columns: TextColumns, labels: NDArray[np.intp], groups: int) -> list[Fraction]:
        """Return by how much the part grows when the value of each group grows by 1."""
        there = self.chosen & np.array([lexeme is not None for lexeme in columns[self.tally.field]], dtype=np.bool_)
        factor = self.coefficient
        if self.tally.function == "avg":
            factor /= int(there.sum()) or 1
        return [factor * int(count) for count in np.bincount(labels[there], minlength=groups)]


@dataclass(frozen=True, slots=True, eq=False)
class TotalCondition:
    """``sum(coefficient * figure) relation bound`` for one class of records.

    Attributes
    ----------
    rule : int
        Index of the check.
    key : tuple
        Tells the condition among all: rule, position of the bound, class of records.
    """

    rule: int
    key: tuple[object, ...]
    parts: tuple[TallyTerm, ...]
    relation: Relation
    bound: Fraction

    def figure(self, columns: TextColumns) -> Fraction | None:
        """Return the left side; None where it is not a number."""
        total = Fraction(0)
        for part in self.parts:
            value = part.figure(columns)
            if value is None:
                return None
            total += part.coefficient * value
        return total

    def holds(self, figure: Fraction | None) -> bool:
        """Whether the left side may have this value."""
        if figure is None:
            return False
        if self.relation == "=":
            return figure == self.bound
        return figure < self.bound or (self.relation == "<=" and figure == self.bound)

    @property
    def moving(self) -> tuple[TallyTerm, ...]:
        """Parts that steps of the groups move."""
        return tuple(part for part in self.parts if part.decimals is not None)

    @property
    def summed(self) -> frozenset[str]:
        """Masked numbers that the condition sums up."""
        return frozenset(part.tally.field for part in self.moving)

    @property
    def step(self) -> Fraction:
        """The smallest step of the grids of the fields that are summed."""
        return min((Fraction(1, 10 ** (part.decimals or 0)) for part in self.moving), default=Fraction(1))

    def measure(self, columns: TextColumns, groupings: Mapping[str, RecordGroups], *, finer: int) -> Fraction | None:
        """Return what the moving parts add up to a multiple of, whatever the groups hold; None where unknown.

        Parameters
        ----------
        groupings : mapping of field name to RecordGroups
            Of the fields that are summed; without one of them nothing is known.
        finer : int
            Fraction digits that a field with decimals may gain.

        Notes
        -----
        Theorem: in a file whose groups share their values, the moving parts add up to a multiple of the common
        measure of coefficient * (records of the group that count) * (step of the finest grid), over all groups and
        parts; and if all of these numbers move freely, to every multiple. Proof: a group adds coefficient * records *
        value, and its value is a multiple of the step; the rest is the theorem of `common_measure`.
        """
        numbers: list[Fraction] = []
        for part in self.moving:
            if part.tally.field not in groupings or (part.decimals or 0) > LONG:
                return None
            grouping, step = groupings[part.tally.field], step_of(part.decimals or 0, finer)
            numbers += [step * weight for weight in part.weights(columns, grouping.labels, grouping.groups)]
        return common_measure(numbers) if numbers else None


def step_of(decimals: int, finer: int) -> Fraction:
    """Return the step of the finest grid that a field may be written on; integers stay integers."""
    return Fraction(1, 10 ** (decimals + finer if decimals else 0))


class FileConditions:
    """What the rules over several records ask of the file, as far as it is understood and the original does it.

    A condition that the original does not satisfy is none: the rule does not fire there. Where a bound stands
    outside the records and cannot be read, the figure of the original takes its place, since it satisfies the rule.
    """

    def __init__(self, rules: RecordRules) -> None:
        self._rules = rules
        self._file = rules.file
        self._asked: dict[tuple[object, ...], tuple[Relation, Fraction]] = {}
        self._outside = ControlTotals(rules)
        for condition, known in self._conditions(rules.file.texts):
            figure = condition.figure(rules.file.texts)
            if figure is None:
                continue
            if not known:
                self._asked[condition.key] = ("=" if condition.relation == "=" else "<=", figure)
            elif condition.holds(figure):
                self._asked[condition.key] = (condition.relation, condition.bound)

    def on(self, columns: TextColumns) -> list[TotalCondition]:
        """Return the conditions, with the records that they choose in some columns."""
        found = [condition for condition, _ in self._conditions(columns) if condition.key in self._asked]
        return [
            replace(condition, relation=relation, bound=bound)
            for condition in found
            for relation, bound in [self._asked[condition.key]]
        ]

    def parting(self, variables: Sequence[str]) -> list[NDArray[np.intp]]:
        """Return codes of the classes that totals of some fields are taken over: groups do not mix them.

        Theorem: the unweighted mean of each group keeps every total over a class that is a union of groups. Proof: a
        group of g records adds g times its mean, which is the sum of its records; a union adds these up.
        """
        codes: list[NDArray[np.intp]] = []
        for _, _, bound in self._bounds():
            for tally, _ in bound.terms:
                if tally.field not in variables or tally.function not in ("sum", "avg"):
                    continue
                codes += [self._file.columns[name].ranked()[1] for name in tally.by]
                if tally.where != ALWAYS and self._file.masked.isdisjoint(variables_of(tally.where)):
                    codes.append(self._where(tally, self._file.texts).astype(np.intp))
        return codes

    def _bounds(self) -> Iterator[tuple[int, int, TallyBound]]:
        for rule in self._rules.over_file:
            constraint = self._rules.edits[rule].constraint
            if isinstance(constraint, CrossRecordEdit):
                for position, bound in enumerate(constraint.bounds):
                    by = {tally.by for tally, _ in bound.terms if tally.by}
                    if len(by) <= 1 and not any(self._file.masked.intersection(names) for names in by):
                        yield rule, position, bound

    def _conditions(self, columns: TextColumns) -> Iterator[tuple[TotalCondition, bool]]:
        """Yield each condition, and whether its bound is known."""
        for rule, position, bound in self._bounds():
            inside = [(tally, factor) for tally, factor in bound.terms if tally.function != "outside"]
            outside = [(tally, factor) for tally, factor in bound.terms if tally.function == "outside"]
            numbers = [self._outside.number(rule, tally.field) for tally, _ in outside]
            limit = bound.bound - sum(
                (factor * number for (_, factor), number in zip(outside, numbers, strict=True) if number is not None),
                Fraction(0),
            )
            chosen = [self._where(tally, columns) for tally, _ in inside]
            for code, members in self._classes(bound):
                parts = tuple(
                    TallyTerm(tally, factor, where & members if tally.by else where, self._decimals(tally))
                    for (tally, factor), where in zip(inside, chosen, strict=True)
                )
                yield TotalCondition(rule, (rule, position, code), parts, bound.relation, limit), None not in numbers

    def _decimals(self, tally: Tally) -> int | None:
        name = tally.field
        moves = tally.function in ("sum", "avg") and name in self._file.masked and name in self._file.numeric
        return self._file.columns[name].decimals if moves else None

    def _classes(self, bound: TallyBound) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yield the classes of records for which a condition is asked one by one."""
        by = next((tally.by for tally, _ in bound.terms if tally.by), ())
        columns = [self._file.columns[name].ranked()[1] for name in by]
        codes = codes_of(np.stack([np.zeros(self._file.n, dtype=np.intp), *columns], axis=1))
        for code in range(int(codes.max()) + 1):
            yield code, codes == code

    def _where(self, tally: Tally, columns: TextColumns) -> NDArray[np.bool_]:
        """Tell which records a tally takes, shape (n,)."""
        texts = {name: columns[name] for name in variables_of(tally.where)}
        numbers = {name: numbers_of(column) for name, column in texts.items()}
        return held_disjuncts(tally.where, self._file.n, numbers, texts, {}).any(axis=1)


class ControlTotals:
    """Reads numbers outside the records: masking does not change them."""

    def __init__(self, rules: RecordRules) -> None:
        self._rules = rules
        self._of_check = [rule for pattern in rules.rulebook.patterns for rule in pattern.rules for _ in rule.checks]
        self._tree: Any = None
        self._known: dict[tuple[int, str], Fraction | None] = {}

    def number(self, rule: int, path: str) -> Fraction | None:
        """Return the number at a path, as seen from the context of a rule; None where it is not one plain number."""
        if (rule, path) not in self._known:
            if self._tree is None:
                self._tree = parse_tree(self._rules.original)
            context = self._of_check[rule].context.lstrip("/")
            ways = (path, f"//{context}/{path.lstrip('/')}" if context else path)
            found = (self._number(way) for way in dict.fromkeys(ways))
            self._known[rule, path] = next((number for number in found if number is not None), None)
        return self._known[rule, path]

    def _number(self, path: str) -> Fraction | None:
        spaces = {prefix: uri for prefix, uri in self._rules.rulebook.namespaces if prefix}
        try:
            nodes = self._tree.xpath(path, namespaces=spaces)
        except etree.XPathError:
            return None  # XPath 2: the figure of the original serves as well
        texts = {str(node) if isinstance(node, str) else str(node.xpath("string()")) for node in nodes or ()}
        if len(texts) != 1 or np.isnan(parse_number(*texts)):
            return None
        return Fraction(texts.pop().strip())
