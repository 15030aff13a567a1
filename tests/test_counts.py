"""Counts in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import masktron
from masktron.counts import counted

PACKAGE = Path(masktron.__file__).parent
OWN = re.compile(r"== 1 else f\"\{\w+\} \w+s\"|\{'' if \w+ == 1 else 's'\}")
"""A plural that a module makes by itself."""


@pytest.mark.parametrize(
    ("many", "said"), [(0, "0 records"), (1, "1 record"), (2000, "2000 records"), (12345, "12,345 records")]
)
def test_one_is_singular_and_large_numbers_are_read_in_threes(many: int, said: str) -> None:
    assert counted(many, "record") == said


def test_what_does_not_end_in_s_is_given() -> None:
    assert counted(1, "record was", "records were") == "1 record was"
    assert counted(2, "record was", "records were") == "2 records were"


def test_there_is_one_helper() -> None:
    found = [path.name for path in PACKAGE.rglob("*.py") if OWN.search(path.read_text(encoding="utf-8"))]
    assert found == []
