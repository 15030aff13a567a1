"""Kernels are compiled once, are compiled anew where nothing can be kept, and the user is told before."""

from __future__ import annotations

import ast
import copy
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import masktron
from made_columns import new_column
from masktron.judge.across.collect import spans
from masktron.judge.across.selection import Key
from masktron.judge.columns.state import FieldSource
from masktron.kernels import kept, mdav_tree, ready, separated
from masktron.sources.columns import plain_numbers
from masktron.sources.key_table import KeyTable
from masktron.sources.lexicon import Lexicon
from masktron.sources.xml.plain import iter_batches, survey_plain
from masktron.sources.xml.writer import write_masked

PACKAGE = Path(masktron.__file__).parent


def run(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.split()


def only_in(folder: Path) -> str:
    """Code that lets kernels be kept in this folder alone, whatever was compiled beside the package."""
    return (
        "from masktron.kernels import kept; "
        f"kept.InTreeCacheLocator.get_cache_path = lambda self: {str(folder)!r}; "
        "kept._Implementation._locator_classes = (kept.InTreeCacheLocator,); "
    )


def called_from_outside() -> set[str]:
    """Names of the compiled functions that the package imports from its kernels."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "masktron.kernels." in text else ():
            name = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if not name.startswith("masktron.kernels.") or path.parent.name == "kernels":
                continue
            module = importlib.import_module(name)
            found |= {alias.name for alias in node.names if hasattr(getattr(module, alias.name), "py_func")}
    return found


@pytest.mark.full
def test_every_kernel_that_is_called_is_among_those_that_the_user_is_told_of() -> None:
    entries = {kernel.py_func.__name__ for kernel in (*ready.ENTRIES, *separated.ENTRIES)}
    assert entries == called_from_outside()


@pytest.mark.full
def test_kernels_that_were_compiled_are_ready_in_the_next_run(tmp_path: Path) -> None:
    code = (
        f"{only_in(tmp_path)}from masktron.kernels.ready import *; from masktron.kernels.ready import ENTRIES; "
        "print(kernels_ready(), kernels_kept()); compile_kernels(); print(kernels_ready())"
    )
    for expected in (["False", "True", "True"], ["True", "True", "True"]):
        assert run(code) == expected


def types_beyond_those_compiled_ahead(path: Path) -> list[str]:
    """Compile ahead, read and evaluate a file, and return the kernels that were compiled for other types as well."""
    ready.compile_kernels()
    found = survey_plain(path, block=512)
    assert found is not None
    keys = KeyTable()
    for batch in iter_batches(path, found[0], found[2], rows=7):
        batch.numbers(1)
        batch.texts(1)
        FieldSource(batch).order(1, 2)
        FieldSource(batch).order(1, "é")
        spans(batch, Key("node", (2,))).numbers(keys)
    assert len(keys) == 3
    plain_numbers(Lexicon.of(["1", "x", None]))
    new = {"V1": new_column(np.array(["1", None], dtype=object), np.arange(90) % 2)}
    for order in (None, np.arange(90)[::-1]):
        write_masked(path, path.with_name("out.xml"), found[0], new, removed=["@id"], order=order, plain=found[2])
    return [kernel.py_func.__name__ for kernel in ready.ENTRIES if len(kernel.signatures) != 1]


@pytest.mark.full
def test_what_is_compiled_ahead_has_the_types_of_what_is_called(tmp_path: Path) -> None:
    """Other types would be compiled at a call of which nobody is told; in a process that called nothing before."""
    path = tmp_path / "data.xml"
    records = "".join(f"<Record id='{i}'><V1>{i}</V1><V2>{i % 3}</V2></Record>" for i in range(90))
    path.write_text(f"<Data>{records}</Data>", encoding="utf-8")
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from pathlib import Path; "
        f"import test_kernels_ready as own; print(own.types_beyond_those_compiled_ahead(Path({str(path)!r})))"
    )
    assert run(code) == ["[]"]


@pytest.mark.full
def test_it_is_known_whether_a_kernel_has_to_be_compiled(tmp_path: Path) -> None:
    code = only_in(tmp_path) + (
        "import numpy as np; from masktron.kernels.compiling import is_compiled; "
        "from masktron.kernels.scanner import line_breaks; from masktron.kernels.ready import kernels_ready; "
        "print(is_compiled(line_breaks)); line_breaks(np.zeros(3, np.uint8), 0, 3); print(is_compiled(line_breaks)); "
        "print(kernels_ready())"
    )
    for expected in (["False", "True", "False"], ["True", "True", "False"]):
        assert run(code) == expected


@pytest.mark.full
def test_no_kernel_insists_on_a_cache() -> None:
    """A container without a home has no folder that numba could write to."""
    code = (
        "from masktron.kernels import kept; kept._Implementation._locator_classes = (kept._ReadOnlyLocator,); "
        "import numpy as np; from masktron.kernels.texts import code_texts; "
        "from masktron.kernels.ready import kernels_folder, kernels_kept; "
        "octets, places, codes = np.zeros(1, np.uint8), np.zeros(0, np.int64), np.full(1, -1, np.int32); "
        "print(code_texts(octets, places, places, octets[:0], codes, codes, codes), kernels_kept(), kernels_folder())"
    )
    assert run(code)[-2:] == ["False", "None"]


def package_of(folder: Path, constant: int) -> None:
    """Write a module of kernels that takes a constant from another."""
    (folder / "inner.py").write_text(
        f"from numba import njit\n@njit\ndef constant() -> int:\n    return {constant}\n"
    )
    (folder / "outer.py").write_text(
        "from masktron.kernels.compiling import kernel\nfrom masktron.kernels.inner import constant\n"
        "@kernel\ndef outer() -> int:\n    return constant() + 1\n"
    )


@pytest.mark.full
def test_a_kernel_is_compiled_anew_where_another_module_changed_from_which_it_takes_code(tmp_path: Path) -> None:
    """numba compares the file of the function alone."""
    package = tmp_path / "package"
    package.mkdir()
    code = (
        f"import masktron.kernels; masktron.kernels.__path__.append({str(package)!r}); "
        "import pkgutil; read = pkgutil.get_data; from pathlib import Path; "
        f"pkgutil.get_data = lambda name, file: p.read_bytes() if (p := Path({str(package)!r}, file)).is_file() "
        "else read(name, file); "
        "from masktron.kernels.compiling import is_compiled; from masktron.kernels.outer import outer; "
        "print(is_compiled(outer), outer(), sum(outer.stats.cache_hits.values()))"
    )
    for constant, expected in ((1, "False 2 0"), (1, "True 2 1"), (2, "False 3 0")):
        package_of(package, constant)
        assert run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == expected.split()


@pytest.mark.full
def test_what_lies_beside_the_package_serves_who_cannot_write_there(tmp_path: Path) -> None:
    """Nor is a file that cannot be read, or is damaged, the end of a run."""
    code = (
        "import numpy as np; from masktron.kernels import kept; shared, own = {!r}, {!r}; "
        "kept.InTreeCacheLocator.get_cache_path = lambda self: shared; "
        "kept._Implementation._locator_classes = (kept.UserProvidedCacheLocator,); "
        "from masktron.kernels.compiling import is_compiled; from masktron.kernels.scanner import line_breaks; "
        "print(is_compiled(line_breaks), line_breaks(np.zeros(3, np.uint8), 0, 3), "
        "sum(line_breaks.stats.cache_hits.values()))"
    )
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    assert run(code.format(str(shared), str(own)), NUMBA_CACHE_DIR=str(own)) == ["False", "0", "0"]
    (kept_in,) = own.iterdir()
    for file in kept_in.iterdir():
        file.rename(shared / file.name)
    kept_in.rmdir()
    other = tmp_path / "other"
    assert run(code.format(str(shared), str(other)), NUMBA_CACHE_DIR=str(other)) == ["True", "0", "1"]
    for file in shared.glob("*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    assert run(code.format(str(shared), str(other)), NUMBA_CACHE_DIR=str(other)) == ["False", "0", "0"]


def test_a_copy_of_a_kernel_is_the_kernel() -> None:
    assert copy.copy(mdav_tree.nearest) is mdav_tree.nearest
    assert copy.deepcopy(mdav_tree.nearest) is mdav_tree.nearest
    assert pickle.loads(pickle.dumps(mdav_tree.nearest)) is mdav_tree.nearest  # noqa: S301 -- our own


def test_modules_of_kernels_import_others_in_the_form_that_their_cache_looks_for() -> None:
    """Else a change would go unnoticed."""
    for path in (PACKAGE / "kernels").glob("*.py"):
        text = path.read_bytes()
        if b"@kernel" not in text:
            continue
        nodes = list(ast.walk(ast.parse(text)))
        named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        ours = {name for name in named | plain if name.startswith("masktron")}
        assert ours == {match.decode() for match in kept._IMPORTED.findall(text)}, path.name
        assert all(name.startswith("masktron.kernels.") for name in ours), path.name


def test_every_kernel_that_python_calls_belongs_to_a_family_that_is_compiled_ahead(tmp_path: Path) -> None:
    """`doctor --warm` would leave something to a run otherwise."""
    code = only_in(tmp_path) + ("from masktron.kernels.warm import *; print(missing() == FAMILIES)")
    assert run(code) == ["True"]
    modules = {path.stem for path in (PACKAGE / "kernels").glob("*.py") if b"@kernel" in path.read_bytes()}
    loaded = (
        "import sys; from masktron.kernels.warm import *; [family.is_ready() for family in FAMILIES]; "
        "print(*(name.rpartition('.')[2] for name in sys.modules if name.startswith('masktron.kernels.')))"
    )
    assert modules <= set(run(loaded))
