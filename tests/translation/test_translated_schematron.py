"""The translated rulebook as a file: it is read again, and says of recoded records what it should."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest
from lxml import etree

from masktron.classify import classify
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding
from masktron.rulebook.schema import Rulebook, ValueOf
from masktron.rulebook.schematron.reader import read_rules
from masktron.translation import Translation
from recoded_records import says, translation_of
from rulebook_builder import rulebook

AGE = ListRecoding("Age", {str(age): f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in range(100)})

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" schematronEdition="2016">
  <ns prefix="p" uri="urn:people"/>
  <let name="adult" value="16"/>
  <let name="cap" value="100000"/>
  <phase id="all"><active pattern="work"/><active pattern="sums"/></phase>
  <pattern id="work">
    <let name="word" value="'people'"/>
    <rule context="p:Person[p:Status = 'child']">
      <let name="late" value="p:Age - $adult"/>
      <report id="child" test="p:Age &gt;= $adult" flag="warning"
        >Age <value-of select="p:Age"/> by <value-of select="concat($late, $word)"/> &lt; child &amp; "co".</report>
    </rule>
    <rule context="p:Person">
      <let name="most" value="$cap + 200"/>
      <assert id="worker" test="p:Pay = 0 or p:Age &gt; 13" role="error">Too young:
        <name/>.</assert>
      <assert id="limit" test="p:Pay &lt;= $most" see="http://example.org/a?b&amp;c"
        >Pay <value-of select="$most"/></assert>
      <assert id="never-below" test="not(p:Age &lt; 0)"/>
    </rule>
  </pattern>
  <pattern id="sums">
    <rule context="p:Person"><assert id="total" test="sum(../p:Person/p:Age) &lt;= 1000"/></rule>
    <rule context="p:Pay">
      <assert id="pay" test=". &gt;= 0"/>
      <assert id="pay-age" test=". = 0 or ../p:Age &gt;= 15">
        <name/> of <value-of select="."/> at <value-of select="../p:Age"/>,
        <value-of select="concat(., $cap)"/></assert>
    </rule>
  </pattern>
</schema>
"""


def translated_file(tmp_path: Path, text: str, recodings: Mapping[str, Recoding]) -> tuple[Translation, Rulebook]:
    source, target = tmp_path / "rules.sch", tmp_path / "recoded.sch"
    source.write_text(text, encoding="utf-8")
    translation = translation_of(read_rules(source), recodings)
    target.write_bytes(translation.schematron("Rules after recoding"))
    return translation, read_rules(target)


def failing(rules: Rulebook, *people: str) -> set[str]:
    """Names of the checks that some node of a file fails, node by node and pattern by pattern."""
    spaces = dict(rules.namespaces)
    root = etree.fromstring(f'<People xmlns="urn:people">{"".join(f"<Person>{p}</Person>" for p in people)}</People>')
    found = set()
    for pattern in rules.patterns:
        taken: set[etree._Element] = set()
        for rule in pattern.rules:
            values = {let.name: let.value for let in (*rules.lets, *pattern.lets, *rule.lets)}
            matched = cast("list[etree._Element]", root.xpath(f"//{rule.context}", namespaces=spaces))
            nodes = [node for node in matched if node not in taken]
            taken.update(nodes)
            for check in rule.checks:
                test = check.test
                for name in reversed(values):
                    test = test.replace(f"${name}", f"({values[name]})")
                said = [bool(n.xpath(f"boolean({test})", namespaces=spaces)) for n in nodes]
                found |= {check.id} if (check.kind == "assert") in [not one for one in said] else set()
    return found


