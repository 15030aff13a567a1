"""Which fields of plain rules hold numbers, and which hold texts: by what rules do with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from masktron.rulebook.plain.functions import FUNCTIONS
from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    If,
    In,
    Joined,
    Kind,
    Missing,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Range,
    Text,
    Truth,
    walk,
)

ORDERS = ("<", "<=", ">", ">=")


def kind_of(node: Node, names: Mapping[str, Kind]) -> Kind:
    """Return what a node is: a number, a text or a condition.

    Parameters
    ----------
    node : Node
    names : mapping of str to Kind
        Of the fields, as far as it is known.
    """
    match node:
        case Number() | Arithmetic() | Negative() | Range():
            return "number"
        case Text():
            return "text"
        case Name(name):
            return names.get(name, "unknown")
        case Call("lag", arguments):
            return kind_of(arguments[0], names)
        case Call(function):
            return FUNCTIONS[function].gives
        case Truth() | Compared() | In() | Missing() | Not() | Joined() | If():
            return "condition"


def kind_compared(left: Node, right: Node, operator: str, names: Mapping[str, Kind]) -> Kind:
    """Return as what two values are compared: as texts where one is a text, or where nothing says anything else."""
    kinds = {kind_of(left, names), kind_of(right, names)}
    if "condition" in kinds:
        return "condition"
    if "text" in kinds and not isinstance(left, Number) and not isinstance(right, Number):
        return "text"
    return "number" if "number" in kinds or operator in ORDERS else "text"


def kinds_by_use(nodes: Iterable[Node]) -> dict[str, Kind]:
    """Return the kinds of fields that rules compute with, or compare with numbers or texts.

    A field that is compared with another one is what that one is. A field that one rule takes as a number and another
    one as a text, such as a code, is left out.
    """
    found: dict[str, set[Kind]] = {}
    same: list[tuple[str, str]] = []

    def field(node: Node) -> Node:
        return node.arguments[0] if isinstance(node, Call) and node.function == "lag" else node

    def is_(node: Node, kind: Kind) -> None:
        if isinstance(node := field(node), Name) and kind != "unknown":
            found.setdefault(node.name, set()).add(kind)

    for part in (part for node in nodes for part in walk(node)):
        match part:
            case Arithmetic(_, left, right):
                is_(left, "number")
                is_(right, "number")
            case Negative(of):
                is_(of, "number")
            case Compared(operator, left, right):
                is_(left, "number" if operator in ORDERS else kind_of(right, {}))
                is_(right, "number" if operator in ORDERS else kind_of(left, {}))
                if isinstance(one := field(left), Name) and isinstance(other := field(right), Name):
                    same.append((one.name, other.name))
            case In(value, options):
                for option in options:
                    is_(value, kind_of(option, {}))
            case Call(function, arguments) if FUNCTIONS[function].takes == "number":
                for argument in arguments:
                    is_(argument, "number")
    for _ in same:
        for first, second in same:
            both = found.get(first, set()) | found.get(second, set())
            found[first], found[second] = {*both}, {*both}
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def linear(node: Node) -> bool:
    """Tell whether a side of a comparison is what the package validate takes for linear."""
    match node:
        case Number() | Name():
            return True
        case Negative(of):
            return linear(of)
        case Arithmetic("+" | "-", left, right):
            return linear(left) and linear(right)
        case Arithmetic("*", left, right):
            return (isinstance(left, Number) or isinstance(right, Number)) and linear(left) and linear(right)
    return False
