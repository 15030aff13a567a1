"""Limits: bounds of figures that a masked file has to meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from masktron.errors import UsageError
from masktron.figures import figure_of
from masktron.problems.problem import Field, Note, Setting

if TYPE_CHECKING:
    from masktron.measures.figures import Measured

_ONLY_ASSESSED = {
    "class": ("a class", Setting("--class", ("FIELD",))),
    "earlier": ("an earlier release", Setting("--against", ("FILE",))),
}


def over_limits(measured: Iterable[Measured], limits: Mapping[str, float]) -> Iterator[Note]:
    """Name the limits that are not met, with both figures."""
    for one in measured:
        bound = limits.get(one.figure.name)
        if bound is not None and not one.figure.meets(one.value, bound):
            value, limit = f"{one.value:g}", f"{bound:g}"
            if value == limit:
                # they differ in digits that are not shown
                value, limit = repr(one.value), repr(bound)
            place = Note(" in {field}", field=Field(one.field)) if one.field else ""
            told = "{figure} is {value}{place}, the limit {limit}"
            yield Note(told, figure=one.figure.name, value=value, place=place, limit=limit)


def names_over(measured: Iterable[Measured], limits: Mapping[str, float]) -> Iterator[str]:
    """Name the figures that are outside their limits."""
    for one in measured:
        bound = limits.get(one.figure.name)
        if bound is not None and not one.figure.meets(one.value, bound):
            yield one.figure.name


def strictest(limits: Mapping[str, float], stated: Mapping[str, float]) -> dict[str, float]:
    """Join the limits that are asked for with those of a manifest; of two on one figure the stricter one holds.

    Parameters
    ----------
    limits, stated : mapping of str to float
        By figure: the most, or the least where a higher value is better.
    """
    joined = {**stated, **limits}
    for name in limits.keys() & stated.keys():
        both = limits[name], stated[name]
        joined[name] = min(both) if figure_of(name).better == "lower" else max(both)
    return joined


def refuse_class_limits(limits: Iterable[str]) -> None:
    """Refuse limits on figures of a class or of an earlier release, which only `assess` is told.

    Raises
    ------
    UsageError
        Naming the figure.
    """
    for name in limits:
        refuse_only_assessed(name)


def refuse_only_assessed(figure: str) -> None:
    """Refuse a figure of a class or of an earlier release outside `assess`.

    Raises
    ------
    UsageError
    """
    for need, (needed, setting) in _ONLY_ASSESSED.items():
        if need in figure_of(figure).needs:
            raise UsageError.of(
                "setting-not-usable",
                name=figure,
                reason=f"only assess takes {needed}",
                more=Note("; masktron assess {setting} shows this figure", setting=setting),
            )
