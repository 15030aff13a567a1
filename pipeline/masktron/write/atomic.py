"""Output files that are either whole or not there."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from masktron.errors import DocumentError, MasktronError
from masktron.files import refuse_leading_out
from masktron.scratch import is_at, locked_file, remove_abandoned
from masktron.supervisor import tell_folder, tell_output, tell_parts

_OUTPUT_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@dataclass(frozen=True, slots=True)
class _Publication:
    target: str
    final: Path
    identity: os.stat_result


class Published:
    """The outputs that a run has given their names."""

    def __init__(self) -> None:
        self._found: list[_Publication] = []
        self._tables: list[str] = []
        self._parts: dict[str, None] = {}

    def expect(self, target: str, final: Path, temporary: Path) -> None:
        """Take note of an output that is about to get its name."""
        self._found.append(one := _Publication(target, final, temporary.stat()))
        tell_output(one.target, one.final, one.identity)

    def add_table(self, target: str) -> None:
        """Take note of a table that is in its database."""
        self._tables.append(target)

    def add_parts(self, folder: Path) -> None:
        """Take note of a folder where finished parts of the run stay if it is ended."""
        self._parts[str(folder.absolute())] = None
        tell_parts(folder)

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders of finished parts, whether or not there are any."""
        return tuple(self._parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are in their place, as the user named them."""
        return tuple(dict.fromkeys((*(one.target for one in self._found if _is_there(one)), *self._tables)))


def _is_there(one: _Publication) -> bool:
    try:
        return os.path.samestat(one.identity, one.final.stat())
    except OSError:
        return False


_PUBLISHED: ContextVar[Published | None] = ContextVar("published", default=None)


@contextmanager
def publishing() -> Iterator[Published]:
    """Take note of every output that appears meanwhile, so that an interrupted run can say what it has written.

    Inside another such context it is the other's notes that are kept.
    """
    token = _PUBLISHED.set(published := _PUBLISHED.get() or Published())
    try:
        yield published
    finally:
        _PUBLISHED.reset(token)


def table_published(target: str) -> None:
    """Take note of a table that is in its database, where somebody wants to know."""
    if (published := _PUBLISHED.get()) is not None:
        published.add_table(target)


def written_in_place(path: Path) -> None:
    """Take note of a file that is there and added to, where somebody wants to know."""
    if (published := _PUBLISHED.get()) is not None:
        published.expect(str(path), path, path)


def parts_begun(folder: Path) -> None:
    """Take note of a folder where finished parts of the run stay if it is ended, where somebody wants to know."""
    if (published := _PUBLISHED.get()) is not None:
        published.add_parts(folder)


@contextmanager
def atomic_path(target: str | Path, *, released: bool = False, noted: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `target`; on success it takes the place of `target` at once.

    On any exception, a keyboard interrupt included, the temporary file is removed and `target` is as it was. What
    killed runs have left in the folder is removed first.

    Parameters
    ----------
    target : str or Path
        A symbolic link is followed.
    released : bool
        The file is meant for others: when it is whole, it gets the permissions of the file that it replaces, or those
        of any new file. By default it is readable for its owner alone, also in place of a file that was not.
    noted : bool
        Whether it is an output that an interrupted run names; else it is for the next run alone.

    Yields
    ------
    Path
        An empty file in the folder of `target`, readable for its owner alone; write to it, and close it.

    Raises
    ------
    DocumentError
        The folder does not exist or cannot be written to, `target` is there and not a plain file, or the disk is
        full.
    """
    with atomic_paths([target], released=released, noted=noted) as (temporary,):
        yield temporary


@contextmanager
def atomic_paths(
    targets: Sequence[str | Path], *, released: bool = False, noted: bool = True
) -> Iterator[tuple[Path, ...]]:
    """Give a temporary path beside each of several targets, which on success take their places, and else none does.

    As `atomic_path` for each of them. All are whole before the first gets its name; where one cannot get it, those
    before it are what they were. Only a process that is killed between two of them leaves some.

    Raises
    ------
    DocumentError
        As for `atomic_path`; it names the target.
    """
    with ExitStack() as held:
        outputs = [held.enter_context(_begun(target)) for target in targets]
        try:
            yield tuple(one.temporary for one in outputs)
        except OSError as problem:
            if problem.errno not in _OUTPUT_TROUBLE:
                raise
            raise _unwritable(targets[0], problem) from problem
        except MasktronError as error:
            # the temporary file is gone by the time that somebody reads its name
            error.rename_files({str(one.temporary): str(one.target) for one in outputs})
            raise
        _publish_all(outputs, released=released, noted=noted)


@dataclass(frozen=True, slots=True)
class _Output:
    """An output that is being written.

    Attributes
    ----------
    target : str or Path
        As messages name it.
    final, temporary : Path
    descriptor : int or None
        Of the temporary file, whose lock it holds.
    """

    target: str | Path
    final: Path
    temporary: Path
    descriptor: int | None


@contextmanager
def _begun(target: str | Path) -> Iterator[_Output]:
    """Give an output with an empty temporary file, which is gone when the context ends."""
    refuse_leading_out(Path(target))
    final = Path(os.path.realpath(target))
    if final.exists() and not final.is_file():
        raise DocumentError.of("cannot-write", target, file="the output", reason="it exists and is not a plain file")
    remove_abandoned(final.parent)
    tell_folder(final.parent)
    try:
        temporary, descriptor = locked_file(final)
    except OSError as problem:
        raise _unwritable(target, problem) from None
    try:
        yield _Output(target, final, temporary, descriptor)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def blamed(target: str | Path) -> Iterator[None]:
    """Blame what cannot be written meanwhile on one output, where others are open as well.

    Raises
    ------
    DocumentError
        The disk is full, or will not take more.
    """
    try:
        yield
    except OSError as problem:
        if problem.errno not in _OUTPUT_TROUBLE:
            raise
        raise _unwritable(target, problem) from problem


class _Blamed(io.FileIO):
    """A file whose errors name the output that it will be, whatever else is open when its buffer is written."""

    def __init__(self, path: Path, target: str | Path) -> None:
        super().__init__(path, "wb")
        self._target = target

    def write(self, data: Any, /) -> int:
        """Write some bytes."""
        with blamed(self._target):
            return super().write(data)


def open_part(path: Path, target: str | Path) -> io.BufferedWriter:
    """Open a path of `atomic_path` for writing; what cannot be written is blamed on its target.

    Raises
    ------
    DocumentError
        When it is written to, flushed or closed: as `blamed`.
    """
    return io.BufferedWriter(_Blamed(path, target))


def _refuse_another(temporary: Path, descriptor: int, target: str | Path) -> None:
    if not is_at(descriptor, temporary):
        reason = "somebody else changed its folder meanwhile"
        raise DocumentError.of("cannot-write", target, file="the output", reason=reason)


def _publish_all(outputs: Sequence[_Output], *, released: bool, noted: bool) -> None:
    """Give all outputs their names, or none of them."""
    for one in outputs:
        if one.descriptor is not None:
            _refuse_another(one.temporary, one.descriptor, one.target)
    with ExitStack() as undone:
        for one in outputs:
            if len(outputs) > 1:
                undone.enter_context(_restored(one))
            _publish(one.temporary, one.final, one.target, released=released, noted=noted)


@contextmanager
def _restored(one: _Output) -> Iterator[None]:
    """Put back what was in the place of an output, or nothing, where another output fails meanwhile."""
    former: Path | None = None
    with ExitStack() as held:
        if one.final.exists():
            try:
                former, descriptor = locked_file(one.final)
                held.callback(former.unlink, missing_ok=True)
                if descriptor is not None:
                    held.callback(os.close, descriptor)
                shutil.copy2(one.final, former)
                _sync(former)
            except OSError as problem:
                raise _unwritable(one.target, problem) from None
        try:
            yield
        except BaseException:
            if not one.temporary.exists():  # it has its name already
                if former is None:
                    one.final.unlink(missing_ok=True)
                else:
                    former.replace(one.final)
            raise


def _publish(temporary: Path, final: Path, target: str | Path, *, released: bool, noted: bool) -> None:
    published = _PUBLISHED.get() if noted else None
    try:
        if released:
            temporary.chmod(_mode(final))
        _sync(temporary)
        if published is not None:
            published.expect(str(target), final, temporary)
        temporary.replace(final)
    except OSError as problem:
        raise _unwritable(target, problem) from None
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is safe
        _sync(final.parent)


def _mode(final: Path) -> int:
    """Return the permissions of a file, or of a new one in its place."""
    try:
        return final.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0o077)  # it can only be read by setting it; strictly, as other threads may create files
        os.umask(mask)
        return 0o666 & ~mask


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(target: str | Path, problem: OSError) -> DocumentError:
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return DocumentError.of("cannot-write", target, file="the output", reason=reason)
