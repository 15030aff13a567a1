"""`python -m reproduction`: masks and measures the reference data, and writes docs/reproduction.md and its pages."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reproduction import class_restricted, hierarchical, hybrid_microaggregation, model_based
from reproduction.edit_constraints import ANTECEDENT, RELEASED, ROOT, S1, S2, breaks, curve, released
from reproduction.mdav_table import mdav_table
from reproduction.measured import DOCUMENTED
from reproduction.page import Results, page
from reproduction.plots import loss_against_risk
from reproduction.section import Section
from reproduction.split_pages import split_pages

SECTIONS: tuple[Callable[[Path, Path], Section], ...] = (
    hybrid_microaggregation.section,
    model_based.section,
    class_restricted.section,
    hierarchical.section,
)
"""What follows the first paper: each is given the folder of the data and that of the page."""

PAGES = {
    "MDAV": "mdav",
    "Edit constraints and microaggregation (2009)": "edit-constraints-2009",
    "Hybrid microdata using microaggregation (2010)": "hybrid-microaggregation-2010",
    "Hybrid microdata via model-based clustering (2012)": "model-based-2012",
    "Class-restricted clustering and microperturbation (2013)": "class-restricted-2013",
    "Hierarchical cluster analysis for partially synthetic data (2013)": "hierarchical-2013",
}
"""Names of pages by the titles of their sections."""


def main() -> int:
    """Write page and plots; return 1 if a figure is not reached, 2 without data."""
    options = _options()
    if not options.data.is_dir():
        print(f"the reference data are not in {options.data}; name their folder with --data", file=sys.stderr)
        return 2
    start = time.perf_counter()
    results = Results(
        mdav_table(options.data),
        curve(options.data, S1),
        curve(options.data, S2),
        curve(options.data, ANTECEDENT, RELEASED),
        released(options.data),
        breaks(options.data),
    )
    for one in results.curves:
        name = f"edit-constraints-2009-{one.scenario.name.lower()}.svg"
        loss_against_risk(one, DOCUMENTED, options.docs / "figures" / name)
    target = options.docs / "reproduction.md"
    sections = [section(options.data, options.docs) for section in SECTIONS]
    text = "\n".join([page(results), *(section.text for section in sections)])
    for name, part in split_pages(text, "reproduction", PAGES).items():
        (options.docs / name).parent.mkdir(parents=True, exist_ok=True)
        (options.docs / name).write_text(part, encoding="utf-8")
    marks = [*results.marks, *(mark for section in sections for mark in section.marks)]
    missed = [mark for mark in marks if not mark.reached]
    for mark in missed:
        print(
            f"not reached: {mark.what}: {mark.ours:.3f}, not within {mark.within} of {mark.reference}",
            file=sys.stderr,
        )
    reached = len(marks) - len(missed)
    taken = time.perf_counter() - start
    print(f"{target}: {reached} of {len(marks)} figures reached, in {taken:.0f} seconds")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description="Write docs/reproduction.md.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder to write to")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
