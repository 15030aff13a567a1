"""CREST, the partition and the method: scaling, classes and shares, ugly columns, and what it is for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.measures.classes import class_chi_square
from masktron.methods.crest import CrestMethod, class_notes
from masktron.partitions.crest import class_counts, compound, crest


def data(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=(n, 3)), rng.integers(0, 3, size=n).astype(np.intp)


@given(st.integers(2, 60), st.integers(1, 6), st.floats(0, 1), st.integers(0, 2**16))
def test_every_group_has_k_records(n: int, k: int, alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.column_stack(
        [rng.integers(0, 3, n), np.ones(n), rng.exponential(size=n) ** 4 * (rng.random(n) < 0.3)]
    )
    labels = crest(points, min(k, n), rng.integers(0, 3, n), alpha=alpha)
    assert np.bincount(labels).min() >= min(k, n)
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()


def test_scale_and_constant_columns_do_not_matter() -> None:
    points, classes = data()
    labels = crest(points, 4, classes)
    scaled = np.column_stack([points * [8, 2.0**40, 2.0**-40], np.full(120, 7.0)])
    assert crest(scaled, 4, classes).tolist() == labels.tolist()


@pytest.mark.full
@pytest.mark.parametrize("file", ["pima", "medicare_ofp"])
def test_classes_in_the_tree_mix_them_better(shared_data: Path, file: str) -> None:
    table = pd.read_csv(shared_data / f"{file}.csv")
    if file == "pima":
        classes = (table.pop("diabetes") == "pos").to_numpy().astype(np.intp)
    else:
        classes = np.minimum(table.pop("numchron"), 2).to_numpy().astype(np.intp)
        table = table.drop(columns=table.columns[0])
    points = pd.get_dummies(table, drop_first=True).to_numpy(dtype=np.float64)
    full, partial = (class_chi_square(crest(points, 5, classes, alpha=alpha), classes) for alpha in (0.5, 1.0))
    assert full < 0.75 * partial


def test_shares_of_the_file_decide_and_not_those_of_the_records() -> None:
    points, classes = data()
    own = np.bincount(classes) / len(classes)
    assert crest(points, 4, classes, shares=own * 1000).tolist() == crest(points, 4, classes).tolist()
    assert (
        crest(points, 4, classes, shares=np.array([0.9, 0.05, 0.05])).tolist() != crest(points, 4, classes).tolist()
    )


def test_several_attributes_count_as_the_combinations_of_their_classes() -> None:
    points, classes = data()
    other = np.random.default_rng(4).integers(0, 2, size=120)
    both = np.column_stack([classes, other])
    codes = classes * 2 + other
    assert compound(both).tolist() == codes.tolist()
    labels = crest(points, 4, codes)
    assert crest(points, 4, both).tolist() == labels.tolist()
    table = np.bincount(codes, minlength=6).reshape(3, 2)
    assert crest(points, 4, both, shares=table).tolist() == labels.tolist()
    wider = np.pad(table, ((0, 1), (1, 0)))
    assert crest(points, 4, both + np.array([0, 1]), shares=wider).tolist() == labels.tolist()


class TestMethod:
    def test_records_of_a_group_share_the_mean(self) -> None:
        points, classes = data()
        drawn = CrestMethod(k=4).check().mask(points, np.random.default_rng(0), classes=classes[:, None])
        assert drawn.labels is not None
        for group in range(drawn.labels.max() + 1):
            inside = drawn.labels == group
            assert (drawn.values[inside] == drawn.values[inside][0]).all()
            assert drawn.values[inside][0] == pytest.approx(points[inside].mean(axis=0))
        assert drawn.notes == class_notes(drawn.labels, classes)

    def test_parameters_reach_the_partition(self) -> None:
        points, classes = data()
        for settings in ({"alpha": 1.0}, {"neighbours": 9}, {"alpha": 0.1, "neighbours": 2}):
            expected = crest(points, 4, classes, **settings)
            assert CrestMethod(4, **settings).partition(points, classes=classes).tolist() == expected.tolist()
            assert expected.tolist() != crest(points, 4, classes).tolist()


def test_what_groups_tell_of_classes_is_said() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    classes = np.array([0, 1, 1, 0, 0, 0, 0, 1, 0, 1])
    assert class_counts(labels, classes).tolist() == [[1, 2], [3, 0], [2, 2]]
    lone, single = class_notes(labels, classes)
    assert lone.startswith("in 1 of 3 groups, 1 record is the only one of its class:")
    assert single.startswith("1 of 3 groups, with 3 records, has one class only:")
    assert class_notes(labels, np.zeros(10, np.intp)) == ()
    assert class_notes(np.zeros(4, np.intp), np.array([0, 1, 0, 1])) == ()
    assert [note for note in class_notes(labels, np.column_stack([classes * 0, classes])) if "attribute 2" in note]