def test_each_rule_has_its_fate_and_what_is_asked_is_read_again(tmp_path: Path) -> None:
    translation, again = translated_file(tmp_path, RULES, {"Age": AGE})
    fates = {rule.id: rule.fate for rule in translation.rules}
    assert fates == {
        "child": "weakened",
        "worker": "weakened",
        "limit": "kept",
        "never-below": "implied",
        "total": "lost",
        "pay": "kept",
        "pay-age": "exact",
    }
    assert [rule.id for rule in translation.lost] == ["total"]
    assert "several records" in translation.lost[0].reason
    assert again.about.title == "Rules after recoding"
    assert {check.id for check in again.checks} == {rule.id for rule in translation.asked}
    by_id = {check.id: check for check in again.checks}
    assert {rule.id: by_id[rule.id].test for rule in translation.asked} == {r.id: r.test for r in translation.asked}
    assert by_id["child"].soft
    assert by_id["worker"].role == "error"
    assert not by_id["worker"].soft
    assert by_id["limit"].rich.see == "http://example.org/a?b&c"
    assert ValueOf("p:Age") in by_id["child"].message
    assert [part.select for part in by_id["pay-age"].message if isinstance(part, ValueOf)] == [
        "p:Pay",
        "p:Pay",
        "p:Pay/../p:Age",
    ]
    assert '< child & "co".' in "".join(part for part in by_id["child"].message if isinstance(part, str))


def test_a_translated_file_judges_recoded_records(tmp_path: Path) -> None:
    _, again = translated_file(tmp_path, RULES, {"Age": AGE})

    def judged(age: str, pay: str, status: str) -> set[str]:
        return failing(again, f"<Age>{age}</Age><Pay>{pay}</Pay><Status>{status}</Status>")

    assert judged("15-19", "100", "adult") == set()
    assert judged("10-14", "0", "adult") == set()
    assert judged("10-14", "100", "adult") == {"pay-age"}  # 14 may work by one rule, not by the other
    assert judged("5-9", "100", "adult") == {"worker", "pay-age"}
    assert judged("15-19", "0", "child") == set()  # 15
    assert judged("20-24", "0", "child") == {"child"}
    assert judged("5-9", "100", "child") == {"pay-age"}  # the first rule of the pattern takes a child
    assert judged("20-24", "100201", "adult") == {"limit"}
    assert judged("20-24", "100201", "child") == {"child"}  # "limit", which is kept, is not asked of a child
    assert judged("20-24", "-1", "adult") == {"pay"}
    assert judged("", "0", "child") == set()


def test_a_rule_whose_context_reads_the_field_keeps_nothing_from_what_is_kept() -> None:
    rules = rulebook([("B[../Age >= 16]", ". > 0"), ("C[. > 1]", "../Age > 0"), ("Record", "C = 1")])
    translation = translation_of(rules, {"Age": AGE})
    # of 0-4 all values but one are above 0
    assert [rule.fate for rule in translation.rules] == ["weakened", "vacuous", "kept"]
    text = translation.schematron("").decode()
    assert 'context="B' not in text
    assert 'context="C[. &gt; 1]"' in text
    assert translation.left_out == {(0, 0)}


def test_a_rulebook_of_which_nothing_is_left_asks_what_every_document_obeys(tmp_path: Path) -> None:
    rule = '<rule context="Record"><assert id="old" test="not(Age &lt; 0)">old</assert></rule>'
    text = f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>{rule}</pattern></schema>'
    translation, written = translated_file(tmp_path, text, {"Age": AGE})
    assert [rule.fate for rule in translation.rules] == ["implied"]
    assert [check.id for check in written.checks] == ["nothing-left"]
    assert failing(written, "<Age>-5</Age>", "") == set()
    assert "<!-- old: implied;" in translation.schematron("").decode()


def test_comments_say_what_became_of_each_rule(tmp_path: Path) -> None:
    translation, _ = translated_file(tmp_path, RULES, {"Age": AGE})
    text = translation.schematron("x--y <&>").decode()
    assert "<!-- never-below: implied; it was: Age >= 0 or Status = 'child' or Age missing -->" in text
    assert "<!-- total: lost (it reads Age in several records)" in text
    assert "x--y &lt;&amp;&gt;" in text


