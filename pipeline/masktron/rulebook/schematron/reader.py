"""Read a Schematron rulebook, the one entry point: expanded, resolved by pyschematron, in document order.

pyschematron keeps no line numbers, sorts asserts before reports and puts what a rule extends first. Every pattern,
rule and check therefore goes in with the number of its origin as its ``fpi``, which all resolvers leave alone.
It knows no edition after 2016: what came later is written in other words before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lxml import etree
from pyschematron.direct_mode.schematron.ast_visitors import (
    PhaseSelectionVisitor,
    ResolveAbstractPatternsVisitor,
    ResolveExtendsVisitor,
)
from pyschematron.direct_mode.schematron.parsers.xml.parser import SchemaParser

from masktron.errors import RulebookError
from masktron.files import file_hash
from masktron.problems.problem import Known, Note
from masktron.rulebook.expressions.forbidden import DocumentCall, screen
from masktron.rulebook.schema import (
    About,
    Check,
    Document,
    Let,
    Origin,
    Pattern,
    Rule,
    Rulebook,
    XPathVersion,
    softens,
)
from masktron.rulebook.schematron.expressions import compile_all, expressions
from masktron.rulebook.schematron.inclusions import ISO, MARK, IncludedFiles, iso_children, load
from masktron.rulebook.schematron.notes import (
    FPI,
    WORD,
    Templates,
    from_part,
    longest,
    notes_of,
    part_of,
    parts,
    rich_of,
    subject_of,
)
from masktron.rulebook.schematron.program_reader import program_documents, read_program, require_allowed
from masktron.rulebook.schematron.structure import check_structure, expanded, flatten, is_abstract, name_of
from masktron.rulebook.schematron.vocabulary import check_edition, check_included, check_vocabulary

GROUP = "{urn:masktron:origin}group"
"""Attribute of a pattern that was written as a group."""
_INSTANCE = "masktronInstance"


def prepare(schema: etree._Element) -> Templates:
    """Write into the tree what pyschematron needs: origins as ``fpi``, and parameters that cannot be confused.

    What it does not know is written in other ways: a group as a pattern, the rules of ``rules`` in a pattern without
    an ``fpi``, a parameter of the schema as a variable, a default as a parameter of the instances that lack it.

    Returns
    -------
    Templates
        The parameters of each instance.
    """
    _as_known(schema)
    for element in schema.iter(*(f"{{{ISO}}}{n}" for n in ("pattern", "rule", "assert", "report"))):
        if element.get("fpi") is not None:
            element.set(FPI, element.get("fpi", ""))
        element.set("fpi", element.get(MARK, ""))
        if is_abstract(element):
            element.set("abstract", "true")
        for scope in ("diagnostics", "properties"):
            if element.get(scope) is not None:
                element.set(scope, " ".join(element.get(scope, "").split()))
    templates = Templates()
    for abstract in iso_children(schema, "pattern"):
        if not is_abstract(abstract):
            continue
        instances = [p for p in iso_children(schema, "pattern") if p.get("is-a") == abstract.get("id")]
        _give_defaults(abstract, instances)
        names = _rename_parameters(abstract, instances)
        written = {new: name for name, new in names.items()}
        declared = {let.get("name", "") for let in abstract.iter(f"{{{ISO}}}let")}
        for instance in instances:
            values = {p.get("name", ""): p.get("value", "") for p in iso_children(instance, "param")}
            mark = instance.get(MARK, "")
            templates.renamed[mark] = values
            templates.written[mark] = {written[n]: v for n, v in values.items() if written[n] not in declared}
        abstract.set("fpi", f"{abstract.get(MARK)}|${_INSTANCE}")
        for instance in instances:
            _param(instance, _INSTANCE, instance.get(MARK, ""))
    return templates


def _give_defaults(abstract: etree._Element, instances: list[etree._Element]) -> None:
    """Write the values that an abstract pattern declares into the instances that give none."""
    for declared in list(iso_children(abstract, "param")):
        name, value = declared.get("name", "").strip(), declared.get("value")
        abstract.remove(declared)
        for instance in instances:
            given = next((p for p in iso_children(instance, "param") if p.get("name", "").strip() == name), None)
            if given is None:
                _param(instance, name, value or "")
            elif given.get("value") is None:
                given.set("value", value or "")


def _param(instance: etree._Element, name: str, value: str) -> None:
    etree.SubElement(instance, f"{{{ISO}}}param", {"name": name, "value": value})


def _rename_parameters(abstract: etree._Element, instances: list[etree._Element]) -> dict[str, str]:
    """Give parameters names of which none begins another, where they are defined and used; return them.

    pyschematron replaces ``$a`` at a word boundary, so also in ``$a-b`` and ``$a.b``, which are other names.
    """
    given = {p.get("name", "").strip() for i in instances for p in iso_children(i, "param")}
    new = {name: f"masktronP{k}x" for k, name in enumerate(sorted(given))}
    for instance in instances:
        for param in iso_children(instance, "param"):
            param.set("name", new[param.get("name", "").strip()])
    declared = {let.get("name", "").strip() for let in abstract.iter(f"{{{ISO}}}let")}

    def substitute(match: re.Match[str]) -> str:
        name = match[1]
        found = longest(name, new)
        if found is None or name in declared:
            return match[0]
        return f"${new[found]}{name[len(found) :]}"

    for element in abstract.iter():
        for key, value in element.attrib.items():
            element.set(key, re.sub(rf"\$({WORD})", substitute, str(value)))
        for part in ("text", "tail"):
            text = getattr(element, part)
            if text and element is not abstract:
                setattr(element, part, re.sub(rf"\$({WORD})", substitute, text))
    return new


def _as_known(schema: etree._Element) -> None:
    for element in list(iso_children(schema, "group", "rules", "param")):
        match name_of(element):
            case "group":
                element.set(GROUP, "true")
                element.tag = f"{{{ISO}}}pattern"
            case "rules":
                element.tag = f"{{{ISO}}}pattern"
                element.set(MARK, "")
            case _:
                element.tag = f"{{{ISO}}}let"


_ALL = "#ALL"
_DEFAULT = "#DEFAULT"


def resolve(
    schema: etree._Element,
    sources: IncludedFiles,
    phase: str | None,
    namespaces: tuple[tuple[str, str], ...],
    version: XPathVersion,
) -> tuple[tuple[Let, ...], tuple[Pattern, ...], About]:
    """Resolve extends, abstract patterns and the phase.

    Returns
    -------
    lets : tuple of Let
        Of the schema and the active phase.
    patterns : tuple of Pattern
    about : About

    Raises
    ------
    RulebookError
        The phase is unknown, or nothing is left to check.
    """
    active = _phase(schema, phase, sources)
    about = _about(schema, active)
    templates = prepare(schema)
    # elementpath selects from the document: beside a comment before the root, pyschematron would find no pattern.
    tree = SchemaParser().parse(deepcopy(schema))
    tree = ResolveExtendsVisitor(tree).apply(tree)
    tree = ResolveAbstractPatternsVisitor(tree).apply(tree)
    everything = tree.patterns
    tree = PhaseSelectionVisitor(tree, active or _ALL).apply(tree)
    if idle := [node for node in everything if node.fpi and all(node.fpi != one.fpi for one in tree.patterns)]:
        about = replace(about, inactive=_left_out(idle, active, default=phase in (None, _DEFAULT)))
        sources.notes.append(about.inactive)
    lets = _lets(schema, {v.name: v.value.query for v in tree.variables}, schema, sources, None)
    element = next((p for p in iso_children(schema, "phase") if active and p.get("id") == active), None)
    for node in tree.phases:
        if element is None:
            break
        lets += _lets(element, {v.name: v.value.query for v in node.variables}, schema, sources, None)
    builder = _Builder(schema, sources, templates, namespaces, version, element)
    patterns = tuple(part for node in tree.patterns if node.fpi for part in builder.parts(node))
    _require_checks(patterns, schema, sources, active)
    return lets, patterns, about


def _left_out(patterns: Sequence[Any], active: str, *, default: bool) -> Note:
    """Say which patterns a phase leaves out."""
    names = [str(node.id or "").strip() for node in patterns]
    named = ", ".join(name for name in names if name)
    several = f"{len(patterns)} patterns are" if len(patterns) > 1 else "1 pattern is"
    return Note(
        "the phase {phase!r} is active{chosen}: {several} not evaluated{named}",
        phase=active,
        chosen=Note(" (defaultPhase; [[--phase #ALL]] takes all)") if default else "",
        several=several,
        named=f": {named}" if named else "",
    )


def _about(schema: etree._Element, active: str) -> About:
    title = next(iso_children(schema, "title"), None)
    return About(
        title=" ".join("".join(map(str, title.itertext())).split()) if title is not None else "",
        version=schema.get("schemaVersion", ""),
        edition=schema.get("schematronEdition", "").strip(),
        phase=active,
    )


def _phase(schema: etree._Element, phase: str | None, sources: IncludedFiles) -> str:
    """Return the id of the active phase, or the empty string for all patterns."""
    phases = {p.get("id", ""): p for p in iso_children(schema, "phase")}
    wanted = phase if phase not in (None, _DEFAULT) else schema.get("defaultPhase") or _ALL
    if wanted == _ALL:
        return ""
    if wanted not in phases:
        known = Known(wanted, (*phases, _ALL))
        raise RulebookError.of("unknown-name", str(sources.origin(schema)), kind="phase", name=wanted, known=known)
    if phases[wanted].get("when") is not None:
        place, instead = str(sources.origin(phases[wanted])), "leave it out: whoever names the phase has chosen it"
        raise RulebookError.of("not-supported", place, construct=f"when of the phase {wanted!r}", instead=instead)
    return str(wanted)


def _require_checks(patterns: Sequence[Pattern], schema: etree._Element, sources: IncludedFiles, active: str) -> None:
    if any(rule.checks for pattern in patterns for rule in pattern.rules):
        return
    lacking = "pattern" if not patterns else "assert or report"
    scope = f"the phase {active!r}" if active else "the rulebook"
    raise RulebookError.of("nothing-to-check", str(sources.origin(schema)), scope=scope, lacking=lacking)


def _lets(
    scope: etree._Element,
    values: Mapping[str, str],
    schema: etree._Element,
    sources: IncludedFiles,
    instance: Origin | None,
) -> tuple[Let, ...]:
    """Return the variables of a scope in document order, with the values that pyschematron resolved."""
    elements = expanded(scope, schema, sources, "let")
    return tuple(
        Let(name, values[name].strip(), replace(sources.origin(element), instance=instance))
        for element in elements
        for name in [element.get("name", "")]
    )


class _Builder:
    """Our patterns from pyschematron's, checks numbered in document order."""

    def __init__(
        self,
        schema: etree._Element,
        sources: IncludedFiles,
        templates: Templates,
        namespaces: tuple[tuple[str, str], ...],
        version: XPathVersion,
        phase: etree._Element | None,
    ) -> None:
        self.schema = schema
        self.sources = sources
        self.templates = templates
        self.namespaces = namespaces
        self.version = version
        self.phase = phase
        self.by_mark = {element.get(MARK, ""): element for element in schema.iter()}
        found = schema.iter(f"{{{ISO}}}diagnostic", f"{{{ISO}}}property")
        self.notes = {(name_of(e), e.get("id", "")): e for e in found}
        self.index = 0
        self.ids: set[str] = {"*"}  # which settings have for all rules
        self.pattern_ids: set[str] = set()

    def parts(self, node: Any) -> Iterator[Pattern]:
        """Yield our patterns of one of pyschematron's."""
        mark, _, instance_mark = node.fpi.partition("|")
        element = self.by_mark[mark]
        labelled = self.by_mark[instance_mark or mark]
        instance = self.sources.origin(labelled) if instance_mark else None
        label = _label(labelled) or (_label(element) if instance_mark else "")
        rules = [self.rule(theirs, label, instance, instance_mark) for theirs in node.rules]
        group = element.get(GROUP) is not None
        apart = [[rule] for rule in rules] if group else [rules]
        values = {v.name: v.value.query for v in node.variables}
        pattern = Pattern(
            id="",
            lets=_lets(element, values, self.schema, self.sources, instance),
            rules=(),
            origin=replace(self.sources.origin(element), instance=instance),
            version=self.version,
            group=group,
            role=labelled.get("role") or element.get("role"),
        )
        started = False
        for some in apart:
            for part in parts(some, self.namespaces):
                ours = replace(
                    pattern,
                    id=_unique(label or f"pattern-{len(self.pattern_ids) + 1}", self.pattern_ids),
                    rules=part,
                    continues=started,
                )
                if self.phase is not None and self.phase.get("from") is not None:
                    origin = self.sources.origin(self.phase)
                    ours = from_part(ours, self.phase.get("from", ""), origin, self.namespaces)
                started = True
                yield ours

    def rule(self, node: Any, label: str, instance: Origin | None, instance_mark: str) -> Rule:
        """Return our rule, with checks numbered in document order."""
        element = self.by_mark[node.fpi]
        order = [e.get(MARK, "") for e in expanded(element, self.schema, self.sources, "assert", "report")]
        resolved = sorted(node.checks, key=lambda check: order.index(check.fpi))
        values = {v.name: v.value.query for v in node.variables}
        checks = tuple(self.check(check, node, label, instance, instance_mark) for check in resolved)
        return Rule(
            context=node.context.query.strip(),
            lets=_lets(element, values, self.schema, self.sources, instance),
            checks=checks,
            origin=replace(self.sources.origin(element), instance=instance),
            id=self.templates.inside(element.get("id", ""), instance_mark).strip() or None,
            visit_each=self.templates.inside(element.get("visit-each", ""), instance_mark).strip(),
        )

    def check(self, node: Any, rule: Any, label: str, instance: Origin | None, instance_mark: str) -> Check:
        """Return our check."""
        element = self.by_mark[node.fpi]
        home = self.by_mark[rule.fpi]
        role, flag = node.role or rule.role, node.flag or rule.flag
        severity = self.templates.inside(element.get("severity", ""), instance_mark) or None
        origin = replace(self.sources.origin(element), instance=instance)
        words = {"role": role, "flag": flag, "severity": severity}
        _check_words(words, origin)
        subject = element.get("subject") or home.get("subject")
        check = Check(
            id=_unique(
                (node.id or "").strip() or (rule.id or "").strip() or label or f"rule-{self.index + 1}", self.ids
            ),
            index=self.index,
            kind="assert" if name_of(element) == "assert" else "report",
            test=node.test.query.strip(),
            message=(
                *(part_of(part, self.namespaces) for part in node.content),
                *notes_of(element, self.notes, self.templates, instance_mark, origin, self.namespaces),
            ),
            origin=origin,
            role=role,
            flag=flag,
            soft=any(softens(name, word) for name, word in words.items() if word),
            severity=severity,
            subject=subject_of(self.templates.inside(subject, instance_mark), origin, self.namespaces)
            if subject
            else None,
            rich=rich_of(element),
        )
        self.index += 1
        return check


