"""Results and errors of nested files name fields by level, and positions where these matter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

import masktron
from masktron.config import AS_IT_SAYS, Config, Role
from masktron.jobs.job import open_job
from masktron.jobs.key_treatments import run_keys
from masktron.jobs.lowering.lower import lower
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.problems.problem import Field, Note, Rule
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.sources.wide.wide_record import Composition, WideRecord
from masktron.unrolling.level_names import ordinal
from nested_pairs import HOUSEHOLD, LAYOUT
from nested_survey import ROLES, made, parsed
from paths import SCHEMAS
from refusals import refused

KEY = bytes(range(16, 48))
WIDE = re.compile(r"@?Person\.\d|Spell\.\d")


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masked")
    data, rules = made(folder, 1)
    out = folder / "released.xml"
    result = masktron.mask(
        data, rules, out, roles=ROLES, k=3, secret=KEY, rare_units="exclude", max_observed_share=100
    )
    return data, rules, out, result


def names_of(tmp_path: Path, **how: bool) -> LevelNames:
    job, back = lower(open_job(*made(tmp_path, 3, **how), reading=AS_IT_SAYS), Config(), no_progress)
    assert job is not back.job
    return back.names


def test_a_flat_file_has_the_names_that_it_has() -> None:
    assert AS_THEY_ARE.shown("A, B") == "A, B"
    assert AS_THEY_ARE.by_level("AB") == {"A": ["A"], "B": ["B"]}
    assert AS_THEY_ARE.sentence(note := Note("{field}", field=Field("A"))) == note


@pytest.mark.usefixtures("at_terminal")
def test_one_field_at_several_positions_is_named_once_and_one_alone_with_its_position(tmp_path: Path) -> None:
    names = names_of(tmp_path, spells=True)

    def told(template: str, *several: str, kind: type[Field | Rule] = Field) -> str:
        return sentence(names.sentence(Note(template, names=tuple(map(kind, several)))))

    several = ("Total", "Person.1.Wage", "Person.2.Wage", "Person.1.Age")
    assert told("the fields {names:and} differ", *several) == (
        "the fields Total, Wage and Age of the first Person differ"
    )
    assert told("{names}", "Person.1.Spell.1.Pay") == "Pay of the first Spell of the first Person"
    assert told("keeps {names}", "total", "wage:Person.1", "wage:Person.2", kind=Rule) == "keeps total, wage"
    assert told("breaks {names}", "wage:Person.2", kind=Rule) == "breaks wage (second Person)"
    assert told("({names})", "@Person.2", "@Person.3", "Size") == "(the number of Person, Size)"
    assert told("leave {names} out: [[--role {names}=identifier]]", "Person.2.Wage") == (
        "leave Wage of the second Person out: --role Wage=identifier"
    )
    assert told("[[--nominal {names}]]", "Person.1.Age", "Total", "Person.2.Age") == "--nominal Age --nominal Total"
    assert told("see {names}", "Person.1.Wages", "Person.9.Wage") == "see Person.1.Wages, Person.9.Wage"
    assert names.shown("Person.2.Wage") == "Wage of the second Person"
    assert names.shown("Person.1.Wage, Person.2.Wage") == "Wage"
    assert names.by_level(("Total", "Person.1.Wage", "Person.2.Wage")) == {
        "Total": ["Total"], "Wage": ["Person.1.Wage", "Person.2.Wage"],
    }  # fmt: skip
    assert [ordinal(at) for at in (0, 9, 10, 11, 20, 21, 110)] == [
        "first", "tenth", "11th", "12th", "21st", "22nd", "111th",
    ]  # fmt: skip


def test_a_result_has_one_row_for_a_field_of_a_level(masked) -> None:
    data, _, out, result = masked
    plain = json.loads(json.dumps(result.as_dict()))
    jsonschema.validate(plain, json.loads((SCHEMAS / "mask.schema.json").read_text()))
    assert not WIDE.search(json.dumps(plain))
    assert not WIDE.search(str(result))
    kept = [unit for at, unit in enumerate(parsed(data)) if at not in result.excluded]
    for total in result.totals:
        before, after = (
            [int(value) for unit in units for one in unit.iter(total.name) if (value := one.text)]
            for units in (kept, parsed(out))
        )
        assert (total.before, total.after, total.records) == (sum(before), sum(after), len(before))
    assert [total.name for total in result.totals] == ["Total", "Wage", "Benefit", "Income"]
    (block,) = result.blocks
    assert block.variables == ("Total", "Wage", "Benefit", "Income")
    assert block.rules == ("total", "income", "wage", "benefit", "child-wage")
    assert result.keys is not None
    assert result.keys.fields == ("Role", "Age")


def test_two_drawn_fields_are_told_with_their_positions(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1)
    result = masktron.mask(
        data, rules, tmp_path / "r.xml", roles=ROLES, k=3, secret=KEY, method="noise", rare_units="exclude"
    )
    jsonschema.validate(
        json.loads(json.dumps(result.as_dict())), json.loads((SCHEMAS / "mask.schema.json").read_text())
    )
    assert result.draw is not None
    assert result.draw.worst_drawn is not None
    assert result.draw.worst_drawn.fields == ("Benefit of the first Person", "Benefit of the third Person")
    assert not WIDE.search(json.dumps(result.as_dict()))


def test_a_manifest_tells_results_by_level_and_blocks_as_they_were_masked(masked, tmp_path: Path) -> None:
    data, rules, out, result = masked
    content = json.loads(out.with_name("released.manifest.json").read_text(encoding="utf-8"))
    assert not WIDE.search(json.dumps(content["result"]))
    (block,) = content["nested"]["blocks"]
    assert result.blocks[0].variables == tuple(content["result"]["blocks"][0]["variables"])
    assert "Person.2.Wage" in block["variables"]
    content["result"]["blocks"] = content["nested"].pop("blocks")  # as earlier manifests have them
    (earlier := tmp_path / "earlier.json").write_text(json.dumps(content))
    assert masktron.check(out, rules, original=data, manifest=earlier).complies


def test_what_is_unchanged_is_a_share_of_all_cells(masked) -> None:
    data, _, out, result = masked
    manifest = json.loads(out.with_name("released.manifest.json").read_text(encoding="utf-8"))
    kept = [unit for at, unit in enumerate(parsed(data)) if at not in result.excluded]
    pairs = [(kept[origin], unit) for origin, unit in zip(manifest["order"], parsed(out), strict=True)]
    for name, share in result.unchanged.items():
        cells = [
            (one.text, other.text)
            for before, after in pairs
            for one, other in zip(before.iter(name), after.iter(name), strict=True)
        ]
        assert share == pytest.approx(100 * sum(one == other for one, other in cells) / len(cells))


def test_assess_and_keys_name_fields_by_level(masked) -> None:
    data, rules, out, _ = masked
    manifest = out.with_name("released.manifest.json")
    found = masktron.assess(out, data, manifest=manifest, measures=["total_change", "information_loss"])
    assert found.numeric == ("Total", "Wage", "Benefit", "Income")
    assert not WIDE.search(json.dumps(found.as_dict()))
    told = run_keys(rules=rules, data=data, config=Config(roles={name: Role(role) for name, role in ROLES.items()}))
    assert not WIDE.search(json.dumps(told.as_dict()))
    (role, age) = told.fields
    assert (role.field, age.field) == ("Role", "Age")
    assert role.values is not None
    assert list(role.values) == sorted(role.values)
    assert sum(role.values.values()) == sum(len(unit.findall("Person")) for unit in parsed(data))


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("@id", "bad-value", {"given": "'@id'"}),
        ("Person/@idd", "unknown-name", {"name": "Person/@idd"}),
    ],
)
def test_names_that_mean_no_field_or_several_are_refused(
    name: str, code: str, told: dict[str, object], tmp_path: Path
) -> None:
    data, rules = made(tmp_path, 1)
    data.write_text(data.read_text().replace("<Person>", '<Person id="7">'))
    with refused(masktron.UsageError, code, **told):
        masktron.mask(data, rules, tmp_path / "r.xml", roles={name: "untouched"}, k=3)
    assert not (tmp_path / "r.xml").exists()


def test_a_field_of_the_top_level_may_be_named_with_it(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1)
    data.write_text(data.read_text().replace("<Person>", '<Person id="7">'))
    roles = {**{name: role for name, role in ROLES.items() if name != "@id"}, "Household/@id": "identifier"}
    roles |= {"Person/@id": "untouched", "Household/Region": "untouched", "Person/Age": "quasi-identifier"}
    del roles["Region"], roles["Age"]
    masktron.mask(
        data, rules, out := tmp_path / "r.xml", roles=roles, k=3, secret=KEY, rare_units="exclude",
        max_observed_share=100,
    )  # fmt: skip
    assert {unit.get("id") for unit in parsed(out)} == {None}
    assert {one.get("id") for unit in parsed(out) for one in unit.findall("Person")} == {"7"}


def test_a_wide_record_without_some_fields_is_another_one() -> None:
    member = Composition(((),))
    whole = WideRecord.of(HOUSEHOLD, Composition(((member, member), ())), LAYOUT)
    before = [leaf.name for place in whole.places for leaf in place.leaves]
    some = whole.only({"Size", "Person.2.Age"})
    assert [leaf.name for place in some.places for leaf in place.leaves] == ["Size", "Person.2.Age"]
    assert all(leaf.place is place for place in some.places for leaf in place.leaves)
    assert all(place.parent is None or place.parent in some.places for place in some.places)
    assert [leaf.name for place in whole.places for leaf in place.leaves] == before


def test_fields_of_members_that_look_like_codes_are_asked_about_once_with_options_that_work(tmp_path: Path) -> None:
    units = [
        f"<H><Id>{at}</Id><Weight>{at}.5</Weight>"
        + "".join(
            f"<P><Sex>{(at + p) % 2 + 1}</Sex><Mood>{(at + p) % 9}</Mood><Age>{20 + (at * 7 + p) % 50}</Age>"
            f"<PWeight>{at + p}.25</PWeight></P>"
            for p in range(at % 3 + 1)
        )
        + "</H>"
        for at in range(120)
    ]
    data, rules = tmp_path / "data.xml", tmp_path / "r.sch"
    data.write_text(f"<S>{''.join(units)}</S>")
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="P">'
        '<assert id="age" test="Age > 0">m</assert></rule></pattern></schema>'
    )
    with refused(masktron.UsageError, "likely-codes", fields=("Sex", "Mood"), values=(2, 9)):
        masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles={"Id": "record-id"})
    roles = {"Id": "record-id", "Weight": "weight", "PWeight": "weight"}
    masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles=roles, nominal=["Sex", "Mood"])


def test_settings_beside_the_manifest_name_the_keys_of_members_too(masked) -> None:
    data, _, out, result = masked
    manifest, wanted = out.with_suffix(".manifest.json"), ["key_k", "key_uniques", "global_risk"]
    by_manifest = masktron.assess(out, data, manifest=manifest, measures=wanted)
    told = masktron.assess(out, data, manifest=manifest, measures=wanted, roles={**ROLES, "Elsewhere": "record-id"})
    assert by_manifest.keys is not None
    assert told.keys is not None
    assert result.keys is not None
    assert told.keys.fields == by_manifest.keys.fields == result.keys.fields == ("Role", "Age")
    assert [figure.value for figure in told.figures] == [figure.value for figure in by_manifest.figures]
    roles = {**ROLES, "Role": "untouched"}
    fewer = masktron.assess(out, data, manifest=manifest, measures=wanted, roles=roles).keys
    assert fewer is not None
    assert fewer.fields == ("Age",)


@pytest.mark.full
def test_a_field_may_be_named_with_its_level_wherever_its_name_is_enough(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1)
    levels = {"Household/Region": "untouched", "Person/Role": "quasi-identifier", "Person/Age": "quasi-identifier"}
    roles = {"Household/@id": "identifier", "Household/Size": "weight", **levels}
    results = [
        masktron.mask(
            data, rules, tmp_path / f"{at}.xml", roles=own, k=3, secret=KEY, rare_units="exclude",
            max_observed_share=100, **how,
        )
        for at, (own, how) in enumerate([
            (roles, {"numeric": ["Person/Benefit"], "member_order": ["Person/Age"]}),
            ({**ROLES, "Size": "weight"}, {"numeric": ["Benefit"], "member_order": ["Age"]}),
        ])
    ]  # fmt: skip
    assert (tmp_path / "0.xml").read_bytes() == (tmp_path / "1.xml").read_bytes()
    assert results[0].keys == results[1].keys
    with refused(masktron.UsageError, "given-twice"):
        masktron.mask(data, rules, tmp_path / "2.xml", roles={**ROLES, "Person/Age": "record-id"}, k=3)
