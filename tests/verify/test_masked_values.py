"""What masked fields of a forged release hold: texts, digits that tell records apart, gaps, groups of all fields."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import write_rules
from masktron.errors import UsageError
from masktron.results import CheckResult

type Rows = list[list[str]]

FIELDS = ["ID", "SEX", "AGE", "WAGE", "RATE"]
ROLES = {"ID": "record-id", "SEX": "quasi-identifier"}
N = 80


def original(folder: Path, *, gaps: bool = False, wages: str = "{:.2f}") -> Path:
    """Write integers, decimals and long fractions; with gaps in AGE, in groups that are large enough."""
    generator = np.random.default_rng(4)
    rows = [
        [
            str(at),
            "fm"[at % 2],
            "" if gaps and at % 8 == 3 else str(generator.integers(16, 90)),
            wages.format(generator.integers(1000, 90_000) / 20),
            repr(float(generator.random())),
        ]
        for at in range(N)
    ]
    path = folder / "d.csv"
    path.write_text("\n".join(",".join(row) for row in [FIELDS, *rows]) + "\n")
    return path


class Release:
    """A masked file that somebody changes, with its manifest."""

    def __init__(self, folder: Path, method: str, *, gaps: bool = False, wages: str = "{:.2f}", **how: Any) -> None:
        self.data = original(folder, gaps=gaps, wages=wages)
        self.rules = write_rules(folder / "r.sch", "not(AGE != '') or AGE >= 0", "WAGE >= 0")
        self.out, self.manifest = folder / "m.csv", folder / "m.manifest.json"
        settings = {"k": 4, "roles": ROLES, "numeric": ["WAGE"], "secret": bytes(range(32)), "order": "keep"} | how
        masktron.mask(self.data, self.rules, self.out, method=method, **settings)

    def rows(self) -> Rows:
        with self.out.open(newline="") as stream:
            return [*csv.reader(stream)]

    def check(self, rows: Rows, change: Callable[[Any], object] = lambda _: None) -> CheckResult:
        """Sign other rows, and a changed manifest, and check them."""
        with self.out.open("w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)
        content = json.loads(self.manifest.read_text())
        content["output"]["sha256"] = sha256(self.out.read_bytes()).hexdigest()
        change(content)
        self.manifest.write_text(json.dumps(content))
        return masktron.check(self.out, self.rules, original=self.data, manifest=self.manifest)


def told(result: CheckResult) -> str:
    assert not result.complies
    return " ".join(map(str, result.problems))


@pytest.mark.few(4)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("wages", ["{:.2f}", "{:.4f}", "0{}", "{:g}"])
@pytest.mark.parametrize("method", ["mdav", "noise", "rank_swapping", "hierarchical", "cart", "microhybrid"])
def test_what_mask_writes_complies(tmp_path: Path, method: str, wages: str, gaps: bool) -> None:
    """However odd the texts of the original are."""
    release = Release(tmp_path, method, gaps=gaps, wages=wages)
    result = release.check(release.rows())
    assert result.complies, result.problems
    assert "how the values of 3 masked fields are written, and their gaps" in result.checked


@pytest.mark.parametrize(
    ("field", "write"),
    [
        *(("AGE", write) for write in ("0{}", "+{}", " {}", "{}.0", "{}e0", "{}.0031", "{}.")),
        *(("WAGE", write) for write in ("0{}", "{}0", "{}12345", "{}e0")),
    ],
)
@pytest.mark.parametrize("method", ["noise", "mdav"])
def test_a_number_is_written_in_one_way(tmp_path: Path, method: str, field: str, write: str) -> None:
    """Digits that say nothing of the number may say whose it is."""
    release = Release(tmp_path, method)
    rows, at = release.rows(), FIELDS.index(field)
    for row in rows[8:]:
        row[at] = write.format(row[at])
    said = f"the masked field {field} holds a number that mask does not write so, in 73 records, first in record 8"
    assert said in told(release.check(rows))


def test_long_fractions_have_the_digits_that_they_need(tmp_path: Path) -> None:
    release = Release(tmp_path, "noise")
    rows = release.rows()
    rows[5][-1] += "1"
    assert release.check(rows).complies


def group_of(rows: Rows) -> list[Any]:
    """Return rows that share an age, of four and more."""
    return next(own for one in rows[1:] if len(own := [row for row in rows[1:] if row[2:] == one[2:]]) >= 4)


def test_a_text_in_a_whole_group_is_none_of_its_values(tmp_path: Path) -> None:
    release = Release(tmp_path, "mdav", grouping="all")
    rows = release.rows()
    for row in (own := group_of(rows)):
        row[-1] = "x"
    said = f"RATE holds a text where the original has numbers, in {len(own)} records, first in record {own[0][0]}"
    assert said.replace(own[0][0], str(int(own[0][0]) + 1)) in told(release.check(rows))


def test_a_group_has_the_gaps_of_one_of_its_records(tmp_path: Path) -> None:
    release = Release(tmp_path, "mdav", gaps=True, grouping="all")
    rows = release.rows()
    for row in group_of([rows[0], *(row for row in rows[1:] if row[2])]):
        row[2] = ""
    assert "the masked field AGE has no value where all of the group have one" in told(release.check(rows))
    rows = release.rows()
    for row in rows[1:]:
        row[2] = row[2] or "40"
    assert "the masked field AGE has a value where nobody of the group has one" in told(release.check(rows))


def test_groups_of_all_fields_are_counted_in_all_fields(tmp_path: Path) -> None:
    """Each block by itself has groups of k, wherever the values of another one go."""
    release = Release(tmp_path, "mdav", grouping="all", group_size_vars=1)
    rows = release.rows()
    other = next(row for row in rows[2:] if row[2] != rows[1][2])
    rows[1][2], other[2] = other[2], rows[1][2]
    said = "the values of all masked fields are those of 1 record alone, and the manifest says that at least 4 share"
    assert said in told(release.check(rows))


def test_a_manifest_asks_for_what_it_leaves_out(tmp_path: Path) -> None:
    release = Release(tmp_path, "noise")
    rows = release.rows()

    def excluded(content: Any) -> None:
        content["result"]["excluded"] = [1]

    with pytest.raises(UsageError, match="neither 'invalid' nor 'rare_units' of its 'config' asks for that"):
        release.check([rows[0], *rows[2:]], excluded)


def test_a_manifest_masks_or_treats_something(tmp_path: Path) -> None:
    release = Release(tmp_path, "mdav")

    def untouched(content: Any) -> None:
        for one in content["plan"]["fields"]:
            one["role"] = "untouched" if one["role"] == "confidential" else one["role"]
        content["result"]["blocks"] = []

    with pytest.raises(UsageError, match="it has no masked field, and its 'treatments' are empty"):
        release.check([line.split(",") for line in release.data.read_text().splitlines()], untouched)
