"""Parts of a manifest come back as they were written; what contradicts itself is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from masktron.contracts import PartitionedSynthesis
from masktron.perturbation_settings import PramSettings, SwapSettings
from masktron.recodings import IntervalRecoding, Tails
from masktron.sources.wide.wide_record import SumOfMembers
from masktron.step_kinds import (
    Postrandomised,
    Recoded,
    Reweighted,
    SharedKeys,
    Swapped,
    Treatment,
    treatments_from,
)
from masktron.write.declared import Declared, declared_from
from masktron.write.manifest import require_asked_for
from masktron.write.nested_release import NestedRelease, ReleasedField

DECLARED = Declared("ipso", PartitionedSynthesis(3), ("A",), (0, 0, 0), 2, {"A": 0.5}, {"A": ()})
NESTED = NestedRelease(
    weights={("H",): "W"},
    protect=("H",),
    sums=(SumOfMembers(("H",), "T", "A", "R1"),),
    removed={("H", "P"): frozenset({"NAME"})},
    fields=(ReleasedField("H/P", "A", ("A.1", "A.2"), numbered=True),),
)
DRAWN = Postrandomised(("S",), PramSettings(change=0.1), (), (), None, ())
MATRIX = Postrandomised(("S",), PramSettings(), ("a", "b"), ((0.5, 0.5), (0.0, 1.0)), "W", ("R1",))
SPREAD = Reweighted("W", ("R",), {("n",): Fraction(3, 2)}, 2)
CLASSES = Recoded(
    IntervalRecoding("AGE", tuple(map(Fraction, (0, 20, 40))), ("0-19", "20-39", "40+")), "breaks:0,20,40"
)
SWAPPED = Swapped(SwapSettings(regions=("R",), keys=("K",)), 4, ())
TAILS = Recoded(Tails("AGE", None, "", Fraction(80), "85"), "top:80")


def plain(part: Any) -> Any:
    return json.loads(json.dumps(part.as_dict()))


@pytest.mark.parametrize(
    "change",
    [
        *({"method": 3}, {"groups": [1, True]}, {"settled": {"A": -1}}, {"settled": {"A": float("nan")}}),
        *({"groups": None}, {"settled": {"B": 0.5}}, {"marked": {"B": []}}),
    ],
    ids="-".join,
)
def test_nonsense_in_what_was_declared_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        declared_from(plain(DECLARED) | change, ("A", "B"))


def test_how_nested_records_were_read_comes_back() -> None:
    assert NestedRelease.from_plain(plain(NESTED)) == NESTED


@pytest.mark.parametrize(
    "content",
    [plain(NESTED) | {"weights": {}}, plain(NESTED) | {"weights": [{"level": "H", "field": 3}]}, [], None],
    ids=["weights", "field", "list", "nothing"],
)
def test_nonsense_in_how_nested_records_were_read_is_refused(content: Any) -> None:
    with pytest.raises(TypeError):
        NestedRelease.from_plain(content)


@pytest.mark.parametrize("treatment", [DRAWN, MATRIX, SPREAD, TAILS, CLASSES, SWAPPED], ids=repr)
def test_a_treatment_comes_back(treatment: Treatment) -> None:
    assert treatments_from([plain(treatment)]) == (treatment,)


@pytest.mark.parametrize(
    ("treatment", "change"),
    [
        (MATRIX, {"fields": []}),
        (MATRIX, {"change": 0.1}),
        (MATRIX, {"values": ["a"]}),
        (DRAWN, {"change": None}),
        (SPREAD, {"within": [], "factors": []}),
        (SPREAD, {"decimals": 41}),
        (SPREAD, {"decimals": -1}),
        *((SWAPPED, {name: -1}) for name in ("k", "least_regions", "pairs", "required")),
        (SWAPPED, {"regions": []}),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, dict) else part.kind,
)
def test_a_treatment_that_does_not_say_how_is_refused(treatment: Treatment, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not said how"):
        treatments_from([plain(treatment) | change])


def test_weights_are_spread_as_the_settings_ask() -> None:
    require_asked_for([SPREAD], {"reweight": ["R"]})
    for asked in ({"reweight": ["R", "S"]}, {}):
        with pytest.raises(ValueError, match="'reweight' of its 'config'"):
            require_asked_for([SPREAD], asked)


@pytest.mark.parametrize(
    "change", [{"breaks": ["0", "20", "20"]}, {"breaks": ["20", "0", "40"]}, {"labels": ["0-19"]}]
)
def test_breaks_that_do_not_rise_and_other_labels_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not rising"):
        treatments_from([plain(CLASSES) | change])


@pytest.mark.parametrize(("subsets", "keys"), [(None, "all keys"), (2, "any 2 keys")])
def test_a_promise_says_of_which_keys_it_is(subsets: int | None, keys: str) -> None:
    assert f"combination of {keys} as written" in SharedKeys(3, subsets).says
