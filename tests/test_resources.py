"""What comes with masktron is found in a checkout and in an installed wheel alike."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import masktron
from masktron.errors import UsageError
from masktron.resources import resource
from paths import ROOT
from refusals import refused


@pytest.mark.parametrize(
    "name", ["rules/patterns.sch", "rules/household.sch", "schemas/mask.schema.json", "sample_xml/business.xml"]
)
def test_resources_are_found(name: str) -> None:
    assert resource(name).is_file()


def test_what_is_not_there_is_an_error() -> None:
    with refused(UsageError, "does-not-work"):
        resource("rules/none.sch")


@pytest.mark.full
def test_a_wheel_has_them_inside_the_package(tmp_path: Path) -> None:
    """Lay the package out as the wheel does, by the same table of pyproject.toml, and look from there."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert table["packages"] == ["pipeline/masktron"]
    site = tmp_path / "site-packages"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(masktron.__file__).parent, site / "masktron", ignore=ignore)
    for source, target in table["force-include"].items():
        shutil.copytree(ROOT / source, site / target, ignore=ignore)
    code = (
        "from masktron.resources import resource\n"
        "for name in ('rules/business.sch', 'rules/patterns.sch', 'schemas/check.schema.json', "
        "'sample_xml/household.toml'):\n    print(resource(name).is_file(), resource(name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(line.startswith(f"True {site.resolve()}") for line in lines), lines


def test_every_schema_has_its_identity() -> None:
    import json

    schemas = list((ROOT / "schemas").glob("*.schema.json"))
    assert schemas
    for path in schemas:
        assert json.loads(path.read_text())["$id"].endswith(f"/{path.name}")
