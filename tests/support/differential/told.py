"""What an evaluation tells of each check, in the form in which all of them are compared."""

from __future__ import annotations

from dataclasses import dataclass

NOT_FIRED, HOLDS, FAILS, ERROR = ".", "h", "F", "E"
ORDER = f"{NOT_FIRED}{HOLDS}{FAILS}{ERROR}"
"""From nothing to the worst: a record has the worst of its nodes."""


@dataclass(frozen=True, slots=True)
class Told:
    """One check.

    Attributes
    ----------
    fired, failed, errors : int
        Numbers of nodes; an error in the context counts as an error on a node that did not fire.
    marks : str
        A character for each record: the worst of its nodes.
    """

    fired: int
    failed: int
    errors: int
    marks: str


@dataclass(slots=True)
class Tally:
    """Counts nodes of a check."""

    records: int
    fired: int = 0
    failed: int = 0
    errors: int = 0
    marks: list[str] | None = None

    def add(self, record: int, mark: str, *, context: bool = False) -> None:
        """Count a node of a record; -1 for a node outside all of them."""
        if self.marks is None:
            self.marks = [NOT_FIRED] * self.records
        self.fired += not context
        self.failed += mark == FAILS
        self.errors += mark == ERROR
        if record >= 0:
            self.marks[record] = max(self.marks[record], mark, key=ORDER.index)

    def told(self) -> Told:
        """Return the counts."""
        return Told(self.fired, self.failed, self.errors, "".join(self.marks or [NOT_FIRED] * self.records))
