"""Proposals of `masktron suggest` as rules to add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from masktron.errors import UsageError
from masktron.problems.problem import Setting
from masktron.rulebook_text.rule_changes import NewRule


def accepted_rules(found: Mapping[str, Any], wanted: Iterable[str]) -> tuple[list[NewRule], dict[str, str]]:
    """Return the proposals that are accepted, in their order, and the prefixes that they use.

    Parameters
    ----------
    found : mapping
        The JSON of `masktron suggest`.
    wanted : iterable of str
        Numbers or ids.

    Raises
    ------
    UsageError
        It is no such JSON, there is no such proposal, or none is wanted.
    """
    if found.get("job") != "suggest":
        raise UsageError.of("not-suggested-rules")
    proposals = found["proposals"]
    known = {name: one for one in proposals for name in (str(one["number"]), one["id"])}
    chosen = list(wanted)
    if missing := [name for name in chosen if name not in known] or [""][: not chosen]:
        expected, given = f"numbers from 1 to {len(proposals)}, or ids", repr(missing[0])
        raise UsageError.of("bad-value", name=Setting("accept"), expected=expected, given=given)
    ids = {known[name]["id"] for name in chosen}
    rules = [NewRule(one["context"], one["test"], one["message"], one["id"]) for one in proposals if one["id"] in ids]
    return rules, dict(found.get("namespaces", {}))
