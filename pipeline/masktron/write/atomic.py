"""Output files that are either whole or not there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from masktron.errors import DocumentError

_OUTPUT_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `target`; on success it takes the place of `target` at once.

    On any exception, a keyboard interrupt included, the temporary file is removed and `target` is as it was.

    Parameters
    ----------
    target : str or Path
        A symbolic link is followed.

    Yields
    ------
    Path
        An empty file in the folder of `target`; write to it, and close it.

    Raises
    ------
    DocumentError
        The folder does not exist or cannot be written to, `target` is there and not a plain file, or the disk is
        full.
    """
    final = Path(os.path.realpath(target))
    temporary = final.with_name(f".{final.name[:100]}.{secrets.token_hex(8)}.part")
    if final.exists() and not final.is_file():
        raise DocumentError("the output exists and is not a plain file", where=str(target), hint="name a file")
    _create(temporary, target)
    try:
        try:
            yield temporary
        except OSError as problem:
            if problem.errno not in _OUTPUT_TROUBLE:
                raise
            raise _unwritable(target, problem) from problem
        _settle(temporary, final, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _create(temporary: Path, target: str | Path) -> None:
    try:
        # not tempfile: its files are private to the user even after they are renamed
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as problem:
        raise _unwritable(target, problem) from None


def _settle(temporary: Path, final: Path, target: str | Path) -> None:
    try:
        _sync(temporary)
        temporary.replace(final)
    except OSError as problem:
        raise _unwritable(target, problem) from None
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is safe
        _sync(final.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(target: str | Path, problem: OSError) -> DocumentError:
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return DocumentError(
        f"the output cannot be written: {reason}",
        where=str(target),
        hint="nothing was written; free space, or name a folder that you may write to",
    )
