"""An installation that lacks a package, though this one has it."""

from __future__ import annotations

import sys

import pytest

from masktron.extras import OPTIONAL_PACKAGES


def blocked(monkeypatch: pytest.MonkeyPatch, *names: str, hidden: bool = True) -> None:
    """Forget packages of extras; who imports one then is told that there is none, or looks for it if not `hidden`."""
    for name in names:
        top = OPTIONAL_PACKAGES[name].module.partition(".")[0]
        for module in [one for one in sys.modules if f"{one}.".startswith(f"{top}.")]:
            monkeypatch.delitem(sys.modules, module)
        if hidden:
            monkeypatch.setitem(sys.modules, top, None)
