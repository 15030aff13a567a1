"""Remedies that mask more fields, or release some as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from masktron.config import Config, Role
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.likely_roles import MOST_CODES
from masktron.problems.problem import Setting
from masktron.results.refusal import RemedyResult

MOST_FIELDS = 4
"""Fields of a block that are looked at one by one: those with few values first."""


def masked_as_well(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that the unmasked fields which rules read beside masked ones are masked, too."""
    own = [name for name in names if name in now.fields and now.fields[name].role is not Role.IDENTIFIER]
    open_ = [name for name in own if now.fields[name].role not in (Role.CONFIDENTIAL, Role.WEIGHT)]
    if not open_:
        return
    codes = [name for name in open_ if now.fields[name].numeric and now.values(name) <= MOST_CODES]
    codes = [name for name in codes if now.config.kind_of(name) is None]
    settings: dict[str, Any] = {"roles": roles_with(now.config, dict.fromkeys(open_, Role.CONFIDENTIAL))}
    if codes:
        settings["nominal"] = [*now.config.nominal, *codes]
    yield RemedyResult(
        "mask-more",
        f"mask {', '.join(open_)} as well",
        (_roles(open_, Role.CONFIDENTIAL), *([Setting("--nominal", tuple(codes))] if codes else [])),
        _former_roles(open_, now),
        settings=settings,
    )


def one_unmasked(names: Iterable[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield for each field that it is released as it is, if another one is left to mask."""
    if len(now.masked) > 1:
        for name in fewest_values_first(names, now):
            yield _released([name], now)


def all_unmasked(names: Sequence[str], now: RefusedRun) -> Iterator[RemedyResult]:
    """Yield that fields are released as they are, all at once, if another one is left to mask."""
    if names and not {*now.masked} <= {*names}:
        yield _released(names, now)


def _released(names: Sequence[str], now: RefusedRun) -> RemedyResult:
    several = len(names) > 1
    return RemedyResult(
        "role",
        f"release {', '.join(names)} as {'they are' if several else 'it is'}, and measure the risk of that",
        (_roles(names, Role.QUASI_IDENTIFIER),),
        _former_roles(names, now),
        settings={"roles": roles_with(now.config, dict.fromkeys(names, Role.QUASI_IDENTIFIER))},
        reveals=f"every value of {', '.join(names)}",
    )


def _roles(names: Iterable[str], role: Role) -> Setting:
    return Setting("--role", tuple(f"{name}={role}" for name in names))


def _former_roles(names: Iterable[str], now: RefusedRun) -> tuple[Setting, ...]:
    """Return the setting that gives fields the roles that they have: none has two."""
    known = tuple(f"{name}={now.config.roles[name]}" for name in names if name in now.config.roles)
    return (Setting("--role", known),) if known else ()


def fewest_values_first(names: Iterable[str], now: RefusedRun) -> list[str]:
    """Order masked fields from the fewest different values, and take some."""
    own = [name for name in names if name in now.masked]
    return sorted(own, key=lambda name: (now.values(name), name))[:MOST_FIELDS]


def roles_with(config: Config, changed: Mapping[str, Role]) -> dict[str, str]:
    """Return the roles of settings as plain data, with some changed."""
    return {name: str(role) for name, role in {**config.roles, **changed}.items()}
