"""Sessions: a random number in a cookie, known by its hash alone, on disk so that a restart ends none."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from masktron.web.store.disk import read_plain, write_plain

_WRITTEN_EVERY = 60.0
"""Seconds between two notes of when a session was last used."""
MOST = 20
"""Sessions that there may be; then the one ends that was used longest ago."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a session lasts, in seconds: in all, and without a request."""

    whole: float
    idle: float


@dataclass(slots=True)
class Session:
    """One browser.

    Attributes
    ----------
    began, used : float
        In seconds since 1970.
    """

    began: float
    used: float


class Sessions:
    """All sessions of a server.

    Parameters
    ----------
    path : Path
        The file where they are kept.
    lifetime : Lifetime
    clock : callable
    """

    def __init__(self, path: Path, lifetime: Lifetime, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._written = 0.0
        self._found = {key: Session(one["began"], one["used"]) for key, one in (read_plain(path) or {}).items()}

    def begin(self) -> str:
        """Begin a session and return what its cookie holds."""
        secret = secrets.token_urlsafe(32)
        now = self._clock()
        with self._lock:
            self._found = {key: one for key, one in self._found.items() if self._lives(one, now)}
            if len(self._found) >= MOST:
                del self._found[min(self._found, key=lambda key: self._found[key].used)]
            self._found[_hash(secret)] = Session(now, now)
            self._write(now)
        return secret

    def of(self, secret: str, *, touch: bool = True) -> Session | None:
        """Return the session of a cookie; None where it has ended, or there was none.

        Parameters
        ----------
        secret : str
        touch : bool
            Whether this is a word from the user: what a page asks for by itself is none.
        """
        now = self._clock()
        with self._lock:
            key = _hash(secret)
            found = self._found.get(key)
            if found is None:
                return None
            if not self._lives(found, now):
                del self._found[key]
                self._write(now)
                return None
            if touch:
                found.used = now
                if now - self._written > _WRITTEN_EVERY:
                    self._write(now)
            return found

    def _lives(self, session: Session, now: float) -> bool:
        return now - session.began < self._lifetime.whole and now - session.used < self._lifetime.idle

    def _write(self, now: float) -> None:
        self._written = now
        write_plain(self._path, {key: asdict(one) for key, one in self._found.items()})


def form_token(secret: str) -> str:
    """Return the token that forms of a session carry; nobody can tell it who has not its cookie."""
    return hmac.new(secret.encode(), b"masktron form", hashlib.sha256).hexdigest()


def is_form_token(given: str, secret: str) -> bool:
    """Tell whether a form belongs to a session."""
    return hmac.compare_digest(given.encode(), form_token(secret).encode())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
