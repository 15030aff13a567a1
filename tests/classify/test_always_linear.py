"""Relations that a rule demands of every record in which the fields have values."""

from __future__ import annotations

import pytest

from masktron.classify.display import render_form
from masktron.classify.forms import form_of
from masktron.classify.polynomial import always_linear
from rulebook_builder import edit_of


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("A <= B", ["A <= B"]),
        ("A + B = C", ["A + B = C"]),
        ("A < B", []),
        ("A <= 5", []),
        # a gap in A or B lets the rule go, where nobody compares them; a gap in C lets it go beside values of them
        ("not(A) or not(B) or A <= B", ["A <= B"]),
        ("not(C) or A <= B", []),
        ("C = 1 or A <= B", []),
        ("A <= B and (C = 1 or A <= C)", ["A <= B"]),
    ],
)
def test_what_holds_in_every_record(test: str, found: list[str]) -> None:
    relations = always_linear([form_of(edit_of(test).constraint)])
    assert [render_form(((one,),)) for one in relations] == found


def test_two_rules_with_one_relation_have_it_once() -> None:
    forms = [form_of(edit_of(test).constraint) for test in ("A <= B", "B >= A", "C <= A")]
    assert len(always_linear(forms)) == 2
