"""Packages of extras: the list is that of pyproject.toml, and what is wrong with one is said, with what helps."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from cli_runner import Runner
from masktron import extras
from masktron.errors import UsageError
from masktron.extras import OPTIONAL_PACKAGES, broken_core, installing, library, shortcoming_of
from missing_packages import blocked
from paths import ROOT
from refusals import refused


def test_the_packages_of_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {
        (one.name, extra, str(one.specifier))
        for extra, listed in project["optional-dependencies"].items()
        if extra != "all"
        for one in map(Requirement, listed)
    }
    assert {(one.name, one.extra, f">={one.least}") for one in OPTIONAL_PACKAGES.values()} == asked


@pytest.mark.parametrize("name", OPTIONAL_PACKAGES)
def test_a_package_that_is_not_installed_is_told_from_one_that_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shortcoming_of(name) is None
    blocked(monkeypatch, name)
    found = shortcoming_of(name)
    assert found is not None
    extra = OPTIONAL_PACKAGES[name].extra
    assert (found.package, found.why, found.install) == (name, "is not installed", f'pip install "masktron[{extra}]"')


def test_a_package_that_cannot_be_loaded_is_installed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, and another one that it needs is not, or its compiled part does not fit this system."""
    blocked(monkeypatch, "zstandard", hidden=False)
    monkeypatch.syspath_prepend(tmp_path)
    said = {
        "import no_such_module": "No module named 'no_such_module'",
        "raise ImportError('GLIBC\\n 2.99')": "GLIBC 2.99",
    }
    for code, why in said.items():
        (tmp_path / "zstandard.py").write_text(code)
        found = shortcoming_of("zstandard")
        assert found is not None
        assert (found.why, found.install) == (f"cannot be loaded: {why}", "pip install --force-reinstall zstandard")
        with refused(UsageError, "package-broken", what="CSV", package="zstandard"):
            library("zstandard", "CSV")
    (tmp_path / "zstandard.py").write_text("")
    assert shortcoming_of("zstandard") is None


@pytest.mark.parametrize(
    ("version", "fits"), [("3.2", True), ("3.2.0rc1", True), ("3.10.1", True), ("3.1.9", False), ("2.99", False)]
)
def test_a_package_that_is_too_old_is_told(version: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "version_of", lambda _: version)
    found = shortcoming_of("xlsxwriter")
    assert (found is None) is fits
    if found is not None:
        assert found.why == f"is of version {version}, and has to be of 3.2 or newer"
        assert found.install == installing("excel")


def test_doctor_names_a_package_without_which_nothing_works(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken_core() == ()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "numba", None)
    done = run("doctor")
    done.refuses(
        1,
        "does-not-work",
        reason="numba is not installed; scikit-learn is not installed",
        hint="pip install --force-reinstall numba scikit-learn",
    )


def test_warnings_of_packages_are_not_those_of_masktron(monkeypatch: pytest.MonkeyPatch) -> None:
    def loads(_: str) -> None:
        import warnings

        warnings.warn("this package is old", DeprecationWarning, stacklevel=1)

    monkeypatch.setattr(extras, "importlib", SimpleNamespace(import_module=loads))
    assert shortcoming_of("duckdb") is None
