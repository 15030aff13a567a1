"""The grammar of one rule, and the tree that it makes of a text.

Rules of R's package validate are read by the same grammar: what R alone writes (``%in%``, ``c()``, ``is.na()``,
``if (A) B``) is a spelling here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache, reduce
from typing import Any, cast

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError
from lark.lark import PostLex

from masktron.problems.problem import Known, Problem
from masktron.rulebook.plain import tree
from masktron.rulebook.plain.functions import (
    FUNCTIONS,
    MEANT,
    R_FUNCTIONS,
    SPELLINGS,
    TALLIES,
    counted_in_r,
    meaning,
    misused,
)
from masktron.rulebook.plain.slips import PlainSyntaxError, slip, slip_at
from masktron.rulebook.plain.tree import Node, Placed

GRAMMAR = r"""
?start: expression
?expression: _IF expression _THEN expression [_ELSE expression]        -> conditional
           | _IF_OF_R "(" expression ")" expression [_ELSE expression] -> conditional
           | disjunction
?disjunction: conjunction (_OR conjunction)*
?conjunction: negation (_AND negation)*
?negation: NOT negation
         | comparison
?comparison: sum (COMPARE sum)+                                        -> chain
           | sum [NOT] IN options                                      -> membership
           | sum IN_OF_R options                                       -> membership_of_r
           | sum
?sum: product (SIGN product)*
?product: remainder (TIMES remainder)*
?remainder: signed (REMAINDER signed)*
?signed: SIGN signed
       | power
?power: grouped (POWER signed)?
?grouped: atom (BY names)?
names: name
     | "(" name ("," name)* ")"
?atom: literal
     | NAME "(" [argument ("," argument)*] ")"                         -> call
     | name
     | "(" expression ")"
name: NAME | QUOTED
?argument: expression
         | BY COMPARE name                                             -> keyword_by
         | "{" [option ("," option)*] "}"                              -> set
options: "{" option ("," option)* "}"
       | NAME "(" option ("," option)* ")"
       | option
option: bound RANGE bound
      | bound
?bound: SIGN bound
      | literal
?literal: PERCENT                                                      -> percent
        | NUMBER                                                       -> number
        | TEXT                                                         -> text
        | TRUTH                                                        -> truth

