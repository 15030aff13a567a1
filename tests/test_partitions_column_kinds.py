"""Columns of points by the kind of their variable."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.partitions.column_kinds import Kinds
from refusals import refused


def test_columns_of_kinds() -> None:
    kinds = Kinds.joined([Kinds.numbers(1), Kinds(("nominal", "ordinal"), (3, 1)), Kinds(("nominal",), (0,))])
    assert kinds.columns == 5
    assert [(kind, span.start, span.stop) for kind, span in kinds.spans()] == [
        ("number", 0, 1),
        ("nominal", 1, 4),
        ("ordinal", 4, 5),
        ("nominal", 5, 5),
    ]
    assert kinds.of("nominal").tolist() == [False, True, True, True, False]
    assert kinds.only("nominal") == Kinds(("nominal", "nominal"), (3, 0))
    with refused(UsageError, "unknown-name", name="text"):
        Kinds(("text",), (1,))
    with refused(UsageError, "bad-value", given=2):
        Kinds(("ordinal",), (2,))
