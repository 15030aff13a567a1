"""A bare ``<`` or ``&`` in a rulebook: the error says where, in which rule, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import SCHEMATRON
from masktron.errors import RulebookError
from masktron.rulebook.schematron.reader import read_rules
from refusals import refused


def refused_by(folder: Path, inside: str, encoding: str = "utf-8", **names: str) -> str:
    """Return where a rulebook has what XML reads as markup."""
    path = folder / "rules.sch"
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<schema xmlns="{SCHEMATRON}"><pattern>\n{inside}\n'
    path.write_text(f"{text}</pattern></schema>", encoding=encoding)
    with refused(RulebookError, "not-escaped", **names) as caught:
        read_rules(path)
    return caught.value.where


def rule(test: str, text: str = "m", context: str = "Record") -> str:
    return f'<rule context="{context}">\n<assert id="size-sum"\n  test="{test}">{text}</assert></rule>'


@pytest.mark.parametrize(
    ("test", "sign", "column", "instead"),
    [
        ("A < 5", "<", 11, '&lt; for <: test="A &lt; 5"'),
        ("A <= 5", "<", 11, '&lt; for <: test="A &lt;= 5"'),
        ("A &lt; 5 and B<C", "<", 23, '&lt; for <: test="A &lt; 5 and B&lt;C"'),
        ("A << B", "<", 11, '&lt; for <: test="A &lt;&lt; B"'),
        ("not(A<b>5)", "<", 14, '&lt; for <: test="not(A&lt;b>5)"'),
        ("A = 'x & y'", "&", 16, "&amp; for &: test=\"A = 'x &amp; y'\""),
        ("A &lt 5", "&lt", 11, '&lt; for &lt: test="A &lt; 5"'),
        ("A && B", "&", 11, "and for &&"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_in_a_test(test: str, sign: str, column: int, instead: str, encoding: str, tmp_path: Path) -> None:
    owner = "test of <assert> 'size-sum'"
    where = refused_by(tmp_path, rule(test), encoding, owner=owner, sign=f"a bare {sign}", instead=instead)
    assert where.endswith(f"rules.sch:5:{column}")


@pytest.mark.parametrize(
    ("test", "sign", "instead"),
    [
        (
            'test="Sex = "01""',
            'a " inside its value, which ends it: test="Sex = "',
            "'...' for a text inside test=\"...\"",
        ),
        (
            "test='Sex = '01''",
            "a ' inside its value, which ends it: test='Sex = '",
            "\"...\" for a text inside test='...'",
        ),
        (
            'test="region != \'BE" or size = 7"',
            'a " inside its value, which ends it: test="region != \'BE"',
            "'...' for a text inside test=\"...\"",
        ),
    ],
)
def test_a_quote_that_ends_its_own_attribute(test: str, sign: str, instead: str, tmp_path: Path) -> None:
    inside = rule("A").replace('test="A"', test)
    assert ":5:" in refused_by(tmp_path, inside, owner="test", sign=sign, instead=instead)


@pytest.mark.parametrize(
    ("inside", "owner", "instead"),
    [
        (rule("A", context="Record[A < 5]"), "context of <rule>", '&lt; for <: context="Record[A &lt; 5]"'),
        (rule("A", "A < 5"), "the text of <assert> 'size-sum'", "&lt; for <"),
        (rule("A", "A & B"), "the text of <assert> 'size-sum'", "&amp; for &"),
    ],
)
def test_in_a_context_and_in_a_message(inside: str, owner: str, instead: str, tmp_path: Path) -> None:
    refused_by(tmp_path, inside, owner=owner, instead=instead)


@pytest.mark.parametrize(
    "inside",
    [
        "<rule>\n<assert></rule>" + rule("A < 5"),
        rule("A &lt; 5", "<b>m"),
        "<!-- A < 5 & B --><x a='1' a='2'/>",
        "<rule context='&none;'/>",
        '<![CDATA[ A < 5 & B ]]><rule context="A',
        *(
            f'<rule context="Record" {after}><assert test="A">m</wrong></rule>'
            for after in ('id="b" role="x"', "", 'role = "x" ')
        ),
    ],
)
def test_what_is_wrong_for_another_reason_is_told_as_before(inside: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.sch"
    path.write_text(f'<schema xmlns="{SCHEMATRON}"><pattern>\n{inside}\n</pattern></schema>')
    with pytest.raises(RulebookError) as caught:
        read_rules(path)
    assert caught.value.problem is None or caught.value.problem.code != "not-escaped"


def test_an_included_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "more.sch").write_text(f'<rule xmlns="{SCHEMATRON}" context="R"><assert test="A<1"/></rule>')
    assert "more.sch:1:" in refused_by(tmp_path, '<include href="more.sch"/>')
