"""How many members of each kind a unit has, all the way down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Composition:
    """Members of each kind that a unit has, in the order of `Level.children`.

    Attributes
    ----------
    members : tuple of tuple of Composition
        One tuple for each kind, in it each member with the members that it has itself.
    sure : bool
        Whether each unit that is described has this member: a class of several compositions has all the members that
        one of them has, and not every unit has them all.
    """

    members: tuple[tuple[Composition, ...], ...] = ()
    sure: bool = True


def joint(one: Composition, other: Composition) -> Composition:
    """Return the least composition that covers both: what only one of them has is not sure."""
    kinds = []
    for own, theirs in zip(one.members, other.members, strict=True):
        both = min(len(own), len(theirs))
        longer = own if len(own) > both else theirs
        shared = [joint(a, b) for a, b in zip(own[:both], theirs[:both], strict=True)]
        kinds.append((*shared, *(Composition(member.members, sure=False) for member in longer[both:])))
    return Composition(tuple(kinds), sure=one.sure and other.sure)
