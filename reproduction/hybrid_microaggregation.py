"""R-microhybrid beside Muralidhar and Sarathy's method, on samples of 10 %: Tables 1 to 5.

Source: hybrid-microaggregation-2010, section 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from sklearn.cluster import KMeans

from masktron.errors import InfeasibleError
from masktron.measures.subdomains import variations
from masktron.methods.base import Method, group_means
from masktron.methods.microhybrid import MicrohybridMethod
from masktron.methods.muralidhar_sarathy import MuralidharSarathyMethod
from masktron.partitions.mdav import standardise
from reproduction.data import Values
from reproduction.hybrid_printed import FILES, STATISTICS, Printed
from reproduction.hybrid_text import text
from reproduction.marks import Mark
from reproduction.section import Section

FILES_DRAWN, SAMPLES, SHARE = 10, 100, 0.1
PARTITION = "mu_approx"
KEPT = (2, 3)
GEOMETRIC_WITHIN, MATCHES_WITHIN = 0.25, 0.4
"""How near ratios to print have to be to 1, on average over statistics, and matches of plain groups in points."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What ten masked files of one method have on average.

    Attributes
    ----------
    variations : ndarray of float64, shape (12,)
        Of `STATISTICS`, as fractions.
    matches : float
        Correct matches, per cent.
    """

    variations: Values
    matches: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A file of the paper, measured.

    Attributes
    ----------
    printed : Printed
    ms : mapping from str to Drawn or str
        MS by alpha, or why there is none.
    hybrid : mapping from int to Drawn
        R-microhybrid by k.
    plain : mapping from int to float
        Correct matches of plain microaggregation with the same groups, per cent.
    floor : ndarray of float64, shape (2,)
        Variation of means, were the groups as many as with the paper's first k and as near as k-means makes them.
    """

    printed: Printed
    ms: Mapping[str, Drawn | str]
    hybrid: Mapping[int, Drawn]
    plain: Mapping[int, float]
    floor: Values


def section(data: Path, docs: Path) -> Section:
    """Return the part of the page on this paper."""
    del docs
    files = tuple(measured(data, one) for one in FILES)
    return Section(text(files), tuple(mark for one in files for mark in marks(one)))


def measured(data: Path, printed: Printed) -> Measured:
    """Mask a file by both methods and measure what the tables have."""
    columns = [*printed.x, *printed.y]
    original = pd.read_csv(data / f"{printed.name}.csv")[columns].to_numpy(dtype=np.float64)
    ms: dict[str, Drawn | str] = {}
    for name, (share, _) in printed.alphas.items():
        try:
            ms[name] = _drawn(original, MuralidharSarathyMethod(share, keep=KEPT))
        except InfeasibleError as impossible:
            ms[name] = impossible.what
    hybrid = {k: _drawn(original, MicrohybridMethod(k, PARTITION, keep=KEPT)) for k in printed.hybrid}
    plain = {}
    for k in printed.hybrid:
        labels = MicrohybridMethod(k, PARTITION, keep=KEPT).mask(original, np.random.default_rng(0)).labels
        assert labels is not None  # noqa: S101 -- it forms groups
        plain[k] = matches(original, np.column_stack([group_means(original, labels)[labels, :2], original[:, 2:]]))
    first = min(k for _, k in printed.alphas.values())
    groups = round(printed.matches[first][1] / 100 * len(original))
    return Measured(printed, ms, hybrid, plain, _floor(original, groups))


def matches(original: Values, masked: Values) -> float:
    """Return the share of records whose nearest original in X has their own values of Y, per cent."""
    nearest = KDTree(original[:, :2]).query(masked[:, :2])[1]
    return 100.0 * float((original[nearest, 2:] == original[:, 2:]).all(axis=1).mean())


def marks(one: Measured) -> list[Mark]:
    """What has to be near to print: MS where it is possible, R-microhybrid on EIA, the number of groups."""
    name, printed = one.printed.name, one.printed
    found = []
    for alpha in ("alpha 1", "alpha 3"):
        drawn = one.ms[alpha]
        assert isinstance(drawn, Drawn)  # noqa: S101 -- one share for both variables is always possible
        ratio = geometric(drawn.variations[:4] / np.array(printed.ms[alpha])[:4])
        found.append(Mark(f"MS on {name}, {alpha}: means and variances, ours by print", 1.0, ratio, GEOMETRIC_WITHIN))
    if name == "eia":
        for k, drawn in one.hybrid.items():
            ratio = geometric(drawn.variations / np.array(printed.hybrid[k]))
            found.append(
                Mark(f"R-microhybrid on {name}, k = {k}: all twelve, ours by print", 1.0, ratio, GEOMETRIC_WITHIN)
            )
    else:
        for k, plain in one.plain.items():
            what = f"plain microaggregation of {name}, k = {k}: correct matches, per cent"
            found.append(Mark(what, printed.matches[k][1], plain, MATCHES_WITHIN))
    return found


def geometric(ratios: Values) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def _drawn(original: Values, method: Method) -> Drawn:
    method.check()
    files = [method.mask(original, np.random.default_rng(seed)).values for seed in range(FILES_DRAWN)]
    each = np.array([_variations(original, masked) for masked in files])
    return Drawn(each.mean(axis=0), float(np.mean([matches(original, masked) for masked in files])))


def _variations(original: Values, masked: Values) -> Values:
    # the same samples for every file: methods meet the same near-zero covariances
    one = variations(original, masked, samples=SAMPLES, share=SHARE, seed=0)
    pairs = dict(zip(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)), one.covariances, strict=True))
    covariances = [pairs[x, y] for y in (2, 3) for x in (0, 1)]
    higher = [moment[x] for x in (0, 1) for moment in (one.thirds, one.fourths)]
    values = np.array([*one.means[:2], *one.variances[:2], *covariances, *higher]) / 100.0
    assert len(values) == len(STATISTICS)  # noqa: S101 -- rows of the tables
    return values


def _floor(original: Values, groups: int) -> Values:
    """Return the expected variation of sample means for groups as near as k-means makes them.

    A group's residuals are drawn anew with the same variance w, so the difference of a record has the variance 2w.
    The mean of a sample of m of n records then differs by sqrt(2 / pi) times sqrt(2w (1 - m / n) / m) on average.
    """
    points = standardise(original[:, :2])
    labels = KMeans(groups, n_init=4, random_state=0).fit_predict(points)
    within = np.square(original[:, :2] - group_means(original[:, :2], labels)[labels]).mean(axis=0)
    size = round(SHARE * len(original))
    spread = np.sqrt(2 * within * (1 - size / len(original)) / size)
    return np.asarray(np.sqrt(2 / np.pi) * spread / np.abs(original[:, :2].mean(axis=0)))
