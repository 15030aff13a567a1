"""What commands, pages and files say of a masked file in the same words: fields, risks, keys, treatments, levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from masktron.counts import counted
from masktron.problems.problem import Field, Term
from masktron.problems.wording import sentence, spelled
from masktron.report.text import number
from masktron.results import BlockResult

if TYPE_CHECKING:
    from masktron.results import (
        AssessResult,
        ConcernResult,
        EngineResult,
        FigureResult,
        KeyRisk,
        MaskedLevel,
        MaskResult,
        RuleFate,
        TreatmentResult,
    )


_NAMED = 6
"""Fields that are named; more are counted."""


def listed(names: Sequence[str]) -> str:
    """Return names of rules with commas, the last of many as their number."""
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def listed_fields(names: Sequence[str]) -> str:
    """Return names of fields as `listed` does, in the words of whoever reads."""
    return listed([spelled("{field}", field=Field(name)) for name in names])


def figure_word(name: str) -> str:
    """Return the name of a figure, in the words of whoever reads."""
    return spelled("{figure}", figure=Term(name))


def drawn_fields(blocks: Sequence[BlockResult]) -> tuple[str, ...]:
    """Fields that the method drew record by record."""
    return tuple(name for block in blocks if block.drawn for name in block.variables)


def in_groups(blocks: Sequence[BlockResult]) -> str:
    """Say which fields are masked by groups, with the smallest of these as written; nothing where all are drawn."""
    grouped = [block for block in blocks if not block.drawn]
    if not grouped:
        return ""
    names = [name for block in grouped for name in block.variables]
    apart = ", solved fields apart" if any(block.solved for block in grouped) else ""
    least = min(block.min_group for block in grouped)
    return f"{listed_fields(names)} {are(names)} masked in groups of at least {least} records{apart}"


def both_parts(blocks: Sequence[BlockResult]) -> str:
    """Say which fields are drawn and which masked by groups, where there are both."""
    drawn, grouped = drawn_fields(blocks), in_groups(blocks)
    return f"{listed_fields(drawn)} {are(drawn)} drawn, and {grouped}" if drawn and grouped else ""


def are(names: Sequence[str]) -> str:
    """The verb of a list of names."""
    return "is" if len(names) == 1 else "are"


def risks_of(result: MaskResult | AssessResult) -> str:
    """Say what intruders would re-identify in the file of a result: see `risk_sentences`."""
    values = {figure.name: figure.value for figure in result.figures}
    interval = next((one.interval for one in result.figures if one.name == "strongest_linkage"), None)
    return risk_sentences(values, () if result.keys is None else result.keys.fields, interval)


def risk_sentences(
    figures: Mapping[str, float], keys: Sequence[str] = (), interval: Sequence[float] | None = None
) -> str:
    """Say what three intruders would re-identify, from the one who knows least to the one who knows most.

    The first knows the quasi-identifiers, the second also who took part, and the third also the original numbers and
    all unmasked fields. Without weights the file stands for the population, so the first two find the same.

    Parameters
    ----------
    figures : mapping of str to float
        The figures ``global_risk``, ``prosecutor_risk`` and ``strongest_linkage`` by name; what is absent or NaN has
        no sentence.
    keys : sequence of str
        Names of the quasi-identifiers, where they are at hand.
    interval : sequence of float, optional
        Interval of 95 per cent of ``strongest_linkage``, where it is estimated from a sample.

    Returns
    -------
    str
        Up to three sentences; empty where nothing is known.
    """
    by_keys, by_members, by_values = (
        figures.get(name, math.nan) for name in ("global_risk", "prosecutor_risk", "strongest_linkage")
    )
    intruders: list[tuple[str, float, str]] = []
    if not math.isnan(by_members):
        if by_keys < by_members * (1 - _SAME):
            intruders.append((f"knows {known_fields(keys)} is expected to", by_keys, ""))
            intruders.append(("also knows who took part would", by_members, ""))
        else:
            intruders.append((f"knows {known_fields(keys, 'who took part')} would", by_members, ""))
    if not math.isnan(by_values):
        estimated = ""
        if interval is not None:
            low, high = interval
            estimated = (
                f" (estimated from a sample of records; 95 % interval {low:.1f} to {high:.1f} %;"
                " linking the whole file at once may find more)"
            )
        also = "also " if intruders else ""
        intruders.append((f"{also}knows the true values would", by_values, estimated))
    return " ".join(
        f"{'One' if at else 'An intruder'} who {knows} re-identify {percent_text(share)}"
        f"{'' if at else ' of the records'}{estimated}."
        for at, (knows, share, estimated) in enumerate(intruders)
    )


def percent_text(value: float) -> str:
    """Write a share with one decimal; neither all nor nothing unless it is so."""
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if value in (0, 100):
        return f"{value:.0f} %"
    return f"{min(value, 99.9):.1f} %"


def known_fields(keys: Sequence[str], *besides: str) -> str:
    """List the quasi-identifiers, and what else an intruder knows, as a sentence does."""
    more = [counted(len(keys) - _NAMED, "more field")] if len(keys) > _NAMED else []
    known = [spelled("{field}", field=Field(name)) for name in keys[:_NAMED]]
    names = [*(known or ["the quasi-identifiers"]), *more, *besides]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def treatment_lines(
    treatments: Sequence[TreatmentResult],
    fates: Sequence[RuleFate],
    before: Sequence[FigureResult] = (),
    figures: Sequence[FigureResult] = (),
) -> Iterator[str]:
    """Say what was done, in order, what each rule became, and what keys told before and tell now."""
    for at, one in enumerate(treatments, start=1):
        yield f"treatment {at}, {one.kind} of {one.field}: {one.how}"
    for rule in fates:
        now = "the same text, asked of classes" if rule.after == rule.before else rule.after
        after = f", now: {now}" if rule.after else ""
        reason = f" ({rule.reason})" if rule.reason else ""
        yield f"rule {rule.rule} is {rule.fate}{reason}; it was: {rule.before}{after}"
    if idle := asking_nothing(fates):
        yield idle
    now_told = {one.name: one.value for one in figures}
    told = [
        f"{one.name} {_written(one.value)} before, {_written(now_told[one.name])} now"
        for one in before
        if one.name in now_told
    ]
    if told:
        yield f"by the treatments, {'; '.join(told)}"


def asking_nothing(fates: Sequence[RuleFate]) -> str:
    """Count the rules that ask nothing any more; empty where there are none."""
    idle = [one.rule for one in fates if one.fate == "vacuous"]
    if not idle:
        return ""
    ask, find = ("asks", "it finds") if len(idle) == 1 else ("ask", "they find")
    return (
        f"{counted(len(idle), 'rule')} {ask} nothing any more of any class, so that {find} no error there: "
        f"{', '.join(idle)}"
    )


def _written(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6g}"


_SHORT = {
    "whole_record_k": "alike at least {}",
    "linkage": "linked {} %",
    "unchanged": "unchanged {} %",
    "information_loss": "loss {} %",
    "total_change": "totals changed by {} % at most",
    "global_risk": "found by keys {} %",
}
"""Figures that are told, by name, in this order."""


def level_lines(levels: Sequence[MaskedLevel]) -> list[str]:
    """Say of each level what is known of it, a line each."""
    lines = []
    for level in levels:
        values = {one.name: one.value for one in level.figures}
        known = ((name, words) for name, words in _SHORT.items() if not math.isnan(values.get(name, math.nan)))
        told = "; ".join(words.format(f"{values[name]:.4g}") for name, words in known)
        weight = f", weighted by {level.weight}" if level.weight else ""
        lines.append(f"{level.level}, {level.records:,} records{weight}: {told}")
    return lines


_SHARING = 3
"""From so many concerns of one kind, with one remedy, they share a line."""
_IN_A_LINE = 5
"""Fields that such a line names; more are counted."""


def concern_lines(concerns: Sequence[ConcernResult]) -> Iterator[str]:
    """Yield a line for each concern; several of one kind that one remedy helps share one; as `concern_remedies`."""
    yield from (f"{what}; {hint}" for what, hint in concern_remedies(concerns))


def concern_remedies(concerns: Sequence[ConcernResult]) -> Iterator[tuple[str, str]]:
    """Yield what each concern is, and its remedy; several of one kind that one remedy helps are one.

    Parameters
    ----------
    concerns : sequence of ConcernResult
        Of one kind, the worst first.
    """
    below = [one for one in concerns if one.kind == "below-zero"]
    if len(below) > 1:
        fields = ", ".join(f"{one.field} in {counted(one.records, 'record')}" for one in below)
        yield (
            f"values below 0, where no original value is: {fields}",
            "where a field cannot be, the rule FIELD >= 0 keeps it from that, and masktron suggest proposes it",
        )
    alike: dict[tuple[str, str], list[ConcernResult]] = {}
    for one in concerns:
        if len(below) < 2 or one not in below:
            alike.setdefault((one.kind, sentence(one.hint)), []).append(one)
    for (_, hint), several in alike.items():
        if len(several) < _SHARING:
            yield from ((sentence(one.says), hint) for one in several)
            continue
        names = [one.field for one in several[1:]]
        more = [counted(len(names) - _IN_A_LINE, "other")] if len(names) > _IN_A_LINE else []
        yield f"{sentence(several[0].says)}; likewise {', '.join([*names[:_IN_A_LINE], *more])}", hint


def engine_opinion(engine: EngineResult) -> str:
    """Return what an engine says of the rules that it judged: that they hold, or not."""
    if not engine.agrees:
        return "does not agree"
    return "finds the same violations" if engine.violations else "agrees"


_SAME = 1e-9
"""Relative difference below which two estimates are the same."""


def key_lines(keys: KeyRisk) -> list[str]:
    """Return what is known of the keys of a file, a sentence each."""
    fields, records, below = ", ".join(keys.fields), counted(keys.records, "record"), keys.below
    how = (
        f"named as quasi-identifiers{', and the weight, which is written' if keys.weight else ''}"
        if keys.stated
        else "no quasi-identifier was named: what is written as it was, others are taken to know"
    )
    lines = [
        f"keys: {fields} ({how})",
        f"by the keys, {number(below['2'])} of {records} {'is' if below['2'] == 1 else 'are'} like no other one; "
        f"{number(below['3'])} stand in groups of fewer than 3, {number(below['5'])} of fewer than 5",
    ]
    if not keys.wildcards:
        lines.append("missing values of keys count as values of their own: too many patterns of them to compare")
    elif keys.missing:
        lines.append(
            f"a missing value of a key matches every value ({counted(keys.missing, 'record')}); masktron recode "
            "counts it as a value of its own, and finds more records like no other one"
        )
    if (others := keys.below_without_weight) is not None:
        lines.append(
            f"without the weight {keys.weight}: {number(others['2'])}, {number(others['3'])} and "
            f"{number(others['5'])}"
        )
    lines += estimate_lines(keys)
    if keys.contributions is not None and any(keys.minimal_uniques or ()):
        most = sorted(keys.contributions.items(), key=lambda one: -one[1])
        lines.append(
            "sets of up to three values that only one record has come from "
            + ", ".join(f"{name} ({share:.0f} %)" for name, share in most if share)
        )
    return lines


def estimate_lines(keys: KeyRisk) -> list[str]:
    """Say what an intruder who tries every record finds, by both estimates where they differ.

    Of manifests of before 1.0.0, which have no model of all records, one estimate is told.
    """
    expected, alone, modelled = keys.expected, keys.population_uniques, keys.model_expected
    found, unique = "expected re-identifications", "records expected to be alone in the population"
    if modelled is None or math.isclose(modelled, expected, rel_tol=_SAME):
        return [f"{found}: {_some(expected)}, {_share(keys, expected)}; {unique}: {_some(alone)}"]
    return [
        f"{found}: {_some(expected)} by the weights, {_some(modelled)} by a log-linear model",
        f"{unique}: {_some(alone)} by the weights, {_some(keys.model_uniques or 0.0)} by the model",
        f"figures and limits take the larger, {_share(keys, expected, modelled)}; the model has {_model(keys)}",
    ]


def _share(keys: KeyRisk, *estimates: float) -> str:
    records = keys.records
    return f"{number(100 * max(estimates) / records if records else math.nan, '.3f')} % of the records"


def _model(keys: KeyRisk) -> str:
    """Say which interactions a model has, and which key it leaves out."""
    pairs = listed([" with ".join(pair) for pair in keys.model_pairs])
    without = f", without {keys.model_without}, whose values few records share" if keys.model_without else ""
    return f"main effects{f' and the interaction of {pairs}' if pairs else ''}{without}"


def _some(records: float) -> str:
    """Write an expected number of records: small ones with the digits that count."""
    return number(records, ".0f" if records >= 100 else ".3g")
