"""The site as `make docs` builds it, once for all tests that look at it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from paths import DOCS

NEEDED = (
    "sphinx",
    "pydata_sphinx_theme",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "latex2mathml",
    "ipykernel",
)


def needs_site() -> None:
    """Skip a test, with the reason, where the group `docs` of pyproject.toml is not installed."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        pytest.skip(f"the site is not built here: {', '.join(lacking)} not installed (pip install --group docs)")


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does; a warning is an error."""
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html",
         "-d", str(out / ".doctrees"), str(source), str(out)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def built(folder: Path) -> Path:
    """Return the folder of the site, built into `folder`."""
    needs_site()
    done = build(DOCS, folder)
    assert done.returncode == 0, done.stderr
    return folder
