"""Whether a regular expression can be read in exponentially many ways, which a matcher that backtracks may try.

The expression becomes an automaton whose states are the characters of the pattern, with the number of ways from one
to the next. It is *exponentially ambiguous* if there are two different paths for one text from a state back to
itself (Weber and Seidl, On the degree of ambiguity of finite automata, 1991, theorem 4.2): the text can then be
repeated, and each repetition doubles the readings. Both paths are walked at once, over pairs of states that share a
character.

Classes of characters are compared on a sample of characters: what the pattern mentions, and some of each kind. So a
pattern that is found ambiguous is; one that is not found may be.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_SAMPLE = "abzAZ059_.,;:-/@#!'()[]{}<>=+*% \n\té\u0416\u4e2d"
_MOST_STATES = 60
_MOST_STEPS = 150_000
_QUANTIFIER = re.compile(r"(?:[?*+]|\{([0-9]{1,3})(?:(,)([0-9]{0,3}))?\})\??")
_ESCAPES: Mapping[str, str] = {"n": "\n", "r": "\r", "t": "\t"}
_META = frozenset("\\|.?*+(){}[]^$-")

type _Test = Callable[[str], bool]


class NotAnalysedError(Exception):
    """The pattern is beyond this module: nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How the readings of a text can be multiplied.

    Attributes
    ----------
    before : str
        What leads to the repeated part.
    repeated : str
    after : str
        A character that does not go on, where there is one in the sample.
    """

    before: str
    repeated: str
    after: str

    def text(self, length: int) -> str:
        """Return a text of about this length that has many readings, none of which may be right."""
        return self.before + self.repeated * max(1, length // len(self.repeated)) + self.after


def ambiguity(pattern: str, flags: str = "") -> Ambiguity | None:
    """Return how a pattern of XPath is exponentially ambiguous, if that is found.

    Raises
    ------
    NotAnalysedError
        It has back-references, anchors inside, or is too long; or it is no pattern.
    """
    if "q" in flags:
        return None
    if "x" in flags:
        raise NotAnalysedError("blanks in the pattern")
    reader = _Reader(pattern, flags)
    return _Automaton(reader.read(), reader.sample).ambiguity()


type _Node = tuple[str, tuple[_Node, ...], tuple[int, int | None], _Test | None]
"""``char``, ``all``, ``any`` or ``repeat``; its parts; how often; what a character has to be."""


class _Reader:
    """Reads a pattern into a tree."""

    def __init__(self, source: str, flags: str) -> None:
        end = len(source)
        if source.endswith("$") and (end - len(source[:-1].rstrip("\\"))) % 2 == 1:
            end -= 1
        self._source = source[:end]
        self._at = 1 if source.startswith("^") else 0
        self._flags = flags
        self.sample = dict.fromkeys(_SAMPLE)

    def read(self) -> _Node:
        tree = self._alternatives(0)
        if self._at != len(self._source):
            raise NotAnalysedError("a parenthesis")
        return tree

    def _peek(self) -> str:
        return self._source[self._at : self._at + 1]

    def _take(self) -> str:
        if not (character := self._peek()):
            raise NotAnalysedError("it ends too early")
        self._at += 1
        return character

    def _alternatives(self, depth: int) -> _Node:
        if depth > 20:
            raise NotAnalysedError("it is deep")
        parts = [self._branch(depth)]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._branch(depth))
        return parts[0] if len(parts) == 1 else ("any", tuple(parts), (1, 1), None)

    def _branch(self, depth: int) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom(depth)
            match = _QUANTIFIER.match(self._source, self._at)
            if match is not None:
                self._at = match.end()
                atom = ("repeat", (atom,), _bounds(match), None)
            parts.append(atom)
        return "all", tuple(parts), (1, 1), None

    def _atom(self, depth: int) -> _Node:
        character = self._take()
        match character:
            case "(":
                if self._source.startswith("?:", self._at):
                    self._at += 2
                inner = self._alternatives(depth + 1)
                if self._take() != ")":
                    raise NotAnalysedError("a parenthesis")
                return inner
            case ".":
                return self._char((lambda _: True) if "s" in self._flags else (lambda c: c not in "\n\r"))
            case "[":
                return self._char(self._group())
            case "\\":
                return self._char(self._escape())
            case _ if character in _META - {"-"}:
                raise NotAnalysedError(f"{character} inside")
            case _:
                return self._char(self._literal(character))

    def _char(self, test: _Test) -> _Node:
        if "i" in self._flags:
            return "char", (), (1, 1), lambda c: test(c) or test(c.lower()) or test(c.upper())
        return "char", (), (1, 1), test

    def _literal(self, character: str) -> _Test:
        self.sample[character] = None
        return lambda c: c == character

    def _escape(self) -> _Test:
        character = self._take()
        if character in _META:
            return self._literal(character)
        if character in _ESCAPES:
            return self._literal(_ESCAPES[character])
        if character in "dDsSwW":
            test = _NAMED[character.lower()]
            return test if character.islower() else (lambda c: not test(c))
        if character in "pP" and self._take() == "{":
            name, brace, _ = self._source[self._at :].partition("}")
            if brace and re.fullmatch("[LMNPZSC][a-z]?", name):
                self._at += len(name) + 1
                return lambda c: unicodedata.category(c).startswith(name) == (character == "p")
        raise NotAnalysedError("an escape")

    def _group(self) -> _Test:
        negated = self._peek() == "^"
        self._at += negated
        tests: list[_Test] = []
        while (character := self._take()) != "]":
            if character == "[" or (character == "-" and self._peek() == "["):
                raise NotAnalysedError("a difference of classes")
            escaped = character == "\\"
            before = self._at
            test = self._escape() if escaped else self._literal(character)
            single = not escaped or self._source[before] in _META or self._source[before] in _ESCAPES
            if single and self._peek() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", "["):
                self._at += 1
                low = _ESCAPES.get(self._source[before], self._source[before]) if escaped else character
                high = self._take()
                if high == "\\":
                    high = self._take()
                    high = _ESCAPES.get(high, high)
                self.sample |= dict.fromkeys((low, high))
                test = _range(low, high)
            tests.append(test)
        if not tests:
            raise NotAnalysedError("an empty class")
        return lambda c: any(test(c) for test in tests) != negated


def _range(low: str, high: str) -> _Test:
    return lambda c: low <= c <= high


def _bounds(match: re.Match[str]) -> tuple[int, int | None]:
    if match[1] is None:
        return {"?": (0, 1), "*": (0, None), "+": (1, None)}[match[0][0]]
    least = int(match[1])
    return least, least if match[2] is None else int(match[3]) if match[3] else None


_NAMED: Mapping[str, _Test] = {
    "d": lambda c: unicodedata.category(c) == "Nd",
    "s": lambda c: c in " \t\n\r",
    "w": lambda c: unicodedata.category(c)[0] not in "PZC",
}


class _Automaton:
    """The automaton of a tree: positions that read a character, and in how many ways one follows another."""

    def __init__(self, tree: _Node, sample: Iterable[str]) -> None:
        self._sample = tuple(sample)
        self._sets: list[frozenset[str]] = []
        self._from: list[int] = []
        self._to: list[int] = []
        self._empty: list[list[int]] = [[], []]
        self._steps = 0
        self._add(tree, 0, 1)
        if len(self._sets) > _MOST_STATES:
            raise NotAnalysedError("it is long")
        starts: dict[int, list[int]] = {}
        for position, state in enumerate(self._from):
            starts.setdefault(state, []).append(position)
        self._next = [self._followers(state, starts) for state in self._to]
        self._first = self._followers(0, starts)

    def _state(self) -> int:
        self._empty.append([])
        return len(self._empty) - 1

    def _add(self, node: _Node, begin: int, end: int) -> None:
        """Add a part between two states."""
        if len(self._sets) > _MOST_STATES:
            raise NotAnalysedError("it is long")
        kind, parts, (least, most), test = node
        if test is not None:
            self._sets.append(frozenset(filter(test, self._sample)))
            self._from.append(begin)
            self._to.append(end)
        elif kind == "any":
            for part in parts:
                self._add(part, begin, end)
        elif kind == "all":
            self._row([(part, False) for part in parts], begin, end)
        else:
            row = [(parts[0], False)] * least + [(parts[0], True)] * ((most or least) - least)
            if most is None:
                here, again, after = self._state(), self._state(), self._state()
                self._row(row, begin, here)
                self._empty[here] += (again, end)
                self._add(parts[0], again, after)
                self._empty[after] += (again, end)
            else:
                self._row(row, begin, end)

    def _row(self, row: list[tuple[_Node, bool]], begin: int, end: int) -> None:
        """Add parts one behind the other; those that may be left out leave it at once."""
        for part, optional in row:
            if optional:
                self._empty[begin].append(end)
            after = self._state()
            self._add(part, begin, after)
            begin = after
        self._empty[begin].append(end)

    def _followers(self, state: int, starts: Mapping[int, list[int]]) -> dict[int, int]:
        """Return which positions follow a state, and in how many ways, counting no further than 2."""
        found: dict[int, int] = {}
        path: set[int] = set()

        def walk(at: int) -> None:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise NotAnalysedError("it has many ways")
            for position in starts.get(at, ()):
                if self._sets[position]:
                    found[position] = min(2, found.get(position, 0) + 1)
            path.add(at)
            for other in self._empty[at]:
                if other not in path:
                    walk(other)
            path.discard(at)

        walk(state)
        return found

    def ambiguity(self) -> Ambiguity | None:
        """Return how it is exponentially ambiguous, if it is."""
        reached = self._paths(dict.fromkeys(self._first, ""), self._single)
        for position in sorted(reached):
            paths = self._paths({(position, position, False): ""}, self._double)
            if repeated := paths.get((position, position, True)):
                return Ambiguity(self._word(reached, position), repeated, self._bad())
        return None

    def _word(self, reached: Mapping[int, str], position: int) -> str:
        return reached[position] + min(self._sets[position], key=self._sample.index)

    def _bad(self) -> str:
        every = frozenset().union(*self._sets)
        return next((c for c in "!#\n" if c not in every), "")

    def _single(self, position: int) -> list[tuple[int, str]]:
        own = min(self._sets[position], key=self._sample.index)
        return [(q, own) for q in self._next[position]]

    def _double(self, pair: tuple[int, int, bool]) -> list[tuple[tuple[int, int, bool], str]]:
        """Return where two paths go on one character; the last says whether they have been different by then."""
        found = []
        one, other, apart = pair
        for q, ways in self._next[one].items():
            for r in self._next[other]:
                self._steps += 1
                if common := self._sets[q] & self._sets[r]:
                    differ = apart or q != r or (one == other and ways > 1)
                    found.append(((q, r, differ), min(common, key=self._sample.index)))
        if self._steps > _MOST_STEPS:
            raise NotAnalysedError("it has many ways")
        return found

    @staticmethod
    def _paths[T](start: Mapping[T, str], step: Callable[[T], list[tuple[T, str]]]) -> dict[T, str]:
        """Return what can be reached, each with a shortest text on the way; what it starts with, with its own."""
        found = dict(start)
        waiting = deque(start)
        while waiting:
            at = waiting.popleft()
            for other, character in step(at):
                if other not in found:
                    found[other] = found[at] + character
                    waiting.append(other)
        return found
