"""No import circle, no public class twice, and no module name twice but for the same part of sibling packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from package_trees import PACKAGE, tree_of

FILES = {
    ".".join(("masktron", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
SIBLINGS = [
    {"methods", "partitions", "synthesis", "kernels"},
    {"measures", "kernels", "."},
    {"jobs", "report", "results", "cli"},
    {"grouping", "kernels"},
    {"methods", "aggregators", "measures"},
]
"""Packages in which modules have one name where they are parts of one thing, such as a method and its kernel."""


def imported(tree: ast.Module) -> Iterator[str]:
    """Modules that a module imports: when it is loaded, when a function runs, or for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Find modules that import each other in a circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def public(tree: ast.Module) -> Iterator[str]:
    """Classes and types that stand in a module without an underscore."""
    for node in tree.body:
        name = node.name.id if isinstance(node, ast.TypeAlias) else getattr(node, "name", "_")
        if isinstance(node, ast.ClassDef | ast.TypeAlias) and not name.startswith("_"):
            yield name


def together(modules: list[str]) -> bool:
    """Tell whether modules of one name are the same part of sibling packages."""
    parts = [name.split(".")[1:-1] or ["."] for name in modules]
    packages = {part[0] for part in parts}
    return len(packages) == len(modules) and any(packages <= family for family in SIBLINGS)


def test_no_import_circle() -> None:
    graph = {
        name: {other for other in imported(tree_of(path)) if other in FILES} - {name} for name, path in FILES.items()
    }
    assert sum(map(len, graph.values())) > 1000
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    tree = ast.parse("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from masktron.errors import Exit\n")
    assert list(imported(tree)) == ["typing", "masktron.errors"]
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_no_public_name_twice() -> None:
    where = defaultdict(list)
    for name, path in FILES.items():
        for found in public(tree_of(path)):
            where[found].append(name)
    assert len(where) > 500
    assert {found: names for found, names in where.items() if len(names) > 1} == {}


def test_no_module_name_twice_but_in_sibling_packages() -> None:
    where = defaultdict(list)
    for name, path in FILES.items():
        if not path.stem.startswith("__"):
            where[path.stem].append(name)
    assert {stem: names for stem, names in where.items() if len(names) > 1 and not together(names)} == {}
