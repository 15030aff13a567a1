"""The manifest: everything that was decided and found in a run. CONFIDENTIAL, for inside the agency only."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from masktron.errors import UsageError
from masktron.write.atomic import atomic_path

MANIFEST_VERSION = 1
NOTICE = "CONFIDENTIAL: this manifest may help to undo the masking; it must not leave the agency."
PACKAGES = ("lxml", "pyschematron", "elementpath", "saxonche", "numpy", "scipy", "pandas", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of masktron, of Python and of the packages that decide or compute."""
    found = {"masktron": version("masktron"), "python": platform.python_version()}
    return found | {package: version(package) for package in PACKAGES}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_plain(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as UTF-8 JSON."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as UTF-8 JSON, whole or not at all."""
    with atomic_path(path) as temporary:
        write_plain(temporary, content)


def described_output(path: Path) -> str | None:
    """Return the file name of the output that a manifest describes; None where it is no manifest."""
    try:
        return Path(json.loads(path.read_text(encoding="utf-8"))["output"]["path"]).name
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Contract:
    """What `check` needs of a manifest.

    Attributes
    ----------
    output : str
        SHA-256 of the masked file.
    original : str
        SHA-256 of the original.
    k : int
    blocks : tuple of tuple of str
        Variables of each block: at least k records share each combination of their masked values.
    removed : tuple of str
        Identifiers that were left out.
    kept : tuple of str
        Fields that were not masked.
    allowed : tuple of str
        Rules that the file may break.
    excluded : tuple of int
        Positions (from 0) of the original records that were left out.
    order : tuple of int or None
        Original position (among the records that were kept) of each masked record, where they were shuffled.
    """

    output: str
    original: str
    k: int
    blocks: tuple[tuple[str, ...], ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    allowed: tuple[str, ...]
    excluded: tuple[int, ...]
    order: tuple[int, ...] | None


def read_contract(path: Path) -> Contract:
    """Read the contract from a manifest.

    Raises
    ------
    UsageError
        The file is missing, is not JSON, or is not a manifest of this version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the manifest: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"not a manifest: {error}", where=str(path)) from error
    try:
        if content["manifest_version"] != MANIFEST_VERSION:
            raise UsageError(
                f"manifest of version {content['manifest_version']}, not {MANIFEST_VERSION}", where=str(path)
            )
        return Contract(
            output=content["output"]["sha256"],
            original=content["original"]["sha256"],
            k=int(content["plan"]["k"]),
            blocks=tuple(tuple(block["variables"]) for block in content["result"]["blocks"]),
            removed=_fields(content, {"identifier"}),
            kept=_fields(content, {"key", "weight", "untouched"}),
            allowed=tuple(content["result"]["allowed"]),
            excluded=tuple(position - 1 for position in content["result"]["excluded"]),
            order=None if content["order"] is None else tuple(content["order"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"not a manifest of masktron: {error!r} is missing or wrong",
            where=str(path),
            hint="give the manifest.json that mask wrote",
        ) from error


def _fields(content: Mapping[str, Any], roles: set[str]) -> tuple[str, ...]:
    return tuple(fact["name"] for fact in content["plan"]["fields"] if fact["role"] in roles)
