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
from masktron.report.pages.plain_reader import PlainData
from masktron.report.verdict import public_protection
from masktron.report.wording import rule_text
from masktron.results import shown
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
from masktron.write.treatments import SharedKeys

type FieldOf = Callable[[PlainData, tuple[int, PlainData] | None, PublicFigures], PublicField]
"""Given a field of the plan, its block with its number, and figures, returns what may be told of it."""


def with_levels(
    release: PublicRelease,
    manifest: PlainData,
    levels: Sequence[LevelFile],
    rules: Sequence[str],
    field_of: FieldOf,
    own_checksum: str,
) -> PublicRelease:
    """Return what may be told of a nested release, given what is told of its wide records.

    Parameters
    ----------
    release : PublicRelease
        With fields of wide records, which are replaced.
    manifest : PlainData
    levels : sequence of LevelFile
        Both files by level; empty where they are not at hand.
    rules : sequence of str
        Ids of the rules as they are written.
    field_of : callable
    own_checksum : str
        Of several tables, that of the top level; empty where it is not known.

    Raises
    ------
    UsageError
        The manifest is none, or one of an earlier version, which does not say what fields the levels have.
    """
    nested = manifest.part("nested")
    known = nested.parts("fields") if nested.has("fields") else ()
    if not known:
        raise UsageError.of("manifest-too-old", manifest.where, what="which fields the levels have")
    plan = {fact.text("name"): fact for fact in manifest.part("plan").parts("fields")}
    blocks = _blocks(manifest)
    figures = {one.level: PublicFigures.of_level(one) for one in levels}
    nothing = PublicFigures.of_records(None, whole=False)
    sums = {(one.text("level"), one.text("field")): one.text("rule") for one in nested.parts("sums")}
    weights = {(one.text("level"), one.text("field")) for one in nested.parts("weights")}
    gone = {(one.text("level"), name) for one in nested.parts("removed") for name in one.names("fields")}
    top = known[0].text("level").partition("/")[0]
    numbered = [one.text("name") for one in known if one.has("numbered") and one.switch("numbered")]
    fields: list[PublicField] = []
    removed: list[str] = []
    for one in known:
        name, level = one.text("name"), one.text("level")
        facts = [plan[wide] for wide in one.names("wide") if wide in plan]
        place = level.partition("/")[2], name.rpartition("/")[2]
        if name in numbered:
            continue
        if place in gone or any(fact.text("role") == "identifier" for fact in facts):
            removed.append(name)
        elif place in sums:
            fields.append(PublicField(name, masked=True, number=True, level=level, how=SUMMED, solved_by=sums[place]))
        else:
            of_level = figures.get(level, nothing)
            own = [field_of(_named(fact, name), blocks.get(fact.text("name")), of_level) for fact in facts]
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
        levels=tuple(_levels(manifest, nested, [one.text("level") for one in known])),
        protected="/".join(filter(None, (top, nested.text("protect")))),
        numbered=tuple(numbered),
        rare_left_out=release.left_out > 0 and manifest.part("config").text("rare_units") == "exclude",
        own_checksum=own_checksum if manifest.part("output").has("tables") else "",
    )


def _named(fact: PlainData, name: str) -> PlainData:
    return PlainData({**fact.content, "name": name}, fact.where)


def _solved(blocks: Mapping[str, tuple[int, PlainData]], fact: PlainData) -> str:
    """Return the rule of wide records from which a wide field follows in each record; empty for none."""
    name = fact.text("name")
    solved = blocks[name][1].parts("solved") if name in blocks else ()
    return next((one.text("rule") for one in solved if one.text("field") == name), "")


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


