"""The manifest of an earlier release of the same name: kept under a number, as nothing else has its key and order."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from masktron.write.atomic import atomic_path
from masktron.write.manifest import manifest_content


@contextmanager
def former_kept(manifest: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Keep the manifest in the place of which a new one comes, unless it describes the same release.

    The copy appears when the context ends without an error, and for its owner alone.

    Parameters
    ----------
    manifest : Path
    content : mapping of str to plain data
        What the new manifest is going to say.

    Yields
    ------
    tuple of str
        A note that names the copy; none where there is nothing to keep.
    """
    if not manifest.exists() or _same(manifest_content(manifest), content):
        yield ()
        return
    place = _free(manifest)
    with atomic_path(place) as temporary:
        shutil.copyfile(manifest, temporary)
        yield (
            "an earlier release of this name was replaced; its manifest is kept as "
            f"{place.name} (confidential), as nothing else has the key and the order of its records",
        )


def _same(former: Any, content: Mapping[str, Any]) -> bool:
    """Tell whether two manifests are of the same bytes, from the same original and key."""
    return all(former.get(part) == content[part] for part in ("original", "output", "key"))


def _free(manifest: Path) -> Path:
    """Return the first name with a number that nothing has: ``x.manifest.2.json`` beside ``x.manifest.json``."""
    names = (manifest.with_name(f"{manifest.stem}.{number}{manifest.suffix}") for number in itertools.count(1))
    return next(name for name in names if not name.exists())
