"""``masktron demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json
from masktron.errors import Exit


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")] = Path(
        "masktron-demo"
    ),
    json: Json = None,
) -> None:
    """Validate, mask and check the samples that come with masktron, and say where the results lie."""
    running.check_outputs({"--json": json}, {})
    with running.progress_shown() as progress:
        from masktron.jobs.demo import run_demo

        result = run_demo(out, running.console(stderr=running.is_stdout(json)), progress)
    running.write(result.as_dict(), json)
    raise typer.Exit(Exit.COMPLIES if result.complies else Exit.VIOLATION)
