"""Nested files, masked: households whole, every rule on and across levels kept, counted by a judge of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import masktron
from nested_survey import (
    ROLES,
    SPELL_ROLES,
    broken,
    composition,
    least_alike,
    made,
    masked_values,
    parsed,
    unmasked_values,
)


def mask(data: Path, rules: Path, out: Path, *, spells: bool = False, **settings: Any) -> masktron.MaskResult:
    roles = ROLES | (SPELL_ROLES if spells else {})
    return masktron.mask(data, rules, out, **{"roles": roles, "k": 3, "key": bytes(range(16, 48)), **settings})


@pytest.mark.parametrize(("seed", "spells", "gaps"), [(1, False, 0.0), (2, False, 0.1), (3, True, 0.0)])
def test_households_are_masked_whole(seed: int, spells: bool, gaps: float, tmp_path: Path) -> None:
    data, rules = made(tmp_path, seed, spells=spells, gaps=gaps)
    out = tmp_path / "released.xml"
    result = mask(data, rules, out, spells=spells, rare_units="exclude", max_observed_share=100)
    before, after = parsed(data), parsed(out)
    assert broken(before) == []
    assert broken(after) == []
    assert least_alike(after) >= 3
    assert all(
        engine.violations == 0 and engine.agrees for engine in result.engines if "pyschematron" not in engine.engine
    )
    order = json.loads((tmp_path / "released.manifest.json").read_text(encoding="utf-8"))["order"]
    kept = [unit for at, unit in enumerate(before) if at not in result.excluded]
    assert len(after) == len(kept) >= len(before) - 10
    for position, unit in enumerate(after):
        origin = kept[order[position]]
        assert (composition(unit), unmasked_values(unit)) == (composition(origin), unmasked_values(origin))
        assert unit.get("id") is None
    assert (
        sum(masked_values(unit) == masked_values(kept[order[at]]) for at, unit in enumerate(after)) < len(after) / 2
    )
    checked = masktron.check(out, rules, manifest=tmp_path / "released.manifest.json", original=data)
    assert list(checked.problems) == [], checked.problems
    assert checked.min_group is not None
    assert checked.min_group >= 3


def test_rules_are_named_as_they_are_written(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 4)
    result = mask(data, rules, tmp_path / "r.xml", rare_units="exclude", max_observed_share=100)
    assert [rule.id for rule in result.rules] == [
        "size", "total", "head", "income", "wage", "benefit", "child-wage", "older",
    ]  # fmt: skip
    persons = sum(len(unit.findall("Person")) for unit in parsed(tmp_path / "r.xml"))
    assert {rule.fired for rule in result.rules} == {result.records_out, persons}


def test_a_file_in_which_one_person_was_changed_does_not_comply(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 5)
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    mask(data, rules, out, rare_units="exclude", max_observed_share=100)
    text = out.read_text(encoding="utf-8")
    out.write_text(text.replace("<Role>spouse</Role>", "<Role>other</Role>", 1), encoding="utf-8")
    found = masktron.check(out, rules, manifest=manifest, original=data)
    assert any(
        "Role of the second Person differs from the original in 1 record" in problem for problem in found.problems
    )


def test_units_of_a_rare_composition_are_refused_by_name(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 6)
    text = data.read_text(encoding="utf-8")
    many = "".join(f"<Person><Role>{role}</Role><Age>40</Age></Person>" for role in ["head"] + ["other"] * 6)
    lonely = f'<Household id="x"><Size>7</Size><Region>N</Region><Total>0</Total>{many}</Household>'
    data.write_text(text.replace("</Survey>", f"{lonely}</Survey>"), encoding="utf-8")
    with pytest.raises(
        masktron.InfeasibleError, match=r"1 Household cannot be alike .* 7 Person \(1 Household\)"
    ) as told:
        mask(data, rules, tmp_path / "r.xml", max_observed_share=100)
    assert "rare_units" in str(told.value)
    assert not (tmp_path / "r.xml").exists()
    result = mask(data, rules, tmp_path / "r.xml", rare_units="exclude", max_observed_share=100)
    assert 60 in result.excluded
    assert any("7 Person (1 Household)" in note for note in result.notes)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"roles": {**ROLES, "Agee": "untouched"}}, "Agee"),
        ({"recode": {"Age": "width:5"}}, "keys of nested files are not treated yet"),
        ({"key_k": 3}, "keys of nested files are not treated yet"),
    ],
)
def test_what_cannot_be_done_is_refused(settings: dict[str, Any], told: str, tmp_path: Path) -> None:
    data, rules = made(tmp_path, 7)
    with pytest.raises(masktron.UsageError, match=told):
        mask(data, rules, tmp_path / "r.xml", **settings)
    assert not (tmp_path / "r.xml").exists()


def test_an_original_that_breaks_a_rule_across_levels_is_refused(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 8)
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace("<Size>2</Size>", "<Size>9</Size>", 1), encoding="utf-8")
    with pytest.raises(masktron.ViolationError, match="size"):
        mask(data, rules, tmp_path / "r.xml")
    result = mask(data, rules, tmp_path / "r.xml", invalid="exclude", rare_units="exclude", max_observed_share=100)
    assert broken(parsed(tmp_path / "r.xml")) == []
    assert len(result.excluded) >= 1
