"""What engines say of a test on one record."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree
from saxonche import PySaxonApiError

from masktron.engines.saxon_engine import SaxonEngine


def element(record: Mapping[str, str | None]) -> etree._Element:
    made = etree.Element("Record")
    for name, text in record.items():
        if text is not None:
            etree.SubElement(made, name).text = text
    return etree.fromstring(etree.tostring(made))  # as parsed: without empty text nodes


def saxon_says(test: str, record: Mapping[str, str | None]) -> bool | None:
    """None where Saxon stops with an error."""
    processor = SaxonEngine.processor()
    engine = processor.new_xpath_processor()
    engine.declare_namespace("xs", "http://www.w3.org/2001/XMLSchema")
    document = processor.parse_xml(xml_text=etree.tostring(element(record), encoding="unicode"))
    engine.set_context(xdm_item=document.children[0])
    try:
        return bool(engine.effective_boolean_value(test))
    except PySaxonApiError:
        return None
