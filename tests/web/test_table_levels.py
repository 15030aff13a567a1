"""Levels of one table as a form says them: columns as people type them, and what settings get of them."""

from __future__ import annotations

import pytest

from masktron.web.pages.data_step import levels_said
from masktron.web.web_page import FormFields

NAMES = {"unit": "Household", "member": "Person"}


@pytest.mark.parametrize(
    "typed", ["Size, Region", "Size;Region", "Size\nRegion\n", 'fields = ["Size", "Region"]', " 'Size' , Region, "]
)
def test_columns_are_read_as_people_type_them(typed: str) -> None:
    said = {**NAMES, "unit_key": "HID", "unit_fields": typed}
    assert levels_said(FormFields(said.items())) == {
        "Household": {"key": "HID", "fields": ["Size", "Region"]},
        "Person": {"same_table": True},
    }


def test_keys_of_both_levels_are_said_one_column_or_several() -> None:
    said = {**NAMES, "unit_key": "Area, HID", "member_key": "PID"}
    assert levels_said(FormFields(said.items())) == {
        "Household": {"key": ["Area", "HID"]},
        "Person": {"same_table": True, "key": "PID"},
    }
    assert levels_said(FormFields({**said, "unit_key": " "}.items())) is None
