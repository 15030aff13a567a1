"""The command line: commands as `click` parses them, and how a run ends.

What a command takes is declared by its fields (`masktron.commands.offered`). Its module is loaded when it is called,
so that help is there at once.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, override

import click
from click.shell_completion import shell_complete

from masktron.addresses import without_passwords
from masktron.commands import ASKED, COMMANDS, PROGRAM, Listed
from masktron.commands.help_text import print_help
from masktron.commands.told_errors import fault_told, tell, traceback_shown
from masktron.errors import Exit, MasktronError, UsageError
from masktron.memory import lacks_memory
from masktron.problems.problem import Setting
from masktron.problems.readers import Reader, reading
from masktron.standard_streams import output_error
from masktron.stopping import stoppable

if TYPE_CHECKING:
    from masktron.commands.offered import Offered

_COLLECTED = 50_000
"""Objects that are made before the collector looks for cycles among the new ones."""
_BY_SIGNAL = 128
"""Exit codes from here on say which signal ended the run."""
_SIGPIPE = 13
"""Of a system that has it; `signal` of Python on Windows does not."""


class _Reader(click.ParamType[Any]):
    """Reads the text of an option as it declares."""

    name = "value"

    def __init__(self, one: Offered) -> None:
        self.one = one

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.one.said.read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)

    @override
    def split_envvar_value(self, rv: str) -> list[str]:
        return [*super().split_envvar_value(rv)] if self.one.several else [rv]


class CommandLine(click.Command):
    """A command, with help in panels."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        super().__init__(listed.name, callback=self._run)

    @override
    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from masktron.commands.offered import offered

        if not self.params:
            self.params = [_parameter(one) for one in offered(self.listed.kind)]
        return super().get_params(ctx)

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        self.get_params(ctx)
        return super().parse_args(ctx, args)

    @override
    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from masktron.commands.offered import offered

        print_help(f"{PROGRAM} {self.listed.name}", self.listed, offered(self.listed.kind))

    def _run(self, **given: Any) -> NoReturn:
        from masktron.commands.execution import execute

        sys.exit(execute(self.listed.kind, given))


class Commands(click.Group):
    """All commands, each made when it is called."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return CommandLine(COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from masktron.problems.wording import did_you_mean

            ctx.fail(f"No such command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    @override
    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        print_help(PROGRAM, None, [])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"masktron {version('masktron')}")
        ctx.exit()


APP = Commands(
    PROGRAM,
    params=[click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version)],
    no_args_is_help=True,
)


def _parameter(one: Offered) -> click.Parameter:
    """Return what click parses."""
    from masktron.declared import Shape

    reader = click.STRING if one.said.form in (Shape.TABLE, Shape.LISTS) or one.part else _Reader(one)
    if not one.spellings:
        count = -1 if one.several else 1
        return click.Argument([one.key], type=reader, required=one.required, metavar=one.metavar, nargs=count)
    if one.switch:
        off = f"/{one.said.off}" if one.said.off else ""
        return click.Option([one.key, f"{one.spellings[0]}{off}", *one.spellings[1:]], is_flag=True, default=None)
    return click.Option(
        [one.key, *one.spellings],
        type=reader,
        required=one.required,
        multiple=True,
        callback=None if one.several else _single,
        metavar=one.metavar,
        envvar=one.said.variable or None,
    )


def _single(_: click.Context, option: click.Parameter, values: tuple[Any, ...]) -> Any:
    """Return the value of an option that takes one; the same may be given again."""
    different = [Setting(option.opts[0], (text,)) for text in dict.fromkeys(map(str, values))]
    if len(different) > 1:
        raise UsageError.of("given-twice", one=different[0], other=different[1:])
    return values[0] if values else None


def main(begun: float | None = None) -> None:
    """Run the command line; every error of masktron ends in one message and its exit code.

    Parameters
    ----------
    begun : float, optional
        When the process began, by `time.monotonic`: a budget counts from there, else from the call of the command.
    """
    # what is imported never becomes garbage, and by default looking for some among it takes a tenth of a second
    gc.set_threshold(_COLLECTED)
    with stoppable(), reading(Reader.TERMINAL):
        _run(begun)


def _options(error: click.UsageError) -> list[str]:
    """Return the options that an error of click is about."""
    named = getattr(error, "option_name", None)
    return [named] if named else getattr(getattr(error, "param", None), "opts", [])


def _invoke(begun: float | None) -> None:
    """Run what the arguments say; as `SystemExit`, it says with which exit code."""
    try:
        with without_passwords(sys.argv[1:]) as given, APP.make_context(PROGRAM, given, obj=begun) as context:
            APP.invoke(context)
    except click.exceptions.Exit as ended:  # of --help and --version
        sys.exit(ended.exit_code)


def _run(begun: float | None) -> None:
    if asked := os.environ.get(ASKED):
        sys.exit(shell_complete(APP, {}, PROGRAM, ASKED, asked))
    try:
        _invoke(begun)
    except click.exceptions.NoArgsIsHelpError:
        sys.exit(Exit.USAGE)
    except click.UsageError as error:
        from masktron.commands.help_pages import page_of_usage
        from masktron.commands.offered import takers_of

        said = error.format_message()
        if isinstance(error, click.NoSuchOption) and (owners := takers_of(error.option_name)):
            said = f"{error.option_name} is no option here, but of masktron {', '.join(owners)}"
        path = " ".join([PROGRAM, *[one for one in sys.argv[1:2] if one in COMMANDS]])
        about = [] if isinstance(error, click.NoSuchOption) else _options(error)
        _complain(f"{said}\n  -> {path} --help shows what there is\n  {page_of_usage(about, sys.argv[1:])}")
        tell("UsageError", said, Exit.USAGE)
        sys.exit(Exit.USAGE)
    except SystemExit as ended:
        _require_output(ended)
        raise
    except MasktronError as error:
        from masktron.commands.help_pages import page_of_error

        page = page_of_error(error, sys.argv[1:])
        _complain(f"{error}\n  {page}" if page else str(error))
        tell(type(error).__name__, error.what, error.exit_code, hint=error.hint, error=error)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told, and with its own exit code
        if lacks_memory(error):
            hint = "give the run more, or fewer records at a time"
            _end("SystemError", "out of memory", Exit.RESOURCES, hint)
        if isinstance(error, OSError):
            _end("SystemError", f"{error.filename or 'a file'}: {error.strerror or error}", Exit.DOCUMENT)
        what, hint = fault_told(error)
        sys.stderr.write(traceback_shown(error))
        _end("Fault", what, Exit.FAULT, hint)


def _end(kind: str, what: str, code: Exit, hint: str = "") -> NoReturn:
    """End with an error that is none of masktron's own."""
    _complain(f"{what}\n  -> {hint}" if hint else what)
    tell(kind, what, code, hint=hint)
    raise SystemExit(code)


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
    _end("SystemError", what, Exit.DOCUMENT, hint)


def _complain(message: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from masktron.report.text import printable

    console = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
    console.print(f"[red]error:[/] {escape(printable(message))}")
