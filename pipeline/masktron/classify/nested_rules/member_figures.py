"""What a rule of a nested file reads, fields and figures over members: forms over them, and both in mathematics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, assert_never

from masktron.classify.display import render_form
from masktron.classify.edit import MissingStep
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)
from masktron.sources.level_tree import Level, LevelPath, Tree
from masktron.sources.record_layout import Field

type MemberFunction = Literal["count", "sum", "min", "max", "avg", "distinct"]
type SiblingOrder = Literal["before", "after"]


@dataclass(frozen=True, slots=True, eq=False)
class RecordNode:
    """A record of some level that an expression speaks of.

    Attributes
    ----------
    path : tuple of str
        Of its level in the tree.
    above : RecordNode or None
        The record around it; None for the unit.
    depth : int
        0 for the record at which the rule fires and those around it; of a bound record, how many are bound with it.
    order : tuple of (str, RecordNode), optional
        That it stands before or after a sibling.
    picked : Picked, optional
        That it is one of several by its position.
    """

    level: Level
    path: LevelPath
    above: RecordNode | None
    depth: int = 0
    order: tuple[SiblingOrder, RecordNode] | None = None
    picked: Picked | None = None

    def around(self) -> Iterator[RecordNode]:
        """Yield this record and those around it, the innermost first."""
        at: RecordNode | None = self
        while at is not None:
            yield at
            at = at.above


@dataclass(frozen=True, slots=True)
class Picked:
    """The record at a position among those that satisfy a condition; it may not be there.

    Attributes
    ----------
    node : RecordNode
        The bound record that runs over them.
    where : tuple of str
        MemberConditions, as expressions on figures.
    position : int
        From 1.
    from_end : bool
        Whether it counts from the last.
    """

    node: RecordNode
    where: tuple[str, ...]
    position: int
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class SingleField:
    """The field of one record."""

    node: RecordNode
    field: Field


@dataclass(frozen=True, slots=True)
class MemberFigure:
    """A figure over all records that can take the place of bound ones.

    Attributes
    ----------
    function : {"count", "sum", "min", "max", "avg", "distinct"}
        ``distinct`` is how many values there are.
    bound : tuple of RecordNode
        The outermost first.
    where : tuple of str
        MemberConditions that all of them satisfy, as expressions on figures.
    of : str
        The figure that is summed or compared; empty where records are counted.
    """

    function: MemberFunction
    bound: tuple[RecordNode, ...]
    where: tuple[str, ...]
    of: str = ""


type RuleFigure = SingleField | MemberFigure


@dataclass(slots=True)
class FigureTable:
    """The figures of a rule by the names that they have as fields of a flat record; equal ones have one name.

    Steps to a name that no record of their level has lead to nothing, and are noted in `missing`.
    """

    figures: dict[str, RuleFigure] = field(default_factory=dict)
    missing: list[MissingStep] = field(default_factory=list)
    _names: dict[tuple[object, ...], str] = field(default_factory=dict)
    _nodes: dict[tuple[object, ...], RecordNode] = field(default_factory=dict)

    def single(self, node: RecordNode, own: Field) -> str:
        """Return the name of a field of a record."""
        return self._named((id(node), own.name), SingleField(node, own))

    def figure(self, figure: MemberFigure) -> str:
        """Return the name of a figure over members."""
        nodes = tuple(map(id, figure.bound))
        return self._named((figure.function, nodes, figure.where, figure.of), figure)

    def node(
        self,
        level: Level,
        above: RecordNode,
        depth: int,
        order: tuple[SiblingOrder, RecordNode] | None = None,
        picked: Picked | None = None,
    ) -> RecordNode:
        """Return a record of a level in another record; the same one for the same asking."""
        path = (*above.path, level.name)
        chosen = picked and (id(picked.node), picked.where, picked.position, picked.from_end)
        key = (id(above), path, depth, order and (order[0], id(order[1])), chosen)
        if key not in self._nodes:
            self._nodes[key] = RecordNode(level, path, above, depth, order, picked)
        return self._nodes[key]

    def _named(self, key: tuple[object, ...], figure: RuleFigure) -> str:
        if key not in self._names:
            self._names[key] = f"{MARK}{len(self._names) + 1}"
            self.figures[self._names[key]] = figure
        return self._names[key]


MARK = "\u019b"
"""With it, the names of figures begin: a letter that no rulebook has where a name may stand."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelRule:
    """What a check of a nested file says, at each record at which it fires.

    Attributes
    ----------
    node : RecordNode
        Any record at which it fires.
    field : Field or None
        The field of it on which the context is, where it is on one.
    form : Form
        What holds there, over the names of figures.
    figures : mapping of str to RuleFigure
    conditions : mapping of tuple of str to Form
        The form of each condition on members, by its expressions.
    """

    node: RecordNode
    field: Field | None
    form: Form
    figures: Mapping[str, RuleFigure]
    conditions: Mapping[tuple[str, ...], Form]

    def fields_read(self) -> Iterable[tuple[LevelPath, Field]]:
        """Yield the fields that it reads, each with the path of its level."""
        for figure in self.figures.values():
            if isinstance(figure, SingleField):
                yield figure.node.path, figure.field
        if self.field is not None:
            yield self.node.path, self.field


