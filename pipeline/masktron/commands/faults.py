"""Faults of masktron itself, told in words: an exception that nobody expected, and where it came from."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

DEBUG = "MASKTRON_DEBUG"
"""Variable of the environment: where it is set, a fault is told with its words and its traceback."""
_PACKAGE = Path(__file__).resolve().parents[1]


def fault_told(error: Exception) -> tuple[str, str]:
    """Say of an unexpected exception that masktron is to blame, and what can be done.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    what, hint : str
        Neither quotes the exception, whose words may hold values of the data.
    """
    what = f"this is a fault of masktron: {type(error).__name__} in {_place(error)}"
    if _debugged():
        return what, "please report it with what stands above, without values of your data"
    return what, (
        f"please report it with this line and the command, without data; {DEBUG}=1 in the environment shows the "
        "traceback, whose last line may quote a value of your file"
    )


def traceback_shown(error: Exception) -> str:
    """Return the traceback where whoever started the command wants to see it, else nothing."""
    return "".join(traceback.format_exception(error)) if _debugged() else ""


def _debugged() -> bool:
    return bool(os.environ.get(DEBUG))


def _place(error: Exception) -> str:
    """Return the innermost place of masktron that the exception passed: module, line and function."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).resolve().is_relative_to(_PACKAGE)]
    if not own:
        return "what it was started with"
    inner = own[-1]
    return f"{Path(inner.filename).resolve().relative_to(_PACKAGE.parent).as_posix()}:{inner.lineno} ({inner.name})"
