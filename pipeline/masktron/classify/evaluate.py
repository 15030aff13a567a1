"""Evaluation of a test without normal form, on a record that has no more than the fields it names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from lxml import etree

from masktron.read.saxon import processor


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
        The effective boolean value; False for a dynamic error, and for a text that XML cannot hold.
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
    except etree.XPathError:
        return False


def _saxon(test: str, record: etree._Element) -> bool:
    from saxonche import PySaxonApiError  # noqa: PLC0415 -- a library of 60 MB, for rules of XPath 2 and later only

    engine = processor().new_xpath_processor()
    engine.declare_namespace("xs", "http://www.w3.org/2001/XMLSchema")
    document = processor().parse_xml(xml_text=etree.tostring(record, encoding="unicode"))
    try:
        engine.set_context(xdm_item=document.children[0])
        return bool(engine.effective_boolean_value(test))
    except PySaxonApiError:
        return False
