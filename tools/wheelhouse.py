"""A folder from which masktron is installed where no registry can be reached: wheels for several systems, locked.

``make wheelhouse`` calls it. It asks pip, which asks whatever registry this machine is set up for, and takes nothing
whose SHA-256 is not in the lock.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

PYTHONS = ("3.12", "3.13", "3.14")
SUMS = "SHA256SUMS"
_GLIBC = tuple(f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1))
"""glibc 2.28, of 2018, and older: what wheels are made for that such a system takes."""
_PLATFORMS = {"linux": (*_GLIBC, "manylinux2014_x86_64", "linux_x86_64"), "windows": ("win_amd64",)}
_MARKERS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}


class WheelhouseError(Exception):
    """What keeps a wheelhouse from being made, with what to do."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A package of a lock: one version, and the SHA-256 of each of its files."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> NormalizedName:
        """The name as registries compare it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> Version:
        """Its one version."""
        (only,) = self.requirement.specifier
        return Version(only.version)

    def line(self) -> str:
        """As a requirements file has it, without the condition under which it is needed."""
        return " ".join([f"{self.name}=={self.version}", *(f"--hash={one}" for one in self.hashes)])


@dataclass(frozen=True, slots=True)
class Target:
    """A system and a version of Python."""

    system: str
    python: str

    @property
    def name(self) -> str:
        """As it is asked for: ``linux-3.12``."""
        return f"{self.system}-{self.python}"

    def environment(self) -> dict[str, str]:
        """Return what conditions of requirements are asked of, there and not here."""
        own = {name: str(value) for name, value in default_environment().items()}
        python = {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
        return own | _MARKERS[self.system] | python

    def options(self) -> Iterator[str]:
        """Yield options of ``pip download``."""
        yield from ("--implementation", "cp", "--python-version", self.python)
        for platform in _PLATFORMS[self.system]:
            yield from ("--platform", platform)


TARGETS = {one.name: one for one in (Target(system, python) for system in _PLATFORMS for python in PYTHONS)}


def target_here() -> str:
    """Return the name of the target that this system and this Python are, whether or not wheels are made for it."""
    system = {"linux": "linux", "win32": "windows"}.get(sys.platform, sys.platform)
    return f"{system}-{sys.version_info[0]}.{sys.version_info[1]}"


def locked(path: Path) -> tuple[Pinned, ...]:
    """Read a lock.

    Raises
    ------
    WheelhouseError
        It has what is no pinned version with hashes.
    """
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    found = []
    for line in filter(None, (line.partition(" #")[0].strip() for line in text.splitlines())):
        if line.startswith("#"):
            continue
        asked, *hashes = re.split(r"\s+--hash=", line)
        requirement = Requirement(asked)
        exact = [one for one in requirement.specifier if one.operator == "==" and "*" not in one.version]
        if len(exact) != 1 or len(requirement.specifier) != 1 or not hashes:
            raise WheelhouseError(f"{path}: {asked!r} is no version with hashes -> make locks")
        found.append(Pinned(requirement, tuple(hashes)))
    return tuple(found)


def needed(packages: Iterable[Pinned], target: Target) -> tuple[Pinned, ...]:
    """Return those of the packages that a target needs."""
    environment = target.environment()
    return tuple(
        one for one in packages if one.requirement.marker is None or one.requirement.marker.evaluate(environment)
    )


def download(packages: Iterable[Pinned], target: Target, folder: Path) -> None:
    """Have pip put the wheels of a target into a folder, each compared with its hash.

    Raises
    ------
    WheelhouseError
        pip could not get one of them.
    """
    with tempfile.TemporaryDirectory() as scratch:
        asked = Path(scratch) / "requirements.txt"
        asked.write_text("".join(f"{one.line()}\n" for one in needed(packages, target)), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--only-binary", ":all:", "--dest", str(folder), *target.options()]
        if subprocess.run([*command, "--requirement", str(asked)], check=False).returncode:
            raise WheelhouseError(f"pip could not get the wheels for {target.name}; what it said stands above")


def remove_strangers(folder: Path, versions: Mapping[NormalizedName, Version]) -> None:
    """Delete wheels that the lock does not have, such as those of a former one."""
    for wheel in folder.glob("*.whl"):
        name, version, *_ = parse_wheel_filename(wheel.name)
        if versions.get(name) != version:
            wheel.unlink()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def own_wheel(dist: Path) -> Path:
    """Return the one wheel of masktron in a folder.

    Raises
    ------
    WheelhouseError
        There is none, or there are several.
    """
    found = sorted(dist.glob("masktron-*.whl"))
    if len(found) != 1:
        raise WheelhouseError(f"{dist} has {len(found)} wheels of masktron, not one -> make dist")
    return found[0]


def write_requirements(lock: Path, wheel: Path, path: Path) -> None:
    """Write a lock with the wheel of masktron itself in it: pip then installs all of it, or nothing."""
    _, version, *_ = parse_wheel_filename(wheel.name)
    own = f"masktron=={version} \\\n    --hash=sha256:{digest(wheel)}\n"
    path.write_text(own + lock.read_text(encoding="utf-8"), encoding="utf-8")


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file of a folder, as ``sha256sum --check`` reads it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    (folder / SUMS).write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8")


def make(folder: Path, *, locks: Path, dist: Path, targets: Iterable[Target]) -> None:
    """Make a wheelhouse.

    Parameters
    ----------
    folder : Path
        New, empty, or one that was made before.
    locks : Path
        Has ``masktron.txt``, with all extras, and ``core.txt``, without.
    dist : Path
        Has the wheel of masktron.
    targets : iterable of Target

    Raises
    ------
    WheelhouseError
        Something is not to be had, or the folder holds something else.
    """
    wheel = own_wheel(dist)
    if folder.exists() and any(folder.iterdir()) and not (folder / SUMS).exists() and not any(folder.glob("*.whl")):
        raise WheelhouseError(f"{folder} holds something else -> name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    packages = locked(locks / "masktron.txt")
    for target in targets:
        print(f"wheels for {target.name} ...", flush=True)
        download(packages, target, folder)
    remove_strangers(folder, {one.name: one.version for one in packages})
    shutil.copy2(wheel, folder)
    write_requirements(locks / "masktron.txt", wheel, folder / "requirements.txt")
    write_requirements(locks / "core.txt", wheel, folder / "requirements-core.txt")
    write_sums(folder)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    print(f"{folder}: {len(list(folder.glob('*.whl')))} wheels, {size:.0f} MB")


def main() -> None:
    """Make a wheelhouse as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("wheelhouse"))
    parser.add_argument("--dist", type=Path, default=Path("dist"))
    parser.add_argument("--locks", type=Path, default=Path("locks"))
    parser.add_argument("--target", action="append", choices=TARGETS, help="repeatable; all where none is named")
    given = parser.parse_args()
    try:
        targets = [TARGETS[name] for name in given.target or TARGETS]
        make(given.out, locks=given.locks, dist=given.dist, targets=targets)
    except WheelhouseError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
