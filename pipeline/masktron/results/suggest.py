"""What `suggest` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from masktron.problems.problem import Sentence
from masktron.results.result import JobResult
from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.classify.edit import RuleClass
    from masktron.proposals.candidate import KindName, Strength


@dataclass(frozen=True, slots=True)
class Proposal(Serialised):
    """A rule that the data suggest.

    Attributes
    ----------
    number : int
        From 1: what ``--accept`` names, as long as data and settings are the same.
    id : str
        Of the rule in the rulebook; ``--accept`` takes it, too.
    kind : str
        What it says: ``total``, ``multiple``, ``equal``, ``unique``, ``order``, ``if-then``, ``not-negative``,
        ``codes``, ``integer``, ``required`` or ``range``.
    form : str
        In plain mathematics, as `explain` shows it.
    plain : str
        As a plain rule, which is undecided where a value is missing; empty where that cannot say it.
    edit : str
        Its class, as `explain` shows it.
    fields : tuple of str
    context, test : str
        In XPath 1.0.
    message : str
        What a record that breaks it is told; values that it shows are in braces, as XPath.
    records : int
        Records that it is asked of; for IF ... THEN, those that satisfy the IF.
    exceptions : int
        Records that break it.
    first : tuple of int
        The first of them, from 1.
    strength : str
        ``strong``: no chance explains it, and no record breaks it; ``fair``; ``guess``: the data cannot tell where it
        ends, somebody has to.
    evidence : str
        How likely it is chance, in a sentence.
    follows_from : tuple of str
        Ids of proposals that imply it; ``--accept all`` leaves it out then.
    accepted : bool
        It was written.
    """

    KEYS: ClassVar = (
        "number id kind form class=edit fields context test message records exceptions first strength evidence "
        "follows_from accepted plain"
    )

    number: int
    id: str
    kind: KindName
    form: str
    edit: RuleClass
    fields: tuple[str, ...]
    context: str
    test: str
    message: str
    records: int
    exceptions: int
    first: tuple[int, ...]
    strength: Strength
    evidence: str
    follows_from: tuple[str, ...] = ()
    accepted: bool = False
    plain: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class SuggestResult(JobResult):
    """Rules that the data suggest; those that were accepted are written. Confidential: lists and bounds show values.

    Attributes
    ----------
    data : str
    records : int
    output : str or None
        The rulebook; None where none was written.
    proposals : tuple of Proposal
        Strong ones first; those that follow from others last.
    notes : tuple of str
        What was not looked for.
    namespaces : mapping of str to str
        What the prefixes in proposals stand for.
    """

    JOB: ClassVar = "suggest"
    KEYS: ClassVar = "data records output namespaces proposals notes"

    data: str
    records: int
    output: str | None
    proposals: tuple[Proposal, ...]
    notes: tuple[Sentence, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Ids of the rules that were written."""
        return tuple(one.id for one in self.proposals if one.accepted)
