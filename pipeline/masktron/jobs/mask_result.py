"""The report of a run of `mask`: what the blocks, the draws and the written file look like."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.classify.forms import form_of
from masktron.config import Role
from masktron.constraints import Atom
from masktron.contracts import IdenticalGroups
from masktron.counts import counted
from masktron.figures import FIGURES
from masktron.jobs.common import file_notes, notes_of
from masktron.jobs.compared import some_columns
from masktron.jobs.concerns import concerns_of
from masktron.jobs.drawn import draw_notes, parts_notes
from masktron.jobs.given_away import given_away_notes, read_off_notes, with_read_off
from masktron.jobs.keys_known import unmasked_fields
from masktron.jobs.lowering.level_figures import NestedColumns, figures_by_level
from masktron.jobs.lowering.lower import Lowered
from masktron.jobs.ordering import RELEASED
from masktron.jobs.privacy import privacy_notes, unmasked_notes
from masktron.jobs.recoded import as_treated
from masktron.jobs.run import Account, Run
from masktron.jobs.swapped import swap_notes
from masktron.jobs.treatment_limits import limit_notes
from masktron.jobs.treatment_results import treatment_results
from masktron.jobs.untested import told, written_untested
from masktron.jobs.written import WrittenFile
from masktron.kernels.cores import usable_cores
from masktron.kernels.distinct import alike
from masktron.large_arrays import kept
from masktron.masking import Masked, MaskedBlock, Perturbed, Trial
from masktron.measures.achieved_k import achieved_k, shared_columns
from masktron.measures.assessed import Assessed, ReadRecords, pairs_of
from masktron.measures.category_shares import CategoryShares
from masktron.measures.figures import Measured, measure
from masktron.measures.information_loss import loss_of_fields
from masktron.measures.moment_shift import Correlations
from masktron.measures.revealed import Revealed, revealed
from masktron.measures.unchanged import same_cells, unchanged_of
from masktron.measures.weighted_totals import WeightedTotal
from masktron.methods.base import Partitioning
from masktron.plan import Block
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.progress import Progress, told_as
from masktron.report.sentences import both_parts
from masktron.results import (
    BlockResult,
    CandidateResult,
    CategoryResult,
    CorrelationResult,
    CutResult,
    DrawResult,
    FigureResult,
    KeyRisk,
    MaskedLevel,
    MaskResult,
    MomentResult,
    RepairResult,
    RuleFate,
    ShownValues,
    SolvedResult,
    TotalResult,
    UnmovedResult,
    shown,
)
from masktron.settle.prototypes import EXITS
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.variables import Variable
from masktron.step_kinds import (
    reweighted_in,
    suppressed_in,
)

OF_KEYS_BEFORE = ("key_k", "key_uniques", "global_risk")
"""Figures of keys that are shown as they were before fields were treated, too."""
UNIQUES_UNASKED = 20_000_000
"""Records times sets of keys that minimal sample uniques are looked for in unasked: some two seconds."""


def mask_result(
    run: Run,
    made: Masked,
    written: WrittenFile,
    out: Path,
    manifest: Path,
    progress: Progress,
    rules_out: Path | None = None,
    tables: Mapping[str, str] = MappingProxyType({}),
) -> tuple[MaskResult, tuple[BlockResult, ...], tuple[Measured, ...]]:
    """Compare what was written with the original, and return the report, the blocks as masked and the figures.

    The report has one row for a field of a level, whatever positions its wide records have: totals are sums over all
    positions, shares are of all cells. What is told of one field keeps its position.

    Parameters
    ----------
    out, manifest, rules_out : Path
        What the files are going to be called.
    tables : mapping of str to str
        What the tables beside `out` are going to be called, by level.
    """
    called = run.names
    confidential = run.plan.by_role(Role.CONFIDENTIAL)
    unmasked = tuple(fact.name for fact in run.plan.fields if fact.role not in (Role.CONFIDENTIAL, Role.IDENTIFIER))
    source = run.original.job.source
    left = source.left_out()
    columns = written.columns
    judged, as_written = run.back.job, run.as_written
    results = judged.rule_results(written.verdict.evaluation, run.loose)
    results = written_untested(results, judged, as_written.untested, as_written.fired)
    released = [judged.rulebook.checks[index] for index in as_written.released]
    blocks = made.blocks
    as_masked, files = side_by_side(run, made, columns)
    block_results = tuple(_block_by_level(block, called) for block in as_masked)
    draw = None if made.perturbed is None else _draw_result(run, made.perturbed, columns)
    named = run.config.limits if not run.account.treatments else {*run.config.limits, "key_loss"}
    wanted = unasked_figures(len(run.kept), named, keys=files.keys is not None)
    if files.keys is not None and files.keys.looked_at > UNIQUES_UNASKED and "suda_share" not in run.config.limits:
        wanted = [name for name in wanted if name != "suda_share"]
    measured = measure(wanted, files, told_as(progress, "measuring risk and utility", "figures"))
    figure = {one.figure.name: one.value for one in measured}
    notes = (
        *file_notes(source, missing=run.config.missing),
        *notes_of(judged),
        *run.slow,
        *run.originals.notes,
        *run.source.outline_notes(left),
        *told(results),
        *run.notes,
        run.ordering.says,
        *run.randomness.says,
        *(() if made.perturbed is None else made.perturbed.notes),
        *parts_notes(run.method.name, block_results),
        *(() if draw is None else draw_notes(draw, block_results, records=len(written.records), k=run.config.k)),
        *_unheeded(run, blocks),
        *_group_notes(run, blocks),
        *privacy_notes(blocks, run.kept.columns, columns),
        *unmasked_notes(columns, [name for name in unmasked if name not in run.identifying]),
        *_label_notes(run, columns),
    )
    result = MaskResult(
        output=shown(out),
        manifest=shown(manifest),
        records_in=len(run.original.records),
        records_out=len(written.records),
        k=run.config.k,
        min_group=smallest_group(block_results, draw, len(written.records)),
        whole_record_k=int(figure["whole_record_k"]),
        linkage=figure["linkage"],
        information_loss=figure["information_loss"],
        violations=sum(rule.violations for rule in results),
        unchanged={
            name: unchanged_of((run.kept.columns[one], columns[one]) for one in own)
            for name, own in called.by_level(confidential).items()
        },
        totals=_totals(files, called),
        categories=_categories(run, files),
        blocks=block_results,
        repairs=tuple(
            RepairResult(run.rule_id(repair.rule), repair.before, repair.after, repair.groups)
            for repair in made.repairs
        ),
        rules=results,
        engines=written.verdict.engines,
        not_applicable={run.rule_id(index): reason for index, reason in run.plan.not_applicable},
        allowed=tuple(check.id for check in released),
        let_go=tuple(check.id for check in released if not check.soft),
        notes=tuple(map(called.sentence, notes)),
        figures=tuple(FigureResult.of(one, called) for one in measured),
        keys=None if files.keys is None or not len(files.keys) else KeyRisk.of(files.keys, called),
        excluded=tuple(np.flatnonzero(~run.original.originals.keep).tolist()),
        missing_weight=read_records(run).missing_weight(run.original.originals.keep),
        left_out=left,
        method=run.method.name,
        promise="; ".join(filter(None, (_promised(run, figure["whole_record_k"]), both_parts(block_results)))),
        draw=None if draw is None else _draw_by_level(draw, called),
        contract=run.method.contract.kind,
        unmasked=called.names(unmasked),
        original_order=run.ordering.original,
        identifying=called.names(run.identifying),
        concerns=concerns_of(run, made, columns, files),
        order=written.order,
        levels=levels_of_run(run, columns),
        limits=run.config.limits,
        key_k=run.config.key_k,
        values=shown_values(confidential, run.kept.columns, columns, called),
        tables=tables,
    )
    lacking = _missing_notes(result, run.plan.by_role(Role.WEIGHT), run.account)
    result = replace(result, notes=(*result.notes, *lacking))
    return _with_treatments(run, files, result, rules_out), as_masked, measured


def _totals(files: Assessed, called: LevelNames) -> tuple[TotalResult, ...]:
    totals = dict(zip(files.numeric, files.totals, strict=True))
    found = (
        (name, WeightedTotal.of_parts([totals[one] for one in own])) for name, own in called.by_level(totals).items()
    )
    return tuple(TotalResult(name, one.before, one.after, one.change, one.records) for name, one in found)


def _categories(run: Run, files: Assessed) -> tuple[CategoryResult, ...]:
    kinds = {fact.name: fact.kind for fact in run.plan.fields if fact.name in files.categories}
    found = (
        (name, kinds[own[0]], CategoryShares.of_parts([files.categories[one] for one in own]))
        for name, own in run.names.by_level(kinds).items()
    )
    return tuple(
        CategoryResult(name, "ordinal" if kind == "ordinal" else "nominal", one.distance, one.before, one.after)
        for name, kind, one in found
    )


def _block_by_level(block: BlockResult, called: LevelNames) -> BlockResult:
    return replace(
        block,
        variables=called.names(block.variables),
        rules=called.names(block.rules),
        reason=called.sentence(block.reason),
        candidates=tuple(replace(one, solved=called.names(one.solved)) for one in block.candidates),
        solved=tuple(
            replace(one, field=called.shown(one.field), rule=called.shown(one.rule)) for one in block.solved
        ),
    )


def _draw_by_level(draw: DrawResult, called: LevelNames) -> DrawResult:
    def pair(one: CorrelationResult | None) -> CorrelationResult | None:
        return one and replace(one, fields=(called.shown(one.fields[0]), called.shown(one.fields[1])))

    return replace(
        draw,
        moments=tuple(replace(one, name=called.shown(one.name)) for one in draw.moments),
        worst_drawn=pair(draw.worst_drawn),
        worst_written=pair(draw.worst_written),
    )


def shown_values(
    names: Sequence[str],
    before: Mapping[str, Column],
    after: Mapping[str, Column],
    called: LevelNames = AS_THEY_ARE,
) -> tuple[ShownValues, ...]:
    """Show three records in each masked field: the lowest, the middle and the highest of the first number.

    Without a number they are the first, the middle and the last record. Members have values at many positions: those
    of the first stand for the field.
    """
    ranked = next((found for name in names if (found := before[name]).is_number.any()), None)
    rows = np.arange(len(next(iter(before.values()))))
    if ranked is not None:
        held = np.flatnonzero(ranked.is_number)
        rows = held[np.argsort(ranked.values[held], kind="stable")]
    shown_rows = rows[[0, len(rows) // 2, -1]].astype(np.intp)
    return tuple(
        ShownValues(name, *(tuple(columns[own[0]].lexemes_of(shown_rows).tolist()) for columns in (before, after)))
        for name, own in called.by_level(names).items()
    )


def levels_of_run(run: Run, columns: Mapping[str, Column]) -> tuple[MaskedLevel, ...]:
    """Measure each level of a nested file."""
    before, back = run.original, run.original.back
    if not isinstance(back, Lowered):
        return ()
    nested = NestedColumns(
        back.source,
        np.flatnonzero(before.originals.keep),
        {fact.name: fact.role for fact in run.plan.fields},
        frozenset(fact.name for fact in run.plan.fields if fact.role is Role.CONFIDENTIAL and fact.numeric),
        back.weights,
    )
    return figures_by_level(nested, run.kept.columns, columns, run.config.workers, read=read_records(run))


def _with_treatments(run: Run, files: Assessed, result: MaskResult, rules_out: Path | None) -> MaskResult:
    """Say what was done to fields before they were masked, what became of rules, and what keys told before."""
    done = run.account
    if not done.treatments:
        return result
    named = done.rulebook and rules_out is not None
    return replace(
        result,
        treatments=treatment_results(done.treatments, outcome=True),
        fates=fates_of(done),
        not_applicable={
            **result.not_applicable,
            **{rule.id: rule.reason for rule in done.rules if rule.fate == "removed"},
        },
        rules_file=shown(rules_out) if named and rules_out is not None else "",
        rulebook=done.rulebook.decode(),
        before=tuple(map(FigureResult.of, _keys_before(files))),
        notes=(
            *(note for note in run.original.originals.notes if note not in result.notes),
            *result.notes,
            *swap_notes(done.treatments),
            *(f"local suppression: {one.says}" for one in suppressed_in(done.treatments)),
            *limit_notes(run),
            *given_away_notes(run),
            *read_off_notes(files.keys),
        ),
    )


def fates_of(done: Account) -> tuple[RuleFate, ...]:
    """Say what became of each rule that is not as it was."""
    return tuple(RuleFate.of(rule) for rule in done.rules if rule.changed)


def _keys_before(files: Assessed) -> tuple[Measured, ...]:
    """What the quasi-identifiers of the released records told before they were treated."""
    keys = None if files.keys is None else files.keys_before()
    return () if keys is None else measure(OF_KEYS_BEFORE, replace(files, keys=keys))


def unasked_figures(records: int, limits: Iterable[str], *, keys: bool) -> list[str]:
    """Name the figures of a masked file that cost little, and those that have a limit.

    Parameters
    ----------
    keys : bool
        Whether there are quasi-identifiers.
    """
    named = frozenset(limits)
    return [
        one.name
        for one in FIGURES
        if one.name in named or (records <= one.unasked and (keys or "keys" not in one.needs))
    ]


def side_by_side(run: Run, made: Masked, columns: Mapping[str, Column]) -> tuple[tuple[BlockResult, ...], Assessed]:
    """Put masked columns, in the order of the original, beside it: block by block, and as figures need them."""
    codes = {name: kept(columns[name].numbered()) for name in run.plan.by_role(Role.CONFIDENTIAL)}
    blocks = tuple(_block_result(run, block, columns, codes) for block in made.blocks)
    return blocks, _assessed(run, columns, codes, blocks)


def _promised(run: Run, whole_record_k: float) -> str:
    """Say what the method promises: of whole records where one partition was made of all fields, and it holds."""
    contract = run.method.contract
    if not run.plan.by_role(Role.CONFIDENTIAL):
        return "nothing, as no field is masked"
    if not isinstance(contract, IdenticalGroups) or run.config.grouping != "all" or whole_record_k < contract.k:
        return contract.says
    if run.back.sums:
        sums = ", ".join(dict.fromkeys(one.field for one in run.back.sums))
        return f"{contract.says_of_whole_records}, apart from what is summed anew around them: {sums}"
    return contract.says_of_whole_records


def _unheeded(run: Run, blocks: Sequence[MaskedBlock]) -> Iterator[str]:
    """Name the settings that have no say in what a method draws."""
    if not any(masked.block.drawn for masked in blocks):
        return
    for weight in run.plan.by_role(Role.WEIGHT):
        yield (
            f"{run.method.name} counts every record once: means and covariances that it keeps are those without "
            f"the weight {run.names.shown(weight)}"
        )
    most = run.config.max_block_records
    if most is not None and len(run.kept) > most:
        yield (
            f"max_block_records cuts nothing that {run.method.name} draws: it sees all records of a stratum together"
        )


def _label_notes(run: Run, written: Mapping[str, Column]) -> Iterator[str]:
    """Say which fields are released with labels of the original, of values that no released record has."""
    copied = {one.name: _labelled(one) for one in run.original.job.source.own_variables}
    named = [
        variable.name
        for variable in run.source.own_variables
        if variable.name in written
        and not {value for value, _ in _labelled(variable) & copied.get(variable.name, frozenset())}.issubset(
            written[variable.name].texts(Status.PRESENT, Status.EMPTY, Status.CODE)
        )
    ]
    if named:
        names = ", ".join(run.names.names(named))
        yield f"labels of values that no released record has are copied, for {names}: look at them"


def _labelled(variable: Variable) -> frozenset[tuple[str, str]]:
    """Return the values of a variable that have labels, with these."""
    return frozenset(
        (*variable.labels.items(), *((code, label) for code, label in variable.missing.items() if label))
    )


def _group_notes(run: Run, blocks: Sequence[MaskedBlock]) -> Iterator[str]:
    """What the method says of its groups, once for blocks that share them."""
    if not isinstance(run.method, Partitioning):
        return
    told: dict[str, list[str]] = {}
    for masked in blocks:
        for note in run.method.notes(masked.grouping.labels, run.classes):
            told.setdefault(note, []).extend(masked.block.variables)
    yield from (f"{', '.join(run.names.names(names))}: {note}" for note, names in told.items())


def _assessed(
    run: Run,
    columns: Mapping[str, Column],
    codes: Mapping[str, NDArray[np.int32]],
    blocks: Sequence[BlockResult],
) -> Assessed:
    """The records to release beside the written ones; what the blocks tell is known already."""
    confidential = [fact for fact in run.plan.fields if fact.role is Role.CONFIDENTIAL]
    cells = sum(int(run.kept.columns[name].present.sum()) for block in blocks for name in block.variables)
    groups = sum(block.groups for block in blocks)
    keys = run.keys
    shown = keys.of({name: columns.get(name, own) for name, own in run.kept.columns.items()}, _weights(run, run.kept))
    if run.account.treatments:
        before = as_treated(run.original.kept, run.treatments)
        shown = with_read_off(shown, run.treatments, before.columns, columns, in_order=run.ordering.original)
    return Assessed(
        original={fact.name: run.kept.columns[fact.name] for fact in confidential},
        masked=some_columns(columns, [fact.name for fact in confidential]),
        numeric=tuple(fact.name for fact in confidential if fact.numeric),
        codes=codes,
        weights=_weights(run, run.kept),
        blocks=tuple(block.variables for block in blocks),
        solved=frozenset(one.field for block in blocks for one in block.solved),
        known={
            "block_k": float(min((block.min_group for block in blocks), default=math.nan)),
            "medoid_share": 100 * sum(block.copied for block in blocks) / groups if groups else math.nan,
            "revealed": Revealed(cells, sum(block.revealed for block in blocks)).share,
        },
        workers=run.config.workers or usable_cores(),
        known_exactly=unmasked_fields({fact.name: fact.role for fact in run.plan.fields}).classes(run.kept.columns),
        keys=shown,
        keys_before=lambda: keys.of(run.original.kept.columns, _weights(run, run.original.kept)),
        weights_before=None if not run.account.treatments else _weights(run, run.original.kept),
        everything=run.kept.columns,
        unmasked=tuple(fact.name for fact in run.plan.fields if fact.role in RELEASED),
        read=read_records(run),
    )


def read_records(run: Run) -> ReadRecords:
    """Return all records of the original, those left out included; a sample of them is compared with itself."""
    before = run.original
    sampled = len(before.kept) < int(before.originals.keep.sum())
    records = before.kept if sampled else before.records
    return ReadRecords.of(records.columns, len(records), _weights(run, records))


def _missing_notes(result: MaskResult, weight: Sequence[str], done: Account) -> Iterator[str]:
    """Say how much weight was left out with records, and whether others have it now."""
    spread = reweighted_in(done.treatments)
    if gone := result.records_in - result.records_out:
        share = result.missing_weight
        whose = f"of the weight {weight[0]}" if weight else "of all records"
        yield (
            f"{counted(gone, 'record was', 'records were')} left out, with {share:.1f} % {whose}; "
            + (
                f"their weights are spread over those of the same {', '.join(spread[0].within)}"
                if spread
                else "totals of the masked file lack them"
            )
        )


def _weights(run: Run, records: Dataset) -> NDArray[np.float64] | None:
    weight = run.plan.by_role(Role.WEIGHT)
    return records.columns[weight[0]].values if weight else None


def _block_result(
    run: Run, masked: MaskedBlock, columns: Mapping[str, Column], codes: Mapping[str, NDArray[np.int32]]
) -> BlockResult:
    block = masked.block
    numeric = [fact.name for fact in run.plan.fields if fact.name in block.variables and fact.numeric]
    solved = {one.variable: _equalities(run, one.variable, block) for one in block.solved}
    shared, _ = alike((codes[name] for name in block.variables if name not in solved), len(run.kept))
    return BlockResult(
        variables=block.variables,
        rules=tuple(run.job.rulebook.checks[index].id for index in block.checks),
        aggregator=block.aggregator,
        reason=block.reason,
        groups=masked.grouping.groups,
        min_group=achieved_k(shared_columns(columns, codes, block.variables, solved))
        if solved
        else int(np.bincount(shared).min()),
        exits={name: int(masked.settled.left_by(name).sum()) for name in EXITS},
        observed_share=100 * int(masked.exposure.observed.sum()) / len(run.kept),
        copied=int(masked.exposure.copied.sum()),
        coincident=int(masked.exposure.coincident.sum()),
        revealed=revealed(block.variables, run.kept.columns, columns, shared, run.plan.relations).revealed,
        dominated=int(masked.exposure.dominated.sum()),
        information_loss=loss_of_fields(pairs_of(run.kept.columns, columns, numeric)) if numeric else float("nan"),
        candidates=tuple(_candidate_result(trial) for trial in masked.trials),
        solved=tuple(
            SolvedResult(one.variable, run.job.rulebook.checks[one.check].id, one.disjunct, one.atom)
            for one in block.solved
        ),
        cut=None if masked.grouping.cut is None else CutResult.of(masked.grouping.cut, masked.grouping.spread),
    )


def _equalities(run: Run, variable: str, block: Block) -> list[Atom]:
    """The equalities that give a variable of a block, where it is solved."""
    forms = {edit.check.index: form_of(edit.constraint) for edit in run.job.edits}
    return [forms[one.check][one.disjunct][one.atom] for one in block.solved if one.variable == variable]


def _draw_result(run: Run, perturbed: Perturbed, columns: Mapping[str, Column]) -> DrawResult:
    """What the method drew beside what is written, in the order of the original."""
    confidential = run.plan.by_role(Role.CONFIDENTIAL)
    same = np.logical_and.reduce([same_cells(run.kept.columns[name], columns[name]) for name in confidential])
    drawn = {name for one in perturbed.blocks for name in one.block.variables}
    grouped = [run.kept.columns[name].present for name in confidential if name not in drawn]
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
                perturbed.beyond.values(),
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


def in_groups(blocks: Sequence[BlockResult], draw: DrawResult | None) -> bool:
    """Whether anything was masked by groups of records."""
    return any(not block.drawn for block in blocks) or (draw is not None and draw.smallest is not None)


def smallest_group(blocks: Sequence[BlockResult], draw: DrawResult | None, records: int) -> int:
    """Records of the smallest group: of those that share their values, and of those for which values were drawn.

    Where there are no groups at all, the smallest number of records that share values of a block; without a block,
    all.
    """
    sizes = [block.min_group for block in blocks if not block.drawn]
    if draw is not None and draw.smallest is not None:
        sizes.append(draw.smallest)
    return min(sizes or [records, *(block.min_group for block in blocks)])


def _correlation_result(worst: Correlations | None, names: Sequence[str]) -> CorrelationResult | None:
    if worst is None:
        return None
    return CorrelationResult((names[worst.first], names[worst.second]), worst.original, worst.drawn, worst.written)


def _candidate_result(trial: Trial) -> CandidateResult:
    loss, copied = trial.information_loss, trial.copied_share
    return CandidateResult(
        aggregator=trial.aggregator,
        information_loss=float("nan") if loss is None else loss,
        copied_share=float("nan") if copied is None else copied,
        verdict=trial.verdict,
        solved=trial.solved,
    )
