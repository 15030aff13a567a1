"""CAMP-CREST as a method: what it draws from, several class attributes, notes, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from attacks import KEY
from masktron.errors import InfeasibleError
from masktron.grouping.members import Members
from masktron.masking.draws.drawing import Drawing
from masktron.methods.camp_crest import CampCrestMethod
from masktron.methods.crest import CrestMethod
from masktron.streams import Streams
from masktron.synthesis.microperturbation import microperturb
from refusals import refused


def data(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    values = rng.lognormal(size=(n, 3))
    return np.column_stack([values, values.sum(axis=1)]), rng.integers(0, 2, size=(n, 2)).astype(np.intp)


def labels_by(values: np.ndarray, classes: np.ndarray, **settings: float) -> np.ndarray:
    labels = CrestMethod(**settings).mask(values, np.random.default_rng(0), classes=classes).labels
    assert labels is not None
    return labels


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("settings", [{}, {"k": 3, "alpha": 1.0}, {"k": 4, "neighbours": 8}])
def test_noise_is_drawn_for_the_groups_of_crest(settings: dict[str, float], as_printed: bool) -> None:
    values, classes = data()
    method = CampCrestMethod(**settings, as_printed=as_printed).check()
    drawn = method.mask(values, np.random.default_rng(3), classes=classes)
    labels = labels_by(values, classes, **settings)
    assert drawn.labels is not None
    assert drawn.labels.tolist() == labels.tolist()
    expected = microperturb(values, [labels], np.random.default_rng(3), as_printed=as_printed)
    assert drawn.values.tobytes() == expected.tobytes()
    assert drawn.values[:, 3] == pytest.approx(drawn.values[:, :3].sum(axis=1), abs=1e-9)


def test_several_attributes_are_one_or_are_averaged() -> None:
    values, classes = data()
    partitions = [labels_by(values, column[:, None]) for column in classes.T]
    drawn = CampCrestMethod(several="averaged").mask(values, np.random.default_rng(3), classes=classes)
    assert drawn.labels is None
    assert drawn.values.tobytes() == microperturb(values, partitions, np.random.default_rng(3)).tobytes()
    single = CampCrestMethod(several="averaged").mask(values, np.random.default_rng(3), classes=classes[:, :1])
    assert single.labels is not None
    assert single.values.tobytes() == microperturb(values, partitions[:1], np.random.default_rng(3)).tobytes()


@pytest.mark.parametrize("several", ["compound", "averaged"])
def test_lone_classes_are_noted(several: str) -> None:
    values, classes = data()
    classes = np.column_stack([np.arange(150) < 4, classes[:, 0]]).astype(np.intp)
    notes = CampCrestMethod(several=several).mask(values, np.random.default_rng(0), classes=classes).notes
    lone = [note for note in notes if "only one of their class" in note]
    assert lone
    assert all("class attribute 1" in note or "class attribute 2" in note for note in lone)
    assert not CampCrestMethod(k=50).mask(values, np.random.default_rng(0), classes=classes[:, 1:]).notes


@pytest.mark.parametrize("n", [5, 6, 9])
def test_barely_enough_records(n: int) -> None:
    values = np.column_stack([np.arange(n), np.zeros(n), np.arange(n) % 2, 3.0 * np.arange(n)]).astype(np.float64)
    drawn = CampCrestMethod(k=5).mask(values, np.random.default_rng(0), classes=(np.arange(n) % 2)[:, None])
    assert np.isfinite(drawn.values).all()
    assert (drawn.values[:, 1] == 0).all()
    assert drawn.values[:, 3] == pytest.approx(3 * drawn.values[:, 0])
    with refused(InfeasibleError, "too-few-records", what="camp_crest", least=10, records=n):
        CampCrestMethod(k=10).mask(values, np.random.default_rng(0), classes=np.zeros((n, 1), np.intp))


def test_a_stratum_of_one_class_is_noted() -> None:
    rng = np.random.default_rng(4)
    strata = [np.arange(40), np.arange(40, 90)]
    values, classes = rng.normal(size=(90, 2)), (np.arange(90) >= 40)[:, None].astype(np.intp)
    for several in ("compound", "averaged"):
        method = CampCrestMethod(several=several)
        columns = np.column_stack([classes, np.arange(90) % 2])
        drawing = Drawing(
            method,
            Streams(KEY),
            ("A", "B"),
            values,
            np.zeros(2, np.bool_),
            0,
            (),
            5,
            columns,
            Members.of(np.repeat([0, 1], [40, 50])),
        )
        found = [note for note in drawing.draw(0).notes if "one class only" in note]
        parts = [method.mask(values[one], rng, classes=columns[one]).runs[0] for one in strata]
        groups = sum(int(part.max()) + 1 for part in parts)
        assert len(found) == 1
        assert f"{groups} of {groups} groups, with 90 records, have one class only" in found[0]
        assert "strata" not in found[0]
