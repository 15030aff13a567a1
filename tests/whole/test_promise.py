"""The promise for any rulebook: what it is worth on generated pairs, and that it holds on both samples."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import masktron
from examples import FULL
from masking_spy import Spy
from masktron.config import Config
from masktron.jobs import mask as job
from masktron.masking import MaskedBlock
from masktron.masking import run as stages
from masktron.measures.information_loss import information_loss
from masktron.results import MaskResult
from masktron.roles import resolve_roles
from pairs.naive import raw_prototypes
from pairs.switches import Part, without
from pairs.worth import ROWS, Worth, worth, worth_table
from pairs_run import run
from paths import ROOT
from sample_settings import untreated

SAMPLES = ROOT / "sample_xml"
RULES = ROOT / "rules"

SEEDS = range(8 if FULL else 4)
ALL_SEEDS = range(300)
FEW = tuple(parts for parts in ROWS if "rounding" not in parts)

BLIND = 1.25
"""Most loss of a block of means, as a multiple of that of the plain means of its groups.

Both are written on the grid of the field: for a household's two or three members, rounding is most of the loss."""


# what each part is worth


def compared(rows: Sequence[tuple[Part, ...]], seeds: Sequence[int], jobs: int) -> dict[tuple[Part, ...], Worth]:
    results = {parts: run(seeds, jobs=jobs, without=parts) for parts in rows}
    for outcomes in results.values():
        assert not [one.seed for one in outcomes if one.crashed or one.faults]
        assert not [one.seed for one in outcomes if one.smallest is not None and one.smallest < one.k]
    figures = {parts: worth(outcomes) for parts, outcomes in results.items()}
    sys.stdout.write(worth_table(figures))  # pytest shows it with -s
    return figures


@pytest.mark.full
def test_each_part_is_worth_something() -> None:
    rows = compared(FEW, SEEDS, jobs=1)
    assert rows[()].broken == rows["strata",].broken == 0
    assert rows["strata",].searched > rows[()].searched
    assert rows["derive",].broken > 0
    assert rows["settle",].broken > 100
    assert rows["strata", "settle"].broken > rows["settle",].broken
    assert rows["strata", "settle"].files > 0.8 * len(SEEDS)


@pytest.mark.full
def test_what_the_parts_are_worth_on_all_pairs() -> None:
    rows = compared(ROWS, ALL_SEEDS, jobs=2)
    assert rows[()].broken == rows["strata",].broken == 0
    assert rows["strata",].searched > rows[()].searched
    assert min(rows["derive",].broken, rows["settle",].broken) > 10_000
    assert rows["strata", "settle"].broken > rows["settle",].broken
    assert rows["strata", "settle"].files > 0.8 * len(ALL_SEEDS)


def test_the_switches_are_put_back() -> None:
    functions = stages.group, stages.settle_block, job.mask_records, job.require_releasable
    with pytest.raises(ZeroDivisionError), without(("strata", "settle", "derive")):
        now = stages.group, stages.settle_block, job.mask_records, job.require_releasable
        assert not set(functions) & set(now)
        raise ZeroDivisionError
    assert functions == (stages.group, stages.settle_block, job.mask_records, job.require_releasable)


# the samples


def losses(spy: Spy, one: MaskedBlock, config: Config) -> tuple[float, float]:
    """Information loss of a block as it was written, and of the plain means of its groups, rounded."""
    columns, names = spy.records.columns, one.block.variables
    facts = resolve_roles(spy.records, config)
    weight = next((columns[fact.name].values for fact in facts if fact.role == "weight"), None)
    raw = raw_prototypes(columns, set(names), weight, one.block, one.grouping.labels)
    original = np.stack([columns[name].values for name in names], axis=1)
    written, blind = (
        np.array([[_number(text) for text in row] for row in settled.lexemes])[one.grouping.labels]
        for settled in (one.settled, raw)
    )
    written[np.isnan(original)] = blind[np.isnan(original)] = np.nan
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
