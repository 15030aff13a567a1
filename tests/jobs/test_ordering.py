"""The order of the written records: random where it could tell who is who, and said in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.rulebook.locality import in_order_by
from refusals import refused

type Rows = list[dict[str, object]]
RANDOM = "the records stand in random order"
KEPT = "the records stand in the order of the original"


def rows(n: int = 30) -> Rows:
    amounts = np.random.default_rng(5).integers(0, 1000, size=n).tolist()
    return [{"Id": at + 1, "A": amount} for at, amount in enumerate(amounts)]


def said(folder: Path, records: Rows, *tests: str, **settings: Any) -> tuple[str, bool]:
    """Return the sentence on the order, and whether the file has another one."""
    data, rules = write_data(folder / "d.xml", records), write_rules(folder / "r.sch", *(tests or ("A >= 0",)))
    result = masktron.mask(data, rules, folder / "m.xml", k=3, **settings)
    (told,) = (note for note in result.notes if note.startswith("the records stand"))
    assert (result.order is not None) == told.startswith(RANDOM)
    return told, result.order is not None and not np.array_equal(result.order, np.arange(len(records)))


UNTOUCHED = {"roles": {"Id": "untouched"}}


def test_records_leave_in_random_order_by_default(tmp_path: Path) -> None:
    told, other = said(tmp_path, [{"A": row["A"]} for row in rows()])
    assert other
    assert "could tell who is who" in told


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "spelled",
    [
        lambda at: at + 1,
        lambda at: 1000 - at,
        lambda at: f"H{at:03d}",
        lambda at: f"H{at}",
        lambda at: f"{at / 8}",
    ],
)
def test_the_order_of_a_written_key_tells_nothing_more(tmp_path: Path, spelled: Any) -> None:
    records = [{**row, "Id": spelled(at)} for at, row in enumerate(rows())]
    told, _ = said(tmp_path, records, **UNTOUCHED)
    assert told.startswith(KEPT)
    assert "tells nothing that Id does not tell" in told
    assert said(tmp_path, records, **UNTOUCHED, order="random")[1]


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        ({3: 2}, UNTOUCHED),  # twice the same
        ({3: 99}, UNTOUCHED),  # out of order
        ({3: None}, UNTOUCHED),  # missing
        ({}, {"roles": {"Id": "identifier"}}),  # not written
        ({}, {}),  # masked
    ],
)
def test_any_other_order_tells_something(tmp_path: Path, change: dict[int, object], settings: dict[str, Any]) -> None:
    records = [{**row, "Id": change.get(at, row["Id"])} for at, row in enumerate(rows())]
    assert said(tmp_path, records, **settings)[1]


def test_whoever_keeps_the_order_is_told_what_it_gives_away(tmp_path: Path, run: Runner) -> None:
    told, _ = said(tmp_path, [{"A": row["A"]} for row in rows()], order="keep")
    assert told.startswith(f"{KEPT}, as was asked for: whoever has another file of these records in that order")
    command = ("mask", tmp_path / "d.xml", "--rules", tmp_path / "r.sch", "--out", tmp_path / "m.xml", "--keep-order")
    assert "whoever has another file" in run(*command).out
    both = run(*command, "--shuffle")
    both.refuses(2, "given-twice", one="--shuffle", other="--keep-order")


READING = "not(preceding-sibling::Record) or DAY >= preceding-sibling::Record[1]/DAY"


def test_a_rule_that_reads_the_order_keeps_it(tmp_path: Path) -> None:
    """Days in the order of arrival, several a day: shuffled the rule fails, and the file does not appear."""
    records: Rows = [{"DAY": 1 + at // 3, "A": row["A"]} for at, row in enumerate(rows())]
    roles = {"roles": {"DAY": "untouched"}}
    told, _ = said(tmp_path, records, READING, **roles)
    assert told.startswith(f"{KEPT}, since the rule R1 reads it ([1])")
    assert "whoever has another file of these records in that order" in told
    (tmp_path / "m.xml").unlink()
    with refused(masktron.InfeasibleError, "rules-not-kept", rules=("R1",)):
        said(tmp_path, records, READING, **roles, order="random")
    assert not (tmp_path / "m.xml").exists()


@pytest.mark.parametrize(
    "test",
    [
        "not(Id = preceding-sibling::Record/Id)",
        "count(//Record[Id = current()/Id]) = 1",
        "count(//Record) = 30",
        "sum(//Record/A) >= 0",
    ],
)
def test_keys_counts_and_totals_do_not_read_the_order(tmp_path: Path, test: str) -> None:
    records = list(reversed(rows()))
    records[0], records[1] = records[1], records[0]
    assert said(tmp_path, records, test, "A >= 0", **UNTOUCHED)[1]


def test_decimals_are_summed_in_their_order(tmp_path: Path) -> None:
    """0.1 + 0.2 + 0.3 is another double than 0.3 + 0.2 + 0.1."""
    records: Rows = [{"A": row["A"], "W": at * 7 % 10 / 10} for at, row in enumerate(rows())]
    total = 0.0
    for row in records:
        total += float(str(row["W"]))
    told, _ = said(tmp_path, records, f"sum(//Record/W) = {total!r}", roles={"W": "untouched"})
    assert told.startswith(f"{KEPT}, since the rule R1 sums W, and decimals")
    assert said(tmp_path, records, f"sum(//Record/W) >= {total - 1!r}", roles={"W": "untouched"})[1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Date >= preceding-sibling::Record[1]/Date", ("[1]", "preceding-sibling")),
        ("//Record[position() = last()]/A", ("position()", "last()")),
        ("//Record/A << .", ("<<",)),
        ("head(//Record)/A = 1", ("head()",)),
        ("last = 3 and position = 2", ()),
        ("//Record[A = 1]/B", ()),
        ("not XPath (", ()),
    ],
)
def test_what_reads_the_order(text: str, found: tuple[str, ...]) -> None:
    assert in_order_by(text) == found
