"""The elements and attributes of ISO Schematron, by edition.

Taken from the RELAX NG schemas of ISO/IEC 19757-3:2016, :2020 and :2025 (annex A). Editions before 2016 are
in that of 2016. ``docs/writing-rules/schematron.md`` says what masktron does with each; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EDITIONS = ("2016", "2020", "2025")
OLDER = ("2000", "2006")
"""Editions that may be declared, and admit what that of 2016 does."""

_RICH = "see icon fpi"
_PATTERN = f"id abstract is-a documents role:2025 {_RICH}"
_CHECK = f"test id role flag severity:2025 subject diagnostics properties {_RICH}"
_TERMS = {
    "schema": f"id schemaVersion defaultPhase queryBinding schematronEdition:2025 {_RICH}",
    "library:2025": f"id {_RICH}",
    "title": "",
    "p": "id class icon",
    "ns": "prefix uri",
    "let": "name value as:2025",
    "param": "name value",
    "include": "href",
    "extends": "rule href",
    "phase": f"id from:2025 when:2025 {_RICH}",
    "active": "pattern",
    "pattern": _PATTERN,
    "group:2025": _PATTERN,
    "rules:2025": f"id {_RICH}",
    "rule": f"id context abstract role flag subject visit-each:2025 {_RICH}",
    "assert": _CHECK,
    "report": _CHECK,
    "value-of": "select",
    "name": "path",
    "emph": "",
    "dir": "value",
    "span": "class",
    "diagnostics": "",
    "diagnostic": f"id role:2020 {_RICH}",
    "properties": "",
    "property": f"id role scheme {_RICH}",
}
"""The attributes of each element; behind a colon the first edition, where that is not the first of all."""
EDITION_OF: Mapping[str, str] = MappingProxyType(
    {element.partition(":")[0]: element.partition(":")[2] or EDITIONS[0] for element in _TERMS}
)
"""The first edition that has each element."""
ATTRIBUTES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        name: {term.partition(":")[0]: term.partition(":")[2] or EDITION_OF[name] for term in attributes.split()}
        for name, attributes in zip(EDITION_OF, _TERMS.values(), strict=True)
    }
)
"""The attributes of each element, with the first edition that has them there."""
LANGUAGE = ("lang", "space")
"""In the namespace of XML, on any element; SVRL shows the language of messages."""
LEFT_OVER: Mapping[str, frozenset[str]] = MappingProxyType(
    {"pattern": frozenset({"name"}), "schema": frozenset({"ns", "version"})}
)
"""Of Schematron 1.5: the name of a pattern is its id where it has none; the others say nothing of rules."""
BINDINGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("xslt", "xslt1", "xpath", "xslt2", "xpath2", "exslt", "stx", "xquery"), "2016"),
        **dict.fromkeys(("xslt3", "xpath3", "xpath31", "xquery3", "xquery31"), "2020"),
        **dict.fromkeys(("xslt4", "xpath4", "xquery4"), "2025"),
    }
)
"""The names of query languages that the editions reserve."""
_MESSAGE = {"value-of": "2016", "name": "2016", "emph": "2016", "dir": "2016", "span": "2016"}
_MARKUP = {"value-of": "2025", "name": "2025"}
_DOCUMENTED = {"dir": "2016", "emph": "2016", "span": "2016"}
_RULES = {"title": "2016", "p": "2016", "let": "2016", "rule": "2016", "param": "2016"}
_TOP = {"title": "2016", "p": "2016", "let": "2016", "pattern": "2016", "diagnostics": "2016", "properties": "2016"}
_TOP |= {"param": "2025", "group": "2025", "rules": "2025"}
CHILDREN: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "schema": {**_TOP, "ns": "2016", "phase": "2016"},
        "library": _TOP,
        "phase": {"p": "2016", "let": "2016", "active": "2016"},
        "pattern": _RULES,
        "group": _RULES,
        "rules": {"title": "2025", "p": "2025", "rule": "2025"},
        "rule": {"title": "2025", "p": "2016", "let": "2016", "assert": "2016", "report": "2016", "extends": "2016"},
        "assert": _MESSAGE,
        "report": _MESSAGE,
        "diagnostic": {**_MESSAGE, "name": "2025"},
        "property": _MESSAGE,
        "diagnostics": {"diagnostic": "2016"},
        "properties": {"property": "2016"},
        "title": {"dir": "2016"},
        "p": _DOCUMENTED,
        "active": _DOCUMENTED,
        "emph": _MARKUP,
        "dir": _MARKUP,
        "span": _MARKUP,
        **{name: {} for name in ("let", "ns", "param", "value-of", "name", "extends")},
    }
)
"""The Schematron elements that an element may hold when inclusions are in place, with the first edition for it."""
MIXED = frozenset({"assert", "report", "diagnostic", "property", "title", "p", "active", "emph", "dir", "span"})
"""Elements that hold text."""
