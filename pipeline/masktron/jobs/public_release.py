"""What may be told to whoever gets a masked file: from public parts, and from coarse figures of the original."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from masktron.addresses import is_address, parse_address
from masktron.classify import Edit, classify
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import form_of
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.errors import UsageError
from masktron.files import file_hash
from masktron.jobs.job import classified
from masktron.jobs.lowering.level_files import LevelFile
from masktron.jobs.public_figures import PublicFigures
from masktron.measures.assessed import Assessed
from masktron.report.verdict import public_protection
from masktron.report.wording import rule_text
from masktron.results import shown
from masktron.results.kept_manifest import (
    Contract,
    KeptManifest,
    KeptResult,
    MaskedBlock,
    Nested,
    PlannedField,
    Treated,
)
from masktron.results.public_release import (
    FEW_LEFT_OUT,
    PUBLIC_LEAST_RECORDS,
    SUMMED,
    PublicClass,
    PublicEngine,
    PublicFate,
    PublicField,
    PublicLevel,
    PublicRelease,
    PublicRule,
    PublicStatus,
)
from masktron.rulebook.schema import Rulebook
from masktron.sources.source import Source
from masktron.step_kinds import SharedKeys

type FieldOf = Callable[[PlannedField, tuple[int, MaskedBlock] | None, PublicFigures], PublicField]
"""Given a field of the plan, its block with its number, and figures, returns what may be told of it."""


def with_levels(
    release: PublicRelease,
    manifest: KeptManifest,
    levels: Sequence[LevelFile],
    rules: Sequence[str],
    field_of: FieldOf,
    own_checksum: str,
    where: str,
) -> PublicRelease:
    """Return what may be told of a nested release, given what is told of its wide records.

    Parameters
    ----------
    release : PublicRelease
        With fields of wide records, which are replaced.
    manifest : KeptManifest
    levels : sequence of LevelFile
        Both files by level; empty where they are not at hand.
    rules : sequence of str
        Ids of the rules as they are written.
    field_of : callable
    own_checksum : str
        Of several tables, that of the top level; empty where it is not known.
    where : str
        The manifest, for errors.

    Raises
    ------
    UsageError
        The manifest is none, or one of an earlier version, which does not say what fields the levels have.
    """
    nested = manifest.nested
    if nested is None or not nested.fields:
        raise UsageError.of("manifest-too-old", where, what="which fields the levels have")
    known = nested.fields
    plan = {fact.name: fact for fact in manifest.plan.fields}
    blocks = _blocks(manifest)
    figures = {one.level: PublicFigures.of_level(one) for one in levels}
    nothing = PublicFigures.of_records(None, whole=False)
    sums = {(one.level, one.field): one.rule for one in nested.sums}
    weights = {(one.level, one.field) for one in nested.weights}
    gone = {(one.level, name) for one in nested.removed for name in one.fields}
    top = known[0].level.partition("/")[0]
    numbered = [one.name for one in known if one.numbered]
    fields: list[PublicField] = []
    removed: list[str] = []
    for one in known:
        name, level = one.name, one.level
        facts = [plan[wide] for wide in one.wide if wide in plan]
        place = level.partition("/")[2], name.rpartition("/")[2]
        if name in numbered:
            continue
        if place in gone or any(fact.role == "identifier" for fact in facts):
            removed.append(name)
        elif place in sums:
            fields.append(PublicField(name, masked=True, number=True, level=level, how=SUMMED, solved_by=sums[place]))
        else:
            of_level = figures.get(level, nothing)
            own = [field_of(replace(fact, name=name), blocks.get(fact.name), of_level) for fact in facts]
            at_each = [
                replace(told, solved_by=_written(_solved(blocks, fact), rules))
                for fact, told in zip(facts, own, strict=True)
            ]
            weight = place in weights
            fields.append(replace(_together(at_each, name), level=level, weight=weight))
    return replace(
        release,
        fields=tuple(fields),
        removed=tuple(removed),
        levels=tuple(_levels(manifest, nested)),
        protected="/".join(filter(None, (top, nested.protect))),
        numbered=tuple(numbered),
        rare_left_out=release.left_out > 0 and manifest.config.rare_units == "exclude",
        own_checksum=own_checksum if manifest.output.tables else "",
    )


def _solved(blocks: Mapping[str, tuple[int, MaskedBlock]], fact: PlannedField) -> str:
    """Return the rule of wide records from which a wide field follows in each record; empty for none."""
    name = fact.name
    solved = blocks[name][1].solved if name in blocks else ()
    return next((one.rule for one in solved if one.field == name), "")


def _written(rule: str, rules: Iterable[str]) -> str:
    """Return the id of a rule as it is written, given one of wide records: ``total`` for ``total:Person.2``."""
    found = [own for own in rules if rule == own or rule.startswith(f"{own}:")]
    return max(found, key=len, default=rule)


def _together(places: Sequence[PublicField], name: str) -> PublicField:
    """Return what is told of a field, given what is told of it at each position; figures are of all of them."""
    if not places:
        return PublicField(name, masked=False, number=False)
    first = places[0]
    if not first.masked:
        return first
    numbers = sorted({one.block for one in places if one.block is not None})
    solved = [one.solved_by for one in places if one.solved_by]
    return replace(
        first,
        block=numbers[0],
        more_blocks=tuple(numbers[1:]),
        how=", ".join(dict.fromkeys(one.how for one in places)),
        solved_by=solved[0] if solved else "",
        solved_everywhere=len(solved) == len(places) or not solved,
        keeps_mean=all(one.keeps_mean for one in places) and not solved,
    )


def _levels(manifest: KeptManifest, nested: Nested) -> Iterable[PublicLevel]:
    known = {one.level: one for one in manifest.result.levels}
    named = [one.level for one in nested.fields]
    top = named[0].partition("/")[0]
    orders = {"/".join((top, one.level)): tuple(key.field for key in one.by) for one in nested.member_order}
    for level in dict.fromkeys(named):
        table = manifest.output.tables.get(level.rpartition("/")[2])
        own = known.get(level)
        yield PublicLevel(
            level,
            None if own is None else own.records,
            "" if own is None else own.weight,
            orders.get(level, ()),
            "" if table is None else name_of_file(table.path),
            "" if table is None else table.sha256,
        )


def name_of_file(path: str) -> str:
    """Return the name of a file without folders, and that of a table without its server."""
    if is_address(path):
        return parse_address(path).table or "a query"
    return path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFiles:
    """A masked file beside its original.

    Attributes
    ----------
    files : Assessed
        The records that were masked: of a nested file each with all its members.
    released : Source
        The masked file as it is: a nested one with its levels.
    levels : tuple of LevelFile
        Of a nested file, level by level.
    """

    files: Assessed
    released: Source
    levels: tuple[LevelFile, ...] = ()


def public_release(
    manifest: KeptManifest, rulebook: Rulebook, compared: ComparedFiles | None, where: str = ""
) -> PublicRelease:
    """Build the model of the public edition.

    Of the manifest only what is public by itself is read: names and kinds of fields, blocks and aggregators, which
    follow from rulebook, settings and the released file; of the original nothing but coarse figures, and these only
    where enough records and groups decide about them.

    Parameters
    ----------
    manifest : KeptManifest
    rulebook : Rulebook
        The one of the run.
    compared : ComparedFiles or None
        Both files; without the original no figure of it is told.
    where : str
        The manifest, for errors.

    Raises
    ------
    UsageError
        The manifest is none, or does not go with the rulebook.
    """
    result, plan, config = manifest.result, manifest.plan, manifest.config
    declared = manifest.declared
    whole = config.grouping == "all"
    nested = manifest.nested is not None
    figures = PublicFigures.of_records(None if compared is None or nested else compared.files, whole=whole)
    blocks = _blocks(manifest)
    edits = _classified(rulebook, compared, nested=nested)
    release = PublicRelease(
        name=name_of_file(manifest.output.path),
        checksum=manifest.output.sha256,
        rules_checksum=manifest.rulebook.sha256,
        rulebook=name_of_file(shown(rulebook.path)),
        records=result.records_out,
        method=result.method,
        contract=declared.contract.kind,
        promise=result.promise,
        k=result.k,
        whole_records=whole,
        random_order=isinstance(manifest.order, list),
        left_out=(gone := result.records_in - result.records_out),
        missing_weight=f"{result.missing_weight:.1f}"
        if any(fact.role == "weight" for fact in plan.fields)
        and gone >= FEW_LEFT_OUT
        and not math.isnan(result.missing_weight)
        else "",
        fields=tuple(
            _field(fact, blocks.get(fact.name), figures) for fact in plan.fields if fact.role != "identifier"
        ),
        moved_totals=_of_concern("moved-total", manifest),
        unexplained=_of_concern("unexplained", manifest),
        removed=tuple(fact.name for fact in plan.fields if fact.role == "identifier"),
        rules=tuple(_rules(result, edits, nested=nested)),
        engines=tuple(PublicEngine(one.engine, one.rules, one.records) for one in result.engines),
        versions={name: str(version) for name, version in manifest.versions.items()},
        protection=public_protection(result.verdict),
        compared=compared is not None,
        takes_over=not config.keep_missing,
        written_as={} if compared is None else compared.released.reading_options,
        fates=tuple(PublicFate(one.rule, one.fate, one.after) for one in result.fates),
    )
    if nested:
        levels = () if compared is None else compared.levels
        own = "" if compared is None or not compared.released.path.is_file() else file_hash(compared.released.path)
        release = with_levels(release, manifest, levels, [edit.check.id for edit in edits], _field, own, where)
    return _with_treatments(release, manifest)


def _with_treatments(release: PublicRelease, manifest: KeptManifest) -> PublicRelease:
    """Say of each field what steps did to it before others were masked; of a nested file, of those of the levels."""
    treatments = manifest.result.treatments
    recoded = {one.field: one.how for one in treatments if one.kind == "recoding"}
    spread = {one.field: tuple(one.within) for one in manifest.treatments if one.kind == "reweighting"}
    suppressed = {one.field for one in treatments if one.kind == "suppression"}
    changed = {name for one in treatments if one.kind != "suppression" for name in one.field.split(", ")}
    classes, untrue = public_classes(manifest.treatments), _untrue(manifest)
    records = {one.name: one.records for one in release.levels} | {"": release.records}

    def told(one: PublicField) -> PublicField:
        gone = one.name in suppressed and not one.weight
        return replace(
            one,
            reweighted=spread.get(one.name, ()),
            recoded=recoded.get(one.name, ""),
            classes=classes.get(one.name, ()),
            suppressed=gone,
            missing=_lacking(one.name, manifest, records.get(one.level)) if gone else one.missing,
            untrue=untrue.get(one.name, ""),
            treated=gone or one.name in changed,
        )

    level_of = {one.name: one.level for one in release.fields}
    shared: list[str] = []
    for one in _suppressions(manifest):
        says = _shared(one.contract)
        level = max((level_of.get(name, "") for name in one.fields), key=len)
        of = f"Of the records of {level.rpartition('/')[2]}: " if level else ""
        shared.append(f"{of}{says}." if of else f"{says[:1].upper()}{says[1:]}.")
    return replace(release, fields=tuple(map(told, release.fields)), shared_keys=" ".join(shared))


def _blocks(manifest: KeptManifest) -> dict[str, tuple[int, MaskedBlock]]:
    """Return the block in which each field was masked, with its number; of a nested file, each wide field."""
    as_masked = manifest.result.blocks if manifest.nested is None else manifest.nested.blocks
    return {name: (at, block) for at, block in enumerate(as_masked, start=1) for name in block.variables}


def _classified(rulebook: Rulebook, compared: ComparedFiles | None, *, nested: bool) -> tuple[Edit, ...]:
    """Bring the rules to their normal forms; those on nested records only where the levels are at hand."""
    if not nested or compared is None:
        return classify(rulebook)
    return classified(rulebook, compared.released)


def _of_concern(kind: str, manifest: KeptManifest) -> tuple[str, ...]:
    """Name the masked fields of which a concern of some kind was raised, in files large enough to tell of it."""
    result = manifest.result
    if result.records_out < PUBLIC_LEAST_RECORDS:
        return ()
    masked = {name for block in result.blocks for name in block.variables}
    found = (one.field for one in result.concerns if one.kind == kind)
    return tuple(name for name in found if name in masked)


def _suppressions(manifest: KeptManifest) -> list[Treated]:
    return [one for one in manifest.treatments if one.kind == "suppression"]


def _shared(contract: Contract) -> str:
    """Say what holds of the keys as they are written."""
    return SharedKeys(contract.k, contract.subsets, contract.missing_matches).says


def _lacking(name: str, manifest: KeptManifest, records: int | None) -> int | None:
    """Return how many values of a suppressed key are missing in the released file, which whoever has it can count.

    How many of them were missing before is told to nobody.
    """
    for one in _suppressions(manifest):
        if records is not None and name in one.cells:
            gone, there = one.cells[name]
            return records - there + gone
    return None


def _untrue(manifest: KeptManifest) -> dict[str, str]:
    """Say of each field that was drawn anew or swapped what settings say of it; of a matrix, that there is one."""
    found: dict[str, str] = {}
    for one in manifest.treatments:
        if one.kind == "pram":
            change = one.change
            units = "households" if one.household is not None else "records"
            how = "a matrix" if math.isnan(change) else f"{100 * change:g} % of the {units} expected to change"
            found |= dict.fromkeys(one.fields, f"drawn anew by known probabilities, {how}")
        elif one.kind == "swapping":
            how = "exchanged in pairs by records that are rare in their region, and maybe by others"
            found |= dict.fromkeys(one.regions, how)
    return found


def _field(fact: PlannedField, block: tuple[int, MaskedBlock] | None, figures: PublicFigures) -> PublicField:
    name, number = fact.name, fact.numeric
    if block is None:
        weight = fact.role == "weight"
        missing, codes = figures.missing(name), figures.codes(name)
        return PublicField(name, masked=False, number=number, weight=weight, missing=missing, codes=codes)
    at, own = block
    solved = {one.field: one.rule for one in own.solved}
    return PublicField(
        name,
        masked=True,
        number=number,
        block=at,
        how=own.aggregator,
        solved_by=solved.get(name, ""),
        mean=figures.mean(name) if number else None,
        variance=figures.variance(name) if number else None,
        correlations=figures.correlations(name) if number else None,
        shares=None if number else figures.shares(name),
        missing=figures.missing(name),
        codes=figures.codes(name),
        below_zero=figures.below_zero(name) if number else 0,
        keeps_mean=number and own.aggregator == "mean" and name not in solved and figures.keeps_mean(name),
    )


def _rules(result: KeptResult, edits: Sequence[Edit], *, nested: bool) -> list[PublicRule]:
    judged = {rule.id: rule for rule in result.rules}
    let_go = result.allowed
    gone = result.not_applicable
    found = []
    for edit in edits:
        name = edit.check.id
        status: PublicStatus = "holds"
        if name in let_go:
            status = "let go"
        elif name in gone:
            status = "not applicable"
        elif name not in judged or judged[name].untested is not None:
            status = "not tested"
        # what a nested file's rule says in mathematics takes its levels, which the file has, and the run has seen
        kind = judged[name].kind if nested and name in judged else edit.name
        form = "" if nested and kind != edit.name else _form(edit)
        found.append(PublicRule(name, kind, form, rule_text(edit.check), edit.check.soft, status))
    return found


def _form(edit: Edit) -> str:
    if edit.said:
        return edit.said
    match edit.constraint:
        case OpaqueEdit():
            return ""
        case CrossRecordEdit():
            return render_cross_record(edit.constraint)
        case _:
            return render_form(form_of(edit.constraint))


_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")


def public_classes(treatments: Iterable[Treated]) -> dict[str, tuple[PublicClass, ...]]:
    """Return the classes of each field that was recoded by a hierarchy, from a manifest.

    They are those of the whole hierarchy at the level of the release: whether a record had a value, and how many had,
    plays no part. A hierarchy of whole numbers may begin and end with the least and greatest value of the original,
    and so its outer classes are told as open. Of other numbers the values may be those of records, and are not told.

    Parameters
    ----------
    treatments : iterable of Treated
    """
    listed = (one for one in treatments if one.to == "listed")
    found = {one.field: _classes({value: str(label) for value, label in one.labels.items()}) for one in listed}
    return {field: classes for field, classes in found.items() if classes}


def _classes(labels: Mapping[str, str]) -> tuple[PublicClass, ...]:
    values: dict[str, list[str]] = {}
    for value, label in labels.items():
        values.setdefault(label, []).append(value)
    if all(held == [label] for label, held in values.items()):
        return ()
    if all(map(_WHOLE.fullmatch, labels)):
        return _in_runs(labels)
    if all(map(_NUMBER.fullmatch, labels)):
        return ()
    return tuple(PublicClass(label, ", ".join(held)) for label, held in values.items())


def _in_runs(labels: Mapping[str, str]) -> tuple[PublicClass, ...]:
    """Return classes of whole numbers, each as runs; the first and the last number are not told."""
    ordered = sorted(labels, key=int)
    runs = [(label, list(own)) for label, own in groupby(ordered, key=labels.__getitem__)]
    told: dict[str, list[str]] = {}
    for at, (label, own) in enumerate(runs):
        told.setdefault(label, []).append(_run(own, first=at == 0, last=at == len(runs) - 1))
    return tuple(PublicClass(label, ", ".join(own)) for label, own in told.items())


def _run(values: Sequence[str], *, first: bool, last: bool) -> str:
    if first and last:
        return "all values"
    if first:
        return f"up to {values[-1]}"
    if last:
        return f"{values[0]} or more"
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
