"""What `explain` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from masktron.problems.problem import Note, Problem, Sentence
from masktron.problems.wording import complaint
from masktron.results.figure import LevelDescription
from masktron.results.result import JobResult, PlottedResult
from masktron.results.rules import Tested
from masktron.serialised import Serialised, read_plain

if TYPE_CHECKING:
    from masktron.classify.edit import RuleClass
    from masktron.preflight.conclusions import Coverage, Preflight, Tie


@dataclass(frozen=True, slots=True)
class RuleExplanation(Serialised):
    """What masktron makes of a rule; counts, tier and plan only with data.

    Attributes
    ----------
    kind : str
        Its class.
    form : str
        What it says in plain mathematics; empty where that is not understood.
    reason : str
        Why it is not understood, or what it asks of several records.
    failed : int or None
        Failures and errors; None also where the data do not test the rule.
    block : tuple of str, or None
        The fields that are masked together on its account.
    candidates : tuple of str
        The aggregators that keep the rules of the block; if there are several, `mask` takes what loses least.
    aggregator : str or None
        The candidate, if there is only one.
    why : str or None
        Why these aggregators and no others; or without a block, why the rule is not kept by masking.
    tier : str or None
        How it is evaluated: ``1: columns``, or with the reason ``2: record by record (...)``, ``2: across records,
        two passes (...)`` or ``3: whole document (...)``.
    soft : bool
        Whether a failure is only reported.
    marks : tuple of str
        The attributes that say so, such as ``role="info"``; of a hard rule those that do not.
    """

    KEYS: ClassVar = (
        "id class=kind soft marks variables form reason lints origin context test fired failed block candidates "
        "aggregator why tier"
    )

    id: str
    kind: RuleClass
    variables: tuple[str, ...]
    form: str
    reason: str
    lints: tuple[Sentence, ...]
    origin: str
    test: str
    context: str
    fired: int | None = None
    failed: int | None = None
    block: tuple[str, ...] | None = None
    aggregator: str | None = None
    why: Sentence | None = None
    tier: str | None = None
    candidates: tuple[str, ...] = ()
    soft: bool = False
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldExplanation(Serialised):
    """What a file says of a field, and what the field is to `mask`.

    Attributes
    ----------
    name : str
        As rules and settings have it.
    column : str
        As the file has it.
    label : str
        Empty where the file has none.
    role, kind : str or None
        None where `mask` would stop before it knows them.
    missing : mapping of str to str
        Codes for missing values, with their labels.
    labels : mapping of str to str
        Labels of other values.
    """

    name: str
    column: str
    label: str
    role: str | None
    kind: str | None
    missing: Mapping[str, str]
    labels: Mapping[str, str]


type StepKind = Literal["units", "recoding", "reweighting", "pram", "swapping", "suppression", "masking"]


@dataclass(frozen=True, slots=True)
class StepExplanation(Serialised):
    """A step that `mask` takes from the file to the release.

    Attributes
    ----------
    kind : str
        As manifests call it; ``units`` where records of a nested file are masked with all their members, and
        ``masking`` for the last one.
    fields : tuple of str
        Those that it may change; empty where the file is needed to tell.
    """

    kind: StepKind
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ExplainResult(JobResult, PlottedResult):
    """What masktron makes of a rulebook, and with data what it would do.

    Attributes
    ----------
    problem : Problem or None
        Why `mask` would stop, where it would.
    preflight : Preflight
        What the rules say about each other.
    ties : tuple of Tie
        Rules that read masked and unmasked fields; without data, by the declared roles alone.
    coverage : tuple of Coverage
        What the records test of each rule; empty without data.
    tested : Tested or None
        How many rules the data test.
    fields : tuple of FieldExplanation
        Of a table; empty for XML, which says nothing of its fields.
    levels : tuple of LevelDescription
        Of a nested file; none of others.
    steps : tuple of StepExplanation
        In the order in which `mask` takes them.
    """

    JOB: ClassVar = "explain"
    KEYS: ClassVar = "rulebook xpath=version rules notes obstacle preflight ties coverage tested fields levels steps"

    rulebook: str
    version: str
    rules: tuple[RuleExplanation, ...]
    notes: tuple[Sentence, ...]
    problem: Problem | None
    preflight: Preflight
    ties: tuple[Tie, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    tested: Tested | None = None
    fields: tuple[FieldExplanation, ...] = ()
    levels: tuple[LevelDescription, ...] = ()
    steps: tuple[StepExplanation, ...] = ()

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the problem as what its sentence says."""
        found = read_plain(str | None, told.get("obstacle"), "obstacle")
        return {"problem": None if found is None else Note("{what}", what=found)}

    @property
    def obstacle(self) -> str | None:
        """Why `mask` would stop, as its error says it."""
        return None if self.problem is None else complaint(self.problem)
