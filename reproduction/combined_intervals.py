"""How often intervals of combined estimates cover: `python -m reproduction.combined_intervals` writes the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.measures.combining import combine
from masktron.synthesis.cart import draw_trees
from masktron.synthesis.regressions import draw_regressions

type Values = NDArray[np.float64]
type Estimate = tuple[float, float]
"""An estimate, and its variance as if the values were a sample."""
type Synthesis = Callable[[Values, np.random.Generator], Values]

RECORDS, RUNS = 500, 400
RELEASES = (2, 5, 20)
TRUTH = {"mean of y": 1.0, "slope of y on x": 1.0}
SYNTHESES: dict[str, Synthesis] = {
    "`sequential`": draw_regressions,
    "`sequential`, `bayesian=false`": lambda values, rng: draw_regressions(values, rng, bayesian=False),
    "`cart`, k = 5": lambda values, rng: draw_trees(values, rng, k=5, smooth=True),
}
RULES = {"`--full`": {"full": True}, "`--population`": {"population": True}}

HEAD = f"""\
# Intervals of combined estimates

Written by `python -m reproduction.combined_intervals`. {RUNS} samples of {RECORDS} records are drawn from a
population in which x and the residual of y = 1 + x are standard normal. Every value of every release is synthetic,
and each release is as large as the sample. The table shows how many nominal 95 % intervals cover the value of the
population. It also shows the median width of these intervals, where 1 is that of the interval from the sample itself.

`--full` is the rule for complete synthesis of the size of the original (Raab, Nowok and Dibben 2016). `--population`
is the rule that `--full` stood for before (Raghunathan, Reiter and Rubin 2003). It is for samples of synthetic
populations, where the design of the samples decides about the variance within a release.
"""
TAIL = """
Take `--full` for releases of `sequential`. With the other rule, few releases leave hardly any degree of freedom: its
intervals cover too often, and are several times as wide as they need to be.

With `bayesian=false` the intervals of `--full` are a little too wide, since the rule assumes that each release draws
its parameters anew. No combining rule repairs a
wrong model. `cart` weakens a slope in every release, so more releases narrow the interval around the wrong value.
"""


@dataclass(frozen=True, slots=True)
class Covered:
    """What intervals of one rule do for one quantity.

    Attributes
    ----------
    synthesis, quantity : str
    releases : int
    share : dict of str to float
        By rule, share of the intervals that cover, per cent.
    width : dict of str to float
        By rule, median width of an interval, divided by that of the sample.
    """

    synthesis: str
    quantity: str
    releases: int
    share: dict[str, float]
    width: dict[str, float]


def covered(synthesis: str, releases: int, runs: int = RUNS, records: int = RECORDS) -> Iterator[Covered]:
    """Draw samples and releases, and yield how often the intervals of each quantity cover."""
    rng = np.random.default_rng([releases, [*SYNTHESES].index(synthesis)])
    hits = {(rule, name): 0 for rule in RULES for name in TRUTH}
    widths: dict[tuple[str, str], list[float]] = {one: [] for one in hits}
    for _ in range(runs):
        x = rng.standard_normal(records)
        sample = np.column_stack([x, 1 + x + rng.standard_normal(records)])
        own = _estimates(sample)
        files = [_estimates(SYNTHESES[synthesis](sample, rng)) for _ in range(releases)]
        for at, (name, truth) in enumerate(TRUTH.items()):
            points, variances = ([file[at][part] for file in files] for part in (0, 1))
            for rule, options in RULES.items():
                found = combine(points, variances, **options)
                hits[rule, name] += found.low <= truth <= found.high
                widths[rule, name].append((found.high - found.low) / (2 * 1.96 * np.sqrt(own[at][1])))
    for name in TRUTH:
        yield Covered(
            synthesis,
            name,
            releases,
            {rule: 100 * hits[rule, name] / runs for rule in RULES},
            {rule: float(np.median(widths[rule, name])) for rule in RULES},
        )


def page(found: list[Covered]) -> str:
    """Return the page."""
    heads = (
        "releases of",
        "m",
        "interval of",
        *(f"{rule}, {what}" for rule in RULES for what in ("covers", "width")),
    )
    rows = [
        (
            *(one.synthesis, f"{one.releases}", one.quantity),
            *(text for rule in RULES for text in (f"{one.share[rule]:.1f} %", f"{one.width[rule]:.2f}")),
        )
        for one in found
    ]
    lines = [heads, ("---", "---:", "---", *["---:"] * 4), *rows]
    return "\n".join([HEAD, *(f"| {' | '.join(line)} |" for line in lines), TAIL])


def estimate_mean(y: Values) -> Estimate:
    """Estimate the mean."""
    return float(y.mean()), float(y.var(ddof=1) / len(y))


def estimate_slope(x: Values, y: Values) -> Estimate:
    """Estimate the slope of the regression of y on x."""
    about = x - x.mean()
    slope = about @ y / (about @ about)
    rest = y - y.mean() - slope * about
    return float(slope), float(rest @ rest / (len(y) - 2) / (about @ about))


def _estimates(values: Values) -> tuple[Estimate, ...]:
    x, y = values.T
    return estimate_mean(y), estimate_slope(x, y)


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.combined_intervals", description=__doc__)
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--out", type=Path, default=root / "docs" / "combined-intervals.md")
    options = parser.parse_args()
    found = [one for synthesis in SYNTHESES for releases in RELEASES for one in covered(synthesis, releases)]
    options.out.write_text(page(found), encoding="utf-8")
    print(f"{options.out}: {len(found)} rows", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
