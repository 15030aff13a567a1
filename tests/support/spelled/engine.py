"""The engine alone: a rulebook as a plain stylesheet over the whole document, in libxslt or in Saxon.

Nothing of masktron is used. A context matches what its path selects from any node.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from lxml import etree
from saxonche import PySaxonApiError, PySaxonProcessor

from differential.told import ERROR, FAILS, HOLDS, Tally, Told
from spelled.cases import URI, Case, Pattern, Rule

XSL = "http://www.w3.org/1999/XSL/Transform"
_RECORD = "count(ancestor-or-self::*[count(ancestor::*) = 1])"
_BEFORE = "count(ancestor-or-self::*[count(ancestor::*) = 1]/preceding-sibling::*)"
_BLANKS = re.compile(r"(?:\s|\(:.*?:\))*", re.DOTALL)


class RefusedError(Exception):
    """The engine cannot compile a stylesheet."""


@cache
def _processor() -> PySaxonProcessor:
    return PySaxonProcessor(license=False)


def evaluate(case: Case, folder: Path) -> list[Told]:
    """Evaluate the checks of a case, in their order.

    Raises
    ------
    RefusedError
    """
    original = (folder / "original.xml").resolve().as_uri()
    sheet = etree.tostring(_stylesheet(case, case.active, original), encoding="unicode")
    data = case.document(case.units)
    text = _libxslt(sheet, data) if case.version == "1.0" else _saxon(sheet, folder / "data.xml")
    tallies = [Tally(len(case.units)) for _ in case.checks]
    kinds = [check.kind for check in case.checks]
    for line in text.split("\n"):
        if line:
            check, inside, record, truth = line.split()
            mark = ERROR if truth == "E" else HOLDS if (truth == "T") == (kinds[int(check)] == "assert") else FAILS
            tallies[int(check)].add(int(record) if inside != "0" else -1, mark)
    return [tally.told() for tally in tallies]


def refused(case: Case) -> set[int]:
    """Return the numbers of the checks that the engine refuses, alone with their rule's context and variables."""
    found: set[int] = set()
    for pattern in case.patterns:
        for one in pattern.concrete():
            if _compiles(case, one):
                continue
            for rule in one.rules:
                alone = [Pattern(one.lets, (Rule(rule.context, rule.lets, (c,)),)) for c in rule.checks]
                found |= {a.rules[0].checks[0].number for a in alone if not _compiles(case, a)}
    return found


def _compiles(case: Case, pattern: Pattern) -> bool:
    sheet = etree.tostring(_stylesheet(case, (pattern,), "o.xml"), encoding="unicode")
    try:
        if case.version == "1.0":
            etree.XSLT(etree.fromstring(sheet))
            _expressions_compile(case, pattern)
        else:
            _processor().new_xslt30_processor().compile_stylesheet(stylesheet_text=sheet)
    except (PySaxonApiError, etree.XSLTParseError, etree.XPathSyntaxError):
        return False
    return True


def _expressions_compile(case: Case, pattern: Pattern) -> None:
    # libxslt compiles some expressions late
    spaces = {case.prefix: URI} if case.prefix else None
    for rule in pattern.rules:
        for text in (*rule.context, *(v for _, v in rule.lets), *(c.test for c in rule.checks)):
            etree.XPath(text, namespaces=spaces)


def _libxslt(sheet: str, data: str) -> str:
    try:
        return str(etree.XSLT(etree.fromstring(sheet))(etree.fromstring(data)))
    except (etree.XSLTParseError, etree.XSLTApplyError) as error:
        raise RefusedError(str(error)) from None


def _saxon(sheet: str, data: Path) -> str:
    try:
        compiled = _processor().new_xslt30_processor().compile_stylesheet(stylesheet_text=sheet)
        return str(compiled.transform_to_string(xdm_node=_processor().parse_xml(xml_file_name=str(data))))
    except PySaxonApiError as error:
        raise RefusedError(str(error)) from None


def _bound(text: str, original: str) -> str:
    return re.sub(r"'o\.xml'", f"'{original}'", text)


def _stylesheet(case: Case, patterns: tuple[Pattern, ...], original: str) -> etree._Element:
    one = case.version == "1.0"
    spaces = {"xsl": XSL}
    if case.prefix:
        spaces[case.prefix] = URI
    if not one:
        spaces |= {"xs": "http://www.w3.org/2001/XMLSchema", "fn": "http://www.w3.org/2005/xpath-functions"}
    sheet = etree.Element(f"{{{XSL}}}stylesheet", nsmap=spaces, version="1.0" if one else "3.0")
    etree.SubElement(sheet, f"{{{XSL}}}output", method="text")
    main = etree.SubElement(sheet, f"{{{XSL}}}template", match="/")
    _lets(main, case.lets, original)
    number = 0
    for pattern in patterns:
        inside = etree.SubElement(main, f"{{{XSL}}}for-each", select="/")
        _lets(inside, pattern.lets, original)
        for i, rule in enumerate(pattern.rules):
            paths = (
                text if text[_BLANKS.match(text).end() :].startswith("/") else f"//{text}" for text in rule.context
            )  # type: ignore[union-attr]
            union = _bound(" | ".join(paths), original)
            etree.SubElement(inside, f"{{{XSL}}}variable", name=f"m-{i}", select=union)
            before = " | ".join(f"$m-{k}" for k in range(i))
            select = f"$m-{i}[count(. | {before}) != count({before})]" if before else f"$m-{i}"
            each = etree.SubElement(inside, f"{{{XSL}}}for-each", select=select)
            for check in rule.checks:
                _check(each, rule, number, _bound(check.test, original), original, one=one)
                number += 1
    return sheet


def _check(each: etree._Element, rule: Rule, number: int, test: str, original: str, *, one: bool) -> None:
    # a check to itself, so that an error of a variable is one of each check that reads it
    alone = etree.SubElement(each, f"{{{XSL}}}for-each", select=".")
    heading = f"concat('{number} ', {_RECORD}, ' ', {_BEFORE}, ' ')"
    etree.SubElement(alone, f"{{{XSL}}}value-of", select=heading)
    if one:
        _lets(alone, rule.lets, original)
        choose = etree.SubElement(alone, f"{{{XSL}}}choose")
        etree.SubElement(choose, f"{{{XSL}}}when", test=test).text = "T"
        etree.SubElement(choose, f"{{{XSL}}}otherwise").text = "F"
    else:
        trying = etree.SubElement(alone, f"{{{XSL}}}try")
        _lets(trying, rule.lets, original)
        etree.SubElement(trying, f"{{{XSL}}}value-of", select=f"if ({test}) then 'T' else 'F'")
        etree.SubElement(trying, f"{{{XSL}}}catch", errors="*", select="'E'")
    etree.SubElement(alone, f"{{{XSL}}}text").text = "\n"


def _lets(into: etree._Element, lets: tuple[tuple[str, str], ...], original: str) -> None:
    for name, value in lets:
        etree.SubElement(into, f"{{{XSL}}}variable", name=name, select=_bound(value, original))
