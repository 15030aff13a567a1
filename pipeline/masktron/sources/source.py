"""A file of microdata as the jobs see it: `Source` alone knows its bytes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, MasktronError
from masktron.files import file_hash
from masktron.problems.problem import Place, Problem, Sentence
from masktron.progress import Told, untold
from masktron.scratch import create_private
from masktron.sources.column import Column, ColumnForm
from masktron.sources.dataset import Dataset
from masktron.sources.flat_records import FlatRecords, UnitRecords
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.record_layout import Layout, Shape, Vocabulary
from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True)
class EngineDocument:
    """The XML file that engines read, which they open and parse themselves.

    Attributes
    ----------
    path : Path
        Where it is; that of the file itself where `write` has yet to write the document.
    layout : Layout
    flat : FlatRecords or None
        Its records for evaluation over columns; None where that does not read them, so that engines see every record.
    nested : UnitRecords or None
        Likewise the units of a nested file.
    write : callable, optional
        Writes the document, unless that has been done, and returns where it is.
    """

    path: Path
    layout: Layout
    flat: FlatRecords | None
    write: Callable[[], Path] | None = None
    nested: UnitRecords | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What is asked of a source whose records are read; the attributes are the arguments of `Source.records`."""

    missing: Mapping[str, frozenset[str]]
    only: Collection[str] | None
    told: Told
    storage: Path | None

    def codes(self, name: str) -> frozenset[str]:
        """Return the missing codes of a field."""
        return self.missing.get(name, frozenset()) | self.missing.get("*", frozenset())


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """How a written file differs from its original; fields of a flat file are those of the top level.

    Attributes
    ----------
    replacements : mapping of tuple of str to mapping of str to Column
        By level, then by field of the level: lexemes of all its records, in the order of this file; None where a
        record shall not have the field.
    removed : mapping of tuple of str to collection of str
        Fields that no record of a level keeps.
    keep, order, told
        As `Source.write` has them, of units where the file is nested.
    """

    replacements: Mapping[LevelPath, Mapping[str, Column]]
    removed: Mapping[LevelPath, Collection[str]] = MappingProxyType({})
    keep: NDArray[np.bool_] | None = None
    order: NDArray[np.intp] | None = None
    told: Told = untold


def _lacks_field(problem: Problem) -> bool:
    """Whether a problem, or one of those that it has, is that there is no such field."""
    if problem.code == "reads-unknown" or (
        problem.code == "unknown-name" and problem.references.get("kind") == "field"
    ):
        return True
    named = (one if isinstance(one, tuple) else (one,) for one in problem.references.values())
    return any(_lacks_field(one) for one in chain.from_iterable(named) if isinstance(one, Problem))


