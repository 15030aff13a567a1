"""`mask` and `check` give slices to workers, and say the same whoever has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import masktron
from carrying_executor import CarryingExecutor
from cli_runner import Runner, numbers, write_data, write_rules
from cutting import cut_from
from masktron import memory
from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs import check as check_module
from masktron.jobs import column_memory, sharing
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.sources.tables.separated import csv_stream
from masktron.sources.xml import flatness
from refusals import refused

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    rows = [{"Id": at, **row} for at, row in enumerate(numbers(120))]
    return write_data(folder / "data.xml", rows), write_rules(folder / "rules.sch", "A + B = T", "A < 900")


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> CarryingExecutor:
    """Let files be large from some bytes on, and have slices of some bytes done as if elsewhere."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    monkeypatch.setattr(flatness, "SLICED", 1500)
    real = flatness.established

    def in_small_blocks(*given: Any) -> Any:
        *before, _, judge = given
        return real(*before, 500, judge)

    monkeypatch.setattr(flatness, "established", in_small_blocks)
    cut_from(monkeypatch, 0, 1500, by_executor=0)
    return CarryingExecutor()


def given_to(monkeypatch: pytest.MonkeyPatch, executor: CarryingExecutor | None) -> None:
    for module in (sharing, check_module):
        monkeypatch.setattr(module, "executor_of_run", lambda _: executor)


def masked(pair: tuple[Path, Path], out: Path) -> tuple[bytes, bytes, dict[str, Any]]:
    config = Config(k=3, secret=KEY, roles={"Id": "untouched"}, invalid="exclude", order="keep")  # type: ignore[arg-type]
    result = run_mask(MaskRequest(*pair, out, config=config))
    return out.read_bytes(), out.with_name("m.manifest.json").read_bytes(), result.as_dict()


