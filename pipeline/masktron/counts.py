"""Numbers of things in words, one of them or many."""

from __future__ import annotations

_SEPARATED = 10_000
"""From here on digits are read in groups of three; four stand without, as is usual."""


def counted(many: int, noun: str, nouns: str = "") -> str:
    """Say how many there are of something: ``1 record``, ``2000 records``, ``12,000 records``.

    Parameters
    ----------
    many : int
    noun, nouns : str
        What one of it is called, and several; several end in s when not given.
    """
    return f"{many:{',' if abs(many) >= _SEPARATED else ''}} {noun if many == 1 else nouns or f'{noun}s'}"
