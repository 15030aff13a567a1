"""The two engines that decide: a stylesheet compiled once, run on many documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lxml import etree

from masktron.errors import DocumentError, RulebookError
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.stylesheet_scope import ORIGINAL, ORIGINAL_URI
from masktron.read.encoding import Encoding
from masktron.read.parser import parse_tree, tree_parser
from masktron.read.saxon import SaxonError, careful_processor, compile_stylesheet, processor, silenced

if TYPE_CHECKING:
    from saxonche import PyXdmNode

_BASE_URL = "/masktron/rules.xsl"
_lxml: Any = etree
"""lxml without its type stubs, which do not know the XSLT classes."""


class EngineError(Exception):
    """An engine stopped; the text is its message. It never reaches the user without the rule that caused it."""


class InternalEngineError(EngineError):
    """An engine stopped by a fault of its own: what it was asked has an answer, and may be asked in another way."""


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


def describe(engine: EngineName) -> str:
    """Return the name and version of an engine."""
    if engine == "saxon":
        return str(processor().version).removesuffix(" from Saxonica")
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
    text: str, engine: EngineName, original: Original | None = None, *, careful: bool = False
) -> Program:
    """Compile a stylesheet of ours.

    Parameters
    ----------
    text : str
    engine : {"libxml2", "saxon"}
    original : Original, optional
    careful : bool
        Whether Saxon optimises nothing, so that some of its internal errors do not arise.

    Raises
    ------
    EngineError
        The engine does not take an expression in it.
    """
    return _Saxon(text, original, careful=careful) if engine == "saxon" else _Libxml2(text, original)


class _OriginalResolver(_lxml.Resolver):  # type: ignore[misc]
    """Answers for the original and for nothing else."""

    def __init__(self, original: Original | None) -> None:
        self.original = original

    def resolve(self, system_url: str, public_id: str, context: Any) -> Any:
        """Return the original; refuse everything else, which the screening of rules has refused before."""
        if self.original is None or not system_url.endswith(f"/{ORIGINAL_URI}"):
            raise RulebookError(f"a rule asks for the document {system_url!r}, which is not the original")
        return self.resolve_string(self.original.text, context)


class _Libxml2:
    def __init__(self, text: str, original: Original | None) -> None:
        parser = etree.XMLParser(no_network=True, resolve_entities=False)
        parser.resolvers.add(_OriginalResolver(original))
        # even what the resolver answers needs the right to read files
        access = _lxml.XSLTAccessControl(
            read_file=original is not None,
            write_file=False,
            create_dir=False,
            read_network=False,
            write_network=False,
        )
        try:
            self._transform = _lxml.XSLT(etree.fromstring(text, parser, base_url=_BASE_URL), access_control=access)
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
        try:
            result = self._transform(root)
        except etree.XSLTApplyError as error:
            raise EngineError(_messages(error)) from None
        if len(self._transform.error_log):
            raise EngineError(str(self._transform.error_log[0].message))
        return str(result)


def _messages(error: etree.LxmlError) -> str:
    return str(error).strip() or "libxslt stopped without a message"


class _Saxon:
    def __init__(self, text: str, original: Original | None, *, careful: bool) -> None:
        self._processor = careful_processor() if careful else processor()
        try:
            self._executable = compile_stylesheet(text, careful=careful)
        except SaxonError as error:
            raise EngineError(error.first) from None
        if original is not None and f"${ORIGINAL}" in text:
            self._executable.set_parameter(ORIGINAL, self._processor.parse_xml(xml_text=original.text))

    def run(self, root: etree._Element) -> str:
        return self.run_parsed(self._parsed(etree.tostring(root, encoding="unicode"), EngineError))

    def run_bytes(self, document: bytes, encoding: Encoding, guard: Guard) -> str:
        return self.run_parsed(self.parse(document, encoding, guard))

    def parse(self, document: bytes, encoding: Encoding, guard: Guard) -> PyXdmNode:
        try:
            text = document[len(encoding.bom) :].decode(encoding.codec)
        except UnicodeDecodeError as problem:
            raise NotFramedError(str(problem)) from None
        # the declaration speaks of bytes
        node = self._parsed(text[len(encoding.declaration) :], NotFramedError)
        if not self._passes(node, guard):
            raise NotFramedError(guard.test)
        return node

    def run_parsed(self, node: PyXdmNode) -> str:
        from saxonche import PySaxonApiError  # noqa: PLC0415 - heavy

        try:
            with silenced():
                return str(self._executable.transform_to_string(xdm_node=node) or "")
        except PySaxonApiError as error:
            problem = SaxonError(str(error))
            raise (InternalEngineError if problem.internal else EngineError)(problem.first) from None

    def _parsed(self, text: str, error: type[Exception]) -> PyXdmNode:
        from saxonche import PySaxonApiError  # noqa: PLC0415 - heavy

        try:
            with silenced():
                return self._processor.parse_xml(xml_text=text)
        except PySaxonApiError as problem:
            raise error(SaxonError(str(problem)).first) from None

    def _passes(self, node: PyXdmNode, guard: Guard) -> bool:
        xpath = self._processor.new_xpath_processor()
        for prefix, uri in guard.prefixes:
            xpath.declare_namespace(prefix, uri)
        xpath.set_context(xdm_item=node)
        with silenced():
            return bool(xpath.effective_boolean_value(guard.test))
