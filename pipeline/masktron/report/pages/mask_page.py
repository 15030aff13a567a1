"""A masked file as a page for inside the agency: what it cost, and what risk is left."""

from __future__ import annotations

import math
from collections.abc import Sequence

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    NOTHING,
    engines_table,
    figure,
    figure_values,
    figures_table,
    file_name,
    key_parts,
    level_parts,
    listed,
    position_parts,
    rules_table,
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
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, PageTable, Section
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.protection import RED_LINKAGE
from masktron.report.sentences import concern_lines
from masktron.report.text import number
from masktron.report.verdict import read_verdict
from masktron.results.side_by_side import SideBySide

_RECORDS = ("low", "middle", "high")
"""Where the records whose values are shown stand in the first masked number."""


def mask_page(
    result: PlainData,
    *,
    manifest: PlainData | None = None,
    files: SideBySide | None = None,
) -> Page:
    """Make a page of a masked file.

    Parameters
    ----------
    result : PlainData
        As ``mask --json`` writes it, and the manifest has it.
    manifest : PlainData, optional
        For versions, checksums and settings.
    files : SideBySide, optional
        Both files; without them there are no pictures of values.

    Raises
    ------
    UsageError
        The plain data are no result of `mask`.
    """
    blocks, rules = result.parts("blocks"), result.parts("rules")
    concerns = result.parts("concerns") if result.has("concerns") else ()  # results of earlier versions have none
    verdict = read_verdict(result)
    without = "" if files is not None else (
        "This page was made without the two files, so that it has no pictures of values: masktron report MANIFEST "
        "--original FILE --masked FILE."
    )  # fmt: skip
    return Page(
        title=file_name(result.text("output") or "data frame"),
        kind="Masked file",
        edition="internal",
        verdict=statements(verdict),
        lead=verdict.details,
        sections=(
            Section("look", "Before you publish it", tuple(_concerns(concerns))),
            Section("overview", "Overview", (*_facts(result), *said(without))),
            Section(
                "position",
                "Risk and utility",
                (*_position(result, files), *figures_table(result.parts("figures"), result.part("limits"))),
            ),
            Section("levels", "Level by level", tuple(level_parts(result))),
            Section("keys", "What keys tell", tuple(key_parts(result))),
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
                    *(group_parts(files, result.count("k")) if files else ()),
                ),
            ),
            Section("aggregators", "Which rules asked for which aggregator", tuple(_aggregators(blocks))),
            Section("totals", "Totals and categories", (*_totals(result), *_categories(result))),
            Section("rules", "Rules and engines", (*engines_table(result.parts("engines")), rules_table(rules))),
            Section("notes", "Notes", tuple(_notes(result))),
            Section("origin", "Files and versions", tuple(_origin(manifest))),
        ),
    )


def _values(result: PlainData) -> list[PagePart]:
    """Three values of each masked field; results of earlier versions have none."""
    columns = ("field", *(f"{record}, {when}" for record in _RECORDS for when in ("before", "after")))
    rows = []
    for one in result.parts("values") if result.has("values") else ():
        before, after = (one.cells(key, len(_RECORDS)) for key in ("before", "after"))
        rows.append(
            (one.text("field"), *(cell or NOTHING for pair in zip(before, after, strict=True) for cell in pair))
        )
    title = "Values of three records, the same ones in every field"
    return [PageTable(title, columns, tuple(rows), frozenset(columns[1:]))] if rows else []


def _concerns(concerns: Sequence[PlainData]) -> list[PagePart]:
    return listed("", [f"{one[:1].upper()}{one[1:]}." for one in concern_lines([one.content for one in concerns])])


def _facts(result: PlainData) -> list[PagePart]:
    linkage, loss = result.number("linkage"), result.number("information_loss")
    excluded = len(result.content.get("excluded") or ())
    out = f"{counted(excluded, 'record')} left out" if excluded else "none left out"
    facts = [
        Fact("records", number(result.count("records_out")), out),
        Fact("method", result.text("method"), f"k = {result.count('k')}"),
        Fact("smallest group", *_smallest(result)),
        Fact("alike in all masked fields", *_alike(result.count("whole_record_k"))),
        Fact("linkage", figure(linkage, "%", 1), "of the records are nearest to their own original",
             "bad" if linkage >= RED_LINKAGE else ""),
        Fact("information loss (SSE/SST)", figure(loss, "%", 2), "squared changes, of those between records"),
    ]  # fmt: skip
    facts = facts if result.parts("blocks") else facts[:1]
    return [FactRow(tuple(facts)), *said(f"{result.text('method')} promises: {result.text('promise')}.")]


