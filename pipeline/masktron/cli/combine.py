"""``masktron combine``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json, number


def combine(
    estimates: Annotated[
        Path,
        typer.Argument(
            metavar="ESTIMATES.csv", help="Lines name,estimate,variance, one for each quantity and release; or JSON."
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Every field was drawn; leave it out where some stayed as they were.")
    ] = False,
    population: Annotated[
        bool,
        typer.Option("--population", help="Each release is a sample from a synthetic population of its own."),
    ] = False,
    level: Annotated[
        float, typer.Option(parser=number, metavar="P", help="Level of the confidence intervals, in per cent.")
    ] = 95.0,
    ratio: Annotated[
        float,
        typer.Option(
            parser=number,
            metavar="R",
            help="With --full or --population: records of a release, divided by those of the original.",
        ),
    ] = 1.0,
    json: Json = None,
) -> None:
    """Combine what was estimated from several synthetic releases: estimate, variance, interval."""
    from masktron.jobs.combine import read_estimates, run_combine

    running.check_outputs({"--json": json}, {"the estimates": estimates})
    result = run_combine(read_estimates(estimates), full=full, population=population, level=level / 100, ratio=ratio)
    running.report(result, json)
