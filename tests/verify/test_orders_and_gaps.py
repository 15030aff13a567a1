"""What a forged manifest says of the order of records and of suppressed cells is held against the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import write_rules
from masktron.results import CheckResult
from plain_rows import read_rows

ROLES = {"AGE": "quasi-identifier", "SEX": "quasi-identifier", "TOWN": "quasi-identifier"}
ROWS = [f"{20 + at % 7},{at % 2},{'nsew'[at % 4]},{at}" for at in range(60)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data = tmp_path / "d.csv"
    data.write_text("\n".join(["AGE,SEX,TOWN,A", *ROWS, "70,1,n,7"]) + "\n")
    return data, write_rules(tmp_path / "r.sch", "A >= 0")


@pytest.fixture
def released(tmp_path: Path, files: tuple[Path, Path]) -> Path:
    how: dict[str, Any] = {"k": 3, "roles": ROLES, "pram": {"SEX": "change:0.2"}, "keys": {"k": 3}}
    masktron.mask(*files, tmp_path / "m.csv", secret=bytes(range(32)), **how)
    return tmp_path / "m.csv"


def forged(
    files: tuple[Path, Path], released: Path, cells: Callable[[str], str], manifest: Callable[[Any], object]
) -> CheckResult:
    """Change the release and its manifest, which has the hash of what it describes, and check them."""
    place = released.with_name("m.manifest.json")
    content = json.loads(place.read_text())
    released.write_text(cells(released.read_text()))
    manifest(content)
    content["output"]["sha256"] = sha256(released.read_bytes()).hexdigest()
    place.write_text(json.dumps(content))
    return masktron.check(released, files[1], manifest=place, original=files[0])


def told(result: CheckResult) -> str:
    return " ".join(map(str, result.problems))


def test_what_is_released_complies(files: tuple[Path, Path], released: Path) -> None:
    assert forged(files, released, str, lambda _: None).complies


@pytest.mark.parametrize("order", [[], [0]])
def test_an_order_of_other_records_hides_nothing(files: tuple[Path, Path], released: Path, order: list[int]) -> None:
    result = forged(
        files, released, lambda text: text.replace(",e,", ",n,"), lambda content: content.update(order=order)
    )
    assert f"the manifest has the order of {len(order)} record" in told(result)
    assert any("what was done to SEX" in str(one) for one in result.not_checked)


def test_cells_that_are_missing_are_those_that_were_suppressed(files: tuple[Path, Path], released: Path) -> None:
    def gone(text: str) -> str:
        head, *lines = text.splitlines()
        kept = next(at for at, line in enumerate(lines) if line[0] != ",")
        without = (line if at == kept else f",{line.partition(',')[2]}" for at, line in enumerate(lines))
        return "\n".join([head, *without]) + "\n"

    assert any(not row["AGE"] for row in read_rows(released)), "some are suppressed"
    assert "of the suppressed field AGE, 60 cells are missing" in told(forged(files, released, gone, lambda _: None))


def test_numbers_of_suppressed_cells_are_numbers_of_keys(files: tuple[Path, Path], released: Path) -> None:
    def other(content: Any) -> None:
        next(one for one in content["treatments"] if one["kind"] == "suppression")["cells"]["AGE"] = [0, 61]

    assert "of the suppressed field AGE" in told(forged(files, released, str, other))
