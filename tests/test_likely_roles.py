"""Numbers that name records or are weights: told by their values and names, wherever they would be averaged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import write_rules
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.key_treatments import run_keys
from masktron.likely_roles import NumberTraits, likely_role

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


def asked_about(notes: tuple[str, ...]) -> dict[str, str]:
    return {
        note.partition(" is masked as an amount, and ")[0]: note for note in notes if "masked as an amount" in note
    }


def check(found: dict[str, str]) -> None:
    assert {*found} == {*SAID}
    for name, note in found.items():
        assert SAID[name] in note
        assert f'roles={{"{name}": "{OPTIONS[name]}"}}' in note
        assert f'numeric=["{name}"]' in note


def test_mask_keys_and_describe_ask_about_them(pair: tuple[Path, Path], tmp_path: Path) -> None:
    data, rules = pair
    roles: dict[str, Any] = {"REGION": "quasi-identifier"}
    check(asked_about(masktron.mask(data, rules, tmp_path / "out.csv", k=3, roles=roles).notes))
    keys = run_keys(data, rules, config=Config(roles={"REGION": Role.QUASI_IDENTIFIER}))
    assert {*asked_about(keys.notes)} == {*SAID}
    assert [note for note in keys.notes if note.startswith("no weight is named, so the file is taken for the popul")]
    check(asked_about(masktron.describe(data).notes))
    said = {**roles, **OPTIONS}
    told = run_keys(data, rules, config=Config(roles={name: Role(role) for name, role in said.items()})).notes
    assert not asked_about(told) and not [note for note in told if "no weight is named" in note]
    assert not asked_about(masktron.describe(data, roles=said).notes)
    assert not asked_about(masktron.mask(data, rules, tmp_path / "out.csv", k=3, roles=said).notes)
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
    assert flat is not None and "[levels]" in flat.note
    assert nested is not None and "[levels]" not in nested.note
    assert flat.role is nested.role is Role.IDENTIFIER
