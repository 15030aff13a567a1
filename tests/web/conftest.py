"""What tests of web pages begin with: an office without a network, and a browser in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from browser import started
from masktron.web.store.projects import Project
from quick_masktron import put_before_masktron
from web_client import Office, end_runs, made_office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Return an office whose runs are commands; they end with the test."""
    found = made_office(tmp_path)
    yield found
    end_runs(found)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands of runs sleep, write and fail at once."""
    put_before_masktron(tmp_path, monkeypatch)


@pytest.fixture
def project(office: Office) -> Project:
    """Return a project with two fields, and with a rulebook without rules."""
    found = office.store.make("a survey")
    (found.files / "a.csv").write_text("A,B\n1,2\n")
    found.choose_data("a.csv")
    found.write({"rules.sch": b"<schema/>"}, said="Rules")
    return found


@pytest.fixture
def client(office: Office) -> TestClient:
    """Return a browser of whoever is let in."""
    return office.browser()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Return a browser that runs scripts; while it runs, no test of the module has an event loop of its own."""
    with started() as found:
        yield found
