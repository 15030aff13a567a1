"""Random numbers for the purposes of a run: nobody computes them without the secret of the release.

ChaCha with 20 rounds makes them, a cipher that has been examined for two decades. Each purpose has a key of its own,
derived from the secret of the release by keyed BLAKE2b. What is masked and how goes into it as well: if two files
that were masked otherwise had the same deviates, these could be solved for.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import DTypeLike, NDArray
from randomgen import ChaCha

_BYTES = 32
_ROUNDS = 20
_BLOCK = 64


class Streams:
    """Generators for the purposes of a run.

    Parameters
    ----------
    secret : bytes
        Of the release.
    *bound : str
        What the numbers depend on besides: another original, rulebook or setting gives unrelated ones.
    """

    __slots__ = ("_key",)

    def __init__(self, secret: bytes, *bound: str) -> None:
        # BLAKE2b takes keys of 64 bytes, and somebody may give a longer one
        short = hashlib.blake2b(secret, digest_size=_BLOCK, person=b"masktron key").digest()
        self._key = _derived(short, b"masktron run", *bound)

    def generator(self, purpose: str, *numbers: int) -> np.random.Generator:
        """Return the generator for a purpose: always from its beginning.

        Parameters
        ----------
        purpose : str
        *numbers : int
            Tell the streams of one purpose apart.
        """
        key = _derived(self._key, b"masktron stream", purpose, *map(str, numbers))
        return np.random.Generator(ChaCha(_Keyed(key), rounds=_ROUNDS))


class _Keyed(ISpawnableSeedSequence):
    """What a bit generator asks for its state: a key, and keys derived from it for `Generator.spawn`.

    A `numpy.random.SeedSequence` would mix the key by arithmetic that was never meant to keep it, and a ChaCha that
    is given its key directly spawns from the operating system, other numbers in each run.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._spawned = 0

    def generate_state(self, n_words: int, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """Return that many words of the key; where a generator asks for more, of what is derived from it."""
        little = np.dtype(dtype).newbyteorder("<")
        size, material = n_words * little.itemsize, self._key
        while len(material) < size:
            material += _derived(self._key, b"masktron more", str(len(material)))
        return np.frombuffer(material[:size], dtype=little).astype(dtype)

    def spawn(self, n_children: int) -> list[ISpawnableSeedSequence]:  # type: ignore[override]
        """Return so many sequences with keys of their own, others on each call."""
        numbers = range(self._spawned, self._spawned + n_children)
        self._spawned = numbers.stop
        return [_Keyed(_derived(self._key, b"masktron spawn", str(number))) for number in numbers]


def _derived(key: bytes, person: bytes, *parts: str) -> bytes:
    """Return a key derived from another one for a purpose; the lengths keep ("ab", "c") and ("a", "bc") apart."""
    message = b"".join(len(part).to_bytes(8, "little") + part for part in (text.encode() for text in parts))
    return hashlib.blake2b(message, key=key, digest_size=_BYTES, person=person).digest()
