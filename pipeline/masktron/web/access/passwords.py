"""Users and their passwords: a file with a line for each, in which no password can be read."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from masktron.errors import UsageError
from masktron.files import read_text
from masktron.web.store.disk import write_bytes

SHORTEST, LONGEST_PASSWORD = 12, 256
"""Characters of a password."""
_N, _R, _P = 1 << 15, 8, 3
"""What scrypt costs: 32 MB and a third of a second (OWASP, Password Storage Cheat Sheet, N=2^15, r=8, p=3)."""
_MEMORY = 64 << 20
_NAME = re.compile(r"[\w.@+-]{1,64}")
_FREE = 5
"""Wrong passwords of a user after which one has to wait."""
_FREE_OF_ADDRESS = 25
"""The same from one address, from which several may come."""
_LONGEST_WAIT = 900.0
_FORGOTTEN = 86_400.0
"""Seconds after which a failure counts no more."""
_MOST_FAILURES = 10_000
_OBVIOUS = (
    "password",
    "passwort",
    "motdepasse",
    "contrasena",
    "123456",
    "qwerty",
    "qwertz",
    "azerty",
    "masktron",
    "letmein",
    "iloveyou",
    "welcome",
    "administrator",
    "changeme",
    "trustno",
    "sunshine",
    "princess",
    "football",
    "baseball",
    "superman",
    "starwars",
    "1q2w3e",
    "1qaz2wsx",
    "q1w2e3",
    "qazwsx",
    "zaq12wsx",
    "zaqxsw",
    "abc123",
    "secret123",
    "dragon123",
    "monkey123",
    "master123",
    "michael1",
    "computer123",
    "internet123",
    "whatever123",
    "default",
)
"""What the lists of stolen passwords of twelve characters and more are made of."""
_DISGUISES = str.maketrans("013457@$!", "oleastasi")
_ROWS = (
    "01234567890",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "azertyuiop",
)
_RUN = 4
"""Keys beside each other that are a run."""


def hashed(password: str, salt: bytes | None = None) -> str:
    """Return what is kept of a password: scrypt with a salt of its own."""
    salt = secrets.token_bytes(16) if salt is None else salt
    key = hashlib.scrypt(password.encode(), salt=salt, n=_N, r=_R, p=_P, maxmem=_MEMORY)
    return f"scrypt${_N}${_R}${_P}${_text(salt)}${_text(key)}"


def is_password(password: str, kept: str) -> bool:
    """Tell whether a password is the one of which this was kept."""
    _, n, r, p, salt, key = kept.split("$")
    found = hashlib.scrypt(
        password.encode(), salt=base64.b64decode(salt), n=int(n), r=int(r), p=int(p), maxmem=_MEMORY
    )
    return hmac.compare_digest(found, base64.b64decode(key))


def require_good(name: str, password: str) -> None:
    """Refuse a password that is quickly guessed.

    Raises
    ------
    UsageError
    """
    if not SHORTEST <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(
            f"a password has {SHORTEST} to {LONGEST_PASSWORD} characters",
            hint="some words that nobody expects together",
        )
    plain = password.lower()
    if name.lower() in plain or len({*plain}) < 5 or _is_known(plain):
        raise UsageError("this password is quickly guessed", hint="some words that nobody expects together")


def _is_known(plain: str) -> bool:
    """Tell whether a password is made of what lists of stolen ones begin with: words, runs of keys, repetitions."""
    letters = re.sub(r"[^a-z]", "", plain.translate(_DISGUISES))
    if any(word in plain or word in letters for word in _OBVIOUS):
        return True
    runs = [
        row[at : at + _RUN] for row in (*_ROWS, *(row[::-1] for row in _ROWS)) for at in range(len(row) - _RUN + 1)
    ]
    rest = plain
    for run in runs:
        rest = rest.replace(run, "")
    return len(rest) < len(plain) / 2 or any(plain == (plain[:n] * len(plain))[: len(plain)] for n in range(1, 7))


def users_in(path: Path) -> dict[str, str]:
    """Read the file of users.

    Returns
    -------
    dict of str to str
        What is kept of each password, by user.

    Raises
    ------
    UsageError
        It cannot be read, or a line is none that `add_user` writes; or others may read or change it.
    """
    text = read_text(path, "file of users")
    if path.stat().st_mode & 0o077:
        raise UsageError("others may read the file of users", where=str(path), hint=f"chmod 600 {path}")
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, _, kept = line.partition(":")
        if not _NAME.fullmatch(name) or not _is_kept(kept):
            raise UsageError(
                "not a line NAME:scrypt$...",
                where=f"{path}:{number}",
                hint="masktron web --auth FILE --add-user NAME writes one",
            )
        users[name] = kept
    if not users:
        raise UsageError(
            "the file of users is empty", where=str(path), hint="masktron web --auth FILE --add-user NAME"
        )
    return users


def add_user(path: Path, name: str, password: str) -> None:
    """Add a user to the file, or give one another password.

    Raises
    ------
    UsageError
        The name has other characters than letters, digits and ``._@+-``, or the password is quickly guessed.
    """
    if not _NAME.fullmatch(name):
        raise UsageError("the name of a user has letters, digits and . _ @ + - alone, at most 64", where="--add-user")
    require_good(name, password)
    users = users_in(path) if path.exists() and path.stat().st_size else {}
    users[name] = hashed(password)
    write_bytes(path, "".join(f"{one}:{kept}\n" for one, kept in users.items()).encode())


def _is_kept(kept: str) -> bool:
    return re.fullmatch(r"scrypt\$\d{1,7}\$\d{1,2}\$\d{1,2}\$[\w+/=]+\$[\w+/=]+", kept) is not None


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Doorkeeper:
    """Lets users in who know their password, and has those wait who guess.

    Parameters
    ----------
    path : Path
        The file of users; read anew at each attempt, so that who is taken out of it stays out.
    clock : callable
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, _Failures] = {}
        self._nobody = hashed(secrets.token_urlsafe())

    def wait_of(self, name: str, address: str | None = None) -> float:
        """Return the seconds that somebody has to wait before another attempt: doubled with each failure.

        Parameters
        ----------
        name : str
            Of the user.
        address : str or None
            From which he comes; who tries one name after the other has to wait as well.
        """
        now = self._clock()
        return max(self._left(key, free, now) for key, free in _keys(name, address))

    def admits(self, name: str, password: str, address: str | None = None) -> bool:
        """Tell whether this is the password of a user; as slow where there is no such user."""
        kept = users_in(self._path).get(name)
        with self._lock:  # one at a time: each takes 32 MB
            if self.wait_of(name, address):  # many have asked at the same time
                return False
            known = is_password(password[: LONGEST_PASSWORD + 1], kept or self._nobody) and kept is not None
            if known:
                self._failures.pop(name, None)
                return True
            now = self._clock()
            if len(self._failures) > _MOST_FAILURES:  # made-up names
                self._failures = {key: one for key, one in self._failures.items() if now - one.last < _LONGEST_WAIT}
            for key, _ in _keys(name, address):
                found = self._failures.setdefault(key, _Failures(0, 0.0))
                found.count += 1
                found.last = now
            return False

    def is_current(self, name: str, stamp: str) -> bool:
        """Tell whether somebody is a user still, with the password of this stamp."""
        kept = users_in(self._path).get(name)
        return kept is not None and hmac.compare_digest(_stamp(kept), stamp)

    def stamp_of(self, name: str) -> str:
        """Return the stamp of the password that a user has; empty where there is no such user."""
        kept = users_in(self._path).get(name)
        return "" if kept is None else _stamp(kept)

    def _left(self, key: str, free: int, now: float) -> float:
        found = self._failures.get(key)
        if found is None or found.count < free or now - found.last > _FORGOTTEN:
            return 0.0
        wait = min(2.0 ** min(found.count - free + 1, 20), _LONGEST_WAIT)
        return max(0.0, found.last + wait - now)


def _keys(name: str, address: str | None) -> list[tuple[str, int]]:
    """Return under what failures are counted, and how many are free."""
    return [(name, _FREE), *([] if address is None else [(f"/{address}", _FREE_OF_ADDRESS)])]


def _stamp(kept: str) -> str:
    return hashlib.sha256(kept.encode()).hexdigest()[:32]
