"""The levels of a nested file, as `describe` and `explain` tell them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import masktron
from masktron.report.pages.explain_page import explain_page
from masktron.report.rendering import result_from
from paths import SCHEMAS

NESTED = (
    "<Survey><Household><Size>2</Size><Person nr='1'><Age>1</Age></Person><Person><Age>4</Age><Size>7</Size></Person>"
    "</Household><Household><Size>0</Size></Household></Survey>"
)
RULES = (
    "<schema xmlns='http://purl.oclc.org/dsdl/schematron'><pattern><rule context='Household'>"
    "<assert id='n' test='count(Person) = Size'>n</assert></rule></pattern></schema>"
)
LEVELS = [
    {"level": "Household", "records": 2, "least": 2, "most": 2, "fields": ["Household/Size"]},
    {"level": "Household/Person", "records": 2, "least": 0, "most": 2, "fields": ["@nr", "Age", "Person/Size"]},
]


@pytest.fixture
def files(tmp_path):
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    data.write_text(NESTED)
    rules.write_text(RULES)
    return data, rules


def checked(result, job: str) -> dict[str, object]:
    plain = json.loads(json.dumps(result.as_dict()))
    jsonschema.validate(plain, json.loads((SCHEMAS / f"{job}.schema.json").read_text()))
    return plain


def test_describe_names_levels_and_counts(files):
    result = masktron.describe(files[0])
    plain = checked(result, "describe")
    assert plain["levels"] == LEVELS
    assert plain["records"] == 2
    shown = " ".join(str(result).split())
    assert "2 records (/Survey/Household) of 2 levels" in shown
    assert "Household: 0 to 2" in shown


def test_explain_names_levels_and_says_nothing_of_children_as_one_value(files):
    result = masktron.explain(files[1], files[0])
    plain = checked(result, "explain")
    assert plain["levels"] == LEVELS
    assert plain["rules"][0]["class"] == "linear"
    assert "Household/Size = |Person|" in str(result)
    assert "Person present" not in str(result)
    page = explain_page(result_from(plain, Path("explain.json")))
    (section,) = [one for one in page.sections if one.title == "Levels of the file"]
    assert section.parts[0].rows[1] == ("Household/Person", "2", "Household: 0 to 2", "@nr, Age, Person/Size")


def test_a_flat_file_has_no_levels(tmp_path, files):
    flat = tmp_path / "flat.xml"
    flat.write_text("<Survey><Household><Size>2</Size></Household><Household><Size>1</Size></Household></Survey>")
    assert checked(masktron.describe(flat), "describe")["levels"] == []
    assert checked(masktron.explain(files[1], flat), "explain")["levels"] == []


def test_what_holds_of_persons_says_nothing_of_a_household_without_them(files):
    data, rules = files
    rules.write_text(
        "<schema xmlns='http://purl.oclc.org/dsdl/schematron'>"
        "<pattern><rule context='Person'><assert id='p' test='../Size &gt;= 2'>p</assert></rule></pattern>"
        "<pattern><rule context='Person'><assert id='q' test='../Size &gt;= 1'>q</assert></rule></pattern>"
        "<pattern><rule context='Household'><assert id='h' test='Size &gt;= 1'>h</assert></rule></pattern>"
        "<pattern><rule context='Household'><assert id='m' test='count(Person) &lt; 5'>m</assert></rule></pattern>"
        "</schema>"
    )
    found = masktron.explain(rules, data).preflight
    assert [(one.rule, one.by) for one in found.redundant] == [("q", ("p",))]
    assert [(one.field, one.low, one.high) for one in found.allowed] == [("Size", "1", None), ("|Person|", None, "5")]


def test_what_reads_a_field_of_another_level_is_not_called_always_true(files):
    tests = {"wage": "not(Wage &lt; 0)", "age": "not(Age &lt; 0)", "true": "true()"}
    asserts = "".join(f"<assert id='{name}' test='{test}'>{name}</assert>" for name, test in tests.items())
    files[1].write_text(RULES.replace("</rule>", f"{asserts}</rule>"))
    result = masktron.explain(files[1], files[0])
    rules = {rule.id: rule for rule in result.rules}
    assert result.preflight.always == ("true",)
    assert (rules["age"].form, rules["age"].reason) == ("", "reads what no record has")
    assert rules["true"].form == "always"
    assert "always true: true" in " ".join(str(result).split())
    notes = " ".join(result.notes)
    assert "it reads Age, which no Household has" in notes
    assert "rule wage tests nothing: it reads Wage" in notes