_IF.3: /(?:if|IF)(?![\w.])/
_THEN.3: /(?:then|THEN)(?![\w.])/
_ELSE.3: /(?:else|ELSE)(?![\w.])/
BY.3: /(?:by|BY)(?![\w.])/
IN.3: /(?:in|IN)(?![\w.])/
_AND.3: /(?:and|AND)(?![\w.])|&&?/
_OR.3: /(?:or|OR)(?![\w.])|\|\|?/
NOT.3: /(?:not|NOT)(?![\w.])|!(?!=)/
TRUTH.3: /(?:TRUE|FALSE|true|false|NA)(?![\w.])/
IN_OF_R.3: /%v?in%/
PERCENT.2: /(?:\d+(?:\.\d+)?|\.\d+)%(?!v?in%|%)/
NUMBER: /(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?L?(?![\w.]*[^\W\d_])/
TEXT: /"[^"]*"|'[^']*'/
NAME: /(?:[^\W\d]|\.(?!\d|\.))[\w.]*/
QUOTED: /`[^`]+`/
RANGE.2: /\.\.(?!\.)/
COMPARE: /==|!=|<=|>=|≤|≥|≠|<(?![>-])|>|=(?![<>])/
SIGN: /[+-](?![>])/
TIMES: /\*(?!\*)|\/(?!\/)/
REMAINDER: "%%"
POWER: "^"
%declare _IF_OF_R
%ignore /[ \t\r\n]+/
"""

_MOST_DIGITS = 100
_KEYWORDS = ("na.rm", "by")
_COMPARISONS: Mapping[str, Any] = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}


class _Conditionals(PostLex):
    """Tells ``if (A) B`` of R from ``if (A + B) - C > 0 then D``: no ``then`` follows."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Give each ``if`` of R a type of its own."""
        followed, found = [0], list[Token]()
        for token in reversed([*stream]):
            if token.type == "RPAR":
                followed.append(0)
            elif token.type == "LPAR":
                followed = followed[:-1] or [0]
            elif token.type == "_THEN":
                followed[-1] += 1
            elif token.type == "_IF" and followed[-1]:
                followed[-1] -= 1
            elif token.type == "_IF" and found and found[-1].type == "LPAR":
                token = Token.new_borrow_pos("_IF_OF_R", token.value, token)  # noqa: PLW2901 -- it is that one
            found.append(token)
        return reversed(found)


@cache
def _parser() -> Lark:
    return Lark(
        GRAMMAR,
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=True,
        postlex=_Conditionals(),
    )


def parse(text: str) -> Node:
    """Return the tree of a condition.

    Raises
    ------
    PlainSyntaxError
        It is none: what stands where, and what was probably meant.
    """
    text = text.rstrip()
    try:
        return _Trees().transform(_parser().parse(text))
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise _wrong(text, at, at) from None
    except UnexpectedToken as error:
        at, end = error.token.start_pos or 0, error.token.end_pos or 0
        at, end = (len(text), len(text)) if error.token.type == "$END" else (at, end)
        raise _wrong(text, at, end, frozenset(error.expected)) from None
    except VisitError as error:
        if not isinstance(error.orig_exc, PlainSyntaxError):
            raise
        comma = re.search(r"\d(?=,\d)", text[error.orig_exc.at :])
        if error.orig_exc.problem.code == "plain-arguments" and comma:
            raise _wrong(text, error.orig_exc.at + comma.end(), 0) from None
        raise error.orig_exc from None
    except RecursionError:
        raise PlainSyntaxError(Problem("plain-too-deep"), 0) from None


def _wrong(text: str, at: int, end: int, expected: frozenset[str] = frozenset()) -> PlainSyntaxError:
    return slip_at(text, at, [*_parser().lex(text[:end])], expected)


def _placed(make: Callable[..., Any], _: str, parts: list[Any], meta: Any) -> Any:
    """Return what a part of the grammar becomes; it stands where that begins."""
    made = make(*parts)
    return replace(made, at=meta.start_pos) if isinstance(made, Placed) and made.at < 0 else made


@v_args(wrapper=_placed)
class _Trees(Transformer[Token, Node]):
    """What each part of the grammar becomes."""

    conditional = tree.If

    def disjunction(self, *parts: Node) -> Node:
        return tree.Joined("or", parts)

    def conjunction(self, *parts: Node) -> Node:
        return tree.Joined("and", parts)

    def negation(self, _: Token, of: Node) -> Node:
        return tree.Not(of)

    def chain(self, *parts: Any) -> Node:
        pairs = [
            tree.Compared(_COMPARISONS.get(operator, str(operator)), left, right, at=left.at)
            for left, operator, right in zip(parts[::2], parts[1::2], parts[2::2], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else tree.Joined("and", tuple(pairs))

    def membership(self, value: Node, without: Token | None, _: Token, options: tuple[Node, ...]) -> Node:
        found = tree.In(value, options)
        return found if without is None else tree.Not(found)

    def membership_of_r(self, value: Node, operator: Token, options: tuple[Node, ...]) -> Node:
        return tree.In(value, options, operator == "%in%")

    def operators(self, *parts: Any) -> Node:
        """Join operands from the left; what stands between them are operators."""

        def join(left: Node, at: int) -> Node:
            return tree.Arithmetic(str(parts[at]), left, parts[at + 1], at=left.at)

        return cast(Node, reduce(join, range(1, len(parts), 2), parts[0]))

    sum = product = remainder = power = operators

    def signed(self, sign: Token, of: Node) -> Node:
        return tree.Negative(of) if sign == "-" else of

    bound = signed

    def grouped(self, call: Node, _: Token, names: tuple[tree.Name, ...]) -> Node:
        if not isinstance(call, tree.Call) or call.function not in (*TALLIES, "is_unique") or call.by:
            raise PlainSyntaxError(Problem("plain-by"), call.at)
        if call.function == "is_unique":
            return replace(call, arguments=(*call.arguments, *names))
        return replace(call, by=names)

    def names(self, *parts: tree.Name) -> tuple[tree.Name, ...]:
        return parts

    def percent(self, digits: Token) -> Node:
        return tree.Number(format(Decimal(f"{digits[:-1]}e-2"), "f"))

    def number(self, text: Token) -> Node:
        digits, _, exponent = text.removesuffix("L").lower().partition("e")
        if len(digits) > _MOST_DIGITS or abs(int(exponent or 0)) > _MOST_DIGITS:
            raise slip("a number of that size", "one that a computer holds exactly", text.start_pos or 0)
        return tree.Number(text.removesuffix("L"))

    def text(self, quoted: Token) -> Node:
        return tree.Text(quoted[1:-1])

    def truth(self, word: Token) -> Node:
        return tree.Truth({"TRUE": True, "FALSE": False}.get(word.upper()))

    def name(self, written: Token) -> Node:
        return tree.Name(written.strip("`"))

    def keyword_by(self, _: Token, sign: Token, name: Node) -> Node:
        return tree.Compared("==", tree.Name("by"), name)

    def set(self, *parts: Node | None) -> Any:
        return tuple(filter(None, parts))

    def option(self, one: Node, _: Token | None = None, high: Node | None = None) -> Node:
        return one if high is None else tree.Range(one, high)

    def options(self, *parts: Any) -> tuple[Node, ...]:
        if not isinstance(parts[0], Token):
            return parts
        if parts[0] != "c":
            raise slip(f"{parts[0]}() as a set", '{"a", "b"}', parts[0].start_pos or 0)
        return parts[1:]

    def call(self, name: Token, *parts: Any) -> Node:
        return _called(name, [one for one in parts if one is not None])


