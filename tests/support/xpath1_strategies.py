"""Expressions of XPath 1.0 of all types and operators, as text, and lexemes to evaluate them on."""

from __future__ import annotations

from hypothesis import strategies as st

FIELDS = ("@id", "V1", "V2", "V3", "name", "V9")
"""V9 is in no file."""
PLAIN = (
    "0",
    "1",
    "5",
    "7",
    "-3",
    "12",
    "2.5",
    "0.1",
    "0.2",
    "0.3",
    "1.14",
    "1.36",
    "100",
    "-0.5",
    "5.0",
    "007",
    "-0",
)
ODD = (
    *("", " ", "abc", "a b", "  a  b ", " 5 ", "5\n", "5.", ".5", "-.5", ".", "-", "--5", "- 5", "+5", "1e3", "1E-2"),
    *("1e", "e", "NaN", "INF", "-INF", "Infinity", "1_000", "٣", "5 6", "0x1F", "1.2.3", "true", "false", "\u00a05"),
    *("999999999999999999", "9007199254740993", "123456789012345678901234567890", "0.00000000000000000000000012345"),
    *(
        "1.7976931348623157",
        "4503599627370497.5",
        "0.49999999999999994",
        "2147483647",
        "1" * 400,
        "añb",
        "a\U0001d538x",
        "5\t",
    ),
)


def lexemes(*, plain: bool) -> st.SearchStrategy[str | None]:
    """One cell: absent, or a text."""
    if plain:
        return st.one_of(st.none(), st.sampled_from(PLAIN))
    return st.one_of(st.none(), st.sampled_from(PLAIN), st.sampled_from(ODD), st.sampled_from(ODD))


def _joined(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    strategies = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*strategies).map("".join)


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """With and without parentheses: what binds stronger is tested too."""
    return st.one_of(inner, _joined("(", inner, ")"), _joined("(", inner, ")"))


def node_sets(inner: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    """Sets of fields; ``inner`` are booleans for predicates."""
    fields = st.sampled_from(FIELDS)
    others = st.sampled_from(
        ["*", "@*", "*[local-name() = 'V2']", "*[name() != 'V1']", "child::V1", "attribute::id", "./V2", "V1/text()"]
    )
    choices = [fields, fields, fields, others, _joined(fields, " | ", fields), _joined("(V1|", fields, "|V3)")]
    if inner is not None:
        choices += [_joined(fields, "[", inner, "]"), _joined("*[", inner, "]"), _joined("(V1|V2)[", inner, "]")]
    return st.one_of(choices)


_NUMBERS = st.sampled_from(["0", "1", "2", "5", "0.1", "0.3", "1.14", "12", ".5", "5.", "1000000", "0.0000000001"])
_TEXTS = st.sampled_from(["''", "'5'", "'a'", '"it\'s"', "'0123456789'", "'.'", "' '", "'5.0'", "'abc'", "'-'"])


def numbers(*, texts: bool, depth: int = 3) -> st.SearchStrategy[str]:
    """Expressions of type number; without ``texts`` no number is turned into a text in them."""
    sets = node_sets()
    if depth == 0:
        return _NUMBERS
    inner = _wrapped(st.deferred(lambda: numbers(texts=texts, depth=depth - 1)))
    operand = st.one_of(inner, sets)
    calls = [
        _joined(st.sampled_from(["sum(", "count("]), sets, ")"),
        _joined(st.sampled_from(["floor(", "ceiling(", "round(", "number("]), operand, ")"),
        _joined("string-length(", sets, ")"),
        _joined("- ", operand),
    ]
    operators = st.sampled_from([" + ", " - ", " * ", " div ", " mod "])
    binary = _joined(operand, operators, operand)
    found = [_NUMBERS, binary, binary, binary, *calls]
    if texts:
        text = st.deferred(lambda: strings(depth=depth - 1))
        logical = st.deferred(lambda: booleans(texts=True, depth=depth - 1))
        found += [_joined("string-length(", text, ")"), _joined("number(", st.one_of(text, logical), ")")]
    return st.one_of(found)


def strings(depth: int = 3) -> st.SearchStrategy[str]:
    """Expressions of type string."""
    if depth == 0:
        return _TEXTS
    number = st.deferred(lambda: numbers(texts=True, depth=depth - 1))
    inner = st.deferred(lambda: strings(depth=depth - 1))
    operand = st.one_of(node_sets(), node_sets(), inner, number)
    return st.one_of(
        _TEXTS,
        _joined("string(", operand, ")"),
        _joined("normalize-space(", operand, ")"),
        _joined("concat(", operand, ", ", operand, ")"),
        _joined("concat(", operand, ", '-', ", operand, ")"),
        _joined(st.sampled_from(["substring-before(", "substring-after("]), operand, ", ", operand, ")"),
        _joined("translate(", operand, ", ", operand, ", ", _TEXTS, ")"),
        _joined("substring(", operand, ", ", number, ")"),
        _joined("substring(", operand, ", ", number, ", ", number, ")"),
        _joined(st.sampled_from(["local-name(", "name("]), node_sets(), ")"),
    )


def booleans(*, texts: bool, depth: int = 3) -> st.SearchStrategy[str]:
    """Expressions of type boolean."""
    if depth == 0:
        return st.sampled_from(["true()", "false()", "V1", "V2 = 5"])
    inner = _wrapped(st.deferred(lambda: booleans(texts=texts, depth=depth - 1)))
    number = _wrapped(st.deferred(lambda: numbers(texts=texts, depth=depth - 1)))
    sets = node_sets(st.deferred(lambda: predicates(texts=texts, depth=depth - 1)))
    relation = st.sampled_from([" = ", " != ", " < ", " <= ", " > ", " >= "])
    operands = [sets, sets, number, _TEXTS, _joined("(", inner, ")")]
    found = [
        _joined(st.one_of(operands), relation, st.one_of(operands)),
        _joined(st.one_of(operands), relation, st.one_of(operands)),
        _joined(inner, st.sampled_from([" and ", " or "]), inner),
        _joined("not(", st.one_of(inner, sets, number), ")"),
        _joined("boolean(", st.one_of(inner, sets, number), ")"),
        _joined(
            st.sampled_from(["contains(", "starts-with("]), node_sets(), ", ", st.one_of(_TEXTS, node_sets()), ")"
        ),
        sets,
    ]
    if texts:
        text = st.deferred(lambda: strings(depth=depth - 1))
        found += [_joined(text, relation, st.one_of(*operands, text)), text]
    return st.one_of(found)


def predicates(*, texts: bool, depth: int) -> st.SearchStrategy[str]:
    """What stands in brackets behind a field."""
    own = st.sampled_from(
        [". > 2", "number(.) = number(.)", "../V1 < .", ". = ../V2", "1", "2", "position() = last()", "text() = 5"]
    )
    return st.one_of(own, own, st.deferred(lambda: booleans(texts=texts, depth=max(depth - 1, 0))))
