"""Random rules in plain text, as trees and as somebody may write them, and random records for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    Comparison,
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

PATHS: Mapping[str, str] = MappingProxyType(
    {
        "a": "a",
        "b": "b",
        "c": "c",
        "staff.costs": "staff.costs",
        "other income": "other_income",
        "g": "g",
        "h": "h",
        "s": "s",
        "t": "t",
        "m": "m",
        "u": "u",
        "v": "v",
    }
)
"""The fields of a record, and their elements."""

CODES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"a": frozenset({"-9", "99"}), "s": frozenset({"none"}), "g": frozenset({"-9"}), "*": frozenset({".a"})}
)
"""What means that a value is missing."""

NUMBERS = ("a", "b", "c", "staff.costs", "other income", "g")
TEXTS = ("s", "t", "h")
GROUPS = ("g", "h", "h", "s", "m", "u")
_LITERALS = ("0", "1", "2", "3", "10", "0.5", "2.5", ".25", "4.", "1e1", "100")
_WORDS = ("p", "q", "pq", "it's", "x", 'a "b"', "1")
_PATTERNS = ("^p", "q$", "^[a-p]+$", "[0-9]", "p.*q", "^.$")
_SIGNS: tuple[Comparison, ...] = ("==", "!=", "<", "<=", ">", ">=", "==", "<=")
_SPELT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"==": ("=", "=="), "<=": ("<=", "≤"), ">=": (">=", "≥"), "!=": ("!=", "≠")}
)
_ORDER = ("if", "or", "and", "not", "compared", "sum", "product", "remainder", "sign", "power", "atom")


def row(random: Random) -> dict[str, str | None]:
    """Return a record: numbers that are exact in binary, gaps, codes, and texts in the place of numbers."""
    return {name: _value(random, name) for name in PATHS}


def _value(random: Random, name: str) -> str | None:
    if random.random() < 0.12:
        return random.choice((None, "", "", *CODES.get(name, ()), ".a"))
    if name in NUMBERS or (name not in TEXTS and random.random() < 0.5):
        if random.random() < 0.04:
            return random.choice(("x", "1 2", "abc", " ", "-"))
        few = ("0", "1", "1.0", "2", "3")
        return random.choice(few if name == "g" else (*few, "0", "-1", "-2.5", "0.25", "10", " 2 ", "007", "100"))
    return random.choice(("p", "q", "pq", "x", "it's", "1", "1.0", " p"))


@dataclass
class Maker:
    """Makes trees of rules.

    Attributes
    ----------
    random : Random
    loose : float
        How often a field is taken for what it is not: a number for a text, or the other way round.
    """

    random: Random
    loose: float = 0.0
    speller: Speller = field(init=False)

    def __post_init__(self) -> None:
        self.speller = Speller(self.random)

    def rule(self) -> tuple[Node, str]:
        """Return a rule and its text."""
        roll = self.random.random()
        node = self.whole() if roll < 0.04 else self.condition(self.random.choice((0, 1, 1, 2, 3)))
        return node, self.speller.spell(node)

    def condition(self, depth: int) -> Node:
        if depth <= 0 or self.random.random() < 0.25:
            return self.simple(depth)
        choice = self.random.random()
        if choice < 0.2:
            return Not(self.condition(depth - 1))
        if choice < 0.5:
            parts = tuple(self.condition(depth - 1) for _ in range(self.random.choice((2, 2, 3))))
            return Joined(self.random.choice(("and", "or")), parts)
        if choice < 0.9:
            otherwise = self.condition(depth - 1) if self.random.random() < 0.4 else None
            return If(self.condition(depth - 1), self.condition(depth - 1), otherwise)
        right = self.condition(depth - 1) if self.random.random() < 0.6 else Truth(self.random.choice((True, False)))
        return Compared(self.random.choice(("==", "!=")), self.condition(depth - 1), right)

    def simple(self, depth: int) -> Node:  # noqa: PLR0911 -- one branch per node
        choice = self.random.random()
        if choice < 0.5:
            return self.comparison(depth)
        if choice < 0.56:
            low, middle, high = self.number(0), self.number(1), self.number(0)
            signs: tuple[Comparison, Comparison] = self.random.choice((("<", "<="), ("<=", "<="), (">", ">=")))
            return Joined("and", (Compared(signs[0], low, middle), Compared(signs[1], middle, high)))
        if choice < 0.72:
            return self.membership()
        if choice < 0.80:
            return Call("missing", (Name(self.random.choice((*PATHS,))),))
        if choice < 0.84:
            return Truth(self.random.choice((True, False, None)))
        if choice < 0.90:
            names = self.random.sample((*GROUPS, "a"), self.random.choice((1, 1, 2)))
            return Call("is_unique", tuple(Name(one) for one in dict.fromkeys(names)))
        if choice < 0.95:
            of = Name(self.random.choice((*TEXTS, "m", "a")))
            return Call("matches", (of, Text(self.random.choice(_PATTERNS))), (), self.random.random() < 0.5)
        return self.texts()

    def comparison(self, depth: int) -> Node:
        choice = self.random.random()
        if choice < 0.15:
            return self.texts()
        sign = self.random.choice(_SIGNS)
        left, right = self.number(self.random.choice((0, 1, depth + 1))), self.number(self.random.choice((0, 0, 1)))
        if choice < 0.3:
            several = tuple(self.number(1) for _ in range(self.random.choice((2, 3))))
            left = Call("abs", several[:1])
            if self.random.random() < 0.5:
                left = Call(self.random.choice(("largest", "smallest")), several)
            sign = self.random.choice(("<", "<=", ">", ">="))
        if not _fields(left) and not _fields(right):
            left = Name(self.random.choice(NUMBERS))
        if self.random.random() < 0.3:
            left, right = right, left
        return Compared(sign, left, right)

    def texts(self) -> Node:
        sign: Comparison = self.random.choice(("==", "!="))
        left, right = self.text(), self.text()
        if self.random.random() < 0.3:
            return Compared(sign, Name("u"), self.random.choice((Name("v"), Call("lag", (Name("u"),)))))
        return Compared(sign, left, Text(self.random.choice(_WORDS)) if self.random.random() < 0.6 else right)

    def text(self) -> Node:
        name = Name(self.random.choice((*TEXTS, "s", "m")))
        if self.random.random() < self.loose:
            name = Name(self.random.choice((*PATHS,)))
        return Call("lag", (name,)) if self.random.random() < 0.15 else name

    def membership(self) -> Node:
        decided = self.random.random() < 0.3
        if self.random.random() < 0.4:
            options = tuple(Text(self.random.choice(_WORDS)) for _ in range(self.random.choice((1, 2, 3))))
            return In(self.text(), options, decided)
        options_: list[Node] = [self.option() for _ in range(self.random.choice((1, 2, 3)))]
        value = self.number(self.random.choice((0, 0, 1, 2)))
        if self.random.random() < 0.2:
            value = Name("m")
            options_.append(Text(self.random.choice(_WORDS)))
        if not _fields(value):
            value = Name("a")
        return In(value, tuple(options_), decided)

    def option(self) -> Node:
        if self.random.random() < 0.5:
            return self.literal()
        low = Number(self.random.choice(("0", "1", "0.5", "1e1")))
        return Range(
            Negative(low) if self.random.random() < 0.3 else low, Number(self.random.choice(("2", "10", "50.5")))
        )

    def literal(self) -> Node:
        number = Number(self.random.choice(_LITERALS))
        return Negative(number) if self.random.random() < 0.15 else number

    def number(self, depth: int) -> Node:  # noqa: PLR0911 -- one branch per node
        choice = self.random.random()
        if depth <= 0 or choice < 0.15:
            return self.leaf()
        if choice < 0.7:
            sign = self.random.choice(("+", "+", "-", "-", "*", "/", "/", "%%"))
            return Arithmetic(sign, self.number(depth - 1), self.number(depth - 1))
        if choice < 0.75:
            return Arithmetic("^", self.number(depth - 1), Number(self.random.choice(("1", "2", "3"))))
        if choice < 0.82:
            return Negative(self.number(depth - 1))
        if choice < 0.88:
            return Call(self.random.choice(("round", "floor", "ceiling", "abs")), (self.number(depth - 1),))
        if choice < 0.91:
            return Call(self.random.choice(("largest", "smallest")), (self.number(depth - 1), self.number(depth - 1)))
        return self.tally(self.groups())

    def leaf(self) -> Node:
        choice = self.random.random()
        if choice < 0.3:
            return Number(self.random.choice(_LITERALS))
        if choice < 0.36:
            return Call("nchar", (Name(self.random.choice((*PATHS,))),))
        name = Name(self.random.choice(NUMBERS))
        if self.random.random() < self.loose:
            name = Name(self.random.choice((*PATHS,)))
        return Call("lag", (name,)) if choice < 0.44 else name

    def groups(self) -> tuple[Name, ...]:
        count = self.random.choice((0, 1, 1, 2))
        return tuple(Name(one) for one in dict.fromkeys(self.random.choice(GROUPS) for _ in range(count)))

    def tally(self, by: tuple[Name, ...]) -> Node:
        function = self.random.choice(("sum", "sum", "mean", "count", "count", "min", "max"))
        name = Name(self.random.choice(NUMBERS))
        if function == "count" and self.random.random() < 0.5:
            return Call("count", (), by)
        return Call(function, (name,), by, function != "count" and self.random.random() < 0.6)

    def whole(self) -> Node:
        first = Compared(self.random.choice(_SIGNS), self.tally(()), self.number_of_file())
        if self.random.random() < 0.3:
            return Joined("or", (first, Compared("<", self.tally(()), self.number_of_file())))
        return first

    def number_of_file(self) -> Node:
        return self.tally(()) if self.random.random() < 0.3 else self.literal()


def _fields(node: Node) -> bool:
    return any(isinstance(part, Name | Call) for part in walk(node))


@dataclass
class Speller:
    """Writes trees as text, each in one of the ways in which it can be written."""

    random: Random

    def spell(self, node: Node, within: str = "if") -> str:
        """Return a node as text, in brackets where what is around it binds more closely."""
        level, text = self._spelt(node)
        if _ORDER.index(level) < _ORDER.index(within) or self.random.random() < 0.04:
            return f"({text})"
        return text

    def _spelt(self, node: Node) -> tuple[str, str]:  # noqa: PLR0911, PLR0912 -- one branch per node
        match node:
            case Number(text):
                return "atom", text
            case Text(value):
                return "atom", f"'{value}'" if '"' in value or ("'" not in value and self._coin()) else f'"{value}"'
            case Truth(value):
                return "atom", "NA" if value is None else str(value).upper() if self._coin() else str(value).lower()
            case Name(name):
                return "atom", f"`{name}`" if " " in name or self.random.random() < 0.1 else name
            case Negative(of):
                return "sign", f"-{self.spell(of, 'sign')}"
            case Arithmetic("^", left, right):
                return "power", f"{self.spell(left, 'atom')}^{self.spell(right, 'sign')}"
            case Arithmetic("%%", left, right):
                return "remainder", f"{self.spell(left, 'remainder')} %% {self.spell(right, 'sign')}"
            case Arithmetic(sign, left, right):
                own, next_ = ("sum", "product") if sign in "+-" else ("product", "remainder")
                gap = " " if sign == "-" or self._coin() else ""
                return own, f"{self.spell(left, own)}{gap}{sign}{gap}{self.spell(right, next_)}"
            case Compared(sign, left, right):
                spelt = self.random.choice(_SPELT.get(sign, (sign,)))
                return "compared", f"{self.spell(left, 'sum')} {spelt} {self.spell(right, 'sum')}"
            case In():
                return "compared", self._membership(node)
            case Not(In(value, options, False)) if self._coin():
                return "compared", f"{self.spell(value, 'sum')} not in {self._set(options)}"
            case Not(of):
                return "not", f"{self.random.choice(('not ', '! ', '!'))}{self.spell(of, 'not')}"
            case Call("missing", (Name() as of,)):
                return "atom", f"{self.random.choice(('missing', 'is.na'))}({self.spell(of)})"
            case Joined("and", (Compared(one, low, middle), Compared(other, middle_, high))) if middle == middle_:
                return (
                    "compared",
                    f"{self.spell(low, 'sum')} {one} {self.spell(middle, 'sum')} {other} {self.spell(high, 'sum')}",
                )
            case Joined(word, parts):
                sign = self.random.choice(("and", "&", "&&") if word == "and" else ("or", "|", "||"))
                return word, f" {sign} ".join(self.spell(one, "and" if word == "or" else "not") for one in parts)
            case If():
                return "if", self._conditional(node)
            case Call():
                return self._call(node)
        raise AssertionError(node)

    def _coin(self) -> bool:
        return self.random.random() < 0.5

    def _membership(self, node: In) -> str:
        word = "%in%" if node.decided else self.random.choice(("in", "in", "%vin%"))
        return f"{self.spell(node.value, 'sum')} {word} {self._set(node.options)}"

    def _set(self, options: tuple[Node, ...]) -> str:
        each = [self._option(one) for one in options]
        if len(each) == 1 and self._coin():
            return each[0]
        return f"c({', '.join(each)})" if self._coin() else f"{{{', '.join(each)}}}"

    def _option(self, node: Node) -> str:
        match node:
            case Range(low, high):
                return f"{self._option(low)}..{self._option(high)}"
            case Negative(of):
                return f"-{self._option(of)}"
        return self._spelt(node)[1]

    def _conditional(self, node: If) -> str:
        # an else belongs to the last if, so that one within another stands in brackets
        condition, then = self.spell(node.condition, "or"), self.spell(node.then, "or")
        start = f"if {condition} then {then}" if self._coin() else f"if ({condition}) {then}"
        return start if node.otherwise is None else f"{start} else {self.spell(node.otherwise)}"

    def _call(self, node: Call) -> tuple[str, str]:
        arguments = [self.spell(one) for one in node.arguments]
        if node.function == "matches" and node.remove_missing:
            return "atom", f"grepl({arguments[1]}, {arguments[0]})"
        if node.remove_missing:
            arguments.append("na.rm = TRUE" if self._coin() else "na.rm=TRUE")
        name = {"smallest": "pmin", "largest": "pmax"}.get(node.function, "") if self._coin() else ""
        names = [self._spelt(one)[1] for one in node.by]
        if len(names) == 1 and self._coin():
            arguments.append(f"by={names[0]}")
            names = []
        text = f"{name or node.function}({', '.join(arguments)})"
        if not names:
            return "atom", text
        behind = f"({', '.join(names)})" if len(names) > 1 or self._coin() else names[0]
        return "power", f"{text} by {behind}"
