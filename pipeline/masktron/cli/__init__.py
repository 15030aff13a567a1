"""The command line: a module for each command, and what it needs to start and to end.

Options that several commands have are declared in `options`, once; `given` makes settings of them, and `running` does
what stands around a job. Heavy imports wait until a command runs, so that help is there at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from typer.main import get_command

from masktron.cli.assess import assess
from masktron.cli.check import check
from masktron.cli.combine import combine
from masktron.cli.convert import convert
from masktron.cli.demo import demo
from masktron.cli.describe import describe
from masktron.cli.doctor import doctor
from masktron.cli.explain import explain
from masktron.cli.formats import formats
from masktron.cli.help_pages import page_of_error, page_of_usage
from masktron.cli.help_text import PanelledCommand, PanelledGroup
from masktron.cli.hierarchy import hierarchy
from masktron.cli.key_treatments import keys
from masktron.cli.mask import mask
from masktron.cli.metadata import metadata
from masktron.cli.methods import methods
from masktron.cli.options import without_passwords
from masktron.cli.recode import recode
from masktron.cli.report import report
from masktron.cli.rerun import rerun
from masktron.cli.rules import rules
from masktron.cli.shell_completion import answer_shells, completion
from masktron.cli.suggest import suggest
from masktron.cli.told_errors import tell_error, tell_fault, tell_other, tell_usage
from masktron.cli.tune import tune
from masktron.cli.validate import validate
from masktron.cli.web import web
from masktron.errors import Exit, MasktronError
from masktron.memory import lacks_memory
from masktron.standard_streams import output_error
from masktron.stopping import stoppable

__all__ = ["app", "main"]

_COLLECTED = 50_000
"""Objects that are made before the collector looks for cycles among the new ones."""
_BY_SIGNAL = 128
"""Exit codes from here on say which signal ended the run."""
_SIGPIPE = 13
"""Of a system that has it; `signal` of Python on Windows does not."""

EPILOG = (
    "Exit codes: 0 complies; 1 an edit, contract or limit fails, or a hard rule fires on nothing; 2 usage; "
    "3 rulebook; 4 document; 5 the rules and k cannot both be kept, or the "
    "records were released before; 6 an engine lacks time or memory; 7 a fault of masktron itself; 128+n ended by "
    "signal n. Every command but web and completion also writes its result as JSON: --json FILE, or - "
    "for standard output."
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"masktron {version('masktron')}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


COMMANDS = (
    (describe, "masktron describe survey.csv --rows 5"),
    (suggest, "masktron suggest survey.csv --accept 1-4,7 --out edits.sch"),
    (rules, "masktron rules edits.sch --change income-sum --test 'Wages + Other = number(Income)'"),
    (validate, "masktron validate survey.xml --rules edits.sch --svrl report.xml"),
    (explain, "masktron explain edits.sch --data survey.xml"),
    (mask, "masktron mask survey.xml --rules edits.sch --out masked.xml -k 5 --role NAME=identifier"),
    (rerun, "masktron rerun january.manifest.json february.csv --out february-masked.csv"),
    (check, "masktron check masked.xml -r edits.sch --original survey.xml --manifest masked.manifest.json"),
    (assess, "masktron assess masked.xml --original survey.xml --manifest masked.manifest.json"),
    (tune, "masktron tune survey.xml --rules edits.sch --out tuned --limit linkage=20 --write masktron.toml"),
    (hierarchy, "masktron hierarchy survey.csv --field AGE --width 5 --out age.csv"),
    (recode, "masktron recode survey.csv --rules edits.sch --hierarchy AGE=age.csv --key-k 3 --suppressed 1%"),
    (keys, "masktron keys survey.csv --rules edits.sch --recode AGE=width:5 --key-k 3"),
    (report, "masktron report released.manifest.json --html report.html --html-public about.html"),
    (convert, "masktron convert survey.sav --out survey.csv"),
    (formats, "masktron formats csv"),
    (metadata, "masktron metadata masked.csv --metadata survey.ddi.xml --to ddi --out masked.ddi.xml"),
    (methods, "masktron methods mdav"),
    (demo, "masktron demo --out masktron-demo"),
    (doctor, "masktron doctor --warm"),
    (combine, "masktron combine estimates.csv"),
    (web, "masktron web"),
    (completion, "masktron completion bash"),
)
"""Each with an example, in the order of the help."""


def _with(commands: Iterable[tuple[Callable[..., None], str]]) -> typer.Typer:
    made = typer.Typer(
        name="masktron",
        cls=PanelledGroup,
        help="Mask survey microdata so that every Schematron edit rule still holds.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    made.callback()(_main)
    for command, example in commands:
        made.command(cls=PanelledCommand, epilog=f"Example: {example}")(command)
    return made


app = _with(COMMANDS)


@cache
def _read_by(first: str) -> Callable[..., None]:
    """Return what reads arguments that begin so: with one command it is there a tenth of a second before all are."""
    named = [one for one in COMMANDS if one[0].__name__ == first]
    return get_command(_with(named) if named else app)


def main(begun: float | None = None) -> None:
    """Run the command line; every error of masktron ends in one message and its exit code.

    Parameters
    ----------
    begun : float, optional
        When the process began, by `time.monotonic`: a budget counts from there, else from the call of the command.
    """
    # what is imported never becomes garbage, and by default looking for some among it takes a tenth of a second
    gc.set_threshold(_COLLECTED)
    with stoppable():
        _run(begun)


def _run(begun: float | None) -> None:
    answer_shells()
    try:
        with without_passwords(sys.argv[1:]) as arguments:
            _read_by(next(iter(arguments), ""))(arguments, obj=begun)
    except SystemExit as ended:
        if (where := _page_of_refusal(ended)) is not None:
            sys.stderr.write(f"  {where}\n")
        tell_usage(ended)
        _require_output(ended)
        raise
    except MasktronError as error:
        page = page_of_error(error, sys.argv[1:])
        _complain(f"{error}\n  {page}" if page else str(error))
        tell_error(error)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told, and with its own exit code
        if lacks_memory(error):
            what, hint = "out of memory", "give the run more, or fewer records at a time"
            _complain(f"{what}\n  -> {hint}")
            tell_other(what, hint=hint, code=Exit.RESOURCES)
            sys.exit(Exit.RESOURCES)
        if not isinstance(error, OSError):
            _end_by_fault(error)
        what = f"{error.filename or 'a file'}: {error.strerror or error}"
        _complain(what)
        tell_other(what, code=Exit.DOCUMENT)
        sys.exit(Exit.DOCUMENT)


def _page_of_refusal(ended: SystemExit) -> str | None:
    """Return where to read on, where typer has refused the command line."""
    refused = ended.__context__
    if refused is None or not hasattr(refused, "format_message"):
        return None
    return page_of_usage(str(refused.format_message()), sys.argv[1:])


def _end_by_fault(error: Exception) -> NoReturn:
    """Tell an exception that nobody expected as what it is; an exit code of its own keeps it apart from a verdict."""
    from masktron.cli.faults import fault_told, traceback_shown

    what, hint = fault_told(error)
    sys.stderr.write(traceback_shown(error))
    _complain(f"{what}\n  -> {hint}")
    tell_fault(what, hint)
    sys.exit(Exit.FAULT)


def _require_output(ended: SystemExit) -> None:
    """End with an exit code of its own where what was printed has not arrived.

    A reader such as ``head`` may end first: that is the code of SIGPIPE, without a word. Otherwise the outputs that
    are in their places are named.

    Raises
    ------
    SystemExit
    """
    if (error := output_error()) is None:
        return
    if isinstance(error, BrokenPipeError):
        raise SystemExit(_BY_SIGNAL + _SIGPIPE) from ended
    code = ended.code or Exit.COMPLIES
    if code not in (Exit.COMPLIES, Exit.VIOLATION):  # an error, which has been told
        return
    from masktron.write.atomic import publishing

    with publishing() as published:  # the notes of the whole run
        names = ", ".join(published.names) or "no file"
    what = f"standard output cannot be written: {error.strerror or error}; written before that: {names}"
    hint = f"send it to a terminal, or to a file that has room; without this error, the exit code would be {code}"
    _complain(f"{what}\n  -> {hint}")
    tell_other(what, hint=hint, code=Exit.DOCUMENT)
    raise SystemExit(Exit.DOCUMENT) from ended


def _complain(message: str) -> None:
    from rich.markup import escape

    from masktron.report.text import printable

    console = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
    console.print(f"[red]error:[/] {escape(printable(message))}")
