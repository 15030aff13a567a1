"""Every case of ``tests/conformance/``, in each version of XPath that it is for, by every tier."""

from __future__ import annotations

from pathlib import Path

import pytest

from differential import by_masktron, conformance
from differential.conformance import Conformance
from examples import spread
from paths import CONFORMANCE

CASES = [
    pytest.param(case, id=f"{case.name}-{case.version}")
    for path in sorted(CONFORMANCE.glob("*.xml"))
    for case in conformance.read(path)
]


@pytest.mark.parametrize("case", spread(CASES, every=2))
def test_every_tier_says_what_the_case_expects(case: Conformance, tmp_path: Path) -> None:
    files = by_masktron.read(*case.write(tmp_path))
    reference = None
    for tier, evaluate in by_masktron.tiers(case.version).items():
        if tier in case.excused:
            continue
        answer = evaluate(files)
        if answer is None:
            continue
        told = by_masktron.told(answer.done, files.rulebook)
        assert {e.check: e.matches(told[e.check]) for e in case.expected} == dict.fromkeys(told, True), told
        assert not answer.broken
        reference = reference or answer.done
        for k, expected in enumerate(case.expected):
            if by_masktron.same_as_reference(tier):
                assert by_masktron.everything(answer.done, k) == by_masktron.everything(reference, k)
            if expected.message is not None:
                assert next(f.message for f in answer.done.findings if f.check == k) == expected.message


def test_there_are_cases_of_every_version() -> None:
    versions = [case.values[0].version for case in CASES]  # type: ignore[union-attr]
    assert len({case.id.rpartition("-")[0] for case in CASES if case.id}) >= 40
    assert all(versions.count(version) >= 40 for version in ("1.0", "2.0", "3.1"))
