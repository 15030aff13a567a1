"""Where an expression converts between numbers and texts, and how it is written so that engines answer rightly.

libxml2 reads decimals with more than one rounding, reads exponents and writes 15 digits. An expression in which
functions of ours (`masktron.judge.programs`) stand for each conversion has the value of the
Recommendation; all else in it is libxml2's. Theorem: the rewritten expression converts nothing itself. Proof:
conversions to numbers are those of operands of ``+ - * div mod`` and the unary minus, of arguments that are numbers,
of ``sum()``, and of comparisons (3.4) unless both operands are numbers or booleans, or it is an equality of texts, or
of anything with a boolean; conversions of numbers to texts are those of arguments that are texts. Literals are
replaced where libxml2 misreads them. What a variable is becomes known when it is evaluated.

SaxonC 13.1 is wrong about ``substring()`` with fractions and very large positions. Its XPath 1.0 mode refuses a
comparison of a comparison without brackets, and compares a number with a truth value as truth values: the deviations
``substring-fraction``, ``substring-large``, ``chained-comparison-saxon`` and ``boolean-order-saxon``. A function of
the stylesheet stands for ``substring()``, brackets are added, and a truth value is made a number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Literal as OneOf

from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    ANY,
    GENERAL_SIGNS,
    NODE_KINDS,
    Arithmetic,
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
    Step,
    Variable,
    parts_of,
    replaced,
    spelled,
    walk,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE
from masktron.sources.lexical import is_misread

PREFIX = "m-num"
URI = "urn:masktron:numbers"
"""Of our functions in stylesheets."""

type Type = OneOf["number", "boolean", "string", "nodes", "unknown"]


class Reads(IntEnum):
    """What libxml2 can get wrong in an expression."""

    NOTHING = 0
    NODES = 1
    """It reads numbers from nodes: wrong only where a document has a value that libxml2 misreads."""
    MORE = 2
    """It reads numbers from texts that it makes, writes numbers, or has a literal that libxml2 misreads."""


@dataclass(frozen=True, slots=True)
class Converted:
    """An expression whose conversions are ours.

    Attributes
    ----------
    text : str
    type : {"number", "boolean", "string", "nodes", "unknown"}
        Of its value.
    reads : Reads
    small : bool
        Whether it is a number that libxml2 writes as it should: a count, a position, a length.
    """

    text: str
    type: Type
    reads: Reads = Reads.NOTHING
    small: bool = False
    literal: str | None = None
    """The value, where it is a literal text."""


@dataclass(frozen=True, slots=True)
class Change:
    """What stands for ``[start:end]`` of a source: a head, what is kept of it, with other changes, and a tail.

    Attributes
    ----------
    start, end : int
    head : str
    kept : tuple of Expression
        From the first to the last of them the source stays.
    tail : str
    type : {"number", "boolean", "string", "nodes", "unknown"}
        Of the value.
    """

    start: int
    end: int
    head: str
    kept: tuple[Expression, ...] = ()
    tail: str = ""
    type: Type = "nodes"

    def covers(self, start: int, end: int) -> bool:
        """Whether it stands for a place, too."""
        return self.start <= start and end <= self.end


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
    found = _Conversion(types, tuple(sorted(changes, key=lambda one: one.start))).of(expression)
    return _as_text(found) if written else found


_EQUALITIES = frozenset({"=", "!="})


def is_xpath1(expression: Expression) -> bool:
    """Whether an expression has the grammar of XPath 1.0, whatever it calls by a name without prefix."""
    return all(map(_is_in_grammar, walk(expression)))


def _is_in_grammar(node: Expression) -> bool:  # noqa: PLR0911 -- one branch per construct
    match node:
        case Literal() | Variable() | Root() | ContextItem() | Connective():
            return True
        case Comparison(sign=sign):
            return sign in GENERAL_SIGNS
        case Arithmetic(sign=sign):
            return sign != "idiv"
        case Negation(sign=sign):
            return sign == "-"
        case NodeSet(operands=operands):
            signs = {node.source[one.end : other.start].strip() for one, other in pairwise(operands)}
            return signs == {"|"} and not any(isinstance(one, Negation) and _is_bare(one) for one in operands)
        case Call(name=name, arguments=arguments, named=named):  # with no prefix, and no argument before =>
            return node.source.startswith(name, named) and all(named < one.start for one in arguments)
        case Step(test=KindTest(kind=kind), predicates=predicates):
            return kind in NODE_KINDS and not (predicates and node.text.startswith(".."))
        case Step(test=NameTest(space=space, prefix=prefix)):
            return prefix != ANY and (bool(prefix) or space in ("", ANY))
        case Filter(base=base):
            return not (isinstance(base, ContextItem) and _is_bare(base))
        case Path(hops=hops):
            return all(isinstance(hop.to, Step | ContextItem) and _is_bare(hop.to) for hop in hops)
        case _:
            return False


def _is_bare(node: Expression) -> bool:
    return not node.text.startswith("(")


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


@dataclass(frozen=True, slots=True)
class _Conversion:
    types: Mapping[str, Type]
    changes: tuple[Change, ...]

    def of(self, node: Expression) -> Converted:  # noqa: PLR0911 -- one branch per construct
        own = self._own(node)
        if own and not isinstance(node, Variable):
            return self._changed(node, own)
        parts = [self.of(part) for part in parts_of(node)]
        match node:
            case Literal(value=str(value)):
                return Converted(node.text, "string", literal=value)
            case Literal():
                return _figure(node)
            case Variable(name=name):
                places = [(one.start, one.end, one.head) for one in own]
                text = replaced(node.source, places, node.start, node.end)
                return Converted(text, self.types.get(name, "unknown"))
            case Arithmetic() | Negation():
                return _joined(node, map(_as_number, parts), "number")
            case Connective():
                return _joined(node, parts, "boolean")
            case Comparison(sign=sign):
                return _compared(node, sign, *parts)
            case Call():
                return _called(node, parts)
            case _:
                return _joined(node, parts, "nodes")

    def _own(self, node: Expression) -> list[Change]:
        """Return the changes of a node that are of none of its parts."""
        first = bisect_left(self.changes, node.start, key=lambda one: one.start)
        last = bisect_left(self.changes, node.end, key=lambda one: one.start)
        within = [one for one in self.changes[first:last] if one.end <= node.end]
        parts = list(parts_of(node)) if within else []
        return [one for one in within if not any(p.start <= one.start and one.end <= p.end for p in parts)]

    def _changed(self, node: Expression, own: Sequence[Change]) -> Converted:
        """Return a path whose first steps have another text, or a node that has one as a whole."""
        left = [part for part in parts_of(node) if not any(one.covers(part.start, part.end) for one in own)]
        places = [(part.start, part.end, self.of(part).text) for part in left]
        for one in own:
            kept = [(part.start, part.end, self.of(part).text) for part in one.kept]
            inside = replaced(node.source, kept, kept[0][0], kept[-1][1]) if kept else ""
            places.append((one.start, one.end, f"{one.head}{inside}{one.tail}"))
        text = replaced(node.source, sorted(places), node.start, node.end)
        if isinstance(node, Comparison):
            return Converted(text, "boolean", Reads.MORE)
        return Converted(text, "nodes" if left else own[0].type, Reads.MORE)


def _joined(node: Expression, parts: Iterable[Converted], of: Type, *, small: bool = False) -> Converted:
    parts = tuple(parts)
    return Converted(spelled(node, (part.text for part in parts)), of, _reads(parts), small)


def _reads(parts: Iterable[Converted]) -> Reads:
    return max((part.reads for part in parts), default=Reads.NOTHING)


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
        return _joined(node, (left, right), "boolean")
    reads = (_reading(operand) for operand in (left, right) if operand.type not in _CALCULATED)
    text = f"{PREFIX}:compare('{sign}', {left.text}, {right.text})"
    return Converted(text, "boolean", max(_reads((left, right)), *reads))


def _called(call: Call, parts: Sequence[Converted]) -> Converted:
    match call.standard, parts:
        case "number", []:
            return _as_number(Converted(".", "nodes"))
        case "number", [operand] if operand.type in _CALCULATED:
            return _joined(call, parts, "number", small=operand.small)
        case "number", [operand]:
            return _as_number(operand)
        case "sum", [operand]:
            return Converted(f"{PREFIX}:sum({operand.text})", "number", max(operand.reads, _reading(operand)))
    kinds, result = _ARGUMENTS.get(call.standard, (_AS_IS, "unknown"))
    each = kinds.ljust(len(parts), kinds[-1:] or _AS_IS)
    return _joined(call, map(_argument, each, parts), result, small=call.standard in _SMALL)


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


SAXON_PREFIX = "m-sax"
SAXON_URI = "urn:masktron:saxon"
"""Of our function in stylesheets."""
_NAME = "substring"
_ORDERS = frozenset({"<", "<=", ">", ">="})


def for_saxon(
    expression: Expression, *, xpath1: bool, types: Mapping[str, Type] = MappingProxyType({})
) -> Iterator[tuple[int, int, str]]:
    """Yield the places of an expression's source in which Saxon needs another text, and that text.

    Texts for one place come in the order in which they stand there.

    Parameters
    ----------
    expression : Expression
    xpath1 : bool
        Whether it is evaluated in XPath 1.0 mode.
    types : mapping of str to Type, optional
        Of variables, in XPath 1.0.
    """
    brackets = xpath1 and is_xpath1(expression)
    truths: set[tuple[int, int] | None] = set()
    closing: list[tuple[int, str]] = []
    for node in walk(expression):
        match node:
            case Call(standard="substring", arguments=(_, _) | (_, _, _), named=named):
                yield named, node.source.index(_NAME, named) + len(_NAME), _function(xpath1=xpath1)
            case Opaque(
                symbol="#", parts=(Step(test=NameTest(local="substring", space=space)) as name, Literal(value=2 | 3))
            ) if space in ("", FUNCTIONS_NAMESPACE):
                yield name.start, name.end, _function(xpath1=xpath1)
            case Comparison() if brackets:
                truths.add(_truth_that_is_ordered(node, types))
        opened = "number(" * (_place(node) in truths) + "(" * (brackets and isinstance(node, Comparison))
        if opened:
            yield node.start, node.start, opened
            closing.append((node.end, ")" * opened.count("(")))
    # of those that close in one place, the inner ones first
    yield from ((end, end, text) for end, text in reversed(closing))


def _place(node: Expression) -> tuple[int, int]:
    return node.start, node.end


def _truth_that_is_ordered(comparison: Comparison, types: Mapping[str, Type]) -> tuple[int, int] | None:
    """Return where the operand stands that is a truth value, of an order in which the other is a number or a text.

    With nodes a truth value is compared as one in the Recommendation too.
    """
    if comparison.sign not in _ORDERS:
        return None
    operands = (comparison.left, comparison.right)
    kinds = [with_conversions(operand, types).type for operand in operands]
    one_is = "boolean" in kinds and {"number", "string"} & {*kinds}
    return _place(operands[kinds.index("boolean")]) if one_is else None


def _function(*, xpath1: bool) -> str:
    """Return the name of our function; XPath 1.0 has its own, since anything may be its argument."""
    return f"{SAXON_PREFIX}:{_NAME}{'-1' if xpath1 else ''}"


def functions(*, xpath1: bool) -> str:
    """Return the declarations of the functions that `for_saxon` calls.

    Saxon's ``round()`` and comparisons are right. Infinities whose sum is NaN select nothing, as the Recommendation
    asks, since every comparison with NaN is false.

    Parameters
    ----------
    xpath1 : bool
        Whether those of XPath 1.0 mode, or of later versions.
    """
    types = ("item()*",) * 3 if xpath1 else ("m-xs:string?", "m-xs:double", "m-xs:double")
    text, start, size = ("string($t)", "number($from)", "number($size)") if xpath1 else ("$t", "$from", "$size")
    mode = ' version="1.0"' if xpath1 else ""
    declared = []
    for end in ("", f" and position() &lt; $first + round({size})"):
        names = ("t", "from", "size") if end else ("t", "from")
        parameters = "".join(
            f'<m-xsl:param name="{name}" as="{of}"/>' for name, of in zip(names, types, strict=False)
        )
        declared.append(
            f'<m-xsl:function name="{_function(xpath1=xpath1)}" as="m-xs:string"{mode}>{parameters}'
            f'<m-xsl:variable name="first" select="round({start})"/>'
            f'<m-xsl:sequence select="codepoints-to-string(string-to-codepoints({text})'
            f'[position() &gt;= $first{end}])"/></m-xsl:function>'
        )
    return "".join(declared)
