"""Microdata as columns, and as small documents for engines that evaluate XPath and XSLT."""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Field as FieldName
from masktron.problems.problem import Place
from masktron.progress import Told, untold
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE
from masktron.sources.record_layout import Layout
from masktron.sources.variables import Variable
from masktron.sources.xml.parser import ended, pulled, scan

if TYPE_CHECKING:
    from masktron.sources.array_stores import ArrayStore
    from masktron.sources.xml.blocks import PlainFile

_BLOCK = 1 << 14

_OFTEN = 1 << 12
"""Records after which a stage is told how far it is."""
EVERY_FIELD = "*"
"""Key of the missing codes that hold for all fields."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Where records stand in the file, as expat counts.

    Attributes
    ----------
    path : Path
    codec : str
        Python's codec of the file.
    starts : ndarray of int64, shape (records,)
        Offset in the file, in bytes, of the start tag of each record.
    lines, columns : ndarray of int64, shape (records,)
        The same as line, from 1, and column in characters, from 1.
    """

    path: Path
    codec: str
    starts: NDArray[np.int64]
    lines: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, first: int, count: int) -> Spans:
        """Return the spans of some consecutive records."""
        chosen = slice(first, first + count)
        return Spans(self.path, self.codec, self.starts[chosen], self.lines[chosen], self.columns[chosen])

    def text(self, record: int) -> Iterator[bytes]:
        """Yield the file from a record on, in UTF-8, block by block."""
        decoder = codecs.getincrementaldecoder(self.codec)()
        with self.path.open("rb") as stream:
            stream.seek(int(self.starts[record]))
            while block := stream.read(_BLOCK):
                yield decoder.decode(block).encode()


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some consecutive records in a document of their own.

    Attributes
    ----------
    root : Element
        The root with its attributes and namespaces, in it the parents of records, in them whole records. Of what
        else the file has beside its records, only white space is here.
    first : int
        Position of the first of these records in the file, from 0.
    spans : Spans
        Of these records.
    """

    root: etree._Element
    first: int
    spans: Spans

    @property
    def lines(self) -> NDArray[np.int64]:
        """True source line (from 1) on which each record begins."""
        return self.spans.lines


def read_records(
    path: str | Path,
    layout: Layout,
    *,
    missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
    plain: PlainFile | None = None,
    told: Told = untold,
    only: Collection[str] | None = None,
    store: ArrayStore | None = None,
) -> Dataset:
    """Read a flat file into columns.

    Parameters
    ----------
    path : str or Path
    layout : Layout
        From `masktron.sources.xml.plain.survey`.
    missing : mapping of str to frozenset of str
        Declared missing codes by field name, ``*`` for all fields; see `masktron.sources.variables`.
    plain : PlainFile, optional
        What the survey knows of a large file: it is read in batches then, which changes nothing but the time.
    told : callable, optional
        Told of the records read, and of how many there are.
    only : collection of str, optional
        Fields that are wanted, all by default; more may be there.
    store : ArrayStore, optional
        Where the columns of a file that is read in batches are; those of others are in memory.

    Returns
    -------
    Dataset
        Possibly without any record.

    Raises
    ------
    DocumentError
        The file cannot be parsed, or a record is not flat: nothing is guessed.
    """
    path = Path(path)
    everywhere = missing.get(EVERY_FIELD, frozenset())
    codes = {f.name: missing.get(f.name, frozenset()) | everywhere for f in layout.fields}
    if plain is not None:
        # numba is slow to load, and small files have no batches
        from masktron.sources.xml.table import read_table  # noqa: PLC0415

        found = read_table(path, layout, plain, codes, told, store)
        if found is not None:
            return found
    lines = record_lines(path, layout)
    table = _Table(path, layout, lines)
    for position, record in enumerate(_released(path, layout)):
        if position % _OFTEN == 0:
            told(position, len(lines))
        table.add(record)
    told(len(lines), len(lines))
    table.close()
    wanted = (f for f in layout.fields if only is None or f.name in only)
    columns = {f.name: Column.of_cells(Variable.named(f.name), table.cells[f.name], codes[f.name]) for f in wanted}
    return Dataset.flat(path, layout, columns, lines)


def iter_chunks(path: str | Path, layout: Layout, size: int = 5000, *, spans: Spans | None = None) -> Iterator[Chunk]:
    """Yield the records of a file of any shape, `size` at a time, each in a small document.

    The whole file is read once before the first chunk, so a file that is broken at its end yields nothing.

    Parameters
    ----------
    path : str or Path
    layout : Layout
    size : int
    spans : Spans, optional
        What `record_spans` says of the file, by which it has been read before.

    Raises
    ------
    DocumentError
        The file cannot be parsed.
    """
    path = Path(path)
    spans = record_spans(path, layout) if spans is None else spans
    for root, first, count in iter_documents(path, layout, len(spans), size):
        yield Chunk(root, first, spans.part(first, count))


def iter_documents(
    path: Path, layout: Layout, records: int, size: int = 5000
) -> Iterator[tuple[etree._Element, int, int]]:
    """Yield the records of a file that has been read whole before, as `iter_chunks` does.

    Parameters
    ----------
    path : Path
    layout : Layout
    records : int
        How many there are, as another parser has counted them.
    size : int

    Yields
    ------
    root : Element
        A small document.
    first, count : int
        Position of its first record, and how many it has.

    Raises
    ------
    DocumentError
        The file cannot be parsed, or has another number of records.
    """
    first = 0
    for root, count in _chunked(path, layout, size):
        yield root, first, count
        first += count
    if first != records:
        raise DocumentError.of("readings-differ", path, what=f"the number of records: {first:,} and {records:,}")


def chunk_document(layout: Layout, rows: Sequence[Mapping[str, str | None]]) -> etree._Element:
    """Build a document like those of `iter_chunks` from lexemes.

    Parameters
    ----------
    layout : Layout
    rows : sequence of mapping of str to (str or None)
        Lexemes by field name; a field that is None or not given is absent.

    Returns
    -------
    Element
        The root.
    """
    nsmap: Any = dict(layout.nsmap)
    root = etree.Element(layout.record_path[0], dict(layout.root_attributes), nsmap)
    parent = root
    for tag in layout.record_path[1:-1]:
        parent = etree.SubElement(parent, tag)
    for row in rows:
        record = etree.SubElement(parent, layout.record_tag)
        for f in layout.fields:
            lexeme = row.get(f.name)
            if lexeme is None:
                continue
            if f.attribute:
                record.set(f.tag, lexeme)
            else:
                etree.SubElement(record, f.tag).text = lexeme
    return root


def record_lines(path: str | Path, layout: Layout) -> NDArray[np.int64]:
    """Return the line on which the start tag of each record begins.

    libxml2 keeps 16 bits for a line and guesses beyond 65,535 from the text that follows, wrongly where a record
    begins with a line end; expat counts.
    """
    return record_spans(path, layout).lines.copy()  # and not what else is known of records


def record_spans(path: str | Path, layout: Layout) -> Spans:
    """Read a whole file and find where its records begin."""
    path = Path(path)
    found = array("q")
    encoding = scan(path, lambda parser: _attach_spans(parser, layout, found))
    starts, lines, columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Spans(path, encoding.codec, starts, lines, columns + 1)


def frame_of(path: str | Path, layout: Layout) -> etree._Element | None:
    """Return the parent of the first record of a file without any record, below its ancestors as in `iter_chunks`.

    None where the file has no record.
    """
    for record in _released(Path(path), layout):
        return _copied(record.getparent(), {})
    return None


def iter_records(path: str | Path, layout: Layout) -> Generator[etree._Element]:
    """Yield each record of a file while it is read, with what follows it; the next one takes it out of memory."""
    yield from _released(Path(path), layout)


def cut_document(text: bytes, layout: Layout) -> etree._Element:
    """Return the records of a file that is cut off behind one of them, in a document like those of `iter_chunks`.

    Parameters
    ----------
    text : bytes
        What stands before the first record, then whole records of a flat file, one at least.
    layout : Layout

    Raises
    ------
    XMLSyntaxError
        The text is not what it was taken for.
    """
    copies: dict[etree._Element, etree._Element] = {}
    ancestors = tuple(reversed(layout.record_path[:-1]))
    for record in ended(text, layout.record_tag):
        # a field may have the name of the record
        if tuple(str(a.tag) for a in record.iterancestors()) == ancestors:
            _copied(record.getparent(), copies).append(record)
    return next(iter(copies.values())).getroottree().getroot()


def _attach_spans(parser: expat.XMLParserType, layout: Layout, found: array[int]) -> None:
    names = [tag.removeprefix("{") for tag in layout.record_path]
    depth = matched = 0
    last = len(names) - 1

    def start(name: str, _attributes: object) -> None:
        nonlocal depth, matched
        if depth == matched and matched <= last and name == names[matched]:
            if matched == last:
                found.extend((parser.CurrentByteIndex, parser.CurrentLineNumber, parser.CurrentColumnNumber))
            matched += 1
        depth += 1

    def end(_name: str) -> None:
        nonlocal depth, matched
        depth -= 1
        matched = min(matched, depth)

    parser.StartElementHandler = start
    parser.EndElementHandler = end


def _released(path: Path, layout: Layout) -> Iterator[etree._Element]:
    """Yield each whole record; once the caller asks for the next, it is taken out of memory."""
    ancestors = tuple(reversed(layout.record_path[:-1]))
    held: etree._Element | None = None
    for record in pulled(path, layout.record_tag):
        if tuple(str(a.tag) for a in record.iterancestors()) != ancestors:
            continue
        # one behind: libxml2 may still be adding to what follows the latest element
        if held is not None:
            yield held
            _forget_before(record)
        held = record
    if held is not None:
        yield held


def _forget_before(node: etree._Element) -> None:
    """Remove what stands before a node, at every level below the root; all of that is complete."""
    parent = node.getparent()
    while parent is not None:
        del parent[: parent.index(node)]
        node, parent = parent, parent.getparent()


def _chunked(path: Path, layout: Layout, size: int) -> Iterator[tuple[etree._Element, int]]:
    """Yield documents of up to `size` records, moved there unchanged."""
    copies: dict[etree._Element, etree._Element] = {}
    root: etree._Element | None = None
    count = 0
    for record in _released(path, layout):
        place = _copied(record.getparent(), copies)
        place.append(record)
        root = place.getroottree().getroot() if root is None else root
        count += 1
        if count == size:
            yield root, count
            copies, root, count = {}, None, 0
    if root is not None:
        yield root, count


def _copied(element: etree._Element | None, copies: dict[etree._Element, etree._Element]) -> etree._Element:
    """Return the copy, without content, of an ancestor of records."""
    if element is None:
        raise ValueError("a record stands below the root element")
    if element not in copies:
        parent = element.getparent()
        attributes: Any = dict(element.attrib)
        nsmap: Any = element.nsmap
        if parent is None:
            copies[element] = etree.Element(element.tag, attributes, nsmap)
        else:
            copies[element] = etree.SubElement(_copied(parent, copies), element.tag, attributes, nsmap)
        if not _has_words(element.text):
            copies[element].text = element.text
    return copies[element]


class _Table:
    """Lexemes by field, filled record by record; refuses what is not flat."""

    def __init__(self, path: Path, layout: Layout, lines: NDArray[np.int64]) -> None:
        self.cells: dict[str, NDArray[np.object_]] = {
            f.name: np.full(len(lines), None, dtype=object) for f in layout.fields
        }
        self._elements = {f.tag: self.cells[f.name] for f in layout.fields if not f.attribute}
        self._attributes = {f.tag: self.cells[f.name] for f in layout.fields if f.attribute}
        self._path = path
        self._lines = lines
        self._next = 0

    def add(self, record: etree._Element) -> None:
        i = self._next
        if i >= len(self._lines):
            raise self._refusal("two parsers count different numbers of records")
        if _has_words(record.text):
            raise self._refusal("there is text between the fields")
        for child in record:
            if _has_words(child.tail):
                raise self._refusal("there is text between the fields")
            if is_remark(child):
                continue
            cells = self._elements.get(child.tag)
            if cells is None:
                raise self._refusal("it is not in the layout", child.tag)
            if cells[i] is not None:
                raise self._refusal("it occurs more than once", child.tag)
            if not len(child):
                cells[i] = child.text or ""
            elif all(is_remark(inner) for inner in child):
                cells[i] = "".join(str(text) for text in child.itertext())
            else:
                raise self._refusal("it has child elements", child.tag)
        for name, value in record.attrib.items():
            if name not in self._attributes:
                raise self._refusal("it is not in the layout", str(name))
            self._attributes[str(name)][i] = value
        self._next += 1

    def close(self) -> None:
        if self._next != len(self._lines):
            raise self._refusal("two parsers count different numbers of records")

    def _refusal(self, reason: str, field: str = "") -> DocumentError:
        line = self._lines[self._next] if self._next < len(self._lines) else 0
        place = Place(str(self._path), int(line), record=self._next + 1, field=FieldName(field) if field else None)
        return DocumentError.of("records-not-flat", place, reason=reason)


def is_remark(node: etree._Element) -> bool:
    """Tell whether a node of a tree is a comment or a processing instruction."""
    return isinstance(node, (etree._Comment, etree._ProcessingInstruction))


def _has_words(text: str | None) -> bool:
    return text is not None and bool(text.strip(XML_SPACE))
