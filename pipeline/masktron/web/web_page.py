"""What a page is: a path, a step of the way, what it shows, and what its forms may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from masktron.config import Config
from masktron.declared import declared_in
from masktron.errors import MasktronError, UsageError
from masktron.problems.problem import SettingName
from masktron.problems.readers import Reader, reading
from masktron.web.runs.one_run import Argument, CommandRun, ToldError
from masktron.web.runs.run_kinds import RunKind
from masktron.web.runs.run_queue import RunQueue
from masktron.web.store.projects import Project, ProjectStore

STEPS = {
    "data": "Data",
    "rules": "Rules",
    "validate": "Validate",
    "roles": "Roles",
    "protect": "Protect keys",
    "choose": "Choose",
    "mask": "Mask",
    "release": "Release",
}
"""The way through, in order: the name of a step, and what readers call it."""


class NothingHereError(Exception):
    """What an address or a form names is not there."""


class FormFields:
    """What a form says: texts by name, some of them several times."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._found: dict[str, list[str]] = {}
        for name, value in pairs:
            self._found.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        """Return a field without white space around it; empty where there is none."""
        return self._found.get(name, [""])[-1].strip()

    def raw(self, name: str) -> str:
        """Return a field as it was typed, with line ends as files have them."""
        return self._found.get(name, [""])[-1].replace("\r\n", "\n")

    def texts(self, name: str) -> list[str]:
        """Return all fields of a name, as of boxes that were ticked."""
        return list(self._found.get(name, []))

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return the fields whose names begin so, by the rest of their names: ``role.AGE`` by ``AGE``."""
        return {
            name[len(prefix) :]: found[-1].strip() for name, found in self._found.items() if name.startswith(prefix)
        }

    @property
    def names(self) -> KeysView[str]:
        """The names of all fields, in the order of the form."""
        return self._found.keys()


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where to go when a form has been taken: a page of this server.

    Attributes
    ----------
    to : str
        A path that `Visit` has made.
    """

    to: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page, as the answer to a form that a script has sent: ``hx-post`` while somebody types.

    Attributes
    ----------
    template : str
        A template that extends none.
    context : mapping
        What it gets, beside ``csrf``, ``problems``, ``given``, ``project`` and ``page``.
    """

    template: str
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageProblem:
    """What stands in the way, and where: at a field of a form, or above it.

    Attributes
    ----------
    what, where, hint : str
        As `MasktronError` has them.
    code : str
        Of its problem; empty where it has none.
    field : str or None
        The name of the input that caused it.
    """

    what: str
    where: str = ""
    hint: str = ""
    code: str = ""
    field: str | None = None


@dataclass(frozen=True, slots=True)
class StepState:
    """How far a step of a project is: done or not, and what there is to say of it."""

    done: bool
    says: str = ""
    problem: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: what is asked for, and what a page may do for it."""

    store: ProjectStore
    queue: RunQueue
    query: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    """The parts of its path by name, such as ``run``."""
    largest_upload: int = 0
    is_local: bool = True
    """Whether browser and server are on one machine, so that paths of it may be shown."""

    def start(self, project: Project, kind: RunKind, arguments: Sequence[Argument]) -> CommandRun:
        """Start a run, with the settings as they are now; see `RunQueue.start`."""
        return self.queue.start(project, kind.step, kind.command(arguments))

    def try_out(
        self, project: Project, kind: RunKind, arguments: Sequence[Argument], files: Mapping[str, bytes]
    ) -> CommandRun:
        """Start a short run on a draft, in place of the former one; see `RunQueue.try_out`."""
        return self.queue.try_out(project, kind.step, kind.command(arguments), files)

    @staticmethod
    def path(project: Project, page: str = "") -> str:
        """Return the path of a page of a project: ``data``, or nothing for its overview."""
        return f"/projects/{project.identity}/{page}".rstrip("/")

    @staticmethod
    def path_of_run(run: CommandRun, output: str | None = None) -> str:
        """Return the path of a run, or of one of its outputs."""
        own = f"/projects/{run.project.identity}/runs/{run.name}"
        return own if output is None else f"{own}/files/{quote(output)}"

    @staticmethod
    def path_of_picture(run: CommandRun, output: str) -> str:
        """Return the path under which a picture that a run has drawn is shown, as SVG."""
        return f"/projects/{run.project.identity}/runs/{run.name}/picture/{quote(output)}"

    @staticmethod
    def path_of_report(run: CommandRun, output: str) -> str:
        """Return the path under which a page that a run has written is shown."""
        return f"/projects/{run.project.identity}/runs/{run.name}/report/{quote(output)}"


