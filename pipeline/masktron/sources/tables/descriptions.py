"""What is said of a table beside its values, before it was written in another format and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pyarrow as pa

from masktron.config import Kind
from masktron.recodings import exact_number
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_lexemes import is_text
from masktron.sources.tables.release import losses_by_column
from masktron.sources.variables import UNTYPED, Variable

_CUT = "which are cut as they are too long"


def descriptions_lost(before: Dataset, after: Dataset | None) -> Iterator[str]:
    """Name what a file that was read back does not say, or says otherwise, of the variables that were written.

    Parameters
    ----------
    before, after : Dataset
        What was to be written, and what was read back; None for what says nothing of variables.
    """
    title = "" if after is None else after.title
    if before.title != title:
        yield (
            f"the end of the title of the file, {_CUT.replace('are', 'is', 1)}" if title else "the title of the file"
        )
    found = {} if after is None else {variable.name: variable for variable in after.variables}

    def other(own: Variable) -> Variable:
        return found.get(own.name, Variable(own.name, own.column))

    yield from losses_by_column(
        before,
        ("types of columns, which become text", lambda v: other(v).typed.text and is_typed(v)),
        ("labels of variables", lambda v: v.label and not other(v).label),
        (f"ends of labels of variables, {_CUT}", lambda v: other(v).label and v.label != other(v).label),
        ("labels of values", lambda v: any(not said for _, said in _relabelled(v, other(v)))),
        (f"ends of labels of values, {_CUT}", lambda v: any(said for _, said in _relabelled(v, other(v)))),
        ("that labels of values differ, as some become equal", lambda v: _are_equal(v, other(v))),
        (
            "that codes mean 'missing', so that they count as values",
            lambda v: not _keys(v.missing) <= _keys(other(v).missing),
        ),
        ("ranges of values that mean 'missing'", lambda v: v.ranges and v.ranges != other(v).ranges),
        ("which variable is the weight", lambda v: v.weight and not other(v).weight),
        ("kinds of variables", lambda v: v.kind is not None and v.kind is not other(v).kind and not v.weight),
    )


def orders_lost(before: Dataset, after: Dataset) -> Iterator[str]:
    """Name the ordinal variables that a new file has with categories in another order, or without some of them."""
    orders = {variable.name: _order(variable) for variable in after.variables if variable.kind is Kind.ORDINAL}
    yield from losses_by_column(
        before, ("the order of all categories", lambda v: v.order and orders.get(v.name, _order(v)) != _order(v))
    )


def is_typed(variable: Variable) -> bool:
    """Whether values are numbers, truths or moments by their type; elsewhere, times of more than a day have none.

    Numbers beside codes that are no numbers are texts elsewhere, too.
    """
    kind = variable.stored
    plain = kind is None or is_text(kind) or pa.types.is_null(kind)
    return not variable.typed.text and (not plain or variable.typed != UNTYPED)


def _key(code: str) -> Fraction | str:
    number = exact_number(code)
    return code if number is None else number


def _keys(codes: Mapping[str, str]) -> set[Fraction | str]:
    return {_key(code) for code in codes}


def _order(variable: Variable) -> list[Fraction | str]:
    return [_key(code) for code in variable.order]


def _labels(variable: Variable) -> dict[Fraction | str, str]:
    """Return labels of values by what these are, however they are written."""
    return {_key(code): label for code, label in (*variable.missing.items(), *variable.labels.items()) if label}


def _relabelled(own: Variable, other: Variable) -> list[tuple[str, str]]:
    """Return labels that another file has not as they were, each with what it has there."""
    said = _labels(other)
    return [(label, said.get(code, "")) for code, label in _labels(own).items() if said.get(code) != label]


def _are_equal(own: Variable, other: Variable) -> bool:
    """Whether labels that differ are cut to one."""
    cut = [(label, said) for label, said in _relabelled(own, other) if said]
    return len({said for _, said in cut}) < len({label for label, _ in cut})
