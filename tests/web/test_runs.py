"""Runs: started, queued, cancelled, found again by another server; what pages show of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from masktron.problems.problem import Problem
from masktron.problems.readers import Reader
from masktron.web.runs import run_process, run_queue
from masktron.web.runs.one_run import CommandRun, InRun, InRunOf, RunState, latest_run, run_of, runs_of
from masktron.web.store.projects import Project
from other_processes import lives
from web_client import Office, csrf_of, sample_of, sent, until

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def project(office: Office) -> Project:
    return office.store.make("a survey")


def started(office: Office, project: Project, *words: str | InRun | InRunOf, step: str = "mask") -> CommandRun:
    return office.parts.queue.start(project, step, words)


def reaches(office: Office, run: CommandRun, state: RunState) -> bool:
    office.parts.queue.beat()
    return run.state is state


def ended(office: Office, run: CommandRun) -> CommandRun:
    until(lambda: reaches(office, run, RunState.ENDED))
    return run


def test_a_command_knows_that_pages_read_its_result(office: Office, project: Project) -> None:
    assert ended(office, started(office, project, "reader")).stdout.splitlines()[0] == Reader.BROWSER.value


def test_a_run_is_a_folder_with_all_that_came_of_it(office: Office, project: Project) -> None:
    run = started(office, project, "hello", "folder", InRun("a b.csv"))
    assert (run.name, run.state, run.outputs) == ("0001-mask", RunState.WAITING, [])
    ended(office, run)
    assert run.exit_code == 0
    assert run.stdout.splitlines()[0] == "hello"
    assert run.stdout.splitlines()[1].startswith(f"{project.folder} [")
    assert run.command["arguments"][-1] == "runs/0001-mask/a b.csv"
    assert run.shown_command == "masktron hello folder 'runs/0001-mask/a b.csv'"
    assert run.seconds is not None and run.error is None
    modes = {one.stat().st_mode & 0o077 for one in (run.folder, *run.folder.iterdir())}
    assert modes == {0}
    next_one = started(office, project, "x", step="check")
    assert [one.name for one in runs_of(project)] == ["0002-check", "0001-mask"] and next_one.number == 2
    assert latest_run(project, "mask") == run and latest_run(project, "tune") is None


def test_outputs_are_the_files_that_the_command_wrote(office: Office, project: Project) -> None:
    (project.folder / "secret").write_text("x")
    run = started(office, project, "write=runs/0001-mask/masked.csv", "write=runs/0001-mask/.hidden")
    ended(office, run)
    (run.folder / "link").symlink_to(project.folder / "secret")
    assert [(one.name, one.size, one.confidential) for one in run.outputs] == [("masked.csv", 8, False)]
    for name in ("link", ".hidden", "command.json", "../../secret", "stderr.txt", ".lock"):
        assert run.output(name) is None
    assert run.output("masked.csv") == run.folder / "masked.csv"
    later = started(office, project, InRunOf(run, "masked.csv"))
    assert later.command["arguments"] == ["runs/0001-mask/masked.csv"]


def test_the_error_of_a_command_is_told_with_what_where_and_hint(office: Office, project: Project) -> None:
    run = ended(office, started(office, project, "fail"))
    assert run.exit_code == 2
    error = run.error
    assert error is not None
    assert (error.what, error.where, error.hint) == (
        "k must be at least 2, not 1",
        "masktron.toml",
        "3 to 10 are usual",
    )


def test_a_run_works_with_the_rules_and_settings_of_its_start(office: Office, project: Project) -> None:
    project.write({"rules.sch": b"<rules/>", "parts.sch": b"<parts/>"}, said="rules")
    settings = {"k": 3, "documents": {"areas.xml": "files/areas.xml"}, "metadata": "files/m.json"}
    project.settings.update(settings, said="settings")
    run = started(office, project, "x", "--config", InRun("masktron.toml"), "--rules", InRun("rules.sch"))
    project.write({"rules.sch": b"<others/>"}, said="rules")
    project.settings.update({"k": 4, "documents": None}, said="k")
    ended(office, run)
    assert (run.folder / "rules.sch").read_bytes() == b"<rules/>"
    assert run.copies == ["parts.sch", "rules.sch", "masktron.toml"] and run.outputs == []
    table = (run.folder / "masktron.toml").read_text()
    assert "k = 3" in table and '"../../files/areas.xml"' in table and 'metadata = "../../files/m.json"' in table


@pytest.mark.parametrize("entry", ["", "."])
def test_uploads_are_no_modules_of_a_command(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    # an empty entry is what `PYTHONPATH=folder:$PYTHONPATH` makes where there was none
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], entry]))
    for folder in (project.folder, project.files):
        for name in ("json.py", "masktron.py", "subprocess.py", "sitecustomize.py"):
            (folder / name).write_text("raise SystemExit('run')")
    run = ended(office, started(office, project, "hello"))
    assert (run.exit_code, run.stderr) == (0, "")


def test_so_many_at_once_and_the_others_wait_in_order(office: Office, project: Project) -> None:
    office = office.again(at_once=3)
    other = office.store.make("another")
    own = [started(office, project, "sleep=30") for _ in range(4)]
    theirs = [started(office, other, "sleep=30") for _ in range(2)]
    until(lambda: all(reaches(office, run, RunState.RUNNING) for run in own[:3]))
    for _ in range(3):
        office.parts.queue.beat()
    states = [run.state.value for run in (*own, *theirs)]
    assert states == ["running"] * 3 + ["waiting"] * 3
    assert [office.parts.queue.place(run) for run in (own[3], *theirs)] == [0, 1, 2]
    office.parts.queue.cancel(own[3])
    assert own[3].state is RunState.CANCELLED
    for run in (*own, *theirs):
        office.parts.queue.cancel(run)
    until(lambda: all(reaches(office, run, RunState.CANCELLED) for run in (*own, *theirs)))


def test_cancel_ends_the_processes_of_a_run_alone(office: Office, project: Project) -> None:
    run = started(office, project, "sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and bool(run.stages))
    pid = run.pid
    assert pid is not None and os.getpgid(pid) == pid != os.getpgid(0)
    office.parts.queue.cancel(run)
    until(lambda: reaches(office, run, RunState.CANCELLED), within=10.0)
    until(lambda: not lives(pid))
    assert run.exit_code == 128 + signal.SIGTERM
    office.parts.queue.beat()
    assert office.parts.queue.busy() == set()


def test_a_run_that_does_not_hear_is_killed(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_queue, "GRACE", 0.3)
    run = started(office, project, "stubborn", "sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and bool(run.stages))
    pid = run.pid
    office.parts.queue.cancel(run)
    until(lambda: reaches(office, run, RunState.CANCELLED), within=10.0)
    assert pid is not None
    until(lambda: not lives(pid))


def test_a_command_that_was_killed_ends_with_its_signal(office: Office, project: Project) -> None:
    run = ended(office, started(office, project, "die"))
    assert run.exit_code == 128 + signal.SIGKILL


def test_another_server_finds_what_waits_and_what_works(office: Office, project: Project) -> None:
    working, waiting = started(office, project, "sleep=1"), started(office, project, "sleep=0")
    until(lambda: reaches(office, working, RunState.RUNNING))
    # nothing of the first server is used any more: as after its SIGKILL
    second = office.again()
    second.parts.queue.recover()
    second.parts.queue.beat()
    assert (working.state, waiting.state) == (RunState.RUNNING, RunState.WAITING)
    assert second.parts.queue.busy() == {project.folder}
    ended(second, working)
    ended(second, waiting)
    assert (working.exit_code, waiting.exit_code) == (0, 0)


def test_after_a_reboot_a_run_is_shown_as_ended_without_a_result(office: Office, project: Project) -> None:
    run = started(office, project, "sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and bool(run.stages))
    assert run.pid is not None
    os.killpg(run.pid, signal.SIGKILL)
    until(lambda: reaches(office, run, RunState.LOST))
    # the number of its process may be anybody's by now
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": os.getpid(), "began": 0.0}))
    second = office.again()
    second.parts.queue.recover()
    second.parts.queue.cancel(run)
    second.parts.queue.beat()
    assert run.state is RunState.CANCELLED and second.parts.queue.busy() == set()


def test_a_run_begins_once(office: Office, project: Project) -> None:
    run = ended(office, started(office, project, "hello"))
    before = (run.folder / run_process.EXIT).read_bytes()
    again = [sys.executable, "-P", "-m", "masktron.web.runs.run_process", str(run.folder)]
    assert subprocess.run(again, check=False).returncode == 1
    assert (run.folder / run_process.EXIT).read_bytes() == before


def test_what_could_not_be_started_is_told(office: Office, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.runs.run_queue.interpreter", lambda: "/bin/false")
    run = ended(office, started(office, project, "hello"))
    assert run.error is not None and run.error.problem == Problem(
        "run-not-started", reason="its process ended with code 1 before it began"
    )


@pytest.mark.parametrize("name", ["0001-mask/..", "..", "0001-Mask", "1-mask", "0001-mask\n", "0002-mask", "0001-"])
def test_only_runs_are_runs(office: Office, project: Project, name: str) -> None:
    started(office, project, "hello")
    assert run_of(project, name) is None
    assert run_of(project, "0001-mask") is not None


def page_of(client: TestClient, where: str, run: CommandRun) -> str:
    return str(client.get(f"{where}/runs/{run.name}").text)


def test_the_page_of_a_run_shows_progress_then_what_came_out(office: Office) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    run = started(office, project, "sleep=60", "--out=<script>")
    until(lambda: reaches(office, run, RunState.RUNNING) and bool(run.stages))
    text = page_of(client, where, run)
    assert '<progress value="30" max="120"' in text and "30 of 120 records, 25 %, 0:03 left" in text
    assert 'hx-trigger="every 1s"' in text and '<meta http-equiv="refresh"' in text
    assert "--out=&lt;script&gt;" in text and "--out=<script>" not in text
    assert f"cd {project.folder}" in text
    answer = sent(client, f"{where}/runs/{run.name}", "cancel")
    assert answer.headers["location"] == f"{where}/runs/{run.name}"
    until(lambda: reaches(office, run, RunState.CANCELLED))
    text = page_of(client, where, run)
    assert "was cancelled" in text and "hx-trigger" not in text and "http-equiv" not in text


def test_outputs_are_downloaded_and_reports_shown_apart(office: Office) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    out = "runs/0001-mask"
    names = ("findings.csv", "masked.csv", "report.html", "<b>.xml")
    run = started(office, project, *(f"write={out}/{name}" for name in names))
    ended(office, run)
    text = page_of(client, where, run)
    assert "<b>.xml" not in text and "&lt;b&gt;.xml" in text
    # the masked file leaves by the page that has it checked
    assert "<strong>masked.csv</strong>" in text and f'<a href="{where}/release">Check it' in text
    assert f'href="{where}/{out}/files/masked.csv"' not in text and f'href="{where}/{out}/files/report.html"' in text
    assert client.get(f"{where}/{out}/files/masked.csv").headers["location"] == f"{where}/release"
    answer = client.get(f"{where}/{out}/files/findings.csv")
    assert answer.text == "written\n"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    shown = client.get(f"{where}/{out}/report/report.html")
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts") and "allow-same-origin" not in policy
    assert re.search(r"script-src 'sha256-[\w+/]+='", policy)
    for path in ("files/command.json", "files/..%2f..%2fproject.json", "files/.lock", "report/findings.csv"):
        assert client.get(f"{where}/{out}/{path}").status_code == 404
    assert client.get(f"{where}/download/masktron.toml").text == project.settings.text
    for name in ("project.json", "history.jsonl", "..%2f..%2fx.sch"):
        assert client.get(f"{where}/download/{name}").status_code == 404


def test_a_project_is_deleted_at_once_with_its_runs(office: Office) -> None:
    client = office.browser()
    project, _ = sample_of(office, client)
    run = started(office, project, "sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and run.pid is not None)
    pid = run.pid
    answer = client.post("/", data={"csrf": csrf_of(client), "action": "delete", "project": project.identity})
    assert answer.status_code == 303
    assert not project.folder.exists() and pid is not None
    until(lambda: not lives(pid))
    office.parts.queue.beat()
    assert office.parts.queue.busy() == set()


@pytest.mark.full
def test_temporary_files_of_a_run_go_with_it(office: Office, project: Project) -> None:
    def begun(*words: str) -> tuple[CommandRun, Path]:
        run = started(office, project, "temp=document.xml", *words)
        return run, run.folder / ".tmp" / "document.xml"

    run, _ = begun()
    assert not (ended(office, run).folder / ".tmp").exists()
    for killed_by in (office, office.again()):
        run, written = begun("sleep=60")
        until(lambda run=run, written=written: reaches(office, run, RunState.RUNNING) and written.exists())
        assert written.parent.stat().st_mode & 0o777 == 0o700
        assert run.pid is not None and run.outputs == []
        os.killpg(run.pid, signal.SIGKILL)
        until(lambda run=run: not run.is_held)
        if killed_by is office:
            until(
                lambda run=run, written=written: reaches(office, run, RunState.LOST) and not written.parent.exists()
            )
        else:  # the server was killed with it
            killed_by.parts.queue.recover()
            assert run.state is RunState.LOST and not written.parent.exists()
    run, written = begun("sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and written.exists())
    office.parts.queue.end_project(project)
    office.store.delete(project)
    assert not written.exists() and not list(office.folder.rglob("document.xml"))


def test_the_shown_command_is_one_for_a_shell(office: Office, project: Project) -> None:
    words = ["a b", "$(touch x)", "'; rm", "-k", "ü"]
    run = started(office, project, *words)
    script = run.shown_command.replace("masktron", "printf '%s\\n'", 1)
    found = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd=project.folder)
    assert found.stdout.splitlines() == words
    assert not (project.folder / "x").exists()


def test_a_run_that_finds_no_process_is_told_and_others_go_on(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    lost, found = started(office, project, "hello"), started(office, project, "hello")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", none)
        office.parts.queue.beat()
    assert (lost.state, found.state) == (RunState.ENDED, RunState.WAITING)
    assert lost.error is not None and lost.error.problem == Problem(
        "run-not-started", reason="Resource temporarily unavailable"
    )
    assert "BlockingIOError at test_runs.py:" in caplog.text
    third = started(office, project, "hello")
    assert ended(office, third).exit_code == 0


def test_a_command_whose_watcher_was_killed_works_on_and_can_be_cancelled(office: Office, project: Project) -> None:
    run = started(office, project, "sleep=60")
    until(lambda: reaches(office, run, RunState.RUNNING) and bool(run.stages))
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: not lives(run.pid or 0))
    office.parts.queue.beat()
    assert run.state is RunState.RUNNING and office.parts.queue.busy() == {project.folder}
    office.parts.queue.cancel(run)
    until(lambda: reaches(office, run, RunState.CANCELLED))
    assert not run.is_held


def test_a_run_that_begins_while_somebody_looks_is_not_lost(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(office, project, "hello")
    real, locks = run_process.locked, list[int | None]()

    def begins_after(folder: Path, **how: bool) -> int | None:
        """Somebody looks at the lock, and right after that the process of the run takes it."""
        found = real(folder, **how)
        if not locks and found is not None:
            os.close(found)
            locks.append(real(folder))
            (folder / run_process.PROCESS).write_text(json.dumps({"pid": os.getpid(), "began": 0.0}))
            found = os.open(os.devnull, os.O_RDONLY)
        return found

    monkeypatch.setattr(run_process, "locked", begins_after)
    first = run.state
    assert locks[0] is not None and not run.is_over
    assert (first, run.state) == (RunState.WAITING, RunState.RUNNING)
    os.close(locks[0])
    assert run.state is RunState.LOST


def test_no_signal_goes_to_a_process_that_has_got_the_number_of_another(office: Office, project: Project) -> None:
    run = started(office, project, "hello")
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": bystander.pid, "began": 0.0}))
    assert not office.parts.queue._signal(run_queue._Working(run, None), signal.SIGKILL)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_who_asks_whether_a_run_works_is_not_taken_for_it(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(office, project, "hello")
    run.cancel()
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": bystander.pid, "began": 0.0}))
    real, signalled = run_process.locked, list[bool]()

    def while_another_asks(folder: Path, **how: bool) -> int | None:
        lock = real(folder, **how)
        if not signalled:
            signalled.append(True)
            signalled[0] = office.parts.queue._signal(run_queue._Working(run, None), signal.SIGKILL)
        return lock

    monkeypatch.setattr(run_process, "locked", while_another_asks)
    try:
        assert not run.is_held and signalled == [False] and bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_drafts_that_come_at_once_take_the_place_of_each_other(office: Office, project: Project) -> None:
    queue, errors = office.parts.queue, list[BaseException]()

    def types() -> None:
        for _ in range(8):
            try:
                queue.try_out(project, "draft", ["x"], {"rules.sch": b"<a/>"})
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

    typing = [threading.Thread(target=types) for _ in range(4)]
    for one in typing:
        one.start()
    while any(one.is_alive() for one in typing):
        for run in runs_of(project):
            with suppress(OSError):
                run_process.write(run.folder / run_process.EXIT, {"code": 0, "problem": "", "began": 0, "ended": 1})
    assert errors == []
    drafts = [run for run in runs_of(project) if run.step == "draft"]
    assert queue.place(drafts[0]) is not None
    assert [one.name for one in project.runs.iterdir() if one.name.startswith(".gone-")] == []


def carried_out(run: CommandRun, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """Start the process of a run, with what happens just before its command begins."""
    script = f"""
import os, signal, subprocess, sys
from masktron.web.runs import run_process
begin = subprocess.Popen
def popen(*words, **how):
    {before or "pass"}
    return begin(*words, **how)
subprocess.Popen = popen
sys.exit(run_process.main([{str(run.folder)!r}]))
"""
    return subprocess.run([sys.executable, "-c", script], timeout=60, check=False)


def test_a_run_that_is_cancelled_before_its_command_begins_does_nothing(office: Office, project: Project) -> None:
    run = started(office, project, "write=x.txt")
    run.cancel()
    assert carried_out(run).returncode == 1
    assert run.state is RunState.CANCELLED and run.pid is None and not (project.folder / "x.txt").exists()


def test_a_command_that_begins_after_its_run_was_asked_to_end_is_ended(office: Office, project: Project) -> None:
    run = started(office, project, "sleep=5", "write=x.txt")
    assert carried_out(run, "os.kill(os.getpid(), signal.SIGTERM)").returncode == 0
    assert run.exit_code == 128 + signal.SIGTERM and not (project.folder / "x.txt").exists()
