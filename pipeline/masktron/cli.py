"""The command line. Heavy imports wait until a command runs, so that help is there at once."""

from __future__ import annotations

import functools
import gc
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType

from masktron.errors import Exit, MasktronError
from masktron.processes import rules_within
from masktron.stopping import stoppable

if TYPE_CHECKING:
    from masktron.config import Config
    from masktron.jobs.originals import InvalidOriginalError
    from masktron.progress import Progress
    from masktron.results import JobResult
    from masktron.sources.xml.wellformed import Judge

WIDTH = 118
_COLLECTED = 50_000
"""Objects that are made before the collector looks for cycles among the new ones."""
_BY_SIGNAL = 128
"""Exit codes from here on say which signal ended the run."""
KEPT = 1000
"""Findings of each rule that `validate` keeps in memory to count rounding artefacts among, where no report does."""

EPILOG = (
    "Exit codes: 0 complies; 1 an edit, contract or limit fails, or a hard rule fires on nothing; 2 usage; "
    "3 rulebook; 4 document; 5 the rules and k cannot both be kept; 6 an engine lacks time or memory; 128+n ended by "
    "signal n. Every command also writes its result as JSON: --json FILE, or - for standard output."
)

app = typer.Typer(
    name="masktron",
    help="Mask survey microdata in XML so that every Schematron edit rule still holds.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _integer(text: str) -> int:
    """Read an option that is an integer."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"it must be an integer, not {text!r}") from None


def _number(text: str) -> float:
    """Read an option that is a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None


Data = Annotated[Path, typer.Argument(metavar="DATA.xml", help="Microdata, one element per record.")]
Rules = Annotated[Path, typer.Option("--rules", "-r", metavar="RULES.sch", help="Schematron rulebook.")]
Original = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Original file, which document() in the rules may name.")
]
Document = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="NAME=FILE",
        help="The file that document('NAME') in the rules stands for, where it is not the original; repeatable.",
    ),
]
Record = Annotated[str | None, typer.Option(metavar="NAME", help="Record element, where the file leaves it open.")]
Grouping = Annotated[
    str | None,
    typer.Option(
        metavar="rules|all",
        help="rules: partition the records per block of variables; all: once, on all masked variables.",
        show_default="rules",
    ),
]
GroupSizeVars = Annotated[
    int | None,
    typer.Option(
        parser=_integer,
        metavar="N",
        help="Variables without a rule are masked in groups of so many.",
        show_default="3",
    ),
]
K = Annotated[
    int | None,
    typer.Option("-k", parser=_integer, metavar="N", help="Smallest group, at least 2.", show_default="5"),
]
SameOrder = Annotated[
    bool,
    typer.Option("--same-order", help="Without a manifest: the masked records are in the order of the original."),
]
Phase = Annotated[str | None, typer.Option(metavar="ID", help="Schematron phase; #ALL for all patterns.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON; - for stdout.")]
Settings = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings; masktron.toml in this folder if there.")
]
RoleOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="FIELD=ROLE", help="identifier, key, confidential, weight or untouched; repeatable."
    ),
]
MissingOptions = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="[FIELD=]CODE", help="A value that means 'missing'; repeatable."),
]
NominalOptions = Annotated[
    list[str] | None,
    typer.Option("--nominal", metavar="FIELD", help="Its values are categories without an order; repeatable."),
]
NumericOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric", metavar="FIELD", help="Its few different integers are quantities, no codes; repeatable."
    ),
]
OrdinalOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--ordinal",
        metavar="FIELD[=LOW,MID,HIGH]",
        help="Its values are categories in this order, or in that of its numbers; repeatable.",
    ),
]
MaxFailures = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE=N|P%",
        help="Failures that a rule may have: nodes, or per cent of those on which it fired; * for all other hard "
        "rules; repeatable. Exit code 1 only beyond that.",
    ),
]
RuleTimeout = Annotated[
    float | None,
    typer.Option(
        parser=_number,
        metavar="SECONDS",
        help="What an engine may take for one rule on one record, or on a whole document; then it is ended, and the "
        "run stops (exit code 6). To name the record takes up to about three times as long.",
        show_default="60",
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        help="Exit code 1 outside a limit: the most that a figure of masktron assess may be, or the least where more "
        "is better, such as linkage=5 or block_k=5; repeatable.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Masking method: see masktron methods.", show_default="mdav"),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="NAME=VALUE", help="A parameter of the method: see masktron methods NAME; repeatable."
    ),
]
AggregatorOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Mask by this aggregator where its theorem keeps the rules, and stop where it does not: mean, "
        "geometric_mean, median, mode, medoid, minimum, lower_quartile, upper_quartile, maximum, convex_median, "
        "boolean_max_min. By default the one that loses least.",
        show_default=False,
    ),
]
Allow = Annotated[list[str] | None, typer.Option(metavar="RULE-ID", help="Let a rule be broken; repeatable.")]

