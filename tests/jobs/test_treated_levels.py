"""Treatments of keys of households and of their persons: k of both, rules kept, and `check` of what was done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import masktron
from masktron.config import Config
from masktron.errors import InfeasibleError, UsageError
from masktron.jobs.key_treatments import run_keys
from nested_keys import HOUSEHOLD_KEYS, LEVELS, PERSON_KEYS, ROLES, Survey, made, read_tables, write_rules
from nested_tables import levels
from refusals import refused

AGES = "breaks:0,10,20,40,60"
LOST = ("old-child",)


class Files:
    """A survey in a folder, in XML and in two tables."""

    def __init__(self, folder: Path, survey: Survey) -> None:
        self.folder, self.survey = folder, survey
        self.tables, self.xml = survey.write_tables(folder), survey.write_xml(folder / "survey.xml")
        self.rules = write_rules(folder / "rules.sch")

    def settings(self, *, xml: bool, **given: Any) -> dict[str, Any]:
        own = {"@id": "identifier"} if xml else {"HID": "identifier", "PID": "untouched"}
        said = {} if xml else {"levels": levels(LEVELS, self.folder)}
        return {"k": 3, "rare_units": "exclude", **said, **given, "roles": {**ROLES, **own, **given.get("roles", {})}}

    def mask(self, *, xml: bool = False, **given: Any) -> masktron.MaskResult:
        data, out = (self.xml, "nested.xml") if xml else (self.tables, "out.csv")
        return masktron.mask(data, self.rules, self.folder / out, **self.settings(xml=xml, **given))

    def check(self, *, xml: bool = False, rules: Path | None = None) -> masktron.CheckResult:
        data, out = (self.xml, "nested.xml") if xml else (self.tables, "out.csv")
        return masktron.check(self.folder / out, rules or self.rules, original=data, manifest=self.manifest(xml=xml))

    def manifest(self, *, xml: bool = False) -> Path:
        return self.folder / ("nested.manifest.json" if xml else "out.manifest.json")

    def released(self) -> Survey:
        return read_tables(self.folder / "out.csv", self.folder / "out.Person.csv")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("levels"), made(1, 150))


@pytest.mark.parametrize("xml", [True, False])
def test_recoding_translates_rules_of_one_level_and_loses_those_across(files: Files, xml: bool) -> None:
    result = files.mask(xml=xml, recode={"Age": AGES}, allow_lost=LOST)
    fates = {one.rule: one.fate for one in result.fates}
    assert fates == {
        "old-child": "lost", "age": "vacuous", "child-income": "weakened", "alone": "weakened",
        "head-age": "weakened", "far": "vacuous",
    }  # fmt: skip
    assert result.valid
    assert "../Size &gt; 1" in result.rulebook
    for rules in (None, files.folder / ("nested.rules.sch" if xml else "out.rules.sch")):
        found = files.check(xml=xml, rules=rules)
        assert found.complies, found.problems
    if not xml:
        assert {*files.released().persons["Age"]} <= {"0-9", "10-19", "20-39", "40-59", "60+"}
        assert files.released().households["Region"].isin(["N", "S", "W"]).all()


def test_a_rule_across_levels_is_not_lost_unless_somebody_says_so(files: Files) -> None:
    with refused(InfeasibleError, "rule-lost", rules=("old-child",), fields=("Age",)):
        files.mask(recode={"Age": AGES})
    with refused(InfeasibleError, "rule-lost", rules=("size",), fields=("Size",)):
        files.mask(recode={"Size": "breaks:1,2"})


@pytest.mark.parametrize("xml", [True, False])
def test_k_households_and_k_persons_share_their_keys(files: Files, xml: bool) -> None:
    result = files.mask(xml=xml, recode={"Age": AGES}, allow_lost=LOST, key_k=3)
    found = files.check(xml=xml)
    assert result.valid
    assert found.complies, found.problems
    assert [one for one in found.checked if "share each combination" in str(one)]
    if not xml:
        released = files.released()
        assert released.smallest(HOUSEHOLD_KEYS, persons=False) >= 3
        assert released.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) >= 3
        assert files.survey.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) < 3
        assert (released.persons["Age"] == "").any()


def test_a_suppressed_region_is_missing_for_all_persons_of_the_household(tmp_path: Path) -> None:
    files = Files(tmp_path, made(2, 60, regions="N" * 30 + "W"))
    files.mask(recode={"Age": "breaks:0,40"}, allow_lost=LOST, key_k=3)
    released = files.released()
    assert (released.households["Region"] == "").any()
    assert released.smallest(HOUSEHOLD_KEYS, persons=False) >= 3
    assert released.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) >= 3
    assert files.check().complies


def test_check_counts_the_keys_of_persons(files: Files, tmp_path: Path) -> None:
    files.mask(recode={"Age": AGES}, allow_lost=LOST, key_k=3)
    own = Files(tmp_path, files.survey)
    for name in ("out.csv", "out.Person.csv", "out.manifest.json"):
        (tmp_path / name).write_bytes((files.folder / name).read_bytes())
    persons = own.released().persons
    shared = own.released().joined.groupby([*PERSON_KEYS, *HOUSEHOLD_KEYS])["Age"].transform("size")
    at = int((shared == 3).to_numpy().argmax())
    persons.loc[at, "Sex"] = "m" if persons.loc[at, "Sex"] != "m" else "f"
    persons.to_csv(tmp_path / "out.Person.csv", index=False)
    found = own.check()
    assert [one for one in found.problems if "share their combination with fewer than 3" in str(one)]


def test_check_misses_the_suppression_of_a_level_that_a_manifest_does_not_name(files: Files, tmp_path: Path) -> None:
    files.mask(recode={"Age": AGES}, allow_lost=LOST, key_k=3)
    own = Files(tmp_path, files.survey)
    for name in ("out.csv", "out.Person.csv"):
        (tmp_path / name).write_bytes((files.folder / name).read_bytes())
    said = json.loads(files.manifest().read_text())
    steps = [one for one in said["treatments"] if one["kind"] != "suppression" or "Age" in one["fields"]]
    assert len(steps) == len(said["treatments"]) - 1
    own.manifest().write_text(json.dumps({**said, "treatments": steps}))
    told = "nothing says that k records of Household share their keys"
    assert [one for one in own.check().problems if str(one).startswith(told)]


@pytest.mark.parametrize("xml", [True, False])
def test_draws_and_swaps_of_each_level_are_checked(files: Files, xml: bool) -> None:
    swap = {"regions": ["Region"], "similar": ["Size"], "rate": 0.2, "k": 3}
    result = files.mask(xml=xml, recode={"Age": AGES}, allow_lost=LOST, pram={"Sex": "change:0.2"}, swap=swap)
    found = files.check(xml=xml)
    assert [one.kind for one in result.treatments] == ["recoding", "pram", "swapping"]
    assert found.complies, found.problems
    assert [one for one in found.checked if "drawn anew" in str(one)]
    assert [one for one in found.checked if "swapped in" in str(one)]
    if not xml:
        moved = files.released().households
        assert sorted(moved["Region"]) == sorted(files.survey.households["Region"])


def test_check_finds_households_that_were_not_swapped(files: Files, tmp_path: Path) -> None:
    files.mask(swap={"regions": ["Region"], "similar": ["Size"], "rate": 0.2, "k": 3})
    own = Files(tmp_path, files.survey)
    for name in ("out.csv", "out.Person.csv", "out.manifest.json"):
        (tmp_path / name).write_bytes((files.folder / name).read_bytes())
    households = own.released().households
    households["Region"] = households["Region"].to_numpy()[::-1]
    households.to_csv(tmp_path / "out.csv", index=False)
    assert [one for one in own.check().problems if "swapped" in str(one)]


def test_keys_measures_what_treatments_would_come_to(files: Files) -> None:
    settings = files.settings(xml=False, recode={"Age": AGES}, allow_lost=LOST, key_k=3)
    found = run_keys(files.tables, files.rules, config=Config(**settings))
    assert [one.kind for one in found.treatments] == ["recoding", *["suppression"] * len(found.treatments[1:])]
    assert found.problem is None


def test_the_same_treatments_are_repeated_on_the_next_file(files: Files, tmp_path: Path) -> None:
    files.mask(recode={"Age": AGES}, allow_lost=LOST, key_k=3)
    described = json.loads(files.manifest().read_text(encoding="utf-8"))
    assert [one["field"] for one in described["treatments"] if one["kind"] == "recoding"] == ["Age"]
    following = Files(tmp_path, made(5, 150))
    result = masktron.rerun(
        files.manifest(), following.tables, tmp_path / "next.csv",
        tables={"Person": tmp_path / "persons.csv"}, rules=following.rules,
    )  # fmt: skip
    released = read_tables(tmp_path / "next.csv", tmp_path / "next.Person.csv")
    assert result.changes == ()
    assert released.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) >= 3


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"recode": {"Age": AGES}, "protect": "Person", "roles": {"Total": "untouched"}}, "setting-not-usable"),
        ({"pram": {"Sex": "change:0.2,household:PID"}}, "field-not-usable"),
        ({"pram": {"Region": "change:0.2,within:Sex"}}, "field-not-usable"),
        ({"swap": {"regions": ["Region"], "keys": ["Sex"]}}, "field-not-usable"),
        ({"pram": {"Region+Sex": "change:0.2"}}, "field-not-usable"),
    ],
)
def test_what_goes_across_levels_is_refused(files: Files, given: dict[str, Any], code: str) -> None:
    with refused(UsageError, code):
        files.mask(**given)


def test_a_secret_repeats_draws_of_all_levels(tmp_path: Path) -> None:
    files = Files(tmp_path, made(3, 60))
    swap = {"regions": ["Region"], "similar": ["Size"], "rate": 0.2, "least_regions": 1}
    steps: dict[str, Any] = {"recode": {"Age": "breaks:0,40"}, "pram": {"Sex": "change:0.2"}, "swap": swap}
    made_twice = []
    for _ in range(2):
        files.mask(allow_lost=LOST, secret=bytes(range(32)), **steps, key_k=2)
        made_twice.append([(tmp_path / name).read_bytes() for name in ("out.csv", "out.Person.csv")])
    assert made_twice[0] == made_twice[1]


def test_a_field_that_another_level_has_too_is_not_treated(tmp_path: Path) -> None:
    survey = made(4, 40)
    files = Files(tmp_path, Survey(survey.households.assign(Sex="x"), survey.persons))
    settings = files.settings(xml=False, pram={"Person/Sex": "change:0.2"})
    del settings["roles"]["Sex"]
    settings["roles"]["Household/Sex"] = "untouched"
    with refused(UsageError, "field-not-usable", field="Person/Sex"):
        masktron.mask(files.tables, files.rules, tmp_path / "out.csv", **settings)


def test_a_household_that_breaks_a_rule_is_left_out_of_treatments(tmp_path: Path) -> None:
    survey = made(6, 90)
    survey.households.loc[4, "Total"] = "1"
    files = Files(tmp_path, survey)
    result = files.mask(recode={"Age": "breaks:0,40"}, allow_lost=LOST, key_k=3, invalid="exclude")
    assert result.excluded == (4,)
    assert files.check().complies
    assert files.released().smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) >= 3


def test_a_rule_that_passes_elements_without_a_name_is_kept(tmp_path: Path) -> None:
    files = Files(tmp_path, made(7, 60))
    text = files.rules.read_text(encoding="utf-8")
    more = (
        '<pattern><rule context="Household"><assert id="once" test="not(@id = preceding-sibling::*/@id)">o</assert>'
    )
    files.rules.write_text(text.replace("</schema>", f"{more}</rule></pattern></schema>"), encoding="utf-8")
    result = files.mask(xml=True, recode={"Age": AGES}, allow_lost=LOST, roles={"@id": "untouched"})
    assert "once" not in {one.rule for one in result.fates}


@pytest.mark.parametrize("level", ["Household", "Person"])
def test_a_recoded_weight_is_a_key_of_its_level_and_of_those_in_it(tmp_path: Path, level: str) -> None:
    survey = made(1, 150)
    table = survey.households if level == "Household" else survey.persons
    table["W"] = [("1.5", "2.5", "8", "9")[at * 7 % 4] for at in range(len(table))]
    files = Files(tmp_path, survey)
    recode = {"Age": "breaks:0,40", "W": "breaks:0,5:mean"}
    files.mask(recode=recode, allow_lost=LOST, key_k=3, roles={"W": "weight"})
    released = files.released()
    of_households = [*HOUSEHOLD_KEYS, *(["W"] if level == "Household" else [])]
    assert released.smallest(of_households, persons=False) >= 3
    assert released.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS, "W"], persons=True) >= 3
    assert (released.joined["W"] != "").all(), "a weight is never left out"
    found = files.check()
    assert found.complies, found.problems


def test_what_members_share_is_drawn_once_for_each_household(tmp_path: Path) -> None:
    survey = made(3, 200)
    language = {str(number): "aaaabbbbc"[number * 7 % 9] for number in range(1, 201)}
    survey.persons["Language"] = [language[number] for number in survey.persons["HID"]]
    files = Files(tmp_path, survey)
    files.mask(pram={"Language": "change:0.3,household:HID"}, roles={"Language": "quasi-identifier"}, order="keep")
    drawn = files.released().persons.groupby("HID")["Language"].agg(["nunique", "first"])
    assert (drawn["nunique"] == 1).all()
    changed = [language[number] != own for number, own in drawn["first"].items()]
    assert 20 < sum(changed) < 90
    found = files.check()
    assert found.complies, found.problems
    with refused(UsageError, "field-not-usable", field="PID"):
        files.mask(pram={"Language": "change:0.3,household:PID"}, roles={"Language": "quasi-identifier"})


def test_cells_that_other_members_of_the_household_give_away_are_told(tmp_path: Path) -> None:
    survey = made(3, 200)
    language = {str(number): "aaaabbbbc"[number * 7 % 9] for number in range(1, 201)}
    survey.persons["Language"] = [language[number] for number in survey.persons["HID"]]
    files = Files(tmp_path, survey)
    roles = {"Language": "quasi-identifier"}
    result = files.mask(recode={"Age": AGES}, allow_lost=LOST, key_k=3, roles=roles)
    released = files.released().joined
    gone = released[released["Language"] == ""]
    shown = {(row.HID, row.PID): row.Language for row in released.itertuples() if row.Language}
    back = [row for row in gone.itertuples() if any(number == row.HID for number, _ in shown)]
    assert len(back) > 5
    found = [one for one in result.concerns if one.kind == "read-off-key" and "Language" in one.field]
    assert found
    assert sum(one.records for one in found) >= 0.8 * len(back)
