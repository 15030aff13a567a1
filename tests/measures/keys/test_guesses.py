"""Guesses of a hidden value, against the same in plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from masktron.measures.keys.read_off import by_groups, by_line, by_neighbours, grouped


@pytest.mark.parametrize("seed", range(5))
def test_groups_and_neighbours_guess_what_somebody_counts(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shown = generator.integers(-1, 3, 60).astype(np.int32)
    known = (shown >= 0) & (generator.random(60) < 0.7)
    columns = [generator.integers(-1, 4, 60).astype(np.int32) for _ in range(2)]
    order = generator.permutation(60)[:50]
    value, sure = by_groups(*grouped(columns), shown, known)
    near, near_sure = by_neighbours(order, 2, shown, known)
    for at in range(60):
        alike = [one for one in range(60) if known[one] and all(own[one] == own[at] for own in columns)]
        votes = Counter(shown[alike].tolist()) if min(own[at] for own in columns) >= 0 else Counter()
        assert sure[at] == pytest.approx(max(votes.values(), default=0) / (len(alike) + 1) if votes else 0)
        assert votes[int(value[at])] == max(votes.values(), default=0)
        place = order.tolist().index(at) if at in order else None
        before = [] if place is None else [one for one in order[:place].tolist() if known[one]][-2:]
        after = [] if place is None else [one for one in order[place + 1 :].tolist() if known[one]][:2]
        beside = Counter(shown[before + after].tolist())
        assert near_sure[at] == max(beside.values(), default=0) / 5 or not beside
        assert beside[int(near[at])] == max(beside.values(), default=0)


def test_a_line_needs_more_records_than_fields() -> None:
    generator = np.random.default_rng(0)
    fields = [generator.random(12) for _ in range(11)]
    shown = np.arange(12, dtype=np.int32)
    everything = np.ones(12, dtype=np.bool_)
    _, used = by_line(fields, generator.random(12), shown, everything)
    assert used == [], "eleven fields and a constant fit twelve numbers, whatever they are"


def test_a_field_that_is_often_missing_does_not_hide_a_line() -> None:
    generator = np.random.default_rng(1)
    part, key = generator.random(100), np.arange(100) % 9
    gaps = np.where(np.arange(100) < 20, generator.random(100), np.nan)
    everything = np.ones(100, dtype=np.bool_)
    (value, _), used = by_line([gaps, part, part + key], np.arange(9.0), key.astype(np.int32), everything)
    assert used == [1, 2]
    assert (value == key).all()


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_a_line_of_few_fields_is_found_among_many_with_few_records(terms: int) -> None:
    """The other fields are as many as the records whose key is shown."""
    generator = np.random.default_rng(terms)
    key = np.arange(400) % 9
    fields = [generator.lognormal(8, 1, 400) for _ in range(20)]
    fields.append(50.0 * key + sum((at + 1) * fields[at] / 1000 for at in range(terms - 1)))
    known = np.zeros(400, dtype=np.bool_)
    known[:21] = True
    (value, sure), used = by_line(fields, np.arange(9.0), key.astype(np.int32), known)
    assert used == [*range(terms - 1), 20]
    assert (value == key).all() and (sure == 1).all()
