"""Names of columns as names of elements: SQL/XML's escapes, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from masktron.errors import DocumentError
from masktron.sources.record_layout import column_name
from masktron.sources.tables.column_names import xml_name, xml_names
from refusals import refused


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("Income", "Income"),
        ("annual income", "annual_x0020_income"),
        ("Miete (€)", "Miete_x0020__x0028__x20AC__x0029_"),
        ("\u0132", "_x0132_"),
        ("Höhe", "Höhe"),
        ("2024", "_x0032_024"),
        ("a:b", "a_x003A_b"),
        ("x-1.5_z", "x-1.5_z"),
        ("-x", "_x002D_x"),
        ("a_x0020_b", "a_x005F_x0020_b"),
        ("größe", "größe"),
        ("💶", "_x01F4B6_"),  # of no XPath
        ("a\U000f0000", "a_x0F0000_"),
        ("@id", "@id"),
        ("@xmlns", "@_x0078_mlns"),
        ("@", "_x0040_"),
        ("{a}b", "_x007B_a_x007D_b"),
    ],
)
def test_names_are_escaped_as_sql_xml_does(column: str, name: str) -> None:
    assert xml_name(column) == name
    assert column_name(name) == column


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_every_name_comes_back_and_is_one_of_xml(column: str) -> None:
    name = xml_name(column)
    assert column_name(name) == column
    etree.Element("r").set(name[1:], "") if name.startswith("@") else etree.Element(name)


def test_columns_without_a_name_of_their_own_are_refused() -> None:
    with refused(DocumentError, "column-without-name", column=2):
        xml_names(["a", ""], "f")
    with refused(DocumentError, "name-taken", name="a", first="by column 1"):
        xml_names(["a", "b", "a"], "f")


def test_what_is_no_character_stays() -> None:
    assert column_name("_xFFFFFF_a_x0020_b") == "_xFFFFFF_a b"
