"""What ends a command: an error as JSON for another program, and a fault of masktron itself told in words."""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path

from masktron.errors import ERROR_FILE, MasktronError

DEBUG = "MASKTRON_DEBUG"
"""Variable of the environment: where it is set, a fault is told with its words and its traceback."""
_PACKAGE = Path(__file__).resolve().parents[1]


def tell(kind: str, what: str, code: int, *, hint: str = "", error: MasktronError | None = None) -> None:
    """Write an error to the file that the environment names for it (``MASKTRON_ERROR``), if any.

    Parameters
    ----------
    kind : str
        The name of the class of an error of masktron, ``SystemError`` of one of the system, or ``Fault``.
    what, hint : str
    code : int
        The exit code.
    error : MasktronError, optional
        Says where it is, what options of formats help, and what it is about: its problem as data.
    """
    if not (name := os.environ.get(ERROR_FILE)):
        return
    where, helps = ("", ()) if error is None else (error.where, error.helps)
    given = (value.partition("=") for one in helps for value in one.values)
    options = [{"name": name, "value": value} for name, _, value in given]
    told: dict[str, object] = {"kind": kind, "what": what, "where": where, "hint": hint, "exit_code": int(code)}
    if error is not None:
        told |= {"about": error.problem.about(), **error.problem.as_dict()}
    if setting := getattr(error, "setting", ""):
        told["setting"] = setting
    target = Path(name)
    half = target.with_name(f".{target.name}.half")
    half.write_text(json.dumps({**told, "format_options": options}) + "\n", encoding="utf-8")
    half.replace(target)


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
