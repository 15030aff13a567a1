"""Messages of commands as pages tell them: by fields and pages, not by options."""

from __future__ import annotations

import pytest

from masktron.web.browser_words import in_browser


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("--limit linkage=20 makes it a condition.", "finds again, at most (per cent): 20” on the page Mask makes"),
        ("a limit, such as --limit unchanged=20, may", "such as “Limits: unchanged = 20” in masktron.toml, may"),
        ("remove it: --role A_x0020_B=identifier", "remove it: “names somebody” for A B on the page Roles"),
        ("--grouping all, or a method (masktron methods), can", "“Grouping: all” on the page Mask, or a method, can"),
        ("read with --format-option decimal=comma.", "read with “Decimal sign: comma”."),
        ("take --keep-missing, or go on", "take “Keep missing” on the page Mask, or go on"),
    ],
)
def test_options_become_fields(said: str, told: str) -> None:
    assert told in in_browser(said) and "--" not in in_browser(said)


def test_fields_are_called_as_their_columns() -> None:
    assert in_browser("annual_x0020_income is below 0") == "annual income is below 0"
    assert in_browser("_x0032_024 and x_xFFFFFF_") == "2024 and x_xFFFFFF_"  # the last is no character


def test_figures_and_groupings_have_words_of_their_own() -> None:
    assert in_browser("mdav, k = 5, grouping rules loses least, 7 % pil") == (
        "mdav, k = 5, by fields that rules tie loses least, 7 % probabilistic information loss"
    )
    assert in_browser("linkage is of numbers") == "linkage is of numbers"  # a word in a sentence


def test_what_has_no_other_words_stays() -> None:
    assert in_browser("the pilot is over") == "the pilot is over"
