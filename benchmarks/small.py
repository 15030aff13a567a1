"""Small files as users meet them: whole processes on both samples, as multiples of a bare `import lxml.etree, numpy`.

Wall clock, CPU and peak memory; the least and the median of several runs. Compare the multiples:
seconds depend on the
machine and on what else it does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MASKTRON = [sys.executable, "-m", "masktron"]
BARE = [sys.executable, "-c", "import lxml.etree, numpy"]
JOBS = ("validate", "check", "explain", "mask")


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds of the wall clock and of the cores, and its memory in MB."""

    wall: float
    cpu: float
    memory: float


def run(command: list[str]) -> Run:
    """Run a command once.

    Raises
    ------
    RuntimeError
        It was not done: a sample that is its own original does not comply, which is exit code 1 of ``check``.
    """
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}")
    return Run(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def commands(sample: str, folder: Path) -> dict[str, list[str]]:
    """Return the commands on one sample."""
    data, rules, config = f"sample_xml/{sample}.xml", f"rules/{sample}.sch", f"sample_xml/{sample}.toml"
    written = str(folder / f"{sample}.xml")
    return {
        "validate": [*MASKTRON, "validate", data, "--rules", rules, "--original", data],
        "check": [*MASKTRON, "check", data, "--rules", rules, "--original", data],
        "explain": [*MASKTRON, "explain", rules, "--data", data, "--config", config],
        "mask": [*MASKTRON, "mask", data, "--rules", rules, "--config", config, "--out", written],
    }


def row(name: str, runs: list[Run], bare: float) -> str:
    """Return a line of the table."""
    wall, cpu = [one.wall for one in runs], [one.cpu for one in runs]
    return (
        f"| {name} | {min(wall):.2f} | {statistics.median(wall):.2f} | {min(cpu):.2f} | {min(cpu) / bare:.1f} | "
        f"{max(one.memory for one in runs):.0f} MB |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", default=",".join(JOBS), help="some of validate, check, explain, mask, demo")
    given = parser.parse_args()
    bare = [run(BARE) for _ in range(max(3, given.repeats))]
    least = min(one.cpu for one in bare)
    print("| process | wall, least | median | CPU, least | multiple of bare | memory |\n|" + " --- |" * 6)
    print(row("bare", bare, least))
    with tempfile.TemporaryDirectory() as folder:
        for sample in ("household", "business"):
            for job, command in commands(sample, Path(folder)).items():
                if job in given.jobs.split(","):
                    print(row(f"{job} {sample}", [run(command) for _ in range(given.repeats)], least), flush=True)
        if "demo" in given.jobs.split(","):
            runs = [run([*MASKTRON, "demo", "--out", str(Path(folder) / f"demo{k}")]) for k in range(given.repeats)]
            print(row("demo", runs, least), flush=True)


if __name__ == "__main__":
    main()
