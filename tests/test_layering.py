"""A stage imports only what stands before it; the kernels import nothing of ours; help stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import masktron
from masktron.sources.xml.wellformed import SMALLEST

PACKAGE = Path(masktron.__file__).parent
ORDER = [
    {"errors"},
    {"arrays", "files", "figures", "processes", "progress", "resources", "serialised", "streams", "thresholds"},
    {"release_key", "supervisor"},
    {"constraints", "config", "kernels"},
    {"settings"},
    {"sources", "engines"},
    {"xpath"},
    {"rulebook"},
    {"classify"},
    {"evaluation"},
    {"roles"},
    {"codes"},
    {"aggregators", "partitions", "synthesis"},
    {"grouping", "methods"},
    {"estimators"},
    {"plan"},
    {"settle"},
    {"measures"},
    {"masking"},
    {"preflight"},
    {"results"},
    {"write"},
    {"report"},
    {"jobs"},
    {"stopping"},
    {"api", "cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or not path.stem.startswith("__"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> set[str]:
    """Parts of masktron that a module imports when it is loaded or run, not for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names = {
        alias.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return {name.split(".")[1] for name in names if name.startswith("masktron.")}


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_stage_imports_only_what_stands_before_it(path: Path) -> None:
    own = part_of(path)
    later = {name for name in imported(path) if name != own and RANK[name] >= RANK[own]}
    assert not later


def test_results_know_reports_in_one_place() -> None:
    """A result is put into words by name, when somebody prints it: imports alone would not show that."""
    naming = [path.stem for path in MODULES if part_of(path) == "results" and "import_module" in path.read_text()]
    assert naming == ["result"]


def test_nobody_imports_the_source_root() -> None:
    assert not (PACKAGE.parent / "__init__.py").exists()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from masktron.cli import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print([m for m in ('numpy', 'lxml', 'saxonche', 'pandas', 'scipy', 'pyschematron') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_kernel_calls_a_compiled_function_of_another_module() -> None:
    """The compiler looks at the module of a function alone when it asks whether what it kept is still right."""
    kernels = PACKAGE / "kernels"
    foreign = []
    for path in sorted(kernels.glob("*.py")):
        module = import_module(f"masktron.kernels.{path.stem}")
        compiled = [name for name, value in vars(module).items() if hasattr(value, "py_func")]
        own = [name for name in compiled if vars(module)[name].py_func.__module__ == module.__name__]
        if own:
            foreign += [f"{path.stem}: {name}" for name in compiled if name not in own]
    assert foreign == []


def test_validate_of_a_large_file_loads_no_science(tmp_path: Path) -> None:
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    row = "<Record><A>1</A><B>2</B></Record>\n"
    data.write_text(f"<Data>\n{row * 150_000}</Data>")
    assert data.stat().st_size > SMALLEST
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert id="R1" test="A + 1 = B"/></rule></pattern></schema>'
    )
    code = (
        "import sys; from masktron.cli import main; sys.argv[0] = 'masktron'\n"
        "try: main()\n"
        "except SystemExit as stop: code = stop.code\n"
        "heavy = ('scipy.optimize', 'scipy.sparse', 'pandas', 'sklearn', 'saxonche', 'masktron.settle')\n"
        "print(code, 'numba' in sys.modules, [m for m in heavy if m in sys.modules])\n"
    )
    argv = [sys.executable, "-c", code, "validate", str(data), "--rules", str(rules)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 True []"
    assert "masktron's columns" in done.stdout
