"""Where records and fields stand, and every way in which a file is not a flat table."""

from __future__ import annotations

from functools import partial

import pytest

from cli_runner import write_file
from masktron.errors import DocumentError, UsageError
from masktron.sources.record_layout import Field, Shape
from masktron.sources.xml.layout import confirm
from masktron.sources.xml.plain import detect_layout, survey
from refusals import refused

pytestmark = pytest.mark.usefixtures("at_terminal")


@pytest.fixture
def write(tmp_path):
    return partial(write_file, tmp_path / "data.xml")


RECORD = {
    "repeated child": ("<D><R><V>1</V></R><R><V>2</V></R></D>", "D/R"),
    "one record": ("<D><R><V>1</V></R></D>", "D/R"),
    "one record with repeated text": ("<D><R><V>1</V><V>2</V></R></D>", "D/R"),
    "below an only child": ("<D><L><R><V>1</V></R><R><V>2</V></R></L></D>", "D/L/R"),
    "below two only children": ("<D><K><L><R><V>1</V></R><R><V>2</V></R></L></K></D>", "D/K/L/R"),
    "beside a header": ("<D><H><Y>2024</Y></H><R><V>1</V></R><R><V>2</V></R></D>", "D/R"),
    "beside repeated text": ("<D><N>a</N><N>b</N><R><V>1</V></R><R><V>2</V></R></D>", "D/R"),
    "outer of nested": ("<D><H><P><A>1</A></P><P><A>2</A></P></H><H><P><A>3</A></P></H></D>", "D/H"),
    "attributes only": ("<D><R a='1'/><R a='2'/></D>", "D/R"),
    "one with attributes only": ("<D><R a='1'/></D>", "D/R"),
    "without fields": ("<D><R/><R/></D>", "D/R"),
    "one without fields": ("<D><R/></D>", "D/R"),
    "no record": ("<D/>", "D/Record"),
    "no record, namespace": ("<D xmlns='u'/>", "{u}D/{u}Record"),
    "namespaces": ("<n:D xmlns:n='u'><R><V>1</V></R></n:D>", "{u}D/R"),
}


@pytest.mark.parametrize("name", RECORD)
def test_record_is_found(name, write):
    text, expected = RECORD[name]
    assert "/".join(detect_layout(write(text)).record_path) == expected


TWO_KINDS = "<D><A><V>1</V></A><A><V>2</V></A><B><W>1</W></B><B><W>1</W></B></D>"
NESTED = "<D><H><P><A>1</A></P></H><H><P><A>1</A></P></H></D>"


@pytest.mark.parametrize(
    ("text", "hints", "expected"),
    [
        (TWO_KINDS, {"B"}, "B"),
        (TWO_KINDS, {"A", "W"}, "A"),
        (NESTED, {"P"}, "H"),
        (NESTED, {"P", "H"}, "H"),
        (NESTED, {"A"}, "H"),
        (NESTED, set(), "H"),
        ("<D/>", {"R"}, "R"),
    ],
)
def test_hints_decide_what_the_file_leaves_open(text, hints, expected, write):
    assert detect_layout(write(text), hints=hints).record_tag == expected


@pytest.mark.parametrize("hints", [set(), {"X"}, {"A", "B"}])
def test_two_kinds_of_records_are_refused(hints, write):
    with refused(DocumentError, "record-unclear"):
        detect_layout(write(TWO_KINDS), hints=hints)


def test_a_namespace_that_is_no_uri_is_refused(write):
    path = write("<D\nxmlns:x='a b'><R><A>1</A></R></D>")
    with refused(DocumentError, "not-well-formed") as caught:
        detect_layout(path)
    assert caught.value.where == f"{path}:1:1"


def test_text_alone_is_no_record(write):
    with refused(DocumentError, "record-unclear"):
        detect_layout(write("<R>\n<V1>1</V1><V2>2</V2></R>"))


@pytest.mark.parametrize(("record", "tag"), [("B", "{u}B"), ("{u}B", "{u}B"), ("A", "A"), ("V", "V")])
def test_record_can_be_named(record, tag, write):
    text = "<D xmlns:n='u'><A><V>1</V></A><n:B><W>2</W></n:B></D>"
    assert detect_layout(write(text), record=record).record_tag == tag


def test_unknown_record_says_what_there_is(write):
    with refused(UsageError, "unknown-name", name="X"):
        detect_layout(write(TWO_KINDS), record="X")


def test_ambiguous_record_says_where_it_stands(write):
    with refused(UsageError, "record-unclear", elements=("D/A/R", "D/B/R")):
        detect_layout(write("<D><A><R><V>1</V></R></A><B><R><V>1</V></R></B></D>"), record="R")


