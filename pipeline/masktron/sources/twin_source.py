"""A source of which engines read a document that it writes beside the file."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from masktron.problems.problem import Place
from masktron.scratch import folder_on_disk, name_to_be, private_folder
from masktron.sources.record_layout import Layout, Shape, Vocabulary
from masktron.sources.source import EngineDocument, Source
from masktron.sources.xml.xml_source import XmlSource


class TwinSource(Source):
    """Records of which layout, names and document are those of another document, made when it is first asked for."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)

    @property
    @abstractmethod
    def _twin(self) -> XmlSource:
        """The document that engines read, written to `_twin_path`."""

    @cached_property
    def _twin_path(self) -> Path:
        """Where that document is, as long as the source is there."""
        folder = self._held.enter_context(private_folder(folder_on_disk()[0]))
        return folder / f"{Path(name_to_be(self.path)).stem}.xml"

    @property
    def layout(self) -> Layout:
        """Of the document."""
        return self._twin.layout

    @property
    def shape(self) -> Shape:
        """That of the document."""
        return self._twin.shape

    @property
    def count(self) -> int | None:
        """As of the document."""
        return self._twin.count

    def vocabulary(self) -> Vocabulary:
        """Return the names of the document."""
        return self._twin.vocabulary()

    @property
    def document_path(self) -> Path:
        """The document."""
        return self._twin.path

    @property
    def document(self) -> EngineDocument:
        """The document."""
        return self._twin.document

    def own_place(self, place: Place) -> Place:
        """Return the file itself for a place in the document."""
        return replace(place, source=str(self.path)) if place.source == str(self._twin_path) else place
