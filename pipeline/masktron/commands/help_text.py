"""Help of commands as text: options in panels, each with what it takes beside its name, at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from masktron.commands import COMMANDS, SUMMARY, Listed

if TYPE_CHECKING:
    from masktron.commands.offered import Offered

WIDTH = 80
"""Columns of the help, unless the terminal has fewer."""
_NAMES = 29
"""Columns for an option and what it takes."""
EPILOG = (
    "Exit codes: 0 complies; 1 an edit, contract or limit fails, or a hard rule fires on nothing; 2 usage; "
    "3 rulebook; 4 document; 5 the rules and k cannot both be kept, or the records were released before; 6 an engine "
    "lacks time or memory; 7 a fault of masktron itself; 128+n ended by signal n. Every command but web and "
    "completion also writes its result as JSON: --json FILE, or - for standard output."
)


def print_help(program: str, listed: Listed | None, options: Sequence[Offered]) -> None:
    """Print the help of a command, or of all."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDTH)
    usage = f"{program} COMMAND" if listed is None else usage_of(listed.name, options)
    console.print(Padding(Text(f"Usage: {usage} [OPTIONS]", "bold"), (1, 1)))
    for paragraph in [SUMMARY] if listed is None else described(listed):
        console.print(Padding(Text(paragraph.replace("\n", " ")), (0, 1, 1, 1)))
    if listed is None:
        _print_panel(console, "Commands", ((one.name, one.summary) for one in COMMANDS.values()))
    if arguments := [one for one in options if not one.spellings]:
        _print_panel(console, "Arguments", ((one.metavar, told(one)) for one in arguments))
    last = ("--help", "Show this message and stop.")
    if listed is None:
        _print_panel(console, "Options", [("--version", "Show the version and stop."), last])
    else:
        from masktron.commands.offered import in_panels
        from masktron.declared import OUTPUT

        panels = {**in_panels([*options]), OUTPUT: in_panels([*options]).get(OUTPUT, [])}
        for panel, found in panels.items():
            rows = [(named(one), told(one)) for one in found]
            _print_panel(console, panel, [*rows, *([last] if panel == OUTPUT else [])])
    console.print(Padding(Text(EPILOG if listed is None else f"Example: {listed.example}"), (1, 1)))


def described(listed: Listed) -> list[str]:
    """Return what a command does, in paragraphs: its summary, and the text of its class before sections."""
    import inspect
    import re

    text = re.split(r"^\w+\n-{3,}$", inspect.cleandoc(listed.kind.__doc__ or ""), flags=re.MULTILINE)[0]
    return [listed.summary, *filter(None, (part.strip() for part in text.split("\n\n")[1:]))]


def usage_of(name: str, options: Sequence[Offered]) -> str:
    """Say what has to be given."""
    given = [one.metavar if one.required else f"[{one.metavar.strip('[]')}]" for one in options if not one.spellings]
    needed = [f"{one.spellings[0]} {one.metavar}" for one in options if one.spellings and one.required]
    return " ".join(["masktron", name, *given, *needed])


def named(one: Offered) -> str:
    """Return the spellings, and what stands behind them; a switch takes nothing."""
    off = [one.said.off] if one.said.off else []
    spellings = " ".join([*one.spellings, *off])
    return spellings if one.switch else f"{spellings} {one.metavar}".rstrip()


def told(one: Offered) -> str:
    """Return what an option does, what it is where it is not given, and whether it has to be."""
    shown = [f"[default: {one.shown}]"] if one.shown else []
    return " ".join([one.help, *shown, *(["[required]"] if one.required and one.spellings else [])])


def _print_panel(console: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(max_width=_NAMES, overflow="fold", style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for name, said in rows:
        grid.add_row(Text(name), Text(said))
    console.print(Panel(grid, title=title, title_align="left", border_style="dim"))
