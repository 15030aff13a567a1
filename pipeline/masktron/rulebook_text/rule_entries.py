"""The rules that stand in a file, each with its message as a line of text, and what may be changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

from masktron.errors import RulebookError, UsageError
from masktron.problems.problem import Known, Place, Setting
from masktron.rulebook_text.spans import Element, XmlText, xml_text

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_NO_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def shown_message(element: Element) -> tuple[str, str]:
    """Return the message of a check as it is shown, and why it cannot be changed: empty where it can.

    White space is one space. ``{Income}`` stands for ``<value-of select="Income"/>``; a brace is doubled.
    """
    pieces, locked = [], ""
    for one in element.content:
        match one:
            case str():
                pieces.append(one.replace("{", "{{").replace("}", "}}"))
            case Element() if (select := _selected(one)) is not None:
                pieces.append(f"{{{select}}}")
                if set("{}") & set(select):
                    locked = "it shows an expression with braces"
            case Element():
                pieces.append(" ".join(one_text(one)))
                locked = f"it has an element {one.name}"
            case None:
                locked = "it has a comment or a CDATA section"
    return " ".join("".join(pieces).split()), locked


def one_text(element: Element) -> Iterator[str]:
    """Yield the texts in an element."""
    for one in element.content:
        if isinstance(one, str):
            yield one
        elif one is not None:
            yield from one_text(one)


def _selected(element: Element) -> str | None:
    if element.content:
        return None
    if element.name == "value-of" and set(element.attributes) == {"select"}:
        return element.attributes["select"]
    if element.name == "name" and not element.attributes:
        return "name()"
    if element.name == "name" and set(element.attributes) == {"path"}:
        return f"name({element.attributes['path']})"
    return None


def message_markup(text: str, like: XmlText) -> str:
    """Return the markup of a message that was typed.

    Raises
    ------
    UsageError
        A brace without its partner, or a character that XML cannot hold.
    """
    root = like.tag_name(like.root)
    prefix = root.rpartition(":")[0]
    name = f"{prefix}:value-of" if prefix else "value-of"
    pieces = []
    for one in _PIECE.finditer(text):
        if one[0] in ("{{", "}}"):
            pieces.append(one[0][0])
        elif one[0] in ("{", "}"):
            raise UsageError.of("message-braces", part=Setting("message"), found=f"a {one[0]} alone")
        elif one[1] is not None:
            if not one[1].strip():
                raise UsageError.of("message-braces", part=Setting("message"), found="braces with nothing between")
            pieces.append(f"<{name} select={quoted(one[1].strip(), 'message')}/>")
        else:
            pieces.append(escaped(one[0], "message"))
    return "".join(pieces)


def escaped(text: str, what: str) -> str:
    """Return a text as XML has it.

    Raises
    ------
    UsageError
        It has a character that XML cannot hold.
    """
    if found := _NO_XML.search(text):
        given = repr(found[0])
        raise UsageError.of("bad-value", name=Setting(what), expected="text that XML can hold", given=given)
    return escape(text)


def quoted(text: str, what: str, quote: str = '"') -> str:
    """Return a text as the value of an attribute, with its quotes.

    Raises
    ------
    UsageError
        It has a character that XML cannot hold.
    """
    reference = "&quot;" if quote == '"' else "&apos;"
    return f"{quote}{escaped(text, what).replace(quote, reference)}{quote}"


SETS = ("pattern", "group")
SOFT = frozenset({"warning", "warn", "information", "info", "informational", "hint", "soft"})
"""Values of ``role``, ``flag`` or ``severity`` (in lower case) that mark a soft edit."""
_CHECKS = ("assert", "report")
type EntryKind = Literal["assert", "report", "instance", "include"]


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule of a file.

    Attributes
    ----------
    number : int
        Its place among the rules of the file, from 1.
    id : str
        As written; empty where it has none.
    kind : str
        ``assert``; ``report``; ``instance``, a pattern that is made from an abstract one; ``include``, another file.
    context, test, message : str
        Of an assert or report.
    line, last_line : int
        Of its start tag.
    locked : str
        Why it cannot be changed; empty where it can.
    message_locked : str
        Why its message cannot be.
    together : tuple of int
        Numbers of the rules that stand in the same element, itself among them: they have one context.
    removable : bool
    role : str
        As written: ``warning`` makes it soft, so that a failure is only told.
    soft_by : str
        Another attribute that makes it soft, as written; empty where none does.
    """

    number: int
    id: str
    kind: EntryKind
    context: str
    test: str
    message: str
    line: int
    last_line: int
    locked: str = ""
    message_locked: str = ""
    together: tuple[int, ...] = ()
    removable: bool = True
    role: str = ""
    soft_by: str = ""

    @property
    def beside(self) -> tuple[int, ...]:
        """Numbers of the other rules that have its context."""
        return tuple(one for one in self.together if one != self.number)

    @property
    def soft(self) -> bool:
        """Whether a failure is only told."""
        return bool(self.soft_by) or self.role.strip().lower() in SOFT

    @property
    def named(self) -> str:
        """What to call it: its id, or its number."""
        return self.id or f"#{self.number}"


