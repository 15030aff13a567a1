"""Help of commands as text: options in panels, each with what it takes beside its name, at most 80 columns."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from masktron.cli.panels import in_panels

WIDTH = 80
"""Columns of the help, unless the terminal has fewer."""
_NAMES = 29
"""Columns for an option and what it takes."""


class PanelledCommand(TyperCommand):
    """A command whose help has its options in panels."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx)


class PanelledGroup(TyperGroup):
    """The commands together, in help of the same look."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx)


def _print_help(command: Any, ctx: typer.Context) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDTH)
    parameters = command.get_params(ctx)
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    commands = [command.get_command(ctx, name) for name in getattr(command, "commands", ())]
    console.print(Padding(Text(f"Usage: {_usage(ctx, arguments, options, bool(commands))}", "bold"), (1, 1)))
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        console.print(Padding(_marked(paragraph.replace("\n", " ")), (0, 1, 1, 1)))
    if arguments:
        _print_panel(console, "Arguments", ((_named(one), _told(one)) for one in arguments))
    if commands:
        _print_panel(console, "Commands", ((one.name, _first(one.help)) for one in commands))
    panels = {"Options": options} if commands else in_panels(command.name or "", options)
    for panel, found in panels.items():
        _print_panel(console, panel, ((_named(one), _told(one)) for one in found))
    if command.epilog:
        console.print(Padding(_marked(command.epilog), (1, 1)))


def _usage(ctx: typer.Context, arguments: Iterable[Any], options: Iterable[Any], group: bool) -> str:
    """Say what has to be given, and that more may be."""
    given = [_metavar(one) if one.required else f"[{_metavar(one)}]" for one in arguments]
    needed = [f"{one.opts[0]} {_metavar(one)}" for one in options if one.required]
    return " ".join([ctx.command_path, *(["COMMAND"] if group else []), *given, *needed, "[OPTIONS]"])


def _print_panel(console: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(max_width=_NAMES, overflow="fold", style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for name, told in rows:
        grid.add_row(Text(name), _marked(told))
    console.print(Panel(grid, title=title, title_align="left", border_style="dim"))


def _named(parameter: Any) -> str:
    """Return the spellings, and what stands behind them; a flag takes nothing."""
    if parameter.param_type_name == "argument":
        return _metavar(parameter)
    spellings = " ".join(sorted(parameter.opts, key=len, reverse=True))
    return spellings if parameter.is_flag else f"{spellings} {_metavar(parameter)}".rstrip()


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or "")


def _told(parameter: Any) -> str:
    """Return what an option does, what it is where it is not given, and whether it has to be."""
    from rich.markup import escape

    told = [parameter.help or ""]
    if isinstance(parameter.show_default, str):
        told.append(escape(f"[default: {parameter.show_default}]"))
    elif parameter.param_type_name == "option" and not parameter.is_flag and parameter.default not in (None, (), []):
        told.append(escape(f"[default: {parameter.default}]"))
    if parameter.required and parameter.param_type_name == "option":
        told.append(escape("[required]"))
    return " ".join(told)


def _first(text: str | None) -> str:
    """Return the first paragraph."""
    return inspect.cleandoc(text or "").split("\n\n")[0].replace("\n", " ")


def _marked(text: str) -> Any:
    from rich.text import Text

    return Text.from_markup(text)
