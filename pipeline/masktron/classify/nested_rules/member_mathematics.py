"""Figures and forms of a nested file in mathematics, with the names of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from masktron.classify.display import render_form
from masktron.classify.nested_rules.member_figures import (
    LevelRule,
    MemberFigure,
    Picked,
    RecordNode,
    SingleField,
)
from masktron.classify.nested_rules.member_forms import text_with_names, with_names
from masktron.constraints import Atom, Form, Lexical, Range
from masktron.sources.level_tree import Tree

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
