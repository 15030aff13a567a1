"""Progress on a terminal: stages, records, the time left."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from masktron.jobs.common import expect, no_progress
from masktron.report.watch import Watch, _Count, watch


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
    assert shown() == ["validating data.xml 5,000 records"]


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
