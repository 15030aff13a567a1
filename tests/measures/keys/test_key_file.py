"""The example of docs/keys-by-hand.md; figures of keys as files and measures have them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from masktron.figures import OF_KEYS_ALONE
from masktron.measures.assessed import Assessed
from masktron.measures.figures import measure
from masktron.measures.keys import (
    household_risk,
    individual_risk,
    l_diversity,
    log_linear_risk,
    suda,
)
from masktron.measures.keys.key_file import KeyFile
from masktron.results import KeyRisk
from paths import ROOT

AGE, REGION = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), np.array([0, 0, 1, 0, 0, 1], dtype=np.int32)
ILLNESS = np.array([0, 1, 2, 0, 0, 1], dtype=np.int32)
WEIGHT = np.array([10.0, 30, 20, 4, 1, 50])
EXAMPLE = KeyFile(("AGE", "REGION"), {"AGE": AGE, "REGION": REGION}, True, weights=WEIGHT)


def test_the_example_of_the_document() -> None:
    text = " ".join((ROOT / "docs" / "keys-by-hand.md").read_text(encoding="utf-8").split())
    risks = individual_risk(EXAMPLE.frequencies)
    model = log_linear_risk(EXAMPLE.codes, WEIGHT)
    unique = suda(EXAMPLE.codes)
    for said in (
        f"f = {', '.join(f'{f:g}' for f in EXAMPLE.frequencies.sample)} records",
        f"F = {', '.join(f'{f:g}' for f in EXAMPLE.frequencies.population)} is the sum",
        f"Risks are {', '.join(f'{risk:.3f}' for risk in risks)}.",
        f"is {EXAMPLE.risk.mean:.3f}, their sum, {EXAMPLE.risk.expected:.3f}, the expected",
        f"{EXAMPLE.risk.per_cent:.1f} % of the records",
        f"their sum is {model.expected:.3f}, less than {EXAMPLE.risk.expected:.3f}, so that `global_risk` is "
        f"{100 * EXAMPLE.mean_risk:.1f} %",
        f"1/20 + 1/50 = {EXAMPLE.alone_by_weights:.2f}.",
        f"= {household_risk(risks[2:4], np.array([0, 0]))[0]:.3f}, which is the risk of both",
        f"so that h = (1 - pi) lambda = {19 / 20 * 115 * (60 / 115) * (70 / 115):.2f} others are expected",
        f"`suda_share` is {unique.share:.1f} %",
        f"*south* {unique.by_value[1][1]:.0f} % and *young* {unique.by_value[0][0]:.0f} %",
    ):
        assert said in text
    assert unique.by_field.tolist() == [100, 100]
    assert re.search(r"have 2, 1, 1 and 1 different illnesses: `l_diversity` is 1", text)
    assert l_diversity(EXAMPLE.codes, ILLNESS) == 1


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


def fine(weight: np.ndarray | None = None) -> KeyFile:
    """Return 400 records of two fine keys, each of 25 people; the weight may be a key."""
    rng = np.random.default_rng(8)
    columns = {"A": rng.integers(0, 40, 400, dtype=np.int32), "B": rng.integers(0, 40, 400, dtype=np.int32)}
    weights = np.full(400, 25.0)
    if weight is None:
        return KeyFile(("A", "B"), columns, True, weights=weights)
    return KeyFile(("A", "B", "W"), {**columns, "W": weight.astype(np.int32)}, True, "W", weights + weight / 1000)


def test_figures_take_the_larger_of_both_estimates() -> None:
    keys = fine()
    assert keys.modelled is not None
    assert keys.mean_risk == keys.modelled.mean > 1.2 * keys.risk.mean, "fine keys"
    assert keys.alone_in_population == max(keys.alone_by_weights, keys.modelled.tau1)
    assert EXAMPLE.modelled is not None
    assert EXAMPLE.mean_risk == EXAMPLE.risk.mean > EXAMPLE.modelled.mean, "coarse keys"
    figures = {one.figure.name: one.value for one in measure(OF_KEYS_ALONE, Assessed({}, {}, (), {}, keys=keys))}
    assert figures["global_risk"] == 100 * figures["individual_risk"] == 100 * keys.mean_risk
    assert figures["key_population_uniques"] == keys.alone_in_population


def test_a_weight_whose_values_few_records_share_is_no_key_of_the_model() -> None:
    alone = fine().modelled
    differing, nearly, shared = (fine(np.arange(400) % values) for values in (400, 41, 40))
    assert (differing.modelled_names, nearly.modelled_names) == (("A", "B"), ("A", "B"))
    assert shared.modelled_names == ("A", "B", "W"), "ten records have each value"
    assert alone is not None
    assert differing.modelled is not None
    assert differing.modelled.expected == pytest.approx(alone.expected, rel=0.05)
    told = KeyRisk.of(differing)
    assert (told.model_without, KeyRisk.of(shared).model_without) == ("W", None)
    assert KeyFile(("W",), {"W": np.arange(6, dtype=np.int32)}, True, "W", WEIGHT).modelled is None
