"""A repeated run for the eye: what has changed, and both runs side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.sentences import concern_lines, treatment_lines
from masktron.report.tables.cells import figure_text, headed, noted, statements
from masktron.report.text import number, plain
from masktron.results import ChangeResult, RerunResult


def tables(result: RerunResult) -> list[RenderableType]:
    """Changes, figures, blocks, rules that fail otherwise; what to look at, where the files are, and the verdict."""
    parts: list[RenderableType] = [*changes_shown(result.changes)]
    if result.figures:
        table = headed("figure", "last run", "this run")
        for figure in result.figures:
            table.add_row(figure.name, *(_valued(value, figure.unit) for value in (figure.before, figure.after)))
        parts.append(table)
    if result.blocks:
        table = headed("masked together", "aggregator", "now", "groups", "now", "loss %", "now")
        for block in result.blocks:
            table.add_row(
                plain(", ".join(block.variables)),
                block.aggregator_before or "-",
                block.aggregator_after or "-",
                number(block.groups_before),
                number(block.groups_after),
                figure_text(block.loss_before),
                figure_text(block.loss_after),
            )
        parts.append(table)
    parts += noted("fails otherwise", [f"{one.rule}: {one.before} then, {one.after} now" for one in result.failures])
    parts += noted("note", result.notes)
    if not result.changes:
        parts.append("nothing has changed since the last run" + ("" if result.same_original else " but the records"))
    parts.append(_ending(result))
    parts += _run_told(result)
    return parts


def _run_told(result: RerunResult) -> Iterator[RenderableType]:
    """Say of this run what was done to keys, what somebody has to look at, and what was not protected."""
    run = result.run
    if run is None:
        return
    yield from map(plain, treatment_lines(run.treatments, run.fates, run.before, run.figures))
    for one in concern_lines(result.concerns):
        yield f"[yellow]look at:[/] {plain(one)}"
    yield plain(run.verdict.details)
    yield from statements(run.verdict)


def changes_shown(changes: Sequence[ChangeResult]) -> Iterator[RenderableType]:
    """Write what has changed since the last run, in a table; nothing where nothing has."""
    if not changes:
        return
    table = headed("change", "where", "what", "stands in the way")
    for change in changes:
        stands = "[red]yes[/]" if change.refuses else "no"
        table.add_row(change.kind, plain(change.place) or "-", plain(change.what), stands)
    yield table


def _valued(value: float, unit: str) -> str:
    if math.isnan(value):
        return "-"
    return counted(round(value), "record") if unit == "records" else f"{figure_text(value)} {unit}".rstrip()


def _ending(result: RerunResult) -> str:
    if result.refused:
        return f"{counted(len(result.refused), 'change')} in the way: nothing is published"
    beside = "".join(f", {plain(place)}" for place in result.tables.values())
    if result.dry_run:
        return f"a dry run: nothing was written; {plain(result.output)}{beside} and {plain(result.manifest)} would be"
    return (
        f"{counted(result.records_before, 'record')} then, {number(result.records_after)} now; left out "
        f"{number(result.excluded_before)} then, {number(result.excluded_after)} now; masked file: "
        f"{plain(result.output)}{beside}; manifest (confidential): {plain(result.manifest)}"
    )
