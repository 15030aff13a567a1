"""Help of commands as text: options in sections, each with what it takes beside its name, at most 80 columns."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

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
    form = click.HelpFormatter(width=min(shutil.get_terminal_size().columns, WIDTH))
    name, _, taken = (f"{program} COMMAND" if listed is None else usage_of(listed.name, options)).partition(" ")
    form.write_usage(name, f"{taken} [OPTIONS]")
    for paragraph in [SUMMARY] if listed is None else described(listed):
        form.write_paragraph()
        form.write_text(paragraph.replace("\n", " "))
    if listed is None:
        _write_section(form, "Commands", ((one.name, one.summary) for one in COMMANDS.values()))
    if arguments := [one for one in options if not one.spellings]:
        _write_section(form, "Arguments", ((one.metavar, told(one)) for one in arguments))
    last = ("--help", "Show this message and stop.")
    if listed is None:
        _write_section(form, "Options", [("--version", "Show the version and stop."), last])
    else:
        from masktron.commands.offered import in_panels
        from masktron.declared import OUTPUT

        panels = {**in_panels([*options]), OUTPUT: in_panels([*options]).get(OUTPUT, [])}
        for panel, found in panels.items():
            rows = [(named(one), told(one)) for one in found]
            _write_section(form, panel, [*rows, *([last] if panel == OUTPUT else [])])
    form.write_paragraph()
    last_words = EPILOG if listed is None else f"Example: {listed.example}"
    # whoever copies an example gets its words whole
    form.write(textwrap.fill(last_words, form.width, break_on_hyphens=False, break_long_words=False) + "\n")
    click.echo(form.getvalue(), nl=False)


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
    again = ["[repeatable]"] if one.several else []
    return " ".join([one.help, *again, *shown, *(["[required]"] if one.required and one.spellings else [])])


def _write_section(form: click.HelpFormatter, title: str, rows: Iterable[tuple[str, str]]) -> None:
    with form.section(title):
        form.write_dl([*rows], col_max=_NAMES)
