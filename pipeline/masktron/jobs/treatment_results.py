"""What was done to fields before they were masked, in words: after a run, and as a manifest declares it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from masktron.counts import counted
from masktron.jobs.post_randomised import drawn_how
from masktron.jobs.recoded import recoded_how
from masktron.jobs.reweighted import spread_how
from masktron.jobs.swapped import swapped_how
from masktron.results import TreatmentResult
from masktron.write.treatments import Postrandomised, Recoded, Reweighted, Suppressed, Swapped, Treatment


def treatment_results(treatments: Iterable[Treatment], *, outcome: bool) -> tuple[TreatmentResult, ...]:
    """Say what was done, in order, without a value.

    Parameters
    ----------
    treatments : iterable of Treatment
    outcome : bool
        Whether to say what came of it. What a manifest says of that, nobody has tested.
    """
    return tuple(
        TreatmentResult(one.kind, field, how) for one in treatments for field, how in _fields_and_how(one, outcome)
    )


def _fields_and_how(one: Treatment, outcome: bool) -> Iterator[tuple[str, str]]:
    changed = ", ".join(one.changed)
    match one:
        case Recoded():
            yield changed, recoded_how(one)
        case Reweighted():
            yield changed, spread_how(one)
        case Postrandomised():
            yield changed, drawn_how(one) if outcome else _asked_draws(one)
        case Swapped():
            yield changed, swapped_how(one) if outcome else _asked_swaps(one)
        case Suppressed() if outcome:
            for name, (gone, there) in one.cells.items():
                share = f"{100 * gone / max(there, 1):.2g} %"
                demanded = ", as rules demand" if name in one.also else ""
                yield name, f"k = {one.contract.k}: {gone:,} of {there:,} cells ({share}){demanded}"
        case Suppressed():
            yield changed, f"k = {one.contract.k}"
        case _:
            assert_never(one)


def _asked_draws(one: Postrandomised) -> str:
    how = one.settings
    parts = ["by a matrix" if one.matrix else f"change {how.change:g}"]
    parts += [f"within {', '.join(how.within)}"] if how.within else []
    parts += [f"the records of a household ({how.household}) as one"] if how.household is not None else []
    return "; ".join(parts)


def _asked_swaps(one: Swapped) -> str:
    how = one.settings
    moved = "records" if how.household is None else f"households ({how.household})"
    rare = f", rare among fewer than {how.k} by {', '.join(how.keys)}" if how.keys else ""
    return f"{counted(one.pairs, 'pair')} of {moved}{rare}"
