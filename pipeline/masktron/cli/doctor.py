"""``masktron doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json
from masktron.errors import Exit, InstallationError


def doctor(
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile now what runs would have to compile; once per machine.")
    ] = False,
    json: Json = None,
) -> None:
    """Say what this installation has: versions, engines, formats that it can read and write, compiled code."""
    from masktron.extras import broken_core

    running.check_outputs({"--json": json}, {})
    if broken := broken_core():
        names = " ".join(one.package for one in broken)
        said = "; ".join(f"{one.package} {one.why}" for one in broken)
        raise InstallationError(f"masktron does not work here: {said}", hint=f"pip install --force-reinstall {names}")
    with running.progress_shown() as progress:
        from masktron.jobs.doctor import run_doctor

        result = run_doctor(warm_up=warm, progress=progress)
    running.report(result, json)
    raise typer.Exit(Exit.COMPLIES if result.works else Exit.VIOLATION)
