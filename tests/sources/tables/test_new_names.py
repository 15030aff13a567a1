"""Names that a package does not have are refused with names that it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.errors import UsageError
from masktron.sources.tables.sas import _names_of
from masktron.sources.tables.spss import _NAMES as SPSS
from masktron.sources.tables.stata import _NAMES as STATA
from refusals import problem_of, refused

NAMES = [SPSS, STATA, _names_of(5), _names_of(8)]
ANY = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=70)
LIKELY = st.sampled_from(["A", "a", "annual income", "annual_income", "2024", "if", "all", "x" * 40, "Größe", "=a b"])


@pytest.mark.parametrize("allowed", NAMES)
@given(columns=st.lists(st.one_of(LIKELY, ANY), min_size=1, max_size=8, unique=True))
def test_what_an_error_proposes_would_do(allowed, columns: list[str]) -> None:
    try:
        allowed.require(columns)
    except UsageError as refused:
        renamed = dict(one.rsplit("=", 1) for one in problem_of(refused).references["renames"].values)
        assert renamed
        allowed.require([renamed.get(column, column) for column in columns])


def test_an_error_names_what_is_wrong_and_what_would_do() -> None:
    wrong, renames = ("annual income", "A", "a", "TO"), "--rename annual income=annual_income_2 a=a_2 TO=TO_2"
    with refused(UsageError, "column-names-not-allowed", format="SPSS", number=4, names=wrong, renames=renames):
        SPSS.require(["annual income", "A", "a", "TO", "annual_income"])
    many = [f"{number} x" for number in range(50)]
    with refused(UsageError, "column-names-not-allowed", format="Stata", number=50, names=tuple(many[:20])):
        STATA.require(many)
