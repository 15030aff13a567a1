"""`python -m reproduction.key_estimates`: estimates of the risk of keys, beside a known population.

Draws samples with weights from a generated population of 200,000, and puts what masktron estimates from each sample
beside what is true of the population. Writes a table between the two markers of docs/keys.md. Needs no data.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from masktron.measures.keys import individual_risk, key_frequencies, log_linear_risk, population_uniques

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- python -m reproduction.key_estimates -->", "<!-- end of its table -->"
PEOPLE, RECORDS, SAMPLES, SEED = 200_000, 5_000, 30, 46
SETTINGS = (
    ("sex", "age in tens", "region"),
    ("sex", "age in fives", "region", "status"),
    ("sex", "age in tens", "region", "status", "education"),
    ("sex", "age", "region", "status"),
    ("sex", "age in fives", "region", "education", "sector"),
    ("sex", "age", "region", "status", "education"),
    ("sex", "age in fives", "region", "education", "occupation", "members"),
    ("sex", "age", "region", "status", "education", "sector", "birth in eights"),
    ("sex", "age", "region", "status", "education", "occupation", "birth", "members"),
)
"""Keys from coarse to fine."""
DESIGNS = ("equal", "unequal")
_Z95 = 1.959963984540054

type People = Mapping[str, NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Sampled:
    """What is true of a sample, and what is estimated from it.

    Attributes
    ----------
    found, alone : tuple of float
        Re-identifications, and sample uniques that are alone in the population: in truth, by the weights, by the
        log-linear model.
    held : tuple of bool
        Whether the intervals that masktron gave until 1.0.0 held the truth: of re-identifications by the weights, and
        of tau1 and tau2 of main effects.
    pairs : tuple of str
        Interactions of the model.
    """

    found: tuple[float, float, float]
    alone: tuple[float, float, float]
    held: tuple[bool, bool, bool]
    pairs: tuple[str, ...]


def people() -> People:
    """Generate the population: status and education go with age, occupation with education and sex."""
    rng = np.random.default_rng(SEED)
    shares = 1 / np.arange(2, 18) ** 0.8
    region = rng.choice(16, PEOPLE, p=shares / shares.sum())
    sex = rng.integers(0, 2, PEOPLE)
    age = (rng.beta(1.6, 2.0, PEOPLE) * 95).astype(np.int64)
    a = age / 95
    status = _drawn(rng, [3 - 7 * a, 1 + 2 * a - 3 * (a < 0.17), -2 + 2 * a - 5 * (a < 0.2),
                          -4 + 7 * a - 5 * (a < 0.25), -3 + a - 5 * (a < 0.2)])  # fmt: skip
    education = _drawn(rng, [1 + 3 * a + 3 * (a < 0.15), np.full(PEOPLE, 2.0), 1.5 - a - 4 * (a < 0.17),
                             1 - 1.5 * a - 5 * (a < 0.22) + 0.3 * (region < 3), -1 - a - 6 * (a < 0.25)])  # fmt: skip
    skill, of_men = np.arange(60) % 5, np.arange(60) // 5 % 2
    occupation = _drawn(rng, [-0.9 * math.log(at + 1) - 1.2 * abs(skill[at] - education) + 0.8 * (of_men[at] == sex)
                              for at in range(60)])  # fmt: skip
    birth = _drawn(rng, [-1.1 * math.log(at + 1) + (3 - 0.12 * (15 - region)) * (at == 0) for at in range(40)])
    members = np.minimum(rng.poisson(0.4 + 1.6 * (a < 0.6)), 6)
    found = {
        "region": region, "sex": sex, "age": age, "age in fives": age // 5, "age in tens": age // 10,
        "status": status, "education": education, "occupation": occupation, "sector": occupation // 5,
        "birth": birth, "birth in eights": np.minimum(birth, 7), "members": members,
    }  # fmt: skip
    return {name: column.astype(np.int32) for name, column in found.items()}


def _drawn(rng: np.random.Generator, utilities: Sequence[NDArray[np.float64]]) -> NDArray[np.intp]:
    """Draw a category for everybody with probabilities in proportion to exp(utility)."""
    noise = rng.gumbel(size=(len(utilities), PEOPLE))
    return np.argmax(np.stack(utilities) + noise, axis=0)


def sample(everybody: People, design: str, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw records and their weights: of all alike, or of strata by region and age, small ones more often."""
    if design == "equal":
        return rng.choice(PEOPLE, RECORDS, replace=False), np.full(RECORDS, PEOPLE / RECORDS)
    stratum = everybody["region"] * 2 + (everybody["age"] >= 60)
    sizes = np.bincount(stratum)
    many = np.round(RECORDS * np.sqrt(sizes) / np.sqrt(sizes).sum()).astype(int)
    many[0] += RECORDS - many.sum()
    rows = [rng.choice(np.flatnonzero(stratum == at), own, replace=False) for at, own in enumerate(many)]
    drawn = np.concatenate(rows)
    return drawn, (sizes / many)[stratum[drawn]]