AllowUnfired = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE-ID",
        help="Let a rule go untested: it may fire on nothing, or read a field that the file never has; * for all; "
        "repeatable.",
    ),
]

AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Take a file without records as valid.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"masktron {version('masktron')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: masktron validate survey.xml --rules edits.sch --svrl report.xml")
def validate(
    data: Data,
    rules: Rules,
    original: Original = None,
    document: Document = None,
    record: Record = None,
    phase: Phase = None,
    config: Settings = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Field that names the record in reports.", show_default="@id if there"),
    ] = None,
    max_failures: MaxFailures = None,
    allow_unfired: AllowUnfired = None,
    allow_empty: AllowEmpty = False,
    svrl: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every finding as SVRL.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every finding as CSV, a line each.")] = None,
    json: Json = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write findings as SARIF 2.1.0.")] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rules as test cases, as JUnit XML.")
    ] = None,
    max_findings: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Findings per rule in JSON and SARIF; counts are always exact.",
            show_default="1000",
        ),
    ] = None,
    limit: Annotated[str | None, typer.Option(metavar="N|all", hidden=True)] = None,
    release_safe: Annotated[
        bool,
        typer.Option("--release-safe", help="Counts only: no value, key or place of a record in any output."),
    ] = False,
    rule_timeout: RuleTimeout = None,
) -> None:
    """Evaluate every rule on every record: is this edited file fit for release?

    Reports show values of single records and say that they are confidential, unless --release-safe leaves them out.
    """
    # libxml2 reads a large file while the rest is loaded
    with _progress() as progress, _judged(data) as judge:
        from masktron.jobs.validate import run_validate
        from masktron.report.outputs import Outputs
        from masktron.report.rendering import tables_of
        from masktron.thresholds import parse_thresholds, thresholds

        most = _number_or_all(_most_findings(max_findings, limit))
        paths = {"svrl": svrl, "csv": csv, "json": json, "sarif": sarif, "junit": junit}
        outputs = Outputs(paths, most)
        inputs = {
            "the data": data,
            "the rulebook": rules,
            "the original": original,
            "the settings": _settings_file(config),
        }
        _check_outputs(outputs.files(), inputs)
        settings = _settings(
            config,
            document=document,
            record=record,
            phase=phase,
            allow_unfired=tuple(allow_unfired or ()) or None,
            rule_timeout=rule_timeout,
        )
        _check_outputs(outputs.files(), _documents(settings))
        with rules_within(settings.rule_timeout):
            result = run_validate(
                data,
                rules,
                original=original,
                documents=settings.documents,
                spare_documents=settings.spare_documents,
                record=settings.record,
                phase=settings.phase,
                key=key,
                limit=KEPT if outputs.limit is None else min(outputs.limit, KEPT),
                max_failures={**thresholds(settings.max_failures), **parse_thresholds(max_failures or [])},
                allow_unfired=settings.allow_unfired,
                allow_empty=allow_empty,
                release_safe=release_safe,
                outputs=outputs,
                progress=progress,
                judge=judge,
            )
    _show([*tables_of(result), *outputs.told(release_safe=release_safe)], json)
    raise typer.Exit(result.exit_code)


