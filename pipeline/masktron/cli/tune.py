"""``masktron tune``."""

from __future__ import annotations

import functools
import itertools
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.errors import Exit
from masktron.processes import rules_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masktron.config import Config
    from masktron.jobs.originals import InvalidOriginalError
    from masktron.jobs.tune.recipes import TuneRecipe
    from masktron.results import TuneResult


def tune(
    context: typer.Context,
    data: options.Data,
    rules: options.Rules,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of tune.json, and of what a run that was interrupted goes on from; confidential.",
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Methods to try, with commas between: see masktron methods.",
            show_default="those that suit most files",
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("--k", "-k", metavar="N,N", help="Smallest groups to try.", show_default="3,5,10,20"),
    ] = None,
    groupings: Annotated[
        str | None,
        typer.Option("--grouping", metavar="rules,all", help="Groupings to try.", show_default="both"),
    ] = None,
    aggregators: Annotated[
        str | None,
        typer.Option(
            "--aggregator",
            metavar="NAMES",
            help="Aggregators to ask for, beside the one that loses least.",
            show_default=False,
        ),
    ] = None,
    recode: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=HOW",
            help="Try a key recoded so, beside leaving it as it is: AGE=width:5, AGE=age.csv:2; repeatable, also for "
            "the same field.",
            show_default=False,
        ),
    ] = None,
    key_k: Annotated[
        str | None,
        typer.Option(
            "--key-k",
            metavar="N,N",
            help="Try keys suppressed until N records share each combination, beside suppressing nothing.",
            show_default=False,
        ),
    ] = None,
    pram: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=HOW",
            help="Try a key drawn anew so, beside leaving it as it is: REGION=change:0.1, SEX=sex.csv; AGE+STATUS "
            "are drawn together; repeatable, also for the same field.",
            show_default=False,
        ),
    ] = None,
    swap_rate: Annotated[
        str | None,
        typer.Option(
            "--swap-rate",
            metavar="N,N",
            help="Try records swapped at these rates, from 0 to 1, as \\[swap] in settings says all else, beside not "
            "swapping.",
            show_default=False,
        ),
    ] = None,
    allow_lost: options.AllowLost = None,
    class_fields: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="FIELDS", help="Fields with the class of each record, for methods that need one."
        ),
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(metavar="FIGURE", help="The risk on the map.", show_default="disclosure_risk"),
    ] = None,
    utility: Annotated[
        str | None,
        typer.Option(metavar="FIGURE", help="The loss on the map.", show_default="pil"),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What the run may take: 90s, 10m, 1h.", show_default="10m"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(parser=options.integer, metavar="N", help="Runs of a candidate that draws.", show_default="3"),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Compare larger files on so many records first; 0 for all.",
            show_default="21000, of more than 50000",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Processes that try candidates, each with the file in memory; 0: this one. No figure depends on it.",
            show_default="the number of cores, at most 4",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the settings of a candidate to this file, such as masktron.toml, for masktron mask.",
        ),
    ] = None,
    candidate: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="The candidate of --write, by its number.",
            show_default="the recommended one",
        ),
    ] = None,
    map: Annotated[  # noqa: A002 -- the name of the option
        Path | None,
        typer.Option(
            metavar="FILE.svg",
            help="Draw the map of risk and loss, anew as candidates come in; DIR/tune.json grows with it.",
        ),
    ] = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    group_size_vars: options.GroupSizeVars = None,
    invalid: Annotated[
        str | None,
        typer.Option(
            metavar="stop|exclude", help="What to do with original records that break a rule.", show_default="stop"
        ),
    ] = None,
    allow: options.Allow = None,
    allow_unfired: options.AllowUnfired = None,
    limit: options.Limits = None,
    rule_timeout: options.RuleTimeout = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    table: options.Tables = None,
    phase: options.Phase = None,
    document: options.Document = None,
    json: options.Json = None,
    html: options.Html = None,
) -> None:
    """Try ways to mask a file, show the risk and the loss of each, and recommend one within the limits."""
    # the start of the process, where it is known: what is loaded before this is a part of the budget
    begun = context.obj if isinstance(context.obj, float) else time.monotonic()
    file = settings_file(config)
    inputs = {"the original": data, "the rulebook": rules, "the metadata": metadata}
    named = config is not None
    # the settings may be written where they stand
    drawn = {"--json": json, "--html": html, "--map": map}
    running.check_outputs(drawn, {**inputs, "the settings": file}, out)
    outputs = {**drawn, "--write": write}
    running.check_outputs(outputs, inputs, out)
    _require_apart(outputs, out)
    settings = settings_from(config, locals(), other=("k", "recode", "key_k", "pram", "workers"))
    running.check_outputs(outputs, {**inputs_beside(settings), **settings.named_files}, out)
    _require_writable(write, candidate, settings)
    wishes = {
        "methods": methods,
        "k": k,
        "groupings": groupings,
        "aggregators": aggregators,
        "recode": recode,
        "key_k": key_k,
        "pram": pram,
        "swap_rate": swap_rate,
        "class": class_fields,
        "risk": risk,
        "utility": utility,
        "budget": budget,
        "seeds": seeds,
        "sample": sample,
        "workers": workers,
    }
    wanted = _seen(candidate, out, data)
    result = _tuned(data, rules, out, settings, file, wishes, wanted, outputs, begun, named=named)
    if map is not None:
        _draw(result, map)
    running.report(result, json, html, found=settings.found)
    if write is not None:
        running.show(_written(result, write, wanted, settings), json)
    raise typer.Exit(_exit(result) if candidate is None else Exit.COMPLIES)


