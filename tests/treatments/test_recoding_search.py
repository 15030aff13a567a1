"""The search over recodings finds what looking at every node finds; its parts agree with counts by record."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.hierarchies import widths
from masktron.measures.keys import individual_risk, key_frequencies
from masktron.treatments.recoding_search import (
    LOSSES,
    KeyDemands,
    Levels,
    RecodingLoss,
    RecodingSearch,
    search_recodings,
)
from masktron.treatments.roll_up import KeyGroups, LeveledKey, key_groups, leveled
from refusals import refused

pytestmark = pytest.mark.usefixtures("at_terminal")

CASES = 240


class Case:
    """A small file with hierarchies, and demands."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(1, 24)), int(rng.integers(1, 4))
        self.keys = [self._key(rng, f"K{at}", n) for at in range(m)]
        self.weights = rng.integers(1, 40, n) / 4 if rng.random() < 0.5 else None
        self.confidential = {f"C{at}": rng.integers(-1, 3, n) for at in range(int(rng.integers(0, 3)))}
        self.demands = KeyDemands(
            k=int(rng.integers(1, 5)),
            suppressed=int(rng.integers(0, n)) if rng.random() < 0.5 else 0,
            diversity={name: int(rng.integers(1, 4)) for name in self.confidential},
            mean_risk=float(rng.uniform(0.05, 1)) if rng.random() < 0.3 else None,
        )
        self.loss = sorted(LOSSES)[seed % len(LOSSES)]

    def _key(self, rng: np.random.Generator, name: str, n: int) -> LeveledKey:
        values = int(rng.integers(1, 7))
        labels = [np.arange(values)]
        for _ in range(int(rng.integers(0, 4))):
            merged = rng.integers(0, max(1, len(set(labels[-1].tolist())) - 1), int(labels[-1].max()) + 1)
            labels.append(merged[labels[-1]])
        codes = rng.integers(-1 if rng.random() < 0.3 else 0, values, n)
        return LeveledKey(name, codes, tuple(one.astype(np.int32) for one in labels), float(rng.integers(1, 4)))

    def made(self) -> RecodingLoss:
        return LOSSES[self.loss](self.keys)

    def search(self, *, minimal: bool, accepted: Callable[[KeyGroups], bool] | None = None) -> RecodingSearch:
        return search_recodings(
            self.keys, self.demands, self.made(), weights=self.weights, confidential=self.confidential,
            accepted=accepted, minimal=minimal,
        )  # fmt: skip

    def nodes(self) -> list[Levels]:
        return list(itertools.product(*(range(key.height + 1) for key in self.keys)))


def rows_at(case: Case, levels: Levels) -> list[tuple[int, ...]]:
    columns = [key.at(level).tolist() for key, level in zip(case.keys, levels, strict=True)]
    return list(zip(*columns, strict=True))


def breaking(case: Case, levels: Levels) -> list[bool]:
    """Say of each record whether it breaks k or l: counted record by record."""
    rows = rows_at(case, levels)
    sizes = Counter(rows)
    breaks = [sizes[row] < case.demands.k for row in rows]
    for name, least in case.demands.diversity.items():
        values = case.confidential[name].tolist()
        for at, row in enumerate(rows):
            beside = {value for value, other in zip(values, rows, strict=True) if other == row and value >= 0}
            breaks[at] |= values[at] >= 0 and len(beside) < least
    return breaks


def risk(case: Case, levels: Levels) -> float:
    columns = [key.at(level) + 1 for key, level in zip(case.keys, levels, strict=True)]
    return float(individual_risk(key_frequencies(columns, case.weights)).mean())


def loss_by_record(case: Case, levels: Levels, breaks: Sequence[bool]) -> float:
    """Compute the loss from its definition, cell by cell."""
    rows, n = rows_at(case, levels), len(breaks)
    if case.loss == "discernibility":
        sizes = Counter(rows)
        return sum(n if broken else sizes[row] for row, broken in zip(rows, breaks, strict=True)) / n**2
    lost = most = 0.0
    for key, level in zip(case.keys, levels, strict=True):
        values, labels = key.codes.tolist(), key.at(level).tolist()
        held = sum(value >= 0 for value in values)
        for value, label, broken in zip(values, labels, breaks, strict=True):
            if case.loss == "precision":
                most += key.importance
                lost += key.importance * (1.0 if broken else level / max(1, key.height))
            elif value >= 0:
                most += key.importance * math.log(held / values.count(value))
                count = held if broken else labels.count(label)
                lost += key.importance * math.log(count / values.count(value))
    return lost / (most or 1.0)


