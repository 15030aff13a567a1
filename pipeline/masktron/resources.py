"""Rulebooks, schemas and samples that come with masktron, in an installed wheel and in a checkout alike."""

from __future__ import annotations

from pathlib import Path

from masktron.errors import UsageError

REINSTALL = "reinstall it: pip uninstall masktron, then pip install masktron"


def resource(name: str) -> Path:
    """Return the path of a file that comes with masktron, such as ``rules/patterns.sch``.

    Raises
    ------
    UsageError
        There is no such file.
    """
    package = Path(__file__).resolve().parent
    # A wheel carries the folders inside the package; an editable install leaves them at the top of the checkout.
    for root in (package / "resources", package.parents[1]):
        if (path := root / name).exists():
            return path
    raise UsageError.of("does-not-work", reason=f"{name} is missing", hint=REINSTALL)


def packaged_text(name: str) -> str:
    """Return a text that stands beside a module of the package, such as ``report/pages/page.css``."""
    return (Path(__file__).resolve().parent / name).read_text(encoding="utf-8")


NO_RULES = resource("rules/none.rules")
"""The rulebook without rules: what commands take where nobody gives any."""
