"""A released nested file and its original as units, as `mask` has masked them: what `check` compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.jobs.job import Job, job_on
from masktron.jobs.lowering.beside_members import changed_beside
from masktron.jobs.lowering.level_figures import NestedColumns, alike_by_level
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.results import MaskedLevel
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Layout
from masktron.sources.source import Source
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.wide_pair import wide_pair
from masktron.sources.wide.wide_source import WideSource
from masktron.unrolling.by_composition import unroll_each
from masktron.unrolling.level_names import level_names
from masktron.verify.findings import Findings
from masktron.write.manifest import DescribedRelease
from masktron.write.nested_release import NestedRelease


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedUnits:
    """A released file as records that are compared; of a flat one, its own.

    Attributes
    ----------
    job : Job
    original : Source or None
    names : LevelNames
    left_out : frozenset of int
        Checks of the job that are not asked.
    """

    job: Job
    original: Source | None
    names: LevelNames
    left_out: frozenset[int]

    @classmethod
    def of(
        cls, job: Job, original: Source | None, described: DescribedRelease | None, left_out: frozenset[int]
    ) -> ReleasedUnits:
        """Return a released file and its original as a manifest says that they were read."""
        how = NestedRelease() if described is None else described.nested
        source, beside = wide_pair(job.source, original, how.member_order, how.protect, how.sums)
        if not isinstance(source, WideSource):
            return cls(job, beside, AS_THEY_ARE, left_out)
        unrolled = unroll_each(job.rulebook, source.wide, source.levels.layout)
        left = frozenset(at for at, one in enumerate(unrolled.origins) if one.check in left_out)
        return cls(job_on(source, unrolled.rulebook), beside, level_names(source, unrolled), left)


def alike_in_release(source: Source, described: DescribedRelease, data: Dataset) -> tuple[MaskedLevel, ...]:
    """Count the records of each level of a released nested file that are alike; of any other, there is no level."""
    if not isinstance(source, WideSource) or not len(data):
        return ()
    roles = {name: Role(role) for name, role in described.roles.items()}
    numeric, weights = frozenset(described.numeric), described.nested.weights
    return alike_by_level(NestedColumns(source, np.arange(len(data)), roles, numeric, weights), data.columns)


def around_members(
    released: Source, original: Source, rows: NDArray[np.intp] | None, described: DescribedRelease
) -> Findings:
    """Compare what stands around and beside protected members with the original; of any others, nothing."""
    found = Findings()
    if isinstance(released, MemberSource) and isinstance(original, MemberSource):
        if rows is None:
            found.not_checked.append("what stands around the protected members: the numbers of records differ")
            return found
        found.problems += changed_beside(released, original, rows, described.nested.removed)
        found.checked.append("what stands around and beside the protected members, cell by cell")
    return found


def layouts_as_read(released: Source, original: Source) -> tuple[Layout, Layout, list[str]]:
    """Return the layouts of both files as they are, and which fields of the release the original has not."""
    if not (isinstance(released, WideSource) and isinstance(original, WideSource)):
        return released.layout, original.layout, []
    return released.levels.layout, original.levels.layout, list(beyond_original(released.levels, original.levels))


def beyond_original(released: Tree, original: Tree) -> Iterator[str]:
    """Yield what stands in a released nested file and has no place in the original: levels, and fields of a level.

    Parameters
    ----------
    released, original : Tree
    """
    known = dict(original.levels())
    for path, level in released.levels():
        name = released.shown(path)
        if path not in known:
            if path[:-1] in known:
                yield f"the level {name} is not in the original"
            continue
        # a level whose fields are all removed looks like a field without a value
        there = {(field.tag, field.attribute) for field in known[path].fields}
        there |= {(child.tag, False) for child in known[path].children}
        for field in level.fields:
            if (field.tag, field.attribute) not in there:
                yield f"the field {field.name} of {name} is not in the original"
