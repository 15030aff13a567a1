"""The engines that decide: a stylesheet becomes a program, run on many documents; libxml2 calls conversions of ours.

They stand in stylesheets where `masktron.judge.conversions` puts them. A set of nodes comes as a list of
elements and texts in the order of the document; libxml2's Python interface leaves document nodes out of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from lxml import etree

from masktron.child_process import silence_streams
from masktron.engines import saxon
from masktron.engines.engine_process import EngineError, EngineProcess
from masktron.errors import DocumentError, RulebookError, UsageError
from masktron.judge.conversions import URI
from masktron.judge.rewriting import document_name
from masktron.judge.stylesheet import EngineName
from masktron.problems.problem import Known, Setting
from masktron.processes import interpreter, is_member, rule_seconds
from masktron.rulebook.expressions.tree import RELATIONS
from masktron.rulebook.schema import Document, Rulebook
from masktron.sources.lexical import is_misread, xpath1_number, xpath1_text
from masktron.sources.xml.parser import Encoding, parse_tree, tree_parser

_BASE_URL = "/masktron/rules.xsl"
_lxml: Any = etree
"""lxml without its type stubs, which do not know the XSLT classes."""


class _Resolver(_lxml.Resolver):  # type: ignore[misc]
    """Answers for the documents of the rules and for nothing else."""

    def __init__(self, documents: Mapping[str, Callable[[], str]]) -> None:
        self.documents = documents

    def resolve(self, system_url: str, public_id: str, context: Any) -> Any:
        """Return a document; refuse everything else, which the screening of rules has refused before."""
        document = self.documents.get(system_url.rpartition("/")[2])
        if document is None:
            known = Known(system_url, tuple(self.documents))
            raise RulebookError.of("unknown-name", kind="document", name=system_url, known=known)
        return self.resolve_string(document(), context)


def _messages(error: etree.LxmlError) -> str:
    return str(error).strip() or "libxslt stopped without a message"


APART = 200_000
"""Characters of a whole document from which on libxml2 has a process for it, as it can take the square of its size:
to start one takes a tenth of a second."""


class Program(Protocol):
    """A compiled stylesheet, for use in the thread that compiled it."""

    def run(self, root: etree._Element) -> str:
        """Transform the document of a root element.

        Raises
        ------
        EngineError
        """
        ...

    def run_bytes(self, document: bytes, encoding: Encoding, guard: Guard) -> str:
        """Transform a document that the engine's own parser reads.

        Parameters
        ----------
        document : bytes
            With its byte order mark and declaration, if it has them.
        encoding : Encoding
        guard : Guard

        Raises
        ------
        EngineError
        NotFramedError
            The document is not well-formed, or not as the guard wants it.
        """
        ...

    def parse(self, document: bytes, encoding: Encoding, guard: Guard) -> Any:
        """Read a document as `run_bytes` does, for several programs of the same engine.

        Raises
        ------
        NotFramedError
            As there.
        """
        ...

    def run_parsed(self, document: Any) -> str:
        """Transform what `parse` returned.

        Raises
        ------
        EngineError
        """
        ...


class Original:
    """The original file that ``document()`` names, read once.

    Parameters
    ----------
    path : Path
    known : bool
        Whether it is known to be well-formed: then it is not read before a rule asks for it.
    text : str
        The document itself, where it is no file.
    """

    def __init__(self, path: Path, *, known: bool = False, text: str = "") -> None:
        self._path = path
        self._text = text or ("" if known else self._read())

    def _read(self) -> str:
        return etree.tostring(parse_tree(self._path, DocumentError).getroot(), encoding="unicode")

    @property
    def text(self) -> str:
        """The document, without declaration or document type."""
        self._text = self._text or self._read()
        return self._text


@dataclass(frozen=True, slots=True)
class Documents:
    """What ``document()`` and ``doc()`` in the rules return.

    Attributes
    ----------
    original : Original or None
        None where no rule reads it.
    beside : tuple of Document
        As in the rulebook.
    """

    original: Original | None
    beside: tuple[Document, ...] = ()

    @classmethod
    def of(cls, rulebook: Rulebook, original: Path | Original | None, *, known: bool = False) -> Documents | None:
        """Return the documents of a rulebook; None where it names none.

        Parameters
        ----------
        original : Path or Original, optional
        known : bool
            As for `Original`.

        Raises
        ------
        UsageError
            A rule reads the original, and nobody gave it.
        DocumentError
            The original cannot be read.
        """
        if not rulebook.documents:
            return None
        if not rulebook.reads_original:
            return cls(None, rulebook.beside)
        if original is None:
            named = {one.name for one in rulebook.beside}
            name = next(name for name in rulebook.documents if name not in named)
            raise UsageError.of(
                "needs-setting",
                rulebook.path,
                name=f"the document {name!r} of the rules",
                needed="the original file",
                setting=Setting("--original", ("FILE",)),
            )
        return cls(original if isinstance(original, Original) else Original(original, known=known), rulebook.beside)

    def texts(self) -> dict[str, Callable[[], str]]:
        """Return by the name in stylesheets what returns the text of each document."""
        found: dict[str, Callable[[], str]] = {
            document_name(place): partial(getattr, one, "text") for place, one in enumerate(self.beside)
        }
        if self.original is not None:
            found[document_name(None)] = partial(getattr, self.original, "text")
        return found


def describe_engine(engine: EngineName) -> str:
    """Return the name and version of an engine."""
    if engine == "saxon":
        return saxon.version()
    return f"libxml2 {_dotted(etree.LIBXML_VERSION)} (libxslt {_dotted(etree.LIBXSLT_VERSION)})"


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


class NotFramedError(Exception):
    """A document did not pass the test that was asked of it; it never reaches the user."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What has to be true of a document.

    Attributes
    ----------
    test : str
        In XPath 1.0.
    prefixes : tuple of (prefix, uri)
    """

    test: str
    prefixes: tuple[tuple[str, str], ...] = ()


def compile_program(
    text: str,
    engine: EngineName,
    documents: Documents | None = None,
    *,
    careful: bool = False,
    apart: int | None = None,
) -> Program:
    """Compile a stylesheet of ours.

    Parameters
    ----------
    text : str
    engine : {"recommended", "libxml2", "saxon"}
    documents : Documents, optional
    careful : bool
        Whether Saxon optimises nothing, so that some of its internal errors do not arise.
    apart : int, optional
        Characters of a document from which on libxml2 has a process of its own for it, since it may take long.

    Raises
    ------
    EngineError
        The engine does not take an expression in it.
    """
    named = {} if documents is None else documents.texts()
    if engine == "saxon":
        return _Saxon(text, named, careful=careful)
    return _Libxml2(text, named, numbers=engine == "recommended", apart=apart)


class _Libxml2:
    """libxml2, for documents of some size in another process, which is ended where it takes long.

    Parameters
    ----------
    text : str
        XSLT 1.0.
    documents : mapping of str to callable
        What returns the text of each document, by the name that the stylesheet has for it.
    numbers : bool
        Whether it calls the conversions of XPath 1.0 that stand here.
    apart : int, optional
        Characters of a document from which on it goes to the other process.
    """

    def __init__(
        self, text: str, documents: Mapping[str, Callable[[], str]], *, numbers: bool, apart: int | None = None
    ) -> None:
        self._given = (text, numbers)
        self._documents = documents
        self._apart = apart
        parser = etree.XMLParser(no_network=True, resolve_entities=False)
        parser.resolvers.add(_Resolver(documents))
        # even what the resolver answers needs the right to read files
        access = _lxml.XSLTAccessControl(
            read_file=bool(documents),
            write_file=False,
            create_dir=False,
            read_network=False,
            write_network=False,
        )
        try:
            tree = etree.fromstring(text, parser, base_url=_BASE_URL)
            functions = dict(FUNCTIONS) if numbers else None
            self._transform = _lxml.XSLT(tree, extensions=functions, access_control=access)
        except etree.XSLTParseError as error:
            raise EngineError(_messages(error)) from None

    def run_bytes(self, document: bytes, encoding: Encoding, guard: Guard) -> str:
        return self.run(self.parse(document, encoding, guard))

    def parse(self, document: bytes, encoding: Encoding, guard: Guard) -> etree._Element:
        try:
            root = etree.fromstring(document, tree_parser())
        except etree.XMLSyntaxError as problem:
            raise NotFramedError(str(problem)) from None
        if not root.getroottree().xpath(guard.test, namespaces=dict(guard.prefixes) or None):
            raise NotFramedError(guard.test)
        return root

    def run_parsed(self, document: etree._Element) -> str:
        return self.run(document)

    def run(self, root: etree._Element) -> str:
        if self._apart is not None and not is_member() and interpreter() is not None:
            document = etree.tostring(root, encoding="unicode")
            if len(document) >= self._apart:
                return self._run_apart(document)
        try:
            result = self._transform(root)
        except etree.XSLTApplyError as error:
            raise EngineError(_messages(error)) from None
        if len(self._transform.error_log):
            raise EngineError(str(self._transform.error_log[0].message))
        return str(result)

    def _run_apart(self, document: str) -> str:
        documents = {name: text() for name, text in self._documents.items()}
        return str(_APART.engine.within(rule_seconds(), "run", *self._given, documents, document))


def opened_libxml2() -> Callable[[tuple[str, tuple[Any, ...]]], str]:
    """Open libxml2 in a process that serves it: it has one question, to transform a document."""
    programs: dict[tuple[str, bool, tuple[tuple[str, str], ...]], _Libxml2] = {}

    def run(text: str, numbers: bool, documents: Mapping[str, str], document: str) -> str:
        key = (text, numbers, tuple(documents.items()))  # a stylesheet is compiled once
        if key not in programs:
            given = {name: partial(str, content) for name, content in documents.items()}
            programs[key] = _Libxml2(text, given, numbers=numbers)
        # the document was parsed before, by a parser with limits
        parser = etree.XMLParser(no_network=True, resolve_entities=False, huge_tree=True)
        return programs[key].run(etree.fromstring(document, parser))

    silence_streams()  # what it prints quotes values of records
    return lambda asked: run(*asked[1])


class _Apart(threading.local):
    """The process of a thread."""

    def __init__(self) -> None:
        self.engine = EngineProcess("libxml2", opened_libxml2)


_APART = _Apart()


class _Saxon:
    def __init__(self, text: str, documents: Mapping[str, Callable[[], str]], *, careful: bool) -> None:
        asked = {name: document() for name, document in documents.items() if f"${name}" in text}
        self._stylesheet = saxon.Stylesheet(text, careful=careful, documents=asked)

    def run(self, root: etree._Element) -> str:
        return self._stylesheet.run(etree.tostring(root, encoding="unicode"))

    def run_bytes(self, document: bytes, encoding: Encoding, guard: Guard) -> str:
        return self.run_parsed(self.parse(document, encoding, guard))

    def parse(self, document: bytes, encoding: Encoding, guard: Guard) -> saxon.SaxonDocument:
        try:
            text = document[len(encoding.bom) :].decode(encoding.codec)
            # the declaration speaks of bytes
            parsed = saxon.SaxonDocument(text[len(encoding.declaration) :], guard.test, dict(guard.prefixes))
        except (UnicodeDecodeError, EngineError) as problem:
            raise NotFramedError(str(problem)) from None
        if not parsed.passed:
            raise NotFramedError(guard.test)
        return parsed

    def run_parsed(self, document: saxon.SaxonDocument) -> str:
        return self._stylesheet.run_parsed(document)


_REMEMBERED = 1 << 16
"""Texts whose numbers are kept."""

read_number = lru_cache(maxsize=_REMEMBERED)(xpath1_number)
"""`masktron.sources.lexical.xpath1_number`, which is asked for the same codes and amounts again and again."""
misread = lru_cache(maxsize=_REMEMBERED)(is_misread)
"""`masktron.sources.lexical.is_misread`, likewise."""

_string_of = etree.XPath("string()")
_is_plain = etree.XPath(
    "not(descendant-or-self::*/@* or */* or */node()[2] or .//comment() or .//processing-instruction())"
)


def string_value(node: Any) -> str:
    """Return the string-value of a node, as libxml2's Python interface hands it over."""
    if isinstance(node, str):
        return node
    if isinstance(node, tuple):  # a namespace: its prefix and URI
        return str(node[1])
    if len(node) or not isinstance(node.tag, str):
        return (node.text or "") if not isinstance(node.tag, str) else str(_string_of(node))
    return node.text or ""


