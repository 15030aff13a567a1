"""Fields that stay, in a file: values are drawn given them, and strata part the records whatever masks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import KEY
from cli_runner import write_rules
from masktron import estimators, methods
from masktron.methods.conditioned import ConditionedMethod
from refusals import refused

ROLES = {"id": "identifier", "unit": "record-id", "w": "weight", "region": "quasi-identifier", "sex": "untouched"}
CONDITIONED = [method.name for method in methods.ALL if issubclass(method, ConditionedMethod)]
FEWER: dict[str, dict[str, int]] = {"latent_class": {"most": 2, "starts": 0}, "model_hybrid": {"most": 2}}


def people(n: int = 480, regions: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    region, sex = rng.integers(0, regions, n), rng.integers(0, 2, n)
    wage = np.rint(1000 + 400 * region + 300 * sex + rng.normal(0, 300, n))
    other = np.rint(rng.lognormal(5, 0.5, n))
    return pd.DataFrame(
        {
            "id": np.arange(n) + 100,
            "unit": [f"u{at}" for at in rng.permutation(n)],
            "w": rng.integers(1, 9, n),
            "region": [f"R{at}" for at in region],
            "sex": np.where(sex == 1, "m", "f"),
            "age": rng.integers(18, 80, n),
            "wage": wage,
            "other": other,
            "income": wage + other,
        }
    )


def masked(folder: Path, data: pd.DataFrame, **settings: Any) -> tuple[masktron.MaskResult, pd.DataFrame]:
    rules = write_rules(folder / "r.sch", "wage + other = income", "other >= 0", context="record")
    data.to_csv(folder / "d.csv", index=False)
    how = {"k": 5, "roles": ROLES, "order": "keep", "secret": KEY, "numeric": ["age", "wage", "other", "income"]}
    result = masktron.mask(folder / "d.csv", rules, folder / "m.csv", **{**how, **settings})
    return result, pd.read_csv(folder / "m.csv")


def share(data: pd.DataFrame, name: str) -> float:
    """Share of the variance of a field that lies between the cells of region and sex."""
    between = data.groupby(["region", "sex"])[name].transform("mean")
    return float(between.var() / data[name].var())


def notes(result: masktron.MaskResult) -> list[str]:
    return [note for note in result.notes if "drawn given" in note]


@pytest.mark.parametrize("method", CONDITIONED)
def test_what_region_and_sex_explain_stays_and_rules_hold(tmp_path: Path, method: str) -> None:
    original = people()
    result, after = masked(tmp_path, original, method=method, params=FEWER.get(method, {}))
    assert share(after, "wage") == pytest.approx(share(original, "wage"), rel=0.15)
    assert (after.wage + after.other == after.income).all()
    assert not (after.wage == original.wage).all()
    assert notes(result) == ["values are drawn given region, sex"]


@pytest.mark.parametrize("method", ["cart", "ipso"])
def test_without_conditions_nothing_of_that_is_left(tmp_path: Path, method: str) -> None:
    result, after = masked(tmp_path, people(), method=method, params={"conditions": []})
    assert share(after, "wage") < 0.1
    assert not notes(result)


def test_conditions_are_chosen_and_a_field_that_gives_away_is_not_one_by_itself(tmp_path: Path) -> None:
    data = people().assign(gross=lambda table: table.wage * 2 + 7)
    roles = {**ROLES, "gross": "untouched"}
    result, after = masked(tmp_path, data, method="cart", roles=roles)
    assert "not drawn given gross" in notes(result)[0]
    assert notes(result)[1] == "values are drawn given region, sex"
    result, after = masked(tmp_path, data, method="cart", roles=roles, params={"conditions": ["region"]})
    assert notes(result) == ["values are drawn given region"]
    assert after.groupby("region").wage.mean().std() > 3 * after.groupby("sex").wage.mean().std()
    with refused(masktron.InfeasibleError, "would-return-original", variable=1, records=480):
        masked(tmp_path, data, method="ipso", roles=roles, params={"conditions": ["gross"]})
    result, _ = masked(tmp_path, data, method="cart", roles=roles, params={"conditions": ["gross"]})
    assert any("gross: more than 99 %" in note for note in result.notes)


@pytest.mark.parametrize("name", ["id", "unit", "w"])
@pytest.mark.parametrize("parameter", ["conditions", "strata"])
def test_identifiers_keys_and_weights_tell_nothing(tmp_path: Path, parameter: str, name: str) -> None:
    with refused(masktron.UsageError, "role-does-not-fit", setting=f"the parameter {parameter} of cart", field=name):
        masked(tmp_path, people(60), method="cart", params={parameter: [name]})
    assert not (tmp_path / "m.csv").exists()


def test_a_name_of_each_record_and_numbers_that_count_them_are_no_conditions(tmp_path: Path) -> None:
    data = people(120).assign(place=lambda table: table.unit + "x", row=np.arange(120))
    result, _ = masked(tmp_path, data, method="cart", roles={**ROLES, "place": "untouched", "row": "untouched"})
    assert notes(result) == ["values are drawn given region, sex"]


@pytest.mark.parametrize("method", ["mdav", "univariate", "noise", "cart", "ipso", "sequential", "hierarchical"])
def test_strata_part_strictly(tmp_path: Path, method: str) -> None:
    data, params = people(300, regions=3), {"strata": ["region"]}
    data.loc[data.region == "R1", ["wage", "other", "income"]] *= 20
    if method in ("cart", "ipso", "sequential"):
        params["conditions"] = []
    _, after = masked(tmp_path, data, method=method, params=params)
    ranges = data.groupby("region").wage.agg(["min", "max"])
    assert all(after.wage[data.region == name].max() < 3 * one["max"] for name, one in ranges.iterrows())
    means = (data.groupby("region").wage.mean(), after.groupby("region").wage.mean())
    assert means[1].to_numpy() == pytest.approx(means[0].to_numpy(), rel=0.02 if method in ("mdav", "ipso") else 0.15)


@pytest.mark.parametrize("settings", [pytest.param({}, marks=pytest.mark.full), {"unit_records": 400}])
def test_groups_of_microaggregation_do_not_cross_strata_in_units_either(
    tmp_path: Path, settings: dict[str, int]
) -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"region": rng.choice(["a", "b", "c"], 1000, p=[0.9, 0.08, 0.02]), "x": rng.normal(100, 9, 1000).round(2)}
    )
    out = tmp_path / "m.csv"
    (tmp_path / "d.csv").write_text(data.to_csv(index=False))
    masktron.mask(
        tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "x", context="record"), out, k=5,
        roles={"region": "untouched"}, order="keep", params={"strata": ["region"]}, **settings,
    )  # fmt: skip
    after = pd.read_csv(out)
    assert after.groupby(["region", "x"]).size().min() >= 5
    means = (data.groupby("region").x.mean(), after.groupby("region").x.mean())
    assert means[1].to_numpy() == pytest.approx(means[0].to_numpy(), abs=0.01)


@pytest.mark.parametrize("method", ["mdav", "cart"])
def test_a_small_stratum_is_refused(tmp_path: Path, method: str) -> None:
    data = people(60)
    data.loc[:, "region"] = ["far"] * 3 + ["near"] * 57
    with refused(masktron.InfeasibleError, "small-stratum", fields=("region",), records=3):
        masked(tmp_path, data, method=method, params={"strata": ["region"]})
    assert not (tmp_path / "m.csv").exists()


def test_a_draw_that_needs_more_records_than_k_says_so(tmp_path: Path) -> None:
    data = people(60)
    data.loc[:, "region"] = ["far"] * 7 + ["near"] * 53
    with refused(masktron.InfeasibleError, "small-stratum", fields=("region",), records=7):
        masked(tmp_path, data, method="cart", params={"strata": ["region"]})


def test_categories_are_drawn_by_sequential_regressions(tmp_path: Path) -> None:
    data = people().assign(job=lambda table: np.where(table.wage > table.wage.median(), "high", "low"))
    result, after = masked(tmp_path, data, method="sequential", roles=ROLES, nominal=["job"])
    assert all(block.drawn for block in result.blocks)
    assert {*after.job} == {"high", "low"}
    assert (after.job != data.job).mean() > 0.05
    high = after.groupby("region").job.apply(lambda jobs: (jobs == "high").mean())
    assert high["R5"] > high["R0"] + 0.5


@pytest.mark.parametrize(("method", "said"), [("cart", False), ("sequential", True), ("rank_swapping", True)])
def test_categories_that_are_not_told_apart_are_said(tmp_path: Path, method: str, *, said: bool) -> None:
    """Sixty towns of eight records: enough for leaves of five, too few for regressors and cells."""
    data = people().assign(town=lambda table: [f"T{at % 60}" for at in table.index])
    result, _ = masked(tmp_path, data, method=method, roles={**ROLES, "town": "untouched"})
    assert any("of town, categories that are too rare" in note for note in result.notes) is said


def test_parts_of_the_file_do_not_lose_what_stays(tmp_path: Path) -> None:
    """Records without a value are drawn by themselves, where they are enough for all regions."""
    data = people(regions=12)
    data.loc[:79, ["other", "income"]] = np.nan
    rules = write_rules(tmp_path / "r.sch", "not(income) or wage + other = income", context="record")
    data.to_csv(tmp_path / "d.csv", index=False)
    result = masktron.mask(
        tmp_path / "d.csv", rules, tmp_path / "m.csv", k=5, method="sequential", roles=ROLES, order="keep",
        secret=KEY,
        numeric=["age", "wage", "other", "income"],
    )  # fmt: skip
    after = pd.read_csv(tmp_path / "m.csv")
    few = slice(None, 79)
    assert share(after.loc[few], "wage") > 0.6 * share(data.loc[few], "wage")
    assert notes(result) == ["values are drawn given region, sex"]


@pytest.mark.parametrize("method", ["ipso", "sequential", "shuffling", "rank_swapping"])
def test_many_numbers_that_stay_are_no_reason_to_refuse(tmp_path: Path, method: str) -> None:
    data = people()
    rng = np.random.default_rng(2)
    names = [f"x{at}" for at in range(9)]
    data[names] = rng.normal(size=(len(data), 9)).round(3)
    data.loc[:11, "age"] = np.nan
    result, _ = masked(tmp_path, data, method=method, roles={**ROLES, **dict.fromkeys(names, "untouched")})
    assert result.records_out == len(data)


def test_columns_that_part_an_array_may_be_categories_and_conditions() -> None:
    data = np.column_stack([np.repeat([0.0, 1.0], 60), np.random.default_rng(1).normal(size=(120, 3))])
    for how in ({"nominal": (0,), "conditions": (1,)}, {"conditions": (0,)}, {}):
        for kind in (estimators.Ipso, estimators.Cart):
            made = kind(strata=(0,), random_state=0, **how).fit_transform(data)
            assert (made[:, 0] == data[:, 0]).all()
            assert (made[:, 3] != data[:, 3]).any()