def test_of_records_within_records_of_one_name_the_outermost_are_meant(write):
    nested = "<R><V>1</V><S><R><V>2</V></R></S></R>"
    assert detect_layout(write(f"<D>{nested}{nested}</D>"), record="R").record_path == ("D", "R")


def test_named_record_in_an_empty_file(write):
    assert detect_layout(write("<D/>"), record="R").fields == ()


def test_fields_in_order_of_appearance_attributes_first(write):
    text = "<D><R><A>1</A></R><R id='1' x:id='2' xmlns:x='u'><B/><A/></R><R><x:C xmlns:x='u'/></R></D>"
    layout, shape = survey(write(text))
    assert layout.fields == (
        Field("@id", "id", attribute=True),
        Field("@{u}id", "{u}id", attribute=True),
        Field("A", "A"),
        Field("B", "B"),
        Field("C", "{u}C"),
    )
    assert not shape.flat


def test_root_is_described(write):
    layout = detect_layout(write("<n:D xmlns:n='u' xmlns='v' a='1' n:b='&lt;'><R><V>1</V></R></n:D>"))
    assert layout.record_path == ("{u}D", "{v}R")
    assert layout.root_attributes == (("a", "1"), ("{u}b", "<"))
    assert dict(layout.nsmap) == {"n": "u", None: "v"}
    assert layout.encoding == "UTF-8"


FLAT = [
    "<D/>",
    "<D><R/><R/></D>",
    "<D>\n<R>\n<A>1</A>\n</R><!-- c --><?p i?></D>",
    "<D a='1'><L b='2'><R id='3'><A><![CDATA[ ]]>1<!-- c -->&lt;</A></R></L></D>",
    "<D><R><A>1</A></R><R><B>1</B><A/></R></D>",
]


@pytest.mark.parametrize("text", FLAT)
def test_flat(text, write):
    assert survey(write(text))[1] == Shape(True)


DEVIATING = {
    "repeated": ("<R>\n<A>1</A>\n<A>2</A></R>", "the field A occurs more than once in a R", 5),
    "nested": ("<R>\n<A><X>1</X></A></R>", "the field A has the child element X", 4),
    "mixed field": ("<R>\n<A>1<X>1</X></A></R>", "the field A has the child element X", 4),
    "mixed record": ("<R>\n<A>1</A>x\n\n</R>", "there is text between the fields of R", 4),
    "no-break space": ("<R>\n\u00a0<A>1</A></R>", "there is text between the fields of R", 4),
    "text record": ("<R>\nx</R>", "there is text between the fields of R", 4),
    "field attribute": ("<R>\n<A>1</A>\n<B u='1'>2</B></R>", "the field B has the attribute u", 5),
    "namespaces": ("<R>\n<A/><A xmlns='u'/></R>", "two fields are named A, in different namespaces", 4),
    "attributes": ("<R a='1' n:a='2' xmlns:n='u'/>", "two attributes are named a, in different namespaces", 3),
    "text between": ("x\n<R/>\ny<R/>", "there is text directly in D", 3),
    "header": ("<H>1</H>\n<R/>", "H stands beside the records (R)", 3),
    "nested header": ("<H><R/></H>", "H stands beside the records (R)", 3),
}


@pytest.mark.parametrize("name", DEVIATING)
def test_deviation_anywhere_in_the_file_is_found(name, write):
    text, reason, line = DEVIATING[name]
    path = write(f"<D>\n<R><A>1</A></R><R><A>1</A></R>\n{text}\n<R/><R/></D>")
    layout, shape = survey(path, hints={"R"})
    assert shape == Shape(False, reason, line)
    assert confirm(path, layout) == shape


def test_records_in_two_lists_are_not_flat(write):
    text = "<D><L>\n<R><A>1</A></R><R/></L>\n<L><R/></L></D>"
    assert survey(write(text), record="R")[1] == Shape(False, "records stand in more than one L", 3)


def test_records_that_are_text_are_not_flat(write):
    assert survey(write("<D>\n<V>1</V><V>2</V></D>"), record="V")[1] == Shape(
        False, "V holds text instead of fields", 2
    )


def test_confirm_notices_another_file(write):
    layout = detect_layout(write("<D><R><A>1</A></R></D>"))
    with refused(DocumentError, "file-changed"):
        confirm(write("<D><R><A>1</A><B>1</B></R></D>"), layout)
    with refused(DocumentError, "file-changed"):
        confirm(write("<E><R><A>1</A></R></E>"), layout)


def test_a_file_of_ever_new_names_is_refused(write):
    path = write("<D><R>" + "".join(f"<V{i}/>" for i in range(20_001)) + "</R></D>")
    with refused(DocumentError, "not-microdata"):
        survey(path)
