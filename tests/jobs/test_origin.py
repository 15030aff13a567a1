"""What random numbers hang on: the texts of the original, its rules and every earlier step, and on no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import KEY
from cli_runner import write_rules
from made_columns import new_column
from masktron.arrays import Floats
from masktron.jobs.randomness import Origin, digest_of_columns

N = 400


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "region": rng.choice(["a", "b", "c", "d"], N),
            "wage": rng.normal(3000, 500, N).round(2),
        }
    )


def noise(folder: Path, **settings: Any) -> Floats:
    """Return what was added to wages, as far as one sees it."""
    data = people()
    folder.mkdir(exist_ok=True)
    data.to_csv(folder / "d.csv", index=False)
    how: dict[str, Any] = {
        "method": "noise",
        "roles": {"age": "quasi-identifier", "region": "quasi-identifier"},
        "order": "keep",
        "secret": KEY,
        **settings,
    }
    masktron.mask(folder / "d.csv", write_rules(folder / "r.sch", "wage", context="record"), folder / "m.csv", **how)
    after = pd.read_csv(folder / "m.csv").wage.to_numpy(dtype=np.float64)
    return after - data.wage.to_numpy(dtype=np.float64) / np.sqrt(1.15)


def correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"recode": {"age": "width:5"}}),
        ({"recode": {"age": "width:5"}}, {"recode": {"age": "width:10"}}),
        ({"pram": {"region": "change:0.2"}}, {"pram": {"region": "change:0.3"}}),
        ({"pram": {"region": "change:0.2"}}, {"pram": {"region": "change:0.2"}, "recode": {"age": "width:5"}}),
        ({"key_k": 3, "recode": {"age": "width:20"}}, {"key_k": 5, "recode": {"age": "width:20"}}),
    ],
)
def test_releases_by_one_key_with_other_treatments_have_independent_noise(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> None:
    drawn = [noise(tmp_path / str(at), **how) for at, how in enumerate((first, second, first))]
    assert correlation(drawn[0], drawn[2]) > 0.999
    assert abs(correlation(drawn[0], drawn[1])) < 4 / np.sqrt(N)


def test_a_digest_is_of_texts_and_not_of_how_they_are_held() -> None:
    texts = np.array(["x", None, "", "y", "x"], dtype=np.object_)
    one = new_column(texts, np.array([0, 1, 2, 3, 4]))
    other = new_column(np.array(["unused", "", "y", "x", None], dtype=np.object_), np.array([3, 4, 1, 2, 3]))
    assert digest_of_columns({"A": one, "B": other}) == digest_of_columns({"B": one, "A": other})
    for changed in (["x", "", "", "y", "x"], ["x", None, "", "y", "y"], [None, "x", "", "y", "x"]):
        column = new_column(np.array(changed, dtype=np.object_), np.arange(5))
        assert digest_of_columns({"A": column}) != digest_of_columns({"A": one})
    assert digest_of_columns({"A": one}) != digest_of_columns({"AA": one})


def test_each_part_of_an_origin_gives_other_numbers() -> None:
    column = {"A": new_column(np.array(["x"], dtype=np.object_), np.zeros(3, dtype=np.intp))}
    plain = Origin("r", "s", "t", ())
    others = [
        Origin("q", "s", "t", ()),
        Origin("r", "q", "t", ()),
        Origin("r", "s", "q", ()),
        Origin("r", "s", "t", (("A", ("-9",)),)),
        plain.after([{"kind": "recoded"}], column),
        plain.after([{"kind": "recoded"}], {}),
        plain.after([{"kind": "other"}], column),
    ]
    drawn = [one.streams(KEY, "noise").generator("draw").random() for one in (plain, *others)]
    assert len({*drawn}) == len(drawn)
    assert plain.streams(KEY, "swap").generator("draw").random() not in drawn
