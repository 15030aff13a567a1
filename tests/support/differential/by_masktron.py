"""The contenders: masktron's own evaluation, tier by tier. The one place that knows its interfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from differential.told import ERROR, FAILS, HOLDS, NOT_FIRED, Told
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.request import EvaluationRequest
from masktron.judge.stylesheet import needs_saxon
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey

_MARKS = {Verdict.NOT_FIRED: NOT_FIRED, Verdict.HOLDS: HOLDS, Verdict.FAILS: FAILS, Verdict.ERROR: ERROR}
CHUNK = 17
"""Records in a chunk: few, so that small files have several."""


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """A file and a rulebook, read."""

    data: Path
    rulebook: Rulebook
    layout: Layout


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a tier says.

    Attributes
    ----------
    decided : mapping of str to int
        How many records the columns decided themselves, for each check that they have.
    broken : mapping of str to str
        Checks on which columns and engine disagreed, with the error that says so.
    """

    done: Evaluation
    decided: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)


type Tier = Callable[[Files], Answer | None]


def read(data: Path, rules: Path) -> Files:
    """Read both.

    Raises
    ------
    RulebookError
    """
    return Files(data, read_rules(rules), survey(data, record="Record")[0])


def _exact(engine: exact.EngineChoice) -> Tier:
    return lambda f: Answer(
        exact.evaluate(EvaluationRequest(f.data, f.rulebook, f.layout, engine=engine), chunk=CHUNK)
    )


def tiers(version: str) -> Mapping[str, Tier]:
    """Return the ways of evaluation that are compared; the first is the reference of the others."""
    other: dict[str, Tier] = {}
    if version == "1.0":
        other = {"saxon": _exact("saxon"), "libxml2": _exact("unaided")}
    # it needs what this module defines
    from differential.by_columns import columns

    return {"tier2": _exact("auto"), **other, "tier1": columns}


def same_as_reference(tier: str) -> bool:
    """Whether a tier has to equal the reference in everything, findings and messages included."""
    return tier == "tier1"


def everything(done: Evaluation, check: int) -> tuple[object, ...]:
    """Return all that an evaluation says of a check."""
    verdicts = tuple(done.verdicts[:, check].tolist())
    findings = tuple((f.kind, f.record, f.line, f.location, f.message) for f in done.findings if f.check == check)
    return int(done.fired[check]), int(done.failed[check]), int(done.errors[check]), verdicts, findings


def told(done: Evaluation, rulebook: Rulebook) -> dict[str, Told]:
    """Return what an evaluation says of each check."""
    table = np.array([_MARKS[v] for v in sorted(_MARKS)])
    return {
        check.id: Told(
            int(done.fired[k]), int(done.failed[k]), int(done.errors[k]), "".join(table[done.verdicts[:, k]])
        )
        for k, check in enumerate(rulebook.checks)
    }


def by_saxon(rulebook: Rulebook, layout: Layout) -> frozenset[str]:
    """Return the checks of XPath 1.0 that Saxon has to decide, because of a context in their pattern."""
    return frozenset(
        check.id
        for pattern in rulebook.patterns
        if any(needs_saxon(rule, rulebook, layout) for rule in pattern.rules)
        for rule in pattern.rules
        for check in rule.checks
    )
