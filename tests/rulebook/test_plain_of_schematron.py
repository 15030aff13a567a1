"""Rules of Schematron as plain rules: they fail on the same records, and rules that were plain come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.plain.conditions import Conditions, Records
from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.kinds import kinds_by_use
from masktron.rulebook.plain.spelling import UnspelledError, spelled
from masktron.rulebook.plain.tree import Kind, Node
from masktron.rulebook.plain_of_schematron import plain_of_rulebook
from masktron.rulebook.plain_of_xpath import FieldsByPath, PlainOfXPath
from masktron.rulebook.schematron.reader import read_rules
from paths import ROOT
from plain_strategies import FIELDS, TEXTS, conditions

KINDS: dict[str, Kind] = {**dict.fromkeys(FIELDS, "number"), **dict.fromkeys(TEXTS, "text")}  # type: ignore[dict-item]
VALUES = (None, "", "0", "1", "2", "-1", "3", "10", "2.5", "word")
WORDS = (None, "", "x", "y", "z w")
RECORDS = st.lists(
    st.fixed_dictionaries(
        {**{name: st.sampled_from(VALUES) for name in FIELDS}, **{name: st.sampled_from(WORDS) for name in TEXTS}}
    ),
    min_size=20,
    max_size=20,
)


def plain_of(test: str, *, later: bool = False, truth: bool = True) -> tuple[Node, list[str]]:
    records = Records()
    made = PlainOfXPath(FieldsByPath(parsed, records, known=False, whole=False), {}, later)
    node = made.condition(parsed(test), truth)
    return node, [*made.caveats]


def compiled(node: Node, *, strict: bool = False) -> str:
    return Conditions(Records(), {**kinds_by_use([node]), **KINDS}).written(node).test(strict)


def verdicts(test: str, records: list[dict[str, str | None]]) -> list[bool]:
    found = []
    for values in records:
        record = etree.Element("Record")
        for name, value in values.items():
            if value is not None:
                etree.SubElement(record, name).text = value
        found.append(bool(record.xpath(f"boolean({test})")))
    return found


@given(conditions(), st.booleans(), RECORDS)
@settings(max_examples=600, deadline=None)
def test_a_compiled_rule_comes_back_with_its_verdicts(
    node: Node, strict: bool, records: list[dict[str, str | None]]
) -> None:
    written = compiled(node, strict=strict)
    try:
        again, caveats = plain_of(written)
    except UnspelledError as error:
        assert "ratio" in str(error)
        return
    if caveats:
        assert caveats == ["here, a text that is no number is not missing"]  # of a == a
        return
    assert verdicts(compiled(parse(spelled(again))), records) == verdicts(written, records)


@pytest.mark.parametrize(
    "rule",
    [
        "a + b == c",
        "if a == 1 then b == 2",
        "if a == 1 then b == 2 else c == 3",
        's in {"x", "y"}',
        "a in 1..5",
        "a / b <= 3",
        "a %% b == 0",
        'if s == "x" then missing(b)',
        "abs(a - b) <= 2",
        "abs(a - b) > 2",
        "is_unique(a, s)",
        "sum(w) by s == a",
        "mean(w, na.rm=TRUE) by s <= a",
        "count() by s > 2",
        'if s in {"x", "y"} then a != 3',
        "lag(a) <= a",
        "nchar(s) == 4",
        'matches(s, "^a")',
        "missing(a)",
    ],
)
def test_plain_rules_come_back_as_they_were(rule: str) -> None:
    later = "matches" in rule
    assert spelled(plain_of(compiled(parse(rule)), later=later)[0]) == spelled(parse(rule))


@pytest.mark.parametrize(
    ("test", "rule"),
    [
        ("a + b = c", "!missing(a) and !missing(b) and !missing(c) and a + b == c"),
        ("not(s = 'x' or s = 'y') or number(a) = 0", 'if s in {"x", "y"} then !missing(a) and a == 0'),
        ("0 <= number(a) and number(a) <= 7500", "!missing(a) and a in 0..7500"),
        ("a > 0 or b = 0", "(!missing(a) and a > 0) or (!missing(b) and b == 0)"),
        ("number(a) != 3", "a != 3"),
        ("not(a > b)", "not a > b"),
        ("a div b > 2", "not (a == 0 and b == 0) and !missing(a) and !missing(b) and a / b > 2"),
        ("a mod 1 = 0", "!missing(a) and a %% 1 == 0"),
        ("string-length(s) = 4", "!missing(s) and nchar(s) == 4"),
        ("string-length(s) <= 4", "nchar(s) <= 4"),
        ("string-length(s) > 0", "!missing(s) and nchar(s) > 0"),
        ("number(a) = number(b)", "!missing(a) and !missing(b) and 0 + a == b"),
        ("string(s) != ''", "!missing(s)"),
        ("floor(a) = a", "!missing(a) and floor(a) == a"),
    ],
)
@given(records=RECORDS)
@settings(max_examples=20, deadline=None)
def test_tests_of_schematron_fail_on_the_same_records(
    test: str, rule: str, records: list[dict[str, str | None]]
) -> None:
    node, caveats = plain_of(test)
    assert spelled(node) == rule
    assert not caveats
    assert verdicts(compiled(node), records) == verdicts(test, records)


@pytest.mark.parametrize(
    ("test", "rule", "caveat"),
    [
        ("not(b) or a >= 18", "missing(b) or (!missing(a) and a >= 18)", "here, an empty b is missing"),
        ("a != 3", "a != 3", "where there is no a at all, the test fails"),
        ("sum(P/a) = number(b)", "!missing(b) and sum(P.a, na.rm=TRUE) == b", "where P.a is empty, the test fails"),
        ("s = t", "!missing(s) and !missing(t) and s == t", "where both s and t are empty, the test holds"),
    ],
)
def test_what_may_differ_is_told(test: str, rule: str, caveat: str) -> None:
    node, caveats = plain_of(test)
    assert spelled(node) == rule
    assert caveats == [caveat]


@pytest.mark.parametrize(
    "test",
    ["a mod 3 = 1", "contains(s, 'x')", "a = //b", "s < 'x'", "count(P[a = 1]) = 2", "$unknown = 1", "a[1] = 2", "1"],
)
def test_what_plain_rules_cannot_say_has_a_reason(test: str) -> None:
    with pytest.raises(UnspelledError):
        plain_of(test)


def test_later_versions_order_fields_as_texts() -> None:
    with pytest.raises(UnspelledError, match="texts"):
        plain_of("a < b", later=True)


def test_a_report_fails_where_its_test_holds() -> None:
    assert spelled(plain_of("a > 3", truth=False)[0]) == "not a > 3"


def test_contexts_and_earlier_rules_of_a_pattern_are_premises(tmp_path: Path) -> None:
    rules = tmp_path / "rules.sch"
    rules.write_text(
        """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
  <let name="codes" value="3"/>
  <pattern>
    <rule context="Record[s = 'x']"><let name="two" value="b + 1"/>
      <assert id="one" test="a = $two">A is one more.</assert></rule>
    <rule context="Record"><report id="two" role="info" test="a = $codes">A is 3.</report></rule>
    <rule context="Record"><assert id="three" test="a = 1">No record comes here.</assert></rule>
  </pattern>
