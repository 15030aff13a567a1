"""Regular expressions of a rulebook that can be read in exponentially many ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from masktron.engines import saxon
from masktron.engines.engine_process import TooLongError
from masktron.processes import rules_within
from masktron.rulebook.schema import Rulebook
from masktron.xpath.lexer import LexicalError, Token, tokenize
from masktron.xpath.regex_ambiguity import Ambiguity, NotAnalysedError, ambiguity

_FLAGS_AT = {"matches": 2, "tokenize": 2, "analyze-string": 2, "replace": 3}
"""Functions whose second argument is a pattern, and the place of their flags."""
_LENGTH = 50
"""Characters of a text that is tried: a matcher that doubles its steps with each would take years."""
_SECONDS = 0.5
_TRIES = 2
"""A busy machine may stop a process for half a second, but hardly twice."""

type RegexFunction = Literal["matches", "tokenize", "analyze-string", "replace"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A pattern with exponentially many readings.

    Attributes
    ----------
    function : str
    pattern, flags : str
    ambiguity : Ambiguity
    """

    function: str
    pattern: str
    flags: str
    ambiguity: Ambiguity

    def __str__(self) -> str:
        return (
            f"the pattern {_quoted(self.pattern)} can be read in exponentially many ways on a text like "
            f"{_quoted(self._text(12))}"
        )

    def _text(self, length: int) -> str:
        return self.ambiguity.text(length)

    def proved(self) -> str:
        """Say what Saxon was seen to do with it; empty if it was not slow, as it can do without some choices."""
        text = self._text(_LENGTH)
        given = ", ".join([_quoted(text), _quoted(self.pattern), *(["''"] if self.function == "replace" else [])])
        call = f"string-join({self.function}({given}, {_quoted(self.flags)}) ! string()) != 'false'"
        saxon.version()  # starting it takes time, too
        for _ in range(_TRIES):
            try:
                with rules_within(_SECONDS):
                    saxon.decide("<x/>", {}, call)
            except TooLongError:
                saxon.version()
            except saxon.SaxonError:
                return ""
            else:
                return ""
        return (
            f"{self.function}() with the pattern {_quoted(self.pattern)} backtracks: {saxon.version()} did not "
            f"decide within {_SECONDS:g} s on a text of the kind {_quoted(self._text(12))}, {len(text)} characters "
            "long; such a value holds up a run, and may end in an error of the rule: write the pattern so that each "
            "text has one reading"
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def backtracking(rulebook: Rulebook, check: int) -> tuple[Suspect, ...]:
    """Return the patterns that a check may have to match: in its test, its context and the variables it can see.

    Only patterns that stand in the call itself are looked at, and only exponents are looked for: a pattern that is
    not found may still take long, for example in the square of the length of a text.
    """
    found: dict[Suspect, None] = {}
    for pattern in rulebook.patterns:
        for rule in pattern.rules:
            own = [one for one in rule.checks if one.index == check]
            if own:
                lets = (*rulebook.lets, *pattern.lets, *rule.lets)
                for text in (own[0].test, rule.context, *(let.value for let in lets)):
                    found.update(dict.fromkeys(suspects(text)))
    return tuple(found)


@lru_cache(maxsize=512)
def suspects(expression: str) -> tuple[Suspect, ...]:
    """Return the patterns of an expression of XPath that can be read in exponentially many ways."""
    try:
        tokens = tokenize(expression)
    except LexicalError:
        return ()
    found = []
    for at, token in enumerate(tokens):
        name = token.text.removeprefix("fn:")
        if token.kind == "name" and name in _FLAGS_AT and at + 1 < len(tokens) and tokens[at + 1].text == "(":
            arguments = list(_arguments(tokens[at + 2 :]))
            pattern = _literal(arguments[1:2])
            flags = _literal(arguments[_FLAGS_AT[name] : _FLAGS_AT[name] + 1])
            if pattern is None or (flags is None and len(arguments) > _FLAGS_AT[name]):
                continue
            if way := _ambiguity(pattern, flags or ""):
                found.append(Suspect(name, pattern, flags or "", way))
    return tuple(found)


def _ambiguity(pattern: str, flags: str) -> Ambiguity | None:
    try:
        return ambiguity(pattern, flags)
    except NotAnalysedError:
        return None


def _arguments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the arguments of a call, from behind its parenthesis on."""
    own: list[Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "symbol":
            if token.text in (")", "]", "}"):
                depth -= 1
                if depth < 0:
                    break
            depth += token.text in ("(", "[", "{")
            if token.text == "," and depth == 0:
                yield own
                own = []
                continue
        own.append(token)
    yield own


def _literal(arguments: Sequence[Sequence[Token]]) -> str | None:
    """Return the text of an argument that is a literal alone."""
    if len(arguments) != 1 or len(arguments[0]) != 1 or arguments[0][0].kind != "literal":
        return None
    text = arguments[0][0].text
    return text[1:-1].replace(text[0] * 2, text[0])
