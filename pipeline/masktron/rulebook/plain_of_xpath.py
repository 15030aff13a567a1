"""The plain rule that fails where a test of Schematron does.

A test of XPath holds or fails; a plain rule is undecided where a value is missing, and does not fail then. So each
comparison gets ``!missing(FIELD)`` before it where XPath says false of a missing value. What a plain rule is
compiled to has the opposite before it, ``not(FIELD != '') or ...``: such a guard excuses the comparison, and neither
is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from operator import eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Any, cast

from masktron.rulebook.expressions import tree as xpath
from masktron.rulebook.expressions.tree import GENERAL_OF_VALUE, MIRRORED, Expression, GeneralSign, NameTest
from masktron.rulebook.plain.conditions import Records, may_be_undefined
from masktron.rulebook.plain.functions import TALLIES
from masktron.rulebook.plain.spelling import UnspelledError, spelled
from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    Comparison,
    Joined,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Text,
    Truth,
    children,
    walk,
)
from masktron.rulebook.plain_shapes import folded, join
from masktron.sources.record_layout import column_name

_SIGNS: Mapping[GeneralSign, Comparison] = MappingProxyType({"=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">="})
_SAME_NAMES = frozenset({"abs", "round", "floor", "ceiling"})
_ZERO = Number("0")
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType({"==": eq, "<": lt, "<=": le, ">": gt, ">=": ge})
type Steps = tuple[str, ...]
type _Part = Callable[[frozenset[Node]], Node]


class FieldsByPath:
    """The names that plain rules have for what paths of a rulebook lead to.

    Parameters
    ----------
    parse : callable
        Takes a path of `records`, and returns its tree.
    records : Records
        On which the rule is.
    known : bool
        Whether a file says which fields there are; else each child has the name of its element.
    whole : bool
        Whether the rule is on the root.
    full : bool
        Whether names have that of their level before them.
    top : bool
        Whether no other records are around its records.
    """

    def __init__(
        self,
        parse: Callable[[str], Expression | None],
        records: Records,
        known: bool,
        whole: bool,
        full: bool = False,
        top: bool = True,
    ) -> None:
        self._known = known
        self._names: dict[Steps, str] = {}
        self._within: dict[Steps, str] = {}
        self.codes_of = records.codes_of
        self._siblings = ("*", records.record.rpartition("/")[2])

        def steps(path: str) -> Steps:
            tree = parse(path)
            return () if tree is None else (steps_of(tree) or ())

        named = [*records.fields.items()] if not whole else []
        for name, path in reversed(named) if full else named:
            self._names.setdefault(steps(path), name)
        self._fields = {steps(path): name for name, path in reversed([*records.fields.items()])}
        for name, (path, below) in records.within.items():
            self._within.setdefault((*steps(path), *(steps(below) if below else ())), name)
        self._all = {steps(records.all), ("..", *steps(records.record))} if known else set()
        self.everywhere = steps(records.all) if known else ("/",)
        self._inside = steps("/".join((*records.above[1:], records.record)))
        self.whole, self.top = whole, top

    def field(self, path: Expression) -> Name | None:
        """Return the field of the record that a path leads to."""
        steps = steps_of(path)
        if steps is None or self.whole:
            return None
        if self._known:
            return Name(self._names[steps]) if steps in self._names else None
        return Name(_local(steps[0])) if len(steps) == 1 and steps[0] not in ("..", "/") else None

    def sibling(self, step: xpath.Step) -> bool:
        """Tell whether a step to siblings leads to records of this kind."""
        return str(step.test) in self._siblings or not self._known

    def tallied(self, records: Steps, below: Steps) -> tuple[bool, Name | None] | None:
        """Return whether records are all of the file, and the name of their field, or theirs; None of others."""
        if records in self._all or (self.whole and records == self._inside) or self._all_unknown(records):
            if not below:
                return True, None
            known = self._fields.get(below) if self._known else _local(below[0]) if len(below) == 1 else None
            return None if known is None else (True, Name(known))
        if self.whole or any(step in ("..", "/") for step in (*records, *below)):
            return None
        if self._known:
            found = self._within.get((*records, *below))
        else:
            found = ".".join(map(_local, (*records[-1:], *below)))
        return None if found is None else (False, Name(found))

    def _all_unknown(self, records: Steps) -> bool:
        return not self._known and records[:1] == ("/",)


def steps_of(path: Expression) -> Steps | None:
    """Return the names that a path without predicates goes through, in Clark notation; None of others."""
    found = [*steps_with_predicates(path)]
    if any(one is None or one[1] for one in found):
        return None
    return tuple(one[0] for one in found if one is not None)


def steps_with_predicates(path: Expression) -> Iterator[tuple[str, tuple[Expression, ...]] | None]:
    """Yield the steps of a path with their predicates; None for what is no step of this kind."""
    match path:
        case xpath.Root():
            yield "/", ()
        case xpath.Step(axis="child", test=NameTest() as test, predicates=predicates) if test.local != "*":
            yield _clark(test), predicates
        case xpath.Step(axis="attribute", test=NameTest() as test, predicates=()) if test.local != "*":
            yield f"@{_clark(test)}", ()
        case xpath.Step(axis="parent", predicates=()):
            yield "..", ()
        case xpath.Path(first=first, hops=hops) if not any(hop.deep for hop in hops):
            yield from steps_with_predicates(first)
            for hop in hops:
                yield from steps_with_predicates(hop.to)
        case _:
            yield None


def _clark(test: NameTest) -> str:
    return f"{{{test.space}}}{test.local}" if test.space else test.local


def _local(step: str) -> str:
    attribute = "@" * step.startswith("@")
    return f"{attribute}{column_name(step.rpartition('}')[2].removeprefix('@'))}"


class PlainOfXPath:
    """Turns the tests of one rule into conditions of plain rules.

    Parameters
    ----------
    fields : FieldsByPath
    variables : mapping of str to Expression
        What the rulebook calls by a name.
    later : bool
        Whether the rulebook is in XPath 2.0 or later.
    lenient : bool
        Whether rules may be undecided where values are missing that the test needs.

    Attributes
    ----------
    caveats : dict
        In which records a condition may differ from its test, in words.
    """

    def __init__(
        self, fields: FieldsByPath, variables: Mapping[str, Expression], later: bool, *, lenient: bool = False
    ) -> None:
        self._fields, self._variables, self._later, self._lenient = fields, dict(variables), later, lenient
        self.caveats: dict[str, None] = {}
        self._condition = cache(self._made)

    def condition(
        self,
        test: Expression,
        truth: bool,
        where: Iterable[Expression] = (),
        unless: Iterable[Iterable[Expression]] = (),
    ) -> Node:
        """Return the condition that fails where a test is not as `truth` says.

        Parameters
        ----------
        test : Expression
        truth : bool
        where : iterable of Expression
            Predicates of the context: it fails only where all of them hold.
        unless : iterable of iterables of Expression
            Predicates of contexts that have their records first: it does not fail where all of one hold.

        Raises
        ------
        UnspelledError
            Plain rules cannot say it.
        """
        parts: list[_Part] = [partial(self._condition, one, False) for one in where]
        parts += [partial(self._joined, "and", tuple(one), True) for one in unless]
        parts.append(partial(self._condition, test, truth))
        node = self._alternatives(parts, frozenset()) if len(parts) > 1 else parts[0](frozenset())
        return folded(_finished(node))

    # conditions

    def _made(self, test: Expression, truth: bool, excused: frozenset[Node]) -> Node:  # noqa: PLR0911
        """Return a condition, which is made once: all that are around it ask what of it excuses others."""
        match test:
            case xpath.Connective(sign=sign, operands=operands):
                defined = self._definedness(test)
                if defined is not None:
                    return Truth(truth) if defined == Truth(True) else defined if truth else Not(defined)
                word = sign if truth else "and" if sign == "or" else "or"
                return self._joined(word, operands, truth, excused)
            case xpath.Call(arguments=(of,)) if test.standard in ("not", "empty"):
                return self._condition(of, not truth, excused)
            case xpath.Call(arguments=(of,)) if test.standard in ("boolean", "exists"):
                return self._condition(of, truth, excused)
            case xpath.Call(arguments=()) if test.standard in ("true", "false"):
                return Truth((test.standard == "true") is truth)
            case xpath.Call(arguments=(of, xpath.Literal(value=str(pattern)))) if test.standard == "matches":
                return self._guarded(Call("matches", (self._text(of), Text(pattern))), truth, excused)
            case xpath.Comparison(sign=sign, left=left, right=right):
                general = GENERAL_OF_VALUE.get(sign, sign)
                return self._comparison(general, self._meant(left), self._meant(right), truth, excused)
            case xpath.If(condition=condition, then=then, otherwise=otherwise):
                return join(
                    "and",
                    (
                        self._either((condition, False), (then, truth), excused),
                        self._either((condition, True), (otherwise, truth), excused),
                    ),
                )
            case xpath.Binding(kind="every" | "some" as kind, bound=bound, body=body):
                word = "and" if truth is (kind == "every") else "or"
                return self._each(word, bound, body, truth, excused)
            case xpath.Variable(name=name) if name in self._variables:
                return self._condition(self._variables[name], truth, excused)
            case xpath.Step() | xpath.Path():
                return self._existence(test, truth)
        raise UnspelledError(f"{test.text} has no spelling")

    def _either(self, one: tuple[Expression, bool], other: tuple[Expression, bool], excused: frozenset[Node]) -> Node:
        parts: list[_Part] = [partial(self._condition, *one), partial(self._condition, *other)]
        return self._alternatives(parts, excused)

    def _joined(self, word: str, operands: Iterable[Expression], truth: bool, excused: frozenset[Node]) -> Node:
        parts: list[_Part] = [partial(self._condition, one, truth) for one in operands]
        if word == "or":
            return self._alternatives(parts, excused)
        there = {_opposite(node) for node in (part(frozenset()) for part in parts) if _is_guard(_opposite(node))}
        return join("and", _without_texts([part(excused | there) for part in parts]))

    def _alternatives(self, parts: list[_Part], excused: frozenset[Node]) -> Node:
        """Join alternatives; of those that say that a value is missing, some are what leaves another undecided."""
        guards = [one for part in parts for one in _alternatives_of(part(frozenset())) if _is_guard(one)]
        wider = excused | {*guards}
        each = _without_texts([node for part in parts for node in _alternatives_of(part(wider))])
        kept = [
            one
            for one in each
            if not (_is_guard(one) and any(_undecided(other, one) for other in each if other != one))
        ]
        return join("or", kept)

    def _each(
        self,
        word: str,
        bound: tuple[tuple[str, Expression], ...],
        body: Expression,
        truth: bool,
        excused: frozenset[Node],
    ) -> Node:
        """Say a condition of each of several values that are written one by one."""
        (name, values), *others = bound
        meant = self._meant(values)
        if others or not isinstance(meant, xpath.Sequence) or name in self._variables:
            raise UnspelledError(f"a condition on each of {values.text} has no spelling")
        parts = []
        for value in meant.items:
            self._variables[name] = value
            self._condition.cache_clear()
            field = self._fields.field(value)
            parts.append(self._of_what_is_there(field, word, partial(self._condition, body, truth), excused))
        del self._variables[name]
        self._condition.cache_clear()
        return join(word, parts)

    def _of_what_is_there(self, field: Name | None, word: str, part: _Part, excused: frozenset[Node]) -> Node:
        """Say a condition of a field of a list, which leaves out what is not there."""
        if field is None:
            return part(excused)
        self.caveats[f"where {field.name} is empty, the test asks about it all the same"] = None
        if word == "and":
            return self._alternatives([lambda _: _missing(field), part], excused)
        return join("and", (Not(_missing(field)), part(excused | {_missing(field)})))

    def _existence(self, path: Expression, truth: bool) -> Node:
        name = self._fields.field(path)
        if name is not None:
            self.caveats[f"here, an empty {name.name} is missing"] = None
            return Not(_missing(name)) if truth else _missing(name)
        return self._some(path, truth)

    def _some(self, path: Expression, truth: bool) -> Node:
        """Say that there is a record, or none, that a path leads to."""
        (field, records, by), which = self._count(path)
        some = Call("count", () if field is None else (field,), by)
        match which:
            case "lacking":
                every = Call("count", () if records is None else (records,), by)
                return Compared("!=" if truth else "==", some, every)
            case "text":
                some = Call("texts", some.arguments, by)
        return Compared(">" if truth else "==", some, _ZERO)

    # comparisons

    def _meant(self, value: Expression) -> Expression:
        while isinstance(value, xpath.Variable) and value.name in self._variables:
            value = self._variables[value.name]
        return value

    def _comparison(  # noqa: PLR0911, PLR0912 -- one branch per kind
        self, sign: str, left: Expression, right: Expression, truth: bool, excused: frozenset[Node]
    ) -> Node:
        if sign not in (*_SIGNS, "!="):
            raise UnspelledError(f"{sign} has no spelling")
        if isinstance(left, xpath.Literal | xpath.Sequence) and not isinstance(right, xpath.Literal | xpath.Sequence):
            return self._comparison(MIRRORED[sign], right, left, truth, excused)
        if isinstance(right, xpath.Literal) and right.value == "":
            return self._emptiness(sign, left, truth)
        if isinstance(right, xpath.Sequence):
            if sign != "=":
                raise UnspelledError(f"{sign} with several values has no spelling")
            each: list[_Part] = [partial(self._comparison, "=", left, self._meant(one), truth) for one in right.items]
            return self._alternatives(each, excused) if truth else join("and", (part(excused) for part in each))
        if sign == "=" and left == right:
            return self._numeric(left, truth)
        if sign == "!=":
            for side in (left, right):
                name = self._fields.field(side)
                if name is not None:
                    self.caveats[f"where there is no {name.name} at all, the test fails"] = None
            return self._comparison("=", left, right, not truth, excused)
        name = self._before(left, right) if sign == "=" and not truth else None
        if name is not None:
            self.caveats[f"the test fails on the later of two records with one {name.name}, and not on both"] = None
            return Call("is_unique", (name,))
        coded = self._coded(left, right) if sign == "=" else None
        if coded is not None:
            return _missing(coded) if truth else Not(_missing(coded))
        if self._length(left) and isinstance(right, xpath.Literal):
            return self._of_length(sign, left, right, truth, excused)
        operator = _SIGNS[cast(GeneralSign, sign)]
        if operator in (">", "==") and _is_count(left) and isinstance(right, xpath.Literal) and right.value == 0:
            (path,) = cast(xpath.Call, left).arguments
            return self._some(path, truth is (operator == ">"))
        unique = self._unique(operator, left, right)
        if unique is not None:
            return self._guarded(unique, truth, excused)
        if self._as_texts(operator, left, right):
            texts = self._text(left), self._text(right)
            if isinstance(texts[0], Name) and isinstance(texts[1], Name):
                self.caveats[f"where both {texts[0].name} and {texts[1].name} are empty, the test holds"] = None
            return self._guarded(Compared(operator, *texts), truth, excused)
        remainder = operator == "==" and isinstance(right, xpath.Literal) and right.value == 0
        numbers = self._number(left, excused, remainder), self._number(right, excused)
        if operator == "==" and all(isinstance(side, Name) or _is_lag(side) for side in numbers):
            numbers = Arithmetic("+", _ZERO, numbers[0]), numbers[1]  # which says that it is a number, see `numeric`
        return self._guarded(Compared(operator, *numbers), truth, excused)

    def _before(self, left: Expression, right: Expression) -> Name | None:
        """Return the field that is compared with that of all records before."""
        match right:
            case xpath.Path(first=xpath.Step(axis="preceding-sibling", predicates=()) as step, hops=(hop,)) if (
                hop.to == left and self._fields.sibling(step)
            ):
                return self._fields.field(left) if self._fields.top else None
        return None

    def _coded(self, left: Expression, right: Expression) -> Name | None:
        """Return the field that is compared with one of its codes for missing values."""
        number = isinstance(left, xpath.Call) and left.standard == "number" and len(left.arguments) == 1
        name = self._fields.field(cast(xpath.Call, left).arguments[0] if number else left)
        value = right.operand if isinstance(right, xpath.Negation) else right
        if name is None or not isinstance(value, xpath.Literal):
            return None
        written = str(value.value) if isinstance(value.value, str) else right.text.replace(" ", "")
        if written not in self._fields.codes_of(name.name):
            return None
        self.caveats[f"here, {name.name} is missing where it is empty or has any of its codes"] = None
        return name

    def _unique(self, operator: Comparison, left: Expression, right: Expression) -> Node | None:
        if operator != "==" or not _is_count(left) or not isinstance(right, xpath.Literal) or right.value != 1:
            return None
        (field, _, by), which = self._count(cast(xpath.Call, left).arguments[0])
        return Call("is_unique", by) if by and field is None and not which else None

    def _as_texts(self, operator: Comparison, left: Expression, right: Expression) -> bool:
        bare = [isinstance(side, xpath.Step | xpath.Path) for side in (left, right)]
        texts = [_is_text(side) for side in (left, right)]
        if operator != "==" and (any(texts) or (self._later and all(bare))):
            raise UnspelledError(f"{left.text} and {right.text} are ordered as texts")
        return operator == "==" and all(one or other for one, other in zip(bare, texts, strict=True))

    def _guarded(self, stated: Node, truth: bool, excused: frozenset[Node]) -> Node:
        """Return a comparison that fails where its values are missing, as in XPath; or its opposite, which holds."""
        if not truth:
            return Not(stated)
        return join("and", (*self._needed(stated, excused), stated))

    def _needed(self, stated: Node, excused: frozenset[Node]) -> Iterator[Node]:
        return (_opposite(one) for one in _excuses(stated) if one not in excused and not self._lenient)

    def _emptiness(self, sign: str, of: Expression, truth: bool) -> Node:
        if sign not in ("=", "!="):
            raise UnspelledError("an order of texts has no spelling")
        bare = of
        if isinstance(of, xpath.Call) and of.standard in ("string", "normalize-space") and len(of.arguments) == 1:
            (bare,) = of.arguments
            if of.standard == "normalize-space":
                self.caveats["here, a value of blanks is not missing"] = None
        name = self._fields.field(bare) or self._lag(bare)
        if name is None:
            raise UnspelledError(f"{of.text} is no field")
        empty = (sign == "=") is truth
        if bare is of and sign == "=" and isinstance(name, Name):
            self.caveats[f"where there is no {name.name} at all, the test says that it is not empty"] = None
        return _missing(name) if empty else Not(_missing(name))

    def _numeric(self, of: Expression, truth: bool) -> Node:
        """Say that something is a number: only then it equals itself."""
        value = self._number(of, frozenset())
        parts = [_opposite(one) for one in _excuses(Compared("==", value, _ZERO))]
        if not parts:
            return Truth(truth)
        self.caveats["here, a text that is no number is not missing"] = None
        return join("and", parts) if truth else join("or", map(_opposite, parts))

    def _definedness(self, test: xpath.Connective) -> Node | None:
        """Return what plain rules are compiled to: that a ratio is a number, or that one of its fields is none."""
        first, *others = test.operands
        if test.sign != "or" or not others or not isinstance(first, xpath.Comparison) or first.left != first.right:
            return None
        texts = set[Expression]()
        counts = False
        for one in others:
            match one:
                case xpath.Call(arguments=(xpath.Comparison(sign="=", left=left, right=right),)) if left == right:
                    texts.add(left)
                case xpath.Comparison(sign=">", left=left) if _is_count(left):
                    counts = True
                case _:
                    return None
        value = self._number(first.left, frozenset())
        tallies = any(isinstance(part, Call) and part.function in TALLIES for part in walk(value))
        ours = may_be_undefined(value) and counts <= tallies and texts <= {*xpath.walk(first.left)}
        return _defined(value) if ours else None

    @staticmethod
    def _length(of: Expression) -> bool:
        return isinstance(of, xpath.Call) and of.standard == "string-length" and len(of.arguments) == 1

    def _of_length(
        self, sign: str, left: Expression, right: xpath.Literal, truth: bool, excused: frozenset[Node]
    ) -> Node:
        """Compare the length of a text, which is 0 where there is none, and not undecided."""
        if isinstance(right.value, str):
            raise UnspelledError(f"{left.text} is compared with a text")
        (text,) = cast(xpath.Call, left).arguments
        stated = Compared(_SIGNS[cast(GeneralSign, sign)], Call("nchar", (self._text(text),)), Number(right.written))
        holds = _ORDERS[stated.operator](0, right.value)
        node = stated if truth else Not(stated)
        return node if holds is truth else join("and", (*self._needed(stated, excused), node))

    # values

    def _text(self, value: Expression) -> Node:
        match value:
            case xpath.Literal(value=str(text)):
                return Text(text)
            case xpath.Call(arguments=(of,)) if value.standard in ("string", "normalize-space"):
                if value.standard == "normalize-space":
                    self.caveats["the test takes no notice of blanks around a text"] = None
                return self._text(self._meant(of))
        found = self._fields.field(value) or self._lag(value)
        if found is None:
            raise UnspelledError(f"{value.text} is no field of the record")
        return found

    def _number(  # noqa: PLR0911, PLR0912 -- one branch per construct
        self, value: Expression, excused: frozenset[Node], remainder: bool = False
    ) -> Node:
        match value:
            case xpath.Literal(value=literal) if not isinstance(literal, str):
                return Number(value.written)
            case xpath.Variable(name=name) if name in self._variables:
                return self._number(self._variables[name], excused, remainder)
            case xpath.Negation(sign=sign, operand=operand):
                number = self._number(operand, excused)
                return Negative(number) if sign == "-" else number
            case xpath.Arithmetic(sign=operator, operands=operands):
                return self._arithmetic(operator, operands, excused, remainder)
            case xpath.Call(arguments=(of,)):
                of = self._meant(of)
                match value.standard:
                    case "number" if not _is_text(of):
                        return self._number(of, excused)
                    case function if function in _SAME_NAMES:
                        return Call(function, (self._number(of, excused),))
                    case "string-length":
                        text = self._text(of)
                        if not excused.issuperset(_excuses(text)):
                            self.caveats[f"where there is no {spelled(text)}, the test takes its length for 0"] = None
                        return Call("nchar", (text,))
                    case "min" | "max" as function if isinstance(of, xpath.Sequence):
                        name = "smallest" if function == "min" else "largest"
                        return Call(name, tuple(self._number(one, excused) for one in of.items))
                    case "min" | "max" as function if isinstance(of, xpath.Binding) and len(of.bound) == 1:
                        return self._tally(function, of.bound[0][1], excused)
                    case "sum" | "count" as function:
                        return self._tally(function, of, excused)
        found = self._fields.field(value) or self._lag(value)
        if found is None:
            raise UnspelledError(f"{value.text} has no spelling as a number")
        return found

    def _arithmetic(
        self, sign: str, operands: tuple[Expression, ...], excused: frozenset[Node], remainder: bool
    ) -> Node:
        first, second = operands[:2]
        if sign == "div" and _is_count(second) and isinstance(first, xpath.Call) and first.standard == "sum":
            total = self._number(first, excused)
            shares = self._number(second, excused)
            if isinstance(total, Call) and isinstance(shares, Call) and total.arguments == shares.arguments:
                return Call("mean", total.arguments, total.by, total.remove_missing)
        numbers = [self._number(one, excused) for one in operands]
        if sign == "mod" and not (remainder and len(numbers) == 2 and _is_whole(numbers[1])):
            raise UnspelledError("mod differs from %% for negative numbers; it is known where it is compared with 0")
        operator = {"div": "/", "mod": "%%"}.get(sign, sign)
        if operator not in ("+", "-", "*", "/", "%%"):
            raise UnspelledError(f"{sign} has no spelling")
        match operator, numbers:
            case "-", [one, Arithmetic("*", other, Call("floor", (Arithmetic("/", a, b),)))] if (a, b) == (
                one,
                other,
            ):
                return Arithmetic("%%", one, other)
        found = numbers[0]
        for number in numbers[1:]:
            found = Arithmetic(operator, found, number)
        return found

    def _lag(self, path: Expression) -> Node | None:
        match path:
            case xpath.Path(first=xpath.Step(axis="preceding-sibling", predicates=(at,)) as step, hops=(hop,)) if (
                isinstance(at, xpath.Literal) and at.value == 1 and self._fields.sibling(step)
            ):
                name = self._fields.field(hop.to)
                return None if name is None else Call("lag", (name,))
        return None

    # several records

    def _tally(self, function: str, path: Expression, excused: frozenset[Node]) -> Node:
        (field, _, by), which = self._count(path)
        if which in ("lacking", "text"):
            raise UnspelledError(f"{path.text} has no spelling")
        if function == "count":
            if field is not None and not which and "/" in path.text:
                self.caveats[f"the test counts {field.name} where it is empty"] = None
            return Call("count", () if field is None else (field,), by)
        if field is None:
            raise UnspelledError(f"{path.text} has no spelling")
        if not which:
            self.caveats[f"where {field.name} is empty, the test fails"] = None
        lacking = next((one for one in excused if _lacks(one, field, by)), None)
        return Call(function, (field,), by, remove_missing=lacking is None)

    def _count(self, path: Expression) -> tuple[tuple[Name | None, Name | None, tuple[Name, ...]], str]:
        """Return the field of other records that a path leads to, these, and in what they are the same.

        Also which records are meant: those where the field is ``there``, ``lacking``, a ``number`` or a ``text``.
        """
        steps = [*steps_with_predicates(path)]
        bare = [one[0] for one in steps if one is not None]
        places = [at for at, one in enumerate(steps) if one is not None and one[1]]
        if len(bare) < len(steps) or len(places) > 1:
            raise UnspelledError(f"{path.text} has no spelling")
        by: list[Name] = []
        which = ""
        said: Steps = ()
        ends = places[0] + 1 if places else None
        if ends is not None:
            for one in cast(tuple[str, tuple[Expression, ...]], steps[ends - 1])[1]:
                for part in one.operands if isinstance(one, xpath.Connective) and one.sign == "and" else (one,):
                    agreed = self._agreed(part)
                    if agreed is not None:
                        by.append(agreed)
                        continue
                    about, kind = self._presence(part)
                    if said not in ((), about):
                        raise UnspelledError(f"{path.text} has no spelling")
                    said, which = about, kind if kind != "there" else which or kind
        for end in (ends,) if ends is not None else dict.fromkeys((max(len(bare) - 1, 1), len(bare))):
            records = self._fields.tallied(tuple(bare[:end]), ())
            below = tuple(bare[end:]) or said
            found = self._fields.tallied(tuple(bare[:end]), below) if below else records
            if records is not None and found is not None and (not said or below == said):
                if by and not records[0]:
                    break
                return (found[1], records[1], tuple(by)), which
        raise UnspelledError(f"{path.text} leads to no records that a plain rule knows")

    def _agreed(self, predicate: Expression) -> Name | None:
        """Return the field in which another record is to be the same as the one at hand."""
        if not isinstance(predicate, xpath.Comparison) or predicate.sign != "=":
            return None
        one, other = (
            side.arguments[0] if isinstance(side, xpath.Call) and side.standard == "number" else side
            for side in (predicate.left, predicate.right)
        )
        match other:
            case xpath.Path(first=xpath.Call() as first, hops=hops) if first.standard == "current" and len(hops) == 1:
                return self._fields.field(one) if one == hops[0].to else None
        return None

    def _presence(self, predicate: Expression) -> tuple[Steps, str]:
        """Return the field of another record that a predicate asks for, and how it is to be."""
        match predicate:
            case xpath.Connective(sign="and", operands=operands):
                each = [self._presence(one) for one in operands]
                if len({*each}) == 1 and each[0][1] == "there":
                    return each[0]
            case xpath.Call(arguments=(xpath.Comparison(sign="=", left=left, right=xpath.Literal(value=str(code))),)):
                steps = steps_of(left)
                found = None if steps is None else self._fields.tallied(self._fields.everywhere, steps)
                if found is not None and found[1] is not None and code in self._fields.codes_of(found[1].name):
                    return steps or (), "there"
            case xpath.Call(arguments=(of,)) if predicate.standard == "not":
                about, kind = self._presence(of)
                return about, {"there": "lacking", "number": "text"}.get(kind, "there")
            case xpath.Comparison(sign="!=", left=left, right=xpath.Literal(value="")):
                return steps_of(left) or (), "there"
            case xpath.Comparison(sign="=", left=xpath.Call(arguments=(of,)) as left, right=right) if left == right:
                return steps_of(of) or (), "number"
        raise UnspelledError(f"records with {predicate.text} have no spelling")


def _missing(of: Node) -> Node:
    return Call("missing", (of,))


def _finished(node: Node) -> Node:
    """Say what has no name in plain rules: that a ratio is defined."""
    match node:
        case Joined(operator, parts):
            return join(operator, map(_finished, parts))
        case Compared(_, Call("texts")):
            raise UnspelledError("texts among numbers have no spelling")
        case Not(Call("defined", (Arithmetic("/" | "%%" as operator, left, right),))):
            return join(
                "and", [*map(_opposite, _excuses(Compared("==", left, right))), *_undefined(operator, left, right)]
            )
        case Call("defined", (Arithmetic("/" | "%%" as operator, left, right),)):
            return Not(join("and", _undefined(operator, left, right)))
        case Call("defined") | Not(Call("defined")):
            raise UnspelledError("a result of ratios may be undefined")
        case Call("missing", (of,)) | Not(Call("missing", (of,))) if not isinstance(of, Name):
            raise UnspelledError("no rule can ask whether a value of the record before is missing")
    return node


def _defined(value: Node) -> Node:
    """Say that a result is a number, where all its fields are; of most it always is."""
    return Call("defined", (value,)) if may_be_undefined(value) else Truth(True)


def _without_texts(parts: list[Node]) -> list[Node]:
    """Leave out what plain sums say of texts anyhow: that there are none."""
    return [one for one in parts if not any(_is_of_texts(one, other) for other in parts)]


def _is_of_texts(node: Node, other: Node) -> bool:
    """Tell whether a condition says of texts what another one does, which sums up what the texts stand among."""
    match node:
        case Compared(_, Call("texts", (field,), by)):
            summed = (one for one in walk(other) if isinstance(one, Call) and one.function in TALLIES)
            return any(one.arguments == (field,) and one.by == by for one in summed)
    return False


def _undefined(operator: str, left: Node, right: Node) -> Iterator[Node]:
    if any(map(_is_ratio, (*walk(left), *walk(right)))):
        raise UnspelledError("a ratio of ratios may be undefined")
    if operator == "/":
        yield Compared("==", left, _ZERO)
    yield Compared("==", right, _ZERO)


def _excuses(node: Node) -> Iterator[Node]:
    """Yield what leaves a comparison undecided."""
    match node:
        case Name() | Call("lag"):
            yield _missing(node)
        case Call(function, (field,), by) if function in TALLIES:
            yield from map(_missing, by)
            if not node.remove_missing and function != "count":
                yield Compared("!=", Call("count", (field,), by), Call("count", _records(field), by))
            if function not in ("sum", "count"):
                yield Compared("==", Call("count", (field,), by), _ZERO)
        case Call("count", (), by):
            yield from map(_missing, by)
        case _:
            if may_be_undefined(node):
                yield Not(Call("defined", (node,)))
            for part in children(node):
                yield from _excuses(part)


def _records(field: Node) -> tuple[Node, ...]:
    name = cast(Name, field).name
    return (Name(name.rpartition(".")[0]),) if "." in name else ()


def _lacks(node: Node, field: Name, by: tuple[Name, ...]) -> bool:
    return isinstance(node, Compared) and node.operator == "!=" and node.left == Call("count", (field,), by)


def _is_guard(node: Node) -> bool:
    match node:
        case Call("missing") | Not(Call("defined")):
            return True
        case Compared("!=" | "==", Call("count"), Call("count") | Number("0")):
            return True
    return False


def _undecided(node: Node, guard: Node) -> bool:
    """Tell whether a condition does not fail where something makes comparisons undecided."""
    match node:
        case Joined(operator, parts):
            return (all if operator == "and" else any)(_undecided(part, guard) for part in parts)
        case Call("missing") | Not(Call("missing")):
            return node == guard
        case Not(of):
            return guard in _excuses(of)
    return guard in _excuses(node)


def _alternatives_of(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Joined) and node.operator == "or" else (node,)


def _opposite(node: Node) -> Node:
    match node:
        case Not(of):
            return of
        case Compared("!=", left, right):
            return Compared("==", left, right)
        case Compared("==", Call("count") as left, Number("0") as right):
            return Compared(">", left, right)
    return Not(node)


def _is_ratio(node: Node) -> bool:
    return isinstance(node, Arithmetic) and node.operator in ("/", "%%")


def _is_whole(node: Node) -> bool:
    return isinstance(node, Number) and node.text.isdigit() and int(node.text) > 0


def _is_lag(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "lag"


def _is_count(value: Expression) -> bool:
    return isinstance(value, xpath.Call) and value.standard == "count" and len(value.arguments) == 1


def _is_text(value: Expression) -> bool:
    if isinstance(value, xpath.Literal):
        return isinstance(value.value, str)
    return isinstance(value, xpath.Call) and value.standard in ("string", "normalize-space")
