"""A browser for tests of pages: the Chromium of the system, driven by playwright, without a network of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def started() -> Iterator[Any]:
    """Give a browser; the test is skipped with the reason where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"there is no browser here: none of {', '.join(NAMES)} is on the path")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def shown(
    browser: Any, path: Path | str, *, width: int = 1280, scheme: str = "light", **context: Any
) -> Iterator[Any]:
    """Give a page, with what it asked for, what of that was refused and why, and its complaints.

    They are its attributes ``asked``, ``refused`` and ``complaints``. A page is a file, or has an address.
    """
    window = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **context)
    page = window.new_page()
    page.asked, page.refused, page.complaints = [], {}, []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("requestfailed", lambda request: page.refused.update({request.url: request.failure}))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(path if isinstance(path, str) else path.as_uri())
    yield page
    window.close()


def axe_findings(page: Any) -> list[str]:
    """Return what axe-core finds wrong with a page."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 15, "axe has not looked at the page"
    return [f"{one['id']}: {node['target']}" for one in found["violations"] for node in one["nodes"]]
