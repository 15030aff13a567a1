"""What `tune` returns: candidates, each with its risk and its loss, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from masktron.recoding_settings import short_how
from masktron.results.result import JobResult, PlottedResult
from masktron.serialised import Serialised

if TYPE_CHECKING:
    import pandas as pd

    from masktron.config import Grouping, Param

_UNTREATED: Mapping[str, str] = MappingProxyType({})
type TuneState = Literal["measured", "sampled", "refused", "ended", "same", "unreached"]
"""What came of a candidate: measured on all records; on the sample alone; refused by the file, the rules or the
method; ended as an engine or the system lacked time or memory; the same as another candidate on this file; not
reached within the budget."""
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
        Limits that it breaks, or why it has no figures.
    same_as : int or None
        The candidate that does the same on this file.
    recode : mapping of str to str
        How keys are recoded before the other fields are masked, as in the settings.
    key_k : int or None
        Records that share each combination of keys, by local suppression; None where nothing is suppressed.
    """

    KEYS: ClassVar = (
        "method params k grouping aggregator recode key_k state records seeds draws figures=_nine_digits spread "
        "within_limits reasons same_as"
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
    draws: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, SpreadResult] = field(default_factory=dict)
    within_limits: bool | None = None
    reasons: tuple[str, ...] = ()
    same_as: int | None = None
    recode: Mapping[str, str] = field(default_factory=dict)
    key_k: int | None = None

    @property
    def _nine_digits(self) -> dict[str, float]:
        """Digits that count, and not decimals: some figures are small by nature."""
        return {name: float(f"{value:.9g}") for name, value in self.figures.items()}

    @property
    def name(self) -> str:
        """What it is called in tables and sentences: ``mdav, k = 5, grouping all``."""
        return candidate_name(
            self.method, self.k, self.grouping, self.aggregator, self.params, self.recode, self.key_k
        )


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
        The candidate to take; None where there is none.
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
    limits: Mapping[str, float]
    candidates: tuple[TuneCandidate, ...]
    front: tuple[int, ...]
    recommended: int | None
    why: str
    unmasked: Mapping[str, float]
    seeds: int = 1
    notes: tuple[str, ...] = ()

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
        rows: list[dict[str, Any]] = [
            {
                "method": one.method,
                "params": dict(one.params),
                "k": one.k,
                "grouping": one.grouping,
                "aggregator": one.aggregator,
                "treatment": ", ".join(treatment_texts(one.recode, one.key_k)),
                "state": one.state,
                "records": one.records,
                "within_limits": one.within_limits,
                "front": position in self.front,
                "recommended": position == self.recommended,
                **{name: one.figures.get(name) for name in names},
                "reasons": "; ".join(one.reasons),
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
    recode: Mapping[str, str] = _UNTREATED,
    key_k: int | None = None,
) -> str:
    """Return what a candidate is called: ``mdav, k = 5, grouping all, AGE width:5, key k = 3``.

    Parameters may be those of its JSON.
    """
    by = [] if aggregator is None else [f"aggregator {aggregator}"]
    own = [f"{key} = {parameter_text(value)}" for key, value in params.items()]
    return ", ".join([method, f"k = {k}", f"grouping {grouping}", *by, *own, *treatment_texts(recode, key_k)])


def treatment_texts(recode: Mapping[str, str], key_k: int | None) -> list[str]:
    """Say in a few words what is done to each key, and to all of them; of a hierarchy, the name of the file."""
    suppressed = [] if key_k is None else [f"key k = {key_k}"]
    return [*(f"{name} {short_how(how)}" for name, how in recode.items()), *suppressed]


def parameter_text(value: object) -> str:
    """Return a parameter of a candidate as tables and sentences have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "auto" if value is None else str(value)
