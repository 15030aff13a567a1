"""XPath text to the tree: elementpath is the only parser, and each text is parsed once."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from elementpath import ElementPathError
from elementpath.regex import RegexError, translate_pattern
from elementpath.tdop import Parser
from elementpath.xpath31 import XPath31Parser
from elementpath.xpath_tokens import XPathFunction

from masktron.errors import RulebookError
from masktron.rulebook.expressions.lexer import LexicalError, tokenize
from masktron.rulebook.expressions.tree import (
    ANY,
    ARITHMETIC_SIGNS,
    AXES,
    BINDERS,
    COMPARISON_SIGNS,
    CONVERSIONS,
    NODE_KINDS,
    SET_SIGNS,
    Arithmetic,
    Axis,
    Binding,
    Call,
    Comparison,
    Concatenation,
    Connective,
    ContextItem,
    Expression,
    Filter,
    Hop,
    If,
    KindTest,
    Literal,
    NameTest,
    Negation,
    NodeSet,
    Opaque,
    Path,
    Range,
    Root,
    Sequence,
    SimpleMap,
    Step,
    Typed,
    TypeName,
    Variable,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE, with_standard

_XSLT_FUNCTIONS = (("document", (1, 2)), ("current", 0), ("key", (2, 3)))


class RuleParser(XPath31Parser):
    """The grammar of XPath 3.1, which contains that of the earlier versions, with the functions that XSLT adds.

    Nothing is evaluated: the static evaluation of elementpath follows its own semantics, not those of the engines
    that decide.
    """

    def parse(self, source: str) -> Any:
        """Return the root token."""
        if self.tokenizer is None:
            self.tokenizer = self.create_tokenizer(self.symbol_table)
        return Parser.parse(self, source)


def _attribute(self: Any) -> Any:
    self.parser.expected_next("*", "(name)", ":", "{", "Q{", *NODE_KINDS, message="invalid attribute specification")
    self[:] = (self.parser.expression(rbp=80),)
    return self


def _compared(self: Any, left: Any) -> Any:
    self[:] = left, self.parser.expression(rbp=self.rbp)
    return self


for _name, _arity in _XSLT_FUNCTIONS:
    RuleParser.function(_name, nargs=_arity)
# elementpath knows no kind of attributes after @, as in @node()
_kind: Any = RuleParser.symbol_table["@"]
RuleParser.symbol_table["@"] = type(_kind)(_kind.__name__, (_kind,), {"nud": _attribute})
# it takes a sign behind node() for an occurrence, outside types too, which read their own
_kind = RuleParser.symbol_table["node"]
RuleParser.symbol_table["node"] = type(_kind)(_kind.__name__, (_kind,), {"nud": XPathFunction.nud})
for _power, _signs in ((30, ("=", "!=")), (31, ("<", "<=", ">", ">="))):
    # XPath 1.0 compares comparisons, and orders bind more than equality; in later versions engines refuse such a text
    for _sign in _signs:
        _kind = RuleParser.symbol_table[_sign]
        _binding = {"lbp": _power, "rbp": _power, "led": _compared}
        RuleParser.symbol_table[_sign] = type(_kind)(_kind.__name__, (_kind,), _binding)


def parsed(source: str, namespaces: Iterable[tuple[str, str]] = ()) -> Expression:
    """Return the tree of an XPath expression, the same one for the same text.

    Parameters
    ----------
    source : str
    namespaces : iterable of (prefix, uri)
        That a rulebook declares; the standard ones are known.

    Raises
    ------
    RulebookError
        The expression is not XPath, or names an unknown function or prefix.
    """
    return _parsed(source, tuple(sorted(namespaces)))


def understood(source: str, namespaces: Iterable[tuple[str, str]] = ()) -> Expression | None:
    """Return the tree of an expression, or None where it is none: an engine says what is wrong with it."""
    try:
        return parsed(source, namespaces)
    except RulebookError:
        return None


def is_word(name: str) -> bool:
    """Return whether some version of XPath has a function, or a word of its grammar, of this name."""
    return name in XPath31Parser.symbol_table


@functools.lru_cache(maxsize=8192)
def _parsed(source: str, namespaces: tuple[tuple[str, str], ...]) -> Expression:
    try:
        plain = _plain(source)
        token = RuleParser(namespaces=with_standard(namespaces), strict=True).parse(plain)
        tree, lexemes = _Builder(source, plain).expression(token), tokenize(source)
    except (ElementPathError, LexicalError) as error:
        raise RulebookError.of("xpath-error", expression=repr(source.strip()), reason=str(error)) from error
    except RecursionError as error:
        shown = repr(f"{source.strip()[:60]} ...")
        raise RulebookError.of("xpath-error", expression=shown, reason="it is nested too deeply") from error
    if (tree.start, tree.end) != (lexemes[0].start, lexemes[-1].end):  # whatever elementpath makes of it
        raise RulebookError.of("xpath-error", expression=repr(source.strip()), reason="its end is not understood")
    return tree


def _plain(source: str) -> str:
    """Return an expression with blanks for comments, each token in its place, and no blank behind a dollar.

    elementpath takes a comment for a token beside brackets and axes, and knows no blank there.
    """
    text = ""
    for token in tokenize(source):
        written = f"${token.text}" if token.kind == "variable" else source[token.start : token.end]
        text = text.ljust(token.end - len(written)) + written
    return text


_CHAINS = ARITHMETIC_SIGNS | SET_SIGNS | {"and", "or", ",", "||"}
_LITERALS = frozenset({"(string)", "(integer)", "(decimal)", "(float)"})
_BRACKETS: Mapping[str, str] = MappingProxyType({"[": "[", "map": "{", "array": "{", "function": "{"})
"""What opens the content of values that the tree does not model."""
_PAIRS: Mapping[str, str] = MappingProxyType({"(": ")", "[": "]", "{": "}"})


class _Builder:
    """Makes nodes of the tokens of elementpath, with places of our own: its spans leave out brackets."""

    def __init__(self, source: str, plain: str) -> None:
        self.source = source
        self.plain = plain
        self.lexemes = tokenize(source)
        self.starts = [lexeme.start for lexeme in self.lexemes]
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for lexeme in self.lexemes:
            if lexeme.kind == "symbol" and lexeme.text in _PAIRS:
                opened.append(lexeme.start)
            elif lexeme.kind == "symbol" and lexeme.text in _PAIRS.values():
                self.closing[opened.pop()] = lexeme.end

    # places

    def lexeme_start(self, at: int) -> int:
        """Return where the lexeme begins that a place is in."""
        return self.starts[bisect_right(self.starts, at) - 1]

    def lexeme_end(self, at: int) -> int:
        """Return where the lexeme ends that a place is in."""
        return self.lexemes[bisect_right(self.starts, at) - 1].end

    def bracket_end(self, at: int) -> int:
        """Return where the first bracket closes that opens at a place or behind it; the place itself without one."""
        k = bisect_left(self.starts, at)
        return self.closing.get(self.starts[k], at) if k < len(self.starts) else at

    # nodes

    def expression(self, token: Any) -> Expression:  # noqa: PLR0911, PLR0912 -- one branch per construct
        symbol, start = token.symbol, token.span[0]
        if symbol in _LITERALS:
            return Literal(self.source, start, token.span[1], token.value)
        if symbol == "$":
            return Variable(self.source, self.lexeme_start(start), self.lexeme_end(start), str(token.value))
        if symbol == "." and not len(token):
            return ContextItem(self.source, start, token.span[1])
        if symbol in ("/", "//"):
            return self._path(token)
        if symbol == "[" and token.label != "array":
            return self._filtered(token)
        if symbol == "(":
            return self._parentheses(token)
        if (step := self._step(token)) is not None:
            return step
        if (call := self._call(token)) is not None:
            return call
        if symbol in _CHAINS and len(token) == 2:
            return self._chain(token)
        if symbol in ("+", "-") and len(token) == 1:
            operand = self.expression(token[0])
            return Negation(self.source, start, operand.end, symbol, operand)
        if symbol in COMPARISON_SIGNS and len(token) == 2:
            left, right = map(self.expression, token)
            return Comparison(self.source, left.start, right.end, symbol, left, right)
        if symbol == "!":
            left, right = map(self.expression, token)
            return SimpleMap(self.source, left.start, right.end, left, right)
        if symbol == "to":
            left, right = map(self.expression, token)
            return Range(self.source, left.start, right.end, left, right)
        if symbol == "if" and len(token) == 3:
            condition, then, otherwise = map(self.expression, token)
            return If(self.source, start, otherwise.end, condition, then, otherwise)
        if symbol in BINDERS and len(token) > 2:
            return self._binding(token)
        if symbol in CONVERSIONS and len(token) == 2:
            return self._typed(token)
        if symbol == "=>":
            return self._arrow(token)
        return self._opaque(token)

    def _parentheses(self, token: Any) -> Expression:
        start, parts = token.span[0], [self.expression(part) for part in token]
        end = self.bracket_end(start)
        if not parts:
            return Sequence(self.source, start, end, ())
        if len(parts) > 1 or parts[0].start < start:  # a function that is a value, called
            return Opaque(self.source, parts[0].start, end, "(", tuple(parts))
        return replace(parts[0], start=start, end=end)  # brackets are no node: the place has them

    def _chain(self, token: Any) -> Expression:
        symbol, operands = token.symbol, []
        while token.symbol == symbol and len(token) == 2:
            operands.append(self.expression(token[1]))
            token = token[0]
        operands.append(self.expression(token))
        operands.reverse()
        place = self.source, operands[0].start, operands[-1].end
        chained = tuple(operands)
        if symbol in ("and", "or"):
            return Connective(*place, symbol, chained)
        if symbol == ",":
            return Sequence(*place, chained)
        if symbol == "||":
            return Concatenation(*place, chained)
        if symbol == "|":
            return self._union(chained)
        if symbol in SET_SIGNS:
            return NodeSet(*place, "|" if symbol == "union" else symbol, chained)
        return Arithmetic(*place, symbol, chained)

    def _union(self, operands: tuple[Expression, ...]) -> Expression:
        first, end = operands[0], operands[-1].end
        if isinstance(first, Negation) and self.source[first.start] == first.sign:
            # XPath 1.0 negates the union; later versions have no union of numbers
            union = self._union((first.operand, *operands[1:]))
            return Negation(self.source, first.start, end, first.sign, union)
        return NodeSet(self.source, first.start, end, "|", operands)

    def _binding(self, token: Any) -> Expression:
        *pairs, last = token
        bound = tuple(
            (str(name.value), self.expression(value)) for name, value in zip(pairs[::2], pairs[1::2], strict=True)
        )
        body = self.expression(last)
        return Binding(self.source, token.span[0], body.end, token.symbol, bound, body)

    def _typed(self, token: Any) -> Expression:
        operand, kind = self.expression(token[0]), token[1]
        named = kind.symbol == ":" and len(kind) == 2
        start = self._start(kind)
        end = max(self.lexeme_end(start), self.bracket_end(self.lexeme_end(start)))
        occurrence = str(kind.occurrence or "")
        text = " ".join(self.plain[start:end].split()) + occurrence
        if occurrence:
            end = self.plain.index(occurrence, end) + 1
        local, space = (str(kind[1].value), _space(kind)) if named else ("", "")
        return Typed(self.source, operand.start, end, token.symbol, operand, TypeName(local, space, occurrence, text))

    def _arrow(self, token: Any) -> Expression:
        operand, function, given = self.expression(token[0]), token[1], token[2]
        arguments = tuple(self.expression(part) for part in given)
        if len(arguments) == 1 and isinstance(arguments[0], Sequence) and given[0].symbol == ",":
            arguments = arguments[0].items
        end = self.bracket_end(given.span[0])
        name = self._function_name(function)
        if name is None:
            parts = (operand, self.expression(function), *arguments)
            return Opaque(self.source, operand.start, end, "=>", parts)
        prefix, space, local = name
        named = self._named(function)
        return Call(self.source, operand.start, end, local, space, (operand, *arguments), prefix, named)

    def _function_name(self, token: Any) -> tuple[str, str, str] | None:
        """Return prefix, namespace and local name of what is called by name."""
        if token.symbol == "(name)":
            return "", FUNCTIONS_NAMESPACE, str(token.value)
        if token.symbol in (":", "Q{") and len(token) == 2:
            prefix, local = str(token[0].value), str(token[1].symbol)
            return ("", prefix, local) if token.symbol == "Q{" else (prefix, _space(token), local)
        return ("", FUNCTIONS_NAMESPACE, str(token.symbol)) if _is_call(token) else None

    def _call(self, token: Any) -> Expression | None:
        inner = token[1] if token.symbol in (":", "Q{") and len(token) == 2 else token
        if not _is_call(inner):
            return None
        start, name = self._named(token), self._function_name(token)
        if name is None:
            return None
        prefix, space, local = name
        opened = self.lexeme_end(start)
        end = self.bracket_end(opened)
        if end == opened:  # a function as a value: name#1
            return None
        arguments = tuple(self.expression(part) for part in inner)
        return Call(self.source, start, end, local, space, arguments, prefix, start)

    def _named(self, token: Any) -> int:
        """Return where the name of a function stands."""
        start = self._start(token)
        # elementpath places functions of two kinds at their bracket
        return self.lexeme_start(start - 1) if self.source[start] == "(" else start

    def _opaque(self, token: Any) -> Expression:
        # elementpath keeps the values of a map and the body of a function apart
        inside = (*token, *getattr(token, "_values", ()), getattr(token, "body", None))
        found = (self.expression(part) for part in inside if hasattr(part, "symbol"))
        parts = tuple(sorted(found, key=lambda part: part.start))
        start = min([token.span[0], *(part.start for part in parts)])
        end = max([self.lexeme_end(token.span[0]), *(part.end for part in parts)])
        if token.symbol in _BRACKETS:
            start, end = self._bracketed(token.span[0], _BRACKETS[token.symbol])
        return Opaque(self.source, start, end, str(token.symbol), parts)

    def _bracketed(self, at: int, bracket: str) -> tuple[int, int]:
        """Return where a map, an array or a function stands: elementpath places it at its bracket, or at its name."""
        here = bisect_left(self.starts, at)
        begins = here if self.lexemes[here].text in _BRACKETS else here - 1
        opens = next(k for k in range(begins, len(self.starts)) if self.lexemes[k].text == bracket)
        return self.starts[begins], self.closing[self.starts[opens]]

    # paths

    def _path(self, token: Any) -> Expression:
        hops: list[Hop] = []
        while token.symbol in ("/", "//") and len(token) == 2:
            hops.append(Hop(token.symbol == "//", self.expression(token[1])))
            token = token[0]
        first: Expression
        if token.symbol in ("/", "//"):
            if len(token):
                hops.append(Hop(token.symbol == "//", self.expression(token[0])))
            first = Root(self.source, token.span[0], token.span[0] + 1)
        else:
            first = self.expression(token)
        if not hops:
            return first
        return Path(self.source, first.start, hops[0].to.end, first, tuple(reversed(hops)))

    def _filtered(self, token: Any) -> Expression:
        predicates: list[Expression] = []
        end = self.bracket_end(token.span[0])
        while token.symbol == "[" and token.label != "array":
            predicates.append(self.expression(token[1]))
            token = token[0]
        base = self.expression(token)
        chosen = tuple(reversed(predicates))
        if isinstance(base, Step) and token.symbol != "(":
            return Step(self.source, base.start, end, base.axis, base.test, chosen)
        return Filter(self.source, base.start, end, base, chosen)

    def _step(self, token: Any) -> Step | None:
        symbol, start = token.symbol, self._start(token)
        if symbol == "..":
            return Step(self.source, start, token.span[1], "parent", KindTest("node"))
        axis: Axis = "attribute" if symbol in ("@", "attribute") else "child"
        if symbol == "@" or (symbol in AXES and token.label == "axis" and len(token) == 1):
            found, axis = self._test(token[0]), axis if symbol == "@" else symbol
        else:
            found = self._test(token)
        if found is None:
            return None
        test, end = found
        return Step(self.source, start, end, axis, test)

    def _start(self, token: Any) -> int:
        """Return where a name begins: elementpath places one with a prefix at its colon."""
        return int(token[0].span[0]) if token.symbol == ":" else int(token.span[0])

    def _test(self, token: Any) -> tuple[NameTest | KindTest, int] | None:
        """Return a node test and where it ends; None for what is none."""
        end = self.lexeme_end(self._start(token)) if token.span else 0
        if token.symbol == "(name)":
            return NameTest(str(token.value)), end
        if token.symbol == "*" and not len(token):
            return NameTest(ANY, ANY), end
        if token.symbol == ":" and token[1].symbol in ("(name)", "*"):
            prefix = str(token[0].value)
            space = ANY if token[0].symbol == "*" else _space(token)
            return NameTest(ANY if token[1].symbol == "*" else str(token[1].value), space, prefix), end
        if token.symbol == "Q{" and token[1].symbol in ("(name)", "*"):
            return NameTest(ANY if token[1].symbol == "*" else str(token[1].value), str(token[0].value)), end
        if "kind test" in str(token.label):
            closed = self.bracket_end(end)
            opened = self.starts[bisect_left(self.starts, end)]
            return KindTest(str(token.symbol), self.plain[opened + 1 : closed - 1].strip()), closed
        return None


def _space(token: Any) -> str:
    """Return the namespace of a name with a prefix."""
    return str(token.parser.namespaces.get(str(token[0].value), ""))


def _is_call(token: Any) -> bool:
    return (
        isinstance(token, XPathFunction)
        and "kind test" not in str(token.label)
        and str(token.label) not in ("inline function", "map", "array", "sequence type")
    )


def is_pattern(text: str) -> bool:
    """Tell whether a text is a regular expression of XPath."""
    try:
        translate_pattern(text)
    except RegexError:
        return False
    return True
