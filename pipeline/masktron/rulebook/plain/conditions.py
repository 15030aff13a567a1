"""What a plain rule becomes in XPath.

A condition holds, fails, or is undecided, where a value is missing (Kleene 1952, section 64). XPath knows two
outcomes. So each condition is written in four ways: that it holds, or fails, for certain, or that it may, which is
what the opposite does not exclude. Guards of presence stand at each comparison; where all is there they are true, and
cost a rule no class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from masktron.problems.problem import Problem
from masktron.rulebook.expressions.spacing import quoted
from masktron.rulebook.plain.functions import TALLIES
from masktron.rulebook.plain.kinds import ORDERS, kind_compared, kind_of, linear
from masktron.rulebook.plain.slips import PlainSyntaxError
from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    Comparison,
    If,
    In,
    Joined,
    Kind,
    Missing,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Range,
    Text,
    Truth,
    children,
    walk,
)
from masktron.sources.tables.column_names import xml_name

FLIPPED: Mapping[str, Comparison] = MappingProxyType(
    {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
)
_XPATH = MappingProxyType({"==": "=", "*": "*", "/": "div", "+": "+", "-": "-"})
_PRECEDENCE = MappingProxyType({"+": 1, "-": 1, "*": 2, "/": 2, "%%": 2, "^": 3})
_HIGHEST_POWER = 6
_NONE = MappingProxyType({" = 0": " > 0", " > 0": " = 0"})


@dataclass(frozen=True, slots=True)
class Records:
    """What a file calls what rules speak of.

    Attributes
    ----------
    record : str
        The element of a record, as XPath writes it.
    above : tuple of str
        The elements around all records, from the root.
    fields : mapping of str to str
        The path of each field from its record, by the name that rules have for it; others are names of columns.
    codes : mapping of str to frozenset of str
        By field, values that mean that there is none; ``*`` for all fields.
    kinds : mapping of str to Kind
        What the file says that its fields are.
    within : mapping of str to (str, str)
        By name: fields of records that stand within the record, such as ``Person.income``, as the path to these
        records and that from there; and these records themselves, with no path from there.
    namespaces : mapping of str to str
        Prefixes of these paths.
    """

    record: str = "Record"
    above: tuple[str, ...] = ("Data",)
    fields: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    within: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    namespaces: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The root element."""
        return f"/{self.above[0]}"

    @property
    def all(self) -> str:
        """The path to all records."""
        return "/".join(("", *self.above, self.record))

    def knows(self, names: Iterable[str]) -> bool:
        """Tell whether it has all of these names; where nobody has said which there are, it has any."""
        return not self.fields or all(name in self.fields or name in self.within for name in names)

    def path(self, name: str) -> str:
        """Return the path of a field from its record."""
        return self.fields.get(name) or xml_name(name)

    def codes_of(self, name: str) -> tuple[str, ...]:
        """Return the values of a field that mean that there is none."""
        return tuple(sorted((*self.codes.get(name, ()), *self.codes.get("*", ()))))


