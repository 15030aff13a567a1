"""Evaluation of a test without normal form, on a record that has no more than the fields it names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from lxml import etree

from masktron.engines import saxon
from masktron.engines.engine_process import TooLongError
from masktron.errors import ResourceError, RulebookError
from masktron.processes import rule_seconds
from masktron.rulebook.expressions.forbidden import shortened
from masktron.rulebook.expressions.namespaces import STANDARD_NAMESPACES
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import free_variables


def undecidable(test: str, version: str) -> str:
    """Say why the engine cannot evaluate a test on a record of plain fields; empty where it can.

    A record has no variables, and none of the functions that only XSLT has; and some of what a rule reads at a field
    has no spelling at the record in XPath 1.0.
    """
    if version != "1.0":
        return _misspelled(test)
    try:
        _compiled(test)(etree.Element("Record"))
    except etree.XPathError as error:
        return f"libxml2 cannot evaluate it on one record: {error}"
    return ""


def decide(test: str, version: str, values: Mapping[str, str | None]) -> bool:
    """Evaluate an XPath test on a record of plain fields.

    Parameters
    ----------
    test : str
        XPath in terms of field names without prefixes.
    version : str
        ``1.0``: libxml2 decides; later: Saxon.
    values : mapping of str to str or None
        Lexemes by field name; None where absent.

    Returns
    -------
    bool
        The effective boolean value; False for a dynamic error of XPath 2 and later, which no record of a value
        satisfies, and for a text that XML cannot hold.

    Raises
    ------
    RulebookError
        The engine cannot evaluate the test, whatever the values: it is no XPath of this version, or asks for what a
        record does not have.
    """
    record = etree.Element("Record")
    try:
        for name, text in values.items():
            if text is not None and name.startswith("@"):
                record.set(name[1:], text)
            elif text is not None:
                etree.SubElement(record, name).text = text or None  # "" would make an empty text node
    except ValueError:
        return False
    return _libxml2(test, record) if version == "1.0" else _saxon(test, record)


@lru_cache(maxsize=256)
def _compiled(test: str) -> etree.XPath:
    return etree.XPath(f"boolean({test})")


def _libxml2(test: str, record: etree._Element) -> bool:
    try:
        return bool(_compiled(test)(record))
    except etree.XPathError as error:  # XPath 1.0 has no dynamic errors: the test itself is wrong
        raise _not_evaluated("libxml2", test, str(error)) from None


def _not_evaluated(engine: str, test: str, reason: str) -> RulebookError:
    return RulebookError.of("cannot-evaluate", engine=engine, expression=shortened(test), reason=reason)


def _saxon(test: str, record: etree._Element) -> bool:
    try:
        return _evaluated(test, record)
    except saxon.SaxonError:
        if problem := _misspelled(test):
            raise _not_evaluated("Saxon", test, problem) from None
        return False


def _evaluated(test: str, record: etree._Element) -> bool:
    try:
        return saxon.decide(etree.tostring(record, encoding="unicode"), STANDARD_NAMESPACES, test)
    except TooLongError:
        seconds, expression = rule_seconds(), shortened(test)
        raise ResourceError.of(
            "rule-too-slow", engine="Saxon", seconds=seconds, expression=expression, on="on one value"
        ) from None


@lru_cache(maxsize=256)
def _misspelled(test: str) -> str:
    """Say what Saxon has against a test before any value: it parses a branch that it never takes.

    It takes a variable without a value for one that will be given later, so those are looked for here.
    """
    tree = understood(test) if "$" in test else None
    if free := sorted(free_variables(tree)) if tree is not None else []:
        return f"${free[0]} has no value there"
    try:
        _evaluated(f"if (self::Nothing) then boolean({test}) else true()", etree.Element("Record"))
    except saxon.SaxonError as error:
        return str(error)
    return ""
