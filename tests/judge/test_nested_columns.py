"""Rules of nested files over columns: the counts and findings of engines on the whole document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from masktron.jobs.rulebooks import open_rulebook
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Tier
from masktron.judge.nested import unit_program
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate, tiers_asked
from masktron.rulebook.schema import Rulebook
from masktron.sources.xml.nested_units import NestedUnits, survey_nested
from nested_pairs import Element, NestedMaker

RULES = 24
UNITS = 14


@dataclass(frozen=True, slots=True)
class Compared:
    """Of made pairs, how many checks there are and how many are evaluated over columns."""

    checks: int
    columns: int


def shuffled(maker: NestedMaker, unit: Element) -> str:
    """Write a unit: most as usual, some with persons before fields, or with what only a parser reads."""
    text = unit.xml()
    choice = maker.random.randrange(12)
    if choice == 0 and "<Car>" in text:
        head, _, rest = text.partition(">")
        fields, mark, members = rest.partition("<Car>")
        inner, end = members.removesuffix("</Household>"), "</Household>"
        return f"{head}>{mark}{inner}{fields}{end}"
    if choice == 1:
        return text.replace("<Size>2</Size>", "<Size><![CDATA[2]]></Size>")
    if choice == 2:
        return text.replace("<Age>", "<!-- age --><Age>", 1)
    if choice == 3:
        return text.replace("<Income>3<", "<Income>&#51;<")
    return text


def requested(data: Path, rulebook: Rulebook, **options: object) -> EvaluationRequest:
    found = survey_nested(data, record="Household")
    assert found is not None
    layout, _, tree, nested = found
    return EvaluationRequest(data, rulebook, layout, nested=NestedUnits(data, tree, nested), **options)


def known_of_saxon(rulebook: Rulebook, check: int, other: Evaluation) -> bool:
    """Whether it is what docs/engines.md has as ``saxon-sum-text``: in 1.0 mode the sum of a text is an error."""
    pattern, position, _ = next(found for found in rulebook.situated() if found[2].index == check)
    rule = pattern.rules[position]
    texts = (rulebook.checks[check].test, *(earlier.context for earlier in pattern.rules[: position + 1]))
    reads = any("sum(" in text for text in (*texts, *(let.value for let in rule.lets)))
    return rulebook.version == "1.0" and reads and bool(other.errors[check])


def counted(evaluation: Evaluation) -> np.ndarray:
    return np.array([evaluation.fired, evaluation.failed, evaluation.errors])


def compared(seed: int, version: str, folder: Path) -> Compared:
    """Compare one made file with its rules."""
    maker = NestedMaker(seed, version=version)
    data, rules = folder / "data.xml", folder / "rules.sch"
    units = [shuffled(maker, maker.element()) for _ in range(UNITS)]
    data.write_text(f"<Survey>\n{chr(10).join(units)}\n</Survey>", encoding="utf-8")
    rules.write_text(maker.schematron(RULES), encoding="utf-8")
    rulebook = open_rulebook(rules, None)
    request = requested(data, rulebook)
    fast = evaluate(request)
    decided = exact.evaluate(request)
    engines = ("unaided", "saxon") if version == "1.0" else ("saxon",)
    others = {engine: exact.evaluate(replace(request, engine=engine)) for engine in engines}
    for name, other in {"auto": decided, **others}.items():
        differ = np.flatnonzero((counted(fast) != counted(other)).any(axis=0))
        unknown = [at for at in differ.tolist() if not (name == "saxon" and known_of_saxon(rulebook, at, other))]
        assert not unknown, (seed, name, [(rulebook.checks[at].test, counted(fast)[:, at]) for at in unknown])
    assert fast.findings == decided.findings
    assert fast.verdicts is not None
    np.testing.assert_array_equal(fast.verdicts, decided.judged)
    tiers = tiers_asked(request)
    return Compared(len(tiers), sum(own.tier is Tier.COLUMNS for own in tiers))


@pytest.fixture
def each_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_program, "ENOUGH", 1)


@pytest.mark.few(1)
@pytest.mark.usefixtures("each_composition")
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(
    "seeds", [range(3), *(pytest.param(range(at, at + 15), marks=pytest.mark.full) for at in range(3, 213, 15))]
)
def test_counts_and_findings_are_those_of_engines(seeds: range, version: str, tmp_path: Path) -> None:
    found = [compared(seed, version, tmp_path) for seed in seeds]
    assert sum(one.columns for one in found) > 0.6 * sum(one.checks for one in found)
