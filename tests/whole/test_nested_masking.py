"""Nested files, masked: households whole, every rule on and across levels kept, counted by a judge of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import masktron
from examples import parts
from nested_runs import METHODS, nested_run
from nested_survey import (
    ROLES,
    SPELL_ROLES,
    broken,
    composition,
    least_alike,
    least_alone_alike,
    least_persons_alike,
    made,
    masked_values,
    parsed,
    unmasked_values,
)
from refusals import refused


def mask(data: Path, rules: Path, out: Path, *, spells: bool = False, **settings: Any) -> masktron.MaskResult:
    roles = ROLES | (SPELL_ROLES if spells else {})
    return masktron.mask(data, rules, out, **{"roles": roles, "k": 3, "secret": bytes(range(16, 48)), **settings})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("seed", "spells", "gaps", "mixed"),
    [(1, False, 0.0, False), (2, False, 0.1, True), (3, True, 0.0, True)],
)
def test_households_are_masked_whole(seed: int, spells: bool, gaps: float, mixed: bool, tmp_path: Path) -> None:
    data, rules = made(tmp_path, seed, spells=spells, gaps=gaps, mixed=mixed)
    out = tmp_path / "released.xml"
    result = mask(data, rules, out, spells=spells, rare_units="exclude", max_observed_share=100)
    before, after = parsed(data), parsed(out)
    assert broken(before) == []
    assert broken(after) == []
    assert least_alike(after) >= 3
    assert all(engine.violations == 0 and engine.agrees for engine in result.engines)
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
    counted = "the first, second or third Person is that in the order of Role, Age, then in that of the file"
    assert counted in found.notes
    out.write_text(text, encoding="utf-8")
    assert counted not in masktron.check(out, rules, manifest=manifest, original=data).notes


@pytest.mark.few(1)
@pytest.mark.parametrize("protect", [None, "Person"])
def test_what_the_original_does_not_have_is_no_part_of_its_release(protect: str | None, tmp_path: Path) -> None:
    data, rules = made(tmp_path, 5)
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    mask(data, rules, out, rare_units="exclude", max_observed_share=100, protect=protect)
    text = out.read_text(encoding="utf-8")
    for old, new, told in (
        ("<Household>", "<Household><Phone>1</Phone>", "the field Phone of Household is not in the original"),
        ("<Household>", '<Household id="h7">', "the identifier @id was to be removed and is in the file"),
        ("<Person>", '<Person pin="1">', "the field @pin of Household/Person is not in the original"),
        ("</Person>", "<Job><Pay>1</Pay></Job></Person>", "the level Household/Person/Job is not in the original"),
        ("<Survey>", '<Survey key="1">', "the attributes of the root element are not those of the original"),
    ):
        out.write_text(text.replace(old, new, 1), encoding="utf-8")
        found = masktron.check(out, rules, manifest=manifest, original=data)
        assert told in found.problems, found.problems


@pytest.mark.full
def test_units_of_a_rare_composition_are_refused_by_name(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 6)
    text = data.read_text(encoding="utf-8")
    many = "".join(f"<Person><Role>{role}</Role><Age>40</Age></Person>" for role in ["head"] + ["other"] * 6)
    lonely = f'<Household id="x"><Size>7</Size><Region>N</Region><Total>0</Total>{many}</Household>'
    data.write_text(text.replace("</Survey>", f"{lonely}</Survey>"), encoding="utf-8")
    with refused(masktron.InfeasibleError, "rare-units") as told:
        mask(data, rules, tmp_path / "r.xml", max_observed_share=100)
    assert "7 Person (1 Household: number 61 in line 62)" in told.value.what
    assert "lower k" not in str(told.value)  # one stands alone
    assert not (tmp_path / "r.xml").exists()
    result = mask(data, rules, tmp_path / "r.xml", rare_units="exclude", max_observed_share=100)
    assert 60 in result.excluded
    assert any("7 Person (1 Household: number 61 in line 62)" in note for note in result.notes)


@pytest.mark.full
def test_what_is_proposed_for_rare_units_lets_them_be_masked(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 6)
    text = data.read_text(encoding="utf-8")
    rare = ""
    for persons, households in ((7, 3), (8, 4)):
        many = "".join(
            f"<Person><Role>{role}</Role><Age>40</Age></Person>" for role in ["head"] + ["other"] * (persons - 1)
        )
        one = f"<Size>{persons}</Size><Region>N</Region><Total>0</Total>{many}</Household>"
        rare += "".join(f'<Household id="x{persons}{at}">{one}' for at in range(households))
    data.write_text(text.replace("</Survey>", f"{rare}</Survey>"), encoding="utf-8")
    with pytest.raises(masktron.InfeasibleError) as told:
        mask(data, rules, tmp_path / "r.xml", k=5, max_observed_share=100)
    assert "or lower k to 3: k=3" in told.value.hint
    assert 'such as rare_units="exclude" or k=3' in told.value.hint
    assert [fact.kind for fact in told.value.facts] == ["rare-units"]
    assert len(mask(data, rules, tmp_path / "r.xml", k=3, max_observed_share=100).excluded) == 0
    left = mask(data, rules, tmp_path / "s.xml", k=5, rare_units="exclude", max_observed_share=100)
    assert {*range(60, 67)} <= {*left.excluded}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("settings", "code", "named"),
    [
        ({"roles": {**ROLES, "Agee": "untouched"}}, "unknown-name", {"name": "Agee"}),
        ({"recode": {"Age": "width:5"}}, "setting-not-usable", {"name": ("--recode",)}),
        ({"key_k": 3}, "setting-not-usable", {"name": ("--key-k",)}),
        ({"member_order": ["Wage"]}, "role-does-not-fit", {"field": "Wage"}),
        ({"member_order": ["Rolle"]}, "unknown-name", {"name": "Rolle"}),
        ({"member_order": "Region"}, "field-not-usable", {"field": "Region"}),
    ],
)
def test_what_cannot_be_done_is_refused(
    settings: dict[str, Any], code: str, named: dict[str, Any], tmp_path: Path
) -> None:
    data, rules = made(tmp_path, 7)
    with refused(masktron.UsageError, code, **named):
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


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("more", "order", "told"),
    [
        ("", None, "Person: members of different units are put side by side by Role, Age"),
        ("", "file", "Person: members of different units are put side by side in the order of the file"),
        ("", ["Age"], "Person: members of different units are put side by side by Age"),
        (
            '<assert id="first" test="not(Person[1]/Wage &lt; 0)">No debts.</assert>',
            None,
            "in the order of the file, of which first speaks",
        ),
    ],
)
def test_members_are_put_side_by_side_in_an_order(more: str, order: Any, told: str, tmp_path: Path) -> None:
    data, rules = made(tmp_path, 9, mixed=True)
    rules.write_text(rules.read_text().replace('<assert id="size"', f'{more}<assert id="size"'), encoding="utf-8")
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    result = mask(data, rules, out, rare_units="exclude", max_observed_share=100, member_order=order)
    assert any(told in note for note in result.notes), result.notes
    assert masktron.check(out, rules, manifest=manifest, original=data).complies
    units = parsed(out)
    assert broken(units) == []
    assert (least_alike(units) >= 3) == (order is None and not more)
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["nested"]["member_order"] = [{"level": "Person", "by": [{"field": "Age", "values": None}]}]
    manifest.write_text(json.dumps(content), encoding="utf-8")
    assert masktron.check(out, rules, manifest=manifest, original=data).complies == (order == ["Age"])


def weighted(units: list[Any], path: str, name: str) -> float:
    """Return the weighted total of a field of persons or households, by their own weight."""
    found = [(one.findtext("W") or one.get("w"), one.findtext(name)) for unit in units for one in unit.xpath(path)]
    return sum(float(weight) * float(value) for weight, value in found if value is not None)


@pytest.mark.full
def test_figures_are_those_of_households_and_of_persons(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 10, mixed=True)
    text = data.read_text(encoding="utf-8")
    numbers = count()
    text = re.sub("<Person>", lambda _: f"<Person><W>{next(numbers) % 7 + 1}</W>", text)
    text = re.sub("<Household ", lambda _: f'<Household w="{next(numbers) % 5 + 1}" ', text)
    data.write_text(text, encoding="utf-8")
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    roles = {**ROLES, "W": "weight", "@w": "weight"}
    result = mask(data, rules, out, rare_units="exclude", max_observed_share=100, roles=roles)
    before, after = parsed(data), parsed(out)
    kept = [unit for at, unit in enumerate(before) if at not in result.excluded]
    households, persons = result.levels
    assert [(one.level, one.records, one.weight) for one in result.levels] == [
        ("Household", len(after), "@w"),
        ("Household/Person", sum(len(unit.findall("Person")) for unit in after), "W"),
    ]
    assert households["whole_record_k"] == least_alike(after)
    assert persons["whole_record_k"] == least_persons_alike(after) >= households["whole_record_k"]
    changes = [
        abs(weighted(after, path, name) / weighted(kept, path, name) - 1) * 100
        for path, names in ((".", ["Total"]), ("Person", ["Wage", "Benefit", "Income"]))
        for name in names
    ]
    assert households["total_change"] == pytest.approx(changes[0])
    assert persons["total_change"] == pytest.approx(max(changes[1:]))
    assert 0 < persons["linkage"] <= 100 / 3 + 1
    checked = masktron.check(out, rules, manifest=manifest, original=data)
    assert checked.complies
    assert [one["whole_record_k"] for one in checked.levels] == [one["whole_record_k"] for one in result.levels]
    assessed = masktron.assess(out, data, manifest=manifest)
    assert assessed.levels == result.levels
    assert "Household/Person" in " ".join(str(result).split())


@pytest.mark.few(1)
@pytest.mark.parametrize(("seed", "spells"), [(11, False), (12, True)])
def test_persons_alone_are_protected_where_that_is_asked_for(seed: int, spells: bool, tmp_path: Path) -> None:
    data, rules = made(tmp_path, seed, spells=spells, mixed=True)
    text = data.read_text(encoding="utf-8").replace("</Survey>", "")
    for region in "SN":  # households without persons
        text += f'<Household id="e{region}"><Size>0</Size><Region>{region}</Region><Total>0</Total></Household>'
    data.write_text(f"{text}</Survey>", encoding="utf-8")
    rules.write_text(rules.read_text().replace(" = 1", " = 1 or Size = 0"), encoding="utf-8")
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    settings: dict[str, Any] = {"rare_units": "exclude", "max_observed_share": 100, "protect": "Person"}
    result = mask(data, rules, out, spells=spells, **settings)
    before, after = parsed(data), parsed(out)
    people = [(unit, person) for unit in before for person in unit.findall("Person")]
    gone = {unit.get("id") for at in result.excluded for unit, _ in [people[at]]}
    kept = [unit for unit in before if unit.get("id") not in gone]
    assert [rule for rule in broken(after) if rule != "head"] == []
    assert least_alone_alike(after) >= 3
    assert sorted(map(repr, map(unmasked_values, after))) == sorted(map(repr, map(unmasked_values, kept)))
    assert all(unit.get("id") is None for unit in after)
    assert [repr(unmasked_values(unit)) for unit in after] != [repr(unmasked_values(unit)) for unit in kept]
    assert sum(map(int, (unit.findtext("Total") or "" for unit in after))) == pytest.approx(
        sum(map(int, (unit.findtext("Total") or "" for unit in kept))), rel=0.05
    )
    assert "Person alone is protected, and no Household" in " ".join(result.notes)
    assert result.levels[0].level == "Household/Person"
    assert result.levels[0].records == sum(len(unit.findall("Person")) for unit in after)
    checked = masktron.check(out, rules, manifest=manifest, original=data)
    assert list(checked.problems) == []
    assert masktron.assess(out, data, manifest=manifest).levels == result.levels
    whole = out.read_text(encoding="utf-8")
    empty = "<Size>0</Size><Region>{}</Region>".format
    for old, new in ((empty("N"), empty("X")), (empty("S"), empty("T")), ("<Role>spouse<", "<Role>other<")):
        out.write_text(whole.replace(old, new, 1), encoding="utf-8")
        found = masktron.check(out, rules, manifest=manifest, original=data)
        assert any("differs from the original in" in problem for problem in found.problems), found.problems


def test_persons_alone_are_alike_in_all_that_is_masked_of_them_and_of_their_spells(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 12, spells=True, mixed=True)
    rules.write_text(re.sub('<assert id="within".*?</assert>', "", rules.read_text()), encoding="utf-8")  # two blocks
    out = tmp_path / "r.xml"
    settings: dict[str, Any] = {"rare_units": "exclude", "max_observed_share": 100, "protect": "Person"}
    result = mask(data, rules, out, spells=True, **settings)
    assert len(result.blocks) > 1
    assert least_alone_alike(parsed(out)) >= 3
    assert result.whole_record_k >= 3


@pytest.mark.full
def test_a_soft_rule_is_told_once_with_all_households_that_break_it(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 16)
    soft = '<assert id="poor" role="warning" test="not(sum(Person/Income) &lt; 3000)">Poor.</assert><assert id="size"'
    rules.write_text(rules.read_text(encoding="utf-8").replace('<assert id="size"', soft), encoding="utf-8")
    result = mask(data, rules, tmp_path / "r.xml", rare_units="exclude", max_observed_share=100)
    poor = [unit for unit in parsed(data) if int(unit.findtext("Total") or 0) < 3000]
    assert len({len(unit.findall("Person")) for unit in poor}) > 1
    assert [note for note in result.notes if note.startswith("soft rule")] == [
        f"soft rule poor: broken in {len(poor)} original records, so it is not kept"
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("protect", [None, "Person"])
def test_a_rulebook_in_which_no_rule_speaks_of_a_single_record(protect: str | None, tmp_path: Path) -> None:
    data, rules = made(tmp_path, 15)
    some = '<rule context="/Survey"><assert id="some" test="count(Household) &gt; 9">Some.</assert></rule>'
    rules.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>{some}</pattern></schema>')
    out, manifest = tmp_path / "r.xml", tmp_path / "r.manifest.json"
    roles = ROLES | ({"Total": "untouched"} if protect else {})
    mask(data, rules, out, rare_units="exclude", protect=protect, roles=roles, grouping="all")
    assert (least_alone_alike if protect else least_alike)(parsed(out)) >= 3
    assert masktron.check(out, rules, manifest=manifest, original=data).complies


def test_sums_of_persons_who_are_masked_alone_are_not_promised_to_be_alike(tmp_path: Path) -> None:
    """A total of different persons may be the only one of its kind."""
    data, rules = made(tmp_path, 16)
    result = mask(data, rules, tmp_path / "r.xml", rare_units="exclude", protect="Person", grouping="all")
    assert result.promise.endswith(" all masked fields, apart from what is summed anew around them: Total")
    assert "in all masked fields of its own." in result.verdict.details
    totals = Counter(unit.findtext("Total") for unit in parsed(tmp_path / "r.xml"))
    assert min(totals.values()) == 1


@pytest.mark.parametrize(
    ("settings", "code", "named"),
    [
        ({"protect": "Persons"}, "unknown-name", {"name": "Persons"}),
        ({"roles": {**ROLES, "Size": "confidential"}}, "masked-around-members", {"field": "Size", "level": "Person"}),
    ],
)
def test_what_persons_alone_cannot_keep_is_refused(
    settings: dict[str, Any], code: str, named: dict[str, Any], tmp_path: Path
) -> None:
    data, rules = made(tmp_path, 13)
    with refused(masktron.UsageError, code, **named):
        mask(data, rules, tmp_path / "r.xml", **{"protect": "Person", **settings})
    assert not (tmp_path / "r.xml").exists()


@pytest.mark.full
def test_rules_that_tie_persons_are_named_and_judged_in_the_written_file(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 14)
    out, text = tmp_path / "r.xml", rules.read_text(encoding="utf-8")
    asked: dict[str, Any] = {"protect": "Person", "rare_units": "exclude", "max_observed_share": 100}
    with refused(masktron.InfeasibleError, "rules-not-kept", rules=("total",)):
        mask(data, rules, out, roles={**ROLES, "Total": "untouched"}, **asked)
    assert not out.exists()
    loose = '<assert id="near" test="not(../Person/Wage > Wage + 100000)">No wage is far from others.</assert>'
    rules.write_text(text.replace('<assert id="income"', f'{loose}<assert id="income"'), encoding="utf-8")
    result = mask(data, rules, out, **asked)
    assert any(note.startswith("not planned for") and "near" in note for note in result.notes), result.notes
    assert broken(parsed(out)) == []


MAY_REFUSE = ("rank_swapping", "shuffling", "hierarchical", "muralidhar_sarathy")
"""Where few households have a third person, exchanges and draws within a composition may change nothing."""


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", parts(range(63), 5))
def test_every_method_keeps_rules_and_contract_or_says_why_not(seed: int, tmp_path: Path) -> None:
    run = nested_run(tmp_path, seed, METHODS[4 * seed % len(METHODS)])
    assert run.wrong == ()
    assert not run.refused or run.refused.startswith("ViolationError") or run.refused.startswith("InfeasibleError")
    assert run.refused == "" or run.method in MAY_REFUSE, run.refused
