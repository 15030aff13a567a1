"""Namespaces that expressions of rules and the stylesheets made of them know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from xml.sax.saxutils import quoteattr

FUNCTIONS_NAMESPACE = "http://www.w3.org/2005/xpath-functions"
STANDARD_NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        "fn": FUNCTIONS_NAMESPACE,
        "xs": "http://www.w3.org/2001/XMLSchema",
        "math": f"{FUNCTIONS_NAMESPACE}/math",
        "map": f"{FUNCTIONS_NAMESPACE}/map",
        "array": f"{FUNCTIONS_NAMESPACE}/array",
    }
)
"""Prefixes that XPath 2 and later know without a declaration, and all namespaces whose functions may be called."""
XSL = "http://www.w3.org/1999/XSL/Transform"


def with_standard(namespaces: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return all prefixes that an expression may use: those that a rulebook declares go before the standard ones."""
    return {**STANDARD_NAMESPACES, **dict(namespaces)}


def declarations(namespaces: Iterable[tuple[str, str]]) -> str:
    """Return the namespace declarations for expressions of a rulebook."""
    return " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in sorted(with_standard(namespaces).items()))


def expanded(name: str, namespaces: Mapping[str, str]) -> tuple[str, str]:
    """Return namespace and local name of a function as it is called."""
    if name.startswith("Q{"):
        uri, _, local = name[2:].partition("}")
        return uri.strip(), local
    prefix, colon, local = name.rpartition(":")
    if not colon:
        return FUNCTIONS_NAMESPACE, local
    return namespaces.get(prefix) or STANDARD_NAMESPACES.get(prefix, ""), local
