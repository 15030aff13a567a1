"""The class of a rule that reaches across levels, read off its form as that of any rule is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from masktron.classify.forms import ALWAYS, complete, variables_of
from masktron.classify.nested_rules.member_figures import (
    MARK,
    LevelRule,
    LevelWords,
    MemberFigure,
    Picked,
    RecordNode,
    RuleFigure,
    SingleField,
    is_none,
    with_names,
)
from masktron.classify.reading import constraint_of
from masktron.constraints import (
    Atom,
    Constraint,
    CrossRecordEdit,
    Form,
    GoverningEdit,
    Linear,
    OpaqueEdit,
    Range,
    ValueEdit,
)
from masktron.sources.level_tree import Tree
from masktron.unrolling.unrolled_values import NotUnrolled

type MemberConditions = tuple[str, ...]
_EQUAL = re.compile(rf"\(({MARK}\d+)\) = \(({MARK}\d+)\)")
_NAMES = re.compile(rf"{MARK}\d+")


@dataclass(frozen=True, slots=True)
class LevelReading:
    """What a rule across levels is.

    Attributes
    ----------
    constraint : Constraint
        Over names that people read.
    said : str
        What it says, with the quantifiers over the records at which it fires.
    fires_on : str
        Those quantifiers; rules that have the same ones speak of the same records.
    around : tuple of str
        What the constraint reads of records around those.
    form : Form
        That of the constraint, over the names of figures.
    over : tuple of tuple of RecordNode
        Members of which the form says something each, beyond the records at which the rule fires.
    """

    constraint: Constraint
    said: str
    fires_on: str
    around: tuple[str, ...] = ()
    form: Form = ()
    over: tuple[tuple[RecordNode, ...], ...] = ()


def across_levels(
    rule: LevelRule,
    tree: Tree,
    unknown: Mapping[MemberConditions, str],
    denied: Callable[[MemberConditions], Form],
    variables: tuple[str, ...],
) -> LevelReading:
    """Read the class of a rule off its form.

    That no member satisfies a condition says of every member that it does not, and is of the class of that.

    Parameters
    ----------
    rule : LevelRule
    tree : Tree
    unknown : mapping of tuple of str to str
        Why conditions have no form.
    denied : callable
        The form of what holds where some conditions do not all.
    variables : tuple of str
        The fields that the rule reads.

    Raises
    ------
    NotUnrolled
        Its class is not known.
    """
    words = LevelWords.of(rule, tree)
    over: list[tuple[RecordNode, ...]] = []
    form, at, before = rule.form, rule.node, words.every([rule.node]) if rule.node.path else ""
    while True:
        if (key := _unique(rule, form)) is not None:
            return _key_reading(key, words, variables)
        figure = _none_of(rule, form)
        if figure is None:
            break
        over.append(figure.bound)
        at, before = figure.bound[-1], before + words.every(figure.bound)
        form = denied(figure.where) if figure.where else ()
    for where in _conditions_of(rule.figures, variables_of(form)):
        if where in unknown:
            raise NotUnrolled(words.text(unknown[where]))
    core = _of_complete(rule, form) or form
    constraint = constraint_of(core, [], variables)
    if isinstance(constraint, ValueEdit) and any(_has_condition(rule, name) for name in variables_of(core)):
        constraint = GoverningEdit(core)
    named = with_names(core, words.name)
    around = () if not before else tuple(words.name(one) for one in variables_of(form) if not _is_of(rule, one, at))
    said = f"{before}{words.said(form)}" if form != ALWAYS else "always"
    return LevelReading(constraint_with(constraint, named), said, before, around, form, tuple(over))


def constraint_with(constraint: Constraint, form: Form) -> Constraint:
    """Return a constraint of the same class with another form; one without a form as it is."""
    if isinstance(constraint, CrossRecordEdit | OpaqueEdit):
        return constraint
    return replace(constraint, form=form)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of figures in an expression, once each."""
    return tuple(dict.fromkeys(_NAMES.findall(text)))


def _none_of(rule: LevelRule, form: Form) -> MemberFigure | None:
    """Return the figure of which a form says no more than that it is 0."""
    atom = _only(form)
    if atom is None or not is_none(atom):
        return None
    figure = rule.figures.get(atom.variable) if isinstance(atom, Range) else None
    return figure if _is_count(figure) and figure.where else None


def _of_complete(rule: LevelRule, form: Form) -> Form:
    """Return what a form asks of records in which nothing is missing: no member is counted for what it lacks."""
    lacking = {
        name
        for name, figure in rule.figures.items()
        if _is_count(figure) and figure.where and not complete(rule.conditions.get(figure.where, ALWAYS))
    }
    kept = []
    for conjunction in form:
        counts = [atom for atom in conjunction if isinstance(atom, Range) and atom.variable in lacking]
        if all(atom.low is None or atom.low < 0 or (atom.low == 0 and not atom.low_open) for atom in counts):
            kept.append(tuple(atom for atom in conjunction if atom not in counts))
    return form if () in kept else tuple(kept)


