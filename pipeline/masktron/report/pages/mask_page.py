"""A masked file as a page for inside the agency: what it cost, and what risk is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from masktron.counts import counted
from masktron.problems.wording import sentence
from masktron.report.pages.common_parts import (
    file_name,
    key_parts,
    level_parts,
    listed,
    position_parts,
    said,
    statements,
    treatment_parts,
)
from masktron.report.pages.compared_parts import (
    by_level,
    correlation_parts,
    distribution_parts,
    group_parts,
    knowledge_parts,
    loss_parts,
    moment_parts,
)
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, Section
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.protection import RED_LINKAGE
from masktron.report.result_table import NOTHING, ResultTable
from masktron.report.sentences import concern_lines
from masktron.report.shared_tables import (
    categories_table,
    engines_table,
    figure,
    figures_table,
    rules_table,
    totals_table,
)
from masktron.report.text import number
from masktron.results import BlockResult, ConcernResult, MaskResult
from masktron.results.side_by_side import SideBySide

if TYPE_CHECKING:
    from masktron.results.kept_manifest import KeptManifest

_RECORDS = ("low", "middle", "high")
"""Where the records whose values are shown stand in the first masked number."""


def mask_page(
    result: MaskResult,
    *,
    manifest: KeptManifest | None = None,
    files: SideBySide | None = None,
) -> Page:
    """Make a page of a masked file.

    Parameters
    ----------
    result : MaskResult
    manifest : KeptManifest, optional
        For versions, checksums and settings.
    files : SideBySide, optional
        Both files; without them there are no pictures of values.
    """
    blocks, rules = result.blocks, result.rules
    verdict = result.verdict
    without = "" if files is not None else (
        "This page was made without the two files, so that it has no pictures of values: masktron report MANIFEST "
        "--original FILE --masked FILE."
    )  # fmt: skip
    return Page(
        title=file_name(result.output or "data frame"),
        kind="Masked file",
        edition="internal",
        verdict=statements(verdict),
        lead=verdict.details,
        sections=(
            Section("look", "Before you publish it", tuple(_concerns(result.concerns))),
            Section("overview", "Overview", (*_facts(result), *said(without))),
            Section(
                "position",
                "Risk and utility",
                (*_position(result, files), figures_table(result.figures, result.limits)),
            ),
            Section("levels", "Level by level", tuple(level_parts(result.levels))),
            Section("keys", "What keys tell", tuple(key_parts(result.keys))),
            Section("treatments", "What was done before", tuple(treatment_parts(result))),
            Section("distributions", "Before and after", (*_values(result), *by_level(files, distribution_parts))),
            Section("moments", "Means and variances", by_level(files, moment_parts)),
            Section("correlations", "Correlations", by_level(files, correlation_parts)),
            Section("losses", "Where information is lost", (*_by_block(blocks), *by_level(files, loss_parts))),
            Section(
                "intruders",
                "What intruders find",
                (
                    *(knowledge_parts(files) if files else ()),
                    *(group_parts(files, result.k) if files else ()),
                ),
            ),
            Section("aggregators", "Which rules asked for which aggregator", tuple(_aggregators(blocks))),
            Section("totals", "Totals and categories", (totals_table(result), categories_table(result))),
            Section("rules", "Rules and engines", (engines_table(result.engines), rules_table(rules))),
            Section("notes", "Notes", tuple(_notes(result))),
            Section("origin", "Files and versions", tuple(_origin(manifest))),
        ),
    )


def _values(result: MaskResult) -> list[PagePart]:
    """Three values of each masked field; results of earlier versions have none."""
    columns = ("field", *(f"{record}, {when}" for record in _RECORDS for when in ("before", "after")))
    rows = []
    for one in result.values:
        pairs = zip(one.texts_before, one.texts_after, strict=True)
        rows.append((one.field, *(cell or NOTHING for pair in pairs for cell in pair)))
    title = "Values of three records, the same ones in every field"
    return [ResultTable(title, columns, tuple(rows), frozenset(columns[1:]))]


def _concerns(concerns: Sequence[ConcernResult]) -> list[PagePart]:
    return listed("", [f"{one[:1].upper()}{one[1:]}." for one in concern_lines(concerns)])


def _facts(result: MaskResult) -> list[PagePart]:
    linkage, loss = result.linkage, result.information_loss
    excluded = len(result.excluded)
    out = f"{counted(excluded, 'record')} left out" if excluded else "none left out"
    facts = [
        Fact("records", number(result.records_out), out),
        Fact("method", result.method, f"k = {result.k}"),
        Fact("smallest group", *_smallest(result)),
        Fact("alike in all masked fields", *_alike(result.whole_record_k)),
        Fact("linkage", figure(linkage, "%", 1), "of the records are nearest to their own original",
             "bad" if linkage >= RED_LINKAGE else ""),
        Fact("information loss (SSE/SST)", figure(loss, "%", 2), "squared changes, of those between records"),
    ]  # fmt: skip
    facts = facts if result.blocks else facts[:1]
    return [FactRow(tuple(facts)), *said(f"{result.method} promises: {result.promise}.")]


def _smallest(result: MaskResult) -> tuple[str, str]:
    """Say how large the smallest group is, and what its records share: values, or what theirs are drawn from.

    Records of drawn blocks that happen to be alike are no group.
    """
    least = number(result.min_group)
    if result.draw is None:
        return least, "records alike in a block of masked fields"
    grouped = any(not block.drawn for block in result.blocks)
    if result.draw.smallest is None:
        return (least, "records alike in a block that was not drawn") if grouped else (NOTHING, "there are none")
    drawn = "records in a group that values are drawn for"
    return least, f"{drawn}, or alike in a block that was not drawn" if grouped else drawn


def _alike(least: int) -> tuple[str, str]:
    """Say how many records at least are the same in all masked fields."""
    if least <= 1:
        return "not all", "some record is like no other one in all of them"
    return f"at least {number(least)}", "records"


def _position(result: MaskResult, files: SideBySide | None) -> list[PagePart]:
    unmasked = math.nan if files is None else files.unmasked_linkage
    name = file_name(result.output or "data frame")
    return position_parts(_risks(result), unmasked, name)


def _risks(result: MaskResult) -> dict[str, float]:
    own = {"linkage": result.linkage, "information_loss": result.information_loss}
    return {one.name: one.value for one in result.figures} | own


def _by_block(blocks: Sequence[BlockResult]) -> list[PagePart]:
    losses = [(", ".join(block.variables), block.information_loss) for block in blocks]
    losses = sorted((one for one in losses if not math.isnan(one[1])), key=lambda one: -one[1])
    if len(losses) < 2 or not losses[0][1]:
        return []
    return [
        PagePicture(
            "loss-by-block",
            "What each block loses",
            f"The block of {losses[0][0]} loses most: {figure(losses[0][1])} %.",
            Bars(
                tuple(Bar(name, loss, f"{figure(loss)} %") for name, loss in losses),
                "information loss of the block, %",
            ),
            ResultTable(
                "Loss by block",
                ("fields", "information loss"),
                tuple((name, f"{figure(loss)} %") for name, loss in losses),
                frozenset({"information loss"}),
            ),
        )
    ]


def _aggregators(blocks: Sequence[BlockResult]) -> list[PagePart]:
    columns = ("fields", "aggregator", "rules", "groups formed", "smallest", "copied", "revealed values", "why")
    rows = tuple(
        (
            ", ".join(block.variables),
            block.aggregator,
            ", ".join(block.rules) or NOTHING,
            NOTHING if block.drawn else number(block.groups),
            NOTHING if block.drawn else number(block.min_group),
            number(block.copied),
            number(block.revealed),
            sentence(block.reason),
        )
        for block in blocks
    )
    tried = tuple(
        (
            ", ".join(block.variables),
            one.aggregator,
            figure(one.information_loss, "%"),
            one.verdict,
        )
        for block in blocks
        for one in block.candidates
    )
    solved = [f"{one.field} follows in each record by {one.rule}" for block in blocks for one in block.solved]
    return [
        ResultTable("Blocks", columns, rows, frozenset({"groups formed", "smallest", "copied", "revealed values"})),
        ResultTable(
            "Aggregators that were tried",
            ("fields", "aggregator", "information loss", "verdict"),
            tried,
            frozenset({"information loss"}),
        ),
        *listed("Solved per record", solved),
    ]  # fmt: skip


def _notes(result: MaskResult) -> list[PagePart]:
    engines = [note for one in result.engines for note in (*one.notes, *one.not_judged)]
    gone = [f"{rule}: {why}" for rule, why in result.not_applicable.items()]
    return [
        *listed("", result.notes),
        *listed("Of the engines", engines),
        *listed("Rules that do not apply", gone),
        *listed("Rules that were let go", result.allowed),
    ]


def _origin(manifest: KeptManifest | None) -> list[PagePart]:
    if manifest is None:
        return []
    files = (("original", manifest.original), ("rulebook", manifest.rules), ("masked file", manifest.output))
    rows = tuple((what, file_name(one.path), one.sha256) for what, one in files if one.path or what != "rulebook")
    versions = tuple((name, str(version)) for name, version in manifest.versions.items())
    return [
        ResultTable("Files", ("what", "name", "SHA-256"), rows),
        ResultTable("Versions", ("package", "version"), versions),
    ]
