"""Who is in the file: somebody knows the values of respondents, and asks which of them took part."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import KEY, Membership, guessed
from cli_runner import write_data, write_rules
from examples import parts
from masktron import methods
from masktron.arrays import Floats
from masktron.methods.base import Method, Partitioning
from masktron.methods.conditioned import ConditionedMethod
from paths import ROOT

K = 5
CONDITIONED = tuple(method for method in methods.ALL if issubclass(method, ConditionedMethod))
DRAWING = tuple(method for method in methods.ALL if not issubclass(method, Partitioning))
PUBLISHING = ("hierarchical", "rank_swapping", "shuffling")
"""Methods that publish respondents' own values by design, whose verdict has to say so."""
FILES = ("amounts", "survey", "enterprises")


@cache
def population(name: str) -> Floats:
    """Numbers of respondents, every second of whom takes part."""
    if name == "amounts":
        generator = np.random.default_rng(3)
        first, second = np.rint(generator.lognormal(6, 1, size=(2, 800)))
        other = np.rint(generator.lognormal(7, 0.5, size=800) * np.sqrt(first))
        return np.column_stack([first, second, first + second, other])
    separator, decimal = (";", ",") if name == "enterprises" else (",", ".")
    table = pd.read_csv(ROOT / f"docs/tutorials/files/{name}.csv", sep=separator, decimal=decimal, encoding="cp1252")
    fields = ["Employees", "Wages", "Materials", "Energy", "TotalCosts", "Turnover"]
    answered = table[fields if name == "enterprises" else ["age", "hours", "wage", "other"]].dropna()
    values = answered.to_numpy(dtype=np.float64)
    return np.random.default_rng(1).permutation(values)


def attacked(
    folder: Path, name: str, method: type[Method], **params: str | bool
) -> tuple[masktron.MaskResult, Membership]:
    """Mask the members, and look for all candidates in what is published."""
    values = population(name)
    members, others = values[::2], values[1::2]
    fields = [f"V{at}" for at in range(values.shape[1])]
    rows: list[dict[str, object]] = [
        {"C": "abc"[at % 3], **{field: f"{value:.15g}" for field, value in zip(fields, row, strict=True)}}
        for at, row in enumerate(members)
    ]
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", "V0 >= 0")
    if method.needs_class:
        params["class"] = "C"
    roles = {"C": "untouched"}
    out = folder / "m.xml"
    result = masktron.mask(
        data, rules, out, k=K, method=method.name, params=params, secret=KEY, roles=roles, numeric=fields
    )
    published = pd.read_xml(out)[fields].to_numpy(dtype=np.float64)
    return result, Membership.of(published, members, others)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", parts(FILES, 1))
@pytest.mark.parametrize("method", DRAWING, ids=lambda method: method.name)
def test_membership_is_told_no_better_than_the_verdict_says(tmp_path: Path, name: str, method: type[Method]) -> None:
    result, gain = attacked(tmp_path, name, method)
    sole = next(figure.value for figure in result.figures if figure.name == "sole_values")
    assert (
        f"{sole:.1f} % of the published numbers are the true value of exactly one respondent"
        in result.verdict.details
    )
    assert gain.excess <= sole + 3 * gain.error
    # of the area under the curve of a guess, from as many members as others
    guess = 0.5 + 3 * math.sqrt((2 * result.records_out + 1) / 12) / result.records_out
    if method.name not in PUBLISHING:
        assert max(gain.hits, gain.fields) <= guess
    # what a record is drawn from is shared by k, or it links to its own
    assert gain.record <= guess + max(result.linkage / 100, 1 / K) / 2


def survey(seed: int) -> Floats:
    """Region, sex, age; income and wealth, which go with them: of two halves, one takes part."""
    rng = np.random.default_rng(seed)
    region, sex, age = rng.integers(0, 6, 1600), rng.integers(0, 2, 1600), rng.integers(18, 80, 1600)
    income = np.rint(np.exp(7 + 0.3 * region + 0.4 * sex + 0.01 * age + rng.normal(0, 0.3, 1600)))
    wealth = np.rint(np.exp(0.8 * np.log(income) + rng.normal(0, 0.3, 1600)))
    return np.column_stack([region, sex, age, income, wealth]).astype(np.float64)


@pytest.mark.parametrize("method", CONDITIONED, ids=lambda method: method.name)
def test_fields_that_stay_tell_no_more_of_who_took_part_than_the_verdict_says(
    tmp_path: Path, method: type[Method]
) -> None:
    """He knows region, sex and age, takes the drawn income of who has them for that of his respondent, and is right
    more often for members: by what they share with k, or by what the verdict says of links by all values.
    """
    values = survey(5)
    members, others = values[::2], values[1::2]
    fields = ["region", "sex", "age", "income", "wealth"]
    rows: list[dict[str, object]] = [dict(zip(fields, map(int, row), strict=True)) for row in members]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "income >= 0")
    roles = {"region": "quasi-identifier", "sex": "quasi-identifier", "age": "untouched"}
    params = {"most": 2} if method.name in ("latent_class", "model_hybrid") else {}
    result = masktron.mask(
        data, rules, tmp_path / "m.xml", k=K, method=method.name, params=params, secret=KEY, roles=roles,
        numeric=["income", "wealth"],
    )  # fmt: skip
    assert any("drawn given region, sex, age" in note for note in result.notes)
    published = pd.read_xml(tmp_path / "m.xml")[fields].to_numpy(dtype=np.float64)
    found = [guessed(published, known, target=3, of=3) for known in (members, others)]
    excess = found[0].mean() - found[1].mean()
    error = math.sqrt(sum(hits.var() / len(hits) for hits in found))
    assert excess <= max(1 / K, result.linkage / 100) + 3 * error
    if method.name not in PUBLISHING:
        gain = Membership.of(published[:, 3:], members[:, 3:], others[:, 3:])
        guess = 0.5 + 3 * math.sqrt((2 * result.records_out + 1) / 12) / result.records_out
        assert max(gain.hits, gain.fields) <= guess


def test_values_of_leaves_tell_who_took_part_and_the_nearest_record_does_not(tmp_path: Path) -> None:
    """The attack finds what it is there for: it is what `cart` did by default, and what its verdict did not say."""
    _, gain = attacked(tmp_path, "amounts", methods.method_named("cart"), smooth=False)
    assert min(gain.hits, gain.fields) > 0.8
    assert gain.hits > gain.record + 0.15
    assert gain.excess > 30
