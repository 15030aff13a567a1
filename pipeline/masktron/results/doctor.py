"""What `doctor` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masktron.results.result import JobResult
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class EngineProbe(Serialised):
    """An engine that decides rules, and whether it works.

    Attributes
    ----------
    name : str
        With its version.
    works : bool
        Whether it gave the answer to a question.
    why : str
        Why it does not work, where it says so.
    """

    name: str
    works: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class PackageProbe(Serialised):
    """A package that cannot be used.

    Attributes
    ----------
    package : str
    why : str
        What is wrong with it.
    install : str
        The command that helps.
    """

    package: str
    why: str
    install: str


@dataclass(frozen=True, slots=True)
class FormatProbe(Serialised):
    """A format of microdata, and what can be done with it here.

    Attributes
    ----------
    name : str
        As ``--format`` has it.
    what : str
        As a sentence names it.
    suffixes : tuple of str
        Ends of names of its files; none for tables of servers.
    reads, writes : bool
    lacks : tuple of str
        Packages that cannot be used here, and without which it is not read, or not written.
    """

    name: str
    what: str
    suffixes: tuple[str, ...]
    reads: bool
    writes: bool
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeatureProbe(Serialised):
    """What an extra brings that is no format.

    Attributes
    ----------
    name : str
    works : bool
    lacks : tuple of str
        Packages that cannot be used here.
    """

    name: str
    works: bool
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class DoctorResult(JobResult):
    """What an installation has.

    Attributes
    ----------
    version : str
        Of masktron.
    folder : str
        Where its package lies.
    python, system : str
    cores : int
        That this process may use.
    memory : int
        Bytes that are free for it.
    packages : mapping of str to str or None
        Versions by distribution; None where it is not installed.
    engines : tuple of EngineProbe
    compiled : mapping of str to bool
        What compiled code does, and whether it is at hand.
    kept : bool
        Whether what is compiled now outlives the process.
    compiled_folder : str or None
        Where it is written.
    compiled_bytes : int
        What is kept there.
    formats : tuple of FormatProbe
    features : tuple of FeatureProbe
    unusable : tuple of PackageProbe
        What formats and features lack, each package once.
    """

    JOB: ClassVar = "doctor"
    KEYS: ClassVar = (
        "works version folder python system cores memory packages engines compiled kept compiled_folder "
        "compiled_bytes formats features unusable"
    )

    version: str
    folder: str
    python: str
    system: str
    cores: int
    memory: int
    packages: dict[str, str | None]
    engines: tuple[EngineProbe, ...]
    compiled: dict[str, bool]
    kept: bool
    compiled_folder: str | None
    compiled_bytes: int
    formats: tuple[FormatProbe, ...]
    features: tuple[FeatureProbe, ...]
    unusable: tuple[PackageProbe, ...]

    @property
    def works(self) -> bool:
        """Whether every engine works and every package that all installations have is there; extras do not count."""
        return all(engine.works for engine in self.engines) and None not in self.packages.values()
