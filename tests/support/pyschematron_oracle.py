"""What pyschematron, as it comes, counts on a document by the rules that masktron has read from a rulebook."""

from __future__ import annotations

from pathlib import Path

from elementpath import ElementPathError
from lxml import etree
from lxml.builder import ElementMaker
from pyschematron.direct_mode.schematron.ast import Assert
from pyschematron.direct_mode.schematron.parsers.xml.parser import SchemaParser
from pyschematron.direct_mode.xml_validation.results.validation_results import FiredRuleResult
from pyschematron.direct_mode.xml_validation.validators import SimpleSchematronXMLValidator

from masktron.rulebook.schema import Let, Rulebook, XPathVersion

BINDINGS: dict[XPathVersion, str] = {"1.0": "xslt", "2.0": "xslt2", "3.0": "xslt3", "3.1": "xpath31"}
"""The bindings under which pyschematron knows the versions; it is particular about their spelling."""
NAMESPACE = "http://purl.oclc.org/dsdl/schematron"
CRASHES: tuple[type[Exception], ...] = (
    ElementPathError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What pyschematron and elementpath let through when an expression is beyond them."""
_MAKE = ElementMaker(namespace=NAMESPACE, nsmap={None: NAMESPACE})


def counts(rulebook: Rulebook, data: Path) -> list[tuple[int, int]]:
    """Return for each check on how many nodes it fired, and on how many of these it is violated.

    Raises
    ------
    Exception
        One of `CRASHES`.
    """
    schema = SchemaParser().parse(_schema(rulebook))
    found = [(0, 0)] * len(rulebook.checks)
    for node in SimpleSchematronXMLValidator(schema).validate_xml(etree.parse(data)).node_results:
        for rule in (rule for pattern in node.pattern_results for rule in pattern.rule_results):
            for check in rule.check_results if isinstance(rule, FiredRuleResult) else ():
                index = int(check.check.id.removeprefix("check"))
                fired, failed = found[index]
                found[index] = fired + 1, failed + (check.test_result != isinstance(check.check, Assert))
    return found


def _schema(rulebook: Rulebook) -> etree._Element:
    schema = _MAKE("schema", queryBinding=BINDINGS[rulebook.version])
    schema.extend(_MAKE("ns", prefix=prefix, uri=uri) for prefix, uri in rulebook.namespaces)
    schema.extend(map(_let, rulebook.lets))
    for pattern in rulebook.patterns:
        schema.append(made := _MAKE("pattern", *map(_let, pattern.lets)))
        for rule in pattern.rules:
            checks = (_MAKE(one.kind, "m", id=f"check{one.index}", test=one.test) for one in rule.checks)
            made.append(_MAKE("rule", *map(_let, rule.lets), *checks, context=rule.context))
    return schema


def _let(let: Let) -> etree._Element:
    return _MAKE("let", name=let.name, value=let.value)
