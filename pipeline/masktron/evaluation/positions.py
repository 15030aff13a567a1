"""Where elements begin, in lines and characters, as expat counts: libxml2 loses count, and knows no columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

from masktron.sources.xml.parser import scan

type Steps = tuple[int, ...]
"""The way from an element down to another: positions among the child elements, from 0."""
type Position = tuple[int, int]
"""Line and column, from 1."""


class _Complete(Exception):  # noqa: N818 - an outcome, not an error
    """The element that was to be read has ended."""


def starts_within(text: Iterable[bytes], line: int, column: int) -> dict[Steps, Position]:
    """Return where an element and all elements in it begin.

    Parameters
    ----------
    text : iterable of bytes
        The element in UTF-8, and possibly what follows it.
    line, column : int
        Where it begins.
    """
    found: dict[Steps, Position] = {}
    parser = expat.ParserCreate("UTF-8")

    def note(steps: Steps) -> None:
        below, right = parser.CurrentLineNumber - 1, parser.CurrentColumnNumber
        found[steps] = (line + below, right + (1 if below else column))

    _Walk(note, _stop).attach(parser)
    try:
        for block in text:
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except _Complete:
        pass
    return found


def _stop() -> None:
    raise _Complete


def starts_in_file(path: Path, wanted: Collection[Steps]) -> dict[Steps, Position]:
    """Return where some elements of a file begin, by the way from the root; reads up to the last of them."""
    found: dict[Steps, Position] = {}
    chosen = frozenset(wanted)

    def attach(parser: Any) -> None:
        def note(steps: Steps) -> None:
            if steps in chosen:
                found[steps] = (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
                if len(found) == len(chosen):
                    _stop()

        _Walk(note, lambda: None).attach(parser)

    with suppress(_Complete):
        scan(path, attach)
    return found


class _Walk:
    """Handlers of expat that know the way down to the element at hand."""

    def __init__(self, note: Callable[[Steps], None], ended: Callable[[], None]) -> None:
        self.note = note
        self.ended = ended
        self.steps: list[int] = []
        self.children = [0]

    def attach(self, parser: expat.XMLParserType) -> None:
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end

    def start(self, _name: str, _attributes: object) -> None:
        self.steps.append(self.children[-1])
        self.children[-1] += 1
        self.children.append(0)
        self.note(tuple(self.steps[1:]))

    def end(self, _name: str) -> None:
        self.steps.pop()
        self.children.pop()
        if not self.steps:
            self.ended()
