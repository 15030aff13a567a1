"""Notes of commands for whoever has forms in place of options."""

from __future__ import annotations

import re

from masktron.config import Config
from masktron.declared import Shape, declared_in
from masktron.problems.problem import Setting
from masktron.sources.names import column_name
from masktron.web.given_words import in_form
from masktron.web.pages.method_words import FIGURE_WORDS
from masktron.web.web_page import setting_of

_WORDS = (
    (re.compile(r", with a larger --budget if it ended"), lambda m: ", with more time if it ended"),
    (re.compile(r"run again, it goes on"), lambda m: "try more, and it goes on"),
    (re.compile(r" \(--(?:key-k \S+|recode)\)"), lambda m: ""),
    (re.compile(r"(--[a-z-]+)( [\w.*=/-]*[\w*])?"), lambda m: _option(m[1], m[2] or "")),
    (re.compile(r" \(masktron methods\)"), lambda m: ""),
    (re.compile(r"masktron suggest proposes"), lambda m: "the suggestions on the page Rules propose"),
    (re.compile(r"\bgrouping rules\b"), lambda m: "by fields that rules tie"),
    (re.compile(r"\bgrouping all\b"), lambda m: "by whole records"),
    (re.compile(r"\b(disclosure_risk|pil|information_loss)\b(?!=)"), lambda m: FIGURE_WORDS[m[1]].lower()),
)


def _option(option: str, value: str) -> str:
    """Return an option of a note with its value; what stands behind a switch or a table is none."""
    known = declared_in(Config).get(setting_of(option))
    takes = known is not None and known.form is not Shape.SWITCH and (known.form is not Shape.TABLE or "=" in value)
    return in_form(Setting(option, (value.strip(),))) if takes and value else f"{in_form(Setting(option))}{value}"


def in_browser(message: str) -> str:
    """Name fields and pages where a note of a command names options and commands.

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
