"""Saxon, started when the first expression needs it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saxonche import PySaxonProcessor, PyXsltExecutable


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


@cache
def processor() -> PySaxonProcessor:
    """Return the one Saxon processor of this process; it can read no file and no network by itself.

    The import is here because it loads a library of 60 MB, which ``--help`` must not pay for.
    """
    return _created()


@cache
def careful_processor() -> PySaxonProcessor:
    """Return another processor, which does not optimise.

    Measured with Saxon-C HE 13.1: the optimised ``(number(A), number(B)) < (1, 2)`` ends with an internal error
    (NullPointerException) where a field is absent; unoptimised it has its value.
    """
    created = _created()
    created.set_configuration_property("http://saxon.sf.net/feature/optimizationLevel", "0")
    return created


def _created() -> PySaxonProcessor:
    from saxonche import PySaxonProcessor  # noqa: PLC0415

    created = PySaxonProcessor(license=False)
    # rulebooks are screened before; this closes what a screen might miss
    created.set_configuration_property("http://saxon.sf.net/feature/allowedProtocols", "")
    created.set_configuration_property("http://saxon.sf.net/feature/allow-external-functions", "false")
    return created


class SaxonError(Exception):
    """What Saxon says, one error after the other."""

    @property
    def internal(self) -> bool:
        """Whether Saxon itself is at fault."""
        return "Internal error" in str(self) or "NullPointerException" in str(self)

    @property
    def first(self) -> str:
        """The first message, in one line, without the position in our generated stylesheet."""
        text = re.split(r"\n(?=Error|Static error|Type error)", str(self).strip())[0]
        if text.startswith(("Error", "Static error", "Type error")):
            text = text.partition("\n")[2] or text
        return " ".join(text.split()) or "unknown error"


def compile_stylesheet(text: str, *, careful: bool = False) -> PyXsltExecutable:
    """Compile XSLT 3.0, with `careful_processor` if asked to.

    Raises
    ------
    SaxonError
    """
    from saxonche import PySaxonApiError  # noqa: PLC0415

    try:
        chosen = careful_processor() if careful else processor()
        with silenced():
            return chosen.new_xslt30_processor().compile_stylesheet(stylesheet_text=text)
    except PySaxonApiError as error:
        raise SaxonError(str(error)) from None
