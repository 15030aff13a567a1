"""The questions that a rulebook is asked before it meets data.

They are those of the R package validatetools (de Jonge and van der Loo): is the rulebook feasible and which rules
contradict which, which rules are redundant, which parts of conditional rules, which fields are fixed, and within
which bounds does each field lie. Here they are asked of disjunctions of every kind, and every answer has a proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from masktron.classify import Edit
from masktron.classify.conjunctions import natural
from masktron.classify.elimination import is_equality
from masktron.classify.forms import ALWAYS, NEVER, complete, form_of, variables_of, variables_of_atom
from masktron.constraints import CrossRecordEdit, Form, OpaqueEdit
from masktron.preflight.component import Component, Known
from masktron.preflight.conclusions import AllowedValues, Contradiction, Preflight, Redundancy, Skipped, Tie
from masktron.preflight.conjunction import is_whole
from masktron.preflight.feasibility import solver_name
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Comparison, walk

NEAREST = 12
"""Rules beside which one is asked whether it follows."""


def preflight(edits: Sequence[Edit]) -> Preflight:
    """Ask what the rules of a rulebook say about each other.

    Soft rules are asked whether they contradict or follow from hard ones, never the other way round.

    Parameters
    ----------
    edits : sequence of Edit

    Returns
    -------
    Preflight
        Findings in the order of the rulebook. What is not found may still be there where `Preflight.in_part`,
        `Preflight.skipped` or `Preflight.undecided` say so; what is found is proved, in exact arithmetic.
    """
    known = [_known(edit) for edit in edits if not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)]
    never = [rule for rule in known if rule.form == NEVER]
    unfulfilled = [rule for rule in known if rule.form != NEVER and _only_missing(rule, edits)]
    plain = [rule for rule in known if rule.form not in (ALWAYS, NEVER) and rule not in unfulfilled]
    levels = _by_level(plain, edits)
    parts = [Component(rules) for level in levels for rules in _components(level)]
    for part in parts:
        part.ask()
    empty = [Contradiction((rule.id,), rule in unfulfilled) for rule in (*never, *unfulfilled)]
    clashes = [found for part in parts for found in part.contradictions]
    order = {edit.check.id: edit.check.index for edit in edits}
    return Preflight(
        solver=solver_name(),
        contradictions=tuple(sorted((*empty, *clashes), key=lambda f: order[f.rules[0]])),
        redundant=tuple(sorted((f for part in parts for f in part.redundant), key=lambda f: order[f.rule])),
        duplicates=tuple(same for level in levels for same in _duplicates(level)),
        impossible=tuple(sorted((f for part in parts for f in part.impossible), key=lambda f: order[f.rule])),
        allowed=tuple(sorted(_allowed(parts, edits), key=lambda f: natural(f.field))),
        always=tuple(rule.id for rule in known if rule.form == ALWAYS),
        never=tuple(rule.id for rule in never),
        skipped=tuple(
            Skipped(edit.check.id, edit.constraint.reason)
            for edit in edits
            if isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)
        ),
        in_part=tuple(rule.id for rule in plain if any(is_whole(atom) for c in rule.form for atom in c)),
        undecided=tuple(question for part in parts for question in part.undecided),
    )


def _only_missing(rule: Known, edits: Sequence[Edit]) -> bool:
    """Whether a plain rule that compares values holds only where one is missing, as ``A > A`` does."""
    check = next(edit.check for edit in edits if edit.check.index == rule.index)
    if complete(rule.form) or not check.written:
        return False
    test = understood(check.test)
    compared = () if test is None else [one for one in walk(test) if isinstance(one, Comparison)]
    return any("''" not in map(str, (one.left, one.right)) for one in compared)


def _by_level(rules: Sequence[Known], edits: Sequence[Edit]) -> list[list[Known]]:
    """Put rules together that fire on the same records of a nested file: others hold of no record together."""
    fires_on = {edit.check.index: edit.fires_on for edit in edits}
    found: dict[str, list[Known]] = {}
    for rule in rules:
        found.setdefault(fires_on[rule.index], []).append(rule)
    return list(found.values())


def _allowed(parts: Sequence[Component], edits: Sequence[Edit]) -> Iterator[AllowedValues]:
    """Yield what rules leave to fields; of those of records around, they say nothing where no such record is."""
    around = {edit.check.index: edit.around for edit in edits}
    for part in parts:
        outer = {name for rule in part.rules for name in around[rule.index]}
        yield from (found for found in part.allowed if found.field not in outer)


def what_follows(edits: Sequence[Edit], *, asked: Collection[str], nearest: int = NEAREST) -> tuple[Redundancy, ...]:
    """Ask no more than which rules follow from others, of which some record satisfies all together.

    Each is asked beside the rules that are nearest to it, those that share fields with it first: what is found is
    proved as by `preflight`, and less may be found than there is.

    Parameters
    ----------
    edits : sequence of Edit
        The last are asked first, and what follows is no reason for others any more.
    asked : collection of str
        Ids of the rules that are asked of.
    nearest : int
        Rules beside which one is asked.
    """
    known = [_known(edit) for edit in edits if not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)]
    left = [(rule, frozenset(variables_of(rule.form))) for rule in known if rule.form not in (ALWAYS, NEVER)]
    found = []
    for rule, fields in reversed(left):
        if rule.id not in asked:
            continue
        others = _near(fields, [other for other in left if other[0] is not rule], nearest)
        implied = Component([*others, rule]).follows(rule) if others else None
        if implied is not None and implied.by:
            found.append(implied)
            left = [other for other in left if other[0] is not rule]
    return tuple(found)


def _near(fields: frozenset[str], rules: Sequence[tuple[Known, frozenset[str]]], most: int) -> list[Known]:
    """Return the rules that share fields with one, then those that share fields with these, in their order."""
    first = [(rule, own) for rule, own in rules if own & fields]
    first.sort(key=lambda pair: len(pair[1] - fields))
    reached = fields.union(*(own for _, own in first[:most]))
    names = {rule.id for rule, _ in first}
    second = [(rule, own) for rule, own in rules if rule.id not in names and own <= reached]
    return sorted((rule for rule, _ in (*first, *second)[:most]), key=lambda rule: rule.index)


def _known(edit: Edit) -> Known:
    return Known(edit.check.index, edit.check.id, form_of(edit.constraint), edit.check.soft)


def _components(rules: Sequence[Known]) -> Iterator[list[Known]]:
    """Rules that share no field, not even through others, say nothing about each other."""
    groups: list[tuple[set[str], list[Known]]] = []
    for rule in rules:
        names = set(variables_of(rule.form))
        members = [rule]
        for group in [g for g in groups if not g[0].isdisjoint(names)]:
            groups.remove(group)
            names |= group[0]
            members += group[1]
        groups.append((names, members))
    for _, members in groups:
        yield sorted(members, key=lambda rule: rule.index)


def _duplicates(rules: Iterable[Known]) -> Iterator[tuple[str, ...]]:
    same: dict[Form, list[str]] = {}
    for rule in rules:
        same.setdefault(rule.form, []).append(rule.id)
    yield from (tuple(ids) for ids in same.values() if len(ids) > 1)


def ties(
    edits: Sequence[Edit],
    unmasked: Collection[str],
    removed: Collection[str],
    *,
    masked: Collection[str] | None = None,
) -> tuple[Tie, ...]:
    """List the rules in which a masked field meets one that is written as it is, or is removed.

    Parameters
    ----------
    edits : sequence of Edit
    unmasked, removed : collections of str
        Fields that are written as they are; identifiers.
    masked : collection of str, optional
        All other fields where not given.
    """
    return tuple(tie for edit in edits for tie in _ties(edit, frozenset(unmasked), frozenset(removed), masked))


def _ties(
    edit: Edit, unmasked: frozenset[str], removed: frozenset[str], masked: Collection[str] | None
) -> Iterator[Tie]:
    fixed = tuple(name for name in edit.variables if name in unmasked | removed)
    moving = tuple(
        name for name in edit.variables if name not in fixed and (masked is None or name in frozenset(masked))
    )
    if fixed and moving:
        yield Tie(edit.check.id, moving, fixed, _meaning(edit, moving, fixed, removed))


def _meaning(edit: Edit, moving: tuple[str, ...], fixed: tuple[str, ...], removed: frozenset[str]) -> str:
    if gone := [name for name in fixed if name in removed]:
        return f"not applicable once {', '.join(gone)} is removed"
    if isinstance(edit.constraint, CrossRecordEdit):
        return "looks at several records and reads a masked field: mask refuses it"
    if isinstance(edit.constraint, OpaqueEdit):
        return f"not understood: groups hold one value of {', '.join(fixed)}, or are proved record by record"
    together = {
        name
        for conjunction in form_of(edit.constraint)
        for atom in conjunction
        if not set(moving).isdisjoint(variables_of_atom(atom))
        for name in variables_of_atom(atom)
        if name in fixed
    }
    if alone := _fixed(edit, moving):
        names = ", ".join(sorted(together))
        return f"an equality with the unmasked {names} fixes {', '.join(alone)}: it is published there as it was"
    if together:
        names = ", ".join(sorted(together))
        return f"in one condition: groups hold one value of {names}, or are proved or solved record by record"
    return "in conditions of their own: the records of a group satisfy one alternative of the rule, or are proved"


def _fixed(edit: Edit, moving: tuple[str, ...]) -> list[str]:
    """Masked fields that are alone with unmasked ones in an equality of the rule."""
    equalities = [
        set(variables_of_atom(atom))
        for conjunction in form_of(edit.constraint)
        for atom in conjunction
        if is_equality(atom)
    ]
    alone = [names & set(moving) for names in equalities if names - set(moving)]
    return sorted(set().union(*(names for names in alone if len(names) == 1)))
