"""The values that the original or another document holds, for rules that ask a field to take one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from masktron.classify.forms import domain_atoms
from masktron.constraints import Form, InDomain
from masktron.engines.engine_process import EngineError
from masktron.engines.saxon import values
from masktron.errors import DocumentError, RulebookError, UsageError
from masktron.problems.problem import Setting
from masktron.rulebook.schema import Rulebook
from masktron.sources.xml.parser import parse_text, parse_tree


def domain_values(
    forms: Collection[Form], rulebook: Rulebook, original: Path | None
) -> Mapping[InDomain, frozenset[str]]:
    """Return the texts of the nodes that every `InDomain` atom of some forms names, in its document.

    Parameters
    ----------
    forms : collection of Form
    rulebook : Rulebook
        Its binding and namespaces read the paths; it holds the documents that are not the original.
    original : Path, optional
        It is opened only where an atom asks for it.

    Raises
    ------
    DocumentError
        The original cannot be read.
    RulebookError
        A path cannot be evaluated.
    """
    namespaces = {prefix: uri for prefix, uri in rulebook.namespaces if prefix}
    read = _libxml2 if rulebook.version == "1.0" else _saxon
    beside = {one.name: one.text for one in rulebook.beside}
    found: dict[InDomain, frozenset[str]] = {}
    asked = domain_atoms(forms)
    for source in dict.fromkeys(atom.source for atom in asked):
        atoms = [atom for atom in asked if atom.source == source]
        if source in beside:
            tree = parse_text(beside[source].encode()).getroottree()
        elif original is None:
            raise UsageError.of(
                "needs-setting",
                rulebook.path,
                name=f"the document {source!r} of the rules",
                needed="the original file",
                setting=Setting("--original", ("FILE",)),
            )
        else:
            tree = parse_tree(original, DocumentError)
        found |= zip(atoms, read(tree, atoms, namespaces), strict=True)
    return found


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
    text = etree.tostring(tree.getroot(), encoding="unicode")
    found = []
    for atom in atoms:
        try:
            found.append(frozenset(values(text, namespaces, f"distinct-values(({atom.path}) ! string())")))
        except EngineError as error:
            raise _unreadable(atom, str(error)) from None
    return found


def _unreadable(atom: InDomain, reason: str) -> RulebookError:
    return RulebookError.of("domain-not-read", path=atom.path, file=atom.source, reason=reason.strip())
