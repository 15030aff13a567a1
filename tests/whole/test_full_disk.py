"""A full disk, wherever it becomes full, is one error that says what stays; the next run ends the work."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_runner import write_data, write_rules
from masktron.config import Config
from masktron.errors import DocumentError, Exit
from masktron.executor.run_parts import parts_folder
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from paths import ROOT, TESTS

CONFIG = Config(k=3, secret=bytes(range(32)), unit_records=70, workers=1)


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, Path]:
    draw = random.Random(5)
    rows: list[dict[str, object]] = []
    for _ in range(240):
        a, b = draw.randint(0, 600), draw.randint(0, 200)
        rows.append({"A": a, "B": b, "T": a + b, "C": draw.randint(0, 50)})
    return write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T", "A >= 0")


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("at_terminal")
def test_files_that_may_not_grow(given: tuple[Path, Path]) -> None:
    """What fails first, from size to size: the journal and parts, the output, the manifest."""
    folder = given[0].parent
    run_mask(MaskRequest(*given, folder / "w.xml", config=CONFIG))
    out, manifest = folder / "m.xml", folder / "m.manifest.json"
    sizes = {path.name: path.stat().st_size for path in folder.glob("w.*")}
    met = set()
    for size in (300, 3_000, sizes["w.xml"] - 1, sizes["w.manifest.json"] - 1):
        out.write_bytes(b"old")
        manifest.write_text(json.dumps({"output": {"path": str(out), "sha256": ""}}))
        with no_file_above(size), pytest.raises(DocumentError) as caught:
            run_mask(MaskRequest(*given, out, config=CONFIG))
        error = caught.value
        assert error.exit_code is Exit.DOCUMENT
        assert os.strerror(errno.EFBIG) in error.what
        met.add((error.what.partition(":")[0], Path(error.where).name))
        assert out.read_bytes() == b"old"
        assert "old" not in manifest.read_text()
        parts = parts_folder(out)
        assert ("--resume" in error.hint) == parts.exists()
        assert {path.name for path in folder.iterdir()} - {parts.name} == {
            *("d.xml", "r.sch", *sizes, out.name, manifest.name)
        }
        if parts.exists():
            assert {stat.S_IMODE(path.stat().st_mode) for path in parts.iterdir()} == {0o600}
        run_mask(MaskRequest(*given, out, config=CONFIG, resume=parts.exists()))
        assert out.read_bytes() == (folder / "w.xml").read_bytes()
        assert not parts.exists()
        (folder / "m.manifest.1.json").unlink()  # that of the earlier release, of which no run that failed keeps one
    parts_fail, output_fails = "the folder for parts of the run cannot be written", "the output cannot be written"
    assert met == {(parts_fail, parts.name), (output_fails, "m.xml"), (output_fails, "m.manifest.json")}


def can_mount() -> bool:
    """Tell whether this process may have file systems of its own."""
    if sys.platform != "linux":
        return False
    try:
        return subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_disks_that_are_full(given: tuple[Path, Path], workers: int) -> None:
    """Disks of every size up to the first that is large enough: for the output, and for temporary files."""
    if not can_mount():
        pytest.skip("needs rights to mount file systems (unshare -m)")
    folder = given[0].parent
    search = os.pathsep.join([str(ROOT / "pipeline"), str(TESTS / "support")])
    done = subprocess.run(
        ["unshare", "-m", sys.executable, str(TESTS / "support" / "full_disks.py"), str(folder), str(workers)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    for run in runs:
        assert run["temporary"] == []
        if run["error"] is None:
            assert run["left"] == ["m.manifest.json", "m.xml"]
            continue
        assert (run["error"], run["code"]) == ("DocumentError", Exit.DOCUMENT)
        assert "No space left on device" in run["what"]
        assert ("resume=True" in run["hint"]) == bool(run["left"])
        assert all(name.startswith(".m.xml.masktron-parts") for name in run["left"])
        assert run["then"]["error"] is None
        assert run["then"]["left"] == ["m.manifest.json", "m.xml"]
        assert run["then"]["temporary"] == []
    assert len({run.get("then", run)["sha256"] for run in runs}) == 1
    failed = {(run["which"], run["what"].partition(":")[0]) for run in runs if run["error"] is not None}
    assert failed == {
        ("out", "the folder for parts of the run cannot be written"),
        ("out", "the output cannot be written"),
        ("tmp", "temporary files cannot be written"),
    }
