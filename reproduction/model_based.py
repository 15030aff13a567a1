"""Table 1 of the paper on model-based hybrid data: propensity scores of five methods on two files.

Source: model-based-hybrid-2012, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from masktron import methods
from masktron.measures.propensity import pmse
from masktron.methods.hybrid_micro import HybridMicroMethod
from masktron.methods.model_hybrid import ModelHybridMethod
from masktron.synthesis.model_based import Synthesised, draw_clusters
from masktron.synthesis.within import draw_normal
from reproduction.data import Values
from reproduction.marks import Mark
from reproduction.model_based_text import HEAD, WHY
from reproduction.section import Section

RUNS = 30
PAIRS = (("Hybrid", "Synthetic"), ("Hybrid", "Micro"), ("HybridMicro", "Synthetic"), ("HybridMicro", "Micro"),
         ("Synthetic", "Micro"))  # fmt: skip
"""Methods that have the same order on both files in print, as in the finding of the paper: the better one first."""
MARKED = ("figure", "reference", "ours", "ratio", "within")
COLUMNS = ("file", "method", "in print", "ours x 1000", "ratio", "times the null", "with cubic terms x 1000")

type Draw = Callable[[np.random.Generator], Values]


@dataclass(frozen=True, slots=True)
class File:
    """A file of the paper, its printed figures, and the sizes of groups of HybridMicro and Micro."""

    name: str
    source: str
    variables: tuple[str, ...]
    hybrid_micro: int
    micro: int
    printed: Mapping[str, float]

    def values(self, folder: Path) -> Values:
        """Return the variables, shape (n, 3)."""
        return pd.read_csv(folder / self.source)[[*self.variables]].to_numpy(dtype=np.float64)


DIABETES = File(
    "Diabetes", "diabetes_reaven_miller.csv", ("glucose", "insulin", "sspg"), 48, 5,
    {"Hybrid": 4.26, "HybridMicro": 10.27, "Synthetic": 19.2, "Micro": 19.79, "Noise": 7.02},
)  # fmt: skip
CENSUS = File(
    "Census", "census.csv", ("AGI", "EMCONTRB", "FEDTAX"), 120, 10,
    {"Hybrid": 4.080, "HybridMicro": 6.515, "Synthetic": 48.83, "Micro": 200.040, "Noise": 11.977},
)  # fmt: skip
STUDY = {
    ("Diabetes", "Hybrid"): (3.9, 0.5),
    ("Diabetes", "Micro"): (10.8, 0.1),
    ("Census", "Hybrid"): (0.36, 0.05),
    ("Census", "Micro"): (6.9, 0.1),
}
"""pMSE x 1000 that an earlier study measured with plain draws, and how near ours should be."""


@dataclass(frozen=True, slots=True)
class Score:
    """Means over the runs of one method.

    Attributes
    ----------
    method : str
    squares, cubic, error : float
        pMSE x 1000 with squares, and with cubic terms and the standard error of that mean.
    ratio : float
        The former in units of the null.
    """

    method: str
    squares: float
    cubic: float
    error: float
    ratio: float


def scores(file: File, folder: Path, runs: int = RUNS) -> tuple[Score, ...]:
    """Mask a file by every method so many times, and measure."""
    values = file.values(folder)
    return tuple(_score(name, values, draw, runs) for name, draw in _ways(file, values))


def _score(name: str, values: Values, draw: Draw, runs: int) -> Score:
    drawn = [draw(np.random.default_rng(seed)) for seed in range(1 if name == "Micro" else runs)]
    squares = [pmse(values, one) for one in drawn]
    cubic = [1000 * pmse(values, one, "cubic").value for one in drawn]
    return Score(
        name,
        1000 * float(np.mean([one.value for one in squares])),
        float(np.mean(cubic)),
        float(np.std(cubic) / np.sqrt(max(len(cubic) - 1, 1))),
        float(np.mean([one.ratio for one in squares])),
    )


def _ways(file: File, values: Values) -> Iterator[tuple[str, Draw]]:
    """The methods of the table and what stands beside them; partitions do not depend on the seed: found once."""
    seed = np.random.default_rng(0)
    partitions = {"Hybrid": ModelHybridMethod().mask(values, seed).labels}
    for name, k in (("HybridMicro", file.hybrid_micro), ("HybridMicro, half of k", file.hybrid_micro // 2)):
        partitions[name] = HybridMicroMethod(k).mask(values, seed).labels
    for name, labels in partitions.items():
        assert labels is not None  # noqa: S101 -- both methods form groups
        for exact in (False, True):
            yield f"{name}, exact moments" if exact else name, _within(values, labels, exact=exact)
    named = {"Synthetic": ("sequential", {}), "Micro": ("mdav", {"k": file.micro}), "Noise": ("noise", {"c": 0.15})}
    known = {method.name: method for method in methods.ALL}
    for name, (method, parameters) in named.items():
        if method in known:
            yield name, _by(known[method](**parameters), values)


def _within(values: Values, labels: np.ndarray, *, exact: bool) -> Draw:
    return lambda generator: draw_normal(values, labels, generator, exact=exact)


def _by(method: methods.Method, values: Values) -> Draw:
    return lambda generator: method.mask(values, generator).values


def components(folder: Path) -> Iterator[Mark]:
    """The mixtures: three clusters of Diabetes, and the records of Census that lie on a plane."""
    values = DIABETES.values(folder)
    made = fitted(values)
    sizes = sorted(np.bincount(made.labels).tolist(), reverse=True)
    for place, size in enumerate((81, 36, 28)):
        yield Mark(f"Diabetes, records of cluster {place + 1}", size, sizes[place] if place < len(sizes) else 0, 0.0)
    yield Mark("Diabetes, number of clusters", 3, len(sizes), 0.0)
    yield Mark("Diabetes, log-likelihood", -2303.5, made.log_likelihood, 0.05)
    yield Mark("Diabetes, BIC", -4751.3, made.bic, 0.05)
    values = CENSUS.values(folder)
    labels = fitted(values).labels
    plane = np.abs(values[:, 2] - 0.15 * (values[:, 0] - 6250)) < 1
    alone = [int((labels == one).sum()) for one in np.unique(labels[plane]) if plane[labels == one].all()]
    yield Mark(
        "Census, records on the plane FEDTAX = 0.15 (AGI - 6250) in a cluster of their own", 62, sum(alone), 0.0
    )


def fitted(values: Values) -> Synthesised:
    """Return what the method makes of a file, with its mixture."""
    nominal = np.zeros(values.shape[1], dtype=bool)
    return draw_clusters(values, nominal, ModelHybridMethod().search(), np.random.default_rng(0), exact=True)


def study_marks(found: Mapping[str, Sequence[Score]]) -> Iterator[Mark]:
    """What an earlier study measured."""
    for (file, method), (reference, within) in STUDY.items():
        (one,) = (score for score in found[file] if score.method == method)
        yield Mark(f"pMSE x 1000 of {file}, {method}", reference, one.squares, within)


def order_marks(found: Mapping[str, Sequence[Score]]) -> Iterator[Mark]:
    """How many of the pairs have the order that they have in print."""
    for file, table in found.items():
        squares = {one.method: one.squares for one in table}
        pairs = [pair for pair in PAIRS if squares.keys() >= set(pair)]
        kept = sum(squares[better] < squares[worse] for better, worse in pairs)
        yield Mark(f"{file}: pairs of methods in the order of the paper", len(pairs), kept, 0.0)
    cubic = {one.method: one.cubic for one in found[DIABETES.name]}
    better = float(cubic["Hybrid"] < cubic["HybridMicro"])
    yield Mark("Diabetes: Hybrid before HybridMicro (1: yes), cubic terms", 1, better, 0.0)


def section(data: Path, docs: Path) -> Section:
    """Make the part of the page on Table 1."""
    del docs
    found = {file.name: scores(file, data) for file in (DIABETES, CENSUS)}
    fits, study, order = list(components(data)), list(study_marks(found)), list(order_marks(found))
    rows = [row(file, score) for file in (DIABETES, CENSUS) for score in found[file.name]]
    parts = [HEAD, table(COLUMNS, rows, texts=2), WHY, table(MARKED, map(marked, [*fits, *study, *order]), texts=1)]
    return Section("\n".join(parts), (*fits, *study, *order))


def row(file: File, one: Score) -> tuple[str, ...]:
    """Return a line of the table."""
    printed = file.printed.get(one.method)
    beside = ("", "") if printed is None else (f"{printed:g}", f"{one.squares / printed:.3f}")
    return file.name, one.method, beside[0], f"{one.squares:.2f}", beside[1], f"{one.ratio:.2f}", _cubic(one)


def _cubic(one: Score) -> str:
    return f"{one.cubic:.2f}" + (f" ± {one.error:.2f}" if one.error else "")


def marked(one: Mark) -> tuple[str, ...]:
    """Return a line of the table of what has to be reached."""
    return one.what, f"{one.reference:g}", f"{one.ours:.2f}", f"{one.ratio:.3f}", f"{one.within:g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """Return a Markdown table; all columns but the first `texts` are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
