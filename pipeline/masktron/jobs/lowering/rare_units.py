"""Units of a nested file that fewer than k are composed like: refused by name, or left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.jobs.job import Job
from masktron.jobs.originals import Originals
from masktron.problems.problem import Note, Problem
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.wide_record import UnitPlace
from masktron.sources.wide.wide_source import WideSource

_COMPOSITIONS = 5
"""Rare compositions that are named."""
_EXAMPLES = 3
"""Units of each that are named."""


def without_rare(job: Job, originals: Originals, compositions: NDArray[np.intp], config: Config) -> Originals:
    """Leave out units of a composition that fewer than k have, where the settings say so.

    Parameters
    ----------
    job : Job
        On wide records.
    originals : Originals
    compositions : ndarray of intp, shape (n,)
        Code of that of each unit.
    config : Config

    Raises
    ------
    InfeasibleError
        There are some, and the settings do not say so.
    """
    source = job.source
    rare = _rare(compositions, originals.keep, config.k)
    if not rare.any() or not isinstance(source, WideSource):
        return originals
    codes = np.unique(compositions[rare])
    named = "; ".join(
        _composed(source, np.flatnonzero(rare & (compositions == code))) for code in codes[:_COMPOSITIONS]
    )
    if len(codes) > _COMPOSITIONS:
        named += f"; and {len(codes) - _COMPOSITIONS} compositions more"
    many, rarest = int(rare.sum()), int(np.bincount(compositions[rare])[codes].min())
    unit = source.levels.level(source.record_level).name
    if config.rare_units != "exclude":
        problem = Problem("rare-units", source.path, k=config.k, unit=unit, units=many, composed=named)
        less = [Note("or lower k to {k}: [[-k {k}]]", k=rarest)] if rarest > 1 else []
        raise InfeasibleError(problem.then(*less), facts=[RefusalFacts("rare-units", records=rarest)])
    note = f"{many} {unit} left out, as fewer than k = {config.k} have as many members: {named}"
    left = with_whole_units(job, replace(originals, keep=originals.keep & ~rare, notes=(*originals.notes, note)))
    # where units go whole, other members of theirs go, and may leave more rare ones
    return without_rare(job, left, compositions, config) if isinstance(source, MemberSource) else left


def units_of(job: Job, of_units: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each record what holds of its unit, given what holds of each unit."""
    return of_units[job.source.units] if isinstance(job.source, MemberSource) else of_units


def with_whole_units(job: Job, originals: Originals) -> Originals:
    """Leave out units of which a member is left out."""
    if not isinstance(job.source, MemberSource):
        return originals
    units = job.source.units
    return replace(originals, keep=originals.keep & ~np.isin(units, units[~originals.keep]))


def _rare(compositions: NDArray[np.intp], keep: NDArray[np.bool_], k: int) -> NDArray[np.bool_]:
    """Return which kept records are of a composition that fewer than k of them have."""
    sizes = np.bincount(compositions[keep], minlength=int(compositions.max(initial=-1)) + 1)
    found: NDArray[np.bool_] = (sizes[compositions] < k) & keep
    return found


def _composed(source: WideSource, units: NDArray[np.intp]) -> str:
    """Say of how many members of each kind some units of one composition are, and where the first of them stand."""
    level = source.record_level
    top, lines = source.levels.level(level).name, source.dataset.levels[level].lines
    examples = ", ".join(f"number {unit + 1} in line {lines[unit]}" for unit in units[:_EXAMPLES].tolist())
    more = " ..." if len(units) > _EXAMPLES else ""
    listed = _members(source, source.wide.unit, int(units[0])) or "no members"
    return f"{listed} ({len(units)} {top}: {examples}{more})"


def _members(source: WideSource, place: UnitPlace, unit: int) -> str:
    """Say how many members a record has, and how many each of these has."""
    told = []
    for kind in place.members:
        there = [member for member in kind if source.members.rows[member.name][unit] >= 0]
        if not there:
            continue
        inner = [_members(source, member, unit) for member in there]
        within = f" with {' / '.join(one or 'none' for one in inner)}" if any(inner) else ""
        told.append(f"{len(there)} {there[0].level.name}{within}")
    return " and ".join(told)
