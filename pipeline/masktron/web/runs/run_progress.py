"""How far a run is, from the lines that its command writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from masktron.web.store.disk import last_bytes

_TAIL = 1 << 15
"""Bytes of the end of the file that are read: some 200 lines, and so more than a minute."""
_SILENT = 3.0
"""Seconds without a word after which a stage has been left, if another one has begun."""


@dataclass(frozen=True, slots=True)
class StageProgress:
    """One stage, as its last line tells it.

    Attributes
    ----------
    name : str
    done : int
    size : int or None
        Of how much; None where nobody knows.
    unit : str
    left : float or None
        Seconds.
    over : bool
        Whether it has ended.
    """

    name: str
    done: int
    size: int | None
    unit: str
    left: float | None
    over: bool

    @property
    def share(self) -> int | None:
        """Per cent of it that are done."""
        return None if not self.size else min(100 * self.done // self.size, 100)


def stages_of(path: Path) -> list[StageProgress]:
    """Return the stages that the last lines of a file speak of, in the order in which they began."""
    content = last_bytes(path, _TAIL)
    lines = content.split(b"\n")
    if len(content) == _TAIL:
        del lines[0]  # cut
    found: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    newest = 0.0
    for line in lines:
        if not line.endswith(b"}"):  # the last one, half-written
            continue
        said = json.loads(line)
        found[said["stage"]] = said
        units[said["stage"]] = said["unit"]
        newest = max(newest, said["at"])
    last = max(found, key=lambda name: found[name]["at"] - found[name]["seconds"], default=None)
    return [
        StageProgress(
            name,
            int(said["done"]),
            None if said["size"] is None else int(said["size"]),
            units[name],
            said["left"],
            (said["size"] is not None and said["done"] >= said["size"])
            or (name != last and (said["size"] is None or newest - said["at"] > _SILENT)),
        )
        for name, said in found.items()
    ]
