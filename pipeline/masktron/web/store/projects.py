"""Projects: folders that the command line reads as well.

A project has ``project.json`` (its name and its data), ``files/`` (uploads), ``rules.sch`` with what it includes,
``masktron.toml``, ``runs/`` and its history.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Known, SettingName
from masktron.resources import resource
from masktron.toml_text import TomlText
from masktron.web.mistakes import note_mistake
from masktron.web.store.disk import bytes_of, make_private, plain_files, read_plain
from masktron.web.store.file_names import free_name
from masktron.web.store.project_history import Change, History, now
from masktron.web.store.project_settings import ProjectSettings

RUNS = "runs"
"""The folder of the runs of a project."""
FACTS = "project.json"
"""Where there is none, there is no project."""
RULES = "rules.sch"
"""The rulebook of a project; what it includes lies beside it."""
GONE = ".gone-"
"""How folders begin that are being deleted."""
SAMPLE = "household"
"""The sample that a click opens."""
_IDENTITY = re.compile(r"[0-9a-f]{16}")
_LONGEST_NAME = 100
_SAMPLE_RULES = {RULES: f"{SAMPLE}.sch", "patterns.sch": "patterns.sch"}


class ProjectGoneError(Exception):
    """Somebody has deleted the project: what is asked of it finds nothing."""


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What ``project.json`` says.

    Attributes
    ----------
    name : str
        For the reader.
    made : str
        When, in UTC.
    data : str or None
        The microdata: a file of ``files/``.
    sample : bool
    """

    name: str
    made: str
    data: str | None = None
    sample: bool = False


