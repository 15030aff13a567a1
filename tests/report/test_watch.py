"""Progress on a terminal: stages, records, the time left."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from cli_runner import numbers, write_data, write_rules
from masktron.config import Config
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.progress import expect, no_progress, told_as
from masktron.report.watch import QUICK, Lines, Watch, _Count, figures, lines, seconds_left, watch


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def screen(clock: Clock) -> Progress:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    return Progress(
        TextColumn("{task.description}", markup=False), _Count(), console=console, get_time=clock, auto_refresh=False
    )


@pytest.fixture
def shown(screen: Progress) -> Callable[[], list[str]]:
    def lines() -> list[str]:
        console = Console(file=io.StringIO(), width=120)
        with console.capture() as capture:
            console.print(screen)
        return [" ".join(line.split()) for line in capture.get().splitlines()]

    return lines


def test_a_stage_has_its_records_share_and_time_left(
    screen: Progress, clock: Clock, shown: Callable[[], list[str]]
) -> None:
    seen = Watch(screen, clock)
    assert shown() == ["starting"]
    expect(seen, "asking Saxon", 1_000_000)
    for _ in range(11):
        seen("asking Saxon", int(clock.now) * 20_000)
        clock.now += 1
    assert shown() == ["asking Saxon 200,000 of 1,000,000 records, 20 %, 0:40 left"]
    seen("asking Saxon", 1_000_000)
    assert shown() == ["asking Saxon 1,000,000 of 1,000,000 records, 100 %"]


def test_what_is_not_known_is_not_shown(screen: Progress, clock: Clock, shown: Callable[[], list[str]]) -> None:
    seen = Watch(screen, clock)
    seen("masking [V1]", 0)
    assert shown() == ["masking [V1]"]
    seen("validating data.xml", 0)
    clock.now += 2
    seen("validating data.xml", 5000)
    assert shown() == ["validating data.xml 5,000 records, 0:02 so far"]


def test_a_stage_is_counted_in_its_unit_and_has_its_time(
    screen: Progress, clock: Clock, shown: Callable[[], list[str]]
) -> None:
    seen = Watch(screen, clock)
    told = told_as(seen, "masking A, B", "groups")
    told(0, 400)
    assert shown() == ["masking A, B 0 of 400 groups, 0 %"]
    clock.now += 65
    assert shown() == ["masking A, B 0 of 400 groups, 0 %, 1:05 so far"]
    seen("planning", 0)
    clock.now += 7
    assert shown()[-1] == "planning 0:07 so far"


@pytest.fixture
def said() -> list[str]:
    return []


def test_without_a_terminal_quick_stages_say_nothing(clock: Clock, said: list[str]) -> None:
    seen = Lines(said.append, clock)
    for stage in "abcdefgh":
        seen(stage, 0)
        clock.now += QUICK - 0.5
        seen.tick()
    assert said == []


def test_without_a_terminal_a_long_stage_has_a_line_every_few_seconds(clock: Clock, said: list[str]) -> None:
    seen = Lines(said.append, clock)
    told = told_as(seen, "masking \x9bA", "groups")
    for second in range(20):
        told(10 * second, 400)
        seen.tick()
        clock.now += 1
    assert said == [
        r"masking \x9bA: 20 of 400 groups, 5 %, 0:38 left",
        r"masking \x9bA: 70 of 400 groups, 17 %, 0:33 left",
        r"masking \x9bA: 120 of 400 groups, 30 %, 0:28 left",
        r"masking \x9bA: 170 of 400 groups, 42 %, 0:23 left",
    ]
    told(400, 400)
    clock.now += 60
    seen.tick()
    assert len(said) == 4, "what is done is done"
    seen("planning", 0)
    clock.now += 3
    seen.tick()
    seen("writing", 0)
    clock.now += 3
    seen.tick()
    assert said[4:] == ["planning: 0:03 so far", "writing: 0:03 so far"], "what has been left is not told"


def test_lines_come_while_a_stage_says_nothing(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.report.watch.QUICK", 0.0)
    heard = threading.Event()

    def write(line: str) -> None:
        said.append(line)
        heard.set()

    with lines(write) as seen:
        seen("planning", 0)
        assert heard.wait(30)
    assert said[0].startswith("planning")
    assert not [thread for thread in threading.enumerate() if thread.name == "masktron-progress"]


COMMANDS = (
    ("validate", "d.xml", "-r", "r.sch"),
    ("explain", "r.sch", "--data", "d.xml"),
    ("mask", "d.xml", "-r", "r.sch", "-o", "o.xml"),
    ("tune", "d.xml", "-r", "r.sch", "-o", "tuned"),
    ("check", "d.xml", "-r", "r.sch"),
    ("assess", "d.xml", "--original", "d.xml"),
    ("demo",),
)


def test_commands_give_a_sign_of_life_before_they_load_anything_heavy() -> None:
    code = f"""
