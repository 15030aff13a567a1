"""A change of a rule is read back, and leaves every other byte of its file as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masktron.errors import RulebookError, UsageError
from masktron.rulebook.schematron.reader import read_rules
from masktron.rulebook_text.rule_changes import (
    NewRule,
    accepted_rules,
    alone,
    empty_rulebook,
    moved,
    with_parts,
    with_rules,
    without,
)
from masktron.rulebook_text.rule_entries import RulesInText, includes_of, rules_in
from masktron.rulebook_text.spans import NotInPlaceError
from paths import ROOT
from refusals import refused

HOUSEHOLD = (ROOT / "rules" / "household.sch").read_bytes()
HEAD = '<sch:schema xmlns:sch="http://purl.oclc.org/dsdl/schematron">'
PATTERN = f"""<?xml version="1.0"?>
{HEAD}
  <!-- before --><sch:title>t</sch:title>
  <sch:phase id="p"><sch:active pattern="named"/></sch:phase>
  <sch:pattern id="named">
    <!-- of a -->
    <sch:rule context='A[x = "1"]'>
      <sch:assert test='b > 1'
                  id="one" role="warning">one <sch:value-of select="b"/></sch:assert> <!-- beside -->
      <sch:assert test="c">two<!-- kept --></sch:assert>
    </sch:rule>
    <sch:rule context="A"><sch:report test="d" id="three">three <sch:emph>x</sch:emph></sch:report></sch:rule>
    <sch:rule context="B"><sch:assert test="e" id="four"/></sch:rule>
  </sch:pattern>
  <sch:pattern><sch:rule context="C"><sch:assert test="f" id="five">five</sch:assert></sch:rule></sch:pattern>
