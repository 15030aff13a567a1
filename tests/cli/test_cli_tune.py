"""`masktron tune` as a user meets it, and `mask` with the settings that it wrote."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from cli_runner import Runner
from masktron.cli.tune import _exit, _going_on_told
from masktron.jobs.tune import FOLDER
from masktron.results import TuneCandidate, TuneResult
from paths import ROOT
from tuned_files import write_pair


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.chdir(tmp_path)
    return Runner(capsys)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_pair(tmp_path, 50, suffix=".csv")


def tune(pair: tuple[Path, Path], *more: object) -> list[object]:
    return [*("tune", pair[0], "--rules", pair[1], "--out", "out", "--workers", 0, "--missing", "C=-9"), *more]


def conforms(content: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "schemas" / "tune.schema.json").read_text())
    registry = Registry().with_resources([(schema["$id"], Resource.from_contents(schema))])
    jsonschema.Draft202012Validator(schema, registry=registry).validate(content)


def test_the_next_mask_does_what_was_recommended(run: Runner, pair: tuple[Path, Path]) -> None:
    Path("masktron.toml").write_text('# ours\nk = 5\n[limits]\nlinkage = 80\n[tune]\nmethods = "mdav"\nk = [3, 6]\n')
    outcome = run(*tune(pair, "--write", "masktron.toml"))
    assert outcome.code == 2  # --missing C=-9 stands beside the file, which would not say it
    assert "would not say what was tried: missing" in outcome.err
    assert not Path("out").exists()
    Path("masktron.toml").write_text(f'{Path("masktron.toml").read_text()}[missing]\nC = ["-9"]\n')
    options = ("--out", "out", "--workers", 0, "--write", "masktron.toml", "--json", "said.json")
    outcome = run("tune", pair[0], "--rules", pair[1], *options)
    assert outcome.code == 0
    said = json.loads(Path("said.json").read_text())
    conforms(said)
    assert said == json.loads(Path("out/tune.json").read_text())
    best = said["candidates"][said["recommended"]]
    assert said["why"] in " ".join(outcome.out.split())
    assert "within linkage at most 80" in said["why"]
    assert tomllib.loads(Path("masktron.toml").read_text())["k"] == best["k"]
    assert Path("masktron.toml").read_text().startswith("# ours\n")
    assert "settings from masktron.toml" in outcome.err
    assert run("mask", *pair[:1], "-r", pair[1], "-o", "m.csv", "--json", "m.json").code == 0
    masked = json.loads(Path("m.json").read_text())
    figures = {one["figure"]: one["value"] for one in masked["figures"]}
    assert figures.items() <= best["figures"].items()
    assert (masked["k"], masked["method"], len(masked["blocks"])) == (best["k"], "mdav", 2)


def test_a_candidate_is_chosen_by_its_number(run: Runner, pair: tuple[Path, Path]) -> None:
    outcome = run(*tune(pair, "--methods", "mdav", "-k", "3,4", "--write", "new.toml", "--candidate", 1))
    assert outcome.code == 0
    said = json.loads(Path("out/tune.json").read_text())
    written = tomllib.loads(Path("new.toml").read_text())
    assert {name: written.get(name) for name in ("k", "method")} == {
        name: said["candidates"][1][name] for name in ("k", "method")
    }
    assert written.get("grouping", "rules") == said["candidates"][1]["grouping"]
    assert written["missing"] == {"C": ["-9"]}
    assert run(*tune(pair, "--methods", "mdav", "-k", "3,4", "--write", "n.toml", "--candidate", 9)).code == 2
    assert not Path("n.toml").exists()


def test_a_candidate_without_figures_is_not_written_but_the_result_is(run: Runner, pair: tuple[Path, Path]) -> None:
    more = ("--methods", "mdav,crest", "--k", 3, "--write", "new.toml", "--candidate", 1, "--json", "said.json")
    outcome = run(*tune(pair, *more))
    assert outcome.code == 2
    assert "candidate 1 has no figures" in " ".join(outcome.err.split())
    assert not Path("new.toml").exists()
    said = json.loads(Path("said.json").read_text())
    assert (said["candidates"][1]["state"], said) == ("refused", json.loads(Path("out/tune.json").read_text()))


def test_a_budget_that_ends_before_any_figure_is_not_infeasible() -> None:
    waiting = TuneCandidate("mdav", {}, 3, "rules")
    refused = replace(waiting, state="refused")
    common = {"records": 1, "sample": None, "risk": "linkage", "utility": "pil", "limits": {}, "front": ()}
    codes = [
        _exit(TuneResult("d", "r", candidates=of, recommended=None, why="", unmasked={}, **common))
        for of in ((waiting, refused), (refused,))
    ]
    assert codes == [1, 5]


def test_an_interrupt_says_that_the_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kept in (False, True):
        if kept:
            (tmp_path / FOLDER).mkdir()
            (tmp_path / FOLDER / "a.json").touch()
        with pytest.raises(KeyboardInterrupt), _going_on_told(tmp_path):
            raise KeyboardInterrupt
        assert ("the same command goes on" in capsys.readouterr().err) == kept


def test_none_within_the_limits_ends_with_1_and_writes_no_settings(run: Runner, pair: tuple[Path, Path]) -> None:
    more = ("--methods", "mdav", "--k", 3, "--limit", "linkage=0", "--write", "new.toml", "--json", "-")
    outcome = run(*tune(pair, *more))
    assert outcome.code == 1
    said = json.loads(outcome.out)
    conforms(said)
    assert said["recommended"] is None
    assert "linkage at most 0 excludes all of" in said["why"]
    assert not Path("new.toml").exists()


def test_nothing_admitted_ends_with_5(run: Runner, pair: tuple[Path, Path]) -> None:
    outcome = run(*tune(pair, "--methods", "mdav,crest", "--k", 60))
    assert outcome.code == 5
    assert "no candidate is admitted" in " ".join(outcome.out.split())
    assert "50 records cannot form a group of k = 60" in " ".join(outcome.out.split())
    conforms(json.loads(Path("out/tune.json").read_text()))


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--methods", "nois"), 2, "there is no method 'nois'"),
        (("--limit", "linkag=3"), 2, "unknown limit 'linkag'"),
        (("--limit", "linkage=x"), 2, "not of the form NAME=NUMBER"),
        (("--limit", "class_imbalance=1"), 2, "needs a field that is the class"),
        (("--risk", "differencing"), 2, "differencing needs an earlier release"),
        (("--write", "a.toml", "--json", "a.toml"), 2, "--write would overwrite"),
        (("--write", "a.toml", "--candidate", -1), 2, "there is no candidate -1"),
        (("--risk", "pil"), 2, "pil is a figure of utility, not of risk"),
        (("--budget", "soon"), 2, "budget must be a time above 0"),
        (("--k", "3,y"), 2, "k must be whole numbers"),
        (("--candidate", 1), 2, "--candidate says whose settings --write writes"),
        (("--write", "data.csv"), 2, "--write would overwrite the original"),
        (("--json", "data.csv"), 2, "--json would overwrite the original"),
        (("--role", "C=nothing"), 2, "unknown role 'nothing'"),
        (("--budget", "0.001s"), 6, "the budget ended before the file was read"),
    ],
)
def test_wrong_wishes_write_nothing(
    run: Runner, pair: tuple[Path, Path], more: tuple[object, ...], code: int, said: str
) -> None:
    outcome = run(*tune(pair, *more))
    assert outcome.code == code
    assert said in " ".join(outcome.err.split())
    assert not Path("out/tune.json").exists()


def test_a_wrong_table_names_the_settings(run: Runner, pair: tuple[Path, Path]) -> None:
    Path("masktron.toml").write_text("[tune]\nmetods = ['mdav']\n")
    outcome = run(*tune(pair))
    assert outcome.code == 2
    assert "masktron.toml: [tune]: unknown setting of tune 'metods'" in " ".join(outcome.err.split())


def test_a_folder_that_cannot_be_made_is_said(run: Runner, pair: tuple[Path, Path]) -> None:
    outcome = run("tune", pair[0], "-r", pair[1], "--out", "no/such", "--workers", 0)
    assert (outcome.code, Path("no").exists()) == (2, False)
    assert "the folder of --out does not exist" in outcome.err
    Path("file").touch()
    assert run("tune", pair[0], "-r", pair[1], "--out", "file", "--workers", 0).code == 4


def test_a_file_that_breaks_its_rules_is_shown(run: Runner, pair: tuple[Path, Path]) -> None:
    pair[0].write_text(pair[0].read_text() + "1,1,3,5\n")
    outcome = run(*tune(pair))
    assert outcome.code == 1
    assert "1 of 51 original records break an edit: sum (1)" in " ".join(outcome.err.split())


def test_no_value_of_a_record_is_in_the_result(run: Runner, pair: tuple[Path, Path]) -> None:
    """Not even of one that stands alone."""
    pair[0].write_text(pair[0].read_text() + "7654321,1,7654322,9876.5\n")
    outcome = run(*tune(pair, "--methods", "mdav,noise", "--k", 3, "--seeds", 2))
    assert outcome.code == 0
    texts = [outcome.out, outcome.err, *(path.read_text() for path in Path("out").rglob("*.json"))]
    assert len(texts) > 4
    assert not any(value in text for text in texts for value in ("7654321", "7654322", "9876.5"))
