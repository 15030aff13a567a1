"""What a plain rule becomes in XPath.

A condition holds, fails, or is undecided, where a value is missing (Kleene 1952, section 64). XPath knows two
outcomes. So each condition is written as two: when it holds, and when it fails. Guards of presence stand at each
comparison; where all is there they are true, and cost a rule no class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType

from masktron.problems.problem import Problem
from masktron.rulebook.expressions.parsing import is_pattern
from masktron.rulebook.expressions.spacing import quoted_in_any
from masktron.rulebook.plain import tree
from masktron.rulebook.plain.functions import TALLIES, misused
from masktron.rulebook.plain.kinds import ORDERS, kind_compared, kind_of
from masktron.rulebook.plain.slips import PlainSyntaxError, slip
from masktron.rulebook.plain.tree import Comparison, Kind, Node, children, walk
from masktron.sources.tables.column_names import xml_name

FLIPPED: Mapping[str, Comparison] = MappingProxyType(
    {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
)
_XPATH = MappingProxyType({"==": "=", "*": "*", "/": "div", "+": "+", "-": "-"})
_PRECEDENCE = MappingProxyType({"+": 1, "-": 1, "*": 2, "/": 2, "%%": 2, "^": 3})
_HIGHEST_POWER, _LONGEST_FACTOR = 6, 2_000
_LONGEST = 2_000_000


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
    kinds_of : callable, optional
        What returns the kinds of some fields, by their values.
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
    kinds_of: Callable[[Collection[str]], Mapping[str, Kind]] | None = field(default=None, compare=False)
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

    def sees(self, node: Node) -> bool:
        """Tell whether it has all fields of a condition; where nobody has said which there are, it has any."""
        match node:
            case tree.Name(name):
                return not self.fields or name in self.fields
            case tree.Call(function, (tree.Name(name),), by) if function in TALLIES and name in self.within:
                return all(map(self.sees, by))
        return all(map(self.sees, children(node)))

    def whole(self, node: Node) -> bool:
        """Tell whether a condition speaks of the whole file alone: of tallies over it, and of no single record."""
        tallies = any(isinstance(part, tree.Call) and part.function in TALLIES for part in walk(node))
        return tallies and not self._of_record(node)

    def _of_record(self, node: Node) -> bool:
        match node:
            case tree.Call(function, arguments, by) if function in TALLIES:
                return bool(by) or any(isinstance(one, tree.Name) and one.name in self.within for one in arguments)
            case tree.Name() | tree.Call("is_unique" | "lag"):
                return True
        return any(map(self._of_record, children(node)))

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

    Attributes
    ----------
    later : bool
        Whether a condition that was written needs XPath 2.0.
    """

    def __init__(self, records: Records, kinds: Mapping[str, Kind]) -> None:
        self._records, self._kinds = records, kinds
        self._before = f"preceding-sibling::{records.record.rpartition('/')[2]}[1]"
        self.later = False

    def written(self, node: Node) -> Outcome:  # noqa: PLR0911 -- one branch per node
        """Return in XPath when a condition holds, and when it fails.

        Raises
        ------
        PlainSyntaxError
            It is no condition, or is none that XPath has.
        """
        match node:
            case tree.Truth(value):
                return Outcome(_TRUE if value else _FALSE, _TRUE if value is False else _FALSE)
            case tree.Not(of):
                return self.written(of).negated
            case tree.Joined(operator, parts):
                return _of_all(operator, map(self.written, parts))
            case tree.If(condition, then, otherwise):
                premise = self.written(condition)
                cases = [_of_all("or", (premise.negated, self.written(then)))]
                if otherwise is not None:
                    cases.append(_of_all("or", (premise, self.written(otherwise))))
                return _of_all("and", cases)
            case tree.Call("missing", (of,)):
                there = self._there(of)
                return Outcome(_not(there), there)
            case tree.In(value, options, decided):
                inside = (self._option(value, option) for option in options)
                return self._guarded(_joined("or", inside), (value,), decided)
            case tree.Compared():
                return self._comparison(node)
            case tree.Call("matches", (of, pattern), _, decided):
                return self._guarded(self._matching(of, pattern), (of,), decided)
            case tree.Call("is_unique", arguments, _, decided):
                stated = _Test(f"count({self._others(arguments, decided)}) = 1")
                return self._guarded(stated, () if decided else arguments)
        what = "a number" if kind_of(node, self._kinds) in ("number", "unknown") else "a text"
        raise PlainSyntaxError(Problem("plain-no-condition", what=what), node.at)

    # comparisons

    def _comparison(self, node: tree.Compared) -> Outcome:
        left, right = node.left, node.right
        operator: Comparison = "==" if node.operator == "!=" else node.operator
        kind = kind_compared(left, right, operator, self._kinds)
        if kind != "number" and operator in ORDERS:
            raise PlainSyntaxError(Problem("plain-text-order", operator=operator), node.at)
        if kind == "condition":
            found = self._same_conditions(node)
        else:
            found = self._guarded(self._stated(operator, left, right, kind), (left, right))
        return found if operator == node.operator else found.negated

    def _stated(self, operator: Comparison, left: Node, right: Node, kind: Kind) -> _Test:
        """Return a comparison of values that are there."""
        if kind == "number" and operator in ORDERS:
            flipped = isinstance(right, tree.Call) and not isinstance(left, tree.Call)
            sides = (FLIPPED[operator], right, left) if flipped else (operator, left, right)
            if (spread := self._spread(*sides)) is not None:
                return spread
        if kind == "text":
            return _Test(f"{self._text(left)} {_XPATH[operator]} {self._text(right)}")
        return _Test(f"{self._number(left)} {_XPATH.get(operator, operator)} {self._number(right)}")

    def _spread(self, operator: Comparison, left: Node, right: Node) -> _Test | None:
        """Return a comparison with an absolute value, or with the largest of several, as comparisons without, joined.

        ``abs(e) <= c`` is ``e <= c and -e <= c``; ``largest(a, b) <= c`` is ``a <= c and b <= c``.
        """
        below = operator in ("<", "<=")
        match left:
            case tree.Call("abs", (of,)):
                both = (self._stated(operator, one, right, "number") for one in (of, tree.Negative(of)))
                return _joined("and" if below else "or", both)
            case tree.Call("largest" | "smallest" as function, each):
                stated = [self._stated(operator, one, right, "number") for one in each]
                if (function == "largest") is below:
                    return _joined("and", stated)
                texts = (_not(text) for one in each for text in self._texts(one))
                return _joined("and", (*texts, _joined("or", stated)))
        return None

    def _option(self, value: Node, option: Node) -> _Test:
        if isinstance(option, tree.Range):
            bounds: tuple[tuple[Comparison, Node], ...] = ((">=", option.low), ("<=", option.high))
            return _joined("and", (self._stated(one, value, bound, "number") for one, bound in bounds))
        if isinstance(option, tree.Truth):
            if option.value is None:
                raise slip("NA in a set", "or missing(FIELD)", option.at)
            raise slip("TRUE or FALSE in a set", 'what the file has for it, such as "TRUE" or 1', option.at)
        return self._stated("==", value, option, kind_compared(value, option, "==", self._kinds))

    def _matching(self, of: Node, pattern: Node) -> _Test:
        if not isinstance(pattern, tree.Text):
            raise misused("matches", pattern.at)
        if not is_pattern(pattern.value):
            raise slip(f"the pattern {pattern.value!r}", "a regular expression such as '^A'", pattern.at)
        self.later = True
        return _Test(f"matches({self._text(of)}, {quoted_in_any(pattern.value)})")

    def _same_conditions(self, node: tree.Compared) -> Outcome:
        left, right = node.left, node.right
        for one, other in ((left, right), (right, left)):
            if kind_of(one, self._kinds) != "condition":
                missing = isinstance(other, tree.Truth) and other.value is None
                negated = "not " if node.operator == "!=" else ""
                instead = f"{negated}missing(FIELD)" if missing else 'FIELD == "TRUE", or FIELD == 1'
                construct = f"a value compared with {'NA' if missing else 'a condition'}"
                raise slip(construct, instead, one.at)
            if isinstance(other, tree.Truth) and other.value is not None:
                return self.written(one) if other.value else self.written(one).negated
        first, second = self.written(left), self.written(right)
        return _of_all("and", (_of_all("or", (first.negated, second)), _of_all("or", (second.negated, first))))

    # what makes a comparison decided

    def _guarded(self, stated: _Test, of: tuple[Node, ...], decided: bool = False) -> Outcome:
        """Return a comparison that is undecided where a value is missing; or that fails there, if it is decided."""
        guards = dict.fromkeys(guard for node in of for guard in self._presence(node))
        parts = [part for node in of for part in walk(node)]
        guards |= {self._defined(part): None for part in parts if may_be_undefined(part)}
        # a comparison fails where a text is summed: processors do not agree on the sum of texts
        sums = (part for part in parts if isinstance(part, tree.Call) and part.function in ("sum", "mean"))
        stated = _joined("and", (*(_not(text) for part in sums for text in self._texts(part)), stated))
        if decided:
            inside = _joined("and", (*guards, stated))
            return Outcome(inside, _not(inside))
        return Outcome(_all("and", (*guards, stated)), _all("and", (*guards, _not(stated))))

    def _presence(self, node: Node) -> Iterable[_Test]:
        match node:
            case tree.Name():
                yield self._there(node)
            case tree.Call(function, arguments, by, remove_missing) if function in TALLIES:
                yield from (self._there(one) for one in by)
                for one in arguments if function != "count" else ():
                    others, path = self._tallied(one, by)
                    there = self._there(one, path)
                    if not remove_missing:
                        yield _not(_some(f"{others}[{_not(there).text}]"))
                    if function != "sum":
                        yield _some(f"{others}[{there.text}]")
            case tree.Call("lag", arguments):
                yield from (self._there(one, f"{self._before}/{self._path(one)}") for one in arguments)
            case _:
                for part in children(node):
                    yield from self._presence(part)

    def _there(self, name: Node, path: str | None = None) -> _Test:
        """Return that a field has a value: that of its record, or of the records to which a path leads."""
        path = self._path(name) if path is None else path
        codes = self._records.codes_of(name.name) if isinstance(name, tree.Name) else ()
        others = (_not(_Test(f"{path} = {quoted_in_any(code)}")) for code in codes)
        return _joined("and", (_Test(f"{path} != ''"), *others))

    def _defined(self, node: Node) -> _Test:
        """Return that a result is a number, or that one of its fields is none: then the comparison fails."""
        value = self._number(node, 1)
        return _joined("or", (_Test(f"{value} = {value}"), *self._texts(node)))

    def _texts(self, node: Node) -> Iterator[_Test]:
        """Yield where a text stands for a number of which something is computed."""
        match node:
            case tree.Name() | tree.Call("lag"):
                value = self._number(node)
                yield _not(_Test(f"{value} = {value}"))
            case tree.Call(function, (of,), by) if function in TALLIES and function != "count":
                others, path = self._tallied(of, by)
                yield _some(f"{others}[{self._there(of, path).text} and not(number({path}) = number({path}))]")
            case tree.Call("nchar" | "count"):
                return
            case _:
                for part in children(node):
                    yield from self._texts(part)

    # several records

    def _tallied(self, of: Node, by: Iterable[Node]) -> tuple[str, str]:
        """Return the path to the records over which a field is tallied, and the path of the field from there."""
        if isinstance(of, tree.Name) and of.name in self._records.within:
            for name in by:
                raise slip("by for records within a record", "the sum without it: it is of each record", name.at)
            return self._records.within[of.name]
        return self._others(by), self._path(of)

    def _others(self, by: Iterable[Node], lacking: bool = False) -> str:
        """Return the path to the records that are the same in some fields, the one at hand among them.

        Where lacking values count, two that lack one are the same, too.
        """
        agreed = [self._agrees(name, lacking) for name in by]
        return f"{self._records.all}[{' and '.join(agreed)}]" if agreed else self._records.all

    def _agrees(self, name: Node, lacking: bool) -> str:
        path = self._path(name)
        numbers = kind_of(name, self._kinds) == "number"
        same = f"number({path}) = number(current()/{path})" if numbers else f"{path} = current()/{path}"
        either = _joined("or", (self._there(name), self._there(name, f"current()/{path}")))
        return f"({same} or {_not(either).text})" if lacking else same

    def _tally(self, node: tree.Call) -> str:
        if not node.arguments:
            return f"count({self._others(node.by)})"
        others, path = self._tallied(node.arguments[0], node.by)
        if not path:
            return f"count({others})"
        given = self._there(node.arguments[0], path).text
        there = f"{others}[{given}]"
        numbers = f"{others}[{given} and number({path}) = number({path})]/{path}"
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
        if not isinstance(node, tree.Name):
            raise PlainSyntaxError(Problem("plain-no-field"), node.at)
        return self._records.path(node.name)

    def _text(self, node: Node) -> str:
        match node:
            case tree.Text(value):
                return quoted_in_any(value)
            case tree.Name():
                return self._path(node)
            case tree.Call("lag", (tree.Name() as of,)):
                return f"{self._before}/{self._path(of)}"
        raise PlainSyntaxError(Problem("plain-no-text"), node.at)

    def _number(self, node: Node, precedence: int = 0) -> str:  # noqa: PLR0911 -- one branch per node
        """Return a number; in brackets where operators around it bind as closely as `precedence` says."""
        match node:
            case tree.Number(text):
                return _decimal(text)
            case tree.Name():
                return f"number({self._path(node)})"
            case tree.Negative(of):
                return f"-{self._number(of, 3)}" if precedence < 2 else f"(-{self._number(of, 3)})"
            case tree.Arithmetic("^", left, right):
                return self._power(left, right)
            case tree.Arithmetic("%%", left, right):
                one, other = self._number(left, 2), self._number(right, 3)
                return f"({one} - {other} * floor({self._ratio(node)}))"
            case tree.Arithmetic(operator, left, right):
                own = _PRECEDENCE[operator]
                text = f"{self._number(left, own)} {_XPATH[operator]} {self._number(right, own + 1)}"
                text = self._ratio(node) if operator == "/" else text
                return text if own >= precedence else f"({text})"
            case tree.Call("abs" | "round" | "floor" | "ceiling" as function, (of,)):
                self.later |= function == "abs"
                return f"{function}({self._number(of)})"
            case tree.Call("nchar", (of,)):
                return f"string-length({self._text(of)})"
            case tree.Call("smallest" | "largest" as function, arguments):
                self.later = True
                return f"{'min' if function == 'smallest' else 'max'}(({', '.join(map(self._number, arguments))}))"
            case tree.Call("lag", (tree.Name(),)):
                return f"number({self._text(node)})"
            case tree.Call(function) if function in TALLIES:
                text = self._tally(node)
                return f"({text})" if function == "mean" and precedence > 1 else text
        what = "a condition" if kind_of(node, self._kinds) == "condition" else "a text"
        raise PlainSyntaxError(Problem("plain-no-number", what=what), node.at)

    def _ratio(self, node: tree.Arithmetic) -> str:
        # XPath 2.0 divides no whole number by 0: a literal, a count, a length, the sum of nothing
        whole = not (_read_of_field(node.left) or _read_of_field(node.right))
        left = f"number({self._number(node.left)})" if whole else self._number(node.left, 2)
        return f"{left} div {self._number(node.right, 3)}"

    def _power(self, left: Node, right: Node) -> str:
        times = int(right.text) if isinstance(right, tree.Number) and right.text.isdecimal() else 0
        if not 1 <= times <= _HIGHEST_POWER:
            raise PlainSyntaxError(Problem("plain-power", most=_HIGHEST_POWER), right.at)
        factor = self._number(left, 3)
        if len(factor) > _LONGEST_FACTOR:
            raise PlainSyntaxError(Problem("plain-too-long"), left.at)
        return f"({' * '.join([factor] * times)})"


