"""The manifest of an earlier release of the same name: kept under a number, since only it has secret and order."""

from __future__ import annotations

import filecmp
import itertools
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from masktron.sources.output_names import numbered
from masktron.write.atomic import atomic_path
from masktron.write.manifest import manifest_content


@contextmanager
def former_kept(manifest: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Keep the manifest in the place of which a new one comes, unless it describes the same release.

    The copy is there before the new manifest is, for its owner alone: a process that is killed in between loses
    neither. It goes again where the context ends with an error. Of a link to a manifest it stands beside the file,
    not beside the link: that may be in a folder that somebody gives away.

    Parameters
    ----------
    manifest : Path
    content : mapping of str to plain data
        What the new manifest is going to say.

    Yields
    ------
    tuple of str
        A note that names the copy; none where there is nothing to keep.

    Raises
    ------
    DocumentError
        The copy cannot be written.
    """
    if not manifest.exists() or _same(manifest_content(manifest), content):
        yield ()
        return
    behind = Path(os.path.realpath(manifest))
    place = _place(behind)
    is_new = not place.exists()
    if is_new:
        with atomic_path(place) as temporary:
            shutil.copyfile(behind, temporary)
    shown = place.name if behind.parent == Path(os.path.realpath(manifest.parent)) else place
    try:
        yield (
            "an earlier release of this name was replaced; its manifest is kept as "
            f"{shown} (confidential), as nothing else has the secret and the order of its records",
        )
    except BaseException:
        if is_new:
            place.unlink(missing_ok=True)  # where somebody has removed it, the error is still the one to tell
        raise


def _same(former: Any, content: Mapping[str, Any]) -> bool:
    """Tell whether a manifest says all that the former one says, of the same bytes, original and secret."""
    entered = "register" in content or "register" not in former
    return entered and all(former.get(part) == content[part] for part in ("original", "output", "secret"))


def _place(manifest: Path) -> Path:
    """Return the first name with a number that nothing has, or that a killed run has given a copy of this one."""
    places = (numbered(manifest, number) for number in itertools.count(1))
    return next(place for place in places if not os.path.lexists(place) or _is_copy(place, manifest))


def _is_copy(place: Path, manifest: Path) -> bool:
    """Tell whether a plain file, for its owner alone, says what the manifest says."""
    try:
        found = place.lstat()
        secret = os.name != "posix" or stat.S_IMODE(found.st_mode) == 0o600
        return stat.S_ISREG(found.st_mode) and secret and filecmp.cmp(place, manifest, shallow=False)
    except OSError:  # of somebody else
        return False
