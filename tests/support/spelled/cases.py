"""A seed's case: a flat or nested file, its original, and a rulebook with abstract patterns, phases and variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from xml.sax.saxutils import quoteattr

from masktron.sources.level_tree import Level
from nested_pairs import Element
from spelled.expressions import FLAT_WORLD, NESTED_WORLD, TEXTS, Writer
from spelled.spelling import Speller

URI = "urn:d"
VERSIONS = ("1.0", "2.0", "3.1")
_BINDINGS = {"1.0": "xslt", "2.0": "xslt2", "3.1": "xpath31"}


@dataclass(frozen=True, slots=True)
class Check:
    """An assert or report, with its place among all that are written."""

    number: int
    kind: str
    test: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A context, as paths of a union, with variables and checks."""

    context: tuple[str, ...]
    lets: tuple[tuple[str, str], ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rules; with parameters it is abstract, and written once for all its instances."""

    lets: tuple[tuple[str, str], ...]
    rules: tuple[Rule, ...]
    instances: tuple[tuple[tuple[str, str], ...], ...] = ()
    phases: tuple[str, ...] = ()

    def concrete(self) -> tuple[Pattern, ...]:
        """Return it with each of its parameters put in."""
        return tuple(self._with(values) for values in self.instances) if self.instances else (self,)

    def _with(self, values: tuple[tuple[str, str], ...]) -> Pattern:
        def put(text: str) -> str:
            for name, value in values:
                text = text.replace(f"${name}", value)
            return text

        def lets(some: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
            return tuple((name, put(value)) for name, value in some)

        rules = tuple(
            Rule(tuple(map(put, r.context)), lets(r.lets), tuple(replace(c, test=put(c.test)) for c in r.checks))
            for r in self.rules
        )
        return Pattern(lets(self.lets), rules, (), self.phases)


@dataclass(frozen=True, slots=True)
class Case:
    """A file and a rulebook."""

    seed: int
    version: str
    nested: bool
    prefix: str
    units: tuple[str, ...]
    original: tuple[str, ...]
    lets: tuple[tuple[str, str], ...]
    patterns: tuple[Pattern, ...]
    phase: str

    @property
    def record(self) -> str:
        """Name of the records."""
        return "Household" if self.nested else "R"

    @property
    def active(self) -> tuple[Pattern, ...]:
        """What is evaluated, with all parameters put in."""
        chosen = (p for p in self.patterns if not self.phase or self.phase in p.phases)
        return tuple(one for pattern in chosen for one in pattern.concrete())

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks that are evaluated, in order."""
        return tuple(c for p in self.active for r in p.rules for c in r.checks)

    def without(self, numbers: set[int]) -> Case:
        """Return the case without some checks."""
        patterns = []
        for pattern in self.patterns:
            rules = [replace(r, checks=tuple(c for c in r.checks if c.number not in numbers)) for r in pattern.rules]
            kept = tuple(r for r in rules if r.checks)
            patterns += [replace(pattern, rules=kept)] if kept else []
        return replace(self, patterns=tuple(patterns))

    def document(self, units: tuple[str, ...]) -> str:
        """Return a file."""
        root = "Survey" if self.nested else "Data"
        space = f' xmlns="{URI}"' if self.prefix else ""
        return f"<{root}{space}>\n{chr(10).join(units)}\n</{root}>"

    @property
    def rulebook(self) -> str:
        """The Schematron text; each check has a line of its own."""
        phases = sorted({name for p in self.patterns for name in p.phases})
        lines = [f'<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="{_BINDINGS[self.version]}">']
        lines += [f'<ns prefix="{self.prefix}" uri="{URI}"/>'] if self.prefix else []
        if self.version != "1.0":
            lines += ['<ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>']
            lines += ['<ns prefix="fn" uri="http://www.w3.org/2005/xpath-functions"/>']
        named = [(f"p{i}", p) for i, p in enumerate(self.patterns)]
        for phase in phases:
            active = [n for name, p in named if phase in p.phases for n in _names(name, p)]
            lines.append(
                f'<phase id="{phase}">{"".join(f"<active pattern={quoteattr(n)}/>" for n in active)}</phase>'
            )
        lines += _lets(self.lets)
        for name, pattern in named:
            lines += _pattern(name, pattern)
        return "\n".join((*lines, "</schema>", ""))

    def write(self, folder: Path) -> None:
        """Write what masktron reads."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "data.xml").write_text(self.document(self.units), encoding="utf-8")
        (folder / "original.xml").write_text(self.document(self.original), encoding="utf-8")
        (folder / "rules.sch").write_text(self.rulebook, encoding="utf-8")


def _names(name: str, pattern: Pattern) -> list[str]:
    return [f"{name}-{k}" for k in range(len(pattern.instances))] if pattern.instances else [name]


def _quoted(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;", "\t": "&#9;"})


def _lets(lets: tuple[tuple[str, str], ...]) -> list[str]:
    return [f'<let name="{name}" value={_quoted(value)}/>' for name, value in lets]


def _pattern(name: str, pattern: Pattern) -> list[str]:
    lines = [f'<pattern id="{name}"{" abstract=" + quoteattr("true") if pattern.instances else ""}>']
    lines += _lets(pattern.lets)
    for rule in pattern.rules:
        lines += [f"<rule context={_quoted(' | '.join(rule.context))}>", *_lets(rule.lets)]
        lines += [f"<{c.kind} test={_quoted(c.test)}>n{c.number}</{c.kind}>" for c in rule.checks]
        lines.append("</rule>")
    lines.append("</pattern>")
    for instance, values in zip(_names(name, pattern), pattern.instances, strict=False):
        params = "".join(f'<param name="{n}" value={_quoted(v)}/>' for n, v in values)
        lines.append(f'<pattern id="{instance}" is-a="{name}">{params}</pattern>')
    return lines


def generate(seed: int, checks: int = 60, units: int = 12) -> Case:
    """Return the case of a seed, always the same one; versions and kinds of files take turns."""
    return _Maker(seed, checks, units).case()


class _Maker:
    def __init__(self, seed: int, checks: int, units: int) -> None:
        self.seed, self.checks, self.units = seed, checks, units
        self.random = Random(f"spelled {seed}")
        self.version, self.nested = VERSIONS[seed % 3], bool(seed // 3 % 2)
        self.world = NESTED_WORLD if self.nested else FLAT_WORLD
        self.prefix = "d" if self.random.random() < 0.25 else ""
        loose = self.random.choice((0.0, 0.05, 0.15, 0.4))
        later = self.version != "1.0"
        self.speller = Speller(self.random, self.world.elements, self.prefix, comments=later, loose=loose)
        self.across = self.random.choice((0.0, 0.1, 0.3))
        self.number = 0

    def case(self) -> Case:
        schema = self.writer()
        lets = self.constants(schema, "s", self.random.choice((0, 1, 2)))
        patterns = []
        while self.number < self.checks:
            patterns.append(self.pattern(schema.lets, len(patterns)))
        phased = self.random.random() < 0.4
        if phased:
            names = (("one",), ("two",), ("one", "two"), ("one",))
            patterns = [replace(p, phases=self.random.choice(names)) for p in patterns]
        phases = sorted({name for p in patterns for name in p.phases})
        phase = self.random.choice(phases) if phases else ""
        data = tuple(self.element(self.world.top).xml() for _ in range(self.units))
        original = tuple(self.element(self.world.top).xml() for _ in range(self.units - 3))
        return Case(self.seed, self.version, self.nested, self.prefix, data, original, lets, tuple(patterns), phase)

    # -- data ------------------------------------------------------------------------------------------------------

    def element(self, level: Level) -> Element:
        members = [
            [self.element(child) for _ in range(self.random.choice((0, 1, 1, 2, 3)))] for child in level.children
        ]
        return Element(level, {f.name: self.value(level.name, f.name) for f in level.fields}, members)

    def value(self, kind: str, name: str) -> str | None:
        roll = self.random.random()
        if roll < 0.1:
            # numbers of texts are errors from XPath 2.0 on
            return self.random.choice(("", "x", None)) if self.version == "1.0" else None
        if name in self.world.texts[kind]:
            return self.random.choice(("a", "b", "ab", "head", " a  b", "1", ""))
        return self.random.choice(("0", "1", "2", "3", "15", "2.5", "-1", "30"))

    # -- rules -----------------------------------------------------------------------------------------------------

    def writer(self) -> Writer:
        return Writer(self.random, self.world, self.version, self.across)

    def constants(self, writer: Writer, prefix: str, count: int) -> tuple[tuple[str, str], ...]:
        """Return variables of a schema or a pattern, which read no record."""
        made = []
        for i in range(count):
            name = f"{prefix}{i}"
            kind, value = self.random.choice(
                (
                    ("number", writer.one("1", "2", "1 + 1", "(3)")),
                    ("truth", writer.one("1 = 2", "true()", "2 > 1")),
                    ("nodes", f"//{self.world.top.name}/{writer.own(self.world.top.name)}"),
                    ("number", f"count(//{self.world.top.name}[{writer.own(self.world.top.name)} = 1])"),
                )
            )
            writer.lets[f"${name}"] = kind
            made.append((name, self.speller(value)))
        return tuple(made)

    def pattern(self, known: dict[str, str], at: int) -> Pattern:
        writer = self.writer()
        writer.lets = dict(known)
        lets = self.constants(writer, f"p{at}v", self.random.choice((0, 0, 1)))
        kind = self.random.choice(self.world.kinds)
        instances: tuple[tuple[tuple[str, str], ...], ...] = ()
        if self.random.random() < 0.3:
            places = {"parN": "nodes", "parK": "number", "parT": "truth"}
            instances = tuple(self.parameters(kind) for _ in range(self.random.choice((1, 2))))
            writer.places = {f"${name}": of for name, of in places.items()}
        rules = tuple(self.rule(writer, kind, f"r{at}{j}v") for j in range(self.random.choice((1, 2, 3))))
        return Pattern(lets, rules, instances)

    def parameters(self, kind: str) -> tuple[tuple[str, str], ...]:
        writer = self.writer()
        writer.context, writer.started = True, kind
        nodes = writer.one(writer.own(kind), f"({writer.own(kind)} | {writer.own(kind)})", writer.own(kind))
        truth = writer.bracketed(writer.truth(kind, 1))
        return (
            ("parN", self.speller(nodes)),
            ("parK", self.speller(writer.one("1", "(2)", "3"))),
            ("parT", self.speller(truth)),
        )

    def rule(self, writer: Writer, kind: str, prefix: str) -> Rule:
        held, places = dict(writer.lets), dict(writer.places)
        on_field = self.random.random() < 0.15
        writer.context, writer.started = True, kind
        context = self.context(writer, kind, on_field=on_field)
        writer.context = False
        lets = []
        if on_field:
            writer.places = {}
        else:
            for i in range(self.random.choice((0, 0, 1, 2))):
                of = self.random.choice(("nodes", "number", "truth"))
                value = {
                    "nodes": lambda: writer.nodes(kind, 2),
                    "number": lambda: writer.number(kind, 1),
                    "truth": lambda: writer.truth(kind, 1),
                }[of]()
                lets.append((f"{prefix}{i}", self.speller(value)))
                writer.lets[f"${prefix}{i}"] = of
        checks = []
        for _ in range(self.random.choice((2, 3, 4))):
            depth = self.random.choice((1, 2, 2, 3))
            test = self.field_test(writer, kind) if on_field else writer.truth(kind, depth)
            if writer.later and not on_field and self.random.random() < 0.1:
                test = writer.one(writer.quantified(kind, depth), writer.conditional(kind, depth))
            checks.append(Check(self.number, self.random.choice(("assert", "assert", "report")), self.speller(test)))
            self.number += 1
        writer.lets, writer.places = held, places
        return Rule(context, tuple(lets), tuple(checks))

    def context(self, writer: Writer, kind: str, *, on_field: bool) -> tuple[str, ...]:
        top, root = self.world.top.name, self.world.root
        made = []
        for _ in range(self.random.choice((1, 1, 1, 2, 3)) if self.random.random() < 0.4 else 1):
            text = kind
            if kind == top:
                text = writer.one(top, top, top, top, f"/{root}/{top}", f"//{top}", f"{root}/{top}")
            elif kind != "Spell" and self.random.random() < 0.2:
                text = f"{top}[{writer.truth(top, 1)}]/{kind}"
            for _ in range(self.random.choice((0, 0, 1, 1, 2))):
                text += f"[{writer.predicate(kind, 1)}]"
            if on_field:
                name = writer.own(kind).removeprefix("./")
                text = f"{text}/{name}"
                if self.random.random() < 0.4:
                    text += f"[. {writer.one('=', '!=', '>')} 1{writer.one('', ' = 1') if not writer.later else ''}]"
            made.append(self.speller(text))
        return tuple(made)

    def field_test(self, writer: Writer, kind: str) -> str:
        """Return a condition at a field."""
        own, sign = writer.own(kind), writer.one("=", "!=", "<", ">=")
        forms = [
            f". {sign} {writer.literal()}",
            f"not(. {sign} ../{own}) or (../{own})",
            f"string-length(.) {sign} 1 and number(.) {sign} ../{own}",
            f"normalize-space(.) != {writer.one(*TEXTS)}",
            f"count(../*[. = current()]) {sign} 2",
            f"..[{writer.truth(kind, 1)}]",
            f"self::node()[. {sign} 1]/../{own}[. = 2 or . = 1]",
        ]
        if not writer.later:
            forms += [f". = {own} = 1", f". {sign} ../{own} = (. = 1)", f"../{own} < . < 2"]
        else:
            forms += [
                "(some $x in ../* satisfies $x = .)",
                f"../{own} ! string() = string(.)",
                ". => string() = '1'",
            ]
        return self.random.choice(forms)
