"""Which page of the documentation helps against an error, by what it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.commands import COMMANDS
from masktron.commands.offered import offered
from masktron.config import Config
from masktron.declared import declared_in

if TYPE_CHECKING:
    from masktron.errors import MasktronError

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
_OF_WORDS = ((r"pip install ", "installing"), (r"\blevels\.|\[levels\b", "nested-files"))
"""The pages about what an error names that is no option."""
_UNKNOWN = re.compile(r"(?i)no such option")
"""How an error begins about an option that a command lacks: those that it has are about something else."""


@cache
def of_options(command: str = "") -> Mapping[str, str]:
    """Return the page about each option that has one; what an option means in a command goes before others."""
    found: dict[str, str] = {}
    for listed in (*COMMANDS.values(), *([COMMANDS[command]] if command in COMMANDS else [])):
        for one in offered(listed.kind):
            found |= dict.fromkeys(one.spellings, one.said.page or (listed.page if listed.name == command else ""))
    return {spelling: page for spelling, page in found.items() if page}


def page_of_usage(said: str, arguments: Sequence[str]) -> str:
    """Return where to read on after an error of usage.

    Parameters
    ----------
    said : str
        The error: a package that is to be installed, or ``[levels]``, decides, or the first option in it that has a
        page.
    arguments : sequence of str
        The command line behind the program's name; else its command decides.
    """
    command = next(iter(arguments), "")
    own = [page for words, page in _OF_WORDS if re.search(words, said)]
    if not _UNKNOWN.search(said):
        pages = of_options(command)
        own += [pages[option] for option in re.findall(r"--[a-z][a-z-]*", said) if option in pages]
    return named_page(own[0] if own else COMMANDS[command].page if command in COMMANDS else ELSE)


def page_of_error(error: MasktronError, arguments: Sequence[str]) -> str | None:
    """Return where to read on after an error that ends a command; None where no page helps, or it names one.

    Errors of usage (exit code 2), and refusals to mask (exit code 5).
    """
    from masktron.errors import InfeasibleError, ReleasedBeforeError, UsageError

    said = str(error)
    if re.search(r"docs/[a-z/-]+\.md", said):
        return None
    if isinstance(error, ReleasedBeforeError):
        return named_page("repeating")
    if isinstance(error, InfeasibleError):
        return named_page("refusals")
    # the name of a file says nothing of the matter: levels.csv is no setting
    place = error.where if error.where.startswith("--") else ""
    if not isinstance(error, UsageError):
        return None
    page = declared_in(Config)[error.setting].page if error.setting in declared_in(Config) else ""
    return named_page(page) if page else page_of_usage(f"{place} {error.what} {error.hint}", arguments)


def named_page(page: str) -> str:
    """Name a page: by its path, which stays whatever the documentation is published as, and by its title."""
    return f"see docs/{page}.md ({TITLES[page]})"
