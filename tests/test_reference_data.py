"""The public reference data, masked with the paper's rules and with real ones: figures and promises."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import masktron
from masktron.aggregators.mean import Mean
from masktron.jobs.common import open_job
from masktron.measures.information_loss import information_loss
from masktron.read.microdata import read_records
from masktron.results import BlockResult, MaskResult

ROOT = Path(__file__).parents[1]
RULES = ROOT / "rules"
GEOMETRIC = {3: 15.5, 5: 28.9, 10: 46.6}
EIA = {3: 0.492, 5: 1.352, 10: 2.909}
EIA_ROLES = {"UTILNAME": "identifier", "STATE": "untouched"}


@pytest.fixture(scope="session")
def converted(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    script = ROOT / "sample_xml" / "convert_csv.py"
    for source, target, *options in (
        ("census.csv", "census.xml"),
        ("census.csv", "microdata.xml", "--census-paper"),
        ("eia.csv", "eia.xml"),
    ):
        command = [sys.executable, str(script), str(shared_data / source), str(folder / target), *options]
        subprocess.run(command, check=True, capture_output=True)
    return folder


def block(result: MaskResult, variable: str) -> BlockResult:
    return next(block for block in result.blocks if variable in block.variables)


def promises(result: MaskResult, k: int, data: Path, rules: Path, out: Path) -> None:
    assert result.valid
    assert result.violations == 0
    assert result.min_group >= k
    assert all(engine.agrees and engine.violations == 0 for engine in result.engines)
    assert {engine.engine.split()[0] for engine in result.engines} >= {"pyschematron"}
    verdict = masktron.check(out, rules, original=data, manifest=out.with_name("manifest.json"))
    assert verdict.complies, verdict


def edit_blind_loss(data: Path, rules: Path, out: Path, variables: tuple[str, ...]) -> float:
    """Loss of the plain mean over the very groups that were used, found as the records with equal output."""
    job = open_job(data, rules)
    original, masked = (read_records(path, job.layout) for path in (data, out))
    keys = np.array(list(zip(*(masked.columns[name].lexemes for name in variables), strict=True)), dtype=str)
    _, labels = np.unique(keys, axis=0, return_inverse=True)
    values = np.stack([original.columns[name].values for name in variables], axis=1)
    means = Mean().aggregate(values, labels.ravel().astype(np.intp))
    return information_loss(values, means[labels.ravel()])


SIZES = [3, 5, 10]
MORE_SIZES = [4, 6, 7, 8, 9, 25, 99]


@pytest.mark.parametrize("k", [*SIZES, *(pytest.param(k, marks=pytest.mark.full) for k in MORE_SIZES)])
def test_census_with_the_rules_of_the_paper(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "microdata.xml", RULES / "census_edit_paper.sch", tmp_path / "masked.xml"
    result = masktron.mask(data, rules, out, k=k)
    promises(result, k, data, rules, out)
    assert all(one.exits["medoid"] == 0 for one in result.blocks)
    for variable in ("V9", "V8"):
        one = block(result, variable)
        assert one.aggregator == "mean"
        assert one.information_loss <= 1.05 * edit_blind_loss(data, rules, out, one.variables)
    product = block(result, "V16")
    assert product.aggregator == "geometric_mean"
    if k in GEOMETRIC:
        assert product.information_loss == pytest.approx(GEOMETRIC[k], rel=0.03)


def test_census_with_as_many_records_as_k(converted: Path, tmp_path: Path) -> None:
    data, rules = converted / "microdata.xml", RULES / "census_edit_paper.sch"
    result = masktron.mask(data, rules, tmp_path / "masked.xml", k=1080)
    assert result.valid
    assert {one.groups for one in result.blocks} == {1}
    with pytest.raises(masktron.InfeasibleError, match="1080 records cannot form a group of k = 1081"):
        masktron.mask(data, rules, tmp_path / "more.xml", k=1081, manifest=tmp_path / "more.json")


def test_census_with_the_domain_rule_of_the_paper(converted: Path, tmp_path: Path) -> None:
    data, rules, out = converted / "microdata.xml", RULES / "census_edit_paper_domain.sch", tmp_path / "masked.xml"
    result = masktron.mask(data, rules, out, k=5)
    promises(result, 5, data, rules, out)
    assert block(result, "V1").aggregator == "median"
    job = open_job(data, rules)
    original, masked = (set(read_records(path, job.layout).columns["V1"].lexemes) for path in (data, out))
    assert masked <= original


@pytest.mark.parametrize("k", [5, pytest.param(3, marks=pytest.mark.full), pytest.param(10, marks=pytest.mark.full)])
def test_census_with_real_rules(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "census.xml", RULES / "census_real.sch", tmp_path / "masked.xml"
    failed = {rule.id: rule.failed for rule in masktron.validate(data, rules).rules}
    assert sorted(failed.values()) == [0, 3, 3, 7]
    result = masktron.mask(data, rules, out, k=k, invalid="exclude")
    promises(result, k, data, rules, out)
    assert result.records_out == result.records_in - len(result.excluded)


@pytest.mark.parametrize(("book", "tolerance"), [("eia.sch", 0), ("eia_tolerance.sch", 2)])
def test_eia_counts(shared_data: Path, converted: Path, book: str, tolerance: int) -> None:
    table = pd.read_csv(shared_data / "eia.csv")
    sums = {
        total: table[[f"{part}{total[3:]}" for part in ("RES", "COM", "IND")]].sum(axis="columns") + table[other]
        for total, other in (("TOTREVENUE", "OTHREVENUE"), ("TOTSALES", "OTHRSALES"))
    }
    expected = [int(((sums[total] - table[total]).abs() > tolerance).sum()) for total in sums]
    expected.append(int(((table["INDSALES"] <= 0) & (table["INDREVENUE"] != 0)).sum()))
    if tolerance == 0:
        assert expected == [249, 275, 24]
    result = masktron.validate(converted / "eia.xml", RULES / book)
    assert [rule.failed for rule in result.rules] == expected


@pytest.mark.parametrize("k", [5, pytest.param(3, marks=pytest.mark.full), pytest.param(10, marks=pytest.mark.full)])
def test_eia(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "eia.xml", RULES / "eia.sch", tmp_path / "masked.xml"
    result = masktron.mask(data, rules, out, k=k, invalid="exclude", roles=EIA_ROLES)
    promises(result, k, data, rules, out)
    assert (result.records_in, result.records_out) == (4092, 3664)
    assert block(result, "TOTSALES").information_loss == pytest.approx(EIA[k], rel=0.02)
    assert b"UTILNAME" not in out.read_bytes()


def test_eia_stops_for_a_name_without_a_role(converted: Path, tmp_path: Path) -> None:
    with pytest.raises(masktron.UsageError, match="'UTILNAME' has no role"):
        masktron.mask(converted / "eia.xml", RULES / "eia.sch", tmp_path / "x.xml", invalid="exclude")
    assert not list(tmp_path.iterdir())


BARE = ("V9 + V10 = V14", "V3 <= 7500", "V1 = 270914 or V1 != 270914", "not(V8 < 1115) or V13 <= V12")


@pytest.fixture(params=["", "xslt2"])
def bare_rules(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    from cli_runner import write_rules

    tests = (*BARE, "V1 = 5") if request.param == "" else (*BARE[:3], "V1 = 5")
    yield write_rules(tmp_path / "bare.sch", *tests, binding=request.param)


def test_rules_without_number_calls(converted: Path, tmp_path: Path, bare_rules: Path) -> None:
    data = converted / "microdata.xml"
    result = masktron.validate(data, bare_rules)
    failed = {rule.id: rule.failed for rule in result.rules}
    assert failed.pop(max(failed)) == 1080
    assert set(failed.values()) == {0}
    with (converted / "census.xml").open() as stream:
        assert stream.readline()
    last = result.rules[-1].id
    masked = masktron.mask(data, bare_rules, tmp_path / "masked.xml", k=5, allow=(last,))
    assert masked.valid


def test_the_mapping_of_the_paper(shared_data: Path, converted: Path) -> None:
    with (shared_data / "census.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    job = open_job(converted / "microdata.xml", RULES / "census_edit_paper.sch")
    columns = read_records(converted / "microdata.xml", job.layout).columns
    assert [int(row["PEARNVAL"]) for row in rows] == columns["V8"].values.tolist()
    assert (columns["V9"].values + columns["V10"].values == columns["V14"].values).all()
    assert (columns["V5"].values * columns["V15"].values == columns["V16"].values).all()
