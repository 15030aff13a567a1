"""Quasi-identifiers in runs: what they are, what is measured over them, and where results say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cli_runner import write_data, write_rules
from masktron.config import Role
from masktron.errors import UsageError

ROWS: list[dict[str, object]] = [
    {"ID": at, "SEX": "fm"[at % 2], "AGE": 20 + 10 * (at % 4), "A": at, "W": 2 + at % 3} for at in range(24)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return write_data(folder / "d.xml", ROWS), write_rules(folder / "r.sch", "A >= 0")


def test_a_quasi_identifier_is_written_as_it_is_and_one_with_the_mark_is_masked(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    data, rules = files
    out, again = tmp_path / "m.xml", tmp_path / "again.xml"
    roles = {"SEX": Role.QUASI_IDENTIFIER, "ID": Role.KEY, "W": Role.WEIGHT}
    masktron.mask(data, rules, out, roles=roles, quasi_identifiers=["A"], numeric=["AGE"], order="keep")
    shown = out.read_text()
    assert [shown.count(f"<SEX>{one}</SEX>") for one in "fm"] == [12, 12]
    assert shown.count("<A>0</A>") == 0, "a mark does not keep a field from being masked"
    masktron.rerun(tmp_path / "m.manifest.json", data, again)
    assert again.read_bytes() == out.read_bytes()
    assert masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data).complies


def test_a_mark_on_a_field_that_is_not_there_is_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    data, rules = files
    with pytest.raises(
        UsageError, match="mark of a quasi-identifier is declared for 'AG', a field that the file does"
    ):
        masktron.mask(data, rules, tmp_path / "m.xml", quasi_identifiers=["AG"], roles={"SEX": Role.UNTOUCHED})
