"""Keyed hashes of records: which records of two files are the same, said without the records.

A record is its values by field: the order of fields and records does not count, nor does the format, the spelling of
a number, or the case of the name of a field; a field that has no value adds nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column, Status
from masktron.sources.lexical import XML_SPACE, parse_number

type Hashes = NDArray[np.uint64]

_AT_ONCE = 1 << 13
"""Messages whose state stays near the processor."""
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


@dataclass(frozen=True, eq=False)
class RecordHashes:
    """Hashes of the records of a file.

    Attributes
    ----------
    secret : bytes
        The key: without it, a hash tells nothing of a record, and with it whether a record is the one that is tried.
    fields : mapping of str to ndarray of uint64, shape (n,)
        Of each value; 0 where there is none.
    total : ndarray of uint64, shape (n,)
        Sum of these, modulo 2**64.
    """

    secret: bytes
    fields: Mapping[str, Hashes]
    total: Hashes

    @classmethod
    def of(cls, columns: Mapping[str, Column], secret: bytes, n: int) -> RecordHashes:
        """Hash the records of a file.

        Parameters
        ----------
        columns : mapping of str to Column
        secret : bytes
            At most 64 bytes.
        n : int
            Number of records.
        """
        fields = {name: _of_values(column, name.casefold(), secret) for name, column in columns.items()}
        total = np.zeros(n, dtype=np.uint64)
        for own in fields.values():
            total += own
        return cls(secret, fields, total)

    @cached_property
    def whole(self) -> Hashes:
        """Records in all fields, shape (n,), all distinct: a second like record counts as another one."""
        order = np.argsort(self.total, kind="stable")
        ordered = self.total[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
        place = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
        found = self.total.copy()
        again = place > 0
        key = _key(self.secret, "again")
        found[order[again]] = siphash(key, ordered[again] + place[again].astype(np.uint64))
        return found

    def without(self, name: str) -> Hashes:
        """Records without one field, shape (n,): what a file has that lacks it."""
        return self.total - self.fields[name]

    def level(self, records: Hashes, most: int) -> int:
        """Return the first level whose sample has at most so many records; level j has about one of 2**j."""
        drawn = np.sort(self._drawn(records))
        return next((level for level in range(64) if np.searchsorted(drawn, _bound(level)) <= most), 64)

    def sample(self, records: Hashes, level: int, *, single: bool = False) -> HashSample:
        """Hash a sample of records: the same ones of every file that has these records.

        Parameters
        ----------
        records : ndarray of uint64, shape (n,)
            As `whole` or `without` has them.
        level : int
            0 for all of them.
        single : bool
            Only the records of the sample that are like no other one; none where these are fewer than half.
        """
        drawn = self._drawn(records)
        rows = np.flatnonzero(drawn < _bound(level)) if level else np.arange(len(records))
        rows = rows[np.argsort(drawn[rows], kind="stable")]
        hashes = siphash(_key(self.secret, "record"), records[rows])
        if single:
            _, places, copies = np.unique(hashes, return_index=True, return_counts=True)
            kept = np.sort(places[copies == 1])
            kept = kept if 2 * len(kept) >= len(hashes) else kept[:0]
            hashes, rows = hashes[kept], rows[kept]
        sizes = [len(rows)]
        while sizes[-1]:
            sizes.append(int(np.searchsorted(drawn[rows], _bound(level + len(sizes)))))
        return HashSample(level, hashes, sizes, rows)

    def _drawn(self, records: Hashes) -> Hashes:
        """What decides whether a record is in a sample: a random function of it, as it is a sum of hashes."""
        return records * np.uint64(_key(self.secret, "sample")[0] | 1)


def _bound(level: int) -> np.uint64:
    return np.uint64((1 << 64 >> level) - (level == 0)) if level <= 64 else np.uint64(0)


@dataclass(frozen=True, slots=True, eq=False)
class HashSample:
    """Hashes of a sample of records.

    Attributes
    ----------
    level : int
    hashes : ndarray of uint64, shape (m,)
        Those of the samples of higher levels stand first.
    sizes : list of int
        How many records are in the sample of this level, of the next one, and so on, down to 0.
    rows : ndarray of intp, shape (m,)
        Which records of the file they are; none of a sample that was read.
    """

    level: int
    hashes: Hashes
    sizes: list[int]
    rows: NDArray[np.intp]

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> HashSample:
        """Read what `as_dict` told."""
        hashes = np.frombuffer(base64.b64decode(plain["hashes"]), dtype="<u8").astype(np.uint64)
        return cls(plain["level"], hashes, plain["sizes"], np.zeros(0, dtype=np.intp))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without what tells which records they are."""
        packed = base64.b64encode(self.hashes.astype("<u8").tobytes()).decode("ascii")
        return {"level": self.level, "sizes": self.sizes, "hashes": packed}

    def at(self, level: int) -> Hashes:
        """Return the hashes in the sample of this level or a higher one."""
        return self.hashes[: self.sizes[min(level - self.level, len(self.sizes) - 1)]]


