"""An error in what treats fields is found by `check`, which has the error as well: its verifiers are others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import write_rules
from masktron import recodings
from masktron.jobs import recoded, reweighted, suppressed
from masktron.treatments import pram, record_swapping
from plain_rows import write_csv

ROWS: list[dict[str, object]] = [
    {
        "AGE": 16 + 3 * (at % 9),
        "REGION": "nnsw"[at * at % 7 % 4],
        "SEX": "mf"[at * 3 % 5 % 2],
        "STATUS": "abc"[at * at % 11 % (2 + at * 3 % 5 % 2)],
        "W": 20 + at % 7,
        "A": 100 + 13 * at % 70 + (1000 if at % 5 == 0 else 0),
    }
    for at in range(300)
]
ROLES = {"REGION": "untouched", "SEX": "untouched", "W": "weight"}
ROLES |= dict.fromkeys(("AGE", "STATUS"), "quasi-identifier")
type Patch = pytest.MonkeyPatch


def next_class(patch: Patch) -> None:
    def label_of(self: recodings.IntervalRecoding, text: str) -> str:
        return self.labels[max(bisect_left(self.breaks, int(text)) - 1, 0)]

    patch.setattr(recodings.IntervalRecoding, "label_of", label_of)


def other_bounds(patch: Patch) -> None:
    true = recoded._of_width

    def of_width(setting: str, how: Any, column: Any, keep: Any) -> Any:
        found = true(setting, how, column, keep)
        return recodings.IntervalRecoding(found.field, (found.breaks[0] - 5, *found.breaks), ("11-15", *found.labels))

    patch.setattr(recoded, "_of_width", of_width)


def other_mean(patch: Patch) -> None:
    patch.setattr(recoded, "_mean", min)


def twice_as_often(patch: Patch) -> None:
    true = pram.redrawn_for
    patch.setattr(pram, "redrawn_for", lambda change, slopes, caps: true(2.5 * change, slopes, caps))


def by_other_shares(patch: Patch) -> None:
    true = pram.redrawing
    patch.setattr(pram, "redrawing", lambda shares, a: true(shares[::-1] ** 8 / (shares**8).sum(), a))


def from_other_strata(patch: Patch) -> None:
    true = pram._grouped
    patch.setattr(pram, "_grouped", lambda *given: true(*given[:-1], None))


def with_unlike_ones(patch: Patch) -> None:
    true = record_swapping.swap_units
    patch.setattr(record_swapping, "swap_units", lambda a, b, similar, _, w: true(a, b, similar[:0], 0, w))


def too_much_weight(patch: Patch) -> None:
    true = reweighted.factors_of
    patch.setattr(reweighted, "factors_of", lambda *given: {key: one + 1 for key, one in true(*given).items()})


def too_few_alike(patch: Patch) -> None:
    true = suppressed.local_suppression
    patch.setattr(suppressed, "local_suppression", lambda keys, k, *more, **how: true(keys, k - 9, *more, **how))


@pytest.mark.parametrize(
    ("error", "given", "problem"),
    [
        (next_class, {"recode": {"AGE": "width:5"}}, "AGE differs from the original"),
        (other_bounds, {"recode": {"AGE": "width:5"}}, "AGE is recoded to other values"),
        (other_mean, {"recode": {"AGE": "top:30:mean"}}, "AGE is recoded to other values"),
        (twice_as_often, {"pram": {"STATUS": "change:0.2"}}, "have another one than before"),
        (by_other_shares, {"pram": {"REGION": "change:0.4"}}, "one stands in"),
        (from_other_strata, {"pram": {"STATUS": "change:0.3,within:SEX,alone:keep"}}, "cannot be drawn there"),
        (
            with_unlike_ones,
            {"swap": {"regions": ["REGION"], "similar": ["SEX"], "keys": ["AGE"], "rate": 0.3, "least_regions": 1}},
            "of which the original has not so many with the same SEX",
        ),
        (too_few_alike, {"key_k": 12}, "share their combination with fewer than 12"),
        (too_much_weight, {"reweight": ["SEX"], "invalid": "exclude"}, "were spread by other factors"),
    ],
)
def test_an_error_is_found(
    tmp_path: Path, error: Callable[[Patch], None], given: dict[str, Any], problem: str
) -> None:
    data, out, manifest = write_csv(tmp_path / "d.csv", ROWS), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    rules = write_rules(tmp_path / "r.sch", "A <= 1000" if "reweight" in given else "A <= 9000")
    how = {"k": 3, "order": "keep", "roles": ROLES, "secret": bytes(range(32)), **given}

    def problems() -> list[str]:
        masktron.mask(data, rules, out, **how)
        return [str(one) for one in masktron.check(out, rules, manifest=manifest, original=data).problems]

    assert problems() == []
    with pytest.MonkeyPatch.context() as patch:
        error(patch)
        assert any(problem in one for one in problems())
