"""What the evaluation of rules on records yields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Verdict(IntEnum):
    """What became of one check on one record; over several nodes of the record, the worst."""

    NOT_FIRED = 0
    HOLDS = 1
    FAILS = 2
    ERROR = 3
    """A dynamic error of XPath 2 or later; it fails the rule."""


type FindingKind = Literal["failed-assert", "successful-report", "error"]


class MemberValues(NamedTuple):
    """What members of a record say in one field that a check reads: the first texts, and how many more there are."""

    name: str
    texts: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One check that one node does not obey.

    Attributes
    ----------
    check : int
        Index of the check.
    record : int
        Position of the record in the file, from 0; -1 for a node outside all records.
    line : int
        Line on which the node begins, from 1; of an attribute, text or other node without a start tag, that of the
        element around it.
    location : str
        XPath of the node from the document, with positions.
    message : str
        The rule's text with ``value-of`` filled: confidential, as it may show values.
    column : int
        Column, in characters from 1, of the ``<`` of the node; 0 where it is not known.
    record_id : str or None
        What the field that names the record says, without white space around it. Empty where the record lacks the
        field; None where no field names records, and outside the records. Confidential.
    values : tuple of (str, str or None)
        The fields that the check reads with their text, None where absent; a repeated field is there as often as the
        record has it. Confidential.
    artefact : bool
        Whether the check holds in exact decimals: it fails for the rounding of doubles alone.
    notes : tuple of str
        The texts of the diagnostics and properties that the check names, in their order. Confidential.
    member : str or None
        Which record within the record it is about: ``Person 2``, its place among those of its name, with its key
        where it has one; None where it is about the record itself. Confidential.
    among : tuple of MemberValues
        The fields that the check reads of members within the record or beside the member. Confidential.
    """

    check: int
    kind: FindingKind
    record: int
    line: int
    location: str
    message: str
    column: int = 0
    record_id: str | None = None
    values: tuple[tuple[str, str | None], ...] = ()
    artefact: bool = False
    notes: tuple[str, ...] = ()
    member: str | None = None
    among: tuple[MemberValues, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedBack:
    """A check that was to be evaluated across records in two passes and was not, for what the first of them met.

    Attributes
    ----------
    whole : bool
        Whether it needed the whole document, instead of one record at a time.
    """

    check: int
    reason: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Departure:
    """A check of XPath 1.0 on which libxml2, reading or writing numbers in its way, says something else.

    Attributes
    ----------
    refused, accepted : int
        Records that libxml2 alone refuses, and those that it alone accepts.
    """

    check: int
    refused: int
    accepted: int


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The outcome of all checks on all records.

    Attributes
    ----------
    verdicts : ndarray of uint8, shape (records, checks), or None
        `Verdict` codes of the checks on records, where they were asked for: they grow with the file.
    fired, failed, errors : ndarray of int64, shape (checks,)
        Exact numbers of nodes: on which the check was evaluated; where it failed (asserts that are false, reports
        that are true; errors not included); where it raised a dynamic error.
    findings : tuple of Finding
        The first ``limit`` of each check.
    engine : str
        Name and version of the engine that decided.
    records : int
    handed_back : tuple of HandedBack
    departures : tuple of Departure
        As far as it is known. Over columns it is not for checks that make numbers of texts, or texts of numbers.
    """

    verdicts: NDArray[np.uint8] | None
    fired: NDArray[np.int64]
    failed: NDArray[np.int64]
    errors: NDArray[np.int64]
    findings: tuple[Finding, ...]
    engine: str
    records: int
    handed_back: tuple[HandedBack, ...] = ()
    departures: tuple[Departure, ...] = ()

    @property
    def judged(self) -> NDArray[np.uint8]:
        """The verdicts, where they were asked for.

        Raises
        ------
        ValueError
            They were not.
        """
        if self.verdicts is None:
            raise ValueError("the verdicts on single records were not kept")
        return self.verdicts

    @property
    def violations(self) -> int:
        """Failed asserts, fired reports and errors, summed over checks and nodes."""
        return int(self.failed.sum() + self.errors.sum())