class Conditions:
    """Writes the conditions of rules on one kind of file.

    Parameters
    ----------
    records : Records
    kinds : mapping of str to Kind
        Of the fields.
    tolerance : tuple of (str, str)
        As of `PlainRule`.

    Attributes
    ----------
    later : bool
        Whether a condition that was written needs XPath 2.0.
    """

    def __init__(self, records: Records, kinds: Mapping[str, Kind], tolerance: tuple[str, str] = ("", "")) -> None:
        self._records, self._kinds, self._tolerance = records, kinds, tolerance
        self.later = False

    def written(self, node: Node, truth: bool, certain: bool) -> str:  # noqa: PLR0911 -- one branch per node
        """Return an expression of XPath: that a condition holds, or fails, for certain, or that it may.

        Raises
        ------
        PlainSyntaxError
            It is no condition, or is none that XPath has.
        """
        match node:
            case Truth(None):
                return "false()" if certain else "true()"
            case Truth(value):
                return "true()" if value is truth else "false()"
            case Not(of):
                return self.written(of, not truth, certain)
            case Joined(operator, parts):
                return _joined(
                    operator if truth else _other(operator), (self.written(p, truth, certain) for p in parts)
                )
            case If(condition, then, otherwise):
                return self.written(_without_if(condition, then, otherwise), truth, certain)
            case Missing(of):
                guard = self._there(of)
                return _not(guard) if truth else guard
            case In():
                return self._membership(node, truth, certain)
            case Compared():
                return self._comparison(node, truth, certain)
            case Call("matches", arguments, _, decided):
                return self._matches(arguments, truth, certain and not decided, decided)
            case Call("is_unique", arguments, _, decided):
                return self._unique(arguments, truth, certain, decided)
        what = "a number" if kind_of(node, self._kinds) in ("number", "unknown") else "a text"
        raise PlainSyntaxError(Problem("plain-no-condition", what=what), node.span.start)

    # comparisons

    def _comparison(self, node: Compared, truth: bool, certain: bool) -> str:
        operator, left, right = node.operator, node.left, node.right
        kind = kind_compared(left, right, operator, self._kinds)
        if kind == "condition":
            return self._same_conditions(node, truth, certain)
        if kind == "text" and operator in ORDERS:
            raise PlainSyntaxError(Problem("plain-text-order", operator=operator), node.span.start)
        slack = self._tolerance[operator != "=="] if kind == "number" and operator in ("==", "<=", ">=") else ""
        if operator == "!=":
            operator, truth = "==", not truth
        within = slack and linear(left) and linear(right)
        stated = self._within(operator, left, right, slack) if within else self._stated(operator, left, right, kind)
        stated = _joined("and", (*self._summed((left, right)), stated))
        return self._guarded(stated if truth else _not(stated), (left, right), certain)

    def _stated(self, operator: Comparison, left: Node, right: Node, kind: Kind) -> str:
        """Return a comparison of values that are there."""
        if kind == "number" and (spread := _spread(operator, left, right)):
            word, parts, bound = spread
            each = _joined(word, (self._stated(one, part, bound, kind) for one, part in parts))
            if word == "and" or parts[1][1] == Negative(parts[0][1]):
                return each
            return _joined("and", (*(_not(text) for _, part in parts for text in self._texts(part)), each))
        if kind == "text":
            return f"{self._text(left)} {_XPATH[operator]} {self._text(right)}"
        return f"{self._number(left)} {_XPATH.get(operator, operator)} {self._number(right)}"

    def _within(self, operator: Comparison, left: Node, right: Node, slack: str) -> str:
        """Return a comparison of numbers whose sides may differ a little, as those of the package validate may."""
        above, below = (
            f"{self._number(one, 1)} - {self._number(other, 2)} <= {slack}"
            for one, other in ((left, right), (right, left))
        )
        return f"({above} and {below})" if operator == "==" else above if operator == "<=" else below

    def _guarded(self, stated: str, of: Iterable[Node], certain: bool) -> str:
        guards = [*self._guards(of)]
        if not guards:
            return stated
        return _joined("and", (*guards, stated)) if certain else _joined("or", (*map(_not, guards), stated))

    def _guards(self, of: Iterable[Node]) -> Iterable[str]:
        """Return what makes a comparison decided: that all is there, and that arithmetic gives a number."""
        nodes = tuple(of)
        guards = dict.fromkeys(guard for node in nodes for guard in self._presence(node))
        guards |= {self._defined(part): None for node in nodes for part in walk(node) if may_be_undefined(part)}
        return guards

    def _presence(self, node: Node) -> Iterable[str]:
        match node:
            case Name():
                yield self._there(node)
            case Call(function, arguments, by, remove_missing) if function in TALLIES:
                yield from (self._there(one) for one in by)
                for one in arguments if function != "count" else ():
                    others, path = self._tallied(one, by)
                    if not remove_missing:
                        yield f"count({others}[{_not(self._there_at(path, one))}]) = 0"
                    if function != "sum":
                        yield f"count({others}[{self._there_at(path, one)}]) > 0"
            case Call("lag", arguments):
                yield from (self._there_at(f"preceding-sibling::*[1]/{self._path(one)}", one) for one in arguments)
            case _:
                for part in children(node):
                    yield from self._presence(part)

    def _there(self, name: Node) -> str:
        return self._there_at(self._path(name), name)

    def _there_at(self, path: str, name: Node) -> str:
        codes = self._records.codes_of(name.name) if isinstance(name, Name) else ()
        return _joined("and", (f"{path} != ''", *(f"not({path} = {_quoted(code)})" for code in codes)))

    def _defined(self, node: Node) -> str:
        """Return that a result is a number, or that one of its fields is none: then the comparison fails."""
        value = self._number(node, 1)
        return _joined("or", (f"{value} = {value}", *self._texts(node)))

    def _texts(self, node: Node) -> Iterator[str]:
        """Yield where a text stands for a number of which something is computed."""
        match node:
            case Name() | Call("lag"):
                value = self._number(node)
                yield _not(f"{value} = {value}")
            case Call(function, (of,), by) if function in TALLIES and function != "count":
                others, path = self._tallied(of, by)
                yield f"count({others}[{self._there_at(path, of)} and not(number({path}) = number({path}))]) > 0"
            case Call("nchar" | "count"):
                return
            case _:
                for part in children(node):
                    yield from self._texts(part)

    def _summed(self, of: Iterable[Node]) -> Iterator[str]:
        """Yield that all that is summed are numbers: processors do not agree on the sum of texts."""
        parts = (part for node in of for part in walk(node))
        for part in parts:
            if isinstance(part, Call) and part.function in ("sum", "mean"):
                yield from map(_not, self._texts(part))

    def _same_conditions(self, node: Compared, truth: bool, certain: bool) -> str:
        if node.operator not in ("==", "!="):
            raise PlainSyntaxError(Problem("plain-text-order", operator=node.operator), node.span.start)
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if kind_of(one, self._kinds) != "condition":
                missing = isinstance(other, Truth) and other.value is None
                instead = "missing(FIELD)" if missing else 'FIELD == "TRUE", or FIELD == 1'
                construct = f"a value compared with {'NA' if missing else 'a condition'}"
                raise PlainSyntaxError(Problem("plain-slip", construct=construct, instead=instead), one.span.start)
            if isinstance(other, Truth) and other.value is not None:
                return self.written(one, truth is (other.value is (node.operator == "==")), certain)
        left, right = node.left, node.right
        both = Joined("and", (Joined("or", (Not(left), right)), Joined("or", (Not(right), left))))
        return self.written(both, truth is (node.operator == "=="), certain)

    def _membership(self, node: In, truth: bool, certain: bool) -> str:
        value = node.value
        each = [self._option(value, option) for option in node.options]
        if node.decided:
            inside = _joined("and", (*self._guards((value,)), *self._summed((value,)), _joined("or", each)))
            return inside if truth else _not(inside)
        stated = _joined("and", (*self._summed((value,)), _joined("or", each)))
        return self._guarded(stated if truth else _not(stated), (value,), certain)

    def _option(self, value: Node, option: Node) -> str:
        if isinstance(option, Range):
            number = self._number(value)
            return f"{number} >= {self._number(option.low)} and {number} <= {self._number(option.high)}"
        if isinstance(option, Truth):
            raise PlainSyntaxError(
                Problem("plain-slip", construct="NA in a set", instead="or missing(FIELD)"), option.span.start
            )
        return self._stated("==", value, option, kind_compared(value, option, "==", self._kinds))

    def _matches(self, arguments: tuple[Node, ...], truth: bool, certain: bool, decided: bool) -> str:
        self.later = True
        field_, pattern = arguments
        if not isinstance(pattern, Text):
            raise PlainSyntaxError(
                Problem("plain-arguments", name="matches", shape='matches(FIELD, "PATTERN")'), pattern.span.start
            )
        stated = f"matches({self._text(field_)}, {_quoted(pattern.value)})"
        if decided:
            inside = _joined("and", (*self._guards((field_,)), stated))
            return inside if truth else _not(inside)
        return self._guarded(stated if truth else _not(stated), (field_,), certain)

    # several records

    def _tallied(self, of: Node, by: Iterable[Name]) -> tuple[str, str]:
        """Return the path to the records over which a field is tallied, and the path of the field from there."""
        if isinstance(of, Name) and of.name in self._records.within:
            return self._records.within[of.name]
        return self._others(by), self._path(of)

    def _others(self, by: Iterable[Name]) -> str:
        """Return the path to the records that are the same in some fields, the one at hand among them."""
        agreed = [self._agrees(name) for name in by]
        return f"{self._records.all}[{' and '.join(agreed)}]" if agreed else self._records.all

    def _agrees(self, name: Name) -> str:
        path = self._path(name)
        if self._kinds.get(name.name) == "number":
            return f"number({path}) = number(current()/{path})"
        return f"{path} = current()/{path}"

    def _unique(self, arguments: tuple[Node, ...], truth: bool, certain: bool, decided: bool) -> str:
        names = [one for one in arguments if isinstance(one, Name)]
        if len(names) < len(arguments):
            raise PlainSyntaxError(
                Problem("plain-arguments", name="is_unique", shape="is_unique(FIELD, ...)"), arguments[0].span.start
            )
        stated = f"count({self._others(names)}) = 1"
        return self._guarded(stated if truth else _not(stated), () if decided else names, certain)

    def _tally(self, node: Call) -> str:
        field_ = next(iter(node.arguments), None)
        if field_ is not None and not isinstance(field_, Name):
            raise PlainSyntaxError(
                Problem("plain-arguments", name=node.function, shape=f"{node.function}(FIELD)"), field_.span.start
            )
        if field_ is None:
            return f"count({self._others(node.by)})"
        others, path = self._tallied(field_, node.by)
        if not path:
            return f"count({others})"
        there = f"{others}[{self._there_at(path, field_)}]"
        numbers = f"{others}[{self._there_at(path, field_)} and number({path}) = number({path})]/{path}"
        match node.function:
            case "sum":
                return f"sum({numbers})"
            case "count":
                return f"count({there})"
            case "mean":
                return f"sum({numbers}) div count({there})"
        self.later = True
        return f"{node.function}(for $each in {there}/{path} return number($each))"

    # values

    def _path(self, node: Node) -> str:
        if not isinstance(node, Name):
            raise PlainSyntaxError(Problem("plain-no-field"), node.span.start)
        return self._records.path(node.name)

    def _text(self, node: Node) -> str:
        match node:
            case Text(value):
                return _quoted(value)
            case Name():
                return self._path(node)
            case Call("lag", (Name() as of,)):
                return f"preceding-sibling::*[1]/{self._path(of)}"
        raise PlainSyntaxError(Problem("plain-no-text"), node.span.start)

    def _number(self, node: Node, precedence: int = 0) -> str:  # noqa: PLR0911 -- one branch per node
        """Return a number; in brackets where operators around it bind as closely as `precedence` says."""
        match node:
            case Number(text):
                return _decimal(text)
            case Name():
                return f"number({self._path(node)})"
            case Negative(of):
                return f"-{self._number(of, 3)}" if precedence < 2 else f"(-{self._number(of, 3)})"
            case Arithmetic("^", left, right):
                return self._power(left, right)
            case Arithmetic("%%", left, right):
                one, other = self._number(left, 2), self._number(right, 3)
                return f"({one} - {other} * floor({self._ratio(node)}))"
            case Arithmetic(operator, left, right):
                own = _PRECEDENCE[operator]
                text = f"{self._number(left, own)} {_XPATH[operator]} {self._number(right, own + 1)}"
                text = self._ratio(node) if operator == "/" else text
                return text if own >= precedence else f"({text})"
            case Call("abs" | "round" | "floor" | "ceiling" as function, (of,)):
                self.later |= function == "abs"
                return f"{function}({self._number(of)})"
            case Call("nchar", (of,)):
                return f"string-length({self._text(of)})"
            case Call("smallest" | "largest" as function, arguments):
                self.later = True
                return f"{'min' if function == 'smallest' else 'max'}(({', '.join(map(self._number, arguments))}))"
            case Call("lag", (Name(),)):
                return f"number({self._text(node)})"
            case Call(function) if function in TALLIES:
                text = self._tally(node)
                return f"({text})" if function == "mean" and precedence > 1 else text
        raise self._no_number(node)

    def _ratio(self, node: Arithmetic) -> str:
        # XPath 2.0 divides no whole number by 0: a literal, a count, a length, the sum of nothing
        whole = not (_read_of_field(node.left) or _read_of_field(node.right))
        left = f"number({self._number(node.left)})" if whole else self._number(node.left, 2)
        return f"{left} div {self._number(node.right, 3)}"

    def _power(self, left: Node, right: Node) -> str:
        times = int(right.text) if isinstance(right, Number) and right.text.isdecimal() else 0
        if not 1 <= times <= _HIGHEST_POWER:
            raise PlainSyntaxError(Problem("plain-power", most=_HIGHEST_POWER), right.span.start)
        return f"({' * '.join([self._number(left, 3)] * times)})"

    def _no_number(self, node: Node) -> PlainSyntaxError:
        kind = kind_of(node, self._kinds)
        return PlainSyntaxError(
            Problem("plain-no-number", what="a condition" if kind == "condition" else "a text"), node.span.start
        )


