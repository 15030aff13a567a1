"""The functions that plain rules know, with their names in R, and what other functions of R mean in other words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from masktron.problems.problem import Problem
from masktron.rulebook.plain import tree
from masktron.rulebook.plain.slips import PlainSyntaxError
from masktron.rulebook.plain.tree import Kind, Node, mapped, walk


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


_NO, _GLOB = tree.Truth(False), tree.Text("glob")


def meaning(function: str, arguments: Sequence[Node], at: int) -> Node:
    """Return what a call of one of `R_FUNCTIONS` means; arguments may have the names that R has for them.

    Raises
    ------
    PlainSyntaxError
        It takes other arguments.
    """
    shape, build = R_FUNCTIONS[function]
    named: dict[str, Node] = {}
    others = []
    for one in arguments:
        match one:
            case tree.Compared("==", tree.Name(name), value) if function != "xor":
                named[f"{name.replace('.', '_')}_"] = value
            case _:
                others.append(one)
    try:
        return mapped(build(*others, **named), lambda one: one if one.at >= 0 else replace(one, at=at))
    except (TypeError, AttributeError):  # too many, too few, of another name, or a number where a text is needed
        raise PlainSyntaxError(Problem("plain-arguments", name=function, shape=shape), at) from None


def counted_in_r(arguments: Sequence[Any], by: tuple[tree.Name, ...]) -> Node | None:
    """Return what ``sum(is.na(x))`` and ``sum(!is.na(x))`` count; None for what sums numbers."""
    match arguments:
        case [tree.Not(tree.Call("missing", (of,)))]:
            return tree.Call("count", (of,), by)
        case [tree.Call("missing", (of,))]:
            return tree.Arithmetic("-", tree.Call("count", (), by), tree.Call("count", (of,), by))
    return None


def _in_range(value: Node, min_: Node, max_: Node, strict_: tree.Truth = _NO) -> Node:
    if strict_.value:
        return tree.Joined("and", (tree.Compared(">", value, min_), tree.Compared("<", value, max_)))
    if any(isinstance(one, tree.Name) for bound in (min_, max_) for one in walk(bound)):
        return tree.Joined("and", (tree.Compared(">=", value, min_), tree.Compared("<=", value, max_)))
    return tree.In(value, (tree.Range(min_, max_),))


def _field_length(field: Node, n_: Node | None = None, min_: Node | None = None, max_: Node | None = None) -> Node:
    least, most = (n_, n_) if n_ else (min_ or tree.Number("0"), max_)
    if not (n_ or min_ or max_):
        raise TypeError
    length = tree.Call("nchar", (field,))
    return tree.In(length, (tree.Range(least, most),)) if most else tree.Compared(">=", length, least)


def _field_format(field: Node, pattern: tree.Text, type_: tree.Text = _GLOB) -> Node:
    glob = f"^{_escaped(pattern.value, {'*': '.*', '?': '.'})}$"
    return _matches(field, pattern.value if type_.value == "regex" else glob)


def _number_format(field: Node, format_: tree.Text) -> Node:
    return _matches(field, f"^{_escaped(format_.value, {'d': '[0-9]', '*': '[0-9]*'})}$")


def _starts_with(field: Node, prefix: tree.Text) -> Node:
    return _matches(field, f"^{_escaped(prefix.value)}", decided=False)


def _ends_with(field: Node, suffix: tree.Text) -> Node:
    return _matches(field, f"{_escaped(suffix.value)}$", decided=False)


def _matches(field: Node, pattern: str, *, decided: bool = True) -> Node:
    return tree.Call("matches", (field, tree.Text(pattern)), remove_missing=decided)


def _escaped(text: str, signs: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the regular expression of a text, in which some signs stand for others."""
    return "".join(signs.get(one) or re.sub(r"[\\|.?*+(){}\[\]^$-]", r"\\\g<0>", one) for one in text)


def _is_complete(field: tree.Name, *others: tree.Name) -> Node:
    return tree.Joined("and", tuple(tree.Not(tree.Call("missing", (one,))) for one in (field, *others)))


def _all_complete(field: tree.Name, *others: tree.Name) -> Node:
    return tree.Joined("and", tuple(_all(tree.Not(tree.Call("missing", (one,)))) for one in (field, *others)))


def _all(condition: Node) -> Node:
    match condition:
        case tree.Call("missing", (of,)):
            return tree.Compared("==", tree.Call("count", (of,)), tree.Number("0"))
        case tree.Not(tree.Call("missing", (of,))):
            return tree.Compared("==", tree.Call("count", (of,)), tree.Call("count", ()))
    raise TypeError


def _any(condition: Node) -> Node:
    return tree.Not(_all(condition.of if isinstance(condition, tree.Not) else tree.Not(condition)))


def _nrow(data: tree.Name) -> Node:
    if data != tree.Name("."):
        raise TypeError
    return tree.Call("count", ())


def _tally(function: str) -> tuple[str, Callable[..., Node]]:
    def build(field: Node, by_: tree.Name, na_rm_: tree.Truth = _NO) -> Node:
        return tree.Call(function, (field,), (by_,), bool(na_rm_.value))

    return f"{function}_by(FIELD, by=GROUP)", build


R_FUNCTIONS: Mapping[str, tuple[str, Callable[..., Node]]] = MappingProxyType(
    {
        "in_range": ("in_range(FIELD, min=A, max=B)", _in_range),
        "field_length": ("field_length(FIELD, n=LENGTH) or field_length(FIELD, min=A, max=B)", _field_length),
        "field_format": ('field_format(FIELD, "PATTERN")', _field_format),
        "grepl": ('grepl("PATTERN", FIELD)', lambda pattern, field: _matches(field, pattern.value)),
        "number_format": ('number_format(FIELD, format="d.dd")', _number_format),
        "startsWith": ('startsWith(FIELD, "TEXT")', _starts_with),
        "endsWith": ('endsWith(FIELD, "TEXT")', _ends_with),
        "is_complete": ("is_complete(FIELD, ...)", _is_complete),
        "all_complete": ("all_complete(FIELD, ...)", _all_complete),
        "all": ("all(is.na(FIELD)) or all(!is.na(FIELD))", _all),
        "any": ("any(is.na(FIELD)) or any(!is.na(FIELD))", _any),
        "nrow": ("nrow(.)", _nrow),
        "xor": ("xor(CONDITION, CONDITION)", lambda one, other: tree.Compared("!=", one, other)),
        "as.character": ("as.character(FIELD)", lambda field: field),
        "as.numeric": ("as.numeric(FIELD)", lambda field: tree.Arithmetic("+", field, tree.Number("0"))),
        **{f"{function}_by": _tally(function) for function in ("sum", "mean", "min", "max")},
    }
)
"""How each is called, and what makes its meaning of arguments, whose names are those of R and an underscore."""
