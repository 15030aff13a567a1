"""Test the tests: `python tools/mutants.py` changes the code in 236 places, one at a time, and runs tests on each.

A mutant is killed if a test fails or exceeds its time. The tests are those of the mutant's area, the most specific
file first, and one short masking. mutants.json keeps which are killed and which survive: none that was killed may
survive, and `--write` keeps new results. The working tree is copied, never changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("pipeline", "masktron")
KEPT = Path(__file__).with_name("mutants.json")
SEED, TOTAL = 49, 236
MASKING = "tests/whole/test_mutants.py::test_a_short_masking_keeps_rules_and_k"

# each area has its modules, as patterns below the package, and its tests
AREAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "columns": (("judge/columns/*.py",), ("tests/judge/columns/*.py",)),
    "recount": (("judge/recount/*.py",), ("tests/judge/test_recount.py",)),
    "achieved k": (
        ("measures/achieved_k.py",),
        ("tests/measures/test_measures_achieved_k.py", "tests/measures/test_measures_refused.py"),
    ),
    "publication": (
        ("write/*.py", "jobs/released.py", "jobs/written.py"),
        ("tests/write/*.py", "tests/jobs/test_treatments_asked.py", "tests/jobs/test_former_manifest.py"),
    ),
    "randomness": (
        ("streams.py", "release_secret.py", "jobs/randomness.py"),
        ("tests/test_release_secrets.py", "tests/jobs/test_inversion.py"),
    ),
    "suppression": (("treatments/suppress*.py",), ("tests/treatments/test_suppress*.py",)),
    "verification": (
        ("verify/*.py",),
        (
            "tests/verify/*.py",
            "tests/jobs/test_protection.py",
            "tests/jobs/test_check.py",
            "tests/jobs/test_pairing.py",
        ),
    ),
}


def both_ways[T](*pairs: tuple[T, T]) -> dict[T, T]:
    """Return what stands for each part of each pair."""
    return dict(pairs) | {other: one for one, other in pairs}


COMPARISONS = both_ways(
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)
)
OPERATORS = both_ways((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.FloorDiv, ast.Mod))
STAY = ("annotation", "returns", "decorator_list", "exc", "cause")
"""Parts of a node that hold types, or what a message says."""
NAMES = both_ways(("min", "max"), ("minimum", "maximum"), ("any", "all"), ("argmin", "argmax"))

type Kept = dict[str, Any]
"""Names of mutants that are killed and of those that survive; reasons why others do the same as the code, by name."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    area: str
    name: str
    """Area, text of the line and kind of the change: it stays the same when other lines change, or modules."""
    rank: tuple[int, str]
    """Its place in a seeded order of its module, and in one of all."""
    module: Path
    code: bytes
    """The module with the change."""


