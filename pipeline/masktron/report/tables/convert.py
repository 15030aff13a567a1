"""A conversion for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.report.text import plain
from masktron.results import ConvertResult


def tables(result: ConvertResult) -> list[RenderableType]:
    """What is not carried over, then what was written."""
    lost = [f"not carried over: {plain(loss)}" for loss in result.losses]
    size = f"{result.records:,} records of {len(result.columns):,} variables"
    return [*lost, f"{plain(result.output)}: {size}, in {result.target_format}; read back, every value the same"]