def _check_words(words: Mapping[str, str | None], origin: Origin) -> None:
    for name, value in words.items():
        if value is not None and value.strip().startswith("$"):
            construct, instead = f"the variable {value.strip()} as {name}", f"write the {name} itself"
            raise RulebookError.of("not-supported", str(origin), construct=construct, instead=instead)


def _label(pattern: etree._Element) -> str:
    title = next(iso_children(pattern, "title"), None)
    words = (
        pattern.get("id")
        or pattern.get("name")
        or ("".join(str(t) for t in title.itertext()) if title is not None else "")
    )
    return " ".join(str(words).split())


def _unique(wanted: str, taken: set[str]) -> str:
    """Return the name on one line, numbered where it is taken."""
    name = first = " ".join(wanted.split())
    number = 1
    while name in taken:
        number += 1
        name = f"{first}.{number}"
    taken.add(name)
    return name


BINDINGS: Mapping[str, XPathVersion] = MappingProxyType(
    {
        "": "1.0",
        "xslt": "1.0",
        "xslt1": "1.0",
        "xpath": "1.0",
        "xslt2": "2.0",
        "xpath2": "2.0",
        "xslt3": "3.1",
        "xpath3": "3.1",
        "xpath31": "3.1",
    }
)
"""The XPath version of each query binding. ISO names XPath 3.0 for the third; 3.1 contains it and is what runs."""


