"""Generated pairs with keys that are recoded and suppressed: the generator, the judge, and masking on all of them."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import masktron
from pairs.judge import violations
from pairs.keyed import KeyedPair, generate_keyed
from pairs.keyed_judge import recoded, sharing
from pairs.keyed_outcome import KeyedOutcome, keyed_summary, run_keyed

SEEDS = range(2)
ALL_SEEDS = range(1000)
MOST_REFUSED = 0.2


# the generator


def test_a_seed_always_gives_the_same_pair_with_keys() -> None:
    for seed in range(5):
        assert generate_keyed(seed) == generate_keyed(seed)


@pytest.mark.full
def test_pairs_with_keys_have_every_kind_of_key_rule_and_treatment() -> None:
    pairs = [generate_keyed(seed) for seed in ALL_SEEDS]
    keys = [variable for one in pairs for variable in one.pair.variables if variable.role == "quasi-identifier"]
    assert {len(one.keys) for one in pairs} == {2, 3, 4, 5}
    assert min(one.pair.n for one in pairs) < 40
    assert max(one.pair.n for one in pairs) > 380
    assert {gap for key in keys for gap in key.gaps.values()} == {"absent", "empty", "code"}
    assert any(key.attribute for key in keys)
    assert {key.optional for key in keys} == {True, False}
    labels = Counter(edit.label for one in pairs for edit in one.pair.edits)
    expected = {"range", "set", "combination", "if-then", "order", "pattern", "inequality", "total", "unique key"}
    assert min(labels[label] for label in expected) >= 20, labels
    ways = Counter(how.partition(":")[0] for one in pairs for how in one.pair.settings["recode"].values())
    assert min(ways[way] for way in ("width", "breaks", "round", "top", "bottom")) >= 20, ways
    wishes = Counter(name for one in pairs for name in one.pair.settings.get("keys", ()))
    assert min(wishes[name] for name in ("subsets", "missing_matches", "importance")) >= 50, wishes


@pytest.mark.full
def test_originals_with_keys_obey_their_rules(tmp_path: Path) -> None:
    for seed in range(60):
        data, rules, _ = generate_keyed(seed).write(tmp_path / str(seed))
        assert violations(rules, data, data) == {}, seed


# the judge


def made_up(recode: dict[str, str], **hierarchies: str) -> KeyedPair:
    """Return what the judge reads of a pair."""
    settings = {"recode": recode, "missing": {"A": ["-9"]}}
    files = {f"{name}.csv": text for name, text in hierarchies.items()}
    pair: Any = SimpleNamespace(settings=settings, variables=())
    return KeyedPair(pair, ("A",), files)


@pytest.mark.parametrize(
    ("how", "texts", "expected"),
    [
        ("width:5", "14 15 19 -9", "10-14 15-19 15-19 -9"),
        ("width:5", "-3 4", "-5 to -1|0 to 4"),
        ("width:5", "14.5 15", "10 to under 15|15 to under 20"),
        ("breaks:0,15,65", "14 15 70", "0-14 15-64 65+"),
        ("round:10", "14 15 25 26", "10 20 20 30"),
        ("round:0.5", "1.3 2", "1.5 2.0"),
        ("top:6", "5 6 8 10", "5 8 8 8"),
        ("bottom:3:median,top:9:median", "1 2 3 5 9 10", "2 2 2 5 10 10"),
        ("h.csv:2", "1 2 3", "x x y"),
    ],
)
def test_the_judge_reads_recodings_by_hand(how: str, texts: str, expected: str) -> None:
    keyed = made_up({"A": how}, h="1;a;x\n2;b;x\n3;c;y\n")
    records = [{"A": text} for text in texts.split()]
    assert recoded(keyed, "A", records) == expected.split("|" if "|" in expected else " ")


def test_the_judge_counts_combinations() -> None:
    records = [{"A": "1", "B": "x"}, {"A": "1", "B": "x"}, {"A": "1"}, {"A": "-9", "B": "y"}]
    assert sharing(records, ["A", "B"], None) == [2, 2, 1, 1]
    assert sharing(records, ["A", "B"], {"A": ["-9"]}) == [3, 3, 4, 2]


def test_an_original_in_the_place_of_its_release_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(
        one for one in ALL_SEEDS if all(generate_keyed(one).pair.settings.get(x) for x in ("recode", "key_k"))
    )
    mask = masktron.mask

    def spoiled(data: Path, rules: Path, out: Path, **settings: Any) -> Any:
        result = mask(data, rules, out, **settings)
        out.write_bytes(data.read_bytes())
        return result

    monkeypatch.setattr("pairs.keyed_outcome.masktron.mask", spoiled)
    faults = " ".join(run_keyed(seed).faults)
    for seen in ("is none of its class", "records share", "a group of", "cells are suppressed", "key_k is"):
        assert seen in faults, seen


# masking


def test_pairs_with_keys_are_masked() -> None:
    check([run_keyed(seed) for seed in SEEDS])


@pytest.mark.full
def test_all_pairs_with_keys_are_masked() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        check(list(pool.map(run_keyed, ALL_SEEDS, chunksize=5)))


def check(outcomes: list[KeyedOutcome]) -> None:
    text = keyed_summary(outcomes)
    sys.stdout.write(text)  # pytest shows it with -s
    assert not [one.seed for one in outcomes if one.code < 0 or one.faults], text
    assert sum(one.code > 0 for one in outcomes) <= MOST_REFUSED * len(outcomes), text
    assert {one.code for one in outcomes} <= {0, 5}, text
    assert any(one.left for one in outcomes), text
