"""The error that ends a command, for another program: a file of JSON with what, where and what to do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from masktron.errors import ERROR_FILE, Exit, MasktronError


def tell_error(error: MasktronError) -> None:
    """Write an error of masktron to the file that the environment names for it (``MASKTRON_ERROR``), if any."""
    helps = [{"name": one.name, "value": one.value} for one in error.helps]
    _tell(type(error).__name__, error.what, error.where, error.hint, error.exit_code, helps)


def tell_other(what: str, *, hint: str = "", code: Exit) -> None:
    """Write an error of the system there: of a file, or of memory."""
    _tell("SystemError", what, "", hint, code)


def tell_fault(what: str, hint: str) -> None:
    """Write a fault of masktron itself there."""
    _tell("Fault", what, "", hint, Exit.FAULT)


def tell_usage(what: str) -> None:
    """Write what is wrong with the words of a command there."""
    _tell("UsageError", what, "", "", Exit.USAGE)


def _tell(kind: str, what: str, where: str, hint: str, code: Exit, helps: Sequence[Mapping[str, str]] = ()) -> None:
    if not (name := os.environ.get(ERROR_FILE)):
        return
    told = {
        "kind": kind, "what": what, "where": where, "hint": hint, "exit_code": int(code), "format_options": [*helps],
    }  # fmt: skip
    target = Path(name)
    half = target.with_name(f".{target.name}.half")
    half.write_text(json.dumps(told) + "\n", encoding="utf-8")
    half.replace(target)
