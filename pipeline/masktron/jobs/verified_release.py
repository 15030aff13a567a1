"""A released file against its manifest and its original: each step of the manifest is asked, masking as the last one.

Whether a step can have made the file, `masktron.verify` finds out, which shares nothing with what treats and masks.
From here it has the files as columns, and nested ones as wide records and level by level. What stands around the
records is compared here, and here alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.column_memory import read_columns
from masktron.jobs.common import shown_path
from masktron.jobs.lowering.level_treatments import LevelReleases, described_as_wide
from masktron.jobs.lowering.released_units import ReleasedUnits, alike_in_release, around_members, layouts_as_read
from masktron.jobs.rules_again import RulesAgain
from masktron.methods.chosen import chosen
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Note, Sentence
from masktron.progress import Told
from masktron.results import MaskedLevel
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Shape
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource
from masktron.verify import groups, masked_values, method_contract, records
from masktron.verify.declared_steps import left_by_steps, verify_steps
from masktron.verify.findings import Findings
from masktron.verify.pairing import Stated, rows_of
from masktron.verify.record_rules import RecordRules
from masktron.verify.release import Release
from masktron.write.manifest import DescribedRelease


@dataclass(frozen=True, slots=True)
class VerifiedRelease:
    """What a released file is found to be.

    Attributes
    ----------
    found : Findings
    min_group : int or None
        The records of the smallest group; None where that is not known.
    levels : tuple of MaskedLevel
        How many records of each level of a nested file are alike.
    """

    found: Findings
    min_group: int | None = None
    levels: tuple[MaskedLevel, ...] = ()


def verified_release(
    units: ReleasedUnits,
    again: RulesAgain,
    described: DescribedRelease | None,
    config: Config,
    stated: Stated,
    told: Told,
) -> VerifiedRelease:
    """Ask each step of a manifest whether the file can be its result; without a manifest, compare two files.

    Parameters
    ----------
    units : ReleasedUnits
        The file and its original, of nested ones as units with all their members.
    again : RulesAgain
        The rules as they were judged.
    described : DescribedRelease or None
    config : Config
        Roles, for files without a manifest; memory.
    stated : Stated
        What is said of the order of records, for files without a manifest.
    told : Told
        How far the file has been read.
    """
    source, original, found = units.job.source, units.original, Findings()
    missing, data = {} if described is None else described.missing, None
    if source.shape.flat and not (original is None and described is None):
        data = read_columns(source, missing=missing, memory=config.memory, told=told)
    if described is None:
        found.not_checked.append(Note("group sizes and removed identifiers: need the manifest ([[--manifest FILE]])"))
    elif data is None:
        found.not_checked.append(f"group sizes: the records are not flat: {_deviation(source.shape)}")
        found.add(groups.removed_identifiers(described, [field.name for field in source.layout.fields]))
    before = None
    if original is None:
        found.not_checked.append(Note("records and fields: need the original ([[--original FILE]])"))
    elif _are_comparable(source, original, described, found):
        before = read_columns(original, missing=missing, memory=config.memory)
    if data is not None and described is not None:
        return _verified_steps(units, again, described, data, before, found)
    if data is not None and before is not None:
        found.add(records.verify_alone(data, before, config.roles, stated, units.names))
        if not found.problems and records.nothing_is_masked(data, before):
            found.problems.append("no cell differs from the original: nothing is masked")
    return VerifiedRelease(found)


def _verified_steps(
    units: ReleasedUnits,
    again: RulesAgain,
    described: DescribedRelease,
    data: Dataset,
    before: Dataset | None,
    found: Findings,
) -> VerifiedRelease:
    """Ask the steps before masking, of nested files level by level, and then masking."""
    source, original = units.job.source, None if before is None else units.original
    release = Release(
        described_as_wide(described),
        before,
        data,
        rows=None if before is None else rows_of(described, len(data), len(before)),
        is_original=original is not None and original.digest == described.original,
        edits=[edit for edit in units.job.edits if edit.check.index not in units.left_out],
        names=units.names,
        as_masked=source.digest == described.output,
    )
    found.add(groups.removed_identifiers(described, data.columns))
    steps: Iterable[Release] = [release]
    if isinstance(source, WideSource):
        beside = original if isinstance(original, WideSource) else None
        levels = LevelReleases(described, source, beside, again.job.rulebook if again.as_described else None)
        found.problems += levels.unsuppressed()
        steps = levels.releases(release.rows)
    elif original is not None and again.as_described:
        document = original.document_path.absolute()
        steps = [replace(release, rules=RecordRules(units.job.rulebook, units.job.edits, original.layout, document))]
    for step in steps:
        found.add(verify_steps(step))
    of_groups, min_group = groups.verify(release)
    found.add(of_groups)
    if original is not None and before is not None:
        found.add(around_members(source, original, release.rows, described))
        left = left_by_steps(release.described.treatments, before, data, release.rows)
        release = replace(release, before=left)
        found.add(records.verify(release, left))
        found.add(masked_values.verify(release, left))
    found.problems += _other_contract(described)
    found.add(method_contract.verify(release))
    if isinstance(source, WideSource):
        found.notes += _counted_members(source, release.names, [*found.problems, *found.notes])
    return VerifiedRelease(found, min_group, alike_in_release(source, described, data))


def _other_contract(described: DescribedRelease) -> list[str]:
    """Say where a manifest declares what its method, with its parameters, does not promise."""
    method, declared = chosen(described.method, described.params, described.k).method, described.declared
    if (method.name, method.contract) == (declared.method, declared.contract):
        return []
    return [
        f"the manifest declares of {declared.method} that {declared.contract.says}; but {method.name}, the method of "
        f"its settings, promises that {method.contract.says}"
    ]


def _counted_members(source: WideSource, names: LevelNames, said: Iterable[Sentence]) -> list[str]:
    """Say how members are counted, where they are sorted and a sentence names one by its position."""
    if all(str(names.sentence(one)) == str(one) for one in said):
        return []
    return [
        f"the first, second or third {path[-1]} is that in the order of {', '.join(key.field for key in keys)}, then "
        "in that of the file"
        for path, keys in source.member_order.keys.items()
    ]


def _are_comparable(source: Source, original: Source, described: DescribedRelease | None, found: Findings) -> bool:
    """Whether both files have records that can be compared; say what stands around them that is not the same."""
    if described is not None and original.digest != described.original:
        found.problems.append("the original is not the one that the manifest describes (its SHA-256 differs)")
    # With a contract, equal files may be right: every record had k - 1 others like it from the start.
    if described is None and original.digest == source.digest:
        found.problems.append("the file and the original are the same: nothing is masked")
    try:
        shape = original.shape  # surveys the file, whose records have the name of the masked ones, or layouts differ
    except UsageError:
        found.problems.append(f"the original has no records {shown_path(source.layout)}")
        return False
    if not source.shape.flat and shape.flat:
        found.problems.append(f"the records are not flat: {_deviation(source.shape)}; the original is flat")
    elif not source.shape.flat:
        found.not_checked.append(f"records and fields: the records are not flat: {_deviation(source.shape)}")
    elif not shape.flat:
        found.not_checked.append(f"records and fields: those of the original are not flat: {_deviation(shape)}")
    if not (source.shape.flat and shape.flat):
        return False
    released, layout, beyond = layouts_as_read(source, original)
    found.problems += beyond
    if layout.record_path != released.record_path:
        found.problems.append(
            f"records stand at {shown_path(released)}, in the original at {shown_path(layout)} "
            "(or in another namespace)"
        )
    if dict(layout.root_attributes) != dict(released.root_attributes):
        found.problems.append("the attributes of the root element are not those of the original")
    return True


def _deviation(shape: Shape) -> str:
    return f"{shape.reason} (line {shape.line})"
