"""What rules admit in records: each candidate in each record against the rules in Python, and what is not asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cli_runner import write_rules
from made_columns import column_of_cells
from masktron.jobs.job import open_job
from masktron.sources.dataset import Dataset
from masktron.verify.cells import hidden_records, numbered, units_of
from masktron.verify.record_rules import RecordRules
from plain_rows import write_csv

ROWS: list[dict[str, object]] = [
    {"AGE": 20 + 7 * at % 60, "STATUS": "works", "REGION": "nes"[at % 3], "A": 5 + at % 4, "B": 9} for at in range(40)
]
RULES = (
    "not(STATUS = 'retired') or AGE >= 65",
    "not(REGION = 'n' and STATUS = 'school')",
    "count(*[. = 'retired']) + count(*[. = 's']) < 2",  # it reads whatever is there
    "not(STATUS = 'school') or A >= 6",
    "B <= A",  # which no record obeys: it reads neither
    "STATUS = 'nothing'",  # let go
    "count(../Record[STATUS = 'school']) = 3",
)
CANDIDATES = [(status, region) for status in ("works", "school", "retired") for region in "nes"]


def admits(row: dict[str, object], status: str, region: str) -> bool:
    return (
        not (status == "retired" and int(str(row["AGE"])) < 65)
        and not (region == "n" and status == "school")
        and not (status == "retired" and region == "s")
        and not (status == "school" and int(str(row["A"])) < 6)
    )


def test_each_candidate_is_judged_beside_what_the_record_has(tmp_path: Path) -> None:
    job = open_job(write_csv(tmp_path / "d.csv", ROWS), write_rules(tmp_path / "r.sch", *RULES))
    rules = RecordRules(job.rulebook, job.edits, job.source.layout, job.source.document_path.absolute())
    records, names = job.source.records(), ("STATUS", "REGION")
    reading = rules.reading(names, records.columns, ("R6",))
    assert sorted(check for checks in reading.values() for check in checks) == [0, 1, 2, 3]
    meant = np.array([[admits(row, *one) for one in CANDIDATES] for row in ROWS])
    found = rules.admitted(reading, records, names, CANDIDATES)
    assert (found.sets[found.which] == meant).all()
    assert 1 < len(found.sets) < len(ROWS)
    # a field by itself, beside the other one as it is
    alone = rules.admitted(rules.reading(("STATUS",), records.columns, ("R6",)), records, ("STATUS",), [("school",)])
    assert alone.sets[alone.which].ravel().tolist() == [admits(row, "school", str(row["REGION"])) for row in ROWS]
    assert rules.admitted({}, records, names, CANDIDATES).sets.tolist() == [[True] * len(CANDIDATES)]


def test_numbers_units_and_what_is_hidden() -> None:
    was, now = column_of_cells(["a", "b", "-9", "c", None], ["-9"]), column_of_cells(["b", "", "d", "c", "x"])
    assert [one.tolist() for one in numbered([was, now])] == [[0, 1, -1, 2, -1], [1, -1, 3, 2, 4]]
    assert [one.tolist() for one in numbered([was], ("c", "z", "a"))] == [[2, 3, -1, 0, -1]]
    records = Dataset.of_columns(Path("d"), [column_of_cells(["h1", "", "h2", "h1", ""], name="H")], 5)
    assert units_of(records, "H").tolist() == [0, 1, 2, 0, 3]
    assert units_of(records, None).tolist() == [0, 1, 2, 3, 4]
    pairs = [np.array([0, 1, -1]), np.array([0, 1, 2])], [np.array([-1, 1, -1]), np.array([0, -1, 2])]
    assert hidden_records(("A", "B"), *pairs, ("B", "C")).tolist() == [False, True, False]
    assert hidden_records(("A", "B"), *pairs, ("A", "B")).tolist() == [True, True, False]
