"""Functions that take all members at once, as sums of figures."""

from __future__ import annotations

from collections.abc import Iterator

from masktron.classify.nested_rules.level_reach import (
    FigureText,
    ListedValues,
    MemberReach,
    ReadValue,
    countable,
    every,
    is_there,
)
from masktron.classify.nested_rules.member_figures import FigureTable, MemberFigure, MemberFunction
from masktron.unrolling.unrolled_values import NotUnrolled

_OF_MEMBERS: dict[str, MemberFunction] = {
    "count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "avg", "distinct": "distinct",
}  # fmt: skip


def combined_figure(table: FigureTable, name: str, value: ReadValue, *, first: bool) -> str:
    """Return a function of all values as an expression on figures.

    Parameters
    ----------
    table : FigureTable
    name : str
        ``count``, ``sum``, ``min``, ``max``, ``avg`` or ``distinct``.
    value : ReadValue
    first : bool
        Whether this is XPath 1.0.

    Raises
    ------
    NotUnrolled
        There is no such expression.
    """
    parts = [part if isinstance(part, FigureText) else countable(part) for part in _parts(value)]
    single = [part for part in parts if isinstance(part, FigureText) or (part.single and part.field is not None)]
    if len(single) == len(parts) and name != "distinct":
        between = " | " if first else ", "
        texts = [part.text if isinstance(part, FigureText) else _field(table, part) for part in single]
        return f"{name}({between.join(texts)})" if first else f"{name}(({between.join(texts)}))"
    if name not in ("count", "sum") and len(parts) != 1:
        raise NotUnrolled(f"{name}() of values of several kinds")
    return " + ".join(f"({_part(table, name, part, first=first)})" for part in parts)


def _parts(value: ReadValue) -> Iterator[MemberReach | FigureText]:
    if isinstance(value, ListedValues):
        for one in value.values:
            yield from _parts(one)
    elif isinstance(value, FigureText):
        yield value
    else:
        yield from value


def _part(table: FigureTable, name: str, part: MemberReach | FigureText, *, first: bool) -> str:
    if isinstance(part, FigureText):
        raise NotUnrolled(f"{name}() of members and of computed values")
    if name == "count":
        return _counted(table, part)
    if part.field is None:
        raise NotUnrolled(f"the text of {part.node.level.name}")
    if part.single and name == "sum":
        return f"sum({_field(table, part)})"
    if not part.bound:
        raise NotUnrolled(f"{name}() of a field under a condition")
    figure = table.figure(MemberFigure(_OF_MEMBERS[name], part.bound, part.where, _field(table, part)))
    # of a text that is no number, a sum is none in XPath 1.0, and a dynamic error later
    return f"number({figure})" if first or name == "distinct" else f"({figure} + 0)"


def _counted(table: FigureTable, part: MemberReach) -> str:
    there = is_there(table, part.node) if part.field is None else (f"boolean({_field(table, part)})",)
    where = (*part.where, *there)
    if part.bound:
        return f"number({table.figure(MemberFigure('count', part.bound, where))})"
    if not where:
        return "1"
    return f"number({every(where)})"


def _field(table: FigureTable, part: MemberReach) -> str:
    if part.field is None:
        raise NotUnrolled(f"the text of {part.node.level.name}")
    return table.single(part.node, part.field)
