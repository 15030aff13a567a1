"""The risk-utility map: twenty candidates of a file as a multiple of one run of `mask` without re-validation.

Both are whole processes on the same file, one after the other in turn, so that what else the machine does falls on
both. `mask` is the command but for engines that are not ours: what a candidate of `tune` is spared. Prints a table in
Markdown; a target that is missed is marked.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from data import jittered, source
from measure import process

from masking import table

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "rules" / "census_edit_paper.sch"
COPIES = 93
"""Of the source: 100,440 records of 16 fields."""
TARGET = 6.0
SMALL_SECONDS = 60.0
LIMITS = ("--limit", "disclosure_risk=40")
UNVALIDATED = """
import sys
from pathlib import Path
from masktron.config import Config
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate
from masktron.jobs import written
from masktron.jobs.mask import run_mask
from masktron.jobs.revalidate import Revalidation
from masktron.jobs.run_places import MaskRequest

class NoEngine:
    def __init__(self, source, job, *, original, **_): self.asked = source, job.rulebook, original
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def revalidation(self, binding): return Revalidation(evaluate(EvaluationRequest.of(*self.asked)), ())

written.Asking = NoEngine
data, rules, out = map(Path, sys.argv[1:])
run_mask(MaskRequest(data, rules, out, config=Config(k=5)))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Twenty candidates, as multiples of one run of mask.")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each, of which the fastest counts")
    parser.add_argument("--copies", type=int, default=COPIES, help="of the 1,080 records of the source")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as name:
        folder = Path(name)
        small = jittered(source(folder), 1, folder / "small.xml")
        large = jittered(source(folder), options.copies, folder / "large.xml")
        mask = [sys.executable, "-c", UNVALIDATED, large, RULES, folder / "masked.xml"]
        # once for what has to be compiled, which the next run finds
        process([sys.executable, "-c", UNVALIDATED, small, RULES, folder / "masked.xml"], folder / "said", repeats=1)
        masks, tunes = [], []
        for _ in range(options.repeats):
            masks.append(process(mask, folder / "said", repeats=1))
            tunes.append(process(_tune(large, folder / "tuned"), folder / "said", repeats=1))
            result = _result(folder / "tuned")
        census = process(_tune(small, folder / "tuned"), folder / "said", repeats=1)
        few = _result(folder / "tuned")
    own, whole = min(one.seconds for one in masks), min(one.seconds for one in tunes)
    ratio = whole / own
    states = [one["state"] for one in result["candidates"]]
    rows = [
        ("mask, no engine but what decides", f"{result['records']:,}", f"{own:.1f} s", _peak(masks), "", ""),
        (
            f"tune, {len(states)} candidates, {states.count('measured')} of them on all records",
            f"{result['records']:,}",
            f"{whole:.1f} s",
            _peak(tunes),
            f"{ratio:.1f} x",
            f"<= {TARGET:g} x{'' if ratio <= TARGET else ', MISSED'}",
        ),
        (
            f"tune, {len(few['candidates'])} candidates",
            f"{few['records']:,}",
            f"{census.seconds:.1f} s",
            _peak([census]),
            "",
            f"< {SMALL_SECONDS:g} s{'' if census.seconds < SMALL_SECONDS else ', MISSED'}",
        ),
    ]
    print(table(["what", "records", "wall clock", "peak memory", "ratio", "target"], rows))
    print(f"\n{result['why']}")
    if options.json:
        content = {"mask": own, "tune": whole, "ratio": ratio, "small": census.seconds}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _tune(data: Path, out: Path) -> list[object]:
    """Return the command, which finds nothing of a former run."""
    shutil.rmtree(out, ignore_errors=True)
    return [sys.executable, "-m", "masktron", "tune", data, "--rules", RULES, "--out", out, *LIMITS]


def _result(out: Path) -> dict[str, object]:
    """Read the result.

    Raises
    ------
    SystemExit
        It is not of at least twenty candidates, or nothing is recommended.
    """
    content = json.loads((out / "tune.json").read_text(encoding="utf-8"))
    known = [one for one in content["candidates"] if one["state"] in ("measured", "sampled")]
    if len(known) < 20 or content["recommended"] is None or not content["complete"]:
        raise SystemExit(f"tune: {len(known)} candidates with figures; {content['why']}")
    found: dict[str, object] = content
    return found


def _peak(runs: Sequence[object]) -> str:
    return f"{max(one.megabytes for one in runs):.0f} MB"  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
