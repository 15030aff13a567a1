"""Expressions over flat and nested files, of every construct that the tree of expressions models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from masktron.sources.level_tree import Level
from masktron.sources.record_layout import Field
from nested_pairs import HOUSEHOLD, PATHS


def _flat() -> Level:
    names = ("A", "B", "C", "N", "A-1", "div", "T", "U")
    return Level("R", "R", (Field("@id", "id", attribute=True), *(Field(n, n) for n in names)), ())


FLAT = _flat()
_WHOLE = (
    ("../R", "R"), ("//R", "R"), ("/Data/R", "R"), ("preceding-sibling::R", "R"), ("following-sibling::R", "R"),
    ("preceding-sibling::R[1]", "R"), ("document('o.xml')//R", "R"), ("document('o.xml')/Data/R", "R"),
    ("following-sibling::*[1]/self::R", "R"), ("ancestor::Data/child::R", "R"), ("/*/*", "R"),
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """What there is in a file.

    Attributes
    ----------
    top : Level
    root : str
    paths : dict
        From elements of a kind to elements, with their kind.
    across : dict
        As `paths`, of those that leave the record.
    numbers, texts : dict
        Fields of each kind.
    """

    top: Level
    root: str
    paths: dict[str, tuple[tuple[str, str], ...]]
    across: dict[str, tuple[tuple[str, str], ...]]
    numbers: dict[str, tuple[str, ...]]
    texts: dict[str, tuple[str, ...]]
    elements: frozenset[str] = field(default_factory=frozenset)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of elements, the records first."""
        return tuple(self.numbers)


FLAT_WORLD = World(
    FLAT, "Data", {"R": ((".", "R"), ("self::R", "R"), ("self::node()", "R"))}, {"R": _WHOLE},
    {"R": ("@id", "A", "B", "C", "N", "A-1", "div", "./A", "child::B", "attribute::id")}, {"R": ("T", "U")},
    frozenset({"Data", "R", "A", "B", "C", "N", "A-1", "div", "T", "U"}),
)  # fmt: skip
_ACROSS_UNITS = {
    "Household": (
        ("../Household", "Household"), ("//Household", "Household"), ("//Person", "Person"),
        ("document('o.xml')//Household", "Household"), ("following-sibling::Household[1]", "Household"),
    ),
    "Person": (("//Person", "Person"), ("/Survey/Household", "Household")),
    "Car": (("//Car", "Car"),),
    "Spell": (("//Spell", "Spell"),),
}  # fmt: skip
_NESTED_NAMES = "Survey Household Size Region Total Person Role Age Income Car Value Kind Spell Begin End"
NESTED_WORLD = World(
    HOUSEHOLD,
    "Survey",
    PATHS,
    _ACROSS_UNITS,
    {
        "Household": ("@id", "Size", "Total"),
        "Person": ("@id", "@mother", "Age", "Income"),
        "Car": ("Value",),
        "Spell": ("Begin", "End"),
    },
    {"Household": ("Region",), "Person": ("Role",), "Car": ("Kind",), "Spell": ()},
    frozenset(_NESTED_NAMES.split()),
)

SIX = ("=", "!=", "<", "<=", ">", ">=")
TEXTS = ("'a'", "'b'", '"ab"', "''", "'head'", "'it(s) [or]'", "'a b'")
NUMBERS = ("0", "1", "2", "3", "15", "2.5", ".5", "2.0", "(1)", "-1", "30")


