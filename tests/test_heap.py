"""What is freed goes back to the system, as far as the C library can be told so."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from masktron.memory import give_back_freed

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

if sys.argv[1] == "asked":
    give_back_freed()
del_me = np.ones(4_000_000)  # glibc takes its size as the new threshold
del del_me
before = resident()
large, small = [], []
for _ in range(50):
    large.append(np.ones(1 << 18))
    small.append(np.ones(10_000))  # too large for older holes: keeps the one below it from being the heap's end
large.clear()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc tells the resident memory")
def test_holes_between_small_blocks_are_given_back() -> None:
    def left(how: str) -> float:
        run = subprocess.run([sys.executable, "-c", SCRIPT, how], check=True, capture_output=True, text=True)
        return float(run.stdout)

    asked = left("asked")
    assert asked < 30
    if "glibc" in platform.libc_ver()[0]:
        assert left("left alone") > 80


def test_another_system_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    from masktron import memory

    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", None)
    memory.give_back_freed()
