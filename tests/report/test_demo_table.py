"""The table of the demonstration says what keys tell, of samples whose keys were treated and of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from masktron.report.tables import demo


def sample(before: dict[str, float], now: dict[str, float]) -> Any:
    figures = ([SimpleNamespace(name=name, value=value) for name, value in one.items()] for one in (before, now))
    return SimpleNamespace(masked=SimpleNamespace(before=next(figures), figures=next(figures)))


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"key_k": 1}, {"key_k": 4, "linkage": 9}, "1 before, 4 now"),
        ({}, {"key_k": 3}, "3 now"),
        ({}, {"linkage": 9}, "not asked"),
    ],
)
def test_keys_of_a_sample(before: dict[str, float], now: dict[str, float], told: str) -> None:
    assert demo._keys(sample(before, now), "key_k", ".0f") == told
