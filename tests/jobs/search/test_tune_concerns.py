"""What speaks against a candidate beside risk and loss: counted from the values themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import write_rules
from masktron.config import Config, Role
from masktron.jobs.concerns import MOVED_TOTAL
from masktron.jobs.opening import open_original
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.results import TuneCandidate

RNG = np.random.default_rng(3)
N = 120
REGION = RNG.integers(0, 4, N)
PAY = np.round(1000 * REGION + RNG.exponential(300, N))
CONFIG = Config(k=3, nominal=("REGION",), roles={"REGION": Role.UNTOUCHED})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rest = RNG.permutation(N)
    lines = ["REGION,PAY,AGE", *(f"{'NESW'[r]},{p:.0f},{a}" for r, p, a in zip(REGION, PAY, rest, strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "PAY >= 0 or PAY < 0")


def outcome(files: tuple[Path, Path], recipe: TuneCandidate) -> TuneOutcome:
    with Bench(open_original(*files, CONFIG, no_progress), ("total_change", "whole_record_k")) as bench:
        return bench.outcome(Attempt(0, recipe.settings, 0, whole=True), no_progress)


def test_what_masking_did_to_results_is_counted(files: tuple[Path, Path]) -> None:
    kept, whole = (outcome(files, TuneCandidate("mdav", {}, 3, grouping)) for grouping in ("rules", "all"))
    alone = "k = 3 holds block by block only: in all masked fields, a record is unique"
    assert (kept.figures["whole_record_k"][0], alone in kept.concerns) == (1, True)
    assert (whole.figures["whole_record_k"][0] >= 3, alone in whole.concerns) == (True, False)
    assert not any("variance of PAY" in sentence(one) for one in kept.concerns), "groups of near values keep them"
    drawn = outcome(files, TuneCandidate("ipso", {"conditions": ()}, 3, "rules"))
    assert any("of the variance of PAY, REGION explained" in sentence(one) for one in drawn.concerns), (
        "drawn without REGION"
    )
    assert any("PAY is below 0 in" in sentence(one) for one in drawn.concerns)
    assert alone not in drawn.concerns, "what draws values promises no groups"
    median = outcome(files, TuneCandidate("mdav", {}, 40, "all", "median"))
    moved = [one for one in median.concerns if sentence(one).startswith("the total of ")]
    assert bool(moved) == (median.figures["total_change"][0] > MOVED_TOTAL) and moved
