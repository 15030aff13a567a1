"""What `tune` returns: candidates, each with its risk and its loss, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from masktron.figures import NAMES
from masktron.perturbation_settings import short_pram
from masktron.problems.problem import Field, Note, Sentence, Term
from masktron.problems.wording import sentence
from masktron.recoding_settings import short_how
from masktron.results.result import JobResult, PlottedResult, from_report
from masktron.serialised import Known, Serialised, read_plain
from masktron.setting_values import Param

if TYPE_CHECKING:
    import pandas as pd

    from masktron.config import Config, Grouping


@dataclass(frozen=True, slots=True)
class KeyTreatment:
    """Treatments of keys, as settings say them.

    Attributes
    ----------
    recode : mapping of str to str
        How keys are recoded.
    pram : mapping of str to str
        How values are drawn anew, in the order in which fields are drawn.
    swap : mapping of str to value
        How records exchange regions; nothing is swapped where it is empty. Several names are a tuple.
    key_k : int or None
        Records that share each combination of keys, by local suppression; None where nothing is suppressed.
    """

    recode: Mapping[str, str] = field(default_factory=dict)
    pram: Mapping[str, str] = field(default_factory=dict)
    swap: Mapping[str, Any] = field(default_factory=dict)
    key_k: int | None = None

    def __post_init__(self) -> None:
        same = {name: tuple(one) if isinstance(one, list) else one for name, one in self.swap.items()}
        object.__setattr__(self, "swap", same)

    @classmethod
    def of(cls, config: Config) -> Self:
        """Return what settings say."""
        return cls(dict(config.recode), dict(config.pram), dict(config.swap), config.key_k)

    @property
    def is_none(self) -> bool:
        """Whether keys are written as they are."""
        return not self.recode and not self.draws

    @property
    def perturbs(self) -> bool:
        """Whether values are drawn anew or swapped, so that what is written may not be true."""
        return bool(self.pram or self.swap)

    @property
    def draws(self) -> bool:
        """Whether it takes random numbers."""
        return self.perturbs or self.key_k is not None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is done to each key, and to all of them, in a few words; of a file, its name alone."""
        return (
            *(Note("{key} {how}", key=Field(name), how=short_how(how)) for name, how in self.recode.items()),
            *(Note("pram {keys} {how}", keys=Field(name), how=short_pram(how)) for name, how in self.pram.items()),
            *_swapped(self.swap),
            *([] if self.key_k is None else [Note("key k = {k}", k=self.key_k)]),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The same as texts."""
        return tuple(map(sentence, self.notes))

    @property
    def short_texts(self) -> tuple[str, ...]:
        """The same with what is long at the end, where it may be cut."""
        own = [] if self.key_k is None else [f"key k = {self.key_k}"]
        return (*own, *(text for text in self.texts if text not in own))


def _swapped(swap: Mapping[str, Any]) -> list[Note]:
    if not swap:
        return []
    regions = Field("+".join(swap["regions"]))
    return [Note("swap {regions} rate {rate:g}", regions=regions, rate=swap.get("rate", 0.0))]


_UNTREATED = KeyTreatment()
type TuneState = Literal["measured", "sampled", "refused", "ended", "same", "unreached"]
"""What came of a candidate: measured on all records; on the sample alone; refused by the file, the rules or the
method; ended as an engine or the system lacked time or memory; the same as another candidate on this file; not
reached within the budget."""
PROTECTION: Mapping[str, str] = {
    "pram_changed": "Records, or households, that have another value since it was drawn anew: those of the field "
    "with the fewest; per cent.",
    "pram_confidence": "A published value that was drawn anew is true with at most this probability, for who knows "
    "the shares in the file and nothing else of the record: the field with the most; per cent.",
    "pram_odds": "A published value that was drawn anew makes the odds of one true value against another at most so "
    "many times larger, whatever somebody knew before: the field with the most. No bound is infinite.",
    "pram_stays": "Records, or households, in which a drawn value cannot change, as the rules leave one value, or as "
    "none alike has another; confidence and odds are not of them. The field with the most; per cent.",
    "swap_moved": "Records, or households, that have changed places; per cent.",
    "swap_at_home": "Of those that are rare in a region as it is written, those that are where the file says: the "
    "level with the most; per cent. None where nobody is rare.",
}
"""What is said of values that are drawn anew and of records that are swapped, and what it means: no figure of a file,
as figures take what is written as true."""
_LEAST = frozenset({"pram_changed", "swap_moved"})
"""What protects the less the smaller it is."""
TUNE_NOTICE = (
    "CONFIDENTIAL: for inside the agency. The figures are of the original, and whoever has the seeds that tune tried "
    "must not find them in a release."
)


@dataclass(frozen=True, slots=True)
class SpreadResult(Serialised):
    """A figure of a candidate over the seeds with which it was run.

    Attributes
    ----------
    least, most : float
        The same where there was one run.
    field : str
        Where it is worst, for figures that are looked at field by field, in the first run; else empty.
    """

    least: float
    most: float
    field: str = ""


@dataclass(frozen=True, slots=True)
class TuneCandidate(Serialised):
    """One way to mask the file, and what it does to risk and utility.

    Attributes
    ----------
    method : str
    params : mapping of str to value
        Parameters of the method that are not those it has by itself.
    k : int
    grouping : Grouping
        ``rules`` or ``all``, as in the settings.
    aggregator : str or None
        The one that is asked for by name; None where the least loss decides.
    state : {"measured", "sampled", "refused", "ended", "same", "unreached"}
        What came of it. There are figures for the first two alone.
    records : int
        Records on which its figures were measured; 0 without figures.
    seeds : int
        Runs with other random numbers; 1 where nothing is drawn, 0 without figures.
    draws : bool
        Whether the method draws a value for each record; else groups of records share their values.
    figures : mapping of str to float
        By the name that they have in `assess`: the mean over the seeds. NaN where the file has nothing of it.
    spread : mapping of str to SpreadResult
        The same figures over the seeds.
    within_limits : bool or None
        Whether every run is within every limit; None without figures. On a sample it is a guess.
    reasons : tuple of str
        Limits that it breaks, that it leaves the file nearly as it was, or why it has no figures.
    same_as : int or None
        The candidate that does the same on this file.
    recode : mapping of str to str
        How keys are recoded before the other fields are masked, as in the settings.
    key_k : int or None
        Records that share each combination of keys, by local suppression; None where nothing is suppressed.
    pram : mapping of str to str
        How values are drawn anew, as in the settings, in the order in which fields are drawn.
    swap : mapping of str to value
        How records exchange regions, as in the settings; nothing is swapped where it is empty.
    protection : mapping of str to float
        What that protects, the worst over the seeds: see `PROTECTION`. Empty where nothing is drawn anew or swapped.
    levels : mapping of str to mapping of str to float
        Of a nested file, figures of each of its levels by name, as `masktron.results.MaskedLevel` has them: the mean
        over the seeds. Empty of other files, and on a sample.
    concerns : tuple of str
        What speaks against it beside risk and loss, a sentence each: values below 0, records that are unique although
        k was asked for, totals that moved, means by category that are lost, and the concerns of `mask`. Of the run
        with the most.
    """

    KEYS: ClassVar = (
        "method params k grouping aggregator recode pram swap key_k state records seeds draws figures=_nine_digits "
        "spread risks protection within_limits concerns reasons same_as levels"
    )
    EXACT: ClassVar = frozenset({"_nine_digits"})

    method: str
    params: Mapping[str, Param]
    k: int
    grouping: Grouping
    aggregator: str | None = None
    state: TuneState = "unreached"
    records: int = 0
    seeds: int = 0
    draws: bool = field(default=False, compare=False)
    figures: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, SpreadResult] = field(default_factory=dict)
    within_limits: bool | None = None
    reasons: tuple[Sentence, ...] = ()
    same_as: int | None = None
    recode: Mapping[str, str] = field(default_factory=dict)
    key_k: int | None = None
    pram: Mapping[str, str] = field(default_factory=dict)
    swap: Mapping[str, Any] = field(default_factory=dict)
    protection: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    concerns: tuple[Sentence, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build one of the settings in its plain data, without what came of it.

        Raises
        ------
        ValueError
            They are no candidate.
        """
        found: Self = read_plain(cls, data, "candidate")
        made = cls(found.method, found.params, found.k, found.grouping, found.aggregator)
        return made.treating(found.treatment)

    def treating(self, keys: KeyTreatment) -> Self:
        """Return the same with another treatment of keys."""
        return replace(self, recode=keys.recode, pram=keys.pram, swap=keys.swap, key_k=keys.key_k)

    @property
    def treatment(self) -> KeyTreatment:
        """What is done to keys."""
        return KeyTreatment(self.recode, self.pram, self.swap, self.key_k)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that it stands for, by their names."""
        return {
            "method": self.method,
            "params": dict(self.params),
            "k": self.k,
            "grouping": self.grouping,
            "aggregator": self.aggregator,
            "recode": dict(self.recode),
            "pram": dict(self.pram),
            "swap": dict(self.treatment.swap),
            "key_k": self.key_k,
            **({"keys": {}} if self.key_k is None else {}),
        }

    @property
    def risks(self) -> str:
        """What intruders would re-identify, in sentences."""
        return str(from_report("sentences.risk_sentences", self.figures))

    @property
    def differs(self) -> bool:
        """Whether another seed may give another file."""
        return self.draws or self.treatment.draws

    @property
    def _nine_digits(self) -> dict[str, float]:
        """Digits that count, and not decimals: some figures are small by nature."""
        return {name: float(f"{value:.9g}") for name, value in self.figures.items()}

    @property
    def name(self) -> str:
        """What it is called in tables: ``mdav, k = 5, grouping all``."""
        return sentence(self.called)

    @property
    def called(self) -> Note:
        """The same in sentences."""
        return candidate_name(self.method, self.k, self.grouping, self.aggregator, self.params, self.treatment)


@dataclass(frozen=True, slots=True, repr=False)
class TuneResult(JobResult, PlottedResult):
    """The risk-utility map of a file: what each way to mask it costs, and what risk it leaves.

    Attributes
    ----------
    data, rules : str
        The files.
    records : int
        Records that are masked.
    sample : int or None
        Records of the sample on which candidates were compared before the best were run on all; None without one.
    risk, utility : str
        Names of the figures that are the axes of the map: see `masktron.figures`. Less is better in both, unless the
        figure says otherwise.
    limits : mapping of str to float
        Bounds of figures that a release has to keep, by name.
    candidates : tuple of TuneCandidate
        In the order in which they were tried; a candidate is called by its position, from 0.
    front : tuple of int
        Candidates that no other one beats in both axes, from the least risk to the most: the Pareto front. Of those
        that were measured on all records; of the sample where there are none.
    recommended : int or None
        The candidate to take; None without a limit on risk, while the search is not finished, and where no candidate
        keeps the limits or all that do leave the file nearly as it was.
    why : str
        The reason, in a sentence.
    unmasked : mapping of str to float
        Figures of the original released as it is, for comparison.
    seeds : int
        Runs of each candidate that draws.
    notes : tuple of str
        What the map cannot tell, and what was taken for granted.
    """

    JOB: ClassVar = "tune"
    KEYS: ClassVar = (
        "notice data rules records sample risk utility limits candidates front recommended why unmasked seeds "
        "complete notes"
    )

    data: str
    rules: str
    records: int
    sample: int | None
    risk: str
    utility: str
    limits: Mapping[str, Known]
    candidates: tuple[TuneCandidate, ...]
    front: tuple[int, ...]
    recommended: int | None
    why: Sentence
    unmasked: Mapping[str, float]
    seeds: int = 1
    notes: tuple[Sentence, ...] = ()

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse positions of no candidate, and names of no figure."""
        candidates = read_plain(tuple[TuneCandidate, ...], told.get("candidates"), "candidates")
        front, recommended = told.get("front", []), told.get("recommended")
        placed = read_plain(tuple[int, ...], front if recommended is None else [*front, recommended], "front")
        if any(at not in range(len(candidates)) for at in placed):
            raise ValueError("front, or recommended, names no candidate")
        known = {told.get("risk"), told.get("utility"), *(name for one in candidates for name in one.figures)}
        if unknown := known - {*NAMES}:
            raise ValueError(f"{unknown.pop()} is no figure")
        return {"candidates": candidates}

    @property
    def notice(self) -> str:
        """Whom this is for."""
        return TUNE_NOTICE

    @property
    def complete(self) -> bool:
        """Whether no candidate was left out for want of time or memory."""
        return all(one.state not in ("unreached", "ended") for one in self.candidates)

    def __getitem__(self, position: int) -> TuneCandidate:
        """Return a candidate by its position: ``result[0].figures["linkage"]``."""
        return self.candidates[position]

    def to_frame(self) -> pd.DataFrame:
        """Return the candidates as a data frame, a row each, with a column for each figure."""
        import pandas as pd

        names = list(dict.fromkeys(name for one in self.candidates for name in one.figures))
        protected = [name for name in PROTECTION if any(name in one.protection for one in self.candidates)]
        rows: list[dict[str, Any]] = [
            {
                "method": one.method,
                "params": dict(one.params),
                "k": one.k,
                "grouping": one.grouping,
                "aggregator": one.aggregator,
                "treatment": ", ".join(one.treatment.texts),
                "state": one.state,
                "records": one.records,
                "within_limits": one.within_limits,
                "concerns": len(one.concerns),
                "front": position in self.front,
                "recommended": position == self.recommended,
                **{name: one.figures.get(name) for name in names},
                **{name: one.protection.get(name) for name in protected},
                "reasons": "; ".join(map(sentence, one.reasons)),
            }
            for position, one in enumerate(self.candidates)
        ]
        return pd.DataFrame(rows)


def candidate_name(
    method: str,
    k: int,
    grouping: str,
    aggregator: str | None,
    params: Mapping[str, object],
    treatment: KeyTreatment = _UNTREATED,
) -> Note:
    """Return what a candidate is called: ``mdav, k = 5, grouping all, AGE width:5, key k = 3``.

    Parameters may be those of its JSON.
    """
    by = [] if aggregator is None else [f"aggregator {aggregator}"]
    own = [f"{key} = {parameter_text(value)}" for key, value in params.items()]
    return Note("{parts}", parts=[method, f"k = {k}", Term(f"grouping {grouping}"), *by, *own, *treatment.notes])


def parameter_text(value: object) -> str:
    """Return a parameter of a candidate as tables and sentences have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "auto" if value is None else str(value)


def worst_protection(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the least protection of several fields or runs: what moves least, and what tells most."""
    made: dict[str, float] = {}
    for one in found:
        for name, value in one.items():
            made[name] = (min if name in _LEAST else max)(made.get(name, value), value)
    return made


def protection_text(name: str, value: float | None) -> str:
    """Return what draws protect as tables have it; nothing is said of what a treatment does not do."""
    if value is None:
        return "-"
    if name == "pram_odds":
        return f"{value:.3g}" if math.isfinite(value) else "no bound"
    return f"{value:.1f} %"
