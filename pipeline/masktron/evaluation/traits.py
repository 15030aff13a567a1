"""What an expression does and what a record holds, as far as engines read it differently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntFlag, auto
from typing import Any

from elementpath import XPathToken
from lxml import etree

from masktron.errors import RulebookError
from masktron.rulebook.schema import XPathVersion
from masktron.sources.lexical import XML_SPACE, reads_alike
from masktron.xpath.focus import is_filter
from masktron.xpath.tokens import parse


class Oddity(IntFlag):
    """Values that engines read differently; a record has the flags of all its values."""

    NONE = 0
    NOT_A_NUMBER = auto()
    """Text or nothing, where XPath 1.0 reads NaN."""
    UNDERSCORE = auto()
    """``1_000``."""
    FOREIGN = auto()
    """Digits or spaces beyond ASCII."""
    EXPONENT = auto()
    """``1e3``."""
    PLUS = auto()
    """``+5``."""
    INFINITE = auto()
    """``INF`` and its spellings."""
    MISREAD = auto()
    """A number that libxml2 reads some units in the last place off."""
    NEGATIVE_ZERO = auto()
    """``-0`` or ``-0.0``."""
    BIG = auto()
    """An integer of more than 15 digits."""
    FRACTION = auto()
    """A number with digits behind the point."""


_PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_PATTERNS: tuple[tuple[Oddity, re.Pattern[str]], ...] = (
    (Oddity.UNDERSCORE, re.compile(r"[+-]?[0-9.]+_[0-9_.eE]+")),
    (Oddity.FOREIGN, re.compile(r"[\d\s.+-]*[^\x00-\x7f][\d\s.+-]*")),
    (Oddity.EXPONENT, re.compile(r"[+-]?[0-9.]+[eE][+-]?[0-9]+")),
    (Oddity.PLUS, re.compile(r"\+.*", re.DOTALL)),
    (Oddity.INFINITE, re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)),
    (Oddity.NEGATIVE_ZERO, re.compile(r"-0*\.?0*")),
    (Oddity.BIG, re.compile(r"-?[0-9]{16,}")),
    (Oddity.FRACTION, re.compile(r"-?[0-9]*\.[0-9]+")),
)


def oddities_of(lexeme: str) -> Oddity:
    """Return the flags of one value."""
    text = lexeme.strip(XML_SPACE)
    if _PLAIN.fullmatch(text) and text != "-0":
        return Oddity.NONE
    flags = Oddity.NONE if _NUMBER.fullmatch(text) else Oddity.NOT_A_NUMBER
    for flag, pattern in _PATTERNS:
        if pattern.fullmatch(text):
            flags |= flag
    return flags if reads_alike(text) else flags | Oddity.MISREAD


def oddity(record: etree._Element, of: Callable[[str], Oddity] = oddities_of) -> dict[str, Oddity]:
    """Return the flags of the fields and attributes of a record, and of what is nested in them, by local name.

    Parameters
    ----------
    record : Element
    of : callable, optional
        What tells the flags of one value, where it is to remember them.
    """
    flags: dict[str, Oddity] = {}
    for element in record.iter(etree.Element):
        values = [(key, str(value)) for key, value in element.attrib.items()]
        if element is not record and len(element) == 0:
            values.append((element.tag, element.text or ""))
        for tag, value in values:
            if found := of(value):
                name = str(tag).rpartition("}")[2]
                flags[name] = flags.get(name, Oddity.NONE) | found
    return flags


class StaticType(Enum):
    """The static type of an expression, as coarse as needed."""

    NUMBER = auto()
    STRING = auto()
    BOOLEAN = auto()
    NODES = auto()
    TYPED = auto()
    """A value with a type of XML Schema, from a constructor or ``cast``."""
    UNKNOWN = auto()
    """A variable, a sequence, a function whose result may be anything."""


ORDERS = frozenset({"<", "<=", ">", ">="})
EQUALITIES = frozenset({"=", "!="})
_ARITHMETIC = frozenset({"+", "-", "div", "mod", "idiv"})
_LITERALS = frozenset({"(integer)", "(decimal)", "(float)"})
_TRUTHS = frozenset({"and", "or", "eq", "ne", "lt", "le", "gt", "ge", "is", "<<", ">>", "castable", "some", "every"})
_TRUTH_FUNCTIONS = frozenset(
    {"not", "true", "false", "boolean", "contains", "starts-with", "ends-with", "matches", "exists", "empty", "lang"}
)
_NUMBER_FUNCTIONS = frozenset(
    {"number", "sum", "count", "round", "floor", "ceiling", "string-length", "abs", "position", "last", "avg"}
    | {"round-half-to-even"}
)
_STRING_FUNCTIONS = frozenset(
    {"string", "concat", "substring", "substring-before", "substring-after", "normalize-space", "translate"}
    | {"name", "local-name", "upper-case", "lower-case", "replace", "string-join", "codepoints-to-string"}
)
_STEPS = frozenset({"(name)", ":", "/", "//", ".", "..", "@", "*", "|", "union", "intersect", "except"})
_AXIS = re.compile(r"child|self|parent|attribute|(descendant|ancestor)(-or-self)?|(following|preceding)(-sibling)?")


def kind(token: XPathToken) -> StaticType:
    """Return the static type of an expression."""
    symbol, parts = token.symbol, list(token)
    if symbol in ("(", "[") and parts:
        bracketed = symbol == "(" and len(parts) == 1
        return kind(parts[0]) if bracketed or is_filter(token) else StaticType.UNKNOWN
    if symbol == ":" and len(parts) == 2 and parts[1].label != "name":
        return kind(parts[1])
    return next((found for found, holds in _KINDS if holds(token)), StaticType.UNKNOWN)


def _is_constructed(token: XPathToken) -> bool:
    return token.label == "constructor function" or token.symbol in ("cast", "treat")


def _is_number(token: XPathToken) -> bool:
    computed = (token.symbol in _ARITHMETIC and len(token)) or (token.symbol == "*" and len(token) == 2)
    return bool(computed) or token.symbol in _LITERALS | _NUMBER_FUNCTIONS


def _is_string(token: XPathToken) -> bool:
    return token.symbol == "(string)" or token.symbol in _STRING_FUNCTIONS


def _is_boolean(token: XPathToken) -> bool:
    return token.symbol in _TRUTHS | ORDERS | EQUALITIES | _TRUTH_FUNCTIONS


def _is_path(token: XPathToken) -> bool:
    return token.symbol in _STEPS or bool(_AXIS.fullmatch(token.symbol)) or token.label == "kind test"


_KINDS: tuple[tuple[StaticType, Callable[[XPathToken], bool]], ...] = (
    (StaticType.TYPED, _is_constructed),
    (StaticType.NUMBER, _is_number),
    (StaticType.STRING, _is_string),
    (StaticType.BOOLEAN, _is_boolean),
    (StaticType.NODES, _is_path),
)


@dataclass(frozen=True, slots=True)
class ParsedCheck:
    """The expressions that decide about a check, parsed.

    Attributes
    ----------
    test : XPathToken or None
        None where elementpath cannot parse it.
    lets : tuple of XPathToken
        Values of the variables in scope.
    contexts : tuple of XPathToken
        Of its rule and of the rules before it in its pattern.
    sources : tuple of str
        All of them as written, the test first.
    """

    test: XPathToken | None
    lets: tuple[XPathToken, ...]
    contexts: tuple[XPathToken, ...]
    sources: tuple[str, ...]
    version: XPathVersion

    @property
    def tokens(self) -> Iterator[Any]:
        """Every token of every expression."""
        for root in (self.test, *self.lets, *self.contexts):
            if root is not None:
                yield from root.iter()


def read(
    test: str,
    lets: tuple[str, ...],
    contexts: tuple[str, ...],
    version: XPathVersion,
    namespaces: Mapping[str, str],
) -> ParsedCheck:
    """Parse what decides about a check."""

    def parsed(sources: tuple[str, ...]) -> Iterator[XPathToken]:
        for source in sources:
            try:
                yield parse(source, namespaces)
            except RulebookError:
                continue

    return ParsedCheck(
        next(parsed((test,)), None), tuple(parsed(lets)), tuple(parsed(contexts)), (test, *lets, *contexts), version
    )


_UNNAMED = frozenset({"*", "..", "node", "parent", "ancestor", "text", "self"})


def names(reading: ParsedCheck) -> frozenset[str] | None:
    """Return the local names in the expressions, or None where they may read fields without naming them."""
    if any(t.symbol in _UNNAMED and not (t.symbol == "*" and len(t) == 2) for t in reading.tokens):
        return None
    return frozenset(str(t.value).rpartition(":")[2] for t in reading.tokens if t.symbol == "(name)")


def compares(reading: ParsedCheck, operators: frozenset[str], *pairs: tuple[StaticType, StaticType]) -> bool:
    """Tell whether some comparison has operands of one of the pairs of kinds, in either order.

    A variable or a sequence may hold anything.
    """
    for token in reading.tokens:
        if token.symbol in operators and len(token) == 2:
            here = (kind(token[0]), kind(token[1]))
            if any(_fits(here, pair) or _fits(here[::-1], pair) for pair in pairs):
                return True
    return False


def _fits(here: tuple[StaticType, ...], pair: tuple[StaticType, StaticType]) -> bool:
    return all(h in (k, StaticType.UNKNOWN) for h, k in zip(here, pair, strict=True)) and here != (
        StaticType.UNKNOWN,
        StaticType.UNKNOWN,
    )


def uses(reading: ParsedCheck, *symbols: str) -> bool:
    """Tell whether one of the operators, functions or kinds of literal occurs."""
    return any(token.symbol in symbols for token in reading.tokens)


def converts(reading: ParsedCheck) -> bool:
    """Tell whether text is turned into numbers: by arithmetic, a comparison, a cast or a function on numbers."""
    return any(
        (kind(token) is StaticType.NUMBER and len(token))
        or kind(token) is StaticType.TYPED
        or (token.symbol in ORDERS | EQUALITIES | _TRUTHS and len(token) == 2)
        for token in reading.tokens
    )


def prints_numbers(reading: ParsedCheck) -> bool:
    """Tell whether a number is turned into text."""
    return any(
        token.symbol in _STRING_FUNCTIONS
        and any(kind(part) in (StaticType.NUMBER, StaticType.TYPED) for part in token)
        for token in reading.tokens
    )


def chained(source: str) -> bool:
    """Tell whether an expression compares the result of a comparison, as only XPath 1.0 can without brackets."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "''", source)
    while (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " x ", bare)) != bare:
        bare = shorter
    return any(len(re.findall(r"<=|>=|!=|=|<|>", part)) > 1 for part in re.split(r"\b(?:and|or)\b|\|", bare))
