"""The elements and attributes of ISO Schematron, by edition, and what masktron does with each.

Taken from the RELAX NG schemas of ISO/IEC 19757-3:2016, :2020 and :2025 (annex A). Editions before 2016 are
in that of 2016. ``docs/writing-rules/schematron.md`` shows the table; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

EDITIONS = ("2016", "2020", "2025")
OLDER = ("2000", "2006")
"""Editions that may be declared, and admit what that of 2016 does."""

type Way = Literal["carried out", "shown", "text", "refused"]
"""Carried out in the evaluation; shown in SVRL; text for the reader of the rulebook; refused with its place."""


@dataclass(frozen=True, slots=True)
class Term:
    """An element, or an attribute of it.

    Attributes
    ----------
    attribute : str
        Empty for the element.
    edition : str
        The first that has it.
    says : str
        What masktron does with it, where that is not plain from the standard.
    """

    element: str
    attribute: str
    edition: str
    way: Way
    says: str = ""

    @property
    def name(self) -> str:
        """As it is written about: ``<rule>`` or ``rule/@context``."""
        return f"{self.element}/@{self.attribute}" if self.attribute else f"<{self.element}>"


type _Row = tuple[str, str, Way, str]
_PATTERN: tuple[_Row, ...] = (
    ("", "2016", "carried out", "a record fires the first rule of each pattern that matches"),
    ("id", "2016", "carried out", ""),
    ("abstract", "2016", "carried out", ""),
    ("is-a", "2016", "carried out", ""),
    ("documents", "2016", "refused", "rules are about the data file; `document()` reaches the original"),
    ("role", "2025", "shown", "it makes no rule soft"),
)
_CHECK: tuple[_Row, ...] = (
    ("", "2016", "carried out", ""),
    ("test", "2016", "carried out", ""),
    ("id", "2016", "carried out", "the name of the edit everywhere"),
    ("role", "2016", "carried out", "may make the edit soft; a variable (`$x`) is refused"),
    ("flag", "2016", "carried out", "may make the edit soft; a variable (`$x`) is refused"),
    ("severity", "2025", "carried out", "may make the edit soft; a variable (`$x`) is refused"),
    ("subject", "2016", "carried out", "findings point there; a path down of plain names, else refused"),
    ("diagnostics", "2016", "shown", ""),
    ("properties", "2016", "shown", ""),
)
_PLAIN: tuple[tuple[str, tuple[_Row, ...]], ...] = (
    (
        "schema",
        (
            ("", "2016", "carried out", ""),
            ("id", "2016", "text", "SVRL has no place for it"),
            ("schemaVersion", "2016", "shown", ""),
            ("defaultPhase", "2016", "carried out", ""),
            ("queryBinding", "2016", "carried out", "XPath and XSLT of versions 1 to 3; others are refused"),
            ("schematronEdition", "2025", "carried out", "what came later is refused"),
        ),
    ),
    (
        "library",
        (("", "2025", "carried out", "what `extends` brings; no rulebook by itself"), ("id", "2025", "text", "")),
    ),
    ("title", (("", "2016", "shown", "of schema and pattern"),)),
    (
        "p",
        (
            ("", "2016", "text", ""),
            ("id", "2016", "text", ""),
            ("class", "2016", "text", ""),
            ("icon", "2016", "text", ""),
        ),
    ),
    (
        "ns",
        (("", "2016", "carried out", ""), ("prefix", "2016", "carried out", ""), ("uri", "2016", "carried out", "")),
    ),
    (
        "let",
        (
            ("", "2016", "carried out", "elements as its content are refused: write a `value`"),
            ("name", "2016", "carried out", ""),
            ("value", "2016", "carried out", ""),
            ("as", "2025", "refused", "cast in the value"),
        ),
    ),
    (
        "param",
        (
            ("", "2016", "carried out", "of a schema or library it is a `let`"),
            ("name", "2016", "carried out", ""),
            ("value", "2016", "carried out", "of an abstract pattern: what holds where an instance says nothing"),
        ),
    ),
    (
        "include",
        (("", "2016", "carried out", ""), ("href", "2016", "carried out", "in the folder of the rulebook or below")),
    ),
    (
        "extends",
        (
            ("", "2016", "carried out", ""),
            ("rule", "2016", "carried out", "of the same pattern, or of `<rules>`; others are refused"),
            ("href", "2016", "carried out", "of a schema or a library from 2025 on"),
        ),
    ),
    (
        "phase",
        (
            ("", "2016", "carried out", ""),
            ("id", "2016", "carried out", ""),
            ("from", "2025", "carried out", "a path down from the root, else refused"),
            ("when", "2025", "refused", "in the active phase, and so is `--phase #ANY`: name the phase"),
        ),
    ),
    ("active", (("", "2016", "carried out", ""), ("pattern", "2016", "carried out", ""))),
    ("pattern", _PATTERN),
    (
        "group",
        (
            ("", "2025", "carried out", "a record fires every rule that matches"),
            *((attribute, "2025", way, says) for attribute, _, way, says in _PATTERN[1:]),
        ),
    ),
    ("rules", (("", "2025", "carried out", "abstract rules for the whole schema"), ("id", "2025", "text", ""))),
    (
        "rule",
        (
            ("", "2016", "carried out", ""),
            ("id", "2016", "carried out", ""),
            ("context", "2016", "carried out", ""),
            ("abstract", "2016", "carried out", ""),
            ("role", "2016", "carried out", "for those of its checks that have none"),
            ("flag", "2016", "carried out", "for those of its checks that have none"),
            ("subject", "2016", "carried out", "for those of its checks that have none"),
            ("visit-each", "2025", "carried out", "a path down of child elements or attributes, else refused"),
        ),
    ),
    ("assert", _CHECK),
    ("report", _CHECK),
    ("value-of", (("", "2016", "carried out", ""), ("select", "2016", "carried out", ""))),
    ("name", (("", "2016", "carried out", ""), ("path", "2016", "carried out", ""))),
    ("emph", (("", "2016", "carried out", "its text is part of the message"),)),
    (
        "dir",
        (("", "2016", "carried out", "its text is part of the message"), ("value", "2016", "text", "`ltr` or `rtl`")),
    ),
    ("span", (("", "2016", "carried out", "its text is part of the message"), ("class", "2016", "text", ""))),
    ("diagnostics", (("", "2016", "shown", ""),)),
    ("diagnostic", (("", "2016", "shown", ""), ("id", "2016", "shown", ""), ("role", "2020", "shown", ""))),
    ("properties", (("", "2016", "shown", ""),)),
    (
        "property",
        (
            ("", "2016", "shown", ""),
            ("id", "2016", "shown", ""),
            ("role", "2016", "shown", ""),
            ("scheme", "2016", "shown", ""),
        ),
    ),
)
RICH = ("see", "icon", "fpi")
_RICH_SHOWN = ("assert", "report", "diagnostic", "property")
_RICH_TEXT = ("schema", "library", "phase", "pattern", "group", "rules", "rule")

TERMS = tuple(Term(element, *row) for element, rows in _PLAIN for row in rows)
"""Every element and attribute but those that many elements share."""
EDITION_OF: Mapping[str, str] = MappingProxyType({t.element: t.edition for t in TERMS if not t.attribute})
SHARED = tuple(
    Term(element, attribute, EDITION_OF[element], "shown" if element in _RICH_SHOWN else "text")
    for element in (*_RICH_SHOWN, *_RICH_TEXT)
    for attribute in RICH
)
"""``see``, ``icon`` and ``fpi``: in SVRL they are attributes of a text."""
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
ATTRIBUTES: Mapping[str, Mapping[str, Term]] = MappingProxyType(
    {e: {t.attribute: t for t in (*TERMS, *SHARED) if t.element == e and t.attribute} for e in EDITION_OF}
)
"""The attributes of each element."""

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
