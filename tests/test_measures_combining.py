"""Combined estimates: by hand, by simulation, and what cannot be combined."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import masktron
from cli_runner import Runner
from masktron.errors import UsageError
from masktron.measures.combining import combine

SCHEMA = Path(__file__).parents[1] / "schemas" / "combine.schema.json"


def test_partially_synthetic_by_hand() -> None:
    # b = (4 + 0 + 4) / 2, T = 4 / 3 + 4, df = 2 (1 + 3 * 4 / 4)^2; t at 0.975 with 32 degrees is 2.0369333
    found = combine([10.0, 12.0, 14.0], [3.0, 4.0, 5.0])
    assert (found.estimate, found.between, found.within, found.releases) == (12.0, 4.0, 4.0, 3)
    assert found.variance == pytest.approx(16 / 3, rel=1e-15)
    assert found.freedom == 32
    half = 2.0369333 * math.sqrt(16 / 3)
    assert (found.low, found.high) == pytest.approx((12 - half, 12 + half), rel=1e-7)


def test_fully_synthetic_by_hand() -> None:
    # T = 4/3 * 4 - 1, df = 2 (1 - 3 / 16)^2
    found = combine([10.0, 12.0, 14.0], [1.0, 1.0, 1.0], full=True)
    assert found.variance == pytest.approx(13 / 3, rel=1e-15)
    assert found.freedom == pytest.approx(2 * (13 / 16) ** 2, rel=1e-15)
    assert not found.adjusted


def test_a_negative_variance_is_adjusted() -> None:
    # 4/3 * 4 - 6 < 0: twice as many records in a release, so that T = 2 * 6; t at 0.95 with 2 degrees is 2.9199856
    found = combine([10.0, 12.0, 14.0], [6.0, 6.0, 6.0], full=True, ratio=2.0, level=0.9)
    assert (found.variance, found.freedom, found.adjusted) == (12.0, 2.0, True)
    assert found.high - 12 == pytest.approx(2.9199856 * math.sqrt(12), rel=1e-7)


def test_no_degrees_of_freedom_to_speak_of() -> None:
    within = 4 / 3 * 4 * (1 - 1e-9)
    found = combine([10.0, 12.0, 14.0], [within] * 3, full=True)
    assert found.low == -math.inf
    assert found.high == math.inf


def test_nearly_equal_estimates_have_normal_intervals() -> None:
    found = combine([1.0, 1.0 + 2**-52], [4.0, 4.0])
    assert found.high - 1 == pytest.approx(1.959964 * 2, rel=1e-6)


def test_coverage_of_partially_synthetic_means() -> None:
    """Half of a sample is replaced by draws from its normal model: 95 % intervals cover the mean as often."""
    generator = np.random.default_rng(4)
    n, half, m, runs, covered = 60, 30, 4, 800, 0
    for _ in range(runs):
        sample = generator.normal(3.0, 2.0, size=n)
        estimates, variances = [], []
        for _ in range(m):
            # the model is that of the values that are replaced
            spread = math.sqrt((half - 1) * sample[half:].var(ddof=1) / generator.chisquare(half - 1))
            center = generator.normal(sample[half:].mean(), spread / math.sqrt(half))
            release = np.concatenate([sample[:half], generator.normal(center, spread, size=half)])
            estimates.append(float(release.mean()))
            variances.append(float(release.var(ddof=1)) / n)
        found = combine(estimates, variances)
        covered += found.low <= 3.0 <= found.high
    # three standard errors of a share of 0.95 in 800
    assert covered / runs == pytest.approx(0.95, abs=0.023)


@pytest.mark.parametrize(
    ("estimates", "variances", "message"),
    [
        ([1.0], [1.0], "1 release says nothing"),
        ([], [], "0 release"),
        ([1.0, 2.0], [1.0], "2 estimates and 1 variances"),
        ([1.0, 2.0], [1.0, -1.0], "a variance is negative: -1"),
        ([1.0, math.nan], [1.0, 1.0], "missing or infinite"),
        ([1.0, 1.0], [2.0, 4.0], "all 2 releases are equal"),
        ([1e308, -1e308], [1.0, 1.0], "too large"),
    ],
)
def test_refusals(estimates: list[float], variances: list[float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        combine(estimates, variances)


@pytest.mark.parametrize("bad", [{"level": 1.0}, {"level": 0.0}, {"ratio": 0.0}, {"ratio": math.inf}])
def test_bad_options(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must be"):
        combine([1.0, 2.0], [1.0, 1.0], full=True, **bad)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


CSV = "name,estimate,variance\nmean,10,3\nslope,1,0.5\nmean,12,4\nslope,3,0.5\nmean,14,5\n"


def test_files_of_both_forms_say_the_same(tmp_path: Path) -> None:
    lines = masktron.combine(written(tmp_path, "e.csv", CSV))
    content = {
        "mean": {"estimates": [10, 12, 14], "variances": [3, 4, 5]},
        "slope": {"estimates": [1, 3], "variances": [0.5, 0.5]},
    }
    objects = masktron.combine(written(tmp_path, "e.json", json.dumps(content)))
    mapping = masktron.combine({"mean": ([10, 12, 14], [3, 4, 5]), "slope": ([1, 3], [0.5, 0.5])})
    assert lines == objects == mapping
    assert lines["mean"] == combine([10, 12, 14], [3, 4, 5])
    assert lines["slope"].releases == 2
    assert "Reiter 2003" in repr(lines)


def test_one_quantity_needs_no_name(tmp_path: Path) -> None:
    found = masktron.combine(written(tmp_path, "e.csv", "estimate,variance\n1,1\n3,1\n"))
    assert list(found.quantities) == ["estimate"]


def test_spaces_and_empty_lines_make_no_other_quantity(tmp_path: Path) -> None:
    found = masktron.combine(written(tmp_path, "e.csv", "name , estimate, variance \n\na,1,1\na ,3,1\n"))
    assert found["a"].releases == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "mean,var\n1,2\n", "does not name estimate and variance"),
        ("e.csv", "estimate,variance\n1,x\n", "'x' is no number"),
        ("e.csv", "estimate,variance\n1\n", "None is no number"),
        ("e.csv", "estimate,variance\n", "nothing to combine"),
        ("e.csv", "name,estimate,variance\nx,1,5,2\n", "there are 4 values, and the header names 3"),
        ("e.csv", "estimate,variance,estimate\n1,2,7\n", "names a column twice"),
        ("e.csv", f"name,estimate,variance\n{'x' * 200_000},1,2\n", "this is no CSV: field larger than"),
        ("e.json", '{"a": {"estimates": "12", "variances": "34"}}', "not the JSON of estimates"),
        ("e.json", '{"a": {"estimates": {"1": 2, "3": 4}, "variances": [1, 2]}}', "not the JSON of estimates"),
        ("e.json", '{"a": {"estimates": [1, 2], "variances": [1, 2]}, "a": {}}', "'a' is there twice"),
        ("e.json", "[1]", "not the JSON of estimates"),
        ("e.json", '{"a": {"estimates": [1, true], "variances": [1, 1]}}', "True is no number"),
        ("e.json", '{"a": {"estimates": [1, 2], "variances": [1]}}', "a: there are 2 estimates"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        masktron.combine(written(tmp_path, name, text))
    assert message in str(caught.value)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Runner(capsys)
    path = written(tmp_path, "e.csv", CSV)
    outcome = run("combine", path)
    assert outcome.code == 0
    assert "2.3094" in outcome.out
    content = json.loads(run("combine", path, "--full", "--level", "90", "--json", "-").out)
    jsonschema.validate(content, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert content["synthetic"] == "fully"
    assert content["level"] == 0.9
    assert [one["adjusted"] for one in content["quantities"]] == [False, False]
    assert run("combine", tmp_path / "none.csv").code == 2
