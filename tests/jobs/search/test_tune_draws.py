"""Keys that are drawn anew or swapped among the candidates: trials, what is said of them, and the next `mask`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import Runner, write_data, write_rules
from masktron.config import Config, Role
from masktron.errors import MasktronError
from masktron.figures import FIGURES
from masktron.jobs.assess import AssessRequest, run_assess
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search.asked import TuneSettings, tune_settings_in
from masktron.jobs.search.bench import Attempt, Bench, secret_of_run
from masktron.jobs.search.grid import settings_of
from masktron.jobs.search.settings_text import changed, settings_text
from masktron.jobs.search.tuning import run_tune
from masktron.progress import no_progress
from masktron.report.pages.tune_page import tune_page
from masktron.report.rendering import result_from
from masktron.results import TuneCandidate, TuneResult
from masktron.results.tune import PROTECTION
from masktron.settings_file import load_config
from refusals import code_of, refused
from schema_files import conforms

RNG = np.random.default_rng(5)
ROWS: list[dict[str, object]] = [
    {
        "COUNTY": 1 + at % 3,
        "TOWN": 10 * (1 + at % 3) + at % 2,
        "SEX": int(RNG.integers(1, 3)),
        "JOB": int(RNG.choice([1, 2, 3, 4], p=[0.6, 0.25, 0.1, 0.05])),
        "A": 100 + 13 * at % 70,
        "B": 10 + at % 9,
        "C": at * at % 97,
    }
    for at in range(120)
]
KEYS = ("COUNTY", "TOWN", "SEX", "JOB")
CONFIG = Config(k=3, order="keep", roles={**dict.fromkeys(KEYS, Role.QUASI_IDENTIFIER)})
SWAP = {"regions": ("COUNTY", "TOWN"), "keys": ("JOB",), "rate": 0.1}
DRAWN = TuneCandidate("mdav", {}, 3, "all", pram={"JOB": "change:0.2"}, swap=SWAP)
NAMES = [
    one.name
    for one in FIGURES
    if not {"class", "earlier"} & {*one.needs} and not one.name.startswith(("pmse", "subd"))
]
HALF = "value,1,2\n1,0.75,0.25\n2,0.25,0.75\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "sex.csv").write_text(HALF)
    return write_data(tmp_path / "d.xml", ROWS), write_rules(
        tmp_path / "r.sch", "B <= A", "JOB >= 1", "TOWN >= COUNTY"
    )


def tuned(files: tuple[Path, Path], out: Path | None = None, config: Config = CONFIG, **asked: Any) -> TuneResult:
    usual = TuneSettings(methods=("mdav",), k=(3,), groupings=("all",), seeds=2, workers=0)
    return run_tune(*files, out, config=config, asked=replace(usual, **asked))


def names_of(result: TuneResult) -> list[str]:
    return [one.name.removeprefix("mdav, k = 3, grouping all") for one in result.candidates]


@pytest.mark.full
def test_axes_have_nothing_and_each_way(files: tuple[Path, Path]) -> None:
    config = replace(CONFIG, swap={**SWAP, "rate": 0.0})
    result = tuned(
        files, config=config, pram={"JOB": ("change:0.1", "change:0.30", "change:0.3")}, swap_rate=(0.0, 0.4)
    )
    assert names_of(result)[0] == ", swap COUNTY+TOWN rate 0", "as the settings say"
    swaps = (", swap COUNTY+TOWN rate 0", "", ", swap COUNTY+TOWN rate 0.4")
    draws = ("", ", pram JOB change:0.1", ", pram JOB change:0.30")
    assert sorted(names_of(result)) == sorted(f"{drawn}{swap}" for drawn in draws for swap in swaps)
    assert {one.state for one in result.candidates} == {"measured"}
    assert (result.risk, result.utility) == ("joint_risk", "joint_loss")
    found = dict(zip(names_of(result), result.candidates, strict=True))
    assert {name: one.seeds for name, one in found.items()} == {name: 1 if name == "" else 2 for name in found}
    assert found[""].protection == {}
    loss = [found[name].figures["key_loss"] for name in draws]
    assert 0 == loss[0] < loss[1] < loss[2]
    told = [found[name].protection for name in draws[1:]]
    assert told[0].keys() == told[1].keys() == {name for name in PROTECTION if name.startswith("pram_")}
    assert told[0]["pram_confidence"] > told[1]["pram_confidence"] > 50
    assert told[0]["pram_odds"] > told[1]["pram_odds"] > 1
    assert told[0]["pram_changed"] < told[1]["pram_changed"]
    moved = found[swaps[2]].protection
    assert moved.keys() == {"swap_moved", "swap_at_home"}
    assert moved["swap_moved"] >= 40 > found[swaps[0]].protection["swap_moved"] > 0
    assert any("count what a draw loses, and not what it hides" in str(note) for note in result.notes)
    conforms(result.as_dict(), "tune")


@pytest.mark.full
def test_what_the_settings_draw_is_drawn_in_every_trial_and_no_map_without_draws_speaks_of_them(
    files: tuple[Path, Path],
) -> None:
    config = replace(CONFIG, pram={"JOB": "change:0.2"}, swap=SWAP)
    result = tuned(files, config=config, k=(3, 5))
    assert {(tuple(one.pram.items()), one.swap["rate"]) for one in result.candidates} == {
        ((("JOB", "change:0.2"),), 0.1)
    }
    assert not any("what a draw loses" in str(note) for note in tuned(files).notes)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("more", [{}, {"recode": {"JOB": "breaks:1,2,9"}, "key_k": 2, "method": "noise"}])
def test_figures_are_those_of_mask_and_assess_with_the_same_key(
    tmp_path: Path, files: tuple[Path, Path], more: dict[str, Any], seed: int
) -> None:
    recipe = replace(DRAWN, pram={"SEX": f"{tmp_path / 'sex.csv'}", "JOB": "change:0.2"}, **more)
    with Bench(open_original(*files, CONFIG, no_progress), NAMES) as bench:
        found = bench.outcome(Attempt(0, recipe.settings, seed, whole=True), no_progress)
    assert found.refused == ""
    out, manifest = tmp_path / "m.xml", tmp_path / "m.json"
    config = replace(settings_of(recipe, CONFIG), secret=secret_of_run(seed))
    run_mask(MaskRequest(*files, out, config=config, manifest=manifest))
    assessed = run_assess(AssessRequest(out, files[0], manifest=manifest, measures=NAMES))
    assert {one.name: str(one.value) for one in assessed.figures} == {
        name: str(value) for name, (value, _) in found.figures.items()
    }
    treatments = json.loads(manifest.read_text())["treatments"]
    sex, job, swap = (one for one in treatments if one["kind"] in ("pram", "swapping"))
    told = [one["figures"] for one in (sex, job)]
    assert found.protection["pram_confidence"] == 100 * max(one["confidence"] for one in told)
    assert found.protection["pram_odds"] == max(one["odds"] for one in told)
    assert found.protection["pram_changed"] == min(100 * one["changed"] / one["records"] for one in told)
    rare = [100 * one["rare_at_home"] / one["rare"] for one in swap["figures"]["levels"] if one["rare"]]
    assert found.protection.get("swap_at_home") == max(rare, default=None)
    assert found.protection["swap_moved"] == 100 * 2 * swap["pairs"] / 120


def test_seeds_draw_otherwise_and_methods_of_one_seed_alike(files: tuple[Path, Path]) -> None:
    with Bench(open_original(*files, CONFIG, no_progress), ("key_loss",)) as bench:
        drawn = [
            list(bench.prepared(replace(DRAWN, method=method).settings, seed).kept.columns["JOB"].lexemes)
            for method, seed in (("mdav", 0), ("mdav", 1), ("noise", 0))
        ]
    assert drawn[0] == drawn[2] != drawn[1]


def test_of_a_sample_all_records_are_drawn(files: tuple[Path, Path]) -> None:
    some = np.array([0, 3, 20, 44, 45, 46, 47, 90])
    names = ("key_k", "key_uniques", "global_risk", "key_loss", "linkage")
    with Bench(open_original(*files, CONFIG, no_progress), names, some) as bench:
        part, whole = bench.prepared(DRAWN.settings, whole=False), bench.prepared(DRAWN.settings)
        own, all_of_them = (
            bench.outcome(Attempt(0, DRAWN.settings, 0, whole=one), no_progress) for one in (False, True)
        )
    for name in KEYS:
        assert list(part.kept.columns[name].lexemes) == list(whole.kept.columns[name].lexemes[some])
    assert own.protection == all_of_them.protection != {}
    assert [own.figures[name] for name in names[:4]] == [all_of_them.figures[name] for name in names[:4]]


@pytest.mark.full
def test_a_second_run_masks_nothing_until_a_matrix_or_the_order_changes(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = tmp_path / "sex.csv"
    matrix.write_text("value,1,2\n1,1,0\n2,0.5,0.5\n")
    config = replace(CONFIG, pram={"SEX": str(matrix), "JOB": "change:0.2"}, swap=SWAP)
    first = tuned(files, tmp_path / "t", config)
    assert first[0].protection["pram_odds"] < math.inf, "a matrix is made invariant"
    with monkeypatch.context() as patched:
        patched.setattr(Bench, "outcome", lambda *_: pytest.fail("it is kept"))
        assert tuned(files, tmp_path / "t", config).as_dict() == first.as_dict()
    made: list[Attempt] = []
    outcome = Bench.outcome

    def counted(bench: Bench, attempt: Attempt, progress: Any) -> Any:
        made.append(attempt)
        return outcome(bench, attempt, progress)

    monkeypatch.setattr(Bench, "outcome", counted)
    tuned(files, tmp_path / "t", replace(config, pram=dict(reversed(config.pram.items()))))
    assert len(made) == 2, "in another order, others are drawn"
    tuned(files, tmp_path / "t", replace(config, swap={**SWAP, "least_regions": 1}))
    assert len(made) == 4
    matrix.write_text(HALF)
    assert tuned(files, tmp_path / "t", config)[0].protection != first[0].protection
    assert len(made) == 6


def test_what_has_no_bound_is_kept_shown_and_null(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "job.csv").write_text("value,1,2,3,4\n1,0.5,0.5,0,0\n2,0.5,0.5,0,0\n3,0,0,0.5,0.5\n4,0,0,0.5,0.5\n")
    config = replace(CONFIG, pram={"JOB": str(tmp_path / "job.csv")})
    for _ in ("computed", "kept"):
        result = tuned(files, tmp_path / "t", config)
        assert result[0].protection["pram_odds"] == math.inf
        assert 50 < result[0].protection["pram_confidence"] < 100
    plain = result.as_dict()
    assert plain["candidates"][0]["protection"]["pram_odds"] is None
    conforms(plain, "tune")
    assert "no bound" in repr(tune_page(result_from(plain, Path("x"))))
    assert "no bound" in str(result)


@pytest.mark.full
def test_a_draw_that_is_refused_has_its_reason(files: tuple[Path, Path]) -> None:
    result = tuned(
        files, pram={"JOB": ("change:0.2", "change:0.9")}, swap_rate=(0.1,), config=replace(CONFIG, swap=SWAP)
    )
    states = dict(zip(names_of(result), [one.state for one in result.candidates], strict=True))
    assert states == {
        f"{drawn}{key}": "refused" if "0.9" in drawn else "measured"
        for drawn in ("", ", pram JOB change:0.2", ", pram JOB change:0.9")
        for key in ("", ", swap COUNTY+TOWN rate 0.1")
    }
    assert all(one.reasons for one in result.candidates if one.state == "refused")
    # what no candidate is without is refused as mask refuses it
    with refused(MasktronError, "pram-share-too-large", where=f"{files[0]}, field JOB"):
        tuned(files, config=replace(CONFIG, pram={"JOB": "change:0.9"}))


@pytest.mark.full
def test_fields_that_give_draws_away_are_named(files: tuple[Path, Path]) -> None:
    result = tuned(files, pram={"COUNTY": ("change:0.2",)})
    assert any(
        "changed cells of COUNTY can be read off other fields of the released file: TOWN" in str(one)
        for one in result.notes
    )


def test_axes_are_read_and_typos_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    asked = TuneSettings().read(
        {"pram": ["JOB=change:0.1", "JOB=change:0.10", "SEX=sex.csv"], "swap_rate": "0.1,0.2"}
    )
    assert asked.pram == {"JOB": ("change:0.1",), "SEX": ("sex.csv",)}
    assert asked.swap_rate == (0.1, 0.2)
    path = tmp_path / "m.toml"
    path.write_text('[tune]\nswap_rate = 0\n[tune.pram]\nSEX = ["sex.csv,within:TOWN"]\n')
    assert tune_settings_in(path).pram == {"SEX": (f"{tmp_path.as_posix()}/sex.csv,within:TOWN",)}
    assert tune_settings_in(path).swap_rate == (0.0,)
    out = tmp_path / "t"
    for own, code in (
        ({"swap_rate": (0.1,)}, "needs-setting"),
        ({"pram": {"JOB": ("change:0.1",), "JOB+SEX": ("change:0.1",)}}, "bad-value"),
        ({"pram": {"SEX": ("none.csv",)}}, "cannot-read"),
        ({"pram": {"A": ("change:0.1",)}}, "role-does-not-fit"),
    ):
        with refused(MasktronError, code):
            tuned(files, out, CONFIG.updated(roles={**CONFIG.roles, "A": Role.CONFIDENTIAL}), **own)
    assert not out.exists()


def test_settings_keep_what_they_say_of_draws(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    there = (
        '[pram]  # asked for\nSEX = "sex.csv"  # of the office\nJOB = "change:0.1"\n\n'
        '[swap]\nregions = "COUNTY,TOWN"  # coarse to fine\nrate = 0\n'
    ).replace('"COUNTY,TOWN"', '["COUNTY", "TOWN"]')
    path.write_text(there)
    config = load_config(path)
    same = replace(DRAWN, pram=dict(config.pram), swap=dict(config.swap))
    assert there in changed(there, settings_of(same, config), path)
    other = changed(there, settings_of(replace(DRAWN, swap={**config.swap, "rate": 0.2}), config), path)
    assert 'JOB = "change:0.2"' in other
    assert "SEX =" not in other.split("[roles]")[0]
    assert '["COUNTY", "TOWN"]  # coarse to fine\nrate = 0.2\n' in other
    none = changed(there, settings_of(TuneCandidate("mdav", {}, 3, "all"), config), path)
    assert "[swap]" not in none and "[pram]" not in none and "# coarse to fine" in none
    new = tmp_path / "else" / "n.toml"
    new.parent.mkdir()
    new.write_text(settings_text(settings_of(same, config), new))
    assert 'SEX = "../sex.csv"' in new.read_text()
    assert load_config(new).pram["SEX"].endswith("else/../sex.csv")
    assert (list(load_config(new).pram), load_config(new).swap) == (["SEX", "JOB"], config.swap)


@pytest.mark.full
def test_mask_with_the_written_settings_draws_otherwise_and_comes_near(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    """From the shell, with settings and a matrix in folders of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings").mkdir()
    settings = tmp_path / "settings" / "masktron.toml"
    (tmp_path / "sex.csv").rename(tmp_path / "settings" / "sex.csv")
    settings.write_text(
        '# mine\nk = 3\norder = "keep"\n\n[pram]\nSEX = "sex.csv"  # of the office\n\n[swap]\n'
        'regions = ["COUNTY", "TOWN"]\nkeys = ["JOB"]\n'
    )
    words = ["tune", "d.xml", "--rules", "r.sch", "--config", "settings/masktron.toml", "--out", "t", "--k", "3",
             "--methods", "mdav", "--grouping", "all", "--pram", "JOB=change:0.1", "--pram", "JOB=change:0.3",
             "--swap-rate", "0.1", "--workers", "0"]  # fmt: skip
    spoilt = run(*words, "--json", "settings/sex.csv")
    assert (spoilt.code, code_of(spoilt.err)) == (2, "would-overwrite")
    told = run(*words)
    assert "keys drawn or swapped" in told.out and "pram_confidence" in told.out
    found = json.loads((tmp_path / "t" / "tune.json").read_text())["candidates"]
    wanted = {"SEX": "settings/sex.csv", "JOB": "change:0.3"}
    number = next(at for at, one in enumerate(found) if one["pram"] == wanted and one["swap"].get("rate") == 0.1)
    assert (
        f"settings of {TuneCandidate.from_dict(found[number]).method}"
        in run(*words, "--write", "settings/masktron.toml", "--candidate", str(number)).out
    )
    text = settings.read_text()
    assert text.startswith("# mine\n") and 'SEX = "sex.csv"  # of the office\nJOB = "change:0.3"\n' in text
    assert "rate = 0.1" in text and 'JOB = "quasi-identifier"' in text
    config = load_config(settings)
    same = run_mask(MaskRequest(*files, tmp_path / "same.xml", config=replace(config, secret=secret_of_run(0))))
    spread = found[number]["spread"]
    figures = {one.name: one.value for one in same.figures if not math.isnan(one.value)}
    assert all(
        spread[name]["least"] - 1e-6 <= value <= spread[name]["most"] + 1e-6 for name, value in figures.items()
    )
    assert figures["key_loss"] > 0
    # a release has a key of its own: figures come near, and what others can conclude is the same
    other = run_mask(MaskRequest(*files, tmp_path / "other.xml", config=replace(config, secret=bytes(range(32)))))
    near = {one.name: one.value for one in other.figures}
    assert near["key_loss"] == pytest.approx(found[number]["figures"]["key_loss"], rel=0.3)
    assert near["global_risk"] == pytest.approx(found[number]["figures"]["global_risk"], rel=0.3)
    manifest = tmp_path / "m.json"
    run_mask(MaskRequest(*files, tmp_path / "m.xml", config=config, manifest=manifest))
    written = json.loads(manifest.read_text())
    assert written["secret"] not in {secret_of_run(seed).hex() for seed in range(3)}
    assert len({(tmp_path / f"{name}.xml").read_bytes() for name in ("m", "same", "other")}) == 3
    confidence = max(one["figures"]["confidence"] for one in written["treatments"] if one["kind"] == "pram")
    assert found[number]["protection"]["pram_confidence"] == pytest.approx(100 * confidence)


def test_a_recommended_method_that_promises_no_groups_of_k_says_so(files: tuple[Path, Path]) -> None:
    config = replace(CONFIG, limits={"linkage": 89.0})
    said = {
        one: " ".join(str(tuned(files, config=config, methods=(one,), seeds=1)).split()) for one in ("mdav", "noise")
    }
    assert "does not promise that k records are alike: masktron methods noise" in said["noise"]
    assert "does not promise" not in said["mdav"]