def by_looking_at_all(case: Case, accepted: Callable[[Levels], bool] = lambda _: True) -> dict[Levels, float]:
    """Return every node that reaches the demands, with its loss."""
    found = {}
    for levels in case.nodes():
        breaks = breaking(case, levels)
        limit = case.demands.mean_risk
        few = sum(breaks) <= case.demands.suppressed and accepted(levels)
        if few and (limit is None or risk(case, levels) <= limit * (1 + 1e-9)):
            found[levels] = loss_by_record(case, levels, breaks)
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("minimal", [True, False])
def test_the_search_finds_what_looking_at_every_node_finds(minimal: bool) -> None:
    reached = looked_at = nodes = 0
    for seed in range(CASES):
        case = Case(seed)
        wanted = by_looking_at_all(case)
        if not wanted:
            with pytest.raises(InfeasibleError):
                case.search(minimal=minimal)
            continue
        found = case.search(minimal=minimal)
        reached += 1
        nodes += found.nodes
        looked_at += found.looked_at
        least = min(wanted.values())
        assert found.best.loss == pytest.approx(least, rel=1e-9, abs=1e-12), seed
        assert wanted[found.best.levels] == pytest.approx(least, rel=1e-9, abs=1e-12), seed
        tied = [levels for levels, loss in wanted.items() if loss < least + 1e-13]
        assert found.best.levels == min(tied, key=lambda levels: (sum(levels), levels)), seed
        assert found.best.left == sum(breaking(case, found.best.levels))
        sizes = Counter(rows_at(case, found.best.levels))
        assert (found.best.smallest, found.best.combinations) == (min(sizes.values()), len(sizes))
        if minimal:
            below = {one for one in wanted if not any(is_below(other, one) for other in wanted)}
            assert {node.levels for node in found.minimal} == below, seed
            assert all(node.loss == pytest.approx(wanted[node.levels], rel=1e-9, abs=1e-12) for node in found.minimal)
    assert reached > CASES / 2
    assert looked_at < nodes * (0.6 if minimal else 0.55)


def is_below(one: Levels, other: Levels) -> bool:
    return one != other and all(low <= high for low, high in zip(one, other, strict=True))


def test_a_demand_that_is_not_monotone_is_tested_at_nodes() -> None:
    refused = 0
    for seed in range(0, CASES, 2):
        case = Case(seed)
        wanted = by_looking_at_all(case, lambda levels: sum(levels) % 3 != 1)
        asked = dict.fromkeys((True, False))
        for minimal in asked:
            if wanted:
                found = case.search(minimal=minimal, accepted=lambda groups: sum(groups.levels) % 3 != 1)
                assert found.best.loss == pytest.approx(min(wanted.values()), rel=1e-9, abs=1e-12), seed
                below = {one for one in wanted if not any(is_below(other, one) for other in wanted)}
                assert not minimal or {node.levels for node in found.minimal} == below, seed
            else:
                with pytest.raises(InfeasibleError):
                    case.search(minimal=minimal, accepted=lambda groups: sum(groups.levels) % 3 != 1)
        refused += len(wanted) < len(by_looking_at_all(case))
    assert refused > CASES / 8


@pytest.mark.full
def test_demands_are_monotone() -> None:
    """Whoever breaks one at a node breaks it at the nodes next below: what the docstring proves."""
    falls = 0
    for seed in range(0, CASES, 3):
        case = Case(seed)
        ground, loss = key_groups(case.keys, case.weights, case.confidential), case.made()
        at = {levels: ground.rolled_up(case.keys, levels) for levels in case.nodes()}
        for low, high in itertools.combinations(at, 2):
            if sum(high) == sum(low) + 1 and is_below(low, high):
                before, after = case.demands.left(at[low]).sum(), case.demands.left(at[high]).sum()
                assert after <= before
                assert at[high].mean_risk <= at[low].mean_risk * (1 + 1e-12)
                assert (
                    loss.least(at[low])
                    <= min(loss.least(at[high]), loss.at(at[low], case.demands.left(at[low]))) + 1e-12
                )
                falls += after < before
    assert falls > 50