@app.command(epilog="Example: masktron explain edits.sch --data survey.xml")
def explain(
    rules: Annotated[Path, typer.Argument(metavar="RULES.sch", help="Schematron rulebook.")],
    data: Annotated[Path | None, typer.Option(metavar="DATA.xml", help="Also count, and plan the masking.")] = None,
    original: Original = None,
    document: Document = None,
    config: Settings = None,
    role: RoleOptions = None,
    missing: MissingOptions = None,
    nominal: NominalOptions = None,
    ordinal: OrdinalOptions = None,
    numeric: NumericOptions = None,
    allow: Allow = None,
    allow_unfired: AllowUnfired = None,
    k: K = None,
    method: MethodOption = None,
    param: Params = None,
    aggregator: AggregatorOption = None,
    grouping: Grouping = None,
    group_size_vars: GroupSizeVars = None,
    record: Record = None,
    phase: Phase = None,
    rule_timeout: RuleTimeout = None,
    json: Json = None,
) -> None:
    """Say of each rule its class and what it means in plain mathematics; with data, how it would be kept."""
    from masktron.config import parse_params

    _check_outputs(
        {"--json": json},
        {"the rulebook": rules, "the data": data, "the original": original, "the settings": _settings_file(config)},
    )
    settings = _settings(
        config,
        role,
        missing,
        nominal,
        ordinal,
        numeric=numeric,
        k=k,
        grouping=grouping,
        group_size_vars=group_size_vars,
        allow=tuple(allow or ()) or None,
        allow_unfired=tuple(allow_unfired or ()) or None,
        aggregator=aggregator,
        document=document,
        record=record,
        phase=phase,
        rule_timeout=rule_timeout,
    ).choosing(method, parse_params(param or []))
    _check_outputs({"--json": json}, _documents(settings))
    with _progress() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.explain import run_explain

        result = run_explain(rules, data, config=settings, original=original, progress=progress)
    _report(result, json)


