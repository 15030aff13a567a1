"""The tests notice changes of the code, and go on noticing them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

import masktron
from paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import golden
import mutants

NAMES = ["a", "b", "c", "d"]
KEPT = {"equivalent": {"d": "the order does not matter"}, "survivors": ["c"], "killed": ["a", "b"]}


def test_a_short_masking_keeps_rules_and_k(tmp_path: Path) -> None:
    """Every mutant is tried on this, too: pandas alone reads what was written."""
    data, rules, out = (tmp_path / name for name in ("people.csv", "rules.sch", "released.csv"))
    golden.people().to_csv(data, index=False)
    rules.write_text(golden.FLAT.format(record="record", test=golden.TESTS["balance"]))
    keys, numbers = ["region", "sex", "job"], ["age", "wage", "other", "income"]
    roles = {**dict.fromkeys(keys, "quasi-identifier"), "weight": "weight"}
    masktron.mask(data, rules, out, k=3, secret=golden.SECRET, key_k=8, roles=roles, numeric=numbers)
    released = pd.read_csv(out, keep_default_na=False)
    assert len(released) == golden.RECORDS
    assert (released["wage"] + released["other"] == released["income"]).all()
    assert (released["other"] >= 0).all()
    assert ((released["age"] >= 20) | (released["wage"] <= 3000)).all()
    assert released.groupby(numbers).size().min() >= 3
    assert released.groupby(keys).size().min() >= 8
    assert masktron.check(out, rules, original=data, manifest=tmp_path / "released.manifest.json").exit_code == 0


def test_each_area_has_its_share_of_mutants() -> None:
    found = mutants.mutants()
    assert len({one.name for one in found}) == len(found) == mutants.TOTAL
    for area, (modules, tests) in mutants.AREAS.items():
        assert sum(one.area == area for one in found) >= 20, area
        for pattern in (*(str(mutants.PACKAGE / pattern) for pattern in modules), *tests):
            assert list(ROOT.glob(pattern)), pattern
    for one in found:
        assert one.code != (ROOT / one.module).read_bytes(), one.name
        compile(one.code, one.name, "exec")


def test_a_mutant_that_survives_anew_is_said() -> None:
    killed = dict.fromkeys(NAMES, True)
    assert mutants.falls(KEPT, NAMES, killed | {"c": False, "d": False}) == []
    assert mutants.falls(KEPT, NAMES, killed | {"b": False}) == ["no test notices this change: b"]
    assert mutants.falls(KEPT, NAMES, {"e": False}) == ["no test notices this change: e"]
    assert mutants.falls(KEPT, NAMES[:-1], {}) == ["no such change is selected: d"]


def test_what_is_kept_is_of_selected_mutants() -> None:
    kept, names = json.loads(mutants.KEPT.read_text()), [one.name for one in mutants.mutants()]
    assert mutants.falls(kept, names, {}) == []
    assert mutants.kept_after(kept, names, {}) == kept
    assert len(kept["killed"]) > len(kept["survivors"]) > 0


def test_what_was_not_run_keeps_its_fate() -> None:
    assert mutants.kept_after(KEPT, NAMES, {}) == KEPT
    assert mutants.kept_after(KEPT, NAMES, {"a": False}) == {**KEPT, "killed": ["b"], "survivors": ["a", "c"]}
    assert mutants.kept_after(KEPT, NAMES, {"c": True}) == {**KEPT, "killed": ["a", "b", "c"], "survivors": []}
    assert mutants.kept_after(KEPT, NAMES[1:], {}) == {**KEPT, "killed": ["b"]}
    assert mutants.share(KEPT) == "2 of 3 killed (66.7%)"


@pytest.mark.full
def test_mutants_that_were_killed_are_killed_again() -> None:
    found = mutants.mutants()
    fates = {one.name: killed for one, killed in mutants.run(mutants.sample(found, 12), jobs=2)}
    assert mutants.falls(json.loads(mutants.KEPT.read_text()), [one.name for one in found], fates) == []
