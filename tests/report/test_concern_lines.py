"""Concerns in lines: those of one kind and one remedy share one."""

from __future__ import annotations

from masktron.report.sentences import concern_lines
from masktron.results import ConcernResult
from masktron.results.verdict import ConcernKind


def concern(kind: ConcernKind, field: str, hint: str = "do this") -> ConcernResult:
    return ConcernResult(kind, field, 3, 9, f"the total of {field} moves", hint)


def test_two_of_a_kind_have_a_line_each() -> None:
    assert [*concern_lines([concern("moved-total", "A"), concern("moved-total", "B")])] == [
        "the total of A moves; do this",
        "the total of B moves; do this",
    ]


def test_many_of_a_kind_share_one_and_name_the_worst_first() -> None:
    many = [concern("moved-total", name) for name in "ABCDEFGH"]
    other = [concern("moved-total", "X", "do that"), concern("unexplained", "Y")]
    assert [*concern_lines([*many, *other])] == [
        "the total of A moves; likewise B, C, D, E, F, 2 others; do this",
        "the total of X moves; do that",
        "the total of Y moves; do this",
    ]