_FIGURE = re.compile(rf"number\(({MARK}\d+)\)|({MARK}\d+)")


def without_impossible(form: Form, figures: Mapping[str, RuleFigure]) -> Form:
    """Return a form without what is true or false of every figure: a number of records is always a number.

    Parameters
    ----------
    form : Form
    figures : mapping of str to RuleFigure
    """
    counts = {
        name
        for name, figure in figures.items()
        if isinstance(figure, MemberFigure) and figure.function in ("count", "distinct")
    }
    kept = []
    for conjunction in form:
        if any(_never(atom, counts) for atom in conjunction):
            continue
        left = tuple(atom for atom in conjunction if not _always(atom, counts))
        if left not in kept:
            kept.append(left)
    return ((),) if () in kept else tuple(kept)


def _never(atom: Atom, counts: set[str]) -> bool:
    match atom:
        case Missing(variable=name) | Present(variable=name, negated=True):
            return name in counts
        case Range(variable=name, high=high, high_open=opened) if name in counts and high is not None:
            return high < 0 or (high == 0 and opened)
        case _:
            return False


def _always(atom: Atom, counts: set[str]) -> bool:
    match atom:
        case Present(variable=name) | Whole(variable=name):
            return name in counts
        case Range(variable=name, low=low, high=None, low_open=opened) if name in counts:
            return low is None or low < 0 or (low == 0 and not opened)
        case _:
            return False


def with_names(form: Form, name: Callable[[str], str]) -> Form:
    """Return a form whose variables have other names.

    Parameters
    ----------
    form : Form
    name : callable
        The new name of a variable.
    """
    return tuple(tuple(_named(atom, name) for atom in conjunction) for conjunction in form)


def text_with_names(text: str, name: Callable[[str], str]) -> str:
    """Return an expression on figures with other names for them."""
    return _FIGURE.sub(lambda found: name(found[1] or found[2]), text)


def _named(atom: Atom, name: Callable[[str], str]) -> Atom:
    match atom:
        case Linear(terms=terms):
            return replace(atom, terms=tuple(sorted((name(own), coefficient) for own, coefficient in terms)))
        case Product(left=left, right=right):
            return replace(atom, left=tuple(_monomial(m, name) for m in left), right=_monomial(right, name))
        case Polynomial(terms=monomials):
            return replace(atom, terms=tuple(_monomial(m, name) for m in monomials))
        case Untranslated(variables=variables, test=test):
            return replace(atom, variables=tuple(map(name, variables)), test=text_with_names(test, name), version="")
        case Lexical(variable=own, test=test):
            return replace(atom, variable=name(own), test=text_with_names(test, name))
        case Range() | Member() | Whole() | Missing() | Present() | InDomain():
            return replace(atom, variable=name(atom.variable))
        case _:
            assert_never(atom)


def _monomial(monomial: Monomial, name: Callable[[str], str]) -> Monomial:
    return replace(monomial, powers=tuple(sorted((name(own), power) for own, power in monomial.powers)))


_LETTERS = "pqrstuvw"
_ORDINALS = {1: "first", 2: "second", 3: "third"}
_FUNCTIONS = {"sum": "Σ", "min": "min", "max": "max", "avg": "mean"}