def read_rules(path: str | Path, phase: str | None = None, *, called: Path | None = None) -> Rulebook:
    """Read and resolve a rulebook, and compile every expression in it.

    Parameters
    ----------
    path : str or Path
        Schematron in the ISO namespace, the old one of Schematron 1.5, or none.
    phase : str, optional
        Id of a phase, ``#ALL`` or ``#DEFAULT``; by default the schema's ``defaultPhase``, else all patterns.
    called : Path, optional
        What the file is going to be called, where it is not in its place yet.

    Returns
    -------
    Rulebook
        Patterns, rules and checks in document order, inclusions counted where they stand.

    Raises
    ------
    RulebookError
        The rulebook is missing, malformed or not Schematron; it includes what lies outside its folder; it calls a
        forbidden function; an expression is not XPath; the phase is unknown; there is nothing to check.
    """
    asked = Path(path).absolute(), str(path), phase, called
    digests, known = _KNOWN.get(asked, ({}, None))
    unchanged = all(file.is_file() and file_hash(file) == digest for file, digest in digests.items())
    if known is None or not unchanged or len(known.analyses) > _MOST_ANALYSES:
        known, digests = _read_rules(Path(path), phase, called)
        _KNOWN[asked] = digests, known
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)), None)
    return known


_MOST_KNOWN = 8
_MOST_ANALYSES = 50_000
"""What is kept of a rulebook for files of many layouts; beyond, it is read anew."""
_KNOWN: dict[tuple[Path, str, str | None, Path | None], tuple[Mapping[Path, str], Rulebook]] = {}
"""The rulebooks that were read last, each with the SHA-256 of its files: documents share what is compiled of one."""


