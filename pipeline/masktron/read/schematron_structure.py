"""Whether an expanded rulebook is Schematron: what pyschematron crashes on or passes over in silence is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
from masktron.read.rulebook import Origin
from masktron.read.schematron_files import ISO, MARK, Sources, iso_children

_CHILDREN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "schema": frozenset({"title", "ns", "p", "let", "phase", "pattern", "diagnostics", "properties"}),
        "phase": frozenset({"p", "let", "active"}),
        "pattern": frozenset({"title", "p", "let", "rule", "param"}),
        "rule": frozenset({"p", "let", "assert", "report", "extends"}),
        "assert": frozenset({"value-of", "name", "emph", "dir", "span"}),
        "report": frozenset({"value-of", "name", "emph", "dir", "span"}),
        "diagnostics": frozenset({"diagnostic"}),
        "properties": frozenset({"property"}),
        "let": frozenset(),
        "ns": frozenset(),
        "param": frozenset(),
        "value-of": frozenset(),
        "name": frozenset(),
        "extends": frozenset(),
    }
)
_REQUIRED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ns": ("prefix", "uri"),
        "let": ("name", "value"),
        "phase": ("id",),
        "active": ("pattern",),
        "param": ("name", "value"),
        "assert": ("test",),
        "report": ("test",),
        "value-of": ("select",),
        "extends": ("rule",),
    }
)
_NAME = re.compile(r"[^\W\d][\w.\-·]*(:[^\W\d][\w.\-·]*)?\Z")
_MAY_BE_EMPTY = frozenset({("param", "value")})


def name_of(element: etree._Element) -> str:
    """Return the local name of a Schematron element."""
    return etree.QName(element).localname


def is_true(element: etree._Element, attribute: str) -> bool:
    """Return whether a boolean attribute is set."""
    return element.get(attribute, "").strip() in ("true", "1")


def check_structure(schema: etree._Element, sources: Sources) -> None:
    """Refuse what is not Schematron, or is and cannot be kept.

    Raises
    ------
    RulebookError
        With file and line of the first offence.
    """
    _check_children(schema, sources)
    _check_ids(schema, sources)
    _check_scopes(schema, sources)
    for pattern in iso_children(schema, "pattern"):
        _check_pattern(pattern, schema, sources)
    for active in schema.iter(f"{{{ISO}}}active"):
        wanted = active.get("pattern")
        if all(p.get("id") != wanted for p in iso_children(schema, "pattern")):
            raise RulebookError(f"no pattern has the id {wanted!r}", where=str(sources.origin(active)))


def flatten(schema: etree._Element) -> None:
    """Turn markup inside messages into its text, so that a ``value-of`` within is one of the message."""
    kept = {f"{{{ISO}}}value-of", f"{{{ISO}}}name"}
    for kind in ("assert", "report", "diagnostic", "property"):
        for check in schema.iter(f"{{{ISO}}}{kind}"):
            tags = {str(e.tag) for e in check.iterdescendants()} - kept
            if tags:
                etree.strip_tags(check, *tags)


def _check_children(element: etree._Element, sources: Sources) -> None:
    name = name_of(element)
    where = str(sources.origin(element))
    for attribute in _REQUIRED.get(name, ()):
        value = element.get(attribute)
        if value is None or (not value.strip() and (name, attribute) not in _MAY_BE_EMPTY):
            fault = "has no" if value is None else "has an empty"
            hint = ""
            if name == "let":
                hint = 'write <let name="..." value="..."/>; a value given as content is not supported'
            raise RulebookError(f"<{name}> {fault} {attribute} attribute", where=where, hint=hint)
    if element.get("documents") is not None:
        raise RulebookError(
            "pattern/@documents is not supported",
            where=where,
            hint="rules are about the data file; document() reaches the original",
        )
    if name == "let" and element.get("as") is not None:
        raise RulebookError("let/@as is not supported", where=where, hint="cast in the value instead")
    allowed = _CHILDREN.get(name)
    if allowed is None:
        return
    for child in element:
        _check_allowed(child, name, allowed, sources)
        if etree.QName(child).namespace == ISO:
            _check_children(child, sources)


def _check_allowed(child: etree._Element, parent: str, allowed: frozenset[str], sources: Sources) -> None:
    qname = etree.QName(child)
    if qname.namespace != ISO and parent in ("assert", "report"):
        return
    if qname.namespace != ISO:
        prefix = f"{child.prefix}:" if child.prefix else ""
        raise RulebookError(
            f"<{prefix}{qname.localname}> is foreign to Schematron and not supported",
            where=str(sources.origin(child)),
            hint="rules may use XPath and <let> only",
        )
    if qname.localname not in allowed:
        raise RulebookError(
            f"<{qname.localname}> is not allowed in <{parent}>",
            where=str(sources.origin(child)),
            hint=f"allowed are {', '.join(sorted(allowed))}" if allowed else "it must be empty",
        )


def _check_ids(schema: etree._Element, sources: Sources) -> None:
    seen: dict[str, Origin] = {}
    for element in schema.iter():
        identifier = element.get("id")
        if identifier is None:
            continue
        if identifier in seen:
            raise RulebookError(
                f"the id {identifier!r} is given twice, first at {seen[identifier]}",
                where=str(sources.origin(element)),
                hint="ids must be unique in a rulebook and all that it includes",
            )
        seen[identifier] = sources.origin(element)


def _check_scopes(schema: etree._Element, sources: Sources) -> None:
    for scope in schema.iter(*(f"{{{ISO}}}{n}" for n in ("schema", "phase", "pattern", "rule"))):
        seen: dict[str, Origin] = {}
        for let in expanded(scope, schema, sources, "let"):
            name = let.get("name", "").strip()
            if not _NAME.match(name):
                raise RulebookError(f"{name!r} is not a name for a variable", where=str(sources.origin(let)))
            let.set("name", name)
            if name in seen:
                raise RulebookError(
                    f"the variable ${name} is declared twice in one {name_of(scope)}, first at {seen[name]}",
                    where=str(sources.origin(let)),
                )
            seen[name] = sources.origin(let)
    prefixes: dict[str, str] = {}
    for ns in iso_children(schema, "ns"):
        prefix, uri = ns.get("prefix", ""), ns.get("uri", "")
        if prefixes.setdefault(prefix, uri) != uri:
            raise RulebookError(
                f"the prefix {prefix!r} is bound to two namespaces, {prefixes[prefix]} and {uri}",
                where=str(sources.origin(ns)),
            )


def _check_pattern(pattern: etree._Element, schema: etree._Element, sources: Sources) -> None:
    where = str(sources.origin(pattern))
    target = pattern.get("is-a")
    if is_true(pattern, "abstract"):
        if not pattern.get("id"):
            raise RulebookError("an abstract pattern has no id", where=where)
        if target is not None:
            raise RulebookError("a pattern is abstract and an instance (is-a) at once", where=where)
    if target is not None:
        _check_instance(pattern, target, schema, sources)
    elif next(iso_children(pattern, "param"), None) is not None and not is_true(pattern, "abstract"):
        raise RulebookError("<param> without is-a", where=where, hint="parameters belong to an instance")
    for rule in iso_children(pattern, "rule"):
        _check_rule(rule, schema, sources)


def _check_instance(pattern: etree._Element, target: str, schema: etree._Element, sources: Sources) -> None:
    where = str(sources.origin(pattern))
    abstract = [p.get("id", "") for p in iso_children(schema, "pattern") if is_true(p, "abstract")]
    if target not in abstract:
        raise RulebookError(
            f"is-a names no abstract pattern: {target!r}",
            where=where,
            hint=f"abstract patterns here: {', '.join(abstract) or 'none'}",
        )
    extra = next(iso_children(pattern, "rule", "let"), None)
    if extra is not None:
        raise RulebookError(
            f"an instance (is-a) holds a <{name_of(extra)}>", where=str(sources.origin(extra)), hint="only params"
        )
    names = [p.get("name", "") for p in iso_children(pattern, "param")]
    for name in names:
        if names.count(name) > 1:
            raise RulebookError(f"the parameter {name!r} is given twice", where=where)


def _check_rule(rule: etree._Element, schema: etree._Element, sources: Sources) -> None:
    where = str(sources.origin(rule))
    context = rule.get("context")
    if is_true(rule, "abstract"):
        if context is not None:
            raise RulebookError("an abstract rule has a context", where=where)
        if not rule.get("id"):
            raise RulebookError("an abstract rule has no id", where=where)
    elif context is None or not context.strip():
        raise RulebookError("a rule has no context", where=where, hint='write <rule context="Record">')
    marks = [child.get(MARK) for child in expanded(rule, schema, sources, "assert", "report")]
    if len(set(marks)) < len(marks):
        raise RulebookError("a rule extends the same rule twice", where=where)


def expanded(
    scope: etree._Element,
    schema: etree._Element,
    sources: Sources,
    *names: str,
    seen: tuple[etree._Element, ...] = (),
) -> Iterator[etree._Element]:
    """Yield the children with these names in document order, those of extended rules in the place of ``extends``."""
    if scope in seen:
        raise RulebookError("a rule extends itself", where=str(sources.origin(scope)), hint="break the cycle")
    for child in iso_children(scope, "extends", *names):
        if name_of(child) != "extends":
            yield child
            continue
        target = _abstract_rule(child, schema, sources)
        yield from expanded(target, schema, sources, *names, seen=(*seen, scope))


def _abstract_rule(extends: etree._Element, schema: etree._Element, sources: Sources) -> etree._Element:
    wanted = extends.get("rule")
    rules = [r for r in schema.iter(f"{{{ISO}}}rule") if is_true(r, "abstract")]
    for rule in rules:
        if rule.get("id") == wanted:
            return rule
    raise RulebookError(
        f"extends names no abstract rule: {wanted!r}",
        where=str(sources.origin(extends)),
        hint=f"abstract rules here: {', '.join(r.get('id', '?') for r in rules) or 'none'}",
    )