@app.command(
    epilog="Example: masktron mask survey.xml --rules edits.sch --out masked.xml -k 5 --role NAME=identifier"
)
def mask(
    data: Data,
    rules: Rules,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.xml", help="The masked file.")],
    k: K = None,
    method: MethodOption = None,
    param: Params = None,
    aggregator: AggregatorOption = None,
    config: Settings = None,
    role: RoleOptions = None,
    missing: MissingOptions = None,
    nominal: NominalOptions = None,
    ordinal: OrdinalOptions = None,
    numeric: NumericOptions = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Key of the random numbers: a file of at least 32 hexadecimal digits, or the manifest of the run "
            "that is to be repeated.",
            show_default="256 bits from the system, written to the manifest",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=_integer,
            metavar="N",
            help="Seed in the place of a key, for tests: a secret where it protects a release, and one of few digits "
            "refused there.",
            show_default=False,
        ),
    ] = None,
    grouping: Grouping = None,
    group_size_vars: GroupSizeVars = None,
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", help="Stop rather than change which values are missing.")
    ] = False,
    invalid: Annotated[
        str | None,
        typer.Option(
            metavar="stop|exclude", help="What to do with original records that break a rule.", show_default="stop"
        ),
    ] = None,
    allow: Allow = None,
    allow_unfired: AllowUnfired = None,
    limit: Limits = None,
    max_observed_share: Annotated[
        float | None,
        typer.Option(
            parser=_number,
            metavar="P",
            help="Most groups of a block, in per cent of the records, that may publish one record's values for want "
            "of a mean that satisfies the rules.",
            show_default="1",
        ),
    ] = None,
    max_block_records: Annotated[
        int | None,
        typer.Option(
            parser=_integer,
            metavar="N",
            help="Cut more records than that into blocks of near ones, and form groups in each; at least 3k.",
            show_default="never cut",
        ),
    ] = None,
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
            parser=_integer,
            metavar="N",
            help="Partitions whose groups are formed at once, or blocks of the only one; the result is the same "
            "for any number.",
            show_default="the number of cores",
        ),
    ] = None,
    rule_timeout: RuleTimeout = None,
    pyschematron_all: Annotated[
        bool,
        typer.Option("--pyschematron-all", help="Let pyschematron judge all written records instead of a sample."),
    ] = False,
    record: Record = None,
    phase: Phase = None,
    document: Document = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Confidential manifest; by default x.manifest.json beside x.xml."),
    ] = None,
    json: Json = None,
) -> None:
    """Mask a file so that every edit still holds, and verify the written file."""
    from masktron.config import parse_params
    from masktron.files import manifest_beside
    from masktron.release_key import read_key

    manifest = manifest or manifest_beside(out)
    _check_outputs(
        {"--out": out, "--manifest": manifest, "--json": json},
        {"the original": data, "the rulebook": rules, "the settings": _settings_file(config)},
    )
    # a manifest that gives the key may be written anew: it gets the same key
    _check_outputs({"--out": out, "--json": json}, {"the key": key})
    settings = _settings(
        config,
        role,
        missing,
        nominal,
        ordinal,
        numeric=numeric,
        k=k,
        key=None if key is None else read_key(key),
        seed=seed,
        grouping=grouping,
        group_size_vars=group_size_vars,
        keep_missing=keep_missing or None,
        invalid=invalid,
        allow=tuple(allow or ()) or None,
        allow_unfired=tuple(allow_unfired or ()) or None,
        aggregator=aggregator,
        max_observed_share=max_observed_share,
        max_block_records=max_block_records,
        order=_order(shuffle=shuffle, keep=keep_order),
        workers=workers,
        pyschematron_all=pyschematron_all or None,
        limit=limit,
        document=document,
        record=record,
        phase=phase,
        rule_timeout=rule_timeout,
    ).choosing(method, parse_params(param or []))
    _check_outputs({"--out": out, "--manifest": manifest, "--json": json}, _documents(settings))
    refused: InvalidOriginalError | None = None
    with _progress() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.mask import run_mask
        from masktron.jobs.originals import InvalidOriginalError

        try:
            result = run_mask(data, rules, out, config=settings, manifest=manifest, progress=progress)
        except InvalidOriginalError as error:
            refused = error
    if refused is not None:
        _report(refused.result, json)
        raise refused
    _report(result, json)
    raise typer.Exit(Exit.COMPLIES if result.valid else Exit.VIOLATION)


@app.command(
    epilog="Example: masktron check masked.xml -r edits.sch --original survey.xml --manifest masked.manifest.json"
)
def check(
    masked: Annotated[Path, typer.Argument(metavar="MASKED.xml", help="The masked file.")],
    rules: Rules,
    original: Original = None,
    document: Document = None,
    manifest: Annotated[Path | None, typer.Option(metavar="FILE", help="The manifest that mask wrote.")] = None,
    record: Record = None,
    phase: Phase = None,
    config: Settings = None,
    max_failures: MaxFailures = None,
    allow_unfired: AllowUnfired = None,
    allow_empty: AllowEmpty = False,
    limit: Limits = None,
    same_order: SameOrder = False,
    rule_timeout: RuleTimeout = None,
    json: Json = None,
) -> None:
    """Prove that a masked file complies: edits, group sizes, and with the original records, fields and domains."""
    from masktron.config import parse_limits
    from masktron.thresholds import parse_thresholds, thresholds

    _check_outputs(
        {"--json": json},
        {"the masked file": masked, "the rulebook": rules, "the original": original, "the manifest": manifest},
    )
    settings = _settings(
        config,
        limit=limit,
        document=document,
        record=record,
        phase=phase,
        allow_unfired=tuple(allow_unfired or ()) or None,
        rule_timeout=rule_timeout,
    )
    _check_outputs({"--json": json}, _documents(settings))
    with _progress() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.check import require_inputs, run_check
        from masktron.jobs.pairing import Stated

        require_inputs(parse_limits(limit or []), original, manifest)
        result = run_check(
            masked,
            rules,
            original=original,
            documents=settings.documents,
            spare_documents=settings.spare_documents,
            manifest=manifest,
            record=settings.record,
            phase=settings.phase,
            max_failures={**thresholds(settings.max_failures), **parse_thresholds(max_failures or [])},
            limits=settings.limits,
            allow_unfired=settings.allow_unfired,
            allow_empty=allow_empty,
            config=settings,
            stated=Stated(same_order),
            progress=progress,
        )
    _report(result, json)
    raise typer.Exit(result.exit_code)


