"""Treatments of keys among the candidates: what is tried, what it costs, and that `mask` does the same."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.config import Config, Role
from masktron.errors import InfeasibleError, UsageError
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search import bench as bench_module
from masktron.jobs.search.asked import TuneSettings, tune_settings_in
from masktron.jobs.search.bench import Attempt, Bench, secret_of_run
from masktron.jobs.search.grid import candidates, settings_of, with_keys
from masktron.jobs.search.settings_text import changed, settings_text, write_settings
from masktron.jobs.search.tuning import run_tune
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.report.pages.tune_page import plane_of, tune_page
from masktron.report.rendering import result_from
from masktron.results import TuneCandidate, TuneResult
from masktron.settings_file import load_config
from refusals import refused
from schema_files import conforms

AGES = (16, 20, 20, 25, 25, 25, 30, 70, 70)
ROWS: list[dict[str, object]] = [
    {
        "AGE": AGES[at % 9],
        "REGION": ("11", "12", "21", "11", "31")[at % 5] if at % 7 else "22",
        "A": 100 + 13 * at % 70,
        "B": 10 + at % 9,
        "C": at * at % 97,
    }
    for at in range(45)
]
REGION = "11;1;*\n12;1;*\n21;2;*\n22;2;*\n31;2;*\n"
CONFIG = Config(k=3, order="keep", roles={"AGE": Role.QUASI_IDENTIFIER, "REGION": Role.QUASI_IDENTIFIER})
TREATED = TuneCandidate("mdav", {}, 3, "all", recode={"AGE": "breaks:15,25,65"}, key_k=3)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "region.csv").write_text(REGION)
    return write_data(tmp_path / "d.xml", ROWS), write_rules(tmp_path / "r.sch", "B <= A", "AGE >= 16")


def tuned(files: tuple[Path, Path], out: Path | None = None, config: Config = CONFIG, **asked: Any) -> TuneResult:
    usual = TuneSettings(methods=("mdav",), k=(3,), groupings=("all",), seeds=1, workers=0)
    return run_tune(*files, out, config=config, asked=replace(usual, **asked))


def names_of(result: TuneResult) -> list[str]:
    return [one.name.removeprefix("mdav, k = 3, grouping all") for one in result.candidates]


@pytest.mark.full
def test_an_axis_has_nothing_and_each_way(files: tuple[Path, Path]) -> None:
    result = tuned(files, recode={"AGE": ("width:10", "width:40")}, key_k=(3,))
    assert names_of(result)[0] == ""
    assert sorted(names_of(result)) == sorted(
        f"{age}{key}" for age in ("", ", AGE width:10", ", AGE width:40") for key in ("", ", key k = 3")
    )
    assert {one.state for one in result.candidates} == {"measured"}
    assert (result.risk, result.utility) == ("joint_risk", "joint_loss")
    conforms(result.as_dict(), "tune")
    loss = {name: one.figures for name, one in zip(names_of(result), result.candidates, strict=True)}
    for name in ("key_loss", "joint_loss"):
        assert loss[""][name] < loss[", AGE width:10"][name] < loss[", AGE width:40"][name]
    assert loss[""]["key_k"] == 1
    assert all(own["key_k"] >= 3 for name, own in loss.items() if "key k" in name)
    assert result.unmasked["joint_loss"] == 0
    found = masktron.assess(*files[:1] * 2, config=CONFIG, same_order=True, measures=["joint_risk"])
    assert result.unmasked["joint_risk"] == found["joint_risk"]
    assert 1 < len(result.front) < 6


def test_what_the_settings_treat_is_treated_in_every_trial(files: tuple[Path, Path]) -> None:
    config = replace(CONFIG, recode={"AGE": "breaks:15,25,65"}, key_k=3, limits={"key_k": 3, "global_risk": 40})
    result = tuned(files, config=config, k=(3, 5))
    assert {(tuple(one.recode.items()), one.key_k) for one in result.candidates} == {
        ((("AGE", "breaks:15,25,65"),), 3)
    }
    assert result.recommended is not None
    asked = TuneSettings(methods=("mdav",), k=(3,), groupings=("all",), recode={"AGE": ("width:5",)}, key_k=(2,))
    found = [(one.recode.get("AGE"), one.key_k) for one in candidates(config, asked, numbers=True, categories=False)]
    assert found[0] == ("breaks:15,25,65", 3)
    ages, sizes = ("breaks:15,25,65", None, "width:5"), (3, None, 2)
    assert sorted(map(str, found)) == sorted(str((age, size)) for age in ages for size in sizes)


def test_keys_are_treated_once_for_all_methods_and_the_files_go(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    made: list[tuple[object, object]] = []
    treat = bench_module.treated

    def counted(original: Any, *rest: Any) -> Any:
        made.append((original.config.key_k, original.config.secret))
        return treat(original, *rest)

    monkeypatch.setattr(bench_module, "treated", counted)
    config = replace(CONFIG, recode={"AGE": "breaks:15,25,65"})
    ways = {"methods": ("mdav", "noise"), "k": (3, 5), "groupings": ("rules", "all"), "key_k": (3,), "seeds": 2}
    result = tuned(files, config=config, **ways)
    assert all(one.seeds == 1 + (one.draws or one.key_k is not None) for one in result.candidates)
    # without suppression, and with it for each seed
    assert sorted(map(str, made)) == sorted(
        str(one) for one in ((None, secret_of_run(0)), (3, secret_of_run(0)), (3, secret_of_run(1)))
    )
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("how", ["top:70", "breaks:0,70:mean"])
def test_means_of_fewer_than_k_records_are_refused_for_that_k_alone(files: tuple[Path, Path], how: str) -> None:
    tailed = replace(TREATED, recode={"AGE": how}, key_k=None)
    with Bench(open_original(*files, CONFIG, no_progress), ("key_k",)) as bench:
        assert [bench.shape(replace(tailed, k=k).settings)[1] is None for k in (3, 15, 5)] == [True, False, True]


def test_few_treated_files_stay_open(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "_TREATED_RECORDS", 0)
    with Bench(open_original(*files, CONFIG, no_progress), ("key_k",)) as bench:
        ways = ["width:5", "width:10", "width:20", "width:5"]
        found = [bench.prepared(replace(TREATED, recode={"AGE": how}, key_k=None).settings).source for how in ways]
        assert [one.path.exists() for one in found] == [False, False, True, True]
    assert not any(one.path.exists() for one in found)


@pytest.mark.full
def test_a_sample_of_treated_records_is_that_of_the_original(files: tuple[Path, Path]) -> None:
    with Bench(open_original(*files, CONFIG, no_progress), ("key_k",), np.array([0, 3, 20, 44])) as bench:
        run = bench.prepared(TREATED.settings, whole=False)
        whole = bench.prepared(TREATED.settings)
    ages = [str(ROWS[at]["AGE"]) for at in (0, 3, 20, 44)]
    assert list(run.untreated.kept.columns["AGE"].lexemes) == ages
    assert list(run.kept.columns["AGE"].lexemes) == list(whole.kept.columns["AGE"].lexemes[[0, 3, 20, 44]]) != ages
    names = ("key_k", "key_uniques", "global_risk", "key_loss", "l_diversity", "linkage", "pil", "joint_loss")
    attempts = [Attempt(0, TREATED.settings, 0, whole=whole) for whole in (False, True)]
    with Bench(open_original(*files, CONFIG, no_progress), names, np.array([0, 3, 20, 44])) as bench:
        sampled, all_of_them = (bench.outcome(attempt, no_progress).figures for attempt in attempts)
    assert [sampled[name] for name in names[:4]] == [all_of_them[name] for name in names[:4]]
    assert sampled["joint_loss"][0] == (sampled["pil"][0] + sampled["key_loss"][0]) / 2
    assert sampled["key_k"][0] >= 3 > sampled["l_diversity"][0]
    masked = replace(CONFIG, roles={"REGION": Role.QUASI_IDENTIFIER}, numeric=("AGE",), quasi_identifiers=("AGE",))
    with Bench(open_original(*files, masked, no_progress), names, np.array([0, 3, 20, 44])) as bench:
        assert (
            bench.outcome(
                replace(attempts[0], settings=TuneCandidate("mdav", {}, 3, "all").settings), no_progress
            ).figures["key_k"][0]
            <= 4
        )
    result = tuned(files, sample=30, key_k=(2,), seeds=2, methods=("mdav", "noise"), k=(3, 4))
    assert {one.state for one in result.candidates} == {"measured", "sampled"}


@pytest.mark.full
def test_mask_with_the_written_settings_gives_the_same_figures(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    """From the shell, with a hierarchy and settings in folders of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees").mkdir()
    (tmp_path / "settings").mkdir()
    (tmp_path / "region.csv").rename(tmp_path / "trees" / "region.csv")
    settings = tmp_path / "settings" / "masktron.toml"
    settings.write_text('# mine\nk = 3\norder = "keep"\n\n[roles]\nAGE = "quasi-identifier"  # known\n')
    words = ["tune", "d.xml", "--rules", "r.sch", "--config", "settings/masktron.toml", "--out", "t", "--k", "3",
             "--methods", "mdav", "--grouping", "all", "--recode", "REGION=trees/region.csv", "--key-k", "3",
             "--limit", "key_k=3", "--workers", "0", "--write", "settings/masktron.toml"]  # fmt: skip
    spoilt = [*words, "--json", "trees/region.csv"]
    refused = run(*spoilt)
    assert (refused.code, "--json would overwrite the hierarchy region.csv" in refused.err) == (2, True)
    assert (tmp_path / "trees" / "region.csv").read_text() == REGION
    assert "settings of mdav, k = 3, grouping all" in run(*words).out
    result = json.loads((tmp_path / "t" / "tune.json").read_text())
    best = result["candidates"][result["recommended"]]
    assert best["key_k"] == 3
    text = settings.read_text()
    assert text.startswith("# mine\n")
    assert 'AGE = "quasi-identifier"  # known' in text
    assert 'REGION = "quasi-identifier"' in text
    assert ('REGION = "../trees/region.csv:1"' in text) == bool(best["recode"])
    masked = run_mask(
        MaskRequest(*files, tmp_path / "m.xml", config=replace(load_config(settings), secret=secret_of_run(0)))
    )
    figures = {one.name: float(f"{one.value:.9g}") for one in masked.figures if not math.isnan(one.value)}
    assert figures["key_k"] >= 3
    assert figures.items() <= best["figures"].items()
    # every candidate can be written in its place, and says what was tried
    for number, one in enumerate(result["candidates"]):
        recipe = TuneCandidate.from_dict(one)
        known = with_keys(load_config(settings), {"REGION": "width:1"})
        write_settings(settings, settings_of(recipe, known))
        read = load_config(settings)
        assert (len(read.recode), read.key_k, read.roles["REGION"]) == (
            len(one["recode"]), one["key_k"], Role.QUASI_IDENTIFIER
        ), number  # fmt: skip
        assert settings.read_text().startswith("# mine\n")


