"""Comments and white space between tokens change no tree, and every part can be read again from its text."""

from __future__ import annotations

from random import Random

import pytest

from examples import parts
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Call, Comparison, KindTest, Step, Typed, walk
from spelled.expressions import FLAT_WORLD, NESTED_WORLD, Writer
from spelled.spelling import Speller


def spelled(seed: int) -> tuple[str, str]:
    """Return an expression, and the same with other spaces between its tokens."""
    random, version = Random(seed), ("1.0", "2.0", "3.1")[seed % 3]
    world = (FLAT_WORLD, NESTED_WORLD)[seed // 3 % 2]
    writer = Writer(random, world, version, across=0.2)
    writer.started = kind = random.choice(world.kinds)
    plain = writer.truth(kind, 2)
    return plain, Speller(random, world.elements, "", comments=version != "1.0", loose=0.3)(plain)


@pytest.mark.parametrize("seeds", parts((range(at, at + 200) for at in range(0, 6000, 200)), 1))
def test_a_spelling_changes_no_tree(seeds: range) -> None:
    for seed in seeds:
        plain, other = spelled(seed)
        tree = parsed(other)
        assert tree == parsed(plain), (plain, other)
        for part in walk(tree):
            assert parsed(part.text) == part, (part.text, other)


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("self(: a :)::(: b :)R", "self::R"),
        ("not(: a :)(A)", "not(A)"),
        ("(if(: a :)(A) then B else C)", "if (A) then B else C"),
        ("false((: ' :))", "false()"),
        ('A(: " or ( :)= 1', "A = 1"),
        ("$(: a :) v[. = 1]", "$v[. = 1]"),
        ("$ v(: [ :)[. = 1]", "$v[. = 1]"),
        ("$(: a :)v", "$v"),
        ("1 + $ (: (: a :) :) v * 2", "1 + $v * 2"),
        ("self::node(\n(: [ :) )[. = 1]", "self::node()[. = 1]"),
        ("A instance of xs:decimal (: ? :) ?", "A instance of xs:decimal?"),
    ],
)
def test_a_comment_is_a_blank(expression: str, plain: str) -> None:
    tree = parsed(expression)
    assert tree == parsed(plain)
    assert expression[tree.start : tree.end] == tree.text == expression


def test_what_a_test_asks_has_no_comments() -> None:
    match parsed("text((: a :))"), parsed("A castable as xs:integer(: a :)?"):
        case Step(test=KindTest(asked=asked)), Typed(type=of):
            assert (asked, of.text) == ("", "xs:integer?")
        case other:
            pytest.fail(str(other))


def test_places_are_those_of_the_source() -> None:
    match parsed("(: a :) not (: b :) ( A (: c :) = 1 )"):
        case Call(named=named, arguments=(Comparison(left=left, right=right),)):
            assert (named, left.start, right.start) == (8, 22, 34)
        case other:
            pytest.fail(str(other))
