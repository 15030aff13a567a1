"""What keys tell, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masktron.counts import counted
from masktron.report.text import number


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
    if (others := keys["below_without_weight"]) is not None:
        lines.append(
            f"without the weight {keys['weight']}: {number(others['2'])}, {number(others['3'])} and "
            f"{number(others['5'])}"
        )
    lines.append(
        f"who tries every record rightly finds {_some(keys['expected'])} on average ({_some(keys['low'])} to "
        f"{_some(keys['high'])}), {100 * keys['mean']:.2f} %; {_some(keys['population_uniques'])} of those alone in "
        "the file are expected to be alone in the population"
    )
    matches, uniques = keys["modelled_matches"], keys["modelled_uniques"]
    if below["2"]:
        lines.append(
            f"by a log-linear model of main effects: {_some(uniques[0])} ({_some(uniques[1])} to "
            f"{_some(uniques[2])}) alone in the population, {_some(matches[0])} ({_some(matches[1])} to "
            f"{_some(matches[2])}) right matches among those alone in the file"
        )
    if keys["contributions"] is not None and any(keys["minimal_uniques"]):
        most = sorted(keys["contributions"].items(), key=lambda one: -one[1])
        lines.append(
            "sets of up to three values that only one record has come from "
            + ", ".join(f"{name} ({share:.0f} %)" for name, share in most if share)
        )
    return lines


def _some(records: float) -> str:
    """Write an expected number of records: small ones with the digits that count."""
    return number(records, ".0f" if records >= 100 else ".3g")
