"""How much work the classification of a rulebook may be, counted so that every machine stops at the same place."""

from __future__ import annotations

from dataclasses import dataclass

PER_CHECK = 100_000
"""Comparisons of two disjuncts for one check: less than half a second."""
PER_RULEBOOK = 200_000
"""For all checks of a rulebook: a second or so. As much is shared equally before, so that costly rules cost no other
its class: unrolled rulebooks have a check for each member, and counts over many of them have thousands of
alternatives."""


class TooManyDisjunctsError(Exception):
    """A form has more alternatives than are compared; caught by the classification, which calls the rule opaque."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Effort:
    """What is left of the work that may be done.

    Attributes
    ----------
    left : int
        Comparisons of two disjuncts, for the check at hand.
    total : int
        The same, for all checks.
    each : int
        Comparisons for any check.
    """

    left: int = PER_CHECK
    total: int = PER_RULEBOOK
    each: int = PER_CHECK

    @classmethod
    def shared(cls, checks: int) -> Effort:
        """Return what lets each of some checks do as much as any other."""
        return cls(each=min(PER_CHECK, PER_RULEBOOK // max(1, checks)))

    @property
    def narrow(self) -> bool:
        """Whether a check may do less than it ever may."""
        return self.each < PER_CHECK

    def begin(self) -> None:
        """Turn to the next check."""
        self.left = self.each

    def spend(self, comparisons: int) -> None:
        """Count some work.

        Raises
        ------
        TooManyDisjunctsError
            There is none left.
        """
        self.left -= comparisons
        self.total -= comparisons
        if self.left < 0:
            raise TooManyDisjunctsError("it takes too long to compare its alternatives with each other")
        if self.total < 0:
            raise TooManyDisjunctsError(
                "it was not analysed: the rules before it took the time that there is for a rulebook"
            )
