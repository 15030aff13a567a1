"""What the benchmark of large files says of memory and stages is that of all processes of a command."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from masktron.sources.opening import open_source
from paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
_PARENT = """
import subprocess, sys
child = "held = b'1' * 80_000_000; print(len(held), flush=True); input()"
subprocess.run([sys.executable, "-c", child], check=True)
"""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return what the benchmark defines."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return runpy.run_path(str(ROOT / "benchmarks" / "large.py"))


def test_memory_is_that_of_children_too(large: dict[str, object]) -> None:
    processes_of, megabytes_of = large["processes_of"], large["megabytes_of"]
    assert callable(processes_of)
    assert callable(megabytes_of)
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        own, _ = megabytes_of(process.pid)
        both, held = map(sum, zip(*map(megabytes_of, processes_of(process.pid)), strict=True))
        process.communicate(b"\n")
    assert own < 60
    assert 80 < held < both < 160
    assert list(processes_of(process.pid)) == [process.pid]
    assert megabytes_of(process.pid) == (0, 0)


def test_the_stage_is_the_one_that_was_said_last(large: dict[str, object], tmp_path: Path) -> None:
    stage_of, progress = large["stage_of"], tmp_path / "progress"
    assert callable(stage_of)
    assert stage_of(progress) == "starting"
    progress.write_text('{"stage": "reading"}\n{"stage": "writing"}\n{"sta')
    assert stage_of(progress) == "writing"


def test_more_nodes_are_faster_only_where_workers_do_it(large: dict[str, object]) -> None:
    constants, scaling = large["Constants"], large["scaling"]
    assert callable(constants)
    assert callable(scaling)
    lines = scaling(constants(1e-6, 1e-6, 6.4e-4, 4.608e-3, 3.6e-5, 7.2e-5, 1000, 1, 1)).splitlines()
    few, many = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:4])
    assert few[:2] == ["10^8", "4"]
    assert few[3:7] == ["16.7 min", "3.0 h", "4.0 h", "100 GB"]
    assert many[3:7] == ["1.0 min", "1.1 h", "2.1 h", "100 GB"]


@pytest.mark.parametrize("suffix", ["xml", "csv", "parquet"])
def test_a_file_has_the_same_records_in_any_format(large: dict[str, object], tmp_path: Path, suffix: str) -> None:
    fields = [f"V{at}" for at in range(1, 17)]
    data = tmp_path / "large.xml"
    record = "".join(f"<{name}>{at}.5</{name}>" for at, name in enumerate(fields))
    data.write_text(f"<Data>{f'<Record>{record}</Record>' * 70}</Data>", encoding="utf-8")
    found = large["in_format"](data, suffix)  # type: ignore[operator]
    assert [path.name for path in tmp_path.iterdir()] == [f"large.{suffix}"] == [found.name]
    records = open_source(found).records()
    assert list(records.columns) == fields
    assert [set(column.lexemes.tolist()) for column in records.columns.values()] == [{f"{at}.5"} for at in range(16)]
    assert len(records) == 70
