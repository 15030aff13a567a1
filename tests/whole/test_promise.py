"""The promise for any rulebook: that it holds on both samples."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import masktron
from masking_spy import Spy
from masktron.config import Config
from masktron.masking import MaskedBlock
from masktron.measures.information_loss import information_loss
from masktron.results import MaskResult
from masktron.roles import resolve_roles
from paths import ROOT
from sample_settings import untreated

SAMPLES = ROOT / "sample_xml"
RULES = ROOT / "rules"

BLIND = 1.25
"""Most loss of a block of means, as a multiple of that of the plain means of its groups.

Both are written on the grid of the field: for a household's two or three members, rounding is most of the loss."""


def losses(spy: Spy, one: MaskedBlock, config: Config) -> tuple[float, float]:
    """Information loss of a block as it was written, and of the plain means of its groups, rounded."""
    columns, names = spy.records.columns, one.block.variables
    facts, labels = resolve_roles(spy.records, config), one.grouping.labels
    weight = next((columns[fact.name].values for fact in facts if fact.role == "weight"), np.ones(len(labels)))
    original = np.stack([columns[name].values for name in names], axis=1)
    written = np.array([[_number(text) for text in row] for row in one.settled.lexemes])[labels]
    written[np.isnan(original)] = np.nan
    blind = np.full_like(original, np.nan)
    for at, name in enumerate(names):
        for group in np.unique(labels):
            members = (labels == group) & columns[name].present
            if members.any():
                mean = np.average(original[members, at], weights=weight[members])
                blind[members, at] = np.round(mean, columns[name].decimals)
    return information_loss(original, written), information_loss(original, blind)


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


@pytest.fixture(scope="session")
def surveys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Folders with both surveys as drawn from a seed, made when they are asked for."""

    @functools.cache
    def survey(seed: int) -> Path:
        folder = tmp_path_factory.mktemp(f"survey-{seed}")
        script, options = SAMPLES / "generate.py", ("--seed", str(seed), "--records", "1000")
        subprocess.run([sys.executable, str(script), "--out", str(folder), *options], check=True, capture_output=True)
        return folder

    return survey


@pytest.mark.full
@pytest.mark.parametrize("name", ["business", pytest.param("household", marks=pytest.mark.full)])
@pytest.mark.parametrize("k", [pytest.param(3, marks=pytest.mark.full), pytest.param(5, marks=pytest.mark.full), 10])
@pytest.mark.parametrize("seed", [20, *(pytest.param(seed, marks=pytest.mark.full) for seed in (7, 1234))])
def test_samples(
    surveys: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, k: int, seed: int
) -> None:
    data, rules, out = surveys(seed) / f"{name}.xml", RULES / f"{name}.sch", tmp_path / "masked.xml"
    config = replace(untreated(name), k=k)
    spy = Spy(monkeypatch)
    result = masktron.mask(data, rules, out, config=config)
    assert result.violations == 0
    assert all(engine.agrees and not engine.violations for engine in result.engines)
    assert result.min_group >= k
    assert {rule.id for rule in result.rules if not rule.fired} == set()
    assert masktron.check(out, rules, original=data, manifest=out.with_suffix(".manifest.json")).complies
    for one in spy.blocks:
        if one.block.aggregator == "mean":
            written, blind = losses(spy, one, config)
            assert written <= BLIND * blind, one.block.variables
    sys.stdout.write(f"{name}, k = {k}, seed {seed}: {100 * medoid_share(result):.2f} % medoid groups\n")
    assert medoid_share(result) <= 0.01


def medoid_share(result: MaskResult) -> float:
    exits = [one.exits for one in result.blocks]
    return sum(each["medoid"] for each in exits) / sum(sum(each.values()) for each in exits)
