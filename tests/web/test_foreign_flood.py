"""A server under connections that another user of the machine opens without end."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from web_client import served

NOBODY = 65_534
PYTHON = "/usr/bin/python3"
"""A Python that another user can run."""
OWN_REQUESTS = 40

RATE, KEPT = 500, 800
"""Connections that he opens per second, and has open at the same time."""

FLOOD = """
import socket, sys, time
from collections import deque
address, kept, begun = ("127.0.0.1", int(sys.argv[1])), deque(), time.monotonic()
for number in range(100_000_000):
    opened = socket.socket()
    opened.setblocking(False)
    opened.connect_ex(address)
    kept.append(opened)
    if number == 500:
        print("flooding", flush=True)
    if len(kept) > int(sys.argv[2]):
        kept.popleft().close()
    time.sleep(max(0, begun + number / int(sys.argv[3]) - time.monotonic()))
"""


@contextmanager
def flooded(port: int) -> Iterator[None]:
    """Have another user open connections without end."""
    argv = [PYTHON, "-c", FLOOD, str(port), str(KEPT), str(RATE)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, user=NOBODY, cwd="/") as flood:
        try:
            assert flood.stdout is not None
            assert flood.stdout.readline() == b"flooding\n"
            yield
            assert flood.poll() is None
        finally:
            flood.kill()


def outcome_of(browser: urllib.request.OpenerDirector, address: str) -> str:
    try:
        with browser.open(address, timeout=5) as answer:
            return str(answer.status)
    except OSError as error:
        return str(error)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can run programs as another user")
@pytest.mark.skipif(not Path(PYTHON).exists(), reason="another user needs a Python that he can run")
@pytest.mark.full
def test_the_owner_is_answered_while_another_user_floods_the_server(tmp_path: Path) -> None:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with served(tmp_path / "projects") as server:
        assert outcome_of(browser, server.opened) == "200"
        with flooded(server.port):
            found = Counter(outcome_of(browser, server.address) for _ in range(OWN_REQUESTS))
    assert found == {"200": OWN_REQUESTS}
