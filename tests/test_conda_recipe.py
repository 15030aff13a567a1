"""The conda recipe says what pyproject.toml says: name, version, Python, packages with their versions, commands."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from paths import ROOT

IN_CONDA = {"matplotlib": "matplotlib-base", "duckdb": "python-duckdb"}
"""Packages that have another name there."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OWN = PROJECT["project"]


def recipe() -> Any:
    """Read the recipe, with what its context says put in."""
    text = (ROOT / "conda-recipe" / "recipe.yaml").read_text(encoding="utf-8")
    context = yaml.safe_load(text)["context"]
    return yaml.safe_load(re.sub(r"\$\{\{ (\w+) \}\}", lambda found: context.get(found[1], found[0]), text))


def asked(requirements: list[str]) -> dict[str, SpecifierSet]:
    """Return the versions that are wanted, by the name in conda."""
    read = map(Requirement, requirements)
    return {IN_CONDA.get(one.name, one.name): one.specifier for one in read}


def said(requirements: list[str]) -> dict[str, SpecifierSet]:
    """Return the versions that a recipe wants; each package once."""
    parted = [one.partition(" ") for one in requirements]
    assert len({name for name, *_ in parted}) == len(parted)
    return {name: SpecifierSet(f"=={wanted}" if wanted[:1].isdigit() else wanted) for name, _, wanted in parted}


def test_name_version_licence_and_commands_are_those_of_the_project() -> None:
    found = recipe()
    assert found["schema_version"] == 1
    assert found["package"] == {"name": OWN["name"], "version": OWN["version"]}
    assert found["build"]["noarch"] == "python"
    assert found["build"]["python"]["entry_points"] == [f"{name} = {at}" for name, at in OWN["scripts"].items()]
    about = found["about"]
    assert (about["license"], about["summary"]) == (OWN["license"], OWN["description"])
    assert [about["license_file"]] == OWN["license-files"]
    assert (ROOT / about["license_file"]).is_file()


def test_what_it_needs_is_what_the_project_needs() -> None:
    found = recipe()["requirements"]
    run = said(found["run"])
    assert run.pop("python") == SpecifierSet(OWN["requires-python"])
    assert run == asked(OWN["dependencies"])
    optional = [one for name, extra in OWN["optional-dependencies"].items() if name != "all" for one in extra]
    assert said(found["run_constraints"]) == asked(optional)


def test_it_is_built_as_the_project_says() -> None:
    found = recipe()
    host = said(found["requirements"]["host"])
    least = OWN["requires-python"].removeprefix(">=")
    assert host.pop("python") == SpecifierSet(f"=={least}.*")
    assert host.pop("pip") == SpecifierSet()
    assert host == asked(PROJECT["build-system"]["requires"])
    assert found["context"] == {"version": OWN["version"], "python_min": least}
    (python,) = [one["python"] for one in found["tests"] if "python" in one]
    assert (python["imports"], python["pip_check"]) == ([OWN["name"]], True)


def test_it_comes_with_the_source() -> None:
    assert "/conda-recipe" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
