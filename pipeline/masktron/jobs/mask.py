"""Mask a file so that every edit still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.classify.forms import form_of
from masktron.codes import fields_of
from masktron.config import Config, Role, did_you_mean
from masktron.constraints import Atom
from masktron.errors import InfeasibleError, UsageError, ViolationError
from masktron.figures import FIGURES
from masktron.files import manifest_beside, refuse_other_names, refuse_outputs
from masktron.jobs.common import (
    Job,
    Progress,
    judging_stage,
    no_progress,
    notes_of,
    open_job,
    require_flat,
    require_records,
    size_notes,
)
from masktron.jobs.compared import absent, taken
from masktron.jobs.documents import Given, digests
from masktron.jobs.drawn import draw_notes, parts_notes
from masktron.jobs.limits import over_limits, refuse_class_limits
from masktron.jobs.ordering import Ordering, identifying, ordering_of
from masktron.jobs.originals import Originals, judge_originals
from masktron.jobs.privacy import privacy_notes
from masktron.jobs.protection import check_groups, check_pair, pair_of
from masktron.jobs.randomness import Randomness, randomness_of
from masktron.jobs.revalidate import Asking, Revalidation, revalidate
from masktron.jobs.untested import known_only, may_be_untested, require_names, told, written_untested
from masktron.kernels import ready
from masktron.kernels.compiling import said_of_compiling
from masktron.kernels.cores import usable_cores
from masktron.kernels.distinct import alike, codes_of
from masktron.masking import Masked, MaskedBlock, Perturbed, Trial, compile_for, compiles_first, mask_records
from masktron.measures.achieved_k import achieved_k, shared_columns
from masktron.measures.assessed import Assessed, numbers_of
from masktron.measures.figures import Measured, measure
from masktron.measures.information_loss import information_loss
from masktron.measures.linkage import compile_for as compile_linking
from masktron.measures.linkage import compiles_first as linking_compiles_first
from masktron.measures.moment_shift import Correlations
from masktron.measures.revealed import Revealed, revealed
from masktron.measures.unchanged import same_cells, unchanged
from masktron.methods.base import Method, Partitioning
from masktron.methods.chosen import chosen
from masktron.plan import Block, Plan, make_plan
from masktron.progress import told_as
from masktron.report.parts import both_parts
from masktron.results import (
    BlockResult,
    CandidateResult,
    CategoryResult,
    CorrelationResult,
    CutResult,
    DrawResult,
    FigureResult,
    MaskResult,
    MomentResult,
    RepairResult,
    SolvedResult,
    TotalResult,
    UnmovedResult,
    shown,
)
from masktron.roles import FieldFacts
from masktron.settle.prototypes import EXITS
from masktron.sources.records import Coded, Column, Layout, Records, Typed
from masktron.sources.xml.layout import Shape
from masktron.sources.xml.left_out import left_out, outline_notes
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.outline import namespaces_of
from masktron.sources.xml.plain import survey_file
from masktron.sources.xml.writer import write_masked
from masktron.write.atomic import atomic_path, blamed
from masktron.write.declared import Declared
from masktron.write.manifest import MANIFEST_VERSION, NOTICE, described_output, file_hash, versions, write_plain

_ELSEWHERE = frozenset({"workers", "rule_timeout", "key", "documents"})
"""Settings that the manifest has in other places, or leaves out: they change nothing in the file."""

type Receive = Callable[[Records, NDArray[np.intp]], None]
"""Takes verified records, and the position in the original of each."""


def run_mask(
    data: Path,
    rules: Path,
    out: Path,
    *,
    config: Config | None = None,
    manifest: Path | None = None,
    progress: Progress = no_progress,
    types: Mapping[str, Typed] | None = None,
    receive: Receive | None = None,
) -> MaskResult:
    """Mask, settle, write, re-validate and report.

    The output and the manifest appear only when the written file has been read back and every engine agrees that it
    obeys the rules, with groups of at least k.

    Parameters
    ----------
    data, rules, out : Path
    config : Config, optional
    manifest : Path, optional
        ``released.manifest.json`` beside ``released.xml`` when not given.
    types : mapping of str to Typed, optional
        Of the columns of the data frame that the file was written from.
    receive : callable, optional
        Called with the verified records and the position in the original of each, before a file appears. What it
        raises keeps the files from appearing.

    Raises
    ------
    UsageError, RulebookError, DocumentError
        Something cannot be used.
    InvalidOriginalError
        The original breaks a rule.
    InfeasibleError
        The rules and k cannot both be kept.
    ViolationError
        The written file would break a rule or its contract; it is not published.
    """
    config = config or Config()
    method = chosen(config.method, config.params, config.k)
    refuse_class_limits(config.limits)
    refuse_other_names(out)
    manifest = manifest or manifest_beside(out)
    documents = {f"the document {name!r}": path for name, path in config.documents.items()}
    inputs = {"the original": data, "the rulebook": rules, **documents}
    refuse_outputs({"the output": out, "the manifest": manifest}, inputs)
    _refuse_foreign_manifest(manifest, out)
    given = Given(config.documents, data, spare=config.spare_documents)
    job = open_job(data, rules, record=config.record, phase=config.phase, progress=progress, given=given)
    require_flat(job)
    reading = told_as(progress, f"reading {data.name}")
    records = read_records(data, job.layout, missing=config.missing, plain=job.plain, told=reading)
    records = records.with_types(types or {})
    require_records(job, len(records), "a file without records has nobody to protect and is published as it is")
    require_names(job, may_be_untested(job, (*config.allow_unfired, *config.allow)))
    fields, likely = fields_of(records, job.edits, config)
    sized = size_notes(job)
    progress(judging_stage(job), 0)
    originals = judge_originals(job, config, progress)
    progress("planning blocks and aggregators", 0)
    plan = make_plan(known_only(job), fields, config, released=originals.released, aggregator=config.aggregator)
    kept = _kept(records, originals)
    classes = _classes(kept, fields, method.class_fields)
    ordering = ordering_of(config, job, kept, fields, _binding(job, plan))
    randomness = randomness_of(config, job, method, fields, shuffled=ordering.random)
    run = _Run(
        job,
        config,
        method.method,
        plan,
        records,
        kept,
        originals,
        ordering,
        randomness,
        classes,
        receive,
        likely.notes(),
        sized,
    )
    if compiles_first(len(run.kept), plan, job.edits, method.method) or linking_compiles_first(len(run.kept)):
        progress(said_of_compiling(kept=ready.kernels_kept()), 0)
        compile_for(len(run.kept), plan, job.edits, method.method)
        compile_linking(len(run.kept))
    masked = mask_records(
        run.kept,
        plan,
        job.edits,
        job.rulebook,
        original=data,
        max_observed_share=config.max_observed_share,
        method=method.method,
        streams=randomness.streams,
        classes=classes,
        keep_missing=config.keep_missing,
        workers=config.workers,
        max_block_records=config.max_block_records,
        progress=progress,
    )
    return run.publish(masked, out, manifest, progress)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What writing and reporting need of a run."""

    job: Job
    config: Config
    method: Method
    plan: Plan
    records: Records
    kept: Records
    originals: Originals
    ordering: Ordering
    randomness: Randomness
    classes: NDArray[np.intp] | None = None
    receive: Receive | None = None
    of_kinds: tuple[str, ...] = ()
    sized: tuple[str, ...] = ()

    @property
    def binding(self) -> list[int]:
        """Rules that have to hold in the written file."""
        return _binding(self.job, self.plan)

    def publish(self, made: Masked, out: Path, manifest: Path, progress: Progress) -> MaskResult:
        """Write to temporary files, verify, and only then give them their names."""
        order = self._order()
        with atomic_path(out, released=True) as temporary, atomic_path(manifest) as confidential:
            with blamed(out):
                written = write_masked(
                    self.records.source,
                    temporary,
                    self.job.layout,
                    self._replacements(made.blocks),
                    removed=self.plan.by_role(Role.IDENTIFIER),
                    keep=self.originals.keep,
                    order=None if order is None else self._source_order(order),
                    plain=self.job.plain,
                    told=told_as(progress, f"writing {out.name}"),
                )
            progress("surveying the written file", 0)
            layout, shape, plain = survey_file(temporary, record=self.job.layout.record_tag, progress=progress)
            self._verify_layout(layout, shape)
            source = self.records.source
            with Asking(
                temporary,
                self.job,
                layout,
                original=source,
                progress=progress,
                plain=plain,
                everything=self.config.pyschematron_all,
            ) as asking:
                reading = told_as(progress, "reading the written file back")
                masked = read_records(temporary, layout, missing=self.config.missing, plain=plain, told=reading)
                self._verify_records(written, masked)
                verdict = revalidate(
                    temporary,
                    self.job,
                    layout,
                    original=source,
                    binding=self.binding,
                    progress=progress,
                    plain=plain,
                    asking=asking,
                )
            progress("comparing it with the original", 0)
            result, measured = self._result(made, masked, verdict, order, out, manifest, progress)
            progress("testing the contract, writing the manifest", 0)
            self._verify(result, measured)
            declared = self._declared(made)
            self._verify_contract(declared, masked, order)
            if self.receive is not None:
                kept = np.flatnonzero(self.originals.keep)
                self.receive(masked, kept if order is None else kept[order])
            plan = self.plan.choosing(masked.block for masked in made.blocks)
            write_plain(confidential, self._manifest(result, plan, temporary, order, declared))
        return result

    def _order(self) -> NDArray[np.intp] | None:
        """Permutation of the kept records: written record i is kept record order[i]."""
        if not self.ordering.random or self.randomness.streams is None:
            return None
        generator = self.randomness.streams.generator("order")
        return generator.permutation(int(self.originals.keep.sum())).astype(np.intp)

    def _source_order(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Permutation of all source records: the kept ones in order, then those that are not written."""
        keep = self.originals.keep
        return np.concatenate([np.flatnonzero(keep)[order], np.flatnonzero(~keep)])

    def _replacements(self, blocks: Sequence[MaskedBlock]) -> dict[str, Coded]:
        """Masked lexemes for every record of the source; those of excluded records stay empty and are not written."""
        found: dict[str, Coded] = {}
        for masked in blocks:
            lexemes, own = masked.settled.lexemes, masked.settled.own
            labels = self._spread(masked.grouping.labels, len(lexemes))
            for position, name in enumerate(masked.block.variables):
                if position in own:
                    single = self._spread(np.arange(len(self.kept)), len(self.kept))
                    found[name] = Coded(_and_nothing(own[position]), single)
                else:
                    found[name] = Coded(_and_nothing(lexemes[:, position]), labels)
        return found

    def _spread(self, codes: NDArray[np.intp], nothing: int) -> NDArray[np.intp]:
        """Codes of the kept records as codes of all records of the source."""
        spread = np.full(len(self.records), nothing, dtype=np.intp)
        spread[self.originals.keep] = codes
        return spread

    def _verify_layout(self, layout: Layout, shape: Shape) -> None:
        """Refuse a written file that is no table of the fields to release.

        Fields may be missing whose values are all masked away or left out, and so may come in another order.
        """
        removed = self.plan.by_role(Role.IDENTIFIER)
        expected = {field for field in self.job.layout.fields if field.name not in removed}
        own, source = (
            (one.record_path, one.encoding, dict(one.root_attributes), spaces)
            for one, spaces in ((layout, dict(layout.nsmap)), (self.job.layout, namespaces_of(self.job.layout)))
        )
        if own != source or not shape.flat or not expected.issuperset(layout.fields):
            raise ViolationError(
                "the written file does not have the layout of the original; nothing is published",
                where=str(self.records.source),
                hint="please report this file: the result cannot be trusted",
            )

    def _verify_records(self, written: int, masked: Records) -> None:
        expected = int(self.originals.keep.sum())
        if not written == len(masked) == expected:
            raise ViolationError(
                f"{len(masked)} records were read back of {expected} to release; nothing is published",
                where=str(self.records.source),
            )

    def _verify(self, result: MaskResult, measured: Sequence[Measured]) -> None:
        if result.violations:
            broken = ", ".join(f"{rule.id} ({rule.violations})" for rule in result.rules if rule.violations)
            gone = len(result.excluded)
            several = any(rule.violations and rule.kind == "cross-record" for rule in result.rules)
            mixed = several and self.ordering.random
            raise InfeasibleError(
                f"the masked file would break {broken}; nothing is published",
                where=str(self.records.source),
                hint="let the rule go with --allow, or give its fields the role untouched"
                + (f"; {gone} records were left out, which changes counts and totals" if gone and several else "")
                + ("; a rule that reads the order of the records needs --keep-order" if mixed else ""),
            )
        for engine in result.engines:
            if not engine.agrees:
                raise ViolationError(
                    f"{engine.engine} does not agree that the masked file obeys the rules; nothing is published:\n  "
                    + "\n  ".join(engine.notes),
                    where=str(self.records.source),
                )
        if _smallest(result.blocks, result.draw) < self.config.k and _in_groups(result.blocks, result.draw):
            raise ViolationError(
                f"a group of {result.min_group} records is smaller than k = {self.config.k}; nothing is published",
                where=str(self.records.source),
            )
        if over := list(over_limits(measured, self.config.limits)):
            raise ViolationError(
                f"the masked file is outside its limits, so nothing is published: {'; '.join(over)}",
                where=str(self.records.source),
                hint="another k, --grouping all or other roles change the figures; or give another limit",
            )

    def _in_order(self, masked: Records, order: NDArray[np.intp] | None) -> dict[str, Column]:
        """The columns as written, all masked fields among them, in the order of the original."""
        columns = dict(masked.columns)
        for name in self.plan.by_role(Role.CONFIDENTIAL):
            columns.setdefault(name, absent(self.records.columns[name].field, len(masked)))
        if order is None:
            return columns
        back = np.argsort(order)
        return {name: taken(column, back) for name, column in columns.items()}

    def _verify_contract(self, declared: Declared, masked: Records, order: NDArray[np.intp] | None) -> None:
        """Test what the method promises of what it drew, as `check` does."""
        if not declared.drawn:
            return
        binding = {*self.binding}
        edits = [edit for edit in self.job.edits if edit.check.index in binding]
        pair = pair_of(
            declared,
            self.kept.columns,
            self._in_order(masked, order),
            [atom for edit in edits for disjunct in form_of(edit.constraint) for atom in disjunct],
            kept=[fact.name for fact in self.plan.fields if fact.role not in (Role.CONFIDENTIAL, Role.IDENTIFIER)],
            codes={fact.name: fact.codes for fact in self.plan.fields},
            k=self.config.k,
        )
        if problems := [*check_groups(declared, len(masked)).problems, *check_pair(declared, pair).problems]:
            raise ViolationError(
                f"the masked file does not keep what {self.method.name} promises, so nothing is published: "
                f"{'; '.join(problems)}",
                where=str(self.records.source),
                hint="run it again for other draws, or take another method or parameters; or give the fields that it "
                "names the role untouched",
            )

    # the report

    def _result(
        self,
        made: Masked,
        masked: Records,
        verdict: Revalidation,
        order: NDArray[np.intp] | None,
        out: Path,
        manifest: Path,
        progress: Progress,
    ) -> tuple[MaskResult, tuple[Measured, ...]]:
        confidential = self.plan.by_role(Role.CONFIDENTIAL)
        left = left_out(self.records.source, self.job.layout, self.job.plain)
        columns = self._in_order(masked, order)
        checks = self.job.rulebook.checks
        results = self.job.rule_results(verdict.evaluation, set(range(len(checks))) - set(self.binding))
        results = written_untested(results, self.job, self.originals.untested, self.originals.fired)
        codes = {name: codes_of(columns[name].lexemes) for name in confidential}
        blocks = made.blocks
        block_results = tuple(self._block_result(block, columns, codes) for block in blocks)
        draw = None if made.perturbed is None else self._draw_result(made.perturbed, columns)
        files = self._assessed(columns, codes, block_results)
        wanted = [one.name for one in FIGURES if len(self.kept) <= one.unasked or one.name in self.config.limits]
        measured = measure(wanted, files, told_as(progress, "measuring risk and utility", "figures"))
        figure = {one.figure.name: one.value for one in measured}
        result = MaskResult(
            output=shown(out),
            manifest=shown(manifest),
            records_in=len(self.records),
            records_out=len(masked),
            k=self.config.k,
            min_group=_smallest(block_results, draw),
            whole_record_k=int(figure["whole_record_k"]),
            linkage=figure["linkage"],
            information_loss=figure["information_loss"],
            violations=sum(rule.violations for rule in results),
            unchanged={name: unchanged(self.kept.columns[name], columns[name]) for name in confidential},
            totals=tuple(
                TotalResult(name, total.before, total.after, total.change, total.records)
                for name, total in zip(files.numeric, files.totals, strict=True)
            ),
            categories=tuple(
                CategoryResult(fact.name, fact.kind, shares.distance, shares.before, shares.after)
                for fact in self.plan.fields
                if (shares := files.categories.get(fact.name)) is not None
            ),
            blocks=block_results,
            repairs=tuple(
                RepairResult(checks[repair.rule].id, repair.before, repair.after, repair.groups)
                for repair in made.repairs
            ),
            rules=results,
            engines=verdict.engines,
            not_applicable={checks[index].id: reason for index, reason in self.plan.not_applicable},
            allowed=tuple(checks[index].id for index in self.plan.released),
            notes=(
                *notes_of(self.job),
                *self.sized,
                *self.originals.notes,
                *outline_notes(self.job.layout, left),
                *told(results),
                *self.of_kinds,
                self.ordering.says,
                *self.randomness.says,
                *(() if made.perturbed is None else made.perturbed.notes),
                *parts_notes(self.method.name, block_results),
                *(() if draw is None else draw_notes(draw, block_results, records=len(masked), k=self.config.k)),
                *self._unheeded(blocks),
                *self._group_notes(blocks),
                *privacy_notes(blocks, self.kept.columns, columns),
            ),
            figures=tuple(map(FigureResult.of, measured)),
            excluded=tuple(np.flatnonzero(~self.originals.keep).tolist()),
            left_out=left,
            method=self.method.name,
            promise="; ".join(filter(None, (self.method.contract.says, both_parts(block_results)))),
            draw=draw,
            contract=self.method.contract.kind,
            unmasked=tuple(
                fact.name for fact in self.plan.fields if fact.role not in (Role.CONFIDENTIAL, Role.IDENTIFIER)
            ),
            original_order=self.ordering.original,
            identifying=identifying(self.kept, self.plan.fields),
            order=order,
        )
        return result, measured

    def _unheeded(self, blocks: Sequence[MaskedBlock]) -> Iterator[str]:
        """Name the settings that have no say in what a method draws."""
        if not any(masked.block.drawn for masked in blocks):
            return
        for weight in self.plan.by_role(Role.WEIGHT):
            yield (
                f"{self.method.name} counts every record once: means and covariances that it keeps are those without "
                f"the weight {weight}"
            )
        most = self.config.max_block_records
        if most is not None and len(self.kept) > most:
            yield (
                f"max_block_records cuts nothing that {self.method.name} draws: it sees all records of a stratum "
                "together"
            )

    def _group_notes(self, blocks: Sequence[MaskedBlock]) -> Iterator[str]:
        """What the method says of its groups, once for blocks that share them."""
        if not isinstance(self.method, Partitioning):
            return
        told: dict[str, list[str]] = {}
        for masked in blocks:
            for note in self.method.notes(masked.grouping.labels, self.classes):
                told.setdefault(note, []).extend(masked.block.variables)
        yield from (f"{', '.join(names)}: {note}" for note, names in told.items())

    def _assessed(
        self, columns: Mapping[str, Column], codes: Mapping[str, NDArray[np.int32]], blocks: Sequence[BlockResult]
    ) -> Assessed:
        """The records to release beside the written ones; what the blocks tell is known already."""
        confidential = [fact for fact in self.plan.fields if fact.role is Role.CONFIDENTIAL]
        cells = sum(int(self.kept.columns[name].present.sum()) for block in blocks for name in block.variables)
        return Assessed(
            original={fact.name: self.kept.columns[fact.name] for fact in confidential},
            masked={fact.name: columns[fact.name] for fact in confidential},
            numeric=tuple(fact.name for fact in confidential if fact.numeric),
            codes=codes,
            weights=self._weights(),
            blocks=tuple(block.variables for block in blocks),
            solved=frozenset(one.field for block in blocks for one in block.solved),
            known={
                "block_k": float(min(block.min_group for block in blocks)),
                "medoid_share": 100 * sum(block.copied for block in blocks) / sum(block.groups for block in blocks),
                "revealed": Revealed(cells, sum(block.revealed for block in blocks)).share,
            },
            workers=self.config.workers or usable_cores(),
        )

    def _weights(self) -> NDArray[np.float64] | None:
        weight = self.plan.by_role(Role.WEIGHT)
        return self.kept.columns[weight[0]].values if weight else None

    def _block_result(
        self, masked: MaskedBlock, columns: Mapping[str, Column], codes: Mapping[str, NDArray[np.int32]]
    ) -> BlockResult:
        block = masked.block
        numeric = [fact.name for fact in self.plan.fields if fact.name in block.variables and fact.numeric]
        exits = masked.settled.exits
        pairs = [(self.kept.columns[name], columns[name]) for name in block.variables]
        solved = {one.variable: self._equalities(one.variable, block) for one in block.solved}
        shared, _ = alike((codes[name] for name in block.variables if name not in solved), len(self.kept))
        return BlockResult(
            variables=block.variables,
            rules=tuple(self.job.rulebook.checks[index].id for index in block.checks),
            aggregator=block.aggregator,
            reason=block.reason,
            groups=masked.grouping.groups,
            min_group=achieved_k(shared_columns(columns, codes, block.variables, solved))
            if solved
            else int(np.bincount(shared).min()),
            exits={name: int((exits == name).sum()) for name in EXITS},
            observed_share=100 * int(masked.exposure.observed.sum()) / len(self.kept),
            copied=int(masked.exposure.copied.sum()),
            coincident=int(masked.exposure.coincident.sum()),
            revealed=revealed(pairs, shared).revealed,
            dominated=int(masked.exposure.dominated.sum()),
            information_loss=information_loss(numbers_of(self.kept.columns, numeric), numbers_of(columns, numeric))
            if numeric
            else float("nan"),
            candidates=tuple(_candidate_result(trial) for trial in masked.trials),
            solved=tuple(
                SolvedResult(one.variable, self.job.rulebook.checks[one.check].id, one.disjunct, one.atom)
                for one in block.solved
            ),
            cut=None if masked.grouping.cut is None else CutResult.of(masked.grouping.cut, masked.grouping.spread),
        )

    def _draw_result(self, perturbed: Perturbed, columns: Mapping[str, Column]) -> DrawResult:
        """What the method drew beside what is written, in the order of the original."""
        confidential = self.plan.by_role(Role.CONFIDENTIAL)
        same = np.logical_and.reduce([same_cells(self.kept.columns[name], columns[name]) for name in confidential])
        drawn = {name for one in perturbed.blocks for name in one.block.variables}
        grouped = [self.kept.columns[name].present for name in confidential if name not in drawn]
        untouched = same & ~np.logical_or.reduce([perturbed.touched, *grouped])
        given_back = same & perturbed.touched & ~perturbed.alike
        sizes = None if perturbed.labels is None else np.bincount(perturbed.labels)
        shift = perturbed.shift
        return DrawResult(
            strata=perturbed.strata,
            groups=None if sizes is None else len(sizes),
            smallest=None if sizes is None else int(sizes.min()),
            moments=tuple(
                map(
                    MomentResult,
                    perturbed.numbers,
                    shift.means_drawn,
                    shift.means_written,
                    shift.variances_drawn,
                    shift.variances_written,
                )
            ),
            worst_drawn=_correlation_result(shift.worst_drawn, perturbed.numbers),
            worst_written=_correlation_result(shift.worst_written, perturbed.numbers),
            unmoved_by=UnmovedResult(
                untouched=int(untouched.sum()),
                drawn=int((same & ~untouched & ~given_back).sum()),
                given_back=int(given_back.sum()),
                rare=int((same & perturbed.rare).sum()),
            ),
        )

    def _equalities(self, variable: str, block: Block) -> list[Atom]:
        """The equalities that give a variable of a block, where it is solved."""
        forms = {edit.check.index: form_of(edit.constraint) for edit in self.job.edits}
        return [forms[one.check][one.disjunct][one.atom] for one in block.solved if one.variable == variable]

    def _manifest(
        self, result: MaskResult, plan: Plan, output: Path, order: NDArray[np.intp] | None, declared: Declared
    ) -> dict[str, Any]:
        return {
            "manifest_version": MANIFEST_VERSION,
            "notice": NOTICE,
            "versions": versions(),
            "original": {"path": shown(self.records.source), "sha256": file_hash(self.records.source)},
            "rules": {"path": shown(self.job.rulebook.path), "sha256": file_hash(self.job.rulebook.path)},
            "documents": digests(self.job.rulebook, file_hash(self.records.source)),
            "output": {"path": result.output, "sha256": file_hash(output)},
            "config": _plain({name: value for name, value in asdict(self.config).items() if name not in _ELSEWHERE}),
            "key": None if self.randomness.key is None else self.randomness.key.hex(),
            "plan": _plain(plan.as_dict()),
            "result": result.as_dict(),
            "order": None if order is None else order.tolist(),
            "declared": declared.as_dict(),
        }

    def _declared(self, made: Masked) -> Declared:
        """What the method promises, and what `check` needs to test it."""
        perturbed = made.perturbed
        if perturbed is None:
            return Declared(self.method.name, self.method.contract)
        groups = perturbed.parts if perturbed.labels is None else perturbed.labels
        return Declared(
            self.method.name,
            self.method.contract,
            drawn=tuple(name for one in perturbed.blocks for name in one.block.variables),
            groups=tuple(groups.tolist()),
            unmoved=perturbed.unmoved,
            settled=perturbed.settled,
            marked={name: tuple(positions.tolist()) for name, positions in perturbed.marked.items()},
        )


def _binding(job: Job, plan: Plan) -> list[int]:
    """Rules that have to hold in the written file."""
    loose = {*plan.released, *(index for index, _ in plan.not_applicable)}
    return [check.index for check in job.rulebook.checks if check.index not in loose]


def _in_groups(blocks: Sequence[BlockResult], draw: DrawResult | None) -> bool:
    """Whether anything was masked by groups of records."""
    return any(not block.drawn for block in blocks) or (draw is not None and draw.smallest is not None)


def _smallest(blocks: Sequence[BlockResult], draw: DrawResult | None) -> int:
    """Records of the smallest group: of those that share their values, and of those for which values were drawn.

    Where there are no groups at all, the smallest number of records that share values of a block.
    """
    sizes = [block.min_group for block in blocks if not block.drawn]
    if draw is not None and draw.smallest is not None:
        sizes.append(draw.smallest)
    return min(sizes or [block.min_group for block in blocks])


def _classes(kept: Records, fields: Sequence[FieldFacts], names: Sequence[str]) -> NDArray[np.intp] | None:
    """Return the class of each record in some fields, shape (n, c); what is missing is a class of its own.

    Raises
    ------
    UsageError
        A field is not there, or is masked or removed.
    """
    roles = {fact.name: fact.role for fact in fields}
    for name in names:
        if name not in roles:
            raise UsageError(
                f"the class {name!r} is a field that the file does not have",
                where=str(kept.source),
                hint=did_you_mean(name, roles),
            )
        if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER):
            raise UsageError(
                f"the class {name!r} has the role {roles[name]}",
                where=str(kept.source),
                hint=f"a class is written as it is: --role {name}=untouched",
            )
    if not names:
        return None
    return np.stack([codes_of(kept.columns[name].lexemes) for name in names], axis=1).astype(np.intp)


def _correlation_result(worst: Correlations | None, names: Sequence[str]) -> CorrelationResult | None:
    if worst is None:
        return None
    return CorrelationResult((names[worst.first], names[worst.second]), worst.original, worst.drawn, worst.written)


def _and_nothing(lexemes: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.concatenate([lexemes, np.array([None], dtype=np.object_)])


def _candidate_result(trial: Trial) -> CandidateResult:
    loss, copied = trial.information_loss, trial.copied_share
    return CandidateResult(
        aggregator=trial.aggregator,
        information_loss=float("nan") if loss is None else loss,
        copied_share=float("nan") if copied is None else copied,
        verdict=trial.verdict,
        solved=trial.solved,
    )


def _kept(records: Records, originals: Originals) -> Records:
    """Return the records to release."""
    keep = originals.keep
    if keep.all():
        return records
    columns = {name: taken(column, keep) for name, column in records.columns.items()}
    return replace(records, columns=columns, lines=records.lines[keep])


def _plain(value: Any) -> Any:
    """Turn settings into what JSON has: no sets, no infinities."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(_plain(entry) for entry in value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _refuse_foreign_manifest(manifest: Path, out: Path) -> None:
    if manifest.exists() and (other := described_output(manifest)) != out.name:
        raise UsageError(
            f"the manifest there belongs to {other or 'something else'}",
            where=str(manifest),
            hint="give another with --manifest FILE",
        )
