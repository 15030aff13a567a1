"""A bare ``<`` or ``&`` in a rulebook: the error says where, in which rule, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import SCHEMATRON
from masktron.errors import RulebookError
from masktron.rulebook.schematron.reader import read_rules


def refused(folder: Path, inside: str, encoding: str = "utf-8") -> RulebookError:
    path = folder / "rules.sch"
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<schema xmlns="{SCHEMATRON}"><pattern>\n{inside}\n'
    path.write_text(f"{text}</pattern></schema>", encoding=encoding)
    with pytest.raises(RulebookError) as caught:
        read_rules(path)
    return caught.value


def rule(test: str, text: str = "m", context: str = "Record") -> str:
    return f'<rule context="{context}">\n<assert id="size-sum"\n  test="{test}">{text}</assert></rule>'


@pytest.mark.parametrize(
    ("test", "sign", "column", "hint"),
    [
        ("A < 5", "<", 11, 'write &lt; for <: test="A &lt; 5"'),
        ("A <= 5", "<", 11, 'write &lt; for <: test="A &lt;= 5"'),
        ("A &lt; 5 and B<C", "<", 23, 'write &lt; for <: test="A &lt; 5 and B&lt;C"'),
        ("A << B", "<", 11, 'write &lt; for <: test="A &lt;&lt; B"'),
        ("not(A<b>5)", "<", 14, 'write &lt; for <: test="not(A&lt;b>5)"'),
        ("A = 'x & y'", "&", 16, "write &amp; for &: test=\"A = 'x &amp; y'\""),
        ("A &lt 5", "&lt", 11, 'write &lt; for &lt: test="A &lt; 5"'),
        ("A && B", "&", 11, "XPath writes and for &&"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_in_a_test(test: str, sign: str, column: int, hint: str, encoding: str, tmp_path: Path) -> None:
    error = refused(tmp_path, rule(test), encoding)
    assert error.what == f"test of <assert> 'size-sum' has a bare {sign}, which XML does not allow"
    assert error.where.endswith(f"rules.sch:5:{column}")
    assert error.hint == hint


@pytest.mark.parametrize(("quote", "other"), [('"', "'"), ("'", '"')])
def test_a_quote_that_ends_its_own_attribute(quote: str, other: str, tmp_path: Path) -> None:
    test = f"test={quote}Sex = {quote}01{quote}{quote}"
    error = refused(tmp_path, rule("A").replace('test="A"', test))
    said = f"test={quote}Sex = {quote}"
    assert error.what == f"the value of test ends at the second {quote}, inside the expression: {said}"
    assert error.hint == f"write {other}...{other} for a text inside test={quote}...{quote}"
    assert ":5:" in error.where


def test_a_misplaced_quote_before_a_word(tmp_path: Path) -> None:
    text = rule("A").replace('test="A"', 'test="region != \'BE" or size = 7"')
    error = refused(tmp_path, text)
    assert error.what == 'the value of test ends at the second ", inside the expression: test="region != \'BE"'
    assert error.hint == "write '...' for a text inside test=\"...\""
    assert ":5:" in error.where


@pytest.mark.parametrize("after", ['id="b" role="x"', "", 'role = "x" '])
def test_attributes_that_end_where_they_should_are_not_blamed(after: str, tmp_path: Path) -> None:
    error = refused(tmp_path, f'<rule context="Record" {after}><assert test="A">m</wrong></rule>')
    assert "ends at the second" not in error.what


def test_in_a_context_and_in_a_message(tmp_path: Path) -> None:
    error = refused(tmp_path, rule("A", context="Record[A < 5]"))
    assert (error.what.split(" has")[0], error.hint) == (
        "context of <rule>",
        'write &lt; for <: context="Record[A &lt; 5]"',
    )
    error = refused(tmp_path, rule("A", "A < 5"))
    assert (error.what.split(" has")[0], error.hint) == ("the text of <assert> 'size-sum'", "write &lt; for <")
    error = refused(tmp_path, rule("A", "A & B"))
    assert error.hint == "write &amp; for &"


@pytest.mark.parametrize(
    "inside",
    [
        "<rule>\n<assert></rule>" + rule("A < 5"),
        rule("A &lt; 5", "<b>m"),
        "<!-- A < 5 & B --><x a='1' a='2'/>",
        "<rule context='&none;'/>",
        '<![CDATA[ A < 5 & B ]]><rule context="A',
    ],
)
def test_what_is_wrong_for_another_reason_is_told_as_before(inside: str, tmp_path: Path) -> None:
    assert "bare" not in refused(tmp_path, inside).what


def test_an_included_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "more.sch").write_text(f'<rule xmlns="{SCHEMATRON}" context="R"><assert test="A<1"/></rule>')
    error = refused(tmp_path, '<include href="more.sch"/>')
    assert "more.sch:1:" in error.where
    assert error.hint.startswith("write &lt; for <")