@app.command(
    epilog="Example: masktron assess masked.xml --original survey.xml --manifest masked.manifest.json",
)
def assess(
    masked: Annotated[Path, typer.Argument(metavar="MASKED.xml", help="The masked file.")],
    original: Annotated[Path, typer.Option(metavar="DATA.xml", help="The file that was masked.")],
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The manifest that mask wrote: what was masked how, and in which order."),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Figures to compute, with commas between.", show_default="all"),
    ] = None,
    class_field: Annotated[
        str | None,
        typer.Option("--class", metavar="FIELD", help="Field that sorts records into classes, for their figures."),
    ] = None,
    same_order: SameOrder = False,
    config: Settings = None,
    role: RoleOptions = None,
    missing: MissingOptions = None,
    nominal: NominalOptions = None,
    ordinal: OrdinalOptions = None,
    numeric: NumericOptions = None,
    workers: Annotated[
        int | None,
        typer.Option(parser=_integer, metavar="N", help="Threads; no figure depends on them.", show_default="cores"),
    ] = None,
    record: Record = None,
    json: Json = None,
) -> None:
    """Compare a masked file with its original: what risk is left, what the data are still good for, in plain words.

    Roles, kinds and missing codes count where there is no manifest.
    """
    _check_outputs(
        {"--json": json},
        {
            "the masked file": masked,
            "the original": original,
            "the manifest": manifest,
            "the settings": _settings_file(config),
        },
    )
    settings = _settings(config, role, missing, nominal, ordinal, numeric=numeric, workers=workers, record=record)
    with _progress() as progress:
        from masktron.jobs.assess import run_assess
        from masktron.jobs.pairing import Stated

        result = run_assess(
            masked,
            original,
            manifest=manifest,
            config=settings,
            measures=None if measures is None else [name.strip() for name in measures.split(",")],
            class_field=class_field,
            stated=Stated(same_order),
            progress=progress,
        )
    _report(result, json)


@app.command(epilog="Example: masktron methods mdav")
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Explain this one.", show_default="all")
    ] = None,
    json: Json = None,
) -> None:
    """List the masking methods, or explain one: what it does, when to choose it, its parameters and promises."""
    from masktron.methods import ALL, method_named
    from masktron.report.tables.methods import explained, methods_dict, methods_tables

    _check_outputs({"--json": json}, {})
    wanted = ALL if name is None else (method_named(name),)
    tables = methods_tables(ALL) if name is None else explained(wanted[0])
    _show(tables, json)
    _write(methods_dict(wanted, ALL[0]), json)


@app.command(epilog="Example: masktron demo --out masktron-demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")] = Path(
        "masktron-demo"
    ),
    json: Json = None,
) -> None:
    """Validate, mask and check the samples that come with masktron, and say where the results lie."""
    _check_outputs({"--json": json}, {})
    with _progress() as progress:
        from masktron.jobs.demo import run_demo

        result = run_demo(out, _console(stderr=_is_stdout(json)), progress)
    _write(result.as_dict(), json)
    raise typer.Exit(Exit.COMPLIES if result.complies else Exit.VIOLATION)


