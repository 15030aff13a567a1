"""What `mask` returns beside its error where it was asked to suggest a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from masktron.errors import RefusalFacts
from masktron.problems.problem import Sentence
from masktron.results.result import JobResult
from masktron.serialised import Serialised

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
    options : tuple of str
        Options of the command line to add, as they are pasted.
    without : tuple of str
        Options that are to be left out, where the command had them.
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
    options: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    state: RemedyState = "untried"
    reveals: str = ""
    reason: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    records: int = 0
    masked: int = 0
    seconds: float = 0.0
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    concerns: tuple[Sentence, ...] = ()

    @property
    def pasted(self) -> str:
        """What is added to the command, and what is left out."""
        gone = f" (without {' '.join(self.without)})" if self.without else ""
        return f"{' '.join(self.options)}{gone}".strip()


@dataclass(frozen=True, slots=True, repr=False)
class RefusalResult(JobResult):
    """Why a run of `mask` was refused, and what helps.

    Attributes
    ----------
    data, rules : str
        The files.
    what, where, hint : str
        The error.
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
    what: str
    where: str
    hint: str
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
    def working(self) -> tuple[RemedyResult, ...]:
        """The remedies that work."""
        return tuple(one for one in self.remedies if one.state == "works")
