"""Saxon as the rest of masktron asks it: in a process of its own, started when the first expression needs it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from functools import cache
from typing import Any

from masktron.engines.engine_process import EngineProcess
from masktron.engines.saxon_engine import SaxonEngine, opened_saxon
from masktron.processes import RULE_SECONDS, interpreter, is_member, rule_seconds


class _Here:
    """Saxon in this process, which is one that can be ended, or cannot start another."""

    started = 1

    def __init__(self) -> None:
        self._engine = SaxonEngine(quiet=False)

    def within(self, _seconds: float | None, question: str, *given: Any) -> Any:
        return self._engine.ask(question, *given)


class _Own(threading.local):
    """The engine of a thread, and what nobody needs of it any more: in which of its processes, and the number."""

    def __init__(self) -> None:
        here = is_member() or interpreter() is None
        self.engine = _Here() if here else EngineProcess("Saxon", opened_saxon)
        self.dropped: list[tuple[int, int]] = []


_OWN = _Own()


def engine() -> EngineProcess | None:
    """Return the process that Saxon has for this thread; None where it works in this process."""
    return _OWN.engine if isinstance(_OWN.engine, EngineProcess) else None


def _ask(seconds: float | None, question: str, *given: Any) -> Any:
    engine = _OWN.engine
    if dropped := [number for process, number in _OWN.dropped if process == engine.started]:
        engine.within(seconds, "forget", dropped)
    _OWN.dropped.clear()
    return engine.within(seconds, question, *given)


def _ask_once(question: str, *given: Any) -> Any:
    """Ask what has nothing to do with a rule, and so has the usual time at least."""
    return _ask(max(rule_seconds(), RULE_SECONDS), question, *given)


@cache
def version() -> str:
    """Return Saxon's name and version; asked for with each step of a run, and Saxon is asked once."""
    return str(_ask_once("version")).removesuffix(" from Saxonica")


def values(text: str, prefixes: Mapping[str, str], expression: str) -> list[str]:
    """Return the items of an expression on a document, as texts.

    Raises
    ------
    EngineError
    """
    return list(_ask_once("values", text, dict(prefixes), expression))


def decide(text: str, prefixes: Mapping[str, str], test: str) -> bool:
    """Return the effective boolean value of a test on the root element of a document.

    Raises
    ------
    EngineError
    """
    return bool(_ask(rule_seconds(), "decide", text, dict(prefixes), test))


class _Numbered:
    """Something that a process has for this thread, and makes again if it is another process by now."""

    def __init__(self, question: str, *given: Any) -> None:
        self._asked = question, given
        self._made()

    def _made(self) -> None:
        question, given = self._asked
        self.number = int(_ask_once(question, *given))
        self._process = _OWN.engine.started
        weakref.finalize(self, _OWN.dropped.append, (self._process, self.number)).atexit = False

    def current(self) -> int:
        """Return its number in the process that runs."""
        if isinstance(_OWN.engine, EngineProcess):
            _OWN.engine.child()
        if self._process != _OWN.engine.started:
            self._made()
        return self.number


class SaxonDocument(_Numbered):
    """A parsed document, for the thread that made it.

    Parameters
    ----------
    text : str
    test : str
        Of XPath, on the document.
    prefixes : mapping of str to str

    Raises
    ------
    EngineError
        It is not well-formed.
    """

    def __init__(self, text: str, test: str = "", prefixes: Mapping[str, str] | None = None) -> None:
        super().__init__("parse", text, test, dict(prefixes or {}))

    @property
    def passed(self) -> bool:
        """Whether the test is true."""
        return self.number > 0


class Stylesheet(_Numbered):
    """A compiled stylesheet, for the thread that compiled it.

    Parameters
    ----------
    text : str
        XSLT 3.0.
    careful : bool
        Whether nothing is optimised, so that some of Saxon's internal errors do not arise.
    documents : mapping of str to str, optional
        Parameters of the stylesheet, and the documents that they are.

    Raises
    ------
    EngineError
    """

    def __init__(self, text: str, *, careful: bool = False, documents: Mapping[str, str] | None = None) -> None:
        self._careful = careful
        super().__init__("compile", text, careful, dict(documents or {}))

    def run(self, text: str) -> str:
        """Transform a document.

        Raises
        ------
        EngineError
        """
        return str(_ask(rule_seconds(), "run", self.current(), self._careful, text))

    def run_parsed(self, document: SaxonDocument) -> str:
        """Transform a document that is parsed already.

        Raises
        ------
        EngineError
        """
        program = self.current()
        return str(_ask(rule_seconds(), "run_parsed", program, document.current()))
