"""A bare ``<`` or ``&`` in a rulebook, which XML does not allow: where it stands, and in which rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from masktron.errors import RulebookError
from masktron.sources.xml.parser import opened

_ATTRIBUTE = r"""\s+[^\s=<>"'/]+\s*=\s*(?:"[^"]*"|'[^']*')"""
_AMPERSAND = r"&(?!(?:[^\W\d][\w.-]*|#[0-9]+|#x[0-9A-Fa-f]+);)(?:(?:lt|gt|amp|quot|apos)\b)?"
_MARKUP = re.compile(
    r"(?P<skipped><!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>]*>|</[^>]*>)"
    rf"|<(?P<name>[^\W\d][\w.:-]*)(?P<attributes>(?:{_ATTRIBUTE})*)"
    rf"|(?P<text><|{_AMPERSAND})",
    re.DOTALL,
)
_VALUE = re.compile(r"""\s+(?P<name>[^\s=<>"'/]+)\s*=\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)""", re.DOTALL)
_CUT = re.compile(
    r"""(?P<name>[\w:.-]+)\s*=\s*(?P<quote>["'])(?:(?!(?P=quote))[^<])*(?P=quote)(?!\s*(?:[/?]?>|$)|\s+[\w:.-]+\s*=\s*["'])"""
)
_BARE = re.compile(f"<|{_AMPERSAND}")
_ESCAPES = {"<": "&lt;", "&": "&amp;"}


@dataclass(frozen=True, slots=True)
class _Bare:
    """A sign at an offset, in an attribute or in the text of an element, whose tag begins at ``element``."""

    sign: str
    at: int
    element: int
    owner: str
    attribute: str = ""

    @property
    def hint(self) -> str:
        """What to write instead."""
        if "&&" in self.attribute:
            return "XPath writes and for &&"
        written = " ".join(_BARE.sub(lambda match: _escaped(match[0]), self.attribute).split())
        return f"write {_escaped(self.sign)} for {self.sign}" + (f": {written}" if written else "")


def _escaped(sign: str) -> str:
    """Return what stands for a bare sign, or for a reference without its semicolon."""
    return _ESCAPES.get(sign) or f"{sign};"


def bare_sign(path: Path, error: RulebookError) -> RulebookError | None:
    """Return an error that says what to write instead, if a bare sign is why a rulebook is not well-formed.

    Parameters
    ----------
    path : Path
    error : RulebookError
        What the parser says, with line and column.
    """
    place = re.search(r":(\d+):\d+$", error.where)
    if place is None:
        return None
    with opened(path, RulebookError) as (stream, encoding):
        text = stream.read()[len(encoding.bom) :].decode(encoding.codec, "replace")
    found = next(_bare_signs(text), None)
    # what stands before it is wrong for another reason
    if found is None or _line(text, found.element) > int(place[1]):
        return _cut_short(text.splitlines()[int(place[1]) - 1 : int(place[1])], error)
    column = found.at - text.rfind("\n", 0, found.at)
    return RulebookError(
        f"{found.owner} has a bare {found.sign}, which XML does not allow",
        where=f"{path}:{_line(text, found.at)}:{column}",
        hint=found.hint,
    )


def _cut_short(line: list[str], error: RulebookError) -> RulebookError | None:
    """Return an error that names an attribute which a quote inside it ends, if the line of the error has one."""
    cut = next((found for one in line for found in _CUT.finditer(one)), None)
    if cut is None:
        return None
    quote, other = cut["quote"], "'" if cut["quote"] == '"' else '"'
    return RulebookError(
        f"the value of {cut['name']} ends at the second {quote}, inside the expression: {cut[0]}",
        where=error.where,
        hint=f"write {other}...{other} for a text inside {cut['name']}={quote}...{quote}",
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _bare_signs(text: str) -> Iterator[_Bare]:
    """Yield the bare signs in the order of the text; quotes tell where the value of an attribute ends."""
    last, owner = 0, "the text"
    for found in _MARKUP.finditer(text):
        if found["text"]:
            yield _Bare(found["text"], found.start(), last, owner)
        if found["name"] is None:
            continue
        values = list(_VALUE.finditer(found["attributes"]))
        named = next((f" {value['value']!r}" for value in values if value["name"] == "id"), "")
        last, owner = found.start(), f"the text of <{found['name']}>{named}"
        for value in values:
            start = found.start("attributes") + value.start("value")
            who = f"{value['name']} of <{found['name']}>{named}"
            for sign in _BARE.finditer(value["value"]):
                yield _Bare(sign[0], start + sign.start(), last, who, value[0].strip())
