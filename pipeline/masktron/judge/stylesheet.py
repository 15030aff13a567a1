"""The rules as XSLT: for every node of every record, which rule fires and what its checks say.

The same stylesheet serves libxml2 (XSLT 1.0) and Saxon (XSLT 3.0, of which an instruction with ``version="1.0"``
evaluates XPath 1.0, so that patterns of several versions may stand in one). Where Saxon can raise dynamic errors,
each check is evaluated inside ``xsl:try``, together with the variables that it needs: an error is a result for that
node and that check.

Two forms are generated. *Verdicts* writes one character for each event and a line end before each record. *Report*
writes, for what fails, the check, the way from the record down to the node, and the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from masktron.judge.by_libxml2 import LIBXML2, RECOMMENDED, StylesheetDialect
from masktron.judge.by_saxon import SAXON
from masktron.judge.findings import Verdict
from masktron.judge.stylesheet_scope import Named, VariableScope
from masktron.rulebook.analysis import context_of
from masktron.rulebook.context_match import ContextPath, condition
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Call, Path, Root, walk
from masktron.rulebook.expressions.words import XSL, declarations
from masktron.rulebook.programs import visible, written
from masktron.rulebook.schema import Check, Instruction, Note, Pattern, Rule, Rulebook, ValueOf
from masktron.sources.record_layout import Layout

type EngineName = Literal["recommended", "libxml2", "saxon"]
"""What evaluates: ``recommended`` is libxml2 with the numbers of the Recommendation of XPath 1.0."""

DIALECTS: Mapping[EngineName, StylesheetDialect] = MappingProxyType(
    {"recommended": RECOMMENDED, "libxml2": LIBXML2, "saxon": SAXON}
)
"""How the stylesheets of each engine are written."""

_BASE = 0x100
_SURROGATES = 0xD800
_PLANE = 0x10000
_EVERYWHERE = "(/descendant-or-self::node(), /descendant::*/@*)"
_KINDS = ("element", "attribute", "text", "comment", "processing-instruction", "document")


def event(check: int, verdict: Verdict) -> str:
    """Return the character for an outcome; ``NOT_FIRED`` stands for an error in the context itself."""
    code = _BASE + 4 * check + verdict
    return chr(code if code < _SURROGATES else code - _SURROGATES + _PLANE)


def decode(code_points: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the checks and verdicts of the characters that `event` made."""
    codes = code_points.astype(np.int64)
    codes = np.where(codes >= _PLANE, codes - _PLANE + _SURROGATES, codes) - _BASE
    return codes >> 2, codes & 3


@dataclass(frozen=True, slots=True)
class CheckSelection:
    """What a stylesheet evaluates.

    Attributes
    ----------
    checks : frozenset of int
    whole : bool
        Whether nodes outside the records are visited too.
    report : bool
        Whether to write what fails, instead of verdicts.
    """

    checks: frozenset[int]
    whole: bool = False
    report: bool = False


def needs_saxon(rule: Rule, rulebook: Rulebook, layout: Layout) -> bool:
    """Return whether a context can only be decided by collecting all nodes that it selects."""
    return _reversible(rule, rulebook, layout) is None


def _reversible(rule: Rule, rulebook: Rulebook, layout: Layout) -> tuple[ContextPath, ...] | None:
    paths = context_of(rulebook, rule.context)
    if _reads_current(
        paths or ()
    ):  # which is the node itself in a pattern, and another one where nodes are collected
        return paths
    upper = {tag.rpartition("}")[2] for tag in layout.record_path}
    for step in (step for path in paths or () for step in path.steps):
        # siblings that may be all records of the file: to look at them for each would be quadratic
        if step.positional and (step.plain_name is None or step.name.rpartition(":")[2] in upper):
            return None
    return paths


def _reads_current(paths: Iterable[ContextPath]) -> bool:
    parts = (part for path in paths for step in path.steps for one in step.predicates for part in walk(one))
    return any(isinstance(part, Call) and part.standard == "current" for part in parts)


def stylesheet(rulebook: Rulebook, layout: Layout, engine: EngineName, selection: CheckSelection) -> str:
    """Return the text of the stylesheet."""
    return _Stylesheet(rulebook, layout, DIALECTS[engine], selection).text()


