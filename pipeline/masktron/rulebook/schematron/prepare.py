"""A checked rulebook in the words of pyschematron, which knows no more than the edition of 2016."""

from __future__ import annotations

import re

from lxml import etree

from masktron.rulebook.schematron.inclusions import ISO, MARK, iso_children
from masktron.rulebook.schematron.notes import FPI, WORD, Templates, longest
from masktron.rulebook.schematron.structure import is_abstract, name_of

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
