"""What a result says first: whether the rules hold, how well respondents are protected, and what to look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from masktron.problems.problem import Sentence
from masktron.serialised import Serialised, read_plain

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


_UNSTATED = Statement("amber", "not-measured", "The result is of an earlier version, which did not judge this.")


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

    @classmethod
    def issued(cls, told: Mapping[str, Any]) -> ReleaseVerdict:
        """Return the verdict that plain data of a result have; those of earlier versions have a text, or nothing.

        Raises
        ------
        ValueError
            It is none.
        """
        found = told.get("verdict")
        if not isinstance(found, Mapping):
            return cls(_UNSTATED, _UNSTATED)
        verdict: ReleaseVerdict = read_plain(cls, found, "verdict")
        return verdict

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


type ConcernKind = Literal[
    "below-zero",
    "identifying-field",
    "identifying-weight",
    "likely-name",
    "likely-role",
    "unchanged-records",
    "within-unit",
    "emptied-key",
    "missing-otherwise",
    "read-off-key",
    "moved-total",
    "unexplained",
]


@dataclass(frozen=True, slots=True)
class MissingRule(Serialised):
    """A rule that the rulebook lacks, in XPath 1.0.

    Attributes
    ----------
    id, context, test, message : str
        As `masktron suggest` tells them.
    namespaces : mapping of str to str
        Prefixes that it uses.
    """

    id: str
    context: str
    test: str
    message: str
    namespaces: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConcernResult(Serialised):
    """One of them. No value of a record is in it.

    Attributes
    ----------
    kind : str
        ``below-zero``: a masked number is below 0, and no original one is; ``identifying-field``: a field that is
        written as it was tells nearly every record from all others; ``identifying-weight``: the survey weight does;
        ``likely-name``: a field that is masked as categories may name respondents; ``likely-role``: a field that is
        masked as an amount may name records or be a weight;
        ``unchanged-records``: records came out as they went in, in all masked fields; ``within-unit``: members that
        are protected alone are alike others of the same unit only; ``missing-otherwise``: values are missing that
        were not, or the other way round; ``emptied-key``: suppression has left out much of a quasi-identifier;
        ``read-off-key``: hidden cells of a quasi-identifier can be read off other fields of the released file;
        ``moved-total``: the weighted total of a number moved by more than 2 %; ``unexplained``: a categorical field
        explains less than half as much of the variance of a number as before.
    field : str
        Empty where it is about whole records.
    records, of : int
        How many of the written records it is about.
    says, hint : str
        In a sentence each: what it is, and what to do.
    rule : MissingRule or None
        The rule that prevents it, where one does.
    """

    kind: ConcernKind
    field: str
    records: int
    of: int
    says: Sentence
    hint: Sentence
    rule: MissingRule | None = None


_TELLING_APART = frozenset(
    {"identifying-field", "identifying-weight", "likely-name", "read-off-key", "unchanged-records"}
)
"""Kinds that are about protection; the others are about what the data are still good for."""


def telling_apart(concerns: Iterable[tuple[str, str]], *, original_order: bool) -> tuple[str, ...]:
    """Return what tells records apart.

    Parameters
    ----------
    concerns : iterable of (str, str)
        Kind of each, and what it says.
    original_order : bool
        Whether the records stand in the order of the original.
    """
    found = tuple(says for kind, says in concerns if kind in _TELLING_APART)
    return (*found, "the records stand in the order of the original") if original_order else found