def whole_file(node: Node) -> bool:
    """Tell whether a condition speaks of the whole file alone: of tallies, and of no field of a single record."""
    return any(isinstance(part, Call) and part.function in TALLIES for part in walk(node)) and not _of_record(node)


def _of_record(node: Node) -> bool:
    match node:
        case Call(function, _, by) if function in TALLIES:
            return bool(by)
        case Name() | Call("is_unique" | "lag"):
            return True
    return any(map(_of_record, children(node)))


def _without_if(condition: Node, then: Node, otherwise: Node | None) -> Node:
    first = Joined("or", (Not(condition), then))
    return first if otherwise is None else Joined("and", (first, Joined("or", (condition, otherwise))))


def may_be_undefined(node: Node) -> bool:
    """Tell whether numbers may give none: 0/0, infinity without infinity, and infinity times 0."""
    match node:
        case Arithmetic("/" | "%%", left, right):
            return not _not_zero(right) or _may_be_infinite(left)
        case Arithmetic("*", left, right):
            return _may_be_infinite(left) or _may_be_infinite(right)
        case Arithmetic("+" | "-", left, right):
            return _may_be_infinite(left) and _may_be_infinite(right)
    return False


def _may_be_infinite(node: Node) -> bool:
    match node:
        case Arithmetic("%%"):
            return False
        case Arithmetic("/", _, right) if not _not_zero(right):
            return True
    return any(map(_may_be_infinite, children(node)))


