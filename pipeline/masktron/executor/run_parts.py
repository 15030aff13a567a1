"""Parts of a run that are finished: kept where the same run finds them after it was killed.

Records lie in them, so a folder of parts and all that is in it are for their owner alone. A part gets its name when
it is whole and on the disk; the journal, which one process writes, has its size and its SHA-256. What was not entered
there is computed again, with the same bytes. The folder is locked while its run lives, and removed at its end.

A run loads what its parts hold, and that may be anything, code too. So a part is read only if it is a file of this
user alone, no link, and its bytes are those that were entered. Each line of the journal is signed with a secret that
lies in the user's home: a folder of parts that somebody else made is not gone on from.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from masktron.errors import DocumentError, UsageError
from masktron.executor.contract import Executor, number_of
from masktron.progress import Told, untold
from masktron.scratch import create_private, is_at, lock
from masktron.supervisor import JOURNAL

if sys.platform != "win32":
    import fcntl

_END = ".masktron-parts"
_RUN = "run"
_TEMPORARY = ".writing-"
_GONE = re.compile(r"\.gone-[0-9a-f]{8}")
"""End of the name of a folder that is being removed."""
_BLOCK = 1 << 20
_SECRET = 32
"""Bytes of the secret that signs journals."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part that is whole.

    Attributes
    ----------
    name : str
    size : int
        In bytes.
    sha256 : str
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LeftParts:
    """What a run that was killed has left.

    Attributes
    ----------
    folder : Path
    parts : int
        Those that are entered in the journal.
    size : int
        In bytes, of all files.
    """

    folder: Path
    parts: int
    size: int

    def __str__(self) -> str:
        return f"{self.folder}: {self.parts:,} finished parts, {self.size:,} bytes, of a run that was ended"


def parts_folder(output: Path) -> Path:
    """Return where the parts of an output lie: beside it, by its name."""
    final = Path(os.path.realpath(output))
    return final.with_name(f".{final.name}{_END}")


def write_part(folder: Path, name: str, write: Callable[[IO[bytes]], None]) -> RunPart:
    """Write a part, in whatever process; it gets its name when it is whole and on the disk.

    Parameters
    ----------
    folder : Path
        Of `RunParts`.
    name : str
        A plain name. A part of this name that is there is replaced.
    write : callable
        Writes to a binary file, from its beginning to its end.

    Returns
    -------
    RunPart
        What the run enters (`RunParts.enter`, `RunParts.map`).

    Raises
    ------
    DocumentError
        The folder is not there or cannot be written to; the disk is full, or will not take more. Nothing is left of
        the part.
    """
    _require_plain(name)
    temporary = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        descriptor = create_private(temporary)
    except OSError as problem:
        raise _unwritten(folder, problem) from problem
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
            stream.seek(0)
            part = _summed(stream, name)
        temporary.replace(folder / name)
        _sync(folder)
    except OSError as problem:
        if problem.errno not in _FULL:
            raise
        raise _unwritten(folder, problem) from problem
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return part


def read_part(folder: Path, part: RunPart) -> bytes:
    """Read a part that this user has written, and nobody else can have.

    Parameters
    ----------
    folder : Path
    part : RunPart
        As it was written.

    Raises
    ------
    DocumentError
        It cannot be read, is not the user's own, or has other bytes by now.
    """
    _require_plain(part.name)
    content = _read_private(folder / part.name)
    if RunPart(part.name, len(content), hashlib.sha256(content).hexdigest()) != part:
        raise DocumentError.of("part-changed", folder / part.name, reason="this part is not as it was written")
    return content


