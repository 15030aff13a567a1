"""Rules for which an engine looks through the whole file once for each record: how long that will take.

Most of what rules ask of other records is gathered in two passes or looked up (`masktron.evaluation.across`,
`masktron.evaluation.shortcuts`). What is not takes time with the square of the number of records, so that the user is
told before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from masktron.evaluation.runner import engines_of
from masktron.evaluation.shortcuts import looks_through
from masktron.evaluation.tiers import Tier
from masktron.jobs.job import Job
from masktron.rulebook.schema import Check, Rule
from masktron.xpath.lexer import tokenize, variables

_STEP = 3e-7
"""Seconds for one record as it is looked at for another: libxml2 2.14 and SaxonC 13 took 0.6 to 3 * 10 ** -7."""
_WORTH = 5.0
"""Seconds from which a rule is worth a warning."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Rules that take time with the square of the number of records.

    Attributes
    ----------
    rules : tuple of int
        By index.
    records : int
        Of the file, roughly.
    seconds : float
        For one of the rules.
    """

    rules: tuple[int, ...]
    records: int
    seconds: float

    @property
    def said(self) -> str:
        """What is said of each rule."""
        return (
            f"looks through the whole file for each of some {self.records:,} records, which takes about "
            f"{_duration(self.seconds)}, and four times as long for twice as many"
        )

    @property
    def together(self) -> str:
        """How long all of them take; nothing where there are none."""
        return f", about {_duration(self.seconds * len(self.rules))}" if self.rules else ""


def slow_rules(job: Job) -> Slow:
    """Return the rules that will take long.

    Parameters
    ----------
    job : Job
    """
    engines = engines_of(job.rulebook, job.source.layout, "auto")
    looking = [
        check.index
        for pattern, position, check in job.rulebook.situated()
        if _looks_through(pattern.rules[position], check, saxon=engines[check.index] == "saxon")
    ]
    name = job.source.layout.record_tag.rpartition("}")[2]
    # before anything is looked at: no more records than that
    most = job.source.size // (len(name) + 3) if job.source.count is None else job.source.count
    if not looking or _seconds(most) < _WORTH:
        return Slow((), 0, 0.0)
    tiers = job.tiers()
    looking = [index for index in looking if tiers[index].tier is Tier.DOCUMENT]
    if not looking:
        return Slow((), 0, 0.0)
    records = job.source.estimate() if job.source.count is None else job.source.count
    seconds = _seconds(records)
    return Slow(tuple(looking), records, seconds) if seconds >= _WORTH else Slow((), records, 0.0)


def _seconds(records: int) -> float:
    return _STEP * records * records


def _looks_through(rule: Rule, check: Check, *, saxon: bool) -> bool:
    """Whether a check, its context or a variable of its own rule still walks over other records."""
    lets = {let.name: let.value for let in rule.lets}
    # of the context the path alone is no walk: it is what the rule fires on
    texts = [check.test, *_predicates(rule.context)]
    seen: set[str] = set()
    while texts:
        text = texts.pop()
        if looks_through(text, saxon=saxon):
            return True
        named = variables(tokenize(text)) - seen
        texts += [lets[name] for name in named if name in lets]
        seen |= named
    return False


def _predicates(context: str) -> Iterator[str]:
    depth, start = 0, 0
    for token in tokenize(context):
        if token.kind == "symbol" and token.text == "[":
            depth += 1
            start = token.end if depth == 1 else start
        elif token.kind == "symbol" and token.text == "]":
            depth -= 1
            if not depth:
                yield context[start : token.start]


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