@pytest.mark.full
def test_what_is_masked_and_checked_is_the_same(
    pair: tuple[Path, Path], executor: CarryingExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m.xml"
    found = []
    for own in (None, executor):
        given_to(monkeypatch, own)
        found.append(masked(pair, out))
    assert found[0] == found[1]
    stages = executor.stages
    assert stages.keys() == {"judging data.xml", "judging m.xml", "asking engines about m.xml"}
    assert min(stages.values()) > 1
    stages.clear()
    manifest, said = out.with_name("m.manifest.json"), []
    # a record that breaks a rule, far behind: which one it is, nobody knows but by counting
    spoilt = tmp_path / "spoilt.xml"
    text = out.read_text()
    at = text.rindex("<T>")
    spoilt.write_text(f"{text[:at]}<T>1{text[at + 3 :]}")
    for own in (None, executor):
        given_to(monkeypatch, own)
        said.append(run_check(CheckRequest(spoilt, pair[1], original=pair[0], manifest=manifest)).as_dict())
    assert said[0] == said[1]
    assert said[0]["violations"] == 1
    assert stages.keys() == {"judging spoilt.xml", "asking engines about spoilt.xml"}
    assert min(stages.values()) > 1


def test_what_the_user_has_to_know_of_workers_is_noted_whatever_stage_they_had_first(
    pair: tuple[Path, Path], executor: CarryingExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = executor.map

    def reached_late(*given: Any, stage: str, **more: Any) -> Any:
        if stage.startswith("asking engines"):
            executor.notes = ("reached without TLS",)
        return real(*given, stage=stage, **more)

    monkeypatch.setattr(executor, "map", reached_late)
    given_to(monkeypatch, executor)
    out = tmp_path / "m.xml"
    *_, said = masked(pair, out)
    assert "reached without TLS" in said["notes"]
    assert "reached without TLS" in json.loads(out.with_name("m.manifest.json").read_text())["result"]["notes"]


@pytest.mark.full
def test_a_table_that_is_read_in_blocks_is_judged_in_slices(
    pair: tuple[Path, Path], executor: CarryingExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    monkeypatch.setattr(csv_stream, "_BLOCK", 300)
    data = tmp_path / "d.csv"
    data.write_text("Id,A,B,T\n" + "".join(f"{at},{at},2,{at + 2 + (at == 90)}\n" for at in range(120)))
    found = []
    for share in (memory.COLUMN_SHARE, 1 << 60):  # as a whole, and in blocks
        monkeypatch.setattr(memory, "COLUMN_SHARE", share)
        for own in (None, executor):
            given_to(monkeypatch, own)
            executor.stages.clear()
            found.append(run_check(CheckRequest(data, pair[1])).as_dict())
            in_slices = own is not None and share == 1 << 60
            assert (executor.stages.get("judging d.csv", 0) > 1) == in_slices
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0]["violations"] == 1


def test_what_an_engine_counts_otherwise_is_named_by_the_same_record(
    executor: CarryingExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libxml2 alone reads a number of many digits otherwise: a known deviation, with the first record that has it."""
    rows = [{"A": "0.1" if at < 50 else "0.100000000000000005551115123125783", "B": at} for at in range(60)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A * 3 < 0.30000000000000001", "B < 55")
    said = []
    for own in (None, executor):
        given_to(monkeypatch, own)
        said.append(run_check(CheckRequest(data, rules)).as_dict())
    assert said[0] == said[1]
    assert executor.stages


OPTIONS = {"memory": "3GB", "workers": 3, "executor": "dask", "scheduler": "tcp://127.0.0.1:1"}


@pytest.mark.parametrize("way", ["python", "command", "settings"])
def test_options_reach_the_run(
    pair: tuple[Path, Path],
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Runner,
) -> None:
    seen: list[Config] = []

    def enough(config: Config) -> None:
        seen.append(config)
        raise UsageError("seen")

    monkeypatch.setattr(check_module, "executor_of_run", enough)
    data, rules = pair
    if way == "python":
        options: Any = OPTIONS
        with pytest.raises(UsageError, match="seen"):
            masktron.check(data, rules, **options)
    else:
        given = [text for name, value in OPTIONS.items() for text in (f"--{name}", str(value))]
        if way == "settings":
            settings = tmp_path / "settings.toml"
            settings.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in OPTIONS.items()))
            given = ["--config", str(settings)]
        run("check", str(data), "--rules", str(rules), *given)
    (config,) = seen
    assert (config.memory, config.workers) == (3 * 10**9, 3)
    assert (config.executor, config.scheduler) == ("dask", "tcp://127.0.0.1:1")


def test_memory_decides_how_columns_are_held(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    """Less than they would take: they are read into files, and all figures are the same."""
    data, rules = pair
    mapped: list[str] = []
    real: Callable[..., Any] = column_memory.private_folder
    monkeypatch.setattr(column_memory, "private_folder", lambda *given: mapped.append("") or real(*given))
    monkeypatch.setattr(memory, "COLUMN_CELL", 300_000)
    names = ["information_loss", "unchanged"]
    found = []
    for given in ("9GB", "400MB"):
        mapped.clear()
        figures = masktron.assess(data, data, measures=names, same_order=True, memory=given)
        checked = masktron.check(data, rules, original=data, max_failures={"R2": 99}, memory=given)
        assert len(mapped) == (4 if given == "400MB" else 0)
        found.append((figures.as_dict(), checked.as_dict()))
    assert found[0] == found[1]
    mapped.clear()
    given = ("assess", data, "--original", data, "--same-order", "--measures", "unchanged", "--memory", "400MB")
    assert run(*given).code == 0
    assert len(mapped) == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"memory": "much"}, "bad-value"),
        ({"memory": "1MB"}, "bad-value"),
        ({"workers": 0}, "bad-value"),
        ({"executor": "spark"}, "bad-value"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "needs-setting"),
    ],
)
def test_options_that_do_not_fit_are_refused_first(
    pair: tuple[Path, Path], options: Any, code: str, tmp_path: Path
) -> None:
    with refused(UsageError, code):
        masktron.check(tmp_path / "none.xml", pair[1], **options)
