"""A paper's part of the page: made by one module, joined by the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproduction.marks import Mark


@dataclass(frozen=True, slots=True)
class Section:
    """What one module adds to the page.

    Attributes
    ----------
    text : str
        Markdown, from its heading of the second level on.
    marks : sequence of Mark
        Figures that have to be reached.
    """

    text: str
    marks: Sequence[Mark] = ()
