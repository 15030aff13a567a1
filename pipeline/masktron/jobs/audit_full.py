"""The audit of a file beside its original and its manifest: groups, records, fields, methods and limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.classify.elimination import is_equality
from masktron.classify.forms import form_of, variables_of_atom
from masktron.classify.polynomial import always_linear
from masktron.config import Config, Role
from masktron.constraints import Atom
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.figures import FIGURES, NAMES, Figure, figure_of
from masktron.jobs.audit import Audit
from masktron.jobs.column_memory import arrays_of_run, read_columns
from masktron.jobs.common import shown_path
from masktron.jobs.compared import ReorderedColumns, compare, require_described
from masktron.jobs.keys_known import NO_KEYS
from masktron.jobs.limits import over_limits
from masktron.jobs.lowering.level_treatments import LevelReleases, described_as_wide
from masktron.jobs.lowering.released_units import (
    alike_in_release,
    around_members,
    fields_counted,
    layouts_as_read,
)
from masktron.jobs.pairing import UNMASKED, UNPAIRED, Stated, paired
from masktron.jobs.protection import check_groups, check_pair, pair_of
from masktron.measures.achieved_k import achieved_k, shared_columns
from masktron.measures.figures import Measured, measure, unpaired
from masktron.measures.unchanged import published_as_it_was
from masktron.problems.problem import Field, Note, Sentence
from masktron.progress import Progress, told_as
from masktron.report.protection import EVIDENCE
from masktron.results import KeyRisk
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Shape
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource
from masktron.verify.declared_steps import Release, left_by_steps, verify_steps, verify_suppressed
from masktron.verify.record_rules import RecordRules
from masktron.write.manifest import DescribedRelease
from masktron.write.treatments import perturbed_fields, recodings_in, suppressed_in

_COMPARED = 100_000
"""Records up to which figures that have no limit are measured for the verdict."""
_CELLS = "unmasked fields cell by cell"


class FullAudit(Audit):
    """Collects what was checked beside an original, a manifest or both."""

    def groups(self, data: Dataset | None) -> int | None:
        """Check that groups hold at least k records and identifiers are gone."""
        if self.described is None:
            return super().groups(data)
        if data is None:
            self.not_checked.append(f"group sizes: the records are not flat: {_deviation(self.job.source.shape)}")
            self._removed(field.name for field in self.job.source.layout.fields)
            return None
        self._removed(data.columns)
        source = self.job.source
        if isinstance(source, WideSource):
            for described, records in LevelReleases(self.described, source).released_by_level():
                self.add(verify_suppressed(described, records))
        else:
            self.add(verify_suppressed(self.described, data))
        self._count_levels(data)
        gone = [name for name in self.described.masked if name not in data.columns]
        if gone and not self.as_masked:
            self.problems.append(f"the file has no masked field {', '.join(gone)}")
        declared = self.described.declared
        self.add(check_groups(declared, len(data) or None))
        # what was drawn record by record has another contract, which is tested against the original
        shared = [name for name in self.described.masked if name not in declared.drawn and name in data.columns]
        codes = {name: data.columns[name].numbered() for name in shared}
        sizes = [
            achieved_k(shared_columns(data.columns, codes, present, self._solved(present)))
            for block in self.described.blocks
            if (present := [name for name in block if name in codes])
        ]
        if not len(data) or not sizes:
            return 0 if not len(data) else None
        smallest = min(sizes)
        if smallest < self.described.k:
            self.problems.append(
                f"the smallest group has {counted(smallest, 'record')}, fewer than k = {self.described.k}"
            )
        self.checked.append(f"group sizes of {counted(len(sizes), 'block')}, against k = {self.described.k}")
        return smallest

    def _count_levels(self, data: Dataset) -> None:
        """Count the records of each level that are alike."""
        if self.described is not None:
            self.levels = alike_in_release(self.job.source, self.described, data)

    def _solved(self, present: Iterable[str]) -> dict[str, list[Atom]]:
        """The equalities that give variables of a block in each record, as the rulebook has them.

        What is no equality in the rulebook, or was let go, gives nothing, so that its variable counts.
        """
        forms = {e.check.id: form_of(e.constraint) for e in self.job.edits if e.check.index not in self.left_out}
        names = set(present)
        found: dict[str, list[Atom]] = {}
        for name, rule, disjunct, at in () if self.described is None else self.described.solved:
            atom = next(iter(forms.get(rule, ())[disjunct : disjunct + 1]), ())[at : at + 1]
            if name in names and atom and is_equality(atom[0]) and name in variables_of_atom(atom[0]):
                found.setdefault(name, []).append(atom[0])
        return found

    def _removed(self, present: Iterable[str]) -> None:
        removed = set() if self.described is None else set(self.described.removed)
        there = removed.intersection(present)
        self.problems += [f"the identifier {name} was to be removed and is in the file" for name in sorted(there)]
        if removed and not there:
            self.checked.append(f"{counted(len(removed), 'removed identifier')}")

    # the original

    def against_original(self, data: Dataset | None, config: Config, stated: Stated) -> None:
        """Check that records and fields are those of the original, and unmasked cells unchanged."""
        if self.original is None:
            super().against_original(data, config, stated)
            return
        self._same_original(self.original.digest)
        if not self._has_records(self.original):
            return
        shape = self.original.shape
        if data is None:
            if shape.flat:
                self.problems.append(
                    f"the records are not flat: {_deviation(self.job.source.shape)}; the original is flat"
                )
            else:
                self.not_checked.append(
                    f"records and fields: the records are not flat: {_deviation(self.job.source.shape)}"
                )
            return
        if not shape.flat:
            self.not_checked.append(f"records and fields: those of the original are not flat: {_deviation(shape)}")
            return
        self._surroundings(self.original)
        missing = {} if self.described is None else self.described.missing
        source = read_columns(self.original, missing=missing, memory=config.memory)
        excluded = set(self.described.excluded) if self.described else set()
        rows = self._rows(data, source, excluded)
        order = () if self.described is None or self.described.order is None else self.described.order
        if rows is None and len(data) == len(source) - len(excluded):
            have = f"{counted(len(order), 'record')}, but the file has {len(data):,}"
            self.problems.append(f"the manifest has the order of {have}: no record can be compared with the original")
        self._beside_members(rows)
        if self.described is not None:
            source = self._steps(self.described, self.original, source, data, rows)
        if len(data) != len(source) - len(excluded):
            self.problems.append(
                f"{counted(len(data), 'record')} for {len(source)} of the original"
                + (f", of which {len(excluded)} were excluded" if excluded else "")
            )
        self._fields(data, source)
        if self.described is None:
            self._declared_unmasked(data, source, config.roles, stated)
        else:
            self._unmasked(data, source, excluded, self.described)
        self._masked_at_all(data, source)
        self._drawn(data, source, excluded)

    def _steps(
        self,
        described: DescribedRelease,
        original: Source,
        source: Dataset,
        data: Dataset,
        rows: NDArray[np.intp] | None,
    ) -> Dataset:
        """Ask the steps of the manifest in turn, and return the original as they leave it."""
        if isinstance(original, WideSource) and isinstance(self.job.source, WideSource):
            rulebook = self.again.job.rulebook if self.again.as_described else None
            for release in LevelReleases(described, self.job.source, original, rulebook).releases(rows):
                self.add(verify_steps(release)[0])
            treatments = described_as_wide(described).treatments
            gone = {name for one in suppressed_in(treatments) for name in one.changed} - data.columns.keys()
            empty = {
                name: Column.absent(source.columns[name].variable, len(data)) for name in gone & {*source.columns}
            }
            return left_by_steps(treatments, source, data.with_columns(empty), rows)
        rules = None
        if self.again.as_described:
            document = original.document_path.absolute()
            rules = RecordRules(self.job.rulebook, self.job.edits, original.layout, document)
        codes = described.missing
        released = data.with_columns({name: one.declaring(codes.get(name, ())) for name, one in data.columns.items()})
        as_described = original.digest == described.original
        found, left = verify_steps(Release(described, source, released, rows, as_described, rules))
        self.add(found)
        return left

    def _beside_members(self, rows: NDArray[np.intp] | None) -> None:
        """Compare what stands around and beside protected members with the original."""
        if self.described is None or self.original is None:
            return
        problems, checked, not_checked = around_members(self.job.source, self.original, rows, self.described)
        self.problems += problems
        self.checked += checked
        self.not_checked += not_checked

    def _same_original(self, found: str) -> None:
        if self.described and found != self.described.original:
            self.problems.append("the original is not the one that the manifest describes (its SHA-256 differs)")
        # With a contract, equal files may be right: every record had k - 1 others like it from the start.
        if self.described is None and found == self.job.source.digest:
            self.problems.append("the file and the original are the same: nothing is masked")

    def _has_records(self, original: Source) -> bool:
        """Survey the original; its records have the name of the masked ones, or the layouts differ."""
        try:
            original.layout  # noqa: B018 -- surveys the file
        except UsageError:
            self.problems.append(f"the original has no records {shown_path(self.job.source.layout)}")
            return False
        return True

    def _surroundings(self, original: Source) -> None:
        released, layout, beyond = layouts_as_read(self.job.source, original)
        self.problems += beyond
        if layout.record_path != released.record_path:
            self.problems.append(
                f"records stand at {shown_path(released)}, in the original at {shown_path(layout)} "
                "(or in another namespace)"
            )
        if dict(layout.root_attributes) != dict(released.root_attributes):
            self.problems.append("the attributes of the root element are not those of the original")

    def _fields(self, data: Dataset, source: Dataset) -> None:
        for name in data.columns:
            if name not in source.columns:
                self.problems.append(f"the field {name} is not in the original")
        removed = set(self.described.removed) if self.described else set()
        # A masked field that has no value left is not in the file; where the file is as masked, that is why.
        expected = set(self.described.masked) if self.described and self.as_masked else set()
        excluded = self.described.excluded if self.described else ()
        # of members, all that stand in one place may have lost a key
        done = () if self.described is None else suppressed_in(described_as_wide(self.described).treatments)
        emptied = (name for one in done for name in one.changed if name in source.columns)
        expected |= {name for name in emptied if not _holds(source, name, excluded)}
        for name in source.columns:
            if name not in data.columns and name not in removed | expected and _held(source, name, excluded):
                if self.described:
                    self.problems.append(f"the field {name} of the original is gone")
                else:
                    self.not_checked.append(f"field {name}: gone; the manifest would tell whether on purpose")
        self.checked.append("numbers of records, and fields, against the original")

    def _declared_unmasked(self, data: Dataset, source: Dataset, roles: Mapping[str, Role], stated: Stated) -> None:
        """Without a manifest, compare fields that settings declare as unmasked, where records can be paired."""
        kept = [name for name in data.columns if name in source.columns and roles.get(name) in UNMASKED]
        if not kept:
            self.not_checked.append(Note("{cells}: need the manifest ([[--manifest FILE]])", cells=_CELLS))
        elif len(data) != len(source):
            self.not_checked.append(f"{_CELLS}: the numbers of records differ")
        else:
            try:
                known = paired(data, source, None, roles, stated).known
            except UsageError as error:
                self.problems.append(error.problem)
                return
            if known:
                self.checked.append(f"{fields_counted(self.job.source, kept)} cell by cell")
            else:
                self.not_checked.append(f"{_CELLS}: {UNPAIRED}")

    def _unmasked(self, data: Dataset, source: Dataset, excluded: set[int], described: DescribedRelease) -> None:
        keep = self._rows(data, source, excluded)
        if keep is None:
            self.not_checked.append(f"{_CELLS}: the numbers of records differ")
            return
        treatments = described_as_wide(described).treatments
        drawn = perturbed_fields(treatments)
        same = [name for name in described.kept if name not in drawn]
        for name in same:
            if name in data.columns and name in source.columns:
                changed = int((~data.columns[name].same_texts(source.columns[name].taken(keep))).sum())
                if changed:
                    differs = "the unmasked field {field} differs from the original in {changed:record}"
                    self.problems.append(Note(differs, field=Field(name), changed=changed))
        recoded = len(recodings_in(described.treatments).keys() - {*perturbed_fields(described.treatments)})
        how = f", {recoded} of them as the manifest recodes the original" if recoded else ""
        self.checked.append(f"{fields_counted(self.job.source, same)} cell by cell{how}")
        self.notes += [
            Note("the masked field {field} is published as it was, in every record", field=Field(name))
            for name in described.masked
            if name in data.columns
            and name in source.columns
            and published_as_it_was(source.columns[name].taken(keep), data.columns[name])
        ]

    def _rows(self, data: Dataset, source: Dataset, excluded: set[int]) -> NDArray[np.intp] | None:
        """Rows of the original, in the order of the masked records; None where these are not so many."""
        keep = np.flatnonzero(~np.isin(np.arange(len(source)), np.array(sorted(excluded), dtype=np.intp)))
        order = None if self.described is None else self.described.order
        if len(keep) != len(data) or (order is not None and len(order) != len(keep)):
            return None
        return keep if order is None else keep[np.array(order, dtype=np.intp)]

    def _drawn(self, data: Dataset, source: Dataset, excluded: set[int]) -> None:
        """Test what the method promises of the fields that it drew record by record."""
        if self.described is None or not self.described.declared.drawn:
            return
        declared = self.described.declared
        rows = self._rows(data, source, excluded)
        if rows is None or (declared.groups is not None and len(declared.groups) != len(rows)):
            self.not_checked.append(f"what {declared.method} promises: the numbers of records differ")
            return
        atoms = [
            atom
            for edit in self.job.edits
            if edit.check.index not in self.left_out
            for disjunct in form_of(edit.constraint)
            for atom in disjunct
        ]
        order = np.arange(len(rows)) if self.described.order is None else self.described.order
        back = np.argsort(order)
        drawn = [name for name in declared.drawn if name in source.columns]
        # a field that only records had that were left out is in no cell of the file
        none = {
            name: Column.absent(source.columns[name].variable, len(data))
            for name in drawn
            if name not in data.columns
        }
        pair = pair_of(
            declared,
            {name: source.columns[name].taken(rows[back]) for name in drawn},
            ReorderedColumns({**data.columns, **none}, back),
            atoms,
            kept=self.described.kept,
            codes=self.described.missing,
            k=self.described.k,
        )
        self.add(check_pair(declared, pair))

    def _masked_at_all(self, data: Dataset, source: Dataset) -> None:
        """Without a manifest nothing tells which fields are masked, but none at all cannot be."""
        if self.described is not None or len(data) != len(source) or not len(data) or self.problems:
            return
        common = [name for name in data.columns if name in source.columns]
        if all(data.columns[name].same_texts(source.columns[name]).all() for name in common):
            self.problems.append("no cell differs from the original: nothing is masked")

    # limits

    def limits(
        self,
        limits: Mapping[str, float],
        config: Config,
        stated: Stated,
        min_group: int | None,
        records: int,
        progress: Progress,
    ) -> tuple[Measured, ...]:
        """Compute figures with a limit, and those that the verdict rests on; say which are not within a limit."""
        names = [figure.name for figure in FIGURES if figure.name in limits]
        lacking = [name for name in names if self._lacks(figure_of(name))]
        self.not_checked += [
            Note("the limit {name}: needs {lacks}", name=name, lacks=self._lacks(figure_of(name))) for name in lacking
        ]
        names = [name for name in names if name not in lacking]
        evidence = self._evidence(records)
        if not (names or evidence) or self.original is None:
            return ()
        known = {} if self.described is None else {"medoid_share": self.described.medoid_share}
        if min_group is not None and not (self.described and self.described.declared.drawn):
            known["block_k"] = float(min_group)
        try:
            if self.described is not None:
                require_described(self.job.source, self.original, self.described)
            files, notes = compare(
                self.job.source,
                self.original,
                described=self.described,
                config=config,
                known=known,
                stated=stated,
                progress=progress,
            )
        except (UsageError, DocumentError) as error:
            cannot = "the limits {names} cannot be checked: {problem}"
            self.problems += [Note(cannot, names=names, problem=error.problem)] if names else []
            return ()
        if files.keys is None and (of_keys := [name for name in names if "keys" in figure_of(name).needs]):
            self.not_checked += [f"the limit {name}: needs {NO_KEYS}" for name in of_keys]
            names = [name for name in names if name not in of_keys]
        if wanting := unpaired(names, files):
            self.problems.append(
                Note(
                    "the limits {wanting} cannot be checked: {why}; give the manifest ([[--manifest FILE]]), or "
                    "[[--same-order]]",
                    wanting=wanting,
                    why=UNPAIRED,
                )
            )
            names = [name for name in names if name not in wanting]
        # by the rulebook, and not by what the manifest says of it
        binding = (form_of(edit.constraint) for edit in self.job.edits if edit.check.index not in self.left_out)
        files = replace(files, relations=always_linear(binding))
        wanted = {*names, *(one for one in evidence if files.keys is not None or "keys" not in figure_of(one).needs)}
        with arrays_of_run(len(files), len(files.original), config.memory):
            told = told_as(progress, "measuring risk and utility", "figures")
            measured = measure([name for name in NAMES if name in wanted], files, told)
            self.keys = None if files.keys is None or not evidence else KeyRisk.of(files.keys, self.names)
        over = list(over_limits(measured, limits))
        self.problems += over
        self.limit_problems = len(over)
        self.notes += notes if names else ()
        held = {
            one.figure.name: limits[one.figure.name]
            for one in measured
            if one.figure.name in names and one.figure.meets(one.value, limits[one.figure.name])
        }
        if held:
            self.checked.append(f"{counted(len(held), 'figure')} within the limits ({self._named(held)})")
        return measured

    def _evidence(self, records: int) -> tuple[str, ...]:
        """Name the figures that the verdict rests on, where the file is as masked and they take no longer than it."""
        if not self.as_masked or self.original is None or not 0 < records <= _COMPARED:
            return ()
        return tuple(name for name in EVIDENCE if records <= figure_of(name).unasked)

    def _named(self, limits: Mapping[str, float]) -> str:
        """Name limits with their bounds, and those of the manifest as such."""
        stated = {} if self.described is None else self.described.limits
        return ", ".join(
            f"{name} {bound:g}{' of the manifest' if stated.get(name) == bound else ''}"
            for name, bound in limits.items()
        )

    def _lacks(self, figure: Figure) -> Sentence:
        """What a figure needs and nobody gave; empty where it has all."""
        if self.original is None:
            return Note("the original ([[--original FILE]])")
        return (
            Note("the manifest ([[--manifest FILE]])")
            if "manifest" in figure.needs and self.described is None
            else ""
        )


def _deviation(shape: Shape) -> str:
    return f"{shape.reason} (line {shape.line})"


def _held(source: Dataset, name: str, excluded: Collection[int]) -> bool:
    """Whether a record that is released has a field; others may have had it alone."""
    return not excluded or _holds(source, name, excluded)


def _holds(source: Dataset, name: str, excluded: Collection[int]) -> bool:
    """Whether a cell of a field is there in a record that is released."""
    column = source.columns[name]
    there = column.where(column.states != Status.ABSENT)
    there[list(excluded)] = False
    return bool(there.any())
