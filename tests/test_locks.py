"""Locks fit pyproject.toml, have a hash for each file, name no registry, and know what each system needs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paths import ROOT
from tools import wheelhouse
from tools.wheelhouse import TARGETS, WheelhouseError, digest, locked, needed, remove_strangers, write_requirements

LOCKS = sorted((ROOT / "locks").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = [Requirement(one) for one in PROJECT["project"]["dependencies"]]
EXTRAS = [
    Requirement(one)
    for name, extra in PROJECT["project"]["optional-dependencies"].items()
    if name != "all"
    for one in extra
]


@pytest.mark.parametrize(
    ("lock", "asked"),
    [
        ("core", CORE),
        ("masktron", CORE + EXTRAS),
        ("release", [Requirement(one) for one in PROJECT["dependency-groups"]["release"]]),
    ],
)
def test_what_the_project_asks_for_is_locked(lock: str, asked: list[Requirement]) -> None:
    versions = {one.name: one.version for one in locked(ROOT / "locks" / f"{lock}.txt")}
    assert {one.name: versions.get(canonicalize_name(one.name)) for one in asked} == {
        one.name: versions[canonicalize_name(one.name)]
        for one in asked
        if versions[canonicalize_name(one.name)] in one.specifier
    }


def test_the_core_is_a_part_of_all() -> None:
    core, everything = (
        {one.line() for one in locked(ROOT / "locks" / f"{name}.txt")} for name in ("core", "masktron")
    )
    assert core < everything


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_has_hashes_and_names_no_registry(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|index-url|find-links|\.org|\.com|file:", text)
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for pinned in locked(path) for one in pinned.hashes)


def test_each_system_has_what_it_alone_needs() -> None:
    packages = locked(ROOT / "locks" / "masktron.txt")
    have = {name: {one.name for one in needed(packages, target)} for name, target in TARGETS.items()}
    assert {name for name, names in have.items() if "colorama" in names} == {
        "windows-3.12",
        "windows-3.13",
        "windows-3.14",
    }
    assert all("numpy" in names for names in have.values())


CONDITIONS = {
    "python_version < '3.13'": {"linux-3.12", "windows-3.12"},
    "python_full_version >= '3.14'": {"linux-3.14", "windows-3.14"},
    "python_full_version > '3.13' and python_full_version < '3.14.1'": {"linux-3.14", "windows-3.14"},
    "implementation_version >= '3.13'": {"linux-3.13", "linux-3.14", "windows-3.13", "windows-3.14"},
    "sys_platform == 'win32'": {"windows-3.12", "windows-3.13", "windows-3.14"},
    "platform_system == 'Windows'": {"windows-3.12", "windows-3.13", "windows-3.14"},
    "os_name == 'nt'": {"windows-3.12", "windows-3.13", "windows-3.14"},
    "platform_machine == 'AMD64'": {"windows-3.12", "windows-3.13", "windows-3.14"},
    "platform_machine == 'x86_64'": {"linux-3.12", "linux-3.13", "linux-3.14"},
    "os_name == 'posix' and platform_system == 'Linux'": {"linux-3.12", "linux-3.13", "linux-3.14"},
    "implementation_name == 'cpython' and platform_python_implementation != 'PyPy'": {*TARGETS},
    "implementation_name == 'pypy' or platform_python_implementation == 'PyPy'": set(),
    "sys_platform == 'darwin' or platform_machine == 'arm64'": set(),
}
"""Conditions of a package, and the targets that then need it."""
ELSEWHERE = {
    "implementation_name": "pypy",
    "implementation_version": "7.3.17",
    "os_name": "java",
    "platform_machine": "arm64",
    "platform_python_implementation": "PyPy",
    "platform_system": "Darwin",
    "python_full_version": "3.11.9",
    "python_version": "3.11",
    "sys_platform": "darwin",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_asked_of_the_target_and_not_of_this_machine(
    condition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheelhouse, "default_environment", lambda: ELSEWHERE)
    (tmp_path / "lock.txt").write_text(f"some==1.0 ; {condition} --hash=sha256:00\n", encoding="utf-8")
    packages = locked(tmp_path / "lock.txt")
    assert {name for name, target in TARGETS.items() if needed(packages, target)} == CONDITIONS[condition]


@pytest.mark.parametrize(
    ("system", "version", "name"),
    [
        ("linux", (3, 13, 1), "linux-3.13"),
        ("win32", (3, 12, 9), "windows-3.12"),
        ("darwin", (3, 14, 0), "darwin-3.14"),
    ],
)
def test_this_system_is_a_target_or_none(
    system: str, version: tuple[int, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bill of materials is of what is installed here, so there is none where the wheels are for others."""
    monkeypatch.setattr(wheelhouse.sys, "platform", system)
    monkeypatch.setattr(wheelhouse.sys, "version_info", version)
    assert wheelhouse.target_here() == name
    assert (name in TARGETS) is (system != "darwin")


def test_wheels_are_for_the_systems_that_the_documentation_names() -> None:
    linux, windows = (list(TARGETS[name].options()) for name in ("linux-3.13", "windows-3.13"))
    assert {"manylinux_2_28_x86_64", "manylinux2014_x86_64"} <= {*linux}  # glibc 2.28 or newer
    assert not {f"manylinux_2_{minor}_x86_64" for minor in range(29, 60)} & {*linux}
    assert linux[:4] == windows[:4] == ["--implementation", "cp", "--python-version", "3.13"]
    assert windows[4:] == ["--platform", "win_amd64"]


@pytest.mark.parametrize("line", ["numpy", "numpy>=2 --hash=sha256:00", "numpy==2.0", "numpy==2.* --hash=sha256:00"])
def test_what_is_not_pinned_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(WheelhouseError, match="no version with hashes"):
        locked(tmp_path / "lock.txt")


def test_wheels_of_a_former_lock_go(tmp_path: Path) -> None:
    for name in ("six-1.0-py3-none-any.whl", "six-2.0-py3-none-any.whl", "old-1.0-py3-none-any.whl"):
        (tmp_path / name).touch()
    (tmp_path / "lock.txt").write_text("six==2.0 --hash=sha256:00\n", encoding="utf-8")
    remove_strangers(tmp_path, {one.name: one.version for one in locked(tmp_path / "lock.txt")})
    assert [path.name for path in tmp_path.glob("*.whl")] == ["six-2.0-py3-none-any.whl"]


def test_the_wheel_of_masktron_is_locked_with_the_rest(tmp_path: Path) -> None:
    wheel = tmp_path / "masktron-1.0.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    write_requirements(ROOT / "locks" / "core.txt", wheel, tmp_path / "requirements.txt")
    own, *rest = locked(tmp_path / "requirements.txt")
    assert (own.line(), tuple(rest)) == (
        f"masktron==1.0.0 --hash=sha256:{digest(wheel)}",
        locked(ROOT / "locks" / "core.txt"),
    )