def _read_of_field(node: Node) -> bool:
    match node:
        case Name() | Call("lag"):
            return True
        case Call(function) if function == "nchar" or function in TALLIES:
            return False
    return any(map(_read_of_field, children(node)))


def _not_zero(node: Node) -> bool:
    return isinstance(node, Number) and float(node.text) != 0


def _spread(
    operator: Comparison, left: Node, right: Node
) -> tuple[str, tuple[tuple[Comparison, Node], ...], Node] | None:
    """Return a comparison with an absolute value, or with the largest of several, as comparisons without, joined.

    ``abs(e) <= c`` is ``e <= c and -e <= c``; ``largest(a, b) <= c`` is ``a <= c and b <= c``.
    """
    if isinstance(right, Call) and not isinstance(left, Call):
        operator, left, right = FLIPPED[operator], right, left
    if not isinstance(left, Call) or operator not in ORDERS:
        return None
    below = operator in ("<", "<=")
    match left.function:
        case "abs":
            of = left.arguments[0]
            return "and" if below else "or", ((operator, of), (operator, Negative(of))), right
        case "largest" | "smallest" as function:
            word = "and" if (function == "largest") is below else "or"
            return word, tuple((operator, one) for one in left.arguments), right
    return None


def _other(operator: str) -> str:
    return "or" if operator == "and" else "and"


