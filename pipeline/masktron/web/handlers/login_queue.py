"""Attempts to log in: one after the other, so many at most, and in no thread that waits for another."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_ATTEMPTS, MOST_ATTEMPTS_EACH = 24, 4
"""That may wait or be looked at, of all addresses and of each: each takes a third of a second."""
MOST_STRANGE = 12
"""Of them, those with names that no user has: whoever makes up names leaves places to users."""
MOST_OF_NAME = 2
"""Of them, those with the name of one user."""
_STRANGER = ""


class LoginQueue:
    """Gives attempts their turn.

    A password takes scrypt's time and memory, so one is looked at after the other. Threads that waited for each other
    would be missing where pages are answered; attempts wait here, in no thread.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._attempts: Counter[str] = Counter()
        self._names: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, address: str | None, user: str | None) -> AsyncIterator[bool]:
        """Wait for one's turn; False at once where too many wait already.

        Parameters
        ----------
        address : str or None
            From where it comes; None where all come from one, which then has all places.
        user : str or None
            Whose name it has; None where no user has it. Behind a proxy this is all that tells attempts apart.
        """
        key, name = address or "", user or _STRANGER
        most = MOST_ATTEMPTS if address is None else MOST_ATTEMPTS_EACH
        most_named = MOST_STRANGE if user is None else MOST_OF_NAME
        full = self._attempts[key] >= most or self._attempts.total() >= MOST_ATTEMPTS
        if full or self._names[name] >= most_named:
            yield False
            return
        self._attempts[key] += 1
        self._names[name] += 1
        try:
            async with self._turn:
                yield True
        finally:
            self._attempts -= Counter({key: 1})
            self._names -= Counter({name: 1})
