"""What somebody has to look at before a masked file is published, although it keeps every rule."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.codes import Suspects
from masktron.config import Role
from masktron.contracts import MarkedReplaced
from masktron.counts import counted
from masktron.figures import figure_of
from masktron.jobs.given_away import read_off_concerns
from masktron.jobs.ordering import WRITTEN
from masktron.jobs.run import Run
from masktron.kernels.distinct import alike
from masktron.masking import Masked
from masktron.measures.achieved_k import achieved_k
from masktron.measures.assessed import Assessed
from masktron.measures.unchanged import same_cells, unchanged
from masktron.measures.weighted_totals import WeightedTotal, totals_of_fields
from masktron.problems.problem import Field, Note, Sentence
from masktron.proposals.candidate import FieldPaths, known_number
from masktron.results import ConcernResult, MissingRule
from masktron.results.verdict import ConcernKind
from masktron.sources.column import Column, Status
from masktron.step_kinds import Treatment, suppressed_in

MUCH_EMPTIED = Fraction(1, 5)
"""Share of the values of a key from which more that suppression leaves out is told."""
NEARLY_ALL = 0.9
"""Share of the records that a field tells from all others, from which it stands for their names."""
MOVED_TOTAL = 4.0
"""Per cent by which a total may move before it counts as a concern, eight times the usual."""
EXPLAINED = 1.0
"""Per cent of the variance of a number that a field has to explain before masking, a small effect by Cohen (1988)."""
BY_CHANCE = 0.001
"""Probability of that by chance below which it counts, so that hundreds of pairs of fields hardly raise a concern."""
_NAMED = 3
"""Fields that a concern names."""
_NO_ID = re.compile(r"[^\w.-]")


def concerns_of(run: Run, made: Masked, written: Mapping[str, Column], files: Assessed) -> tuple[ConcernResult, ...]:
    """Look for values below 0, missing values that are filled, moved totals, fields that identify and others.

    Parameters
    ----------
    run : Run
    made : Masked
    written : mapping of str to Column
        The released records as they were read back, in the order of the original.
    files : Assessed
        The same records before and after.
    """
    emptied = emptied_keys(run.account.treatments)
    found = (
        *likely_concerns(run.likely, len(run.kept)),
        *_below_zero(run, written),
        *_missing_otherwise(run, made, written),
        *_identifying(run, written),
        *_unchanged(run, made, written),
        *_within_units(run, made, written),
        *emptied,
        *read_off_concerns(files.keys),
        *_moved_totals(run, made, files),
        *_unexplained(run, files),
    )
    called = run.names
    return tuple(
        replace(one, field=called.shown(one.field), says=called.sentence(one.says), hint=called.sentence(one.hint))
        for one in found
    )


def likely_concerns(likely: Suspects, records: int) -> Iterator[ConcernResult]:
    """Yield the fields that may name respondents or be weights, and what says that they are.

    Parameters
    ----------
    likely : Suspects
    records : int
        How many are masked.
    """
    for one in sorted(likely.named, key=lambda one: not one.categories):
        kind: ConcernKind = "likely-name" if one.categories else "likely-role"
        yield ConcernResult(kind, one.name, records, records, one.says, one.hint)
    for name, count, held in likely.nominal:
        says = Note(
            "{field} is masked as categories and has {count:,} different values in {held:,} records: the masked file "
            "shows values of the original that may name respondents",
            field=Field(name),
            count=count,
            held=held,
        )
        hint = Note("leave it out with [[--role {field}=identifier]]", field=Field(name))
        yield ConcernResult("likely-name", name, count, records, says, hint)


def likely_notes(likely: Suspects) -> Iterator[Sentence]:
    """Say the same of a file that is not masked yet."""
    for one in likely_concerns(likely, 0):
        yield Note("{says}: {hint}", says=one.says, hint=one.hint)


def candidate_concerns(
    run: Run, made: Masked, written: Mapping[str, Column], files: Assessed
) -> tuple[Sentence, ...]:
    """Say what speaks against a candidate of `tune`: the concerns of `mask`, and records that stay unique.

    Parameters
    ----------
    run : Run
    made : Masked
    written : mapping of str to Column
        The masked fields as they would be written, in the order of the original.
    files : Assessed
        The same records before and after.

    Returns
    -------
    tuple of str
        A sentence each.
    """
    # what draws values promises no groups
    alone = made.perturbed is None and bool(files.codes) and achieved_k(list(files.codes.values())) == 1
    return (
        *(one.says for one in concerns_of(run, made, {**run.kept.columns, **written}, files)),
        *(
            [f"k = {run.config.k} holds block by block only: in all masked fields, a record is unique"]
            if alone
            else []
        ),
    )


def _moved_totals(run: Run, made: Masked, files: Assessed) -> Iterator[ConcernResult]:
    """Yield the fields whose totals moved, with the groups whose averages the rules refused."""
    totals = dict(zip(files.numeric, files.totals, strict=True))
    records = len(run.kept)
    kept = totals
    if not run.original.originals.keep.all():
        kept = dict(zip(files.numeric, totals_of_fields(files.pairs), strict=True))
    moved = []
    for field, own in run.names.by_level(totals).items():
        change = WeightedTotal.of_parts([totals[one] for one in own]).change
        if not abs(change) <= MOVED_TOTAL:  # NaN, where nothing became something, has moved
            moved.append((change, field, own))
    for change, field, own in sorted(moved, key=lambda one: -abs(one[0]) if not math.isnan(one[0]) else -math.inf):
        by_masking = WeightedTotal.of_parts([kept[one] for one in own]).change
        left_out = abs(by_masking) <= MOVED_TOTAL
        groups, refused = (0, 0) if left_out else _refused_averages(made, files, own)
        why = (
            f": in {refused:,} of {counted(groups, 'group')}, the rules refuse the average, and the nearest values "
            "that they allow are written"
        )
        remedy = "masktron tune compares methods and k"
        if left_out:
            why = f", and by {by_masking:+.1f} % in the records that were kept"
            remedy = "look at the values of the records that were left out"
        elif refused:
            remedy = "mask the unmasked fields that these rules read as well, or lower k"
        yield ConcernResult(
            "moved-total",
            field,
            records,
            records,
            Note(
                "the total of {field} moves by {change:+.1f} %{why}",
                field=Field(field),
                change=change,
                why=why if refused or left_out else "",
            ),
            remedy,
        )


def _refused_averages(made: Masked, files: Assessed, names: Collection[str]) -> tuple[int, int]:
    """Count the groups of some fields, and those whose sum moved since they were projected on what rules allow."""
    groups = refused = 0
    weights = 1.0 if files.weights is None else files.weights
    for own in made.blocks:
        inside = [name for name in names if name in own.block.variables]
        if own.block.drawn or not inside:
            continue
        before, after = (
            np.bincount(own.grouping.labels, weights * np.nansum(side, axis=0), own.grouping.groups)
            for side in zip(*map(files.pair, inside), strict=True)
        )
        moved = np.abs(after - before) > MOVED_TOTAL / 100 * np.abs(before)
        groups += own.grouping.groups
        refused += int((moved & own.settled.left_by("projected")).sum())
    return groups, refused


def _unexplained(run: Run, files: Assessed) -> Iterator[ConcernResult]:
    """Yield numbers of whose variance a field explains less than half as much as before."""
    figure = figure_of("eta_squared_change")
    if len(run.kept) > figure.unasked and figure.name not in run.config.limits:
        return
    lost: dict[str, list[tuple[float, float, str, str]]] = {}
    for (name, by), (before, after) in files.explained.items():
        now = 0.0 if math.isnan(after.share) else after.share
        if before.share >= EXPLAINED and before.p_value < BY_CHANCE and now < before.share / 2:
            lost.setdefault(run.names.name(name), []).append((before.share, now, name, by))
    for field, found in sorted(lost.items(), key=lambda one: max(one[1]), reverse=True):
        most = max(found)
        some = sorted((one for one in found if one[2] == most[2]), reverse=True)
        others = f", and {counted(len(some) - _NAMED, 'other field')} less" if len(some) > _NAMED else ""
        told = "{by} explained {own:.1f} % and explains {now:.1f} %"
        shares = [Note(told, by=Field(by), own=own, now=now) for own, now, _, by in some[:_NAMED]]
        yield ConcernResult(
            "unexplained",
            field,
            len(run.kept),
            len(run.kept),
            Note("of the variance of {field}, {shares}{others}", field=Field(most[2]), shares=shares, others=others),
            "tell users not to compare these categories, or compare methods with masktron tune",
        )


def emptied_keys(treatments: Iterable[Treatment]) -> Iterator[ConcernResult]:
    """Yield the fields of which suppression has left out more than a fifth of the values.

    Parameters
    ----------
    treatments : iterable of Treatment
    """
    for treatment in suppressed_in(treatments):
        for name, (gone, there) in treatment.cells.items():
            if gone > MUCH_EMPTIED * there:
                yield ConcernResult(
                    "emptied-key",
                    name,
                    gone,
                    there,
                    Note(
                        "suppression leaves out {share:.0f} % of the values of {field}, and those that stay are no "
                        "random sample",
                        share=100 * gone / there,
                        field=Field(name),
                    ),
                    Note(
                        "write it in coarser classes ([[--recode {field}=...]]; `masktron recode` finds "
                        "them), or let other keys be left out instead: importance of {field} above 1 under [keys]",
                        field=Field(name),
                    ),
                )


def _below_zero(run: Run, written: Mapping[str, Column]) -> Iterator[ConcernResult]:
    """Numbers below 0 where no original one is: nobody wrote the rule that holds of itself."""
    paths = FieldPaths(run.source.layout)
    for fact in run.plan.fields:
        if fact.role is not Role.CONFIDENTIAL or not fact.numeric:
            continue
        name, original = fact.name, run.kept.columns[fact.name]
        below = int((written[name].present & (written[name].values < 0)).sum())
        if not below or (original.present & (original.values < 0)).any():
            continue
        yield ConcernResult(
            "below-zero",
            name,
            below,
            len(run.kept),
            Note("{field} is below 0 in {below:record}, and in none of the original", field=Field(name), below=below),
            f"where it cannot be, a rule keeps it from that: {paths[name]} >= 0",
            _not_negative(run, paths, name),
        )


def _not_negative(run: Run, paths: FieldPaths, name: str) -> MissingRule:
    """The rule that a field is not negative where it holds a number that is no code for a missing one."""
    path = paths[name]
    codes = run.config.missing.get(name, frozenset()) | run.config.missing.get("*", frozenset())
    gaps = not run.kept.columns[name].present.all()
    guards = [f"[{guard}]" for guard in known_number(path, codes, gaps=gaps)]
    return MissingRule(
        f"not-negative-{_NO_ID.sub('', name)}",
        f"{paths.record}{''.join(guards)}",
        f"{path} >= 0",
        f"{name} {{{path}}} is negative.",
        dict(paths.namespaces),
    )


def _missing_otherwise(run: Run, made: Masked, written: Mapping[str, Column]) -> Iterator[ConcernResult]:
    """Missing values that are filled, or have another code, and values that are missing now.

    A rare pattern of missing values takes over another one, with its codes.
    """
    filled, gone, other = Counter[str](), Counter[str](), Counter[str]()
    for name in run.plan.by_role(Role.CONFIDENTIAL):
        own, new, shown = run.kept.columns[name], written[name], run.names.name(name)
        before, after = own.present, new.present
        gone[shown] += int((before & ~after).sum())
        filled[shown] += int((after & ~before).sum())
        coded = (own.status == Status.CODE) | (new.status == Status.CODE)
        other[shown] += int((~before & ~after & coded & ~own.same_texts(new)).sum())
    parts = [
        Note(f"{counted(sum(many.values()), what)} {how} ({{fields}}{{others}})", **_most(many))
        for many, what, how in (
            (+filled, "missing value", "got a value"),
            (+other, "missing value", "got another code"),
            (+gone, "value", "came out as missing"),
        )
        if many
    ]
    if not parts:
        return
    drawn = any(own.block.drawn for own in made.blocks)
    rare = f", since fewer than {run.config.k} records of a block miss the same values"
    why = "" if drawn else rare
    yield ConcernResult(
        "missing-otherwise",
        "",
        sum(filled.values()) + sum(other.values()) + sum(gone.values()),
        len(run.kept),
        Note("{parts:and}{why}", parts=parts, why=why),
        "the method draws which values are missing; other methods keep that"
        if drawn
        else Note("[[--keep-missing]] refuses that, and a smaller k can avoid it"),
    )


def _most(many: Mapping[str, int]) -> dict[str, object]:
    """Name the fields with the most, with their numbers, and count the others."""
    most = sorted(many, key=lambda name: -many[name])
    others = f", {counted(len(most) - _NAMED, 'other field')}" if len(most) > _NAMED else ""
    named = [Note("{field} {count:,}", field=Field(name), count=many[name]) for name in most[:_NAMED]]
    return {"fields": named, "others": others}


def _identifying(run: Run, written: Mapping[str, Column]) -> Iterator[ConcernResult]:
    """Fields that are written as they were and differ in nearly every record."""
    records = len(run.kept)
    for fact in run.plan.fields:
        if fact.role not in WRITTEN:
            continue
        alone = _alone(written[fact.name])
        if records < 2 or alone < NEARLY_ALL * records:
            continue
        many = "every record" if alone == records else f"{alone:,} of {counted(records, 'record')}"
        weight = fact.role is Role.WEIGHT
        how = "can be computed from the new one" if weight and run.config.reweight else "is written as it was"
        yield ConcernResult(
            "identifying-weight" if weight else "identifying-field",
            fact.name,
            alone,
            records,
            Note(
                "{weight}{field} {how} and tells {many} from all others: whoever has it in another file finds the "
                "respondent",
                weight="the weight " if weight else "",
                field=Field(fact.name),
                how=how,
                many=many,
            ),
            Note(
                "{round}remove it where nobody needs it: [[--role {field}=identifier]]",
                round="round it before masking, or " if weight else "",
                field=Field(fact.name),
            ),
        )


def _alone(column: Column) -> int:
    """How many records have a value that no other one has."""
    present = column.taken(column.present)
    return int((np.bincount(present.numbered()) == 1).sum()) if len(present) else 0


def _unchanged(run: Run, made: Masked, written: Mapping[str, Column]) -> Iterator[ConcernResult]:
    """Records whose masked fields are all as they were, and that fewer than k records of the original are like."""
    names = run.plan.by_role(Role.CONFIDENTIAL)
    held = np.logical_or.reduce([run.kept.columns[name].present for name in names])
    same = held & np.logical_and.reduce([same_cells(run.kept.columns[name], written[name]) for name in names])
    if isinstance(run.method.contract, MarkedReplaced) and made.perturbed is not None:
        same &= made.perturbed.touched  # of the others, the contract says that they stay
    if not same.any():
        return
    records = len(run.kept)
    groups: NDArray[np.intp] = alike((run.kept.columns[name].numbered() for name in names), records)[0]
    rare = int((same & (np.bincount(groups)[groups] < run.config.k)).sum())
    if rare:
        yield ConcernResult(
            "unchanged-records",
            "",
            rare,
            records,
            f"{counted(rare, 'record')} came out as {'it' if rare == 1 else 'they'} went in, in all masked fields, "
            f"and fewer than {run.config.k} records of the original are like {'it' if rare == 1 else 'them'}",
            _less_unchanged(run, names, written),
        )


def _less_unchanged(run: Run, names: Sequence[str], written: Mapping[str, Column]) -> Sentence:
    """Name another method, and a limit that these values do not meet, where there is a whole number for it."""
    shares = [unchanged(run.kept.columns[name], written[name]) for name in names]
    limit = int(np.nanmean(shares)) // 2
    if not limit:
        return "a larger k or another method may prevent it"
    return Note(
        "a larger k, another method or a limit, such as [[--limit unchanged={limit}]], may prevent it", limit=limit
    )


def _within_units(run: Run, made: Masked, written: Mapping[str, Column]) -> Iterator[ConcernResult]:
    """Members, protected alone, that are alike others of their own unit only."""
    source = run.back.members_alone
    if source is None:
        return
    solved = {one.variable for masked in made.blocks for one in masked.block.solved}
    shared = [
        [name for name in own.block.variables if name not in solved] for own in made.blocks if not own.block.drawn
    ]
    blocks = [alike((written[name].numbered() for name in names), len(run.kept))[0] for names in shared if names]
    if run.config.grouping == "all" and blocks:
        blocks = [alike((written[name].numbered() for names in shared for name in names), len(run.kept))[0]]
    names = source.record_level[-1], source.levels.top.name
    yield from groups_within_units(blocks, source.units[run.original.originals.keep], names)


def units_behind(groups: NDArray[np.intp], units: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which records share their group with records of their own unit alone, or but for one record.

    Parameters
    ----------
    groups, units : ndarray of intp, shape (n,)
        Of each record the group, and the unit in which it stands.

    Returns
    -------
    within : ndarray of bool, shape (n,)
        All records of the group, of which there are several, stand in one unit.
    but_one : ndarray of bool, shape (n,)
        All of them but one stand in one unit, and these are several: they know the value of the other one.
    """
    pairs, many = np.unique(np.stack([groups, units]), axis=1, return_counts=True)
    sizes = np.bincount(groups)
    most = np.zeros(len(sizes), dtype=np.intp)
    np.maximum.at(most, pairs[0], many)
    within, but_one = (most == sizes) & (sizes > 1), (most == sizes - 1) & (most > 1)
    return within[groups], but_one[groups]


