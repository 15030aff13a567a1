"""Both estimates of what an intruder finds by the keys, in words."""

from __future__ import annotations

from dataclasses import replace

from masktron.report.sentences import estimate_lines, key_lines
from masktron.results import KeyRisk

OLD = KeyRisk(
    fields=("AGE", "JOB", "W"), stated=True, weight="W", records=400, k=1, below={"2": 9, "3": 12, "5": 20},
    below_without_weight=None, expected=3.0, mean=0.0075, largest=1.0, population_uniques=0.4,
)  # fmt: skip
KEYS = replace(OLD, model_expected=6.0, model_uniques=1.2)


def test_both_estimates_are_shown_and_the_larger_is_named() -> None:
    first, second, third = estimate_lines(KEYS)
    assert {first, second, third} <= {*key_lines(KEYS)}
    assert "3 by the weights, 6 by a log-linear model" in first
    assert "0.4 by the weights, 1.2 by the model" in second
    assert "1.500 % of the records" in third
    assert "0.750 %" in estimate_lines(replace(KEYS, model_expected=2.0))[2]


def test_the_model_is_named_with_its_pairs_and_the_weight_that_it_leaves_out() -> None:
    assert estimate_lines(KEYS)[2].endswith("the model has main effects")
    told = estimate_lines(replace(KEYS, model_pairs=(("AGE", "JOB"),), model_without="W"))[2]
    assert told.endswith("the interaction of AGE with JOB, without W, whose values few records share")


def test_one_estimate_where_both_are_the_same_or_a_manifest_has_one() -> None:
    for one in (replace(KEYS, model_expected=3.0), OLD):
        assert len(estimate_lines(one)) == 1
    assert "nan" in estimate_lines(replace(OLD, records=0, expected=0.0))[0]
