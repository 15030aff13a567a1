"""Names of nodes over a batch."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.evaluation.columns.items import (
    NOWHERE,
    RECORD,
    Doubt,
    Items,
    Node,
    NodePart,
    literal,
    one,
    same_text,
    some,
)
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.state import State
from masktron.evaluation.columns.string_items import merged

NAMINGS = ("local-name", "name", "namespace-uri")


def name_of(function: str, arguments: Sequence[Items], state: State) -> Items:
    """``local-name()``, ``name()`` and ``namespace-uri()``; of no node it is the empty string.

    Raises
    ------
    NotColumnar
        The name has a prefix, and records may have different ones.
    """
    nodes = arguments[0] if len(arguments) == 1 else state.focus if not arguments else None
    if nodes is None:
        raise NotColumnar(f"{function}() without a node")
    doubt = Doubt(nodes.unsure)
    if not nodes.single:
        doubt.add(some(nodes.count > 1))
    texts = []
    for node in nodes.items:
        if not isinstance(node, Node):
            raise NotColumnar("a type error: a node is asked for")
        texts.append((node, name_of_node(function, node, state)))
    if len(texts) == 1 and state.focus is nodes:
        # the context item is there wherever something is asked of it, and its name is one for all records
        return one(literal(texts[0][1]), doubt.mask)
    return one(merged([same_text(text, node.present) for node, text in texts]), doubt.mask)


def name_of_node(function: str, node: Node, state: State) -> str:
    """Return what one of the functions says of a node."""
    if node.at == NOWHERE or node.kind is NodePart.TEXT:
        return ""
    layout = state.scope.layout
    tag = layout.record_path[-1] if node.at == RECORD else layout.fields[node.at].tag
    uri, brace, local = tag.rpartition("}")
    if function == "namespace-uri":
        return uri.removeprefix("{")
    if function == "name" and brace:
        raise NotColumnar("name() in a namespace: records may have different prefixes")
    return local
