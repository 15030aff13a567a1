"""What may be missing: consequences against all sets of companions, what rules give away against all completions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.treatments import allowing
from masktron.treatments.allowing import (
    Consequences,
    allowed_by_all,
    allowed_fields,
    asked_once,
    derivable,
    hidden_from_rules,
)
from masktron.treatments.suppression import local_suppression


def test_fields_and_all_of_several() -> None:
    first = allowed_fields([np.array([True, False]), np.array([True, True])])
    asked: list[int] = []

    def second(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        asked.extend(records.tolist())
        return ~which.all(axis=1)

    which = np.array([[True, True], [True, False], [True, False], [False, True]])
    both = allowed_by_all(first, second)
    assert both(np.array([0, 0, 1, 1]), which).tolist() == [False, True, False, True]
    assert asked == [0, 0, 1], "what the first refuses, the second is not asked"


def test_consequences_of_a_written_combination_are_the_cheapest_that_let_most_stand() -> None:
    found = nothing = several = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n, m, q = 8, 2, 3
        refused = rng.random((n, 2 ** (m + q))) < (0.5 if seed % 2 else 0.15)
        present = rng.random((n, q)) < 0.7
        cost = rng.integers(1, 4, q).astype(float)
        keys = rng.integers(-1 if seed % 3 == 0 else 0, 2, (n, m)).astype(np.int32)
        bits = 2 ** np.arange(m + q)
        order = rng.permutation(n)

        def allowed(records: NDArray[np.intp], cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
            return ~refused[records, cells @ bits]  # noqa: B023

        own = Consequences(allowed, keys, present, cost.tolist(), order)
        which = rng.random((n, m)) < 0.5
        fine, also = own(np.arange(n), which), own.also(np.arange(n), which)

        def stands(record: int, gaps: NDArray[np.bool_], more: NDArray[np.bool_]) -> bool:
            return not refused[record, np.concatenate([gaps, more & present[record]]) @ bits]  # noqa: B023

        for record in range(n):
            written = np.where(which[record], -1, keys[record])
            group = [at for at in range(n) if ((written < 0) | (keys[at] == written)).all()]
            scores = {
                more: (-sum(stands(at, written < 0, np.array(more)) for at in group), cost[np.array(more)].sum())
                for more in product([False, True], repeat=q)
            }
            best = [np.array(more) for more, score in scores.items() if score == min(scores.values())]
            several += len(group) > 1
            if fine[record]:
                chosen = [more for more in best if (also[record] == (more & present[record])).all()]
                assert any(stands(record, which[record], more) for more in chosen)
                found += bool(also[record].any())
            else:
                assert any(not stands(record, which[record], more) for more in best)
                assert not also[record].any()
                nothing += 1
    assert min(found, nothing, several) > 20


def test_gaps_of_companions_depend_on_the_written_combination_alone() -> None:
    """Who is a child by nothing but the companion z = 1 has no companion left, and neither has who is no child."""
    # keys age class, status (1: child); a rule lets no child have z = 0, so that z = 0 beside a gap tells
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = 12
        z = rng.integers(0, 2, n)
        keys = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 2, n) * z]).astype(np.int32)
        codes = np.column_stack([keys, z]).astype(np.int32)

        def admissible(_: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
            return (rows[:, 1] != 1) | (rows[:, 2] != 0)

        hidden = hidden_from_rules(codes, admissible, values=[2, 2, 2])
        own = Consequences(hidden, keys, np.ones((n, 1), dtype=bool), [1.0], rng.permutation(n))
        which = np.tile([False, True], (n, 1))
        gaps = own.also(np.arange(n), which)[:, 0]
        assert own(np.arange(n), which).all()
        for age in (0, 1):
            tells = (z[keys[:, 0] == age] == 0).any()
            assert (gaps[keys[:, 0] == age] == tells).all()


def test_of_many_records_those_with_the_rarest_keys_choose_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowing, "_MOST_LOOKED_AT", 2)
    keys = np.array([[0, 0]] * 6 + [[0, 1], [0, 2]], dtype=np.int32)
    needs = np.array([False] * 6 + [True, True])

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return ~needs[records] | which[:, 2]

    own = Consequences(allowed, keys, np.ones((8, 1), dtype=bool), [1.0], np.arange(8))
    assert own.also(np.arange(8), np.tile([False, True], (8, 1))).all()


def test_what_rules_give_away_by_all_completions() -> None:
    given_away = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 4, 3).tolist()
        obeys = rng.random(sizes) < 0.5
        codes = np.column_stack([rng.integers(-1 if seed % 2 else 0, size, 5) for size in sizes]).astype(np.int32)
        which = rng.random(codes.shape) < 0.6

        def admissible(_: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
            # a missing value fits, where some value does
            return np.array([obeys[tuple(slice(None) if v < 0 else v for v in row)].any() for row in rows])  # noqa: B023

        found = derivable(codes, np.arange(5), which, admissible, values=sizes)
        for record, row in enumerate(codes.tolist()):
            gone = [key for key in range(3) if which[record, key] and row[key] >= 0]
            fits = []
            for values in product(*(range(sizes[key]) for key in gone)):
                filled = list(row)
                for key, value in zip(gone, values, strict=True):
                    filled[key] = value
                if admissible(np.array([record]), np.array([filled], dtype=np.int32))[0]:
                    fits.append(values)
            for key in range(3):
                few = key in gone and len({values[gone.index(key)] for values in fits}) < 2
                assert found[record, key] == few
                given_away += few
    assert given_away > 50


def test_of_too_many_completions_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.zeros((1, 3), dtype=np.int32)
    every, which = np.array([0]), np.ones((1, 3), dtype=bool)
    monkeypatch.setattr(allowing, "_MOST_COMPLETIONS", 50)
    free = derivable(codes, every, which, lambda r, _: np.ones(len(r), dtype=bool), values=[16, 16, 16])
    assert not free.any()
    one = derivable(codes, every, which, lambda _, rows: (rows == 3).all(axis=1), values=[16, 16, 16])
    assert one.all()


def test_a_cell_that_rules_give_away_is_suppressed_with_what_gives_it_away() -> None:
    # who is retired (1) is old (2): the age of who is written as retired is known by that rule
    age, work = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 1])
    codes = np.column_stack([age, work]).astype(np.int32)

    def admissible(_: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        return (rows[:, 1] != 1) | (rows[:, 0] == 2)

    plain = local_suppression([age, work], 2, np.random.default_rng(0), importance=[1, 9])
    assert plain.cells[4].tolist() == [True, True]
    other = codes.copy()
    other[:4, 1] = [1, 1, 0, 0]
    assert derivable(codes, np.array([4]), np.array([[True, False]]), admissible, values=[3, 2]).tolist() == [
        [True, False]
    ]
    hidden = hidden_from_rules(codes, admissible, values=[3, 2])
    which = np.array([[True, False], [True, True], [False, True]])
    assert hidden(np.array([4, 4, 0]), which).tolist() == [False, True, False]


def test_completions_are_asked_for_only_until_enough_values_are_possible() -> None:
    asked: list[int] = []

    def admissible(records: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        asked.append(len(rows))
        return np.asarray((records > 0) | (rows[:, 0] == 0))

    codes = np.zeros((100, 3), dtype=np.int32)
    which = np.ones((100, 3), dtype=bool)
    given = derivable(codes, np.arange(100), which, admissible, values=[16, 16, 16])
    assert given.tolist() == [[True, False, False], *[[False] * 3] * 99]
    assert sum(asked) < 4096 + 100 * 64  # all of the one record for which it matters, a few of the others


def test_records_that_are_alike_are_asked_about_once() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(-1, 2, (500, 3)).astype(np.int32)
    asked: list[tuple[int, ...]] = []

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        asked.extend((*row, *cells) for row, cells in zip(codes[records].tolist(), which.tolist(), strict=True))
        return np.asarray((np.where(which, 7, codes[records]).sum(axis=1) % 2) == 0)

    once = asked_once(codes, allowed)
    for _ in range(20):
        records, which = rng.integers(0, 500, 300), rng.random((300, 3)) < 0.5
        expected = (np.where(which, 7, codes[records]).sum(axis=1) % 2) == 0
        np.testing.assert_array_equal(once(records, which), expected)
        assert len(once(records[:0], which[:0])) == 0
    assert len(asked) == len({*asked}) > 100
