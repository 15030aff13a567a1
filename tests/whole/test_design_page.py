"""The picture of a run in docs/design.md is made from the code; MASKTRON_WRITE_DOCS=1 draws it anew."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import masktron
from masktron.jobs import in_units, job, mask, opening, originals, publishing, steps, treated_records, written
from masktron.jobs.lowering import lower
from masktron.jobs.ordering import ordering_of
from masktron.jobs.randomness import randomness_of
from masktron.jobs.register.registration import Registration
from masktron.jobs.revalidate import Asking
from masktron.jobs.run import Run
from masktron.judge.tiered import evaluate
from masktron.masking import run as masking
from masktron.masking.groups import strata
from masktron.plan import make_plan
from paths import ROOT

PAGE = ROOT / "docs" / "design.md"
BEGIN, END = "<!-- the run, drawn by tests/whole/test_design_page.py -->\n", "<!-- the end of the run -->\n"
OPENED = (
    *(mask.run_mask, opening.open_original, job.open_job, opening.judged, opening._judged, lower.lower),
    *(treated_records.treated, steps.chain_of, in_units.masked_by, masking.mask_records),
    *(masking._by_groups, masking._by_units, masking._masking, masking._whole, strata.group),
    *(publishing.published, written.write, written._put, originals.judge_originals, Asking.revalidation),
    Run.planned,
)
"""Functions whose calls are shown as well, where they stand first; a private one is not shown itself."""
ROOMS = (
    *("jobs", "masking", "plan", "grouping", "partitions", "settle", "judge", "codes"),
    *("sources.opening", "write.publication"),
)
METHODS: dict[str, FunctionType] = {
    "evaluate": evaluate,  # type: ignore[dict-item]
    "self.plan": make_plan,  # type: ignore[dict-item]
    "self.ordering": ordering_of,  # type: ignore[dict-item]
    "self.randomness": randomness_of,  # type: ignore[dict-item]
    "revalidation": Asking.revalidation,  # type: ignore[dict-item]
    "planned": Run.planned,  # type: ignore[dict-item]
    "look_up": Registration.look_up,  # type: ignore[dict-item]
    "confirm": Registration.confirm,  # type: ignore[dict-item]
}
HELPERS = ("require", "refuse", "names", "notes", "weights", "told", "named", "may", "size", "judging", "units", "as")
"""How names of functions begin or end that a run could do without, but for what is refused or said."""
SHOWN = ("require_releasable", "require_contract", "spread_weights")


def test_the_picture_of_a_run_is_that_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = f"{before}{BEGIN}```text\n{picture()}```\n{END}{after}"
    if os.environ.get("MASKTRON_WRITE_DOCS"):
        PAGE.write_text(drawn, encoding="utf-8")
        return
    assert page == drawn, f"run MASKTRON_WRITE_DOCS=1 pytest {Path(__file__).relative_to(ROOT)}"


def picture() -> str:
    rows = list(branches(mask.run_mask, "", set()))
    width = max(len(left) for left, _, _ in rows)
    across = max(len(where) for _, where, _ in rows)
    return "".join(f"{left:{width}}  {where:{across}}  {says}".rstrip() + "\n" for left, where, says in rows)


def branches(
    function: Callable[..., object], stem: str, opened: set[Callable[..., object]]
) -> Iterator[tuple[str, str, str]]:
    """Yield a function, and those that it calls in the order in which they stand in it."""
    if not stem:
        yield line(function, "")
    inner = [] if function in opened else list(dict.fromkeys(called(function)))
    opened.add(function)
    for at, one in enumerate(inner):
        last = at == len(inner) - 1
        yield line(one, f"{stem}{'└─ ' if last else '├─ '}")
        yield from branches(one, f"{stem}{'   ' if last else '│  '}", opened)


def line(function: Callable[..., object], stem: str) -> tuple[str, str, str]:
    module = inspect.getmodule(function)
    assert isinstance(module, ModuleType)
    assert module.__file__
    where = Path(module.__file__).relative_to(Path(masktron.__file__).parent).as_posix()
    says = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return f"{stem}{function.__name__}", where, textwrap.shorten(says, 90, placeholder=" ...")


def called(function: Callable[..., object]) -> Iterator[Callable[..., object]]:
    """Yield the functions that one names and that are shown, what is given to a call before the call."""
    if function not in [inspect.unwrap(one) for one in OPENED]:
        return
    names: list[str] = []

    class Visitor(ast.NodeVisitor):
        def visit_Call(self, node: ast.Call) -> None:
            for one in (*node.args, *node.keywords):
                self.visit(one)
            self.visit(node.func)

        def visit_Attribute(self, node: ast.Attribute) -> None:
            self.visit(node.value)
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            names.append(f"self.{node.attr}" if own else node.attr if node.attr in METHODS else "")

        def visit_Name(self, node: ast.Name) -> None:
            names.append(node.id)

        def visit_arg(self, node: ast.arg) -> None:
            """Types are no calls."""

    for statement in ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body:  # type: ignore[attr-defined]
        Visitor().visit(statement)
    known = function.__globals__  # type: ignore[attr-defined]
    for name in dict.fromkeys(names):
        found = METHODS.get(name) or known.get(name)
        found = inspect.unwrap(found) if callable(found) else None
        if isinstance(found, FunctionType) and found is not function and shown(name, found):
            yield from called(found) if name.startswith("_") else [found]


def shown(name: str, function: FunctionType) -> bool:
    room = function.__module__.removeprefix("masktron.")
    if not room.startswith(ROOMS):
        return False
    if name.startswith("_"):
        return function in [inspect.unwrap(one) for one in OPENED]
    words = name.strip("_").split("_")
    return name in SHOWN or not {words[0], words[-1]}.intersection(HELPERS)