def _joined(operator: str, parts: Iterable[str]) -> str:
    """Join conditions, with brackets around those that have a weaker word outside of brackets."""
    each = list(dict.fromkeys(parts))
    if len(each) == 1:
        return each[0]
    return f" {operator} ".join(
        f"({one})" if _outside(one, "or" if operator == "and" else "and") else one for one in each
    )


def _outside(text: str, word: str) -> bool:
    """Tell whether a word stands outside of all brackets and quotation marks."""
    return any(depth == 0 and text.startswith(f" {word} ", at) for at, _, depth in _signs(text))


def _not(text: str) -> str:
    """Negate a condition; one that is negated already, and nothing else, loses that, and none becomes some."""
    if text.startswith("not(") and _closed_at(text, 3) == len(text) - 1:
        return text[4:-1]
    if text.startswith("count("):
        counted = _closed_at(text, 5) + 1
        if text[counted:] in _NONE:
            return text[:counted] + _NONE[text[counted:]]
    return f"not({text})"


def _closed_at(text: str, start: int) -> int:
    """Return where the bracket at a place is closed."""
    return next(at for at, sign, depth in _signs(text) if at > start and sign == ")" and depth == 0)


def _signs(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each sign outside of quotation marks, with the number of brackets around it."""
    depth, quote = 0, ""
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
            continue
        quote = sign if sign in "\"'" else ""
        depth -= sign in ")]"
        yield at, sign, depth
        depth += sign in "(["


def _quoted(text: str) -> str:
    """Write a string literal; one that holds both kinds of quotes as XPath 1.0 has it, too."""
    if "'" not in text or '"' not in text:
        return quoted(text)
    return "concat(" + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ")"


def _decimal(text: str) -> str:
    """Return a number as XPath 1.0 writes it, without an exponent."""
    return format(Decimal(text), "f") if "e" in text.lower() else text.removesuffix(".")
