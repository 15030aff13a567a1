"""What `mask` returns beside its error where it was asked to suggest a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from masktron.errors import RefusalFacts
from masktron.problems.problem import Note, Problem, Sentence, Setting
from masktron.problems.readers import Reader, reading
from masktron.problems.wording import sentence, worded
from masktron.results.result import JobResult
from masktron.serialised import Serialised
from masktron.shell_words import shell_word

type RemedyKind = Literal[
    "missing", "recode", "suppress", "aggregator", "kind", "grouping", "larger-k", "method", "mask-more", "exclude",
    "observed-share", "smaller-k", "smaller-key-k", "role", "limit", "order", "allow-lost", "allow",
]  # fmt: skip
"""What a remedy changes."""
type RemedyState = Literal["works", "refused", "ended", "untried"]
"""Masked in memory within all limits; refused as well; ended as time or memory was lacking; not tried."""
REFUSAL_NOTICE = "CONFIDENTIAL: for inside the agency. The figures are of the original."


@dataclass(frozen=True, slots=True)
class RemedyResult(Serialised):
    """One remedy, and what came of it.

    Attributes
    ----------
    kind : str
    what : str
        What it does, in words.
    adds : tuple of Setting
        What is given as well.
    drops : tuple of Setting
        What is to be left out, where the command had it.
    settings : mapping of str to value
        The same as settings, whole: for ``masktron.toml``, and as keyword arguments of `masktron.mask`. None takes a
        setting back.
    state : {"works", "refused", "ended", "untried"}
    reveals : str
        What it gives up or tells others; empty where the protection stays what it was.
    reason : str
        Why it does not work, or was not tried.
    figures : mapping of str to float
        By the name that they have in `assess`; of a remedy that works.
    records : int
        Records that would be released.
    masked : int
        Fields that would be masked.
    seconds : float
        What the trial took.
    levels : mapping of str to mapping of str to float
        Of a nested file, figures of each of its levels, by name; of a remedy that works.
    concerns : tuple of str
        What speaks against it beside its figures, as of a candidate of `tune`; of a remedy that works.
    """

    KEYS: ClassVar = "kind what options without settings state reveals reason figures concerns records masked levels"

    kind: RemedyKind
    what: str
    adds: tuple[Setting, ...] = field(default=(), repr=False)
    drops: tuple[Setting, ...] = field(default=(), repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    state: RemedyState = "untried"
    reveals: str = ""
    reason: Sentence = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    records: int = 0
    masked: int = 0
    seconds: float = 0.0
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    concerns: tuple[Sentence, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the command line to add, as they are pasted."""
        return _pasted(self.adds)

    @property
    def without(self) -> tuple[str, ...]:
        """Options that are to be left out, where the command had them."""
        return _pasted(self.drops)

    @property
    def pasted(self) -> str:
        """What is added to the command, and what is left out."""
        with reading(Reader.TERMINAL):
            return sentence(self.change)

    @property
    def change(self) -> Note:
        """The same for whoever reads it."""
        if not self.drops:
            return Note("{adds:call}", adds=self.adds)
        if not self.adds:
            return Note("leaving out {drops:call}", drops=self.drops)
        return Note("{adds:call} instead of {drops:call}", adds=self.adds, drops=self.drops)


@dataclass(frozen=True, slots=True, repr=False)
class RefusalResult(JobResult):
    """Why a run of `mask` was refused, and what helps.

    Attributes
    ----------
    data, rules : str
        The files.
    problem : Problem
        Of the error.
    exit_code : int
    facts : tuple of RefusalFacts
        Why, with names and counts.
    records : int
        Records that the run would have masked; 0 where the original was refused.
    remedies : tuple of RemedyResult
        Those that work first: by what they give up, then by concerns. What leaves the file nearly as it was, or loses
        100 % of the information, comes last of these.
    notes : tuple of str
    """

    JOB: ClassVar = "refusal"
    KEYS: ClassVar = "notice data rules what where hint exit_code facts records remedies notes"

    data: str
    rules: str
    problem: Problem
    exit_code: int
    facts: tuple[RefusalFacts, ...]
    records: int
    remedies: tuple[RemedyResult, ...]
    notes: tuple[Sentence, ...] = ()

    @property
    def notice(self) -> str:
        """Whom this is for."""
        return REFUSAL_NOTICE

    @property
    def what(self) -> str:
        """What is wrong."""
        return worded(self.problem).what

    @property
    def where(self) -> str:
        """The place."""
        return str(self.problem.place)

    @property
    def hint(self) -> str:
        """What the user can do next."""
        return worded(self.problem).hint

    @property
    def working(self) -> tuple[RemedyResult, ...]:
        """The remedies that work."""
        return tuple(one for one in self.remedies if one.state == "works")


def _pasted(settings: tuple[Setting, ...]) -> tuple[str, ...]:
    return tuple(
        f"{one.option} {shell_word(value)}" if value else one.option
        for one in settings
        for value in one.values or ("",)
    )
