"""``masktron rerun``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masktron.cli import options, running
from masktron.cli.given import register_from
from masktron.cli.release_pages import ReleasePages, pages_of_release

if TYPE_CHECKING:
    from masktron.jobs.originals import InvalidOriginalError
    from masktron.jobs.rerun import ChangedInputError


def rerun(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="The manifest of the run that is to be repeated.")
    ],
    data: options.Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.xml", parser=options.place, help="The masked file, or table.")
    ],
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            "-r",
            metavar="RULES.sch",
            help="The rulebook, where it has moved or is another one.",
            show_default="that of the last run",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what has changed and what would happen; write nothing.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Go on in spite of changes of this kind, such as new-field or other-rule; repeatable.",
        ),
    ] = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    document: options.Document = None,
    table: options.Tables = None,
    metadata: options.Metadata = None,
    recode: options.Recode = None,
    pram: options.Pram = None,
    register: options.RegisterFile = None,
    salt: options.SaltFile = None,
    again: options.Again = None,
    new_manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest", metavar="FILE", help="Manifest of this run; by default x.manifest.json beside x.xml."
        ),
    ] = None,
    replace: options.Replace = False,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer, metavar="N", help="As for mask; the result is the same.", show_default="cores"
        ),
    ] = None,
    executor: options.Executor = None,
    scheduler: options.Scheduler = None,
    verbose: options.Verbose = False,
    show_values: options.ShowValues = False,
    json: options.Json = None,
    html: options.Html = None,
    html_public: options.HtmlPublic = None,
) -> None:
    """Do on another file what a run of mask has done, and show both side by side.

    Settings, rules and method are those of the manifest. A file or rules that do not fit any more are refused, with
    all that has changed. The same file gives the same bytes. What to look at and the verdict are those of this run.
    """
    from masktron.errors import UsageError
    from masktron.sources.output_names import manifest_beside

    if dry_run and (html is not None or html_public is not None):
        option = "--html" if html is not None else "--html-public"
        raise UsageError(f"{option} and --dry-run are both given", hint="a dry run masks nothing: leave the page out")
    written = new_manifest or manifest_beside(out)
    beside = {"--json": None if running.is_stdout(json) else json, "--html": html, "--html-public": html_public}
    running.check_outputs(
        {"--out": out, "--manifest": written, **beside},
        {"the original": data, "the rulebook": rules, "the manifest of the last run": manifest},
    )
    settings = _settings(role, missing, nominal, ordinal, numeric, document, quasi_identifier, recode, pram)
    plain: dict[str, Any] = {"metadata": metadata, "workers": workers, "executor": executor, "scheduler": scheduler}
    plain["register"] = register_from(register, salt)
    settings |= {name: own for name, own in plain.items() if own is not None}
    refused: ChangedInputError | InvalidOriginalError | None = None
    pages = ReleasePages()
    with running.progress_shown() as progress:
        from masktron.jobs.originals import InvalidOriginalError
        from masktron.jobs.rerun import ChangedInputError, InvalidNextFileError, Repeating, run_rerun
        from masktron.level_settings import parse_tables
        from masktron.report.rendering import tables_of
        from masktron.report.tables.mask import values_shown
        from masktron.report.tables.rerun import changes_shown

        how = Repeating(
            rules=rules,
            manifest=new_manifest,
            accept=tuple(accept or ()),
            tables=parse_tables(table or ()),
            settings=settings,
            again=again,
            replaces=replace,
            dry_run=dry_run,
            beside={option: path for option, path in beside.items() if path is not None},
        )
        try:
            result = run_rerun(manifest, data, out, how, progress=progress)
        except (ChangedInputError, InvalidOriginalError) as error:
            refused = error
        else:
            pages = pages_of_release(
                written, masked=out, original=data, rules=rules, html=html, html_public=html_public, progress=progress
            )
    if refused is not None:
        if isinstance(refused, InvalidNextFileError):
            running.show(changes_shown(refused.changes), json)
        running.report(refused.result, json)
        raise refused
    if verbose and result.run is not None:
        running.show(tables_of(result.run), json)
    running.report(result, json)
    if result.run is not None:
        if show_values:
            running.show(values_shown(result.run), json)
        running.show(pages.told(result.run, written), json)
    pages.require()


def _settings(
    role: list[str] | None,
    missing: list[str] | None,
    nominal: list[str] | None,
    ordinal: list[str] | None,
    numeric: list[str] | None,
    document: list[str] | None,
    quasi_identifier: list[str] | None,
    recode: list[str] | None,
    pram: list[str] | None,
) -> dict[str, Any]:
    """Settings that are given as options."""
    from masktron.config import parse_documents, parse_missing, parse_orders, parse_pram, parse_recodings, parse_roles

    found: dict[str, Any] = {
        "roles": parse_roles(role or []),
        "missing": parse_missing(missing or []),
        "nominal": tuple(nominal or ()),
        "ordinal": parse_orders(ordinal or []),
        "numeric": tuple(numeric or ()),
        "quasi_identifiers": tuple(quasi_identifier or ()),
        "documents": parse_documents(document or []),
        "recode": parse_recodings(recode or []),
        "pram": parse_pram(pram or []),
    }
    return {name: value for name, value in found.items() if value}
