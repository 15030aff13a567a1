"""What verifiers know of a release: the pairs that they compare, what earlier steps hide, and what is removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from made_columns import column_of_cells
from masktron.perturbation_settings import SwapSettings
from masktron.sources.dataset import Dataset
from masktron.step_kinds import SharedKeys, Suppressed, Swapped, Treatment
from masktron.verify import suppressed_keys
from masktron.verify.declared_steps import left_by_steps, verify_steps
from masktron.verify.findings import Findings
from masktron.verify.groups import removed_identifiers
from masktron.verify.release import Release
from masktron.write.manifest import DescribedRelease, read_manifest

MANIFEST = Path(__file__).parents[1] / "manifests" / "2026-11-28T0434" / "released.manifest.json"
SWAPPED = Swapped(SwapSettings(regions=("B",)), 1, ())


def described(*treatments: Treatment) -> DescribedRelease:
    return replace(read_manifest(MANIFEST), treatments=treatments, roles={}, missing={}, excluded=())


def dataset(**columns: Sequence[str | None]) -> Dataset:
    made = [column_of_cells(cells, name=name) for name, cells in columns.items()]
    return Dataset.of_columns(Path("d"), made, len(made[0]))


def test_swapped_values_need_the_original() -> None:
    found = verify_steps(Release(described(SWAPPED), None, dataset(B="xy"), None, is_original=False))
    assert found == Findings(not_checked=["values of B, swapped: need the original"])


def test_what_was_changed_and_then_suppressed_is_not_known() -> None:
    suppressed = Suppressed(("A", "B"), ("C",), SharedKeys(2))
    release = Release(described(suppressed), None, dataset(A="xx"), None, is_original=False)
    assert release.suppressed == {"A", "B", "C"}
    assert replace(release, changed=frozenset({"B", "D"})).unknown == {"B"}


def test_shared_keys_are_said_to_be_checked() -> None:
    release = Release(described(), None, dataset(A="xxyy"), None, is_original=False)
    for k, problems in ((2, 0), (3, 1)):
        step = Suppressed(("A",), (), SharedKeys(k))
        found = suppressed_keys.verify(step, release)
        assert len(found.problems) == problems
        assert found.checked == ([] if problems else [f"keys A: {step.contract.says}"])


def test_removed_identifiers_are_looked_for() -> None:
    without, removed = described(), replace(described(), removed=("Id", "Name"))
    assert removed_identifiers(replace(without, removed=()), ["A"]) == Findings()
    assert removed_identifiers(removed, ["A"]) == Findings(checked=["2 removed identifiers"])
    there = [f"the identifier {name} was to be removed and is in the file" for name in ("Name", "Id")]
    assert removed_identifiers(removed, ["Name", "Id"]) == Findings(problems=there)


def test_all_cells_of_a_key_may_have_been_left_out_and_no_region() -> None:
    before, released, rows = dataset(A="xy", B="pq"), dataset(C="12"), np.array([1, 0])
    steps = (SWAPPED, Suppressed(("A", "Z"), (), SharedKeys(2)))
    left = left_by_steps(steps, before, released, rows)
    assert left.columns["A"].lexemes.tolist() == [None, None]
    assert left.columns["B"].lexemes.tolist() == ["p", "q"]
    assert "Z" not in left.columns