def _number(_context: Any, value: Any) -> float:
    if isinstance(value, list):
        return read_number(string_value(value[0])) if value else float("nan")
    return read_number(value) if isinstance(value, str) else float(value)


def _string(_context: Any, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return xpath1_text(value)
    return value if isinstance(value, str) else string_value(value[0]) if value else ""


def _sum(_context: Any, nodes: Any) -> float:
    total = 0.0
    for node in nodes:
        total += read_number(string_value(node))
    return total


def _compare(_context: Any, symbol: str, left: Any, right: Any) -> bool:
    """Compare as section 3.4 says."""
    relation: Callable[[Any, Any], bool] = RELATIONS[symbol]
    equality = symbol in ("=", "!=")
    if isinstance(left, bool) or isinstance(right, bool):
        one, other = _truth(left), _truth(right)
        if equality:
            return relation(one, other)
        # in an order both are numbers, but a set of nodes meets a boolean as one
        return relation(_ordered(left), _ordered(right))
    if isinstance(left, list) or isinstance(right, list):
        as_texts = equality and not (isinstance(left, float) or isinstance(right, float))
        read = (lambda item: item) if as_texts else _item_number
        others = [read(item) for item in _items(right)]
        return any(relation(one, other) for one in map(read, _items(left)) for other in others)
    if equality and isinstance(left, str) and isinstance(right, str):
        return relation(left, right)
    return relation(_item_number(left), _item_number(right))


def _truth(value: Any) -> bool:
    if isinstance(value, float):
        return value != 0 and value == value  # noqa: PLR0124 -- NaN
    return bool(value)


def _ordered(value: Any) -> float:
    return float(bool(value)) if isinstance(value, list | bool) else _item_number(value)


def _items(value: Any) -> Iterator[Any]:
    return map(string_value, value) if isinstance(value, list) else iter((value,))


def _item_number(item: Any) -> float:
    return read_number(item) if isinstance(item, str) else float(item)


FUNCTIONS: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType(
    {(URI, "number"): _number, (URI, "string"): _string, (URI, "sum"): _sum, (URI, "compare"): _compare}
)
"""Extension functions for libxslt, by namespace and name."""


def misreads(element: etree._Element) -> bool:
    """Tell whether libxml2 misreads a value in an element: that of a node in it, or its own."""
    texts = [str(text) for text in element.itertext()]
    if any(map(misread, texts)) or is_misread("".join(texts)):
        return True
    # of an element with plain fields only these texts and their sequence are values
    return not _is_plain(element) and _misreads_below(element)


def _misreads_below(element: etree._Element) -> bool:
    for node in element.iter():
        text = node.text
        if text and misread(text):
            return True
        if len(node):
            if any(child.tail and misread(child.tail) for child in node):
                return True
            if node.tag is not etree.Entity and is_misread(str(_string_of(node))):
                return True
        if any(map(misread, node.values())):
            return True
    return False
