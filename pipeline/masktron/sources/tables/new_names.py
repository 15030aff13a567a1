"""Names that a package has for variables, and names that would do for those that it does not have."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from masktron.errors import UsageError
from masktron.problems.problem import Setting, fields

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