</sch:schema>
""".encode()
XML_TEXT = st.text(
    st.characters(
        min_codepoint=32, exclude_categories=("Cs", "Co", "Cn"), exclude_characters="{}\x7f\u0085\u2028\xa0"
    ),
    min_size=1,
    max_size=20,
).filter(lambda text: text.strip() and " ".join(text.split()) == text)


def parts_of(rules: RulesInText, name: str) -> tuple[str, str, str]:
    entry = rules.entry(name)
    return entry.context, entry.test, entry.message


def test_what_may_be_changed_is_what_stands_in_the_file() -> None:
    rules = rules_in(HOUSEHOLD)
    named = {one.id: one for one in rules.entries}
    assert named["income-sum"].message == (
        "Earned {$earned}, property {Property} and transfers {Transfers} do not add up to {Income}."
    )
    assert named["income-sum"].beside == (named["property-range"].number,)
    assert named["size-sum"].locked.startswith("it is made from the abstract pattern sum: record = Household")
    assert includes_of(HOUSEHOLD, "household.sch") == ("patterns.sch",)
    other = rules_in(PATTERN)
    assert [(one.id, one.message_locked) for one in other.entries] == [
        ("one", ""),
        ("", "it has a comment or a CDATA section"),
        ("three", "it has an element emph"),
        ("four", ""),
        ("five", ""),
    ]


def test_the_reader_of_rulebooks_finds_each_rule_where_it_is_said_to_stand(tmp_path: Path) -> None:
    (tmp_path / "rules.sch").write_bytes(HOUSEHOLD)
    (tmp_path / "patterns.sch").write_bytes((ROOT / "rules" / "patterns.sch").read_bytes())
    checks = read_rules(tmp_path / "rules.sch").checks
    entries = [one for one in rules_in(HOUSEHOLD).entries if one.kind != "include"]
    assert len(checks) == len(entries) == 26
    for check, entry in zip(checks, entries, strict=True):
        origin = check.origin.instance or check.origin
        assert entry.line <= origin.line <= entry.last_line, entry.named
        if not entry.locked:
            assert " ".join(check.test.split()) == " ".join(entry.test.split())


def test_one_attribute_is_changed_and_no_other_byte() -> None:
    rules = rules_in(PATTERN)
    assert with_parts(rules, "one", {"test": "b < 2 & 'x'"}) == PATTERN.replace(
        b"'b > 1'", b"'b &lt; 2 &amp; &apos;x&apos;'"
    )
    assert with_parts(rules, "one", {"context": "A"}) == PATTERN.replace(b"""'A[x = "1"]'""", b"'A'")
    assert with_parts(rules, "#2", {"id": "two"}) == PATTERN.replace(b'test="c"', b'id="two" test="c"')
    assert with_parts(rules, "three", {"id": ""}) == PATTERN.replace(b' id="three"', b"")
    assert with_parts(rules, "four", {"message": "x {e}"}) == PATTERN.replace(
        b'id="four"/>', b'id="four">x <sch:value-of select="e"/></sch:assert>'
    )
    assert with_parts(rules, "one", {"role": ""}) == PATTERN.replace(b' role="warning"', b"")
    assert with_parts(rules, "five", {"role": "warning"}) == PATTERN.replace(
        b'<sch:assert test="f"', b'<sch:assert role="warning" test="f"'
    )
    assert [one.soft for one in rules.entries] == [True, False, False, False, False]
    same = {"test": " b > 1\n", "message": "one {b}", "context": 'A[x = "1"]', "id": "one"}
    assert with_parts(rules, "one", same) == PATTERN


@settings(max_examples=60, deadline=None, derandomize=True)
@given(test=XML_TEXT, message=XML_TEXT, select=XML_TEXT)
def test_whatever_is_typed_is_read_back(test: str, message: str, select: str) -> None:
    said = " ".join(f"{message} {{{select}}} {{{{x}}}}".split())
    for source in (PATTERN, HOUSEHOLD):
        rules = rules_in(source)
        name = "five" if source is PATTERN else "savings-range"
        context = rules.entry(name).context
        changed = rules_in(with_parts(rules, name, {"test": test, "message": said}))
        assert parts_of(changed, name) == (context, test, said)
        others = [one for one in rules.entries if one.id != name]
        assert [(one.test, one.message) for one in changed.entries if one.id != name] == [
            (one.test, one.message) for one in others
        ]
        added = rules_in(with_rules(rules, [NewRule(test, test, said, "new")]))
        assert parts_of(added, "new") == (test, test, said)


def test_new_rules_stand_after_the_others_and_prefixes_where_they_belong() -> None:
    new = [NewRule("D", "g < 1", "g {g}", "one"), NewRule("D", "h", "h"), NewRule("d:E", "i", "i", "i")]
    changed = with_rules(rules_in(PATTERN), new, {"d": "urn:d"})
    assert changed.startswith(PATTERN[: PATTERN.index(b"</sch:title>")])
    assert b'</sch:title>\n  <sch:ns prefix="d" uri="urn:d"/>\n  <sch:phase' in changed
    added = rules_in(changed)
    assert [one.id for one in added.entries][-3:] == ["one-2", "", "i"]
    assert added.entries[-3].beside == (added.entries[-2].number,)
    assert with_rules(added, [], {"d": "urn:d"}) == changed
    same = rules_in(with_rules(added, [NewRule("F", "j", "j", "j"), NewRule("F", "j", "j", "j")]))
    assert [one.id for one in same.entries][-2:] == ["j", "j-2"]
    with refused(UsageError, "name-taken", kind="prefix", name="d", first="for urn:d"):
        with_rules(added, [], {"d": "urn:other"})


@pytest.mark.parametrize(
    "empty", [empty_rulebook("a & b"), f"{HEAD}</sch:schema>".encode(), HEAD.encode()[:-1] + b"/>"]
)
def test_a_rulebook_begins_with_its_first_rule(empty: bytes, tmp_path: Path) -> None:
    (tmp_path / "rules.sch").write_bytes(with_rules(rules_in(empty), [NewRule("A", "b < 1", "b {b}", "b")]))
    (check,) = read_rules(tmp_path / "rules.sch").checks
    assert (check.id, check.test) == ("b", "b < 1")


def test_what_is_left_of_a_pattern_means_what_it_has_meant() -> None:
    rules = rules_in(PATTERN)
    left = without(rules, "three")  # its rule still takes A from the rule after it
    assert b'<sch:rule context="A"></sch:rule>' in left
    left = without(rules, "four")
    assert b'context="B"' not in left and b'<sch:pattern id="named">' in left
    left = without(rules, "five")
    assert left == re.sub(rb'  <sch:pattern><sch:rule context="C">.*\n', b"", PATTERN)
    with refused(UsageError, "not-in-place", reason="phase 'p' names its pattern 'named'"):
        rest = rules
        for name in ("four", "three", "one", "#1"):
            rest = rules_in(without(rest, name))


def test_a_rule_moves_within_its_rule_element_or_with_its_pattern() -> None:
    rules = rules_in(PATTERN)
    assert [one.id for one in rules_in(moved(rules, "one", up=False)).entries] == ["", "one", "three", "four", "five"]
    swapped = moved(rules, "five", up=True)
    assert [one.id for one in rules_in(swapped).entries] == ["five", "one", "", "three", "four"]
    assert sorted(swapped) == sorted(PATTERN)
    assert moved(rules_in(swapped), "five", up=False) == PATTERN
    with refused(UsageError, "not-in-place", what="five", reason="it is the last already"):
        moved(rules, "five", up=False)


def test_a_rule_alone_keeps_its_line_and_what_it_needs(tmp_path: Path) -> None:
    rules = rules_in(HOUSEHOLD)
    found = alone(rules, "tax-limit")
    assert found is not None
    assert [(one.id, one.line) for one in rules_in(found).entries if one.kind == "assert"] == [
        (name, rules.entry(name).line) for name in ("tax-limit", "loss-tax")
    ]
    (tmp_path / "rules.sch").write_bytes(found)
    (tmp_path / "patterns.sch").write_bytes((ROOT / "rules" / "patterns.sch").read_bytes())
    assert [one.id for one in read_rules(tmp_path / "rules.sch").checks] == ["tax-limit", "loss-tax"]
    phased = rules_in(PATTERN.replace(b'schematron">', b'schematron" defaultPhase="p">'))
    assert alone(phased, "one") is None


@pytest.mark.parametrize(
    ("parts", "code", "names"),
    [
        ({"message": "{"}, "message-braces", {"found": "a { alone"}),
        ({"message": "{ }"}, "message-braces", {"found": "braces with nothing between"}),
        ({"message": ""}, "bad-value", {"name": "message"}),
        ({"test": " "}, "bad-value", {"name": "test"}),
        ({"test": "a\x01"}, "bad-value", {"name": "test", "given": r"'\x01'"}),
        ({"id": "five"}, "name-taken", {"kind": "id", "name": "five"}),
        ({"id": "5"}, "bad-value", {"name": "id", "given": "'5'"}),
    ],
)
def test_what_cannot_be_written_is_named(parts: dict[str, str], code: str, names: dict[str, str]) -> None:
    with refused(UsageError, code, **names):
        with_parts(rules_in(PATTERN), "one", parts)


def test_what_cannot_be_changed_says_why() -> None:
    household = rules_in(HOUSEHOLD)
    with refused(UsageError, "not-in-place", what="size-sum", done="changed"):
        with_parts(household, "size-sum", {"test": "1"})
    with refused(UsageError, "not-in-place", what="#1", done="removed", reason="its rules stand in patterns.sch"):
        without(household, "#1")
    with refused(UsageError, "not-in-place", what="three", reason="it has an element emph"):
        with_parts(rules_in(PATTERN), "three", {"message": "other"})
    with refused(UsageError, "unknown-name", kind="rule", name="size"):
        household.entry("size")


def test_what_has_no_places_is_refused() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + PATTERN[PATTERN.index(b"<sch:schema") :]
    for source, reason in (
        (bomb, "it declares entities"),
        (b"<!DOCTYPE schema>" + PATTERN[PATTERN.index(b"<sch:schema") :], "it has a document type"),
        (PATTERN.decode().replace('"1.0"', '"1.0" encoding="UTF-16"').encode("utf-16"), "it is in UTF-16"),
        (PATTERN.replace(b'"1.0"', b'"1.0" encoding="cp1252"'), "it is in cp1252"),
        (PATTERN + b" " * 1_000_000, "it has more than 1 MB"),
        (HEAD.encode() + b"<a>" * 200 + b"</a>" * 200 + b"</sch:schema>", "it is nested too deeply"),
    ):
        with refused(NotInPlaceError, "not-in-place", reason=reason):
            rules_in(source)
    for source, code in ((b"<a/>", "not-a-rulebook"), (PATTERN[:-9], "not-well-formed")):
        with refused(RulebookError, code):
            rules_in(source)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "us-ascii", "utf-8-sig"])
def test_other_encodings_are_kept(encoding: str) -> None:
    declared = "" if encoding == "utf-8-sig" else f' encoding="{encoding}"'
    source = PATTERN.decode().replace('"1.0"?', f'"1.0"{declared}?').encode(encoding)
    changed = with_parts(rules_in(source), "five", {"message": "größer € {f}"})
    assert rules_in(changed).entry("five").message == "größer € {f}"
    assert changed[:40] == source[:40]


def test_accepted_proposals_become_rules() -> None:
    proposal = {"number": 1, "id": "a", "context": "R", "test": "A > 0", "message": "A {A}"}
    found = {
        "job": "suggest",
        "proposals": [proposal, {**proposal, "number": 2, "id": "b"}],
        "namespaces": {"d": "u"},
    }
    assert accepted_rules(found, ["2", "b"]) == ([NewRule("R", "A > 0", "A {A}", "b")], {"d": "u"})
    for wanted, named in ((["3"], "'3'"), ([], "''")):
        with refused(UsageError, "bad-value", name="accept", given=named):
            accepted_rules(found, wanted)
    with refused(UsageError, "not-suggested-rules"):
        accepted_rules({"job": "explain"}, ["1"])
