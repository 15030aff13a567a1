"""Reweighting: the weights of records left out are spread over those of their class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from masktron.serialised import read_plain
from masktron.step_kinds.base import Treatment


@dataclass(frozen=True, slots=True)
class Reweighted(Treatment):
    """A weight that took over the weights of records left out.

    Attributes
    ----------
    field : str
        The weight.
    within : tuple of str
        Records that are alike in these fields are a class.
    factors : mapping of tuple of (str or None) to Fraction
        By class, what its weights were multiplied by; classes whose weights stay are absent.
    decimals : int
        Digits behind the point that new weights are rounded to.
    """

    kind = "reweighting"
    asked_by = ("reweight",)
    order = "spread the weights of records left out"
    outcome = "given the weights of records left out"
    named_as = ""
    broken = "with the weights of records left out spread over others"
    helps = "leave out [[--reweight]]"
    of_keys = asks_rules = False
    computed = True

    field: str
    within: tuple[str, ...]
    factors: Mapping[tuple[str | None, ...], Fraction]
    decimals: int

    @classmethod
    def asked(cls, config: Any) -> bool:
        """Tell whether weights are to be spread, and there are some."""
        return bool(config.reweight) and config.weight is not None

    @classmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the weight."""
        return (config.weight,)

    @property
    def changed(self) -> tuple[str, ...]:
        """The weight."""
        return (self.field,)

    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Say how weights were spread."""
        most = max((float(factor) for factor in self.factors.values()), default=1.0)
        yield (
            self.field,
            f"the weights of records left out are spread over those of the same {', '.join(self.within)}: "
            f"times {most:.4g} at most",
        )

    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Reweighted]:
        """Yield it as it is: weights of nested files are not spread."""
        yield self

    @property
    def reads(self) -> tuple[str, ...]:
        """The weight, and what makes the classes."""
        return (self.field, *self.within)

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `read` builds it again."""
        factors = [{"class": list(key), "factor": str(factor)} for key, factor in self.factors.items()]
        return {**super(Reweighted, replace(self, factors={})).as_dict(), "factors": factors}

    @classmethod
    def read(cls, plain: Any, place: str) -> Reweighted:
        """Read it, with a factor above 1 for each class that is named."""
        found = super(Reweighted, cls).read({**plain, "factors": {}}, place)
        factors: tuple[_Factor, ...] = read_plain(tuple[_Factor, ...], plain.get("factors"), f"{place}.factors")
        if any(len(one.key) != len(found.within) or one.factor <= 1 for one in factors):
            raise ValueError("a factor of weights is of no class, or not above 1")
        return replace(found, factors={one.key: one.factor for one in factors})

    def require_sense(self) -> None:
        """Refuse no class, and more digits than a weight has."""
        if not self.within or not 0 <= self.decimals <= 40:
            raise ValueError("weights were spread, and it is not said how")

    @classmethod
    def compared(
        cls, done: Sequence[Reweighted], config: Mapping[str, Any], *, nested: bool
    ) -> tuple[object, object]:
        """Compare the classes, if any record of some was left out."""
        return [tuple(config.get("reweight", ()))] if done else [], [one.within for one in done]


@dataclass(frozen=True, slots=True)
class _Factor:
    KEYS: ClassVar[str] = "class=key factor"

    key: tuple[str | None, ...]
    factor: Fraction
