"""`masktron tune` as a user meets it, and `mask` with the settings that it wrote."""

from __future__ import annotations

import itertools
import json
import re
import stat
import time
import tomllib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest

import masktron.__main__
from cli_runner import Runner
from masktron.commands.line import main
from masktron.commands.tune import _exit
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.results import TuneCandidate, TuneResult
from refusals import code_of
from schema_files import conforms
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


def test_the_next_mask_does_what_was_recommended(run: Runner, pair: tuple[Path, Path]) -> None:
    Path("masktron.toml").write_text('# ours\nk = 5\n[limits]\nlinkage = 80\n[tune]\nmethods = "mdav"\nk = [3, 6]\n')
    outcome = run(*tune(pair, "--write", "masktron.toml"))
    outcome.refuses(2, "cannot-write-settings", settings=("missing",))
    assert not Path("out").exists()
    Path("masktron.toml").write_text(f'{Path("masktron.toml").read_text()}[missing]\nC = ["-9"]\n')
    options = ("--out", "out", "--workers", 0, "--write", "masktron.toml", "--json", "said.json")
    outcome = run("tune", pair[0], "--rules", pair[1], *options)
    assert outcome.code == 0
    said = json.loads(Path("said.json").read_text())
    conforms(said, "tune")
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


@pytest.mark.parametrize(("more", "count"), [(("--methods", "mdav", "-k", "3,4"), 4), (("-k", "3"), 12)])
def test_a_candidate_that_there_is_not_is_refused_before_anything_is_tried(
    run: Runner, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], count: int
) -> None:
    """Where methods are named, before the file is read."""
    monkeypatch.setattr(Bench, "shape", lambda *_: pytest.fail("nothing is planned"))
    if "--methods" in more:
        monkeypatch.setattr("masktron.jobs.search.tuning.open_original", lambda *_: pytest.fail("nothing is read"))
    outcome = run(*tune(pair, *more, "--write", "n.toml", "--candidate", count))
    outcome.refuses(2, "bad-value")
    assert f"from 0 to {count - 1}" in outcome.err
    assert not Path("n.toml").exists()
    assert not list(Path("out").glob("*"))


@pytest.mark.full
def test_a_number_is_that_of_the_table_that_was_seen(run: Runner, pair: tuple[Path, Path]) -> None:
    """Candidates begin with what the settings say: writing them gives others the first numbers."""
    more = ("tune", pair[0], "--rules", pair[1], "--out", "out", "--workers", 0, "-k", "3,4", "--seeds", 1)

    def written(number: int, *others: object) -> tuple[int, dict[str, Any], str]:
        outcome = run(*more, *others, "--write", "masktron.toml", "--candidate", number)
        return outcome.code, tomllib.loads(Path("masktron.toml").read_text()), outcome.out + outcome.err

    def seen() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(Path("out/tune.json").read_text())["candidates"]
        return found

    Path("masktron.toml").write_text('[missing]\nC = ["-9"]\n')
    code, settings, _ = written(7)
    first = seen()
    assert (code, settings["method"]) == (0, first[7]["method"])
    assert first[7]["method"] != "mdav"
    code, settings, said = written(0)
    assert (code, settings["method"], settings["k"]) == (0, "mdav", first[0]["k"])
    assert "settings of mdav, k = 3, grouping rules written: masktron.toml" in said
    before, now = Path("masktron.toml").read_text(), seen()
    assert now[0]["method"] == first[7]["method"]  # what stands first is what was written before
    last = next(at for at, one in enumerate(now) if one["method"] == "ipso")
    code, _, said = written(last, "--methods", "mdav")
    assert code == 2
    assert "ipso, k = 3, grouping rules [bad-value]" in " ".join(said.split())
    assert Path("masktron.toml").read_text() == before
    Path("out/tune.json").write_text("{}")  # a damaged result says nothing: it is the number of this run
    code, settings, _ = written(0)
    assert (code, settings["method"]) == (0, seen()[0]["method"])


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
    refused, ended = replace(waiting, state="refused"), replace(waiting, state="ended")
    common = {"records": 1, "sample": None, "risk": "linkage", "utility": "pil", "limits": {}, "front": ()}
    codes = [
        _exit(TuneResult("d", "r", candidates=of, recommended=None, why="", unmasked={}, **common))
        for of in ((waiting, refused, ended), (refused,), (refused, ended))
    ]
    assert codes == [1, 5, 6]


