"""What treatments of keys lose, cell by cell and beside the search over recodings."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest

from key_files import small_files
from masktron.measures.keys import key_loss
from masktron.treatments.recoding_search import entropy
from masktron.treatments.roll_up import LeveledKey, key_groups
from paths import ROOT


def test_cell_by_cell() -> None:
    lossy = 0
    for rng, keys in small_files(200):
        written = [np.where(rng.random(len(key)) < 0.3, -1, key // 2 + rng.integers(0, 2, len(key))) for key in keys]
        written = [np.where(key < 0, -1, own) for key, own in zip(keys, written, strict=True)]
        lost = most = 0.0
        for key, own in zip(keys, written, strict=True):
            values, labels = Counter(key[key >= 0].tolist()), Counter(own[own >= 0].tolist())
            both, n = Counter(zip(key.tolist(), own.tolist(), strict=True)), int((key >= 0).sum())
            for value, label in zip(key.tolist(), own.tolist(), strict=True):
                if value >= 0:
                    most += log(n / values[value])
                    lost += log(n / values[value]) if label < 0 else log(labels[label] / both[value, label])
        assert key_loss(keys, written) == pytest.approx(100 * lost / most if most else 0)
        lossy += 0 < lost < most
    assert lossy > 100


def test_recoding_loses_as_much_as_its_search_says() -> None:
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, 8, 50), rng.integers(0, 6, 50)]
    labels = tuple(np.arange(8) // step for step in (1, 2, 4, 8)), tuple(np.arange(6) // step for step in (1, 3))
    keys = [LeveledKey(f"K{at}", own, levels) for at, (own, levels) in enumerate(zip(codes, labels, strict=True))]
    measure, ground = entropy(keys), key_groups(keys, None)
    for levels in ((0, 0), (1, 0), (2, 1), (3, 1)):
        written = [key.labels[level][key.codes] for key, level in zip(keys, levels, strict=True)]
        wanted = 100 * measure.least(ground.rolled_up(keys, levels))
        assert key_loss(codes, written) == pytest.approx(wanted)
    assert key_loss(codes, [np.full(50, -1)] * 2) == pytest.approx(100)


def test_the_ends_and_what_is_wrong() -> None:
    keys = [np.array([0, 0, 1, -1])]
    assert key_loss(keys, keys) == 0
    assert key_loss(keys, [np.full(4, -1)]) == pytest.approx(100)
    assert key_loss([np.array([2, 2, -1])], [np.full(3, -1)]) == 0, "one value tells nothing"
    assert key_loss([], []) == 0


def test_the_example_of_the_document() -> None:
    text = " ".join((ROOT / "docs" / "keys-by-hand.md").read_text(encoding="utf-8").split())
    age, region = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 0, 1])
    written = [np.where(np.arange(6) % 3 == 2, -1, age), np.zeros(6, dtype=np.int64)]
    whole = 6 * log(6 / 3), 4 * log(6 / 4) + 2 * log(6 / 2)
    assert f"loses 6 log(6/3) = {whole[0]:.2f};" in text
    assert f"2 log(6/2) = {whole[1]:.2f}." in text
    assert f"of {sum(whole):.2f} are lost: `key_loss` is {key_loss([age, region], written):.1f} %" in text
