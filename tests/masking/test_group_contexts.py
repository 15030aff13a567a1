"""Groups whose records differ in unmasked fields are judged in all of their contexts, many at once."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import masktron
from cli_runner import write_data, write_rules
from examples import parts
from masktron.config import Config
from masktron.grouping.record_groups import RecordGroups
from masktron.jobs.job import open_job
from masktron.masking.block import joint_search, patterns
from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.block.joint_search import GroupContexts
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.plan import Block, make_plan
from masktron.roles import resolve_roles
from masktron.sources.xml.microdata import read_records


def capped(seed: int, n: int = 60) -> list[dict[str, object]]:
    """A <= CAP, an order between a masked and an unmasked field, and a sum."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(n):
        a, b = draw.randint(0, 60), draw.randint(0, 20)
        rows.append({"A": a, "B": b, "T": a + b, "CAP": a + draw.choice([0, 1, 5, 40]), "Z": draw.choice("xy")})
    return rows


RULES = ("A + B = T", "A <= CAP", "Z = 'x' or B >= 0")


@pytest.mark.full
@pytest.mark.parametrize("seed", parts(range(6), 1))
def test_groups_lose_no_more_together_than_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    data, rules = write_data(tmp_path / "d.xml", capped(seed, 120)), write_rules(tmp_path / "r.sch", *RULES)
    asked = {"k": 4, "roles": {"CAP": "untouched", "Z": "untouched"}, "max_observed_share": 100}
    together = masktron.mask(data, rules, tmp_path / "a.xml", manifest=tmp_path / "a.json", **asked)
    assert together.violations == 0
    monkeypatch.setattr(joint_search.JointSearch, "aggregates", lambda *_: None)
    alone = masktron.mask(data, rules, tmp_path / "b.xml", manifest=tmp_path / "b.json", **asked)
    assert alone.violations == 0
    assert together.information_loss == pytest.approx(alone.information_loss, rel=0.02)
    assert [block.copied for block in together.blocks] == [block.copied for block in alone.blocks]


def inputs_of(
    tmp_path: Path, rows: list[dict[str, object]], tests: tuple[str, ...], *untouched: str
) -> tuple[MaskingInputs, Block]:
    config = Config(k=2, roles=dict.fromkeys(untouched, "untouched"))
    job = open_job(write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *tests))
    records = read_records(job.source.path, job.source.layout)
    plan = make_plan(job.edits, resolve_roles(records, config), config)
    inputs = MaskingInputs.of(records, plan, job.edits, job.rulebook, job.source.path)
    (block,) = (one for part in plan.partitions for one in part.blocks if one.checks)
    return inputs, block


def test_records_are_of_one_kind_where_unmasked_fields_say_the_same(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows: list[dict[str, object]] = [
        {"A": draw.randint(0, 50), "Z": draw.choice("vwxyz"), "N": n, "CAP": 100 + n, "F": 1 + n % 2}
        for n in range(100)
    ]
    tests = ("Z = 'x' or A >= 0", "not(N > 50) or A <= 60", "A <= CAP", "A * F <= 300")
    inputs, block = inputs_of(tmp_path, rows, tests, "Z", "N", "CAP", "F")
    grouping = RecordGroups(np.arange(100), np.zeros(100, bool), np.zeros(100, bool))
    own = GroupContexts(inputs.rules, block, grouping, {"CAP"})
    assert own.loose == {"CAP"}
    kinds = np.stack(own.kinds(np.arange(100)), axis=1)
    said = [(row["Z"] == "x", int(str(row["N"])) > 50, row["F"]) for row in rows]
    for one in range(100):
        for two in range(100):
            assert (kinds[one] == kinds[two]).all() == (said[one] == said[two])


@pytest.mark.full
def test_records_on_their_own_leave_by_projections_and_not_by_hunts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(11)
    rows: list[dict[str, object]] = []
    for n in range(150):
        a, b = draw.randint(0, 60), draw.randint(0, 40)
        rows.append({"A": a, "B": b, "T": a + b, "CAP": a + 7 * n, "FLOOR": b - n})
    tests = ("A + B = T", "A <= CAP", "B >= FLOOR", "A >= 0", "B = 0 or B > 2", "A - B < 45 or T > 70")
    rows = [row for row in rows if row["B"] not in {1, 2} and (int(str(row["A"])) - int(str(row["B"])) < 45)]
    inputs, block = inputs_of(tmp_path, rows, tests, "CAP", "FLOOR")
    n = len(rows)
    noise = np.random.default_rng(3).normal(0, 15, (n, 3))
    moved = inputs.file.coded(block.variables) + noise
    monkeypatch.setattr(patterns, "targets", lambda *_: moved)
    grouping = RecordGroups(np.arange(n), np.zeros(n, bool), np.zeros(n, bool))
    searches = GroupSearches(inputs, block, grouping)
    judging = Judging(inputs.rules, block)
    joint = joint_search.JointSearch(inputs.rules, block, grouping, judging, searches.aggregates.pooled)
    joint.aggregates(searches.patterns, searches.of(0))
    table = joint.table
    assert table.done.all()
    assert {*table.exits.tolist()} >= {"rounded", "projected"}
    kept = dict(zip(block.variables, table.numbers.T, strict=True))
    a, b, t = kept["A"], kept["B"], kept["T"]
    cap, floor = (inputs.file.seen[name] for name in ("CAP", "FLOOR"))
    assert (a + b == t).all() and (a <= cap).all() and (b >= floor).all() and (a >= 0).all()
    assert ((b == 0) | (b > 2)).all() and ((a - b < 45) | (t > 70)).all()
    scale = np.array([searches.of(0).search.scale[name] for name in block.variables])
    far = np.square((table.numbers - moved) / scale).sum(axis=1)
    searched = [next(searches.candidates(group)) for group in np.flatnonzero(table.exits == "projected").tolist()]
    points = np.array([[float(candidate.lexemes[name] or "") for name in block.variables] for candidate in searched])
    alone = np.square((points - moved[table.exits == "projected"]) / scale).sum(axis=1)
    assert far[table.exits == "projected"].mean() <= 1.05 * alone.mean(), "searches find nothing that is nearer"