def test_an_interrupt_says_what_the_next_run_goes_on_from(
    run: Runner, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the folder has of this file alone: found there, or kept by this run."""
    more = ("--methods", "mdav", "-k", "3,4", "--limit", "linkage=89")
    outcome, begun, at = Bench.outcome, itertools.count(1), 0

    def interrupted(self: Bench, attempt: Attempt, progress: Any) -> TuneOutcome:
        if next(begun) == at:
            raise KeyboardInterrupt
        return outcome(self, attempt, progress)

    monkeypatch.setattr(Bench, "outcome", interrupted)
    said = []
    assert run(*tune(write_pair(Path(), 30, suffix=".parquet"), *more)).code == 0  # results of another file
    for at in (5, 7, 9, 99):
        ended = run(*tune(pair, *more))
        assert (ended.code == 0) == (at == 99)
        said += [line for line in ended.err.splitlines() if "the same command goes on" in line]
    assert said == [
        "1 result of this run is kept: the same command goes on from there",
        "2 results of this run are kept: the same command goes on from there",
    ]


def test_the_budget_counts_from_the_start_of_the_process(
    run: Runner, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float | None] = []
    with monkeypatch.context() as patch:
        patch.setattr(masktron.__main__, "supervised", lambda *_: None)
        patch.setattr(masktron.__main__, "stoppable", lambda **_: nullcontext())
        patch.setattr(masktron.__main__, "hide_passwords", lambda _: None)
        patch.setattr(masktron.__main__, "open_standard_streams", lambda: None)
        patch.setattr(masktron.__main__, "import_nothing_from_here", lambda: None)
        patch.setattr("masktron.__main__.time.monotonic", lambda: 5.0)
        patch.setattr("masktron.commands.line.main", begun.append)
        masktron.__main__.start()
    assert begun == [5.0]
    monkeypatch.setattr("cli_runner.main", lambda: main(time.monotonic() - 100))
    outcome = run(*tune(pair, "--methods", "mdav", "--k", 3, "--budget", "90s"))
    outcome.refuses(6, "budget-over")


def test_pages_may_be_written_to_the_folder_of_the_output(run: Runner, pair: tuple[Path, Path]) -> None:
    more = ("--methods", "mdav", "--k", 3, "--json", "out/said.json", "--write", "out/m.toml")
    assert run(*tune(pair, *more, "--limit", "linkage=80")).code == 0
    assert Path("out/said.json").read_text() == Path("out/tune.json").read_text()
    assert Path("out/m.toml").exists()


def test_without_a_limit_nothing_is_recommended_and_no_settings_are_written(
    run: Runner, pair: tuple[Path, Path]
) -> None:
    more = ("--methods", "mdav", "--k", "3,4", "--write", "new.toml")
    outcome = run(*tune(pair, *more))
    said = " ".join(outcome.out.split())
    assert (outcome.code, Path("new.toml").exists()) == (1, False)
    assert "nothing is recommended: no limit says how much risk is acceptable: set one, for example --limit" in said
    pasted = said.partition("for example ")[2].split()[:2]
    outcome = run(*tune(pair, *more, *pasted))
    assert (outcome.code, Path("new.toml").exists()) == (0, True)


def test_none_within_the_limits_ends_with_1_and_writes_no_settings(run: Runner, pair: tuple[Path, Path]) -> None:
    more = ("--methods", "mdav", "--k", 3, "--limit", "linkage=0", "--write", "new.toml", "--json", "-")
    outcome = run(*tune(pair, *more))
    assert outcome.code == 1
    said = json.loads(outcome.out)
    conforms(said, "tune")
    assert said["recommended"] is None
    assert "linkage at most 0 excludes all of" in said["why"]
    assert not Path("new.toml").exists()


def test_nothing_admitted_ends_with_5(run: Runner, pair: tuple[Path, Path]) -> None:
    outcome = run(*tune(pair, "--methods", "mdav,crest", "--k", 60))
    assert outcome.code == 5
    assert "no candidate is admitted" in " ".join(outcome.out.split())
    assert "50 records" in " ".join(outcome.out.split())
    conforms(json.loads(Path("out/tune.json").read_text()), "tune")


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--methods", "nois"), 2, "there is no method 'nois'"),
        (("--limit", "linkag=3"), 2, "[unknown-name]"),
        (("--limit", "linkage=x"), 2, "[bad-value]"),
        (("--limit", "class_imbalance=1"), 2, "[setting-not-usable]"),
        (("--risk", "differencing"), 2, "[setting-not-usable]"),
        (("--write", "a.toml", "--json", "a.toml"), 2, "[would-overwrite]"),
        (("--write", "a.toml", "--candidate", -1), 2, "[bad-value]"),
        (("--risk", "pil"), 2, "[unknown-name]"),
        (("--budget", "soon"), 2, "[bad-value]"),
        (("--k", "3,y"), 2, "[bad-value]"),
        (("--candidate", 1), 2, "[needs-setting]"),
        (("--write", "data.csv"), 2, "[would-overwrite]"),
        (("--write", "rules.sch"), 2, "[would-overwrite]"),
        (("--metadata", "m.json", "--write", "m.json"), 2, "[would-overwrite]"),
        (("--write", "out/tune.json"), 2, "[would-overwrite]"),
        (("--json", "out/../out/tune.json"), 2, "[would-overwrite]"),
        (("--write", "out/tune.cache"), 2, "[would-overwrite]"),
        (("--json", "data.csv"), 2, "[would-overwrite]"),
        (("--role", "C=nothing"), 2, "[bad-value]"),
        (("--budget", "0.001s"), 6, "[budget-over]"),
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
    assert code_of(outcome.err) == "unknown-name" and "metods" in outcome.err


def test_a_folder_that_cannot_be_made_is_said(run: Runner, pair: tuple[Path, Path]) -> None:
    outcome = run("tune", pair[0], "-r", pair[1], "--out", "no/such", "--workers", 0)
    assert (outcome.code, Path("no").exists()) == (2, False)
    assert code_of(outcome.err) == "no-folder-for-output"
    Path("file").touch()
    assert run("tune", pair[0], "-r", pair[1], "--out", "file", "--workers", 0).code == 4


def test_a_file_that_breaks_its_rules_is_shown(run: Runner, pair: tuple[Path, Path]) -> None:
    pair[0].write_text(pair[0].read_text() + "1,1,3,5\n")
    outcome = run(*tune(pair))
    outcome.refuses(1, "original-breaks-rules", records=1, total=51)


def test_no_value_of_a_record_is_in_the_result(run: Runner, pair: tuple[Path, Path]) -> None:
    """Not even of one that stands alone."""
    pair[0].write_text(pair[0].read_text() + "7654321,1,7654322,9876.5\n")
    outcome = run(*tune(pair, "--methods", "mdav,noise", "--k", 3, "--seeds", 2, "--limit", "linkage=89"))
    assert outcome.code == 0
    texts = [outcome.out, outcome.err, *(path.read_text() for path in Path("out").rglob("*.json"))]
    assert len(texts) > 4
    assert not any(value in text for text in texts for value in ("7654321", "7654322", "9876.5"))


def test_the_map_is_drawn_to_a_file(pair: tuple[Path, Path], run: Runner) -> None:
    assert run(*tune(pair, "--map", "map.svg", "--k", "3", "--methods", "mdav", "--limit", "linkage=89")).code == 0
    root = Tree.fromstring(Path("map.svg").read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
    used = set(re.findall(r"var\((--\w+)\)", Path("map.svg").read_text()))
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert used and all(f"{name}:" in light and f"{name}:" in dark for name in used)
    assert "<a" not in Path("map.svg").read_text()
    assert stat.S_IMODE(Path("map.svg").stat().st_mode) == 0o600
    refused = run(*tune(pair, "--map", pair[0]))
    assert refused.code == 2 and "--map" in refused.err
