"""The page docs/reproduction.md, made of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.edit_constraints import Breaks, Curve, Released
from reproduction.marks import Mark, mdav_marks, printed_marks, study_marks
from reproduction.mdav_table import Loss
from reproduction.measured import DOCUMENTED, READINGS, Reading

HEAD = """\
# The papers' figures beside ours

`make reproduce` writes these pages from the public reference data in `../shared/data`. Each table shows the
reference, our figure, and the ratio of the two; the text below it explains the differences. The command fails when a
figure is farther from its reference than the column "within" allows. The scripts are in `reproduction/`.
"""

MDAV = """\
## MDAV

Information loss, 100 SSE/SST, of `masktron.partitions.mdav` with arithmetic means and all variables in one block.
Our figures agree with the reference figures in every digit.
"""

EDITS = """\
## Edit constraints and microaggregation (2009)

Section 5 of the second paper in *edit-constraints-and-numerical-hybrid-2009* masks the Census file in two ways, for
k = 1 to 99.

- S1 respects the edits. Variables that share an edit form a block: (V9, V10, V14), (V5, V15, V16) and (V8, V12, V13).
  V3 has an edit of its own; the rest are (V1, V2, V4) and (V6, V7, V11). The product takes geometric means, all else
  arithmetic means. Groups of (V8, V12, V13) share an alternative of the rule in which V8 governs the two others.
- S2 ignores the edits: V1 to V13 in threes, in the order of the file, with arithmetic means.

Both are measured on V1 to V13. SCORE = (PIL + DR) / 2 and DR = (DBRL + ID) / 2. Lower is better; unmasked data score
50. The paper includes k = 1, which masks nothing and which `mask` refuses.

The paper prints only the lowest SCORE of each scenario. It does not say which variables the intruder of DBRL knows,
or how intervals are measured. We use the *documented reading*: DBRL averaged over intruders who know the first 1,
..., 6 variables, and intervals of p % of a standard deviation (SDID). An earlier study chose it among 990 readings
because it is natural and close to both figures. So the table shows that the reading fits, not that the authors used
it.
"""

WHY = """\
The paper does not say which density estimate PIL uses; the usual bandwidths move SCORE by up to 0.25. It also does
not say what happens to the four records with V8 < 1115 when k is above four, which moves S1 by 0.5. Both curves are
flat, so small differences move their minimum.

The conclusions are reproduced: SCORE changes little for k = 4 to 10, S1 is some points above S2, and both stay below
50.
"""

SCATTER = """\
Figures 6 and 7 of the paper, in the documented reading. Risk falls in almost the same proportion as loss rises.

![PIL against DR, scenario S1](figures/edit-constraints-2009-s1.svg)

![PIL against DR, scenario S2](figures/edit-constraints-2009-s2.svg)
"""

OTHER = """\
### Other readings

The references come from the earlier study. Users should look at DBRL with all 13 variables: masking block by block
leaves nearly every record linkable at the usual k. S2 agrees to the digit, so the difference in S1 comes from its
blocks, most likely from the groups of the four records with V8 < 1115.
"""

LEAST = """\
The least SCORE over k = 2 to 99, by reading:
"""

RELEASE = """\
### What keeping the edits costs, and what is released

- *SCORE of S1*: aggregates in doubles.
- *by antecedent*: the four records of V8 < 1115 form a group, joined by the nearest records where k is larger.
- *of `mask`*: `masktron mask` rounds aggregates to the grid of the data and picks the aggregator of the product by
  measured loss.
- *violations*: broken rules that the engines find in the file that `mask` wrote.
- *blind*: of 1,080 records, those that break an edit by more than rounding when all 16 variables are masked without
  regard to edits.
"""

ALL = """\
### By k

