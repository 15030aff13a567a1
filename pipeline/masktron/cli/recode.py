"""``masktron recode``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.processes import rules_within

if TYPE_CHECKING:
    from masktron.jobs.originals import InvalidOriginalError


def recode(
    data: options.Data,
    rules: options.Rules,
    hierarchy: Annotated[
        list[str],
        typer.Option(
            "--hierarchy",
            metavar="FIELD=FILE",
            help="The hierarchy of a key: CSV with a value and its labels in each row, as ARX has it; repeatable.",
        ),
    ],
    key_k: Annotated[
        int, typer.Option("--key-k", parser=options.integer, metavar="K", help="Records that share a combination.")
    ] = 3,
    suppressed: Annotated[
        str,
        typer.Option(metavar="N|P%", help="Records that may have fewer, and are left to local suppression."),
    ] = "0",
    loss: Annotated[
        str, typer.Option(metavar="NAME", help="Measure of loss: entropy, precision or discernibility.")
    ] = "entropy",
    importance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=NUMBER", help="How much a loss in a key counts beside others; 1 by default; repeatable."
        ),
    ] = None,
    diversity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=L",
            help="Different values of a masked field beside each combination, at least; repeatable.",
        ),
    ] = None,
    limit: options.Limits = None,
    allow_lost: options.AllowLost = None,
    header: Annotated[bool, typer.Option("--header", help="The first row of the hierarchies has names.")] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the recommended recoding as settings to this new file."),
    ] = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    invalid: Annotated[
        str | None,
        typer.Option(
            metavar="stop|exclude", help="What to do with original records that break a rule.", show_default="stop"
        ),
    ] = None,
    allow: options.Allow = None,
    allow_unfired: options.AllowUnfired = None,
    document: options.Document = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    phase: options.Phase = None,
    rule_timeout: options.RuleTimeout = None,
    json: options.Json = None,
) -> None:
    """Find the recodings of keys that lose least and reach k, and say what they make of rules and of risk."""
    files = {name: Path(path) for name, path in _pairs("--hierarchy", hierarchy, "AGE=age.csv").items()}
    running.check_outputs(
        {"--json": json, "--write": write},
        {
            "the data": data,
            "the rulebook": rules,
            "the settings": settings_file(config),
            **{f"the hierarchy of {name}": path for name, path in files.items()},
        },
    )
    settings = settings_from(config, locals(), other=("key_k", "allow_lost"))
    running.check_outputs({"--json": json, "--write": write}, inputs_beside(settings))
    refused: InvalidOriginalError | None = None
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.originals import InvalidOriginalError
        from masktron.jobs.recode import RecodeWishes, run_recode, suppressed_records

        wishes = RecodeWishes(
            k=key_k,
            suppressed=suppressed_records(suppressed),
            loss=loss,
            importance={
                name: _number("--importance", text, float)
                for name, text in _pairs("--importance", importance or (), "AGE=2").items()
            },
            diversity={
                name: _number("--diversity", text, int)
                for name, text in _pairs("--diversity", diversity or (), "INCOME=2").items()
            },
            allow_lost=tuple(allow_lost or ()),
            header=header,
        )
        try:
            result = run_recode(data, rules, files, wishes, config=settings, write=write, progress=progress)
        except InvalidOriginalError as error:
            refused = error
    if refused is not None:
        running.report(refused.result, json, found=settings.found)
        raise refused
    running.report(result, json, found=settings.found)


def _pairs(option: str, given: Iterable[str], example: str) -> dict[str, str]:
    from masktron.errors import UsageError

    found: dict[str, str] = {}
    for one in given:
        name, equals, text = (part.strip() for part in one.partition("="))
        if not (name and equals and text):
            raise UsageError(f"{option} {one!r} is not of the form {example}", hint=f"for example {option} {example}")
        if name in found:
            raise UsageError(f"{option} gives {name!r} twice", hint="keep one of them")
        found[name] = text
    return found


def _number[N: (int, float)](option: str, text: str, kind: type[N]) -> N:
    from masktron.errors import UsageError

    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is no number of that kind", hint="such as 2") from None
