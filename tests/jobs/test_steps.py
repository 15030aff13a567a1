"""Steps of a run: settings ask for them in one order, `explain` tells them, and each leaves a longer account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.errors import InfeasibleError
from masktron.jobs import treated_records
from masktron.jobs.job import Job
from masktron.jobs.levels import levels_of
from masktron.jobs.opening import open_original
from masktron.jobs.run import Run
from masktron.jobs.steps import chain_of, take_step
from masktron.progress import no_progress
from masktron.results.explain import StepKind
from masktron.settings_file import config_from
from masktron.step_kinds import ALL
from paths import SCHEMAS
from refusals import refused
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
    levels, before = levels_of(original), original.records
    run = original
    for at, (kind, fields) in enumerate(chain_of(original.config).items()):
        levels = take_step(kind, levels)
        done = levels.run
        assert [one.kind for one in done.account.treatments] == KINDS[: at + 1]
        changed = [name for name, column in done.records.columns.items() if column is not run.records.columns[name]]
        assert changed
        assert {*changed} <= {*fields}
        assert done.original is original
        run = done
    assert original.records is before
    assert not original.account.treatments
    assert len(run.account.draws) == len(KINDS)


def test_draws_depend_on_the_steps_before_them(files: tuple[Path, Path]) -> None:
    original = open_original(*files, config_from(SETTINGS), no_progress)
    origins = [original.origin]
    levels = levels_of(original)
    for kind in chain_of(original.config):
        levels = take_step(kind, levels)
        origins.append(levels.run.origin)
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


RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="record">
<assert id="own" test="a &gt;= b">a</assert>
<assert id="read" test="sex != 'x' or a &gt;= 0">sex</assert>
<assert id="soft" test="a &gt; b + 10" role="warning">a</assert>
<assert id="all" test="count(//record) &gt; count(//record[a = 1])">all</assert>
</rule></pattern>
<pattern><rule context="record[sex = 1]"><assert id="some" test="a &gt;= 0">a</assert></rule></pattern>
</schema>"""


def test_rules_that_no_step_can_have_changed_are_asked_once(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that read a changed field, several records or a context with a condition are asked again."""
    files[1].write_text(RULES)
    found: list[set[str]] = []
    settled = treated_records._settled

    def looking(run: Run, job: Job) -> frozenset[int]:
        indices = settled(run, job)
        found.append({job.rulebook.checks[index].id for index in indices})
        return indices

    settings = {name: SETTINGS[name] for name in ("k", "pram", "quasi_identifiers", "roles", "nominal", "secret")}
    released = []
    for own in (looking, lambda *_: frozenset()):
        monkeypatch.setattr(treated_records, "_settled", own)
        result = masktron.mask(*files, tmp_path / "m.csv", config=config_from(settings))
        released.append(((tmp_path / "m.csv").read_bytes(), result.as_dict()))
    assert found == [{"own", "soft"}]
    assert released[0] == released[1]
    assert "soft" in result.allowed
    monkeypatch.setattr(treated_records, "_settled", looking)
    files[0].write_text(files[0].read_text() + "30,n,1,1,5\n")
    masktron.mask(*files, tmp_path / "m.csv", config=config_from({**settings, "invalid": "exclude"}))
    assert found[-1] == set(), "where records were left out, where rules fire is another number"


def test_what_a_broken_rule_reads_says_which_step_is_to_blame(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """Several steps are judged together, and the last of them may have nothing to do with it."""
    ones = sum(row.split(",")[2] == "1" for row in ROWS)
    files[1].write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="/*">'
        f'<assert id="ones" test="count(//Record[sex = 1]) = {ones}">ones</assert></rule></pattern></schema>'
    )
    settings = {**SETTINGS, "key_k": None, "recode": {}, "quasi_identifiers": ("region", "sex")}
    with refused(InfeasibleError, "steps-break-rules", rules=("ones",), fields=("sex",)):
        masktron.mask(*files, tmp_path / "m.csv", config=config_from(settings))


def test_each_kind_of_step_is_in_the_schemas() -> None:
    kinds = {one.kind for one in ALL}
    assert {*get_args(StepKind.__value__)} == {"units", *kinds, "masking"}
    treatments = json.loads((SCHEMAS / "manifest.schema.json").read_text())["properties"]["treatments"]["items"]
    assert {one["properties"]["kind"]["const"] for one in treatments["oneOf"]} == kinds
