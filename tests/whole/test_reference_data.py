"""The public reference data, masked with the paper's rules and with real ones: figures and promises."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from decimal import Context, Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lxml import etree

import masktron
from cli_runner import write_rules
from examples import parts
from masking_spy import Spy
from masktron.aggregators.mean import Mean
from masktron.jobs.documents import Given
from masktron.jobs.job import open_job
from masktron.measures.information_loss import information_loss
from masktron.results import BlockResult, MaskResult
from masktron.sources.xml.microdata import read_records
from pairs.judge import violations
from paths import ROOT
from refusals import refused

RULES = ROOT / "rules"
GEOMETRIC = {3: 15.5, 5: 28.9, 10: 46.6}
DERIVED = {3: 13.2, 5: 24.8, 10: 39.9}
EIA = {3: 0.492, 5: 1.352, 10: 2.821}
EIA_ROLES = {"UTILNAME": "identifier", "STATE": "untouched"}
EIA_NUMBERS = ["MONTH"]


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
    assert all(engine.agrees and not engine.violations for engine in result.engines)
    verdict = masktron.check(out, rules, original=data, manifest=out.with_suffix(".manifest.json"))
    assert verdict.complies, verdict


def edit_blind_loss(data: Path, rules: Path, out: Path, variables: tuple[str, ...]) -> float:
    """Loss of the plain mean over the very groups that were used, found as the records with equal output."""
    job = open_job(data, rules)
    original, masked = (read_records(path, job.source.layout) for path in (data, out))
    keys = np.array(list(zip(*(masked.columns[name].lexemes for name in variables), strict=True)), dtype=str)
    _, labels = np.unique(keys, axis=0, return_inverse=True)
    values = np.stack([original.columns[name].values for name in variables], axis=1)
    means = Mean().aggregate(values, labels.ravel().astype(np.intp))
    return information_loss(values, means[labels.ravel()])


SIZES = [5, 3, 10]
MORE_SIZES = [4, 6, 7, 8, 9, 25, 99]


@pytest.mark.parametrize("k", parts([*SIZES, *MORE_SIZES], 1))
def test_census_with_the_rules_of_the_paper(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "microdata.xml", RULES / "census_edit_paper.sch", tmp_path / "masked.xml"
    result = masktron.mask(data, rules, out, k=k, order="keep")
    promises(result, k, data, rules, out)
    assert all(one.exits["medoid"] == 0 for one in result.blocks)
    for variable in ("V9", "V8"):
        one = block(result, variable)
        assert one.aggregator == "mean"
        assert one.information_loss <= 1.05 * edit_blind_loss(data, rules, out, one.variables)
    product = block(result, "V16")
    geometric, derived = product.candidates
    assert (geometric.aggregator, derived.aggregator) == ("geometric_mean", "derive")
    assert product.aggregator == "derive"
    assert product.information_loss == derived.information_loss < geometric.information_loss
    assert product.information_loss <= 1.05 * edit_blind_loss(data, rules, out, product.variables)
    if k in GEOMETRIC:
        assert geometric.information_loss == pytest.approx(GEOMETRIC[k], rel=0.03)
        assert product.information_loss == pytest.approx(DERIVED[k], rel=0.01)


@pytest.mark.full
def test_census_with_as_many_records_as_k(converted: Path, tmp_path: Path) -> None:
    data, rules = converted / "microdata.xml", RULES / "census_edit_paper.sch"
    result = masktron.mask(data, rules, tmp_path / "masked.xml", k=1080, order="keep")
    assert result.valid
    assert {one.groups for one in result.blocks} == {1}
    with refused(masktron.InfeasibleError, "too-few-records", records=1080, least=1081):
        masktron.mask(data, rules, tmp_path / "more.xml", k=1081, manifest=tmp_path / "more.json")


@pytest.mark.full
def test_census_with_the_domain_rule_of_the_paper(converted: Path, tmp_path: Path) -> None:
    data, rules, out = converted / "microdata.xml", RULES / "census_edit_paper_domain.sch", tmp_path / "masked.xml"
    result = masktron.mask(data, rules, out, k=5, order="keep")
    promises(result, 5, data, rules, out)
    domain = block(result, "V1")
    assert {candidate.aggregator for candidate in domain.candidates} == {"derive", "median"}
    assert domain.exits["medoid"] == 0
    job = open_job(data, rules, given=Given(original=data))
    original, masked = (set(read_records(path, job.source.layout).columns["V1"].lexemes) for path in (data, out))
    assert masked <= original


@pytest.mark.full
@pytest.mark.parametrize("k", [5, pytest.param(3, marks=pytest.mark.full), pytest.param(10, marks=pytest.mark.full)])
def test_census_with_real_rules(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "census.xml", RULES / "census_real.sch", tmp_path / "masked.xml"
    failed = {rule.id: rule.failed for rule in masktron.validate(data, rules).rules}
    assert sorted(failed.values()) == [0, 3, 3, 7]
    result = masktron.mask(data, rules, out, k=k, order="keep", invalid="exclude")
    promises(result, k, data, rules, out)
    assert result.records_out == result.records_in - len(result.excluded)


CHAIN = ("number(V5) * number(V15) = number(V16)", "number(V16) + number(V11) = number(V17)")
ROUNDED = "abs(number(V16) + number(V11) - number(V18)) <= 0.5"
DOMAIN = "exists(index-of(document('chained.xml')//Record/V18, V18))"


@pytest.fixture(scope="session")
def chained(converted: Path) -> Path:
    """The Census file of the edit paper with V17 = V16 + V11 in exact decimals, and V18, which is V17 rounded."""
    tree = etree.parse(str(converted / "microdata.xml"))
    for record in tree.getroot():
        product, addend = (record.findtext(name, "") for name in ("V16", "V11"))
        total = Context(prec=60).add(Decimal(product), Decimal(addend))
        if float(total) != (doubles := float(product) + float(addend)):
            total = Decimal(repr(doubles))  # three records, in which the exact sum is another double
        etree.SubElement(record, "V17").text = f"{total:f}"
        etree.SubElement(record, "V18").text = f"{total.to_integral_value():f}"
    tree.write(str(converted / "chained.xml"))
    return converted / "chained.xml"


@pytest.mark.full
@pytest.mark.parametrize("k", [5, *(pytest.param(k, marks=pytest.mark.full) for k in (3, 10))])
@pytest.mark.parametrize("binding", ["", pytest.param("xslt2", marks=pytest.mark.full)])
def test_census_with_a_product_that_feeds_a_sum(chained: Path, tmp_path: Path, k: int, binding: str) -> None:
    rules, out = write_rules(tmp_path / "rules.sch", *CHAIN, binding=binding), tmp_path / "masked.xml"
    result = masktron.mask(chained, rules, out, k=k, order="keep")
    promises(result, k, chained, rules, out)
    assert violations(rules, out, chained) == {}
    one = block(result, "V16")
    assert set(one.variables) == {"V5", "V11", "V15", "V16", "V17"}
    assert one.exits["medoid"] == 0


@pytest.mark.full
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param((*CHAIN, ROUNDED), id="rounded"),
        pytest.param((*CHAIN, ROUNDED, DOMAIN), id="domain", marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("k", [10, *(pytest.param(k, marks=pytest.mark.full) for k in (3, 5))])
def test_census_with_a_rounded_sum(chained: Path, tmp_path: Path, k: int, tests: tuple[str, ...]) -> None:
    rules, out = write_rules(tmp_path / "rules.sch", *tests, binding="xslt2"), tmp_path / "masked.xml"
    result = masktron.mask(chained, rules, out, k=k, order="keep")
    promises(result, k, chained, rules, out)
    assert violations(rules, out, chained) == {}
    one = block(result, "V18")
    sys.stdout.write(f"{len(tests)} rules, k = {k}: {one.exits}\n")
    assert one.exits["medoid"] == 0
    if DOMAIN in tests:
        original, masked = (set(etree.parse(str(path)).xpath("//V18/text()")) for path in (chained, out))
        assert masked <= original


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


@pytest.mark.full
@pytest.mark.parametrize("k", [5, pytest.param(3, marks=pytest.mark.full), pytest.param(10, marks=pytest.mark.full)])
def test_eia(converted: Path, tmp_path: Path, k: int) -> None:
    data, rules, out = converted / "eia.xml", RULES / "eia.sch", tmp_path / "masked.xml"
    result = masktron.mask(
        data, rules, out, k=k, order="keep", invalid="exclude", roles=EIA_ROLES, numeric=EIA_NUMBERS
    )
    promises(result, k, data, rules, out)
    assert (result.records_in, result.records_out) == (4092, 3664)
    assert block(result, "TOTSALES").information_loss == pytest.approx(EIA[k], rel=0.02)
    assert b"UTILNAME" not in out.read_bytes()


EIA_TOTALS = tuple(
    f"RES{what} + COM{what} + IND{what} + {other} = TOT{what}"
    for what, other in (("REVENUE", "OTHREVENUE"), ("SALES", "OTHRSALES"))
)
EIA_SALES = "INDSALES > 0 or INDREVENUE = 0"
EIA_SIGNS = (
    "(INDSALES > 0 and INDREVENUE > 0) or (INDSALES = 0 and INDREVENUE = 0) or (INDSALES < 0 and INDREVENUE < 0)"
)
EIA_STATE = "not(STATE='AK') or number(TOTSALES) < 1000000"
EIA_NEGATIVE = {
    EIA_SALES: {"COMREVENUE", "COMSALES", "OTHREVENUE"},
    EIA_SIGNS: {"COMREVENUE", "COMSALES", "OTHREVENUE", "INDREVENUE", "INDSALES"},
}


@pytest.mark.parametrize(
    ("industry", "k"),
    [
        *(pytest.param(EIA_SIGNS, k, marks=pytest.mark.full) for k in SIZES),
        *(pytest.param(EIA_SALES, k, marks=pytest.mark.full) for k in SIZES),
    ],
)
def test_eia_with_signs_and_a_condition(
    shared_data: Path, converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, industry: str, k: int
) -> None:
    counts = pd.read_csv(shared_data / "eia.csv").iloc[:, 5:]
    bounds = [f"{name} >= 0" for name in counts if counts[name].min() >= 0]
    assert len(bounds) == 5
    data, out = converted / "eia.xml", tmp_path / "masked.xml"
    rules = write_rules(tmp_path / "rules.sch", *EIA_TOTALS, industry, EIA_STATE, *bounds)
    spy = Spy(monkeypatch)
    result = masktron.mask(
        data, rules, out, k=k, order="keep", invalid="exclude", roles=EIA_ROLES, numeric=EIA_NUMBERS
    )
    promises(result, k, data, rules, out)
    assert violations(rules, out, data) == {}
    masked = pd.read_xml(out)
    assert all(pd.api.types.is_integer_dtype(masked[name]) for name in counts)
    one = next(one for one in spy.blocks if "TOTSALES" in one.block.variables)
    assert set(one.block.variables) == set(counts)
    original = np.stack([spy.records.columns[name].values for name in counts], axis=1)
    means = Mean().aggregate(original, one.grouping.labels)[one.grouping.labels]
    written = masked[[*counts]].to_numpy()
    # Rounding moves a total of four parts by two at most.
    assert (written[means < -2] < 0).all()
    assert (means[written < 0] < 0).all()
    if k == 3:
        assert {name for name in counts if (masked[name] < 0).any()} == EIA_NEGATIVE[industry]


def test_eia_stops_for_a_name_without_a_role(converted: Path, tmp_path: Path) -> None:
    with refused(masktron.UsageError, "no-role", fields=("UTILNAME", "STATE")):
        masktron.mask(converted / "eia.xml", RULES / "eia.sch", tmp_path / "x.xml", invalid="exclude")
    assert not list(tmp_path.iterdir())


BARE = ("V9 + V10 = V14", "V3 <= 7500", "V1 = 270914 or V1 != 270914", "not(V8 < 1115) or V13 <= V12")


@pytest.fixture(params=parts(["", "xslt2"], 1))
def bare_rules(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    tests = (*BARE, "V1 = 5") if request.param == "" else (*BARE[:3], "V1 = 5")
    yield write_rules(tmp_path / "bare.sch", *tests, binding=request.param)


@pytest.mark.full
def test_rules_without_number_calls(converted: Path, tmp_path: Path, bare_rules: Path) -> None:
    data = converted / "microdata.xml"
    result = masktron.validate(data, bare_rules)
    failed = {rule.id: rule.failed for rule in result.rules}
    assert failed.pop(max(failed)) == 1080
    assert set(failed.values()) == {0}
    with (converted / "census.xml").open() as stream:
        assert stream.readline()
    last = result.rules[-1].id
    masked = masktron.mask(data, bare_rules, tmp_path / "masked.xml", k=5, order="keep", allow=(last,))
    assert masked.valid


def test_the_mapping_of_the_paper(shared_data: Path, converted: Path) -> None:
    with (shared_data / "census.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    job = open_job(converted / "microdata.xml", RULES / "census_edit_paper.sch")
    columns = read_records(converted / "microdata.xml", job.source.layout).columns
    assert [int(row["PEARNVAL"]) for row in rows] == columns["V8"].values.tolist()
    assert (columns["V9"].values + columns["V10"].values == columns["V14"].values).all()
    assert (columns["V5"].values * columns["V15"].values == columns["V16"].values).all()
