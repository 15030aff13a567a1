"""What a manifest declares of treatments, in words: what `check` knows without the original."""

from __future__ import annotations

from collections.abc import Iterable

from masktron.counts import counted
from masktron.jobs.recoded import recoded_how
from masktron.jobs.reweighted import spread_how
from masktron.results import TreatmentResult
from masktron.write.treatments import Postrandomised, Recoded, Reweighted, Suppressed, Swapped, Treatment


def declared_treatments(treatments: Iterable[Treatment]) -> tuple[TreatmentResult, ...]:
    """Say what was done, in order, without what came of it: a manifest may say of that what it likes."""
    return tuple(map(_declared, treatments))


def _declared(one: Treatment) -> TreatmentResult:
    match one:
        case Recoded():
            return TreatmentResult(one.kind, one.recoding.field, recoded_how(one))
        case Postrandomised():
            return TreatmentResult(one.kind, ", ".join(one.fields), _drawn(one))
        case Swapped():
            return TreatmentResult(one.kind, ", ".join(one.fields), _swapped(one))
        case Reweighted():
            return TreatmentResult(one.kind, one.field, spread_how(one))
        case Suppressed():
            return TreatmentResult(one.kind, ", ".join(one.changed), f"k = {one.contract.k}")


def _drawn(one: Postrandomised) -> str:
    how = one.settings
    parts = ["by a matrix" if one.matrix else f"change {how.change:g}"]
    parts += [f"within {', '.join(how.within)}"] if how.within else []
    parts += [f"the records of a household ({how.household}) as one"] if how.household is not None else []
    return "; ".join(parts)


def _swapped(one: Swapped) -> str:
    how = one.settings
    moved = "records" if how.household is None else f"households ({how.household})"
    rare = f", rare among fewer than {how.k} by {', '.join(how.keys)}" if how.keys else ""
    return f"{counted(one.pairs, 'pair')} of {moved}{rare}"