def mutants() -> list[Mutant]:
    """Return the selected mutants: of each area a share, of all its modules in turn, in seeded order."""
    found = {area: sorted(_candidates(area), key=lambda one: one.rank) for area in AREAS}
    selected: list[Mutant] = []
    for left, area in zip(range(len(found), 0, -1), sorted(found, key=lambda area: len(found[area])), strict=True):
        selected += found[area][: (TOTAL - len(selected)) // left]
    return selected


def sample(selected: Sequence[Mutant], size: int) -> list[Mutant]:
    """Return a seeded part of mutants."""
    return sorted(selected, key=lambda one: one.rank[1])[:size]


def _candidates(area: str) -> Iterator[Mutant]:
    seen: dict[str, int] = {}
    for path in sorted(path for pattern in AREAS[area][0] for path in (ROOT / PACKAGE).glob(pattern)):
        module, source = path.relative_to(ROOT), path.read_bytes()
        lines, found = source.splitlines(keepends=True), list[tuple[str, str, bytes]]()
        starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
        for node, kind, text in _changes(ast.parse(source), returns=None):
            line = f"{lines[node.lineno - 1].decode().strip()}: {kind}"
            seen[line] = seen.get(line, 0) + 1
            line += f" ({seen[line]})" if seen[line] > 1 else ""
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            rank = sha256(f"{SEED} {line}".encode()).hexdigest()
            found.append((rank, f"{area}: {line}", source[:begin] + text.encode() + source[end:]))
        for place, (rank, name, code) in enumerate(sorted(found)):
            yield Mutant(area, name, (place, rank), module, code)


def _changes(node: ast.AST, returns: str | None) -> Iterator[tuple[Any, str, str]]:
    """Yield each node that can change, the kind of the change, and the new text; types and messages stay."""
    if isinstance(node, ast.JoinedStr | ast.TypeAlias) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        return
    if isinstance(node, ast.FunctionDef):
        returns = ast.unparse(node.returns) if node.returns else None
    yield from _changes_of(node, returns)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in STAY and isinstance(child, ast.AST):
                yield from _changes(child, returns)


def _changes_of(node: ast.AST, returns: str | None) -> Iterator[tuple[Any, str, str]]:
    match node:
        case ast.Compare(left, [op], [right]):
            changed = ast.Compare(left, [COMPARISONS[type(op)]()], [right])
            yield node, "another comparison", f"({ast.unparse(changed)})"
        case ast.BoolOp(op, values):
            other = ast.And() if isinstance(op, ast.Or) else ast.Or()
            yield node, "and for or, or for and", f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
            yield node, "no not", f"({ast.unparse(operand)})"
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield node, "another operator", f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))})"
        case ast.Constant(bool() as value):
            yield node, "another constant", str(not value)
        case ast.Constant(int() as value):
            yield node, "another constant", str(value + 1)
        case ast.If(test) | ast.IfExp(test) | ast.comprehension(ifs=[test, *_]) if not (
            isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
        ):
            yield test, "always", "True"
            yield test, "never", "False"
        case ast.Name(id=name) if name in NAMES:
            yield node, f"{NAMES[name]} for {name}", NAMES[name]
        case ast.Attribute(value, attr) if attr in NAMES:
            yield node, f"{NAMES[attr]} for {attr}", f"({ast.unparse(value)}).{NAMES[attr]}"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield node, "dropped", "pass"
        case ast.Return(ast.AST()) if returns == "bool":
            yield node, "returns True", "return True"
            yield node, "returns False", "return False"
        case ast.Return(ast.AST() as value) if returns and "None" in returns and ast.unparse(value) != "None":
            yield node, "returns None", "return None"


class Trials:
    """Copies of the working tree in which mutants are tried, one for each job."""

    def __init__(self, copies: Sequence[Path]) -> None:
        self._free: Queue[Path] = Queue()
        self._limits: dict[str, float] = {}
        for copy in copies:
            self._free.put(copy)

    def measure(self, area: str) -> None:
        """Run the tests of an area on unchanged code, which sets its time limit."""
        copy, begin = self._free.get(), time.monotonic()
        try:
            if not _passes(copy, _tests(area), 1800):
                sys.exit(f"the tests of {area} fail on unchanged code: {' '.join(_tests(area))}")
            self._limits[area] = 60 + 5 * (time.monotonic() - begin)
        finally:
            self._free.put(copy)

    def killed(self, mutant: Mutant) -> bool:
        """Tell whether the tests notice a mutant."""
        copy = self._free.get()
        try:
            (copy / mutant.module).write_bytes(mutant.code)
            return not _passes(copy, _tests(mutant.area, mutant.module.stem), self._limits[mutant.area])
        finally:
            shutil.copy2(ROOT / mutant.module, copy / mutant.module)
            self._free.put(copy)


def _tests(area: str, stem: str = "") -> list[str]:
    """Return the test files of an area, those named after the module first, and the masking."""
    found = sorted(path for pattern in AREAS[area][1] for path in ROOT.glob(pattern) if path.name.startswith("test_"))
    found.sort(key=lambda path: stem not in path.stem)
    return [*(path.relative_to(ROOT).as_posix() for path in found), MASKING]


