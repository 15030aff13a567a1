"""Messages of commands as pages tell them: by fields and pages, not by options."""

from __future__ import annotations

import pytest

from masktron.web.browser_words import in_browser


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("--limit linkage=20 makes it a condition.", "“Records that an intruder finds again, at most”"),
        ("a larger k or a limit, such as --limit unchanged=20, may", "a limit of unchanged (in masktron.toml), may"),
        ("remove it: --role A_x0020_B=identifier", "“names somebody” of A_x0020_B on the page Roles"),
        (
            "--grouping all, or a method that draws values (masktron methods), can",
            "“Whole records” on the page Mask, or",
        ),
    ],
)
def test_options_become_fields(said: str, told: str) -> None:
    assert told in in_browser(said) and "--" not in in_browser(said)


def test_what_has_no_other_words_stays() -> None:
    assert in_browser("the pilot is over") == "the pilot is over"
