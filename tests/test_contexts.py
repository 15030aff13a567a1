"""Groups whose records differ in unmasked fields are judged in all of their contexts, many at once."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import masktron
from cli_runner import write_data, write_rules
from masktron.config import Config
from masktron.grouping.records import Grouping
from masktron.jobs.common import open_job
from masktron.masking import contexts, prototypes
from masktron.masking.contexts import GroupContexts
from masktron.masking.views import Views
from masktron.plan import make_plan
from masktron.read.microdata import read_records
from masktron.roles import resolve_roles


def capped(seed: int, n: int = 60) -> list[dict[str, object]]:
    """A <= CAP, an order between a masked and an unmasked field, and a sum."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(n):
        a, b = draw.randint(0, 60), draw.randint(0, 20)
        rows.append({"A": a, "B": b, "T": a + b, "CAP": a + draw.choice([0, 1, 5, 40]), "Z": draw.choice("xy")})
    return rows


RULES = ("A + B = T", "A <= CAP", "Z = 'x' or B >= 0")


@pytest.mark.parametrize("few", [0, 64])
def test_the_records_of_a_group_stand_for_all_of_its_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(contexts, "FEW", few)
    config = Config(k=4, roles={"CAP": "untouched", "Z": "untouched"})
    job = open_job(write_data(tmp_path / "d.xml", capped(1)), write_rules(tmp_path / "r.sch", *RULES))
    records = read_records(job.data, job.layout)
    plan = make_plan(job.edits, resolve_roles(records, config), config)
    views = Views(records, plan, job.edits, job.rulebook, job.data)
    (block,) = (one for part in plan.partitions for one in part.blocks if {"CAP", "Z"} <= {*one.conditions})
    labels = np.random.default_rng(2).permutation(np.arange(60) // 4)
    grouping = Grouping(labels, np.zeros(15, dtype=np.bool_), np.zeros(15, dtype=np.bool_))
    own = GroupContexts(views, block, grouping, {"CAP"})
    assert own.loose == {"CAP"}, "it differs inside of groups"
    lexemes = [views.texts[name] for name in block.conditions]
    asked = np.array([3, 3, 0, 14])
    which, others = own.others(asked)
    for position, group in enumerate(asked.tolist()):
        members = np.flatnonzero(labels == group)
        assert own.first[group] == members[0]
        standing = [members[0], *others[which == position].tolist()]
        assert set(standing) <= {*members.tolist()}
        seen = [tuple(column[at] for column in lexemes) for at in standing]
        assert len(seen) == len({*seen}) and {*seen} == {tuple(column[at] for column in lexemes) for at in members}
    zs = [{views.texts["Z"][at] for at in np.flatnonzero(labels == group)} for group in range(15)]
    assert own.alike.tolist() == [len(z) == 1 for z in zs]
    single = GroupContexts(views, block, Grouping(np.arange(60), np.zeros(60, bool), np.zeros(60, bool)), {"CAP"})
    assert single.loose == ({"CAP"} if few == 0 else set()), "few values are looked at apart"
    assert len(single.others(np.arange(60))[1]) == 0


@pytest.mark.parametrize("seed", range(6))
def test_groups_lose_no_more_together_than_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    data, rules = write_data(tmp_path / "d.xml", capped(seed, 120)), write_rules(tmp_path / "r.sch", *RULES)
    asked = {"k": 4, "roles": {"CAP": "untouched", "Z": "untouched"}, "max_observed_share": 100}
    together = masktron.mask(data, rules, tmp_path / "a.xml", manifest=tmp_path / "a.json", **asked)
    assert together.violations == 0
    monkeypatch.setattr(prototypes.Beginning, "aggregates", lambda *_: None)
    alone = masktron.mask(data, rules, tmp_path / "b.xml", manifest=tmp_path / "b.json", **asked)
    assert alone.violations == 0
    assert together.information_loss == pytest.approx(alone.information_loss, rel=0.02)
    assert [block.copied for block in together.blocks] == [block.copied for block in alone.blocks]


def test_targets_move_to_the_tightest_limit_of_their_group(tmp_path: Path) -> None:
    rows = [{"A": a, "B": a, "CAP": cap, "LOW": low} for a, cap, low in [(5, 9, 1), (7, 8, 4), (2, 5, 2), (9, 40, 7)]]
    tests = ("2 * A <= CAP + 10", "B >= LOW - 1", "A + B <= CAP + 100")
    config = Config(k=2, roles={"CAP": "untouched", "LOW": "untouched"})
    job = open_job(write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *tests))
    records = read_records(job.data, job.layout)
    plan = make_plan(job.edits, resolve_roles(records, config), config)
    views = Views(records, plan, job.edits, job.rulebook, job.data)
    (block,) = (one for part in plan.partitions for one in part.blocks)
    grouping = Grouping(np.array([0, 0, 1, 1]), np.zeros(2, bool), np.zeros(2, bool))
    own = GroupContexts(views, block, grouping, {"CAP", "LOW"})
    targets = {"A": np.array([20.0, 1.0]), "B": np.array([0.0, 50.0])}
    moved = own.within_limits(np.array([0, 1]), targets)
    assert {name: values.tolist() for name, values in moved.items()} == {"A": [9.0, 1.0], "B": [3.0, 50.0]}
    alone = own.within_limits(np.array([1]), {"A": np.array([20.0]), "B": np.array([0.0])})
    assert {name: values.tolist() for name, values in alone.items()} == {"A": [7.5], "B": [6.0]}
