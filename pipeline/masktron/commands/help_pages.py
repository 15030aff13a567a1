"""Which page of the documentation helps against an error, by what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.commands import COMMANDS
from masktron.commands.offered import offered
from masktron.config import Config
from masktron.declared import declared_in

if TYPE_CHECKING:
    from masktron.errors import MasktronError
    from masktron.problems.problem import Problem

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "clusters": "On a cluster",
        "command-line": "The command line",
        "formats": "Formats",
        "how-to/assessing": "Measuring risk and loss",
        "how-to/checking": "Checking a masked file",
        "how-to/fields": "Saying what the fields are",
        "how-to/keys-and-order": "Random draws and the order of records",
        "how-to/limits": "Setting limits",
        "how-to/validating": "Validating files that fail a little",
        "installing": "Installing",
        "keys": "What stays unmasked: keys and their risk",
        "large-files": "Large files",
        "methods": "Masking methods: what each one does, when to choose it, and what it keeps",
        "nested-files": "Nested files: households with their persons",
        "pram": "PRAM: categories drawn anew",
        "recoding": "Recoding under rules",
        "refusals": "My run was refused",
        "repeating": "Repeating a run, and releasing records twice",
        "reports": "Reports with pictures",
        "suggesting": "What a file holds, and rules that its data suggest",
        "suppression": "Local suppression: keys that are left out in some records",
        "swapping": "Record swapping: rare records change places",
        "tuning": "The risk-utility map: which method, which k",
        "web": "masktron in a browser",
        "workers": "Several processes, several machines",
        "writing-rules": "Writing edit rules",
    }
)
"""The title of each page that is named, by which who reads the site finds it."""

ELSE = "command-line"
"""The page about the command line, for all others."""


@cache
def of_options(command: str = "") -> Mapping[str, str]:
    """Return the page about each option that has one; what an option means in a command goes before others."""
    found: dict[str, str] = {}
    for listed in (*COMMANDS.values(), *([COMMANDS[command]] if command in COMMANDS else [])):
        for one in offered(listed.kind):
            found |= dict.fromkeys(one.spellings, one.said.page or (listed.page if listed.name == command else ""))
    return {spelling: page for spelling, page in found.items() if page}


def page_of_usage(options: Iterable[str], arguments: Sequence[str]) -> str:
    """Return where to read on after an error of usage: about the first option that has a page, else the command.

    Parameters
    ----------
    options : iterable of str
        What the error is about.
    arguments : sequence of str
        The command line behind the program's name.
    """
    command = next(iter(arguments), "")
    pages = of_options(command)
    usual = COMMANDS[command].page if command in COMMANDS else ELSE
    return named_page(next((pages[option] for option in options if option in pages), usual))


def page_of_error(error: MasktronError, arguments: Sequence[str]) -> str | None:
    """Return where to read on after an error that ends a command; None where no page helps, or it names one.

    Errors of usage (exit code 2), and refusals to mask (exit code 5).
    """
    from masktron.errors import InfeasibleError, ReleasedBeforeError, UsageError
    from masktron.problems.wording import worded

    if isinstance(error, ReleasedBeforeError):
        return named_page("repeating")
    if worded(error.problem).pages:
        return None
    if isinstance(error, InfeasibleError):
        return named_page("refusals")
    return _page_of(error.problem, error.setting, arguments) if isinstance(error, UsageError) else None


def _page_of(problem: Problem, setting: str, arguments: Sequence[str]) -> str:
    from masktron.problems.wording import options_of

    declared = declared_in(Config)
    page = (
        "installing" if problem.code == "package-missing" else declared[setting].page if setting in declared else ""
    )
    page = page or ("nested-files" if setting == "levels" else "")
    return named_page(page) if page else page_of_usage(options_of(problem), arguments)


def named_page(page: str) -> str:
    """Name a page: by its path, which stays whatever the documentation is published as, and by its title."""
    return f"see docs/{page}.md ({TITLES[page]})"