def groups_within_units(
    blocks: Iterable[NDArray[np.intp]], units: NDArray[np.intp], names: tuple[str, str]
) -> Iterator[ConcernResult]:
    """Yield what there is to say of members that are alike others of their own unit alone.

    Parameters
    ----------
    blocks : iterable of ndarray of intp, each of shape (n,)
        Of each block the group of each member; not of blocks that a method draws record by record.
    units : ndarray of intp, shape (n,)
    names : tuple of str
        What a member and a unit are called.
    """
    within, but_one = np.zeros(len(units), dtype=np.bool_), np.zeros(len(units), dtype=np.bool_)
    for groups in blocks:
        inside, nearly = units_behind(groups, units)
        within |= inside
        but_one |= nearly
    but_one &= ~within
    member, unit = names
    told = []
    if alone := int(within.sum()):
        told.append(
            f"{alone:,} of them are alike others of the same {unit} only, so that what is published is made of that "
            f"{unit} alone"
        )
    if left := int(but_one.sum()):
        told.append(
            f"{left:,} stand in groups of which all but one are of the same {unit}, and who knows these computes the "
            "values of the one from a mean"
        )
    if told:
        yield ConcernResult(
            "within-unit",
            "",
            alone + left,
            len(units),
            f"of {counted(len(units), member)}, {'; '.join(told)}",
            Note("protect {unit} (without [[--protect]]), or take a larger k", unit=unit),
        )