def may_be_undefined(node: Node) -> bool:
    """Tell whether numbers may give none: 0/0, infinity without infinity, and infinity times 0."""
    match node:
        case tree.Arithmetic("/" | "%%", left, right):
            return not _not_zero(right) or _may_be_infinite(left)
        case tree.Arithmetic("*", left, right):
            return _may_be_infinite(left) or _may_be_infinite(right)
        case tree.Arithmetic("+" | "-", left, right):
            return _may_be_infinite(left) and _may_be_infinite(right)
    return False


def _may_be_infinite(node: Node) -> bool:
    match node:
        case tree.Arithmetic("%%"):
            return False
        case tree.Arithmetic("/", _, right) if not _not_zero(right):
            return True
    return any(map(_may_be_infinite, children(node)))


def _read_of_field(node: Node) -> bool:
    match node:
        case tree.Name() | tree.Call("lag"):
            return True
        case tree.Call(function) if function == "nchar" or function in TALLIES:
            return False
    return any(map(_read_of_field, children(node)))


def _not_zero(node: Node) -> bool:
    return isinstance(node, tree.Number) and float(node.text) != 0


def _other(operator: str) -> str:
    return "or" if operator == "and" else "and"


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition in XPath.

    Attributes
    ----------
    text : str
    word : str
        ``and`` or ``or`` where such a word stands outside of its brackets.
    opposite : _Test or None
        What fails where it holds, if that has a shorter spelling than ``not()``.
    """

    text: str
    word: str = ""
    opposite: _Test | None = field(default=None, compare=False)


def _joined(word: str, parts: Iterable[_Test]) -> _Test:
    each = tuple(dict.fromkeys(parts))
    if len(each) == 1:
        return each[0]
    return _Test(f" {word} ".join(f"({one.text})" if one.word == _other(word) else one.text for one in each), word)


def _all(word: str, parts: Iterable[_Test]) -> _Test:
    """Join conditions of which the opposite is that of each."""
    each = tuple(parts)
    return replace(_joined(word, each), opposite=_joined(_other(word), map(_not, each)))


def _not(test: _Test) -> _Test:
    return replace(test.opposite or _Test(f"not({test.text})"), opposite=test)


_TRUE = _Test("true()", opposite=_Test("false()"))
_FALSE = _not(_TRUE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """When a condition holds, and when it fails: else it is undecided."""

    holds: _Test
    fails: _Test

    @property
    def negated(self) -> Outcome:
        """The outcome of what says the opposite."""
        return Outcome(self.fails, self.holds)

    def test(self, missing_fails: bool) -> str:
        """Return the condition of Schematron that fails where this one does, and maybe where it is undecided."""
        return (self.holds if missing_fails else _not(self.fails)).text


def _of_all(word: str, parts: Iterable[Outcome]) -> Outcome:
    each = tuple(parts)
    if sum(len(one.holds.text) for one in each) > _LONGEST:  # conditions that are compared are written twice each
        raise PlainSyntaxError(Problem("plain-too-long"), 0)
    return Outcome(_all(word, (one.holds for one in each)), _all(_other(word), (one.fails for one in each)))


def _some(path: str) -> _Test:
    return _Test(f"count({path}) > 0", opposite=_Test(f"count({path}) = 0"))


def _decimal(text: str) -> str:
    """Return a number as XPath 1.0 writes it, without an exponent."""
    return format(Decimal(text), "f") if "e" in text.lower() else text.removesuffix(".")