class Source(ABC):
    """A file of microdata: the only one who knows its bytes, or opens it.

    It is surveyed once, when its layout is first asked for, and the object is passed on from there. What a survey
    refuses is raised there, and again where it is asked for once more.

    Attributes
    ----------
    path : Path
        Where the file is; messages name it so.
    metadata : Path or None
        A description of its variables, which stands beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata: Path | None = None

    @property
    def elsewhere(self) -> Problem | None:
        """Where a field may be that the file does not seem to have."""
        return None

    @contextmanager
    def naming_elsewhere(self) -> Generator[None]:
        """Let errors of fields that the file does not have say where they may be."""
        try:
            yield
        except MasktronError as error:
            if _lacks_field(error.problem) and (found := self.elsewhere) and found not in error.problem.further:
                error.then(found)
            raise

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, in hexadecimal, as it was when this was first asked for."""
        return file_hash(self.path)

    @property
    def part(self) -> tuple[str, ...]:
        """Which of the tables that the file may hold is read, as far as the digest does not say it.

        Two sources with one digest and one part have the same records; those with other parts may have them, too.
        """
        return ()

    @property
    def respells_numbers(self) -> bool:
        """Whether numbers that are written may be read back with other texts, such as 1.5 for 1.50."""
        return False

    @property
    def beside_columns(self) -> int:
        """Bytes of temporary files that a job on all records takes beside their columns, roughly."""
        return 0

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Where records and fields stand.

        Raises
        ------
        DocumentError, UsageError
            The file cannot be read, or nothing tells what a record is.
        """

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Whether every record is a row of single values, and what is not.

        Of a file that is no `tree` either, it says what keeps it from being one.
        """

    @property
    def tree(self) -> Tree | None:
        """The levels of a file whose records hold other records; None where they do not, or are no tree."""
        return None

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Number of records, where the survey tells it and columns can be evaluated; None for other files."""

    @property
    def own_variables(self) -> tuple[Variable, ...]:
        """What the file itself says of its variables; nothing where a format does not."""
        return ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What the file and the metadata beside it say of its variables.

        Raises
        ------
        DocumentError, UsageError
            The metadata cannot be read, or are those of another file.
        """
        if self.metadata is None:
            return self.own_variables
        from masktron.sources.metadata.description_file import (  # noqa: PLC0415 -- loads pyarrow
            described_variables,
            read_description,
        )

        fields = [field.name for field in self.layout.fields]
        return described_variables(self.own_variables, fields, read_description(self.metadata), str(self.metadata))

    @property
    def reading_options(self) -> Mapping[str, str]:
        """How the file is written, by the options that say so; nothing where the file itself tells all of it."""
        return {}

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What a user should know of how the file reads and what of it is not written again, in sentences."""
        return ()

    @abstractmethod
    def estimate(self) -> int:
        """Return roughly how many records there are, without parsing the file."""

    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """Return every name of the file with its place, those outside the records too."""

    @abstractmethod
    def require_readable(self) -> None:
        """Refuse a file that is not there or is plainly of another format, before anything else is said.

        Raises
        ------
        DocumentError
        """

    def records(
        self,
        *,
        missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
        only: Collection[str] | None = None,
        told: Told = untold,
        storage: Path | None = None,
    ) -> Dataset:
        """Read the records as columns.

        Parameters
        ----------
        missing : mapping of str to frozenset of str
            Declared missing codes by field name, ``*`` for all fields.
        only : collection of str, optional
            Fields that are wanted, all by default; more may be there.
        told : callable, optional
            Told of the records read, and of how many there are.
        storage : Path, optional
            A folder, the owner's alone, in which the columns of a large file are mapped to memory; see `FolderStore`.
            By default they are in memory, and so are those of files that are not read in batches.

        Raises
        ------
        DocumentError
            The file cannot be read, or a record is not flat; or there is no room in the folder.
        """
        return self.read(Reading(missing, only, told, storage))

    @abstractmethod
    def read(self, asked: Reading) -> Dataset:
        """Read the records as columns, as `records` is asked to."""

    def level_records(
        self, *, missing: Mapping[str, frozenset[str]] = MappingProxyType({}), told: Told = untold
    ) -> Dataset:
        """Read the records of all levels of a nested file.

        Parameters
        ----------
        missing : mapping of str to frozenset of str
            Declared missing codes by the names of `Tree.names`, ``*`` for all fields.
        told : callable, optional
            Told of the units read, and of how many there are.

        Raises
        ------
        DocumentError
            The file is not nested, cannot be read, or has changed.
        """
        del missing, told
        raise _one_level(self.path)

    @property
    @abstractmethod
    def document_path(self) -> Path:
        """Where the XML file is that engines read: also what ``document()`` in rules means by this file."""

    @property
    @abstractmethod
    def document(self) -> EngineDocument:
        """The XML file that engines read, from its bytes and by their own parsers."""

    @property
    def converted(self) -> bool:
        """Whether engines read a document that the source has written, and not the bytes of the file."""
        return self.document_path != self.path

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return line and column in the file of a place that an engine names in its document.

        Parameters
        ----------
        record : int
            Position of the record from 0; -1 outside all records.
        line, column : int
            From 1; 0 where the column is not known.
        """
        del record
        return line, column

    def own_place(self, place: Place) -> Place:
        """Return the place in this file of one in the document that engines read; another place as it is."""
        return place

    @contextmanager
    def in_own_places(self) -> Generator[None]:
        """Let problems within the context have places in this file."""
        try:
            yield
        except MasktronError as error:
            error.at(self.own_place(error.problem.place))
            raise

    def written_as(self, out: Path) -> Source:
        """Return who writes a file of this name: this source, unless its own format can only be read."""
        del out
        return self

    def recoded(self, name: str, form: ColumnForm) -> Variable:
        """Return what the file would say of a field whose values were recoded."""
        del form
        return next((one for one in self.own_variables if one.name == name), Variable.named(name))

    def treated(
        self, dataset: Dataset, names: Collection[str], keep: NDArray[np.bool_], folder: Path, told: Told = untold
    ) -> Source:
        """Return the records with other values in some fields, and without those that are not kept.

        What is written of them is like this file.

        Parameters
        ----------
        dataset : Dataset
            All records of this file, as they have become.
        names : collection of str
            The fields that have other values.
        keep : ndarray of bool, shape (n,)
        folder : Path
            The owner's alone, for a document where the file is one.
        told : callable, optional
            Told of the records that are written, and of how many there are.
        """
        place = folder / self.path.name
        os.close(create_private(place))
        self.write(place, {name: dataset.columns[name] for name in names}, keep=keep, told=told)
        found = self.alike(place)
        found.metadata = self.metadata
        return found

    def treated_levels(
        self,
        dataset: Dataset,
        names: Mapping[LevelPath, Collection[str]],
        keep: NDArray[np.bool_],
        folder: Path,
        told: Told = untold,
    ) -> Source:
        """Return the nested records with other values in some fields of each level; as `treated`, of units."""
        place = folder / self.path.name
        os.close(create_private(place))
        cells = {path: {name: dataset.levels[path].columns[name] for name in own} for path, own in names.items()}
        self.rewrite_levels(place, Changes(cells, keep=keep, told=told))
        found = self.alike(place)
        found.metadata = self.metadata
        return found

    def class_values(self, name: str, labels: Sequence[str], taken: Collection[str]) -> tuple[str, ...]:
        """Return what is written for classes, as it is read again: their labels, or numbers that have these labels.

        Parameters
        ----------
        name : str
            Of the field.
        labels : sequence of str
            Of the classes, in their order.
        taken : collection of str
            Lexemes that mean 'missing' in the field.

        Raises
        ------
        UsageError
            There is nothing to write for them.
        """
        del name, taken
        return tuple(labels)

    def write(
        self,
        target: Path,
        replacements: Mapping[str, Column],
        *,
        removed: Collection[str] = (),
        keep: NDArray[np.bool_] | None = None,
        order: NDArray[np.intp] | None = None,
        told: Told = untold,
    ) -> int:
        """Write a file like this one with new values in some fields, and return its number of records.

        Parameters
        ----------
        target : Path
            Written directly.
        replacements : mapping of str to Column
            Lexemes by field name, in the order of this file; None where a record shall not have the field.
        removed : collection of str
            Fields that no record keeps.
        keep : ndarray of bool, shape (n,), optional
            Records that are written; without it, all.
        order : ndarray of intp, shape (n,), optional
            Permutation: positions here in the order in which they are written, `keep` applied after it.
        told : callable, optional
            Told of the records that are written or left out, and of how many there are.

        Raises
        ------
        DocumentError, UsageError
            The file is not flat or has changed, or a value cannot be written.
        """
        return self.rewrite(target, Changes({TOP: replacements}, {TOP: removed}, keep, order, told))

    @abstractmethod
    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write a file like this one, as `write` is asked to."""

    def rewrite_levels(self, target: Path, changes: Changes) -> int:
        """Write a nested file like this one, and return its number of units.

        Raises
        ------
        DocumentError, UsageError
            The file is not nested or has changed, or a value cannot be written.
        """
        del target, changes
        raise _one_level(self.path)

    @abstractmethod
    def alike(self, path: Path) -> Self:
        """Return another file of the same format, such as one that `write` has written, with the same records."""

    def handed_back(self) -> Any:
        """Return what a caller gets in memory for the file that was written: a data frame for a data frame."""
        return None

    @abstractmethod
    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether this file is a table of the fields that `original` releases.

        Fields may be missing whose values are all masked away or left out, and so may come in another order.

        Parameters
        ----------
        original : Source
            Of the same format.
        removed : collection of str
            Names of the fields that are not released.
        """

    def has_fields_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether this file has no other fields than `original` releases."""
        released = {field for field in original.layout.fields if field.name not in removed}
        return released.issuperset(self.layout.fields)

    def left_out(self) -> dict[str, int]:
        """Count what `write` does not copy, by its kind."""
        return {}

    def outline_notes(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Say what was left out, given the counts of `left_out`, and what beside the records was not."""
        del counts
        return ()


def _one_level(path: Path) -> DocumentError:
    return DocumentError.of("records-not-flat", path, reason="the file has records of one level only")
