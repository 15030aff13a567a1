"""What a check says beside its test: its message, diagnostics and properties, with languages and references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree
from pyschematron.direct_mode.schematron import ast

from masktron.errors import RulebookError
from masktron.problems.problem import Known
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Call, Literal
from masktron.rulebook.schema import Namespaces, Note, Origin, Part, Rich, ValueOf
from masktron.rulebook.schematron.inclusions import ISO, LANG
from masktron.rulebook.schematron.structure import name_of

FPI = "{urn:masktron:origin}fpi"
"""Attribute with the ``fpi`` of an element whose own is in use."""
_GIVE_NODES = frozenset({"current", "id", "idref", "key", "document", "doc", "root"})
WORD = r"[^\W\d][\w.\-·]*"
"""What the name of a parameter may be."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The parameters of the instances of abstract patterns, by the mark of the instance.

    Attributes
    ----------
    renamed, written : dict of str to dict of str to str
        Values by the name under which the abstract pattern has them in the tree, and by the name as it was written.
    """

    renamed: dict[str, dict[str, str]] = field(default_factory=dict)
    written: dict[str, dict[str, str]] = field(default_factory=dict)

    def inside(self, text: str, instance: str) -> str:
        """Fill in a text of the abstract pattern."""
        return filled(text, self.renamed.get(instance, {}))

    def outside(self, text: str, instance: str) -> str:
        """Fill in a text that stands elsewhere, as those of diagnostics do."""
        return filled(text, self.written.get(instance, {}))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of ``$name``; the longest name counts that there is."""

    def value(match: re.Match[str]) -> str:
        name = longest(match[1], values)
        return match[0] if name is None else f"{values[name]}{match[1][len(name) :]}"

    return re.sub(rf"\$({WORD})", value, text) if values else text


def longest(name: str, known: Mapping[str, str]) -> str | None:
    """Return the longest known name that a name is or begins with, up to a dot or hyphen."""
    shorter = [name[: cut.start()] for cut in re.finditer(r"[.\-·]", name)]
    return next((n for n in (name, *reversed(shorter)) if n in known), None)


def rich_of(element: etree._Element) -> Rich:
    """Return what an element says about its text."""
    languages = (e.get(LANG) for e in (element, *element.iterancestors()))
    lang = next((language for language in languages if language is not None), None)
    fpi = element.get(FPI) if name_of(element) in ("assert", "report") else element.get("fpi")
    return Rich(element.get("see"), element.get("icon"), fpi, lang or None)


def part_of(part: Any, namespaces: Namespaces) -> str | ValueOf:
    """Return a part of a message from pyschematron's."""
    match part:
        case ast.ValueOf():
            return ValueOf(part.select.query.strip())
        case ast.Name():
            return _named(part.path.query.strip() if part.path else ".", namespaces)
        case _:
            return str(part)


def _named(path: str, namespaces: Namespaces) -> ValueOf:
    """Return what ``<name path>`` shows: the name of a node, or the value of a call or a literal.

    The standard says that the path gives the name, as ``name(..)`` does; most rulebooks write a path to a node.
    """
    tree = understood(path, namespaces)
    value = isinstance(tree, Literal) or (isinstance(tree, Call) and tree.standard not in _GIVE_NODES)
    return ValueOf(path, is_name=not value)


def notes_of(
    check: etree._Element,
    notes: Mapping[tuple[str, str], etree._Element],
    templates: Templates,
    instance: str,
    origin: Origin,
    namespaces: Namespaces,
) -> Iterator[Part]:
    """Yield the diagnostics and properties that a check names, each a note with the parts of its text.

    Parameters
    ----------
    check : Element
    notes : mapping of (kind, id) to Element
    templates : Templates
    instance : str
        The mark of the instance of an abstract pattern that the check is of, else empty.
    origin : Origin
        Of the check.
    namespaces : tuple of (prefix, uri)

    Raises
    ------
    RulebookError
        A parameter names none.
    """
    for kind, plural in (("diagnostic", "diagnostics"), ("property", "properties")):
        for wanted in templates.inside(check.get(plural, ""), instance).split():
            element = notes.get((kind, wanted))
            if element is None:
                known = Known(wanted, tuple(name for of, name in notes if of == kind))
                raise RulebookError.of("unknown-name", str(origin), kind=kind, name=wanted, known=known)
            yield Note(
                "diagnostic" if kind == "diagnostic" else "property",
                wanted,
                element.get("role"),
                element.get("scheme"),
                rich_of(element),
            )
            for part in _parts(element):
                if isinstance(part, ValueOf):
                    select = templates.outside(part.select, instance)
                    yield _named(select, namespaces) if part.is_name else ValueOf(select)
                else:
                    yield templates.outside(part, instance)


def _parts(element: etree._Element) -> Iterator[str | ValueOf]:
    if element.text:
        yield element.text
    for child in element:
        if child.tag == f"{{{ISO}}}name":
            yield ValueOf((child.get("path") or ".").strip(), is_name=True)
        else:
            yield ValueOf((child.get("select") or "").strip())
        if child.tail:
            yield child.tail
