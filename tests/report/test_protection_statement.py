"""How well a masked file protects: which evidence makes it red, amber or green, and what is said of it."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest

from masktron.measures.keys.key_file import KeyFile
from masktron.report.protection import PUBLIC_REASONS, RED_LINKAGE, Evidence, protection
from masktron.results import KeyRisk
from masktron.results.verdict import Ground, Statement

LOW = {"strongest_linkage": 12.0, "linkage": 8.0, "unchanged": 10.0, "sole_values": 3.0}
LIMIT = {"strongest_linkage": 20.0}


def keys(codes: list[int], *, weight: list[int] | None = None) -> KeyRisk:
    columns = {"AREA": np.array(codes, dtype=np.int32)}
    if weight is not None:
        columns["W"] = np.array(weight, dtype=np.int32)
    return KeyRisk.of(KeyFile(tuple(columns), columns, True, None if weight is None else "W", None))


def judged(figures: dict[str, float] = LOW, limits: dict[str, float] = LIMIT, **more: Any) -> Statement:
    return protection(Evidence(figures, limits, **more))


def test_green_needs_a_limit_that_is_met() -> None:
    found = judged()
    assert (found.level, found.ground) == ("green", "limits-met")
    assert found.reason == "Every limit is met: strongest_linkage 12 (limit 20)."
    assert found.figures == LOW
    for limits in ({}, {"pil": 90.0}):  # a limit on loss says nothing of risk
        found = judged({**LOW, "pil": 3.0}, limits)
        assert (found.level, found.ground) == ("amber", "no-limit")
        assert found.reason.startswith("No limit is set on a figure of risk. An intruder who knows all unmasked")
    assert judged({"linkage": 8.0}).ground == "not-measured"


@pytest.mark.parametrize("missing", ["strongest_linkage linkage", "unchanged", "sole_values"])
def test_what_was_not_measured_is_never_green(missing: str) -> None:
    figures = {name: value for name, value in LOW.items() if name not in missing.split()}
    found = judged(figures, {"revealed": 5.0, "sole_values": 10.0}, keys=None)
    assert (found.level, found.ground) == ("amber", "not-measured")
    assert judged({**figures, "revealed": 1.0}, {"revealed": 5.0}).level == "amber"
    whole = {**LOW, "revealed": 1.0}
    assert judged(whole, {"revealed": 5.0}).level == "green"
    strongest = {name: value for name, value in whole.items() if name != "linkage"}
    assert judged(strongest, {"revealed": 5.0}).level == "green"
    unlinked = {**whole, "linkage": math.nan, "strongest_linkage": math.nan}
    assert judged(unlinked, {"revealed": 5.0}).level == "green", "no number is masked"


def test_a_missed_limit_is_red() -> None:
    found = judged(limits={"strongest_linkage": 11.0, "unchanged": 50.0})
    assert (found.level, found.ground) == ("red", "limit-missed")
    assert found.reason == "strongest_linkage is 12; the limit is 11."


def test_keys_below_the_k_that_was_asked_for_are_red() -> None:
    """Three records of each area, told apart by the weight alone."""
    found = judged(keys=keys([0, 0, 0, 1, 1, 1], weight=[*range(6)]), key_k=3)
    assert (found.level, found.ground) == ("red", "keys-below-k")
    assert found.reason.startswith(
        "At least 3 records share each combination of AREA (k = 3 was asked), but the weight 'W' tells them apart: "
        "with it, k is 1. Write it in classes"
    )
    assert found.figures["key_k"] == 1
    assert judged(keys=keys([0, 0, 0, 1, 1, 1]), key_k=3).level == "green"
    found = judged(keys=keys([0, 0, 1, 1]), key_k=3)
    assert found.reason == "k = 3 was asked for the keys AREA, and 2 was reached."


def test_linkage_and_unique_records_are_red_without_a_limit_on_them() -> None:
    """Linkage of 94.9 % and 1,693 unique records of 2,000 were green."""
    found = judged({"linkage": 94.9}, {}, keys=keys([*range(1693), *[1693] * 307]))
    assert found.level == "red"
    assert found.reason == (
        "An intruder who knows the true values would re-identify 94.9 % of the records. 1,693 of 2000 records "
        "are unique in the keys AREA."
    )
    assert RED_LINKAGE == 50, "most picks of the intruder are right"
    assert judged({"linkage": RED_LINKAGE - 0.1}, {}).level == "amber"
    assert judged({"linkage": 8.0, "strongest_linkage": RED_LINKAGE}, {}).level == "red"
    accepted = judged({"strongest_linkage": 94.9}, {"strongest_linkage": 95.0})
    assert (accepted.level, accepted.ground) == ("amber", "linkage")
    weaker = judged({"linkage": 8.0, "strongest_linkage": 94.9}, {"linkage": 20.0})
    assert weaker.level == "red", "a limit on a weaker intruder admits nothing"
    few = keys([0, *[1] * 9])
    assert judged(keys=few).reason == "1 of 10 records is unique in the keys AREA."
    assert judged({**LOW, "key_uniques": 1}, {**LIMIT, "key_uniques": 1.0}, keys=few).level == "green"
    half = keys([*range(5), *[5] * 5])
    assert judged(keys=half).level == "red"
    trivial = judged({**LOW, "key_k": 1}, {**LIMIT, "key_k": 1.0}, keys=half)
    assert (trivial.level, trivial.ground) == ("amber", "key-uniques"), "a limit that all files meet"
    assert judged(keys=keys([*range(4), *[5] * 6])).level == "amber"


@pytest.mark.parametrize(
    ("more", "level", "ground"),
    [
        ({"figures": {**LOW, "unchanged": 100.0}}, "red", "nothing-masked"),
        ({"figures": {**LOW, "unchanged": 62.0}}, "amber", "own-values"),
        ({"concerns": ("ID tells every record from all others",)}, "amber", "concern"),
        ({"problems": ("the file is another one", "a group is too small")}, "red", "contract"),
        ({"figures": {**LOW, "sole_values": 33.5}}, "amber", "own-values"),
        ({"figures": {**LOW, "revealed": 60.0}}, "amber", "own-values"),
        ({"figures": {**LOW, "differencing": 0.3}}, "amber", "own-values"),
        ({"figures": {**LOW, "sole_values": 33.5}, "limits": {**LIMIT, "sole_values": 40.0}}, "green", "limits-met"),
        ({"figures": {**LOW, "unchanged": 62.0}, "limits": {**LIMIT, "unchanged": 70.0}}, "green", "limits-met"),
    ],
)  # fmt: skip
def test_other_evidence(more: dict[str, Any], level: str, ground: str) -> None:
    found = judged(**more)
    assert (found.level, found.ground) == (level, ground)


def test_whoever_gets_the_file_is_told_no_figure() -> None:
    assert {*PUBLIC_REASONS} == {*get_args(Ground.__value__)} - {"rules"}
    assert not any(letter.isdigit() for said in PUBLIC_REASONS.values() for letter in said)
