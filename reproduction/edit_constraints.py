"""The experiment of the edit paper: both scenarios for every k, and what `masktron mask` makes of the first.

Source: edit-constraints-and-numerical-hybrid-2009, second paper, section 5.
"""

from __future__ import annotations

import functools
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import masktron
from reproduction.data import Values, census_of_the_paper
from reproduction.measured import Figures, Reading, figures
from reproduction.scenarios import (
    EDIT_AWARE,
    Broken,
    broken,
    by_antecedent,
    edit_aware,
    edit_blind,
    edit_blind_blocks,
)

ROOT = Path(__file__).resolve().parents[1]
SIZES = range(1, 100)
RELEASED = (4, 6, 10, 20)
"""Sizes for which `masktron mask` is run."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario of the paper, with its minimum of SCORE and where that is."""

    name: str
    said: str
    printed: float
    at: int
    mask: Callable[[Values, int], Values]
    variables: int
    blocks: tuple[tuple[int, ...], ...]


S1 = Scenario("S1", "edit-aware", 37.223, 10, edit_aware, 16, EDIT_AWARE)
ANTECEDENT = Scenario("S1 by antecedent", "edit-aware", 37.223, 10, by_antecedent, 16, EDIT_AWARE)
"""S1 with another answer to a question that the paper leaves open."""
S2 = Scenario("S2", "edit-blind", 34.531, 6, edit_blind, 13, edit_blind_blocks())
SCENARIOS = (S1, S2, ANTECEDENT)


@dataclass(frozen=True, slots=True)
class Curve:
    """The figures of a scenario, by rising k."""

    scenario: Scenario
    figures: tuple[Figures, ...]

    def at(self, k: int) -> Figures:
        """Return the figures for groups of k."""
        return next(one for one in self.figures if one.k == k)

    def least(self, reading: Reading) -> Figures:
        """Return the figures of groups, so k of at least 2, where SCORE is least; the smallest k of several."""
        return min((one for one in self.figures if one.k > 1), key=reading.score)

    def range(self, measure: Callable[[Figures], float], first: int, last: int) -> tuple[float, float]:
        """Return the least and the most of a measure for k from first to last."""
        values = [measure(self.at(k)) for k in range(first, last + 1)]
        return min(values), max(values)


def curve(folder: Path, scenario: Scenario, sizes: Sequence[int] = SIZES) -> Curve:
    """Mask and measure for every k, in a process for each core."""
    values = census_of_the_paper(folder)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.map(functools.partial(point, values, scenario.name), sizes, chunksize=4)
        return Curve(scenario, tuple(found))


def point(values: Values, name: str, k: int) -> Figures:
    """Mask V1 to V16 as in the scenario of this name, and measure."""
    scenario = next(one for one in SCENARIOS if one.name == name)
    own = values[:, : scenario.variables]
    return figures(own, scenario.mask(own, k), k, scenario.blocks)


@dataclass(frozen=True, slots=True)
class Breaks:
    """Records that break the edits where all 16 variables are masked edit-blind."""

    k: int
    blind: Broken


def breaks(folder: Path, sizes: Sequence[int] = RELEASED) -> tuple[Breaks, ...]:
    """Count what masking breaks that knows no edits."""
    values = census_of_the_paper(folder)
    return tuple(Breaks(k, broken(edit_blind(values, k))) for k in sizes)


@dataclass(frozen=True, slots=True)
class Released:
    """What `masktron mask` releases under the four edits of the paper.

    Attributes
    ----------
    figures : Figures
        Of the file as written and read back.
    violations : int
        Found in it by the engines.
    product : str
        The aggregator chosen for the product.
    """

    figures: Figures
    violations: int
    product: str


def released(folder: Path, sizes: Sequence[int] = RELEASED) -> tuple[Released, ...]:
    """Mask the Census file of the paper with `masktron mask` and measure the written file.

    Raises
    ------
    MasktronError
        The file cannot be masked.
    """
    values = census_of_the_paper(folder)
    with tempfile.TemporaryDirectory(prefix="masktron-") as scratch:
        data = Path(scratch) / "microdata.xml"
        script = ROOT / "sample_xml" / "convert_csv.py"
        convert = [sys.executable, str(script), str(folder / "census.csv"), str(data), "--census-paper"]
        subprocess.run(convert, check=True, capture_output=True)
        return tuple(_released(values, data, k) for k in sizes)


def _released(values: Values, data: Path, k: int) -> Released:
    out = data.with_name(f"masked-{k}.xml")
    rules = ROOT / "rules" / "census_edit_paper.sch"
    result = masktron.mask(data, rules, out, k=k, manifest=out.with_suffix(".json"), order="keep")
    written = pd.read_xml(out)[[f"V{number}" for number in range(1, 17)]].to_numpy(dtype=np.float64)
    product = next(block.aggregator for block in result.blocks if "V16" in block.variables)
    return Released(figures(values, written, k, EDIT_AWARE), result.violations, product)
