"""Made nested files with rules on and across their levels, by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from masktron.sources.level_tree import Level
from masktron.sources.record_layout import Field, Layout
from masktron.sources.wide.wide_record import Composition

_ROLES = ("head", "spouse", "child", "other")


def _level(name: str, attributes: str, elements: str, *children: Level) -> Level:
    fields = [Field(f"@{n}", n, attribute=True) for n in attributes.split()] + [Field(n, n) for n in elements.split()]
    return Level(name, name, tuple(fields), children)


SPELL = _level("Spell", "", "Begin End")
PERSON = _level("Person", "id mother", "Role Age Income", SPELL)
CAR = _level("Car", "", "Value Kind")
HOUSEHOLD = _level("Household", "id", "Size Region Total", PERSON, CAR)
LAYOUT = Layout(("Survey", "Household"), HOUSEHOLD.fields)
"""Households with persons, who have spells, and cars."""


PATHS = {
    "Household": (
        ("Person", "Person"), ("Car", "Car"), (".", "Household"), ("Person/Spell", "Spell"), (".//Spell", "Spell"),
        ("descendant::Person", "Person"),
    ),
    "Person": (
        ("..", "Household"), ("../Person", "Person"), ("Spell", "Spell"), ("../Car", "Car"), (".", "Person"),
        ("preceding-sibling::Person", "Person"), ("following-sibling::Person", "Person"),
        ("parent::Household", "Household"), ("ancestor::Household/Person", "Person"),
    ),
    "Car": (
        ("..", "Household"), ("../Person", "Person"), ("preceding-sibling::Car", "Car"),
        ("preceding-sibling::*[1]/self::Person", "Person"), ("preceding-sibling::Person", "Person"),
    ),
    "Spell": (
        ("..", "Person"), ("../..", "Household"), ("following-sibling::Spell", "Spell"),
        ("ancestor::Household", "Household"), ("../../Person/Spell", "Spell"),
    ),
}  # fmt: skip
"""Paths from elements of a kind to elements with fields, with the kind of these."""


@dataclass(slots=True)
class Element:
    """A made element: lexemes of its fields, None where one is not there, and its members by kind."""

    level: Level
    values: dict[str, str | None]
    members: list[list[Element]]

    def xml(self) -> str:
        """Return it in XML."""
        attributes = "".join(
            f" {f.tag}={quoteattr(value)}"
            for f in self.level.fields
            if f.attribute and (value := self.values[f.name]) is not None
        )
        inner = "".join(
            f"<{f.tag}>{escape(value)}</{f.tag}>"
            for f in self.level.fields
            if not f.attribute and (value := self.values[f.name]) is not None
        )
        inner += "".join(member.xml() for kind in self.members for member in kind)
        return f"<{self.level.tag}{attributes}>{inner}</{self.level.tag}>"


def composition_of(element: Element) -> Composition:
    """Return which members an element has."""
    return Composition(tuple(tuple(composition_of(one) for one in kind) for kind in element.members))


class NestedMaker:
    """Makes households and rules."""

    def __init__(self, seed: int, *, version: str = "1.0") -> None:
        self.random = random.Random(seed)
        self.version = version

    def one_of(self, *choices: str) -> str:
        return self.random.choice(choices)

    # -- data ------------------------------------------------------------------------------------------------------

    def element(self, level: Level = HOUSEHOLD) -> Element:
        """Return an element with all that is below it."""
        members = [
            [self.element(child) for _ in range(self.random.choice((0, 1, 1, 2, 3)))] for child in level.children
        ]
        return Element(level, {f.name: self._value(f.name) for f in level.fields}, members)

    def _value(self, name: str) -> str | None:
        if self.random.random() < 0.12:
            # XPath 2.0 has dynamic errors where a text is compared with a number
            return self.one_of("", "x") if self.version == "1.0" and self.random.random() < 0.5 else None
        match name:
            case "Role" | "Kind" | "Region" if self.version != "1.0":
                return self.one_of("1", "2", "3", "7")
            case "Role" | "Kind":
                return self.random.choice(_ROLES)
            case "Region":
                return self.one_of("N", "S")
            case "@id" | "@mother":
                return self.one_of("1", "2", "3")
            case _:
                return self.one_of("0", "1", "2", "3", "15", "30", "2.5", "-1")

    # -- rules -----------------------------------------------------------------------------------------------------

    def schematron(self, rules: int) -> str:
        """Return a rulebook of so many rules, some of which share patterns."""
        patterns: list[str] = []
        while rules > 0:
            size = self.random.choice((1, 1, 2, 3))
            patterns.append(f"<pattern>{''.join(self._rule() for _ in range(size))}</pattern>")
            rules -= size
        binding = "" if self.version == "1.0" else ' queryBinding="xslt2"'
        return f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{binding}>{"".join(patterns)}</schema>'

    def _rule(self) -> str:
        level = self.random.choice((HOUSEHOLD, HOUSEHOLD, PERSON, PERSON, CAR, SPELL))
        context = level.name
        if self.random.random() < 0.3:
            context += f"[{self.predicate(level.name, 1)}]"
        if level is SPELL and self.random.random() < 0.3:
            context = f"Person[{self.predicate('Person', 1)}]/" + context
        lets = ""
        if self.random.random() < 0.3:
            lets = f"<let name='v' value={quoteattr(self.nodes(level.name, 1))}/>"
        test = self.truth(level.name, 2)
        if lets:
            test = (
                f"({test}) {self.one_of('and', 'or')} {self.one_of('$v', 'count($v) = 1', '$v = 2', 'not($v > 3)')}"
            )
        kind = self.one_of("assert", "assert", "report")
        return f"<rule context={quoteattr(context)}>{lets}<{kind} test={quoteattr(test)}>m</{kind}></rule>"

    def predicate(self, at: str, depth: int) -> str:
        """Return a predicate on elements of a kind."""
        if self.random.random() < 0.15:
            return self.one_of("1", "2", "last()", "position() = 1", "position() < last()")
        return self.truth(at, depth - 1)

    def elements(self, at: str, depth: int) -> tuple[str, str]:
        """Return a path to elements with fields, and their kind."""
        path, kind = self.random.choice(PATHS[at])
        steps = "/" not in path and not path.startswith(".")
        if depth > 0 and steps and self.random.random() < 0.5:
            path += f"[{self.predicate(kind, depth)}]"
        return path, kind

    def field(self, kind: str) -> str:
        """Return a field of a kind of elements."""
        return self.random.choice(
            {
                "Household": ("@id", "Size", "Region", "Total"),
                "Person": ("@id", "@mother", "Role", "Age", "Income"),
                "Car": ("Value", "Kind"),
                "Spell": ("Begin", "End"),
            }[kind]
        )

    def nodes(self, at: str, depth: int) -> str:
        """Return a path to fields."""
        if self.random.random() < 0.3:
            return self.field(at)
        path, kind = self.elements(at, depth)
        name = self.field(kind)
        if self.random.random() < 0.1:
            return f"({path}/{name})[{self.one_of('1', 'last()', '. > 2')}]"
        if self.random.random() < 0.1 and not name.startswith("@"):
            return f"{path}/{name}/text()"
        if self.random.random() < 0.1:
            return f"{path}/{name}[{self.one_of('. = 2', '../' + self.field(kind) + ' = .')}]"
        return f"{path}/{name}"

    def number(self, at: str, depth: int) -> str:  # noqa: PLR0911 -- a branch for each form
        """Return a number."""
        choice = self.random.randrange(7)
        if choice == 0 or depth <= 0:
            return self.one_of("0", "1", "2", "3", "2.5")
        if choice == 1:
            return f"count({self.elements(at, depth)[0]})"
        if choice == 2:
            return f"count({self.nodes(at, depth - 1)})"
        if choice == 3:
            return f"sum({self.nodes(at, depth - 1)})" if self.version == "1.0" else f"count({self.nodes(at, 0)})"
        if choice == 4 and self.version == "1.0":
            return f"({self.nodes(at, 0)} {self.one_of('+', '-', '*')} {self.number(at, depth - 1)})"
        if choice == 5 and self.version == "1.0":
            return f"number({self.nodes(at, depth - 1)})"
        return f"string-length({self.field(at)})"

    def truth(self, at: str, depth: int) -> str:  # noqa: PLR0911, PLR0912 -- a branch for each form
        """Return a condition."""
        choice = self.random.randrange(11 if self.version == "1.0" else 14)
        operator = self.one_of("=", "!=", "<", "<=", ">", ">=")
        if choice <= 1 or depth < 0:
            return f"{self.nodes(at, 0)} {self.one_of('=', '!=')} {self.one_of('2', chr(39) + 'head' + chr(39))}"
        match choice:
            case 2:
                return f"{self.nodes(at, depth)} {self.one_of('=', '!=')} {self.nodes(at, depth - 1)}"
            case 3:
                return f"{self.number(at, depth)} {operator} {self.number(at, depth)}"
            case 4:
                return f"not({self.truth(at, depth - 1)})"
            case 5:
                return f"({self.truth(at, depth - 1)}) {self.one_of('and', 'or')} ({self.truth(at, depth - 1)})"
            case 6:
                return self.elements(at, depth)[0]
            case 7:
                return self.nodes(at, depth)
            case 8:
                if at in ("Person", "Spell"):
                    up = "../" if at == "Person" else "../../"
                    return f"{up}Person[@id = current()/{self.field(at)}]/Age {self.one_of('=', '!=')} 2"
                return f"count(Person[Role = 'head']) {operator} 1" if at == "Household" else "Value = 2"
            case 9:
                return f"{self.number(at, depth)} {operator} {self.number(at, depth)}"
            case 10:
                return f"contains({self.field(at)}, '1')"
            case 11:
                path, kind = self.elements(at, depth)
                test = self.truth(kind, depth - 1)
                which = self.one_of("some", "every")
                return f"{which} $p in {path} satisfies ($p/{self.field(kind)} = '2' or $p[{test}])"
            case 12:
                return f"count(distinct-values({self.nodes(at, depth)})) {operator} {self.number(at, 0)}"
            case _:
                path, kind = self.elements(at, depth)
                return f"count(for $p in {path} return $p/{self.field(kind)}) {operator} {self.number(at, depth)}"
