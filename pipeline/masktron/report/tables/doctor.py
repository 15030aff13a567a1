"""What an installation has, for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.report.tables.cells import table_of
from masktron.report.text import plain
from masktron.results import DoctorResult


def tables(result: DoctorResult) -> list[RenderableType]:
    """One row for each thing that an installation has, then what can be done about what it lacks."""
    table = table_of(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("masktron", plain(f"{result.version}, in {result.folder}"))
    table.add_row("Python", plain(f"{result.python}, {result.system}, {result.cores} cores"))
    packages = (f"{name} {version or '[red]is not installed[/]'}" for name, version in result.packages.items())
    table.add_row("packages", ", ".join(packages))
    for engine in result.engines:
        why = f": {plain(engine.why)}" if engine.why else ""
        table.add_row("engine", f"{plain(engine.name)}: {'works' if engine.works else f'[red]does not work[/]{why}'}")
    ready = sum(result.compiled.values())
    folder = f"kept in {result.compiled_folder}" if result.kept else "not kept, as no folder for it can be written to"
    table.add_row("compiled code", plain(f"{ready} of {len(result.compiled)} parts; {folder}"))
    lacking = [name for name, compiled in result.compiled.items() if not compiled]
    if not lacking:
        return [table]
    if not result.kept:
        return [table, "Each run compiles what it needs. NUMBA_CACHE_DIR can name a folder that can be written to."]
    return [table, f"Not compiled yet: {', '.join(lacking)}. `masktron doctor --warm` compiles it, once."]
