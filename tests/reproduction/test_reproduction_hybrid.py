"""R-microhybrid and MS beside the tables of the paper, on the reference data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from masktron import methods
from reproduction import hybrid_microaggregation
from reproduction.hybrid_microaggregation import Drawn, marks, matches, measured
from reproduction.hybrid_printed import CENSUS, EIA, FILES, SHARES, STATISTICS, Printed
from reproduction.hybrid_text import closer, text


@pytest.fixture
def by_mdav(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two masked files, groups of MDAV."""
    monkeypatch.setattr(hybrid_microaggregation, "FILES_DRAWN", 2)
    monkeypatch.setattr(hybrid_microaggregation, "SAMPLES", 40)
    monkeypatch.setattr(hybrid_microaggregation, "PARTITION", "mdav")


@pytest.mark.parametrize("printed", FILES, ids=lambda one: one.name)
def test_tables_are_complete(printed: Printed) -> None:
    assert set(printed.ms) == set(printed.ms_matches) == set(printed.alphas) == set(SHARES)
    assert set(printed.hybrid) == set(printed.matches) >= {k for _, k in printed.alphas.values()}
    assert {len(column) for column in (*printed.ms.values(), *printed.hybrid.values())} == {len(STATISTICS)}


@pytest.mark.full
@pytest.mark.usefixtures("by_mdav")
def test_ms_is_as_printed_and_r_microhybrid_on_eia(shared_data: Path) -> None:
    one = measured(shared_data, EIA)
    near = {mark.what: mark.reached for mark in marks(one)}
    assert len(near) == 8
    assert [what for what, reached in near.items() if not reached and what.startswith("MS")] == []
    assert sum(near.values()) >= 6  # groups are those of another partition here
    assert isinstance(one.ms["alpha 2"], str)
    assert "-0.192" in one.ms["alpha 2"]
    assert closer(one, "alpha 2") is None
    assert "| none (0.0231) |" in text([one])


@pytest.mark.full
@pytest.mark.usefixtures("by_mdav")
def test_r_microhybrid_is_closer_on_census(shared_data: Path) -> None:
    one = measured(shared_data, CENSUS)
    for alpha, least in (("alpha 1", 8), ("alpha 2", 10), ("alpha 3", 12)):
        found = closer(one, alpha)
        assert found is not None
        assert found[0] >= least, alpha
    smallest = one.hybrid[22].variations[:2]
    assert (one.floor < smallest).all()
    assert (one.floor > 1.5 * np.array(CENSUS.hybrid[22][:2])).all()
    ms = one.ms["alpha 1"]
    assert isinstance(ms, Drawn)
    assert np.allclose(ms.variations[:4], CENSUS.ms["alpha 1"][:4], rtol=0.25)


def test_a_match_is_right_by_what_was_kept() -> None:
    original = np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [5.0, 5.0, 2.0, 1.0], [9.0, 9.0, 3.0, 1.0]])
    masked = original.copy()
    masked[0, :2] = [0.9, 0.0]  # nearest to the second, which has the same Y
    masked[2, :2] = [8.0, 8.0]  # nearest to the fourth
    assert matches(original, masked) == 75.0


@pytest.mark.full
def test_all_figures_are_reached(shared_data: Path) -> None:
    if "mu_approx" not in {method.name for method in methods.ALL}:
        pytest.skip("mu_approx is not among the methods")
    found = [mark for printed in FILES for mark in marks(measured(shared_data, printed))]
    assert len(found) == 17
    assert [f"{mark.what}: {mark.ours:.3f}" for mark in found if not mark.reached] == []
