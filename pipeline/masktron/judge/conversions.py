"""Where an expression converts between numbers and texts, and how it is written so that engines answer rightly.

libxml2 reads decimals with more than one rounding, reads exponents and writes 15 digits. An expression in which
functions of ours (`masktron.judge.programs`) stand for each conversion has the value of the
Recommendation; all else in it is libxml2's. Theorem: the rewritten expression converts nothing itself. Proof:
conversions to numbers are those of operands of ``+ - * div mod`` and the unary minus, of arguments that are numbers,
of ``sum()``, and of comparisons (3.4) unless both operands are numbers or booleans, or it is an equality of texts, or
of anything with a boolean; conversions of numbers to texts are those of arguments that are texts. Literals are
replaced where libxml2 misreads them. What a variable is becomes known when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from masktron.judge.rewriting import Change, Converted, Reads, Rewriting, Type, is_xpath1, joined, reads_of_all
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Connective,
    Expression,
    Literal,
    Negation,
    Variable,
)
from masktron.sources.lexical import is_misread

PREFIX = "m-num"
URI = "urn:masktron:numbers"
"""Of our functions in stylesheets."""


def converted(
    expression: str,
    types: Mapping[str, Type] | None = None,
    namespaces: Iterable[tuple[str, str]] = (),
    *,
    written: bool = False,
) -> Converted:
    """Rewrite an expression.

    Parameters
    ----------
    expression : str
    types : mapping of str to Type, optional
        Of variables.
    namespaces : iterable of (prefix, uri)
    written : bool
        Whether its value is written as a text.

    Returns
    -------
    Converted
        The expression itself where it is not the grammar of XPath 1.0: an engine says what is wrong with it.
    """
    tree = understood(expression, namespaces)
    if tree is None or not is_xpath1(tree):
        return Converted(expression, "unknown")
    return with_conversions(tree, types or {}, written=written)


def with_conversions(
    expression: Expression, types: Mapping[str, Type], changes: Iterable[Change] = (), *, written: bool = False
) -> Converted:
    """Rewrite an expression of XPath 1.0, with other texts for some of its parts.

    Parameters
    ----------
    expression : Expression
    types : mapping of str to Type
        Of variables, by their names in the expression.
    changes : iterable of Change
        A variable has the type of its name, whatever its change says.
    written : bool
        Whether its value is written as a text.
    """
    found = _Conversion(types, changes).of(expression)
    return _as_text(found) if written else found


_EQUALITIES = frozenset({"=", "!="})
_CALCULATED = frozenset({"boolean", "number"})
_NUMBERS = "n"
_TEXTS = "t"
_AS_IS = "-"
_ARGUMENTS: Mapping[str, tuple[str, Type]] = {
    "last": ("", "number"),
    "position": ("", "number"),
    "count": ("-", "number"),
    "id": ("t", "nodes"),
    "local-name": ("-", "string"),
    "namespace-uri": ("-", "string"),
    "name": ("-", "string"),
    "string": ("t", "string"),
    "concat": ("t", "string"),
    "starts-with": ("tt", "boolean"),
    "contains": ("tt", "boolean"),
    "substring-before": ("tt", "string"),
    "substring-after": ("tt", "string"),
    "substring": ("tnn", "string"),
    "string-length": ("t", "number"),
    "normalize-space": ("t", "string"),
    "translate": ("ttt", "string"),
    "boolean": ("-", "boolean"),
    "not": ("-", "boolean"),
    "true": ("", "boolean"),
    "false": ("", "boolean"),
    "lang": ("t", "boolean"),
    "floor": ("n", "number"),
    "ceiling": ("n", "number"),
    "round": ("n", "number"),
    "document": ("--", "nodes"),
    "current": ("", "nodes"),
    "key": ("-t", "nodes"),
    "generate-id": ("-", "string"),
    "format-number": ("n--", "string"),
    "system-property": ("-", "string"),
    "element-available": ("-", "boolean"),
    "function-available": ("-", "boolean"),
    "unparsed-entity-uri": ("-", "string"),
}
"""What each argument is converted to (a number, a text, nothing), the last for all that follow, and the result."""
_SMALL = frozenset({"last", "position", "count", "string-length"})


class _Conversion(Rewriting):
    def __init__(self, types: Mapping[str, Type], changes: Iterable[Change]) -> None:
        super().__init__(changes)
        self._types = types

    def variable(self, node: Variable, text: str) -> Converted:
        return Converted(text, self._types.get(node.name, "unknown"))

    def written(self, node: Expression, parts: Sequence[Converted]) -> Converted:  # noqa: PLR0911 -- one branch each
        match node:
            case Literal(value=str(value)):
                return Converted(node.text, "string", literal=value)
            case Literal():
                return _figure(node)
            case Arithmetic() | Negation():
                return joined(node, map(_as_number, parts), "number")
            case Connective():
                return joined(node, parts, "boolean")
            case Comparison(sign=sign):
                return _compared(node, sign, *parts)
            case Call():
                return _called(node, parts)
            case _:
                return joined(node, parts, "nodes")


def _figure(literal: Literal) -> Converted:
    number = literal.written
    # what is no Number of XPath 1.0 is no syntax of it: it stays libxml2's
    if not number.replace(".", "").isdecimal() or not is_misread(number):
        return Converted(literal.text, "number", small=number.isdecimal() and len(number) < 10)
    return Converted(f"{PREFIX}:number('{number}')", "number", Reads.MORE)


def _compared(node: Expression, sign: str, left: Converted, right: Converted) -> Converted:
    kinds = {left.type, right.type}
    equality = sign in _EQUALITIES
    if kinds <= _CALCULATED or (equality and ("boolean" in kinds or kinds <= {"nodes", "string"})):
        return joined(node, (left, right), "boolean")
    reads = (_reading(operand) for operand in (left, right) if operand.type not in _CALCULATED)
    text = f"{PREFIX}:compare('{sign}', {left.text}, {right.text})"
    return Converted(text, "boolean", max(reads_of_all((left, right)), *reads))


def _called(call: Call, parts: Sequence[Converted]) -> Converted:
    match call.standard, parts:
        case "number", []:
            return _as_number(Converted(".", "nodes"))
        case "number", [operand] if operand.type in _CALCULATED:
            return joined(call, parts, "number", small=operand.small)
        case "number", [operand]:
            return _as_number(operand)
        case "sum", [operand]:
            return Converted(f"{PREFIX}:sum({operand.text})", "number", max(operand.reads, _reading(operand)))
    kinds, result = _ARGUMENTS.get(call.standard, (_AS_IS, "unknown"))
    each = kinds.ljust(len(parts), kinds[-1:] or _AS_IS)
    return joined(call, map(_argument, each, parts), result, small=call.standard in _SMALL)


def _argument(kind: str, argument: Converted) -> Converted:
    if kind == _NUMBERS:
        return _as_number(argument)
    return _as_text(argument) if kind == _TEXTS else argument


def _as_number(operand: Converted) -> Converted:
    if operand.type in _CALCULATED:
        return operand
    return Converted(f"{PREFIX}:number({operand.text})", "number", max(operand.reads, _reading(operand)))


def _as_text(operand: Converted) -> Converted:
    if operand.type not in ("number", "unknown") or operand.small:
        return operand
    return replace(operand, text=f"{PREFIX}:string({operand.text})", reads=Reads.MORE)


def _reading(operand: Converted) -> Reads:
    """Return what libxml2 can get wrong in reading a number from an operand."""
    if operand.type == "nodes":
        return Reads.NODES
    if operand.literal is not None:
        return Reads.MORE if is_misread(operand.literal) else Reads.NOTHING
    return Reads.MORE
