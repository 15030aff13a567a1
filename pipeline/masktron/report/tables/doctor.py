"""What an installation has, for the eye."""

from __future__ import annotations

from itertools import groupby

from rich.console import RenderableType

from masktron.counts import counted
from masktron.extras import OPTIONAL_PACKAGES, installing
from masktron.report.tables.cells import table_of
from masktron.report.text import plain
from masktron.results import DoctorResult, FormatProbe


def tables(result: DoctorResult) -> list[RenderableType]:
    """One row for each thing that an installation has, then what can be done about what it lacks."""
    table = table_of(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("masktron", plain(f"{result.version}, in {result.folder}"))
    table.add_row("Python", plain(f"{result.python}, {result.system}"))
    free = f"{result.memory / 1e9:.1f} GB of memory free"
    table.add_row("machine", f"{counted(result.cores, 'core')}, {free}")
    packages = (f"{name} {version or '[red]is not installed[/]'}" for name, version in result.packages.items())
    table.add_row("packages", ", ".join(packages))
    for engine in result.engines:
        why = f": {plain(engine.why)}" if engine.why else ""
        table.add_row("engine", f"{plain(engine.name)}: {'works' if engine.works else f'[red]does not work[/]{why}'}")
    ready = sum(result.compiled.values())
    size = f", {result.compiled_bytes / 1e6:.1f} MB" if result.compiled_bytes else ""
    folder = f"kept in {result.compiled_folder}" if result.kept else "not kept: no folder is closed to others"
    table.add_row("compiled code", plain(f"{ready} of {len(result.compiled)} parts{size}; {folder}"))
    for label, able in _abilities(result).items():
        table.add_row(label, plain(", ".join(able)))
    for label, said in _lacking(result):
        table.add_row(label, f"[yellow]{plain(said)}[/]")
    lacking = [name for name, compiled in result.compiled.items() if not compiled]
    if not lacking:
        return [table]
    if not result.kept:
        return [table, "Each run compiles what it needs. Set NUMBA_CACHE_DIR to a folder that is closed to others."]
    return [table, f"Not compiled yet: {', '.join(lacking)}. `masktron doctor --warm` compiles it, once."]


def _abilities(result: DoctorResult) -> dict[str, list[str]]:
    """Return what can be done, by the label of its row; nothing stands in two."""
    both = [_named(one) for one in result.formats if one.reads and one.writes]
    reads = [_named(one) for one in result.formats if one.reads and not one.writes]
    features = [one.name for one in result.features if one.works]
    found = {"reads, writes": both, "only reads": reads, "has": features}
    return {label: able for label, able in found.items() if able}


def _lacking(result: DoctorResult) -> list[tuple[str, str]]:
    """Return one row for each command that helps: what cannot be done here, what it lacks, and the command."""
    rows, extras = [], dict[str, None]()
    for (why, install), packages in groupby(result.unusable, key=lambda one: (one.why, one.install)):
        names = [one.package for one in packages]
        wanting = [
            f"writing {one.what}" if one.reads else _named(one)
            for one in result.formats
            if not set(names).isdisjoint(one.lacks)
        ]
        wanting += [one.name for one in result.features if not set(names).isdisjoint(one.lacks)]
        rows.append(("cannot", f"{', '.join(wanting)}: {', '.join(names)} ({why.removeprefix('is ')}) -> {install}"))
        extras |= {OPTIONAL_PACKAGES[name].extra: None for name in names if "masktron[" in install}
    return [*rows, *([("all of that", installing(*extras))] if len(extras) > 1 else [])]


def _named(one: FormatProbe) -> str:
    what = one.what.partition(",")[0].removeprefix("an ").removeprefix("a ")
    return f"{what} ({one.suffixes[0]})" if one.suffixes else what
