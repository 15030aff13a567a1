"""Make a hierarchy of the values of a field, for a user to look through."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from masktron.config import Config
from masktron.errors import DocumentError, UsageError
from masktron.files import refuse_outputs
from masktron.hierarchies import prefixes, widths, written
from masktron.jobs.described import completed
from masktron.problems.problem import Field, Known, Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.results import HierarchyResult, shown
from masktron.sources.opening import open_source
from masktron.write.atomic import atomic_path, blamed

LEVELS = 4


def run_hierarchy(
    data: Path,
    out: Path,
    field: str,
    *,
    width: Fraction | None = None,
    levels: int | None = None,
    digits: tuple[int, ...] | None = None,
    config: Config | None = None,
    progress: Progress = no_progress,
) -> HierarchyResult:
    """Write a hierarchy of the values of a field as CSV.

    Parameters
    ----------
    data, out : Path
    field : str
    width : Fraction, optional
        Of intervals of numbers, which double from level to level: see `masktron.hierarchies.widths`.
    levels : int, optional
        With `width`: levels above the values, the last being ``*``; 4 when not given.
    digits : tuple of int, optional
        Letters and digits that codes keep, level by level: see `masktron.hierarchies.prefixes`. One of both is given.
    config : Config, optional
        Missing codes, and how the file is read.

    Raises
    ------
    UsageError
        There is no such field, it has a value of which no such hierarchy can be made, or not one of `width` and
        `digits` is given; or the output would overwrite an input.
    DocumentError
        A file cannot be read or written, or its records are no rows of single values.
    """
    config = config or Config()
    if (width is None) == (digits is None):
        ways = Setting("--width", ("5",)), Setting("--digits", ("3,2",))
        raise UsageError.of(
            "needs-setting", name="a hierarchy", needed="intervals or beginnings of codes", setting=ways
        )
    if levels is not None and width is None:
        raise UsageError.of(
            "needs-setting", name=Setting("--levels"), setting=Setting("--width", ("5",)), needed="another option"
        )
    refuse_outputs({"the output": out}, {"the data": data, "the metadata": config.metadata})
    progress(f"surveying {data.name}", 0)
    source = open_source(data, reading=config.reading, progress=progress)
    if not source.shape.flat:
        raise DocumentError.of("records-not-flat", data, reason=source.shape.reason)
    config, _ = completed(config, source)
    names = [one.name for one in source.layout.fields]
    if field not in names:
        raise UsageError.of("unknown-name", data, name=Field(field), known=Known(field, tuple(names)), kind="field")
    reading = told_as(progress, f"reading {data.name}")
    column = source.records(missing=config.missing, told=reading).columns[field]
    values = sorted({text for text in column.held.tolist() if text is not None})
    if width is not None:
        made = widths(field, values, width, LEVELS if levels is None else levels)
    else:
        made = prefixes(field, values, digits or ())
    with atomic_path(out) as temporary, blamed(out):
        temporary.write_bytes(written(made))
    classes = tuple(len(set(labels.values())) for labels in made.levels[1:])
    return HierarchyResult(shown(data), shown(out), field, len(made.levels[0]), classes)
