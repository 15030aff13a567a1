"""What may leave: a masked file whose very bytes a check has passed, and the public report about it.

The public report may be looked at in the browser before; what is downloaded waits for the check.
Downloads and the page Release both ask here, so that there is one answer. A file is looked at through the descriptor
from which it is sent afterwards: by its SHA-256, or, where it is too large to be read for each page, by its stamp of
when the check was asked for. Nobody can set the time of the last change of an inode, which is part of that.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, RunOutput, run_of, runs_of, stamp_from

CHECK_RESULT = "check.json"
"""What a check writes of what it has found."""
_LARGEST_HASHED = 256_000_000
"""Bytes of a file that is read for a page, or a download."""
_MOST_KEPT = 64
_SETTLED = 2_000_000_000
"""Nanoseconds since the last change of a file whose hash is kept; see `kept_files`."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What is known of a masked file.

    Attributes
    ----------
    check : CommandRun or None
        The newest check of it, which may be under way.
    verdict : mapping or None
        What this check says, if it speaks of these bytes; None else.
    sha256 : str or None
        Of these bytes; None where they are too many and no check speaks of them.
    passed : bool
        Whether it may leave.
    """

    check: CommandRun | None
    verdict: Mapping[str, Any] | None
    sha256: str | None
    passed: bool


def masked_name(run: CommandRun) -> str | None:
    """Return the name of the file that a run has masked, or written in another format; None where it has not."""
    return next((one.name for one in run.outputs if one.is_masked), None)


def word_of(run: CommandRun, name: str) -> str:
    """Return an output of a run as commands in the folder of its project name it."""
    return f"runs/{run.name}/{name}"


def may_leave(run: CommandRun, name: str, stream: BufferedReader) -> bool:
    """Tell whether an output that is not for inside the agency alone may leave.

    Parameters
    ----------
    run : CommandRun
    name : str
        Of an output of it.
    stream : binary stream
        The output, as it is going to be sent.

    Raises
    ------
    ResourceError
        What the check has written is too large to be read.
    """
    masked = masked_name(run)
    if masked is None or RunOutput(name, 0).confidential:
        return False
    if name == masked:
        return checked_file(run, name, stream).passed
    with open(run.path_of(masked), "rb") as other:  # noqa: PTH123
        found = checked_file(run, masked, other)
    # a report about it: nobody but the run that has masked has written it, as far as the check knows
    return found.passed and found.check is not None and _is_as_it_was(found.check, word_of(run, name), stream)


def checked_file(run: CommandRun, name: str, stream: BufferedReader) -> CheckedFile:
    """Return what is known of a masked file: it has passed where all of this holds.

    Its newest check has ended with exit code 0, speaks of these bytes, and has compared them with the very original
    that was masked. A file in another format has also been written from a file that has passed, as this was then:
    groups are checked there.

    Parameters
    ----------
    run : CommandRun
        That has masked it, or written it in another format.
    name : str
    stream : binary stream
        The file, open.

    Raises
    ------
    ResourceError
        What the check has written is too large to be read.
    """
    check = _newest_check(run, name)
    said = check.result(CHECK_RESULT) if check is not None and check.is_over else None
    own = sha256_of_open(stream)
    if check is None or said is None or not _speaks_of(check, said, own, word_of(run, name), stream):
        return CheckedFile(check, None, own, passed=False)
    passed = check.exit_code == 0 and _source_passed(run, check)
    return CheckedFile(check, said, said["sha256"], passed)


def _speaks_of(
    check: CommandRun, said: Mapping[str, Any], own: str | None, word: str, stream: BufferedReader
) -> bool:
    return _is_as_it_was(check, word, stream) if own is None else own == said["sha256"]


def _newest_check(run: CommandRun, name: str) -> CommandRun | None:
    word = word_of(run, name)
    checks = (one for one in runs_of(run.project) if one.step == run_kinds.CHECK.step)
    return next((one for one in checks if word in one.command["arguments"]), None)


def _source_passed(run: CommandRun, check: CommandRun) -> bool:
    """Tell whether a check compared with what was masked, and what was written anew has passed on its own."""
    words = run.command["arguments"]
    source = str(words[1]) if len(words) > 1 else ""
    if run.step != run_kinds.CONVERT.step:
        return check.stamp_then(source) is not None and check.stamp_then(source) == run.stamp_then(source)
    _, _, rest = source.partition("/")
    folder, _, name = rest.partition("/")
    mask = run_of(run.project, folder)
    if mask is None or masked_name(mask) != name:
        return False
    with open(mask.path_of(name), "rb") as stream:  # noqa: PTH123
        return _is_as_it_was(run, source, stream) and checked_file(mask, name, stream).passed


def _is_as_it_was(run: CommandRun, word: str, stream: BufferedReader) -> bool:
    """Tell whether a file that is open is the one that was there when a run was asked for."""
    return run.stamp_then(word) == stamp_from(os.fstat(stream.fileno()))


def sha256_of_open(stream: BufferedReader) -> str | None:
    """Return the SHA-256 of a file in hexadecimal digits; None of one that is too large to be read for a page."""
    found = os.fstat(stream.fileno())
    if found.st_size > _LARGEST_HASHED:
        return None
    key = (found.st_dev, *stamp_from(found))
    if (kept := _HASHES.get(key)) is not None:
        return kept
    stream.seek(0)
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if found.st_ctime_ns < time.time_ns() - _SETTLED and stamp_from(os.fstat(stream.fileno())) == stamp_from(found):
        _HASHES[key] = digest
        while len(_HASHES) > _MOST_KEPT:
            _HASHES.popitem(last=False)
    return digest


_HASHES: OrderedDict[tuple[int, ...], str] = OrderedDict()
"""Hashes by device, inode, size and times: of files that settled before they were read."""
