"""Messages of rules as a line of text: what shows a value of the record stands in braces, as XPath."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from masktron.errors import UsageError
from masktron.problems.problem import Setting
from masktron.rulebook_text.spans import Element, XmlText

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
