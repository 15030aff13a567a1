"""Mask made nested pairs by every method, and say of each run what it broke, by a judge that is not the pipeline.

python tests/support/nested_runs.py [--seeds 0:100] [--methods mdav,noise] [--households 60]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import masktron
from masktron.errors import MasktronError
from masktron.methods import ALL
from nested_survey import (
    ROLES,
    SPELL_ROLES,
    broken,
    composition,
    least_alike,
    least_alone_alike,
    made,
    masked_values,
    parsed,
    unmasked_values,
)

METHODS = tuple(method.name for method in ALL)
_BY_CLASS = ("crest", "camp_crest", "t_closeness")
"""Methods that need a class."""
GROUPS = "identical-groups"
"""The contract of methods that form groups."""
PUBLISHED = 0.5
"""Share of the households that may come out as they went in: with a Total of its own, hardly any does by chance."""
MARKED = "marked-replaced"
"""The contract of methods that leave what lies within thresholds: they may publish more, and must count it."""


@dataclass(frozen=True, slots=True)
class NestedRun:
    """What came of masking one pair.

    Attributes
    ----------
    wrong : tuple of str
        What the judge finds in breach.
    refused : str
        Why nothing was published.
    contract : str
        Kind of what the method promises.
    least : int
        Households that are alike, at least.
    """

    method: str
    wrong: tuple[str, ...] = ()
    refused: str = ""
    contract: str = ""
    least: int = 0


def settings_of(seed: int, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how a pair is made by a seed, and how it is masked."""
    dice = random.Random(seed)
    making = {
        "spells": dice.random() < 0.3,
        "gaps": dice.choice((0.0, 0.0, 0.1)),
        "mixed": dice.random() < 0.6,
    }
    masking: dict[str, Any] = {
        "k": dice.choice((2, 3, 3, 4)),
        "method": method,
        "member_order": dice.choice((None, None, ("Role", "Age"))),
        "aggregator": dice.choice((None, None, None, "medoid")) if method == "mdav" else None,
        "params": {"class": ["Region"]} if method in _BY_CLASS else {},
        "keep_missing": False,
        "rare_units": "exclude",
        "max_observed_share": 100,
        "protect": "Person" if dice.random() < 0.3 else None,
    }
    return making, masking


def nested_run(folder: Path, seed: int, method: str, households: int = 60) -> NestedRun:
    """Make a pair, mask it and judge what was published."""
    making, masking = settings_of(seed, method)
    data, rules = made(folder, seed, households, **making)
    roles = ROLES | (SPELL_ROLES if making["spells"] else {})
    out, manifest = folder / "released.xml", folder / "released.manifest.json"
    out.unlink(missing_ok=True)
    manifest.unlink(missing_ok=True)
    try:
        result = masktron.mask(data, rules, out, roles=roles, secret=sha256(str(seed).encode()).digest(), **masking)
    except MasktronError as error:
        left = [path.name for path in (out, manifest) if path.exists()]
        return NestedRun(method, tuple(f"left behind: {name}" for name in left), f"{type(error).__name__}: {error}")
    wrong = list(broken(parsed(out)))
    wrong += [f"{engine.engine} does not agree" for engine in result.engines if not engine.agrees]
    before, after = parsed(data), parsed(out)
    order = result.order if result.order is not None else range(result.records_out)
    alone = masking["protect"] is not None
    people = [at for at, unit in enumerate(before) for _ in unit.findall("Person")]
    gone = {people[at] if alone else at for at in result.excluded}
    kept = [unit for at, unit in enumerate(before) if at not in gone]
    if alone:  # the order is one of persons
        homes = [at for at, unit in enumerate(kept) for _ in unit.findall("Person")]
        order = list(dict.fromkeys(homes[at] for at in order))
    pairs = [(unit, kept[order[position]]) for position, unit in enumerate(after)]
    if len(after) != len(kept) or any(unmasked_values(one) != unmasked_values(other) for one, other in pairs):
        wrong.append("something that is not masked was changed")
    if any(composition(one) != composition(other) for one, other in pairs):
        wrong.append("members were exchanged")
    least = least_alone_alike(after) if alone else least_alike(after)
    if result.contract == GROUPS and least < masking["k"]:
        wrong.append(f"{least} are alike, fewer than k = {masking['k']}")
    unchanged = sum(masked_values(one) == masked_values(other) for one, other in pairs)
    if result.contract != MARKED and unchanged > PUBLISHED * len(pairs):
        wrong.append("most households came out as they went in")
    if result.contract == MARKED and not alone and (told := sum(one.coincident for one in result.blocks)) < unchanged:
        wrong.append(f"{unchanged} households came out as they went in, and {told} are told")
    checked = masktron.check(out, rules, manifest=manifest, original=data)
    wrong += [f"check: {problem}" for problem in checked.problems]
    wrong += [] if checked.complies else ["check does not comply"]
    return NestedRun(method, tuple(wrong), contract=result.contract, least=least)


def main() -> None:
    """Run what was asked for, and print a line for each run and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--households", type=int, default=60)
    asked = parser.parse_args()
    first, last = map(int, asked.seeds.split(":"))
    methods = asked.methods.split(",")
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(first, last):
        method = methods[seed % len(methods)]
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = nested_run(Path(folder), seed, method, asked.households)
            except Exception as crash:  # noqa: BLE001 -- what must not happen is counted, too
                run = NestedRun(method, (f"crash: {crash!r}",))
        state = "WRONG" if run.wrong else "refused" if run.refused else "kept"
        found[method, state] += 1
        told = "; ".join(run.wrong) or run.refused
        print(seed, method, state, run.least, f"{time.monotonic() - begun:.1f} s", told[:600], flush=True)
    for (method, state), number in sorted(found.items()):
        print(f"{method:20} {state:8} {number}")


if __name__ == "__main__":
    main()
