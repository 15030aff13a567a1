"""``masktron mask``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.cli.release_pages import ReleasePages, pages_of_release
from masktron.errors import Exit
from masktron.processes import rules_within

if TYPE_CHECKING:
    from masktron.errors import MasktronError


def mask(
    data: options.Data,
    rules: options.Rules,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.xml", parser=options.place, help="The masked file, or table.")
    ],
    k: options.K = None,
    method: options.MethodOption = None,
    param: options.Params = None,
    aggregator: options.AggregatorOption = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    secret: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Secret that all random numbers of the release come from: a file of at least 32 hexadecimal "
            "digits, or the manifest of the run that is to be repeated.",
            show_default="256 bits from the system, written to the manifest",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Seed in the place of a secret, for tests. To protect a release, it must be as long as a secret.",
            show_default=False,
        ),
    ] = None,
    grouping: options.Grouping = None,
    group_size_vars: options.GroupSizeVars = None,
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", help="Stop rather than change which values are missing.")
    ] = False,
    invalid: Annotated[
        str | None,
        typer.Option(
            metavar="stop|exclude", help="What to do with original records that break a rule.", show_default="stop"
        ),
    ] = None,
    rare_units: Annotated[
        str | None,
        typer.Option(
            "--rare-units",
            metavar="stop|exclude",
            help="What to do with households (units of a nested file) that fewer than k are composed like.",
            show_default="stop",
        ),
    ] = None,
    reweight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Spread the weights of records left out over those that are alike in this field; repeatable.",
        ),
    ] = None,
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="What is protected of a nested file: the household whole (a unit with all its members), or each "
            "member of a kind alone, such as Person.",
            show_default="the top level",
        ),
    ] = None,
    member_order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD|file",
            help="A field of members of a household (a unit of a nested file), written as it is, by which members of "
            "different households are put side by side; repeatable. By default what is called like a role, a sex and "
            "an age.",
        ),
    ] = None,
    on_refusal: Annotated[
        str | None,
        typer.Option(
            metavar="stop|suggest",
            help="Where the rules, k and limits cannot all be kept: suggest tries what could help and shows what it "
            "costs; nothing is written.",
            show_default="stop",
        ),
    ] = None,
    allow: options.Allow = None,
    allow_unfired: options.AllowUnfired = None,
    recode: options.Recode = None,
    pram: options.Pram = None,
    swap: options.Swap = None,
    key_k: options.KeyK = None,
    allow_lost: options.AllowLost = None,
    limit: options.Limits = None,
    max_observed_share: Annotated[
        float | None,
        typer.Option(
            parser=options.number,
            metavar="P",
            help="Most groups of a block, in per cent of the records, that may publish one record's values for want "
            "of a mean that satisfies the rules.",
            show_default="1",
        ),
    ] = None,
    max_block_records: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Cut more records than that into blocks of near ones, and form groups in each; at least 3k.",
            show_default="never cut",
        ),
    ] = None,
    unit_records: Annotated[
        int | None,
        typer.Option(
            parser=options.integer_or_whole,
            metavar="N|whole",
            help="Mask more records than that in units of near ones, each as a file of its own; at least 20k. "
            "'whole': cut nothing, whatever --memory says.",
            show_default="that of --secret MANIFEST, else as many as --memory holds",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory that all processes of the run may take, such as 4GB: what does not fit is masked in units.",
            show_default="half of what is free",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from the units that a run which was ended has finished, if nothing has changed."
        ),
    ] = False,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            help="Write the records in random order in any case; by default where their order could tell something.",
        ),
    ] = False,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Write the records in the order of the original, and say what it tells."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Partitions whose groups are formed at once, or blocks of the only one, or units; and processes "
            "that slices of a large flat file are given to, for the rules and for engines that are not masktron's, "
            "where it is given. The result is the same for any number.",
            show_default="the number of cores",
        ),
    ] = None,
    executor: options.Executor = None,
    scheduler: options.Scheduler = None,
    rule_timeout: options.RuleTimeout = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    table: options.Tables = None,
    phase: options.Phase = None,
    document: options.Document = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Confidential manifest; by default x.manifest.json beside x.xml."),
    ] = None,
    rules_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The rules as the recoding leaves them, where it changes some; by default x.rules.sch beside x.xml.",
        ),
    ] = None,
    replace: options.Replace = False,
    register: options.RegisterFile = None,
    salt: options.SaltFile = None,
    again: options.Again = None,
    verbose: options.Verbose = False,
    show_values: options.ShowValues = False,
    json: options.Json = None,
    html: options.Html = None,
    html_public: options.HtmlPublic = None,
) -> None:
    """Mask a file so that every edit still holds, and verify the written file."""
    from masktron.config import parse_params
    from masktron.sources.output_names import manifest_beside

    manifest = manifest or manifest_beside(out)
    outputs = {"--out": out, "--manifest": manifest, "--json": json, "--html": html, "--html-public": html_public}
    running.check_outputs(
        outputs,
        {"the original": data, "the rulebook": rules, "the settings": settings_file(config)},
    )
    # a manifest that gives the secret may be written anew: it gets the same secret
    running.check_outputs({**outputs, "--manifest": None}, {"the secret": secret})
    settings = settings_from(
        config, locals(), other=("method",), order=_order(shuffle=shuffle, keep=keep_order)
    ).choosing(method, parse_params(param or []))
    beside = {**inputs_beside(settings), **settings.named_files}
    if settings.recode:
        from masktron.jobs.treated import files_of_recoding

        beside |= files_of_recoding(settings, rules_out, out)
    running.check_outputs(outputs, beside)
    refused: MasktronError | None = None
    pages = ReleasePages()
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.errors import InfeasibleError, ViolationError
        from masktron.jobs.originals import InvalidOriginalError
        from masktron.jobs.remedies.on_refusal import run_mask_or_suggest
        from masktron.report.tables.mask import values_shown

        try:
            result = run_mask_or_suggest(
                data,
                rules,
                out,
                config=settings,
                manifest=manifest,
                rules_out=rules_out,
                replaces=replace,
                again=again,
                resume=resume,
                progress=progress,
            )
        except (InfeasibleError, ViolationError) as error:
            refused = error
            invalid_original = error.result if isinstance(error, InvalidOriginalError) else None
        else:
            pages = pages_of_release(
                manifest,
                masked=out,
                original=data,
                rules=rules,
                html=html,
                html_public=html_public,
                progress=progress,
            )
    if refused is not None:
        if invalid_original is not None:
            own = json if refused.refusal is None else None
            said = "nothing is masked; what the original breaks stands in"
            running.report(invalid_original, own, html, written=said, found=settings.found)
        if refused.refusal is not None:
            running.report(refused.refusal, json, found=settings.found)
        raise refused
    running.report(result, json, verbose=verbose, found=settings.found)
    if show_values:
        running.show(values_shown(result), json)
    running.show(pages.told(result, manifest), json)
    pages.require()
    raise typer.Exit(Exit.COMPLIES if result.valid else Exit.VIOLATION)


def _order(*, shuffle: bool, keep: bool) -> str | None:
    """Read the options for the order of the written records; None where neither is there."""
    from masktron.errors import UsageError

    if shuffle and keep:
        raise UsageError("--shuffle and --keep-order are both given", hint="keep one of them")
    return "random" if shuffle else "keep" if keep else None
