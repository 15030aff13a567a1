"""Plain data of a result, read key by key with the type that is expected, and which module makes a page of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from masktron.errors import UsageError

if TYPE_CHECKING:
    from masktron.report.pages.page import Page
    from masktron.results import JobResult


@dataclass(frozen=True, slots=True)
class PlainData:
    """A table of plain data, and where it is from.

    Attributes
    ----------
    content : mapping
    where : str
        The file, for errors.
    """

    content: Mapping[str, Any]
    where: str = ""

    def text(self, key: str) -> str:
        """Return a text, the empty one for null.

        Raises
        ------
        UsageError
            It is missing or something else; as all other methods.
        """
        return self._of(key, str, "") or ""

    def count(self, key: str) -> int:
        """Return an integer."""
        return int(self._of(key, int, "no default"))

    def number(self, key: str) -> float:
        """Return a number, NaN for null."""
        return float(self._of(key, (int, float), math.nan))

    def switch(self, key: str) -> bool:
        """Return true or false."""
        return bool(self._of(key, bool, "no default"))

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of numbers, the empty one for null."""
        return tuple(map(float, self._list(key, (int, float))))

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, the empty one for null."""
        return self._list(key, str)

    def optional_count(self, key: str) -> int | None:
        """Return an integer, None for null."""
        found = self._of(key, int, None)
        return None if found is None else int(found)

    def has(self, key: str) -> bool:
        """Whether there is something of this name, and not null."""
        return self.content.get(key) is not None

    def part(self, key: str) -> PlainData:
        """Return a table."""
        return PlainData(self._of(key, Mapping, "no default"), self.where)

    def parts(self, key: str) -> tuple[PlainData, ...]:
        """Return a list of tables, the empty one for null."""
        return tuple(PlainData(one, self.where) for one in self._list(key, Mapping))

    def items(self) -> Iterator[tuple[str, Any]]:
        """Give keys and values as they are."""
        return iter(self.content.items())

    def _list(self, key: str, kind: type[Any] | tuple[type[Any], ...]) -> tuple[Any, ...]:
        found = self._of(key, list, ())
        if not all(isinstance(one, kind) for one in found):
            raise self.wrong(key)
        return tuple(found)

    def _of(self, key: str, kind: type[Any] | tuple[type[Any], ...], default: Any) -> Any:
        if key not in self.content:
            raise UsageError.of("not-a-result", self.where, reason=f"{key!r} is missing")
        found = self.content[key]
        if found is None and default != "no default":
            return default
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise self.wrong(key)
        return found

    def positions(self, key: str, count: int) -> tuple[int, ...]:
        """Return a list of positions below a count, the empty one for null."""
        found = self._list(key, int)
        if any(isinstance(one, bool) or one not in range(count) for one in found):
            raise self.wrong(key)
        return found

    def cells(self, key: str, count: int) -> tuple[str | None, ...]:
        """Return a list of so many texts, null where there is none."""
        found = self._of(key, list, ())
        if len(found) != count or not all(one is None or isinstance(one, str) for one in found):
            raise self.wrong(key)
        return tuple(found)

    def wrong(self, key: str) -> UsageError:
        """Return the error of what cannot be under a key."""
        return UsageError.of("not-a-result", self.where, reason=f"{key!r} is not of the right type")


PAGES = MappingProxyType(
    {
        "validate": "validate_page",
        "explain": "explain_page",
        "mask": "mask_page",
        "check": "check_page",
        "assess": "assess_page",
        "tune": "tune_page",
    }
)
"""The function that makes a page of a result, and its module in this package, by the job."""


def page_of(result: JobResult) -> Page:
    """Make a page of a result of one of the jobs in `PAGES`."""
    return page_of_plain(PlainData(result.as_dict()))


def page_of_plain(result: PlainData) -> Page:
    """Make a page of the plain data of a result.

    Raises
    ------
    UsageError
        The plain data are not those of a result.
    """
    name = PAGES[result.text("job")]
    maker: Callable[..., Page] = getattr(import_module(f"masktron.report.pages.{name}"), name)
    return maker(result)
