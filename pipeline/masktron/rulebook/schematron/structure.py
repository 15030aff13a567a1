"""Whether an expanded rulebook is Schematron: what pyschematron crashes on or passes over in silence is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
from masktron.problems.problem import Known
from masktron.rulebook.schema import Origin
from masktron.rulebook.schematron.inclusions import ISO, MARK, IncludedFiles, iso_children

_REQUIRED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ns": ("prefix", "uri"),
        "let": ("name", "value"),
        "phase": ("id",),
        "active": ("pattern",),
        "param": ("name",),
        "diagnostic": ("id",),
        "property": ("id",),
        "assert": ("test",),
        "report": ("test",),
        "value-of": ("select",),
        "extends": ("rule",),
    }
)
_NAME = re.compile(r"[^\W\d][\w.\-·]*(:[^\W\d][\w.\-·]*)?\Z")
SETS = ("pattern", "group")
"""The elements that hold rules which may fire."""


def name_of(element: etree._Element) -> str:
    """Return the local name of a Schematron element."""
    return etree.QName(element).localname


def is_abstract(element: etree._Element) -> bool:
    """Return whether a pattern or a rule is declared as abstract."""
    return element.get("abstract", "").strip() in ("true", "1")


def check_structure(schema: etree._Element, sources: IncludedFiles) -> None:
    """Refuse what is not Schematron, or is and cannot be kept.

    Raises
    ------
    RulebookError
        With file and line of the first offence.
    """
    _leave_out_nameless(schema, sources)
    for element in schema.iter(f"{{{ISO}}}*"):
        _check_required(element, sources)
    _check_ids(schema, sources)
    _check_scopes(schema, sources)
    for pattern in iso_children(schema, *SETS):
        _check_pattern(pattern, schema, sources)
    for rules in iso_children(schema, "rules"):
        for rule in iso_children(rules, "rule"):
            _check_shared_rule(rule, schema, sources)
    for param in iso_children(schema, "param"):
        if not param.get("value", "").strip():
            raise _lacking("param", "value", sources.origin(param))
    for active in schema.iter(f"{{{ISO}}}active"):
        _check_active(active, schema, sources)
    for check in schema.iter(f"{{{ISO}}}assert", f"{{{ISO}}}report"):
        for kind, plural in (("diagnostic", "diagnostics"), ("property", "properties")):
            _check_notes(check, kind, plural, schema, sources)


def _leave_out_nameless(schema: etree._Element, sources: IncludedFiles) -> None:
    """Take out abstract rules that no rule can name, as an included file may hold one for ``extends href``."""
    for rule in [one for one in schema.iter(f"{{{ISO}}}rule") if is_abstract(one) and not one.get("id")]:
        sources.note(f"{sources.origin(rule)}: the abstract rule has no id, so no rule can extend it; it is left out")
        home = rule.getparent()
        if home is not None:
            home.remove(rule)


def _check_active(active: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    wanted = active.get("pattern")
    patterns = {p.get("id", ""): p for p in iso_children(schema, *SETS)}
    named, origin = patterns.get(wanted or ""), sources.origin(active)
    if named is None:
        raise _unknown("pattern", wanted, patterns, origin)
    if is_abstract(named):
        element = f"<{name_of(named)} id={wanted!r}>"
        raise _excluded(element, "abstract", "<active>", origin)


def _lacking(element: str, attribute: str, origin: Origin) -> RulebookError:
    return RulebookError.of("attribute-missing", str(origin), element=element, attribute=attribute)


def _misplaced(child: str, parent: str, origin: Origin, *allowed: str) -> RulebookError:
    known = Known(child, allowed)
    return RulebookError.of("not-allowed-here", str(origin), child=child, parent=parent, known=known)


def _taken(kind: str, name: str, first: str, origin: Origin) -> RulebookError:
    return RulebookError.of("name-taken", str(origin), kind=kind, name=name, first=first)


def _excluded(element: str, one: str, other: str, origin: Origin) -> RulebookError:
    return RulebookError.of("given-twice", str(origin), to=f" of {element}", one=one, other=other)


def _unknown(kind: str, name: str | None, known: Iterable[str], origin: Origin) -> RulebookError:
    there = Known(name or "", tuple(filter(None, known)))
    return RulebookError.of("unknown-name", str(origin), kind=kind, name=name, known=there)


def _check_notes(
    check: etree._Element, kind: str, plural: str, schema: etree._Element, sources: IncludedFiles
) -> None:
    known = [e.get("id", "") for e in schema.iter(f"{{{ISO}}}{kind}")]
    for wanted in check.get(plural, "").split():
        # a parameter is looked up where it has its value
        if wanted not in known and not wanted.startswith("$"):
            raise _unknown(kind, wanted, known, sources.origin(check))


def _check_shared_rule(rule: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    if not is_abstract(rule):
        raise _misplaced('a <rule> without abstract="true"', "<rules>", sources.origin(rule))
    _check_rule(rule, schema, sources)


def flatten(schema: etree._Element) -> None:
    """Turn markup inside messages into its text, so that a ``value-of`` within is one of the message."""
    kept = {f"{{{ISO}}}value-of", f"{{{ISO}}}name"}
    for kind in ("assert", "report", "diagnostic", "property"):
        for check in schema.iter(f"{{{ISO}}}{kind}"):
            tags = {str(e.tag) for e in check.iterdescendants()} - kept
            if tags:
                etree.strip_tags(check, *tags)


def _check_required(element: etree._Element, sources: IncludedFiles) -> None:
    name = name_of(element)
    for attribute in _REQUIRED.get(name, ()):
        value = element.get(attribute)
        if value is None or not value.strip():
            raise _lacking(name, attribute, sources.origin(element))


def _check_ids(schema: etree._Element, sources: IncludedFiles) -> None:
    seen: dict[str, Origin] = {}
    for element in schema.iter(f"{{{ISO}}}*"):
        identifier = element.get("id")
        if identifier is None:
            continue
        if identifier in seen:
            raise _taken("id", identifier, f"at {seen[identifier]}", sources.origin(element))
        seen[identifier] = sources.origin(element)


def _check_scopes(schema: etree._Element, sources: IncludedFiles) -> None:
    for scope in schema.iter(*(f"{{{ISO}}}{n}" for n in ("schema", "phase", *SETS, "rule"))):
        seen: dict[str, Origin] = {}
        lets = "let", *(("param",) if scope is schema else ())
        for let in expanded(scope, schema, sources, *lets):
            name = let.get("name", "").strip()
            if not _NAME.match(name):
                place, expected = str(sources.origin(let)), "a letter, then letters, digits, '.', '-' and '_'"
                raise RulebookError.of("bad-value", place, name="let/@name", expected=expected, given=repr(name))
            let.set("name", name)
            if name in seen:
                raise _taken("variable", f"${name}", f"at {seen[name]}", sources.origin(let))
            seen[name] = sources.origin(let)
    prefixes: dict[str, str] = {}
    for ns in iso_children(schema, "ns"):
        prefix, uri = ns.get("prefix", ""), ns.get("uri", "")
        if prefixes.setdefault(prefix, uri) != uri:
            raise _taken("prefix", prefix, f"for {prefixes[prefix]}", sources.origin(ns))


def _check_pattern(pattern: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    origin, name = sources.origin(pattern), name_of(pattern)
    target = pattern.get("is-a")
    _check_parameters(pattern, sources)
    if is_abstract(pattern):
        if not pattern.get("id"):
            raise _lacking(f'{name} abstract="true"', "id", origin)
        if target is not None:
            raise _excluded(f"<{name}>", "abstract", "is-a", origin)
    if target is not None:
        _check_instance(pattern, target, schema, sources)
    elif next(iso_children(pattern, "param"), None) is not None and not is_abstract(pattern):
        raise _misplaced("<param>", f"a <{name}> without is-a", origin)
    for rule in iso_children(pattern, "rule"):
        _check_rule(rule, schema, sources)


def _check_parameters(pattern: etree._Element, sources: IncludedFiles) -> None:
    names: set[str] = set()
    for param in list(iso_children(pattern, "param")):
        name = param.get("name", "").strip()
        if name in names:
            sources.note(f"{sources.origin(param)}: the parameter {name!r} is given twice; the first value counts")
            pattern.remove(param)
        names.add(name)
    for let in pattern.iter(f"{{{ISO}}}let") if is_abstract(pattern) else ():
        if let.get("name", "").strip() in names:
            raise _taken("variable", f"${let.get('name')}", "as a parameter", sources.origin(let))


def _check_instance(pattern: etree._Element, target: str, schema: etree._Element, sources: IncludedFiles) -> None:
    name = name_of(pattern)
    abstract = {p.get("id", ""): p for p in iso_children(schema, name) if is_abstract(p)}
    if target not in abstract:
        raise _unknown(f"abstract {name}", target, abstract, sources.origin(pattern))
    extra = next(iso_children(pattern, "rule", "let"), None)
    if extra is not None:
        raise _misplaced(f"<{name_of(extra)}>", f"a <{name}> with is-a", sources.origin(extra), "param")
    _check_given(pattern, abstract[target], sources)


def _check_given(pattern: etree._Element, abstract: etree._Element, sources: IncludedFiles) -> None:
    """Refuse parameters that the abstract pattern does not declare, and the lack of those that it does."""
    given = {p.get("name", "").strip(): p for p in iso_children(pattern, "param")}
    declared = {p.get("name", "").strip(): p for p in iso_children(abstract, "param")}
    for name, param in given.items():
        if declared and name not in declared:
            raise _unknown(f"parameter of {abstract.get('id')!r}:", name, declared, sources.origin(param))
        if param.get("value") is None and declared.get(name, param).get("value") is None:
            raise _lacking(f'param name="{name}"', "value", sources.origin(param))
    for name, param in declared.items():
        if name not in given and param.get("value") is None:
            raise _lacking(f'param name="{name}"', "value", sources.origin(pattern))


def _check_rule(rule: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    origin, context = sources.origin(rule), rule.get("context")
    if is_abstract(rule):
        for attribute in ("context", "visit-each"):
            if rule.get(attribute) is not None:
                raise _excluded("<rule>", "abstract", attribute, origin)
    elif context is None or not context.strip():
        raise _lacking("rule", "context", origin)
    if rule.get("visit-each") is not None and not rule.get("visit-each", "").strip():
        raise _lacking("rule", "visit-each", origin)
    for extends in iso_children(rule, "extends"):
        _check_reach(extends, rule, schema, sources)
    marks = [child.get(MARK) for child in expanded(rule, schema, sources, "assert", "report")]
    if len(set(marks)) < len(marks):
        raise _excluded("<rule>", "an <extends>", "the same <extends> again", origin)


def _check_reach(
    extends: etree._Element, rule: etree._Element, schema: etree._Element, sources: IncludedFiles
) -> None:
    """Refuse an abstract rule of another pattern: only those of ``rules`` are there for all."""
    home = _abstract_rule(extends, schema, sources).getparent()
    if home is None or home is rule.getparent() or name_of(home) == "rules":
        return
    scope, construct = name_of(home), f"the abstract rule {extends.get('rule')!r} of another {name_of(home)}"
    instead = f"move it from {sources.origin(home)} into this {scope}, or into <rules> of the schema"
    raise RulebookError.of("not-supported", str(sources.origin(extends)), construct=construct, instead=instead)


def expanded(
    scope: etree._Element,
    schema: etree._Element,
    sources: IncludedFiles,
    *names: str,
    seen: tuple[etree._Element, ...] = (),
) -> Iterator[etree._Element]:
    """Yield the children with these names in document order, those of extended rules in the place of ``extends``."""
    if scope in seen:
        raise RulebookError.of("refers-to-itself", str(sources.origin(scope)), name="the rule")
    for child in iso_children(scope, "extends", *names):
        if name_of(child) != "extends":
            yield child
            continue
        target = _abstract_rule(child, schema, sources)
        yield from expanded(target, schema, sources, *names, seen=(*seen, scope))


def _abstract_rule(extends: etree._Element, schema: etree._Element, sources: IncludedFiles) -> etree._Element:
    wanted = extends.get("rule")
    rules = [r for r in schema.iter(f"{{{ISO}}}rule") if is_abstract(r)]
    for rule in rules:
        if rule.get("id") == wanted:
            return rule
    raise _unknown("abstract rule", wanted, (rule.get("id", "") for rule in rules), sources.origin(extends))
