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
    packages : mapping of str to str or None
        Versions by distribution; None where it is not installed.
    engines : tuple of EngineProbe
    compiled : mapping of str to bool
        What compiled code does, and whether it is at hand.
    kept : bool
        Whether what is compiled now outlives the process.
    compiled_folder : str or None
        Where it is written.
    """

    JOB: ClassVar = "doctor"
    KEYS: ClassVar = "works version folder python system cores packages engines compiled kept compiled_folder"

    version: str
    folder: str
    python: str
    system: str
    cores: int
    packages: dict[str, str | None]
    engines: tuple[EngineProbe, ...]
    compiled: dict[str, bool]
    kept: bool
    compiled_folder: str | None

    @property
    def works(self) -> bool:
        """Whether every engine and package is there."""
        return all(engine.works for engine in self.engines) and None not in self.packages.values()
