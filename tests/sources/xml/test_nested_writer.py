"""Nested files written: libxml2 sees the changes that were asked for, and nothing else."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from examples import examples
from made_columns import new_column
from masktron.errors import DocumentError, UsageError
from masktron.sources.column import Column
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.opening import open_source
from masktron.sources.source import Changes
from masktron.sources.xml.layout import survey_levels
from masktron.sources.xml.nested import read_levels
from masktron.sources.xml.xml_source import write_nested
from nested_files import nested_files, path_of, tables_of
from refusals import refused

CANONICAL = """<?xml version="1.0" encoding="UTF-8"?>
<Survey wave="1">
  <Household id="a">
    <Size>2</Size>
    <Person nr="1">
      <Age>40</Age>
      <Spell from="1" to="2"/>
      <Spell from="2"/>
    </Person>
    <Person>
      <Age>5</Age>
      <Note/>
    </Person>
    <Income>7</Income>
    <Car><Plate>X &amp; Y</Plate></Car>
  </Household>
  <Household/>
  <Household id="c">
    <Person nr="2"/>
    <Size>é</Size>
  </Household>
</Survey>
"""
type New = dict[LevelPath, dict[str, Column]]


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes, **options: object) -> bytes:
        path = tmp_path / "data.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        out = tmp_path / "out.xml"
        source = open_source(path)
        source.rewrite_levels(out, Changes(**{"replacements": {}, **options}))
        return out.read_bytes()

    return write


def coded(*texts: str | None) -> Column:
    return new_column(np.array([*texts, None], dtype=object), np.arange(len(texts)))


def test_nothing_changed_is_the_same_bytes(write):
    assert write(CANONICAL).decode() == CANONICAL


def test_values_of_each_level_stand_in_their_places(write):
    new = {
        (): {"Size": coded("3", "1", None), "@id": coded("a", "b", None)},
        ("Person",): {"Age": coded("<1>", None, "9")},
        ("Person", "Spell"): {"@to": coded(None, "8")},
        ("Car",): {"Plate": coded("")},
    }
    expected = CANONICAL.replace("<Size>2<", "<Size>3<").replace(">40<", ">&lt;1&gt;<")
    expected = expected.replace('<Spell from="1" to="2"/>', '<Spell from="1"/>')
    expected = expected.replace('<Spell from="2"/>', '<Spell from="2" to="8"/>')
    expected = expected.replace("      <Age>5</Age>\n", "").replace("<Plate>X &amp; Y</Plate>", "<Plate/>")
    expected = expected.replace("<Household/>", '<Household id="b">\n    <Size>1</Size>\n  </Household>')
    expected = expected.replace('<Household id="c">', "<Household>").replace("\n    <Size>é</Size>", "")
    expected = expected.replace('<Person nr="2"/>', '<Person nr="2">\n      <Age>9</Age>\n    </Person>')
    assert write(CANONICAL, replacements=new).decode() == expected


def test_a_new_field_comes_before_the_first_that_comes_later_or_behind_the_last(write):
    text = "<D><H><A>1</A><B>2</B><C>3</C><P><X>1</X></P></H><H><P/><C>3</C></H><H><A>1</A><P/></H><H><P/></H></D>"
    found = write(text, replacements={(): {"B": coded("2", "4", "4", "4")}}).decode()
    assert found.strip() == (
        "<D><H><A>1</A><B>2</B><C>3</C><P><X>1</X></P></H><H><P/><B>4</B><C>3</C></H>"
        "<H><A>1</A><B>4</B><P/></H><H><B>4</B><P/></H></D>"
    )


def test_units_are_left_out_and_put_in_another_order(write):
    keep, order = np.array([True, False, True]), np.array([2, 1, 0])
    found = write(CANONICAL, keep=keep, order=order, replacements={("Person",): {"Age": coded("1", "2", "3")}})
    root = etree.fromstring(found)
    assert [unit.get("id") for unit in root] == ["c", "a"]
    assert root.xpath("//Age/text()") == ["3", "1", "2"]
    assert b"</Household>\n  <Household id=" in found
    none = write(CANONICAL, keep=np.zeros(3, dtype=np.bool_))
    assert len(etree.fromstring(none)) == 0


def test_removed_fields_are_in_no_record(write):
    found = etree.fromstring(write(CANONICAL, removed={("Person",): ["@nr", "Age"], (): ["Size"]}))
    assert not found.xpath("//Person/@nr | //Age | //Size")
    assert len(found.xpath("//Person")) == 3


def test_remarks_are_left_out_and_counted(tmp_path, write):
    text = (
        "<!-- a --><D><H><!-- b --><A>1<!-- c -->2</A><P><?p i?><B><![CDATA[<3>]]></B></P><!-- d --></H><!-- e -->"
        "<H><P/></H></D>"
    )
    assert write(text).decode().strip() == "<D><H><A>12</A><P><B>&lt;3&gt;</B></P></H><H><P/></H></D>"
    counts = open_source(tmp_path / "data.xml").left_out()
    assert (counts["comments"], counts["processing_instructions"]) == (5, 1)


def test_no_record_is_told_by_its_white_space(write):
    text = "<D>\n <H>\n  <A>1</A>\n  <P>\n   <B>1</B></P>\n </H>\n<H><A>2</A>\n\n<P> <B>2</B>\t</P></H></D>"
    assert write(text).decode().strip() == (
        "<D>\n <H>\n  <A>1</A>\n  <P>\n   <B>1</B></P>\n </H>\n<H>\n  <A>2</A>\n  <P>\n   <B>2</B></P>\n </H></D>"
    )


def test_namespaces_of_inner_records_are_declared_once(write):
    text = (
        "<n:D xmlns:n='u' xmlns:unused='w'><n:H><n:A>1</n:A><p:P xmlns:p='v' p:i='1'><p:B>1</p:B></p:P></n:H>"
        "<n:H><q:P xmlns:q='v'/></n:H></n:D>"
    )
    found = write(text).decode()
    assert found.count("xmlns") == 2
    assert "unused" not in found
    assert tables_of(found.encode()) == tables_of(text.encode())


BAD = {
    "a level": ({"replacements": {("Pet",): {}}}, "unknown-name"),
    "a field": ({"replacements": {("Person",): {"Size": coded()}}}, "unknown-name"),
    "a removed field": ({"removed": {("Car",): ["@id"]}}, "unknown-name"),
    "both": (
        {"replacements": {(): {"Size": coded("1", "1", "1")}}, "removed": {(): ["Size"]}},
        "bad-arrays",
    ),
    "too few": ({"replacements": {("Person",): {"Age": coded("1")}}}, "bad-arrays"),
    "keep": ({"keep": np.ones(2, dtype=np.bool_)}, "bad-arrays"),
    "order": ({"order": np.array([0, 0, 1])}, "bad-arrays"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_meant_is_refused(name, write):
    options, code = BAD[name]
    with refused(UsageError, code):
        write(CANONICAL, **options)


def test_a_text_that_xml_cannot_hold_names_level_and_record(write):
    with refused(DocumentError, "cannot-hold", where="record 2, field Person/Age"):
        write(CANONICAL, replacements={("Person",): {"Age": coded("1", "\x01", "1")}})


def test_a_file_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "data.xml"
    path.write_text(CANONICAL)
    tree = survey_levels(path)[2]
    assert tree is not None
    path.write_text(CANONICAL.replace('<Person nr="2"/>', ""))
    with refused(DocumentError, "file-changed"):
        write_nested(path, tmp_path / "out.xml", tree, Changes({}))


def test_a_flat_file_is_not_written_so(write):
    with refused(DocumentError, "records-not-flat"):
        write("<D><H><A/></H><H/></D>")


def encoded(text: str, codec: str) -> bytes:
    return f'<?xml version="1.0" encoding="{codec}"?>\n{text}'.encode(codec, "xmlcharrefreplace")


FILES = st.builds(
    lambda text, codec, ends: encoded(text.replace("\n", ends), codec),
    st.one_of(nested_files(), nested_files(prefix="n:")),
    st.sampled_from(["UTF-8", "UTF-16", "ISO-8859-1"]),
    st.sampled_from(["\n", "\r\n"]),
)
TEXTS = st.sampled_from(["1", "", "new & <old>", "ς", None, None])


def changes(draw: st.DrawFn, tree: Tree) -> New:
    """Draw new texts for some fields of some levels."""
    found: New = {}
    for path, level in tree.levels():
        for f in level.fields:
            if draw(st.booleans()):
                texts = draw(st.lists(TEXTS, min_size=level.count, max_size=level.count))
                found.setdefault(path, {})[f.name] = coded(*texts)
    return found


type Unit = tuple[str, dict[str, str], list[str], list[object]]


def seen(record: etree._Element, tree: Tree, new: New, counts: Counter[LevelPath]) -> Unit:
    """Return a record with changes: fields, children that it keeps in their order, records within."""
    path = path_of(record)[1:]
    row, counts[path] = counts[path], counts[path] + 1
    names = {f.tag: f.name for f in tree.level(path).fields if not f.attribute}
    tags = {child.tag for child in tree.level(path).children}
    cells = {f"@{etree.QName(name).localname}": str(value) for name, value in record.attrib.items()}
    cells |= {
        names[str(one.tag)]: "".join(one.xpath("text()")) for one in record.iterchildren("*") if one.tag not in tags
    }
    for name, texts in new.get(path, {}).items():
        text = texts.lexeme(row)
        cells.pop(name, None)
        if text is not None:
            cells[name] = text
    kept = [str(one.tag) for one in record.iterchildren("*") if one.tag in tags or names[str(one.tag)] in cells]
    inner = [seen(one, tree, new, counts) for one in record.iterchildren("*") if one.tag in tags]
    return str(record.tag), cells, kept, list(inner)


def without_added(unit: Unit, like: Unit) -> Unit:
    """Leave the children out that the other record does not have: they are among its fields."""
    tag, cells, kept, inner = unit
    pairs = zip(inner, like[3], strict=True)
    return tag, cells, [one for one in kept if one in like[2]], [without_added(*pair) for pair in pairs]


@examples(60, full=1500)
@given(data=FILES, draw=st.data())
def test_any_change_is_seen_by_libxml2_and_no_other(data, draw):
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "data.xml", Path(folder) / "out.xml"
        path.write_bytes(data)
        tree = survey_levels(path)[2]
        if tree is None:
            return
        new = changes(draw.draw, tree)
        order = np.array(draw.draw(st.permutations(range(tree.top.count))), dtype=np.intp)
        keep = np.array(draw.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order))), dtype=np.bool_)
        assert write_nested(path, out, tree, Changes(new, {}, keep, order)) == keep.sum()
        counts: Counter[LevelPath] = Counter()
        units = [seen(one, tree, new, counts) for one in etree.fromstring(data).iterchildren("*")]
        expected = [units[at] for at in order if keep[at]]
        own: Counter[LevelPath] = Counter()
        written = etree.fromstring(out.read_bytes())
        assert dict(written.attrib) == {"a": "1"}
        found = [seen(one, tree, {}, own) for one in written.iterchildren("*")]
        assert [without_added(*pair) for pair in zip(found, expected, strict=True)] == expected
        assert not written.xpath("//comment() | //processing-instruction()")


@examples(30, full=800)
@given(data=FILES)
def test_a_written_file_is_written_again_as_it_is_and_read_as_the_source(data):
    with tempfile.TemporaryDirectory() as folder:
        path, out, again = (Path(folder) / name for name in ("data.xml", "out.xml", "again.xml"))
        path.write_bytes(data)
        tree = survey_levels(path)[2]
        if tree is None:
            return
        write_nested(path, out, tree, Changes({}))
        assert tables_of(out.read_bytes()) == tables_of(data)
        new_tree = survey_levels(out, record="H")[2]
        assert new_tree is not None
        assert new_tree.top == tree.top
        write_nested(out, again, new_tree, Changes({}))
        assert again.read_bytes() == out.read_bytes()
        before, after = read_levels(path, tree), read_levels(out, new_tree)
        for level, table in before.levels.items():
            for name, column in table.columns.items():
                assert column.same_texts(after.levels[level].columns[name]).all()
