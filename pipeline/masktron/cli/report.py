"""``masktron report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running


def report(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT.json",
            help="What a command wrote with --json, or the manifest of mask, which has the most to show.",
        ),
    ],
    masked: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=options.place, help="The masked file, if it is not where the manifest says."
        ),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=options.place, help="The original, if it is not where the manifest says."
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", "-r", metavar="RULES.sch", help="The rulebook, if it is not where the manifest says."
        ),
    ] = None,
    html: options.Html = None,
    html_public: options.HtmlPublic = None,
    json: options.Json = None,
) -> None:
    """Make a page with pictures of a result: for inside the agency, or for whoever gets the masked file."""
    running.check_outputs(
        {"--html": html, "--html-public": html_public, "--json": json},
        {"the result": result, "the masked file": masked, "the original": original, "the rulebook": rules},
    )
    with running.progress_shown() as progress:
        from masktron.jobs.report import run_report

        made = run_report(
            result,
            masked=masked,
            original=original,
            rules=rules,
            html=html,
            html_public=html_public,
            progress=progress,
        )
    running.report(made, json)
