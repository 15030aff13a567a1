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
    """

    items: Sequence[Any]
    number: int
    last: int
    first: int
    total: int
    asked: Mapping[str, str]

    def link(self, **changes: object) -> str:
        """Return the address with other wishes; what is empty is not asked for, and another wish begins at page 1."""
        wishes = {**{name: text for name, text in self.asked.items() if name != "again"}}
        if "page" not in changes:
            wishes.pop("page", None)
        wishes |= {name: str(value) for name, value in changes.items()}
        return "?" + urlencode({name: value for name, value in wishes.items() if value})


def page_of_items(items: Sequence[Any], asked: Mapping[str, str]) -> ItemPage:
    """Return the page of a list that the address asks for; the nearest one where it asks for none that there is."""
    last = max(1, -(-len(items) // SIZE))
    text = asked.get("page", "")
    number = min(last, max(1, whole_number(text) or 1))
    start = (number - 1) * SIZE
    return ItemPage(items[start : start + SIZE], number, last, start + 1, len(items), asked)


def whole_number(text: str) -> int | None:
    """Return the number that an address or a form names; None where it is none, or too long for any list."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
