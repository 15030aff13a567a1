"""Mask on disks that are full at some point, in a mount namespace of this process: ``full_disks.py FOLDER WORKERS``.

`FOLDER` has ``d.xml`` and ``r.sch``. Output and temporary files come to file systems in memory that hold so many
bytes. Prints a line of JSON for each run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from masktron import memory
from masktron.config import Config
from masktron.errors import MasktronError
from masktron.jobs import column_memory, in_units
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.sources.xml import wellformed, writer

AMPLE = 64 << 20
STEP = 4096
"""A page: file systems in memory give no less."""


def mounted(place: Path, size: int, how: str = "") -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{how}size={size}", "tmpfs", str(place)], check=True)


def left(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def main(folder: Path, workers: int) -> None:
    """Mask on output disks and on disks for temporary files, each with room for more than the last."""
    for module in (in_units, column_memory):
        module.require_room = lambda *_, **__: None  # type: ignore[attr-defined]
    memory.COLUMN_CELL = 10**9  # every column in a file
    writer.HELD = 0  # records in random order in a file without a name
    wellformed.SMALLEST = 0  # read and written as large files are
    config = Config(k=3, secret=bytes(range(32)), unit_records=70, workers=workers, memory=400_000_000)
    for which in ("out", "tmp"):
        size, done = STEP, False
        while not done:
            places = {name: folder / name for name in ("out", "tmp")}
            for name, place in places.items():
                place.mkdir(exist_ok=True)
                mounted(place, size if name == which else AMPLE)
            os.environ["TMPDIR"] = tempfile.tempdir = str(places["tmp"])
            said = run(folder, places["out"], config)
            said |= {"which": which, "size": size, "left": left(places["out"]), "temporary": left(places["tmp"])}
            for place in places.values():
                mounted(place, AMPLE, "remount,")
            if said["error"] is not None:
                said["then"] = run(folder, places["out"], config, resume="--resume" in said["hint"])
                said["then"] |= {"left": left(places["out"]), "temporary": left(places["tmp"])}
            done = said["error"] is None
            print(json.dumps(said), flush=True)
            for place in places.values():
                subprocess.run(["umount", "-l", str(place)], check=True)
                shutil.rmtree(place)
            size += STEP * max(1, size // (8 * STEP))


def run(folder: Path, place: Path, config: Config, *, resume: bool = False) -> dict[str, object]:
    """Mask, and say what came of it."""
    out = place / "m.xml"
    try:
        run_mask(MaskRequest(folder / "d.xml", folder / "r.sch", out, config=replace(config), resume=resume))
    except MasktronError as error:
        return {"error": type(error).__name__, "code": int(error.exit_code), "what": error.what, "hint": error.hint}
    return {"error": None, "hint": "", "sha256": hashlib.sha256(out.read_bytes()).hexdigest()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
