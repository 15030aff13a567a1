"""``masktron rules``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masktron.cli import options, running

if TYPE_CHECKING:
    from masktron.jobs.rules import TextChange

_NAMED = "by its id, or # and its number"


def rules(
    rulebook: Annotated[Path, typer.Argument(metavar="RULES.sch", help="Schematron rulebook.")],
    change: Annotated[
        str | None, typer.Option(metavar="ID", help=f"Change this rule, {_NAMED}; with what it is to have.")
    ] = None,
    add: Annotated[
        bool,
        typer.Option("--add", help="Add a rule of --context, --test and --message, and --id; in a new file, too."),
    ] = False,
    suggested: Annotated[
        Path | None, typer.Option(metavar="SUGGEST.json", help="Add the proposals in it that --accept names.")
    ] = None,
    accept: Annotated[list[str] | None, typer.Option(metavar="1,3,ID", help="Proposals to add; repeatable.")] = None,
    remove: Annotated[str | None, typer.Option(metavar="ID", help=f"Remove this rule, {_NAMED}.")] = None,
    up: Annotated[str | None, typer.Option(metavar="ID", help="Change places with the rule before.")] = None,
    down: Annotated[str | None, typer.Option(metavar="ID", help="Change places with the rule after.")] = None,
    id: Annotated[str | None, typer.Option(help="Its id.")] = None,  # noqa: A002 -- the name of the option
    context: Annotated[str | None, typer.Option(metavar="XPATH", help="The records that it is asked of.")] = None,
    test: Annotated[str | None, typer.Option(metavar="XPATH", help="What has to hold.")] = None,
    message: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What is wrong where it fails; {Income} shows a value.")
    ] = None,
    soft: Annotated[
        bool | None, typer.Option("--soft/--hard", help='Whether a failure is only told: role="warning".')
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="RULES.sch", help="The changed file.", show_default="in place"),
    ] = None,
    json: options.Json = None,
) -> None:
    """List the rules of a file, or change one where it stands: comments and all else stay as they are.

    Whether a rule means something says masktron explain.
    """
    from masktron.errors import UsageError

    asked = {
        "--change": change,
        "--add": add or None,
        "--suggested": suggested,
        "--remove": remove,
        "--up": up,
        "--down": down,
    }
    given = [name for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two changes", hint="make one after the other")
    parts = {"id": id, "context": context, "test": test, "message": message}
    wanted = {name: text for name, text in parts.items() if text is not None}
    if soft is not None:
        wanted["role"] = "warning" if soft else ""
    for name in wanted:
        _require_change(f"--{'soft' if name == 'role' else name}", given, ("--change", "--add"))
    if accept:
        _require_change("--accept", given, ("--suggested",))
    if out is not None and not given:
        raise UsageError("--out needs a change", hint="--change, --add, --suggested, --remove, --up or --down")
    running.check_outputs({"--json": json}, {"the rulebook": rulebook, "the proposals": suggested})
    if out is not None:
        running.check_outputs({"--out": out, "--json": json}, {"the proposals": suggested})
    from masktron.jobs.rules import run_rules
    from masktron.rulebook_text.rule_changes import empty_rulebook

    new = empty_rulebook(rulebook.stem) if add or suggested is not None else None
    found = run_rules(rulebook, _change(given, asked, wanted, accept or []), out, begin=new)
    running.report(found, json)


def _require_change(option: str, given: list[str], takes: tuple[str, ...]) -> None:
    from masktron.errors import UsageError

    if not {*given} & {*takes}:
        raise UsageError(f"{option} needs {' or '.join(takes)}", hint="say which rule is meant")


def _change(
    given: list[str], asked: Mapping[str, str | bool | Path | None], wanted: dict[str, str], accept: list[str]
) -> TextChange | None:
    from masktron.rulebook_text.accepted import accepted_rules
    from masktron.rulebook_text.rule_changes import NewRule, moved, with_parts, with_rules, without

    if not given:
        return None
    named = asked[given[0]]
    match given[0], named:
        case "--change", str():
            return partial(with_parts, name=named, parts=wanted)
        case "--add", _:
            new = NewRule(*(wanted.get(part, "") for part in ("context", "test", "message", "id", "role")))
            return partial(with_rules, added=[new])
        case "--remove", str():
            return partial(without, name=named)
        case _, Path():
            numbers = [one.strip() for each in accept for one in each.split(",") if one.strip()]
            added, namespaces = accepted_rules(_read(named), numbers)
            return partial(with_rules, added=added, namespaces=namespaces)
        case _, str():
            return partial(moved, name=named, up=given[0] == "--up")
    raise AssertionError


def _read(path: Path) -> dict[str, object]:
    from json import JSONDecodeError, loads

    from masktron.errors import UsageError
    from masktron.files import read_text

    try:
        found = loads(read_text(path, "the proposals"))
    except JSONDecodeError as error:
        raise UsageError(f"not valid JSON: {error.msg}", where=f"{path}:{error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError("not valid JSON: nested too deeply, or a number is too long", where=str(path)) from error
    if not isinstance(found, dict):
        raise UsageError("the file is not what masktron suggest has written", where=str(path))
    return found
