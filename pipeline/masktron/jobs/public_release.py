"""What may be told to whoever gets a masked file: from public parts, and from coarse figures of the original."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from masktron.addresses import is_address, parse_address
from masktron.classify import classify
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import form_of
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.evaluation.deviations import deviations
from masktron.jobs.public_classes import public_classes
from masktron.kernels.distinct import alike
from masktron.measures.assessed import Assessed, numbers_of
from masktron.measures.category_shares import category_shares, moved_by_group
from masktron.measures.kept_variation import (
    KeptCorrelation,
    KeptVariation,
    intervals_left,
    kept_correlation,
    kept_variation,
)
from masktron.report.pages.plain_reader import PlainData
from masktron.report.wording import rule_text
from masktron.results.public_release import (
    PUBLIC_LARGEST_SHARE,
    PUBLIC_LEAST_GROUPS,
    PUBLIC_LEAST_INTERVAL,
    PUBLIC_LEAST_OPEN,
    PUBLIC_LEAST_RECORDS,
    STEP,
    KeptFigure,
    PublicEngine,
    PublicFate,
    PublicField,
    PublicRelease,
    PublicRule,
    PublicStatus,
    SharesBound,
    ShiftBound,
)
from masktron.rulebook.schema import Rulebook
from masktron.sources.records import Status
from masktron.treatments.suppression_check import SharedKeys

_SHIFTS: tuple[ShiftBound, ...] = ("0.01", "0.05", "0.2")
_SHARES: tuple[SharesBound, ...] = ("1", "5", "20")
_LEAST_MOVED = float(_SHARES[0]) / 100 / 2
"""Half of the finest bound of shares: a group that moves fewer of all records may have moved alone."""


def public_release(manifest: PlainData, rulebook: Rulebook, files: Assessed | None) -> PublicRelease:
    """Build the model of the public edition.

    Of the manifest only what is public by itself is read: names and kinds of fields, blocks and aggregators, which
    follow from rulebook, settings and the released file; of the original nothing but coarse figures, and these only
    where enough records and groups decide about them.

    Parameters
    ----------
    manifest : PlainData
    rulebook : Rulebook
        The one of the run.
    files : Assessed or None
        Both files; without the original no figure of it is told.

    Raises
    ------
    UsageError
        The manifest is none, or does not go with the rulebook.
    """
    result, plan, config = manifest.part("result"), manifest.part("plan"), manifest.part("config")
    declared = manifest.part("declared")
    whole = config.text("grouping") == "all"
    figures = _Figures(files, whole=whole)
    treatments = _treatments(result)
    recoded = {one.text("field"): one.text("how") for one in treatments if one.text("kind") == "recoding"}
    weights = {fact.text("name") for fact in plan.parts("fields") if fact.text("role") == "weight"}
    suppressed = {one.text("field") for one in treatments if one.text("kind") == "suppression"} - weights
    classes = public_classes(_treatments(manifest))
    untrue = _untrue(manifest)
    blocks = {
        name: (at, block)
        for at, block in enumerate(result.parts("blocks"), start=1)
        for name in block.names("variables")
    }
    return PublicRelease(
        name=public_name(manifest.part("output").text("path")),
        checksum=manifest.part("output").text("sha256"),
        rules_checksum=manifest.part(rules_part(manifest)).text("sha256"),
        rulebook=rulebook.path.name,
        records=result.count("records_out"),
        method=result.text("method"),
        contract=declared.part("contract").text("kind"),
        promise=result.text("promise"),
        k=result.count("k"),
        whole_records=whole,
        random_order=isinstance(manifest.content.get("order"), list),
        some_left_out=result.count("records_in") > result.count("records_out"),
        fields=tuple(
            replace(
                found := _field(fact, blocks.get(fact.text("name")), figures),
                recoded=recoded.get(found.name, ""),
                classes=classes.get(found.name, ()),
                suppressed=found.name in suppressed,
                missing=_lacking(found.name, manifest) if found.name in suppressed else found.missing,
                untrue=untrue.get(found.name, ""),
            )
            for fact in plan.parts("fields")
            if fact.text("role") != "identifier"
        ),
        removed=tuple(fact.text("name") for fact in plan.parts("fields") if fact.text("role") == "identifier"),
        rules=tuple(_rules(result, rulebook)),
        engines=tuple(
            PublicEngine(one.text("engine"), one.count("rules"), one.count("records"), _deviations(one))
            for one in result.parts("engines")
        ),
        versions={name: str(version) for name, version in manifest.part("versions").items()},
        compared=files is not None,
        shared_keys=" ".join(_shared(one.part("contract")) for one in _suppressions(manifest)),
        fates=tuple(
            PublicFate(one.text("rule"), one.text("fate"), one.text("after"))
            for one in (result.parts("fates") if result.has("fates") else ())
        ),
    )


def _treatments(told: PlainData) -> tuple[PlainData, ...]:
    """Return what was done to fields, by a manifest or a result; those of earlier versions say nothing of it."""
    return tuple(told.parts("treatments")) if told.has("treatments") else ()


def _suppressions(manifest: PlainData) -> list[PlainData]:
    return [one for one in _treatments(manifest) if one.text("kind") == "suppression"]


def _shared(contract: PlainData) -> str:
    """Say what holds of the keys as they are written."""
    shared = SharedKeys(contract.count("k"), contract.optional_count("subsets"), contract.switch("missing_matches"))
    return f"{shared.says[:1].upper()}{shared.says[1:]}."


def _lacking(name: str, manifest: PlainData) -> int | None:
    """Return how many values of a suppressed key are missing in the released file, which whoever has it can count.

    How many of them were missing before is told to nobody.
    """
    for one in _suppressions(manifest):
        if name in (cells := one.part("cells").content):
            gone, there = cells[name]
            return manifest.part("result").count("records_out") - int(there) + int(gone)
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


def _deviations(engine: PlainData) -> tuple[str, ...]:
    """The deviations that an engine met, by the table of known ones alone."""
    met = engine.names("deviations")
    return tuple(f"{row.title[:1].lower()}{row.title[1:]} ({row.id})" for row in deviations() if row.id in met)


def public_name(path: str) -> str:
    """Return the name of a file without folders, and that of a table without its server."""
    if is_address(path):
        return parse_address(path).table or "a query"
    return path.replace("\\", "/").rpartition("/")[2]


class _Figures:
    """Coarse figures of the original, by field; none where few records or groups decide about them.

    Every record counts once. With survey weights a single heavy record could decide about a bound.

    Parameters
    ----------
    files : Assessed or None
    whole : bool
        Whether one partition was made of all masked fields: the file shows it in all of them together.
    """

    def __init__(self, files: Assessed | None, *, whole: bool) -> None:
        self._files = files if files is not None and files.paired else None
        self._masked = None if files is None else files.masked
        self._whole = _whole(self._files) if whole and self._files is not None else None
        self._kept: dict[str, KeptVariation] = {}
        self._hidden: dict[str, bool] = {}
        self._moved: dict[str, float] = {}
        if self._files is None:
            return
        for name in self._files.numeric:
            before, after = self._files.pair(name)
            self._kept[name] = kept_variation(before[:, np.newaxis], after[:, np.newaxis], self._groups(name))[0]
            self._hidden[name] = _stays_open(before, after)
        self._moved = self._correlations([name for name in self._files.numeric if self._told(name)])

    def _groups(self, name: str) -> NDArray[np.intp] | None:
        """The groups that share their values of a field; None where each record has one of its own."""
        assert self._files is not None  # noqa: S101 -- for mypy
        for block, groups in zip(self._files.blocks, self._files.groups, strict=True):
            if name in block and name not in self._files.solved and len(np.unique(groups)) < len(groups):
                return groups if self._whole is None else self._whole
        return None

    def _told(self, name: str) -> bool:
        """Whether so many records and groups decide about a field that its figures give nobody away."""
        kept = self._kept.get(name)
        return kept is not None and math.isfinite(kept.ratio) and _enough(kept) and self._hidden[name]

    def _correlations(self, names: Sequence[str]) -> dict[str, float]:
        """By how much the correlations of each field with the other ones moved on average, up or down."""
        if self._files is None or len(names) < 2:
            return {}
        held: dict[str, list[float]] = {name: [] for name in names}
        for one, other in combinations(names, 2):
            change = self._change(one, other)
            if change is not None:
                held[one].append(change)
                held[other].append(change)
        return {name: math.fsum(changes) / len(changes) for name, changes in held.items() if changes}

    def _change(self, one: str, other: str) -> float | None:
        """By how much one correlation moved; None where few decide about it, as averages can be solved for it.

        The variances are tested again among the records that the two fields have in common, if these are fewer.
        """
        assert self._files is not None  # noqa: S101 -- for mypy
        before, after = (numbers_of(side, (one, other)) for side in (self._files.original, self._files.masked))
        groups = [self._groups(name) for name in (one, other)]
        found = kept_correlation(before, after, groups)
        if not (math.isfinite(found.change) and _enough(found)):
            return None
        if found.records < max(self._kept[one].records, self._kept[other].records):
            common = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
            for at, labels in enumerate(groups):
                own = None if labels is None else labels[common]
                if not _enough(kept_variation(before[common][:, [at]], after[common][:, [at]], own)[0]):
                    return None
        return found.change

    def mean(self, name: str) -> ShiftBound | None:
        """Bound of the shift of the mean, in standard deviations."""
        if not self._told(name):
            return None
        shift = abs(self._kept[name].shift)
        return next((bound for bound in _SHIFTS if shift <= float(bound)), "more")

    def keeps_mean(self, name: str) -> bool:
        """Whether the mean is that of the original values of the same records, weighted where there are weights."""
        if self._files is None or not self._told(name):
            return False
        before, after = self._files.pair(name)
        both = ~(np.isnan(before) | np.isnan(after))
        weights = np.ones(len(before)) if self._files.weights is None else self._files.weights
        apart = float(np.average((after - before)[both], weights=weights[both]))
        return abs(apart) <= 0.5 * 10.0 ** -self._files.masked[name].decimals * (1 + 1e-9)

    def variance(self, name: str) -> KeptFigure | None:
        """Variance after divided by variance before."""
        return KeptFigure.coarsened(self._kept[name].ratio) if self._told(name) else None

    def correlations(self, name: str) -> KeptFigure | None:
        """Mean change of the correlations."""
        return KeptFigure.coarsened(self._moved[name]) if name in self._moved else None

    def missing(self, name: str) -> int | None:
        """Values that are missing in the released file, which whoever has it can count."""
        if self._masked is None or name not in self._masked:
            return None
        return int((~self._masked[name].present).sum())

    def below_zero(self, name: str) -> int:
        """Values below 0 in the released file, which whoever has it can count."""
        if self._masked is None or name not in self._masked:
            return 0
        column = self._masked[name]
        return int((column.present & (column.values < 0)).sum())

    def codes(self, name: str) -> tuple[str, ...]:
        """What stands for missing values in the released file; codes that it does not have are not told."""
        if self._masked is None or name not in self._masked:
            return ()
        column = self._masked[name]
        return tuple(sorted(column.texts(Status.CODE)))

    def shares(self, name: str) -> SharesBound | None:
        """Bound of the shares of categories that moved."""
        if self._files is None or name not in self._files.categories:
            return None
        original, masked = self._files.original[name], self._files.masked[name]
        present = original.present & masked.present
        before, after = original.lexemes_of(present), masked.lexemes_of(present)
        groups = self._groups(name)
        moved = moved_by_group(before, after, None if groups is None else groups[present])
        if len(before) < PUBLIC_LEAST_RECORDS or len(moved) < PUBLIC_LEAST_GROUPS:
            return None
        largest, total = float(moved.max()), float(moved.sum())
        if largest > PUBLIC_LARGEST_SHARE * total and largest > _LEAST_MOVED * len(before):
            return None
        distance = category_shares(before, after).distance
        return next((bound for bound in _SHARES if distance <= float(bound)), "more")


def _whole(files: Assessed) -> NDArray[np.intp]:
    """The groups of a partition of all masked fields, as the file shows them."""
    names = (name for block in files.blocks for name in block if name not in files.solved)
    return alike((files.codes[name] for name in names), len(files))[0]


def _stays_open(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether the share of variance leaves each value open for whoever knows all other ones, however heavy it is."""
    values = before[~(np.isnan(before) | np.isnan(after))]
    if not len(values) or values.min() == values.max():
        return True
    widths = intervals_left(before, after, step=STEP)
    largest = float(np.abs(values).max())
    units = np.abs(values / largest) / float((values / largest).std())
    needed = np.clip(PUBLIC_LEAST_OPEN * units, PUBLIC_LEAST_INTERVAL, 0.5)
    return bool((widths >= needed).all())