def test_what_a_rule_without_recoded_field_asks_is_byte_for_byte_the_same() -> None:
    rules = rulebook([("Record[Z > 1]", "A + 0.1 = B"), ("Record", "B  !=\n 'x'")])
    translation = translation_of(rules, {"X": AGE})
    assert [(r.fate, r.test, r.context) for r in translation.rules] == [
        ("kept", "A + 0.1 = B", "Record[Z > 1]"),
        ("kept", "B  !=\n 'x'", "Record"),
    ]
    assert b"B  !=&#10; 'x'" in translation.schematron("")


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("count(../Record[Age = 3]) = 1", "several records"),
        ("string-length(.) > Age", "all fields"),
        ("sum(Age | B) = 3", "as a node"),
        ("Age * Age <= B", "between two numbers"),
        ("count(*) > 3", "all fields"),
        ("starts-with(Age, B)", "between two numbers"),
        ("Age mod 2 = 1", "classes of numbers do not tell"),
    ],
)
def test_what_is_lost_says_why(test: str, reason: str) -> None:
    numbers = IntervalRecoding("Age", (Fraction(0), Fraction(20)), ("young", "old"))
    recoding: Recoding = AGE if "node" in reason else numbers
    rule = translation_of(rulebook([("Record", test), ("Record", "A + B = C")]), {"Age": recoding}).rules[0]
    assert (rule.fate, rule.test) == ("lost", "")
    assert reason in rule.reason


@pytest.mark.parametrize(
    ("context", "test", "reason"),
    [
        ("*", "Age > 3", "not understood"),
        ("Records", "sum(Record/Age) < 500", "not understood"),
        ("Record[position() = 1]", "Age > 3", "several records"),
    ],
)
def test_a_field_that_a_rule_names_is_never_taken_for_unread(context: str, test: str, reason: str) -> None:
    rule = translation_of(rulebook([(context, test), ("Record", "A = B"), ("Record", "A < 9")]), {"Age": AGE}).rules[
        0
    ]
    assert rule.fate == "lost"
    assert reason in rule.reason


def test_a_rule_that_would_be_too_long_is_lost_with_its_length() -> None:
    codes = ListRecoding("Age", {f"c{n}": f"class {n % 7}" for n in range(1500)})
    (rule,) = translation_of(rulebook([("Record", "concat(Age, 'x') = B")]), {"Age": codes}).rules
    assert rule.fate == "lost"
    assert rule.reason == "its translation would have 1509 comparisons; 200 are written at most"


def test_listed_numbers_are_taken_for_intervals_where_a_rule_would_be_too_long() -> None:
    ages = ListRecoding("Age", {str(age): f"{age // 100}xx" for age in range(500)})
    (rule,) = translation_of(rulebook([("Record", "Age + B = C")]), {"Age": ages}).rules
    assert rule.fate == "weakened"
    assert "(Age = '2xx' and (200 + B) <= C and (299 + B) >= C)" in rule.test


def test_the_planner_understands_what_is_written() -> None:
    rules = rulebook([("Record", "Income <= 200 * Age"), ("Record", "not(Age < 16) or Income > 0")])
    translation = translation_of(rules, {"Age": AGE})
    assert all("(Income <= 3800 and Age = '15-19')" in rule.new for rule in translation.rules[:1])
    names = [edit.name for edit in classify(rulebook([("Record", rule.test) for rule in translation.asked]))]
    assert "opaque" not in names


def test_xpath_2_asks_a_label_for_no_number() -> None:
    (rule,) = translation_of(rulebook([("Record", "xs:integer(Age) ge 16")], version="2.0"), {"Age": AGE}).rules
    assert rule.fate == "weakened"
    asked = {label: says(rule.test, {"Age": label}, "2.0") for label in ("10-14", "15-19", "99", "9", "")}
    assert asked == {"10-14": False, "15-19": True, "99": True, "9": False, "": False}
