"""Whole runs of `tune`: results, what is kept between runs, budgets, samples, workers."""

from __future__ import annotations

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from examples import parts
from masktron.child_process import ChildLostError
from masktron.config import Config, Role
from masktron.errors import ResourceError, UsageError
from masktron.jobs.opening import open_original
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.search import FOLDER, RESULT, outcomes, sampling, schedule, trials
from masktron.jobs.search.asked import TuneSettings
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.jobs.search.schedule import Deadline, Durations
from masktron.jobs.search.tuning import run_tune
from masktron.problems.wording import sentence
from masktron.progress import Progress, no_progress
from masktron.results import TuneCandidate, TuneResult
from masktron.write import atomic
from refusals import refused
from tuned_files import rows_of, write_pair

CONFIG = Config(missing={"C": frozenset({"-9"})}, limits={"linkage": 60.0})
ASKED = TuneSettings(methods=("mdav", "noise"), k=(3,), seeds=2, workers=0)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_pair(tmp_path, 40, suffix=".csv")


def tuned(pair: tuple[Path, Path], out: Path | None = None, **changes: Any) -> TuneResult:
    config = changes.pop("config", CONFIG)
    return run_tune(*pair, out, config=config, asked=replace(ASKED, **changes))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Attempt]:
    """What is masked in this process."""
    found: list[Attempt] = []
    outcome = Bench.outcome

    def counted(self: Bench, attempt: Attempt, progress: Any) -> TuneOutcome:
        found.append(attempt)
        return outcome(self, attempt, progress)

    monkeypatch.setattr(Bench, "outcome", counted)
    return found


def test_a_run_recommends_within_the_limits(pair: tuple[Path, Path], tmp_path: Path) -> None:
    result = tuned(pair, tmp_path / "out", k=(3, 4))
    assert [one.state for one in result.candidates] == ["measured"] * len(result.candidates)
    assert result.recommended is not None
    best = result[result.recommended]
    fine = [one for one in result.candidates if one.within_limits]
    assert best.within_limits
    least = min(len(one.concerns) for one in fine)
    assert best.figures["pil"] == min(one.figures["pil"] for one in fine if len(one.concerns) == least) < 100
    assert [len(one.concerns) for one in result.candidates] == result.to_frame()["concerns"].tolist()
    assert 0 < len(fine) < len(result.candidates)
    assert all(one.reasons for one in result.candidates if not one.within_limits)
    noise = next(one for one in result.candidates if one.draws)
    assert noise.seeds == 2
    assert noise.spread["pil"].least < noise.figures["pil"] < noise.spread["pil"].most
    assert result.unmasked == {"disclosure_risk": 100.0, "pil": 0.0}
    assert json.loads((tmp_path / "out" / RESULT).read_text()) == result.as_dict()
    frame = result.to_frame()
    assert frame["recommended"].sum() == 1
    assert frame["front"].sum() == len(result.front)


