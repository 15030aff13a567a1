"""Record swapping against plain loops: who may change places, what stays exactly, and what a contract finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.streams import Streams
from masktron.treatments.record_swapping import record_swaps
from masktron.verify.swapping import swap_findings

type Codes = NDArray[np.intp]


def generator(number: int = 0) -> np.random.Generator:
    return Streams(bytes(range(32))).generator("swap", number)


def made_up(seed: int) -> tuple[list[Codes], dict[str, Any]]:
    """Regions of two levels, two keys, two similar fields, households, weights and a rule; some codes are missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    least = -1 if seed % 3 == 0 else 0
    households = np.sort(rng.integers(0, max(2, n // 2), n)) if seed % 2 else None
    of = np.arange(n) if households is None else households
    coarse, fine = rng.integers(least, 3, n)[of], rng.integers(0, 3, n)[of]
    other = rng.integers(0, 2, n)
    forbidden = np.array([[False, False, seed % 3 == 1], [seed % 2 == 0, False, False]])
    other = np.where(forbidden[other, np.maximum(coarse, 0)], 1 - other, other)

    def admissible(proposed: Sequence[Codes]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = ~forbidden[other, np.maximum(proposed[0], 0)]
        return found

    return [coarse, fine], {
        "keys": [rng.integers(least, 3, n), rng.integers(0, 2, n)],
        "k": int(rng.integers(2, 4)),
        "rate": float(rng.choice(np.array([0, 0.3, 1]))),
        "similar": [rng.integers(least, 2, n), rng.integers(0, 2, n)],
        "required": int(rng.integers(0, 3)),
        "households": households,
        "least_regions": int(rng.integers(1, 3)),
        "admissible": admissible,
        "weights": rng.choice(np.array([1.0, 1.5, 6.0]), n) if seed % 4 else None,
    }


def units_of(households: Codes | None, n: int) -> list[list[int]]:
    of = range(n) if households is None else households.tolist()
    found: dict[int, list[int]] = {}
    for record, unit in enumerate(of):
        found.setdefault(unit, []).append(record)
    return list(found.values())


def rare(keys: list[Codes], paths: list[tuple[int, ...]], k: int, level: int) -> list[bool]:
    rows = list(zip(*(key.tolist() for key in keys), strict=True))

    def match(one: int, other: int) -> bool:
        same = paths[one][: level + 1] == paths[other][: level + 1]
        return same and all(a == b or -1 in (a, b) for a, b in zip(rows[one], rows[other], strict=True))

    known = [-1 not in path[: level + 1] for path in paths]
    everyone = range(len(rows))
    return [known[one] and sum(match(one, other) for other in everyone) < k for one in everyone]


@pytest.mark.parametrize("seed", range(48))
def test_pairs_are_what_was_asked_for(seed: int) -> None:
    regions, asked = made_up(seed)
    found = record_swaps(regions, generator(seed), **asked)
    n = len(regions[0])
    before = list(zip(*(one.tolist() for one in regions), strict=True))
    after = list(zip(*(one.tolist() for one in found.regions), strict=True))
    alike = list(zip(*(one.tolist() for one in asked["similar"]), strict=True))
    units = units_of(asked["households"], n)
    unit_of = {record: unit for unit, records in enumerate(units) for record in records}
    profiles = Counter[int]()
    for unit, records in enumerate(units):
        partners = {int(found.partner[record]) for record in records}
        assert len(partners) == 1
        partner = partners.pop()
        if partner < 0:
            assert all(before[record] == after[record] for record in records)
            continue
        other = units[unit_of[partner]]
        assert unit_of[int(found.partner[other[0]])] == unit, "both ways"
        assert len(other) == len(records)
        assert before[records[0]] != before[other[0]]
        assert -1 not in before[records[0]]
        assert all(after[record] == before[other[0]] for record in records)
        agree = [
            many
            for many in range(2, asked["required"] - 1, -1)
            if sorted(alike[r][:many] for r in records) == sorted(alike[r][:many] for r in other)
        ]
        assert agree
        profiles[2 - agree[0]] += 1
    # a pair that agrees in more may have been put together by a later profile only where regions were too few
    assert sum(profiles.values()) == 2 * sum(found.by_profile) == 2 * (found.targeted + found.at_random)
    assert asked["admissible"](found.regions).all()
    for level, figures in enumerate(found.levels):
        was = rare(asked["keys"], before, asked["k"], level)
        risky = [any(was[record] for record in records) for records in units]
        moved = [before[records[0]][: level + 1] != after[records[0]][: level + 1] for records in units]
        now = rare(asked["keys"], after, asked["k"], level)
        home = [a[: level + 1] == b[: level + 1] for a, b in zip(before, after, strict=True)]
        assert figures.at_risk == sum(risky)
        assert figures.stayed == sum(r and not m for r, m in zip(risky, moved, strict=True))
        assert figures.swapped == sum(moved)
        assert (figures.rare, figures.rare_at_home) == (
            sum(now),
            sum(r and h for r, h in zip(now, home, strict=True)),
        )
    contract = {name: asked[name] for name in ("similar", "required", "households")}
    assert swap_findings(regions, found.regions, **contract, pairs=sum(found.by_profile)) == ()


@pytest.mark.parametrize("seed", range(30))
def test_who_stays_could_not_move(seed: int) -> None:
    """A unit at risk that stays has too few regions even among those that never moved."""
    regions, asked = made_up(seed)
    asked["rate"] = 0.0
    found = record_swaps(regions, generator(seed), **asked)
    n = len(regions[0])
    before = list(zip(*(one.tolist() for one in regions), strict=True))
    alike = list(zip(*(one.tolist() for one in asked["similar"]), strict=True))
    units = units_of(asked["households"], n)
    free = [records for records in units if found.partner[records[0]] < 0 and -1 not in before[records[0]]]
    for level in range(2):
        was = rare(asked["keys"], before, asked["k"], level)
        for records in free:
            if not any(was[record] for record in records):
                continue
            reached = set()
            for other in free:
                proposed = [one.copy() for one in regions]
                for at, column in enumerate(proposed):
                    column[records], column[other] = before[other[0]][at], before[records[0]][at]
                profiles = [sorted(alike[r][: asked["required"]] for r in one) for one in (records, other)]
                if (
                    before[other[0]][: level + 1] != before[records[0]][: level + 1]
                    and profiles[0] == profiles[1]
                    and asked["admissible"](proposed).all()
                ):
                    reached.add(before[other[0]][: level + 1])
            assert len(reached) < asked["least_regions"]


def test_units_at_risk_move_at_their_level_and_within_the_region_above() -> None:
    """Records 0 and 6 are alone in their fine region alone: they stay in the coarse one, whose tables stay."""
    regions = [np.repeat([0, 1], 9), np.tile(np.repeat([0, 1, 2], 3), 2)]
    key = np.array([1, 0, 0, 0, 0, 0, 1, 0, 0] + [0] * 9)
    for number in range(20):
        found = record_swaps(regions, generator(number), keys=[key], k=2)
        assert (found.regions[0] == regions[0]).all()
        assert [one.at_risk for one in found.levels] == [0, 2]
        assert [one.stayed for one in found.levels] == [0, 0]
        assert found.targeted + found.at_random == found.targeted <= 2
        assert found.across == 0
        assert (found.regions[1] != regions[1])[[0, 6]].all()
    one_alone = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0] + [0] * 9)
    found = record_swaps(regions, generator(), keys=[one_alone], k=2, least_regions=2)
    assert [one.at_risk for one in found.levels] == [1, 1], "it is alone in the coarse region, too"
    assert found.levels[0].stayed == 1, "there is one other coarse region"
    assert found.levels[1].stayed == 0
    other = record_swaps(regions, generator(), keys=[one_alone], k=2, least_regions=1)
    assert (other.levels[0].stayed, other.levels[0].swapped) == (0, 2)


def test_partners_have_the_nearest_weights_and_are_drawn_evenly() -> None:
    regions = [np.array([0, 1, 1, 2, 2, 3, 3])]
    weights = np.array([1, 1.9, 2, 1.2, 64, 1, 1])
    key = np.array([1, 0, 0, 0, 0, 0, 0])
    drawn = Counter(
        int(record_swaps(regions, generator(number), keys=[key], k=2, weights=weights).partner[0])
        for number in range(160)
    )
    assert sorted(drawn) == [1, 3, 5, 6]
    assert min(drawn.values()) > 20, "40 of each are expected"
    far = record_swaps(regions, generator(), keys=[key], k=2, weights=weights, least_regions=3)
    assert far.other_weight == 0
    none = record_swaps(regions, generator(), keys=[key], k=2, weights=weights, least_regions=4)
    assert (none.targeted, none.levels[0].stayed) == (0, 1)


def test_the_rate_is_reached() -> None:
    regions = [np.repeat([0, 1, 2], [50, 50, 101])]
    moved = np.zeros(3)
    for number in range(30):
        found = record_swaps(regions, generator(number), rate=0.1)
        moved += np.bincount(regions[0], found.partner >= 0, 3)
        assert (found.targeted, found.at_random in (10, 11)) == (0, True), "10.05 pairs"
    assert moved / 30 == pytest.approx([5.5, 5.5, 9], abs=1.5)
    key = np.zeros(201, dtype=int)
    key[::40] = 1
    few = record_swaps(regions, generator(), rate=0.1, keys=[key], k=9)
    assert few.targeted > 2
    assert few.targeted + few.at_random in (10, 11), "those at risk count"
    assert record_swaps(regions, generator(), rate=0.01, keys=[key], k=9).at_random == 0
    everyone = record_swaps(regions, generator(), rate=1.0)
    assert (everyone.partner >= 0).sum() > 160, "the last are of too few regions"
    lacking = record_swaps([np.array([-1, 0, 1, 2, -1])], generator(), rate=1.0)
    assert (lacking.without_region, lacking.at_random, lacking.partner[[0, 4]].tolist()) == (2, 1, [-1, -1])


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda codes: codes.__setitem__(0, -1), "missing"),
        (lambda codes: codes.__setitem__(0, (codes[0] + 1) % 3), "household"),
        (lambda codes: codes.__setitem__(slice(0, 2), (codes[0] + 1) % 3), "profile"),
    ],
)
def test_the_contract_finds_what_breaks_it(spoil: Callable[[Codes], None], kind: str) -> None:
    regions, households = [np.repeat([0, 1, 2], 4)], np.repeat(np.arange(6), 2)
    found = record_swaps(regions, generator(), rate=1.0, households=households)
    pairs = found.at_random
    assert pairs > 1
    assert swap_findings(regions, found.regions, households=households, pairs=pairs) == ()
    fewer = swap_findings(regions, found.regions, households=households, pairs=pairs - 1)
    assert [(one.kind, one.found) for one in fewer] == [("moved", 2)]
    more = swap_findings(regions, found.regions, households=households, pairs=pairs + 1)
    assert [(one.kind, one.found) for one in more] == [("unmoved", 2)]
    everybody = np.ones(len(regions[0]), dtype=bool)  # of what is hidden nothing is said
    assert swap_findings(regions, found.regions, households=households, pairs=pairs, hidden=everybody) == ()
    spoil(found.regions[0])
    assert kind in {one.kind for one in swap_findings(regions, found.regions, households=households, pairs=pairs)}


def test_the_contract_asks_for_profiles() -> None:
    regions, similar = [np.array([0, 1, 2])], [np.array([0, 1, 1])]
    written = [np.array([1, 0, 2])]
    assert swap_findings(regions, written) == ()
    assert [(one.kind, one.found) for one in swap_findings(regions, written, similar=similar)] == [("profile", 2)]
    assert swap_findings(regions, written, similar=similar, required=0) == ()
