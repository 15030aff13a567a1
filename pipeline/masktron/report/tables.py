"""Results as tables for the eye: counts and names, never a value of a record."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from masktron.results import CheckResult, ExplainResult, MaskResult, RuleResult, ValidateResult

WIDTH = 118


def render(parts: Iterable[RenderableType], *, width: int = WIDTH) -> str:
    """Render to plain text, for `repr` and logs."""
    stream = io.StringIO()
    show(parts, Console(file=stream, width=width, color_system=None, highlight=False))
    return stream.getvalue().rstrip()


def show(parts: Iterable[RenderableType], console: Console) -> None:
    """Print to a console."""
    for part in parts:
        console.print(part)


def validate_tables(result: ValidateResult) -> list[RenderableType]:
    """One row per rule, the verdict below."""
    verdict = "[green]valid[/]" if result.valid else f"[red]{_count(result.violations, 'violation')}[/]"
    soft = f", {_count(result.warnings, 'warning')} of soft rules" if result.warnings else ""
    return [
        _rules(result.rules),
        *_notes("note", result.notes),
        f"{escape(result.data)}: {_count(result.records, 'record')}, {verdict}{soft}  ({escape(result.engine)})",
    ]


def explain_tables(result: ExplainResult) -> list[RenderableType]:
    """One row per rule: class, normal form, and with data counts and aggregator."""
    counted = any(rule.fired is not None for rule in result.rules)
    table = _table("rule", "class", "what it says")
    if counted:
        table.add_column("fired", justify="right")
        table.add_column("failed", justify="right")
        table.add_column("masked with")
    for rule in result.rules:
        meaning = rule.form or rule.reason
        row = [escape(rule.id), rule.kind, escape(meaning)]
        if counted:
            where = "" if rule.aggregator is None else f"{rule.aggregator} over {', '.join(rule.block or ())}"
            row += [_optional(rule.fired), _optional(rule.failed), escape(where)]
        table.add_row(*row)
    reasons = dict.fromkeys(
        f"{', '.join(rule.block)}: {rule.why}" for rule in result.rules if rule.block and rule.why
    )
    obstacle = [f"[yellow]mask would stop:[/] {escape(result.obstacle)}"] if result.obstacle else []
    return [
        f"{escape(result.rulebook)}: {_count(len(result.rules), 'rule')}, XPath {result.version}",
        table,
        *_notes("why", tuple(reasons)),
        *_notes("note", result.notes),
        *obstacle,
    ]


def mask_tables(result: MaskResult) -> list[RenderableType]:
    """Blocks, engines, and the figures of the whole file."""
    blocks = _table("masked together", "aggregator", "groups", "min", "settled by", "loss %", "keeps")
    for block in result.blocks:
        exits = ", ".join(f"{name} {count}" for name, count in block.exits.items() if count)
        blocks.add_row(
            escape(", ".join(block.variables)),
            block.aggregator,
            f"{block.groups}",
            f"{block.min_group}",
            exits,
            _figure(block.information_loss),
            escape(", ".join(block.rules)) or "-",
        )
    engines = _table("re-validated by", "records", "violations", "agrees")
    for engine in result.engines:
        engines.add_row(
            escape(engine.engine),
            f"{engine.records}",
            f"{engine.violations}",
            "yes" if engine.agrees else "[red]no[/]",
        )
    verdict = "[green]every rule holds[/]" if result.valid else f"[red]{_count(result.violations, 'violation')}[/]"
    lines: list[RenderableType] = [
        blocks,
        engines,
        *_notes("note", result.notes),
        *_notes("note", tuple(note for engine in result.engines for note in engine.notes)),
        *_notes("not applicable", tuple(f"{rule}: {why}" for rule, why in result.not_applicable.items())),
        *_notes("let go", result.allowed),
    ]
    excluded = f", {_count(len(result.excluded), 'record')} left out" if result.excluded else ""
    lines.append(
        f"{_count(result.records_in, 'record')} in, {result.records_out} out{excluded}; {verdict}; "
        f"k = {result.k}, smallest group {result.min_group}; information loss {_figure(result.information_loss)} %"
    )
    lines.append(
        f"alike in ALL masked fields: at least {_count(result.whole_record_k, 'record')}; "
        f"{result.linkage:.1f} % of the masked records link to their original by distance"
    )
    if result.whole_record_k < result.k:
        lines.append(
            "[yellow]Masking block by block is not k-anonymity of whole records;[/] "
            "--grouping all makes one partition of all masked fields."
        )
    lines.append(f"masked file: {escape(result.output)}")
    lines.append(f"manifest (confidential): {escape(result.manifest)}")
    return lines


def check_tables(result: CheckResult) -> list[RenderableType]:
    """Rules, what was checked, what is wrong, what could not be checked."""
    verdict = "[green]complies[/]" if result.complies else "[red]does not comply[/]"
    return [
        _rules(result.rules),
        *_notes("[green]checked[/]", result.checked),
        *_notes("[yellow]not checked[/]", result.not_checked),
        *_notes("[red]problem[/]", result.problems),
        f"{escape(result.data)}: {_count(result.records, 'record')}, "
        f"{_count(result.violations, 'violation')}; {verdict}"
        + ("" if result.min_group is None else f"; smallest group {result.min_group}"),
    ]


def _rules(rules: Sequence[RuleResult]) -> Table:
    table = _table("rule", "class", "fired", "failed", "errors", "where")
    for rule in rules:
        failed = f"[red]{rule.failed}[/]" if rule.failed and not rule.soft else f"{rule.failed}"
        name = f"{escape(rule.id)} (soft)" if rule.soft else escape(rule.id)
        table.add_row(name, rule.kind, f"{rule.fired}", failed, f"{rule.errors}", escape(_bare(rule.origin)))
    return table


def _bare(origin: str) -> str:
    """Origin without folders."""
    return re.sub(r"[^\s()]*/", "", origin)


NUMERIC = {"fired", "failed", "errors", "groups", "min", "loss %", "records", "violations"}


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, justify="right" if header in NUMERIC else "left", overflow="fold")
    return table


def _notes(label: str, notes: Sequence[str]) -> list[str]:
    return [f"{label}: {escape(note)}" for note in notes]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _optional(number: int | None) -> str:
    return "" if number is None else f"{number}"


def _figure(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.3f}"
