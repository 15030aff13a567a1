"""Recodings of a manifest made anew from the original: what is published is what the settings make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import InfeasibleError, UsageError
from masktron.jobs.recoded import recoding_of, variable_of
from masktron.jobs.written_classes import written_classes
from masktron.recoding_settings import FromHierarchy, how_of
from masktron.sources.records import Records
from masktron.sources.source import Source
from masktron.write.manifest import DescribedRelease
from masktron.write.treatments import Recoded


def untrue_recodings(
    done: Iterable[Recoded], source: Source, records: Records, keep: NDArray[np.bool_], described: DescribedRelease
) -> Iterator[str]:
    """Say which recodings of a manifest are not what its settings make of the original; hierarchies are not read.

    Parameters
    ----------
    done : iterable of Recoded
    source : Source
        The original.
    records : Records
        Of it.
    keep : ndarray of bool, shape (n,)
        Records that were released.
    described : DescribedRelease
    """
    for one in done:
        name = one.recoding.field
        if isinstance(how_of(f"recode.{name}", one.how), FromHierarchy):
            continue
        try:
            config = Config(k=described.k, recode={name: one.how})
            variable = variable_of(source, name)
            meant = recoding_of(name, records, keep, config, described.weight, variable)
            order = () if variable is None else variable.order
            missing = described.missing.get(name, frozenset())
            found = written_classes(meant, source, missing, order).recoding
        except (UsageError, InfeasibleError) as error:
            yield f"the field {name} cannot have been recoded as the manifest says: {error.what}"
            continue
        if found != one.recoding:
            yield (
                f"the field {name} is recoded to other values than {one.how} makes of the original: those of the "
                "manifest are not those of the run"
            )
