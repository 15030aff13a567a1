"""Which fields of plain rules hold numbers, and which hold texts: by what rules do with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from masktron.rulebook.plain import tree
from masktron.rulebook.plain.functions import FUNCTIONS
from masktron.rulebook.plain.tree import Kind, Node, children, mapped, walk

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
        case tree.Number() | tree.Arithmetic() | tree.Negative() | tree.Range():
            return "number"
        case tree.Text():
            return "text"
        case tree.Name(name):
            return names.get(name, "unknown")
        case tree.Call("lag", arguments):
            return kind_of(arguments[0], names)
        case tree.Call(function):
            return FUNCTIONS[function].gives
        case tree.Truth() | tree.Compared() | tree.In() | tree.Not() | tree.Joined() | tree.If():
            return "condition"


def kind_compared(left: Node, right: Node, operator: str, names: Mapping[str, Kind]) -> Kind:
    """Return as what two values are compared: as texts where one is a text, or where nothing says anything else."""
    kinds = {kind_of(left, names), kind_of(right, names)}
    if "condition" in kinds:
        return "condition"
    if "text" in kinds and not isinstance(left, tree.Number) and not isinstance(right, tree.Number):
        return "text"
    return "number" if "number" in kinds or operator in ORDERS else "text"


def kinds_by_use(
    nodes: Iterable[Node], kinds_of: Callable[[Collection[str]], Mapping[str, Kind]] | None = None
) -> dict[str, Kind]:
    """Return the kinds of fields that rules compute with, or compare with numbers or texts.

    A field that is compared with another one is what that one is. A field that one rule takes as a number and another
    one as a text, such as a code, is left out.

    Parameters
    ----------
    nodes : iterable of Node
    kinds_of : callable, optional
        What fields hold that are compared with each other alone.
    """
    found: dict[str, set[Kind]] = {}
    same: list[tuple[str, str]] = []

    def field(node: Node) -> Node:
        return node.arguments[0] if isinstance(node, tree.Call) and node.function == "lag" else node

    def are(nodes: Iterable[Node], kind: Kind) -> None:
        for name in map(field, nodes):
            if isinstance(name, tree.Name) and kind in ("number", "text"):
                found.setdefault(name.name, set()).add(kind)

    for part in (part for node in nodes for part in walk(node)):
        match part:
            case tree.Arithmetic() | tree.Negative():
                are(children(part), "number")
            case tree.Compared(operator, left, right):
                are((left,), "number" if operator in ORDERS else kind_of(right, {}))
                are((right,), "number" if operator in ORDERS else kind_of(left, {}))
                if isinstance(one := field(left), tree.Name) and isinstance(other := field(right), tree.Name):
                    same.append((one.name, other.name))
            case tree.In(value, options):
                for option in options:
                    are((value,), kind_of(option, {}))
            case tree.Call(function, arguments) if FUNCTIONS[function].takes == "number":
                are(arguments, "number")
    for _ in same:
        for first, second in same:
            both = found.get(first, set()) | found.get(second, set())
            found[first], found[second] = {*both}, {*both}
    known = {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}
    alone = {name for pair in same for name in pair if name not in known}
    return {**known, **kinds_of(alone)} if kinds_of is not None and alone else known


def without_tolerance(node: Node, tolerance: tuple[str, str], kinds: Mapping[str, Kind]) -> Node:
    """Return a condition that says itself by how much two sides of its comparisons may differ."""
    equal, order = tolerance

    def numbers(node: tree.Compared) -> bool:
        of_numbers = kind_compared(node.left, node.right, node.operator, kinds) == "number"
        return of_numbers and _linear(node.left) and _linear(node.right)

    def changed(node: Node) -> Node:
        match node:
            case tree.Compared("==", left, right) if equal and numbers(node):
                return tree.Compared("<=", tree.Call("abs", (tree.Arithmetic("-", left, right),)), tree.Number(equal))
            case tree.Compared("<=", left, right) if order and numbers(node):
                return tree.Compared("<=", tree.Arithmetic("-", left, right), tree.Number(order))
            case tree.Compared(">=", left, right) if order and numbers(node):
                return tree.Compared("<=", tree.Arithmetic("-", right, left), tree.Number(order))
        return node

    return mapped(node, changed)


def _linear(node: Node) -> bool:
    """Tell whether a side of a comparison is what the package validate takes for linear."""
    match node:
        case tree.Arithmetic("*", left, right) if not isinstance(left, tree.Number) and not isinstance(
            right, tree.Number
        ):
            return False
        case tree.Number() | tree.Name() | tree.Negative() | tree.Arithmetic("+" | "-" | "*"):
            return all(map(_linear, children(node)))
    return False
