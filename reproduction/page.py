"""The page docs/reproduction.md, made of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.edit_constraints import SIZES, Breaks, Curve, Released
from reproduction.marks import Mark, mdav_marks, printed_marks, study_marks
from reproduction.mdav_table import Loss
from reproduction.measured import DOCUMENTED, READINGS, Reading

HEAD = """\
# The papers' figures beside ours

Written by `make reproduce` from the public reference data in `../shared/data`; the same data give the same page.
Each table has a reference, ours, and ours divided by it; below stands why they differ. The scripts are in
`reproduction/`. A figure that is farther from its reference than "within" says makes the command fail.
"""

MDAV = """\
## MDAV

Information loss, 100 SSE/SST, of `masktron.partitions.mdav` and arithmetic means with all variables in one block,
against the reference figures for this algorithm on these two files. They agree in every digit of the reference.
"""

EDITS = """\
## Edit constraints and microaggregation (2009)

The second paper of *edit-constraints-and-numerical-hybrid-2009*, section 5, masks the Census file in two ways,
for k = 1 to 99.

- S1, edit-aware: variables that share an edit are one block, (V9, V10, V14), (V5, V15, V16) and (V8, V12, V13);
  V3 has an edit of its own; the rest in threes, (V1, V2, V4) and (V6, V7, V11). Geometric means for the product,
  arithmetic means otherwise; the groups of (V8, V12, V13) share an alternative of the rule in which V8 governs
  the two others.
- S2, edit-blind: V1 to V13 in threes in the order of the file, arithmetic means.

Both are measured on V1 to V13. SCORE = (PIL + DR) / 2 and DR = (DBRL + ID) / 2; less is better, and data that
were not masked have 50. `mask` refuses k = 1, which is no masking at all; it is here because the paper has it.

The paper prints two figures, the least SCORE of each scenario. It does not say which variables the intruder of
DBRL knows and how intervals are measured. Documented reading: an intruder who knows the first 1, ..., 6
variables, averaged, and intervals of p % of a standard deviation (SDID). An earlier study chose it among 990 for
being natural and near to the two figures, so that what follows shows that the reading fits, and not that it is
what the authors computed.
"""

WHY = """\
Why they differ: the paper does not say which density estimate PIL uses (the usual bandwidths move SCORE by up to
0.25), nor what becomes of the four records with V8 < 1115 when k is larger than four (0.5 in S1; see the last but
one table). Both curves are flat, so that such differences move their minimum. What the paper concludes is
reproduced: SCORE changes little for k = 4 to 10, S1 is some points above S2, and both stay below 50.
"""

SCATTER = """\
The scatter plots of the paper (its Figures 6 and 7), in the documented reading: the greater the loss, the less
the risk, in almost the same proportion.

![PIL against DR, scenario S1](figures/edit-constraints-2009-s1.svg)

![PIL against DR, scenario S2](figures/edit-constraints-2009-s2.svg)
"""

OTHER = """\
### Other readings

The references are those of the earlier study. The risk that a user should look at is that of an intruder who
knows all 13 variables: masking block by block leaves nearly every record linkable for the usual k. S2 agrees to
the digit, so what is left in S1 lies in its blocks, most likely in the groups of the four records with V8 < 1115.
"""

LEAST = """\
The least SCORE over k = 2 to 99, by reading:
"""

RELEASE = """\
### What keeping the edits costs, and what is released

S1 has aggregates in doubles. *By antecedent* is the same with the four records of V8 < 1115 in a group of their
own, and where k is larger, of the records nearest to them. `masktron mask` writes aggregates on the grid of the
data, takes the aggregator of the product by measured loss, and lets engines judge the written file: *violations*
is what they find. The last columns count the records of all 1,080 that break an edit by more than rounding when
all 16 variables are masked edit-blind.
"""

ALL = """\
### All k

In the documented reading.
"""


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
    rows = ((f"{k}", *(_two(cell) for curve in curves for cell in _cells(curve, k))) for k in SIZES)
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
