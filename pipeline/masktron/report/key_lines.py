"""What keys tell, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from masktron.counts import counted
from masktron.report.parts import listed
from masktron.report.text import number

_SAME = 1e-9
"""Relative difference below which two estimates are the same."""


def key_lines(keys: Mapping[str, Any]) -> list[str]:
    """Return what is known of the keys of a file, a sentence each.

    Parameters
    ----------
    keys : mapping
        Plain data of `masktron.results.KeyRisk`.
    """
    fields, records, below = ", ".join(keys["fields"]), counted(keys["records"], "record"), keys["below"]
    how = (
        f"named as quasi-identifiers{', and the weight, which is written' if keys['weight'] else ''}"
        if keys["stated"]
        else "no quasi-identifier was named: what is written as it was, others are taken to know"
    )
    lines = [
        f"keys: {fields} ({how})",
        f"by the keys, {number(below['2'])} of {records} {'is' if below['2'] == 1 else 'are'} like no other one; "
        f"{number(below['3'])} stand in groups of fewer than 3, {number(below['5'])} of fewer than 5",
    ]
    if not keys.get("wildcards", True):  # manifests of before 1.0.0 may not say so, of files that they compared with
        lines.append("missing values of keys count as values of their own: too many patterns of them to compare")
    elif keys.get("missing"):
        lines.append(
            f"a missing value of a key matches every value ({counted(keys['missing'], 'record')}); masktron recode "
            "counts it as a value of its own, and finds more records like no other one"
        )
    if (others := keys["below_without_weight"]) is not None:
        lines.append(
            f"without the weight {keys['weight']}: {number(others['2'])}, {number(others['3'])} and "
            f"{number(others['5'])}"
        )
    lines += estimate_lines(keys)
    if keys["contributions"] is not None and any(keys["minimal_uniques"]):
        most = sorted(keys["contributions"].items(), key=lambda one: -one[1])
        lines.append(
            "sets of up to three values that only one record has come from "
            + ", ".join(f"{name} ({share:.0f} %)" for name, share in most if share)
        )
    return lines


def estimate_lines(keys: Mapping[str, Any]) -> list[str]:
    """Say what an intruder who tries every record finds, by both estimates where they differ.

    Parameters
    ----------
    keys : mapping
        As for `key_lines`; of manifests of before 1.0.0, which have no model of all records, one estimate is told.
    """
    expected, alone, modelled = keys["expected"], keys["population_uniques"], keys.get("model_expected")
    found, unique = "expected re-identifications", "records expected to be alone in the population"
    if modelled is None or math.isclose(modelled, expected, rel_tol=_SAME):
        return [f"{found}: {_some(expected)}, {_share(keys, expected)}; {unique}: {_some(alone)}"]
    return [
        f"{found}: {_some(expected)} by the weights, {_some(modelled)} by a log-linear model",
        f"{unique}: {_some(alone)} by the weights, {_some(keys['model_uniques'])} by the model",
        f"figures and limits take the larger, {_share(keys, expected, modelled)}; the model has {_model(keys)}",
    ]


def _share(keys: Mapping[str, Any], *estimates: float) -> str:
    records = keys["records"]
    return f"{number(100 * max(estimates) / records if records else math.nan, '.3f')} % of the records"


def _model(keys: Mapping[str, Any]) -> str:
    """Say which interactions a model has, and which key it leaves out."""
    pairs = listed([" with ".join(pair) for pair in keys["model_pairs"]])
    without = f", without {keys['model_without']}, whose values few records share" if keys["model_without"] else ""
    return f"main effects{f' and the interaction of {pairs}' if pairs else ''}{without}"


def _some(records: float) -> str:
    """Write an expected number of records: small ones with the digits that count."""
    return number(records, ".0f" if records >= 100 else ".3g")
