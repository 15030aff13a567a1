"""Doubts that are worth a line to the author of a rule."""

from __future__ import annotations

from typing import Any

import pytest

from masktron.classify import classify
from masktron.classify.forms import form_of
from masktron.classify.reading import equality_lints
from rulebook_builder import edit_of, layout, rulebook

FILE = layout("V1", "V2", "V9", "V14", "INCOME")
NAMESPACED = layout("V1", namespace="urn:h")


@pytest.mark.parametrize(
    ("test", "options", "lint"),
    [
        ("V3 <= V7", {"version": "2.0"}, "compares text, not numbers"),
        ("V3 <= '7500'", {"version": "2.0"}, "compares text, not numbers"),
        ("V1 le 5", {"version": "2.0"}, "XPath 2 refuses"),
        ("V1 = V2", {}, "compares text, not numbers"),
        ("V14-V9 = 0", {"of": FILE}, "V14-V9 is one name in XPath, not a difference: write V14 - V9 with blanks"),
        ("V14-V9 = 0 and V14 > 0 and V9 > 0", {}, "V14-V9 is one name in XPath"),
        ("INCOM > 0", {"of": FILE}, "the file has no field INCOM: did you mean INCOME?"),
        ("QQQ > 0", {"of": FILE}, "the file has no field QQQ"),
        ("V1 > 0", {"of": NAMESPACED}, "V1 has no prefix, but the file's V1 is in the namespace urn:h"),
        ("h:V1 > 0", {"of": FILE, "namespaces": {"h": "urn:h"}}, "in the namespace urn:h, where the file has none"),
        ("V1 * 0.1 = V2", {}, "equality on decimals (V1, V2) without tolerance"),
        ("'V1 > 3'", {}, "always true: take out the quotes"),
        ("number('abc')", {}, "no record can satisfy this rule"),
        ("1 = 1", {}, "this assert cannot fail: it does not depend on the record"),
        ("V1 > 3 or not(V1 > 3)", {}, "this assert cannot fail"),
        ("1 = 2", {"kind": "report"}, "this report never fires"),
        ("$x > V1", {}, "the variable $x is not defined"),
    ],
)
def test_lint(test: str, options: dict[str, Any], lint: str) -> None:
    assert any(lint in str(found) for found in edit_of(test, **options).lints)


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("V3 <= V7", {}),
        ("number(V3) <= number(V7)", {"version": "2.0"}),
        ("V9 + V14 = V1", {"of": FILE}),
        ("h:V1 > 0", {"of": NAMESPACED, "context": "h:Record", "namespaces": {"h": "urn:h"}}),
        ("*:V1 > 0", {"of": NAMESPACED, "context": "*:Record"}),
        ("abs(V1 * 0.1 - V2) <= 0.01", {"version": "2.0"}),
        ("V1 = 'a' or V1 = 'b'", {"version": "2.0"}),
        ("V1 = '5'", {}),
    ],
)
def test_no_lint(test: str, options: dict[str, Any]) -> None:
    assert edit_of(test, **options).lints == ()


@pytest.mark.parametrize(
    ("first", "second", "shadowed"),
    [
        ("Record", "Record", True),
        ("Record", "Record[V1 > 5]", True),
        ("*", "Record", True),
        ("V1 | Record", "Record", True),
        ("Record[V1 > 5]", "Record", False),
        ("V1", "Record", False),
        ("Record", "V1", False),
    ],
)
def test_shadowed_rules(first: str, second: str, shadowed: bool) -> None:
    edits = classify(rulebook([(first, "../V2 = V2"), (second, "V2 > 0")]), layout("V1", "V2"))
    assert any("never fires" in str(lint) for lint in edits[1].lints) == shadowed


def test_decimals_of_the_data_show_where_equality_is_fragile() -> None:
    form = form_of(edit_of("V9 + V10 = V14").constraint)
    assert equality_lints(form) == []
    assert equality_lints(form, {"V9": 0, "V10": 0, "V14": 0}) == []
    (said,) = equality_lints(form, {"V9": 1, "V10": 3, "V14": 2})
    assert "half a unit of the last digit, as in A - B <= 0.0005 and B - A <= 0.0005" in said