def test_settings_keep_what_they_say_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    there = '[keys]\nk = 5  # asked for\nsubsets = 2\n\n[recode]\nREGION = "region.csv"  # of the office\n'
    path.write_text(there)
    config = load_config(path)
    same = replace(TREATED, recode=dict(config.recode), key_k=5)
    assert there in changed(there, settings_of(same, config), path)
    other = changed(there, settings_of(replace(TREATED, recode={"AGE": "width:5"}), config), path)
    assert "k = 3  # asked for\nsubsets = 2" in other
    assert "REGION =" not in other.split("[recode]")[1].split("[roles]")[0]
    none = changed(there, settings_of(replace(TREATED, recode={}, key_k=None), config), path)
    assert "subsets" not in none
    assert "# asked for" in none
    new = settings_text(settings_of(same, config), tmp_path / "else" / "n.toml")
    assert 'REGION = "../region.csv:1"' in new


@pytest.mark.full
def test_helpers_find_the_same_and_leave_nothing(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    wanted = tuned(files, recode={"AGE": ("breaks:15,25,65",)}, key_k=(3,))
    found = tuned(files, recode={"AGE": ("breaks:15,25,65",)}, key_k=(3,), workers=1)
    assert found.as_dict() == wanted.as_dict()
    assert list(temporary.iterdir()) == []


def test_a_second_run_masks_nothing_until_a_hierarchy_changes(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {"REGION": (f"{tmp_path / 'region.csv'}:1",)}
    first = tuned(files, tmp_path / "t", recode=ways)
    with monkeypatch.context() as patched:
        patched.setattr(Bench, "outcome", lambda *_: pytest.fail("it is kept"))
        assert tuned(files, tmp_path / "t", recode=ways).as_dict() == first.as_dict()
    (tmp_path / "region.csv").write_text(REGION.replace("31;2", "31;3"))
    again = tuned(files, tmp_path / "t", recode=ways)
    assert again[1].figures["key_loss"] < first[1].figures["key_loss"]
    assert str(again[0].figures) == str(first[0].figures)


def test_a_treatment_that_is_refused_has_its_reason(tmp_path: Path, files: tuple[Path, Path]) -> None:
    rules = write_rules(tmp_path / "sum.sch", "B <= A", "sum(AGE | B) >= 0")
    result = tuned((files[0], rules), recode={"AGE": ("width:5",)})
    assert (names_of(result), [one.state for one in result.candidates]) == (
        ["", ", AGE width:5"],
        ["measured", "refused"],
    )
    assert "leaves nothing to check of" in sentence(result[1].reasons[0])
    freed = tuned((files[0], rules), recode={"AGE": ("width:5",)}, config=replace(CONFIG, allow_lost=("*",)))
    assert [one.state for one in freed.candidates] == ["measured", "measured"]
    # what no candidate is without is refused as mask refuses it
    with refused(InfeasibleError, "rule-lost"):
        tuned((files[0], rules), config=replace(CONFIG, recode={"AGE": "width:5"}))
    (tmp_path / "region.csv").write_text(REGION.replace("31;2;*\n", ""))
    lacking = tuned(files, recode={"REGION": (f"{tmp_path / 'region.csv'}:1",)})
    assert "values without a class" in sentence(lacking[1].reasons[0])


def test_keys_in_a_table_of_a_database_are_recoded(tmp_path: Path, files: tuple[Path, Path]) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as base:
        frame = pd.DataFrame(ROWS)  # noqa: F841 -- the query reads it
        base.execute("create table survey as select * from frame")
    result = masktron.tune(
        f"duckdb:{tmp_path / 'd.duckdb'}?table=survey", files[1], config=CONFIG,
        ask={"methods": "mdav", "k": 3, "groupings": "all", "recode": {"AGE": "width:5"}},
    )  # fmt: skip
    assert [one.state for one in result.candidates] == ["measured", "measured"]
    assert result[1].recode == {"AGE": "width:5"}


def test_axes_are_read_and_typos_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    asked = TuneSettings().read(
        {"recode": ["AGE=width:5", "AGE=breaks:0,15,25", "REGION=region.csv"], "key_k": "2,3"}
    )
    assert asked.recode == {"AGE": ("width:5", "breaks:0,15,25"), "REGION": ("region.csv:1",)}
    assert asked.key_k == (2, 3)
    path = tmp_path / "m.toml"
    path.write_text('[tune]\nkey_k = 3\n[tune.recode]\nREGION = ["region.csv", "region.csv:2"]\n')
    folder = tmp_path.as_posix()
    assert tune_settings_in(path).recode == {"REGION": (f"{folder}/region.csv:1", f"{folder}/region.csv:2")}
    out = tmp_path / "t"
    with refused(UsageError, "unknown-name", name=("AEG",)):
        tuned(files, out, recode={"AEG": ("width:5",)})
    with refused(
        UsageError,
        "role-does-not-fit",
        setting="recode.A",
        field="A",
        reason="which has the role confidential, so it cannot be recoded",
    ):
        tuned(files, out, recode={"A": ("width:5",)}, config=CONFIG.updated(roles={"A": Role.CONFIDENTIAL}))
    with refused(UsageError, "cannot-read"):
        tuned(files, tmp_path / "new", recode={"REGION": ("none.csv:1",)})
    with refused(UsageError, "unknown-name", name="7"):
        tuned(files, tmp_path / "new", recode={"REGION": (f"{tmp_path / 'region.csv'}:7",)})
    assert not (tmp_path / "new").exists()
    assert not (out / "tune.json").exists()


@pytest.mark.full
def test_a_data_frame_is_treated_and_its_page_names_treatments(files: tuple[Path, Path]) -> None:
    frame = pd.DataFrame([{**row, "AGE": str(row["AGE"])} for row in ROWS])
    ask = {"methods": "mdav", "k": 3, "groupings": "all", "recode": {"AGE": "breaks:15,25,65"}, "key_k": 3}
    result = masktron.tune(frame, files[1], config=CONFIG, ask=ask)
    wanted = tuned(files, recode={"AGE": ("breaks:15,25,65",)}, key_k=(3,))
    for own, other in zip(result.candidates, wanted.candidates, strict=True):
        assert own.name == other.name
        assert own.figures["key_k"] >= (own.key_k or 1)
        if own.key_k is None:  # which cells go depends on the file
            assert str(own.figures) == str(other.figures)
    told = dict(zip(result.to_frame()["treatment"], result.to_frame()["key_k"], strict=True))
    assert told == {
        name.removeprefix(", "): one.figures["key_k"]
        for name, one in zip(names_of(result), result.candidates, strict=True)
    }
    text = repr(tune_page(result))
    assert all(one.name in text for one in result.candidates)
    plane = plane_of(result)
    assert plane is not None
    labels = {int(point.number): point.name for point in plane.points if point.number}
    treated = ["", ", key k = 3", ", AGE breaks:15,25,65", ", key k = 3, AGE breaks:15,25,65"]
    for at, one in enumerate(result.candidates):
        own = treated[(one.key_k is not None) + 2 * bool(one.recode)]
        assert labels[at] == (f"mdav 3, all{own}" if at in {*result.front, result.recommended} else "")
    former = {**result.as_dict(), "candidates": [
        {key: value for key, value in one.items() if key not in ("recode", "key_k")}
        for one in result.as_dict()["candidates"]
    ]}  # fmt: skip
    assert "mdav, k = 3, grouping all" in repr(tune_page(result_from(former, Path("x")))), (
        "a map of an earlier version"
    )
