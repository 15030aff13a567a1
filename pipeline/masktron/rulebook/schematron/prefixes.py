"""Prefixes of a file that is included, where the rulebook binds them to other namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from itertools import count, zip_longest

from lxml import etree

from masktron.xpath.lexer import LexicalError, tokenize

EXPRESSIONS: Mapping[str, tuple[str, ...]] = {
    "phase": ("from", "when"),
    "pattern": ("documents",),
    "group": ("documents",),
    "rule": ("context", "subject", "visit-each"),
    "assert": ("test", "subject"),
    "report": ("test", "subject"),
    "let": ("value",),
    "param": ("value",),
    "value-of": ("select",),
    "name": ("path",),
}
"""The attributes of each element that hold XPath."""


def bindings(top: etree._Element) -> dict[str, str]:
    """Return the prefixes that a schema or library declares by itself."""
    return {
        ns.get("prefix", ""): ns.get("uri", "")
        for ns in top
        if etree.QName(ns).localname == "ns" and etree.QName(ns).namespace == etree.QName(top).namespace
    }


def new_names(own: Mapping[str, str], bound: MutableMapping[str, str]) -> dict[str, str]:
    """Return other names for the prefixes that are bound to other namespaces already, and bind all.

    Parameters
    ----------
    own : mapping of prefix to namespace
        Of the file that is included.
    bound : mapping of prefix to namespace
        Of the rulebook so far; taken on.
    """
    found: dict[str, str] = {}
    for prefix, uri in own.items():
        if bound.setdefault(prefix, uri) == uri:
            continue
        name = next(p for p in _further(prefix) if bound.get(p, uri) == uri and p not in own)
        bound[name] = uri
        found[prefix] = name
    return found


def _further(prefix: str) -> Iterator[str]:
    return (f"{prefix}-{number}" for number in count(2))


def rename(top: etree._Element, names: Mapping[str, str]) -> etree._Element | None:
    """Write other prefixes into all expressions of a tree.

    Returns
    -------
    element : Element or None
        The first whose expression is none and may use such a prefix; None where all is done.
    """
    for element in top.iter() if names else ():
        name = etree.QName(element).localname
        if name == "ns" and element.get("prefix") in names:
            element.set("prefix", names[element.get("prefix", "")])
        for attribute in EXPRESSIONS.get(name, ()):
            written = element.get(attribute)
            if written is None:
                continue
            try:
                element.set(attribute, renamed(written, names))
            except LexicalError:
                if any(f"{prefix}:" in written for prefix in names):
                    return element
    return None


def renamed(expression: str, names: Mapping[str, str]) -> str:
    """Return an expression with other prefixes.

    Raises
    ------
    LexicalError
        It is no XPath.
    """
    parts: list[str] = []
    at = 0
    tokens = tokenize(expression)
    for token, follower in zip_longest(tokens, tokens[1:]):
        if token.kind != "name":
            continue
        prefix, colon, _ = token.text.partition(":")
        # in a template: p:$name
        glued = follower is not None and follower.text == ":" and follower.start == token.end
        if (colon or glued) and prefix in names:
            parts += expression[at : token.start], names[prefix]
            at = token.start + len(prefix)
    return "".join((*parts, expression[at:]))
