"""One list of the packages that decide what a run gives: manifests, kept results, `rerun` and `doctor` read it."""

from __future__ import annotations

import re
import tomllib

import pytest

from masktron import versions as listed
from masktron.versions import EFFECTS, OPTIONAL, PACKAGES, versions
from paths import ROOT

DRAWN = {"click", "rich", "jinja2", "matplotlib"}
"""What shows results, and decides none."""
SERVES = {"starlette", "uvicorn", "python-multipart"}
"""What `masktron web` needs, whose runs are commands like any other."""
CARRIES = {"distributed", "cryptography"}
"""What takes slices to workers, and computes nothing."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ]", one)[0] for one in requirements}


def test_every_package_that_masktron_needs_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = {name: own for name, own in project["optional-dependencies"].items() if name != "all"}
    assert {*PACKAGES} == names(project["dependencies"]) - DRAWN
    assert set.union(*map(names, optional.values())) - DRAWN - SERVES - CARRIES == OPTIONAL
    assert {*EFFECTS} == {"masktron", "python", *PACKAGES, *OPTIONAL}


def test_what_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*PACKAGES, "masktron", "python"} <= {*versions()} <= {*EFFECTS}
    known = listed.version_of
    monkeypatch.setattr(listed, "version_of", lambda name: None if name == "duckdb" else known(name))
    assert {*versions()} == {*EFFECTS} - {"duckdb"}
    assert known("no-such-package") is None
