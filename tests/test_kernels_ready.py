"""Kernels are compiled once, are compiled anew where nothing can be kept, and the user is told before."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import masktron
from masktron.evaluation.across.selection import Key
from masktron.evaluation.across.texts import spans
from masktron.evaluation.columns.xpath2_source import BatchSource
from masktron.kernels import compiling, ready
from masktron.read.keys import KeyTable
from masktron.read.plain import iter_batches, survey_plain
from masktron.read.records import Coded
from masktron.write.xml import write_masked

PACKAGE = Path(masktron.__file__).parent


def run(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.split()


def called_from_outside() -> set[str]:
    """Names of the compiled functions that the package imports from its kernels."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if not name.startswith("masktron.kernels.") or path.parent.name == "kernels":
                continue
            module = importlib.import_module(name)
            found |= {alias.name for alias in node.names if hasattr(getattr(module, alias.name), "py_func")}
    return found


def test_every_kernel_that_is_called_is_among_those_that_the_user_is_told_of() -> None:
    assert {kernel.py_func.__name__ for kernel in ready.ENTRIES} == called_from_outside()


@pytest.mark.full
def test_kernels_that_were_compiled_are_ready_in_the_next_run(tmp_path: Path) -> None:
    code = (
        "from masktron.kernels.ready import *; from masktron.kernels.ready import ENTRIES; "
        "print(kernels_ready(), kernels_kept()); compile_kernels(); print(kernels_ready())"
    )
    for expected in (["False", "True", "True"], ["True", "True", "True"]):
        assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == expected


def types_beyond_those_compiled_ahead(path: Path) -> list[str]:
    """Compile ahead, read and evaluate a file, and return the kernels that were compiled for other types as well."""
    ready.compile_kernels()
    found = survey_plain(path, block=512)
    assert found is not None
    keys = KeyTable()
    for batch in iter_batches(path, found[0], found[2], rows=7):
        batch.numbers(1)
        batch.texts(1)
        BatchSource(batch).order(1, 2)
        BatchSource(batch).order(1, "é")
        keys.number(*spans(batch, Key("node", (2,)), "1.0").only(None))
    assert len(keys) == 3
    new = {"V1": Coded(np.array(["1", None], dtype=object), np.arange(90) % 2)}
    for order in (None, np.arange(90)[::-1]):
        write_masked(path, path.with_name("out.xml"), found[0], new, removed=["@id"], order=order, plain=found[2])
    return [kernel.py_func.__name__ for kernel in ready.ENTRIES if len(kernel.signatures) != 1]


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


def test_kernels_are_compiled_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(**options: object) -> Callable[[object], object]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(compiling, "njit", refusing)
    assert compiling.kernel(len) is len


def test_it_is_known_whether_a_kernel_has_to_be_compiled(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from masktron.kernels.compiling import is_compiled; "
        "from masktron.kernels.scanner import line_breaks; from masktron.kernels.ready import kernels_ready; "
        "print(is_compiled(line_breaks)); line_breaks(np.zeros(3, np.uint8), 0, 3); print(is_compiled(line_breaks)); "
        "print(kernels_ready())"
    )
    for expected in (["False", "True", "False"], ["True", "True", "False"]):
        assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == expected


def test_no_kernel_insists_on_a_cache() -> None:
    """A container without a home has no folder that numba could write to."""
    code = (
        "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []; "
        "from masktron.kernels.ready import kernels_kept, kernels_ready; print(kernels_kept(), kernels_ready())"
    )
    assert run(code) == ["False", "False"]


def test_an_archive_is_asked_for_its_age(tmp_path: Path) -> None:
    """A module in it is no file of its own."""
    archive = tmp_path / "package.zip"
    archive.touch()
    (tmp_path / "module.function-1.nbi").touch()
    code = SimpleNamespace(co_filename=str(archive / "module.py"))
    function = SimpleNamespace(__code__=code, __name__="function")
    kernel = SimpleNamespace(signatures=[], py_func=function, stats=SimpleNamespace(cache_path=str(tmp_path)))
    os.utime(archive, (1, 1))
    assert compiling.is_compiled(kernel)
    os.utime(archive, (1 << 33, 1 << 33))
    assert not compiling.is_compiled(kernel)
