"""What `rules` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from masktron.results.result import JobResult
from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.rulebook_text.rule_entries import EntryKind


@dataclass(frozen=True, slots=True)
class WrittenRule(Serialised):
    """A rule as it stands in a file.

    Attributes
    ----------
    number : int
        From 1.
    id : str
        As written; empty where it has none: its number names it then, after a ``#``.
    kind : str
        ``assert``, ``report``, ``instance`` (of an abstract pattern), ``include``, or ``plain`` of plain rules.
    context, test : str
    message : str
        What shows a value is in braces, as XPath.
    line : int
    locked : str
        Why it cannot be changed in place; empty where it can.
    message_locked : str
        The same of its message alone.
    soft : bool
        Whether an attribute makes it a warning: a file may break it.
    """

    KEYS: ClassVar = "number id kind context test message line locked message_locked soft"

    number: int
    id: str
    kind: EntryKind | Literal["plain"]
    context: str
    test: str
    message: str
    line: int
    locked: str
    message_locked: str
    soft: bool


@dataclass(frozen=True, slots=True, repr=False)
class RulesResult(JobResult):
    """The rules that stand in a file, after a change where one was asked for.

    Attributes
    ----------
    rulebook : str
    output : str or None
        The file that was written; None where nothing was to be changed.
    rules : tuple of WrittenRule
        What it includes is named, and not listed.
    text : str
        The rules in another language, where one was asked for.
    losses : tuple of str
        Rules that have no spelling there, each with the reason.
    notes : tuple of str
        Where rules in the two languages may differ.
    """

    JOB: ClassVar = "rules"
    KEYS: ClassVar = "rulebook output rules text losses notes"

    rulebook: str
    output: str | None
    rules: tuple[WrittenRule, ...]
    text: str = ""
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
