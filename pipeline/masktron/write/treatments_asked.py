"""Whether the treatments that a manifest declares are those that its settings ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from masktron.errors import UsageError
from masktron.perturbation_settings import PramSettings, SwapSettings, pram_settings, together
from masktron.treatments.suppression_check import SharedKeys
from masktron.write.treatments import Postrandomised, Recoded, Suppressed, Swapped, Treatment, reweighted_in


def require_asked_for(treatments: Sequence[Treatment], config: Mapping[str, Any]) -> None:
    """Compare treatments with settings, so that `check` does not test a file for what nobody asked.

    Parameters
    ----------
    treatments : sequence of Treatment
        As the manifest declares them.
    config : mapping of str to plain data
        The settings of the same manifest.

    Raises
    ------
    TypeError, ValueError
        They disagree, or the settings are nonsense.
    """
    recoded = {one.recoding.field: one.how for one in treatments if isinstance(one, Recoded)}
    drawn = {one.fields: one.settings for one in treatments if isinstance(one, Postrandomised)}
    swapped = [one.settings for one in treatments if isinstance(one, Swapped)]
    spread = [one.within for one in reweighted_in(treatments)]
    if spread and spread != [tuple(config.get("reweight", ()))]:
        raise ValueError("its 'treatments' are not what 'reweight' of its 'config' asks for")
    shared = [one.contract for one in treatments if isinstance(one, Suppressed)]
    for setting, asked, done in (
        ("recode", dict(_table(config, "recode")), recoded),
        ("pram", _pram(_table(config, "pram")), drawn),
        ("swap", _swap(_table(config, "swap"), swapped), swapped),
        ("keys", _keys(config), shared),
    ):
        if asked != done:
            raise ValueError(f"its 'treatments' are not what {setting!r} of its 'config' asks for")
    named = _named_keys(config)
    for one in treatments:
        if isinstance(one, Suppressed) and (left_out := sorted(named.difference(one.fields))):
            raise ValueError(
                f"its 'treatments' do not have {left_out[0]}, a quasi-identifier of its 'config', among the keys "
                "that k records share"
            )


def _table(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of the settings; former versions lack some."""
    found = config.get(name, {})
    if not isinstance(found, Mapping):
        raise TypeError(f"{name!r} is not a table")
    return found


def _pram(said: Mapping[str, str]) -> dict[tuple[str, ...], PramSettings]:
    """Return how fields are drawn; a manifest has the matrix and not its file."""
    try:
        return {
            together(name): replace(pram_settings(f"pram.{name}", how), matrix=None) for name, how in said.items()
        }
    except UsageError as error:
        raise ValueError(error.what) from error


def _swap(said: Mapping[str, Any], done: Sequence[SwapSettings]) -> list[SwapSettings]:
    """Return how records are swapped; a manifest names the keys that were taken where settings leave them open."""
    if not said:
        return []
    settings: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in said.items()}
    asked = SwapSettings(**settings)
    return [asked if asked.keys or not done else replace(asked, keys=done[0].keys)]


def _named_keys(config: Mapping[str, Any]) -> set[str]:
    """Return the quasi-identifiers that settings name; where they name none, all that is written is one."""
    roles, marked = _table(config, "roles"), config.get("quasi_identifiers", [])
    if not isinstance(marked, list):
        raise TypeError("'quasi_identifiers' is not a list")
    removed = {name for name, role in roles.items() if role == "identifier"}
    return {*marked}.difference(removed) | {name for name, role in roles.items() if role == "quasi-identifier"}


def _keys(config: Mapping[str, Any]) -> list[SharedKeys]:
    said, k = _table(config, "keys"), config.get("key_k")
    return [] if k is None else [SharedKeys(k, said.get("subsets"), said.get("missing_matches", False))]
