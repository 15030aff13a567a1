"""A command ``masktron`` that sleeps, writes and fails at once, for tests of what starts and watches commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import masktron

_INIT = """
__path__.append({real!r})
"""
_MAIN = """
import json, os, signal, sys, tempfile, time

def say(**progress):
    with open(os.environ["MASKTRON_PROGRESS"], "a") as stream:
        stream.write(json.dumps(progress) + "\\n")

for word in sys.argv[1:]:
    name, _, value = word.partition("=")
    if name == "sleep":
        say(at=0.1, stage="masking", done=30, size=120, unit="records", seconds=1.0, left=3.0)
        time.sleep(float(value))
    elif name == "wait":
        say(at=0.1, stage="masking", done=30, size=120, unit="records", seconds=1.0, left=3.0)
        while not os.path.exists(value):
            time.sleep(0.05)
    elif name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif name == "write":
        with open(value, "w") as stream:
            stream.write("written\\n")
    elif name == "big":
        with open(value, "wb") as stream:
            stream.write(b"0" * 100_000)
    elif name == "fail":
        with open(os.environ["MASKTRON_ERROR"], "w") as stream:
            json.dump({"kind": "UsageError", "what": "k must be at least 2, not 1", "where": "masktron.toml",
                       "hint": "3 to 10 are usual", "exit_code": 2}, stream)
        sys.exit(2)
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "temp":
        with open(os.path.join(tempfile.gettempdir(), value), "w") as stream:
            stream.write("a record\\n")
    elif name == "reader":
        print(os.environ["MASKTRON_READER"])
    elif name == "folder":
        print(os.getcwd(), sys.path)
    print(word)
"""


def put_before_masktron(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that are started find this command; everything else of masktron is as ever."""
    package = folder / "quick" / "masktron"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_INIT.format(real=str(Path(masktron.__file__).parent)))
    (package / "__main__.py").write_text(_MAIN)
    places = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