def sampled(everybody: People, keys: Sequence[str], design: str, seed: int) -> Sampled:
    """Estimate from one sample, and look at the population."""
    numbers = np.zeros(PEOPLE, dtype=np.int64)
    for name in keys:
        numbers = numbers * (int(everybody[name].max()) + 1) + everybody[name]
    _, which, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    rows, weights = sample(everybody, design, np.random.default_rng([SEED, seed]))
    columns, size = [everybody[name][rows] for name in keys], sizes[which[rows]]
    frequencies = key_frequencies(columns, weights)
    risks, model = individual_risk(frequencies), log_linear_risk(columns, weights, frequencies=frequencies)
    alone = frequencies.unique
    found = float((1 / size).sum()), float(risks.sum()), model.expected
    both = float((size[alone] == 1).sum()), population_uniques(frequencies), model.tau1
    first = _holds(found[1], float((risks * (1 - risks)).sum()), found[0])
    others = _main_effects_held(columns, alone, weights, both[0], float((1 / size[alone]).sum()))
    pairs = tuple(f"{keys[first]} with {keys[second]}" for first, second in model.pairs)
    return Sampled(found, both, (first, *others), pairs)


def _holds(estimate: float, variance: float, truth: float) -> bool:
    return abs(estimate - truth) <= _Z95 * math.sqrt(variance)


def _main_effects_held(
    columns: Sequence[NDArray[np.int32]],
    alone: NDArray[np.bool_],
    weights: NDArray[np.float64],
    truth1: float,
    truth2: float,
) -> tuple[bool, bool]:
    """Say whether the intervals of tau1 and tau2 held, as they were given until 1.0.0."""
    fitted = np.full(int(alone.sum()), float(weights.sum() - len(weights)))
    for column in columns:
        fitted *= (np.bincount(column) / len(column))[column[alone]]
    grid = np.concatenate([[0.0], np.geomspace(1e-4, max(1.0, float(fitted.max(initial=1))), 300)])
    sizes = np.arange(1, int(grid[-1] + 10 * math.sqrt(grid[-1]) + 30))
    masses = poisson.pmf(sizes - 1, grid[:, np.newaxis])
    once, twice = (np.interp(fitted, grid, masses @ (1.0 / sizes**power)) for power in (1, 2))
    single = np.exp(-fitted)
    first = _holds(float(single.sum()), float((single * (1 - single)).sum()), truth1)
    return first, _holds(float(once.sum()), float((twice - once**2).sum()), truth2)


def table(everybody: People, settings: Sequence[Sequence[str]] = SETTINGS) -> str:
    """Return the table as Markdown, and how often the old intervals held the truth."""
    head = (
        "keys", "re-identified, in truth", "by weights", "its old interval held", "log-linear", "the larger",
        "pairs of the model", "alone, in truth", "by weights", "log-linear", "the larger",
    )  # fmt: skip
    rules = ["---" if name in ("keys", "pairs of the model") else "---:" for name in head]
    rows, held = [], np.zeros(3, dtype=int)
    for keys in settings:
        runs = [[sampled(everybody, keys, design, seed) for seed in range(SAMPLES)] for design in DESIGNS]
        held += sum(np.array([one.held for one in own]).sum(axis=0) for own in runs)
        rows.append([", ".join(keys), *_found(runs), *_alone(runs)])
    intervals = (
        f"Of {len(settings) * len(DESIGNS) * SAMPLES} samples, the old interval of 95 % held the truth in {held[0]} "
        f"for the re-identifications by weights, in {held[1]} for tau1 and in {held[2]} for tau2 of main effects."
    )
    return "\n".join([*(f"| {' | '.join(row)} |" for row in (head, rules, *rows)), "", intervals])


def _found(runs: Sequence[Sequence[Sampled]]) -> Iterator[str]:
    """Re-identifications: cells have both samples."""
    means = [_means([one.found for one in own]) for own in runs]
    yield _both(f"{true:,.0f}" for true, *_ in means)
    yield _times(means, 1)
    yield _both(str(sum(one.held[0] for one in own)) for own in runs)
    yield from (_times(means, at) for at in (2, 3))
    pairs, _ = Counter(one.pairs for own in runs for one in own).most_common(1)[0]
    yield ", ".join(pairs) or "none"


def _alone(runs: Sequence[Sequence[Sampled]]) -> Iterator[str]:
    """Population uniques likewise, as numbers: in truth there may be none."""
    for own in zip(*(_means([one.alone for one in own]) for own in runs), strict=True):
        yield _both(f"{mean:,.1f}" if mean < 10 else f"{mean:,.0f}" for mean in own)


def _means(runs: Sequence[tuple[float, float, float]]) -> tuple[float, float, float, float]:
    true, weights, model = (float(np.mean(own)) for own in zip(*runs, strict=True))
    return true, weights, model, float(np.mean([max(one[1:]) for one in runs]))


def _times(means: Sequence[Sequence[float]], at: int) -> str:
    return f"x {_both(f'{own[at] / own[0]:.2f}' for own in means)}"


def _both(cells: Iterable[str]) -> str:
    return " / ".join(cells)


def main() -> int:
    """Write the table into the page."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.key_estimates", description=__doc__)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "keys.md", help="the page")
    path: Path = parser.parse_args().page
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        print(f"{path} lacks the line {BEGIN} or {END}, between which the table stands", file=sys.stderr)
        return 2
    path.write_text(f"{before}{BEGIN}\n\n{table(people())}\n{END}{after}", encoding="utf-8")
    print(f"{path}: {len(SETTINGS) * len(DESIGNS)} settings, {SAMPLES} samples each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
