"""The tree of an expression: it says what the text says, and where."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from masktron.errors import RulebookError
from masktron.rulebook.expressions import parsing
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import (
    Arithmetic,
    Binding,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    KindTest,
    Literal,
    NameTest,
    Negation,
    NodeSet,
    Opaque,
    Path,
    Root,
    Sequence,
    Step,
    Typed,
    Variable,
    free_variables,
    parts_of,
    replaced,
    spelled,
    walk,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE
from paths import ROOT

NAMESPACES = (("h", "urn:h"),)


def tree(source: str) -> Expression:
    return parsed(source, NAMESPACES)


STEPS = [
    "V1",
    "@id",
    "h:V1",
    "*",
    ".",
    "..",
    "text()",
    "h:*",
    "Q{urn:h}V1",
    "self::node()",
    "preceding-sibling::R[1]/V1",
]
VALUES = [
    "$x",
    "$ x",
    "3",
    "1.50",
    "1e3",
    "'it''s'",
    '"a"',
    "()",
    "/",
    "//V1",
    "current()",
    "position()",
    "math:pi()",
]
ATOMS = st.sampled_from(STEPS + VALUES)
SIGNS = st.sampled_from(
    ["+", "-", "*", "div", "mod", "idiv", "and", "or", "=", "<", ">=", "eq", "|", "union", "||", "to", ",", "is"]
)


def joined(left: str, sign: str, right: str) -> str:
    """Two expressions with a sign between; a comma in brackets, so that no function takes it for its own."""
    both = f"({left}) {sign} ({right})"
    return f"({both})" if sign == "," else both


def some_in(part: str, variable: str) -> str:
    """A quantifier whose variable no other one within it has: elementpath takes such a one for a loop."""
    return f"some ${variable} in ({part}) satisfies ${variable} = V1"


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, SIGNS, inner).map(lambda parts: joined(*parts)),
        inner.map(lambda part: f"not({part})"),
        inner.map(lambda part: f"head( {part} )"),
        inner.map(lambda part: f"- ({part})"),
        inner.map(lambda part: f"({part})[1]"),
        inner.map(lambda part: f"R[{part}]/V1 (: why :)"),
        inner.map(lambda part: f"(//R)[{part}]//V1"),
        inner.map(lambda part: f"V1 ! ({part})"),
        inner.map(lambda part: f"xs:integer(({part})) castable as xs:integer?"),
        inner.map(lambda part: some_in(part, "y" * (1 + part.count("some")))),
        st.tuples(inner, inner).map(lambda parts: f"if ({parts[0]}) then {parts[1]} else ({parts[0]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}) => concat({parts[1]}, 'a')"),
    )


EXPRESSIONS = st.recursive(ATOMS, grown, max_leaves=12)


def nested(expression: Expression) -> Iterator[tuple[Expression, Expression]]:
    for one in walk(expression):
        yield from ((one, part) for part in parts_of(one))


def holds(expression: Expression, source: str) -> None:
    """Each part says, read by itself, what it says in the whole, and stands where its text is."""
    assert source[expression.start : expression.end] == expression.text
    for whole, part in nested(expression):
        assert whole.start <= part.start < part.end <= whole.end
    for one in walk(expression):
        assert tree(one.text) == one


@given(EXPRESSIONS)
def test_parts_say_alone_what_they_say_in_the_whole(source: str) -> None:
    holds(tree(source), source)


def shipped() -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    found: dict[tuple[str, tuple[tuple[str, str], ...]], None] = {}
    for place in ("rules", "sample_xml"):
        for path in sorted((ROOT / place).rglob("*.sch")):
            document = etree.parse(path)
            spaces = tuple((one.get("prefix"), one.get("uri")) for one in document.iter("{*}ns"))
            for one in document.iter("{*}assert", "{*}report", "{*}rule", "{*}let"):
                texts = [one.get(name) for name in ("test", "context", "value")]
                found |= dict.fromkeys((text, spaces) for text in texts if text)
    return list(found)


def test_of_our_rulebooks_nothing_is_opaque() -> None:
    expressions = shipped()
    assert len(expressions) > 50
    for source, namespaces in expressions:
        for one in walk(parsed(source, namespaces)):
            assert not isinstance(one, Opaque)
            assert parsed(one.text, namespaces) == one


def test_a_text_is_parsed_once() -> None:
    assert tree("V1 + 41 = V2") is tree("V1 + 41 = V2")


@pytest.mark.parametrize(
    ("source", "axis", "test"),
    [
        ("V1", "child", NameTest("V1")),
        ("child::h:V1", "child", NameTest("V1", "urn:h", "h")),
        ("*:V1", "child", NameTest("V1", "*", "*")),
        ("h:*", "child", NameTest("*", "urn:h", "h")),
        ("@*", "attribute", NameTest("*", "*")),
        ("attribute::id", "attribute", NameTest("id")),
        ("Q{urn:h}V1", "child", NameTest("V1", "urn:h")),
        ("..", "parent", KindTest("node")),
        ("text()", "child", KindTest("text")),
        ("processing-instruction('a')", "child", KindTest("processing-instruction", "'a'")),
        ("attribute(a)", "attribute", KindTest("attribute", "a")),
        ("ancestor-or-self::div", "ancestor-or-self", NameTest("div")),
    ],
)
def test_steps(source: str, axis: str, test: NameTest | KindTest) -> None:
    found = tree(source)
    assert isinstance(found, Step)
    assert (found.axis, found.test) == (axis, test)


def test_predicates_of_a_step_are_its_own_and_those_of_brackets_a_filter() -> None:
    step, filtered = tree("V1[2][b]"), tree("(V1[2])[b]")
    assert isinstance(step, Step)
    assert [one.text for one in step.predicates] == ["2", "b"]
    assert isinstance(filtered, Filter)
    assert filtered.base == tree("V1[2]")
    assert isinstance(tree(".[b]"), Filter)


def test_paths_are_flat() -> None:
    found = tree("//R[1]/h:a//@b")
    assert isinstance(found, Path)
    assert isinstance(found.first, Root)
    assert [(hop.deep, hop.to.text) for hop in found.hops] == [(True, "R[1]"), (False, "h:a"), (True, "@b")]
    assert isinstance(tree("/"), Root)


def test_chains_are_flat_and_keep_their_order() -> None:
    found = tree("a - b - c + d + e")
    assert isinstance(found, Arithmetic)
    assert found.sign == "+"
    assert [one.text for one in found.operands] == ["a - b - c", "d", "e"]
    union = tree("a union b")
    assert isinstance(union, NodeSet)
    assert union.sign == "|"
    long = tree(" + ".join(f"V{k}" for k in range(3000)))
    assert isinstance(long, Arithmetic)
    assert len(long.operands) == 3000


def test_comparisons_of_comparisons_bind_as_in_the_first_version() -> None:
    equal, ordered = tree("a = b < c"), tree("a < b < c")
    assert isinstance(equal, Comparison)
    assert equal.right == tree("b < c")
    assert isinstance(ordered, Comparison)
    assert ordered.left == tree("a < b")
    assert tree("a < b || c") == tree("a < (b || c)")


def test_a_minus_negates_a_union_as_in_the_first_version() -> None:
    for source in ("-a | b", "- (a | b)", "-(a) | b"):
        found = tree(source)
        assert isinstance(found, Negation)
        assert found.operand == tree("a | b")
    assert tree("1 - --a | b") == tree("1 - (-(-(a | b)))")
    assert isinstance(tree("(-a) | b"), NodeSet)


@given(EXPRESSIONS)
def test_parts_are_replaced_in_their_places(source: str) -> None:
    def again(one: Expression) -> str:
        return spelled(one, map(again, parts_of(one)))

    assert again(tree(source)) == tree(source).text
    assert spelled(tree("( a =b)"), ("c", "1")) == "( c =1)"


@pytest.mark.parametrize(
    ("source", "changes", "expected"),
    [
        ("a + b", [(0, 1, "c"), (4, 5, "d")], "c + d"),
        ("count(a)-1", [(0, 8, "$x")], "$x -1"),
        ("1 div(b)", [(5, 8, "c")], "1 div c"),
        ("a = b", [], "a = b"),
    ],
)
def test_names_do_not_join_where_parts_are_replaced(
    source: str, changes: list[tuple[int, int, str]], expected: str
) -> None:
    assert replaced(source, changes) == expected


@pytest.mark.parametrize(
    ("source", "named"),
    [("( fn:not(a))", 2), ("a => not()", 5), ("current()", 0), ("math:pi()", 0), ("a => fn:not()", 5)],
)
def test_calls_know_where_their_name_stands(source: str, named: int) -> None:
    found = tree(source)
    assert isinstance(found, Call)
    assert found.named == named


@pytest.mark.parametrize("kind", ["node()", "text()"])
def test_kinds_of_attributes_are_written_after_the_sign_too(kind: str) -> None:
    assert tree(f"@{kind}") == tree(f"attribute::{kind}")


@pytest.mark.parametrize("step", ["node()", "self::node()", "@node()", "V1/node()", "processing-instruction()"])
@pytest.mark.parametrize("sign", ["*", "+"])
def test_a_sign_behind_a_kind_is_an_operator(step: str, sign: str) -> None:
    found = tree(f"{step}{sign}2")
    assert isinstance(found, Arithmetic)
    assert found == tree(f"({step}) {sign} 2")
    assert tree(f"{step} instance of node(){sign}") != tree(f"{step} instance of node()")


def test_calls_know_their_namespace() -> None:
    for source in ("not(a)", "fn:not(a)", f"Q{{{FUNCTIONS_NAMESPACE}}}not(a)", "a => not()"):
        found = tree(source)
        assert isinstance(found, Call)
        assert found.standard == "not"
        assert found.arguments == (tree("a"),)
    cast = tree("xs:integer(a)")
    assert isinstance(cast, Call)
    assert (cast.name, cast.standard) == ("integer", "")


def test_literals_variables_and_types() -> None:
    values = [tree(source) for source in ("'it''s'", "7", "1.50", "1e3")]
    assert [one.value for one in values if isinstance(one, Literal)] == ["it's", 7, Decimal("1.50"), 1000.0]
    variable = tree("$ h:x")
    assert isinstance(variable, Variable)
    assert (variable.name, variable.text) == ("h:x", "$ h:x")
    typed = tree("a castable as xs:integer?")
    assert isinstance(typed, Typed)
    assert (typed.type.local, typed.type.occurrence, typed.type.text) == ("integer", "?", "xs:integer?")
    assert isinstance(tree("."), ContextItem)
    assert tree("()") == Sequence("", 0, 0, ())


def test_bindings_name_what_they_bind() -> None:
    found = tree("for $ x in a, $y in b return $x + $y")
    assert isinstance(found, Binding)
    assert [(name, value.text) for name, value in found.bound] == [("x", "a"), ("y", "b")]


@pytest.mark.parametrize(
    "source", ["map{1: 2}", "[a, b]", "array{ a }", "function($x){ $x + (1) }", "concat#2", "$f(1)", "$f()", "$m?a"]
)
def test_what_is_not_modelled_is_opaque_and_has_its_whole_text(source: str) -> None:
    (found,) = [one for one in walk(tree(f"not(  {source} )")) if isinstance(one, Opaque)]
    assert found.text == source


@pytest.mark.parametrize("source", ["map{1: V2}", "map{V2 : 1}", "function($x) { V2 }", "array{1, V2}"])
def test_what_is_opaque_hides_no_part(source: str) -> None:
    assert tree("V2") in list(walk(tree(source)))


@pytest.mark.parametrize("source", ["a =", "f(a)", "g:a", "(a", "'a", "not()", "(" * 4000 + "a" + ")" * 4000])
def test_what_is_no_expression_is_refused(source: str) -> None:
    with pytest.raises(RulebookError) as caught:
        tree(source)
    assert caught.value.problem.code == "xpath-error"


@pytest.mark.parametrize("source", ["'(a)'", "((('(a)')))", "( (: c :) '(a)' )"])
def test_a_literal_is_written_without_parentheses(source: str) -> None:
    node = tree(source)
    assert isinstance(node, Literal)
    assert node.written == "'(a)'"


@pytest.mark.parametrize(
    ("source", "free"),
    [
        ("$a + number($b)", {"a", "b"}),
        ("V1 = '$a'", set()),
        ("some $x in $y satisfies number($z) = $x", {"y", "z"}),
        ("let $x := 1, $y := $x + $w return $y", {"w"}),
        ("(let $x := 1 return $x) + $x", {"x"}),
        ("$h:a = 1", {"h:a"}),
        ("for-each(V1, function($x, $y as node()*) as item()+ { $x + $z })", {"z"}),
        ("let $f := function($x) { $x } return $f($x)", {"x"}),
        ("function() { $z }", {"z"}),
    ],
)
def test_free_variables(source: str, free: set[str]) -> None:
    assert free_variables(tree(source)) == free


@pytest.mark.parametrize(
    ("test", "tag", "takes"),
    [
        ("V1", "V1", True),
        ("V1", "{urn:h}V1", False),
        ("h:V1", "{urn:h}V1", True),
        ("h:*", "{urn:h}V2", True),
        ("h:*", "V1", False),
        ("*:V1", "{urn:h}V1", True),
        ("*", "{urn:h}V1", True),
        ("*:V1", "V2", False),
    ],
)
def test_a_name_test_takes_what_it_names(test: str, tag: str, takes: bool) -> None:
    step = tree(test)
    assert isinstance(step, Step)
    assert isinstance(step.test, NameTest)
    assert step.test.takes(tag) is takes


def test_no_part_of_a_text_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """elementpath reads quotation marks within comments as those of a string, and what stands between is lost."""
    source = "A = '1' (: it's :) and B = 'x' (: isn't :)"
    found = tree(source)
    assert isinstance(found, Connective)
    assert [one.text for one in found.operands] == ["A = '1'", "B = 'x'"]
    monkeypatch.setattr(parsing, "_plain", lambda source: source)
    with pytest.raises(RulebookError) as caught:
        tree(f"{source} (: with comments :)")
    assert caught.value.problem.references["reason"] == "its end is not understood"
