"""Read a Schematron rulebook: the one entry point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
from masktron.rulebook.expressions.forbidden import DocumentCall, screen
from masktron.rulebook.schema import Rulebook, XPathVersion
from masktron.rulebook.schematron.expressions import compile_all, expressions
from masktron.rulebook.schematron.inclusions import IncludedFiles, iso_children, load
from masktron.rulebook.schematron.resolution import resolve
from masktron.rulebook.schematron.structure import check_structure, flatten
from masktron.rulebook.schematron.vocabulary import check_edition, check_included, check_vocabulary

BINDINGS: Mapping[str, XPathVersion] = MappingProxyType(
    {
        "": "1.0",
        "xslt": "1.0",
        "xslt1": "1.0",
        "xpath": "1.0",
        "xslt2": "2.0",
        "xpath2": "2.0",
        "xslt3": "3.1",
        "xpath3": "3.1",
        "xpath31": "3.1",
    }
)
"""The XPath version of each query binding. ISO names XPath 3.0 for the third; 3.1 contains it and is what runs."""


def read_rules(path: str | Path, phase: str | None = None, *, called: Path | None = None) -> Rulebook:
    """Read and resolve a rulebook, and compile every expression in it.

    Parameters
    ----------
    path : str or Path
        Schematron in the ISO namespace, the old one of Schematron 1.5, or none.
    phase : str, optional
        Id of a phase, ``#ALL`` or ``#DEFAULT``; by default the schema's ``defaultPhase``, else all patterns.
    called : Path, optional
        What the file is going to be called, where it is not in its place yet.

    Returns
    -------
    Rulebook
        Patterns, rules and checks in document order, inclusions counted where they stand.

    Raises
    ------
    RulebookError
        The rulebook is missing, malformed or not Schematron; it includes what lies outside its folder; it calls a
        forbidden function; an expression is not XPath; the phase is unknown; there is nothing to check.
    """
    schema, sources = load(Path(path), called)
    binding = schema.get("queryBinding", "").strip()
    version = _version(binding, schema, sources)
    check_edition(schema, sources)
    check_included(sources)
    check_vocabulary(schema, sources)
    flatten(schema)
    check_structure(schema, sources)
    namespaces = tuple((ns.get("prefix", ""), ns.get("uri", "")) for ns in iso_children(schema, "ns"))
    namespaces = tuple(dict.fromkeys(namespaces))
    lets, patterns, about = resolve(schema, sources, phase, namespaces, version)
    rulebook = Rulebook(
        path=called or Path(path),
        binding=binding or "xslt",
        namespaces=namespaces,
        lets=lets,
        patterns=patterns,
        notes=tuple(sources.notes),
        about=about,
    )
    compile_all(rulebook)
    return replace(rulebook, documents=tuple(dict.fromkeys(call.uri for call in _documents(rulebook))))


def _version(binding: str, schema: etree._Element, sources: IncludedFiles) -> XPathVersion:
    version = BINDINGS.get(binding.lower())
    if version is None:
        raise RulebookError.of(
            "bad-value",
            str(sources.origin(schema)),
            name="queryBinding",
            expected=f"one of {', '.join(filter(None, BINDINGS))}",
            given=repr(binding),
        )
    return version


def _documents(rulebook: Rulebook) -> Iterator[DocumentCall]:
    """Yield every call of ``document()`` and ``doc()``."""
    for expression in expressions(rulebook):
        yield from screen(expression.source, expression.origin, rulebook.namespaces)
