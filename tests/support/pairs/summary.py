"""The table that a run over many pairs ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from pairs.outcome import Outcome

WORST = 20
"""Lines of the lists of causes."""


def summary(outcomes: Sequence[Outcome]) -> str:
    """Say in plain text what came of a set of pairs."""
    written = [one for one in outcomes if one.code == 0]
    exits = sum((one.exits for one in written), Counter())
    groups = exits.total() or 1
    facts = Counter(name for one in outcomes for name, has in asdict(one.facts).items() if has)
    lines = [
        f"pairs                {len(outcomes)}",
        f"  {'mixed classes':<19}{_share(facts['mixed'], outcomes)}",
        f"  {'missing values':<19}{_share(facts['missing'], outcomes)}",
        f"  {'stratum < k':<19}{_share(facts['rare'], outcomes)}",
        f"  {'unmasked in a rule':<19}{_share(facts['fixed'], outcomes)}",
        f"  {'broken by blind means':<19} {_share(facts['breakable'], outcomes)}",
        f"  {'weights':<19}{_share(facts['weighted'], outcomes)}",
        f"  {'rule on the file':<19}{_share(facts['crossed'], outcomes)}",
        f"exit 0               {_share(len(written), outcomes)}",
    ]
    codes = Counter((one.code, one.reason) for one in outcomes if one.code > 0)
    lines += [
        f"exit {code}               {_share(count, outcomes)}  {reason}"
        for (code, reason), count in codes.most_common()
    ]
    lines += [
        f"refused, not shown   {sum(one.code > 0 and not one.proof for one in outcomes)}",
        f"crashes              {sum(one.crashed for one in outcomes)}",
        f"violations           {sum(sum(one.violations.values()) for one in outcomes)}"
        f" in {sum(bool(one.violations) for one in outcomes)} files",
        f"groups < k           {sum(one.smallest is not None and one.smallest < one.k for one in written)} files",
        f"other faults         {sum(bool(one.faults) for one in outcomes)} files",
        f"groups               {exits.total()}: "
        + ", ".join(f"{name} {count} ({count / groups:.1%})" for name, count in exits.most_common()),
        f"seconds              {sum(one.seconds for one in outcomes):.1f}, the slowest "
        + ", ".join(f"{one.seconds:.1f} (seed {one.seed})" for one in _slowest(outcomes)),
        "",
        *_medoids(written),
        "",
        *_refusals(outcomes),
        *(line for one in outcomes if (line := _complaint(one))),
    ]
    return "\n".join(lines)


def medoid_share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of groups that took a record's values."""
    exits = sum((one.exits for one in outcomes), Counter())
    return exits["medoid"] / max(1, exits.total())


def _share(count: int, outcomes: Sequence[Outcome]) -> str:
    return f"{count:>6} {count / max(1, len(outcomes)):>7.1%}"


def _slowest(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda one: -one.seconds)[:3]


def _medoids(written: Sequence[Outcome]) -> list[str]:
    """Medoid groups by what stands in their block."""
    medoids: Counter[tuple[str, str]] = Counter()
    groups: Counter[tuple[str, str]] = Counter()
    for one in written:
        for block in one.blocks:
            short = [text for text in block.obstacles if not text.startswith(("mode", "median"))]
            cause = block.aggregator, "; ".join(short) or " + ".join(block.labels)
            medoids[cause] += block.exits.get("medoid", 0)
            groups[cause] += sum(block.exits.values())
    total = medoids.total() or 1
    lines = ["medoid groups by aggregator of the block:"]
    for name in sorted({aggregator for aggregator, _ in groups}):
        own = [cause for cause in groups if cause[0] == name]
        lines.append(f"  {sum(medoids[c] for c in own):>6} of {sum(groups[c] for c in own):>6} groups  {name}")
    lines.append("medoid groups by what stood against means (or the rules of the block):")
    for cause, count in medoids.most_common(WORST):
        if count:
            lines.append(f"  {count:>6} of {groups[cause]:>6} groups, {count / total:>5.1%}  {cause[0]}: {cause[1]}")
    return lines


def _refusals(outcomes: Sequence[Outcome]) -> list[str]:
    refused = [one for one in outcomes if one.code > 0]
    labels = Counter(label for one in refused for block in one.labels for label in block.split(" + "))
    every = Counter(label for one in outcomes for block in one.labels for label in block.split(" + "))
    lines = ["refused pairs with a rule of a kind, of all pairs with it:"] if refused else []
    lines += [f"  {count:>6} of {every[label]:>6}  {label}" for label, count in labels.most_common(WORST)]
    return lines


def _complaint(one: Outcome) -> str:
    if one.crashed:
        return f"seed {one.seed}: {one.message}"
    if one.code > 0:
        why = f"shown: {one.proof}" if one.proof else "NOT SHOWN to have no solution"
        message = " ".join(one.message.split())[:160]
        return f"seed {one.seed}: exit {one.code}, n = {one.n}, k = {one.k}: {message}\n  {why}"
    problems = [f"{name} broken {count} times" for name, count in one.violations.items()]
    problems += list(one.faults)
    if one.smallest is not None and one.smallest < one.k:
        problems.append(f"a group of {one.smallest} for k = {one.k}")
    return f"seed {one.seed}: {'; '.join(problems)}" if problems else ""