@pytest.mark.full
def test_a_helper_finds_the_same(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = tuned(pair, sample=20, k=(3, 4)).as_dict()
    assert {one["state"] for one in wanted["candidates"]} == {"measured", "sampled"}
    monkeypatch.setattr(Bench, "outcome", lambda *_: pytest.fail("the helper does it"))
    assert (
        tuned(pair, sample=20, k=(3, 4), workers=1).as_dict() == wanted
    )  # it is asked twice: for the sample, for all


def test_a_data_frame_is_tuned(pair: tuple[Path, Path]) -> None:
    result = masktron.tune(
        pd.DataFrame(rows_of(40)),
        pair[1],
        missing={"C": "-9"},
        limits={"linkage": 60},
        ask={"methods": "mdav", "k": 3},
    )
    wanted = tuned(pair, methods=("mdav",), k=(3,))
    assert [str(one.figures) for one in result.candidates] == [str(one.figures) for one in wanted.candidates]
    assert len(result.candidates) == 2


# what is kept


def test_a_second_run_masks_nothing(pair: tuple[Path, Path], tmp_path: Path, runs: list[Attempt]) -> None:
    first = tuned(pair, tmp_path / "out")
    made = len(runs)
    again = tuned(pair, tmp_path / "out")
    assert len(runs) == made == 2 + 2  # mdav by grouping; noise with two seeds
    assert again.as_dict() == first.as_dict()


def test_other_limits_axes_and_seeds_use_what_is_known(
    pair: tuple[Path, Path], tmp_path: Path, runs: list[Attempt]
) -> None:
    tuned(pair, tmp_path / "out")
    made = len(runs)
    tuned(pair, tmp_path / "out", config=CONFIG.updated(limits={"pil": 30.0, "linkage": 20.0}), risk="linkage")
    assert len(runs) == made
    tuned(pair, tmp_path / "out", seeds=3)
    assert [(one.settings["method"], one.seed) for one in runs[made:]] == [("noise", 2)]


def test_all_that_decides_a_result_is_in_its_name(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(
        config: Config = CONFIG,
        names: tuple[str, ...] = ("pil",),
        sample: str = "1 2",
        attempt: Attempt | None = None,
    ) -> str:
        original = open_original(*pair, config, no_progress)
        own = Attempt(0, recipe.settings, 0, whole=False) if attempt is None else attempt
        return outcomes.KeptOutcomes(None, original, names, sample)._key(own)

    recipe = TuneCandidate("noise", {"c": 0.2}, 3, "rules")
    first = key()
    keys = [
        first,
        key(names=("pil", "linkage")),
        key(sample="1 3"),
        key(attempt=Attempt(0, recipe.settings, 1, whole=False)),
        key(attempt=Attempt(0, recipe.settings, 0, whole=True)),
        *(
            key(attempt=Attempt(0, replace(recipe, **change).settings, 0, whole=False))
            for change in ({"k": 4}, {"grouping": "all"}, {"params": {"c": 0.3}}, {"aggregator": "median"})
        ),
        *(
            key(CONFIG.updated(**change))
            for change in (
                {"group_size_vars": 2},
                {"allow": ("sign",)},
                {"missing": {"C": frozenset({"-9", "7"})}},
                {"roles": {"A": Role.UNTOUCHED}},
                {"keep_missing": True},
                {"max_block_records": 30},
                {"nominal": ("A",)},
                {"format_options": {"delimiter": ","}},
            )
        ),
    ]
    same = [
        key(attempt=Attempt(5, recipe.settings, 0, whole=False)),
        key(CONFIG.updated(limits={"linkage": 1.0}, k=9, method="ipso", grouping="all", workers=7)),
        key(sample="1 3", attempt=Attempt(0, recipe.settings, 0, whole=True)),
    ]
    assert same == [first, first, keys[4]]
    with monkeypatch.context() as patch:
        patch.setattr(outcomes, "code_digest", lambda: "another")
        keys.append(key())
    with monkeypatch.context() as patch:
        patch.setattr(outcomes, "versions", lambda: {"masktron": "9"})
        keys.append(key())
    rules = pair[1].read_text()
    pair[1].write_text(rules.replace("A &gt;= 0", "A &gt;= -1"))
    keys.append(key())
    pair[1].write_text(f"{rules}<!-- a comment changes nothing -->")
    assert key() == first
    pair[0].write_text(pair[0].read_text().rsplit("\n", 2)[0] + "\n")
    keys.append(key())
    assert len(set(keys)) == len(keys) == 21


def test_a_damaged_or_foreign_entry_is_never_used(
    pair: tuple[Path, Path], tmp_path: Path, runs: list[Attempt]
) -> None:
    first = tuned(pair, tmp_path / "out")
    made = len(runs)
    entries = sorted((tmp_path / "out" / FOLDER).glob("*.json"))
    assert len(entries) == made
    text, kept = entries[0].read_text(), json.loads(entries[0].read_text())
    entries[0].write_text(text.replace('"pil": [\n        ', '"pil": [\n        1'))  # another figure
    assert entries[0].read_text() != text
    entries[1].write_text(text)  # that of another candidate, as it was
    entries[2].write_bytes(entries[2].read_bytes()[:50])
    entries[3].write_text("[" * 100_000)
    assert tuned(pair, tmp_path / "out").as_dict() == first.as_dict()
    assert len(runs) == made + 4
    assert json.loads(entries[0].read_text())["body"]["figures"] == kept["body"]["figures"]


def test_what_is_kept_is_for_its_owner_alone(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = os.umask(0)
    try:
        tuned(pair, out, methods=("mdav",), k=(3,))
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (out, *out.rglob("*"))}
    assert len(modes) > 3
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_an_interrupted_run_names_its_result_alone(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """There can be hundreds of files that are for the next run."""
    with atomic.publishing() as published:
        tuned(pair, tmp_path / "out", methods=("mdav",))
    assert [Path(name).name for name in published.names] == [RESULT]
    assert list((tmp_path / "out" / FOLDER).iterdir())


def command(pair: tuple[Path, Path], out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "masktron", "tune", str(pair[0]), "--rules", str(pair[1]), "--out", str(out)),
        *("--methods", "mdav,noise", "--k", "3", "--seeds", "2", "--workers", "1", "--missing", "C=-9"),
        *("--limit", "linkage=60"),
    ]


@pytest.mark.full
@pytest.mark.parametrize("moment", parts([1, 2, 3, *np.linspace(0.05, 3.95, 17)], 1))
def test_a_run_that_was_killed_goes_on(pair: tuple[Path, Path], tmp_path: Path, moment: float) -> None:
    """Kill -9 after some results, and a part of the time to the next: the next run ends as one that nobody killed."""
    wanted = tuned(pair).as_dict()
    out = tmp_path / "out"
    killed = subprocess.Popen(
        command(pair, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    results, rest = divmod(moment, 1)
    while killed.poll() is None and len(list(out.glob(f"{FOLDER}/*.json"))) < results:
        time.sleep(0.005)
    time.sleep(rest * (0.2 if results else 2.0))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert tuned(pair, out).as_dict() == wanted
    assert json.loads((out / RESULT).read_text()) == wanted
    assert not list(out.rglob("*.part"))


class Died(BaseException):
    """The process ended."""


@pytest.mark.parametrize("at", parts([3, 1, 5], 1))
def test_a_run_that_dies_while_it_writes_goes_on(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Before a result, or the last of all, gets its name."""
    wanted = tuned(pair).as_dict()
    replaced = itertools.count(1)
    publish = atomic._publish

    kept = 0

    def dies(*given: Any, **options: Any) -> None:
        nonlocal kept
        if next(replaced) == at:
            raise Died
        publish(*given, **options)
        kept += any(FOLDER in str(one) for one in given)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_publish", dies)
        with pytest.raises(Died):
            tuned(pair, tmp_path / "out")
    assert len(list((tmp_path / "out" / FOLDER).glob("*.json"))) == kept < at
    so_far = tmp_path / "out" / RESULT  # what was known from time to time
    assert not so_far.exists() or json.loads(so_far.read_text()) != wanted
    assert tuned(pair, tmp_path / "out").as_dict() == wanted


# budgets


class Clock:
    """Time that passes when a candidate is run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
        self.now = 0.0
        self.begun: list[tuple[str, float]] = []
        monkeypatch.setattr(schedule.time, "monotonic", lambda: self.now)
        clock = self

        def outcome(self: Bench, attempt: Attempt, progress: Any) -> TuneOutcome:
            takes = seconds[attempt.settings["method"]]
            clock.begun.append((attempt.settings["method"], clock.now))
            for _ in range(100):
                clock.now += takes / 100
                progress("masking", 0)
            return TuneOutcome("", {"disclosure_risk": (1.0, ""), "pil": (1.0, "")}, takes)

        monkeypatch.setattr(Bench, "outcome", outcome)


@pytest.mark.parametrize("budget", [7.0, 20.0, 33.0, 50.0, 400.0])
def test_the_budget_is_kept(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, budget: float) -> None:
    seconds = {"mdav": 4.0, "noise": 5.0, "mst": 30.0}
    clock = Clock(monkeypatch, seconds)
    result = tuned(pair, methods=("mdav", "mst", "noise"), budget=budget, config=Config(missing=CONFIG.missing))
    assert clock.now <= 1.1 * budget
    known: set[str] = set()
    for name, at in clock.begun:  # what is known to take longer than is left is not begun
        assert name not in known or at + seconds[name] <= budget
        known.add(name)
    states = [one.state for one in result.candidates]
    assert result.complete == ("unreached" not in states)
    assert result.complete == (budget == 400.0)
    if not result.complete:
        assert any("the budget of" in note for note in result.notes)
    if budget == 20.0:  # what is known to fit is begun although what stands before it does not
        assert [name for name, _ in clock.begun][:2] == ["mdav", "mst"]


def test_what_will_not_fit_is_not_begun() -> None:
    known = Durations({True: 100, False: 10})
    mdav, mst = (TuneCandidate(name, {}, 3, "rules") for name in ("mdav", "mst"))
    assert known.expected(Attempt(0, mdav.settings, 0, whole=False)) == 0
    known.took(Attempt(0, mdav.settings, 0, whole=False), 2.0)
    assert known.expected(Attempt(0, mdav.settings, 0, whole=False)) == pytest.approx(2.6)
    assert known.expected(Attempt(0, mdav.settings, 0, whole=True)) == pytest.approx(26.0)  # ten times the records
    assert known.expected(Attempt(0, mst.settings, 0, whole=False)) == pytest.approx(4.0)  # as others, and a margin
    assert known.expected(Attempt(0, mst.settings, 0, whole=True)) == pytest.approx(40.0)


def test_what_is_gone_before_the_call_is_part_of_the_budget(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, {"mdav": 4.0, "noise": 5.0})
    clock.now = 23.0
    asked = replace(ASKED, budget=30.0)
    late = run_tune(*pair, config=CONFIG, asked=asked, begun=0.0)
    assert [name for name, _ in clock.begun] == ["mdav"]
    assert clock.now <= 33.0
    assert [one.state for one in late.candidates] == ["measured", "unreached", "unreached"]
    with refused(ResourceError, "budget-over"):
        run_tune(*pair, config=CONFIG, asked=asked, begun=-10.0)


def test_a_budget_that_planning_takes_leaves_the_rest_unreached(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, planned = Clock(monkeypatch, {"mdav": 4.0, "noise": 5.0}), Bench.shape

    def shape(self: Bench, recipe: Mapping[str, Any], progress: Progress) -> Any:
        clock.now += 6.0
        return planned(self, recipe, progress)

    monkeypatch.setattr(Bench, "shape", shape)
    result = tuned(pair, budget=10.0, k=(3, 4, 5), sample=20)
    assert clock.now == 12.0
    assert {one.state for one in result.candidates} == {"unreached"}


class Pretended:
    """A helper that does nothing, and is lost when it is killed or closed."""

    def __init__(self) -> None:
        self.given: list[Attempt] = []
        self.killed = False
        self._ended = threading.Event()

    def set_up(self, setup: Any) -> None:
        pass

    def ready(self) -> bool:
        return True

    def outcome(self, attempt: Attempt) -> TuneOutcome:
        self.given.append(attempt)
        assert self._ended.wait(60)
        raise ChildLostError("killed")

    def kill(self) -> None:
        self.killed = True
        self._ended.set()

    def close(self) -> None:
        self._ended.set()


def pretended(monkeypatch: pytest.MonkeyPatch, *helpers: Pretended) -> None:
    waiting = list(helpers)
    for module in ("tuning", "trials"):  # at the start, and in the place of one that is lost
        monkeypatch.setattr(
            f"masktron.jobs.search.{module}.helpers_of",
            lambda count, file: [waiting.pop(0) for _ in range(count) if waiting],
        )


@pytest.mark.full
def test_a_helper_is_ended_with_the_budget(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs elsewhere does not tell how far it is: it is ended, and the result is there in time."""
    pretended(monkeypatch, helper := Pretended())
    begun = time.monotonic()
    result = tuned(pair, workers=1, methods=("mdav",), budget=3.0)
    assert 3.0 <= time.monotonic() - begun < 3.5
    assert [one.state for one in result.candidates] == ["unreached"] * 2
    assert len(helper.given) == 1


def test_a_candidate_that_takes_its_helper_with_it_is_refused_and_not_kept(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another helper takes the place; with none left the rest is done here."""
    lost = [Pretended(), Pretended()]
    for helper in lost:
        helper.kill()
    with monkeypatch.context() as patch:
        pretended(patch, *lost)
        result = tuned(pair, tmp_path / "out", workers=1, k=(3, 4), methods=("mdav",))
    assert [len(helper.given) for helper in lost] == [1, 1]
    assert [one.state for one in result.candidates] == ["ended", "ended", "measured", "measured"]
    assert "most likely the system ran out of memory" in sentence(result[0].reasons[0])
    again = tuned(pair, tmp_path / "out", k=(3, 4), methods=("mdav",))
    assert [one.state for one in again.candidates] == ["measured"] * 4


def test_what_memory_or_time_ended_is_not_kept(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> None:
        raise ResourceError("an engine took too long")

    with monkeypatch.context() as patch:
        patch.setattr(Bench, "_measured", ends)
        result = tuned(pair, tmp_path / "out", methods=("mdav",))
    assert {one.state for one in result.candidates} == {"ended"}
    assert not result.complete
    assert not list((tmp_path / "out" / FOLDER).iterdir())


def test_an_interrupt_ends_the_helpers_at_once(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    pretended(monkeypatch, helper := Pretended(), instead := Pretended())
    monkeypatch.setattr(Bench, "unmasked", interrupted)
    before = {*threading.enumerate()}
    with pytest.raises(KeyboardInterrupt):
        tuned(pair, workers=1, methods=("mdav",), budget=60.0)
    for thread in {*threading.enumerate()} - before:
        thread.join(5)
    assert helper.killed  # and not merely closed, which would have another take its place
    assert len(helper.given) <= 1  # nothing that waited was begun
    assert not instead.given


IN_PYTHON = """
import sys
import masktron
ask = {"methods": ["noise"], "k": 3, "seeds": 1000, "workers": 2, "budget": 120}
masktron.tune(sys.argv[1], sys.argv[2], sys.argv[3], missing={"C": "-9"}, ask=ask)
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel which processes a process has started")
def test_an_interrupt_in_python_leaves_no_process(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = subprocess.Popen([sys.executable, "-c", IN_PYTHON, *map(str, (*pair, out))], stderr=subprocess.PIPE)
    try:
        while len(list(out.glob(f"{FOLDER}/*.json"))) < 5:
            assert run.poll() is None
            time.sleep(0.05)
        threads = Path(f"/proc/{run.pid}/task").glob("*/children")
        helpers = [int(pid) for children in threads for pid in children.read_text().split()]
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    finally:
        run.kill()
    assert said.decode().rstrip().endswith("KeyboardInterrupt")
    assert len(helpers) == 2
    assert not [pid for pid in helpers if Path(f"/proc/{pid}").exists()]


def test_what_helpers_that_never_came_leave_is_done_here(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = Pretended()
    monkeypatch.setattr(helper, "ready", lambda: False)
    pretended(monkeypatch, helper)
    assert tuned(pair, workers=1, methods=("mdav",)).as_dict() == tuned(pair, methods=("mdav",)).as_dict()
    assert not helper.given


@pytest.mark.full
def test_a_process_is_ended_with_the_budget(pair: tuple[Path, Path]) -> None:
    begun = time.monotonic()
    tuned(pair, workers=2, methods=("cart", "sequential", "latent_class"), seeds=1000, budget=20.0)
    assert 10.0 < time.monotonic() - begun < 22.0


# samples


def clustered(n: int, folder: Path) -> tuple[Path, Path]:
    """Records in strata: some miss C, and A is 0 or above, which a rule makes two of."""
    data, rules = write_pair(folder, n, suffix=".csv")
    rules.write_text(
        rules.read_text().replace(
            "</schema>",
            '<pattern><rule context="Record"><assert id="if" test="not(B &gt; 150) or T &gt; 100">m</assert></rule>'
            "</pattern></schema>",
        )
    )
    return data, rules


def test_a_sample_is_of_whole_strata(tmp_path: Path) -> None:
    pair = clustered(2000, tmp_path)
    original = open_original(*pair, CONFIG, no_progress)
    run = Bench(original, ()).prepared(TuneCandidate("mdav", {}, 3, "rules").settings)
    units = list(sampling._units(run, 100, 3))
    assert sorted(np.concatenate(units).tolist()) == list(range(2000))
    assert max(map(len, units)) <= 100
    missing = ~original.kept.columns["C"].present
    assert all(missing[unit].all() or not missing[unit].any() for unit in units)
    found = sampling.sample_of(run, 900, 3)
    assert 600 < len(found) <= 900
    assert (np.diff(found) > 0).all()
    assert found.tolist() == sampling.sample_of(run, 900, 3).tolist()
    whole = [set(unit.tolist()) for unit in sampling._units(run, max(900 // 64, 60), 3)]
    assert all(len(unit & set(found.tolist())) in (0, len(unit)) for unit in whole)


@pytest.mark.full
def test_a_large_file_is_compared_on_a_sample_and_the_best_on_all(tmp_path: Path) -> None:
    pair = clustered(600, tmp_path)
    asked = {"sample": 300, "k": (3, 8), "methods": ("mdav", "noise", "ipso"), "seeds": 2}
    result = tuned(pair, tmp_path / "out", **asked)
    assert result.sample is not None
    assert result.sample <= 300
    states = {one.state for one in result.candidates}
    assert states == {"measured", "sampled"}
    assert {one.records for one in result.candidates if one.state == "measured"} == {600}
    assert {one.records for one in result.candidates if one.state == "sampled"} == {result.sample}
    assert result.recommended is not None
    assert all(result[at].state == "measured" for at in (result.recommended, *result.front))
    assert result[result.recommended].seeds == (2 if result[result.recommended].draws else 1)
    assert any(f"on a sample of {result.sample:,} of 600 records" in note for note in result.notes)
    whole = tuned(pair, tmp_path / "out", **(asked | {"sample": 0}))
    assert whole.sample is None
    assert str(whole[result.recommended].figures) == str(result[result.recommended].figures)
    assert tuned(pair, tmp_path / "out", **asked).as_dict() == result.as_dict()


def test_totals_of_the_file_are_not_tried_on_a_sample(tmp_path: Path) -> None:
    data, rules = write_pair(tmp_path, 200, suffix=".xml")
    total = sum(int(str(row["A"])) for row in rows_of(200))
    over = f'<pattern><rule context="Data"><assert id="t" test="sum(Record/A) = {total}">m</assert></rule></pattern>'
    rules.write_text(rules.read_text().replace("</schema>", f"{over}</schema>"))
    assert tuned((data, rules), sample=100, methods=("mdav",), k=(3,)).sample is None


# refusals


def test_what_is_refused_or_the_same_is_listed(tmp_path: Path) -> None:
    pair = write_pair(tmp_path, 40, suffix=".csv")
    config = Config(missing=CONFIG.missing, roles={"C": Role.UNTOUCHED}, limits={"disclosure_risk": 90.0})
    result = tuned(pair, config=config, methods=("crest", "mdav"), k=(3, 50))
    said = [(one.method, one.k, one.grouping, one.state, one.same_as) for one in result.candidates]
    assert ("mdav", 3, "all", "same", 1) in said
    assert ("mdav", 50, "rules", "refused", None) in said
    assert [one.state for one in result.candidates if one.method == "crest"] == ["refused"] * 4
    assert result.recommended == 1


def test_nothing_is_tried_of_a_file_that_breaks_its_rules(pair: tuple[Path, Path], tmp_path: Path) -> None:
    pair[0].write_text(pair[0].read_text() + "1,1,3,5\n")
    with refused(InvalidOriginalError, "original-breaks-rules", records=1, total=41):
        tuned(pair, tmp_path / "out")
    kept = tuned(pair, tmp_path / "out", config=replace(CONFIG, invalid="exclude"), methods=("mdav",), k=(3,))
    assert kept.records == 40
    assert "1 record that breaks a rule is left out, as mask leaves them out" in kept.notes


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"seed": 5}, "setting-not-usable"),
        ({"secret": bytes(range(32))}, "setting-not-usable"),
        ({"limits": {"class_imbalance": 1.0}}, "setting-not-usable"),
    ],
)
def test_what_a_search_cannot_take_is_refused(pair: tuple[Path, Path], given: dict[str, Any], code: str) -> None:
    with refused(UsageError, code):
        tuned(pair, config=replace(CONFIG, **given))


def test_a_deadline_interrupts_where_progress_is_told() -> None:
    deadline = Deadline(0.0, time.monotonic() - 1.0)
    with pytest.raises(schedule.BudgetOver):
        deadline.watching(no_progress)("masking", 1)
    said = []
    Deadline(60.0, time.monotonic()).watching(lambda stage, done: said.append((stage, done)))("masking", 1)
    assert said == [("masking", 1)]


def test_the_map_so_far_is_told_and_kept(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masktron.jobs.search.trials._BETWEEN", 0.0)
    monkeypatch.setattr("masktron.jobs.search.trials._COST", 0.0)
    told: list[tuple[TuneResult, dict[str, Any]]] = []
    out = tmp_path / "out"

    def heard(result: TuneResult) -> None:
        told.append((result, json.loads((out / RESULT).read_text())))

    last = run_tune(*pair, out, config=CONFIG, asked=replace(ASKED, k=(3, 4)), so_far=heard)
    assert all(result.as_dict() == kept for result, kept in told)
    measured = [sum(one.state == "measured" for one in result.candidates) for result, _ in told]
    assert measured[0] == 1 and measured == sorted(measured) and len(told) > 3
    assert not told[0][0].complete and "so far" in told[0][0].notes[-1]
    assert told[0][0].candidates[-1].reasons == ("not tried so far",)
    assert {result.recommended for result, _ in told} == {None} and last.recommended is not None
    assert last.complete and "so far" not in " ".join(last.notes)
    assert json.loads((out / RESULT).read_text()) == last.as_dict()


def test_maps_on_the_way_are_rare_where_they_cost_much(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[TuneResult] = []
    monkeypatch.setattr(trials, "_BETWEEN", 3600.0)
    run_tune(*pair, config=CONFIG, asked=replace(ASKED, k=(3, 4)), so_far=told.append)
    assert len(told) == 1  # all is over within an hour
