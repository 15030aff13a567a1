"""What every executor promises: order, errors, lost workers, bounds; and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import executor_tasks as tasks
from examples import parts
from masktron.errors import DocumentError, Exit, ResourceError, UsageError
from masktron.executor import dask_cluster
from masktron.executor.contract import AHEAD, Executor, SliceFailedError
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.which import Serial, executor_of
from masktron.judge.runner import SlowRuleError
from masktron.problems.problem import format_option
from masktron.processes import rules_within
from paths import ROOT
from refusals import refused

KINDS = ("serial", "local", "dask")


def alive(pid: int) -> bool:
    """Tell whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ended(pids: list[int]) -> bool:
    until = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(alive, pids))


def said(mark: Path) -> int:
    """Wait for what a worker says of itself."""
    until = time.monotonic() + 20
    while not mark.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return int(mark.read_text())


@pytest.fixture(scope="module")
def local() -> Iterator[LocalProcesses]:
    with LocalProcesses(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask_here() -> Iterator[Executor]:
    """Give Dask in threads of this process: what it is asked and answers is the same."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        executor_of("dask", workers=2, scheduler=cluster.scheduler_address) as executor,
    ):
        yield executor


@pytest.fixture(params=KINDS)
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "serial":
        return Serial()
    found: Executor = request.getfixturevalue("local" if request.param == "local" else "dask_here")
    return found


@pytest.mark.few(1)
def test_results_have_the_order_of_the_slices(executor: Executor) -> None:
    told: list[tuple[int, int]] = []
    found = list(executor.map(tasks.square_soon, range(12), stage="squares", told=lambda *what: told.append(what)))
    assert found == [number * number for number in range(12)]
    assert told == [(done, 12) for done in range(1, 13)]
    assert list(executor.map(tasks.square, iter([]), stage="squares")) == []


def test_an_error_comes_at_its_turn_with_all_fields(executor: Executor) -> None:
    found = []
    with refused(DocumentError, "csv-quote", where="data.csv, record 4", detail="an end") as caught:
        for value in executor.map(tasks.failing, range(12), stage="failing"):
            found.append(value)  # noqa: PERF402
    assert found == [0, 1, 2]
    assert caught.value.helps == (format_option("a", "b"),)
    assert list(executor.map(tasks.square, range(3), stage="after an error")) == [0, 1, 4]


def test_an_error_that_asks_for_more_travels_too(executor: Executor) -> None:
    with refused(SlowRuleError, "rule-too-slow", where="rules.sch:3, record 8, rule R1"):
        list(executor.map(tasks.slow_rule, [7], stage="slow"))


def test_other_errors_keep_their_class(executor: Executor) -> None:
    with pytest.raises(tasks.OwnError) as caught:
        list(executor.map(tasks.own_error, [7], stage="own"))
    assert caught.value.args == ("a fault", 7)
    if executor.name != "serial":
        assert "in own_error" in caught.value.__notes__[0]
    with pytest.raises(MemoryError):
        list(executor.map(tasks.no_memory, [7], stage="memory"))


def test_what_cannot_travel_is_told_with_its_traceback(executor: Executor) -> None:
    if executor.name == "serial":
        with pytest.raises(tasks.HeldError):
            list(executor.map(tasks.held_error, [7], stage="held"))
        return
    with pytest.raises(SliceFailedError, match="in held_error"):
        list(executor.map(tasks.held_error, [7], stage="held"))
    with pytest.raises(TypeError, match="pickle"):
        list(executor.map(tasks.no_result, [7], stage="held"))
    assert list(executor.map(tasks.square, range(3), stage="after that")) == [0, 1, 4]


def test_slices_are_taken_as_they_are_needed(executor: Executor) -> None:
    given = 0

    def slices() -> Iterator[int]:
        nonlocal given
        for number in count():
            given = number + 1
            yield number

    with closing(executor.map(tasks.square, slices(), stage="endless")) as found:
        for taken in range(1, 20):
            assert next(found) == (taken - 1) ** 2
            assert given < taken + AHEAD * executor.workers
    assert given >= 19
    assert list(executor.map(tasks.square, range(3), stage="after an endless one")) == [0, 1, 4]


def test_a_function_is_set_up_once_for_each_worker(executor: Executor) -> None:
    found = list(executor.map(tasks.SetUp(), range(40), stage="set up"))
    workers = {who for who, _ in found}
    assert len(workers) <= executor.workers
    for own in workers:
        times = [number for who, number in found if who == own]
        assert sorted(times) == list(range(1, len(times) + 1))


def test_two_maps_at_a_time(executor: Executor) -> None:
    first = executor.map(tasks.square, range(9), stage="first")
    second = executor.map(tasks.failing, range(3), stage="second")
    assert [next(first), next(second), next(first), next(second)] == [0, 0, 1, 1]
    assert [*second, *first] == [2, *(number * number for number in range(2, 9))]


def test_workers_know_what_the_run_knows(executor: Executor) -> None:
    with rules_within(17):
        seconds, member, threads = next(executor.map(tasks.worker_facts, [0], stage="facts"))
    assert (seconds, member) == (17, False)
    if executor.name == "local":
        assert set(threads) == {"1"}


def test_a_lost_worker_costs_its_slice_only(local: LocalProcesses, tmp_path: Path) -> None:
    slices = [(str(tmp_path / "mark"), number) for number in range(12)]
    assert list(local.map(tasks.deadly_once, slices, stage="deadly once")) == list(range(12))
    assert (tmp_path / "mark").exists()


def test_a_slice_that_ends_two_workers_ends_the_run(local: LocalProcesses) -> None:
    found = []
    with refused(ResourceError, "worker-lost") as caught:
        for number in local.map(tasks.deadly, range(12), stage="deadly"):
            found.append(number)  # noqa: PERF402
    assert caught.value.exit_code is Exit.RESOURCES
    assert found == [0, 1, 2][: len(found)]
    assert list(local.map(tasks.square, range(3), stage="after that")) == [0, 1, 4]


@pytest.mark.parametrize("seed", parts(range(25), 1))
def test_workers_killed_at_any_time(seed: int) -> None:
    drawn = random.Random(seed)
    killed = given = at = 0

    def told(done: int, _: int) -> None:
        nonlocal given
        given = done

    with LocalProcesses(2) as executor:
        over = threading.Event()

        def kill() -> None:
            nonlocal killed, at
            while not over.wait(drawn.uniform(0, 0.1)):
                # by then the slices that were in flight are done, so that none ends two workers
                if given >= at + AHEAD * executor.workers or not killed:
                    for process in drawn.sample(sorted(executor._processes, key=lambda one: one.process.pid), 1):
                        process.kill()
                    killed, at = killed + 1, given

        killer = threading.Thread(target=kill)
        running = executor.map(tasks.square_soon, [*range(5)] * 5, stage="killed", told=told)
        found = [next(running)]
        killer.start()
        try:
            found += running
        finally:
            over.set()
            killer.join()
    assert killed >= 2
    assert found == [number * number for number in range(5)] * 5


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    def interrupted() -> None:
        with LocalProcesses(2) as executor:
            list(executor.map(tasks.endless, [str(tmp_path / "one"), str(tmp_path / "other")], stage="endless"))

    watching = threading.Thread(
        target=lambda: (said(tmp_path / "one"), said(tmp_path / "other"), os.kill(os.getpid(), signal.SIGINT))
    )
    watching.start()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    watching.join()
    assert ended([said(tmp_path / "one"), said(tmp_path / "other")])


def test_an_abandoned_map_holds_nobody_up(tmp_path: Path) -> None:
    mark = tmp_path / "one"
    with LocalProcesses(2) as executor:
        running = executor.map(tasks.square_or_endless, [3, str(mark), *range(20)], stage="abandoned")
        assert next(running) == 9
        worker = said(mark)
        running.close()
        assert list(executor.map(tasks.square, range(3), stage="others")) == [0, 1, 4]
        assert alive(worker)
    assert ended([worker])


@pytest.mark.parametrize("options", ["1", "1, 60"])
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path, options: str) -> None:
    code = (
        "import executor_tasks as tasks; from masktron.executor.local_processes import LocalProcesses\n"
        f"with LocalProcesses({options}) as one: list(one.map(tasks.endless, [{str(tmp_path / 'one')!r}], stage='x'))"
    )
    search = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "tests" / "support")])
    run = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": search})
    worker = said(tmp_path / "one")
    assert alive(worker)
    run.kill()
    run.wait()
    assert ended([worker])


def test_an_executor_that_is_closed_says_so() -> None:
    executor = LocalProcesses(2)
    executor.close()
    with pytest.raises(RuntimeError, match="closed"):
        list(executor.map(tasks.square, range(3), stage="late"))


def test_workers_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.child_process.interpreter", lambda: None)
    with LocalProcesses(2) as executor, refused(ResourceError, "worker-lost"):
        list(executor.map(tasks.square, range(3), stage="none"))


def test_workers_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.executor.local_processes.opened_worker", os.abort)
    with LocalProcesses(1) as executor, refused(ResourceError, "worker-lost"):
        list(executor.map(tasks.square, range(3), stage="none"))


def test_choosing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(executor_of(workers=1), Serial)
    assert isinstance(executor_of(workers=2), LocalProcesses)
    with refused(UsageError, "unknown-name", kind="executor", name="spark"):
        executor_of("spark", workers=2)
    with refused(UsageError, "needs-setting"):
        executor_of("local", workers=2, scheduler="tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused(UsageError, "package-missing", extra="dask"):
        executor_of("dask", workers=2)


def test_dask_shows_our_stages(dask_here: Executor) -> None:
    from distributed.client import Client

    found = dask_here.map(tasks.square, range(9), stage="judging over-all")
    next(found)
    client = dask_here._client  # type: ignore[attr-defined]
    assert isinstance(client, Client)
    names = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    assert {"judging over all", "setting up judging over all"} <= names
    assert list(found) == [number * number for number in range(1, 9)]


def test_dask_refuses_workers_of_another_version(dask_here: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(["1.0", "2.0"])
    monkeypatch.setattr(dask_cluster, "version_of", lambda _: next(asked))
    with refused(UsageError, "worker-unfit"):
        list(dask_here.map(tasks.square, [1], stage="other"))


def test_dask_gets_paths_in_full(dask_here: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.csv").write_text("text")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    running = dask_here.map(tasks.Reading(Path("data.csv")), range(40), stage="reading")
    assert next(running) == "0 text"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert list(running) == [f"{number} text" for number in range(1, 40)]


def test_a_worker_of_dask_says_what_it_does_not_see(
    dask_here: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("data.csv")
    path.write_text("text")
    # what the client sees when it sends a task, and a worker of the same machine does not
    monkeypatch.setattr(
        tasks.Reading, "__call__", lambda own, _: (_ for _ in ()).throw(DocumentError("no", where=own.path))
    )
    with pytest.raises(DocumentError) as kept:
        list(dask_here.map(tasks.Reading(path), range(2), stage="reading"))
    assert (kept.value.what, kept.value.where) == ("no", "data.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with refused(UsageError, "worker-unfit", where=tmp_path / "data.csv"):
        list(dask_here.map(tasks.Reading(path), range(2), stage="reading"))


def test_dask_without_its_scheduler_before_a_stage(dask_here: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed.client import ClosedClientError

    client = dask_here._client  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:  # what a client says when it has lost its scheduler
        patch.setattr(client, "scheduler_info", lambda **_: {"type": "Scheduler"})
        assert list(dask_here.map(tasks.square, range(3), stage="squares")) == [0, 1, 4]

    def closed(*_: object, **__: object) -> None:
        raise ClosedClientError("Client is closed")

    with monkeypatch.context() as patch:
        patch.setattr(client, "submit", closed)
        with pytest.raises(ClosedClientError, match="Client is closed"):
            list(dask_here.map(tasks.square, range(3), stage="squares"))
        patch.setattr(client, "status", "closed")
        with refused(ResourceError, "cluster-unreachable"):
            list(dask_here.map(tasks.square, range(3), stage="squares"))


def test_dask_says_that_it_was_reached_without_certificates(dask_here: Executor) -> None:
    assert dask_here.notes == ()
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    with (
        distributed.LocalCluster(
            n_workers=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        executor_of("dask", workers=1, scheduler=cluster.scheduler_address) as executor,
    ):
        (note,) = executor.notes
        assert "without TLS" in note
        assert "127.0.0.1" not in note


def test_dask_on_this_machine_has_no_port_for_http() -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    from masktron.executor.dask_workers import local_cluster

    with (
        local_cluster(0) as cluster,
        distributed.Client(cluster.address, security=cluster.security, set_as_default=False) as client,
    ):
        port = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.http_server.port)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_dask_without_a_scheduler_or_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    monkeypatch.setattr(dask_cluster, "_MISSING", 0.3)
    for address in ("tcp://127.0.0.1:1", "tls://127.0.0.1:1", "nonsense://a:1"):
        with (
            refused(UsageError, "cluster-unreachable"),
            executor_of("dask", workers=1, scheduler=address),
        ):
            pass
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        refused(UsageError, "cluster-unreachable"),
        executor_of("dask", workers=1, scheduler=cluster.scheduler_address),
    ):
        pass


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_dask_loses_nothing_with_a_worker(seed: int) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    drawn = random.Random(seed)
    with executor_of("dask", workers=2) as executor:
        client = executor._client  # type: ignore[attr-defined]
        running = executor.map(tasks.square_soon, [*range(5)] * 20, stage="killed")
        found = [next(running)]
        for _ in range(3):
            found += [next(running) for _ in range(drawn.randrange(10, 20))]
            workers = client.run(os.getpid)
            os.kill(drawn.choice(sorted(workers.values())), signal.SIGKILL)
        found += running
        workers = client.run(os.getpid)
    assert found == [number * number for number in range(5)] * 20
    assert ended(list(workers.values()))


@pytest.mark.full
def test_dask_ends_the_run_of_a_slice_that_ends_its_workers(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    with executor_of("dask", workers=2) as executor:
        slices = [(str(tmp_path / "mark"), number) for number in range(12)]
        assert list(executor.map(tasks.deadly_once, slices, stage="deadly once")) == list(range(12))
        found = []
        with refused(ResourceError, "worker-lost"):
            for number in executor.map(tasks.deadly, range(12), stage="deadly"):
                found.append(number)  # noqa: PERF402
        assert found == [0, 1, 2]
        assert list(executor.map(tasks.square, range(3), stage="after that")) == [0, 1, 4]


@pytest.mark.full
def test_dask_without_its_scheduler_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    monkeypatch.setattr(dask_cluster, "_MISSING", 5.0)
    search = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "tests" / "support")])
    environment = {**os.environ, "PYTHONPATH": search}
    file = tmp_path / "scheduler.json"
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*begin, "--host=127.0.0.1", "--port=0", "--dashboard-address=127.0.0.1:0", "--scheduler-file", str(file)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    begin = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
    worker = subprocess.Popen(
        [*begin, "--nthreads=1", "--no-nanny", "--death-timeout=20", "--local-directory", str(tmp_path)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with executor_of("dask", workers=1, scheduler=address) as executor:
            running = executor.map(tasks.square_soon, range(100), stage="without a scheduler")
            assert next(running) == 0
            scheduler.kill()
            with refused(ResourceError, "cluster-unreachable"):
                list(running)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
