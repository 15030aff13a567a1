"""Swapped regions: pairs of households, or of records, that have changed places and agree in what was required."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.step_kinds import Swapped
from masktron.verify.cells import hidden_records, numbered, units_of
from masktron.verify.findings import Findings
from masktron.verify.release import Release


def verify(step: Swapped, release: Release) -> Findings:
    """Test whether regions were exchanged in pairs, before cells of some fields may have been suppressed."""
    found, how = Findings(), step.settings
    names = ", ".join(how.regions)
    cannot = f"the regions {names} cannot have been swapped as the manifest says"
    pair = release.pair(step.fields, [*how.similar, how.household], "swapped", cannot, found)
    if pair is None:
        return found
    before, released = pair
    if depends := sorted({*how.similar, how.household or ""} & release.unknown):
        found.not_checked.append(
            f"swaps of {names}: they depend on {', '.join(depends)}, changed before, of which cells are suppressed"
        )
        return found
    pairs = [numbered([before.columns[name], released.columns[name]]) for name in how.regions]
    was, now = [one for one, _ in pairs], [one for _, one in pairs]
    for one in swap_findings(
        was,
        now,
        similar=[before.columns[name].numbered() for name in how.similar],
        required=how.required,
        households=units_of(before, how.household),
        pairs=step.pairs,
        hidden=hidden_records(how.regions, was, now, release.suppressed),
    ):
        found.problems.append(f"of the regions {names}, which were swapped, {_said(one, how.similar)}")
    found.checked.append(f"regions {names}, swapped in {counted(step.pairs, 'pair')}")
    return found


@dataclass(frozen=True, slots=True)
class SwapFinding:
    """What record swapping cannot have made of an original.

    Attributes
    ----------
    kind : str
        ``missing``: records whose region went missing, or came from nowhere. ``household``: households in several
        regions. ``profile``: units too many in a region with their profile. ``moved``: units too many that are in
        another region. ``unmoved``: units too few, even if all that are hidden have moved.
    found : int
    """

    kind: str
    found: int


def swap_findings(
    regions: Sequence[NDArray[np.integer]],
    written: Sequence[NDArray[np.integer]],
    *,
    similar: Sequence[NDArray[np.integer]] = (),
    required: int | None = None,
    households: NDArray[np.integer] | None = None,
    pairs: int | None = None,
    hidden: NDArray[np.bool_] | None = None,
) -> tuple[SwapFinding, ...]:
    """Compare written regions with those of the original: the contract of record swapping.

    Plain counting of units by region and profile, which shares no code with what exchanges them.

    Parameters
    ----------
    regions, written : sequence of ndarray of int, shape (n,) each
        Codes of the original and of the written file, from coarse to fine, in the same order of records.
    similar, required, households
        As for `record_swaps`.
    pairs : int, optional
        How many pairs were exchanged.
    hidden : ndarray of bool, shape (n,), optional
        Records of which a region was suppressed afterwards, and of which nothing can be said.

    Returns
    -------
    tuple of SwapFinding
        Empty where the contract holds.
    """
    before = list(zip(*(column.tolist() for column in regions), strict=True))
    after = list(zip(*(column.tolist() for column in written), strict=True))
    alike = list(zip(*(column.tolist() for column in similar[:required]), strict=True)) or [()] * len(before)
    shown = [True] * len(before) if hidden is None else (~hidden).tolist()
    members: dict[int, list[int]] = defaultdict(list)
    for record in range(len(before)):
        number = -1 if households is None else int(households[record])
        members[number if number >= 0 else -1 - record].append(record)
    had: Counter[Any] = Counter()
    has: Counter[Any] = Counter()
    torn = moved = unknown = 0
    for records in members.values():
        profile = tuple(sorted(alike[record] for record in records))
        had[before[records[0]], profile] += 1
        if not (seen := [record for record in records if shown[record]]):
            unknown += 1
            continue
        has[after[seen[0]], profile] += 1
        torn += len({after[record] for record in seen}) > 1
        moved += any(before[record] != after[record] for record in seen)
    gone = sum(
        (-1 in old or -1 in new) and old != new for old, new, known in zip(before, after, shown, strict=True) if known
    )
    surplus = (has - had).total()
    too_many, too_few = (0, 0) if pairs is None else (max(0, moved - 2 * pairs), max(0, 2 * pairs - moved - unknown))
    counts = {"missing": gone, "household": torn, "profile": surplus, "moved": too_many, "unmoved": too_few}
    return tuple(SwapFinding(kind, found) for kind, found in counts.items() if found)


def _said(finding: SwapFinding, similar: Sequence[str]) -> str:
    match finding.kind:
        case "missing":
            return f"those of {counted(finding.found, 'record')} went missing or came from nowhere"
        case "household":
            return f"those of {counted(finding.found, 'household')} differ within it"
        case "profile":
            alike = f" with the same {', '.join(similar)}" if similar else ""
            return f"{finding.found:,} are in places of which the original has not so many{alike}"
        case "moved":
            return f"{finding.found:,} more are in another place than pairs were swapped"
        case _:
            return f"{finding.found:,} fewer are in another place than pairs were swapped"
