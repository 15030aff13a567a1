"""The error that ends a command, for another program: a file of JSON with its sentences, and its problem as data."""

from __future__ import annotations

import json
import os
from pathlib import Path

from masktron.errors import ERROR_FILE, MasktronError


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
