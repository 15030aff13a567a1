"""``masktron metadata``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running


def metadata(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The description to write.")],
    to: Annotated[
        str, typer.Option("--to", metavar="ddi|tableschema", help="DDI-Codebook 2.5, or Table Schema in JSON.")
    ] = "ddi",
    described: options.Metadata = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    record: options.Record = None,
    json: options.Json = None,
) -> None:
    """Write what the fields of a file mean: names, labels, kinds and missing codes, and no value of a record."""
    from masktron.config import ReadOptions, parse_format_options

    running.check_outputs({"--out": out, "--json": json}, {"the data": data, "the metadata": described})
    reading = ReadOptions(record, format, parse_format_options(format_option or []), described)
    with running.progress_shown() as progress:
        from masktron.jobs.metadata import run_metadata

        result = run_metadata(data, out, to=to, reading=reading, progress=progress)
    running.report(result, json)
