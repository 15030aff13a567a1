"""Shared set-up: hypothesis profiles, where the public reference data are, names of tests."""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cli_runner import Runner
from examples import FULL
from lent_engines import Lending, lending_engines
from masktron.problems.readers import Reader, reading
from paths import SHARED_DATA

_STATE = tempfile.TemporaryDirectory(prefix="masktron-tests-")  # removed when this process ends
os.environ.setdefault("XDG_STATE_HOME", _STATE.name)  # workers of xdist share that of the first process

# A shell without job control, and nohup, start tests with signals ignored. Programs that tests start would inherit
# that; in the place of a handler they have the default.
for _number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda *_: None)
gc.disable()  # what the collection of tests makes is kept; see pytest_collection_finish

settings.register_profile(
    "ci", max_examples=10, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("full", settings.get_profile("ci"), max_examples=100)  # and `examples` are all tried
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the public reference data; the test is skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public reference data (../shared/data) are not here")
    return SHARED_DATA


@pytest.fixture
def at_terminal() -> Iterator[None]:
    """Let sentences name options of the command line, also where a test calls functions of Python."""
    with reading(Reader.TERMINAL):
        yield


@pytest.fixture(scope="session", autouse=True)
def lending() -> Iterator[Lending]:
    """Let engines serve one run after the other, but for `make test-full`, where each run starts its own."""
    with lending_engines() as engines:
        engines.pausing = FULL
        yield engines


@pytest.fixture
def engines_of_their_own(lending: Lending, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each thread start an engine that ends with it, as in the product."""
    monkeypatch.setattr(lending, "pausing", True)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Run commands in this process."""
    return Runner(capsys)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: those of an archive hold the time, and would differ in every process."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is `full`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark cases beyond those of ``few`` as ``full``, and refuse names that hold the address of an object.

    Processes that share the tests would find other names, and run none.
    """
    alike: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("few")) and not item.get_closest_marker("full"):
            alike[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, size), cases in alike.items():
        if size < 1:
            raise pytest.UsageError(f"few({size}) of {cases[0].nodeid} would leave none")
        # by the test's name too, so that tests of the same parameters try others
        for case in sorted(cases, key=lambda one: sha256(one.name.encode()).digest())[size:]:
            case.add_marker("full")
    if addressed := [item.nodeid for item in items if re.search(r" at 0x[0-9a-f]{8,}", item.nodeid)]:
        raise pytest.UsageError(f"these names differ in every process; give them ids: {addressed}")


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and never look again at the millions of objects that all tests share."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # else extension modules take for leaked what nobody looks at
    gc.enable()