def _is_count(figure: RuleFigure | None) -> TypeGuard[MemberFigure]:
    return isinstance(figure, MemberFigure) and figure.function == "count"


def _has_condition(rule: LevelRule, name: str) -> bool:
    figure = rule.figures.get(name)
    return isinstance(figure, MemberFigure) and bool(figure.where)


def _is_of(rule: LevelRule, name: str, node: RecordNode) -> bool:
    """Whether a figure is of a record itself, not of one around it."""
    figure = rule.figures.get(name)
    if isinstance(figure, SingleField):
        return figure.node is node
    return figure is not None and figure.bound[0].above is node


def _only(form: Form) -> Atom | None:
    return form[0][0] if len(form) == 1 and len(form[0]) == 1 else None


def _conditions_of(figures: Mapping[str, RuleFigure], names: Sequence[str]) -> list[MemberConditions]:
    """Return all conditions that figures depend on."""
    found: list[MemberConditions] = []
    waiting, met = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in met or name not in figures:
            continue
        met.add(name)
        figure = figures[name]
        own: list[MemberConditions] = []
        if isinstance(figure, MemberFigure):
            own = [figure.where] if figure.where else []
            waiting += [figure.of] if figure.of else []
        else:
            own = [node.picked.where for node in figure.node.around() if _is_chosen(node.picked)]  # type: ignore[union-attr]
        found += own
        waiting += [inner for where in own for text in where for inner in names_in(text)]
    return found


def _is_chosen(picked: Picked | None) -> bool:
    return picked is not None and bool(picked.where)


# --- unique keys --------------------------------------------------------------------------------------------------


def _unique(rule: LevelRule, form: Form) -> tuple[SingleField, ...] | None:
    """Return the fields in which no record is like another one in the same record; None where it is not that."""
    atom = _only(form)
    if isinstance(atom, Linear):
        return _all_distinct(rule, atom)
    if not isinstance(atom, Range):
        return None
    figure = rule.figures.get(atom.variable)
    if not _is_count(figure):
        return None
    other = figure.bound[-1]
    none = is_none(atom) and other.order is not None and all(node.order is None for node in figure.bound[:-1])
    alone = atom.high is not None and 1 <= atom.high < 2 and len(figure.bound) == 1 and other.order is None
    alone = alone and not (atom.high == 1 and atom.high_open)
    return _key(rule.figures, figure.where, other) if none or alone else None


def _key(
    figures: Mapping[str, RuleFigure], where: MemberConditions, other: RecordNode
) -> tuple[SingleField, ...] | None:
    """Return the fields that conditions ask to be equal of two records in one record, and ask nothing else."""
    found = []
    for text in (part for whole in where for part in _parts(whole)):
        match = _EQUAL.fullmatch(text)
        sides = [figures[name] for name in match.groups()] if match else []
        own = [side for side in sides if isinstance(side, SingleField)]
        if len(own) != 2 or own[0].field != own[1].field:
            return None
        nodes = [side.node for side in own]
        if other not in nodes or nodes[0] is nodes[1] or any(node.picked for node in nodes):
            return None
        if nodes[0].path != nodes[1].path or nodes[0].above is not nodes[1].above:
            return None
        found.append(own[nodes.index(other)])
    return tuple(found) or None


def _parts(text: str) -> list[str]:
    """Return the conditions that a conjunction joins, as `every` writes it."""
    pieces = re.split(r"\) and \(", text)
    if len(pieces) == 1:
        return [text]
    return [pieces[0].removeprefix("("), *pieces[1:-1], pieces[-1].removesuffix(")")]


def _all_distinct(rule: LevelRule, atom: Linear) -> tuple[SingleField, ...] | None:
    """Return the field of which there are as many values as records that have one."""
    figures = [rule.figures.get(name) for name, _ in atom.terms]
    if atom.relation != "=" or atom.bound != 0 or sum(coefficient for _, coefficient in atom.terms) != 0:
        return None
    values = [one for one in figures if isinstance(one, MemberFigure) and one.function == "distinct"]
    counts = [one for one in figures if isinstance(one, MemberFigure) and one.function == "count"]
    if len(figures) != 2 or not values or not counts or values[0].bound != counts[0].bound or values[0].where:
        return None
    of = rule.figures[values[0].of]
    if counts[0].where not in ((), (f"boolean({values[0].of})",)) or len(values[0].bound) != 1:
        return None
    return (of,) if isinstance(of, SingleField) else None


def _key_reading(key: tuple[SingleField, ...], words: LevelWords, variables: tuple[str, ...]) -> LevelReading:
    above = key[0].node.above
    around = "" if above is None else above.level.name
    fields = tuple(words.tree.name_of[one.node.path, one.field] for one in key)
    constraint = CrossRecordEdit(
        "unique", variables, f"it compares each {key[0].node.level.name} of a {around} with the others", fields
    )
    return LevelReading(constraint, f"{', '.join(fields)} occurs once in each {around}", "")
