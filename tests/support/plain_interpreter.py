"""An interpreter of rules in plain text, over rows of texts: three outcomes, and no XPath.

It is written from what plain rules mean, and shares nothing with the compiler but the tree. None is what is not
decided. A text where a number is needed is NaN; numbers alone never give NaN, since what R calls so (0/0) is not
decided. Texts that are no number are in no group of numbers.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    walk,
)

type Row = Mapping[str, str | None]
type Outcome = bool | None

_NUMERAL = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+))[ \t\r\n]*")
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TALLIES = ("sum", "mean", "min", "max", "count")
_NUMERIC = ("abs", "round", "floor", "ceiling", "smallest", "largest", "sum", "mean", "min", "max")
"""Functions whose arguments are numbers."""


@dataclass
class Interpreter:
    """The records of a file, and how rules read them.

    Attributes
    ----------
    rows : sequence of mappings from field to text
        None where the field is absent.
    codes : mapping of str to frozenset of str
        Values that mean that there is none, by field, ``*`` for all.
    kinds : mapping of str to str
        ``number`` or ``text``, of `kinds_of`.
    """

    rows: Sequence[Row]
    codes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def outcomes(self, node: Node) -> list[Outcome]:
        """Return whether a rule holds on each record; once, where it speaks of the whole file."""
        places = range(1) if of_whole_file(node) else range(len(self.rows))
        return [self.holds(node, at) for at in places]

    # conditions

    def holds(self, node: Node, at: int) -> Outcome:  # noqa: PLR0911 -- one branch per node
        match node:
            case Truth(value):
                return value
            case Not(of):
                return _negated(self.holds(of, at))
            case Joined(word, parts):
                found = {self.holds(part, at) for part in parts}
                decisive = word == "or"
                return decisive if decisive in found else None if None in found else not decisive
            case If(condition, then, otherwise):
                first = _either(_negated(self.holds(condition, at)), self.holds(then, at))
                second = True if otherwise is None else _either(self.holds(condition, at), self.holds(otherwise, at))
                return _both(first, second)
            case Call("missing", (Name(name),)):
                return self.text_of(name, at) is None
            case In(value, options, decided):
                found = {self._is(value, option, at) for option in options}
                if None in found:
                    return False if decided else None
                return True in found
            case Compared():
                return self._compared(node, at)
            case Call("matches", (of, Text(pattern)), _, decided):
                text = self._text(of, at)
                if text is None:
                    return False if decided else None
                return re.search(pattern, text) is not None
            case Call("is_unique", arguments):
                names = [one.name for one in arguments if isinstance(one, Name)]
                group = self._group(names, at)
                return None if group is None else len(group) == 1
        raise AssertionError(node)

    def _compared(self, node: Compared, at: int) -> Outcome:
        left, right = node.left, node.right
        if "condition" in (self._kind(left), self._kind(right)):
            one, other = self.holds(left, at), self.holds(right, at)
            if one is None or other is None:
                return None
            return (one == other) is (node.operator == "==")
        return self._values(left, right, node.operator, at)

    def _values(self, left: Node, right: Node, sign: str, at: int) -> Outcome:
        if self._as_texts(left, right, sign):
            one, other = self._text(left, at), self._text(right, at)
            if one is None or other is None:
                return None
            return (one == other) is (sign == "==")
        first, second = self._number(left, at), self._number(right, at)
        if first is None or second is None:
            return None
        return _COMPARISONS[sign](first, second)  # NaN is unequal to all, and in no order

    def _is(self, value: Node, option: Node, at: int) -> Outcome:
        if isinstance(option, Range):
            return _both(self._values(value, option.low, ">=", at), self._values(value, option.high, "<=", at))
        return self._values(value, option, "==", at)

    def _as_texts(self, left: Node, right: Node, sign: str) -> bool:
        kinds = (self._kind(left), self._kind(right))
        literal = isinstance(left, Number) or isinstance(right, Number)
        return sign in ("==", "!=") and not literal and ("text" in kinds or "number" not in kinds)

    def _kind(self, node: Node) -> str:
        return kind_of(node, self.kinds)

    # values

    def text_of(self, name: str, at: int) -> str | None:
        """Return the value of a field, None where it is missing."""
        if not 0 <= at < len(self.rows):
            return None
        text = self.rows[at].get(name)
        if not text or text in self.codes.get(name, ()) or text in self.codes.get("*", ()):
            return None
        return text

    def _text(self, node: Node, at: int) -> str | None:
        match node:
            case Text(value):
                return value
            case Name(name):
                return self.text_of(name, at)
            case Call("lag", (Name(name),)):
                return self.text_of(name, at - 1)
        raise AssertionError(node)

    def _number(self, node: Node, at: int) -> float | None:  # noqa: PLR0911 -- one branch per node
        match node:
            case Number(text):
                return float(text)
            case Name() | Call("lag"):
                return _read(self._text(node, at))
            case Negative(of):
                return _of_numbers(operator.neg, [self._number(of, at)])
            case Arithmetic("^", left, Number(times)):
                return _of_numbers(lambda x: math.prod([x] * int(times)), [self._number(left, at)])
            case Arithmetic(sign, left, right):
                return _of_numbers(_ARITHMETIC[sign], [self._number(left, at), self._number(right, at)])
            case Call("nchar", (of,)):
                text = self._text(of, at)
                return None if text is None else float(len(text))
            case Call(function, arguments, by, remove) if function in _TALLIES:
                return self._tally(function, [one.name for one in arguments if isinstance(one, Name)], by, remove, at)
            case Call(function, arguments):
                return _of_numbers(_FUNCTIONS[function], [self._number(one, at) for one in arguments])
        raise AssertionError(node)

    # several records

    def _tally(self, function: str, of: list[str], by: tuple[Name, ...], remove: bool, at: int) -> float | None:
        group = self._group([one.name for one in by], at)
        if group is None or not of:
            return None if group is None else float(len(group))
        texts = [self.text_of(of[0], other) for other in group]
        there = [text for text in texts if text is not None]
        if function == "count":
            return float(len(there))
        if not remove and None in texts:
            return None
        numbers = [_read(text) for text in there]
        return None if not numbers and function != "sum" else _of_numbers(_TALLIED[function], numbers)

    def _group(self, names: Sequence[str], at: int) -> list[int] | None:
        """Return the records that are the same in some fields, None where this one has none of these."""
        if any(self.text_of(name, at) is None for name in names):
            return None
        return [other for other in range(len(self.rows)) if all(self._same(name, at, other) for name in names)]

    def _same(self, name: str, at: int, other: int) -> bool:
        one, two = self.text_of(name, at), self.text_of(name, other)
        if one is None or two is None:
            return False
        return _read(one) == _read(two) if self.kinds.get(name) == "number" else one == two


def of_whole_file(node: Node) -> bool:
    """Tell whether a rule speaks of tallies alone, and of no field of a record."""
    calls = [part for part in walk(node) if isinstance(part, Call) and part.function in _TALLIES]
    inside = {id(part) for call in calls if not call.by for argument in call.arguments for part in walk(argument)}
    beside = [
        part
        for part in walk(node)
        if (isinstance(part, Name) and id(part) not in inside)
        or (isinstance(part, Call) and part.function in ("is_unique", "lag"))
    ]
    return bool(calls) and not beside


# kinds


def kind_of(node: Node, kinds: Mapping[str, str]) -> str:
    """Return ``number``, ``text``, ``condition`` or ``unknown``."""
    match node:
        case Number() | Arithmetic() | Negative() | Range():
            return "number"
        case Text():
            return "text"
        case Name(name) | Call("lag", (Name(name),)):
            return kinds.get(name, "unknown")
        case Call("matches" | "is_unique"):
            return "condition"
        case Call():
            return "number"
    return "condition"


def kinds_of(nodes: Iterable[Node], declared: Mapping[str, str]) -> dict[str, str]:
    """Return the kinds of fields, by what rules do with them; those that are both numbers and texts are left out."""
    used: dict[str, set[str]] = {}
    linked: dict[str, set[str]] = {}
    for part in (part for node in nodes for part in walk(node)):
        for one, kind in _uses(part):
            if (name := _field(one)) and kind != "unknown":
                used.setdefault(name, set()).add(kind)
        if isinstance(part, Compared) and (one := _field(part.left)) and (other := _field(part.right)):
            linked.setdefault(one, set()).add(other)
            linked.setdefault(other, set()).add(one)
    found = {}
    for name in {*used, *linked}:
        reached, ahead = {name}, [name]
        while ahead:
            fresh = linked.get(ahead.pop(), set()) - reached
            reached |= fresh
            ahead += fresh
        kinds = set().union(*(used.get(one, set()) for one in reached))
        if len(kinds) == 1:
            found[name] = kinds.pop()
    return found | dict(declared)


def _uses(part: Node) -> list[tuple[Node, str]]:  # noqa: PLR0911 -- one branch per node
    match part:
        case Arithmetic(_, left, right):
            return [(left, "number"), (right, "number")]
        case Negative(of):
            return [(of, "number")]
        case Compared("==" | "!=", left, right):
            return [(left, kind_of(right, {})), (right, kind_of(left, {}))]
        case Compared(_, left, right):
            return [(left, "number"), (right, "number")]
        case In(value, options):
            return [(value, kind_of(option, {})) for option in options]
        case Call(function, arguments) if function in _NUMERIC:
            return [(one, "number") for one in arguments]
    return []


def _field(node: Node) -> str | None:
    match node:
        case Name(name) | Call("lag", (Name(name),)):
            return name
    return None


# outcomes and numbers


def _negated(one: Outcome) -> Outcome:
    return None if one is None else not one


def _either(one: Outcome, other: Outcome) -> Outcome:
    return True if True in (one, other) else None if None in (one, other) else False


def _both(one: Outcome, other: Outcome) -> Outcome:
    return False if False in (one, other) else None if None in (one, other) else True


def _read(text: str | None) -> float | None:
    if text is None:
        return None
    found = _NUMERAL.fullmatch(text)
    return float(found[1]) if found else math.nan


def _of_numbers(function: Callable[..., float], numbers: Sequence[float | None]) -> float | None:
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers):
        return None
    if any(map(math.isnan, known)):
        return math.nan
    found = function(*known)
    return None if math.isnan(found) else found


def _divided(one: float, other: float) -> float:
    if other:
        return one / other
    return math.nan if not one else math.copysign(math.inf, one) * math.copysign(1.0, other)


def _rest(one: float, other: float) -> float:
    return one - other * _whole(math.floor, _divided(one, other))


def _whole(function: Callable[[float], int], number: float) -> float:
    if not math.isfinite(number):
        return number
    return math.copysign(float(function(number)), number)


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%%": _rest,
}
_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "abs": abs,
    "round": lambda x: _whole(lambda y: math.floor(y + 0.5), x),
    "floor": lambda x: _whole(math.floor, x),
    "ceiling": lambda x: _whole(math.ceil, x),
    "smallest": lambda *x: min(x),
    "largest": lambda *x: max(x),
}
_TALLIED: Mapping[str, Callable[..., float]] = {
    "sum": lambda *x: math.fsum(x),
    "mean": lambda *x: math.fsum(x) / len(x),
    "min": lambda *x: min(x),
    "max": lambda *x: max(x),
}
