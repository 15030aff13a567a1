"""How much of a long test is tried in `make test`; `make test-full` tries all."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import settings

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"


def examples(part: int, *, full: int) -> settings:
    """Return the settings of a test that tries some examples, or many where the profile is ``full``."""
    return settings(max_examples=full if FULL else part)


def parts(cases: Iterable[object], part: int) -> list[object]:
    """Return cases for ``parametrize``: the first are tried always, the others are marked ``full``."""
    found = list(cases)
    assert 0 < part < len(found), "all or none would be left out"
    others = (case if isinstance(case, tuple) else (case,) for case in found[part:])
    return [*found[:part], *(pytest.param(*case, marks=pytest.mark.full) for case in others)]
