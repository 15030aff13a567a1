"""Which levels a nested file has."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.sources.records import Field


@dataclass(frozen=True, slots=True)
class Level:
    """Elements of one kind that hold fields, and maybe elements of further kinds."""

    name: str
    tag: str
    fields: tuple[Field, ...]
    children: tuple[Level, ...] = ()
    count: int = 0
    least: int = 0
    most: int = 0
