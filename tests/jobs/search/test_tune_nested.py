"""Candidates for nested files are what `mask` would do: whole households are alike, whatever grouping is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import masktron
from masktron.report.pages.tune_page import tune_page
from masktron.report.rendering import result_from
from nested_survey import ROLES, SPELL_ROLES, made
from paths import ROOT
from refusals import refused

HOW = {"roles": ROLES, "rare_units": "exclude", "max_observed_share": 100}


@pytest.mark.full
def test_no_candidate_groups_the_blocks_of_a_household_alone_and_mask_does_what_was_tried(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1, 30)
    asked = {"methods": ["mdav"], "k": [3, 4], "workers": 0}
    tuned = masktron.tune(data, rules, ask=asked, **HOW)
    assert [(one.k, one.grouping) for one in tuned.candidates] == [(3, "all"), (4, "all")]
    first = tuned.candidates[0]
    masked = masktron.mask(data, rules, tmp_path / "out.xml", k=3, grouping="rules", **HOW)
    loss = next(figure.value for figure in masked.figures if figure.name == "pil")
    assert first.figures["pil"] == pytest.approx(loss)
    assert [*first.levels] == ["Household", "Household/Person"]
    for level in masked.levels:
        assert first.levels[level.level] == pytest.approx({one.name: one.value for one in level.figures})
    schema = json.loads((ROOT / "schemas/tune.schema.json").read_text())
    Draft202012Validator(schema).validate(plain := json.loads(json.dumps(tuned.as_dict())))
    assert "Household/Person" in str(tuned)
    (section,) = [one for one in tune_page(result_from(plain, Path("x"))).sections if one.name == "levels"]
    assert [row[1] for row in section.parts[0].rows] == ["Household", "Household/Person"] * 2


def test_a_grouping_that_mask_does_not_have_for_households_is_refused(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1, 30)
    with refused(masktron.UsageError, "setting-not-usable", name="--grouping rules"):
        masktron.tune(data, rules, ask={"methods": ["mdav"], "groupings": ["rules", "all"], "workers": 0}, **HOW)


@pytest.mark.full
def test_units_that_few_are_composed_like_have_remedies_with_figures_of_both_levels(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 5, 40)
    with refused(masktron.InfeasibleError, "rare-units", unit="Household") as caught:
        masktron.mask(
            data, rules, tmp_path / "out.xml", k=8, roles=ROLES, max_observed_share=100, on_refusal="suggest"
        )
    found = caught.value.refusal
    assert found is not None
    exclude = next(one for one in found.remedies if one.settings == {"rare_units": "exclude"})
    assert exclude.state == "works", exclude.reason
    assert exclude.masked == 4  # Total, Wage, Benefit, Income, of whichever person
    assert [*exclude.levels] == ["Household", "Household/Person"]
    assert exclude.levels["Household"]["whole_record_k"] >= 8
    assert "Household/Person" in str(found)
    schema = json.loads((ROOT / "schemas/refusal.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(json.dumps(found.as_dict())))
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == []


def test_persons_with_spells_are_grouped_over_all_of_them_and_persons_alone_as_somebody_asks(tmp_path: Path) -> None:
    asked = {"methods": ["mdav"], "groupings": ["rules", "all"], "k": 3, "workers": 0}
    spells, alone = tmp_path / "spells", tmp_path / "alone"
    for folder in (spells, alone):
        folder.mkdir()
    how = {**HOW, "roles": ROLES | SPELL_ROLES, "protect": "Person"}
    with refused(masktron.UsageError, "setting-not-usable", name="--grouping rules"):
        masktron.tune(*made(spells, 2, 30, spells=True), ask=asked, **how)
    tuned = masktron.tune(*made(alone, 2, 30), ask=asked, **{**HOW, "protect": "Person"})
    assert "rules" in {one.grouping for one in tuned.candidates}