@dataclass(frozen=True, slots=True)
class _Loop:
    """Nodes of one kind, and of one name if all contexts of that kind have one, with the rules for them."""

    kind: str
    name: str
    rules: tuple[int, ...]

    def select(self, start: str) -> str:
        test = self.name or "*"
        match self.kind:
            case "element":
                return f"{start}::{test}"
            case "attribute":
                return f"{start}::*/@{test}"
            case "document":
                return "/"
            case _:
                return f"descendant::{self.kind}()"


class _Stylesheet:
    def __init__(
        self, rulebook: Rulebook, layout: Layout, dialect: StylesheetDialect, selection: CheckSelection
    ) -> None:
        self.rulebook = rulebook
        self.dialect = dialect
        self.selection = selection
        self.layout = layout
        beside = tuple(one.name for one in rulebook.beside)
        scope = VariableScope(
            (), rulebook.namespaces, dialect, beside, own=rulebook.own_functions, version=rulebook.version
        )
        self.scope = scope.extend(rulebook.lets, "s", is_global=True)
        self.globals: dict[str, str] = {}

    def text(self) -> str:
        """Return the whole stylesheet."""
        templates = [t for i, p in enumerate(self.rulebook.patterns) for t in self.pattern(i, p)]
        programs = "".join(map(self.program, self.rulebook.programs))
        main = self.main()
        prefixes = " ".join(
            f"xmlns:m-r{i}={quoteattr(tag[1:].partition('}')[0])}"
            for i, tag in enumerate(self.layout.record_path)
            if tag.startswith("{")
        )
        shared = "".join(text.format(name=name) for text, name in self.scope.shared.items())
        return (
            f'<m-xsl:stylesheet version="{self.dialect.xslt}" xmlns:m-xsl="{XSL}" {self.dialect.head()} {prefixes} '
            f"{declarations(self.rulebook.namespaces)}>"
            f'<m-xsl:output method="{"xml" if self.selection.report else "text"}" encoding="UTF-8" '
            f'omit-xml-declaration="yes"/>{self.dialect.declarations(self.rulebook)}{shared}{"".join(self.globals.values())}'
            f"{programs}{main}"
            f"{''.join(templates)}{self.where() if self.selection.report else ''}</m-xsl:stylesheet>"
        )

    def program(self, program: Instruction) -> str:
        """Return a function or a key that the rulebook declares."""
        lets = self.scope.lets
        kept = {id(one) for one in visible(program, tuple(named.let for named in lets))}
        scope = replace(self.scope, lets=tuple(named for named in lets if id(named.let) in kept))
        texts = [text for part in program.walk() for text in part.expressions]
        for named in scope.needed(*texts):
            self.need(named, scope)
        before = scope.declarations(*texts) if program.name == "function" else ""
        return written(program, scope.expression, before, scope.mode)

    def main(self) -> str:
        """Return the template for the document: what is outside the records, then record by record."""
        path = "".join(f"/{self.step(i)}" for i in range(len(self.layout.record_path)))
        active = [i for i, p in enumerate(self.rulebook.patterns) if self.active(p)]
        if self.selection.report:
            inner = "<r>" + "".join(f'<m-xsl:call-template name="p{i}"/>' for i in active) + "</r>"
        else:
            inner = "<m-xsl:text>&#10;</m-xsl:text>"
            inner += "".join(f'<m-xsl:call-template name="p{i}"/>' for i in active)
        outside = "".join(f'<m-xsl:call-template name="o{i}"/>' for i in active) if self.selection.whole else ""
        body = f'{outside}<m-xsl:for-each select="{path}">{inner}</m-xsl:for-each>'
        if self.selection.report:
            body = f"<report>{body}</report>"
        return f'<m-xsl:template match="/">{body}</m-xsl:template>'

    def step(self, i: int) -> str:
        tag = self.layout.record_path[i]
        return f"m-r{i}:{tag.partition('}')[2]}" if tag.startswith("{") else tag

    def record(self, axis: str) -> str:
        """Return the path that climbs from a node to its record."""
        names = [self.step(i) for i in range(len(self.layout.record_path))]
        above = "not(parent::*)"
        for name in names[:-1]:
            above = f"parent::{name}[{above}]"
        return f"{axis}::{names[-1]}[{above}]"

    def active(self, pattern: Pattern) -> tuple[Rule, ...]:
        """Return the rules up to the last one with a check to evaluate."""
        last = max(
            (j for j, r in enumerate(pattern.rules) if any(c.index in self.selection.checks for c in r.checks)),
            default=-1,
        )
        return pattern.rules[: last + 1]

    def pattern(self, i: int, pattern: Pattern) -> Iterator[str]:
        """Yield the templates of a pattern."""
        rules = self.active(pattern)
        if not rules:
            return
        own = replace(self.scope, version=pattern.version)
        scope = own.extend(pattern.lets, f"p{i}", is_global=True)
        paths = [_reversible(rule, self.rulebook, self.layout) for rule in rules]
        loops = _loops(paths, self.rulebook.namespaces)
        for name, start, outside in self.entries(i):
            calls = "".join(self.loop(i, k, loop, start, outside=outside) for k, loop in enumerate(loops))
            yield f'<m-xsl:template name="{name}">{calls}</m-xsl:template>'
        for j, rule in enumerate(rules):
            yield self.rule(f"r{i}-{j}", rule, scope)
        for k, loop in enumerate(loops):
            for at, j in enumerate(loop.rules):
                following = f'<m-xsl:call-template name="m{i}-{k}-{at + 1}"/>' if at + 1 < len(loop.rules) else ""
                test = self.matches(rules[j], paths[j], loop.kind, f"c{i}.{j}", scope)
                yield self.choice(f"m{i}-{k}-{at}", f"r{i}-{j}", rules[j], test, following, scope)

    def entries(self, i: int) -> Iterator[tuple[str, str, bool]]:
        yield f"p{i}", "descendant-or-self", False
        if self.selection.whole:
            yield f"o{i}", "/descendant", True

    def loop(self, i: int, k: int, loop: _Loop, start: str, *, outside: bool) -> str:
        """Return the visit of the candidates of a loop, in a record or around the records."""
        if loop.kind == "document" and not outside:
            return ""
        select = loop.select(start)
        if outside and loop.kind != "document":
            select = (
                f"{'/' if select.startswith('descendant') else ''}{select}[not({self.record('ancestor-or-self')})]"
            )
        first = f'<m-xsl:call-template name="m{i}-{k}-0"/>'
        return f"<m-xsl:for-each select={quoteattr(select)}>{first}</m-xsl:for-each>"

    def matches(
        self, rule: Rule, paths: tuple[ContextPath, ...] | None, kind: str, name: str, scope: VariableScope
    ) -> tuple[str, bool]:
        """Return the condition under which a node of this kind is in a context, and whether it can raise errors."""
        if paths is None:
            self.globals[name] = self.collected(name, rule, scope)
            key = "concat('!', generate-id(.))"
            test = (
                f"if (m-map:contains(${name}, {key})) then error((), ${name}({key})) "
                f"else m-map:contains(${name}, generate-id(.))"
            )
            return test, True
        relevant = [p for p in paths if kind in _kinds(p)]
        conditions = ((p.kind, condition(p, lambda predicate: scope.part(predicate, rule.origin))) for p in relevant)
        test = " or ".join(f"({text})" if kind == "attribute" else text for kind, text in conditions)
        risky = self.dialect.catches and any(step.predicates for p in relevant for step in p.steps)
        return test, risky

    def collected(self, name: str, rule: Rule, scope: VariableScope) -> str:
        """Return a global map of the nodes that a context selects from any of their ancestors."""
        for named in scope.needed(rule.context):
            self.need(named, scope)
        match understood(rule.context, self.rulebook.namespaces):
            case Root() | Path(first=Root()):
                start = "/"
            case _:
                start = _EVERYWHERE
        return (
            f'<m-xsl:variable name="{name}" as="map(*)"><m-xsl:variable name="ids" as="m-xs:string*" '
            f'{scope.mode}><m-xsl:for-each select="{start}">'
            '<m-xsl:variable name="at" select="."/><m-xsl:try>'
            f"{scope.declarations(rule.context)}"
            f"<m-xsl:for-each select={quoteattr(f'({scope.expression(rule.context, rule.origin)})')}>"
            '<m-xsl:if test="exists(ancestor-or-self::node() intersect $at)">'
            '<m-xsl:sequence select="generate-id(.)"/></m-xsl:if></m-xsl:for-each>'
            "<m-xsl:catch select=\"concat('!', generate-id($at), ' ', $m-err:description)\"/>"
            "</m-xsl:try></m-xsl:for-each></m-xsl:variable>"
            "<m-xsl:sequence select=\"m-map:merge(for $i in distinct-values($ids) return if (starts-with($i, '!')) "
            "then m-map:entry(substring-before($i, ' '), substring-after($i, ' ')) else m-map:entry($i, true()))\"/>"
            "</m-xsl:variable>"
        )

    def choice(
        self, name: str, body: str, rule: Rule, test: tuple[str, bool], following: str, scope: VariableScope
    ) -> str:
        """Return the template that fires a rule on a node of its context, and else tries the next rule."""
        for named in scope.needed(rule.context):
            self.need(named, scope)
        fire = f'<m-xsl:call-template name="{body}"/>'
        expression, risky = test
        head = f'<m-xsl:template name="{name}"{scope.mode}>'
        if not risky:
            when = f"<m-xsl:when test={quoteattr(expression)}>{fire}</m-xsl:when>"
            rest = f"<m-xsl:otherwise>{following}</m-xsl:otherwise>" if following else ""
            return f"{head}<m-xsl:choose>{when}{rest}</m-xsl:choose></m-xsl:template>"
        errors = "".join(
            self.failure(check, "C", '<m-xsl:value-of select="$hit"/>')
            for check in rule.checks
            if check.index in self.selection.checks
        )
        return (
            f'{head}<m-xsl:variable name="hit" as="item()"><m-xsl:try>{scope.declarations(rule.context)}'
            f"<m-xsl:sequence select={quoteattr(f'boolean({expression})')}/>"
            '<m-xsl:catch select="string($m-err:description)"/></m-xsl:try></m-xsl:variable>'
            f'<m-xsl:choose><m-xsl:when test="$hit instance of m-xs:string">{errors}</m-xsl:when>'
            f'<m-xsl:when test="$hit">{fire}</m-xsl:when>'
            f"<m-xsl:otherwise>{following}</m-xsl:otherwise></m-xsl:choose></m-xsl:template>"
        )

    def rule(self, name: str, rule: Rule, scope: VariableScope) -> str:
        """Return the template with the checks of a rule."""
        inner = scope.extend(rule.lets, name.replace("-", "."), is_global=False)
        checks = [c for c in rule.checks if c.index in self.selection.checks]
        bodies = "".join(self.check(check, inner) for check in checks)
        lets = "" if self.dialect.catches else inner.declarations(*(e for c in checks for e in self.read(c)))
        return f'<m-xsl:template name="{name}"{scope.mode}>{lets}{bodies}</m-xsl:template>'

    def read(self, check: Check) -> tuple[str, ...]:
        """Return the expressions of a check that this stylesheet evaluates."""
        shown = tuple(part.select for part in check.message if isinstance(part, ValueOf))
        return (check.test, *(shown if self.selection.report else ()))

    def check(self, check: Check, scope: VariableScope) -> str:
        for named in scope.needed(*self.read(check)):
            self.need(named, scope)
        holds = self.outcome(check, Verdict.HOLDS, scope)
        fails = self.outcome(check, Verdict.FAILS, scope)
        when, otherwise = (holds, fails) if check.kind == "assert" else (fails, holds)
        choose = (
            f"<m-xsl:choose><m-xsl:when test={scope.attribute(check.test, check.origin)}>{when}</m-xsl:when>"
            f"<m-xsl:otherwise>{otherwise}</m-xsl:otherwise></m-xsl:choose>"
        )
        error = self.failure(check, "E", '<m-xsl:value-of select="$m-err:description"/>')
        return scope.tried(check.test, choose, error)

    def need(self, named: Named, scope: VariableScope) -> None:
        if named.is_global and named.unique not in self.globals:
            self.globals[named.unique] = scope.global_variable(named)

    def outcome(self, check: Check, verdict: Verdict, scope: VariableScope) -> str:
        if not self.selection.report:
            return f"<m-xsl:text>{event(check.index, verdict)}</m-xsl:text>"
        if verdict == Verdict.HOLDS:
            return ""
        return self.failure(check, "F", "".join(self.message(check, scope)))

    def failure(self, check: Check, kind: Literal["F", "E", "C"], message: str) -> str:
        """Return what is written for a failure (F), an error (E), or an error in the context (C)."""
        if not self.selection.report:
            verdict = Verdict.NOT_FIRED if kind == "C" else Verdict.ERROR
            return f"<m-xsl:text>{event(check.index, verdict)}</m-xsl:text>"
        where = '<m-xsl:call-template name="where"/>'
        return f'<f c="{check.index}" k="{kind}">{where}<m>{message}</m></f>'

    def message(self, check: Check, scope: VariableScope) -> Iterator[str]:
        for part in check.message:
            if isinstance(part, str):
                yield f"<m-xsl:text>{escape(part)}</m-xsl:text>"
                continue
            if isinstance(part, Note):
                yield "</m><m>"
                continue
            shown = scope.expression(part.select, check.origin, written=not part.is_name)
            shown = f"name({shown})" if part.is_name else shown
            value = f"<m-xsl:value-of select={quoteattr(shown)}/>"
            yield scope.tried(part.select, value, '[<m-xsl:value-of select="$m-err:description"/>]')

    def where(self) -> str:
        """Return the template that writes the way down to a node: from its record, or from the root."""
        inside = quoteattr(f"ancestor-or-self::*[{self.record('ancestor')}]")
        step = '<s><m-xsl:value-of select="count(preceding-sibling::*)"/></s>'
        others = "".join(
            f'<m-xsl:when test="self::{kind}()"><{kind}><m-xsl:value-of '
            f'select="count(preceding-sibling::{kind}())"/></{kind}></m-xsl:when>'
            for kind in ("text", "comment", "processing-instruction")
        )
        return (
            '<m-xsl:template name="where"><m-xsl:choose>'
            f"<m-xsl:when test={quoteattr(self.record('ancestor-or-self'))}>"
            f"<m-xsl:for-each select={inside}>{step}</m-xsl:for-each></m-xsl:when><m-xsl:otherwise>"
            f'<m-xsl:for-each select="ancestor-or-self::*[parent::*]">{step}</m-xsl:for-each></m-xsl:otherwise>'
            f'</m-xsl:choose><m-xsl:choose><m-xsl:when test="self::*"/>{others}'
            '<m-xsl:when test="not(parent::node())"><document/></m-xsl:when><m-xsl:otherwise>'
            '<attribute name="{local-name()}" uri="{namespace-uri()}"/></m-xsl:otherwise>'
            "</m-xsl:choose></m-xsl:template>"
        )


