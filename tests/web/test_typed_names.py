"""Names in one line of a form: commas between, and quotation marks around names that have commas."""

from __future__ import annotations

import pytest

from masktron.errors import UsageError
from masktron.web.pages.protect_step import names_told, names_typed
from refusals import refused


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("COUNTY, TOWN", ["COUNTY", "TOWN"]),
        (" COUNTY ,TOWN,", ["COUNTY", "TOWN"]),
        ('"Town, code"', ["Town, code"]),
        ('COUNTY , "Town, code" , X', ["COUNTY", "Town, code", "X"]),
        ('"a ""b"", c",d', ['a "b", c', "d"]),
        ('5" pipe, X', ['5" pipe', "X"]),
        ('" led",X', [" led", "X"]),
        (",, ,", []),
        ("", []),
    ],
)
def test_names_are_read(typed: str, names: list[str]) -> None:
    assert names_typed("swap.regions", typed) == names
    assert names_typed("swap.regions", names_told(names)) == names


@pytest.mark.parametrize("typed", ['"Town, code', 'X, "a" b', '"a""', '"'])
def test_a_quotation_mark_that_nobody_closes_is_told_at_its_field(typed: str) -> None:
    with refused(UsageError, "bad-value", name="swap.keys"):
        names_typed("swap.keys", typed)
