"""Patterns with exponentially many readings are told, with what Saxon was seen to do; others are not."""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_rules
from examples import examples
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.xpath2_regex import translated
from masktron.rulebook.backtracking import suspects
from masktron.xpath.regex_ambiguity import NotAnalysedError, ambiguity

AMBIGUOUS = [
    "^(a+)+$", "(a+)+", "^(a*)*$", "^(a|a)*$", "^(a|aa)+$", "^(\\d+)*x$", "^([a-z]+\\.?)+$", "^(\\w+\\s?)*$",
    "^(ab|a|b)*$", "^(a{1,3})+$", "^([0-9]+,?)*$", "^(x+x+)+y$", "^(a+)+?$", "^((ab)+)+$", "^([a-f]|[e-k])+$",
    "(\\p{Lu}|[A-Z])*1", "^(.*,)*x$",
]  # fmt: skip
PLAIN = [
    "^a+$", "^a*a*a*$", "^[A-Z]{2}\\d{4}(-\\d+)*$", "^(\\d+\\.)+\\d+$", "^[^@]+@[^@]+\\.[a-z]{2,}$",
    "^([^,]*,)*[^,]*$", "^(a|b)*$", "^(a+b)+$", "", "^\\d{1,3}(,\\d{3})*$", "a\\$", "^(a?){10}$", "[-+]?\\d+",
    "^([a-f]|[g-k])+$", "\\\\$", "(\\s|x)+",
]  # fmt: skip
UNKNOWN = ["(a)\\1+", "a^b", "[a-z-[aeiou]]+", "(", "(a?){70}", "\\i+"]


type Tree = str | tuple[str, Tree, Tree] | tuple[str, Tree]


def trees() -> st.SearchStrategy[Tree]:
    return st.recursive(
        st.sampled_from(["a", "b"]),
        lambda inner: st.one_of(
            st.tuples(st.just("."), inner, inner),
            st.tuples(st.just("|"), inner, inner),
            st.tuples(st.sampled_from("*+?"), inner),
        ),
        max_leaves=5,
    )


def written(tree: Tree) -> str:
    match tree:
        case str():
            return tree
        case (".", one, other):
            return f"{written(one)}{written(other)}"
        case ("|", one, other):
            return f"({written(one)}|{written(other)})"
        case _:
            return f"({written(tree[1])}){tree[0]}"


def readings(tree: Tree, word: str) -> int:
    """Count how a tree reads a whole word, where no repetition reads nothing; by splitting the word."""

    @functools.cache
    def count(tree: Tree, i: int, j: int) -> int:
        match tree:
            case str():
                return int(word[i:j] == tree)
            case (".", one, other):
                return sum(count(one, i, k) * count(other, k, j) for k in range(i, j + 1))
            case ("|", one, other):
                return count(one, i, j) + count(other, i, j)
            case ("?", one):
                return int(i == j) + (count(one, i, j) if i < j else 0)
            case ("+", one) if i == j:
                return min(1, count(one, i, j))
            case _:
                return int(i == j) or sum(
                    count(tree[1], i, k) * (1 if k == j else count(("*", tree[1]), k, j)) for k in range(i + 1, j + 1)
                )

    return count(tree, 0, len(word))


@examples(20, full=3000)
@given(trees())
def test_what_is_found_has_twice_as_many_readings_for_each_repetition(tree: Tree) -> None:
    try:
        found = ambiguity(f"^{written(tree)}$")
    except NotAnalysedError:
        return
    if found is not None:
        word = found.before + found.repeated * 6
        ends = ("".join(end) for n in range(5) for end in itertools.product("ab", repeat=n))
        assert max(readings(tree, word + end) for end in ends) >= 2**6


@pytest.mark.parametrize("pattern", AMBIGUOUS)
def test_a_pattern_with_exponentially_many_readings(pattern: str) -> None:
    assert ambiguity(pattern) is not None


@pytest.mark.parametrize("pattern", PLAIN)
def test_a_pattern_without(pattern: str) -> None:
    assert ambiguity(pattern) is None


@pytest.mark.parametrize("pattern", UNKNOWN)
def test_a_pattern_of_which_nothing_is_said(pattern: str) -> None:
    with pytest.raises(NotAnalysedError):
        ambiguity(pattern)
    assert suspects(f"matches(A, '{pattern}')") == ()


def test_flags() -> None:
    assert ambiguity("^(a|A)+$") is None
    assert ambiguity("^(a|A)+$", "i") is not None
    assert ambiguity("(a+)+", "q") is None
    with pytest.raises(NotAnalysedError):
        ambiguity("(a+ )+", "x")


def test_where_patterns_stand_in_expressions() -> None:
    bad = "(a+)+$"
    assert [s.function for s in suspects(f"fn:replace(A, '{bad}', 'x') = tokenize(B[1, 2], \"{bad}\", 'i')")] == [
        "replace",
        "tokenize",
    ]
    assert suspects("matches(A, $p) or matches(A, 'a+') or my:matches(A, '(a+)+')") == ()
    assert suspects(f"matches(A, '{bad}', $flags)") == ()
    assert suspects(f"'matches(A, \"{bad}\")'") == ()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("test", "slow"),
    [
        ("matches(A, '^(a+)+$')", True),
        ("string-length(replace(A, '(a|aa)+$', 'x')) > 0", True),
        ("matches(A, '(a+)+')", False),  # it matches at once, whatever the text
        ("matches(A, '^(a|a)*$')", False),  # Saxon sees that it need not choose
    ],
)
def test_explain_tells_what_saxon_was_seen_to_do(tmp_path: Path, test: str, slow: bool) -> None:
    result = masktron.explain(write_rules(tmp_path / "r.sch", test, binding="xslt2"))
    (rule,) = result.rules
    assert any("backtracks: SaxonC-HE" in lint for lint in rule.lints) == slow


def test_patterns_are_shown_as_they_are_written(tmp_path: Path) -> None:
    pattern = r"^(\w+\s?)*$"
    (suspect,) = suspects(f"matches(A, '{pattern}')")
    assert f"the pattern '{pattern}' can be read" in str(suspect)
    (rule,) = masktron.explain(write_rules(tmp_path / "r.sch", f"matches(A, '{pattern}')", binding="xslt2")).rules
    said = next(lint for lint in rule.lints if "backtracks" in lint)
    assert f"the pattern '{pattern}' backtracks" in said
    assert re.search(r"on a text of the kind '[^']+', 5\d characters long", said)


def test_pythons_matcher_is_not_asked() -> None:
    with pytest.raises(NotColumnar, match="exponentially"):
        translated("^(a+)+$")
