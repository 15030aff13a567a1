"""Treatments of the fields of levels: as treatments of wide fields, and as `check` tests them level by level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from masktron.arrays import Indices
from masktron.classify import classify
from masktron.jobs.lowering.beside_members import rows_of_level
from masktron.rulebook.schema import Rulebook
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.source import Source
from masktron.sources.wide.level_source import leaf_name, level_record, level_records
from masktron.sources.wide.wide_source import WideSource
from masktron.step_kinds import Treatment, suppressed_in
from masktron.translation import rules_of_level
from masktron.verify.record_rules import RecordRules
from masktron.verify.release import Release
from masktron.verify.suppressed_keys import keys_of
from masktron.write.manifest import DescribedRelease


def as_wide(treatments: Iterable[Treatment], names: Mapping[str, Sequence[str]]) -> tuple[Treatment, ...]:
    """Return treatments of fields of levels as treatments of these at all positions.

    Parameters
    ----------
    treatments : iterable of Treatment
    names : mapping of str to sequence of str
        By the name that a field has in the tree, those in wide records.
    """

    def wide(fields: Iterable[str]) -> tuple[str, ...]:
        return tuple(one for name in fields for one in names.get(name, (name,)))

    return tuple(chain.from_iterable(one.wide(wide) for one in treatments))


def described_as_wide(described: DescribedRelease) -> DescribedRelease:
    """Return what a manifest says with the treatments of a nested file as those of its wide records."""
    names = {one.name: one.wide for one in described.nested.fields}
    return replace(described, treatments=as_wide(described.treatments, names)) if names else described


def wide_names(source: WideSource) -> dict[str, tuple[str, ...]]:
    """Return what fields of levels are called in wide records, by their names in the tree."""
    names = source.levels.name_of
    return {names[place]: tuple(leaf.name for leaf in leaves) for place, leaves in source.wide.by_field().items()}


@dataclass(frozen=True, slots=True, eq=False)
class LevelReleases:
    """A released nested file beside its original, level by level.

    Attributes
    ----------
    described : DescribedRelease
    released : WideSource
    original : WideSource or None
    rulebook : Rulebook or None
        The nested rules as they are asked of the release, where they are those of the manifest.
    """

    described: DescribedRelease
    released: WideSource
    original: WideSource | None = None
    rulebook: Rulebook | None = None

    def described_by_level(self) -> Iterator[tuple[LevelPath, DescribedRelease]]:
        """Yield the levels that treatments have changed, with what the manifest says of their records."""
        tree = (self.original or self.released).levels
        by_level: dict[LevelPath, list[Treatment]] = {}
        for one in self.described.treatments:
            by_level.setdefault(level_of(one, tree), []).append(one)
        for path, steps in by_level.items():
            yield path, self._described(tree, path, tuple(steps))

    def _described(self, tree: Tree, path: LevelPath, steps: tuple[Treatment, ...]) -> DescribedRelease:
        described = self.described
        wide = {one.name: one.wide for one in described.nested.fields}
        leaves = {
            tree.name_of[place.level_path, leaf.field]: leaf.name
            for place in level_record(tree, path).places
            for leaf in place.leaves
        }
        first = {leaf: wide[name][0] for name, leaf in leaves.items() if wide.get(name)}
        weights = [(above, own) for above, own in described.nested.weights.items() if path[: len(above)] == above]
        weight = None
        if weights:
            above, name = max(weights)
            own = tree.level(above).field(name)
            weight = None if own is None else leaf_name(tree, above, own)
        marked = {leaf for leaf, one in first.items() if one in described.quasi_identifiers}
        roles = {leaf: described.roles[one] for leaf, one in first.items() if one in described.roles}
        excluded = described.excluded
        if path != TOP and self.original is not None:
            units = np.isin(self.original.dataset.units(path), np.array(excluded, dtype=np.intp))
            excluded = tuple(np.flatnonzero(units).tolist())
        return replace(
            described,
            treatments=steps,
            roles=roles,
            quasi_identifiers=tuple(marked),
            missing={leaf: described.missing[one] for leaf, one in first.items() if one in described.missing},
            weight=weight,
            excluded=excluded,
        )

    def releases(self, rows: Indices | None) -> Iterator[Release]:
        """Yield the released records of each such level, beside those of the original where that is given.

        Parameters
        ----------
        rows : ndarray of intp or None
            The unit of the original of each released one; None where they are not known.
        """
        original, released = self.original, self.released.dataset
        for path, described in self.described_by_level():
            if path not in released.levels:
                continue
            after = _declaring(level_records(released, path), described)
            if original is None:
                yield Release(described, None, after, None, is_original=False)
                continue
            yield Release(
                described,
                _declaring(level_records(original.dataset, path), described),
                after,
                None if rows is None else rows_of_level(original.dataset, released, path, rows),
                original.digest == described.original,
                self._rules(original.levels, path, original.nested),
            )

    def unsuppressed(self) -> Iterator[str]:
        """Say of which levels with keys of their own nothing says that they were suppressed, where keys were."""
        tree, declared = (self.original or self.released).levels, dict(self.described_by_level())
        for path, level in tree.levels():
            if self.described.key_k is None or path not in self.released.dataset.levels:
                continue
            described = self._described(tree, path, declared[path].treatments if path in declared else ())
            own = {leaf_name(tree, path, field) for field in level.fields} - {described.weight}
            known = keys_of(described, level_records(self.released.dataset, path))
            if own.intersection(known) and not suppressed_in(described.treatments):
                yield f"nothing says that k records of {tree.shown(path)} share their keys, {', '.join(known)}"

    def _rules(self, tree: Tree, path: LevelPath, original: Source) -> RecordRules | None:
        if self.rulebook is None:
            return None
        own, layout = rules_of_level(self.rulebook, tree, path), level_record(tree, path).layout
        return RecordRules(own.rulebook, classify(own.rulebook, layout), layout, original.document_path.absolute())


def level_of(treatment: Treatment, tree: Tree) -> LevelPath:
    """Return the level on which a treatment was done: the innermost one of its fields."""
    places = [place for name in treatment.changed if (place := tree.named(name)) is not None]
    return max((path for path, _ in places), key=len, default=TOP)


def _declaring(records: Dataset, described: DescribedRelease) -> Dataset:
    codes = described.missing
    return records.with_columns({name: one.declaring(codes.get(name, ())) for name, one in records.columns.items()})
