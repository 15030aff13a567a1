"""A folder that somebody else has sent changes nothing, and nothing in it runs: no module, setting or cache."""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import re
import site
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from numba.core.caching import UserProvidedCacheLocator

from masktron.kernels import kept, scanner
from paths import DOCS
from web_client import served

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pipe as a file")

SURVEY = DOCS / "tutorials" / "files" / "survey.csv"
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="sum" test="wage + other = income"/><assert id="age" test="age &lt;= 110"/>
</rule></pattern></schema>"""
KEYS = ("--role", "region=quasi-identifier", "--role", "sex=quasi-identifier", "--role", "id=identifier")
MASK = ("mask", "survey.csv", "--rules", "edits.sch", "--out", "out.csv", "--secret", "release.key", *KEYS)
MADE = ("--html-public", "about.html", "--html", "report.html", "--executor", "local", "--workers", "2")
PYTHON = """import masktron
roles = {"id": "identifier", "region": "quasi-identifier", "sex": "quasi-identifier"}
masktron.mask("survey.csv", "edits.sch", "out.csv", k=3, secret=bytes(range(32)), roles=roles)"""
GIVEN = ("survey.csv", "edits.sch", "release.key")
NEVER = 0
"""When planted files were read last."""
DASK = ("--executor", "dask", "--workers", "1")


class _Marking:
    """A pickle that leaves a mark where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, ...]]:
        return os.makedirs, (f"{self.mark}-pickle",)


def plain(folder: Path) -> Path:
    """Fill a folder with a survey and its rules."""
    folder.mkdir()
    (folder / "survey.csv").write_bytes(SURVEY.read_bytes())
    (folder / "edits.sch").write_text(RULES)
    (folder / "release.key").write_text(hashlib.sha256(b"release").hexdigest())
    return folder


def planted(folder: Path) -> Path:
    """Fill it likewise, and with what Python and libraries might take from there; each leaves a mark if it runs."""
    mark = plain(folder) / "ran: here"
    installed = {re.split(r"[.-]", one.name)[0] for place in site.getsitepackages() for one in Path(place).iterdir()}
    for name in sorted({*sys.stdlib_module_names, *installed, "masktron", "sitecustomize", "usercustomize"}):
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\n")
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {folder}/kernels\n")
    (folder / "matplotlibrc").write_text("text.usetex: True\nbackend: module://pickle\n")
    (folder / "dask.yaml").write_text("distributed: {worker: {preload: [pickle.py]}}\n")
    catalog = (
        "<catalog xmlns='urn:oasis:names:tc:entity:xmlns:xml:catalog'><nextCatalog catalog='survey.csv'/></catalog>"
    )
    (folder / "catalog.xml").write_text(catalog)
    folder_of_kernels = UserProvidedCacheLocator.get_suitable_cache_subpath(inspect.getfile(scanner))
    kernels = folder / "kernels" / folder_of_kernels
    kernels.mkdir(parents=True)
    for found in Path(inspect.getfile(scanner)).parent.glob("__pycache__/*.nbi"):
        (kernels / found.name).write_bytes(pickle.dumps(_Marking(mark)))
    for entry in folder.iterdir():
        if entry.is_file() and entry.name not in GIVEN:
            os.utime(entry, (NEVER, entry.stat().st_mtime))
    return folder


