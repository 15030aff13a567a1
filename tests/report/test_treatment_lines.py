"""What each rule became, in lines."""

from __future__ import annotations

from masktron.report.sentences import fate_lines


def test_a_rule_whose_text_is_the_same_is_asked_of_classes() -> None:
    rule = {"rule": "w", "fate": "weakened", "reason": "", "before": "w > 0", "after": "w > 0"}
    other = {**rule, "after": "w >= 0"}
    gone = {**rule, "fate": "implied", "after": ""}
    assert list(fate_lines([rule, other, gone])) == [
        "rule w is weakened; it was: w > 0, now: the same text, asked of classes",
        "rule w is weakened; it was: w > 0, now: w >= 0",
        "rule w is implied; it was: w > 0",
    ]
