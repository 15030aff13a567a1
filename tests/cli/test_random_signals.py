"""A signal at any time ends a command soon, with one line; what a killed run leaves is gone after the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from random_signals import commands, leftovers, signalled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

_LONGEST = {"validate": 2.5, "validate 1.0": 2.5, "mask": 14.0, "check": 5.0, "explain": 5.0}
"""Seconds within which a signal comes: what the commands take, about."""


@pytest.mark.full
def test_six_signals_at_random_times(tmp_path: Path) -> None:
    ended = signalled(tmp_path, 6, 7, dict.fromkeys(_LONGEST, 1.5), ("mask", "validate", "check"))
    assert [one for one in ended if one.problem] == []
    assert any(one.took for one in ended)


@pytest.mark.full
def test_fifty_signals_at_random_times(tmp_path: Path) -> None:
    ended = signalled(tmp_path, 50, 50, _LONGEST, tuple(_LONGEST))
    for one in ended:
        print(f"{one.asked:13} {one.number:2} after {one.after:5.2f} s: {one.took:4.2f} s, {one.code} {one.lines}")
    assert [(one, one.problem) for one in ended if one.problem] == []
    done = subprocess.run(
        [sys.executable, "-m", "masktron", *map(str, commands(tmp_path)["mask"])],
        env={"TMPDIR": str(tmp_path / "scratch"), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert leftovers(tmp_path) == []
