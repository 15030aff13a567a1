"""Whether an expanded rulebook is Schematron: what pyschematron crashes on or passes over in silence is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
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
            raise RulebookError("a <param> of the schema has no value", where=str(sources.origin(param)))
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
    named = next((p for p in iso_children(schema, *SETS) if p.get("id") == wanted), None)
    if named is None:
        raise RulebookError(f"no pattern has the id {wanted!r}", where=str(sources.origin(active)))
    if is_abstract(named):
        raise RulebookError(
            f"the {name_of(named)} {wanted!r} is abstract and cannot be active",
            where=str(sources.origin(active)),
            hint="name its instances",
        )


def _check_notes(
    check: etree._Element, kind: str, plural: str, schema: etree._Element, sources: IncludedFiles
) -> None:
    known = [e.get("id", "") for e in schema.iter(f"{{{ISO}}}{kind}")]
    for wanted in check.get(plural, "").split():
        # a parameter is looked up where it has its value
        if wanted not in known and not wanted.startswith("$"):
            raise RulebookError(
                f"no <{kind}> has the id {wanted!r}",
                where=str(sources.origin(check)),
                hint=f"there are: {', '.join(known) or 'none'}",
            )


def _check_shared_rule(rule: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    if not is_abstract(rule):
        raise RulebookError(
            "a rule in <rules> is not abstract", where=str(sources.origin(rule)), hint='write abstract="true"'
        )
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
            fault = "has no" if value is None else "has an empty"
            hint = ""
            if name == "let":
                hint = 'write <let name="..." value="..."/>; a value given as content is not supported'
            raise RulebookError(
                f"<{name}> {fault} {attribute} attribute", where=str(sources.origin(element)), hint=hint
            )


def _check_ids(schema: etree._Element, sources: IncludedFiles) -> None:
    seen: dict[str, Origin] = {}
    for element in schema.iter(f"{{{ISO}}}*"):
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


def _check_scopes(schema: etree._Element, sources: IncludedFiles) -> None:
    for scope in schema.iter(*(f"{{{ISO}}}{n}" for n in ("schema", "phase", *SETS, "rule"))):
        seen: dict[str, Origin] = {}
        lets = "let", *(("param",) if scope is schema else ())
        for let in expanded(scope, schema, sources, *lets):
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


def _check_pattern(pattern: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    where = str(sources.origin(pattern))
    target = pattern.get("is-a")
    _check_parameters(pattern, sources)
    if is_abstract(pattern):
        if not pattern.get("id"):
            raise RulebookError(f"an abstract {name_of(pattern)} has no id", where=where)
        if target is not None:
            raise RulebookError(f"a {name_of(pattern)} is abstract and an instance (is-a) at once", where=where)
    if target is not None:
        _check_instance(pattern, target, schema, sources)
    elif next(iso_children(pattern, "param"), None) is not None and not is_abstract(pattern):
        raise RulebookError("<param> without is-a", where=where, hint="parameters belong to an instance")
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
            raise RulebookError(
                f"${let.get('name')} is a variable and a parameter of one {name_of(pattern)}",
                where=str(sources.origin(let)),
                hint="give them different names",
            )


def _check_instance(pattern: etree._Element, target: str, schema: etree._Element, sources: IncludedFiles) -> None:
    where = str(sources.origin(pattern))
    name = name_of(pattern)
    abstract = {p.get("id", ""): p for p in iso_children(schema, name) if is_abstract(p)}
    if target not in abstract:
        raise RulebookError(
            f"is-a names no abstract {name}: {target!r}",
            where=where,
            hint=f"abstract {name}s here: {', '.join(abstract) or 'none'}",
        )
    extra = next(iso_children(pattern, "rule", "let"), None)
    if extra is not None:
        raise RulebookError(
            f"an instance (is-a) holds a <{name_of(extra)}>", where=str(sources.origin(extra)), hint="only params"
        )
    _check_given(pattern, abstract[target], sources)


def _check_given(pattern: etree._Element, abstract: etree._Element, sources: IncludedFiles) -> None:
    """Refuse parameters that the abstract pattern does not declare, and the lack of those that it does."""
    given = {p.get("name", "").strip(): p for p in iso_children(pattern, "param")}
    declared = {p.get("name", "").strip(): p for p in iso_children(abstract, "param")}
    for name, param in given.items():
        if declared and name not in declared:
            raise RulebookError(
                f"{abstract.get('id')!r} declares no parameter {name!r}",
                where=str(sources.origin(param)),
                hint=f"it declares {', '.join(declared)}",
            )
        if param.get("value") is None and declared.get(name, param).get("value") is None:
            raise RulebookError(f"the parameter {name!r} has no value", where=str(sources.origin(param)))
    for name, param in declared.items():
        if name not in given and param.get("value") is None:
            raise RulebookError(
                f"the parameter {name!r} of {abstract.get('id')!r} has no value",
                where=str(sources.origin(pattern)),
                hint=f'write <param name="{name}" value="..."/>',
            )


def _check_rule(rule: etree._Element, schema: etree._Element, sources: IncludedFiles) -> None:
    where = str(sources.origin(rule))
    context = rule.get("context")
    if is_abstract(rule):
        if context is not None:
            raise RulebookError("an abstract rule has a context", where=where)
        if rule.get("visit-each") is not None:
            raise RulebookError(
                "an abstract rule has visit-each", where=where, hint="put it on the rule that has the context"
            )
    elif context is None or not context.strip():
        raise RulebookError("a rule has no context", where=where, hint='write <rule context="Record">')
    if rule.get("visit-each") is not None and not rule.get("visit-each", "").strip():
        raise RulebookError("visit-each is empty", where=where)
    for extends in iso_children(rule, "extends"):
        _check_reach(extends, rule, schema, sources)
    marks = [child.get(MARK) for child in expanded(rule, schema, sources, "assert", "report")]
    if len(set(marks)) < len(marks):
        raise RulebookError("a rule extends the same rule twice", where=where)


def _check_reach(
    extends: etree._Element, rule: etree._Element, schema: etree._Element, sources: IncludedFiles
) -> None:
    """Refuse an abstract rule of another pattern: only those of ``rules`` are there for all."""
    home = _abstract_rule(extends, schema, sources).getparent()
    if home is None or home is rule.getparent() or name_of(home) == "rules":
        return
    raise RulebookError(
        f"extends names the abstract rule {extends.get('rule')!r} of another {name_of(home)}, "
        f"at {sources.origin(home)}",
        where=str(sources.origin(extends)),
        hint="put it into this pattern, or into <rules> of the schema",
    )


def expanded(
    scope: etree._Element,
    schema: etree._Element,
    sources: IncludedFiles,
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


def _abstract_rule(extends: etree._Element, schema: etree._Element, sources: IncludedFiles) -> etree._Element:
    wanted = extends.get("rule")
    rules = [r for r in schema.iter(f"{{{ISO}}}rule") if is_abstract(r)]
    for rule in rules:
        if rule.get("id") == wanted:
            return rule
    raise RulebookError(
        f"extends names no abstract rule: {wanted!r}",
        where=str(sources.origin(extends)),
        hint=f"abstract rules here: {', '.join(r.get('id', '?') for r in rules) or 'none'}",
    )
