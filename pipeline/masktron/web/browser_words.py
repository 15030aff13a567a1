"""Messages of commands for whoever has forms in place of options."""

from __future__ import annotations

import re

from masktron.sources.names import column_name
from masktron.web.pages.method_words import FIGURE_WORDS, LIMITS

_FIELDS = {name: words[0].removesuffix(" (per cent)") for name, words in LIMITS.items()}
"""Fields of forms that set limits, by the name of the figure."""
_WORDS = (
    (
        re.compile(r"set (one|a stricter limit), for example --limit (\w+)=([\w.]+)"),
        lambda m: f"set {_limit(m[2])}, for example {m[3]}",
    ),
    (re.compile(r", with a larger --budget if it ended"), lambda m: ", with more time if it ended"),
    (re.compile(r"a limit, such as --limit (\w+)=[\w.]+,"), lambda m: f"{_limit(m[1])},"),
    (re.compile(r"--limit (\w+)=([\d.]+) makes"), lambda m: f"{_limit(m[1])} of {m[2]} makes"),
    (re.compile(r"run again, it goes on"), lambda m: "try more, and it goes on"),
    (re.compile(r"--allow-lost (\S+?)(?=[,\s]|$)"), lambda m: f"“Let {m[1]} go” on the page Protect keys"),
    (re.compile(r"--allow (\S+?)(?=[,\s]|$)"), lambda m: f'allow = ["{m[1]}"] in masktron.toml'),
    (re.compile(r"--allow(?=,)"), lambda m: "allow in masktron.toml"),
    (re.compile(r"--quasi-identifier FIELD"), lambda m: "the role “known to others” on the page Roles"),
    (re.compile(r" \(--(?:key-k \S+|recode)\)"), lambda m: ""),
    (re.compile(r"--role (\S+?)=identifier"), lambda m: f"the role “names somebody” of {m[1]} on the page Roles"),
    (re.compile(r"--role (\S+?)=([\w-]+)"), lambda m: f"the role {m[2]} of {m[1]} on the page Roles"),
    (re.compile(r"--format-option (\w+=[^\s,;]*[^\s,;.])"), lambda m: f"the option “{m[1]}”"),
    (re.compile(r"--grouping all"), lambda m: "“Whole records” on the page Mask"),
    (re.compile(r" \(masktron methods\)"), lambda m: ""),
    (re.compile(r"masktron suggest proposes"), lambda m: "the suggestions on the page Rules propose"),
    (re.compile(r"\bgrouping rules\b"), lambda m: "by fields that rules tie"),
    (re.compile(r"\bgrouping all\b"), lambda m: "by whole records"),
    (re.compile(r"\b(disclosure_risk|pil|information_loss)\b(?!=)"), lambda m: FIGURE_WORDS[m[1]].lower()),
)


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
    return column_name(message)
