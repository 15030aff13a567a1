"""A survey of households, as a newcomer masks it: one question, and roles alone are enough."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from cli_runner import Runner
from examples import as_full
from household_survey import CHECKS, RECORDS, ROLES, write_rulebook, write_survey

CODES = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil")


@pytest.mark.parametrize("records", [400, as_full(RECORDS)])
def test_roles_alone_are_enough(tmp_path: Path, run: Runner, records: int) -> None:
    """The one question names all codes; the options that it shows for quasi-identifiers, pasted, answer it."""
    data, rules = write_survey(tmp_path / "s.csv", records), write_rulebook(tmp_path / "s.sch")
    out = tmp_path / "m.csv"
    command = ["mask", data, "--rules", rules, "--out", out, *_roles(ROLES)]
    asked = run(*command)
    assert asked.code == 2
    assert all(f"--nominal {name}" in asked.err for name in CODES)
    assert asked.err.count("--numeric") == 1
    assert not out.exists()
    found = re.findall(r"\w+=quasi-identifier", asked.err)
    done = run(*command, *(text for one in (*found, "age=quasi-identifier") for text in ("--role", one)))
    assert done.code == 0, done.err
    assert f"{len(CHECKS)} of {len(CHECKS)} rules tested" in done.out
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == records
    assert "ori_hid" not in rows[0]
    assert all(int(row["savings"]) <= 10 * int(row["income"]) for row in rows)
    assert all(int(row["income"]) == 0 for row in rows if int(row["age"]) < 15)


def _roles(roles: dict[str, str]) -> list[str]:
    return [text for name, role in roles.items() for text in ("--role", f"{name}={role}")]
