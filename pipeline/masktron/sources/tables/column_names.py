"""Names of columns: as tables have them, as XML takes them, and new ones where a format takes no others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field, Setting, fields
from masktron.sources.record_layout import ESCAPE

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")


def xml_name(column: str) -> str:
    """Return the name of the element, or the attribute, that a column becomes.

    A column ``@name`` is an attribute. A character that no XML name has in its place is ``_xHHHH_``, with four
    hexadecimal digits, or six where it is beyond the first 65,536; so is an underline that begins what would read as
    such an escape. ``annual income`` is ``annual_x0020_income``, 2024 is ``_x0032_024``. A name of XML is what all
    engines read as one: libxml2 takes names in XPath by an earlier edition of XML, without the euro sign.

    Raises
    ------
    ValueError
        The name is empty.
    """
    attribute = column.startswith("@") and len(column) > 1
    text = column[attribute:]
    if not text:
        raise ValueError("a column has no name")
    if not (_PLAIN.fullmatch(text) and not ESCAPE.search(text)):
        text = "".join(_escaped(text, at) for at in range(len(text)))
    if attribute and text == "xmlns":  # no attribute is called so
        text = "_x0078_mlns"
    return f"@{text}" if attribute else text


def xml_names(columns: Iterable[str], where: str) -> tuple[str, ...]:
    """Return the names of all columns.

    Raises
    ------
    DocumentError
        One has no name, or two have the same; says which, counted from 1.
    """
    found: dict[str, int] = {}
    for at, column in enumerate(columns, start=1):
        if not column or column in found:
            if not column:
                raise DocumentError.of("column-without-name", where, column=at)
            first = f"by column {found[column]}"
            raise DocumentError.of("name-taken", where, kind="column", name=Field(column), first=first)
        found[column] = at
    return tuple(map(xml_name, found))


def _escaped(text: str, at: int) -> str:
    letter = text[at]
    if letter == "_" and ESCAPE.match(text, at):
        return "_x005F_"
    if letter != ":" and _is_name(letter if at == 0 else f"a{letter}"):
        return letter
    code = ord(letter)
    return f"_x{code:04X}_" if code < 0x10000 else f"_x{code:06X}_"


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    if "{" in text or "}" in text:
        return False
    try:
        etree.QName(text)
        etree.XPath(text)
    except (ValueError, etree.XPathError):
        return False
    return True


_LISTED = 20
"""Names that an error lists."""


@dataclass(frozen=True, slots=True)
class NamesAllowed:
    """What variables may be called.

    Attributes
    ----------
    package : str
        As a sentence names it: ``SPSS``.
    pattern : re.Pattern
    longest : int
        Characters of a name of ASCII letters.
    bytes : int
        Bytes of a name in UTF-8.
    said : str
        The rule, in words.
    reserved : frozenset of str
        Names that have another meaning; in capitals where case does not count.
    any_case : bool
        Whether names that differ in case alone are one.
    """

    package: str
    pattern: re.Pattern[str]
    longest: int
    bytes: int
    said: str
    reserved: frozenset[str] = frozenset()
    any_case: bool = False

    def require(self, columns: Sequence[str]) -> None:
        """Refuse names that variables cannot have.

        Parameters
        ----------
        columns : sequence of str

        Raises
        ------
        UsageError
            Naming them, and the options that rename them.
        """
        wrong = [column for column in columns if not self._fits(column)]
        counts = Counter(map(self._key, columns))
        alike = [column for column in columns if counts[self._key(column)] > 1]
        if names := [column for column in columns if column in {*wrong, *alike}]:
            renames = [f"{old}={new}" for old, new in self._renamed(columns, set(names)).items()]
            raise UsageError.of(
                "column-names-not-allowed",
                format=self.package,
                number=len(names),
                names=fields(names[:_LISTED]),
                allowed=f"{self.said}, and differ in more than case" if alike else self.said,
                renames=Setting("--rename", tuple(renames[:_LISTED])),
            )

    def _fits(self, column: str) -> bool:
        return (
            self.pattern.fullmatch(column) is not None
            and len(column.encode()) <= self.bytes
            and self._key(column) not in self.reserved
        )

    def _key(self, column: str) -> str:
        return column.upper() if self.any_case else column

    def _renamed(self, columns: Sequence[str], asked: set[str]) -> dict[str, str]:
        """Return a name that the package has and no other column for each of some; of names alike the first stays."""
        taken = {self._key(column) for column in columns if column not in asked}
        found: dict[str, str] = {}
        for column in columns:
            if column not in asked:
                continue
            new = self._free(column, taken)
            taken.add(self._key(new))
            if new != column:
                found[column] = new
        return found

    def _free(self, wanted: str, taken: set[str]) -> str:
        if self._fits(wanted) and self._key(wanted) not in taken:
            return wanted
        # one byte for each character, and each may stand in a name
        plain = _plain(wanted)
        name, number = plain[: self.longest], 1
        while self._key(name) in self.reserved | taken:
            number += 1
            end = f"_{number}"
            name = plain[: self.longest - len(end)] + end
        return name


def _plain(column: str) -> str:
    """Return a name of ASCII letters, digits and underlines that begins with a letter."""
    letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    return text if text[:1].isalpha() else f"v{text}"