@dataclass(frozen=True, slots=True)
class RulesInText:
    """A rulebook as one file.

    Attributes
    ----------
    text : XmlText
    entries : tuple of RuleEntry
    elements : tuple of Element
        Of the entries.
    """

    text: XmlText
    entries: tuple[RuleEntry, ...]
    elements: tuple[Element, ...]

    @property
    def ids(self) -> frozenset[str]:
        """All ids in the file."""
        return frozenset(one.attributes["id"] for one in self.text.root.within() if "id" in one.attributes)

    @property
    def phases(self) -> dict[str, str]:
        """The phase that names a pattern, by the id of the pattern."""
        return {
            active.attributes.get("pattern", ""): phase.attributes.get("id", "")
            for phase in self.text.root.of("phase")
            for active in phase.of("active")
        }

    def entry(self, name: str) -> RuleEntry:
        """Return a rule by its id, or by its number after a ``#``.

        Raises
        ------
        UsageError
            There is none, or several have the id.
        """
        found = [one for one in self.entries if name in (one.id, f"#{one.number}")]
        if len(found) != 1:
            known = Known(name, (*sorted(self.ids), *(f"#{one.number}" for one in self.entries)))
            kind = "single rule" if found else "rule"
            raise UsageError.of("unknown-name", kind=kind, name=name, known=known)
        return found[0]


def rules_in(source: bytes, where: str = "rules.sch") -> RulesInText:
    """List the rules of a file.

    Parameters
    ----------
    source : bytes
    where : str
        The name of the file, for errors.

    Raises
    ------
    RulebookError
        It is no XML, no Schematron, or cannot be changed in place.
    """
    text = xml_text(source, where)
    if text.root.name not in ("schema", *SETS):
        raise RulebookError.of("not-a-rulebook", Place(where, text.root.line), element=text.root.name)
    found = list(_entries(text.root))
    same: dict[int, list[int]] = {}
    for number, (element, _) in enumerate(found, 1):
        if element.name in _CHECKS:
            same.setdefault(id(element.parent), []).append(number)
    together = {parent: tuple(numbers) for parent, numbers in same.items()}
    entries = tuple(
        _entry(number, element, locked, together.get(id(element.parent), ()))
        for number, (element, locked) in enumerate(found, 1)
    )
    return RulesInText(text, entries, tuple(element for element, _ in found))


def _entries(root: Element) -> Iterator[tuple[Element, str]]:
    containers = [root] if root.name in SETS else root.children
    for one in containers:
        if one.name in ("include", "extends"):
            yield one, f"its rules stand in {one.attributes.get('href', 'another file')}"
        elif one.name in SETS and not is_abstract(one):
            if "is-a" in one.attributes:
                yield one, _instance(one)
            else:
                yield from _of_set(one)


def _of_set(found: Element) -> Iterator[tuple[Element, str]]:
    for rule in found.children:
        if rule.name == "include":
            yield rule, f"its rules stand in {rule.attributes.get('href', 'another file')}"
        elif rule.name == "rule":
            why = "other rules extend it: it is abstract" if is_abstract(rule) else ""
            for check in rule.of(*_CHECKS):
                yield check, why


def _instance(found: Element) -> str:
    parts = ", ".join(
        f"{one.attributes.get('name', '')} = {' '.join(one.attributes.get('value', '').split())}"
        for one in found.of("param")
    )
    return f"it is made from the abstract pattern {found.attributes['is-a']}: {parts}"


def is_abstract(element: Element) -> bool:
    """Tell whether a pattern or a rule is declared as abstract."""
    return element.attributes.get("abstract", "").strip() in ("true", "1")


def _entry(number: int, element: Element, locked: str, together: tuple[int, ...]) -> RuleEntry:
    attributes = element.attributes
    if element.name not in _CHECKS:
        kind: EntryKind = "instance" if element.name in SETS else "include"
        return RuleEntry(
            number, attributes.get("id", ""), kind, "", "", "", element.line, element.last_line, locked,
            removable=kind == "instance",
        )  # fmt: skip
    message, message_locked = shown_message(element)
    rule = element.parent
    return RuleEntry(
        number,
        attributes.get("id", ""),
        "assert" if element.name == "assert" else "report",
        "" if rule is None else rule.attributes.get("context", ""),
        attributes.get("test", ""),
        message,
        element.line,
        element.last_line,
        locked,
        message_locked,
        together,
        removable=not locked,
        role=attributes.get("role", ""),
        soft_by=_soft_by(attributes),
    )


def _soft_by(attributes: Mapping[str, str]) -> str:
    words = [("flag", word) for word in attributes.get("flag", "").split()]
    words += [("severity", attributes.get("severity", ""))]
    return next((f'{name}="{attributes[name]}"' for name, word in words if word.strip().lower() in SOFT), "")


def includes_of(source: bytes, where: str) -> tuple[str, ...]:
    """Return the files that a file of Schematron takes in, as it names them; it may be a part of a rulebook.

    Raises
    ------
    RulebookError
        It is no XML, or no Schematron, or its places are not known.
    """
    text = xml_text(source, where)
    if text.root.name.startswith("{"):
        raise RulebookError.of("not-a-rulebook", Place(where, text.root.line), element=text.root.name)
    named = (one.attributes.get("href", "") for one in text.root.within() if one.name in ("include", "extends"))
    return tuple(dict.fromkeys(one.partition("#")[0] for one in named if one.partition("#")[0]))
