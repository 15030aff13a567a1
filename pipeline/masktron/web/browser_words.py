"""Messages of commands for whoever has forms in place of options."""

from __future__ import annotations

import re

from masktron.web.pages.method_words import FIGURE_WORDS, LIMITS

_FIELDS = {name: words[0].removesuffix(" (per cent)") for name, words in LIMITS.items()}
"""Fields of forms that set limits, by the name of the figure."""
_WORDS = (
    (re.compile(r"set a limit, such as --limit (\w+)=NUMBER"), lambda m: f"set {_limit(m[1])}"),
    (re.compile(r"a limit, such as --limit (\w+)=[\w.]+,"), lambda m: f"{_limit(m[1])},"),
    (re.compile(r"--limit (\w+)=([\d.]+) makes"), lambda m: f"{_limit(m[1])} of {m[2]} makes"),
    (re.compile(r"run again, it goes on"), lambda m: "try more, and it goes on"),
    (re.compile(r"--role (\S+?)=identifier"), lambda m: f"the role “names somebody” of {m[1]} on the page Roles"),
    (re.compile(r"--role (\S+?)=(\w+)"), lambda m: f"the role {m[2]} of {m[1]} on the page Roles"),
    (re.compile(r"--grouping all"), lambda m: "“Whole records” on the page Mask"),
    (re.compile(r" \(masktron methods\)"), lambda m: ""),
    (re.compile(r"masktron suggest proposes"), lambda m: "the suggestions on the page Rules propose"),
    (re.compile(rf"\b({'|'.join(sorted(FIGURE_WORDS))})\b(?!=)"), lambda m: FIGURE_WORDS[m[1]].lower()),
)


_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4}|[0-9A-Fa-f]{6})_")
"""As `sources.tables.column_names` has it, which loads lxml."""


def _limit(figure: str) -> str:
    if figure in _FIELDS:
        return f"the limit “{_FIELDS[figure]}” below"
    return f"a limit of {figure} (in masktron.toml)"


def in_browser(message: str) -> str:
    """Name fields and pages where a message of a command names options and commands.

    Parameters
    ----------
    message : str

    Returns
    -------
    str
        What it has no other words for stays as it was.
    """
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    return column_words(message)


def column_words(text: str) -> str:
    """Return names of fields as their columns are called: ``annual_x0020_income`` is ``annual income``."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if int(found[1], 16) < 0x110000 else found[0], text)
