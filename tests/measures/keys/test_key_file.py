"""The example of docs/keys.md, worked out by hand there; figures of keys as files and measures have them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from masktron.measures.keys import (
    attribute_disclosure,
    beta_likeness,
    household_risk,
    individual_risk,
    l_diversity,
    log_linear_risk,
    suda,
    t_closeness,
)
from masktron.measures.keys.key_file import KeyFile
from paths import ROOT

AGE, REGION = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), np.array([0, 0, 1, 0, 0, 1], dtype=np.int32)
ILLNESS = np.array([0, 1, 2, 0, 0, 1], dtype=np.int32)
WEIGHT = np.array([10.0, 30, 20, 4, 1, 50])
EXAMPLE = KeyFile(("AGE", "REGION"), {"AGE": AGE, "REGION": REGION}, True, weights=WEIGHT)


def test_the_example_of_the_document() -> None:
    text = " ".join((ROOT / "docs" / "keys.md").read_text(encoding="utf-8").split())
    risks = individual_risk(EXAMPLE.frequencies)
    model = log_linear_risk(EXAMPLE.codes, EXAMPLE.fraction)
    unique = suda(EXAMPLE.codes)
    guesses = attribute_disclosure(EXAMPLE.codes, ILLNESS)
    near = t_closeness(EXAMPLE.codes, ILLNESS)
    unseen = (1 - EXAMPLE.fraction) / EXAMPLE.fraction
    for said in (
        f"f = {', '.join(f'{f:g}' for f in EXAMPLE.frequencies.sample)} records",
        f"F = {', '.join(f'{f:g}' for f in EXAMPLE.frequencies.population)} is the sum",
        f"Risks are {', '.join(f'{risk:.3f}' for risk in risks)}.",
        f"is {EXAMPLE.risk.mean:.3f}, their sum, {EXAMPLE.risk.expected:.3f}, the expected",
        f"`global_risk` {EXAMPLE.risk.per_cent:.1f} %",
        f"1/20 + 1/50 = {EXAMPLE.alone_in_population:.2f}.",
        f"= {household_risk(risks[2:4], np.array([0, 0]))[0]:.3f}, which is the risk of both",
        f"h = (1 - pi) mu / pi = {unseen:.2f} others",
        f"is {model.tau1:.8f}, and tau2",
        f"sample uniques, is {model.tau2:.3f}.",
        f"`suda_share` is {unique.share:.1f} %",
        f"*south* {unique.by_value[1][1]:.0f} % and *young* {unique.by_value[0][0]:.0f} %",
        f"{guesses.guessed:.1f} %. With the record itself",
        f"gives 2 of 6, {guesses.without_record:.1f} %",
        f"the others of the file give {guesses.baseline:.0f} %",
    ):
        assert said in text
    assert unique.by_field.tolist() == [100, 100]
    assert (near.equal[0], near.ordered[0]) == pytest.approx((1 / 6, 1 / 12))
    assert beta_likeness(EXAMPLE.codes, ILLNESS)[2] == pytest.approx(5)
    assert re.search(r"have 2, 1, 1 and 1 different illnesses: `l_diversity` is 1", text)
    diverse = l_diversity(EXAMPLE.codes, ILLNESS)
    assert diverse.distinct.tolist() == [2, 2, 1, 1, 1, 1]
    assert (diverse.entropy[0], diverse.recursive[0]) == pytest.approx((2, 2))


def test_what_the_weight_alone_does() -> None:
    keys = KeyFile(("AGE", "W"), {"AGE": AGE, "W": np.arange(6, dtype=np.int32)}, False, "W", WEIGHT)
    assert keys.frequencies.below(2) == 6
    assert keys.without_weight is not None
    assert keys.without_weight.below(2) == 0
    assert keys.without_weight.sample.tolist() == [3] * 6
    assert EXAMPLE.without_weight is None
    assert KeyFile(("W",), {"W": AGE}, False, "W").without_weight is None
    assert KeyFile(("W",), {"W": AGE}, False, "W").fraction == 1
    assert not keys.has_uniqueness
    assert keys.uniqueness.share == 100
    assert keys.has_uniqueness
