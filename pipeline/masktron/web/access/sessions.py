"""Sessions: a random number in a cookie, known by its hash alone, on disk so that a restart ends none."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from masktron.web.store.disk import read_plain, write_plain

_WRITTEN_EVERY = 60.0
"""Seconds between two notes of when a session was last used."""
MOST, MOST_EACH = 500, 20
"""Sessions that there may be, in all and of one user; then one ends of whoever has most, or of the user."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a session lasts, in seconds: in all, and without a word from its user."""

    whole: float
    idle: float


@dataclass(slots=True)
class Session:
    """One browser.

    Attributes
    ----------
    user : str or None
        None before anybody has given a name and a password.
    began, used : float
        In seconds since 1970.
    stamp : str
        Of the password with which it began: with another one it is over.
    """

    user: str | None
    began: float
    used: float
    stamp: str = ""


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
        self._found = {key: Session(**one) for key, one in (read_plain(path) or {}).items()}

    def begin(self, user: str | None, stamp: str = "") -> str:
        """Begin a session and return what its cookie holds."""
        secret = secrets.token_urlsafe(32)
        now = self._clock()
        with self._lock:
            self._found = {key: one for key, one in self._found.items() if self._lives(one, now)}
            self._make_way(user)
            self._found[_hash(secret)] = Session(user, now, now, stamp)
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

    def end(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            if self._found.pop(_hash(secret), None) is not None:
                self._write(self._clock())

    def _make_way(self, user: str | None) -> None:
        """End the session that was used longest ago: of the user himself, else of whoever has most of them."""
        numbers = Counter(one.user for one in self._found.values())
        if numbers[user] >= MOST_EACH:
            ending = user
        elif numbers.total() >= MOST:
            ending = numbers.most_common(1)[0][0]
        else:
            return
        of_user = [key for key, one in self._found.items() if one.user == ending]
        del self._found[min(of_user, key=lambda key: self._found[key].used)]

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
