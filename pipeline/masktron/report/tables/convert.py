"""A conversion for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import noted
from masktron.report.text import plain
from masktron.results import ConvertResult
from masktron.sources.known_formats import XML


def tables(result: ConvertResult) -> list[RenderableType]:
    """What a user should know, what is not carried over, then what was written."""
    told = [*noted("note", result.notes), *noted("not carried over", result.losses)]
    size = f"{counted(result.records, 'record')} of {counted(len(result.columns), 'variable')}"
    return [*told, f"{plain(result.output)}: {size}, in {result.target_format}{_compared(result)}"]


def _compared(result: ConvertResult) -> str:
    if result.records:
        return "; read back, every value the same"
    return "" if result.target_format == XML else "; read back, the names of the variables the same"
