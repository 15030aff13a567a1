"""Every error a user can meet, with the exit code that the command line returns for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar, Literal, Self

from masktron.problems.problem import Note, Place, Problem, Setting, SettingName

ERROR_FILE = "MASKTRON_ERROR"
"""Variable of the environment: the file to which a command also writes the error that ends it, as JSON."""


class Exit(IntEnum):
    """Exit codes of the command line."""

    COMPLIES = 0
    """Everything that was asked for holds."""
    VIOLATION = 1
    """An edit, a protection contract or a limit fails."""
    USAGE = 2
    """The command or its options are wrong."""
    RULEBOOK = 3
    """The Schematron rulebook is missing, malformed or asks for what is forbidden."""
    DOCUMENT = 4
    """The microdata file is missing, malformed or not of a shape that the command can handle; or an output, standard
    output included, cannot be written."""
    INFEASIBLE = 5
    """The rules and the protection contract cannot both be kept, or the records have been released before."""
    RESOURCES = 6
    """An engine, or the run, had not the time or the memory that it takes: nothing is said of rules and data."""
    FAULT = 7
    """masktron itself has a mistake: nothing is said of rules and data."""


type Where = Place | str | PathLike[str]
"""The place of an error: a file, an address, the origin of a rule, or a `Place` with line, record, field or rule."""

type RefusalKind = Literal[
    "copied", "no-prototype", "few-records", "missing-pattern", "across-records", "total", "aggregator",
    "no-aggregator", "solved-loss", "method", "contract", "limits", "written", "original", "keys",
    "suppression", "rare-units",
]  # fmt: skip
"""Why a run of `mask` was refused. ``copied``: too many groups would publish a record; ``no-prototype``: no value
satisfies the rules in some group; ``few-records``: fewer than k; ``rare-units``: fewer than k units are composed
alike; ``missing-pattern``: a pattern of missing values is
rarer than k and has to be kept; ``across-records``: a rule over several records that masking breaks; ``total``: a
figure over the file that cannot be mended; ``aggregator``: the one that was asked for breaks a rule;
``no-aggregator``: all do; ``solved-loss``: what is solved in each record would lose everything; ``method``: the
arithmetic of a method cannot do it; ``contract``: what a method promises was not kept; ``limits``: figures are
outside limits; ``written``: the file would break rules; ``original``: the original does;
``keys``: what was asked for quasi-identifiers cannot be done; ``suppression``: no cells of them can be left out so
that k records share each combination and the rules hold."""


@dataclass(frozen=True, slots=True)
class RefusalFacts:
    """Why a run was refused, for programs that look for a remedy: names and counts, no value of a record.

    Attributes
    ----------
    kind : str
    fields : tuple of str
        Masked fields that it is about, where that is known.
    conditions : tuple of str
        Unmasked fields that the rules read beside them.
    rules : tuple of str
        Ids of the rules that are known to stand in the way; those that read `fields` where there are none.
    figures : tuple of str
        Names of the figures that are outside their limits.
    groups : int
        Groups that it is about; 0 where it is about none.
    records : int
        Records that there are, or that break rules in ``original``; of ``rare-units``, those of the rarest kind.
    """

    kind: RefusalKind
    fields: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    groups: int = 0
    records: int = 0


class MasktronError(Exception):
    """Base of all errors that masktron raises for the user to read.

    Parameters
    ----------
    what : Problem or str
        What is wrong: as data, or in a sentence for those who have no code for it.
    where : path or str, optional
        The place, if the problem has none.
    facts : sequence of RefusalFacts, optional
        Where a run of `mask` was refused: why. None where the arithmetic of a method says so, which knows no fields.

    Attributes
    ----------
    problem : Problem
    refusal : RefusalResult or None
        What could help, and what it costs: where `mask` was asked to suggest it.
    """

    exit_code: ClassVar[Exit] = Exit.VIOLATION

    def __init__(self, what: Problem | str, *, where: Where = "", facts: Sequence[RefusalFacts] = ()) -> None:
        problem = what if isinstance(what, Problem) else Note("{what}", what=what)
        super().__init__(problem.at(where) if where else problem)
        self.facts = tuple(facts)
        self.refusal: Any = None

    @classmethod
    def of(cls, code: str, /, where: Where = "", *, facts: Sequence[RefusalFacts] = (), **references: object) -> Self:
        """Make an error of a problem: its code, its place and what it names; `Problem` says how."""
        return cls(Problem(code, where, **references), facts=facts)

    def then(self, *further: Problem) -> None:
        """Add what else can be done."""
        self.problem = self.problem.then(*further)

    def at(self, place: Where) -> Self:
        """Return it at another place."""
        self.problem = self.problem.at(place)
        return self

    @property
    def problem(self) -> Problem:
        """What is wrong."""
        problem: Problem = self.args[0]
        return problem

    @problem.setter
    def problem(self, problem: Problem) -> None:
        self.args = (problem,)

    @property
    def what(self) -> str:
        """What is wrong, in one sentence."""
        return str(self._wording("worded").what)

    @property
    def where(self) -> str:
        """The place."""
        return str(self.problem.place)

    @property
    def hint(self) -> str:
        """What the user can do next."""
        return str(self._wording("worded").hint)

    @property
    def helps(self) -> tuple[Setting, ...]:
        """Settings any one of which may do away with it."""
        return tuple(one for one in self.problem.parts() if isinstance(one, Setting) and one.offered)

    def rename_files(self, names: Mapping[str, str]) -> None:
        """Name files as others know them.

        Parameters
        ----------
        names : mapping of str to str
            From the name that the error has, alone or at the beginning of a path, to another one.
        """

        def other(place: str) -> str:
            for name, instead in names.items():
                place = place.replace(name, instead)
            return place

        self.problem = self.problem.renamed(source=other)

    def _wording(self, how: str) -> Any:
        # sentences are loaded where an error is read
        return getattr(import_module("masktron.problems.wording"), how)(self.problem)

    def __str__(self) -> str:
        return str(self._wording("complaint"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with every field, whatever a class asks for when its errors are made."""
        return _travelled, (type(self), self.args, self.__dict__)


def _travelled(kind: type[MasktronError], args: tuple[Any, ...], fields: dict[str, Any]) -> MasktronError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class ViolationError(MasktronError):
    """The data break an edit, or a released file breaks its contract."""

    exit_code = Exit.VIOLATION


class OutsideLimitsError(ViolationError):
    """A figure of a masked file is outside a limit that the user has set."""


class InstallationError(MasktronError):
    """Something that masktron was installed with does not work."""

    exit_code = Exit.VIOLATION


class UsageError(MasktronError, ValueError):
    """An option or argument is wrong."""

    exit_code = Exit.USAGE

    @property
    def setting(self) -> str:
        """The setting, or the field of a command, that it is about; empty where it is about none alone."""
        return next((one.name for one in self.problem.parts() if isinstance(one, SettingName)), "")


class RulebookError(MasktronError, ValueError):
    """The rulebook cannot be used."""

    exit_code = Exit.RULEBOOK


class DocumentError(MasktronError, ValueError):
    """The microdata file cannot be used."""

    exit_code = Exit.DOCUMENT


class InfeasibleError(MasktronError, ValueError):
    """The rules and the protection contract cannot both be kept."""

    exit_code = Exit.INFEASIBLE


class ReleasedBeforeError(InfeasibleError):
    """The register of releases has the original, or one that shares most of its records."""


class ResourceError(MasktronError, RuntimeError):
    """An engine had not the time or the memory that it takes."""

    exit_code = Exit.RESOURCES
