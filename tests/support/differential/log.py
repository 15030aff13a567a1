"""What came of each seed, line by line in a file: a run that is cut keeps what it has, and goes on from there."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import masktron
from differential.compare import Disagreement
from differential.coverage import Count, Coverage
from differential.told import Told


@dataclass(slots=True)
class Part:
    """What came of one seed."""

    seed: int
    checks: int
    columns: bool
    refused: Counter[str]
    disagreements: list[Disagreement]
    coverage: Coverage


class StaleLogError(Exception):
    """A log was written by other code, whose results say nothing of this one."""


class Log:
    """A file with one line of JSON for each seed, after one for the code.

    Parameters
    ----------
    path : Path
    code : str, optional
        What stands for the code; a digest of it by default.
    """

    def __init__(self, path: Path, code: str = "") -> None:
        self.path = path
        self.code = code or digest()

    def read(self) -> dict[int, Part]:
        """Return the seeds that are done; what a cut run left of its last line is taken off the file.

        Raises
        ------
        StaleLogError
        """
        if not self.path.exists():
            self.path.write_text(json.dumps({"code": self.code}) + "\n")
            return {}
        whole = self.path.read_text()
        text = whole[: whole.rfind("\n") + 1]
        if text != whole:
            self.path.write_text(text)
        first, *lines = text.splitlines() or ["{}"]
        if json.loads(first) != {"code": self.code}:
            raise StaleLogError(f"{self.path} was written by other code: take another file")
        return {part.seed: part for part in map(_part, lines)}

    def add(self, part: Part) -> None:
        """Write a seed."""
        # asdict counts the items of a Counter
        written = {**asdict(replace(part, refused=Counter())), "refused": dict(part.refused)}
        with self.path.open("a") as stream:
            stream.write(json.dumps(written) + "\n")


def digest() -> str:
    """Return a digest of the code whose results a log has."""
    found = sha256()
    for root in (Path(str(masktron.__file__)).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def _part(line: str) -> Part:
    read: dict[str, Any] = json.loads(line)
    read["refused"] = Counter(read["refused"])
    read["disagreements"] = [_disagreement(found) for found in read["disagreements"]]
    read["coverage"] = {label: Count(**count) for label, count in read["coverage"].items()}
    return Part(**read)


def _disagreement(read: dict[str, Any]) -> Disagreement:
    first, second = (one if isinstance(one, str) else Told(**one) for one in read.pop("said"))
    return Disagreement(**read, said=(first, second))