def _read_private(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not _is_private(os.fstat(stream.fileno())):
                raise DocumentError.of("part-changed", path, reason="others can write this part")
            return stream.read()
    except OSError as problem:
        raise DocumentError.of("part-changed", path.parent, reason=problem.strerror or str(problem)) from problem


def _is_private(found: os.stat_result) -> bool:
    """Tell whether a file can have been written by its user alone, who is that of this process."""
    own = sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and own


def _is_own(path: Path) -> bool:
    return _is_private(path.lstat())


class RunParts:
    """The folder of the parts of a run.

    Parameters
    ----------
    folder : Path
        It is made, or found where an earlier run was ended; its own folder has to be there.
    fingerprint : mapping of str to str
        What the parts depend on, by names that a user understands: ``input``, ``rules``, ``settings``, ``version``.
    resume : bool
        Go on from what an earlier run has finished; else it is removed.

    Attributes
    ----------
    folder : Path
    found : LeftParts or None
        What an earlier run has left, as it was found.
    run : str
        A word that tells this run, and those that go on from it, from others: with it in their names, parts that a
        worker of an earlier run writes late are not taken for parts of this one.

    Raises
    ------
    UsageError
        Another run is at work there; or, to go on from, it depends on something else: the error names what changed.
    DocumentError
        The folder cannot be made or written, or is not the user's own.
    """

    def __init__(self, folder: Path, fingerprint: Mapping[str, str], *, resume: bool = False) -> None:
        self.folder = folder
        self.found: LeftParts | None = None
        self.run = ""
        self._entered: dict[str, RunPart] = {}
        self._whole: set[str] = set()
        self._descriptor: int | None = None
        try:
            self._open()
            try:
                self._begin(dict(fingerprint), resume=resume)
            except BaseException:
                self.release()
                raise
        except OSError as problem:
            raise _unwritten(folder, problem) from None

    def _open(self) -> None:
        while True:
            with suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
                self.folder.chmod(0o700)  # a umask that takes rights from the owner, too
            found = self.folder.lstat()
            own = sys.platform == "win32" or found.st_uid == os.geteuid()
            if not stat.S_ISDIR(found.st_mode) or not own:
                raise self._foreign()
            if sys.platform != "win32" and found.st_mode & 0o077 and any(self.folder.iterdir()):
                raise self._foreign("others could write to it")
            if sys.platform == "win32":
                return
            descriptor = os.open(self.folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            if lock(descriptor) is False:
                os.close(descriptor)
                raise UsageError.of("parts-taken", self.folder, reason="another run is at work on this output")
            if is_at(descriptor, self.folder):  # and not that of a run which has just ended
                os.fchmod(descriptor, 0o700)
                self._descriptor = descriptor
                return
            os.close(descriptor)

    def _foreign(self, why: str = "it holds what no run has written") -> DocumentError:
        return DocumentError.of("parts-taken", self.folder, reason=why)

    def _begin(self, fingerprint: dict[str, str], *, resume: bool) -> None:
        remove_gone(self.folder)
        former, entered, whole = _journal(self.folder / JOURNAL)
        if former is not None or entered or any(self.folder.iterdir()):
            self.found = LeftParts(self.folder, len(entered), _size(self.folder))
        if resume and former is not None:
            names = {*former, *fingerprint} - {_RUN}
            changed = sorted(name for name in names if former.get(name) != fingerprint.get(name))
            if changed:
                changes = [_change(name, former.get(name, ""), fingerprint.get(name, "")) for name in changed]
                reason = "the following changed: "
                raise UsageError.of("cannot-resume", self.folder, reason=reason, changes=changes)
            self._entered, self.run = entered, former.get(_RUN, "")
            os.truncate(self.folder / JOURNAL, whole)
            self._remove(lambda name: name not in entered and name != JOURNAL)
            return
        known = (self.folder / JOURNAL).exists()
        for entry in self.folder.iterdir():
            if not _is_own(entry) or not (known or entry.name.startswith(_TEMPORARY)):
                raise self._foreign()
        self._remove(lambda _: True)
        try:
            os.close(create_private(self.folder / JOURNAL))
            self.run = secrets.token_hex(8)
            self._append({"fingerprint": {**fingerprint, _RUN: self.run}})
            _sync(self.folder)
        except OSError:
            self.remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the folder at the end of a run; keep it, unlocked, where the run was ended and something is done."""
        if kind is None or not self._entered:
            self.remove()
        else:
            self.release()

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are entered, in the order in which they were."""
        return tuple(self._entered)

    def path(self, name: str) -> Path:
        """Return where a part lies."""
        _require_plain(name)
        return self.folder / name

    def enter(self, part: RunPart) -> None:
        """Enter a part that is whole; one that is entered already may come again.

        Raises
        ------
        DocumentError
            The disk is full; or another computation of the part gave other bytes.
        """
        former = self._entered.get(part.name)
        if former is not None and former != part:
            reason = f"{part.name} is another one when computed again; please report this"
            raise DocumentError.of("part-changed", self.folder, reason=reason)
        if former is None:
            try:
                self._append(asdict(part))
            except OSError as problem:
                raise _unwritten(self.folder, problem) from problem
            self._entered[part.name] = part
        self._whole.add(part.name)

    def entered(self, name: str) -> RunPart:
        """Return a part that this run has entered.

        Raises
        ------
        KeyError
            It has not.
        """
        return self._entered[name]

    def done(self, name: str) -> RunPart | None:
        """Return a part if it is there, entered and whole: one that an earlier run has left is read once."""
        part = self._entered.get(name)
        if part is None or name in self._whole:
            return part
        try:
            with self.path(name).open("rb") as stream:
                same = _summed(stream, name) == part
        except FileNotFoundError:
            same = False
        if not same:
            del self._entered[name]
            return None
        self._whole.add(name)
        return part

    def map[S](
        self,
        executor: Executor,
        function: Callable[[S], RunPart],
        slices: Iterable[tuple[str, S]],
        *,
        stage: str,
        told: Told = untold,
    ) -> Generator[RunPart]:
        """Yield the part of each slice in order; a slice whose part is done goes to no worker.

        Parameters
        ----------
        executor : Executor
        function : callable
            Writes the part of a slice (`write_part`), and returns it.
        slices : iterable of (str, object)
            Each with the name of its part.
        stage, told
            As of `Executor.map`.
        """
        size = number_of(slices)
        order: list[tuple[str, RunPart | None]] = []

        def missing() -> Iterator[S]:
            for name, piece in slices:
                part = self.done(name)
                order.append((name, part))
                if part is None:
                    yield piece

        given = 0
        for made in executor.map(function, missing(), stage=stage):
            while (known := order[given][1]) is not None:
                yield self._told(known, given := given + 1, size, told)
            if made.name != order[given][0]:
                raise ValueError(f"a part called {made.name} for {order[given][0]}")
            self.enter(made)
            yield self._told(made, given := given + 1, size, told)
        for _, known in order[given:]:
            if known is not None:
                yield self._told(known, given := given + 1, size, told)

    def _told(self, part: RunPart, done: int, size: int | None, told: Told) -> RunPart:
        if size is not None:
            told(done, size)
        return part

    def remove(self) -> None:
        """Remove all parts, and the folder; who writes a part late finds no folder any more."""
        gone = self.folder.with_name(f"{self.folder.name}.gone-{secrets.token_hex(4)}")
        try:
            with suppress(FileNotFoundError):
                self.folder.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)  # a part that is being renamed
                if gone.exists():
                    shutil.rmtree(gone)
        finally:
            remove_gone(self.folder)  # what stays where the removal is interrupted
            self.release()

    def _append(self, line: dict[str, Any]) -> None:
        if self._descriptor is not None and not is_at(self._descriptor, self.folder):
            raise DocumentError.of("part-changed", self.folder, reason="their folder was replaced meanwhile")
        text = json.dumps({**line, "signature": _signature(line)}, separators=(",", ":")) + "\n"
        with (self.folder / JOURNAL).open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            begin = stream.tell()
            try:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                with suppress(OSError):
                    os.truncate(self.folder / JOURNAL, begin)
                raise

    def _remove(self, which: Callable[[str], bool]) -> None:
        for entry in list(self.folder.iterdir()):
            if which(entry.name):
                entry.unlink()

    def release(self) -> None:
        """Let another run have the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def left_behind(folder: Path) -> Iterator[LeftParts | None]:
    """Give what a run that was ended has left, and remove it at the end if there was no error.

    For runs that need no parts, so that no records lie about beside their output.

    Parameters
    ----------
    folder : Path
        Of parts: `parts_folder`.

    Raises
    ------
    UsageError
        Another run is at work there.
    DocumentError
        It is not the user's own, or holds what no run has written.
    """
    remove_gone(folder)
    if not folder.is_symlink() and not folder.exists():
        yield None
        return
    former = former_fingerprint(folder)
    with RunParts(folder, former or {}, resume=former is not None) as parts:
        yield parts.found


def _change(name: str, then: str, now: str) -> str:
    """Say what has changed, and from what to what where that can be read."""
    shown = then.isdecimal() and now.isdecimal()
    return f"{name} ({then} then, {now} now)" if shown else name


def remove_gone(folder: Path) -> None:
    """Remove what a run was removing when it was ended: folders of this user beside the one of parts."""
    with suppress(OSError):
        for path in list(folder.parent.iterdir()):
            name = path.name
            if not name.startswith(folder.name) or not _GONE.fullmatch(name[len(folder.name) :]):
                continue
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid()):
                shutil.rmtree(path, ignore_errors=True)


def former_fingerprint(folder: Path) -> dict[str, str] | None:
    """Return what the parts in a folder depend on; None where there are none."""
    return _journal(folder / JOURNAL)[0]


def _journal(path: Path) -> tuple[dict[str, str] | None, dict[str, RunPart], int]:
    """Read a journal as far as it is whole: the fingerprint, the parts, and how many bytes these are."""
    fingerprint: dict[str, str] | None = None
    entered: dict[str, RunPart] = {}
    whole = 0
    try:
        lines = _read_private(path).split(b"\n") if path.exists() else []
    except DocumentError:
        return None, {}, 0
    for number, line in enumerate(lines[:-1]):  # what has no end was not written to its end
        try:
            said = json.loads(line)
            if not hmac.compare_digest(said.pop("signature"), _signature(said)):
                break
            if number == 0:
                fingerprint = {str(name): str(value) for name, value in said["fingerprint"].items()}
            else:
                part = RunPart(**said)
                _require_plain(part.name)
                entered[part.name] = part
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            break
        whole += len(line) + 1
    return fingerprint, entered, whole


def _signature(line: dict[str, Any]) -> str:
    text = json.dumps(line, sort_keys=True).encode()
    return hmac.digest(_own_secret(), text, "sha256").hex()


@cache
def _own_secret() -> bytes:
    """Return what this user signs journals with; where no home can be written to, only this process knows it."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        folder = (base if base.is_absolute() else Path.home() / ".local" / "state") / "masktron"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(folder / "parts.secret", flags, 0o600), "r+b") as stream:
            if sys.platform != "win32":
                fcntl.flock(stream, fcntl.LOCK_EX)  # another run may be writing it
            if not _is_private(os.fstat(stream.fileno())):
                raise PermissionError("others can read it")
            secret = stream.read()
            if len(secret) != _SECRET:
                secret = secrets.token_bytes(_SECRET)
                stream.seek(0)
                stream.truncate()
                stream.write(secret)
            return secret
    except (OSError, RuntimeError):
        return secrets.token_bytes(_SECRET)


def _size(folder: Path) -> int:
    return sum(entry.lstat().st_size for entry in folder.iterdir())


def _summed(stream: IO[bytes], name: str) -> RunPart:
    total, size = hashlib.sha256(), 0
    while block := stream.read(_BLOCK):
        total.update(block)
        size += len(block)
    return RunPart(name, size, total.hexdigest())


def _require_plain(name: str) -> None:
    if not name or Path(name).name != name or name.startswith(".") or name == JOURNAL or "\0" in name:
        raise ValueError(f"no name of a part: {name!r}")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot sync a folder; the files themselves are safe
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritten(folder: Path, problem: OSError) -> DocumentError:
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return DocumentError.of("cannot-write", folder, file="the folder for parts of the run", reason=reason)
