"""Rules on and across the levels of nested files; of files that are no tree, only what reads single values."""

from __future__ import annotations

import pytest

from masktron.config import AS_IT_SAYS
from masktron.constraints import OpaqueEdit
from masktron.jobs.job import Job, open_job

SCHEMA = "<schema xmlns='http://purl.oclc.org/dsdl/schematron'>{}</schema>"
HOUSEHOLDS = (
    "<Survey><Household id='1'><Size>2</Size><Age>3</Age><Person nr='1'><Age>1</Age></Person><Person><Age>4</Age>"
    "</Person></Household><Household><Size>0</Size><Age>3</Age></Household></Survey>"
)
REPEATED = "<D><R><A>1</A><B>1</B><B>2</B></R><R><A>1</A><B>3</B></R></D>"


@pytest.fixture
def opened(tmp_path):
    def opened(rules: str, text: str = HOUSEHOLDS) -> Job:
        data, rulebook = tmp_path / "data.xml", tmp_path / "rules.sch"
        data.write_text(text)
        rulebook.write_text(SCHEMA.format(rules))
        return open_job(data, rulebook, reading=AS_IT_SAYS)

    return opened


def of(context: str, test: str, more: str = "", before: str = "") -> str:
    return (
        f"<pattern>{before}<rule context='{context}'>{more}<assert id='x' test='{test}'>x</assert></rule></pattern>"
    )


def kind(job: Job) -> tuple[str, str]:
    edit = job.edits[job.index_of("x")]
    return edit.name, edit.constraint.reason if isinstance(edit.constraint, OpaqueEdit) else ""


ACROSS = {
    "a count of children": (of("Household", "count(Person) = Size"), "linear", "Size = |Person|"),
    "a value of children": (
        of("Household", "Person/Age &gt;= 0 or not(Person)"), "governing", "(∃ Person: Person/Age >= 0) or no Person",
    ),
    "an attribute of children": (
        of("Household", "not(Person/@nr = 7)"), "values", "∀ Person: @nr != 7 or @nr missing",
    ),
    "children in the context": (of("Household[Person]", "Size &gt; 0"), "governing", "no Person or Size > 0"),
    "children in a variable": (
        of("Household", "Size = $n", '<let name="n" value="count(Person)"/>'), "linear", "Size = |Person|",
    ),
    "children in an earlier context": (
        of("Household", "Size &gt;= 0", before="<rule context='Household[Person]'><assert test='Size'/></rule>"),
        "governing", "Size >= 0 or ∃ Person",
    ),
    "a name of two levels, anywhere": (
        of("Household", "sum(.//Age) &gt; 0"), "linear",
        "Household/Age + Σ Person/Age > 0 or (Σ Person/Age > 0 and Household/Age absent)",
    ),
    "the children themselves": (of("Person", "Age &lt; 120"), "values", "∀ Person: Person/Age < 120"),
    "the parent, from the children": (
        of("Person", "Age &lt;= ../Size"), "governing", "∀ Person: Person/Age <= Size",
    ),
    "a field of the children": (
        of("Person/Age", ". &lt; 120"), "values", "∀ Person: Person/Age < 120 or Person/Age absent",
    ),
    "a field of two levels": (
        of("Age", ". &lt; 120"), "opaque",
        "across levels: it fires on nodes of several kinds: Household/Age, Household/Person/Age",
    ),
    "all elements": (
        of("*", "Size &gt; 0 or true()"), "opaque",
        "across levels: it fires on nodes of several kinds: Household, Household/Size, Household/Age, "
        "Household/Person, Household/Person/Age",
    ),
    "some node": (of("node()", "true()"), "opaque", "across levels: the context step node()"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACROSS)
def test_a_rule_across_levels_is_told_with_their_names(name, opened):
    rules, expected, said = ACROSS[name]
    job = opened(rules)
    edit = job.edits[job.index_of("x")]
    assert (edit.name, edit.said or edit.constraint.reason) == (expected, said)


WITHIN = {
    "a field": (of("Household", "Size &gt;= 0"), "values"),
    "a field of a name that persons have, too": (of("Household", "Age &gt;= 0"), "values"),
    "a field as context": (of("Household/Age", ". &gt;= 0"), "values"),
    "fields": (of("/Survey/Household", "Size &lt;= Age + 2"), "linear"),
    "a variable that is not read": (
        of("Household", "Size &gt;= 0", '<let name="n" value="count(Person)"/>'),
        "values",
    ),
    "an earlier context on persons": (
        of("Household", "Size &gt;= 0", before="<rule context='Person'><assert test='Age'/></rule>"),
        "values",
    ),
    "an attribute": (of("Household", "@id = 1 or not(@id)"), "values"),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_rule_on_the_fields_of_the_unit_keeps_its_class(name, opened):
    rules, expected = WITHIN[name]
    assert kind(opened(rules)) == (expected, "")


def test_a_file_that_is_no_tree_keeps_what_is_single_in_its_records(opened):
    assert opened(of("R", "A &gt; 0"), REPEATED).source.tree is None
    assert kind(opened(of("R", "A &gt; 0"), REPEATED)) == ("values", "")
    assert kind(opened(of("R", "B &gt; 0"), REPEATED)) == (
        "opaque",
        "across levels: it reads B, no single values of a R",
    )


def test_variables_are_names_of_the_file(opened):
    job = opened(of("Household", "sum(Person/Age) &lt; Size"))
    assert job.edits[0].variables == ("Person/Age", "Size")