def test_combinations_are_put_together_as_records_are() -> None:
    for seed in range(0, CASES, 3):
        case = Case(seed)
        at, levels = key_groups(case.keys, case.weights, case.confidential), (0,) * len(case.keys)
        rng = np.random.default_rng(seed)
        while at is not None:
            rows = rows_at(case, levels)
            combinations = list(zip(*(one.tolist() for one in at.codes), strict=True))
            assert dict(zip(combinations, at.sizes.tolist(), strict=True)) == Counter(rows)
            assert at.mean_risk == pytest.approx(risk(case, levels))
            broken: Counter[tuple[int, ...]] = Counter()
            for row, breaks in zip(rows, breaking(case, levels), strict=True):
                broken[row] += breaks
            assert dict(zip(combinations, case.demands.left(at).tolist(), strict=True)) == broken
            higher = tuple(int(rng.integers(low, key.height + 1)) for low, key in zip(levels, case.keys, strict=True))
            if higher == levels:
                break
            at, levels = at.rolled_up(case.keys, higher), higher


def key(name: str, codes: Sequence[int], *levels: Sequence[int]) -> LeveledKey:
    labels = (range(len(levels[0])) if levels else range(max(codes) + 1), *levels)
    return LeveledKey(name, np.array(codes), tuple(np.array(one, dtype=np.int32) for one in labels))


def test_losses_by_hand() -> None:
    """Ages 17, 18, 31, 32 in tens, then all; the sexes m, m, m, f without a hierarchy: the sheet of docs/keys.md."""
    keys = [key("Age", [0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]), key("Sex", [0, 0, 0, 1])]
    ground = key_groups(keys)
    at = ground.rolled_up(keys, (1, 0))
    left = KeyDemands(2).left(at)
    assert sorted(left.tolist()) == [0, 1, 1]
    assert LOSSES["precision"](keys).at(at, left) == pytest.approx((1 / 2 + 1 / 2 + 1 + 1 + 1 + 1) / 8)
    # 4 log 4 for the ages, 3 log(4/3) + log 4 for the sexes; kept are two ages in a class of two
    most = 4 * math.log(4) + 3 * math.log(4 / 3) + math.log(4)
    lost = 2 * math.log(2) + 2 * math.log(4) + math.log(4 / 3) + math.log(4)
    assert LOSSES["entropy"](keys).at(at, left) == pytest.approx(lost / most)
    assert LOSSES["discernibility"](keys).at(at, left) == (2 * 2 + 4 + 4) / 16
    found = search_recodings(keys, KeyDemands(2, 2), LOSSES["entropy"](keys))
    assert (found.best.levels, found.best.left, found.nodes) == ((1, 0), 2, 3)
    with refused(InfeasibleError, "recoding-out-of-reach", keys=("Sex",)):
        search_recodings(keys, KeyDemands(2), LOSSES["entropy"](keys))


def test_keys_get_the_levels_of_their_hierarchy() -> None:
    found = leveled("Age", np.array([1, 0, -1, 1]), ["33", "17"], widths("Age", ["17", "33"], 5))
    assert [found.at(level).tolist() for level in range(5)] == [
        [1, 0, -1, 1],
        [1, 0, -1, 1],
        [1, 0, -1, 1],
        [1, 0, -1, 1],
        [0, 0, -1, 0],
    ]
    assert leveled("Age", np.array([1, 0]), ["33", "17"], None).height == 0


def test_the_order_of_records_changes_nothing() -> None:
    for seed in range(0, CASES, 12):
        case, other = Case(seed), Case(seed)
        order = np.random.default_rng(seed).permutation(len(case.keys[0]))
        other.keys = [LeveledKey(one.field, one.codes[order], one.labels, one.importance) for one in case.keys]
        other.weights = None if case.weights is None else case.weights[order]
        other.confidential = {name: values[order] for name, values in case.confidential.items()}
        if by_looking_at_all(case):
            assert case.search(minimal=True) == other.search(minimal=True)