</schema>""",
        encoding="utf-8",
    )
    one, two, three = plain_of_rulebook(read_rules(rules))
    assert one.rule is not None
    assert two.rule is not None
    assert one.rule.written == 'if s == "x" then !missing(a) and !missing(b) and a == b + 1'
    assert two.rule.written == '(!missing(s) and s == "x") or a != 3' or two.rule.written.startswith("if a == 3")
    assert (one.rule.label, two.rule.severity) == ("A is one more.", "information")
    assert three.rule is None
    assert "a rule before it" in three.reason


SPELT = {
    "business": (20, 22),
    "census_edit_paper": (4, 4),
    "census_edit_paper_domain": (4, 5),
    "census_real": (4, 4),
    "eia": (3, 3),
    "eia_tolerance": (3, 3),
    "establishments": (8, 14),
    "household": (23, 26),
    "persons": (16, 25),
}
"""How many rules of our rulebooks have a spelling in plain text, and how many rules they have."""


@pytest.mark.parametrize("name", sorted(SPELT))
def test_most_rules_of_our_rulebooks_have_a_spelling(name: str) -> None:
    found = plain_of_rulebook(read_rules(ROOT / "rules" / f"{name}.sch"))
    assert (sum(one.rule is not None for one in found), len(found)) == SPELT[name]
    assert all(one.rule is not None or one.reason for one in found)


def test_conditions_within_conditions_take_no_longer_than_their_text() -> None:
    test = "a = 1"
    for level in range(30):
        test = f"if (b > {level}) then ({test}) else c = {level}"
    assert plain_of(test, later=True)[0]
