"""What somebody has to look at before a masked file, which keeps all rules, is published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from masktron.problems.problem import Sentence
from masktron.serialised import Serialised

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
