"""Regular expressions of XPath as Python's, as far as both surely mean the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from masktron.judge.columns.items import NotColumnar

_CLASSES: Mapping[str, str] = MappingProxyType({"d": "0-9", "s": r" \t\n\r", "w": r"A-Za-z0-9$+<=>\^`|\~"})
"""In ASCII; texts with other characters are left to an engine."""
_MOST_STEPS = 250_000
"""Steps of a search that columns take at most: Python's matcher backtracks, and no signal ends it."""
_MOST_OPEN = 20
_ONE = r"\\[-\\|.?*+(){}\[\]^$nrt]"
_MEMBER = rf"(?:\\[dsw]|{_ONE}|[^-\\\[\]](?:-[^-\\\[\]])?)"
_TOKEN = re.compile(
    r"(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)|(?P<anchor>[\^$])"
    r"|(?P<quantifier>[?*+]|\{(?P<least>[0-9]{1,3})(?:,(?P<most>[0-9]{0,3}))?\})"
    rf"|(?P<atom>\.|\\[dswDSW]|{_ONE}|[^\\|.?*+(){{}}\[\]^$]|\[\^?+-?{_MEMBER}+-?\])"
)


@dataclass(frozen=True, slots=True)
class TranslatedRegex:
    """A regular expression.

    Attributes
    ----------
    regex : Pattern
    ascii_only : bool
        Whether it says something about characters that are not ASCII, which it is not tried on.
    ways : int
        In how many ways alternatives and bounded quantifiers can be read, at most.
    degree : int
        How many quantifiers have no bound, and one more where a search may begin anywhere. A search of a text of n
        characters takes some ways * n**degree steps at most.
    """

    regex: re.Pattern[str]
    ascii_only: bool
    ways: int = 1
    degree: int = 0

    def found_in(self, text: str) -> bool | None:
        """Return whether it matches somewhere in a text; None where an engine has to say."""
        if self.ascii_only and not text.isascii():
            return None
        if self.ways * len(text) ** self.degree > _MOST_STEPS:
            return None
        return self.regex.search(text) is not None


def translated(source: str) -> TranslatedRegex:
    """Translate a regular expression of XPath 3.1.

    Raises
    ------
    NotColumnar
        It is not one, or holds something of which the two languages may differ.
    """
    reader = _Reader()
    at = 0
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token is None or not source.isascii():
            raise _not_understood()
        reader.read(token)
        at = token.end()
    if reader.opened:
        raise _not_understood()
    try:
        regex = re.compile("".join(reader.parts), re.ASCII)
    except re.error:
        raise _not_understood() from None
    anchored = source.startswith("^") and "|" not in source
    ascii_only = re.search(r"\\[dwDW]", source.replace("\\\\", "")) is not None
    return TranslatedRegex(regex, ascii_only, reader.ways * reader.branches[0], reader.degree + (not anchored))


def _not_understood() -> NotColumnar:
    return NotColumnar("a regular expression that is not understood")


class _Reader:
    """Translates token by token.

    ``opened`` has for each open group how many choices there were before it, ``branches`` the alternatives of each,
    after those of the whole; ``choices`` counts what can be read in more than one way, ``before`` is the count before
    the part that a quantifier would repeat, None where there is none.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.opened: list[int] = []
        self.branches = [1]
        self.choices = 0
        self.before: int | None = None
        self.ways = 1
        self.degree = 0

    def read(self, token: re.Match[str]) -> None:
        """Take the next token."""
        text, before = token[0], None
        match token.lastgroup:
            case "open" if len(self.opened) < _MOST_OPEN:
                self.opened.append(self.choices)
                self.branches.append(1)
                text = "(?:"
            case "close" if self.opened:
                before = self.opened.pop()
                self.ways *= self.branches.pop()
            case "or":
                self.branches[-1] += 1
                self.choices += 1
            case "anchor":
                text = "\\A" if text == "^" else "\\Z"
            case "quantifier" if self.before is not None:
                self._repeat(token, self.before)
            case "atom":
                text, before = _atom(text), self.choices
            case _:
                raise _not_understood()
        self.parts.append(text)
        self.before = before

    def _repeat(self, token: re.Match[str], before: int) -> None:
        least, most = token["least"], token["most"]
        if self.choices > before and token[0] != "?":
            # Python's matcher may try exponentially many ways, and no signal ends it
            raise NotColumnar("a repeated group that can be read in several ways")
        if token[0] in ("*", "+") or most == "":
            self.degree += 1
        elif token[0] == "?":
            self.ways *= 2
        elif most:
            self.ways *= int(most) - int(least) + 1
        self.choices += most is not None or least is None


def _atom(text: str) -> str:
    """Return what stands for one character."""
    if text == ".":
        return "[^\\n\\r]"
    if text[0] == "[":
        inverted = "^" if text[1] == "^" else ""
        return f"[{inverted}{re.sub(_MEMBER, _member, text[1 + len(inverted) : -1])}]"
    if text[0] == "\\" and text[1].lower() in _CLASSES:
        return f"[{'^' if text[1].isupper() else ''}{_CLASSES[text[1].lower()]}]"
    return text if text[0] == "\\" else re.escape(text)


def _member(member: re.Match[str]) -> str:
    text = member[0]
    if text[0] == "\\":
        return _CLASSES.get(text[1], text)
    return "-".join(map(re.escape, text.split("-")))
