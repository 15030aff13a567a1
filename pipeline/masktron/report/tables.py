"""Results as tables for the eye: counts and names, never a value of a record."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table

from masktron.report.outputs import STDOUT, Outputs
from masktron.report.parts import drawn_fields, in_groups, listed
from masktron.report.preflight import preflight_lines
from masktron.report.text import number, plain
from masktron.report.verdict import rules_held
from masktron.results import (
    AssessResult,
    BlockResult,
    CandidateResult,
    CheckResult,
    CutResult,
    DrawResult,
    EngineResult,
    ExplainResult,
    FigureResult,
    MaskResult,
    RepairResult,
    RuleExplanation,
    RuleResult,
    Tested,
    ValidateResult,
)

WIDTH = 118


def render(parts: Iterable[RenderableType], *, width: int = WIDTH) -> str:
    """Render to plain text, for `repr` and logs."""
    stream = io.StringIO()
    show(parts, Console(file=stream, width=width, color_system=None, highlight=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip().split("\n"))


def show(parts: Iterable[RenderableType], console: Console) -> None:
    """Print to a console."""
    for part in parts:
        console.print(part)


def validate_tables(result: ValidateResult) -> list[RenderableType]:
    """One row per rule, the verdict below."""
    if not result.valid:
        verdict = f"[red]{_wrong(result)}[/]"
    elif result.violations:
        verdict = f"[green]valid[/]: {_count(result.violations, 'violation')}, all within what is allowed"
    else:
        fired = any(rule.reached for rule in result.rules)
        verdict = "[green]valid[/]" if fired else "[yellow]valid, but no rule fired[/]"
    # behind a list of rules a comma would make one more of it
    soft = f"{';' if ';' in verdict else ','} {_soft(result.warnings)}" if result.warnings else ""
    return [
        _rules(result.rules),
        *_notes("note", result.notes),
        *_tested(result.tested if result.records else None),
        f"{plain(result.data)}: {_count(result.records, 'record')}, {verdict}{soft}  ({plain(result.engine)})",
    ]


def _soft(warnings: int) -> str:
    return f"{_count(warnings, 'warning')} of soft rules"


def written(outputs: Outputs, result: ValidateResult) -> list[str]:
    """Name the reports, and say where they are confidential."""
    paths = [path.as_posix() for path in outputs.files().values() if path != STDOUT]
    mark = "" if result.release_safe else ", CONFIDENTIAL"
    return [f"written{mark}: {plain(', '.join(paths))}"] if paths else []


def _wrong(result: ValidateResult) -> str:
    """Return the violations, and which rules have more than they may, where any may have some."""
    said = _count(result.violations, "violation")
    idle = [rule.id for rule in result.rules if rule.idle]
    tested = f"; not tested: {plain(', '.join(idle))}" if idle else ""
    if all(rule.allowed is None for rule in result.rules):
        return said + tested
    over = [rule.id for rule in result.rules if not rule.passes and not rule.idle]
    return said + (f"; too many of {plain(', '.join(over))}" if over else "") + tested


def _tested(tested: Tested | None) -> list[str]:
    """Say how many rules were tested; nothing of a file without records."""
    return [] if tested is None else [plain(str(tested))]


def explain_tables(result: ExplainResult) -> list[RenderableType]:
    """One row per rule: class and meaning, with data also counts, tier and aggregator; then the blocks."""
    rules = result.rules
    whole = [f"{r.id}: {r.tier.partition(': ')[2]}" for r in rules if r.tier is not None and r.tier.startswith("3")]
    return [
        f"{plain(result.rulebook)}: {_count(len(rules), 'rule')}, XPath {result.version}",
        _Explained(rules),
        *([_blocks(rules)] if any(rule.block for rule in rules) else []),
        *_unmasked(rules),
        *_gravity(rules),
        *_notes("needs the whole file", whole),
        *preflight_lines(result),
        *_notes("note", result.notes),
        *_tested(result.tested),
        *([f"[yellow]mask would stop:[/] {_error(result.obstacle)}"] if result.obstacle else []),
    ]


ROOMY = 100
"""Columns that a terminal must have to show meaning and facts of rules side by side."""


@dataclass(frozen=True, slots=True)
class _Explained:
    """The rules in one table, or in a narrow terminal in two."""

    rules: tuple[RuleExplanation, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        facts = any(rule.fired is not None for rule in self.rules)
        if not facts or options.max_width >= ROOMY:
            yield self._table(meaning=True, facts=facts)
        else:
            yield self._table(meaning=True, facts=False)
            yield self._table(meaning=False, facts=True)

    def _table(self, *, meaning: bool, facts: bool) -> Table:
        planned = facts and any(rule.block for rule in self.rules)
        headers = ["rule"]
        headers += ["class", "what it says"] if meaning else []
        headers += ["fired", "failed", "needs"] if facts else []
        headers += ["kept by"] if planned else []
        table = _table(*headers)
        for rule in self.rules:
            row = [plain(rule.id)]
            row += [rule.kind, plain(rule.form or rule.reason)] if meaning else []
            row += [_optional(rule.fired), _optional(rule.failed), _tier(rule)] if facts else []
            row += [_one_per_line(rule.candidates) or "-"] if planned else []
            table.add_row(*row)
        return _unbroken(table, [rule.id for rule in self.rules])


def _tier(rule: RuleExplanation) -> str:
    """What the evaluation of a rule needs to see at a time: see `masktron.evaluation.tiers`."""
    tier = rule.tier or ""
    return "passes" if "across records" in tier else {"1": "columns", "2": "record"}.get(tier[:1], "file")


def _blocks(rules: Sequence[RuleExplanation]) -> Table:
    table = _table("masked together", "aggregator", "why")
    for block, candidates, why in dict.fromkeys((r.block, r.candidates, r.why) for r in rules if r.block):
        table.add_row(plain(", ".join(block or ())), _one_per_line(candidates), plain(why or ""))
    return table


def _one_per_line(names: Sequence[str]) -> str:
    return ",\n".join(map(plain, names))


def _unmasked(rules: Sequence[RuleExplanation]) -> list[str]:
    """Rules without a block, by reason."""
    reasons = dict.fromkeys(rule.why for rule in rules if rule.why and not rule.block)
    return [plain(f"{why}: {', '.join(rule.id for rule in rules if rule.why == why)}") for why in reasons]


def _gravity(rules: Sequence[RuleExplanation]) -> Iterator[str]:
    """Say which rules are soft and which are hard, and because of which attribute."""
    kinds = dict.fromkeys((rule.soft, rule.marks) for rule in rules)
    for soft, marks in sorted(kinds, reverse=True):
        ids = ", ".join(rule.id for rule in rules if (rule.soft, rule.marks) == (soft, marks))
        said = " and ".join(marks)
        if soft:
            yield plain(f"soft, for {said} (a failure is reported and decides nothing): {ids}")
        elif marks:
            yield plain(f"hard, as {said} is none of the words that make a rule soft: {ids}")
        else:
            yield plain(f"hard, as {'they have' if ids.count(',') else 'it has'} no role, flag or severity: {ids}")


def mask_tables(result: MaskResult) -> list[RenderableType]:
    """Blocks, engines, and the figures of the whole file."""
    engines = _table("re-validated by", "rules", "records", "violations", "agrees")
    for engine in result.engines:
        engines.add_row(
            plain(engine.engine),
            f"{engine.rules} of {result.engines[0].rules}",
            number(engine.records),
            number(engine.violations),
            _agreement(engine),
        )
    verdict = (
        f"[green]{plain(rules_held(result))}[/]"
        if result.valid
        else f"[red]{_count(result.violations, 'violation')}[/]"
    )
    lines: list[RenderableType] = [
        _Masked(result.blocks),
        *([] if result.draw is None else [_moments(result.draw)]),
        *_totals(result),
        engines,
        *_notes("tried", tuple(_tried(block) for block in result.blocks if block.candidates)),
        *_notes("solved per record", tuple(_solved(block) for block in result.blocks if block.solved)),
        *_notes("cut", tuple(_cuts(result.blocks))),
        *_notes("note", result.notes),
        *_notes("note", tuple(note for engine in result.engines for note in engine.notes)),
        *_notes("not judged", tuple(f"{one.engine}: {left}" for one in result.engines for left in one.not_judged)),
        *_notes("not applicable", tuple(f"{rule}: {why}" for rule, why in result.not_applicable.items())),
        *_notes("let go", result.allowed),
        *_notes("mended", tuple(map(_repair, result.repairs))),
    ]
    excluded = f", {_count(len(result.excluded), 'record')} left out" if result.excluded else ""
    lines.append(
        f"{_count(result.records_in, 'record')} in, {number(result.records_out)} out{excluded}; {verdict}; "
        f"{_groups(result)}; information loss {_figure(result.information_loss)} %"
    )
    lines += _tested(result.tested)
    lines.append(plain(f"{result.method} promises: {result.promise}"))
    linked = (
        ""
        if math.isnan(result.linkage)
        else f"; {result.linkage:.1f} % of the masked records are nearest to their own original, by standardised "
        "Euclidean distance; a better distance can link more"
    )
    lines.append(f"alike in ALL masked fields: at least {_count(result.whole_record_k, 'record')}{linked}")
    lines += _in_short(result.figures)
    lines.append("masktron assess says what each figure means, and has more")
    if result.output:
        lines.append(f"masked file: {plain(result.output)}")
        lines.append(f"manifest (confidential): {plain(result.manifest)}")
    lines.append(plain(result.verdict))
    return lines


def _agreement(engine: EngineResult) -> str:
    """Say whether an engine agrees, and what had to be known of it for that."""
    if not engine.agrees:
        return "[red]no[/]"
    if not engine.deviations:
        return "yes"
    known = _count(len(engine.deviations), "known deviation")
    return f"yes, but for {known}: {', '.join(engine.deviations)}"


def _totals(result: MaskResult) -> list[Table]:
    """Weighted totals, and how far the shares of categories have moved.

    The total of fewer than k records would tell too much of each: only its change is shown.
    """
    tables = []
    if result.totals:
        table = _table("weighted total", "records", "before", "after", "change %")
        for total in result.totals:
            figures = ("-", "-")
            if total.records >= result.k:
                figures = (number(total.before, ".12g"), number(total.after, ".12g"))
            table.add_row(plain(total.name), number(total.records), *figures, _figure(total.change))
        tables.append(table)
    if result.categories:
        table = _table("categories", "kind", "distinct before", "distinct after", "shares moved %")
        for category in result.categories:
            held = [sum(count > 0 for count in counts.values()) for counts in (category.before, category.after)]
            table.add_row(plain(category.name), category.kind, *map(str, held), _figure(category.distance))
        tables.append(table)
    return tables


def _groups(result: MaskResult) -> str:
    """Say how large the groups are, where there are any."""
    if result.draw is None:
        return f"k = {result.k}, smallest group {number(result.min_group)}"
    grouped = in_groups(result.blocks)
    fields = plain(listed(drawn_fields(result.blocks)))
    if result.draw.smallest is None:
        if not grouped:
            return "every record has values of its own"
        return f"every record has values of its own in {fields}; {plain(grouped)} (k = {result.k})"
    of = f" of {fields}" if grouped else ""
    said = f"values{of} drawn for {_optional(result.draw.groups)} groups of at least {result.draw.smallest} records"
    return f"k = {result.k}, {said}{'; ' if grouped else ''}{plain(grouped)}"


def _moments(draw: DrawResult) -> Table:
    """What keeping the rules does to means and variances, beside what the method drew."""
    table = _table("drawn", "mean drawn", "written", "variance drawn", "written")
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


def _repair(repair: RepairResult) -> str:
    off = f"{abs(repair.before):g} steps of the grid too {'high' if repair.before > 0 else 'low'} after masking"
    return f"{repair.rule}: {off}, {repair.after:g} now; {_count(repair.groups, 'group')} moved"


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
        table = _table(*headers)
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
        "-" if block.drawn else number(block.min_group),
        ", ".join(f"{name} {number(count)}" for name, count in block.exits.items() if count),
    ]


def _revealing(block: BlockResult) -> list[str]:
    """What the groups of a block tell, and what is lost in them."""
    return [
        f"{block.observed_share:.2f}",
        number(block.coincident),
        number(block.revealed),
        _figure(block.information_loss),
    ]


def _tried(block: BlockResult) -> str:
    """Say what each aggregator that keeps the rules of a block would lose."""
    return f"{', '.join(block.variables)}: {'; '.join(map(_outcome, block.candidates))}"


def _solved(block: BlockResult) -> str:
    """Say what groups share where not all variables are constant in them."""
    solved = dict.fromkeys(one.field for one in block.solved)
    grouped = [name for name in block.variables if name not in solved]
    how = dict.fromkeys(f"{one.field} by {one.rule}" for one in block.solved)
    verb = "follows" if len(solved) == 1 else "follow"
    return (
        f"{', '.join(how)}: groups share {', '.join(grouped)}; {', '.join(solved)} {verb} in each record from these "
        "and from its unmasked fields, not counted for the smallest group"
    )


def _cuts(blocks: Iterable[BlockResult]) -> Iterator[str]:
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
        f"{number(cut.records)} records in {number(cut.blocks)} blocks of at most {number(cut.largest)}, costs "
        f"{_figure(cut.information_loss)} percentage points of information loss ({how})"
    )


def _outcome(candidate: CandidateResult) -> str:
    name = candidate.aggregator + (f" ({', '.join(candidate.solved)})" if candidate.solved else "")
    if math.isnan(candidate.information_loss):
        return f"{name} {candidate.verdict}"
    copied = f" with {100 * candidate.copied_share:.1f} % of the records copied" if candidate.copied_share else ""
    return f"{name} loses {_figure(candidate.information_loss)} %{copied} ({candidate.verdict})"


def assess_tables(result: AssessResult) -> list[RenderableType]:
    """One row per figure with what it means, then what was taken for granted."""
    table = _table("about", "figure", "value", "what it means")
    last = ""
    for figure in result.figures:
        worst = f" Here most in {plain(figure.field)}." if figure.field else ""
        about = figure.group if figure.group != last else ""
        table.add_row(about, figure.name, _valued(figure), figure.meaning + worst)
        last = figure.group
    compared = f"{_count(len(result.numeric), 'number')} and {_count(len(result.categorical), 'field')} of categories"
    nothing = ", ".join(one.name for one in result.figures if math.isnan(one.value) and not one.field)
    unlike = [figure for figure in result.figures if math.isnan(figure.value) and figure.field]
    return [
        table,
        *_notes("nothing to tell", [f"{nothing}: the files have too little of what it is about"] if nothing else []),
        *_notes("no figure", [f"{one.name}: {one.field} had nothing before, or has nothing after" for one in unlike]),
        *_notes("note", result.notes),
        f"{plain(result.masked)} against {plain(result.original)}: {_count(result.records, 'record')}, {compared}",
    ]


def _valued(figure: FigureResult) -> str:
    """Value and unit; small values with the digits that count."""
    if math.isnan(figure.value):
        return "-"
    if figure.unit == "records":
        return number(figure.value, ".0f")
    small = 0 < abs(figure.value) < 0.01
    return f"{number(figure.value, '.2g' if small else '.3f')} {figure.unit}".rstrip()


def _in_short(figures: Sequence[FigureResult]) -> list[str]:
    """Figures by group, a line each."""
    groups = dict.fromkeys(figure.group for figure in figures)
    return [
        f"{group}: " + ", ".join(f"{figure.name} {_valued(figure)}" for figure in figures if figure.group == group)
        for group in groups
    ]


def check_tables(result: CheckResult) -> list[RenderableType]:
    """Rules, what was checked, what is wrong, what could not be checked."""
    verdict = "[green]complies[/]" if result.complies else "[red]does not comply[/]"
    if result.complies and result.not_checked:
        verdict = "[green]complies[/] as far as it was checked"
    soft = f", {_soft(result.warnings)}" if result.warnings else ""
    within = tuple(
        f"{rule.id}: {_count(rule.violations, 'violation')}, {rule.allowed} allowed"
        for rule in result.rules
        if rule.violations and rule.allowed is not None and rule.passes
    )
    return [
        _rules(result.rules),
        *_in_short(result.figures),
        *_notes("within what is allowed", within),
        *_notes("[green]checked[/]", result.checked),
        *_notes("[yellow]not checked[/]", result.not_checked),
        *_notes("note", result.notes),
        *_notes("[red]problem[/]", result.problems),
        *_tested(result.tested if result.records else None),
        f"{plain(result.data)}: {_count(result.records, 'record')}, "
        f"{_count(result.violations, 'violation')}{soft}; {verdict}"
        + ("" if result.min_group is None else f"; smallest group {number(result.min_group)}"),
    ]


def _rules(rules: Sequence[RuleResult]) -> Table:
    bounded = any(rule.allowed is not None for rule in rules)
    allowed = ("allowed",) if bounded else ()
    table = _table("rule", "class", "fired", "failed", "errors", *allowed, "where")
    for rule in rules:
        failed = f"[red]{number(rule.failed)}[/]" if rule.failed and not rule.passes else number(rule.failed)
        name = f"{plain(rule.id)} (soft)" if rule.soft else plain(rule.id)
        errors = f"[red]{number(rule.errors)}[/]" if rule.errors and not rule.passes else number(rule.errors)
        bound = (str(rule.allowed or "-"),) if bounded else ()
        fired = f"[red]{number(rule.fired)}[/]" if rule.idle and not rule.reached else number(rule.fired)
        table.add_row(name, rule.kind, fired, failed, errors, *bound, plain(_bare(rule.origin)))
    return _unbroken(table, [rule.id for rule in rules])


def _error(message: str) -> str:
    """Return the text of an error, each problem and each hint on a line of its own."""
    return re.sub("\n *->", "\n  ->", "\n".join(map(plain, message.split("\n"))))


def _bare(origin: str) -> str:
    """Origin without folders."""
    return re.sub(r"[^\s()]*/", "", origin)


NUMERIC = {
    "fired",
    "failed",
    "errors",
    "allowed",
    "groups",
    "min",
    "observed %",
    "coincident",
    "revealed",
    "loss %",
    "records",
    "violations",
} | {
    "before",
    "after",
    "change %",
    "distinct before",
    "distinct after",
    "shares moved %",
}
SHORT = {"class", "kind", "aggregator", "needs", "kept by"}
LONGEST_ID = 24
"""Rule ids up to this length are never broken over lines."""


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        right = header in NUMERIC
        table.add_column(
            header, justify="right" if right else "left", overflow="fold", no_wrap=right or header in SHORT
        )
    return table


def _unbroken(table: Table, ids: Iterable[str]) -> Table:
    """Keep the ids in the first column on one line, if none is very long."""
    table.columns[0].no_wrap = max(map(len, ids), default=0) <= LONGEST_ID
    return table


def _notes(label: str, notes: Sequence[str]) -> list[str]:
    return [f"{label}: {plain(note)}" for note in notes]


def _count(many: int, noun: str) -> str:
    return f"{number(many)} {noun}" if many == 1 else f"{number(many)} {noun}s"


def _optional(count: int | None) -> str:
    return "" if count is None else number(count)


def _figure(value: float) -> str:
    return "-" if math.isnan(value) else number(round(value, 3) + 0.0, ".3f")  # adding 0.0 turns -0.0 into 0.0
