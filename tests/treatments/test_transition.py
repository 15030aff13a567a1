"""Transition matrices read from text, and how likely values are drawn anew."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from masktron.errors import UsageError
from masktron.treatments.pram import most_ratio, redrawn_for, transition_of_text
from refusals import refused


def test_a_matrix_is_read_in_any_order_of_its_lines() -> None:
    values, matrix = transition_of_text('\ufeff;"a;x";b\nb;0.25;0.75\n\n"a;x";1;0\n', "sex.csv")
    assert values == ("a;x", "b")
    assert matrix.tolist() == [[1, 0], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "sex.csv"),
        (",a,b\na,1,0\n", "sex.csv"),
        (",a,a\na,1,0\na,1,0\n", "sex.csv"),
        (",a,b\na,1,0\nb,1\n", "sex.csv:3"),
        (",a,b\na,1,0\nb,1,x\n", "sex.csv:3"),
        (",a,b\na,1,0\nb,1,0.5\n", "sex.csv"),
        (",a,b\na,2,-1\nb,1,0\n", "sex.csv"),
        (",a,b\na,nan,0\nb,1,0\n", "sex.csv"),
        ("\n,a,b\n\na,1,0\nb,1\n", "sex.csv:5"),
        (",a,b\na,1,0\nb,1," + "0" * 140_000, "sex.csv:3"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(text: str, where: str) -> None:
    csv.field_size_limit(131_072)  # of the process: reading a CSV with longer cells raises it
    with refused(UsageError, "bad-matrix", where=where):
        transition_of_text(text, "sex.csv")


@pytest.mark.parametrize("seed", range(30))
def test_the_share_is_reached_under_caps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.integers(0, 9, 4).astype(np.float64)
    caps = np.array([0.0, 0.2, 0.5, 1.0])[rng.integers(0, 4, 4)]
    most = float((slopes * caps).sum())
    for share in (0.1, 0.5, 0.999, 1.0):
        found = redrawn_for(share * most, slopes, caps)
        assert found is not None
        assert (slopes * found).sum() == pytest.approx(share * most)
        assert (found <= caps).all()
        assert len({*found[found < caps].tolist()}) <= 1
    assert redrawn_for(most + 0.1, slopes, caps) is None


def test_ratios_of_columns() -> None:
    assert most_ratio(np.array([[0.9, 0.1], [0.3, 0.7]])) == pytest.approx(7)
    assert most_ratio(np.array([[1.0, 0], [0.5, 0.5]])) == np.inf
    assert most_ratio(np.array([[1.0, 0], [1, 0]])) == 1
    assert most_ratio(np.ones((1, 1))) == np.inf
