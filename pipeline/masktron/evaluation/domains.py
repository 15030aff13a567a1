"""The values that the original holds, for rules that ask a field to take one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from masktron.classify.forms import domain_atoms
from masktron.constraints import Form, InDomain
from masktron.errors import DocumentError, RulebookError
from masktron.read.parser import parse_tree
from masktron.read.rulebook import Rulebook
from masktron.read.saxon import processor, silenced


def domain_values(forms: Collection[Form], rulebook: Rulebook, original: Path) -> Mapping[InDomain, frozenset[str]]:
    """Return the texts of the nodes that every `InDomain` atom of some forms names, in the original.

    Parameters
    ----------
    forms : collection of Form
    rulebook : Rulebook
        Its binding and namespaces read the paths.
    original : Path
        What ``document()`` means; it is opened only where an atom asks for it.

    Raises
    ------
    DocumentError
        The original cannot be read.
    RulebookError
        A path cannot be evaluated.
    """
    atoms = domain_atoms(forms)
    if not atoms:
        return {}
    tree = parse_tree(original, DocumentError)
    namespaces = {prefix: uri for prefix, uri in rulebook.namespaces if prefix}
    texts = _libxml2(tree, atoms, namespaces) if rulebook.version == "1.0" else _saxon(tree, atoms, namespaces)
    return dict(zip(atoms, texts, strict=True))


def _libxml2(
    tree: etree._ElementTree, atoms: Collection[InDomain], namespaces: Mapping[str, str]
) -> list[frozenset[str]]:
    found = []
    for atom in atoms:
        try:
            nodes: Any = tree.xpath(atom.path, namespaces=dict(namespaces) or None)
        except etree.XPathError as error:
            raise _unreadable(atom, str(error)) from None
        # a text or an attribute comes as a string, an element as itself
        found.append(frozenset(str(n) if isinstance(n, str) else n.xpath("string()") for n in nodes))
    return found


def _saxon(
    tree: etree._ElementTree, atoms: Collection[InDomain], namespaces: Mapping[str, str]
) -> list[frozenset[str]]:
    from saxonche import PySaxonApiError  # noqa: PLC0415 -- a library of 60 MB, for rules of XPath 2 and later only

    engine = processor().new_xpath_processor()
    for prefix, uri in namespaces.items():
        engine.declare_namespace(prefix, uri)
    engine.set_context(xdm_item=processor().parse_xml(xml_text=etree.tostring(tree.getroot(), encoding="unicode")))
    found = []
    for atom in atoms:
        try:
            with silenced():
                values = engine.evaluate(f"distinct-values(({atom.path}) ! string())")
        except PySaxonApiError as error:
            raise _unreadable(atom, str(error)) from None
        found.append(frozenset(str(item) for item in values or ()))
    return found


def _unreadable(atom: InDomain, message: str) -> RulebookError:
    return RulebookError(
        f"the path {atom.path} does not select values of the original: {message}",
        hint="write the path from the root of the document, as in document('original.xml')//Record/V1",
    )
