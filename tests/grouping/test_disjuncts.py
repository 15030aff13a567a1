"""What groups share: disjuncts of every rule, and limits that unmasked fields set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.members import Members, codes_of

FIRST = np.array([[1, 0], [1, 1], [0, 1], [0, 1]], dtype=bool)
ALL = np.arange(4)


def counts(disjuncts: Disjuncts, members: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return disjuncts.holds[members].sum(axis=0)[None, :], np.array([len(members)])


def test_a_group_shares_a_disjunct_or_lacks_the_fewest_records() -> None:
    disjuncts = Disjuncts.of(4, (FIRST, FIRST[:, ::-1]))
    assert disjuncts.admissible(np.array([0, 1]))
    assert not disjuncts.admissible(np.array([0, 2]))
    assert disjuncts.lacking(*counts(disjuncts, [0, 1])).tolist() == [0]
    assert disjuncts.lacking(*counts(disjuncts, [0, 1, 2, 3])).tolist() == [2]


def test_rules_of_which_all_share_a_disjunct_are_left_out() -> None:
    disjuncts = Disjuncts.of(4, (FIRST, FIRST))
    assert disjuncts.of_records(np.array([1, 2, 3])).starts.tolist() == []
    assert disjuncts.of_records(ALL).starts.tolist() == [0, 2]


def test_cells_are_first_disjuncts() -> None:
    holds = np.array([[0, 1], [1, 1], [0, 0]], dtype=bool)
    assert Disjuncts.of(3, (holds,)).cells().tolist() == [[1], [0], [-1]]


def test_missing_values_say_nothing_where_the_disjunct_does_not_hold() -> None:
    holds = np.array([[1, 0], [0, 1], [0, 1]], dtype=bool)
    nothing = np.array([1.0, np.nan, np.nan])
    disjuncts = Disjuncts.of(3, (holds,), (UnmaskedBound(0, 0, nothing, nothing),))
    assert disjuncts.admissible(np.array([1, 2]))


@given(st.integers(0, 2**32 - 1))
def test_a_witness_satisfies_every_rule_in_the_place_of_every_member(seed: int) -> None:
    """Rules ``x_a <= u_b or y >= t`` and the like, with an unmasked u per record, evaluated directly."""
    generator = np.random.default_rng(seed)
    n, rules = 12, int(generator.integers(1, 4))
    masked = generator.integers(0, 6, size=(n, 2)).astype(float)
    fixed = generator.integers(0, 6, size=(n, 2)).astype(float)
    matrices, bounds, tests = [], [], []
    for rule in range(rules):
        a, b, low = generator.integers(0, 2), generator.integers(0, 2), generator.integers(0, 7)
        holds = np.stack([masked[:, a] <= fixed[:, b], masked[:, 1 - a] >= low], axis=1)
        matrices.append(holds)
        bounds.append(UnmaskedBound(rule, 0, masked[:, a], fixed[:, b]))
        tests.append((a, b, low))
    disjuncts = Disjuncts.of(n, matrices, bounds)
    members = generator.choice(n, size=int(generator.integers(1, 5)), replace=False)
    for witness, good in zip(members, disjuncts.witnesses(members), strict=True):
        kept = []
        for a, b, low in tests:
            first = (masked[members, a] <= fixed[members, b]).all()
            second = (masked[members, 1 - a] >= low).all()
            kept.append(second or (first and masked[witness, a] <= fixed[members, b].min()))
            for host in members:
                assert not good or masked[witness, a] <= fixed[host, b] or masked[witness, 1 - a] >= low
        assert good == all(kept), "a disjunct that all share, with its limit"


@given(st.integers(0, 2**32 - 1))
def test_all_groups_are_judged_as_each_is(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 40))
    rules = [
        generator.random((n, int(generator.integers(1, 4)))) < generator.choice([0.5, 0.9])
        for _ in range(int(generator.integers(0, 4)))
    ]
    bounds = []
    for rule in range(len(rules)):
        if generator.random() < 0.5:
            values = generator.integers(0, 4, size=n).astype(float)
            slack = generator.integers(0, 3, size=n)
            bounds += [UnmaskedBound(rule, 0, side, side + slack) for side in (values, -values)]
    disjuncts = Disjuncts.of(n, rules, bounds)
    members = Members.of(codes_of(generator.integers(0, 12, size=(n, 1))))
    admissible = [disjuncts.admissible(own) for own in members]
    assert disjuncts.admissible_groups(members).tolist() == admissible
    needed = [disjuncts.of_records(own).limits for own in members]
    one = [bool((limits == limits[:1]).all()) for limits in needed]
    assert disjuncts.vouched(members).tolist() == [a and b for a, b in zip(admissible, one, strict=True)]
    records = generator.permutation(n)[: n // 2]
    assert (disjuncts.rows(records).holds == disjuncts.holds[records]).all()