def _enough(kept: KeptVariation | KeptCorrelation) -> bool:
    """Whether enough records and groups are behind a figure, and none of them decides about it."""
    return (
        kept.records >= PUBLIC_LEAST_RECORDS
        and kept.groups >= PUBLIC_LEAST_GROUPS
        and kept.record_share <= PUBLIC_LARGEST_SHARE
        # what moves a figure by less than half a step is lost in rounding, whoever decides about it
        and (kept.change_share <= PUBLIC_LARGEST_SHARE or kept.largest_change < STEP / 2)
    )


def _field(fact: PlainData, block: tuple[int, PlainData] | None, figures: _Figures) -> PublicField:
    name, number = fact.text("name"), fact.switch("numeric")
    if block is None:
        return PublicField(name, masked=False, number=number, weight=fact.text("role") == "weight")
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


def _rules(result: PlainData, rulebook: Rulebook) -> list[PublicRule]:
    judged = {rule.text("id"): rule for rule in result.parts("rules")}
    let_go = result.names("allowed")
    gone = dict(result.part("not_applicable").items())
    found = []
    for edit in classify(rulebook):
        name = edit.check.id
        status: PublicStatus = "holds"
        if name in let_go:
            status = "let go"
        elif name in gone:
            status = "not applicable"
        elif name not in judged or judged[name].has("untested"):
            status = "not tested"
        match edit.constraint:
            case OpaqueEdit():
                form = ""
            case CrossRecordEdit():
                form = render_cross_record(edit.constraint)
            case _:
                form = render_form(form_of(edit.constraint))
        found.append(PublicRule(name, edit.name, form, rule_text(edit.check), edit.check.soft, status))
    return found