def _read_rules(path: Path, phase: str | None, called: Path | None) -> tuple[Rulebook, Mapping[Path, str]]:
    schema, sources = load(path, called)
    binding = schema.get("queryBinding", "").strip()
    version = _version(binding, schema, sources)
    check_edition(schema, sources)
    check_included(sources)
    check_vocabulary(schema, sources)
    flatten(schema)
    check_structure(schema, sources)
    namespaces = tuple((ns.get("prefix", ""), ns.get("uri", "")) for ns in iso_children(schema, "ns"))
    namespaces = tuple(dict.fromkeys(namespaces))
    lets, patterns, about = resolve(schema, sources, phase, namespaces, version)
    contents = sources.contents.items()
    rulebook = Rulebook(
        path=called or path,
        binding=binding or "xslt",
        namespaces=namespaces,
        lets=lets,
        patterns=patterns,
        beside=tuple(Document(name, path, text, sha256(text.encode()).hexdigest()) for name, text in contents),
        notes=tuple(sources.notes),
        about=about,
        programs=tuple(read_program(one, sources, namespaces) for one in sources.programs),
    )
    require_allowed(rulebook)
    compile_all(rulebook)
    documents = tuple(dict.fromkeys(call.uri for call in _documents(rulebook)))
    return replace(rulebook, documents=documents), sources.digests


def _version(binding: str, schema: etree._Element, sources: IncludedFiles) -> XPathVersion:
    version = BINDINGS.get(binding.lower())
    if version is None:
        raise RulebookError.of(
            "bad-value",
            str(sources.origin(schema)),
            name="queryBinding",
            expected=f"one of {', '.join(filter(None, BINDINGS))}",
            given=repr(binding),
        )
    return version


def _documents(rulebook: Rulebook) -> Iterator[DocumentCall]:
    """Yield every call of ``document()`` and ``doc()``."""
    for expression in expressions(rulebook):
        yield from screen(expression.source, expression.origin, rulebook.namespaces, rulebook.own_functions)
    for program in rulebook.programs:
        yield from program_documents(program, rulebook)
