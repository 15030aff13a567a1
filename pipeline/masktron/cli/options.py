"""Options that several commands have, each declared once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from masktron.addresses import address_in, hidden, path_of
from masktron.errors import UsageError
from masktron.report.formats import FORMATS

_TYPED: ContextVar[dict[str, str]] = ContextVar("typed")
"""Addresses with passwords, by what the command line has in their place."""


@contextmanager
def without_passwords(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give arguments that whoever reads the command line may quote; `place` knows what stands for a password."""
    addresses = {one: address_in(one) for one in arguments}
    shown = [
        one.removesuffix(addresses[one]) + (hidden(addresses[one]) if addresses[one] else "") for one in arguments
    ]
    token = _TYPED.set({hidden(address): address for address in addresses.values() if address})
    try:
        yield shown
    finally:
        _TYPED.reset(token)


def place(text: str) -> Path:
    """Read the name of a file, or the address of a table in a database."""
    try:
        return path_of(_TYPED.get({}).get(text, text))
    except UsageError as error:
        raise typer.BadParameter(f"{error.what}; {error.hint}" if error.hint else error.what) from None


def integer(text: str) -> int:
    """Read an option that is an integer."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"it must be an integer, not {text!r}") from None


def integer_or_whole(text: str) -> int:
    """Read an option that is an integer, or ``whole`` for 0."""
    if text == "whole":
        return 0
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"it must be an integer or 'whole', not {text!r}") from None


def number(text: str) -> float:
    """Read an option that is a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None


