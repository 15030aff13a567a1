"""libxml2 and libxslt: a stylesheet compiled here, and, for whole documents, in a process that can be ended.

No more is loaded than that takes, so that the process is there soon. Chunks of records stay in the process that has
them: XPath 1.0 takes a few microseconds for a test on one record, and a whole document may take the square of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from lxml import etree

from masktron.errors import RulebookError

_BASE_URL = "/masktron/rules.xsl"
_lxml: Any = etree
"""lxml without its type stubs, which do not know the XSLT classes."""


class TransformError(Exception):
    """libxslt stopped; the text is its message."""


class _Resolver(_lxml.Resolver):  # type: ignore[misc]
    """Answers for the documents of the rules and for nothing else."""

    def __init__(self, documents: Mapping[str, Callable[[], str]]) -> None:
        self.documents = documents

    def resolve(self, system_url: str, public_id: str, context: Any) -> Any:
        """Return a document; refuse everything else, which the screening of rules has refused before."""
        document = self.documents.get(system_url.rpartition("/")[2])
        if document is None:
            raise RulebookError(f"a rule asks for the document {system_url!r}, which nobody gave")
        return self.resolve_string(document(), context)


class Transform:
    """A compiled stylesheet.

    Parameters
    ----------
    text : str
        XSLT 1.0.
    documents : mapping of str to callable
        What returns the text of each document, by the name that the stylesheet has for it.
    numbers : bool
        Whether it calls the conversions of `masktron.evaluation.xpath1_conversions`.

    Raises
    ------
    TransformError
    """

    def __init__(self, text: str, documents: Mapping[str, Callable[[], str]], *, numbers: bool = False) -> None:
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
            functions = _functions() if numbers else None
            self._transform = _lxml.XSLT(tree, extensions=functions, access_control=access)
        except etree.XSLTParseError as error:
            raise TransformError(_messages(error)) from None

    def __call__(self, root: etree._Element) -> str:
        """Transform the document of a root element.

        Raises
        ------
        TransformError
        """
        try:
            result = self._transform(root)
        except etree.XSLTApplyError as error:
            raise TransformError(_messages(error)) from None
        if len(self._transform.error_log):
            raise TransformError(str(self._transform.error_log[0].message))
        return str(result)


def _functions() -> dict[tuple[str, str], Any]:
    from masktron.evaluation.xpath1_conversions import FUNCTIONS  # noqa: PLC0415 -- few runs need them

    return dict(FUNCTIONS)


def _messages(error: etree.LxmlError) -> str:
    return str(error).strip() or "libxslt stopped without a message"


class Libxml2Engine:
    """Does what it is asked: one method for each question, with texts in and out."""

    def __init__(self) -> None:
        self._transforms: dict[tuple[str, bool, tuple[tuple[str, str], ...]], Transform] = {}

    def ask(self, question: str, *given: Any) -> Any:
        """Answer a question, which is the name of a method."""
        return getattr(self, question)(*given)

    def version(self) -> str:
        """Return the version."""
        return ".".join(map(str, etree.LIBXML_VERSION))

    def run(self, text: str, numbers: bool, documents: Mapping[str, str], document: str) -> str:
        """Transform a document; a stylesheet is compiled once."""
        key = (text, numbers, tuple(documents.items()))
        if key not in self._transforms:
            given = {name: partial(str, content) for name, content in documents.items()}
            self._transforms[key] = Transform(text, given, numbers=numbers)
        # the document was parsed before, by a parser with limits
        parser = etree.XMLParser(no_network=True, resolve_entities=False, huge_tree=True)
        return self._transforms[key](etree.fromstring(document, parser))


def serve() -> None:
    """Serve libxml2 in this process."""
    from masktron.engines.engine_process import serving  # noqa: PLC0415

    serving(Libxml2Engine, lambda error: isinstance(error, TransformError))
