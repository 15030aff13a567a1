"""How much of a long test is tried in `make test`; `make test-full` tries all."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet
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


def spread(cases: Iterable[object], every: int) -> list[object]:
    """Return cases for ``parametrize``: one in so many, from all over the list, is tried always, others are ``full``.

    Where the cases are a product, ``every`` has no factor in common with the sizes of its parts: each part is tried.
    """
    return [case if number % every == 0 else as_full(case) for number, case in enumerate(cases)]


def as_full(case: object) -> object:
    """Mark one case of ``parametrize`` as ``full``, beside the marks that it has."""
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.full), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.full)