def siphash(key: tuple[int, int], words: Hashes) -> Hashes:
    """Hash messages of eight bytes each: SipHash-2-4.

    Parameters
    ----------
    key : tuple of (int, int)
        Its two words of 64 bits.
    words : ndarray of uint64, shape (n,)

    Returns
    -------
    ndarray of uint64, shape (n,)

    Notes
    -----
    Source: Aumasson and Bernstein (2012), SipHash: a fast short-input PRF, section 2.
    """
    found = np.empty(len(words), dtype=np.uint64)
    for start in range(0, len(words), _AT_ONCE):
        found[start : start + _AT_ONCE] = _hashed(key, words[start : start + _AT_ONCE])
    return found


def _hashed(key: tuple[int, int], words: Hashes) -> Hashes:
    v0, v1, v2, v3 = (np.full(len(words), word ^ key[at % 2], dtype=np.uint64) for at, word in enumerate(_START))
    spare = np.empty_like(v0)

    def rotate(word: Hashes, bits: int) -> None:
        np.right_shift(word, np.uint64(64 - bits), out=spare)
        np.left_shift(word, np.uint64(bits), out=word)
        np.bitwise_or(word, spare, out=word)

    def mix(rounds: int) -> None:
        for _ in range(rounds):
            np.add(v0, v1, out=v0)
            rotate(v1, 13)
            np.bitwise_xor(v1, v0, out=v1)
            rotate(v0, 32)
            np.add(v2, v3, out=v2)
            rotate(v3, 16)
            np.bitwise_xor(v3, v2, out=v3)
            np.add(v0, v3, out=v0)
            rotate(v3, 21)
            np.bitwise_xor(v3, v0, out=v3)
            np.add(v2, v1, out=v2)
            rotate(v1, 17)
            np.bitwise_xor(v1, v2, out=v1)
            rotate(v2, 32)

    for block in (words, np.uint64(8 << 56)):  # the message, and its length
        np.bitwise_xor(v3, block, out=v3)
        mix(2)
        np.bitwise_xor(v0, block, out=v0)
    np.bitwise_xor(v2, np.uint64(0xFF), out=v2)
    mix(4)
    found: Hashes = v0 ^ v1 ^ v2 ^ v3
    return found


def _of_values(column: Column, name: str, secret: bytes) -> Hashes:
    """Hash the values of a field: numbers as such, whether or not they mean 'missing', and all else as texts."""
    used = column.used
    held = used & ((column.states == Status.PRESENT) | (column.states == Status.CODE))
    found = np.zeros(len(used), dtype=np.uint64)
    number = used & ~np.isnan(column.numbers)
    bits = (column.numbers[number] + 0.0).view(np.uint64)  # -0 is 0
    found[number] = siphash(_key(secret, f"number {name}"), bits)
    others = np.flatnonzero(held & ~number)
    if len(others):
        texts = column.lexicon.some(others)
        found[others] = np.array([_of_text(str(text), name, secret) for text in texts], dtype=np.uint64)
    return found[column.codes]


def _of_text(text: str, name: str, secret: bytes) -> int:
    stripped = text.strip(XML_SPACE)
    number = parse_number(stripped)
    if not np.isnan(number):
        bits = np.array([number + 0.0]).view(np.uint64)
        return int(siphash(_key(secret, f"number {name}"), bits)[0])
    return _word(secret, f"text {name}", stripped)


def _word(secret: bytes, *parts: str) -> int:
    return int.from_bytes(_digest(secret, *parts)[:8], "little")


def _key(secret: bytes, purpose: str) -> tuple[int, int]:
    digest = _digest(secret, "key", purpose)
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def _digest(secret: bytes, *parts: str) -> bytes:
    text = b"".join(len(part := one.encode("utf-8", "surrogatepass")).to_bytes(8, "little") + part for one in parts)
    return hashlib.blake2b(text, key=secret, digest_size=16, person=b"masktron record").digest()
