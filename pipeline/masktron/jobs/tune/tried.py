"""What is known of a candidate, and what of it stands on the map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from masktron.jobs.tune.bench import TuneOutcome
from masktron.jobs.tune.choosing import broken_limits, near_unmasked
from masktron.jobs.tune.recipes import TuneRecipe
from masktron.problems.problem import Note
from masktron.results import SpreadResult, TuneCandidate
from masktron.results.tune import TuneState, worst_protection

_UNREACHED = "not reached within the budget"
_NOT_YET = "not tried so far"


@dataclass(frozen=True, slots=True)
class TuneRecords:
    """How many records candidates are tried on.

    Attributes
    ----------
    all : int
    sample : int or None
        None where all are compared at once.
    """

    all: int
    sample: int | None = None


@dataclass(slots=True)
class TriedCandidate:
    """What is known of a candidate."""

    recipe: TuneRecipe
    refusal: TuneOutcome | None = None
    same_as: int | None = None
    runs: dict[bool, dict[int, TuneOutcome]] = field(default_factory=lambda: {True: {}, False: {}})

    @property
    def open(self) -> bool:
        """Whether it is to be run."""
        return self.refusal is None and self.same_as is None

    def outcomes(self, whole: bool) -> list[TuneOutcome]:
        """Return what came of its runs, on all records or on the sample, by their seeds."""
        return [self.runs[whole][seed] for seed in sorted(self.runs[whole])]

    def candidate(self, records: TuneRecords, limits: Mapping[str, float], *, over: bool) -> TuneCandidate:
        """Return it as it stands on the map.

        Parameters
        ----------
        records : TuneRecords
        limits : mapping of str to float
        over : bool
            Whether nothing will be tried any more.
        """
        made = _untried(self.recipe)
        if self.refusal is not None:
            return replace(made, state=_refused_state([self.refusal]), reasons=(self.refusal.refused,))
        if self.same_as is not None:
            reasons = (f"the same as candidate {self.same_as} here",)
            return replace(made, state="same", same_as=self.same_as, reasons=reasons)
        whole = bool(self.runs[True]) or records.sample is None
        runs = self.outcomes(whole)
        if refused := [one for one in runs if one.refused]:
            share = f"in {len(refused)} of {len(runs)} runs: " if len(runs) > 1 else ""
            return replace(
                made,
                state=_refused_state(refused),
                reasons=(Note("{share}{why}", share=share, why=refused[0].refused),),
            )
        if not runs:
            return replace(made, state="unreached", reasons=(_UNREACHED if over else _NOT_YET,))
        return _measured(
            replace(
                made,
                state="measured" if whole else "sampled",
                records=records.all if whole or records.sample is None else records.sample,
            ),
            runs,
            limits,
        )


def _untried(recipe: TuneRecipe) -> TuneCandidate:
    return TuneCandidate(
        method=recipe.method,
        params=dict(recipe.params),
        k=recipe.k,
        grouping=recipe.grouping,
        aggregator=recipe.aggregator,
        recode=dict(recipe.recode),
        pram=dict(recipe.pram),
        swap=dict(recipe.swap),
        key_k=recipe.key_k,
        draws=recipe.draws,
    )


def _measured(made: TuneCandidate, runs: Sequence[TuneOutcome], limits: Mapping[str, float]) -> TuneCandidate:
    """Return a candidate with the figures of its runs."""
    spread = {name: _spread_of(runs, name) for name in runs[0].figures}
    broken = broken_limits(spread, limits)
    return replace(
        made,
        seeds=len(runs),
        figures={name: math.fsum(one.figures[name][0] for one in runs) / len(runs) for name in spread},
        spread=spread,
        protection=worst_protection(one.protection for one in runs),
        within_limits=not broken,
        reasons=(*broken, *near_unmasked({name: own.most for name, own in spread.items()})),
        concerns=max((one.concerns for one in runs), key=len),
        levels={
            level: {name: math.fsum(one.levels[level][name] for one in runs) / len(runs) for name in own}
            for level, own in runs[0].levels.items()
            if all(level in one.levels and own.keys() <= one.levels[level].keys() for one in runs)
        },
    )


def _refused_state(refused: Sequence[TuneOutcome]) -> TuneState:
    """Return the state of a candidate with refusals: ended where another run of each may get further."""
    return "ended" if all(one.ended for one in refused) else "refused"


def _spread_of(runs: Sequence[TuneOutcome], name: str) -> SpreadResult:
    values = [one.figures[name][0] for one in runs]
    return SpreadResult(min(values), max(values), runs[0].figures[name][1])
