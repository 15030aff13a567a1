"""No import circle, and within a package no public class and no module name twice."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from package_trees import PACKAGE

FILES = {
    ".".join(("masktron", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


_IMPORTS = re.compile(r"^ *(?:from (masktron[\w.]*) import (\([^)]*\)|.*)|import (masktron[\w.]*))", re.MULTILINE)
_PUBLIC = re.compile(r"^(?:class|type) ([A-Za-z]\w*)", re.MULTILINE)


def imported(text: str) -> Iterator[str]:
    """Modules that a module imports: when it is loaded, when a function runs, or for types alone."""
    for module, names, whole in _IMPORTS.findall(text):
        inner = {f"{module}.{name}" for name in re.findall(r"\w+", names)} & FILES.keys()
        yield from inner or [module or whole]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Find modules that import each other in a circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


OF_THEIR_OWN = {"rulebook.plain"}
"""Packages within a package that have names of their own: another rule language has its own tree and functions."""


def package_of(module: str) -> str:
    """Return the package directly below masktron in which a module stands; "." for modules beside the packages."""
    parts = module.split(".")[1:]
    if ".".join(parts[:2]) in OF_THEIR_OWN:
        return ".".join(parts[:2])
    return parts[0] if len(parts) > 1 or (PACKAGE / parts[0]).is_dir() else "."


def twice(named: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return the names that several modules of one package have, by package and name, from (name, module) pairs."""
    where = defaultdict(list)
    for name, module in named:
        where[package_of(module), name].append(module)
    return {at: modules for at, modules in where.items() if len(modules) > 1}


def test_no_import_circle() -> None:
    graph = {
        name: {other for other in imported(path.read_text(encoding="utf-8")) if other in FILES} - {name}
        for name, path in FILES.items()
    }
    assert sum(map(len, graph.values())) > 1000
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    types = "if TYPE_CHECKING:\n    from masktron.errors import Exit\n"
    text = f"{types}from masktron import (\n    config,\n    roles,\n)\n"
    assert sorted(imported(text)) == ["masktron.config", "masktron.errors", "masktron.roles"]
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_no_public_name_twice_in_a_package() -> None:
    found = [
        (name, module)
        for module, path in FILES.items()
        if module != "masktron"
        for name in _PUBLIC.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 500
    assert twice(found) == {}


def test_no_module_name_twice_in_a_package() -> None:
    found = [(path.stem, module) for module, path in FILES.items() if not path.stem.startswith("__")]
    assert len(found) > 500
    assert twice(found) == {}


def test_a_name_twice_in_a_package_is_found() -> None:
    one, other = "masktron.sources.xml.reader", "masktron.sources.tables.reader"
    assert twice([("Reader", one), ("Reader", other)]) == {("sources", "Reader"): [one, other]}
    assert twice([("Reader", one), ("Reader", "masktron.rulebook.reader")]) == {}
