"""Which checks are decided over columns, record by record by an engine, across records, or on the whole document."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.runner import usual_engines
from masktron.evaluation.stylesheet import EngineName
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout


class Tier(Enum):
    """How a check is evaluated, as it is shown."""

    COLUMNS = "1: columns"
    RECORDS = "2: record by record"
    ACROSS = "2: across records, two passes"
    DOCUMENT = "3: whole document"


MEMORY: Mapping[EngineName, int] = MappingProxyType({"recommended": 46, "libxml2": 46, "saxon": 33})
"""Bytes of memory for a byte of the file while an engine sees the whole document; measured on the census sample,
repeated to 50,000 and 150,000 records. libxml2 takes 23, once in this process and once in its own."""
PRACTICAL = 8_000_000_000
"""Bytes of memory beyond which a document is not for a usual machine."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The tier of a check.

    Attributes
    ----------
    reason : str
        Why it is not a lower one; empty for columns.
    """

    tier: Tier
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.tier.value}{self.reason and f' ({self.reason})'}"


class CompiledColumns(Protocol):
    """Checks compiled to columns; see `masktron.evaluation.columns.program`."""

    def evaluate(self, batch: Batch) -> Outcome:
        """Say what is sure of the records of a batch."""
        ...

    def reads(self, check: int) -> frozenset[int]:
        """Return the fields that decide a check and its contexts, by position in the layout."""
        ...


class ColumnCompiler(Protocol):
    """Compiles checks to columns."""

    def __call__(
        self, rulebook: Rulebook, layout: Layout, checks: Collection[int]
    ) -> tuple[CompiledColumns, tuple[str, ...]]:
        """Compile some checks; the texts say for each check of the rulebook why it could not be, or nothing."""
        ...


def without_columns(local: Sequence[str], reason: str) -> tuple[Assigned, ...]:
    """Assign the checks of a file that is not read as columns, from why they need the whole document."""
    return tuple(Assigned(Tier.DOCUMENT, why) if why else Assigned(Tier.RECORDS, reason) for why in local)


def assign(
    rulebook: Rulebook,
    layout: Layout,
    engines: Sequence[EngineName],
    outside: Collection[str],
    compiler: ColumnCompiler,
) -> tuple[CompiledColumns, tuple[Assigned, ...]]:
    """Compile what has an evaluation over columns, and say where each check goes.

    Parameters
    ----------
    engines : sequence of {"recommended", "libxml2", "saxon"}
        What decides each check.
    outside : collection of str
        As for `masktron.rulebook.locality.locality`.
    compiler : ColumnCompiler
    """
    whole = locality(rulebook, layout, frozenset(outside))
    usual = usual_engines(rulebook)
    local = [index for index, why in enumerate(whole) if not why and engines[index] == usual[index]]
    program, reasons = compiler(rulebook, layout, local)
    chosen = frozenset(local)
    return program, tuple(
        _assigned(whole[index], reasons[index] if index in chosen else "Saxon decides it in XPath 1.0 mode")
        for index in range(len(whole))
    )


def _assigned(whole: str, reason: str) -> Assigned:
    if whole:
        return Assigned(Tier.DOCUMENT, whole)
    return Assigned(Tier.RECORDS, reason) if reason else Assigned(Tier.COLUMNS)
