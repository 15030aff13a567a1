"""What changed in a project, when and by whom; every change can be undone.

Beside the project lie ``history.jsonl``, a line for each change, and ``versions/``, the content of the files that
have a history, by its hash. The files themselves are those that the command line reads. Where somebody has changed
one by hand, or a server was killed before it wrote its line, the next change or undo first adds a line that says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from masktron.errors import UsageError
from masktron.web.store.disk import add_line, bytes_of, digest_of, lines_of, make_private, plain_files, write_bytes
from masktron.web.store.project_files import project_file

OUTSIDE = "Changed outside masktron web"
"""What the history says of changes that no page has made."""


def now() -> str:
    """Return the time as histories and runs have it, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a history."""

    number: int
    time: str
    said: str
    """What was done, in a sentence for the reader."""
    files: Mapping[str, tuple[str | None, str | None]]
    """The hashes before and after, by the name of the file; None where there is none."""
    undoes: int | None


class History:
    """The changes of one project.

    Parameters
    ----------
    folder : Path
        Of the project. Who changes it holds its lock (`Project.lock`).
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = folder / "history.jsonl"
        self._versions = folder / "versions"

    def changes(self) -> list[Change]:
        """Return all changes, the oldest first."""
        return [
            Change(
                one["number"],
                one["time"],
                one["said"],
                {name: (pair[0], pair[1]) for name, pair in one["files"].items()},
                one["undoes"],
            )
            for one in lines_of(self._lines)
        ]

    def undoable(self) -> Change | None:
        """Return the last change that was not undone, unless it is the first one, which made the project."""
        standing: list[Change] = []
        for change in self.changes():
            if change.undoes is None:
                standing.append(change)
            else:
                standing.pop()
        return standing[-1] if len(standing) > 1 else None

    def write(self, files: Mapping[str, bytes | None], *, said: str) -> None:
        """Write files, or remove those whose content is None, and take note of it; nothing where nothing changes.

        What was changed otherwise meanwhile gets a line before that.

        Raises
        ------
        ValueError
            A file of another name: what pages write has fixed names, and no user chooses one.
        """
        self._notice()
        self._write(files, said, None)

    def undo(self, number: str | None = None) -> Change:
        """Bring back what the last change that still stands has changed, and return it.

        Parameters
        ----------
        number : str, optional
            Of the change that is meant, as a form says it: no other one is undone.

        Raises
        ------
        UsageError
            There is none, or another change is the last one by now.
        """
        self._notice()
        if (last := self.undoable()) is None:
            raise UsageError.of("page-outdated", reason="there is nothing left to undo")
        if number is not None and number != str(last.number):
            raise UsageError.of("page-outdated", reason=f"something else was done since: {last.said}")
        former = {name: self._content(before) for name, (before, _) in last.files.items()}
        self._write(former, f"Undone: {last.said}", last.number)
        return last

    def _write(self, files: Mapping[str, bytes | None], said: str, undoes: int | None) -> None:
        hashes = {}
        for name, content in files.items():
            if project_file(name) is None:
                raise ValueError(f"{name} has no history")
            before = bytes_of(self._folder / name)
            if before != content:
                hashes[name] = self._keep(before), self._keep(content)
        if not hashes and undoes is None:
            return
        for name in hashes:
            if (content := files[name]) is None:
                (self._folder / name).unlink(missing_ok=True)
            else:
                write_bytes(self._folder / name, content)
        self._note(hashes, said, undoes)

    def _notice(self) -> None:
        """Add a line about files that are not as the last change has left them."""
        known = {name: after for change in self.changes() for name, (_, after) in change.files.items()}
        names = {*known, *(one.name for one in plain_files(self._folder) if project_file(one.name) is not None)}
        found: dict[str, tuple[str | None, str | None]] = {}
        for name in sorted(names):
            digest = digest_of(self._folder / name)
            if (None if digest is None else digest.hex()) != known.get(name):
                found[name] = known.get(name), self._keep(bytes_of(self._folder / name))
        if found:
            self._note(found, f"{OUTSIDE}: {', '.join(found)}", None)

    def _note(self, hashes: Mapping[str, tuple[str | None, str | None]], said: str, undoes: int | None) -> None:
        number = max((one.number for one in self.changes()), default=0) + 1
        line = {"number": number, "time": now(), "said": said, "files": hashes, "undoes": undoes}
        add_line(self._lines, line)

    def _keep(self, content: bytes | None) -> str | None:
        if content is None:
            return None
        digest = hashlib.sha256(content).hexdigest()
        make_private(self._versions)
        if not (self._versions / digest).exists():
            write_bytes(self._versions / digest, content)
        return digest

    def _content(self, digest: str | None) -> bytes | None:
        if digest is None:
            return None
        if (content := bytes_of(self._versions / digest)) is None:
            raise UsageError.of(
                "cannot-read", f"{self._versions.name}/{digest}", file="file", reason="it does not exist"
            )
        return content
