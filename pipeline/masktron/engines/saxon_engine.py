"""Saxon itself: what is compiled and parsed in the process that asks it, which is one of its own if there can be one.

Nothing but Saxon is loaded here, so that a process which serves it is there at once.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.child_process import silence_streams
from masktron.engines.engine_process import EngineError, InternalEngineError

if TYPE_CHECKING:
    from saxonche import PySaxonProcessor, PyXdmNode, PyXsltExecutable


class _Stderr:
    """File descriptor 2, which leads nowhere while any thread asks for that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking = 0
        self._kept: int | None = None

    def close(self) -> None:
        with self._lock:
            if self._asking == 0:
                self._kept = self._diverted()
            self._asking += 1

    def _diverted(self) -> int | None:
        """Return where it led; None in a process that has none."""
        try:
            kept = os.dup(2)
        except OSError:
            return None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        return kept

    def reopen(self) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0 and self._kept is not None:
                os.dup2(self._kept, 2)
                os.close(self._kept)
                self._kept = None


_STDERR = _Stderr()


@contextmanager
def silenced() -> Iterator[None]:
    """Let nothing through that Saxon prints itself, past `sys.stderr`: it quotes values of records.

    Measured with Saxon-C HE 13.1: ``trace()``, messages, warnings, and 25 lines of Java for each internal error; no
    setting turns them off. What is wrong comes as an error as well, and goes only where we put it. Nests, in
    several threads too; the command line writes through another descriptor meanwhile.
    """
    _STDERR.close()
    try:
        yield
    finally:
        _STDERR.reopen()


class SaxonEngine:
    """Does what it is asked: one method for each question, with texts and numbers in and out.

    What was compiled or parsed is called by a number.

    Parameters
    ----------
    quiet : bool
        Whether nothing that Saxon prints is heard anyway.
    """

    _processors: ClassVar[dict[bool, PySaxonProcessor]] = {}
    """One for each way of asking, in the whole process."""

    def __init__(self, *, quiet: bool) -> None:
        self._silence = nullcontext if quiet else silenced
        self._programs: dict[int, PyXsltExecutable] = {}
        self._documents: dict[int, PyXdmNode] = {}
        self._next = 0

    @classmethod
    def processor(cls, *, careful: bool = False) -> PySaxonProcessor:
        """Return a processor, which can read no file and no network by itself; a careful one does not optimise.

        Measured with Saxon-C HE 13.1: the optimised ``(number(A), number(B)) < (1, 2)`` ends with an internal error
        (NullPointerException) where a field is absent; unoptimised it has its value.
        """
        if careful not in cls._processors:
            from saxonche import PySaxonProcessor  # noqa: PLC0415 -- a library of 60 MB

            created = PySaxonProcessor(license=False)
            # rulebooks are screened before; this closes what a screen might miss
            created.set_configuration_property("http://saxon.sf.net/feature/allowedProtocols", "")
            created.set_configuration_property("http://saxon.sf.net/feature/allow-external-functions", "false")
            if careful:
                created.set_configuration_property("http://saxon.sf.net/feature/optimizationLevel", "0")
            cls._processors[careful] = created
        return cls._processors[careful]

    def ask(self, question: str, *given: Any) -> Any:
        """Answer a question, which is the name of a method.

        Raises
        ------
        EngineError
            What Saxon says against it.
        """
        try:
            with self._silence():
                return getattr(self, question)(*given)
        except Exception as error:
            if type(error).__name__ == "PySaxonApiError":
                raise _engine_error(str(error)) from None
            raise

    def version(self) -> str:
        """Return Saxon's name and version."""
        return str(self.processor().version)

    def compile(self, text: str, careful: bool, documents: dict[str, str]) -> int:
        """Compile XSLT 3.0, with documents as the parameters of these names; return its number."""
        chosen = self.processor(careful=careful)
        program = chosen.new_xslt30_processor().compile_stylesheet(stylesheet_text=text)
        for name, document in documents.items():
            program.set_parameter(name, chosen.parse_xml(xml_text=document))
        self._next += 1
        self._programs[self._next] = program
        return self._next

    def parse(self, text: str, test: str, prefixes: dict[str, str]) -> int:
        """Parse a document, put a test to it if there is one, and return its number, or 0 if it fails the test."""
        node = self.processor().parse_xml(xml_text=text)
        if test and not self._xpath(node, prefixes).effective_boolean_value(test):
            return 0
        self._next += 1
        self._documents[self._next] = node
        return self._next

    def run(self, program: int, careful: bool, text: str) -> str:
        """Transform a document."""
        return self._transformed(program, self.processor(careful=careful).parse_xml(xml_text=text))

    def run_parsed(self, program: int, document: int) -> str:
        """Transform a document that was parsed before."""
        return self._transformed(program, self._documents[document])

    def _transformed(self, program: int, node: PyXdmNode) -> str:
        return str(self._programs[program].transform_to_string(xdm_node=node) or "")

    def forget(self, numbers: list[int]) -> None:
        """Drop programs and documents."""
        for number in numbers:
            self._programs.pop(number, None)
            self._documents.pop(number, None)

    def values(self, text: str, prefixes: dict[str, str], expression: str) -> list[str]:
        """Return the items of an expression on a document, as texts."""
        engine = self._xpath(self.processor().parse_xml(xml_text=text), prefixes)
        return [str(item) for item in engine.evaluate(expression) or ()]

    def decide(self, text: str, prefixes: dict[str, str], test: str) -> bool:
        """Return the effective boolean value of a test on the root element of a document."""
        engine = self._xpath(self.processor().parse_xml(xml_text=text).children[0], prefixes)
        return bool(engine.effective_boolean_value(test))

    def _xpath(self, item: PyXdmNode, prefixes: dict[str, str]) -> Any:
        engine = self.processor().new_xpath_processor()
        for prefix, uri in prefixes.items():
            engine.declare_namespace(prefix, uri)
        engine.set_context(xdm_item=item)
        return engine


def _engine_error(text: str) -> EngineError:
    """Return the first message in what Saxon says, in one line, without the position in our generated stylesheet."""
    found = re.split(r"\n(?=Error|Static error|Type error|Warning)", text.strip())
    first = next((one for one in found if not one.startswith("Warning")), found[0])
    if first.startswith(("Error", "Static error", "Type error")):
        first = first.partition("\n")[2] or first
    internal = "Internal error" in text or "NullPointerException" in text
    return (InternalEngineError if internal else EngineError)(" ".join(first.split()) or "unknown error")


def opened_saxon() -> Callable[[tuple[str, tuple[Any, ...]]], Any]:
    """Open Saxon in a process that serves it; what it prints is heard until it runs."""
    engine = SaxonEngine(quiet=True)
    engine.version()
    silence_streams()
    return lambda asked: engine.ask(asked[0], *asked[1])
