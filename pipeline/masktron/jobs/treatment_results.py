"""What was done to fields before they were masked, in words: after a run, and as a manifest declares it."""

from __future__ import annotations

from collections.abc import Iterable

from masktron.results import TreatmentResult
from masktron.step_kinds import Treatment


def treatment_results(treatments: Iterable[Treatment], *, outcome: bool) -> tuple[TreatmentResult, ...]:
    """Say what was done, in order, without a value.

    Parameters
    ----------
    treatments : iterable of Treatment
    outcome : bool
        Whether to say what came of it. What a manifest says of that, nobody has tested.
    """
    return tuple(
        TreatmentResult(one.kind, field, how) for one in treatments for field, how in one.told(outcome=outcome)
    )
