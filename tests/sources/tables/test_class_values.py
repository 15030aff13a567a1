"""The type of a column that was recoded."""

from __future__ import annotations

import pyarrow as pa
import pytest

from masktron.sources.column import ColumnForm
from masktron.sources.tables.arrow_lexemes import variable_of
from masktron.sources.tables.class_values import recoded
from masktron.sources.variables import Variable

_CATEGORIES = pa.dictionary(pa.int8(), pa.int64(), ordered=True)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.int8(), ("1", "2"), pa.int8()),
        (pa.int8(), ("1000", "2000"), pa.int64()),
        (pa.int8(), ("0.5", "2"), pa.float64()),
        (pa.decimal128(10, 2), ("0.5", "2"), pa.decimal128(10, 2)),
        (pa.int64(), ("01", "02"), pa.string()),
        (pa.int64(), ("young", "2"), pa.string()),
        (pa.date32(), ("2010-01-01",), pa.date32()),
        (pa.date32(), ("2010", "2020"), pa.int64()),
        (pa.large_string(), ("1", "2"), pa.large_string()),
        (_CATEGORIES, ("1", "2"), _CATEGORIES),
        (_CATEGORIES, ("low", "high"), pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        (_CATEGORIES, tuple(map(str, range(200))), pa.dictionary(pa.int16(), pa.int64(), ordered=True)),
    ],
)
def test_a_recoded_column_keeps_a_type_that_holds_it(
    kind: pa.DataType, values: tuple[str, ...], expected: pa.DataType
) -> None:
    found = recoded(variable_of("a", "a", kind), ColumnForm(values, ordered=True))
    assert found.stored == expected
    assert found.order == found.recoded == values


def test_labels_and_missing_codes_are_those_of_what_is_written() -> None:
    own = Variable(
        "a", "a", labels={"1": "one", "7": "seven"}, missing={".a": "refused", "9": ""}, stored=pa.string()
    )
    found = recoded(own, ColumnForm(("1", "2", ".a"), {"1": "low", "2": "high", ".a": "refused"}))
    assert (found.labels, found.missing) == ({"1": "low", "2": "high"}, {".a": "refused", "9": ""})
    assert found.stored == pa.int64(), "a letter stands for a missing value beside numbers"
    relabelled = recoded(own, ColumnForm(labels={"7": "seven"}))
    assert (relabelled.labels, relabelled.recoded) == ({"7": "seven"}, ())
    assert relabelled.stored == own.stored
    assert not recoded(own, ColumnForm(("x", ".a"))).missing, "a column of texts has no such codes"
