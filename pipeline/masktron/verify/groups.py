"""What a manifest promises of the released file alone: groups of k, and identifiers that are gone.

Records that are alike are counted here once more: nothing is shared with the measure by which `mask` counts them.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from masktron.arrays import Indices
from masktron.classify.elimination import is_equality
from masktron.classify.forms import form_of, satisfied, variables_of_atom
from masktron.constraints import Atom
from masktron.counts import counted
from masktron.verify.cells import combinations_of
from masktron.verify.findings import Findings
from masktron.verify.method_contract import check_groups
from masktron.verify.release import Release
from masktron.write.manifest import DescribedRelease


def verify(release: Release) -> tuple[Findings, int | None]:
    """Count the records that are alike in each block of fields.

    Returns
    -------
    found : Findings
    smallest : int or None
        The records of the smallest group; None where no block shares values.
    """
    described, data = release.described, release.released
    found = check_groups(described.declared, len(data) or None)
    gone = [name for name in described.masked if name not in data.columns]
    if gone and not release.as_masked:
        found.problems.insert(0, f"the file has no masked field {', '.join(gone)}")
    if not len(data):
        return found, 0
    # what was drawn record by record has another contract, which is tested against the original
    shared = [name for name in described.masked if name not in described.declared.drawn and name in data.columns]
    blocks = [present for block in described.blocks if (present := [name for name in block if name in shared])]
    if not blocks:
        return found, None
    smallest = min(_smallest_group(release, block) for block in blocks)
    if smallest < described.k:
        found.problems.append(f"the smallest group has {counted(smallest, 'record')}, fewer than k = {described.k}")
    found.checked.append(f"group sizes of {counted(len(blocks), 'block')}, against k = {described.k}")
    alike = combinations_of([data.columns[name].numbered() for block in blocks for name in block], len(data))
    if (fewest := int(np.bincount(alike).min())) < (described.whole_record_k or 0):
        found.problems.append(
            f"the values of all masked fields are those of {counted(fewest, 'record')} alone, and the manifest says "
            f"that at least {described.whole_record_k} share them"
        )
    return found, smallest


def removed_identifiers(described: DescribedRelease, present: Collection[str]) -> Findings:
    """Test that identifiers are not among the fields of the file."""
    found = Findings()
    there = [name for name in present if name in described.removed]
    found.problems += [f"the identifier {name} was to be removed and is in the file" for name in there]
    if described.removed and not there:
        found.checked.append(counted(len(described.removed), "removed identifier"))
    return found


def _smallest_group(release: Release, block: Collection[str]) -> int:
    """Return the least number of records that are alike in the fields of a block.

    A field does not count in records where an equality gives it: who knows the others learns nothing from it.
    """
    columns = release.released.columns
    codes: list[Indices] = []
    for name in block:
        own = columns[name].numbered().astype(np.intp)
        for atom in _solving(release, name):
            others = variables_of_atom(atom)
            if columns.keys() >= {*others}:
                read = {other: columns[other].as_read() for other in others}
                own = np.where(satisfied(atom, read, {}), -2, own)  # as if one more text stood there
        codes.append(own)
    return int(np.bincount(combinations_of(codes, len(release.released))).min())


def _solving(release: Release, name: str) -> list[Atom]:
    """Return the equalities that give a field in each record, as the rulebook has them.

    What is no equality in the rulebook, or was let go, gives nothing, so that the field counts.
    """
    forms = {edit.check.id: form_of(edit.constraint) for edit in release.edits}
    atoms = [
        atom
        for field, rule, disjunct, at in release.described.solved
        if field == name
        for conjunction in forms.get(rule, ())[disjunct : disjunct + 1]
        for atom in conjunction[at : at + 1]
    ]
    return [atom for atom in atoms if is_equality(atom) and name in variables_of_atom(atom)]