import sys
from contextlib import contextmanager
from masktron.commands import line, running

@contextmanager
def first():
    print(sorted({{"numpy", "lxml", "numba", "pandas", "scipy", "saxonche"}} & set(sys.modules)))
    raise SystemExit
    yield

running.progress_shown = first
for command in {COMMANDS!r}:
    sys.argv = ["masktron", *command]
    try:
        line.main()
    except SystemExit:
        pass
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]"] * len(COMMANDS)


def test_every_stage_of_mask_says_what_it_does(tmp_path: Path) -> None:
    class Heard:
        def __init__(self) -> None:
            self.sizes: dict[str, tuple[int, str]] = {}
            self.done: dict[str, int] = {}

        def expect(self, stage: str, size: int, /, unit: str = "records") -> None:
            self.sizes[stage] = (size, unit)

        def __call__(self, stage: str, done: int, /) -> None:
            self.done[stage] = max(done, self.done.get(stage, 0))

    data = write_data(tmp_path / "d.xml", numbers(40))
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    heard = Heard()
    result = run_mask(MaskRequest(data, rules, tmp_path / "out.xml", config=Config(k=4)), progress=heard)
    block = "masking A, B, T"
    figures = len(result.figures)
    assert heard.sizes[block] == (result.blocks[0].groups, "groups")
    assert heard.sizes["forming groups"] == (1, "partitions")
    assert heard.sizes["measuring risk and utility"] == (figures, "figures")
    assert heard.sizes["reading d.xml"] == heard.sizes["writing out.xml"] == (40, "records")
    for stage in (block, "forming groups", "measuring risk and utility"):
        assert heard.done[stage] == heard.sizes[stage][0]
    drawn = Heard()
    run_mask(
        MaskRequest(data, rules, tmp_path / "drawn.xml", config=Config(method="noise"), manifest=tmp_path / "m"),
        progress=drawn,
    )
    assert drawn.sizes[block] == (40, "records")
    assert drawn.done[block] == 40
    assert "drawing values by noise" in drawn.done


def test_stages_at_the_same_time_have_a_line_each(
    screen: Progress, clock: Clock, shown: Callable[[], list[str]]
) -> None:
    seen = Watch(screen, clock)
    for stage in "ab":
        expect(seen, stage, 10)
        seen(stage, 4)
    assert [line.split()[0] for line in shown()] == ["a", "b"]
    seen("a", 10)
    seen("c", 0)
    assert [line.split()[0] for line in shown()] == ["b", "c"], "what is done goes when something begins"
    clock.now += 60
    seen("d", 0)
    assert [line.split()[0] for line in shown()] == ["d"], "and what was left goes too"
    seen("b", 5)
    assert shown()[-1].startswith("b 5 of 10 records")


def test_threads_may_tell(screen: Progress, clock: Clock) -> None:
    seen = Watch(screen, clock)
    told: list[str] = []

    def tell(stage: str) -> None:
        expect(seen, stage, 500)
        for done in range(501):
            seen(stage, done)
        told.append(stage)

    threads = [threading.Thread(target=tell, args=(f"stage {at}",)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 4
    assert all(task.completed == 500 for task in screen.tasks)


@pytest.mark.parametrize(
    ("done", "said"), [(9, "9 of 1,000 groups, 0 %, 0:20 so far"), (10, "10 of 1,000 groups, 1 %, 33:00 left")]
)
def test_no_time_is_foreseen_before_a_hundredth_is_done(done: int, said: str) -> None:
    assert figures(done, 1_000, "groups", 20.0, 20.0 * (1_000 - done) / done) == said
    assert (seconds_left(done, 1_000, 20.0) is None) == ("left" not in said)


def test_at_the_end_nothing_is_left_on_the_screen() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with watch(console) as seen:
        seen("validating", 3)
    assert "validating" in out.getvalue()
    assert out.getvalue().rstrip().endswith("\x1b[2K"), "the line is taken away"


def test_who_does_not_want_to_know_is_not_told() -> None:
    expect(no_progress, "validating", 5)
    expect(lambda stage, done: None, "validating", 5)


def test_a_stage_that_comes_back_begins_where_it_is(screen: Progress, clock: Clock) -> None:
    begun: list[float] = []
    add = screen.add_task

    def watched(description: str, **options: Any) -> Any:
        begun.append(options.get("completed", 0))
        return add(description, **options)

    screen.add_task = watched  # type: ignore[method-assign]
    seen = Watch(screen, clock)
    told = told_as(seen, "forming groups", "partitions")
    told(1, 7)
    clock.now += 10
    seen("masking A", 0)
    told(4, 7)
    assert begun == [0, 1, 0, 4], "nobody sees 0 of 7 in between"
