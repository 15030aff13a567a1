"""A record whose weight breaks a rule is left out before weights are required; one that stays needs a weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.errors import DocumentError, MasktronError

RULES = ("A + B = T", "W > 0", "T >= 0")


def survey(tmp_path: Path, weights: dict[int, object], *, rules: tuple[str, ...] = RULES) -> tuple[Path, Path]:
    rows = [{**row, "AGE": 20 + at % 40, "W": weights.get(at, 2.5 + at % 3)} for at, row in enumerate(numbers())]
    return write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *rules)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"recode": {"AGE": "bottom:30,top:50", "W": "breaks:0,3:mean"}, "key_k": 3},
        {"recode": {"AGE": "breaks:0,40:mean"}},
        {"unit_records": 60},
    ],
    ids=["plain", "recoded weight", "tails by weight", "units"],
)
def test_a_record_is_left_out_whose_weight_breaks_a_rule(tmp_path: Path, more: dict[str, Any]) -> None:
    data, rules = survey(tmp_path, {5: 0, 9: -1, 11: None}, rules=(*RULES[:1], "W > 0 and W", RULES[2]))
    roles = {"AGE": "quasi-identifier", "W": "weight"}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles, invalid="exclude", **more)
    assert (result.records_in, result.records_out) == (40, 37)
    checked = masktron.check(tmp_path / "m.xml", rules, original=data, manifest=tmp_path / "m.manifest.json")
    assert checked.complies, checked.problems


def test_what_stops_is_the_rule_first_and_the_weight_of_a_record_that_stays(tmp_path: Path) -> None:
    roles = {"AGE": "quasi-identifier", "W": "weight"}
    data, rules = survey(tmp_path, {5: 0})
    with pytest.raises(MasktronError, match="1 of 40 original records break an edit"):
        masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles)
    data, rules = survey(tmp_path, {5: 0, 7: 0}, rules=("A + B = T", "W > 0 or A != B + 100000", "T >= 0"))
    with pytest.raises(DocumentError, match="the weight 'W' of record 6 is not a positive number"):
        masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles, invalid="exclude")
