"""The verdict on a masked file: whether its rules hold, how well it protects, and what else is known of that.

Nothing is said here that was not computed. `masktron.report.protection` decides how well respondents are protected;
this module collects the evidence of each result, and puts the other figures of a run of `mask` into words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from masktron.counts import counted
from masktron.problems.wording import sentence, spelled
from masktron.report.protection import PUBLIC_REASONS, Evidence, protection
from masktron.report.sentences import are, drawn_fields, in_groups, known_fields, listed, listed_fields, percent_text
from masktron.results.verdict import ReleaseVerdict, Statement, StatementLevel, telling_apart

if TYPE_CHECKING:
    from masktron.results import AssessResult, CheckResult, DrawResult, FigureResult, KeyRisk, MaskResult

MANY = 5
"""Members of a group from which nobody need expect all but one of them to pool what they know."""
_MEANS = frozenset({"mean", "derive", "derive_per_record"})
"""Aggregators whose groups publish a mean, for all fields or for all that no equality gives."""

NO_RULES_GIVEN = Statement("amber", "not-measured", "No rules were given.")


def verdict_of_mask(result: MaskResult) -> ReleaseVerdict:
    """Return the verdict on a file that was just masked."""
    held = rules_held(result)
    said = f"{held[0].upper()}{held[1:]}; {result.tested}."
    if not result.valid:
        said = f"{counted(result.violations, 'violation')}; {result.tested}."
    evidence = Evidence(
        _values(result.figures),
        result.limits,
        result.keys,
        result.key_k,
        concerns=telling_apart(
            ((one.kind, sentence(one.says)) for one in result.concerns), original_order=result.original_order
        ),
        by_level=bool(result.levels),
    )
    details = " ".join(sentence for sentence in _details(result) if sentence)
    given = (*result.rules, *result.not_applicable, *result.allowed)
    rules = _of_rules(said, given, holds=result.valid, all_judged=not result.let_go)
    return ReleaseVerdict(rules, protection(evidence), details)


def verdict_of_check(result: CheckResult) -> ReleaseVerdict:
    """Return the verdict of a check, on what it could check."""
    ends = len(result.problems) - result.limit_problems
    about_rules, contract = result.problems[: result.rule_problems], result.problems[result.rule_problems : ends]
    said = f"{counted(result.violations, 'violation')} of hard rules"
    if not result.violations:
        said = sentence(about_rules[0]) if about_rules else "Every rule that was tested holds"
    if result.let_go:
        said += f", but for {_let_go(result.let_go)}"
    holds = all(rule.passes for rule in result.rules) and not about_rules
    given = (*result.rules, *result.unevaluated, *result.fates, *about_rules)
    return ReleaseVerdict(
        _of_rules(f"{said}; {result.tested}.", given, holds=holds, all_judged=not result.let_go),
        protection(
            Evidence(
                _values(result.figures),
                result.limits,
                result.keys,
                result.key_k,
                problems=tuple(map(sentence, contract)),
                concerns=result.concerns,
                by_level=bool(result.levels),
            )
        ),
    )


def verdict_of_assess(result: AssessResult) -> ReleaseVerdict:
    """Return the verdict of an assessment, which judges no rule."""
    rules = Statement("amber", "not-measured", "Rules are not judged here; masktron check judges them.")
    return ReleaseVerdict(
        rules,
        protection(
            Evidence(
                _values(result.figures),
                result.limits,
                result.keys,
                result.key_k,
                concerns=result.concerns,
                by_level=bool(result.levels),
            )
        ),
    )


def public_protection(verdict: ReleaseVerdict) -> Statement:
    """Return what of the statement on protection whoever gets the file may know: level and ground, and no figure."""
    level, ground = verdict.protection.level, verdict.protection.ground
    return Statement(level, ground, PUBLIC_REASONS[ground])


def _values(figures: Iterable[FigureResult]) -> dict[str, float]:
    return {one.name: one.value for one in figures}


def _of_rules(said: str, given: Sequence[object], *, holds: bool, all_judged: bool) -> Statement:
    if not given:
        return NO_RULES_GIVEN
    level: StatementLevel = "red" if not holds else "green" if all_judged else "amber"
    return Statement(level, "rules", said)


def _details(result: MaskResult) -> Iterator[str]:
    """Yield what the method did and what an intruder may find, a sentence each."""
    yield _done(result)
    yield _exposure(result)
    yield _sole_values(result)
    yield _last_member(result)
    yield result.risks
    yield _unmasked(result)
    if result.original_order:
        yield (
            "The records stand in the order of the original: whoever has another file of them in that order, such as "
            f"the last release, links every record; {spelled('[[--shuffle]]')} writes a random order."
        )


def rules_held(result: MaskResult) -> str:
    """Say which rules the written file keeps, and which it does not have to, with the reason."""
    tested = result.tested
    said = "every rule holds"
    if tested.untested:
        said = f"every rule that was tested holds ({tested.rules - len(tested.untested)} of {tested.rules})"
    loose = [_gone(result.not_applicable)] if result.not_applicable else []
    loose += [_let_go(result.allowed)] if result.allowed else []
    return f"{said}, but for {', and '.join(loose)}" if loose else said


def _let_go(rules: Sequence[str]) -> str:
    """Rules that the user does not ask to be kept."""
    return f"{listed(tuple(rules))}, let go and not judged"


def _gone(rules: Mapping[str, str]) -> str:
    """Rules that read removed identifiers, with the reason of the plan where it is one."""
    names, reasons = listed(tuple(rules)), {*rules.values()}
    if len(reasons) > 1:
        return f"{names}, which read removed identifiers"
    return f"{names}, {'which' if len(rules) == 1 else 'each of which'} {reasons.pop()}"


def _done(result: MaskResult) -> str:
    """What the method has done, by its contract; the smallest groups are those of the written file."""
    said = _grouped(result)
    return f"{said[0].upper()}{said[1:]}."


def _grouped(result: MaskResult) -> str:
    if not result.blocks:
        return "no field is masked"
    if result.draw is None:
        solved = ", solved fields apart" if any(block.solved for block in result.blocks) else ""
        if _whole(result):
            others = counted(result.whole_record_k - 1, "other one", "others")
            # of members alone: sums of them stand around them, and tell them apart
            own = " of its own" if result.levels and "/" in result.levels[0].level else ""
            return f"each record is the same as at least {others} in all masked fields{own}"
        together = "some record is unique" if result.whole_record_k == 1 else f"only {result.whole_record_k}"
        return (
            f"in each block of masked fields at least {result.min_group} records are alike{solved}; in all "
            f"masked fields together {together}"
        )
    grouped = in_groups(result.blocks)
    return f"{_drawn(result, result.draw, apart=bool(grouped))}{', and ' if grouped else ''}{grouped}"


def _drawn(result: MaskResult, draw: DrawResult, *, apart: bool) -> str:
    """How values were drawn; of which fields, where others are not."""
    fields = drawn_fields(result.blocks)
    names = listed_fields(fields) if apart else "masked values"
    verb = are(fields) if apart else "are"
    match result.contract:
        case "partitioned-synthesis":
            return f"{names} {verb} drawn for groups of at least {counted(draw.smallest or 0, 'record')}"
        case "noise-added":
            return f"noise was added to {names if apart else 'the masked values'}"
        case "marked-replaced":
            values, others = (f"values of {names}", "the others") if apart else ("values", "all others")
            return f"{values} beyond the thresholds are replaced, and {others} are the respondents' own"
        case "values-exchanged":
            return (
                f"values of {names} changed places among the records"
                if apart
                else ("masked values changed places among the records")
            )
        case "model-drawn":
            return f"{names} {verb} drawn from a model of the file"
    raise ValueError(f"there is no sentence for the contract {result.contract!r}")


def _exposure(result: MaskResult) -> str:
    """How many values, and whole records, are those of the original."""
    unchanged = _values(result.figures).get("unchanged", math.nan)
    found = []
    if not math.isnan(unchanged):
        found.append(f"{percent_text(unchanged)} of the masked values are the respondents' own")
    if result.draw is not None and result.draw.unmoved:
        count = result.draw.unmoved
        found.append(f"{count} {'record comes' if count == 1 else 'records come'} out as {_went(count)} in")
    if not found:
        return "No masked field has a value that could be compared." if result.blocks else ""
    linked = "; linkage is of numbers, and none are masked" if math.isnan(result.linkage) else ""
    return f"{' and '.join(found)}{linked}."


def _sole_values(result: MaskResult) -> str:
    """Who took part, told by values that were drawn: figures of linkage do not see it."""
    share = next((figure.value for figure in result.figures if figure.name == "sole_values"), math.nan)
    if result.draw is None or math.isnan(share):
        return ""
    return (
        f"{percent_text(share)} of the published numbers are the true value of exactly one respondent. Somebody who "
        "knows such a value can tell from it that this respondent took part."
    )


def _last_member(result: MaskResult) -> str:
    """What the other members of a small group learn of the last one from its published mean."""
    smallest = min((block.min_group for block in result.blocks if block.aggregator in _MEANS), default=math.inf)
    if smallest >= MANY:
        return ""
    others = "either member can compute the values of the other"
    if smallest > 2:
        others = f"any {smallest - 1} members who pool their values can compute those of the last one"
    return f"In a group of {smallest}, {others}: {smallest} times the published mean minus their own."


def _went(count: int) -> str:
    return "it went" if count == 1 else "they went"


def _unmasked(result: MaskResult) -> str:
    """What unmasked fields tell: where somebody named the keys, what was reached for them; else that they may."""
    keys = result.keys if result.keys is not None and result.keys.stated else None
    own = tuple(name for name in result.unmasked if name in result.identifying)
    measured = () if keys is None else keys.fields
    others = tuple(name for name in result.unmasked if name not in own and name not in measured)
    said = []
    if own:
        differ, identify = ("differs", "identifies") if len(own) == 1 else ("differ", "identify")
        said.append(f"Of the unmasked fields, {listed_fields(own)} {differ} in every record and {identify} it")
    if keys is not None:
        said.append(_by_keys(keys))
    if others and not said:
        return f"Unmasked fields may identify by themselves: {listed_fields(others)}."
    if others:
        said.append(f"the others may identify as well: {listed_fields(others)}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _by_keys(keys: KeyRisk) -> str:
    """How many records are alike in the keys."""
    alone, names = keys.below["2"], known_fields(keys.fields)
    if alone:
        return f"{alone:,} of {counted(keys.records, 'record')} {'is' if alone == 1 else 'are'} unique in {names}"
    return f"each record shares {names} with at least {counted(int(keys.k) - 1, 'other one', 'others')}"


def _whole(result: MaskResult) -> bool:
    """Whether whole records come in groups of k."""
    return result.whole_record_k >= result.k
