"""Combined estimates as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

from masktron.report.text import number, plain

if TYPE_CHECKING:
    from masktron.jobs.combine import CombineResult

_MILLION, _WHOLE = 1e6, 1e15
_RULES = {
    False: "partially synthetic: T = b/m + v, with (m - 1)(1 + m v/b)^2 degrees of freedom (Reiter 2003)",
    True: "fully synthetic: T = (1 + 1/m) b - v, with (m - 1)(1 - m v/((m + 1) b))^2 degrees of freedom "
    "(Raghunathan, Reiter and Rubin 2003)",
}


def combine_tables(result: CombineResult) -> list[RenderableType]:
    """One row per quantity, then the rule, and what was adjusted."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("quantity")
    for head in ("estimate", "standard error", "degrees of freedom", "low", "high", "releases"):
        table.add_column(head, justify="right")
    for name, one in result.quantities.items():
        numbers = (one.estimate, one.variance**0.5, one.freedom, one.low, one.high)
        table.add_row(plain(name), *map(_estimate, numbers), f"{one.releases}")
    adjusted = [name for name, one in result.quantities.items() if one.adjusted]
    notes = (
        [f"T was not above 0, so that v times the ratio of records was taken: {plain(', '.join(adjusted))}"]
        if adjusted
        else []
    )
    return [table, f"{100 * result.level:g} % intervals; {_RULES[result.full]}", *notes]


def _estimate(value: float) -> str:
    """Six digits, and from a million on all that stand before the point."""
    return number(value, ".0f") if _MILLION <= abs(value) < _WHOLE else f"{value:.6g}"
