"""``masktron doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json
from masktron.errors import Exit


def doctor(
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile now what runs would have to compile; once per machine.")
    ] = False,
    json: Json = None,
) -> None:
    """Say what this installation has: versions, engines that work, compiled code."""
    running.check_outputs({"--json": json}, {})
    with running.progress_shown() as progress:
        from masktron.jobs.doctor import run_doctor

        result = run_doctor(warm_up=warm, progress=progress)
    running.report(result, json)
    raise typer.Exit(Exit.COMPLIES if result.works else Exit.VIOLATION)
