"""The files that ``document()`` and ``doc()`` in the rules stand for: each is given by name, or is the original."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from lxml import etree

from masktron.addresses import AddressPath
from masktron.errors import DocumentError, UsageError
from masktron.files import file_hash, same_file
from masktron.jobs.rulebooks import documents_of_all_phases
from masktron.problems.problem import Known, Setting, rules
from masktron.results import shown
from masktron.rulebook.analysis import once, readers
from masktron.rulebook.schema import Document, Rulebook
from masktron.sources.output_names import stem_of
from masktron.sources.xml.parser import parse_tree, tree_parser

ORIGINAL_NAMES = ("original.xml", "microdata.xml")
"""Names that always stand for the original, whatever its file is called."""
_NOTHING = "<nothing/>"
_SHOWN = 3
"""Rules that a message names."""


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody said of the documents of the rules.

    Attributes
    ----------
    files : mapping of str to Path
        By the name that stands in the rules.
    original : Path or None
        The original: the file itself where it is masked.
    alone : bool
        Whether the original was given for the rules alone, so that the only name that is left stands for it.
    known : collection of str
        Names that are known to stand for the original.
    optional : bool
        Whether a document may be lacking: then nothing that a rule says of it counts.
    spare : collection of str
        Names in `files` that no rule need read, as those of settings that serve several rulebooks.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    original: Path | None = None
    alone: bool = False
    known: Collection[str] = ()
    optional: bool = False
    spare: Collection[str] = ()


NOT_GIVEN = Given()


def bound(rulebook: Rulebook, given: Given) -> Rulebook:
    """Bind every document that the rules name to a file, or to the original; each file is read once.

    Raises
    ------
    UsageError
        A rule reads a document that nobody gave, or one was given that no rule of any phase reads.
    DocumentError
        A document cannot be read, or is no XML.
    """
    unread = [name for name in given.files if name not in rulebook.documents]
    if asked := [name for name in unread if name not in given.spare]:
        _require_known(rulebook, asked)
    files = {name: path for name, path in given.files.items() if name not in unread}
    files = {name: path for name, path in files.items() if not _same(path, given.original)}
    own = {one.name for one in rulebook.beside}
    left = [name for name in rulebook.documents if name not in given.files and name not in own]
    unknown = [name for name in left if not _is_original(name, given)]
    if given.alone and given.original is not None and len(left) == len(unknown) == 1:
        unknown = []
    read = readers(rulebook)
    lacking = [name for name in unknown if any(name in names for names in read.values())]
    if lacking and not given.optional:
        asking = [check for check in rulebook.checks if lacking[0] in read.get(check.index, ())]
        ids = rules(check.id for check in asking[:_SHOWN])
        place, file = str(asking[0].origin), Setting("--original", ("FILE",))
        if given.original is None and lacking[0] in ORIGINAL_NAMES:
            raise UsageError.of("needs-setting", place, name=ids, needed="the original", setting=file)
        raise UsageError.of("document-not-given", place, documents=lacking, rules=ids)
    beside = (
        *(_document(name, path) for name, path in files.items()),
        *(Document(name, None, _NOTHING, "") for name in unknown),
    )
    notes = (f"no rule that is evaluated reads the document {name!r}: its file was not used" for name in unread)
    return _with_documents(rulebook, beside, tuple(notes))


@once
def _with_documents(rulebook: Rulebook, beside: tuple[Document, ...], notes: tuple[str, ...]) -> Rulebook:
    """Return a rulebook with its documents: one for equal documents, so that what is made of it is made once."""
    if not beside and not notes:
        return rulebook
    return replace(rulebook, beside=(*rulebook.beside, *beside), notes=(*rulebook.notes, *notes))


def _require_known(rulebook: Rulebook, names: list[str]) -> None:
    """Refuse a name that no rule of any phase has."""
    known = documents_of_all_phases(rulebook)
    for name in names:
        if name in known:
            continue
        others = [one for one in known if one not in ORIGINAL_NAMES]
        known_here = Known(name, tuple(others))
        raise UsageError.of(
            "unknown-name", shown(rulebook.path), kind="document of the rules", name=name, known=known_here
        )


def without_document(rulebook: Rulebook) -> dict[int, str]:
    """Return the checks that read a document which nobody gave, each with the name of the first one."""
    lacking = {one.name for one in rulebook.beside if one.path is None}
    read = {index: sorted(names & lacking) for index, names in readers(rulebook).items()}
    return {index: names[0] for index, names in read.items() if names}


def digests(rulebook: Rulebook, original: str) -> dict[str, str]:
    """Return the SHA-256 of each document by its name, given that of the original."""
    beside = {one.name: one.sha256 for one in rulebook.beside if one.path is not None}
    lacking = {one.name for one in rulebook.beside if one.path is None}
    return {name: beside.get(name, original) for name in rulebook.documents if name not in lacking}


def _same(path: Path, original: Path | None) -> bool:
    return original is not None and same_file(path, original)


def _is_original(name: str, given: Given) -> bool:
    if given.original is None:
        return False
    if name in ORIGINAL_NAMES or name in given.known:
        return True
    parts = PurePosixPath(name).parts
    if isinstance(given.original, AddressPath):
        return parts in ((given.original.name,), (f"{given.original.name}.xml",))
    *above, own = given.original.absolute().parts
    # rules that were written for a file in XML mean the same file in another format
    names = {own, f"{stem_of(given.original)}.xml"}
    return (
        bool(parts)
        and ".." not in parts
        and parts[-1] in names
        and tuple(above)[len(above) - len(parts) + 1 :] == parts[:-1]
    )


def _document(name: str, path: Path) -> Document:
    return _read_document(name, path, file_hash(path) if path.is_file() else "")


@lru_cache(maxsize=16)
def _read_document(name: str, path: Path, _digest: str) -> Document:
    """Read a document, once for each content: a list of codes may be as large as many documents together."""
    try:
        parse_tree(path, DocumentError)  # it says what is wrong
        content = path.read_bytes()
        root = etree.fromstring(content, tree_parser())  # the very bytes that the SHA-256 is of
    except DocumentError as error:
        reason = error.problem
        raise DocumentError.of("document-unreadable", error.where, document=name, reason=reason) from None
    except (OSError, etree.XMLSyntaxError) as error:
        raise DocumentError.of("document-unreadable", path, document=name, reason=str(error)) from None
    return Document(name, path, etree.tostring(root, encoding="unicode"), hashlib.sha256(content).hexdigest())


def documents_that_are(data: Path, rulebook: Rulebook, original: Path | None = None) -> str:
    """Say which documents of the rules are the very file that is judged; the empty text where none is.

    Parameters
    ----------
    data : Path
        The file that is judged.
    original : Path, optional
        What was given as the original of the rules.
    """
    named = {one.name: one.path for one in rulebook.beside if one.path is not None}
    if original is not None and rulebook.reads_original:
        named |= {name: original for name in rulebook.documents if name not in named}
    found = [repr(name) for name, path in named.items() if same_file(path, data) or _alike(path, data)]
    return f"the document {', '.join(found)} of the rules is the file itself" if found else ""


def _alike(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return False
    return one.stat().st_size == other.stat().st_size and file_hash(one) == file_hash(other)
