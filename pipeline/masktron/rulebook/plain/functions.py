"""The functions that plain rules know, with the names that R has for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from masktron.problems.problem import Problem
from masktron.rulebook.plain.slips import PlainSyntaxError
from masktron.rulebook.plain.tree import Kind


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and gives.

    Attributes
    ----------
    arguments : tuple of (int, int)
        The least and the most; 0 where there is no most.
    shape : str
        As it is written.
    takes, gives : Kind
    """

    arguments: tuple[int, int]
    shape: str
    takes: Kind
    gives: Kind


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "missing": Function((1, 1), "missing(FIELD)", "unknown", "condition"),
        "abs": Function((1, 1), "abs(NUMBER)", "number", "number"),
        "round": Function((1, 1), "round(NUMBER); for two decimals round(NUMBER * 100) / 100", "number", "number"),
        "floor": Function((1, 1), "floor(NUMBER)", "number", "number"),
        "ceiling": Function((1, 1), "ceiling(NUMBER)", "number", "number"),
        "nchar": Function((1, 1), "nchar(FIELD)", "text", "number"),
        "matches": Function((2, 2), 'matches(FIELD, "PATTERN")', "text", "condition"),
        "smallest": Function((2, 0), "smallest(A, B, ...)", "number", "number"),
        "largest": Function((2, 0), "largest(A, B, ...)", "number", "number"),
        "sum": Function((1, 1), "sum(FIELD) or sum(FIELD) by GROUP; within a record A + B", "number", "number"),
        "mean": Function((1, 1), "mean(FIELD) or mean(FIELD) by GROUP", "number", "number"),
        "min": Function((1, 1), "min(FIELD), by GROUP or without; in a record smallest(A, B)", "number", "number"),
        "max": Function((1, 1), "max(FIELD), by GROUP or without; in a record largest(A, B)", "number", "number"),
        "count": Function((0, 1), "count() or count(FIELD), by GROUP or without", "unknown", "number"),
        "is_unique": Function((1, 0), "is_unique(FIELD, ...)", "unknown", "condition"),
        "var_group": Function((1, 0), "var_group(FIELD, ...)", "unknown", "unknown"),
        "lag": Function((1, 1), "lag(FIELD)", "unknown", "unknown"),
    }
)

SPELLINGS: Mapping[str, str] = MappingProxyType({"is.na": "missing", "pmin": "smallest", "pmax": "largest"})
"""Other names of functions: those of R."""

MEANT: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("len", "length", "strlen", "stringlength"), "nchar(FIELD)"),
        **dict.fromkeys(("avg", "average"), "mean(FIELD)"),
        **dict.fromkeys(("isnull", "is.null", "exists", "isblank"), "missing(FIELD) or not missing(FIELD)"),
        **dict.fromkeys(("unique", "duplicated", "distinct"), "is_unique(FIELD)"),
        **dict.fromkeys(("int", "trunc"), "floor(NUMBER)"),
        **dict.fromkeys(("ifelse", "iif"), "if A then B else C"),
        "between": "FIELD in 1..5",
    }
)
"""What is meant by functions that other languages have."""

TALLIES = ("sum", "mean", "min", "max", "count")
"""Functions that make one number of several records."""


def misused(function: str, at: int, name: str = "") -> PlainSyntaxError:
    """Return the error for a function that has other arguments; the name is that which it was called by."""
    return PlainSyntaxError(Problem("plain-arguments", name=name or function, shape=FUNCTIONS[function].shape), at)
