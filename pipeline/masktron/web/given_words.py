"""Settings and terms that sentences name, in the words of the forms that have an input for them."""

from __future__ import annotations

from collections.abc import Mapping

from masktron.config import Config, Role
from masktron.declared import declared_in
from masktron.problems.problem import Setting, Term
from masktron.shell_words import shell_word
from masktron.sources.record_layout import column_name
from masktron.web.pages.data_step import option_words
from masktron.web.pages.form_values import further_settings, label_of
from masktron.web.pages.method_words import LIMITS
from masktron.web.pages.roles_step import ROLES
from masktron.web.web_page import setting_of

_PAGES = {"reading": "Data", "fields": "Roles", "treating": "Protect keys", "way": "Mask"}
"""The page that has inputs for settings, by what they are about."""
_OF_CHOOSE = {
    "--budget": "How long it may take",
    "--k": "Smallest groups to try (k)",
    "--methods": "Methods to try",
}
"""What the page Choose calls options that `tune` alone has."""
_TERMS: Mapping[str, str] = {
    "disclosure_risk": "disclosure risk",
    "pil": "probabilistic information loss",
    "information_loss": "information loss (SSE/SST)",
    "grouping rules": "by fields that rules tie",
    "grouping all": "by whole records",
}


def term_words(term: Term) -> str:
    """Return what pages call a term within a sentence; what they have no other word for, as it is."""
    return _TERMS.get(term.term, term.term)


def in_form(setting: Setting) -> str:
    """Return what an option gives, as a page calls it; what no page has, as a file of settings or a command has it.

    Parameters
    ----------
    setting : Setting
        Its option, with values as the command line takes them.
    """
    if label := _OF_CHOOSE.get(setting.option):
        return f"“{': '.join([label, *setting.values])}” on the page Choose"
    name = setting_of(setting.option)
    if (known := declared_in(Config).get(name)) is None:
        return " ".join([setting.option, *map(shell_word, setting.values)])
    parted = str.rpartition if known.right else str.partition
    pairs = [parted(one, "=")[::2] if "=" in one else ("", one) for one in setting.values]
    if name == "quasi_identifiers":
        name, pairs = "roles", [(field, Role.QUASI_IDENTIFIER.value) for _, field in pairs]
    fields = ", ".join(column_name(field) for field, _ in pairs)
    if name == "roles" and pairs:
        return f"“{ROLES.get(pairs[0][1], pairs[0][1]).partition(':')[0]}” for {fields} on the page Roles"
    if name == "format_options" and pairs:
        return " ".join(option_words(*pair) for pair in pairs)
    values = ", ".join(f"{column_name(key)} = {value}" if key else column_name(value) for key, value in pairs)
    if name == "limits" and fields in LIMITS:
        name, values = f"limits.{fields}", pairs[0][1]
    said = f"“{label_of(name)}: {values}”" if values else f"“{label_of(name)}”"
    page = _page_of(name)
    return f"{said} on the page {page}" if page else f"{said} in masktron.toml"


def _page_of(name: str) -> str:
    if name.startswith("limits.") or name == "allow_unfired" or name in further_settings(("limits",)):
        return "Mask"
    return _PAGES.get(declared_in(Config)[name].topic, "")
