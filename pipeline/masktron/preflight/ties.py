"""Rules that read masked and unmasked fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from masktron.classify import Edit
from masktron.classify.elimination import is_equality
from masktron.classify.forms import form_of, variables_of_atom
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.preflight.conclusions import Tie


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
