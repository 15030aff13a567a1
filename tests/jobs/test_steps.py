"""Steps of a run: settings ask for them in one order, `explain` tells them, and each leaves a longer account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.jobs.opening import open_original
from masktron.jobs.steps import chain_of
from masktron.progress import no_progress
from masktron.settings_file import config_from
from schema_files import conforms

ROWS = [f"{20 + at % 30},{'nsew'[at % 4]},{at % 2},{10 * at},{3 * at}" for at in range(60)]
SETTINGS = {
    "k": 3,
    "key_k": 3,
    "recode": {"age": "width:10"},
    "swap": {"regions": ("region",), "keys": ("sex",), "similar": ("sex",)},
    "pram": {"sex": "change:0.1"},
    "quasi_identifiers": ("age", "region", "sex"),
    "roles": {"age": "untouched", "region": "untouched", "sex": "untouched"},
    "nominal": ("region", "sex"),
    "secret": bytes(range(32)),
}
KINDS = ["recoding", "pram", "swapping", "suppression"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data = tmp_path / "d.csv"
    data.write_text("\n".join(["age,region,sex,a,b", *ROWS]) + "\n")
    return data, write_rules(tmp_path / "r.sch", "a >= b")


def test_each_step_leaves_an_account_of_itself_and_the_original_as_it_was(files: tuple[Path, Path]) -> None:
    original = open_original(*files, config_from(SETTINGS), no_progress)
    run, before = original, original.records
    for at, step in enumerate(chain_of(original.config)):
        done = step.apply(run)
        assert [one.kind for one in done.account.treatments] == KINDS[: at + 1]
        changed = [name for name, column in done.records.columns.items() if column is not run.records.columns[name]]
        assert {*changed} <= {*step.fields}
        assert done.original is original
        run = done
    assert original.records is before
    assert not original.account.treatments
    assert len(run.account.draws) == len(KINDS)


def test_draws_depend_on_the_steps_before_them(files: tuple[Path, Path]) -> None:
    original = open_original(*files, config_from(SETTINGS), no_progress)
    origins = [original.origin]
    run = original
    for step in chain_of(original.config):
        run = step.apply(run)
        origins.append(run.origin)
    assert len({json.dumps(one.steps, default=str) for one in origins}) == len(origins)
    assert len({one.records for one in origins}) == 1


def test_explain_tells_them_in_their_order(tmp_path: Path, files: tuple[Path, Path], run: Runner) -> None:
    found = masktron.explain(files[1], files[0], config=config_from(SETTINGS))
    assert [one.kind for one in found.steps] == [*KINDS, "masking"]
    assert found.steps[-1].fields == ("a", "b")
    conforms(found.as_dict(), "explain")
    (tmp_path / "own.toml").write_text('[roles]\nage = "untouched"\n[recode]\nage = "width:10"\n')
    told = run("explain", files[0], "--rules", files[1], "--config", tmp_path / "own.toml").out
    assert "steps: recode age; mask " in " ".join(told.split())