In the documented reading.
"""
SHOWN = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 99)
"""Sizes in the table by k; the curves have all."""


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the page shows."""

    losses: tuple[Loss, ...]
    aware: Curve
    blind: Curve
    antecedent: Curve
    released: tuple[Released, ...]
    breaks: tuple[Breaks, ...]

    @property
    def curves(self) -> tuple[Curve, Curve]:
        """Both scenarios of the paper."""
        return self.aware, self.blind

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Everything that has to be reached."""
        return (
            *mdav_marks(self.losses),
            *printed_marks(self.curves),
            *study_marks(self.aware, self.blind),
        )


def page(results: Results) -> str:
    """Return the page."""
    parts = [
        HEAD,
        MDAV,
        _marked(mdav_marks(results.losses), digits=3, columns=("loss", "reference")),
        EDITS,
        _marked(printed_marks(results.curves), digits=3, columns=("minimum of the paper", "in print")),
        WHY,
        _flat(results.curves),
        SCATTER,
        OTHER,
        _marked(study_marks(results.aware, results.blind), digits=2, columns=("figure", "reference")),
        LEAST,
        _least(results.curves),
        RELEASE,
        _released(results),
        ALL,
        _all(results.curves),
    ]
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _marked(marks: Iterable[Mark], *, digits: int, columns: tuple[str, str]) -> str:
    rows = (
        (one.what, f"{one.reference:.{digits}f}", f"{one.ours:.{digits}f}", f"{one.ratio:.3f}", f"{one.within:g}")
        for one in marks
    )
    return _table((*columns, "ours", "ratio", "within"), rows, texts=1)


def _flat(curves: Sequence[Curve]) -> str:
    rows = []
    for curve in curves:
        least = curve.least(DOCUMENTED)
        low, high = curve.range(DOCUMENTED.score, 4, 10)
        one = curve.scenario
        rows.append(
            (one.name, f"{one.printed:.3f}", f"{one.at}", _two(DOCUMENTED.score(least)), f"{least.k}",
             f"{low:.2f} to {high:.2f}", _two(DOCUMENTED.score(curve.at(1))))
        )  # fmt: skip
    head = ("scenario", "least in print", "at k", "least of ours", "at k", "ours, k = 4 to 10", "ours, k = 1")
    return _table(head, rows, texts=1)


def _least(curves: Sequence[Curve]) -> str:
    rows = ((reading.name, *(cell for curve in curves for cell in _lowest(curve, reading))) for reading in READINGS)
    return _table(("reading", "S1", "at k", "S2", "at k"), rows, texts=1)


def _lowest(curve: Curve, reading: Reading) -> tuple[str, str]:
    one = curve.least(reading)
    return _two(reading.score(one)), f"{one.k}"


def _released(results: Results) -> str:
    rows = (_release(results, one, broken) for one, broken in zip(results.released, results.breaks, strict=True))
    scores = ("k", "SCORE of S1", "by antecedent", "of `mask`", "product", "violations")
    blind = ("V9 + V10 = V14", "V5 * V15 = V16", "V3 in [0, 7500]", "V8 governs")
    return _table((*scores, *(f"blind: {edit}" for edit in blind)), rows, texts=0)


def _release(results: Results, one: Released, breaks: Breaks) -> tuple[str, ...]:
    k, blind = one.figures.k, breaks.blind
    compared = (results.aware.at(k), results.antecedent.at(k), one.figures)
    scores = (_two(DOCUMENTED.score(figures)) for figures in compared)
    counts = (blind.total, blind.product, blind.interval, blind.governing)
    return f"{k}", *scores, one.product, f"{one.violations}", *(f"{count:,}" for count in counts)


def _all(curves: Sequence[Curve]) -> str:
    names = [f"{curve.scenario.name} {what}" for curve in curves for what in ("PIL", "DBRL", "SDID", "DR", "SCORE")]
    rows = ((f"{k}", *(_two(cell) for curve in curves for cell in _cells(curve, k))) for k in SHOWN)
    return _table(("k", *names), rows, texts=0)


def _cells(curve: Curve, k: int) -> tuple[float, ...]:
    one = curve.at(k)
    return one.pil, DOCUMENTED.linked(one), DOCUMENTED.disclosed(one), DOCUMENTED.risk(one), DOCUMENTED.score(one)


def _two(value: float) -> str:
    return f"{value:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A Markdown table; all columns but the first `texts` are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))
