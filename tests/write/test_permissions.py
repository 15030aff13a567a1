"""Who may read what a run writes: under a umask that forbids nothing, its owner alone, but for the released file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron import scratch
from masktron.jobs import demo
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search import refusal
from masktron.progress import Progress
from masktron.scratch import private_folder
from masktron.write import atomic

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


@pytest.fixture(autouse=True)
def nothing_forbidden() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Inputs, and an empty folder for outputs."""
    write_data(tmp_path / "d.xml", numbers(12))
    write_rules(tmp_path / "r.sch", "A + B = T", "A >= 0")
    write_rules(tmp_path / "broken.sch", "A + B = T", "A >= 900")
    (tmp_path / "e.csv").write_text("name,estimate,variance\nmean,1,2\nmean,2,2\n")
    (tmp_path / "out").mkdir()
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in folder.iterdir()}


def test_what_each_command_writes(folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    out, rules, data = folder / "out", folder / "r.sch", folder / "d.xml"
    temporary: set[int] = set()
    settle = atomic._publish

    def watched(path: Path, *others: object, **options: bool) -> None:
        temporary.update(mode(one) for one in path.parent.glob("*.part"))
        settle(path, *others, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(atomic, "_publish", watched)
    kinds = ("svrl", "csv", "json", "sarif", "junit")
    reports = [part for kind in kinds for part in (f"--{kind}", out / f"v.{kind}")]
    released, manifest = out / "m.xml", out / "secret"
    original = ("--original", data, "--manifest", manifest)
    for code, *arguments in (
        (1, "validate", data, "-r", folder / "broken.sch", *reports),
        (0, "explain", rules, "--data", data, "--json", out / "explain.json"),
        (1, "mask", data, "-r", folder / "broken.sch", "-o", released, "--json", out / "invalid.json"),
        (0, "mask", data, "-r", rules, "-o", released, "--manifest", manifest, "-k", 3, "--json", out / "mask.json"),
        (0, "check", released, "-r", rules, *original, "--json", out / "check.json"),
        (0, "assess", released, *original, "--json", out / "assess.json", "--measures", "linkage"),
        (0, "methods", "--json", out / "methods.json"),
        (0, "combine", folder / "e.csv", "--json", out / "combine.json"),
    ):
        outcome = run(*arguments)
        assert outcome.code == code, outcome.err
    written = modes(out)
    assert written.pop("m.xml") == 0o666
    assert len(written) == 13
    assert set(written.values()) == {0o600}
    assert temporary == {0o600}


def test_in_place_of_files_that_all_may_read(folder: Path, run: Runner) -> None:
    out = folder / "out"
    for name in ("m.xml", "j.json"):
        (out / name).touch(0o644)
    (out / "secret").touch(0o666)
    (out / "secret").write_text('{"output": {"path": "m.xml"}}')
    options = ("-o", out / "m.xml", "--manifest", out / "secret", "--json", out / "j.json")
    assert run("mask", folder / "d.xml", "-r", folder / "r.sch", *options).code == 0
    assert modes(out) == {"m.xml": 0o644, "secret": 0o600, "secret.1": 0o600, "j.json": 0o600}


def test_temporary_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    own = refusal.run_mask_or_suggest

    def looking(request: MaskRequest, progress: Progress) -> object:
        result, out = own(request, progress), request.out
        assert not request.data.exists()  # a frame is in memory
        for path in (out.parent, out.parent / out.name, out.with_suffix(".manifest.json")):
            seen[path.name.partition("-")[0]] = mode(path)
        return result

    monkeypatch.setattr(refusal, "run_mask_or_suggest", looking)
    masktron.mask(pd.DataFrame(numbers(12)), folder / "r.sch", k=3)
    assert seen == {"masktron": 0o700, "masked": 0o666, "masked.manifest.json": 0o600}


def test_the_folders_of_the_demo(folder: Path) -> None:
    made = demo._prepared("business", folder / "a" / "b")
    assert {mode(folder / "a"), mode(folder / "a" / "b"), mode(made)} == {0o700}
    assert (made / "business.xml").is_file()


@pytest.mark.full
def test_what_the_demo_writes(folder: Path, run: Runner) -> None:
    out = folder / "demo"
    assert run("demo", "--out", out, "--json", folder / "demo.json").code == 0
    assert mode(folder / "demo.json") == 0o600
    for sample in ("household", "business", "establishments"):
        written = modes(out / sample)
        for name in ("masked.manifest.json", "mask.json", "check.json", "invalid.svrl.xml"):
            assert written[name] == 0o600


def test_a_private_folder() -> None:
    with private_folder() as path:
        assert mode(path) == 0o700
    assert not path.exists()


def test_a_folder_that_another_run_takes_for_abandoned_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its creation and its lock a folder looks like what a killed run has left.

    In a folder of its own: the search for abandoned ones opens folders, too, and would take those of other tests.
    """
    opened, taken = scratch._open, []

    def open_late(path: Path) -> int:
        if not taken:
            taken.append(path)
            path.rmdir()
        return opened(path)

    monkeypatch.setattr(scratch, "_open", open_late)
    with private_folder(tmp_path) as path:
        assert path.is_dir()
        assert len(taken) == 1 and [path] != taken