def _passes(copy: Path, tests: Iterable[str], limit: float) -> bool:
    """Tell whether tests pass in a copy within so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not full", *tests]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        paths = os.pathsep.join(str(copy / name) for name in ("pipeline", "tests/support", "."))
        environment = os.environ | {"PYTHONPATH": paths, "TMPDIR": scratch}
        # a session of its own, so that nothing which the tests start survives them
        with subprocess.Popen(
            command,
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as run:
            try:
                return run.wait(limit) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)


def run(chosen: Sequence[Mutant], jobs: int) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant and whether it is killed."""
    with ExitStack() as stack:
        copies = [Path(stack.enter_context(tempfile.TemporaryDirectory())) / "tree" for _ in range(jobs)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "docs-output", "*-output"), symlinks=True)
        trials = Trials(copies)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        list(pool.map(trials.measure, dict.fromkeys(one.area for one in chosen)))
        yield from zip(chosen, pool.map(trials.killed, chosen), strict=True)


def kept_after(kept: Kept, names: Sequence[str], fates: Mapping[str, bool]) -> Kept:
    """Return what is kept after a run: the new fates, and those of selected mutants that were not run."""
    before = dict.fromkeys(kept["killed"], True) | dict.fromkeys(kept["survivors"], False)
    now = {name: fate for name, fate in (before | dict(fates)).items() if name in names}
    counted = sorted(now.keys() - kept["equivalent"])
    return {
        "equivalent": kept["equivalent"],
        "survivors": [name for name in counted if not now[name]],
        "killed": [name for name in counted if now[name]],
    }


def falls(kept: Kept, names: Sequence[str], fates: Mapping[str, bool]) -> list[str]:
    """Say which mutants survive that did not before, and which kept ones are not selected any more."""
    spared = {*kept["survivors"], *kept["equivalent"]}
    return [
        *(f"no such change is selected: {name}" for name in sorted(spared.union(kept["killed"]).difference(names))),
        *(
            f"no test notices this change: {name}"
            for name, killed in fates.items()
            if not killed and name not in spared
        ),
    ]


def share(kept: Kept) -> str:
    """Say which share of the mutants is killed."""
    tried = len(kept["killed"]) + len(kept["survivors"])
    return f"{len(kept['killed'])} of {tried} killed ({len(kept['killed']) / max(tried, 1):.1%})"


def main() -> int:
    """Run the selected mutants; return 1 where the tests notice fewer than before."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="list the mutants and run none")
    parser.add_argument("--only", default="", metavar="NAME", help="run the mutants whose name contains this text")
    parser.add_argument("--sample", type=int, default=TOTAL, metavar="N", help="run a seeded part of the mutants")
    parser.add_argument("--new", action="store_true", help="run those of which mutants.json says nothing")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep results in mutants.json, as soon as there are any")
    options = parser.parse_args()
    selected, kept = mutants(), json.loads(KEPT.read_text())
    known = {*kept["equivalent"], *kept["killed"], *kept["survivors"]} if options.new else set()
    chosen = sample([one for one in selected if options.only in one.name and one.name not in known], options.sample)
    if options.list:
        print("\n".join(one.name for one in chosen))
        return 0
    names = [one.name for one in selected]
    fates: dict[str, bool] = {}
    for one, killed in run(chosen, options.jobs):
        fates[one.name] = killed
        print(f"{len(fates)} of {len(chosen)}: {'killed' if killed else 'SURVIVED'}: {one.name}", flush=True)
        if options.write:
            KEPT.write_text(json.dumps(kept_after(kept, names, fates), indent=1) + "\n")
    fallen = [] if options.write else falls(kept, names, fates)
    print("\n".join(fallen) or share(kept_after(kept, names, fates)))
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