def _require_apart(outputs: Mapping[str, Path | None], out: Path) -> None:
    """Refuse an output in the place of the result, or among what is kept for the next run."""
    from masktron.errors import UsageError
    from masktron.files import same_file
    from masktron.jobs.tune import FOLDER, RESULT

    for name, path in outputs.items():
        if path is None:
            continue
        if same_file(path, out / RESULT):
            raise UsageError(f"{name} would overwrite the result", where=str(path), hint="give another file name")
        if path.resolve().is_relative_to((out / FOLDER).resolve()):
            raise UsageError(
                f"{name} is in the folder of what is kept for the next run",
                where=str(path),
                hint="name another folder",
            )


def _require_writable(write: Path | None, candidate: int | None, settings: Config) -> None:
    """Refuse, before anything is tried, settings that could not be written."""
    from masktron.errors import UsageError

    if candidate is not None and write is None:
        raise UsageError("--candidate says whose settings --write writes", hint="give both: --write masktron.toml")
    if candidate is not None and candidate < 0:
        raise UsageError(f"there is no candidate {candidate}", hint="they are counted from 0")
    if write is not None:
        from masktron.jobs.tune.settings_text import text_with

        text_with(settings, write)


def _seen(candidate: int | None, out: Path, data: Path) -> int | TuneRecipe | None:
    """Return the candidate that the user has seen under a number: in the last result, if there is one."""
    if candidate is None:
        return None
    from masktron.jobs.tune.outcomes import earlier_candidate

    return earlier_candidate(out, candidate, data) or candidate


def _tuned(
    data: Path,
    rules: Path,
    out: Path,
    settings: Config,
    file: Path | None,
    wishes: Mapping[str, str | int | list[str] | None],
    candidate: int | TuneRecipe | None,
    outputs: Mapping[str, Path | None],
    begun: float,
    *,
    named: bool,
) -> TuneResult:
    picture = outputs["--map"]
    refused: InvalidOriginalError | None = None
    with _going_on_told() as kept, running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.config import load_config
        from masktron.jobs.originals import InvalidOriginalError
        from masktron.jobs.tune.asked import TuneSettings, hierarchies_in, matrices_in, tune_settings_in, wider_limits
        from masktron.jobs.tune.tuning import run_tune

        asked = (TuneSettings() if file is None else tune_settings_in(file, named=named)).read(wishes)
        trees = {
            f"the hierarchy {how.path.name} of {name}": how.path for name, how in hierarchies_in(settings, asked)
        }
        trees |= {f"the matrix {path.name} of {name}": path for name, path in matrices_in(settings, asked)}
        running.check_outputs(outputs, trees, out)
        if file is not None:
            asked = replace(asked, wider=wider_limits(load_config(file).limits, settings.limits))
        try:
            return run_tune(
                data,
                rules,
                out,
                config=settings,
                asked=asked,
                candidate=candidate,
                begun=begun,
                kept=kept,
                progress=progress,
                so_far=None if picture is None else functools.partial(_draw, path=picture),
            )
        except InvalidOriginalError as error:
            refused = error
    running.report(refused.result, outputs["--json"], found=settings.found)
    raise refused


def _draw(result: TuneResult, path: Path) -> None:
    """Draw the map, as far as candidates have figures."""
    from masktron.report.pages.plain_reader import PlainData
    from masktron.report.pages.tune_page import plane_of
    from masktron.report.pictures.picture_files import write_picture

    plane = plane_of(PlainData(result.as_dict()))
    if plane is not None:
        write_picture(path, plane, "risk-utility-map")


@contextmanager
def _going_on_told() -> Iterator[Callable[[], object]]:
    """Say, where a run is interrupted, what another one goes on from; yield what counts a result that is kept."""
    kept = itertools.count()
    try:
        yield kept.__next__
    except (KeyboardInterrupt, SystemExit):
        if results := next(kept):
            said = "1 result of this run is" if results == 1 else f"{results} results of this run are"
            typer.echo(f"{said} kept: the same command goes on from there", err=True)
        raise


def _written(result: TuneResult, path: Path, candidate: int | TuneRecipe | None, settings: Config) -> Iterator[str]:
    """Write the settings of a candidate, and say of which."""
    from masktron.errors import UsageError
    from masktron.jobs.tune.recipes import position_of, settings_of, with_keys
    from masktron.jobs.tune.settings_text import write_settings
    from masktron.report.text import plain

    position = result.recommended if candidate is None else position_of(candidate, result.candidates)
    if position is None:
        return  # the table says why, and so does the exit code
    chosen = result.candidates[position]
    if chosen.state in ("refused", "ended", "unreached"):
        raise UsageError(
            f"candidate {position} has no figures, so its settings are not written: {'; '.join(chosen.reasons)}",
            hint="name another one with --candidate",
        )
    recode, pram = (
        {name: how for one in result.candidates for name, how in getattr(one, axis).items()}
        for axis in ("recode", "pram")
    )
    known = with_keys(settings, recode, pram)
    write_settings(path, settings_of(chosen, known))
    yield f"settings of {plain(chosen.name)} written: {plain(path.as_posix())}"
    if settings.limits:
        bounds = ", ".join(f"{name} {bound:g}" for name, bound in settings.limits.items())
        yield f"the limits that it was chosen under stand there as well: {bounds}"


def _exit(result: TuneResult) -> Exit:
    if result.recommended is not None:
        return Exit.COMPLIES
    states = {one.state for one in result.candidates}
    if states & {"measured", "sampled", "unreached"}:
        return Exit.VIOLATION
    return Exit.RESOURCES if "ended" in states else Exit.INFEASIBLE