@app.command(epilog="Example: masktron doctor --warm")
def doctor(
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile now what runs would have to compile; once per machine.")
    ] = False,
    json: Json = None,
) -> None:
    """Say what this installation has: versions, engines that work, compiled code."""
    _check_outputs({"--json": json}, {})
    with _progress() as progress:
        from masktron.jobs.doctor import run_doctor

        result = run_doctor(warm_up=warm, progress=progress)
    _report(result, json)
    raise typer.Exit(Exit.COMPLIES if result.works else Exit.VIOLATION)


@app.command(epilog="Example: masktron combine estimates.csv")
def combine(
    estimates: Annotated[
        Path,
        typer.Argument(
            metavar="ESTIMATES.csv", help="Lines name,estimate,variance, one for each quantity and release; or JSON."
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Every value of the releases is synthetic, not only some.")
    ] = False,
    level: Annotated[
        float, typer.Option(parser=_number, metavar="P", help="Level of the confidence intervals, in per cent.")
    ] = 95.0,
    ratio: Annotated[
        float,
        typer.Option(
            parser=_number,
            metavar="R",
            help="With --full: records of a release, divided by those of the original.",
        ),
    ] = 1.0,
    json: Json = None,
) -> None:
    """Combine what was estimated from several synthetic releases: estimate, variance, interval."""
    from masktron.jobs.combine import read_estimates, run_combine

    _check_outputs({"--json": json}, {"the estimates": estimates})
    result = run_combine(read_estimates(estimates), full=full, level=level / 100, ratio=ratio)
    _report(result, json)


def main() -> None:
    """Run the command line; every error of masktron ends in one message and its exit code."""
    # what is imported never becomes garbage, and by default looking for some among it takes a tenth of a second
    gc.set_threshold(_COLLECTED)
    _own_stderr()
    with stoppable():
        _run()


def _run() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as ended:
        if not isinstance(ended.code, int) or ended.code < _BY_SIGNAL:  # who ends a run wants nothing begun
            _compile_later()
        raise
    except MasktronError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(Exit.DOCUMENT)
    except MemoryError:
        _complain("out of memory\n  -> give the run more, or fewer records at a time")
        sys.exit(Exit.RESOURCES)


def _compile_later() -> None:
    """Have compiled what the next run may need, where this one needed compiled code."""
    if "numba" in sys.modules:
        from masktron.kernels.warm import begin_in_background

        begin_in_background()


def _own_stderr() -> None:
    """Write errors and progress through a descriptor of their own: 2 leads nowhere while Saxon works."""
    stream = sys.stderr
    try:
        if stream is None or stream.fileno() != 2:
            return
        own = os.dup(2)
    except (OSError, ValueError):  # there is none, or what stands for it is no file
        return
    stream.flush()
    sys.stderr = os.fdopen(own, "w", buffering=1, encoding=stream.encoding)


def _complain(message: str) -> None:
    from rich.markup import escape

    from masktron.report.text import printable

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[red]error:[/] {escape(printable(message))}")


def _most_findings(given: str | None, former: str | None) -> str:
    """Return the option by its name, or by the one that it had, which says so."""
    from masktron.errors import UsageError

    if former is None:
        return f"{KEPT}" if given is None else given
    if given is not None:
        raise UsageError("--limit is the former name of --max-findings: give one of them")
    Console(stderr=True, highlight=False).print(
        "[yellow]warning:[/] --limit of validate is called --max-findings now; elsewhere it bounds figures"
    )
    return former


def _number_or_all(text: str) -> int | None:
    """Read a number of findings; None for all."""
    from masktron.errors import UsageError

    if text == "all":
        return None
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"--max-findings must be a number of findings or all, not {text!r}")
    return int(text)


