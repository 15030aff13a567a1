"""What an installation has; compiling ahead, in the foreground and behind a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from masktron.errors import InstallationError, ResourceError
from masktron.jobs import doctor
from masktron.kernels import warm
from masktron.progress import no_progress
from masktron.report.rendering import render
from masktron.report.tables.doctor import tables as doctor_tables
from other_processes import ends, lives
from paths import SCHEMAS
from refusals import refused
from schema_files import conforms

SCHEMA = json.loads((SCHEMAS / "doctor.schema.json").read_text(encoding="utf-8"))


def said(result: doctor.DoctorResult) -> str:
    return "\n".join(str(part) for part in doctor_tables(result)[1:])


def test_what_there_is_is_told() -> None:
    result = doctor.run_doctor(progress=no_progress)
    assert result.works
    assert all(engine.works for engine in result.engines)
    assert set(result.compiled) == {family.name for family in warm.FAMILIES}
    conforms(result.as_dict(), "doctor")


def test_an_engine_that_does_not_work_and_a_package_that_is_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> list[str]:
        raise ResourceError.of("out-of-memory", reason="the engine Saxon did not get it")

    # no memory for an engine (`ulimit -v`) is told beside the rest
    for function, name in (("values", "SaxonC-HE"), ("describe_engine", "SaxonC")):
        own = getattr(doctor, function)
        monkeypatch.setattr(doctor, function, lambda *a, own=own: own(*a) if a == ("libxml2",) else refused())
        result = doctor.run_doctor(progress=no_progress)
        assert not result.works
        assert result.engines[0].works
        assert result.engines[1].name.startswith(name)
        conforms(result.as_dict(), "doctor")
        table = " ".join(render(doctor_tables(result)[:1]).split())
        assert "does not work: there is too little memory: the engine Saxon did not get it -> free memory" in table
        monkeypatch.undo()
    monkeypatch.setattr(doctor, "values", lambda *_: ["false"])
    assert not doctor.run_doctor(progress=no_progress).works
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package",))
    result = doctor.run_doctor(progress=no_progress)
    assert result.packages == {"no-such-package": None}
    assert not result.works


def family(ready: bool, compiled: list[str], name: str = "one") -> SimpleNamespace:
    return SimpleNamespace(name=name, is_ready=lambda: ready, compile_all=lambda: compiled.append(name))


def test_only_what_is_missing_is_compiled_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    done, told = list[str](), list[tuple[str, int]]()
    families = (family(True, done), family(False, done, "two"), family(False, done, "three"))
    monkeypatch.setattr(warm, "FAMILIES", families)
    monkeypatch.setattr(warm, "_in_a_process", lambda one: one.compile_all())
    doctor.run_doctor(warm_up=True, progress=lambda stage, at: told.append((stage, at)))
    assert sorted(done) == ["three", "two"]
    assert told[:3] == [("compiling the loops over records, once", at) for at in range(3)]


def test_what_does_not_compile_is_an_error_with_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = warm.KernelFamily("broken code", "no_such_module", "ready", "compile")
    monkeypatch.setattr(warm, "FAMILIES", (broken,))
    monkeypatch.setattr(warm.KernelFamily, "is_ready", lambda _: False)
    monkeypatch.setattr(
        warm, "_ourselves", lambda *_, **__: [sys.executable, "-c", "raise SystemExit('no compiler')"]
    )
    with refused(InstallationError, "does-not-work"):
        doctor.run_doctor(warm_up=True, progress=no_progress)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not end a process with its parent")
def test_what_compiles_ends_with_the_run(tmp_path: Path) -> None:
    """A run that is killed leaves nothing behind that works on."""
    program = "from masktron.kernels import warm; warm._in_a_process(warm.FAMILIES[1])"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as run:
        until = time.monotonic() + 20
        found: list[str] = []
        while not found and time.monotonic() < until:
            time.sleep(0.02)
            found = "".join(path.read_text() for path in Path(f"/proc/{run.pid}/task").glob("*/children")).split()
        time.sleep(0.2)
        run.kill()
    number = int(found[0])
    try:
        assert ends(number)
    finally:
        if lives(number):
            os.kill(number, signal.SIGKILL)
