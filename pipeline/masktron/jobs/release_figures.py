"""Figures of a released file that have a limit, and those that its verdict rests on.

They are measured by the same code as in `mask` and `assess`: a limit bounds what that code measures, so that a second
measure would be another figure. What the measures compute is tested against their sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from masktron.classify.forms import form_of
from masktron.classify.polynomial import always_linear
from masktron.config import Config
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.figures import FIGURES, NAMES, Figure, figure_of
from masktron.jobs.column_memory import arrays_of_run
from masktron.jobs.compared import compare, require_described
from masktron.jobs.keys_known import NO_KEYS
from masktron.jobs.limits import over_limits
from masktron.jobs.lowering.released_units import ReleasedUnits
from masktron.measures.figures import Measured, measure, unpaired
from masktron.problems.problem import Note
from masktron.progress import Progress, told_as
from masktron.report.protection import EVIDENCE
from masktron.results import KeyRisk
from masktron.verify.findings import Findings
from masktron.verify.pairing import UNPAIRED, Stated
from masktron.write.manifest import DescribedRelease

_COMPARED = 100_000
"""Records up to which figures that have no limit are measured for the verdict."""


@dataclass(frozen=True, slots=True)
class ReleaseFigures:
    """What was measured of a released file.

    Attributes
    ----------
    found : Findings
    measured : tuple of Measured
    keys : KeyRisk or None
        What unmasked fields tell, where the verdict rests on it.
    over : int
        How many problems are limits that are not met.
    """

    found: Findings
    measured: tuple[Measured, ...] = ()
    keys: KeyRisk | None = None
    over: int = 0


def release_figures(
    units: ReleasedUnits,
    described: DescribedRelease | None,
    limits: Mapping[str, float],
    config: Config,
    stated: Stated,
    *,
    min_group: int | None,
    records: int,
    progress: Progress,
) -> ReleaseFigures:
    """Measure figures that have a limit, and those that the verdict rests on; say which are outside their limit.

    Parameters
    ----------
    units : ReleasedUnits
    described : DescribedRelease or None
    limits : mapping of str to float
        Bounds by figure, those of the manifest among them.
    config : Config
    stated : Stated
    min_group : int or None
        The records of the smallest group.
    records : int
        In the file.
    """
    found, source, original = Findings(), units.job.source, units.original
    names = [figure.name for figure in FIGURES if figure.name in limits]
    lacking = {name: lacks for name in names if (lacks := _lacks(figure_of(name), units, described))}
    found.not_checked += [Note("the limit {name}: needs {lacks}", name=name, lacks=lacking[name]) for name in lacking]
    names = [name for name in names if name not in lacking]
    as_masked = described is not None and source.digest == described.output
    evidence = [one for one in EVIDENCE if as_masked and 0 < records <= min(_COMPARED, figure_of(one).unasked)]
    if not (names or evidence) or original is None:
        return ReleaseFigures(found)
    known = {} if described is None else {"medoid_share": described.medoid_share}
    if min_group is not None and not (described and described.declared.drawn):
        known["block_k"] = float(min_group)
    try:
        if described is not None:
            require_described(source, original, described)
        files, notes = compare(
            source, original, described=described, config=config, known=known, stated=stated, progress=progress
        )
    except (UsageError, DocumentError) as error:
        cannot = "the limits {names} cannot be checked: {problem}"
        found.problems += [Note(cannot, names=names, problem=error.problem)] if names else []
        return ReleaseFigures(found)
    if files.keys is None:
        of_keys = [name for name in names if "keys" in figure_of(name).needs]
        found.not_checked += [f"the limit {name}: needs {NO_KEYS}" for name in of_keys]
        names = [name for name in names if name not in of_keys]
        evidence = [name for name in evidence if "keys" not in figure_of(name).needs]
    if wanting := unpaired(names, files):
        told = (
            "the limits {wanting} cannot be checked: {why}; give the manifest ([[--manifest FILE]]), or "
            "[[--same-order]]"
        )
        found.problems.append(Note(told, wanting=wanting, why=UNPAIRED))
        names = [name for name in names if name not in wanting]
    found.notes += notes if names else ()
    # by the rulebook, and not by what the manifest says of it
    binding = (form_of(edit.constraint) for edit in units.job.edits if edit.check.index not in units.left_out)
    files = replace(files, relations=always_linear(binding))
    with arrays_of_run(len(files), len(files.original), config.memory):
        wanted = [name for name in NAMES if name in {*names, *evidence}]
        measured = measure(wanted, files, told_as(progress, "measuring risk and utility", "figures"))
        keys = None if files.keys is None or not evidence else KeyRisk.of(files.keys, units.names)
    over = [*over_limits(measured, limits)]
    found.problems += over
    stated_limits = {} if described is None else described.limits
    held = {
        name: f"{name} {limits[name]:g}{' of the manifest' if stated_limits.get(name) == limits[name] else ''}"
        for one in measured
        if (name := one.figure.name) in names and one.figure.meets(one.value, limits[name])
    }
    if held:
        found.checked.append(f"{counted(len(held), 'figure')} within the limits ({', '.join(held.values())})")
    return ReleaseFigures(found, measured, keys, len(over))


def _lacks(figure: Figure, units: ReleasedUnits, described: DescribedRelease | None) -> Note | None:
    """What a figure needs and nobody gave."""
    if units.original is None:
        return Note("the original ([[--original FILE]])")
    if "manifest" in figure.needs and described is None:
        return Note("the manifest ([[--manifest FILE]])")
    return None
