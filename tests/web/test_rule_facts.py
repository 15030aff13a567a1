"""Words for the classes of rules are true of the rules that are put into them."""

from __future__ import annotations

import pytest

from masktron.web.pages.rule_facts import CLASSES
from rulebook_builder import edit_of


@pytest.mark.parametrize(
    ("test", "said"), [("A > B", "in an order"), ("A <= B", "in an order"), ("A > 0 or B > 0", "alternatives")]
)
def test_a_governing_rule_is_in_words_what_it_is(test: str, said: str) -> None:
    edit = edit_of(test)
    assert edit.name == "governing"
    assert said in CLASSES[edit.name]
