"""Regular expressions of XPath as Python's, as far as both surely mean the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from masktron.evaluation.columns.items import NotColumnar

_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "d": "0-9",
        "s": r" \t\n\r",
        "w": r"A-Za-z0-9$+<=>\^`|\~",
        "i": "A-Za-z_:",
        "c": r"A-Za-z0-9_:.\-",
    }
)
"""In ASCII; texts with other characters are left to an engine."""
_ESCAPED: Mapping[str, str] = MappingProxyType({"n": "\\n", "r": "\\r", "t": "\\t"})
_META = frozenset("\\|.?*+(){}[]^$-")
_MOST_STEPS = 250_000
"""Steps of a search that columns take at most: Python's matcher backtracks, and no signal ends it."""
_QUANTIFIER = re.compile(r"(?:[?*+]|\{([0-9]{1,3})(?:,([0-9]{0,3}))?\})\??")


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


def translated(source: str, flags: str = "") -> TranslatedRegex:
    """Translate a regular expression of XPath 3.1.

    Raises
    ------
    NotColumnar
        It is not one, or holds something of which the two languages may differ.
    """
    if flags not in ("", "i"):
        raise NotColumnar("flags of a regular expression")
    option = re.IGNORECASE | re.ASCII if flags else re.ASCII
    if not source.isascii():
        raise NotColumnar("a regular expression beyond ASCII")
    reader = _Reader(source, fold=bool(flags))
    text = reader.alternatives(0)
    if reader.at != len(source):
        raise NotColumnar("a regular expression that is not understood")
    try:
        regex = re.compile(text, option)
    except re.error:
        raise NotColumnar("a regular expression that is not understood") from None
    anchored = source.startswith("^") and "|" not in source
    return TranslatedRegex(regex, reader.ascii_only or bool(flags), reader.ways, reader.degree + (not anchored))


class _Reader:
    def __init__(self, source: str, *, fold: bool) -> None:
        self.source = source
        self.fold = fold
        self.at = 0
        self.ascii_only = False
        self.choices = 0
        self.ways = 1
        self.degree = 0

    def peek(self) -> str:
        return self.source[self.at : self.at + 1]

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise NotColumnar("a regular expression that ends too early")
        self.at += 1
        return character

    def alternatives(self, depth: int) -> str:
        before, self.ways = self.ways, 1
        parts, ways = [self.branch(depth)], self.ways
        while self.peek() == "|":
            self.take()
            self.choices += 1
            self.ways = 1
            parts.append(self.branch(depth))
            ways += self.ways
        self.ways = before * ways
        return "|".join(parts)

    def branch(self, depth: int) -> str:
        text = ""
        while self.peek() and self.peek() not in "|)":
            choices = self.choices
            atom, quantifiable = self.atom(depth)
            text += atom
            match = _QUANTIFIER.match(self.source, self.at)
            if match is not None:
                if not quantifiable or (match[2] and int(match[2]) < int(match[1])):
                    raise NotColumnar("a quantifier of a regular expression")
                if self.choices > choices and match[0][0] != "?":
                    # Python's matcher may try exponentially many ways, and no signal ends it
                    raise NotColumnar("a repeated group that can be read in several ways")
                self.choices += match[0][0] != "{" or match[2] is not None
                self._count(match)
                text += match[0]
                self.at = match.end()
        return text

    def _count(self, quantifier: re.Match[str]) -> None:
        """Count the ways in which a quantifier can be read."""
        if quantifier[0][0] in "*+" or quantifier[2] == "":
            self.degree += 1
        elif quantifier[0][0] == "?":
            self.ways *= 2
        elif quantifier[2]:
            self.ways *= int(quantifier[2]) - int(quantifier[1]) + 1

    def atom(self, depth: int) -> tuple[str, bool]:
        character = self.take()
        match character:
            case "^" | "$":
                return "\\A" if character == "^" else "\\Z", False
            case ".":
                return "[^\\n\\r]", True
            case "[":
                return self.group(), True
            case "\\":
                return self.escape(inside=False), True
            case "(":
                return self.parentheses(depth), True
            case _ if character in _META and character != "-":
                raise NotColumnar("a regular expression that is not understood")
            case _:
                return re.escape(character), True

    def parentheses(self, depth: int) -> str:
        if depth > 20:
            raise NotColumnar("a deep regular expression")
        if self.source.startswith("?:", self.at):
            self.at += 2
        elif self.peek() == "?":
            raise NotColumnar("a group of a regular expression")
        inner = self.alternatives(depth + 1)
        if self.take() != ")":
            raise NotColumnar("a regular expression that is not understood")
        return f"(?:{inner})"

    def escape(self, *, inside: bool) -> str:
        character = self.take()
        if character in _META:
            return re.escape(character)
        if character in _ESCAPED:
            return _ESCAPED[character]
        if character in _CLASSES or character.lower() in _CLASSES:
            # white space is ASCII in XML
            self.ascii_only |= character not in "sS"
            return self.named(_CLASSES[character.lower()], negated=character.isupper(), inside=inside)
        raise NotColumnar("an escape of a regular expression")

    def named(self, members: str, *, negated: bool, inside: bool) -> str:
        if not inside:
            return f"[{'^' if negated else ''}{members}]"
        if negated:
            raise NotColumnar("a negated class inside a class of characters")
        return members

    def group(self) -> str:
        negated = self.peek() == "^"
        if negated:
            self.take()
            if self.fold:
                raise NotColumnar("a negated class of characters in any case")
        members = ""
        first = True
        while (character := self.take()) != "]" or first:
            first = False
            if character in "[]" or (character == "-" and members and self.peek() != "]"):
                raise NotColumnar("a class of characters")
            members += self.member(character)
        return f"[{'^' if negated else ''}{members}]"

    def member(self, character: str) -> str:
        if character == "\\":
            before = self.at
            text = self.escape(inside=True)
            single = self.source[before] in _META or self.source[before] in _ESCAPED
        else:
            text, single = re.escape(character), True
        if self.peek() != "-" or self.source[self.at + 1 : self.at + 2] == "]" or not single:
            return text
        self.take()
        end = self.take()
        if end in "[]-\\":
            raise NotColumnar("a range of characters")
        return f"{text}-{re.escape(end)}"
