"""Groups by a method other than MDAV: it is told which records it partitions, under strata and attachment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import ClassVar, override

import numpy as np
import pytest
from lxml import etree

import masktron
from cli_runner import write_data, write_rules
from masktron import methods
from masktron.arrays import Floats, Labels
from masktron.grouping import admissible
from masktron.grouping.admissible import group_admissible
from masktron.grouping.disjuncts import Disjuncts
from masktron.masking.inputs import MethodPartitioner
from masktron.methods.base import Partitioning, RecordContext
from masktron.partitions.mdav import partition
from refusals import refused


class Classed(Partitioning):
    """Sorts records by class within near records, and writes down what it was given."""

    name: ClassVar[str] = "test_classed"
    title = says = when = source = attacker = "a test"
    preserves: ClassVar[tuple[str, ...]] = ()
    needs_class: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.seen: list[tuple[Floats, Labels, Floats]] = []

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        assert context.shares is not None
        assert len(points) == len(context.classes) >= self.k
        self.seen.append((points, context.classes, context.shares))
        return partition(points, self.k)


def test_the_method_knows_the_classes_of_its_records() -> None:
    generator = np.random.default_rng(1)
    points = generator.normal(size=(120, 2))
    points[:, 1] = np.arange(120)  # tells which record a row is
    classes = generator.integers(0, 3, size=(120, 2))
    holds = np.stack([points[:, 0] < 0.5, points[:, 0] > -0.5], axis=1)
    method = Classed(4)
    labels = group_admissible(points, 4, Disjuncts.of(120, [holds]), MethodPartitioner.of(method, classes, None))
    assert np.bincount(labels[labels >= 0]).min() >= 4
    pairs = classes[:, 0] * 3 + classes[:, 1]
    combined = np.unique(pairs, return_inverse=True)[1]
    expected = np.bincount(combined) / 120
    assert len(method.seen) >= 3
    for own, codes, shares in method.seen:
        np.testing.assert_array_equal(shares, expected)
        np.testing.assert_array_equal(codes[:, 0], combined[own[:, 1].astype(int)])


def test_records_do_not_change_places_where_classes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    points = generator.normal(size=(90, 2))
    classes = generator.integers(0, 2, size=(90, 1))
    holds = np.ones((90, 2), dtype=np.bool_)
    holds[:5, 0] = False  # so that the rule makes strata
    exchanged: list[bool] = []

    def spy(points: Floats, labels: Labels, *_: object, repair: bool, **__: object) -> Labels:
        exchanged.append(repair)
        return labels

    monkeypatch.setattr(admissible, "exchange_records", spy)
    disjuncts = Disjuncts.of(90, [holds])
    group_admissible(points, 3, disjuncts, partition)
    assert exchanged == [True, False]
    exchanged.clear()
    group_admissible(points, 3, disjuncts, MethodPartitioner.of(Classed(3), classes, None))
    assert exchanged == [True]


def test_a_cut_partitions_each_block_alone() -> None:
    generator = np.random.default_rng(3)
    points = generator.normal(size=(200, 2))
    classes = generator.integers(0, 2, size=(200, 1))
    method = Classed(5)
    labels = MethodPartitioner.of(method, classes, 60)(points, 5)
    assert max(len(own) for own, *_ in method.seen) <= 60
    assert np.bincount(labels).min() >= 5
    assert len(method.seen) >= 4


def test_the_rules_hold_and_groups_reach_k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "ALL", (*methods.ALL, Classed))
    generator = np.random.default_rng(4)
    rows: list[dict[str, object]] = [
        {"R": "ab"[r], "A": int(a), "B": int(b), "C": int(a + b)}
        for r, a, b in zip(generator.integers(0, 2, 80), *generator.integers(0, 60, size=(2, 80)), strict=True)
    ]
    tests = ("A + B = C", "A >= 0 and B >= 0")
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *tests)
    options = {"method": "test_classed", "params": {"class": "R"}, "roles": {"R": "untouched"}}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=4, **options)
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record")
    groups = Counter(tuple(record.findtext(name) for name in "ABC") for record in records)
    assert min(groups.values()) == result.min_group >= 4
    assert all(etree.XPath(f"boolean({test})")(record) for record in records for test in tests)
    assert result.method == "test_classed"


@pytest.mark.parametrize(("name", "code"), [("B", "role-does-not-fit"), ("Q", "unknown-name")])
def test_a_class_has_to_be_there_and_unmasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.setattr(methods, "ALL", (*methods.ALL, Classed))
    rows: list[dict[str, object]] = [{"A": at, "B": at % 3} for at in range(20)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    with refused(masktron.UsageError, code, **{"name" if code == "unknown-name" else "field": name}):
        masktron.mask(
            data, rules, tmp_path / "m.xml", k=4, method="test_classed", params={"class": name}, numeric=["B"]
        )
    assert not (tmp_path / "m.xml").exists()


def amounts() -> list[dict[str, object]]:
    generator = np.random.default_rng(6)
    pairs = generator.integers(0, 900, size=(60, 2)).tolist()
    return [{"A": a, "B": b, "C": a + b} for a, b in pairs]


def test_a_method_may_have_prototypes_of_its_own(tmp_path: Path) -> None:
    rows, test = amounts(), "A + B = C"
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", test)
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=4, method="fuzzy", params={"m": 2.0}, order="keep")
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record")
    assert all(etree.XPath(f"boolean({test})")(record) for record in records)
    written = np.array([[float(record.findtext(name, "")) for name in "ABC"] for record in records])
    original = np.array([[float(str(row[name])) for name in "ABC"] for row in rows])
    labels = np.unique(written, axis=0, return_inverse=True)[1].ravel()
    assert np.bincount(labels).min() >= 4 <= result.min_group
    means = np.stack([np.bincount(labels, column) / np.bincount(labels) for column in original.T], axis=1)
    assert np.abs(means[labels] - written).max() > 5  # a fuzzy centre is no mean of its group


def test_notes_tell_what_groups_give_away(tmp_path: Path) -> None:
    rows = [{**row, "R": "abcdefgh"[at % 8]} for at, row in enumerate(amounts())]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = C")
    options = {"params": {"class": "R"}, "roles": {"R": "untouched"}}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=4, method="crest", **options)
    assert any("only one of their class" in note for note in result.notes)


@pytest.mark.parametrize("kind", [kind for kind in methods.ALL if issubclass(kind, Partitioning)])
def test_records_without_any_value_are_partitioned(kind: type[Partitioning]) -> None:
    classes = np.arange(23, dtype=np.intp)[:, None] % 2 if kind.needs_class else None
    labels = MethodPartitioner.of(kind(), classes, None)(np.empty((23, 0)), 5)
    assert len(labels) == 23
    assert np.bincount(labels).min() >= 5
