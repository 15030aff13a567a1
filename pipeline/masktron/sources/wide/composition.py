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

    @classmethod
    def of(cls, *counts: int) -> Composition:
        """Return a unit that has so many members of each kind, who have none themselves."""
        return cls(tuple((cls(),) * count for count in counts))

    @property
    def size(self) -> int:
        """Number of elements: the unit and all members below it."""
        return 1 + sum(member.size for kind in self.members for member in kind)

    def covers(self, other: Composition) -> bool:
        """Whether a unit of another composition is among those that are described."""
        if len(self.members) != len(other.members):
            return False
        for own, theirs in zip(self.members, other.members, strict=True):
            if len(theirs) > len(own) or any(member.sure for member in own[len(theirs) :]):
                return False
            if not all(one.covers(two) for one, two in zip(own, theirs, strict=False)):
                return False
        return True


def joint(one: Composition, other: Composition) -> Composition:
    """Return the least composition that covers both: what only one of them has is not sure."""
    kinds = []
    for own, theirs in zip(one.members, other.members, strict=True):
        both = min(len(own), len(theirs))
        longer = own if len(own) > both else theirs
        shared = [joint(a, b) for a, b in zip(own[:both], theirs[:both], strict=True)]
        kinds.append((*shared, *(Composition(member.members, sure=False) for member in longer[both:])))
    return Composition(tuple(kinds), sure=one.sure and other.sure)
