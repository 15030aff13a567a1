"""Groups hold at least k records, and share a disjunct of every rule unless they are marked as mixed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups, group_records
from masktron.partitions.mdav import partition


@st.composite
def problems(draw: st.DrawFn) -> dict[str, object]:
    n = draw(st.integers(2, 60))
    k = draw(st.integers(2, n))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    points = generator.integers(-5, 6, size=(n, draw(st.integers(1, 3)))).astype(float)
    patterns = generator.integers(0, draw(st.integers(1, 3)), size=n).astype(np.intp)
    missing = patterns == 1
    points[missing, 0] = np.nan
    apart = patterns * 2 + generator.integers(0, draw(st.integers(1, 2)), size=n)
    disjuncts = tuple(
        generator.random((n, draw(st.integers(2, 3)))) < draw(st.sampled_from([0.05, 0.5, 0.95]))
        for _ in range(draw(st.integers(0, 3)))
    )
    bounds = []
    if disjuncts and draw(st.booleans()):
        values = generator.integers(0, 9, size=n).astype(float)
        bounds.append(UnmaskedBound(0, 0, values, values + generator.integers(0, 4, size=n)))
    return {
        "points": points,
        "k": k,
        "apart": apart.astype(np.intp),
        "patterns": patterns,
        "disjuncts": Disjuncts.of(n, disjuncts, bounds),
        "bonds": generator.integers(0, draw(st.integers(1, 4)), size=n).astype(np.intp),
    }


@given(problems())
def test_groups_keep_their_promises(problem: dict[str, object]) -> None:
    grouping = group_records(**problem)  # type: ignore[arg-type]
    disjuncts: Disjuncts = problem["disjuncts"]  # type: ignore[assignment]
    assert (grouping.labels >= 0).all()
    assert grouping.sizes.min() >= problem["k"]  # type: ignore[operator]
    assert grouping.sizes.sum() == len(grouping.labels)
    for group in range(grouping.groups):
        members = np.flatnonzero(grouping.labels == group)
        one_pattern = len(set(problem["patterns"][members])) == 1  # type: ignore[index]
        assert grouping.pooled[group] == (not one_pattern)
        if not grouping.mixed[group]:
            assert len(set(problem["apart"][members])) == 1  # type: ignore[index]
            assert disjuncts.admissible(members)
            assert all(
                disjuncts.holds[np.ix_(members, range(r.start, r.stop))].all(axis=0).any() for r in disjuncts.rules
            )


def test_without_conditions_it_is_mdav() -> None:
    points = np.random.default_rng(1).normal(size=(100, 2))
    none = np.zeros(100, dtype=np.intp)
    grouping = group_records(points, 4, apart=none, patterns=none)
    expected = partition(points, 4)
    assert {frozenset(np.flatnonzero(grouping.labels == g)) for g in range(grouping.groups)} == {
        frozenset(np.flatnonzero(expected == g)) for g in range(int(expected.max()) + 1)
    }
    assert not grouping.mixed.any()


def test_a_rare_record_takes_its_nearest_admissible_neighbours() -> None:
    points = np.arange(40, dtype=float)[:, None]
    antecedent = np.zeros(40, dtype=bool)
    antecedent[20] = True
    consequent = np.zeros(40, dtype=bool)
    consequent[[0, 18, 20, 39]] = True
    none = np.zeros(40, dtype=np.intp)
    grouping = group_records(
        points,
        3,
        apart=none,
        patterns=none,
        disjuncts=Disjuncts.of(40, (np.stack([~antecedent, consequent], axis=1),)),
    )
    assert set(np.flatnonzero(grouping.labels == grouping.labels[20])) >= {18, 20}
    assert set(np.flatnonzero(grouping.labels == grouping.labels[20])) <= {0, 18, 20, 39}
    assert not grouping.mixed.any()


def test_varying_looks_at_every_column() -> None:
    grouping = RecordGroups(np.array([0, 1, 1, 0]), np.zeros(2, dtype=bool), np.zeros(2, dtype=bool))
    assert grouping.varying(np.array([[1, 1], [2, 2], [2, 3], [1, 1]])).tolist() == [False, True]


def test_codes_number_distinct_rows() -> None:
    assert codes_of(np.array([[2, 1], [1, 9], [2, 1]])).tolist() == [1, 0, 1]
    assert codes_of(np.empty((3, 0))).tolist() == [0, 0, 0]


def test_sizes_count_members() -> None:
    grouping = RecordGroups(np.array([0, 1, 1]), np.zeros(2, dtype=bool), np.zeros(2, dtype=bool))
    assert grouping.sizes.tolist() == [1, 2]
    with pytest.raises(AttributeError):
        grouping.labels = np.array([0])  # type: ignore[misc]