def _kinds(path: ContextPath) -> tuple[str, ...]:
    match path.kind:
        case "any":
            return _KINDS
        case "node":
            return ("element", "text", "comment", "processing-instruction")
        case kind:
            return (kind,)


def _loops(paths: list[tuple[ContextPath, ...] | None], namespaces: tuple[tuple[str, str], ...]) -> list[_Loop]:
    """Return the visits that reach every node that one of the contexts may match."""
    loops: list[_Loop] = []
    for kind in _KINDS:
        named: dict[str, list[int]] = {}
        for j, alternatives in enumerate(paths):
            for name in dict.fromkeys(_one_prefix(n, namespaces) for n in _names(alternatives, kind)):
                named.setdefault(name, []).append(j)
        if "" in named or kind not in ("element", "attribute"):
            rules = tuple(sorted({j for found in named.values() for j in found}))
            loops += [_Loop(kind, "", rules)] if rules else []
        else:
            loops += [_Loop(kind, name, tuple(found)) for name, found in named.items()]
    return loops


def _one_prefix(name: str, namespaces: tuple[tuple[str, str], ...]) -> str:
    """Return the name with the first prefix of its namespace: two prefixes of one namespace are one name."""
    prefix, colon, local = name.partition(":")
    uri = dict(namespaces).get(prefix)
    return f"{next(p for p, u in namespaces if u == uri)}:{local}" if colon and uri is not None else name


def _names(alternatives: tuple[ContextPath, ...] | None, kind: str) -> list[str]:
    if alternatives is None:
        return [""]
    found = (
        (path.steps[-1].plain_name or "") if path.steps and path.kind == kind else ""
        for path in alternatives
        if kind in _kinds(path)
    )
    return list(dict.fromkeys(found))
