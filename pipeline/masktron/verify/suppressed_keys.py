"""Suppressed keys: how many records share each combination that is written, and whether these are all keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Recoded, SharedKeys, Suppressed
from masktron.verify.findings import Findings
from masktron.verify.release import Release
from masktron.write.manifest import DescribedRelease

if TYPE_CHECKING:
    import pandas as pd


def verify(step: Suppressed, release: Release) -> Findings:
    """Count the records of the release that share each combination of suppressed keys, as it is written."""
    import pandas as pd  # noqa: PLC0415 -- most runs do without

    found, released, described = Findings(), release.released, release.described
    named = ", ".join(step.fields)
    if gone := [name for name in step.fields if name not in released.columns]:
        found.problems.append(f"the file has no key {', '.join(gone)}")
        return found
    if left_out := [name for name in keys_of(described, released) if name not in step.fields]:
        found.problems.append(
            f"the keys that k records share are {named}, without {', '.join(left_out)}, by the roles of the manifest "
            "a quasi-identifier as well"
        )
    wrong: list[str] = []
    if len(released):
        codes = pd.DataFrame({name: released.columns[name].numbered() for name in step.fields})
        wrong = [f"of the suppressed keys {named}, {what}" for what in unshared(codes, step.contract)]
    found.problems += _other_gaps(step, released, described)
    found.problems += wrong
    found.checked += [] if wrong else [f"keys {named}: {step.contract.says}"]
    return found


def _other_gaps(step: Suppressed, released: Dataset, described: DescribedRelease) -> Iterator[str]:
    """Say of which fields more or fewer cells are missing than the manifest says."""
    for name, (gone, there) in step.cells.items():
        if name in released.columns:
            column = released.columns[name].declaring(described.missing.get(name, ()))
            missing, said = int((column.numbered() < 0).sum()), len(released) - there + gone
            if missing != said:
                yield f"of the suppressed field {name}, {missing:,} cells are missing, but the manifest says {said:,}"


def unshared(codes: pd.DataFrame, contract: SharedKeys) -> list[str]:
    """Say which combinations of keys fewer records share than a contract promises; no value is named.

    Parameters
    ----------
    codes : DataFrame of int, shape (n, keys)
        -1 where a key is missing.
    contract : SharedKeys
    """
    found = []
    for own in combinations(range(codes.shape[1]), min(contract.subsets or codes.shape[1], codes.shape[1])):
        sizes = codes.iloc[:, list(own)].groupby([codes.columns[at] for at in own]).size()
        every, shared = np.array(sizes.index.to_frame()), sizes.to_numpy()
        few = np.flatnonzero(shared < contract.k)
        if contract.missing_matches:
            few = few[[int(shared[_matches(every, every[at])].sum()) < contract.k for at in few]]
        if len(few):
            which = ", ".join(str(at + 1) for at in own)
            records = f"{shared[few].sum():,} records"
            found.append(f"keys {which}: {records} share their combination with fewer than {contract.k} of the file")
    return found


def _matches(every: NDArray[np.int32], own: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which combinations one matches, where a missing key matches every value."""
    return np.asarray(((every == own) | (every < 0) | (own < 0)).all(axis=1))


def keys_of(described: DescribedRelease, released: Dataset) -> list[str]:
    """Return what others may know: the named fields, or else all that are written and do not tell records apart."""
    roles = {name: Role(role) for name, role in described.roles.items()}
    recoded = {one.recoding.field for one in described.treatments if isinstance(one, Recoded)}
    named = [
        name
        for name, role in roles.items()
        if role is Role.QUASI_IDENTIFIER or (name in described.quasi_identifiers and role is not Role.IDENTIFIER)
    ]
    unnamed = [
        name
        for name, role in roles.items()
        if role is Role.UNTOUCHED and not (name in released.columns and _differs(released.columns[name]))
    ]
    known = named or unnamed
    return [name for name, role in roles.items() if name in known or (role is Role.WEIGHT and name in recoded)]


def _differs(column: Column) -> bool:
    """Tell whether all cells that are there differ: others may have been suppressed."""
    codes = column.numbered()
    held = codes[codes >= 0]
    return len(np.unique(held)) == len(held)
