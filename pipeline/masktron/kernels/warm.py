"""All kernels compiled ahead, once per machine: ``masktron doctor --warm``, ``python -m masktron.kernels.warm``.

Kernels that share code are compiled together, in a process for each such family, as many at a time as there are
cores. What is compiled already is only found to be so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module

from masktron.kernels.cores import usable_cores
from masktron.processes import import_environment, import_path, interpreter
from masktron.progress import Told, untold

if sys.platform != "win32":
    pass


@dataclass(frozen=True, slots=True)
class KernelFamily:
    """Kernels that are compiled together.

    Attributes
    ----------
    name : str
        What they do, as users are told.
    module : str
        In `masktron.kernels`.
    ready, compile : str
        Functions of the module: whether they are compiled, and compiling them.
    """

    name: str
    module: str
    ready: str
    compile: str

    def is_ready(self) -> bool:
        """Tell whether nothing of it has to be compiled."""
        return bool(self._function(self.ready)())

    def compile_all(self) -> None:
        """Compile it in this process."""
        self._function(self.compile)()

    def _function(self, name: str) -> Callable[[], object]:
        found: Callable[[], object] = getattr(import_module(f"masktron.kernels.{self.module}"), name)
        return found


FAMILIES = (
    KernelFamily("reading and writing large files", "ready", "kernels_ready", "compile_kernels"),
    KernelFamily("groups", "mdav", "tree_ready", "compile_tree"),
    KernelFamily("linkage", "linkage", "links_ready", "compile_links"),
    KernelFamily("exchange of records", "exchange", "exchange_ready", "compile_exchange"),
    KernelFamily("class-restricted groups", "crest", "tree_ready", "compile_tree"),
    KernelFamily("nearest points", "nearest_point", "rows_ready", "compile_rows"),
    KernelFamily("CSV", "separated", "separated_ready", "compile_separated"),
    KernelFamily("spanning trees", "mst", "tree_ready", "compile_tree"),
    KernelFamily("groups of one variable", "univariate", "path_ready", "compile_path"),
)
"""Those that take longest stand first."""


class CompilingError(Exception):
    """A process that compiles failed; with what it wrote."""


def missing() -> tuple[KernelFamily, ...]:
    """Return the families that a run would have to compile."""
    return tuple(family for family in FAMILIES if not family.is_ready())


def warm(families: tuple[KernelFamily, ...], told: Told = untold, *, workers: int | None = None) -> None:
    """Compile families.

    Parameters
    ----------
    families : tuple of KernelFamily
    told : callable, optional
        Called with how many are done, and how many there are.
    workers : int, optional
        Processes at the same time; by default as many as there are cores.

    Raises
    ------
    CompilingError
        It does not compile.
    """
    with ThreadPoolExecutor(max_workers=workers or usable_cores()) as threads:
        waiting = [threads.submit(_in_a_process, family) for family in families]
        told(0, len(families))
        for done, one in enumerate(as_completed(waiting), 1):
            one.result()
            told(done, len(families))


def _in_a_process(family: KernelFamily) -> None:
    """Compile a family in a process that ends with this one; in this one where it can start none like itself."""
    if (executable := interpreter()) is None:
        family.compile_all()
        return
    command = _ourselves(executable, f"FAMILIES[{FAMILIES.index(family)}].compile_all()")
    done = subprocess.run(  # noqa: S603 -- ourselves
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=import_environment(),
    )
    if done.returncode:
        raise CompilingError(f"{family.name}: {done.stderr.strip() or f'ended with {done.returncode}'}")


def _ourselves(executable: str, statement: str) -> list[str]:
    """Command of a process that ends with this one and carries out a statement in this module, found where it is."""
    bound = f"from masktron.processes import end_with; end_with({os.getpid()})"
    code = f"import sys; sys.path[:] = {import_path()!r}; {bound}; from {__spec__.name} import *; {statement}"
    return [executable, "-P", "-c", code]


if __name__ == "__main__":
    warm(missing())