def _smallest(result: PlainData) -> tuple[str, str]:
    """Say how large the smallest group is, and what its records share: values, or what theirs are drawn from.

    Records of drawn blocks that happen to be alike are no group.
    """
    least = number(result.count("min_group"))
    if not result.has("draw"):
        return least, "records alike in a block of masked fields"
    grouped = any(block.text("aggregator") != "drawn" for block in result.parts("blocks"))
    if not result.part("draw").has("smallest"):
        return (least, "records alike in a block that was not drawn") if grouped else (NOTHING, "there are none")
    drawn = "records in a group that values are drawn for"
    return least, f"{drawn}, or alike in a block that was not drawn" if grouped else drawn


def _alike(least: int) -> tuple[str, str]:
    """Say how many records at least are the same in all masked fields."""
    if least <= 1:
        return "not all", "some record is like no other one in all of them"
    return f"at least {number(least)}", "records"


def _position(result: PlainData, files: SideBySide | None) -> list[PagePart]:
    unmasked = math.nan if files is None else files.unmasked_linkage
    name = file_name(result.text("output") or "data frame")
    return position_parts(_risks(result), unmasked, name)


def _risks(result: PlainData) -> dict[str, float]:
    own = {name: result.number(name) for name in ("linkage", "information_loss")}
    return {**figure_values(result), **own}


def _by_block(blocks: Sequence[PlainData]) -> list[PagePart]:
    losses = [(", ".join(block.names("variables")), block.number("information_loss")) for block in blocks]
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
            PageTable(
                "Loss by block",
                ("fields", "information loss"),
                tuple((name, f"{figure(loss)} %") for name, loss in losses),
                frozenset({"information loss"}),
            ),
        )
    ]


def _aggregators(blocks: Sequence[PlainData]) -> list[PagePart]:
    columns = ("fields", "aggregator", "rules", "groups formed", "smallest", "copied", "revealed values", "why")
    rows = tuple(
        (
            ", ".join(block.names("variables")),
            block.text("aggregator"),
            ", ".join(block.names("rules")) or NOTHING,
            NOTHING if block.text("aggregator") == "drawn" else number(block.count("groups")),
            NOTHING if block.text("aggregator") == "drawn" else number(block.count("min_group")),
            number(block.count("copied")),
            number(block.count("revealed")),
            block.text("reason"),
        )
        for block in blocks
    )
    tried = tuple(
        (
            ", ".join(block.names("variables")),
            one.text("aggregator"),
            figure(one.number("information_loss"), "%"),
            one.text("verdict"),
        )
        for block in blocks
        for one in block.parts("candidates")
    )
    solved = [
        f"{one.text('field')} follows in each record by {one.text('rule')}"
        for block in blocks
        for one in block.parts("solved")
    ]
    return [
        PageTable("Blocks", columns, rows, frozenset({"groups formed", "smallest", "copied", "revealed values"})),
        *(
            [PageTable("Aggregators that were tried", ("fields", "aggregator", "information loss", "verdict"), tried,
                       frozenset({"information loss"}))]
            if tried
            else []
        ),
        *listed("Solved per record", solved),
    ]  # fmt: skip


def _totals(result: PlainData) -> list[PagePart]:
    """Weighted totals; of fewer than k records only the change."""
    k = result.count("k")
    rows = tuple(
        (
            one.text("field"),
            number(one.count("records")),
            number(one.number("before"), ".12g") if one.count("records") >= k else NOTHING,
            number(one.number("after"), ".12g") if one.count("records") >= k else NOTHING,
            figure(one.number("change"), "%"),
        )
        for one in result.parts("totals")
    )
    columns = ("field", "records", "before", "after", "change")
    return [PageTable("Weighted totals", columns, rows, frozenset(columns[1:]))] if rows else []


def _categories(result: PlainData) -> list[PagePart]:
    rows = tuple(
        (one.text("field"), one.text("kind"), figure(one.number("distance"), "%"))
        for one in result.parts("categories")
    )
    columns = ("field", "kind", "shares that moved, weighted")
    return [PageTable("Categories", columns, rows, frozenset(columns[2:]))] if rows else []


def _notes(result: PlainData) -> list[PagePart]:
    engines = [note for one in result.parts("engines") for note in (*one.names("notes"), *one.names("not_judged"))]
    gone = [f"{rule}: {why}" for rule, why in result.part("not_applicable").items()]
    return [
        *listed("", result.names("notes")),
        *listed("Of the engines", engines),
        *listed("Rules that do not apply", gone),
        *listed("Rules that were let go", result.names("allowed")),
    ]


def _origin(manifest: PlainData | None) -> list[PagePart]:
    if manifest is None:
        return []
    rows = tuple(
        (what, file_name(manifest.part(key).text("path")), manifest.part(key).text("sha256"))
        for what, key in (("original", "original"), ("rulebook", "rules"), ("masked file", "output"))
        if key != "rules" or manifest.part(key).text("path")
    )
    versions = tuple((name, str(version)) for name, version in manifest.part("versions").items())
    return [
        PageTable("Files", ("what", "name", "SHA-256"), rows),
        PageTable("Versions", ("package", "version"), versions),
    ]
