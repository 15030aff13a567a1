"""Cases through the plain engine and through masktron, and what they disagree on.

``python -m spelled.compare FIRST LAST FOLDER`` from ``tests/support`` compares the cases of seeds and tells the
numbers; with a second state of the package after them, whose folder is ``pipeline``, also with what that says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from masktron.judge.nested import unit_program
from spelled import engine
from spelled.cases import Case, Check, generate
from spelled.judged import judged

_LINE = re.compile(r"rules\.sch:([0-9]+)")
_NUMBER = re.compile(r">n([0-9]+)</")


@dataclass(slots=True)
class Compared:
    """What came of cases.

    Attributes
    ----------
    checks : int
    dropped : int
        Checks that the engine refuses.
    disagreements : list of str
    tiers, classes : Counter
    """

    checks: int = 0
    dropped: int = 0
    disagreements: list[str] = field(default_factory=list)
    tiers: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    failing: int = 0
    """Checks that fail on some records and hold on others, in the plain engine."""


def compared(seeds: Iterable[int], folder: Path) -> Compared:
    """Compare the cases of seeds, which are written into a folder."""
    total = Compared()
    for seed in seeds:
        case = generate(seed)
        where = folder / str(seed)
        bad = engine.refused(case)
        case = case.without(bad)
        total.dropped += len(bad)
        case, said = _judged(case, where, total)
        if not case.checks:
            continue
        try:
            plain = engine.evaluate(case, where)
        except engine.RefusedError as error:
            total.disagreements.append(f"{seed}: the plain engine refuses all: {str(error)[:300]}")
            continue
        total.checks += len(case.checks)
        total.tiers.update(said["tiers"])
        total.classes.update(said["names"])
        total.failing += sum(bool(one.failed) and one.failed < one.fired for one in plain)
        for way in ("columns", "engine", "saxon"):
            for check, one, other in zip(case.checks, plain, said.get(way, ()), strict=False):
                told = [one.fired, one.failed, one.errors, one.marks]
                if told != other and not (case.version == "1.0" and other[2] and _sums(case, check)):
                    text = f"{seed} ({case.version}), {way}, n{check.number}: {check.test!r}: {told}, {other}"
                    total.disagreements.append(text)
    return total


def _sums(case: Case, check: Check) -> bool:
    """Whether it is what docs/engines.md has as ``saxon-sum-text``: in 1.0 mode the sum of a text is an error."""
    (pattern,) = (p for p in case.patterns if any(check.number == c.number for r in p.rules for c in r.checks))
    texts = (
        text
        for rule in pattern.rules
        for text in (*rule.context, *(v for _, v in rule.lets), *(c.test for c in rule.checks))
    )
    return any("sum" in text for text in texts)


def _judged(case: Case, where: Path, total: Compared) -> tuple[Case, dict[str, Any]]:
    """Ask masktron; checks that it refuses, and the engine does not, are told and left out."""
    while case.checks:
        case.write(where)
        (where / "case").write_text(f"{case.record}\t{case.phase}", encoding="utf-8")
        said = judged(where, case.record, case.phase)
        if "refused" not in said:
            (where / "now.json").write_text(json.dumps(said), encoding="utf-8")
            return case, said
        total.disagreements.append(f"{case.seed} ({case.version}): refused: {said['refused'][:400]}")
        case = case.without(_named(case, where, said["refused"]))
    return case, {}


def _named(case: Case, where: Path, refusal: str) -> set[int]:
    """Return the check on the line that a refusal names, or all of its rule, or all."""
    found = _LINE.search(refusal)
    everything = {check.number for check in case.checks}
    if found is None:
        return everything
    lines = (where / "rules.sch").read_text(encoding="utf-8").split("\n")
    rest = "\n".join(lines[int(found[1]) - 1 :])
    numbers = _NUMBER.findall(rest.split("</rule>")[0])
    if not numbers:
        return everything
    return {int(numbers[0])} if _NUMBER.search(lines[int(found[1]) - 1]) else set(map(int, numbers))


def judged_before(folder: Path, state: Path) -> list[str]:
    """Compare with what another state of the package says: what it says differently."""
    named = [(path.parent, *path.read_text(encoding="utf-8").split("\t")) for path in sorted(folder.glob("*/case"))]
    lines = "".join(f"{where}\t{record}\t{phase}\n" for where, record, phase in named)
    command = [sys.executable, "-m", "spelled.judged", "before.json"]
    paths = os.pathsep.join((str(state), str(Path(__file__).parents[1])))
    subprocess.run(command, input=lines, text=True, check=True, env={**os.environ, "PYTHONPATH": paths})
    told = []
    for where, _, _ in named:
        if not (where / "now.json").exists():
            continue
        now = json.loads((where / "now.json").read_text(encoding="utf-8"))
        before = json.loads((where / "before.json").read_text(encoding="utf-8"))
        if "columns" not in before:
            told.append(f"{where.name}: before: {before}"[:400])
            continue
        for part in ("columns", "names", "classes", "locality", "tiers", "reasons"):
            for k, (one, other) in enumerate(zip(before[part], now[part], strict=True)):
                if one != other:
                    told.append(f"{where.name}, {k}, {part}: {one!r} -> {other!r}")
    return told


def main() -> None:
    """Compare, and print."""
    first, last, folder, *state = sys.argv[1:]
    begun = time.monotonic()
    unit_program.ENOUGH = 1  # columns of every composition of a unit
    where = Path(folder)
    total = compared(range(int(first), int(last)), where)
    print(*total.disagreements, sep="\n")
    for line in judged_before(where, Path(state[0])) if state else ():
        print("before:", line)
    print(
        f"{total.checks:,} checks, {total.dropped} refused by the engine, {total.failing:,} fail on a part; "
        f"{total.tiers}; {total.classes}; {len(total.disagreements)} disagreements; "
        f"{time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
