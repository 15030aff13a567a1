"""Nested files in jobs on flat records: a record is a unit with all its members, and rules are written for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.classify import classify
from masktron.config import ALL_FIELDS, Config, Role, did_you_mean
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.job import Job
from masktron.jobs.originals import Originals
from masktron.rulebook.schema import Rulebook
from masktron.sources.level_tree import LevelPath
from masktron.sources.records import Field
from masktron.sources.source import Source
from masktron.sources.wide.wide_record import UnitField
from masktron.sources.wide.wide_source import WideSource
from masktron.unrolling.unrolled import Unrolled, unroll


@dataclass(frozen=True, slots=True)
class NestedJob:
    """What wide records were made of: the nested file with the rules as they are written.

    Attributes
    ----------
    job : Job
        The rules as they are written, on the nested file.
    unrolled : Unrolled
        The rules of the wide records.
    """

    job: Job
    unrolled: Unrolled

    def written(self, check: int) -> int:
        """Return the check of the rulebook as it is written, given one of the wide records."""
        return self.unrolled.origins[check].check

    def of_wide(self, checks: Iterable[int]) -> list[int]:
        """Return the checks as they are written of which all parts are among some checks of the wide records."""
        some = frozenset(checks)
        parts: dict[int, list[bool]] = {}
        for index, origin in enumerate(self.unrolled.origins):
            parts.setdefault(origin.check, []).append(index in some)
        return sorted(check for check, found in parts.items() if all(found))


def wide_job(job: Job) -> tuple[Job, NestedJob | None]:
    """Return a job on a nested file as one on its wide records; any other job as it is.

    Parameters
    ----------
    job : Job
    """
    if job.source.tree is None:
        return job, None
    source = WideSource(job.source)
    unrolled = unroll(job.rulebook, source.wide, source.levels.layout)
    return job_on(source, unrolled.rulebook), NestedJob(job, unrolled)


def job_on(source: Source, rulebook: Rulebook) -> Job:
    """Return a job on a file, of which the rules are at hand."""
    return Job(source, rulebook, classify(rulebook, source.layout))


def wide_settings(config: Config, wide: Job, nested: NestedJob) -> Config:
    """Return settings of a nested file as settings of its wide records.

    A field has the name that it has in the tree of levels, ``Income`` or ``Person/Age``, and what is said of it holds
    of all members. Rules are named as they are written.

    Raises
    ------
    UsageError
        A field or rule is not there; or something is asked that nested files do not get yet.
    """
    source = wide.source
    if not isinstance(source, WideSource):
        raise TypeError(f"{source.path} has no wide records")
    _refuse_settings(config, source)
    names = _WideNames(source)
    rules = {check.id: check.index for check in nested.job.rulebook.checks}
    roles: dict[str, Role] = {f.name: Role.UNTOUCHED for f in source.layout.fields if names.is_presence(f.name)}
    for name, role in config.roles.items():
        roles.update(dict.fromkeys(names.of(name, "a role"), role))
    return replace(
        config,
        roles=roles,
        missing={
            one: codes
            for name, codes in config.missing.items()
            for one in ([name] if name == ALL_FIELDS else names.of(name, "missing codes"))
        },
        nominal=names.all_of(config.nominal, "the kind nominal"),
        ordinal={one: order for name, order in config.ordinal.items() for one in names.of(name, "the kind ordinal")},
        numeric=names.all_of(config.numeric, "the kind numeric"),
        quasi_identifiers=names.all_of(config.quasi_identifiers, "the mark of a quasi-identifier"),
        allow=tuple(
            wide.rulebook.checks[at].id
            for rule in config.allow
            for at, origin in enumerate(nested.unrolled.origins)
            if rule in rules and origin.check == rules[rule]
        ),
        allow_unfired=(ALL_FIELDS,),  # what fires on no member at one place may fire on others
        unit_records=0,
        grouping="all",  # one member who is recognised gives the household away
    )


def compositions_of(job: Job) -> NDArray[np.intp]:
    """Return the code of each record: of wide records, which members the unit has; else one code for all."""
    source = job.source
    if not isinstance(source, WideSource):
        return np.zeros(0, dtype=np.intp)
    there = [rows >= 0 for rows in source.members.rows.values()]
    return np.unique(np.stack(there, axis=1), axis=0, return_inverse=True)[1].astype(np.intp).ravel()


def without_rare(job: Job, originals: Originals, compositions: NDArray[np.intp], config: Config) -> Originals:
    """Leave out units of a composition that fewer than k have, where the settings say so.

    Raises
    ------
    InfeasibleError
        There are some, and the settings do not say so.
    """
    source = job.source
    sizes = np.bincount(compositions[originals.keep], minlength=int(compositions.max(initial=-1)) + 1)
    rare = (sizes[compositions] < config.k) & originals.keep
    if not rare.any() or not isinstance(source, WideSource):
        return originals
    named = "; ".join(
        _composed(source, compositions, code, int(sizes[code])) for code in np.unique(compositions[rare])
    )
    units = counted(int(rare.sum()), source.levels.top.name)
    if config.rare_units != "exclude":
        raise InfeasibleError(
            f"{units} cannot be alike k - 1 others, since fewer than k = {config.k} are composed like it: {named}",
            where=str(source.path),
            hint="leave them out with --rare-units exclude, or lower k",
            facts=[RefusalFacts("few-records", records=int(rare.sum()))],
        )
    note = f"{units} left out, as fewer than k = {config.k} are composed like it: {named}"
    return replace(originals, keep=originals.keep & ~rare, notes=(*originals.notes, note))


def _composed(source: WideSource, compositions: NDArray[np.intp], code: int, times: int) -> str:
    """Say of how many members of each kind a composition is, and how often it is there."""
    unit = int(np.flatnonzero(compositions == code)[0])
    members = Counter(
        place.level.name
        for place in source.wide.places
        if place.parent is not None and source.members.rows[place.name][unit] >= 0
    )
    listed = " and ".join(f"{number} {name}" for name, number in members.items()) or "no members"
    return f"{listed} ({counted(times, source.levels.top.name)})"


def _refuse_settings(config: Config, source: Source) -> None:
    asked = {"recode": config.recode, "key_k": config.key_k, "pram": config.pram, "swap": config.swap}
    given = [name for name, value in asked.items() if value]
    if given:
        raise UsageError(
            f"{', '.join(given)}: keys of nested files are not treated yet",
            where=str(source.path),
            hint="treat them in a flat file, or leave them as they are and look at the risk that the result shows",
        )


class _WideNames:
    """Fields of wide records by the names of the tree."""

    def __init__(self, source: WideSource) -> None:
        self._source = source
        self._presences = {place.presence for place in source.wide.places if place.presence}
        self._leaves: dict[tuple[LevelPath, Field], list[UnitField]] = {}
        for place in source.wide.places:
            path = place.level_path
            for leaf in place.leaves:
                if source.layout.field(leaf.name) is not None:
                    self._leaves.setdefault((path, leaf.field), []).append(leaf)

    def is_presence(self, name: str) -> bool:
        """Whether a field says whether a member is there."""
        return name.removeprefix("@") in self._presences and name.startswith("@")

    def of(self, name: str, what: str) -> list[str]:
        """Return the wide fields of a field, by its name in the tree.

        Raises
        ------
        UsageError
            There is none, or several are called so.
        """
        tree = self._source.levels
        found = tree.named(name)
        if found is None and (several := tree.candidates(name)):
            raise UsageError(
                f"{what} is declared for {name!r}, which several levels of the file have",
                where=str(self._source.path),
                hint=f"say which: {' or '.join(several)}",
            )
        if found is None:
            raise UsageError(
                f"{what} is declared for {name!r}, a field that the file does not have",
                where=str(self._source.path),
                hint=did_you_mean(name, list(tree.names)),
            )
        return [leaf.name for leaf in self._leaves.get(found, ())]

    def all_of(self, names: Collection[str], what: str) -> tuple[str, ...]:
        """Return the wide fields of several fields."""
        return tuple(one for name in names for one in self.of(name, what))