def _settings(
    path: Path | None,
    role: list[str] | None = None,
    missing: list[str] | None = None,
    nominal: list[str] | None = None,
    ordinal: list[str] | None = None,
    limit: list[str] | None = None,
    numeric: list[str] | None = None,
    document: list[str] | None = None,
    **changes: Any,
) -> Config:
    """Settings from the file, overridden by options."""
    from masktron.config import (
        Config,
        load_config,
        parse_documents,
        parse_limits,
        parse_missing,
        parse_orders,
        parse_roles,
    )

    if path is None and (path := _settings_file(None)) is not None:
        Console(stderr=True, highlight=False).print(f"settings from {path}")
    config = Config() if path is None else load_config(path)
    roles = {**config.roles, **parse_roles(role or [])}
    codes = parse_missing(missing or [])
    merged = {
        name: config.missing.get(name, frozenset()) | codes.get(name, frozenset())
        for name in (*config.missing, *codes)
    }
    limits = {**config.limits, **parse_limits(limit or [])}
    given = parse_documents(document or [])
    orders, named = parse_orders(ordinal or []), tuple(dict.fromkeys(nominal or ()))
    counted = tuple(dict.fromkeys(numeric or ()))
    return config.updated(
        roles=roles,
        missing=merged,
        limits=limits,
        documents={**config.documents, **given},
        spare_documents=config.spare_documents - given.keys(),
        nominal=(*(name for name in config.nominal if name not in (*orders, *named, *counted)), *named),
        ordinal={
            **{name: order for name, order in config.ordinal.items() if name not in (*named, *counted)},
            **orders,
        },
        numeric=(*(name for name in config.numeric if name not in (*orders, *named, *counted)), *counted),
        **changes,
    )


def _documents(settings: Config) -> dict[str, Path]:
    """Return the documents of the rules by the names that messages have for them."""
    return {f"the document {name!r}": path for name, path in settings.documents.items()}


def _order(*, shuffle: bool, keep: bool) -> str | None:
    """Read the options for the order of the written records; None where neither is there."""
    from masktron.errors import UsageError

    if shuffle and keep:
        raise UsageError("--shuffle and --keep-order are both given", hint="keep one of them")
    return "random" if shuffle else "keep" if keep else None


def _settings_file(named: Path | None) -> Path | None:
    """Return the file of settings: the one that was named, else the one in this folder."""
    default = Path("masktron.toml")
    return named or (default if default.is_file() else None)


def _check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Refuse outputs as `refuse_outputs` does; only ``--json`` may be ``-``, standard output."""
    from masktron.errors import UsageError
    from masktron.files import refuse_outputs

    files = {option: path for option, path in outputs.items() if path is not None}
    for option in [option for option, path in files.items() if str(path) == "-"]:
        if option != "--json":
            raise UsageError(f"{option} needs a file", hint="only --json can go to standard output")
        del files[option]
    refuse_outputs(files, inputs)


def _report(result: JobResult, json: Path | None) -> None:
    """Print a result, and write it as JSON where that is wanted."""
    from masktron.report.rendering import tables_of

    _show(tables_of(result), json)
    _write(result.as_dict(), json)


def _show(parts: Iterable[RenderableType], json: Path | None) -> None:
    """Print tables and texts; with ``--json -`` standard output is for the JSON alone."""
    from masktron.report.rendering import show

    show(parts, _console(stderr=_is_stdout(json)))


def _write(content: Mapping[str, Any], json: Path | None) -> None:
    """Write a result as JSON, to a file or to standard output."""
    from masktron.write.manifest import dump, write_json

    if json is None:
        return
    if _is_stdout(json):
        typer.echo(dump(content), nl=False)
    else:
        write_json(json, content)


def _is_stdout(json: Path | None) -> bool:
    return json is not None and str(json) == "-"


def _console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or wide enough for the tables where there is none."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    return console


@contextmanager
def _judged(data: Path) -> Iterator[Judge | None]:
    """Let libxml2 begin to read a large file; loading it waits for the first sign of life."""
    from masktron.sources.xml.wellformed import judged

    with judged(data) as judge:
        yield judge


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show stages, what is done and the time left on standard error: in place on a terminal, else in lines.

    Commands enter this before they load what they need, so that there is a sign of life at once.
    """
    from masktron.report.watch import lines, watch

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with watch(console) as shown:
            yield shown
    else:
        with lines(functools.partial(typer.echo, err=True)) as said:
            yield said


if __name__ == "__main__":
    main()
