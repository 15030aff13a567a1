"""An independent evaluation of a rulebook: Schematron turned into XSLT, as its standard implementation does.

Nothing of masktron is used. libxslt evaluates XPath 1.0, Saxon every version.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lxml import etree
from saxonche import PySaxonProcessor

type Engine = Literal["libxslt", "saxon"]

SCH = "http://purl.oclc.org/dsdl/schematron"
XSL = "http://www.w3.org/1999/XSL/Transform"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often each check was evaluated, and how often it was broken."""

    fired: dict[str, int]
    failed: dict[str, int]

    @property
    def broken(self) -> dict[str, int]:
        """The checks that were broken at all."""
        return {check: count for check, count in self.failed.items() if count}


def evaluate(rulebook: Path, data: Path, original: Path | None = None, engine: Engine = "saxon") -> Outcome:
    """Evaluate all patterns of the rulebook on the file."""
    schema = _resolved(rulebook)
    version = {"xslt2": "2.0", "xslt3": "3.0"}.get(schema.get("queryBinding", "xslt"), "1.0")
    sheet = _stylesheet(schema, version, (original or data).resolve().as_uri())
    text = _libxslt(sheet, data) if engine == "libxslt" else _saxon(sheet, data)
    events = Counter(tuple(line.split(" ", 1)) for line in text.split("\n") if line)
    checks = dict.fromkeys(check for _, check in events)
    return Outcome(
        {check: events["fired", check] for check in checks},
        {check: events["failed", check] for check in checks},
    )


def _libxslt(sheet: etree._Element, data: Path) -> str:
    return str(etree.XSLT(etree.fromstring(etree.tostring(sheet)))(etree.parse(str(data))))


def _saxon(sheet: etree._Element, data: Path) -> str:
    with PySaxonProcessor(license=False) as processor:
        compiler = processor.new_xslt30_processor()
        compiled = compiler.compile_stylesheet(stylesheet_text=etree.tostring(sheet, encoding="unicode"))
        node = processor.parse_xml(xml_file_name=str(data))
        result = compiled.transform_to_string(xdm_node=node)
    return str(result)


def _resolved(path: Path) -> etree._Element:
    """Parse a rulebook and put in what it extends."""
    schema = etree.parse(str(path), etree.XMLParser(remove_comments=True)).getroot()
    for extends in schema.findall(f"{{{SCH}}}extends"):
        parent = extends.getparent()
        assert parent is not None
        place = parent.index(extends)
        others = [e for e in _resolved(path.parent / extends.get("href", "")) if e.tag != f"{{{SCH}}}title"]
        parent[place : place + 1] = others
    return schema


def _stylesheet(schema: etree._Element, version: str, original: str) -> etree._Element:
    prefixes = {ns.get("prefix", ""): ns.get("uri", "") for ns in schema.findall(f"{{{SCH}}}ns")}
    sheet = etree.Element(f"{{{XSL}}}stylesheet", nsmap={"xsl": XSL, **prefixes}, version=version)
    etree.SubElement(sheet, f"{{{XSL}}}output", method="text")
    _lets(schema, sheet, original)
    main = etree.SubElement(sheet, f"{{{XSL}}}template", match="/")
    abstract = {p.get("id"): p for p in schema.findall(f"{{{SCH}}}pattern") if p.get("abstract") == "true"}
    concrete = [p for p in schema.findall(f"{{{SCH}}}pattern") if p.get("abstract") != "true"]
    for i, pattern in enumerate(concrete):
        mode = f"p{i}"
        etree.SubElement(main, f"{{{XSL}}}apply-templates", select="/*", mode=mode)
        instance = _instance(pattern, abstract[pattern.get("is-a")]) if pattern.get("is-a") else pattern
        _lets(instance, sheet, original)
        for rule in instance.findall(f"{{{SCH}}}rule"):
            _template(sheet, rule, mode, pattern.get("id", mode), original)
        walk = etree.SubElement(sheet, f"{{{XSL}}}template", match="*|@*|text()", mode=mode, priority="-10")
        etree.SubElement(walk, f"{{{XSL}}}apply-templates", select="@*|*", mode=mode)
    return sheet


def _template(sheet: etree._Element, rule: etree._Element, mode: str, name: str, original: str) -> None:
    """Add a template for one rule; an earlier rule of the pattern (mode) wins."""
    earlier = len(sheet.findall(f"{{{XSL}}}template[@mode='{mode}']"))
    template = etree.SubElement(
        sheet, f"{{{XSL}}}template", match=rule.get("context", ""), mode=mode, priority=str(1000 - earlier)
    )
    _lets(rule, template, original)
    for check in rule:
        if check.tag not in (f"{{{SCH}}}assert", f"{{{SCH}}}report"):
            continue
        label = check.get("id", name)
        test = _bound(check.get("test", ""), original)
        bad = f"not({test})" if check.tag == f"{{{SCH}}}assert" else test
        etree.SubElement(template, f"{{{XSL}}}text").text = f"fired {label}\n"
        condition = etree.SubElement(template, f"{{{XSL}}}if", test=bad)
        etree.SubElement(condition, f"{{{XSL}}}text").text = f"failed {label}\n"
    etree.SubElement(template, f"{{{XSL}}}apply-templates", select="@*|*", mode=mode)


def _lets(scope: etree._Element, into: etree._Element, original: str) -> None:
    for let in scope.findall(f"{{{SCH}}}let"):
        etree.SubElement(
            into,
            f"{{{XSL}}}variable",
            name=let.get("name", ""),
            select=_bound(let.get("value", ""), original),
        )


def _instance(pattern: etree._Element, abstract: etree._Element) -> etree._Element:
    """Replace $name in all attributes of a copy of the abstract pattern."""
    copy = etree.fromstring(etree.tostring(abstract))
    params = {p.get("name", ""): p.get("value", "") for p in pattern.findall(f"{{{SCH}}}param")}
    for element in copy.iter():
        for name, value in element.attrib.items():
            text = str(value)
            for param in sorted(params, key=len, reverse=True):
                text = text.replace(f"${param}", params[param])
            element.set(name, text)
    return copy


def _bound(expression: str, original: str) -> str:
    return re.sub(r"\b(document|doc)\('[^']*'\)", f"document('{original}')", expression)
