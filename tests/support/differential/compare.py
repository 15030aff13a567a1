"""One case through all evaluations: what they disagree on, and what was covered."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from differential import by_libxml2, by_masktron, by_recommendation, by_xquery
from differential.case import Case, Check, Pattern, Rule
from differential.deviations import Difference, explained, refusal
from differential.told import ERROR, NOT_FIRED, Told
from masktron.errors import MasktronError, RulebookError
from masktron.judge.findings import Evaluation


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A check that two evaluations do not agree on."""

    seed: int
    check: str
    test: str
    context: str
    first: str
    second: str
    said: tuple[Told | str, Told | str]
    deviation: str
    """Id of the recorded deviation; empty for what is not explained."""


@dataclass(slots=True)
class Compared:
    """What became of one case."""

    seed: int
    checks: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    oracle: dict[str, Told] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    """What the reference says."""
    columns: bool = False
    """Whether the file is flat enough for columns."""
    decided: dict[str, int] = field(default_factory=dict)
    """Records that the columns decided themselves, by check that they have."""

    @property
    def unrecorded(self) -> list[Disagreement]:
        """The disagreements that no deviation explains."""
        return [d for d in self.disagreements if not d.deviation]


def compare(case: Case, folder: Path) -> tuple[Case, Compared]:
    """Evaluate a case in every way; return it without what no engine reads, and what was found.

    Parameters
    ----------
    case : Case
    folder : Path
        Where its files are written.
    """
    result = Compared(case.seed)
    case, files = _readable(case, folder, result)
    if files is None:
        return case, result
    result.checks = len(case.checks)
    oracle = by_recommendation.evaluate(case) if case.version == "1.0" else by_xquery.evaluate(case)
    result.oracle = oracle
    name = "recommendation" if case.version == "1.0" else "xquery"
    saxon = by_masktron.by_saxon(files.rulebook, files.layout) if case.version == "1.0" else frozenset()
    reference: Evaluation | None = None
    for tier, evaluate in by_masktron.tiers(case.version).items():
        try:
            answer = evaluate(files)
        except MasktronError as error:
            known = refusal(case.version, str(error))
            result.disagreements.append(Disagreement(case.seed, "", "", "", name, tier, ("", str(error)), known))
            continue
        if answer is None:
            continue
        if by_masktron.same_as_reference(tier):
            result.columns = True
            result.decided |= answer.decided
            result.disagreements += _tiers_apart(case, reference, answer, tier)
            continue
        told = by_masktron.told(answer.done, files.rulebook)
        if reference is None:
            reference, result.told = answer.done, told
        for check in case.checks:
            mode = "saxon 1.0" if case.version == "1.0" and (tier == "saxon" or check.id in saxon) else tier
            result.disagreements += _apart(case, check, (name, mode), (oracle[check.id], told[check.id]))
    return case, result


def _readable(case: Case, folder: Path, result: Compared) -> tuple[Case, by_masktron.Files | None]:
    """Take out what an engine refuses to compile, as masktron does with the whole rulebook."""
    before = len(case.checks)
    if case.version == "1.0":
        case = by_libxml2.pruned(case)
        result.refused["syntax"] += before - len(case.checks)
    else:
        case, reasons = by_xquery.pruned(case)
        result.refused.update(by_xquery.short(reason) for reason in reasons)
    while case.patterns:
        data, rules = case.write(folder)
        try:
            return case, by_masktron.read(data, rules)
        except RulebookError as error:
            result.refused[f"by masktron: {by_xquery.short(str(error))}"] += 1
            case = _without_line(case, str(error), rules)
    return case, None


def _without_line(case: Case, message: str, rules: Path) -> Case:
    """Return the case without the check or rule on the line that an error names."""
    found = re.search(r"rules\.sch:([0-9]+)", message)
    if found is None:
        return replace(case, patterns=())
    lines = rules.read_text(encoding="utf-8").splitlines()
    at = int(found[1]) - 1
    name = re.search(r'id="(c[0-9]+)"', lines[at])
    if name is not None:
        return keep(case, {c.id for c in case.checks} - {name[1]})
    after = next((m for line in lines[at:] if (m := re.search(r'id="(c[0-9]+)"', line))), None)
    gone = {c.id for _, _, r in case.rules for c in r.checks if after and after[1] in {d.id for d in r.checks}}
    return keep(case, {c.id for c in case.checks} - gone) if gone else replace(case, patterns=())


def keep(case: Case, wanted: set[str]) -> Case:
    """Return the case with some of its checks; rules without any go, unless they stand before others."""

    def of(pattern: Pattern) -> Pattern:
        rules = [replace(r, checks=tuple(c for c in r.checks if c.id in wanted)) for r in pattern.rules]
        return replace(pattern, rules=tuple(r for r in rules if r.checks))

    return replace(case, patterns=tuple(p for p in map(of, case.patterns) if p.rules))


def situation(case: Case, name: str) -> tuple[int, Pattern, Rule, Check]:
    """Return where a check stands."""
    return next((i, p, r, c) for i, p, r in case.rules for c in r.checks if c.id == name)


def _apart(case: Case, check: Check, engines: tuple[str, str], said: tuple[Told, Told]) -> Iterator[Disagreement]:
    first, second = said
    if first == second:
        return
    _, pattern, rule, _ = situation(case, check.id)
    earlier = pattern.rules[: pattern.rules.index(rule) + 1]
    lets = [let.value for let in (*case.lets, *pattern.lets, *rule.lets)]
    trees = [check.test, *lets]
    trees += [p for r in earlier for s in r.context for p in (s.predicate, s.above) if p is not None]
    text = " ; ".join(tree.text for tree in trees)
    labels, let_labels = (frozenset(label for tree in some for label in tree.used()) for some in (trees, lets))
    rows = [i for i, (a, b) in enumerate(zip(first.marks, second.marks, strict=True)) if a != b]
    found: set[str] = set()
    for row in rows or range(len(case.table.rows)):
        marks = (first.marks[row], second.marks[row])
        lexemes = tuple(cell.lexeme for cell in case.table.rows[row].cells)
        difference = Difference(engines, text, labels, let_labels, lexemes, marks)
        if {ERROR, NOT_FIRED} & {*marks} and case.version != "1.0":
            difference = replace(difference, confirmed=by_xquery.confirms(case, check.id, row, second))
        found.add(explained(difference))
    if not rows:
        found = found if all(found) else set(filter(None, found))
    deviation = "" if "" in found or not found else min(found)
    yield Disagreement(case.seed, check.id, check.test.text, rule.context_text, *engines, said, deviation)


def _tiers_apart(
    case: Case, reference: Evaluation | None, answer: by_masktron.Answer, tier: str
) -> Iterator[Disagreement]:
    """Compare every number and every finding: tiers have to be equal, in whatever the engines disagree."""
    if reference is None:
        return
    for k, check in enumerate(case.checks):
        one, two = by_masktron.everything(reference, k), by_masktron.everything(answer.done, k)
        context = situation(case, check.id)[2].context_text
        if check.id in answer.broken:
            said = (answer.broken[check.id], "")
            yield Disagreement(case.seed, check.id, check.test.text, context, "tier2", tier, said, "")
        elif one != two:
            where = next((f"{a!r} / {b!r}" for a, b in zip(one, two, strict=True) if a != b), "")
            yield Disagreement(case.seed, check.id, check.test.text, context, "tier2", tier, (where, ""), "")


def run_case(case: Case) -> tuple[Case, Compared]:
    """Compare in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return compare(case, Path(folder))
