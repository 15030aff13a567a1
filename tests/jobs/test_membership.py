"""Who is in the file: somebody knows the values of respondents, and asks which of them took part."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import KEY, Membership
from cli_runner import write_data, write_rules
from examples import parts
from masktron import methods
from masktron.arrays import Floats
from masktron.methods.base import Method, Partitioning
from paths import ROOT

K = 5
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
        data, rules, out, k=K, method=method.name, params=params, key=KEY, roles=roles, numeric=fields
    )
    published = pd.read_xml(out)[fields].to_numpy(dtype=np.float64)
    return result, Membership.of(published, members, others)


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


def test_values_of_leaves_tell_who_took_part_and_the_nearest_record_does_not(tmp_path: Path) -> None:
    """The attack finds what it is there for: it is what `cart` did by default, and what its verdict did not say."""
    _, gain = attacked(tmp_path, "amounts", methods.method_named("cart"), smooth=False)
    assert min(gain.hits, gain.fields) > 0.8
    assert gain.hits > gain.record + 0.15
    assert gain.excess > 30
