"""No verdict depends on how large a file is: generated files, judged small and padded."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from differential.sizes import by_size, lowered
from masktron.sources.xml import wellformed


def test_padded_beyond_lowered_sizes(tmp_path: Path) -> None:
    """`make test-full` compares 100,000 checks so."""
    compared = 0
    with lowered():
        for seed in range(2):
            checks, differing = by_size(seed, tmp_path / str(seed), size=50_000, records=110)
            compared += checks
            assert not differing
    assert compared > 100


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, 2, 3])  # of 1, a context compares numbers with text: it is refused
def test_padded_beyond_the_real_sizes(seed: int, tmp_path: Path) -> None:
    assert wellformed.SMALLEST < 20_500_000
    compared, differing = by_size(seed, tmp_path, size=20_500_000, records=10_001)
    assert compared
    assert not differing


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("test", "fields"),
    [
        ("substring(S, number(A)) = 'b'", ("ab", "2.1")),
        ("substring(S, number(A)) = 'abc'", ("abc", "0.1")),
        ("substring(S, 1, number(A)) = 'ab'", ("ab", "1e20")),
    ],
)
def test_substring_of_small_and_large_files(test: str, fields: tuple[str, str], tmp_path: Path) -> None:
    """Once 10 records were judged by Saxon, and 12,000 by columns."""
    rules = tmp_path / "rules.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><pattern><rule context="R">'
        f'<assert id="a" test="{test}">m</assert></rule></pattern></schema>'
    )
    for count in (10, 12_000):
        data = tmp_path / f"{count}.xml"
        data.write_text(f"<D>{f'<R><S>{fields[0]}</S><A>{fields[1]}</A></R>' * count}</D>")
        assert masktron.validate(data, rules=rules).rules[0].failed == 0
        assert not masktron.check(data, rules).problems
