"""From XPath text to the tree: what is read, from where, and what is left unknown."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.errors import RulebookError
from masktron.reading.contexts import places
from masktron.reading.nodes import (
    Arithmetic,
    Call,
    Comparison,
    ContextRecord,
    FieldRef,
    Not,
    Number,
    OtherField,
    OtherNodes,
    Sequence,
    Text,
    Unknown,
    VariableReference,
    fields_of,
    reads_everything,
)
from masktron.reading.plain_text import decimal_text, source_of
from masktron.reading.reader import ROOT, Scope, read
from refusals import refused

SCOPE = Scope(namespaces=(("h", "urn:h"),), record_names=frozenset({"Record"}))
IN_V3 = Scope(FieldRef("V3"), namespaces=SCOPE.namespaces, record_names=SCOPE.record_names, base=FieldRef("V3"))


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ("V1", FieldRef("V1")),
        ("./V1", FieldRef("V1")),
        ("child::V1", FieldRef("V1")),
        ("self::node()/V1", FieldRef("V1")),
        ("current()/V1", FieldRef("V1")),
        ("V1[1]", FieldRef("V1")),
        (".//V1", FieldRef("V1")),
        ("V1/text()", FieldRef("V1", text=True)),
        ("@id", FieldRef("@id")),
        ("attribute::id", FieldRef("@id")),
        ("h:V1", FieldRef("V1", "urn:h")),
        ("@h:id", FieldRef("@id", "urn:h")),
        ("*:V1", FieldRef("V1", "*")),
        ("*[local-name() = 'V1']", FieldRef("V1", "*")),
        ("Q{urn:h}V1", FieldRef("V1", "urn:h")),
        ("div", FieldRef("div")),
    ],
)
def test_fields_from_a_record(source: str, field: FieldRef) -> None:
    assert read(source, SCOPE) == field


@pytest.mark.parametrize(
    ("source", "field"),
    [
        (".", FieldRef("V3")),
        ("current()", FieldRef("V3")),
        ("text()", FieldRef("V3", text=True)),
        ("../V7", FieldRef("V7")),
        ("../@id", FieldRef("@id")),
        ("parent::Record/V7", FieldRef("V7")),
    ],
)
def test_fields_from_a_field(source: str, field: FieldRef) -> None:
    assert read(source, IN_V3) == field


def test_the_same_path_from_the_root_is_outside_the_record() -> None:
    found = read("Record/V1", SCOPE.at(ROOT))
    assert isinstance(found, OtherNodes)
    assert (found.document, found.field) == (None, "V1")


def test_predicates_on_other_records_keep_both_sides_apart() -> None:
    found = read("//Record[ID = current()/ID]/V1", SCOPE)
    assert isinstance(found, OtherNodes)
    assert found.where == (Comparison("=", OtherField("ID"), FieldRef("ID")),)
    assert (found.path, found.field) == ("//Record/V1", "V1")


def test_a_document_is_followed_through_a_variable() -> None:
    scope = SCOPE.bind("original", read("document('m.xml')", SCOPE))
    found = read("$ original //Record/V1", scope)
    assert isinstance(found, OtherNodes)
    assert (found.document, found.path, found.field) == ("m.xml", "//Record/V1", "V1")


def test_blanks_before_names_of_variables_leave_string_literals_alone() -> None:
    found = read("concat('$ x', $ x, \"$ y\", $\ty)", SCOPE)
    assert found == Call("concat", (Text("$ x"), VariableReference("x"), Text("$ y"), VariableReference("y")))


def test_names_with_a_minus_are_one_name() -> None:
    assert fields_of(read("V14-V9 = V2 - V3", SCOPE)) == {"V14-V9", "V2", "V3"}


@pytest.mark.parametrize("literal", ["0.1", "1.10", ".5", "5.", "3", "100000000000000000000.25"])
def test_literals_are_exact(literal: str) -> None:
    assert read(literal, SCOPE) == Number(Fraction(literal))


def test_sequences_and_unions() -> None:
    assert read("(V1, (2, 'a'))", SCOPE) == Sequence((FieldRef("V1"), Number(Fraction(2)), Text("a")))
    assert read("V1 | V2 | V1", SCOPE) == Sequence((FieldRef("V1"), FieldRef("V2")), union=True)


def test_multiplication_and_wildcard_are_told_apart() -> None:
    assert isinstance(read("V1 * V2", SCOPE), Arithmetic)
    assert isinstance(read("*", SCOPE), Unknown)


@pytest.mark.parametrize(
    ("source", "names", "everything", "outside"),
    [
        ("*[starts-with(name(), 'V')]", set(), True, False),
        ("V1[. > 2]", {"V1"}, False, False),
        ("h:V1/h:part", {"V1", "part"}, False, False),
        ("for $r in //Record return $r/V1", {"V1"}, False, True),
        ("key('k', V1)", {"V1"}, False, True),
        ("position()", set(), False, True),
        ("@h:*", set(), True, False),
    ],
)
def test_what_is_unknown_still_says_what_it_reads(
    source: str, names: set[str], everything: bool, outside: bool
) -> None:
    found = read(source, SCOPE)
    assert isinstance(found, Unknown)
    assert (set(found.fields), found.everything, found.outside) == (names, everything, outside)
    assert reads_everything(found) == everything


def test_comparisons_of_comparisons_are_not_understood() -> None:
    assert read("not(1 < V1 < 5)", SCOPE) == Not(Unknown("1 < V1 < 5", ("V1",)))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("key('k',V1)", "key('k', V1)"),
        ("  (( V1[position( )>-1 ]))", "V1[position() > -1]"),
        ("V1[A=3 and\n  *=2][2*A to 4]", "V1[A = 3 and * = 2][2 * A to 4]"),
        ("h:*[h:V1 div 2*-1]/h:b", "h:*[V1 div 2 * -1]/b"),
        ("for  $ i in (1,V2),$j in *return $h:x+name(.)", "for $i in (1, V2), $j in * return $x + name(.)"),
        ("V1[if(A=1)then'a'else  \"b'\"]", "V1[if (A = 1) then 'a' else \"b'\"]"),
        ("V1[. instance  of xs:integer?]!(.||'x')", "V1[. instance of xs:integer?] ! (. || 'x')"),
        ("V1 (: one :) [@as=1 or(.)castable as xs:date]", "V1[@as = 1 or (.) castable as xs:date]"),
        ("(V1,*)[2]", "(V1, *)[2]"),
    ],
)
def test_what_is_unknown_is_shown_on_one_line(written: str, shown: str) -> None:
    found = read(written, SCOPE)
    assert isinstance(found, Unknown)
    assert found.source == shown


def test_long_chains_do_not_exhaust_the_stack() -> None:
    assert len(fields_of(read(" or ".join(f"V{i} = 1" for i in range(3000)), SCOPE))) == 3000


@pytest.mark.parametrize("source", ["V1 >", "((", "foo(V1)", "x:V1 = 3", "1 <", "not(" * 5000 + "1" + ")" * 5000])
def test_what_is_no_xpath_is_an_error_of_the_rulebook(source: str) -> None:
    with refused(RulebookError, "xpath-error"):
        read(source, SCOPE)


@pytest.mark.parametrize(
    "source",
    [
        "V9 + V10 = V14",
        "not(number(V8) < 1115) or V13 <= V12",
        "if (V1 = 1) then V2 else -V3 > 2",
        "V1 castable as xs:integer",
        "(V1 cast as xs:decimal?) le 5",
        "sum((V1 | V2)) = 'it''s'",
        "V1 = (1 to 5)",
    ],
)
def test_writing_a_tree_and_reading_it_again_gives_the_tree(source: str) -> None:
    tree = read(source, SCOPE)
    assert read(source_of(tree), SCOPE) == tree


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_are_written_exactly(value: object) -> None:
    assert Fraction(decimal_text(Fraction(str(value)))) == Fraction(str(value))


def test_fractions_without_decimal_are_written_as_such() -> None:
    assert decimal_text(Fraction(-2, 3)) == "-2/3"


# --- contexts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "kind", "focus"),
    [
        ("Record", "record", ContextRecord()),
        ("/Records/Record", "record", ContextRecord()),
        ("//Record[V1 > 5]", "record", ContextRecord()),
        ("V3", "field", FieldRef("V3")),
        ("Record/V3", "field", FieldRef("V3")),
        ("@id", "field", FieldRef("@id")),
        ("h:V3", "field", FieldRef("V3", "urn:h")),
        ("*", "any", ROOT),
        ("/", "outside", ROOT),
        ("/Records", "outside", ROOT),
        ("Household/V3", "outside", ROOT),
        ("text()", "outside", ROOT),
    ],
)
def test_places(context: str, kind: str, focus: object) -> None:
    (place,) = places(context, SCOPE)
    assert (place.kind, place.focus) == (kind, focus)


def test_alternatives_of_a_context_are_places_of_their_own() -> None:
    assert [place.kind for place in places("Record | V1 | @id", SCOPE)] == ["record", "field", "field"]


def test_predicates_of_record_and_field_are_read_from_where_they_stand() -> None:
    (place,) = places("Record[V1 > 5]/V3[. > ../V2]", SCOPE)
    assert [source_of(condition) for condition in place.conditions] == ["V3 > V2", "V1 > 5"]


def test_a_position_is_no_condition_on_fields() -> None:
    (place,) = places("Record[2]", SCOPE)
    assert place.conditions == (Unknown("2", outside=True),)


def test_names_that_the_file_does_not_have_lie_outside() -> None:
    (place,) = places("Header", SCOPE, frozenset({"V1"}))
    assert place.kind == "outside"
