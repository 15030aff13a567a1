"""Recodings verified: the classes and texts of who recodes, found by themselves, and false parts of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from made_columns import column_of_cells
from masktron.config import Config
from masktron.errors import InfeasibleError, UsageError
from masktron.jobs.recoded import recoded_column, recoding_of
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Recoded
from masktron.verify.recoding import class_deviations, recoded

WAYS = (
    *("width:5", "width:2.5", "width:3.25", "round:10", "round:0.25"),
    *("breaks:-20,0,15,40", "breaks:-20,0.5,9", "breaks:-100,0:mean", "breaks:-100,0,5:median"),
    *("top:12", "bottom:-2.5:median", "bottom:0,top:20:median"),
)


def made_up(seed: int) -> tuple[Dataset, NDArray[np.bool_], str | None]:
    """Numbers of several spellings, some missing or left out, with weights or without."""
    rng = np.random.default_rng(seed)
    n, digits = 60, seed % 3
    spelled = ("{:.{}f}", "{:+.{}f}", " {:.{}f} ", "0{:.{}f}")
    cells: list[str | None] = []
    for value in np.abs(rng.normal(8, 12, n)) if seed % 5 == 0 else rng.normal(8, 12, n):
        how = spelled[rng.integers(4 if value > 0 else 1)] if seed % 2 else spelled[0]
        cells.append(how.format(value, digits) if rng.random() > 0.1 else (None, "", "-9")[rng.integers(3)])
    column = column_of_cells(cells, ["-9"], "A")
    weights = column_of_cells(rng.choice(["0.5", "1", "7.25"], n), name="W")
    return Dataset.of_columns(Path("d"), [column, weights], n), rng.random(n) > 0.1, "W" if seed % 4 else None


def false_ones(recoding: Recoding) -> Iterator[Recoding]:
    """Yield recodings that differ in one part."""
    match recoding:
        case IntervalRecoding(breaks=breaks, labels=labels):
            yield replace(recoding, whole=not recoding.whole)
            for at in range(len(breaks)):
                yield replace(recoding, labels=(*labels[:at], f"1{labels[at]}", *labels[at + 1 :]))
                yield replace(recoding, breaks=(*breaks[:at], breaks[at] + Fraction(1, 8), *breaks[at + 1 :]))
            if len(breaks) > 2:
                yield replace(recoding, breaks=breaks[:-1], labels=labels[:-1])
                yield replace(recoding, breaks=breaks[1:], labels=labels[1:])
        case Rounded():
            yield replace(recoding, base=2 * recoding.base)
            yield replace(recoding, decimals=recoding.decimals + 1)
        case Tails():
            sides = ("bottom", "top") if recoding.bottom is not None and recoding.top is not None else ()
            yield from (replace(recoding, **{side: None, f"{side}_label": ""}) for side in sides)
            if recoding.bottom is not None:
                yield replace(recoding, bottom=recoding.bottom + 1)
                yield replace(recoding, bottom_label=recoding.bottom_label + "1")
            if recoding.top is not None:
                yield replace(recoding, top=recoding.top - 1)
                yield replace(recoding, top_label=recoding.top_label + "1")
    yield ListRecoding(recoding.field, {"1": "2"})


@pytest.mark.parametrize("how", WAYS)
def test_classes_and_texts_are_those_of_who_recodes(how: str) -> None:
    made = 0
    for seed in range(12):
        records, keep, weight = made_up(seed)
        config = Config(k=3, recode={"A": how})
        step = Recoded(Rounded("A", Fraction(1)), how)
        try:
            recoding = recoding_of("A", records, keep, config, weight)
        except (UsageError, InfeasibleError):
            deviations = class_deviations(step, records, keep, 3, weight)
            assert any("cannot have been recoded" in str(one) for one in deviations)
            continue
        made += 1
        step = Recoded(recoding, how)
        mine, theirs = recoded(step, records), recoded_column(records.columns["A"], recoding)
        assert mine.lexemes.tolist() == theirs.lexemes.tolist()
        assert mine.status.tolist() == theirs.status.tolist()
        outside = [str(one) for one in class_deviations(step, records, keep, 3, weight)]
        assert not [one for one in outside if "have no class" not in one]
        for other in false_ones(recoding):
            found = [str(one) for one in class_deviations(Recoded(other, how), records, keep, 3, weight)]
            assert any("is recoded to other values than" in one for one in found), other
    assert made >= 4


def test_labels_of_numbers_and_values_without_a_class() -> None:
    records = Dataset.of_columns(Path("d"), [column_of_cells([1, 4, 7, 12, 15], name="A")], 5)
    keep = np.ones(5, dtype=np.bool_)
    labelled = IntervalRecoding("A", (Fraction(0), Fraction(10)), ("1", "2"), True)

    def problems(recoding: Recoding, how: str, names: dict[str, str]) -> list[str]:
        return [str(one) for one in class_deviations(Recoded(recoding, how, names), records, keep, 2, None)]

    assert problems(labelled, "breaks:0,10", {"1": "0-9", "2": "10+"}) == []
    assert problems(labelled, "breaks:0,10", {"1": "0-9", "2": "10-19"}) != []
    low = replace(labelled, breaks=(Fraction(5), Fraction(10)), labels=("5-9", "10+"))
    assert problems(low, "breaks:5,10", {}) == ["the field A is recoded, and the values of 2 records have no class"]
    listed = ListRecoding("A", {"1": "low", "4": "low", "7": "low", "12": "high"})
    assert problems(listed, "a.csv", {}) == ["the field A is recoded, and the values of 1 record have no class"]


@pytest.mark.parametrize(
    ("how", "cells", "weights", "says"),
    [
        ("width:5", ["a", "b", "c"], None, "it has no number"),
        ("top:3", ["a", "b", "c"], None, "it has no number"),
        ("width:5", [None, "", None], None, "it has no number"),
        ("width:0.001", ["1", "2", "3"], None, "there would be 2,001 classes"),
        ("top:2", ["1", "2", "1"], None, "the top has 1 record, fewer than k = 2"),
        ("breaks:0,2:mean", ["1", "2", "3"], None, "a class has 1 record, fewer than k = 2"),
        ("top:2", ["1", "2", "3"], ["1", "5", "4"], "the top has one record with more than half of the weight"),
        ("wide:5", ["1", "2", "3"], None, "wide"),
    ],
)
def test_what_settings_cannot_make_is_said(
    how: str, cells: list[str | None], weights: list[str] | None, says: str
) -> None:
    columns = [column_of_cells(cells, name="A"), column_of_cells(weights or "111", name="W")]
    records = Dataset.of_columns(Path("d"), columns, 3)
    step = Recoded(Tails("A", top=Fraction(2), top_label="2"), how)
    found = [str(one) for one in class_deviations(step, records, np.ones(3, dtype=np.bool_), 2, "W")]
    assert any("A cannot have been recoded as the manifest says: " in one and says in one for one in found)
