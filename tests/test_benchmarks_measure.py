"""What benchmarks say of a process is that of the process."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from paths import ROOT

process = runpy.run_path(str(ROOT / "benchmarks" / "measure.py"))["process"]


@pytest.mark.full
def test_memory_of_a_process_is_not_that_of_the_one_that_measures(tmp_path: Path) -> None:
    own = np.ones(300_000_000, dtype=np.uint8)
    out = tmp_path / "out.txt"
    found = process([sys.executable, "-c", "print('done')"], out, repeats=1)
    assert own.all()
    assert out.read_text() == "done\n"
    assert 5 < found.megabytes < 100
    held = process([sys.executable, "-c", "len(b'1' * 150_000_000)"], out, repeats=1)
    assert 150 < held.megabytes < 250
    assert held.cpu > 0
    assert held.seconds > 0


def test_another_exit_code_ends_the_benchmark(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit(3)"]
    assert process(command, tmp_path / "out.txt", allowed=(3,), repeats=1).seconds > 0
    with pytest.raises(RuntimeError, match="ended with 3"):
        process(command, tmp_path / "out.txt")
