"""Hashes of records: the published function, and which records of two files are the same ones."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cli_runner import write_data
from masktron.sources.opening import open_source
from masktron.sources.record_hashes import RecordHashes, siphash

SECRET = bytes(range(32))
ROWS: list[dict[str, object]] = [
    {"A": 1, "B": "x", "C": "-9"},
    {"A": 2.5, "B": "y"},
    {"A": 1, "B": "x", "C": "-9"},
    {"A": 0},
]


def hashes_of(path: Path, secret: bytes = SECRET, missing: dict[str, frozenset[str]] | None = None) -> RecordHashes:
    records = open_source(path).records(missing=missing or {})
    return RecordHashes.of(records.columns, secret, len(records))


def sets(hashes: RecordHashes) -> set[int]:
    return set(hashes.sample(hashes.whole, 0).hashes.tolist())


def siphash_of(key: bytes, message: bytes) -> int:
    """SipHash-2-4, word by word as it is printed, for messages of eight bytes."""
    k = [int.from_bytes(key[at : at + 8], "little") for at in (0, 8)]
    start = [int.from_bytes(b"somepseudorandomlygeneratedbytes"[at : at + 8], "big") for at in range(0, 32, 8)]
    v = [start[0] ^ k[0], start[1] ^ k[1], start[2] ^ k[0], start[3] ^ k[1]]

    def rotated(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (64 - bits))) % 2**64

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) % 2**64
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = (v[2] + v[3]) % 2**64
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) % 2**64
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) % 2**64
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    for block in (int.from_bytes(message, "little"), len(message) << 56):
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_function_is_the_published_one() -> None:
    """The vector of the reference implementation for eight bytes, and another way to write it for others."""
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert int(siphash(key, np.array([0x0706050403020100], dtype=np.uint64))[0]) == 0x93F5F5799A932462
    words = np.random.default_rng(1).integers(0, 2**64, size=20_000, dtype=np.uint64)
    found = siphash(key, words)
    for at in (0, 1, 8191, 8192, 19_999):
        assert int(found[at]) == siphash_of(bytes(range(16)), int(words[at]).to_bytes(8, "little"))
    assert len(siphash(key, words[:0])) == 0


def test_order_of_records_and_of_fields_format_and_spelling_do_not_count(tmp_path: Path) -> None:
    one = hashes_of(write_data(tmp_path / "one.xml", ROWS))
    turned = [dict(reversed(row.items())) for row in reversed(ROWS)]
    turned[0] = {"A": "-0.0"}
    turned[2] = {"B": " y ", "A": "2.50"}
    assert sets(hashes_of(write_data(tmp_path / "two.xml", turned))) == sets(one)
    (tmp_path / "three.csv").write_text("B,A,C,D\nx,1,-9,\ny,2.5,,\n,0,,\nx,1,-9,\n")
    assert sets(hashes_of(tmp_path / "three.csv")) == sets(one)


def test_codes_for_missing_values_are_values_here(tmp_path: Path) -> None:
    """Whether -9 was declared changes no record."""
    path = write_data(tmp_path / "one.xml", [{**row, "D": "NA"} for row in ROWS])
    said = {"C": frozenset({"-9"}), "D": frozenset({"NA"})}
    assert sets(hashes_of(path, missing=said)) == sets(hashes_of(path))


def test_a_value_a_field_or_another_key_make_another_record(tmp_path: Path) -> None:
    one = hashes_of(write_data(tmp_path / "one.xml", ROWS))
    assert len(sets(one)) == 4, "a second like record is another one"
    for at, other in enumerate(([{"A": 3}], [{"B": "1"}], [{"A": "1", "B": "X", "C": "-9"}], [{"A": "x", "B": "1"}])):
        assert not sets(one) & sets(hashes_of(write_data(tmp_path / f"{at}.xml", other)))
    assert not sets(one) & sets(hashes_of(write_data(tmp_path / "one.xml", ROWS), hashlib.sha256(SECRET).digest()))


def test_without_a_field_it_is_the_file_that_lacks_it(tmp_path: Path) -> None:
    one = hashes_of(write_data(tmp_path / "one.xml", ROWS))
    lacking = hashes_of(
        write_data(tmp_path / "two.xml", [{k: v for k, v in row.items() if k != "B"} for row in ROWS])
    )
    found, expected = one.sample(one.without("B"), 0), lacking.sample(lacking.total, 0)
    assert sorted(found.hashes.tolist()) == sorted(expected.hashes.tolist())
    assert len(one.sample(one.without("B"), 0, single=True).hashes) == 2, "two records are alike"


def test_samples_are_nested_and_as_large_as_asked(tmp_path: Path) -> None:
    one = hashes_of(write_data(tmp_path / "one.xml", [{"A": at, "B": at % 7} for at in range(2000)]))
    level = one.level(one.whole, 300)
    found = [one.sample(one.whole, at) for at in range(level + 2)]
    samples = [set(sample.hashes.tolist()) for sample in found]
    for sample in found:
        for above, size in enumerate(sample.sizes[: level + 2 - sample.level]):
            assert set(sample.hashes[:size].tolist()) == samples[sample.level + above]
        assert sample.sizes[-1] == 0
    assert len(samples[0]) == 2000
    assert all(later < earlier for earlier, later in pairwise(samples))
    assert len(samples[level]) <= 300 < len(samples[level - 1])
    assert 2000 / 2**level == pytest.approx(len(samples[level]), rel=0.3)


def test_records_without_any_value_are_records(tmp_path: Path) -> None:
    one = hashes_of(write_data(tmp_path / "one.xml", [{"A": 1}, {}, {}]))
    assert len(sets(one)) == 3
    assert one.level(one.without("A"), 2) == 64, "all are alike: no sample has fewer than all"