@dataclass(frozen=True, slots=True)
class LevelWords:
    """Words for what one rule reads.

    Attributes
    ----------
    rule : LevelRule
    tree : Tree
    letters : mapping of int to str
        By the identity of a record; for levels of which the rule speaks of several records.
    """

    rule: LevelRule
    tree: Tree
    letters: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: LevelRule, tree: Tree) -> LevelWords:
        """Return the words of a rule: letters tell records of one level from each other."""
        seen: dict[int, RecordNode] = {id(rule.node): rule.node}
        for figure in rule.figures.values():
            nodes = (figure.node,) if isinstance(figure, SingleField) else figure.bound
            seen |= {id(node): node for node in nodes if node.picked is None}
        compared = {id(node) for node in _read_beside(rule)}
        paths = [node.path for node in seen.values() if id(node) in compared]
        several = [
            node for node in seen.values() if id(node) in compared and node.path and paths.count(node.path) > 1
        ]
        return cls(rule, tree, {id(node): _LETTERS[min(at, len(_LETTERS) - 1)] for at, node in enumerate(several)})

    def name(self, figure_name: str) -> str:
        """Return what a figure is called."""
        figure = self.rule.figures.get(figure_name)
        if figure is None:
            return figure_name
        return self._single(figure) if isinstance(figure, SingleField) else self._over(figure)

    def every(self, nodes: Sequence[RecordNode]) -> str:
        """Return the quantifier over records, ``∀ Person:``."""
        return f"∀ {self._kind(nodes)}: "

    def said(self, form: Form) -> str:
        """Return a form in mathematics."""
        alone = len(form) == 1 and len(form[0]) == 1
        shown = tuple(tuple(self._shown(atom, alone=alone) for atom in conjunction) for conjunction in form)
        return render_form(with_names(shown, self.name))

    def text(self, expression: str) -> str:
        """Return an expression on figures in terms of fields."""
        return text_with_names(expression, self.name)

    def _shown(self, atom: Atom, *, alone: bool) -> Atom:
        """Write how many members satisfy a condition as a quantifier, where it is one."""
        if not isinstance(atom, Range):
            return atom
        figure = self.rule.figures.get(atom.variable)
        if not isinstance(figure, MemberFigure) or figure.function != "count":
            return atom
        quantifier = _quantifier(atom)
        if not quantifier:
            return atom
        said = f"{quantifier} {self._which(figure)}"
        return Lexical(atom.variable, said if alone or not figure.where else f"({said})")

    def _which(self, figure: MemberFigure) -> str:
        where = self._where(figure.where)
        return self._kind(figure.bound) + (f": {where}" if where else "")

    def _where(self, where: tuple[str, ...]) -> str:
        if not where:
            return ""
        form = self.rule.conditions[where]
        said = self.said(form)
        return said if len(form) <= 1 and all(len(conjunction) <= 1 for conjunction in form) else f"({said})"

    def _kind(self, bound: Sequence[RecordNode]) -> str:
        last = bound[-1]
        level = "/".join((*(node.level.name for node in bound[:-1]), last.level.name))
        order = {"before": "earlier ", "after": "later "}[last.order[0]] if last.order else ""
        letters = [self.letters[id(node)] for node in bound if id(node) in self.letters]
        return f"{order}{level}{''.join(f' {letter}' for letter in letters)}"

    def _single(self, figure: SingleField) -> str:
        node = figure.node
        if node.picked is not None:
            return f"{self._picked(node, node.picked)}/{figure.field.name}"
        if letter := self.letters.get(id(node)):
            return f"{letter}.{figure.field.name}"
        return self.tree.name_of[node.path, figure.field]

    def _picked(self, node: RecordNode, picked: Picked) -> str:
        beside = picked.node.order
        which = _ORDINALS.get(picked.position, f"{picked.position}th")
        if beside is not None and picked.position == 1 and not picked.where:
            near = (beside[0] == "before") == picked.from_end
            if near:
                return f"{'previous' if beside[0] == 'before' else 'next'} {node.level.name}"
        order = {"before": "earlier ", "after": "later "}[beside[0]] if beside else ""
        last = ("last" if picked.position == 1 else f"{which} last") if picked.from_end else which
        where = self._where(picked.where)
        return f"{last} {order}{node.level.name}" + (f" ({where})" if where else "")

    def _over(self, figure: MemberFigure) -> str:
        if figure.function == "count":
            return f"|{self._which(figure)}|"
        of = self.rule.figures[figure.of]
        own = of.field.name if isinstance(of, SingleField) else ""
        where = self._where(figure.where)
        path = f"{self._kind(figure.bound)}/{own}" + (f" ({where})" if where else "")
        return f"|distinct {path}|" if figure.function == "distinct" else f"{_FUNCTIONS[figure.function]} {path}"


def is_none(atom: Atom) -> bool:
    """Whether an atom says of a number of records that it is 0."""
    if not isinstance(atom, Range) or atom.high is None:
        return False
    return atom.high < 1 or (atom.high == 1 and atom.high_open)


def _quantifier(atom: Range) -> str:
    if is_none(atom):
        return "no"
    if atom.high is None:
        return "∃" if atom.low is not None and 0 < _least(atom) <= 1 else ""
    return "exactly one" if atom.low == atom.high == 1 else ""


def _least(atom: Range) -> Fraction:
    return (atom.low or Fraction(0)) + (1 if atom.low_open and atom.low == 0 else 0)


def _read_beside(rule: LevelRule) -> Iterable[RecordNode]:
    """Yield the records of which fields are read other than as what is summed."""
    summed = {figure.of for figure in rule.figures.values() if isinstance(figure, MemberFigure) and not figure.where}
    for name, figure in rule.figures.items():
        if isinstance(figure, SingleField) and figure.node.picked is None and name not in summed:
            yield figure.node