def _levels(manifest: PlainData, nested: PlainData, named: Sequence[str]) -> Iterable[PublicLevel]:
    known = {one.text("level"): one for one in manifest.part("result").parts("levels")}
    output = manifest.part("output")
    tables = dict(output.part("tables").items()) if output.has("tables") else {}
    top = named[0].partition("/")[0]
    orders = {
        "/".join((top, one.text("level"))): tuple(key.text("field") for key in one.parts("by"))
        for one in nested.parts("member_order")
    }
    for level in dict.fromkeys(named):
        table = PlainData(tables.get(level.rpartition("/")[2], {}), manifest.where)
        own = known.get(level)
        yield PublicLevel(
            level,
            None if own is None else own.count("records"),
            "" if own is None else own.text("weight"),
            orders.get(level, ()),
            name_of_file(table.text("path")) if table.content else "",
            table.text("sha256") if table.content else "",
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


def public_release(manifest: PlainData, rulebook: Rulebook, compared: ComparedFiles | None) -> PublicRelease:
    """Build the model of the public edition.

    Of the manifest only what is public by itself is read: names and kinds of fields, blocks and aggregators, which
    follow from rulebook, settings and the released file; of the original nothing but coarse figures, and these only
    where enough records and groups decide about them.

    Parameters
    ----------
    manifest : PlainData
    rulebook : Rulebook
        The one of the run.
    compared : ComparedFiles or None
        Both files; without the original no figure of it is told.

    Raises
    ------
    UsageError
        The manifest is none, or does not go with the rulebook.
    """
    result, plan, config = manifest.part("result"), manifest.part("plan"), manifest.part("config")
    declared = manifest.part("declared")
    whole = config.text("grouping") == "all"
    nested = manifest.has("nested")
    figures = PublicFigures.of_records(None if compared is None or nested else compared.files, whole=whole)
    blocks = _blocks(manifest)
    edits = _classified(rulebook, compared, nested=nested)
    release = PublicRelease(
        name=name_of_file(manifest.part("output").text("path")),
        checksum=manifest.part("output").text("sha256"),
        rules_checksum=manifest.part(rules_part(manifest)).text("sha256"),
        rulebook=name_of_file(shown(rulebook.path)),
        records=result.count("records_out"),
        method=result.text("method"),
        contract=declared.part("contract").text("kind"),
        promise=result.text("promise"),
        k=result.count("k"),
        whole_records=whole,
        random_order=isinstance(manifest.content.get("order"), list),
        left_out=(gone := result.count("records_in") - result.count("records_out")),
        missing_weight=f"{manifest.part('result').number('missing_weight'):.1f}"
        if any(fact.text("role") == "weight" for fact in plan.parts("fields"))
        and gone >= FEW_LEFT_OUT
        and manifest.part("result").has("missing_weight")
        else "",
        fields=tuple(
            _field(fact, blocks.get(fact.text("name")), figures)
            for fact in plan.parts("fields")
            if fact.text("role") != "identifier"
        ),
        moved_totals=_of_concern("moved-total", manifest),
        unexplained=_of_concern("unexplained", manifest),
        removed=tuple(fact.text("name") for fact in plan.parts("fields") if fact.text("role") == "identifier"),
        rules=tuple(_rules(result, edits, nested=nested)),
        engines=tuple(
            PublicEngine(one.text("engine"), one.count("rules"), one.count("records"))
            for one in result.parts("engines")
        ),
        versions={name: str(version) for name, version in manifest.part("versions").items()},
        protection=public_protection(result),
        compared=compared is not None,
        takes_over=not config.switch("keep_missing"),
        written_as={} if compared is None else compared.released.reading_options,
        fates=tuple(
            PublicFate(one.text("rule"), one.text("fate"), one.text("after"))
            for one in (result.parts("fates") if result.has("fates") else ())
        ),
    )
    if nested:
        levels = () if compared is None else compared.levels
        own = "" if compared is None or not compared.released.path.is_file() else file_hash(compared.released.path)
        release = with_levels(release, manifest, levels, [edit.check.id for edit in edits], _field, own)
    return _with_treatments(release, manifest)


def _with_treatments(release: PublicRelease, manifest: PlainData) -> PublicRelease:
    """Say of each field what steps did to it before others were masked; of a nested file, of those of the levels."""
    treatments = _treatments(manifest.part("result"))
    recoded = {one.text("field"): one.text("how") for one in treatments if one.text("kind") == "recoding"}
    spread = {one.text("field"): tuple(one.names("within")) for one in _treatments(manifest) if _is_spread(one)}
    suppressed = {one.text("field") for one in treatments if one.text("kind") == "suppression"}
    changed = {
        name for one in treatments if one.text("kind") != "suppression" for name in one.text("field").split(", ")
    }
    classes, untrue = public_classes(_treatments(manifest)), _untrue(manifest)
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
        says = _shared(one.part("contract"))
        level = max((level_of.get(name, "") for name in one.names("fields")), key=len)
        of = f"Of the records of {level.rpartition('/')[2]}: " if level else ""
        shared.append(f"{of}{says}." if of else f"{says[:1].upper()}{says[1:]}.")
    return replace(release, fields=tuple(map(told, release.fields)), shared_keys=" ".join(shared))


def _blocks(manifest: PlainData) -> dict[str, tuple[int, PlainData]]:
    """Return the block in which each field was masked, with its number; of a nested file, each wide field."""
    as_masked = manifest.part("nested" if manifest.has("nested") else "result").parts("blocks")
    return {name: (at, block) for at, block in enumerate(as_masked, start=1) for name in block.names("variables")}


def _classified(rulebook: Rulebook, compared: ComparedFiles | None, *, nested: bool) -> tuple[Edit, ...]:
    """Bring the rules to their normal forms; those on nested records only where the levels are at hand."""
    if not nested or compared is None:
        return classify(rulebook)
    return classified(rulebook, compared.released)


def _treatments(told: PlainData) -> tuple[PlainData, ...]:
    """Return what was done to fields, by a manifest or a result; those of earlier versions say nothing of it."""
    return tuple(told.parts("treatments")) if told.has("treatments") else ()


def _of_concern(kind: str, manifest: PlainData) -> tuple[str, ...]:
    """Name the masked fields of which a concern of some kind was raised, in files large enough to tell of it."""
    result = manifest.part("result")
    if not result.has("concerns") or result.count("records_out") < PUBLIC_LEAST_RECORDS:
        return ()
    masked = {name for block in result.parts("blocks") for name in block.names("variables")}
    found = (one.text("field") for one in result.parts("concerns") if one.text("kind") == kind)
    return tuple(name for name in found if name in masked)


def _is_spread(treatment: PlainData) -> bool:
    """Tell whether a treatment of a manifest gave the weights of records left out to others."""
    return treatment.text("kind") == "reweighting"


def _suppressions(manifest: PlainData) -> list[PlainData]:
    return [one for one in _treatments(manifest) if one.text("kind") == "suppression"]


def _shared(contract: PlainData) -> str:
    """Say what holds of the keys as they are written."""
    return SharedKeys(
        contract.count("k"), contract.optional_count("subsets"), contract.switch("missing_matches")
    ).says


def _lacking(name: str, manifest: PlainData, records: int | None) -> int | None:
    """Return how many values of a suppressed key are missing in the released file, which whoever has it can count.

    How many of them were missing before is told to nobody.
    """
    for one in _suppressions(manifest):
        if records is not None and name in (cells := one.part("cells").content):
            gone, there = cells[name]
            return records - int(there) + int(gone)
    return None


def _untrue(manifest: PlainData) -> dict[str, str]:
    """Say of each field that was drawn anew or swapped what settings say of it; of a matrix, that there is one."""
    found: dict[str, str] = {}
    for one in _treatments(manifest):
        if one.text("kind") == "pram":
            change = one.number("change")
            units = "households" if one.has("household") else "records"
            how = "a matrix" if math.isnan(change) else f"{100 * change:g} % of the {units} expected to change"
            found |= dict.fromkeys(one.names("fields"), f"drawn anew by known probabilities, {how}")
        elif one.text("kind") == "swapping":
            how = "exchanged in pairs by records that are rare in their region, and maybe by others"
            found |= dict.fromkeys(one.names("regions"), how)
    return found


def rules_part(manifest: PlainData) -> str:
    """Return which part of a manifest names the rulebook that the released file obeys."""
    return "translated" if manifest.has("translated") and manifest.content["translated"] else "rules"


def _field(fact: PlainData, block: tuple[int, PlainData] | None, figures: PublicFigures) -> PublicField:
    name, number = fact.text("name"), fact.switch("numeric")
    if block is None:
        weight = fact.text("role") == "weight"
        missing, codes = figures.missing(name), figures.codes(name)
        return PublicField(name, masked=False, number=number, weight=weight, missing=missing, codes=codes)
    at, own = block
    solved = {one.text("field"): one.text("rule") for one in own.parts("solved")}
    return PublicField(
        name,
        masked=True,
        number=number,
        block=at,
        how=own.text("aggregator"),
        solved_by=solved.get(name, ""),
        mean=figures.mean(name) if number else None,
        variance=figures.variance(name) if number else None,
        correlations=figures.correlations(name) if number else None,
        shares=None if number else figures.shares(name),
        missing=figures.missing(name),
        codes=figures.codes(name),
        below_zero=figures.below_zero(name) if number else 0,
        keeps_mean=number and own.text("aggregator") == "mean" and name not in solved and figures.keeps_mean(name),
    )


def _rules(result: PlainData, edits: Sequence[Edit], *, nested: bool) -> list[PublicRule]:
    judged = {rule.text("id"): rule for rule in result.parts("rules")}
    let_go = result.names("allowed")
    gone = dict(result.part("not_applicable").items())
    found = []
    for edit in edits:
        name = edit.check.id
        status: PublicStatus = "holds"
        if name in let_go:
            status = "let go"
        elif name in gone:
            status = "not applicable"
        elif name not in judged or judged[name].has("untested"):
            status = "not tested"
        # what a nested file's rule says in mathematics takes its levels, which the file has, and the run has seen
        kind = judged[name].text("class") if nested and name in judged else edit.name
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


def public_classes(treatments: Iterable[PlainData]) -> dict[str, tuple[PublicClass, ...]]:
    """Return the classes of each field that was recoded by a hierarchy, from a manifest.

    They are those of the whole hierarchy at the level of the release: whether a record had a value, and how many had,
    plays no part. A hierarchy of whole numbers may begin and end with the least and greatest value of the original,
    and so its outer classes are told as open. Of other numbers the values may be those of records, and are not told.

    Parameters
    ----------
    treatments : iterable of PlainData
        As a manifest has them.
    """
    listed = (one for one in treatments if one.has("to") and one.text("to") == "listed")
    found = {
        one.text("field"): _classes({value: str(label) for value, label in one.part("labels").items()})
        for one in listed
    }
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
