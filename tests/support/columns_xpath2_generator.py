"""Random expressions of XPath 2 and later, of all operators and functions that columns know."""

from __future__ import annotations

from functools import partial
from random import Random

FIELDS = ("V1", "V2", "V3", "N1", "N2", "D1")
NUMBERS = ("0", "1", "2", "5", "7", "-3", "0.5", "1.5", "2.25", "-0.1", "10", "1e0", "2.5e0")
STRINGS = ("''", "'5'", "'abc'", "'a b'", "'A'", "'1.5'", "' 5 '", "'b'", "'true'")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
VALUE_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
REGEXES = (
    r"^[0-9]+$",
    r"^-?\d+\.?\d*$",
    "[a-z]",
    r"^\s*$",
    "b5?",
    "^.{1,3}$",
    r"\s",
    "[^0-9]",
    "^a.*c$",
    r"[-+]?\d",
)


class Generator:
    """Expressions of a given depth; each kind of expression is as likely as the others of its type."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.bound = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def variable(self) -> str:
        self.bound += 1
        return f"$v{self.bound}"

    def typed(self, depth: int) -> str:
        """A number of a known type."""
        kind = self.one("xs:integer", "xs:double", "number")
        return f"{kind}({self.number(depth - 1) if depth > 0 and self.random.random() < 0.5 else self.one(*FIELDS)})"

    def number(self, depth: int) -> str:  # noqa: PLR0911
        """What arithmetic takes."""
        if depth <= 0:
            return self.one(self.one(*FIELDS), self.one(*NUMBERS), self.typed(0))
        a = partial(self.number, depth - 1)
        match self.random.randrange(15):
            case 0:
                return self.typed(depth)
            case 1 | 2 | 3:
                return f"({a()} {self.one('+', '-', '*', 'div', 'mod')} {a()})"
            case 4 | 5:
                one, other = (f"xs:integer({self.one(*FIELDS)})" for _ in range(2))
                return f"({one} {self.one('+', '-', '*', 'mod')} {other})"
            case 6:
                return f"{self.one('abs', 'floor', 'ceiling', 'round')}({a()})"
            case 7 | 8:
                return f"{self.one('sum', 'min', 'max')}({self.sequence(depth - 1)})"
            case 9:
                return f"(-{a()})"
            case 10:
                return f"count({self.sequence(depth - 1)})"
            case 11:
                return f"string-length({self.string(depth - 1)})"
            case 12:
                return f"(if ({self.condition(depth - 1)}) then {a()} else {a()})"
            case 13:
                return f"(({self.nodes()}) {self.one('union', 'intersect', 'except')} ({self.nodes()}))[1]"
            case _:
                return f"{self.sequence(depth - 1)}[{self.one('1', '2', 'last()', 'position() = 2')}]"

    def nodes(self) -> str:
        """One field."""
        return self.one(*FIELDS)

    def string(self, depth: int) -> str:  # noqa: PLR0911
        """What functions of strings take."""
        if depth <= 0:
            return self.one(self.one(*FIELDS), self.one(*STRINGS), f"string({self.one(*FIELDS)})")
        a = self.string(depth - 1)
        match self.random.randrange(8):
            case 0:
                return f"{self.one('normalize-space', 'string')}({a})"
            case 1:
                name = self.one("concat", "substring-before", "substring-after")
                return f"{name}({a}, {self.string(depth - 1)})"
            case 2:
                return f"({a} || {self.string(depth - 1)})"
            case 3:
                return f"substring({a}, {self.one('1', '2', '1.5', '0', 'N1', '-1')})"
            case 4:
                return f"substring({a}, {self.one('1', '2', '-1', 'N2')}, {self.one('2', '1.5', 'N1')})"
            case 5:
                return f"translate({a}, 'ab5', 'xy')"
            case 6:
                return f"string({self.one(*FIELDS)})"
            case _:
                return f"(if ({self.condition(depth - 1)}) then {a} else {self.string(depth - 1)})"

    def sequence(self, depth: int) -> str:  # noqa: PLR0911
        """Fields and numbers."""
        if depth <= 0 or self.random.random() < 0.3:
            few = ", ".join(self.one(*FIELDS) for _ in range(self.random.randint(1, 3)))
            return self.one(f"({few})", "(1, 2, 3)", "(N1 | N2)", "(V1, 5)", "(xs:integer(N1), 2.5)", "(N1, N2, D1)")
        below = self.sequence(depth - 1)
        match self.random.randrange(6):
            case 5:
                wanted = self.one("= 'V1'", "!= 'V2'", "= ('N1', 'D1')")
                return f"*[local-name({self.one('', '.')}) {wanted}]"
            case 0:
                return f"{below}[. {self.one(*COMPARISONS)} {self.one(*NUMBERS)}]"
            case 1 | 2:
                return f"({below} ! (number(.) * 2))"
            case 3:
                return f"({below} ! number(.))"
            case 4:
                return f"distinct-values({below} ! number(.))"
            case _:
                return f"({self.number(depth - 1)}, {self.number(depth - 1)})"

    def condition(self, depth: int) -> str:  # noqa: PLR0911, PLR0912
        """What has a truth value."""
        if depth <= 0:
            field = self.one(*FIELDS)
            other = self.one(self.one(*FIELDS), self.one(*NUMBERS), self.one(*STRINGS))
            return self.one(f"{field} {self.one(*COMPARISONS)} {other}", field)
        a, b = (lambda: self.number(depth - 1)), (lambda: self.string(depth - 1))
        sign = self.one(*COMPARISONS)
        match self.random.randrange(14):
            case 0 | 1:
                return f"({self.condition(depth - 1)} {self.one('and', 'or')} {self.condition(depth - 1)})"
            case 2:
                return f"not({self.condition(depth - 1)})"
            case 3 | 4:
                return f"({a()} {sign} {a()})"
            case 5:
                return f"({self.typed(depth - 1)} {self.one(*VALUE_COMPARISONS)} {self.typed(depth - 1)})"
            case 6:
                return f"(string({b()}) {self.one(*VALUE_COMPARISONS)} {b()})"
            case 7:
                return f"({b()} {sign} {b()})"
            case 8:
                return f"({self.sequence(depth - 1)} {sign} {self.sequence(depth - 1)})"
            case 9:
                return f"{self.one('exists', 'empty')}({self.sequence(depth - 1)})"
            case 10:
                name, of = self.variable(), self.sequence(depth - 1)
                return f"({self.one('some', 'every')} {name} in {of} satisfies {name} {sign} {self.one(*NUMBERS)})"
            case 11:
                name, of = self.variable(), self.sequence(depth - 1)
                more = self.condition(depth - 1)
                return f"({self.one('some', 'every')} {name} in {of} satisfies ({more} or {name} = 5))"
            case 12:
                text = f"matches({b()}, '{self.one(*REGEXES)}')"
                return self.one(text, f"{self.one('contains', 'starts-with')}({b()}, {b()})")
            case _:
                return f"(if ({self.condition(depth - 1)}) then {self.condition(depth - 1)} else {self.condition(0)})"
