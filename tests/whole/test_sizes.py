"""No verdict depends on how large a file is: generated files, judged small and padded."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cutting import cut_from
from differential.sizes import by_size
from masktron.sources.xml import wellformed


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes from which files are judged otherwise that small files reach when they are padded."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 40_000)
    monkeypatch.setattr("masktron.sources.xml.wellformed.MANY_RECORDS", 100)
    monkeypatch.setattr("masktron.jobs.revalidate.MANY_RECORDS", 100)
    monkeypatch.setattr("masktron.jobs.revalidate.WHOLE", 40_000)
    monkeypatch.setattr("masktron.jobs.revalidate.SMALL", 40_000)
    cut_from(monkeypatch, 40_000, 5_000)


@pytest.mark.full
@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 280), marks=pytest.mark.full)])
def test_padded_beyond_lowered_sizes(seeds: range, tmp_path: Path) -> None:
    compared = 0
    for seed in seeds:
        checks, differing = by_size(seed, tmp_path / str(seed), size=50_000, records=110)
        compared += checks
        assert not differing
    assert compared > 50 * len(seeds)


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
