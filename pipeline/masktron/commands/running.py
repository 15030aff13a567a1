"""What commands do around a job: refuse outputs, show progress, print and write the result."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, RenderableType

from masktron.problems.problem import Note, Sentence
from masktron.progress import PROGRESS_FILE

if TYPE_CHECKING:
    from masktron.progress import Progress
    from masktron.results import JobResult
    from masktron.sources.xml.wellformed import WellFormedness


WIDTH = 118


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None], made: Path | None = None
) -> None:
    """Refuse outputs as `refuse_outputs` does; only ``--json`` may be ``-``, standard output.

    What is to be written to a folder that the run makes, `made`, is admitted before it is there. A page is refused
    where nothing can draw its pictures, before anything is computed. Only ``--manifest`` may take the place of a
    manifest, and nothing the name under which the run keeps that.
    """
    from masktron.errors import UsageError
    from masktron.files import refuse_outputs
    from masktron.sources.output_names import described_output, is_numbered

    files = {option: path for option, path in outputs.items() if path is not None}
    if any(option.startswith(("--html", "--map")) for option in files):
        from masktron.report.pictures.canvas import require_drawing

        require_drawing()
    for option in [option for option, path in files.items() if str(path) == "-"]:
        if option != "--json":
            raise UsageError.of(
                "needs-setting",
                name=option,
                needed="a file",
                setting=Note("its name; only JSON can go to standard output: [[--json -]]"),
            )
        del files[option]
    refuse_outputs(files, inputs, made)
    manifest = files.pop("--manifest", None)
    for option, path in files.items():
        if manifest is not None and is_numbered(path, manifest):
            raise UsageError.of("would-overwrite", path, output=option, taken="the manifest of an earlier release")
        if (output := described_output(path)) is not None:
            taken = f"the manifest of {output}, and nothing else has its secret"
            raise UsageError.of("would-overwrite", path, output=option, taken=taken)


def report(
    result: JobResult,
    json: Path | None,
    html: Path | None = None,
    *,
    found: Sentence = "",
    verbose: bool = True,
    written: str = "written",
) -> None:
    """Print a result, all of it or what fits a screen, and write it as JSON and as a page where that is wanted.

    `written` is said before the name of the page. `found` is `masktron.config.Config.found`: what to know of a file
    of settings that nobody named comes first, and is the first of the notes of JSON and page.

    Raises
    ------
    DocumentError
        A report cannot be written; what is printed, and outputs that are in their places, stand.
    """
    from masktron.errors import DocumentError
    from masktron.report.rendering import page_of, tables_of

    show_found(found, json)
    others = without_note(result, found)
    if verbose:
        show(tables_of(others), json)
    else:
        show_in_short(others, json)
    told = with_note(others, found)
    try:
        if json is not None:
            write(told.for_reader(), json)
        if html is not None:
            from masktron.report.pages.html import write_pages
            from masktron.report.text import plain

            page = page_of(told)
            write_pages({html: page})
            mark = ", CONFIDENTIAL" if page.edition == "internal" else ""
            show([f"{written}{mark}: {plain(html.as_posix())}"], json)
    except DocumentError as error:
        raise DocumentError.of("report-missing", error.problem.place, problem=error.problem) from error


def with_note[Result: JobResult](result: Result, note: Sentence) -> Result:
    """Return a result whose notes begin with this one; as it is where there is none, or where it has no notes."""
    has: Any = result
    return replace(has, notes=(note, *has.notes)) if note and hasattr(has, "notes") else result


def without_note[Result: JobResult](result: Result, note: Sentence) -> Result:
    """Return a result without a note, which is said elsewhere."""
    has: Any = result
    return replace(has, notes=tuple(one for one in has.notes if one != note)) if hasattr(has, "notes") else result


def show_found(found: Sentence, json: Path | None) -> None:
    """Print what to know of a file of settings that nobody named."""
    from masktron.report.text import plain

    show([f"[bold]note:[/] {plain(found)}"] if found else [], json)


def show_in_short(result: JobResult, json: Path | None, further: Iterable[RenderableType] = ()) -> None:
    """Print what fits a screen of a result, and what is said below."""
    from masktron.report.rendering import show, summary_of
    from masktron.report.tables.screenful import COLUMNS

    narrow = console(stderr=is_stdout(json))
    narrow.width = min(narrow.width, COLUMNS)
    show([*summary_of(result), *further], narrow)


def show(parts: Iterable[RenderableType], json: Path | None) -> None:
    """Print tables and texts; with ``--json -`` standard output is for the JSON alone."""
    from masktron.report.rendering import show

    show(parts, console(stderr=is_stdout(json)))


def write(content: Mapping[str, Any], json: Path | None) -> None:
    """Write a result as JSON, to a file or to standard output."""
    from masktron.write.manifest import dump, write_json

    if json is None:
        return
    if is_stdout(json):
        click.echo(dump(content), nl=False)
    else:
        write_json(json, content)


def is_stdout(json: Path | None) -> bool:
    """Whether JSON goes to standard output."""
    return json is not None and str(json) == "-"


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or wide enough for the tables where there is none."""
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    return console


@contextmanager
def judging(data: Path) -> Iterator[WellFormedness | None]:
    """Let libxml2 begin to read a large file; loading it waits for the first sign of life."""
    from masktron.sources.known_formats import format_of_name
    from masktron.sources.xml.wellformed import judged

    if format_of_name(data) is not None:
        yield None
        return
    with judged(data) as judge:
        yield judge


@contextmanager
def no_signs() -> Iterator[Progress]:
    """Show nothing of a run that takes no time."""
    from masktron.progress import no_progress

    yield no_progress


@contextmanager
def progress_shown() -> Iterator[Progress]:
    """Show stages, what is done and the time left on standard error: in place on a terminal, else in lines.

    Commands enter this before they load what they need, so that there is a sign of life at once; from then on, memory
    of large arrays that are freed goes back to the system. Where the
    environment names a file for it (``MASKTRON_PROGRESS``), the same is written there for another program.
    """
    from masktron.memory import give_back_freed, require_addresses
    from masktron.report.watch import lines, watch

    require_addresses()
    give_back_freed()
    console = Console(stderr=True, highlight=False, emoji=False)
    with ExitStack() as stack:
        if console.is_terminal:
            shown: Progress = stack.enter_context(watch(console))
        else:
            shown = stack.enter_context(lines(functools.partial(click.echo, err=True)))
        if name := os.environ.get(PROGRESS_FILE):
            from masktron.report.progress_lines import also_written

            shown = stack.enter_context(also_written(Path(name), shown))
        yield shown
