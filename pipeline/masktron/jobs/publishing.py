"""The end of a run: what was masked is written, read back, judged, measured, and appears where nothing is wrong."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from masktron.executor.which import StandingExecutor
from masktron.jobs.mask_result import mask_result
from masktron.jobs.register.registration import Registration
from masktron.jobs.released import (
    declared_of,
    manifest_of,
    require_contract,
    require_releasable,
    require_shared_keys,
)
from masktron.jobs.run import Run
from masktron.jobs.run_places import RunPlaces
from masktron.jobs.translated_rules import published_rules
from masktron.jobs.written import write
from masktron.masking import Masked
from masktron.progress import Progress
from masktron.results import MaskResult
from masktron.sources.output_names import numbered
from masktron.write.atomic import atomic_path
from masktron.write.manifest import manifest_content, write_plain
from masktron.write.publication import publications, settle_publication


def published(
    run: Run,
    made: Masked,
    places: RunPlaces,
    register: Registration,
    progress: Progress,
    executor: StandingExecutor | None = None,
) -> MaskResult:
    """Write a release, read it back, have it judged, measure it, and let it appear with its manifest.

    Parameters
    ----------
    run : Run
    made : Masked
    places : RunPlaces
    register : Registration
        Where the release is entered before it appears.
    progress : callable
    executor : StandingExecutor, optional
        Who evaluates slices of the written file; its workers are ended before figures are computed.

    Raises
    ------
    InfeasibleError, ViolationError
        A rule would break, engines disagree, a group is too small, or a limit or the contract is not kept; nothing
        appears.
    """
    tables, manifest = places.tables, places.manifest
    with (
        publications(tables.places, released=True, replaces=places.replaces) as found,
        published_rules(run.account, places.rules),
        atomic_path(manifest) as confidential,
    ):
        written = write(run, made, place := found[tables.top], places.out, progress, executor, beside=found)
        notes: tuple[str, ...] = ()
        if executor is not None:
            executor.rest()  # nothing is left for workers, whose memory the figures may need
            notes = executor.notes  # which stage was the first for them depends on the file
        progress("comparing it with the original", 0)
        result, blocks, measured = mask_result(
            run, made, written, places.out, manifest, progress, places.rules, tables.named
        )
        progress("testing the contract, writing the manifest", 0)
        require_releasable(run, result, measured)
        declared = declared_of(run, made)
        require_contract(run, declared, written.columns)
        require_shared_keys(run, written.source)
        in_memory = run.source.handed_back()
        entry, more = register.enter(run, written)
        found_settings = [run.config.found] if run.config.found else []
        result = replace(result, notes=(*found_settings, *result.notes, *notes, *more))
        content = manifest_of(run, made, result, blocks, written, declared, entry)
        write_plain(confidential, content, {} if written.order is None else {"order": written.order})
        with former_kept(manifest, content) as kept:
            settle_publication(place)
    return replace(result, data=in_memory, notes=(*result.notes, *kept))


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
    places = (numbered(behind, number) for number in itertools.count(1))
    place = next(one for one in places if not os.path.lexists(one))
    with atomic_path(place) as temporary:
        shutil.copyfile(behind, temporary)
    shown = place.name if behind.parent == Path(os.path.realpath(manifest.parent)) else place
    try:
        yield (
            "an earlier release of this name was replaced; its manifest is kept as "
            f"{shown} (confidential), as nothing else has the secret and the order of its records",
        )
    except BaseException:
        place.unlink(missing_ok=True)  # where somebody has removed it, the error is still the one to tell
        raise


def _same(former: Any, content: Mapping[str, Any]) -> bool:
    """Tell whether a manifest says all that the former one says, of the same bytes, original and secret."""
    entered = "register" in content or "register" not in former
    return entered and all(former.get(part) == content[part] for part in ("original", "output", "secret"))
