"""Trees of plain rules, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    If,
    In,
    Joined,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Range,
    Text,
    Truth,
)

FIELDS = ("a", "b", "c")
"""Fields of numbers."""
TEXTS = ("s", "t")
"""Fields of texts."""
_DIGITS = st.sampled_from(["0", "1", "2", "3", "10", "0.5", "2.5"]).map(Number)
_BOUNDS = st.one_of(_DIGITS, _DIGITS.map(Negative))
_WORDS = st.sampled_from(["x", "y", "z w"]).map(Text)
ODD_NAMES = ("a", "other income", "if", "staff.costs", "in", "2024", "é", "NA", ".5a")


def numbers(names: st.SearchStrategy[Name]) -> st.SearchStrategy[Node]:
    """Return what gives a number of fields."""
    return st.recursive(
        st.one_of(names, names, _DIGITS),
        lambda of: st.one_of(
            st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "/", "%%"]), of, of),
            st.builds(Negative, of),
            st.builds(lambda one: Call("floor", (one,)), of),
        ),
        max_leaves=4,
    )


def _ranges() -> st.SearchStrategy[Node]:
    return st.builds(Range, _BOUNDS, _BOUNDS)


def comparisons(fields: tuple[str, ...] = FIELDS, texts: tuple[str, ...] = TEXTS) -> st.SearchStrategy[Node]:
    """Return comparisons, memberships and questions for missing values."""
    names, words = st.sampled_from(fields).map(Name), st.sampled_from(texts).map(Name)
    return st.one_of(
        st.builds(Compared, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers(names), numbers(names)),
        st.builds(Compared, st.sampled_from(["==", "!="]), words, _WORDS),
        st.builds(In, words, st.lists(_WORDS, min_size=1, max_size=3, unique=True).map(tuple), st.booleans()),
        st.builds(
            In, names, st.lists(st.one_of(_BOUNDS, _ranges()), min_size=1, max_size=2).map(tuple), st.booleans()
        ),
        st.builds(Call, st.just("missing"), st.tuples(st.one_of(names, words))),
    )


def conditions(fields: tuple[str, ...] = FIELDS, texts: tuple[str, ...] = TEXTS) -> st.SearchStrategy[Node]:
    """Return conditions on one record."""
    return st.recursive(
        comparisons(fields, texts),
        lambda of: st.one_of(
            st.builds(Not, of),
            st.builds(lambda word, parts: Joined(word, tuple(parts)), st.sampled_from(["and", "or"]),
                      st.lists(of, min_size=2, max_size=3)),
            st.builds(If, of, of, st.one_of(st.none(), of)),
        ),
        max_leaves=5,
    )  # fmt: skip


def spelt() -> st.SearchStrategy[Node]:
    """Return conditions with all that can be written."""
    names = st.sampled_from(ODD_NAMES).map(Name)
    tallies = st.builds(
        Call,
        st.sampled_from(["sum", "mean", "min", "max", "count"]),
        names.map(lambda one: (one,)),
        st.lists(names, max_size=2).map(tuple),
        st.booleans(),
    )
    values = st.one_of(
        tallies,
        names.map(lambda one: Call("lag", (one,))),
        st.builds(lambda one, power: Arithmetic("^", one, power), st.one_of(names, numbers(names)), _BOUNDS),
    )
    others = st.one_of(
        st.builds(Compared, st.just("<="), values, values),
        st.lists(names, min_size=1, max_size=2).map(lambda each: Call("is_unique", tuple(each))),
        st.builds(lambda one, known: Call("matches", (one, Text('^"#')), (), known), names, st.booleans()),
        st.sampled_from([Truth(True), Truth(False), Truth(None)]),
        comparisons(ODD_NAMES, ODD_NAMES),
    )
    return st.recursive(
        others,
        lambda of: st.one_of(
            st.builds(Not, of),
            st.builds(lambda word, parts: Joined(word, tuple(parts)), st.sampled_from(["and", "or"]),
                      st.lists(of, min_size=2, max_size=3)),
            st.builds(If, of, of, st.one_of(st.none(), of)),
            st.builds(Compared, st.just("=="), of, of),
        ),
        max_leaves=6,
    )  # fmt: skip
