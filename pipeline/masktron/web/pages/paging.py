"""Long lists, a page at a time, by links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

SIZE = 50
"""Items of a page."""
_DIGITS = 8
"""Of a number of something in a list; Python refuses to read one of thousands of digits."""


@dataclass(frozen=True, slots=True)
class ItemPage:
    """One page of a list.

    Attributes
    ----------
    items : sequence
    number, last : int
        Of the page and of the last one, from 1.
    first : int
        Number of its first item, from 1.
    total : int
    asked : mapping of str to str
        What the address asks for.
    wish : str
        What addresses call the number of the page, since a page of the server may have several lists.
    """

    items: Sequence[Any]
    number: int
    last: int
    first: int
    total: int
    asked: Mapping[str, str]
    wish: str = "page"

    @property
    def until(self) -> int:
        """Number of its last item, from 1; 0 where the list is empty."""
        return self.first + len(self.items) - 1

    @property
    def before(self) -> str | None:
        """The address of the page before; None on the first one."""
        return self.link(**{self.wish: self.number - 1}) if self.number > 1 else None

    @property
    def after(self) -> str | None:
        """The address of the next page; None on the last one."""
        return self.link(**{self.wish: self.number + 1}) if self.number < self.last else None

    @property
    def end(self) -> str | None:
        """The address of the last page; None where the next one is the last, or this one is."""
        return self.link(**{self.wish: self.last}) if self.number + 1 < self.last else None

    def link(self, **changes: object) -> str:
        """Return the address with other wishes; what is empty is not asked for, and another wish begins at page 1."""
        wishes = {**{name: text for name, text in self.asked.items() if name != "again"}}
        if self.wish not in changes:
            wishes.pop(self.wish, None)
        wishes |= {name: str(value) for name, value in changes.items()}
        return "?" + urlencode({name: value for name, value in wishes.items() if value})


def page_of_items(
    items: Sequence[Any], asked: Mapping[str, str], *, wish: str = "page", size: int = SIZE
) -> ItemPage:
    """Return the page of a list that the address asks for; the nearest one where it asks for none that there is.

    Parameters
    ----------
    items : sequence
    asked : mapping of str to str
        What the address asks for.
    wish : str
        What it calls the number of the page.
    size : int
        Items of a page.
    """
    last = max(1, -(-len(items) // size))
    text = asked.get(wish, "")
    number = min(last, max(1, whole_number(text) or 1))
    start = (number - 1) * size
    return ItemPage(items[start : start + size], number, last, start + 1, len(items), asked, wish)


def whole_number(text: str) -> int | None:
    """Return the number that an address or a form names; None where it is none, or too long for any list."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
