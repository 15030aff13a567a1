"""What a page is made of: sections of sentences, facts, tables and pictures, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from masktron.report.result_table import Mark, ResultTable, Tone

if TYPE_CHECKING:
    from masktron.report.pictures.canvas import Sketch

type Edition = Literal["internal", "public", "plain"]
"""For inside the agency; for whoever gets the file; without anything of a record, such as a rulebook."""

_MOST_BESIDE = 5
"""Facts that stand beside each other."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """A paragraph."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences one below the other.

    Attributes
    ----------
    items : tuple of str
    title : str
    """

    items: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure that is seen first: what it is of, the figure, and what it means."""

    name: str
    value: str
    meaning: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class FactRow:
    """Facts side by side."""

    facts: tuple[Fact, ...]

    @property
    def columns(self) -> int:
        """How many stand beside each other in a wide window, so that all rows are as full as can be."""
        rows = -(-len(self.facts) // _MOST_BESIDE)
        return -(-len(self.facts) // rows) if rows else 1


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture with what it says and the numbers behind it.

    Attributes
    ----------
    name : str
        Unique on the page.
    title, sentence : str
        What it is of, and what it shows.
    sketch : Sketch
    table : ResultTable
        The numbers behind it.
    legend : str
        What its marks and colours mean, for those who do not see them.
    """

    name: str
    title: str
    sentence: str
    sketch: Sketch
    table: ResultTable
    legend: str = ""


@dataclass(frozen=True, slots=True)
class PictureRow:
    """Pictures side by side, as many as there is room for.

    Attributes
    ----------
    pictures : tuple of PagePicture
    legend : str
        What marks and colours mean in all of them.
    large : bool
        Whether they need room, as matrices do.
    """

    pictures: tuple[PagePicture, ...]
    legend: str = ""
    large: bool = False


type PagePart = Sentences | Listing | FactRow | ResultTable | PagePicture | PictureRow


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a heading; without parts it is left out."""

    name: str
    title: str
    parts: tuple[PagePart, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes
    ----------
    title : str
        What it is about, such as the name of the file.
    kind : str
        What sort of report it is.
    edition : {"internal", "public", "plain"}
    verdict : tuple of Mark
        The answer, in a few words; of a masked file the two statements.
    lead : str
        The answer in a sentence or two.
    sections : tuple of Section
    ends : tuple of str
        What stands at its end, such as versions.
    """

    title: str
    kind: str
    edition: Edition
    verdict: tuple[Mark, ...]
    lead: str
    sections: tuple[Section, ...]
    ends: tuple[str, ...] = field(default=())

    @property
    def filled(self) -> tuple[Section, ...]:
        """The sections that say something."""
        shown = (
            replace(one, parts=tuple(part for part in one.parts if not isinstance(part, ResultTable) or part.rows))
            for one in self.sections
        )
        return tuple(section for section in shown if section.parts)

    @property
    def pictures(self) -> tuple[PagePicture, ...]:
        """All pictures, in their order."""
        parts = [part for section in self.sections for part in section.parts]
        rows = [part.pictures if isinstance(part, PictureRow) else (part,) for part in parts]
        return tuple(one for row in rows for one in row if isinstance(one, PagePicture))
