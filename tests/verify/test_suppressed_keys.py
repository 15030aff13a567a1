"""Suppressed keys counted: as the check of who suppresses counts them, and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from masktron.step_kinds import SharedKeys
from masktron.treatments.suppression_check import kept
from masktron.verify.suppressed_keys import unshared


@pytest.mark.parametrize("seed", range(40))
def test_it_counts_as_who_suppresses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fields, n = int(rng.integers(1, 5)), int(rng.integers(1, 60))
    codes = [rng.integers(-1, 3, n) for _ in range(fields)]
    k, subsets = int(rng.integers(1, 6)), (None, 1, 2)[seed % 3]
    for matches in (False, True):
        contract = SharedKeys(k, subsets, matches)
        found = unshared(pd.DataFrame(dict(enumerate(codes))), contract)
        assert found == kept([], codes, k, subsets=subsets, missing_matches=matches)


def test_the_contract_says_and_tests_what_was_asked() -> None:
    crossed = pd.DataFrame({"A": [0, 0, 1, 1], "B": [5, 6, 5, 6]})
    weak, strong = SharedKeys(2, subsets=1), SharedKeys(2)
    assert (unshared(crossed, weak), len(unshared(crossed, strong))) == ([], 1)
    assert "2 records share each combination of any 1 keys" in weak.says
    assert "of all keys as written, where a missing value is a value of its own" in strong.says
    assert "matches every" in SharedKeys(2, missing_matches=True).says
    assert weak.as_dict() == {"kind": "shared-keys", "k": 2, "subsets": 1, "missing_matches": False}
