"""Help of commands as text: options in panels, each with what it takes beside its name, at most 80 columns."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _options(text: str) -> list[str]:
    return text.split()


PANELS: Mapping[str, list[str]] = MappingProxyType(
    {
        "What goes in": _options(
            "--rules --data --original --manifest --masked --config --role --quasi-identifier --missing "
            "--nominal --ordinal --numeric --against --against-original --against-manifest --field "
            "--hierarchy --header --class --same-order --format --format-option --record --table "
            "--original-table --metadata --phase --document --full --population"
        ),
        "How it is done": _options(
            "-k --k --method --methods --param --aggregator --grouping --recode --key-k --pram --swap "
            "--swap-rate --keep-missing --invalid --rare-units --reweight --protect --member-order --group-size-vars "
            "--shuffle --keep-order --on-refusal --secret --seed --change --add --suggested --remove --up --down "
            "--id --context --test --message --soft --accept --rename --to --to-option --width --levels "
            "--digits --suppressed --loss --importance --level --ratio --measures --risk --utility --budget "
            "--seeds --sample --warm --no-browser --port --host-name --projects --behind-proxy "
            "--proxy-header --proxy-account --workers --resume --executor --scheduler --dry-run"
        ),
        "Limits": _options(
            "--limit --max-failures --allow --allow-unfired --allow-lost --allow-empty --max-observed-share "
            "--diversity --register --salt --again --memory --unit-records --max-block-records --rule-timeout "
            "--max-upload --jobs"
        ),
        "Output": _options(
            "--out --rows --from --write --candidate --verbose --show-values --html --html-public --map --json --csv "
            "--svrl --sarif --junit --max-findings --release-safe --record-id --rules-out --replace --version --help"
        ),
    }
)
"""Options by panel, each panel from common to rare."""

_ELSEWHERE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("mask", "--manifest"): "Output",
        ("rerun", "--manifest"): "Output",
        ("tune", "--class"): "How it is done",
        ("suggest", "--accept"): "Output",
    }
)
"""Options that mean something else in one command, by command and option."""


class PanelError(LookupError):
    """An option stands in no panel."""


def panel_of(command: str, options: Sequence[str]) -> tuple[str, int]:
    """Return the panel of an option and its place there.

    Parameters
    ----------
    command : str
    options : sequence of str
        All spellings, such as ``--rules`` and ``-r``.

    Raises
    ------
    PanelError
    """
    for option in options:
        own = _ELSEWHERE.get((command, option))
        for panel, names in PANELS.items():
            if option in names:
                # where it means something else, it stands last but for --help
                return (panel, names.index(option)) if own is None else (own, len(PANELS[own]) - 2)
    raise PanelError(f"{'/'.join(options)} of {command} stands in no panel of masktron.cli.help_text")


def in_panels(command: str, parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return what a command takes as options, by panel: required ones first, then common ones, then rare ones.

    Parameters
    ----------
    command : str
    parameters : iterable of click parameters
        Hidden ones are left out.
    """
    placed: dict[str, list[tuple[bool, int, Any]]] = {panel: [] for panel in PANELS}
    for one in parameters:
        if not getattr(one, "hidden", False):
            panel, place = panel_of(command, one.opts)
            placed[panel].append((not one.required, place, one))
    return {
        panel: [one for _, _, one in sorted(found, key=lambda row: row[:2])]
        for panel, found in placed.items()
        if found
    }


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
