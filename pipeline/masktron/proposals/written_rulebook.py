"""Candidates as Schematron: one pattern for each context, one assert for each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from masktron.proposals.candidate import FieldPaths, ShownValue, SuggestedRule

SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"
_NO_ID = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True, eq=False)
class NamedRule:
    """A candidate with the id and the context that it has in the rulebook.

    Attributes
    ----------
    id : str
    context : str
    candidate : SuggestedRule
    """

    id: str
    context: str
    candidate: SuggestedRule


def named_rules(candidates: Iterable[SuggestedRule], paths: FieldPaths) -> tuple[NamedRule, ...]:
    """Give candidates ids that no two of them share."""
    taken: dict[str, int] = {}
    found = []
    for one in candidates:
        stem = _NO_ID.sub("", one.name)
        taken[stem] = taken.get(stem, 0) + 1
        name = stem if taken[stem] == 1 else f"{stem}-{taken[stem]}"
        while taken[stem] > 1 and name in taken:
            taken[stem] += 1
            name = f"{stem}-{taken[stem]}"
        taken.setdefault(name, 1)
        guards = "".join(f"[{guard}]" for guard in dict.fromkeys(one.guards))
        found.append(NamedRule(name, f"{paths.record}{guards}", one))
    return tuple(found)


def schematron(rules: Sequence[NamedRule], namespaces: Mapping[str, str], title: str) -> bytes:
    """Return a rulebook, in UTF-8.

    Rules of the same context are in one rule of one pattern, as a record fires the first rule of a pattern alone.

    Parameters
    ----------
    rules : sequence of NamedRule
    namespaces : mapping of str to str
        By prefix.
    title : str
    """
    schema = etree.Element(f"{{{SCHEMATRON}}}schema", nsmap={None: SCHEMATRON})  # type: ignore[dict-item]
    _child(schema, "title").text = title
    for prefix, space in namespaces.items():
        _child(schema, "ns", prefix=prefix, uri=space)
    by_context: dict[str, list[NamedRule]] = {}
    for rule in rules:
        by_context.setdefault(rule.context, []).append(rule)
    for context, own in by_context.items():
        element = _child(_child(schema, "pattern"), "rule", context=context)
        for rule in own:
            _say(_child(element, "assert", id=rule.id, test=rule.candidate.test), rule.candidate.message)
    etree.indent(schema)
    for said in schema.iter(f"{{{SCHEMATRON}}}assert"):
        _unindented(said)
    return etree.tostring(schema, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def _child(parent: etree._Element, name: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{SCHEMATRON}}}{name}", attributes)


def _say(element: etree._Element, message: Sequence[str | ShownValue]) -> None:
    last: etree._Element | None = None
    for piece in message:
        if isinstance(piece, ShownValue):
            last = _child(element, "value-of", select=piece.path)
        elif last is None:
            element.text = (element.text or "") + piece
        else:
            last.tail = (last.tail or "") + piece


def _unindented(said: etree._Element) -> None:
    """Take away line breaks that stand between two values of a message."""
    for one in said:
        if one.tail is not None and not one.tail.strip():
            one.tail = " " if one.getnext() is not None else None


def told(message: Sequence[str | ShownValue]) -> str:
    """Return a message as a text, with XPath in braces where it shows a value."""
    return "".join(f"{{{piece.path}}}" if isinstance(piece, ShownValue) else piece for piece in message)
