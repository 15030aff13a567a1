"""A part is one module, one entry in its package's tuple, and one test file; none may be forgotten."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from paths import TESTS

PACKAGES = ("aggregators", "partitions", "methods", "measures", "measures.keys")
TESTED = (*PACKAGES, "grouping")
"""Packages each module of which has a test file of its own."""
NOT_PARTS = {
    *("__init__", "assessed", "base", "chosen", "conditioned", "contracts", "figures", "guesses", "key_file"),
    "parameters",
    "partitionings",
}


def modules(package: str) -> list[str]:
    folder = Path(importlib.import_module(f"masktron.{package}").__path__[0])
    return sorted(file.stem for file in folder.glob("*.py") if file.stem not in NOT_PARTS)


def registered(package: str) -> set[str]:
    parts = importlib.import_module(f"masktron.{package}").ALL
    assert isinstance(parts, tuple)
    homes = (part.__module__ if callable(part) else type(part).__module__ for part in parts)
    return {home.removeprefix(f"masktron.{package}.") for home in homes}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_in_the_tuple(package: str) -> None:
    forgotten = set(modules(package)) - registered(package)
    assert not forgotten, f"add to ALL in masktron/{package}/__init__.py: {sorted(forgotten)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_is_a_module_of_the_package(package: str) -> None:
    assert registered(package) <= set(modules(package))


@pytest.mark.parametrize(("package", "module"), [(p, m) for p in TESTED for m in modules(p)])
def test_every_module_has_a_test_file(package: str, module: str) -> None:
    names = [f"test_{package}_{module}.py", f"test_{module}.py"]
    assert any(next(TESTS.rglob(name), None) for name in names), f"write {names[0]} or {names[1]} in tests/{package}"


def test_names_of_aggregators_are_unique() -> None:
    names = [aggregator.name for aggregator in importlib.import_module("masktron.aggregators").ALL]
    assert len(names) == len(set(names))
