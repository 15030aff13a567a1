"""The records on which the candidates of a large file are compared: whole strata, or neighbourhoods of large ones.

What a group of k loses depends on how near its records are to each other. A simple sample of a tenth of the records
has neighbours ten times rarer, and would make all groups look worse than they will be. So records that would be
grouped together stay together: a stratum (records that miss the same values and satisfy the same disjuncts) is
taken whole or not at all, and one that is too large for that is cut into blocks of near records first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.members import codes_of
from masktron.jobs.run import Run
from masktron.masking.inputs import MaskingInputs
from masktron.partitions.kdcut import kd_cut

RECORDS = 21_000
"""Of a sample. From 20,000 on, records are masked by the code that large files take."""
FROM = 50_000
"""A file of more records is compared on a sample first."""
_PARTS = 64
"""A neighbourhood holds at most this part of the sample."""
_LEAST = 20
"""A neighbourhood has room for so many groups of k."""
_SEED = 0


def sample_of(run: Run, size: int, k: int) -> NDArray[np.intp]:
    """Draw records, stratum by stratum.

    Parameters
    ----------
    run : Run
        Of any candidate: only its fields and rules count.
    size : int
        Records of the sample, about: strata are not cut to get it.
    k : int
        The largest group that is tried.

    Returns
    -------
    ndarray of intp, shape (m,)
        Positions of kept records, ascending; m <= size. The same for the same file, rules, settings and size.
    """
    units = list(_units(run, max(size // _PARTS, _LEAST * k), k))
    order = np.random.default_rng(_SEED).permutation(len(units))
    found: list[NDArray[np.intp]] = []
    room = size
    for at in order.tolist():
        if len(units[at]) <= room:
            found.append(units[at])
            room -= len(units[at])
    return np.sort(np.concatenate(found)) if found else np.sort(units[int(order[0])])


def _units(run: Run, most: int, k: int) -> Iterator[NDArray[np.intp]]:
    """Yield the strata, those of more than `most` records cut into blocks of near ones."""
    job = run.job
    rules = MaskingInputs.of(run.kept, run.plan, job.edits, job.rulebook, run.source.document_path).rules
    names = [name for block in run.plan.blocks for name in block.variables]
    codes = [rules.file.missing(names)]
    for block in run.plan.blocks:
        codes += [rules.satisfied_by(form).astype(np.intp) for form in rules.forms(block) if len(form) > 1]
    strata = codes_of(np.concatenate(codes, axis=1))
    points = np.nan_to_num(rules.file.points(names))
    order = np.argsort(strata, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1):
        if len(members) <= most:
            yield members
        else:
            yield from (members[part] for part in kd_cut(points[members], most, k))