class Writer:
    """Writes expressions of a depth, at elements of a kind.

    Parameters
    ----------
    random : Random
    world : World
    version : str
    across : float
        Share of paths that leave the record.
    """

    def __init__(self, random: Random, world: World, version: str, across: float = 0.1) -> None:
        self.random, self.world, self.version, self.across = random, world, version, across
        self.places: dict[str, str] = {}
        """Kinds of the parameters of an abstract pattern, by their places."""
        self.lets: dict[str, str] = {}
        self.members: dict[str, str] = {}
        """Kinds of the elements that variables of quantifiers are."""
        self.context = False
        """Whether it is a context, in which ``current()`` is not written."""
        self._bound = 0

    @property
    def later(self) -> bool:
        return self.version != "1.0"

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def likely(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, forms: list[Callable[[], str]]) -> str:
        return self.random.choice(forms)()

    def bracketed(self, text: str) -> str:
        """Return an operand in brackets, sometimes in more than one pair."""
        return f"({self.bracketed(text) if self.likely(0.08) else text})"

    def maybe(self, text: str) -> str:
        """Return an operand in brackets sometimes."""
        return self.bracketed(text) if self.likely(0.2) else text

    def variable(self) -> str:
        self._bound += 1
        return f"$x{self._bound}"

    def known(self, kind: str) -> list[str]:
        """Return variables and parameters of a kind."""
        return [name for name, have in (*self.lets.items(), *self.places.items()) if have == kind]

    # -- nodes -----------------------------------------------------------------------------------------------------

    def elements(self, at: str, depth: int) -> tuple[str, str]:
        """Return a path to elements, and their kind."""
        across = self.world.across[at]
        path, kind = self.random.choice(across if self.likely(self.across) else self.world.paths[at])
        if self.context and "document" in path:
            path, kind = self.random.choice(self.world.paths[at])
        if path != ".":
            for _ in range(self.random.choice((0, 1, 1, 2)) if depth > 0 else 0):
                path += f"[{self.predicate(kind, depth - 1)}]"
        return path, kind

    def predicate(self, at: str, depth: int) -> str:
        """Return what stands in the brackets of a step."""
        if self.likely(0.2):
            return self.one("1", "2", "last()", "position() = 1", "position() < last()", "position() mod 2 = 1")
        return self.truth(at, depth)

    def own(self, at: str, *, text: bool = False) -> str:
        """Return a field of a kind of elements."""
        texts = self.world.texts[at]
        return self.one(*texts) if text and texts else self.one(*self.world.numbers[at])

    def single(self, at: str) -> str:
        """Return a path to one field at most."""
        if self.likely(0.1) and self.members:
            name, kind = self.random.choice(list(self.members.items()))
            return f"{name}/{self.own(kind)}"
        if self.likely(0.12):
            path, kind = self.elements(at, 0)
            return f"({path}/{self.own(kind)})[1]"
        if self.likely(0.06) and not self.context:
            kind = self.started
            return f"current()/{self.own(kind)}"
        return self.own(at)

    started = ""
    """The kind of the current node."""

    def nodes(self, at: str, depth: int, *, text: bool = False) -> str:
        """Return a path to fields, which are numbers or texts."""
        known = self.known("nodes")
        if known and not text and self.likely(0.2):
            return self.one(*known)
        if depth <= 0 or self.likely(0.4):
            return self.own(at, text=text)
        path, kind = self.elements(at, depth - 1)
        name = self.own(kind, text=text)
        forms = [
            lambda: f"{path}/{name}",
            lambda: f"{path}/{name}",
            lambda: f"({path}/{name})[{self.one('1', 'last()', '2')}]",
            lambda: f"{path}/{name}[{'. > 1' if not text else '. != ' + self.one(*TEXTS)}]",
            lambda: f"({self.own(at, text=text)} | {path}/{name})",
            lambda: f"({path}/{name} | {self.own(at, text=text)})[last()]",
            lambda: f"{path}/{name}[../{self.own(kind, text=text)} = .]",
        ]
        if not name.startswith(("@", "attribute")):
            forms.append(lambda: f"{path}/{name}/text()")
            forms.append(lambda: f"{path}/*[local-name() = '{name.rpartition('/')[2].rpartition(':')[2]}']")
        if self.later:
            forms += [
                lambda: f"({path}/{name} union {self.own(at, text=text)})",
                lambda: f"({path}/{name} except {self.own(at, text=text)})",
                lambda: f"({path}/{name} intersect {path}/*)",
                lambda: f"{path}/({name}, {self.own(kind, text=text)})",
                lambda: f"({path} ! {name})",
                lambda: f"(for {(v := self.variable())} in {path} return {v}/{name})",
                lambda: f"(if ({self.truth(at, 0)}) then {path}/{name} else {self.own(at, text=text)})",
            ]
        return self.some(forms)

    # -- values ----------------------------------------------------------------------------------------------------

    def literal(self) -> str:
        known = self.known("number")
        return self.one(*known) if known and self.likely(0.4) else self.one(*NUMBERS)

    def number(self, at: str, depth: int) -> str:
        """Return a number that may be an operand of a comparison."""
        if depth <= 0:
            return self.one(self.literal(), f"number({self.single(at)})", self.single(at))
        forms = [
            self.literal,
            lambda: f"count({self.nodes(at, depth)})",
            lambda: f"count({self.elements(at, depth)[0]})",
            lambda: f"sum({self.nodes(at, depth)})",
            lambda: f"number({self.single(at)})",
            lambda: self.sum_of(at, depth),
            lambda: self.bracketed(self.sum_of(at, depth)),
            lambda: f"string-length({self.text(at, depth - 1)})",
            lambda: f"{self.one('floor', 'ceiling', 'round')}({self.sum_of(at, depth - 1)})",
            lambda: f"-{self.maybe(self.single(at))}",
        ]
        if self.later:
            forms += [
                lambda: f"{self.nodes(at, depth)} => count()",
                lambda: f"({self.nodes(at, depth)}) => sum()",
                lambda: f"(if ({self.truth(at, depth - 1)}) then {self.literal()} else {self.number(at, 0)})",
                lambda: f"{self.one('min', 'max', 'avg', 'fn:sum', 'fn:count')}({self.nodes(at, depth)})",
                lambda: f"abs({self.number(at, 0)})",
                lambda: f"xs:decimal({self.literal()})",
                lambda: f"({self.literal()} cast as xs:double)",
                lambda: f"count(distinct-values({self.nodes(at, depth)}))",
                lambda: f"sum(for {(v := self.variable())} in {self.nodes(at, depth)} return number({v}) * 2)",
                lambda: f"sum({self.nodes(at, depth)} ! number(.))",
                lambda: f"count(({self.nodes(at, 0)}, {self.nodes(at, 0)}, 1 to 3))",
            ]
        if self.version == "3.1":
            forms.append(lambda: f"(let {(v := self.variable())} := {self.number(at, 0)} return {v} + {v})")
        return self.some(forms)

    def sum_of(self, at: str, depth: int) -> str:
        """Return arithmetic without brackets."""
        operands = [self.maybe(self.single(at)) if self.likely(0.6) else self.literal() for _ in range(3)]
        if depth > 1 and self.likely(0.4):
            operands[1] = f"count({self.nodes(at, depth - 1)})"
        signs = [self.one("+", "-", "+", "-", "*", "mod", "div") for _ in range(2)]
        if self.likely(0.5):
            return f"{operands[0]} {signs[0]} {operands[1]}"
        return f"{operands[0]} {signs[0]} {operands[1]} {signs[1]} {operands[2]}"

    def text(self, at: str, depth: int) -> str:
        """Return a text."""
        own = f"string({self.own(at, text=True)})"
        if depth <= 0:
            return self.one(own, self.own(at, text=True), self.one(*TEXTS))
        forms = [
            lambda: self.one(*TEXTS),
            lambda: f"concat({self.text(at, depth - 1)}, {self.one(*TEXTS)}, {self.own(at)})",
            lambda: f"substring({self.own(at, text=True)}, {self.one('1', '2')}{self.one('', ', 1', ', 2')})",
            lambda: f"normalize-space({self.own(at, text=True)})",
            lambda: f"translate({self.own(at, text=True)}, 'ab', 'BA')",
            lambda: f"substring-before({self.own(at, text=True)}, 'b')",
            lambda: f"{self.one('name', 'local-name')}({self.one('', '.', '..', self.own(at))})",
            lambda: own,
        ]
        if self.later:
            forms += [
                lambda: f"{self.own(at, text=True)} => {self.one('normalize-space()', 'string()', 'upper-case()')}",
                lambda: f"({self.own(at, text=True)} || {self.one(*TEXTS)} || 'c')",
                lambda: f"string-join({self.nodes(at, depth, text=True)}, '-')",
                lambda: f"replace(string({self.own(at, text=True)}), '[ab]', 'x')",
                lambda: f"{self.one('fn:string', 'lower-case')}({self.own(at, text=True)})",
                lambda: f"string-join({self.nodes(at, depth)} ! string(), '+')",
            ]
        return self.some(forms)

    # -- conditions ------------------------------------------------------------------------------------------------

    def comparison(self, at: str, depth: int) -> str:
        """Return a comparison without brackets around it."""
        sign = self.one(*SIX)
        equal = self.one("=", "!=", "=")
        forms = [
            lambda: f"{self.maybe(self.own(at))} {sign} {self.literal()}",
            lambda: f"{self.maybe(self.own(at))} {sign} {self.maybe(self.own(at))}",
            lambda: f"{self.literal()} {sign} {self.own(at)}",
            lambda: f"{self.number(at, depth)} {sign} {self.number(at, depth - 1)}",
            lambda: f"{self.maybe(self.nodes(at, depth))} {sign} {self.literal()}",
            lambda: f"{self.nodes(at, depth)} {equal} {self.nodes(at, depth - 1)}",
            lambda: f"{self.nodes(at, depth, text=True)} {equal} {self.one(*TEXTS)}",
            lambda: f"{self.text(at, depth)} {equal} {self.text(at, 0)}",
            lambda: f"{self.bracketed(self.truth(at, depth - 1))} {equal} {self.bracketed(self.truth(at, 0))}",
            lambda: f"{self.bracketed(self.comparison(at, 0))} {equal} {self.one('true()', 'false()')}",
        ]
        if not self.later:
            forms += [lambda: self.chained(at, depth)] * 3
        else:
            forms += [
                lambda: f"number({self.single(at)}) {self.one('eq', 'ne', 'lt', 'le', 'gt', 'ge')} {self.literal()}",
                lambda: f"string({self.own(at, text=True)}) {self.one('eq', 'ne')} {self.one(*TEXTS)}",
                lambda: f"{self.nodes(at, depth)} = ({self.literal()}, {self.literal()})",
                lambda: f"{self.own(at)} = (1 to {self.one('2', '3')})",
                lambda: f"{self.own(at, text=True)} = ({self.one(*TEXTS)}, {self.one(*TEXTS)})",
                lambda: f"{self.single(at)} castable as xs:{self.one('integer', 'decimal', 'string')}",
                lambda: f"{self.plain_number(at)} instance of xs:{self.one('integer', 'double', 'decimal?')}",
                lambda: f"{self.node(at)} {self.one('is', '<<', '>>')} {self.node(at)}",
            ]
        return self.some(forms)

    def node(self, at: str) -> str:
        """Return one element of this document: which document is before another, engines choose."""
        across = [path for path, _ in self.world.across[at] if "document" not in path]
        here = [path for path, _ in self.world.paths[at]]
        return f"({self.one(*(across if self.likely(self.across) else here))})[1]"

    def plain_number(self, at: str) -> str:
        """Return a number whose type no engine mistakes; docs/engines.md has ``static-type-of-instance``."""
        return self.one(*NUMBERS, f"number({self.single(at)})")

    def chained(self, at: str, depth: int) -> str:
        """Return a comparison of comparisons without brackets, as XPath 1.0 has it."""
        operand: list[Callable[[], str]] = [
            lambda: self.own(at),
            self.literal,
            lambda: self.maybe(self.own(at)),
            lambda: self.number(at, depth - 1),
            lambda: self.one("true()", "false()", "1"),
            lambda: self.nodes(at, depth - 1),
            lambda: self.bracketed(self.truth(at, 0)),
        ]
        text = self.some(operand)
        for _ in range(self.random.choice((2, 2, 2, 3))):
            text += f" {self.one('=', '=', *SIX)} {self.some(operand)}"
        return text

    def test(self, at: str, depth: int) -> str:
        """Return a condition that may stand beside ``and``."""
        forms = [
            lambda: self.comparison(at, depth),
            lambda: self.comparison(at, depth),
            lambda: self.comparison(at, depth),
            lambda: f"not({self.truth(at, depth - 1)})",
            lambda: f"boolean({self.nodes(at, depth)})",
            lambda: self.nodes(at, depth),
            lambda: self.elements(at, depth)[0],
            lambda: self.bracketed(self.truth(at, depth - 1)),
            lambda: f"{self.one('contains', 'starts-with')}({self.text(at, depth)}, {self.one(*TEXTS)})",
            lambda: self.joined(at, depth),
        ]
        known = self.known("truth")
        if known:
            forms.append(lambda: self.one(*known))
        if self.later and depth > 0:
            forms += [
                lambda: self.bracketed(self.quantified(at, depth)),
                lambda: self.bracketed(self.quantified(at, depth)),
                lambda: self.bracketed(self.conditional(at, depth)),
                lambda: f"{self.one('exists', 'empty', 'fn:exists')}({self.nodes(at, depth)})",
                lambda: f"({self.nodes(at, depth)}) => {self.one('exists()', 'empty()')}",
                lambda: f"matches(string({self.own(at, text=True)}), '^[ab]+$')",
                lambda: f"fn:not({self.truth(at, depth - 1)})",
                lambda: f"deep-equal({self.own(at)}, {self.own(at)})",
            ]
        return self.some(forms)

    def joined(self, at: str, depth: int) -> str:
        """Return a condition on records with a value of the current one."""
        if self.context:
            return self.comparison(at, 0)
        path, kind = self.random.choice(self.world.across[at])
        if path.endswith("]"):
            path = path.rpartition("[")[0]
        found = f"{path}[{self.own(kind)} = current()/{self.own(self.started)}"
        if self.likely(0.4):
            found += f" and {self.test(kind, 0)}"
        found += "]"
        sign, number = self.one(*SIX), self.one("0", "1", "2", "3")
        return self.one(f"count({found}) {sign} {number}", found, f"{found}/{self.own(kind)} {sign} {number}")

    def quantified(self, at: str, depth: int) -> str:
        path, kind = self.elements(at, depth - 1)
        name, held = self.variable(), dict(self.members)
        single = self.likely(0.3)
        more, second = "", self.variable()
        if single:
            of = self.nodes(at, depth - 1)
            body = f"{name} {self.one(*SIX)} {self.literal()}"
        else:
            of = path
            self.members[name] = kind
            body = self.one(
                f"{name}/{self.own(kind)} {self.one(*SIX)} {self.single(at)}",
                f"{name}[{self.truth(kind, depth - 1)}]",
                f"{name}/{self.own(kind)} = 1 and {self.test(at, 0)}",
                f"({self.truth(at, depth - 1)}) or {name}/{self.own(kind)} = 2",
            )
            if self.likely(0.3):
                more, body = f", {second} in {self.nodes(at, 0)}", f"{second} = {self.literal()} and {body}"
        self.members = held
        return f"{self.one('some', 'every')} {name} in {of}{more} satisfies {body}"

    def conditional(self, at: str, depth: int) -> str:
        otherwise = self.one("true()", "false()", self.maybe(self.test(at, depth - 1)))
        return f"if ({self.truth(at, depth - 1)}) then {self.test(at, depth - 1)} else {otherwise}"

    def truth(self, at: str, depth: int) -> str:
        """Return a condition."""
        if depth <= 0:
            return self.comparison(at, 0)
        roll = self.random.random()
        if roll < 0.55:
            return self.test(at, depth)
        text = self.test(at, depth - 1)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            text += f" {self.one('and', 'or')} {self.test(at, depth - 1)}"
        return text
