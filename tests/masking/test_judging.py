"""Prototypes of many groups are judged over columns as the engines judge them one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cli_runner import write_data, write_rules
from masktron.config import Config
from masktron.jobs.job import open_job
from masktron.masking import judging
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging, RecordRules, Written
from masktron.plan import Block, make_plan
from masktron.roles import resolve_roles
from masktron.settle.decimals import Decimals
from masktron.settle.grid import Grid
from masktron.sources.xml.microdata import read_records


def judge_of(
    folder: Path, rows: list[dict[str, object]], *tests: str, binding: str = ""
) -> tuple[Judging, Block, RecordRules]:
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests, binding=binding)
    job = open_job(data, rules)
    records = read_records(data, job.source.layout)
    plan = make_plan(job.edits, resolve_roles(records, Config(k=2)), Config(k=2))
    rules_of = MaskingInputs.of(records, plan, job.edits, job.rulebook, data).rules
    (block,) = (block for partition in plan.partitions for block in partition.blocks if block.checks)
    return Judging(rules_of, block), block, rules_of


ROWS: list[dict[str, object]] = [{"A": 10 * i, "B": 5 * i, "T": 15 * i, "D": f"{i}.14"} for i in range(12)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Small tests take the way of large files."""

    def use() -> None:
        monkeypatch.setattr(judging, "MANY", 1)
        monkeypatch.setattr(judging, "PART", 7)
        monkeypatch.setattr(judging, "TREE_FROM", 1)

    return use


def numbers(values: NDArray[np.int64], places: int) -> Decimals:
    return Decimals(values, np.full(values.shape, places), np.ones(values.shape, dtype=np.bool_))


@pytest.mark.parametrize("binding", ["", "xslt2"])
def test_columns_say_what_the_engine_says(tmp_path: Path, large: Callable[[], None], binding: str) -> None:
    tests = ("number(A) + number(B) = number(T)", "number(D) <= number(T) or number(A) = 0")
    own, block, rules_of = judge_of(tmp_path, ROWS, *tests, binding=binding)
    rng = np.random.default_rng(3)
    count = 60
    a, b = rng.integers(0, 40, (2, count))
    total = a + b + (rng.random(count) < 0.4)
    decimals = numbers(rng.integers(0, 9000, count), 2)
    made: dict[str, Written] = {
        "A": numbers(a, 0).spelled(Grid(0)),
        "B": np.array([str(value) for value in b.tolist()], dtype=np.object_),
        "T": numbers(total, 0).spelled(Grid(0)),
        "D": decimals.spelled(Grid(2)),
    }
    assert set(block.variables) == set(made)
    records = rng.integers(0, rules_of.file.n, count)
    slow = own.many(made, records)
    assert 5 < slow.sum() < count - 5
    large()
    fast, *_ = judge_of(tmp_path, ROWS, *tests, binding=binding)
    asked: list[int] = []
    plain = fast._slowly

    def counted(made: dict[str, Written], records: NDArray[np.intp]) -> NDArray[np.bool_]:
        asked.append(len(records))
        return plain(made, records)

    fast._slowly = counted  # type: ignore[assignment, method-assign]
    assert (fast.many(made, records) == slow).all()
    assert fast._program is not None
    # in XPath 1.0, Saxon has a word where decimals are read in two ways; nothing else goes to an engine
    unlike = slow & ~decimals.alike() if not binding else np.zeros(count, dtype=np.bool_)
    assert sum(asked) == unlike.sum()


def test_missing_and_empty_lexemes_are_what_they_are(tmp_path: Path, large: Callable[[], None]) -> None:
    tests = ("not(A) or number(A) >= 0", "B != '' or not(B)")
    made: dict[str, Written] = {
        "A": np.array(["1", None, "-1", "", "x", "1"] * 4, dtype=np.object_),
        "B": np.array(["2", None, "2", "", "ü", "2"] * 4, dtype=np.object_),
        "T": None,
        "D": "",
    }
    records = np.zeros(24, dtype=np.intp)
    results = []
    for turn in range(2):
        own, block, _ = judge_of(tmp_path, ROWS, " and ".join(f"({test})" for test in tests))
        results.append(own.many({name: made[name] for name in block.variables}, records))
        if not turn:
            large()
    assert (results[0] == results[1]).all()
    assert results[0].tolist() == [True, True, False, False, False, True] * 4


@pytest.mark.parametrize("binding", ["", "xslt2"])
def test_records_without_a_character_are_judged_too(tmp_path: Path, large: Callable[[], None], binding: str) -> None:
    large()
    rows: list[dict[str, object]] = [{"A": 1, "B": 2}] * 6
    own, block, _ = judge_of(tmp_path, rows, "string(A) = '' or number(A) < number(B)", binding=binding)
    assert own.many(dict.fromkeys(block.variables, ""), np.arange(3)).all()
    assert own._program is not None


def test_fields_that_are_not_masked_are_those_of_the_record(tmp_path: Path, large: Callable[[], None]) -> None:
    data, rules = write_data(tmp_path / "d.xml", ROWS), write_rules(tmp_path / "r.sch", "number(A) <= number(T)")
    job = open_job(data, rules)
    records = read_records(data, job.source.layout)
    config = Config(k=2, roles={"T": "untouched"})
    plan = make_plan(job.edits, resolve_roles(records, config), config)
    rules_of = MaskingInputs.of(records, plan, job.edits, job.rulebook, data).rules
    (block,) = (block for partition in plan.partitions for block in partition.blocks if block.checks)
    large()
    tops = records.columns["T"].values
    which = np.arange(rules_of.file.n)
    made: dict[str, Written] = dict.fromkeys(block.variables, "75")
    assert (Judging(rules_of, block).many(made, which) == (tops >= 75)).all()


def test_what_columns_cannot_evaluate_goes_to_the_engine(tmp_path: Path, large: Callable[[], None]) -> None:
    large()
    own, block, _ = judge_of(tmp_path, ROWS, "number(A) <= 50 or format-number(number(A), '0') = 'x'")
    made: dict[str, Written] = {name: np.array(["50", "51"], dtype=np.object_) for name in block.variables}
    assert own._program is None
    assert own.many(made, np.zeros(2, dtype=np.intp)).tolist() == [True, False]
