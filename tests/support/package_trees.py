"""The modules of masktron as syntax trees: parsed once in a process, by the first test that asks."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

import masktron

PACKAGE = Path(masktron.__file__).parent


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Parse a module; its nodes are no garbage, so none is looked for meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if collects:
            gc.enable()