def report_option(name: str) -> OptionInfo:
    """Return the option that names the file of a report, with the sentence that its format has."""
    option: OptionInfo = typer.Option(f"--{name}", metavar="FILE", help=FORMATS[name].help)
    return option


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        parser=place,
        help="Microdata in XML, CSV, Parquet, SPSS ...: see masktron formats; or postgresql://USER@HOST/DB?table=NAME.",
    ),
]
Masked = Annotated[Path, typer.Argument(metavar="MASKED", parser=place, help="The masked file, or table.")]
Rules = Annotated[Path, typer.Option("--rules", "-r", metavar="RULES.sch", help="Schematron rulebook.")]
Original = Annotated[
    Path | None,
    typer.Option(metavar="FILE", parser=place, help="Original file, which document() in the rules may name."),
]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Let the output replace a table of its name in a database; a file is always."),
]
RegisterFile = Annotated[
    Path | None,
    typer.Option(
        "--register",
        metavar="FILE",
        help="The register of releases, in which the original is looked up and this release entered.",
    ),
]
SaltFile = Annotated[
    Path | None,
    typer.Option("--salt", metavar="FILE", help="The secret of the register.", show_default="REGISTER.salt"),
]
Again = Annotated[
    str | None,
    typer.Option(
        metavar="REASON", help="Release records that the register has; the reason goes into register and manifest."
    ),
]
Document = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="NAME=FILE",
        help="The file that document('NAME') in the rules stands for, where it is not the original; repeatable.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of the data, where the name of the file does not say it."),
]
FormatOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--format-option",
        metavar="NAME=VALUE",
        help="How the data are to be read, such as delimiter=; or sheet=2: see masktron formats; repeatable.",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="LEVEL=FILE",
        help="The table of a level of nested records, in the place of its data in \\[levels] of the settings; "
        "repeatable.",
    ),
]
MaskedTables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="LEVEL=FILE",
        help="The table of a level of the masked file, where it does not lie beside that; repeatable.",
    ),
]
OriginalTables = Annotated[
    list[str] | None,
    typer.Option(
        "--original-table",
        metavar="LEVEL=FILE",
        help="The table of a level of the original, in the place of the one in \\[levels] or in the manifest; "
        "repeatable.",
    ),
]
Metadata = Annotated[
    Path | None,
    typer.Option(
        "--metadata",
        metavar="FILE",
        help="What the variables mean, beside the data: DDI-Codebook or Table Schema (JSON).",
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
        parser=integer,
        metavar="N",
        help="Variables without a rule are masked in groups of so many.",
        show_default="3",
    ),
]
K = Annotated[
    int | None,
    typer.Option("-k", parser=integer, metavar="N", help="Smallest group, at least 2.", show_default="5"),
]
SameOrder = Annotated[
    bool,
    typer.Option("--same-order", help="Without a manifest: the masked records are in the order of the original."),
]
Phase = Annotated[str | None, typer.Option(metavar="ID", help="Schematron phase; #ALL for all patterns.")]
Json = Annotated[Path | None, report_option("json")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures, for inside the agency.")
]
HtmlPublic = Annotated[
    Path | None,
    typer.Option(
        "--html-public",
        metavar="FILE",
        help="Write a page for whoever gets the masked file: what was done and what to know; no value of a record.",
    ),
]
Settings = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; else masktron.toml in this folder, which may do less."),
]
RoleOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="FIELD=ROLE",
        help="identifier, record-id, confidential, weight, quasi-identifier or untouched; repeatable.",
    ),
]
QuasiIdentifierOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--quasi-identifier",
        metavar="FIELD",
        help="Others may know it of a respondent, whatever masking does to it: risk is measured over such fields; "
        "repeatable.",
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
        "--numeric", metavar="FIELD", help="Its numbers are quantities, though they look like codes; repeatable."
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
        parser=number,
        metavar="SECONDS",
        help="What an engine may take for one rule on one record, or on a whole document; then it is ended, and the "
        "run stops (exit code 6). To name the record takes up to about three times as long.",
        show_default="60",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory that all processes of the run may take, such as 4GB: what would take much of it is read into "
        "files that are mapped to memory.",
        show_default="half of what is free",
    ),
]
CheckWorkers = Annotated[
    int | None,
    typer.Option(
        parser=integer,
        metavar="N",
        help="Processes that a large flat file is given to in slices, for the rules and for engines that are not "
        "masktron's; the result is the same for any number.",
        show_default="this process for the rules, the cores for engines",
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(
        metavar="local|dask",
        help="Who works on parts of a large file: processes of this machine, or the workers of a Dask cluster "
        "(masktron\\[dask]).",
        show_default="local",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask scheduler, as tcp://HOST:8786; its workers find the files under the same paths.",
        show_default="a cluster of --workers on this machine",
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
Recode = Annotated[
    list[str] | None,
    typer.Option(
        "--recode",
        metavar="FIELD=HOW",
        help="Recode an unmasked field, and the rules with it: age.csv:2 (level of a hierarchy), width:5, "
        "breaks:0,15,25,65, round:100, bottom:16,top:90:median; repeatable.",
    ),
]
Pram = Annotated[
    list[str] | None,
    typer.Option(
        "--pram",
        metavar="FIELD=HOW",
        help="Draw an unmasked category anew by known probabilities, among what the rules admit: change:0.1 (share "
        "expected to change), or sex.csv (a transition matrix); AGE+STATUS are drawn together; repeatable.",
    ),
]
Swap = Annotated[
    str | None,
    typer.Option(
        "--swap",
        metavar="FIELD,...",
        help="Let records that are rare in their region change places with similar ones of others: regions from "
        "coarse to fine; \\[swap] in settings says the rest.",
    ),
]
AllowLost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-lost",
        metavar="RULE-ID",
        help="Let a rule go of which a recoding leaves nothing to ask; * for all; repeatable.",
    ),
]
KeyK = Annotated[
    int | None,
    typer.Option(
        "--key-k",
        parser=integer,
        metavar="K",
        help="Leave out cells of quasi-identifiers until K records share every combination of them; \\[keys] in "
        "settings says how.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print all tables and notes; by default what fits a screen.")
]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", help="Print three values of each masked field before and after masking: CONFIDENTIAL."
    ),
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Take a file without records as valid.")]
