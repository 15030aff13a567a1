"""Numbers that name records or are weights: told by their values and names, wherever they would be averaged."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import write_rules
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.key_treatments import run_keys
from masktron.likely_roles import NumberTraits, code_reason, likely_role
from masktron.problems.problem import Sentence
from masktron.problems.wording import sentence
from masktron.results import MaskResult

RULES = ("Wage + Rent = Income", "wt > 0")


def rows(n: int = 200) -> list[dict[str, object]]:
    """Persons in households, in the order of the households; incomes are all different whole numbers."""
    numbers = np.random.default_rng(3)
    wages = numbers.choice(np.arange(1000, 90000), size=n, replace=False).tolist()
    return [
        {
            "person": 1000 + 100 * (at // 2) + at % 2,
            "hh_no": 7000 + (at // 2) * 7,
            "wt": f"{1 + numbers.random():.4f}",
            "REGION": "NS"[at % 2],
            "Wage": wage,
            "Rent": int(numbers.integers(0, 900)),
            "Income": 0,
        }
        for at, wage in enumerate(wages)
    ]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    data = tmp_path / "survey.csv"
    with data.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows(1)[0]])
        writer.writeheader()
        for one in rows():
            writer.writerow({**one, "Income": int(str(one["Wage"])) + int(str(one["Rent"]))})
    return data, write_rules(tmp_path / "edits.sch", *RULES)


SAID = {
    "person": "holds another whole number in every record",
    "hh_no": "repeats in runs of records",
    "wt": "is called like a survey weight",
}
OPTIONS = {"person": "identifier", "hh_no": "identifier", "wt": "weight"}


def asked_about(notes: tuple[Sentence, ...]) -> dict[str, str]:
    told = map(sentence, notes)
    return {
        note.partition(" is masked as an amount, and ")[0]: note for note in told if "masked as an amount" in note
    }


def looked_at(result: MaskResult) -> tuple[Sentence, ...]:
    return tuple(f"{one.says}; {one.hint}" for one in result.concerns)


def check(found: dict[str, str]) -> None:
    assert {*found} == {*SAID}
    for name, note in found.items():
        assert SAID[name] in note
        assert f'roles={{"{name}": "{OPTIONS[name]}"}}' in note
        assert f'numeric=["{name}"]' in note


def test_mask_keys_and_describe_ask_about_them(pair: tuple[Path, Path], tmp_path: Path) -> None:
    data, rules = pair
    roles: dict[str, Any] = {"REGION": "quasi-identifier"}
    check(asked_about(looked_at(masktron.mask(data, rules, tmp_path / "out.csv", k=3, roles=roles))))
    keys = run_keys(data, rules, config=Config(roles={"REGION": Role.QUASI_IDENTIFIER}))
    assert {*asked_about(keys.notes)} == {*SAID}
    assert [
        note
        for note in map(sentence, keys.notes)
        if note.startswith("no weight is named, so the file is taken for the popul")
    ]
    check(asked_about(masktron.describe(data).notes))
    said = {**roles, **OPTIONS}
    told = run_keys(data, rules, config=Config(roles={name: Role(role) for name, role in said.items()})).notes
    assert not asked_about(told) and not [note for note in told if "no weight is named" in note]
    assert not asked_about(masktron.describe(data, roles=said).notes)
    assert not asked_about(looked_at(masktron.mask(data, rules, tmp_path / "out.csv", k=3, roles=said)))
    assert not asked_about(masktron.describe(data, numeric=[*SAID]).notes)


def test_the_stop_that_proposes_roles_proposes_these_too(pair: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as stopped:
        masktron.mask(*pair, tmp_path / "out.csv", k=3)
    assert "REGION" in str(stopped.value)
    for name, role in OPTIONS.items():
        assert f"{name} {SAID[name]}" in stopped.value.hint
        assert f'"{name}": "{role}"' in stopped.value.hint


@pytest.mark.parametrize(
    ("name", "changed", "role"),
    [
        ("x", {}, None),
        ("x", {"rising": True}, Role.IDENTIFIER),
        ("x", {"span": 150.0}, Role.IDENTIFIER),
        ("x", {"span": 150.0, "whole": False}, None),
        ("x", {"span": 15.0, "records": 15, "distinct": 15, "runs": 15}, None),
        ("x", {"distinct": 60, "runs": 60}, Role.IDENTIFIER),
        ("x", {"distinct": 60, "runs": 61}, None),
        ("x", {"distinct": 95, "runs": 95}, None),
        ("PERSON_ID", {}, Role.IDENTIFIER),
        ("personId", {}, Role.IDENTIFIER),
        ("paid", {}, None),
        ("IDLE", {}, None),
        ("hhWeight", {"whole": False}, Role.WEIGHT),
        ("WT_2", {}, Role.WEIGHT),
        ("weighted", {}, None),
    ],
)
def test_what_numbers_seem_to_be(name: str, changed: dict[str, Any], role: Role | None) -> None:
    given = {"records": 100, "distinct": 100, "runs": 100, "whole": True, "rising": False, "span": 9000.0, **changed}
    found = likely_role(name, NumberTraits(**given))
    assert (found.role if found else None) == role


def test_how_to_declare_households_is_told_of_files_without_levels() -> None:
    runs = NumberTraits(records=100, distinct=60, runs=60, whole=True, rising=False, span=9000.0)
    flat, nested = likely_role("x", runs), likely_role("x", runs, nested=True)
    assert flat is not None and "[levels]" in flat.why
    assert nested is not None and "[levels]" not in nested.why
    assert flat.role is nested.role is Role.IDENTIFIER


NACE = [f"{division}.{part}" for division, parts in enumerate([(11, 20), (51, 52, 90), (12,), (39, 71)] * 22, 10)
        for part in parts]  # fmt: skip


@pytest.mark.parametrize("size", [3, 16, 100, len(NACE)])
def test_codes_with_a_point_look_like_codes(size: int) -> None:
    numbers = np.random.default_rng(size)
    held = numbers.choice(numbers.choice(NACE, size, replace=False), 10 * size)
    assert code_reason("activity", Counter(held.tolist())).endswith("as they share codes")
    floats = Counter(str(float(one)) for one in held.tolist())  # 46.90 is 46.9
    assert code_reason("activity", floats).endswith("as they share codes")
    assert not code_reason("wt", Counter(held.tolist()))  # weights of strata are shared as well


def amounts(size: int, seed: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    numbers = np.random.default_rng(seed)
    wages = numbers.lognormal(2.7, 0.5, size)
    heaped = numbers.random(size) < 0.7
    return {
        "wage": wages,
        "wages that many round": np.where(heaped, np.round(4 * wages) / 4, wages),
        "price": np.ceil(numbers.lognormal(2.5, 1, size)) - 0.01,
        "prices with three endings": np.ceil(numbers.lognormal(2.5, 1, size))
        - numbers.choice([0.01, 0.05, 0.5], size),
        "rate in steps of 0.05": numbers.integers(0, 21, size) * 0.05,
        "hours": numbers.integers(0, 121, size) * 0.5,
        "mean of three answers": numbers.integers(3, 16, size) / 3,
        "measured, with errors": np.where(numbers.random(size) < 0.01, 900, 1) * numbers.lognormal(0, 0.4, size),
    }


@pytest.mark.parametrize("size", [100, 1000, 20_000])
def test_amounts_with_decimals_are_no_codes(size: int) -> None:
    for name, values in amounts(size, size).items():
        for places in (1, 2):
            counts = Counter(f"{value:.{places}f}" for value in values.tolist())
            whole = all(text.endswith(".0") for text in counts)
            assert whole or not code_reason("x", counts), (name, places)
            floats = Counter(str(round(value, places)) for value in values.tolist())
            assert whole or not code_reason("x", floats), (name, places)


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("NACE2", True),
        ("isco08_main", True),
        ("nace-rev2", True),
        ("ICD9", True),
        ("PostCode", True),
        ("zip", True),
        ("occupationCode", True),
        ("BirthYear", True),
        ("birthyear", True),
        ("years_at_school", False),
        ("icdl", False),
        ("sickdays", False),
    ],
)
def test_names_of_classifications(name: str, looks: bool) -> None:
    counts = Counter(str(1900 + at) for at in range(100))
    assert bool(code_reason(name, counts)) is looks


def test_dates_written_as_numbers_are_no_amounts() -> None:
    days = [10_000 * (1950 + at % 50) + 100 * (1 + at % 12) + 1 + at % 28 for at in range(200)]
    assert code_reason("born", Counter(map(str, days))) == "its values are those of dates"
    assert not code_reason("turnover", Counter(map(str, [*days, 19_801_340])))


def test_an_amount_of_a_year_is_no_year() -> None:
    assert not code_reason("TurnoverYear", Counter(str(1000 * at) for at in range(100)))
