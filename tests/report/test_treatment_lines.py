"""What each rule became, in lines."""

from __future__ import annotations

from dataclasses import replace

from masktron.report.sentences import treatment_lines
from masktron.results import RuleFate


def test_a_rule_whose_text_is_the_same_is_asked_of_classes() -> None:
    rule = RuleFate("w", "weakened", "w > 0", "w > 0", "", ())
    other, gone = replace(rule, after="w >= 0"), replace(rule, fate="implied", after="")
    assert list(treatment_lines([], [rule, other, gone])) == [
        "rule w is weakened; it was: w > 0, now: the same text, asked of classes",
        "rule w is weakened; it was: w > 0, now: w >= 0",
        "rule w is implied; it was: w > 0",
    ]
