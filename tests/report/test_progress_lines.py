"""Progress and errors for another program: the files that the environment names."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from cli_runner import Runner, numbers, write_data, write_rules
from masktron.errors import ERROR_FILE, Exit, UsageError
from masktron.progress import PROGRESS_FILE, expect
from masktron.report.progress_lines import ProgressLines, also_written
from masktron.web.runs.one_run import stages_of
from refusals import refused


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_have_the_stage_its_figures_and_the_time_left() -> None:
    lines: list[str] = []
    heard: list[tuple[str, int]] = []
    clock = Clock()
    progress = ProgressLines(lines.append, lambda stage, done: heard.append((stage, done)), clock)
    expect(progress, "masking", 120, "groups")
    for seconds, done in ((0.0, 0), (0.1, 10), (2.0, 30), (0.1, 40), (0.1, 120), (1.0, 0)):
        clock.now += seconds
        progress("masking", done)
    progress("writing", 5)
    found = [json.loads(line) for line in lines]
    assert [(one["stage"], one["at"], one["done"], one["left"]) for one in found] == [
        ("masking", 0.0, 0, None),
        ("masking", 2.1, 30, 6.3),
        ("masking", 2.3, 120, 0.0),
        ("masking", 3.3, 0, None),
        ("writing", 3.3, 5, None),
    ]
    assert (found[1]["size"], found[1]["unit"], found[1]["seconds"]) == (120, "groups", 2.1)
    assert (found[-1]["size"], found[-1]["unit"]) == (None, "records")
    assert len(heard) == 7


def test_stages_in_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    with also_written(path, lambda *_: None) as progress:
        threads = [
            threading.Thread(target=lambda name=name: [progress(f"stage {name}", done) for done in range(200)])
            for name in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {json.loads(line)["stage"] for line in path.read_text().splitlines()} == {f"stage {n}" for n in range(4)}


def test_who_watches_a_run_sees_which_stages_are_over(tmp_path: Path) -> None:
    path, clock = tmp_path / "progress", Clock()
    assert stages_of(path) == []
    lines: list[str] = []
    progress = ProgressLines(lines.append, lambda *_: None, clock)
    progress("reading", 10)
    expect(progress, "planning", 4)
    progress("planning", 4)
    clock.now += 1
    expect(progress, "masking", 100)
    progress("masking", 50)
    clock.now += 1
    progress("masking", 75)
    path.write_text("\n".join(lines) + '\n{"stage": "half')
    found = {one.name: one for one in stages_of(path)}
    assert {name: one.over for name, one in found.items()} == {"reading": True, "planning": True, "masking": False}
    assert (found["masking"].share, found["masking"].left) == (75, pytest.approx(1 / 3, abs=0.001))
    assert found["reading"].share is None
    path.write_text("x" * 100_000 + "\n" + lines[-1] + "\n")
    assert [one.name for one in stages_of(path)] == ["masking"]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with (
        refused(UsageError, "cannot-write", file="the progress"),
        also_written(tmp_path / "none" / "x", lambda *_: None),
    ):
        pass


@pytest.mark.parametrize(("rule", "code"), [("A + B = T", 0), ("A + B = T + 1", 1)], ids=["valid", "a violation"])
def test_a_command_writes_its_progress_and_no_error(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, rule: str, code: int
) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", rule)
    monkeypatch.setenv(PROGRESS_FILE, str(tmp_path / "progress"))
    monkeypatch.setenv(ERROR_FILE, str(tmp_path / "error"))
    assert run("validate", data, "--rules", rules).code == code
    assert stages_of(tmp_path / "progress")
    assert not (tmp_path / "error").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--record", "Row"), {"exit_code": Exit.USAGE, "kind": "UsageError"}),
        (("--metadata", "none.xml"), {"exit_code": Exit.DOCUMENT, "kind": "DocumentError"}),
        (("--phase", "none"), {"exit_code": Exit.RULEBOOK, "kind": "RulebookError"}),
        (("--max-findings", "x"), {"exit_code": Exit.USAGE, "where": ""}),
        (("--no-such-option",), {"exit_code": Exit.USAGE, "kind": "UsageError"}),
        (("--rule-timeout", "x"), {"exit_code": Exit.USAGE, "kind": "UsageError"}),
    ],
)
def test_a_command_writes_the_error_that_ends_it(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: dict[str, object]
) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")
    monkeypatch.setenv(ERROR_FILE, str(tmp_path / "error"))
    outcome = run("validate", data, "--rules", rules, *arguments)
    found = json.loads((tmp_path / "error").read_text())
    assert found["exit_code"] == outcome.code
    assert {name: found[name] for name in told} == told
    assert found["what"] and all(word in outcome.err for word in found["what"].split()[:4])