def _unknown(name: str, at: int) -> PlainSyntaxError:
    if name.lower() in MEANT:
        return slip(f"{name}()", MEANT[name.lower()], at)
    known = Known(name, tuple(sorted({*FUNCTIONS, *SPELLINGS, *R_FUNCTIONS})))
    return PlainSyntaxError(Problem("unknown-name", name=name, known=known, kind="function"), at)


def _called(token: Token, parts: list[Any]) -> Node:
    """Make a call, with what its named arguments say: ``na.rm=TRUE`` and ``by=region``."""
    at = token.start_pos or 0
    name = SPELLINGS.get(str(token), str(token))
    if name in R_FUNCTIONS:
        return meaning(name, parts, at)
    if name not in FUNCTIONS:
        raise _unknown(str(token), at)
    arguments: list[Any] = []
    by: tuple[tree.Name, ...] = ()
    remove_missing = False
    of_several = name in (*TALLIES, "is_unique")
    for one in parts:
        match one:
            case tree.Compared("==", tree.Name("na.rm"), tree.Truth(value)) if value is not None and of_several:
                remove_missing = value
            case tree.Compared("==", tree.Name("by"), tree.Name() as group) if of_several:
                by = (group,)
            case tree.Compared("==", tree.Name(keyword)) if keyword in _KEYWORDS:
                raise slip(f"{keyword}= in {token}()", FUNCTIONS[name].shape, one.at)
            case _:
                arguments.append(one)
    if name == "sum" and (counted := counted_in_r(arguments, by)) is not None:
        return counted
    least, most = FUNCTIONS[name].arguments
    if not least <= len(arguments) <= (most or len(arguments)) or any(isinstance(one, tuple) for one in arguments):
        raise misused(name, at, str(token))
    if name == "is_unique":  # of which groups are further fields
        arguments, by = [*arguments, *by], ()
    return tree.Call(name, tuple(arguments), by, remove_missing)
