"""What a wheelhouse installs, as a bill of materials in CycloneDX: packages, licences, hashes, who needs whom.

``make wheelhouse`` calls it. Everything is installed from the folder alone into an environment that goes again, so
what is listed is what somebody gets who installs from it on this system.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from wheelhouse import TARGETS, locked, needed, target_here, write_sums


def install(wheelhouse: Path, folder: Path) -> dict[str, str]:
    """Install all of a wheelhouse into a new environment, asking nobody else; return SHA-256 of wheels by package."""
    venv.create(folder, with_pip=False)
    told = folder / "installed.json"
    command = [sys.executable, "-m", "pip", "--python", str(interpreter(folder)), "install", "--quiet", "--isolated"]
    command += ["--disable-pip-version-check", "--no-index", "--find-links", str(wheelhouse), "--require-hashes"]
    command += ["--no-compile", "--report", str(told), "--requirement", str(wheelhouse / "requirements.txt")]
    subprocess.run(command, check=True)
    installed = json.loads(told.read_text(encoding="utf-8"))["install"]
    return {
        canonicalize_name(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"]["sha256"]
        for one in installed
    }


def interpreter(folder: Path) -> Path:
    """Return the Python of an environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def described(folder: Path) -> dict[str, Any]:
    """Return the bill of materials that cyclonedx-py makes of an environment, masktron as its subject."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", "pyproject.toml"]
    command += ["--spec-version", "1.6", "--output-reproducible", str(interpreter(folder))]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    content: dict[str, Any] = json.loads(made)
    return content


def with_hashes(content: dict[str, Any], hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return a bill of materials with the SHA-256 of the wheel that each component came in."""
    for component in (content["metadata"]["component"], *content["components"]):
        component["hashes"] = [{"alg": "SHA-256", "content": hashes[canonicalize_name(component["name"])]}]
    return content


def missing(content: Mapping[str, Any], expected: set[str]) -> set[str]:
    """Return packages that stand in one of lock and bill of materials alone."""
    return expected ^ {canonicalize_name(component["name"]) for component in content["components"]}


def main() -> None:
    """Write the bill of materials into a wheelhouse, or stop with what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheelhouse", type=Path, default=Path("wheelhouse"))
    parser.add_argument("--target", action="append", help="what the wheelhouse is for; all where none is named")
    given = parser.parse_args()
    folder, name = given.wheelhouse, target_here()
    if name not in (given.target or TARGETS):
        print(f"no bill of materials: it is of what is installed here, on {name}, for which there are no wheels")
        return
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as scratch:
        hashes = install(folder, Path(scratch))
        content = with_hashes(described(Path(scratch)), hashes)
    packages = {str(one.name) for one in needed(locked(Path("locks/masktron.txt")), target)}
    if astray := missing(content, packages):
        sys.exit(f"error: lock and bill of materials differ in {', '.join(sorted(astray))} -> make locks wheelhouse")
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    if (wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        sys.exit(f"error: the bill of materials is not CycloneDX 1.6: {wrong}")
    version = re.sub(r"[^0-9A-Za-z.+-]", "", content["metadata"]["component"]["version"])
    path = folder / f"masktron-{version}-{target.name}.cdx.json"
    path.write_text(text, encoding="utf-8")
    write_sums(folder)
    print(f"{path}: {len(content['components'])} components")


if __name__ == "__main__":
    main()
