"""What a result says first: whether the rules hold, and how well respondents are protected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from masktron.serialised import Serialised

type StatementLevel = Literal["green", "amber", "red"]
type Ground = Literal[
    "rules",
    "contract",
    "limit-missed",
    "keys-below-k",
    "nothing-masked",
    "linkage",
    "key-uniques",
    "own-values",
    "concern",
    "no-limit",
    "not-measured",
    "limits-met",
]


@dataclass(frozen=True, slots=True)
class Statement(Serialised):
    """One of the two statements of a verdict.

    Attributes
    ----------
    level : {"green", "amber", "red"}
    ground : str
        What decided the level.
    reason : str
        The same in one line for people.
    figures : mapping of str to float
        The figures that it rests on, by name.
    """

    level: StatementLevel
    ground: Ground
    reason: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReleaseVerdict(Serialised):
    """Two statements about a masked file, and what else is known of its protection.

    Attributes
    ----------
    rules : Statement
        Green where every rule holds that was judged.
    protection : Statement
        Never green without a limit on a figure of risk.
    details : str
        What the method did and what an intruder may find, in a few sentences; empty where nothing was measured.
    """

    KEYS: ClassVar = "rules protection details"

    rules: Statement
    protection: Statement
    details: str = ""

    def __str__(self) -> str:
        lines = [f"{name}: {one.level}. {one.reason}" for name, one in self.named]
        return "\n".join([*lines, *([self.details] if self.details else [])])

    @property
    def named(self) -> tuple[tuple[str, Statement], tuple[str, Statement]]:
        """Both statements with their names, in the order in which they are shown."""
        return ("Rules", self.rules), ("Protection", self.protection)


@dataclass(frozen=True, slots=True)
class ShownValues(Serialised):
    """Values of one masked field in a few records, before and after. Confidential.

    Attributes
    ----------
    field : str
    texts_before, texts_after : tuple of str or None
        As they are written, of the same records in every field; None where there is no value.
    """

    KEYS: ClassVar = "field before=texts_before after=texts_after"

    field: str
    texts_before: tuple[str | None, ...]
    texts_after: tuple[str | None, ...]
