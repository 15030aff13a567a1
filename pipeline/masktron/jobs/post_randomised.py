"""PRAM on the records of a file: categories are drawn anew among those that the rules admit, and checked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.files import read_text
from masktron.jobs.cell_rules import CellRules
from masktron.jobs.coded_fields import CodedField, admissible_codes, coded, treating, with_codes
from masktron.jobs.job import Job
from masktron.jobs.run import Run
from masktron.kernels.distinct import alike
from masktron.perturbation_settings import pram_settings, together
from masktron.problems.problem import Field, Place, fields
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Postrandomised, plain_settings
from masktron.treatments.admissibility import KeyCodes
from masktron.treatments.pram import PramFigures, PramLaw, pram_law, randomised, transition_of_text
from masktron.treatments.record_units import RecordUnits, record_units


def draw_categories(run: Run) -> Run:
    """Draw fields anew, one setting after the other.

    Parameters
    ----------
    run : Run

    Raises
    ------
    UsageError
        There is no such field, or it is masked; a matrix cannot be used, or so much cannot change.
    InfeasibleError
        The rules leave no choice, or there are too many values.
    """
    for name, text in run.config.pram.items():
        how = pram_settings(f"pram.{name}", text)
        run.require_written(f"pram.{name}", (*together(name), *how.within))
        run.require_there(() if how.household is None else (how.household,))
        if how.household in together(name):
            raise UsageError.of(
                "field-not-usable",
                setting=f"pram.{name}",
                field=Field(how.household),
                reason="which is drawn anew and says which records are of one household",
            )
        if own := [one for one in how.within if one in together(name)]:
            raise UsageError.of(
                "field-not-usable",
                setting=f"pram.{name}",
                field=Field(own[0]),
                reason="which is drawn anew and says among which records",
            )
        with treating(together(name), str(run.job.source.path)):
            run = _drawn(run, _treatment(run, name, text))
    return run


def read_transition(path: Path, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read the matrix by which a field is drawn anew: its values, and a row of probabilities for each.

    Raises
    ------
    UsageError, DocumentError
        There is no such file, or it is no transition matrix.
    """
    return transition_of_text(read_text(path, f"transition matrix of {name}"), str(path))


def _treatment(run: Run, name: str, text: str) -> Postrandomised:
    """Return what is going to be done, with the matrix that it takes."""
    how = pram_settings(f"pram.{name}", text)
    values: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    if how.matrix is not None:
        values, found = read_transition(how.matrix, name)
        matrix = tuple(tuple(row) for row in found.tolist())
    weight = run.config.weight
    return Postrandomised(together(name), replace(how, matrix=None), values, matrix, weight, run.let_go)


def _drawn(run: Run, treatment: Postrandomised) -> Run:
    """Draw once, and return what that leaves, with what it protects and changes."""
    kept = run.kept
    found = law_of(kept, treatment, rules_of_law(kept, treatment, run.job))
    run, streams = run.streams(plain_settings([treatment]))
    made = randomised(found.law, streams.generator("pram"), allow_alone=treatment.settings.alone)
    told = {**_plain(made.figures), "changed": made.changed}
    columns = with_codes(run, treatment.fields, found.fields, found.of_records(made.codes))
    return run.after(columns, replace(treatment, figures=told))


def _plain(figures: PramFigures) -> dict[str, float | None]:
    """Return figures as JSON has them: None for what is infinite."""
    return {name: value if isfinite(value) else None for name, value in asdict(figures).items()}


@dataclass(frozen=True, slots=True, eq=False)
class FileLaw:
    """The law of PRAM in a file.

    Attributes
    ----------
    law : PramLaw
        Of its units.
    fields : tuple of CodedField
    units : RecordUnits or None
        Households that are drawn as one; None where each record is drawn.
    """

    law: PramLaw
    fields: tuple[CodedField, ...]
    units: RecordUnits | None

    def of_records(self, codes: Sequence[KeyCodes]) -> tuple[KeyCodes, ...]:
        """Return codes of units as those of their records, shape (n,) each."""
        return tuple(codes) if self.units is None else tuple(one[self.units.of_record] for one in codes)


def rules_of_law(records: Dataset, treatment: Postrandomised, job: Job) -> CellRules:
    """Return the rules that say which values are drawn.

    Parameters
    ----------
    records : Dataset
        Those that are released, as earlier treatments leave them.
    treatment : Postrandomised
    job : Job
        With the rules as they are asked of them.
    """
    released = {check.index for check in job.rulebook.checks if check.id in treatment.let_go}
    return CellRules.of(job, released, treatment.fields, list(records.columns))


def law_of(records: Dataset, treatment: Postrandomised, rules: CellRules) -> FileLaw:
    """Find by which probabilities values of a file are drawn.

    Parameters
    ----------
    records : Dataset
        Those that are released, as earlier treatments leave them.
    treatment : Postrandomised
    rules : CellRules
        As `rules_of_law` says.

    Raises
    ------
    UsageError, InfeasibleError
        As for `masktron.treatments.pram.pram_law`; or a value is not in the matrix.
    DocumentError
        The records of a household have several values.
    """
    names, how = treatment.fields, treatment.settings
    fields = tuple(coded(records.columns[name], treatment.values if len(names) == 1 else ()) for name in names)
    codes = [one.codes for one in fields]
    strata = alike([records.columns[name].numbered() for name in how.within], len(records))[0] if how.within else None
    weights: NDArray[np.float64] | None = (
        None if treatment.weight is None else records.columns[treatment.weight].values
    )
    admissible = admissible_codes(rules, records, names, fields)
    units = None
    if how.household is not None:
        units = record_units(coded(records.columns[how.household]).codes)
        _require_one_value(units, names, codes)
        if strata is not None:
            _require_one_value(units, how.within, [strata])
            strata = strata[units.first]
        codes = [one[units.first] for one in codes]
        weights = np.bincount(units.of_record, weights, len(units)).astype(np.float64)
        admissible = None if admissible is None else units.admitted(admissible)
    law = pram_law(
        codes,
        change=how.change,
        minimum=how.stay,
        matrix=np.array(treatment.matrix) if treatment.matrix else None,
        admissible=admissible,
        strata=strata,
        weights=weights,
    )
    return FileLaw(law, fields, units)


def _require_one_value(units: RecordUnits, names: Sequence[str], columns: Sequence[NDArray[np.integer[Any]]]) -> None:
    """Require that the records of a household are alike."""
    apart = np.flatnonzero(units.unlike(columns))
    if apart.size:
        several = len(np.unique(units.of_record[apart]))
        raise DocumentError.of(
            "household-differs",
            Place(record=int(apart[0]) + 1),
            households=several,
            total=len(units),
            fields=fields(names),
        )