def carried_out(folder: Path, *command: str, path: str | None = None) -> tuple[str, dict[str, bytes]]:
    """Run a command in a folder; return what it prints without times, and the files that it writes."""
    there = {entry.name: entry for entry in folder.iterdir()}
    unread = [entry for entry in there.values() if entry.is_file() and entry.stat().st_atime == NEVER]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **({"PYTHONPATH": path} if path else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [entry.name for entry in unread if entry.stat().st_atime != NEVER] == []
    new = {entry.name: entry for entry in folder.iterdir() if entry.name not in there}
    assert [name for name in new if name.startswith("ran: ")] == []
    said = " ".join(re.sub(r"[\d.,]+( (s|ms|MB|GB))\b", r"N\1", done.stdout).split())
    return said, {name: entry.read_bytes() for name, entry in new.items() if entry.is_file()}


def masktron(*arguments: str) -> tuple[str, ...]:
    return str(Path(sys.executable).with_name("masktron")), *arguments


def commands() -> Iterator[ParameterSet]:
    """Every command, in the order in which one needs files of another."""
    yield pytest.param([masktron(*MASK, *MADE)], id="mask", marks=pytest.mark.full)
    yield pytest.param([(sys.executable, "-P", "-c", PYTHON)], id="python", marks=pytest.mark.full)
    again = ("--original", "survey.csv", "--manifest", "out.manifest.json")
    rules = ("--rules", "edits.sch")
    for name, then in {
        "doctor": [("doctor",)],
        "describe": [("describe", "survey.csv")],
        "suggest": [("suggest", "survey.csv")],
        "rules": [("rules", "edits.sch")],
        "validate": [("validate", "survey.csv", *rules, "--html", "v.html")],
        "explain": [("explain", "edits.sch", "--data", "survey.csv")],
        "dask": [(*MASK, *DASK)],
        "check": [MASK, ("check", "out.csv", *rules, *again, "--html", "c.html")],
        "assess": [MASK, ("assess", "out.csv", *again)],
        "rerun": [MASK, ("rerun", "out.manifest.json", "survey.csv", "--out", "next.csv")],
        "report": [MASK, ("report", "out.manifest.json", "--html", "r.html")],
        "tune": [
            (
                "tune",
                "survey.csv",
                *rules,
                *KEYS,
                "--out",
                "tuned",
                "-k",
                "3",
                "--methods",
                "mdav",
                "--limit",
                "linkage=100",
            )
        ],
        "hierarchy": [("hierarchy", "survey.csv", "--field", "age", "--width", "5", "--out", "age.csv")],
        "recode": [
            ("hierarchy", "survey.csv", "--field", "age", "--width", "5", "--out", "age.csv"),
            (
                "recode",
                "survey.csv",
                *rules,
                *KEYS,
                "--hierarchy",
                "age=age.csv",
                "--key-k",
                "3",
                "--suppressed",
                "20%",
            ),
        ],
        "keys": [("keys", "survey.csv", *rules, *KEYS, "--key-k", "3")],
        "convert": [
            ("convert", "survey.csv", "--out", "survey.parquet"),
            ("convert", "survey.csv", "--out", "survey.xml"),
        ],
        "formats": [("formats",)],
        "metadata": [("metadata", "survey.csv", "--to", "ddi", "--out", "m.xml")],
        "methods": [("methods",)],
    }.items():
        marks = () if name == "validate" else (pytest.mark.full,)
        yield pytest.param([masktron(*one) for one in then], id=name, marks=marks)


@pytest.mark.parametrize("then", list(commands()))
def test_a_folder_in_which_everything_is_planted_is_as_good_as_any_other(
    tmp_path: Path, then: list[tuple[str, ...]]
) -> None:
    here, there = plain(tmp_path / "plain"), planted(tmp_path / "other")
    for command in then:
        (said, files), (other, others) = carried_out(here, *command), carried_out(there, *command)
        assert said == other
        if "rerun" in command:  # it draws anew
            files, others = dict.fromkeys(files, b""), dict.fromkeys(others, b"")
        assert files == others


@pytest.mark.full
def test_the_web_takes_nothing_from_the_folder_that_it_starts_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = planted(tmp_path / "other")
    monkeypatch.chdir(folder)
    with served(tmp_path / "projects") as server, urllib.request.urlopen(server.opened) as answer:  # noqa: S310 -- ours
        assert answer.status == 200
    assert {one.name for one in folder.iterdir() if one.is_file() and one.stat().st_atime != NEVER} == {*GIVEN}
    assert not list(folder.glob("ran: *"))


def test_it_is_noted_which_files_are_read(tmp_path: Path) -> None:
    """Else the test above sees only what runs: a file system can be mounted so that it notes no reading."""
    folder = planted(tmp_path / "other")
    (folder / "catalog.xml").read_bytes()
    if (folder / "catalog.xml").stat().st_atime == NEVER:
        pytest.skip("this file system does not note when files are read (noatime)")
    assert (folder / "matplotlibrc").stat().st_atime == NEVER


@pytest.mark.full
def test_an_empty_entry_of_pythonpath_leads_to_no_module_of_the_folder(tmp_path: Path) -> None:
    """``PYTHONPATH=$PYTHONPATH:/somewhere`` has one where the variable was not set."""
    folder = planted(tmp_path / "folder")
    # Python takes these before masktron begins
    for name in [*sys.stdlib_module_names, "sitecustomize", "usercustomize", "_distutils_hack", "masktron"]:
        (folder / f"{name}.py").unlink(missing_ok=True)
    assert carried_out(folder, *masktron("describe", "survey.csv"), path=f":{tmp_path}")


def test_kernels_are_loaded_only_from_folders_that_others_cannot_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    assert kept.is_trusted(str(folder))
    monkeypatch.chdir(tmp_path)
    assert not kept.is_trusted("kernels")
    folder.chmod(0o702)
    assert not kept.is_trusted(str(folder))
    folder.chmod(0o770)
    monkeypatch.setattr(kept, "_is_private_group", lambda _: False)
    assert not kept.is_trusted(str(folder))
    monkeypatch.setattr(kept, "_is_private_group", lambda _: True)
    assert kept.is_trusted(str(folder))
    folder.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    found = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda self, **how: _owned(found(self, **how), 4712 if self == folder else 4711)
    )
    assert not kept.is_trusted(str(folder))


def _owned(found: os.stat_result, owner: int) -> os.stat_result:
    return os.stat_result((*found[:4], owner, *found[5:10]))