@dataclass(frozen=True, slots=True)
class Project:
    """One project: its folder."""

    folder: Path

    @property
    def identity(self) -> str:
        """Its name in addresses: random."""
        return self.folder.name

    @property
    def facts(self) -> ProjectFacts:
        """What its file says of it.

        Raises
        ------
        DocumentError
            Somebody, or another version of masktron, has written what this one does not read.
        """
        try:
            return ProjectFacts(**(read_plain(f"{self.folder}/{FACTS}") or {"name": "?", "made": ""}))
        except (TypeError, ValueError) as error:
            raise DocumentError.of("project-unreadable") from error

    @property
    def settings(self) -> ProjectSettings:
        """Its ``masktron.toml``."""
        return ProjectSettings(self.folder, self.write, self.lock())

    @property
    def history(self) -> History:
        """What changed in it."""
        return History(self.folder)

    @property
    def has_rules(self) -> bool:
        """Whether it has a rulebook."""
        return (self.folder / RULES).is_file()

    @property
    def rulebook(self) -> str:
        """The text of its rulebook; empty where it has none."""
        return (bytes_of(self.folder / RULES) or b"").decode(errors="replace")

    @property
    def files(self) -> Path:
        """Where its uploads are."""
        return self.folder / "files"

    @property
    def runs(self) -> Path:
        """Where its runs are."""
        return self.folder / RUNS

    def uploads(self) -> dict[str, int]:
        """Return its uploads, with their sizes in bytes."""
        return {one.name: one.stat(follow_symlinks=False).st_size for one in plain_files(self.files)}

    def data(self) -> str | None:
        """Return the microdata as the command line names it in the folder of the project.

        None where there is none: nothing was chosen, or the file has gone.
        """
        name = self.facts.data
        there = any(one.name == name for one in plain_files(self.files))
        return f"files/{name}" if there else None

    def lock(self) -> threading.RLock:
        """Return what is held while its files are changed."""
        return _lock_of(str(self.folder))

    @property
    def is_there(self) -> bool:
        """Whether nobody has deleted it."""
        return os.path.exists(f"{self.folder}/{FACTS}")  # noqa: PTH110 -- each answer asks

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold its lock while its files are changed: nothing is written where it was.

        Raises
        ------
        ProjectGoneError
            Somebody has deleted it meanwhile.
        """
        with self.lock():
            if not self.is_there:
                raise ProjectGoneError
            yield

    def write(self, files: Mapping[str, bytes | None], *, said: str) -> None:
        """Write files that have a history: ``masktron.toml``, ``*.sch``; None removes one.

        Parameters
        ----------
        files : mapping of str to bytes or None
        said : str
            What was done, in a sentence for whoever reads the history.
        """
        with self.changing():
            self.history.write(files, said=said)

    def undo(self, number: str | None = None) -> Change:
        """Undo the last change; see `History.undo`.

        Parameters
        ----------
        number : str, optional
            Of the change that is meant.

        Raises
        ------
        UsageError
            There is none, or another change is the last one by now.
        """
        with self.changing():
            return self.history.undo(number)

    def choose_data(self, name: str) -> None:
        """Take an upload as the microdata.

        Raises
        ------
        UsageError
            There is no such upload.
        """
        self._size_of(name)
        self.change_facts(said=f"Data: {name}", data=name)

    def change_facts(self, *, said: str, **changes: str | None) -> None:
        """Change what ``project.json`` says."""
        with self.changing():
            self.write({FACTS: _plain(replace(self.facts, **changes))}, said=said)  # type: ignore[arg-type]

    def keep_upload(self, half: Path, name: str) -> str:
        """Give an upload that is whole its name, or one with a number where it is taken, and return it.

        Raises
        ------
        ProjectGoneError
            Somebody has deleted the project.
        """
        with self.changing():
            free = free_name(self.files, name)
            half.rename(self.files / free)
            return free

    def small_upload(self, name: str, most: int = 4_000_000) -> bytes:
        """Return the bytes of an upload that is to be a rulebook, or settings.

        Raises
        ------
        UsageError
            There is no such upload, or it is larger than that.
        """
        if self._size_of(name) > most:
            raise UsageError.of("wrong-upload", reason=f"the file has more than {most // 1_000_000} MB")
        return bytes_of(self.files / name) or b""

    def remove_upload(self, name: str) -> None:
        """Remove an upload at once; this cannot be undone.

        Raises
        ------
        UsageError
            There is no such upload.
        """
        with self.changing():
            self._size_of(name)
            (self.files / name).unlink()

    def _size_of(self, name: str) -> int:
        """Return the bytes of an upload, and refuse one that is not there."""
        uploads = self.uploads()
        if name not in uploads:
            raise UsageError.of("unknown-name", kind="upload", name=name, known=Known(name, tuple(uploads)))
        return uploads[name]

    def changed(self) -> float:
        """Return when somebody last did something with it, in seconds since 1970."""
        places = [self.folder, self.folder / "history.jsonl", self.files, self.runs]
        with suppress(FileNotFoundError):  # it is being deleted
            places += self.runs.iterdir()
        return max(map(_changed, places))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _plain(facts: ProjectFacts) -> bytes:
    return (json.dumps(asdict(facts), indent=1, ensure_ascii=False) + "\n").encode()


_LOCKS: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
"""Of the projects that somebody is changing."""
_LOCKS_LOCK = threading.Lock()


def _lock_of(folder: str) -> threading.RLock:
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(folder, threading.RLock())


def project_name(typed: str) -> str:
    """Return the name of a project as it is kept.

    Raises
    ------
    UsageError
        It is empty or too long.
    """
    name = " ".join(typed.split())
    if not 1 <= len(name) <= _LONGEST_NAME:
        expected = f"1 to {_LONGEST_NAME} characters, such as the name of the survey"
        raise UsageError.of("bad-value", name=SettingName("name"), expected=expected, given=len(name))
    return name


class ProjectStore:
    """All projects, below one folder.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        make_private(root)

    def newest(self) -> list[Project]:
        """Return all projects, those changed last first."""
        return sorted(self.all(), key=lambda one: one.changed(), reverse=True)

    def get(self, identity: str) -> Project | None:
        """Return a project; None where there is none."""
        folder = self.root / identity
        return Project(folder) if _IDENTITY.fullmatch(identity) and (folder / FACTS).is_file() else None

    def make(self, name: str) -> Project:
        """Make a project without data.

        Raises
        ------
        UsageError
            The name is empty or too long.
        """
        return self._make(ProjectFacts(project_name(name), now()))

    def make_sample(self) -> Project:
        """Make a project of the sample that comes with masktron: data, rules, settings but for how keys are recoded.

        A project has no place for the hierarchies, and `tune` does not recode; so the limits on keys go as well.
        """
        project = self._make(ProjectFacts("Sample: a household survey", now(), sample=True))
        data = f"{SAMPLE}.xml"
        shutil.copyfile(resource(f"sample_xml/{data}"), project.files / data)
        (project.files / data).chmod(0o600)
        files = {name: resource(f"rules/{source}").read_bytes() for name, source in _SAMPLE_RULES.items()}
        settings = TomlText(resource(f"sample_xml/{SAMPLE}.toml").read_text(encoding="utf-8"))
        for table in ("recode", "limits"):
            settings.remove((table,))
        files["masktron.toml"] = str(settings).encode()
        files[FACTS] = _plain(replace(project.facts, data=data))
        project.write(files, said="The sample: 2,000 households, 26 rules, settings")
        return project

    def delete(self, project: Project) -> None:
        """Delete a project with all that it holds, at once."""
        with project.lock():
            if project.folder.exists():
                # out of sight at once, however long the rest takes
                gone = project.folder.with_name(f"{GONE}{project.folder.name}")
                project.folder.rename(gone)
                shutil.rmtree(gone)

    def left(self) -> int:
        """Return the bytes that are free on the disk."""
        return shutil.disk_usage(self.root).free

    def tidy(self) -> None:
        """Remove what is left of projects whose deletion was interrupted."""
        for gone in self.root.glob(f"{GONE}*"):  # what a server that was killed has begun
            try:
                shutil.rmtree(gone)
            except OSError as error:  # the next look may find it mended, and others are not kept for it
                note_mistake(error)
        for folder in self.root.iterdir():
            if _IDENTITY.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
                self._remove_orphan(Project(folder))

    def _remove_orphan(self, project: Project) -> None:
        """Remove the folder of a project that nobody finds any more."""
        with project.lock():
            if not project.is_there:
                self.delete(project)

    def _make(self, facts: ProjectFacts) -> Project:
        project = Project(self.root / secrets.token_hex(8))
        with project.lock():
            for part in (project.folder, project.files, project.runs):
                make_private(part)
            project.history.write({FACTS: _plain(facts)}, said=f"Project {facts.name!r} made")
        return project

    def all(self) -> Iterator[Project]:
        """Return all projects."""
        with os.scandir(self.root) as entries:
            names = [one.name for one in entries if _IDENTITY.fullmatch(one.name)]
        for name in names:
            if (self.root / name / FACTS).is_file():
                yield Project(self.root / name)
