"""Combined estimates for the eye."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from rich.console import RenderableType

from masktron.measures.combining import negative_chance
from masktron.report.tables.cells import table_of
from masktron.report.text import number, plain
from masktron.results import CombineResult

_MILLION, _WHOLE = 1e6, 1e15
_RULES = {
    "partially": "partially synthetic: T = b/m + v, with (m - 1)(1 + m v/b)^2 degrees of freedom (Reiter 2003)",
    "fully": "fully synthetic: T = v (r + (1 + r)/m), r the ratio of records (Raab, Nowok and Dibben 2016)",
    "population": "samples of synthetic populations: T = (1 + 1/m) b - v, with (m - 1)(1 - m v/((m + 1) b))^2 "
    "degrees of freedom (Raghunathan, Reiter and Rubin 2003)",
}


def tables(result: CombineResult) -> list[RenderableType]:
    """One row per quantity, then the rule, and what was adjusted."""
    table = table_of()
    table.add_column("quantity")
    for head in ("estimate", "standard error", "degrees of freedom", "low", "high", "releases"):
        table.add_column(head, justify="right")
    for name, one in result.quantities.items():
        numbers = (one.estimate, one.variance**0.5, one.freedom, one.low, one.high)
        table.add_row(plain(name), *map(_estimate, numbers), f"{one.releases}")
    notes = [*_adjusted(result), *_few(result)]
    return [table, f"{100 * result.level:g} % intervals; {_RULES[result.synthetic]}", *notes]


def _adjusted(result: CombineResult) -> Iterator[str]:
    """Say what became of variances that came out negative, how often that happens, and what helps."""
    adjusted = {name: one for name, one in result.quantities.items() if one.adjusted}
    if adjusted:
        yield f"T was not above 0, so that v times the ratio of records was taken: {plain(', '.join(adjusted))}."
    for releases in dict.fromkeys(one.releases for one in adjusted.values()):
        advised = max(one.advised or 0 for one in adjusted.values() if one.releases == releases)
        yield (
            f"With {releases} samples of synthetic populations, as large as the original, this happens by chance "
            f"to {100 * float(negative_chance(releases)):.0f} of 100 estimates, and the intervals of the others are "
            f"wide: make {advised} releases or more."
        )


def _few(result: CombineResult) -> Iterator[str]:
    """Say where an interval is wide since there are few releases."""
    few = {name: one for name, one in result.quantities.items() if one.advised and not one.adjusted}
    if few:
        told = ", ".join(f"{plain(name)} ({one.freedom:.1f}: {one.advised} releases)" for name, one in few.items())
        yield (
            "Fewer than 5 degrees of freedom, so that the interval is far wider than with more releases; how many "
            f"are enough: {told}."
        )


def _estimate(value: float) -> str:
    """Six digits, and from a million on all that stand before the point."""
    if value == inf:
        return "normal"
    return number(value, ".0f") if _MILLION <= abs(value) < _WHOLE else f"{value:.6g}"
