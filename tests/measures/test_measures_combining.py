"""Combined estimates: by hand, by simulation, and what cannot be combined."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import masktron
from cli_runner import Runner, write_file
from masktron.errors import UsageError
from masktron.measures.combining import combine, enough, negative_chance
from paths import SCHEMAS
from refusals import refused

SCHEMA = SCHEMAS / "combine.schema.json"


def test_partially_synthetic_by_hand() -> None:
    # b = (4 + 0 + 4) / 2, T = 4 / 3 + 4, df = 2 (1 + 3 * 4 / 4)^2; t at 0.975 with 32 degrees is 2.0369333
    found = combine([10.0, 12.0, 14.0], [3.0, 4.0, 5.0])
    assert (found.estimate, found.between, found.within, found.releases) == (12.0, 4.0, 4.0, 3)
    assert found.variance == pytest.approx(16 / 3, rel=1e-15)
    assert found.freedom == 32
    half = 2.0369333 * math.sqrt(16 / 3)
    assert (found.low, found.high) == pytest.approx((12 - half, 12 + half), rel=1e-7)


def test_fully_synthetic_by_hand() -> None:
    # T = 2 (1/2 + 3/2 / 3) = 2, whatever b is
    found = combine([10.0, 12.0, 14.0], [1.0, 2.0, 3.0], full=True, ratio=0.5)
    assert (found.variance, found.freedom, found.adjusted, found.advised) == (2.0, math.inf, False, None)
    assert found.high - 12 == pytest.approx(1.959964 * math.sqrt(2), rel=1e-6)


def test_samples_of_synthetic_populations_by_hand() -> None:
    # T = 4/3 * 4 - 1, df = 2 (1 - 3 / 16)^2
    found = combine([10.0, 12.0, 14.0], [1.0, 1.0, 1.0], population=True)
    assert found.variance == pytest.approx(13 / 3, rel=1e-15)
    assert found.freedom == pytest.approx(2 * (13 / 16) ** 2, rel=1e-15)
    assert not found.adjusted


def test_a_negative_variance_is_adjusted() -> None:
    # 4/3 * 4 - 6 < 0: twice as many records in a release, so that T = 2 * 6; t at 0.95 with 2 degrees is 2.9199856
    found = combine([10.0, 12.0, 14.0], [6.0, 6.0, 6.0], population=True, ratio=2.0, level=0.9)
    assert (found.variance, found.freedom, found.adjusted) == (12.0, 2.0, True)
    assert found.high - 12 == pytest.approx(2.9199856 * math.sqrt(12), rel=1e-7)


def test_no_degrees_of_freedom_to_speak_of() -> None:
    within = 4 / 3 * 4 * (1 - 1e-9)
    found = combine([10.0, 12.0, 14.0], [within] * 3, population=True)
    assert found.low == -math.inf
    assert found.high == math.inf


def test_nearly_equal_estimates_have_normal_intervals() -> None:
    found = combine([1.0, 1.0 + 1e-9], [4.0, 4.0])
    assert found.high - 1 == pytest.approx(1.959964 * 2, rel=1e-6)


@pytest.mark.parametrize("rule", [{}, {"population": True}], ids=["part", "population"])
def test_estimates_that_differ_by_rounding_are_equal(rule: dict[str, bool]) -> None:
    for points in ([1.0] * 4 + [1 + 1e-15], [-1e9] * 4 + [-1e9 - 1e-6], [0.0] * 5):
        with refused(UsageError, "estimates-equal", where="q"):
            masktron.combine({"q": (points, [0.04] * 5)}, **rule)


def test_equal_estimates_of_full_synthesis_have_their_interval() -> None:
    """Medians of integers are often equal; the rule does not look at how far estimates differ."""
    for points in ([1.0] * 4 + [1 + 1e-15], [3.0] * 5):
        found = masktron.combine({"q": (points, [0.04] * 5)}, full=True).quantities["q"]
        assert found.variance == pytest.approx(0.04 * (1 + 2 / 5))
        assert (found.freedom, found.advised) == (math.inf, None)


def test_next_to_no_difference_is_none() -> None:
    with refused(UsageError, "estimates-equal", releases=2):
        combine([-1e-320, 1e-320], [1e-300, 1e-300])


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


def fully_synthetic(generator: np.random.Generator, m: int, runs: int) -> tuple[list[bool], list[float]]:
    """Means of samples of synthetic populations, 100 normal values: which were adjusted, lengths of intervals."""
    adjusted, lengths = [], []
    for _ in range(runs):
        sample = generator.normal(size=100)
        spreads = np.sqrt(99 * sample.var(ddof=1) / generator.chisquare(99, size=m))
        centers = generator.normal(sample.mean(), spreads / 10)
        releases = generator.normal(centers[:, None], spreads[:, None], size=(m, 100))
        found = combine(
            releases.mean(axis=1).tolist(), (releases.var(axis=1, ddof=1) / 100).tolist(), population=True
        )
        adjusted.append(found.adjusted)
        lengths.append(found.high - found.low)
    return adjusted, lengths


@pytest.mark.few(1)
@pytest.mark.parametrize(("m", "size"), [(2, 200), (5, 200), (5, 800)])
def test_intervals_of_completely_synthetic_releases_cover(m: int, size: int) -> None:
    """The original has 400 normal values, and so the variance 1/400; each release adds that and 1/size."""
    generator, runs, covered, lengths = np.random.default_rng([m, size]), 2000, 0, []
    true = math.sqrt(1 / 400 + (1 / 400 + 1 / size) / m)
    for _ in range(runs):
        sample = generator.normal(size=400)
        spreads = np.sqrt(399 * sample.var(ddof=1) / generator.chisquare(399, size=m))
        centers = generator.normal(sample.mean(), spreads / 20)
        releases = generator.normal(centers[:, None], spreads[:, None], size=(m, size))
        points, variances = releases.mean(axis=1).tolist(), (releases.var(axis=1, ddof=1) / size).tolist()
        found = combine(points, variances, full=True, ratio=size / 400)
        covered += found.low <= 0 <= found.high
        lengths.append(found.high - found.low)
    # three standard errors of a share of 0.95 in 2,000
    assert covered / runs == pytest.approx(0.95, abs=0.015)
    assert np.median(lengths) == pytest.approx(2 * 1.959964 * true, rel=0.01)


@pytest.mark.full
@pytest.mark.parametrize("m", [5, 20])
def test_how_often_a_variance_is_adjusted_is_what_is_said(m: int) -> None:
    runs = 1500
    adjusted, _ = fully_synthetic(np.random.default_rng(m), m, runs)
    chance = float(negative_chance(m))
    # four standard errors, and a little for estimates that are t and not normal
    assert np.mean(adjusted) == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / runs) + 0.005)


def test_so_many_releases_as_are_advised_are_enough() -> None:
    """At m = 5 a fifth of the variances is adjusted, and half of the intervals are three times too long."""
    generator = np.random.default_rng(6)
    few, short = fully_synthetic(generator, 5, 300)
    assert 0.12 < np.mean(few) < 0.28
    advised = enough(5, 2.0, 1.0, population=True)
    assert advised == 40
    many, long = fully_synthetic(generator, advised, 300)
    assert np.mean(many) <= 0.02
    true = 2 * 1.96 / 10
    assert np.median(long) < 1.3 * true < 3 * true < np.median(short)


def test_what_is_advised_has_the_degrees_of_freedom() -> None:
    def freedom(m: int, between: float, within: float) -> float:
        return (m - 1) * (1 + m * within / between) ** 2

    for between, within in ((1.0, 0.01), (1.0, 0.2), (50.0, 1.0)):
        advised = enough(2, between, within)
        assert freedom(advised - 1, between, within) < 10 <= freedom(advised, between, within) or advised == 3
    assert combine([0.0, 1.0], [0.01, 0.01]).advised == enough(2, 0.5, 0.01)
    assert combine([10.0, 12.0, 14.0], [3.0, 4.0, 5.0]).advised is None
    adjusted = combine([10.0, 12.0, 14.0], [6.0, 6.0, 6.0], population=True)
    assert (adjusted.adjusted, adjusted.advised) == (True, 40)
    # releases of a tenth of the records hardly say more than their own sampling: there is no end to it
    assert combine([10.0, 12.0, 14.0], [6.0, 6.0, 6.0], population=True, ratio=0.1).advised == 1000


def test_the_table_says_how_many_releases_to_make() -> None:
    found = masktron.combine({"low": ([10, 12, 14], [6, 6, 6]), "few": ([10, 12, 14], [1, 1, 1])}, population=True)
    told = " ".join(repr(found).split())
    assert "T was not above 0, so that v times the ratio of records was taken: low." in told
    chance = 100 * float(negative_chance(3))
    assert f"happens by chance to {chance:.0f} of 100 estimates" in told
    assert "make 40 releases or more" in told
    assert "Fewer than 5 degrees of freedom" in told
    assert "few (1.3: " in told
    assert "degrees of freedom, so" not in repr(masktron.combine({"mean": ([10, 12, 14], [3, 4, 5])}))


CSV = "name,estimate,variance\nmean,10,3\nslope,1,0.5\nmean,12,4\nslope,3,0.5\nmean,14,5\n"


def test_files_of_both_forms_say_the_same(tmp_path: Path) -> None:
    lines = masktron.combine(write_file(tmp_path / "e.csv", CSV))
    content = {
        "mean": {"estimates": [10, 12, 14], "variances": [3, 4, 5]},
        "slope": {"estimates": [1, 3], "variances": [0.5, 0.5]},
    }
    objects = masktron.combine(write_file(tmp_path / "e.json", json.dumps(content)))
    mapping = masktron.combine({"mean": ([10, 12, 14], [3, 4, 5]), "slope": ([1, 3], [0.5, 0.5])})
    assert lines == objects == mapping
    assert lines["mean"] == combine([10, 12, 14], [3, 4, 5])
    assert lines["slope"].releases == 2
    assert "Reiter 2003" in repr(lines)


def test_one_quantity_needs_no_name(tmp_path: Path) -> None:
    found = masktron.combine(write_file(tmp_path / "e.csv", "estimate,variance\n1,1\n3,1\n"))
    assert list(found.quantities) == ["estimate"]


def test_spaces_and_empty_lines_make_no_other_quantity(tmp_path: Path) -> None:
    found = masktron.combine(write_file(tmp_path / "e.csv", "name , estimate, variance \n\na,1,1\na ,3,1\n"))
    assert found["a"].releases == 2


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("e.csv", "mean,var\n1,2\n", "bad-estimates"),
        ("e.csv", "estimate,variance\n1,x\n", "bad-value"),
        ("e.csv", "estimate,variance\n1\n", "bad-value"),
        ("e.csv", "estimate,variance\n", "bad-estimates"),
        ("e.csv", "name,estimate,variance\nx,1,5,2\n", "bad-estimates"),
        ("e.csv", "estimate,variance,estimate\n1,2,7\n", "bad-estimates"),
        ("e.csv", f"name,estimate,variance\n{'x' * 200_000},1,2\n", "bad-estimates"),
        ("e.json", '{"a": {"estimates": "12", "variances": "34"}}', "bad-estimates"),
        ("e.json", '{"a": {"estimates": [1, 2], "variances": [1, 2]}, "a": {}}', "bad-estimates"),
        ("e.json", '{"a": {"estimates": [1, true], "variances": [1, 1]}}', "bad-value"),
        ("e.json", '{"a": {"estimates": [1, 2], "variances": [1]}}', "arrays-differ"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, text: str, code: str) -> None:
    csv.field_size_limit(131_072)  # of the process: reading a CSV with longer cells raises it
    with refused(UsageError, code):
        masktron.combine(write_file(tmp_path / name, text))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Runner(capsys)
    path = write_file(tmp_path / "e.csv", CSV)
    outcome = run("combine", path)
    assert outcome.code == 0
    assert "2.3094" in outcome.out
    for rule, name in (("--full", "fully"), ("--population", "population")):
        content = json.loads(run("combine", path, rule, "--json", "-").out)
        jsonschema.validate(content, json.loads(SCHEMA.read_text(encoding="utf-8")))
        assert content["synthetic"] == name
    assert "normal" in run("combine", path, "--full").out
    content = json.loads(run("combine", path, "--full", "--level", "90", "--json", "-").out)
    jsonschema.validate(content, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert content["level"] == 0.9
    assert [one["adjusted"] for one in content["quantities"]] == [False, False]
    assert run("combine", tmp_path / "none.csv").code == 2