type PageContext = Mapping[str, Any]
type Show = Callable[[Visit, Project], PageContext]
type Act = Callable[[Visit, Project, FormFields], Redirect | Fragment]
type Take = Callable[[Visit, Project, str], Redirect]


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page of a project.

    Attributes
    ----------
    name : str
        Of its route, and of its template: ``data`` stands for ``data.html``.
    path : str
        Below that of the project: ``data``, ``runs/{run}``.
    title : str
    show : callable
        Takes a `Visit` and a `Project`, and returns what the template gets; its ``problems``, a list of
        `PageProblem`, are shown beside those of a form. A `MasktronError` becomes a page that says it; a
        `NothingHereError` one that says that there is nothing.
    step : str or None
        The step of the way that it is, one of `STEPS`.
    actions : mapping of str to callable
        What its forms may ask for, by the value of their field ``action``: takes visit, project and `FormFields`,
        and returns a `Redirect` (or a `Fragment`, for a script). A `MasktronError` is shown at the input that its
        problem is about, with all that was typed.
    take : callable or None
        Takes visit, project and the name of a file that was uploaded on this page, and says where to go. Where it
        raises a `MasktronError`, the upload goes again.
    writes : frozenset of str
        Settings that its forms show and write back as a whole. A form that was loaded before another window has
        changed one of them is refused, so that it undoes nothing.
    state : callable or None
        How far the step is in a project.
    """

    name: str
    path: str
    title: str
    show: Show
    step: str | None = None
    actions: Mapping[str, Act] = field(default_factory=dict)
    take: Take | None = None
    state: Callable[[Project], StepState] | None = None
    writes: frozenset[str] = frozenset()


_SETTING_OF = {said.spelled(name).lstrip("-").replace("-", "_"): name for name, said in declared_in(Config).items()}
"""Settings by their options, without dashes: ``roles`` by ``role``."""


_AS_A_WHOLE = {"swap": "swap.regions"}
"""The input at which stands what is about a table of settings as a whole."""


def setting_of(option: str) -> str:
    """Return the name of the setting that an option gives: ``roles`` for ``--role``; of others, their own."""
    plain = option.lstrip("-").replace("-", "_")
    return _SETTING_OF.get(plain, plain)


def entered(name: str) -> SettingName:
    """Return an input of a form, such as ``limits.linkage``, for a problem to name."""
    table, _, key = name.partition(".")
    return SettingName(table, (key,) if key else ())


def wrong_input(name: str, expected: str, given: object) -> UsageError:
    """Return the error of an input that has something else than is expected."""
    return UsageError.of("bad-value", name=entered(name), expected=expected, given=repr(given))


def problem_of(error: MasktronError | ToldError, fields: Iterable[str] = (), *, at: str | None = None) -> PageProblem:
    """Return an error as a page shows it: at the first input of the form that its problem is about, if any.

    Parameters
    ----------
    error : MasktronError or ToldError
        Of this process, or of a run.
    fields : iterable of str
        The names of the inputs of the form.
    at : str, optional
        The input, where that is known.
    """
    code = "" if error.problem is None else error.problem.code
    named = (getattr(error, "setting", ""), *(() if error.problem is None else error.problem.about()))
    with reading(Reader.BROWSER):
        return PageProblem(error.what, error.where, error.hint, code, at or input_of(named, fields))


def input_of(named: Iterable[str], fields: Iterable[str]) -> str | None:
    """Return the input of a form that names of settings and fields mean: by both, by its whole name, or by its end.

    >>> input_of(["AGE", "role"], ["kind.AGE", "roles.AGE"])
    'roles.AGE'
    """
    names, inputs = list(map(setting_of, filter(None, named))), list(fields)
    whole = (_AS_A_WHOLE.get(one, one) for one in names)
    found = [one for one in [*(f"{table}.{key}" for table in names for key in names), *whole] if one in inputs]
    ends = {one.partition(".")[2]: one for one in inputs if "." in one}
    return next(iter([*found, *(ends[one] for one in names if one in ends)]), None)
