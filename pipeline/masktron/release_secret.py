"""The secret of a release: all random numbers of a run come from it, so whoever has it undoes what they protect."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from os import PathLike
from pathlib import Path

from masktron.errors import UsageError
from masktron.files import read_text
from masktron.former_names import manifest_from
from masktron.problems.problem import Note, Setting

LEAST_BYTES = 16
"""Of a secret: 128 bits are out of reach of trying."""
_LEAST_SEED = 2 ** (8 * LEAST_BYTES - 1)
"""The smallest number of 128 binary digits."""
_BYTES = 32
_LEAST_DIGITS = 8
"""Different hexadecimal digits: of 32 random ones, fewer are found once in 20 million secrets."""
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9A-Fa-f]{32,}")


def new_secret() -> bytes:
    """Return 256 bits from the operating system."""
    return secrets.token_bytes(_BYTES)


def is_secret(seed: int) -> bool:
    """Tell whether a seed may be a secret: it has 128 bits, and does not look like a number that somebody chose."""
    return seed >= _LEAST_SEED and _varied(f"{seed:x}")


def secret_of_seed(seed: int) -> bytes:
    """Return the secret that a seed stands for; it has no more bits than the seed."""
    return hashlib.blake2b(str(seed).encode(), digest_size=_BYTES, person=b"masktron seed").digest()


def secret_from(given: object, where: str = "") -> bytes:
    """Return the secret that somebody gave in Python: its bytes, or the path of a file that holds it.

    Raises
    ------
    UsageError
        It is too short, or as for `read_secret`. What was given is never shown.
    """
    if isinstance(given, str | PathLike):
        return read_secret(Path(given))
    if not isinstance(given, bytes):
        raise UsageError.of("bad-secret", where, reason=f"it is a {type(given).__name__}, not bytes or a path")
    return _checked(given, where)


def read_secret(path: Path) -> bytes:
    """Read a secret from a file of hexadecimal digits, or from the manifest of a former run.

    Raises
    ------
    UsageError
        The file cannot be read, or holds neither, or a secret that could be found by trying. Its content is never
        shown.
    """
    if _HEXADECIMAL.fullmatch(str(path)) and not path.exists():
        reason = "it must be in a file, since digits on the command line stand in lists of processes"
        raise UsageError.of("bad-secret", reason=reason)
    text = read_text(path, "secret")
    if text.lstrip().startswith("{"):
        text = _in_manifest(text, path)
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        raise UsageError.of(
            "bad-secret", path, reason="the file holds no pairs of hexadecimal digits"
        ) from None  # the reason would say where in the secret
    return _checked(secret, str(path))


def former_units(path: str | PathLike[str]) -> int | None:
    """Return the size of units in the run of a manifest: 0 where it masked the file as a whole.

    None where the file is a secret, or does not say it.

    Raises
    ------
    UsageError
        The file cannot be read.
    """
    text = read_text(Path(path), "secret")
    if not text.lstrip().startswith("{"):
        return None
    try:
        return _units_in(manifest_from(text))
    except (ValueError, RecursionError):
        return None  # `read_secret` says what is wrong with it


def _units_in(content: object) -> int | None:
    """Return the size of units that a manifest names: 0 for none, None where it does not say it."""
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        return None
    size = config.get("unit_records")
    return size if isinstance(size, int) and size > 0 else 0


def _in_manifest(text: str, path: Path) -> str:
    """Return the secret of a manifest, as hexadecimal digits."""
    try:
        content = manifest_from(text)
    except (json.JSONDecodeError, RecursionError):
        raise UsageError.of("bad-secret", path, reason="the file is no manifest either: it is not JSON") from None
    except ValueError as error:
        raise UsageError.of("bad-secret", path, reason=str(error)) from None
    if "secret" in content and content["secret"] is None:
        raise UsageError.of(
            "setting-not-usable",
            path,
            more=Note(
                "; the file is the same to the byte with [[--unit-records {units}]]",
                units=_units_in(content) or "whole",
            ),
            name=Setting("--secret"),
            reason="the run of this manifest took no random numbers",
        )
    secret = content.get("secret")
    if not isinstance(secret, str):
        raise UsageError.of("bad-secret", path, reason="the manifest holds none")
    return secret


def _checked(secret: bytes, where: str) -> bytes:
    if len(secret) < LEAST_BYTES:
        bits, least = 8 * len(secret), 8 * LEAST_BYTES
        raise UsageError.of("bad-secret", where, reason=f"it has {bits} bits, and at least {least} are needed")
    if not _varied(secret.hex()):
        raise UsageError.of("bad-secret", where, reason="it is not random: it has only a few different digits")
    if all(0x20 <= byte < 0x7F for byte in secret):
        raise UsageError.of("bad-secret", where, reason="it is not random: all bytes are letters or signs")
    return secret


def _varied(digits: str) -> bool:
    return len({*digits}) >= _LEAST_DIGITS
