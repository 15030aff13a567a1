"""A masked file for the eye: blocks, engines, and the figures of the whole file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table

from masktron.counts import counted
from masktron.report.sentences import (
    concern_lines,
    concern_remedies,
    drawn_fields,
    estimate_lines,
    in_groups,
    key_lines,
    level_lines,
    listed,
    treatment_lines,
)
from masktron.report.shared_tables import categories_table, engines_table, totals_table
from masktron.report.tables.cells import drawn, figure_text, headed, in_short, noted, statements, valued
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, treated_in_brief
from masktron.report.text import number, plain
from masktron.results import (
    CONFIDENTIAL,
    BlockResult,
    CandidateResult,
    CutResult,
    DrawResult,
    EngineResult,
    MaskResult,
    RepairResult,
)


def tables(result: MaskResult) -> list[RenderableType]:
    """Blocks, engines, and the figures of the whole file."""
    lines: list[RenderableType] = [
        *([_Masked(result.blocks)] if result.blocks else []),
        *([] if result.draw is None else [_moments(result.draw)]),
        *drawn(totals_table(result), categories_table(result), engines_table(result.engines)),
        *noted("tried", tuple(_tried(block) for block in result.blocks if block.candidates)),
        *noted("solved per record", tuple(solved_told(block) for block in result.blocks if block.solved)),
        *noted("cut", tuple(cuts_told(result.blocks))),
        *noted("note", result.notes),
        *noted("note", tuple(note for engine in result.engines for note in engine.notes)),
        *noted("not judged", tuple(f"{one.engine}: {left}" for one in result.engines for left in one.not_judged)),
        *noted("not applicable", tuple(f"{rule}: {why}" for rule, why in result.not_applicable.items())),
        *noted("let go", result.allowed),
        *noted("mended", tuple(map(repair_told, result.repairs))),
    ]
    excluded = f", {counted(len(result.excluded), 'record')} left out" if result.excluded else ""
    lines.append(
        f"{counted(result.records_in, 'record')} in, {number(result.records_out)} out{excluded}; "
        f"{groups_told(result)}; information loss {figure_text(result.information_loss)} % (SSE/SST)"
    )
    lines.append(plain(f"{result.method} promises: {result.promise}"))
    linked = (
        ""
        if math.isnan(result.linkage)
        else f"; {result.linkage:.1f} % of the masked records are nearest to their own original, by standardised "
        f"Euclidean distance; {_others(result)}"
    )
    if result.blocks:
        lines.append(f"alike in ALL masked fields: at least {counted(result.whole_record_k, 'record')}{linked}")
    lines += [plain(one) for one in ([] if result.keys is None else key_lines(result.keys))]
    lines += map(plain, treatment_lines(result.treatments, result.fates, result.before, result.figures))
    lines += in_short(result.figures)
    lines += map(plain, level_lines(result.levels))
    lines.append("masktron assess explains each figure, and computes more")
    if result.output:
        lines.append(f"masked file: {plain(result.output)}")
        lines += [f"table of {plain(name)}: {plain(place)}" for name, place in result.tables.items()]
        if result.rules_file:
            lines.append(f"rules for the masked file: {plain(result.rules_file)}")
        lines.append(f"manifest (confidential): {plain(result.manifest)}")
    concerns = concern_lines(result.concerns)
    lines += [f"[yellow]look at:[/] {plain(one)}" for one in concerns]
    return [*lines, plain(result.verdict.details), *statements(result.verdict)]


def values_shown(result: MaskResult) -> list[RenderableType]:
    """Show three values of each masked field before and after: for a terminal, where somebody asks for them."""
    table = headed("field", *("before", "after") * 3)
    for one in result.values:
        pairs = zip(one.texts_before, one.texts_after, strict=True)
        table.add_row(plain(one.field), *(plain("-" if text is None else text) for pair in pairs for text in pair))
    return [f"[yellow]{CONFIDENTIAL}[/]", table]


def _others(result: MaskResult) -> str:
    """Say what better intruders find, as far as it was measured."""
    for one in result.figures:
        if one.name == "strongest_linkage" and not math.isnan(one.value):
            return f"the strongest of eight intruders, who also knows all unmasked fields, links {one.value:.1f} %"
    return "a better distance can link more"


def groups_told(result: MaskResult) -> str:
    """Say how large the groups are, where there are any."""
    if not result.blocks:
        return "no field is masked"
    if result.draw is None:
        return f"k = {result.k}, smallest group {number(result.min_group)}"
    grouped = in_groups(result.blocks)
    fields = plain(listed(drawn_fields(result.blocks)))
    if result.draw.smallest is None:
        if not grouped:
            return "every record has values of its own"
        return f"every record has values of its own in {fields}; {plain(grouped)} (k = {result.k})"
    of = f" of {fields}" if grouped else ""
    groups = counted(result.draw.groups or 0, "group")
    said = f"values{of} drawn for {groups} of at least {counted(result.draw.smallest, 'record')}"
    return f"k = {result.k}, {said}{'; ' if grouped else ''}{plain(grouped)}"


def _moments(draw: DrawResult) -> Table:
    """What keeping the rules does to means and variances, beside what the method drew."""
    table = headed("drawn", "mean drawn", "written", "variance drawn", "written")
    for one in draw.moments:
        shifts = (f"{value:+.4f}" for value in (one.mean_drawn, one.mean_written))
        ratios = (f"{value:.4f}" for value in (one.variance_drawn, one.variance_written))
        table.add_row(plain(one.name), *shifts, *ratios)
    table.caption_justify = "left"
    table.caption = (
        "means less those of the original, in its standard deviations; variances divided by those of the original; "
        f"farthest from it: {_farthest(draw)}"
    )
    return table


def _farthest(draw: DrawResult) -> str:
    """The variance and the correlation that are off most, as drawn and as written."""
    said = []
    if draw.variance_drawn is not None and draw.variance_written is not None:
        drawn, written = draw.variance_drawn, draw.variance_written
        said.append(
            f"variance {drawn.variance_drawn:.4f} drawn ({plain(drawn.name)}), "
            f"{written.variance_written:.4f} written ({plain(written.name)})"
        )
    if draw.worst_drawn is not None:
        one = draw.worst_drawn
        said.append(f"correlation {one.drawn:.4f} drawn for {one.original:.4f} ({plain(' and '.join(one.fields))})")
    if draw.worst_written is not None:
        one = draw.worst_written
        said.append(f"{one.written:.4f} written for {one.original:.4f} ({plain(' and '.join(one.fields))})")
    return ", ".join(said) or "nothing"


def repair_told(repair: RepairResult) -> str:
    """Say how far a total was off, and is now."""
    off = f"{abs(repair.before):g} steps of the grid too {'high' if repair.before > 0 else 'low'} after masking"
    return f"{repair.rule}: {off}, {repair.after:g} now; {counted(repair.groups, 'group')} moved"


BROAD = 116
"""Columns that a terminal must have to show all of a masked block side by side."""


@dataclass(frozen=True, slots=True)
class _Masked:
    """The blocks after masking in one table, or in a narrow terminal in two, without rules, which `explain` shows."""

    blocks: tuple[BlockResult, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= BROAD:
            yield self._table(options, groups=True, figures=True)
        else:
            yield self._table(options, groups=True, figures=False)
            yield self._table(options, groups=False, figures=True)

    def _table(self, options: ConsoleOptions, *, groups: bool, figures: bool) -> Table:
        headers = ["masked together"]
        headers += ["aggregator", "groups", "min", "settled by"] if groups else []
        headers += ["observed %", "coincident", "revealed", "loss %"] if figures else []
        table = headed(*headers)
        if groups and figures:
            table.add_column("keeps", overflow="fold")
        names = [name for block in self.blocks for name in block.variables]
        table.columns[0].min_width = min(options.max_width // 4, 1 + max(map(len, names), default=0))
        for block in self.blocks:
            row = [plain(", ".join(block.variables))]
            row += _grouped(block) if groups else []
            row += _revealing(block) if figures else []
            row += [plain(", ".join(block.rules)) or "-"] if groups and figures else []
            table.add_row(*row)
        return table


def _grouped(block: BlockResult) -> list[str]:
    """How a block was masked."""
    return [
        block.aggregator,
        "-" if block.drawn else number(block.groups),
        _smallest(block),
        ", ".join(f"{name} {number(count)}" for name, count in block.exits.items() if count),
    ]


def _smallest(block: BlockResult) -> str:
    """Write the size of the smallest group; nothing of categories alone, where groups with the same ones are one."""
    if block.drawn:
        return "-"
    return "" if math.isnan(block.information_loss) else number(block.min_group)


def _revealing(block: BlockResult) -> list[str]:
    """What the groups of a block tell, and what is lost in them."""
    return [
        f"{block.observed_share:.2f}",
        number(block.coincident),
        number(block.revealed),
        figure_text(block.information_loss),
    ]


def _tried(block: BlockResult) -> str:
    """Say what each aggregator that keeps the rules of a block would lose."""
    return f"{', '.join(block.variables)}: {'; '.join(map(_outcome, block.candidates))}"


def solved_told(block: BlockResult) -> str:
    """Say what groups share where not all variables are constant in them."""
    solved = dict.fromkeys(one.field for one in block.solved)
    grouped = [name for name in block.variables if name not in solved]
    how = dict.fromkeys(f"{one.field} by {one.rule}" for one in block.solved)
    verb = "follows" if len(solved) == 1 else "follow"
    return (
        f"{', '.join(how)}: groups share {', '.join(grouped)}; {', '.join(solved)} {verb} in each record from these "
        "and from its unmasked fields, not counted for the smallest group"
    )


def cuts_told(blocks: Iterable[BlockResult]) -> Iterator[str]:
    """Say of each partition what cutting it has done, once for all of its blocks."""
    cuts: dict[CutResult, list[str]] = {}
    for block in blocks:
        if block.cut is not None:
            cuts.setdefault(block.cut, []).extend(block.variables)
    yield from (f"{', '.join(names)}: {_cut(cut)}" for cut, names in cuts.items())


def _cut(cut: CutResult) -> str:
    """Say into what a stratum was cut, and what that costs."""
    how = "measured" if cut.measured else "estimated"
    return (
        f"{counted(cut.records, 'record')} in {counted(cut.blocks, 'block')} of at most {number(cut.largest)}, costs "
        f"{figure_text(cut.information_loss)} percentage points of information loss ({how})"
    )


def _outcome(candidate: CandidateResult) -> str:
    name = candidate.aggregator + (f" ({', '.join(candidate.solved)})" if candidate.solved else "")
    if math.isnan(candidate.information_loss):
        return f"{name} {candidate.verdict}"
    copied = f" with {100 * candidate.copied_share:.1f} % of the records copied" if candidate.copied_share else ""
    return f"{name} loses {figure_text(candidate.information_loss)} %{copied} ({candidate.verdict})"


_RISK = ("disclosure_risk", "strongest_linkage", "key_k", "key_uniques", "global_risk")
"""Figures of risk that are named, where they are known; the verdict has others."""
_ENDS = 4
"""Lines that the two statements take."""


def summary(result: MaskResult) -> list[RenderableType]:
    """What was done and promised, loss, risk, warnings, notes as far as they fit, files, and the verdict."""
    lines = [*_done(result), *_told(result), *_dangers(result), *_files(result)]
    said = statements(result.verdict)
    return [Screenful([*lines, SummaryLine("details", result.verdict.details)], used=_ENDS), *said]


def _done(result: MaskResult) -> Iterator[SummaryLine]:
    left_out = f", {counted(len(result.excluded), 'record')} left out" if result.excluded else ""
    fields = [name for block in result.blocks for name in block.variables]
    many = f"{counted(len(dict.fromkeys(fields)), 'field')} in {counted(len(result.blocks), 'block')}"
    method = f"{many} by {result.method}; " if result.blocks else ""
    yield SummaryLine(
        "masked",
        f"{counted(result.records_in, 'record')} in, {number(result.records_out)} out{left_out}; "
        f"{method}{groups_told(result)}",
    )
    yield from treated_in_brief(result.treatments, result.fates)
    if result.engines:
        yield SummaryLine("judged by", "; ".join(_engine(one, result) for one in result.engines))


def _engine(engine: EngineResult, result: MaskResult) -> str:
    """Say what an engine judged, and whether it agrees."""
    said = [f"{engine.rules} of {result.engines[0].rules} rules"]
    said += [] if engine.records == result.records_out else [f"{number(engine.records)} records"]
    said += [] if engine.agrees else ["DOES NOT AGREE"]
    return f"{engine.engine}: {', '.join(said)}"


def _told(result: MaskResult) -> Iterator[SummaryLine]:
    yield SummaryLine("promised", result.promise)
    less = result.draw is None and result.whole_record_k < result.k
    apart = "; k is promised of each block, not of whole records" if less else ""
    same = counted(result.whole_record_k, "record")
    if result.blocks:
        yield SummaryLine("alike", f"in ALL masked fields: at least {same}{apart}")
    moved = max(result.totals, key=lambda one: _size(one.change), default=None)
    out = f", counting the {counted(len(result.excluded), 'record')} left out" if result.excluded else ""
    total = "" if moved is None else f"; totals moved by {_size(moved.change):.3f} % at most ({moved.name}){out}"
    yield SummaryLine("loss", f"information loss {figure_text(result.information_loss)} % (SSE/SST){total}")
    known = {one.name: one for one in result.figures}
    earlier = {one.name: f" ({valued(one)} before)" for one in result.before}
    risks = [f"{name} {valued(known[name])}{earlier.get(name, '')}" for name in _RISK if name in known]
    if risks:
        yield SummaryLine("risk", ", ".join(risks))
    yield from brief("keys", [] if result.keys is None else estimate_lines(result.keys)[:1])
    yield from brief("levels", level_lines(result.levels))


def _size(change: float) -> float:
    return 0.0 if math.isnan(change) else abs(change)


def _dangers(result: MaskResult) -> Iterator[SummaryLine]:
    """Yield what somebody has to look at first, then what is good to know."""
    for what, remedy in concern_remedies(result.concerns):
        yield SummaryLine("look at", f"{what}; {remedy}", whole=False, style="yellow", cut_to=f"{remedy}: {what}")
    unasked = (f"{one.engine}: {left}" for one in result.engines for left in one.not_judged)
    yield from brief("unjudged", unasked, "yellow")
    yield from brief("not asked", (f"{rule}: {why}" for rule, why in result.not_applicable.items()), "yellow")
    yield from brief("let go", result.allowed, "yellow")
    yield from brief("note", result.notes)
    yield from brief("mended", map(repair_told, result.repairs))
    yield from brief("per record", (solved_told(block) for block in result.blocks if block.solved))
    yield from brief("cut", cuts_told(result.blocks))
    yield from brief("note", (note for engine in result.engines for note in engine.notes))


def _files(result: MaskResult) -> Iterator[SummaryLine]:
    if result.output:
        yield SummaryLine("files", f"masked file: {result.output}")
        for name, place in result.tables.items():
            yield SummaryLine("files", f"table of {name}: {place}")
        if result.rules_file:
            yield SummaryLine("files", f"rules for the masked file: {result.rules_file}")
        yield SummaryLine("files", f"manifest (confidential): {result.manifest}")
