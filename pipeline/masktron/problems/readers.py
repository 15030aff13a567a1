"""Who reads: what a sentence calls a setting depends on it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Reader(Enum):
    """Who reads it."""

    TERMINAL = "terminal"
    PYTHON = "python"
    BROWSER = "browser"


RESULT_READER = "MASKTRON_READER"
"""Variable of the environment: who reads what a command writes with ``--json``, if not whoever has called it."""
_READER: ContextVar[Reader] = ContextVar("reader", default=Reader.PYTHON)


@contextmanager
def reading(reader: Reader) -> Generator[None]:
    """Let sentences be worded for somebody else than for whoever calls masktron from Python."""
    former = _READER.set(reader)
    try:
        yield
    finally:
        _READER.reset(former)


def reader() -> Reader:
    """Return who reads now."""
    return _READER.get()


def result_reader() -> Reader:
    """Return who reads the JSON of a result: pages, where they have started the command."""
    named = os.environ.get(RESULT_READER)
    return reader() if named is None else Reader(named)
