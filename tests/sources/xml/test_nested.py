"""Nested files as trees of tables, against what libxml2 sees in them."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runner import write_file
from examples import examples
from masktron.errors import DocumentError
from masktron.sources.column import Status
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import Level, Tree
from masktron.sources.opening import open_source
from masktron.sources.record_layout import Field
from masktron.sources.xml.layout import survey_levels, vocabulary
from masktron.sources.xml.nested import read_levels
from nested_files import Tables, nested_files, tables_of
from refusals import refused

HOUSEHOLDS = """<Survey wave="1">
<Household id="a"><Size>2</Size><Person nr="1"><Age>40</Age></Person><Person><Age>-9</Age><Sex>f</Sex></Person>
  <Car><Plate>X</Plate></Car></Household>
<Household><Size/></Household>
<Household id="c">
  <Person nr="2"><Spell from="1"/><Spell from="2" to="3"/></Person><Size>1</Size>
</Household>
</Survey>"""


@pytest.fixture
def write(tmp_path):
    return partial(write_file, tmp_path / "data.xml")


def read(path: Path, **options: object) -> Dataset:
    tree = survey_levels(path)[2]
    assert tree is not None
    return read_levels(path, tree, **options)


def seen(tables: Dataset) -> Tables:
    """Return what the tables hold in the form of the oracle."""
    found: Tables = {}
    for path, table in tables.levels.items():
        columns = table.columns
        cells = [
            {name: text for name in columns if (text := columns[name].lexeme(row)) is not None}
            for row in range(len(table))
        ]
        found[path] = list(zip(table.parent.tolist(), cells, strict=True))
    return found


def test_the_levels_of_a_file(write):
    layout, shape, tree = survey_levels(write(HOUSEHOLDS))
    assert not shape.flat
    assert tree is not None
    spell = Level("Spell", "Spell", (Field("@from", "from", True), Field("@to", "to", True)), (), 2, 0, 2)
    person = Level(
        "Person",
        "Person",
        (Field("@nr", "nr", True), Field("Age", "Age"), Field("Sex", "Sex")),
        (spell,),
        3,
        0,
        2,
    )
    car = Level("Car", "Car", (Field("Plate", "Plate"),), (), 1, 0, 1)
    own = (Field("@id", "id", True), Field("Size", "Size"))
    assert tree.top == Level("Household", "Household", own, (person, car), 3, 3, 3)
    assert layout.record_path == tree.layout.record_path == ("Survey", "Household")
    assert tree.layout.fields == own
    assert [path for path, _ in tree.levels()] == [(), ("Person",), ("Person", "Spell"), ("Car",)]
    assert tree.layout_of(("Person", "Spell")).record_path == ("Survey", "Household", "Person", "Spell")


def test_names_of_fields_say_the_level_where_two_have_them(write):
    tree = survey_levels(write("<D><H i='1'><A>1</A><P i='2'><A>1</A><B>1</B></P></H><H/></D>"))[2]
    assert tree is not None
    assert {name: path for name, (path, _) in tree.names.items()} == {
        "H/@i": (),
        "H/A": (),
        "P/@i": ("P",),
        "P/A": ("P",),
        "B": ("P",),
    }
    assert tree.named("A") is None
    assert tree.candidates("A") == ("H/A", "P/A")
    assert tree.named("P/B") == tree.named("B") == (("P",), tree.top.children[0].field("B"))


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("<P><A>1</A></P>\n<T>1</T><T>2</T>", "the field T occurs more than once in a H", 4),
        ("<P><A>1</A></P>\nword", "there is text between the fields of H", 4),
        ("<P><A>1</A>\nword</P>", "the field P has the child element A", 3),
        ("<P><A>1</A>\n<A>2</A></P>", "the field A occurs more than once in a P", 4),
        ("<P><A u='1'>1</A></P>", "the field A has the attribute u", 3),
        ("<P><A>1</A></P>\n<P xmlns='u'><A/></P>", "two fields are named P, in different namespaces", 4),
        ("<P><A>1</A></P></H></L><L>\n<H>", "records stand in more than one L", 3),
    ],
)
def test_what_is_no_tree_says_why(text, reason, line, write):
    _, shape, tree = survey_levels(write(f"<D><L>\n<H/><H><P/></H>\n<H>{text}</H></L></D>"), record="H")
    assert tree is None
    assert (shape.flat, shape.reason, shape.line) == (False, reason, line)


def test_what_is_repeated_and_always_empty_is_a_level_without_fields(write):
    tree = survey_levels(write("<D><H><A>1</A><C/><C></C></H><H><C> </C></H></D>"))[2]
    assert tree is not None
    assert tree.top.children == (Level("C", "C", (), (), 3, 1, 2),)


def test_a_flat_file_has_no_tree(write):
    _, shape, tree = survey_levels(write("<D><H><A/></H><H/></D>"))
    assert shape.flat
    assert tree is None


@pytest.mark.parametrize("hints", [set(), {"Person"}, {"Person", "Household"}, {"Spell"}, {"Person", "Car"}])
def test_rules_on_any_level_leave_the_unit_the_record(hints, write):
    assert survey_levels(write(HOUSEHOLDS), hints=hints)[0].record_tag == "Household"


def test_the_record_can_be_another_level_when_it_is_named(write):
    layout, _, tree = survey_levels(write(HOUSEHOLDS), record="Person")
    assert layout.record_tag == "Person"
    assert tree is None  # households have fields beside their persons


def test_records_of_each_level(write):
    path = write(HOUSEHOLDS)
    tables = read(path, missing={"Age": frozenset({"-9"})})
    assert seen(tables) == tables_of(path.read_bytes())
    ages = tables.levels["Person",].columns["Age"]
    assert ages.status.tolist() == [Status.PRESENT, Status.CODE, Status.ABSENT]
    np.testing.assert_array_equal(ages.values, [40, np.nan, np.nan])
    assert tables.levels["Person",].lines.tolist() == [2, 2, 6]
    assert tables.lines.tolist() == [2, 4, 5]
    assert tables.units(("Person", "Spell")).tolist() == [2, 2]
    assert tables.counts(("Person",)).tolist() == [2, 0, 1]
    assert tables.counts(("Person", "Spell")).tolist() == [0, 0, 2]


def test_missing_codes_are_declared_by_level_or_for_all(write):
    path = write("<D><H><A>7</A><P><A>7</A></P></H><H><A>8</A><P/><P><A>8</A></P></H></D>")
    tables = read(path, missing={"P/A": frozenset({"7"}), "*": frozenset({"8"})})
    assert tables.columns["A"].status.tolist() == [Status.PRESENT, Status.CODE]
    below = tables.levels["P",].columns["A"]
    assert below.status.tolist() == [Status.CODE, Status.ABSENT, Status.CODE]


def encoded(text: str, codec: str) -> bytes:
    return f'<?xml version="1.0" encoding="{codec}"?>\n{text}'.encode(codec, "xmlcharrefreplace")


@examples(60, full=1500)
@given(
    text=st.one_of(nested_files(), nested_files(prefix="n:")),
    codec=st.sampled_from(["UTF-8", "UTF-16", "ISO-8859-1"]),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_any_tree_is_read_as_libxml2_reads_it(text, codec, ends):
    data = encoded(text.replace("\n", ends), codec)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.xml"
        path.write_bytes(data)
        layout, shape, tree = survey_levels(path)
        assert layout.record_path[-1].rpartition("}")[2] == "H"
        expected = tables_of(data)
        assert (tree is None) == (len(expected) == 1) == shape.flat
        if tree is not None:
            tables = read_levels(path, tree)
            assert seen(tables) == expected
            check_counts(tree, tables)
            assert vocabulary(path, layout, shape, tree) == vocabulary(path, layout, shape)


def check_counts(tree: Tree, tables: Dataset) -> None:
    for path, level in tree.levels():
        assert level.count == len(tables.levels[path])
        if path:
            counts = tables.counts(path)
            assert (level.least, level.most) == (counts.min(), counts.max())


CHANGED = {
    "a new level": ("<Size/>", "<Size/><Pet><A/></Pet>"),
    "a new field": ("<Size/>", "<Rooms/>"),
    "a repeated field": ("<Size/>", "<Size/><Size/>"),
    "a field with elements": ("<Size/>", "<Size><B/></Size>"),
    "an attribute of a field": ("<Size/>", "<Size a='1'/>"),
    "an attribute": ("<Household>", "<Household b='1'>"),
    "text": ("<Household><Size/>", "<Household>x<Size/>"),
    "another root": ("Survey", "Census"),
    "fewer units": ("<Household><Size/></Household>", ""),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_file_that_has_changed_is_refused(name, write):
    tree = survey_levels(write(HOUSEHOLDS))[2]
    assert tree is not None
    path = write(HOUSEHOLDS.replace(*CHANGED[name]))
    with refused(DocumentError, "file-changed") as caught:
        read_levels(path, tree)
    assert caught.value.where.startswith(str(path))


def test_a_source_gives_tree_and_tables(write):
    source = open_source(write(HOUSEHOLDS))
    assert source.tree is not None
    told = []
    tables = source.level_records(told=lambda done, size: told.append((done, size)))
    assert len(tables.top) == 3
    assert told == [(0, 3), (3, 3)]


def test_a_source_of_one_level_has_no_tables_of_levels(write):
    source = open_source(write("<D><H><A/></H><H/></D>"))
    assert source.tree is None
    with refused(DocumentError, "records-not-flat"):
        source.level_records()
