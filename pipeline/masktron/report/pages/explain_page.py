"""A rulebook explained as a page: rules in mathematics, and how rules and fields hang together."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.counts import counted
from masktron.preflight.conclusions import Contradiction, Preflight, RulePart
from masktron.problems.wording import sentence
from masktron.report.pages.common_parts import file_name, listed, mathematical, said
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, Section
from masktron.report.pictures.rule_graph import GraphBlock, GraphRule, RuleGraph
from masktron.report.result_table import NOTHING, Mark, ResultTable
from masktron.report.shared_tables import bare, levels_table
from masktron.report.text import number
from masktron.results import ExplainResult, RuleExplanation


def explain_page(result: ExplainResult) -> Page:
    """Make a page of an explained rulebook."""
    rules = result.rules
    with_data = any(rule.fired is not None for rule in rules)
    preflight = result.preflight
    contradictions = preflight.contradictions
    obstacle = result.obstacle or ""
    opaque = [rule.id for rule in rules if rule.kind == "opaque"]
    if contradictions or obstacle:
        verdict = Mark("The rules contradict each other" if contradictions else "Masking would stop", "bad")
    else:
        verdict = Mark(f"{number(len(rules) - len(opaque))} of {counted(len(rules), 'rule')} understood", "good")
    return Page(
        title=file_name(result.rulebook),
        kind="Edit rules explained",
        edition="internal" if with_data else "plain",
        verdict=(verdict,),
        lead=obstacle.replace("\n", " ") or _lead(rules, opaque, with_data=with_data),
        sections=(
            Section("overview", "Overview", (*_facts(result, rules, opaque), *said(*_wrong(contradictions)))),
            Section("mathematics", "Rules in mathematics", (_rules(rules, with_data=with_data),)),
            Section("graph", "Fields, rules and blocks", (*_graph(result, rules), *_blocks(rules))),
            Section("strata", "Strata", tuple(_strata(result))),
            Section("findings", "What the rules say about each other", tuple(_preflight(preflight))),
            Section("ranges", "What the rules leave to each field", tuple(_ranges(preflight))),
            Section("levels", "Levels of the file", (levels_table(result.levels),)),
            Section("fields", "Fields of the file", tuple(_fields(result))),
            Section("notes", "Notes", (*listed("", result.notes), *_lints(rules))),
        ),
        ends=(f"XPath {result.version}. Rules were compared with each other by {preflight.solver}.",),
    )  # fmt: skip


def _lead(rules: Sequence[RuleExplanation], opaque: Sequence[str], *, with_data: bool) -> str:
    classes: dict[str, int] = {}
    for rule in rules:
        classes[rule.kind] = classes.get(rule.kind, 0) + 1
    kinds = ", ".join(f"{number(many)} {name}" for name, many in sorted(classes.items(), key=lambda one: -one[1]))
    left = f" Engines alone decide {', '.join(opaque)}." if opaque else ""
    data = "" if with_data else " Without data, nothing is said of how often rules fire or how they are kept."
    return f"{counted(len(rules), 'rule')}: {kinds}.{left}{data}"


def _facts(result: ExplainResult, rules: Sequence[RuleExplanation], opaque: Sequence[str]) -> list[PagePart]:
    fields = {name for rule in rules for name in rule.variables}
    blocks = {rule.block for rule in rules if rule.block is not None}
    facts = [
        Fact("rules", number(len(rules)), f"{number(sum(rule.soft for rule in rules))} of them soft"),
        Fact("fields", number(len(fields)), "that rules read"),
        Fact("not understood", number(len(opaque)), "decided by engines alone", "bad" if opaque else "good"),
    ]
    if blocks:
        facts.append(Fact("blocks", number(len(blocks)), "fields that rules tie together"))
    if result.tested is not None:
        tested = result.tested
        facts.append(Fact("rules tested", f"{tested.tested} of {tested.rules}", "by this file"))
    return [FactRow(tuple(facts))]


def _wrong(contradictions: Sequence[Contradiction]) -> list[str]:
    return [
        f"No record satisfies {', '.join(one.rules)} together"
        + (" unless a field is missing or holds no number." if one.numbers_only else ".")
        for one in contradictions
    ]


def _rules(rules: Sequence[RuleExplanation], *, with_data: bool) -> ResultTable:
    counts = ("fired", "failed") if with_data else ()
    rows = tuple(
        (
            rule.id + (" (soft)" if rule.soft else ""),
            rule.kind,
            mathematical(rule.form) or rule.reason,
            *((_optional(rule.fired), _optional(rule.failed)) if with_data else ()),
            bare(rule.origin),
        )
        for rule in rules
    )
    return ResultTable("Rules", ("rule", "class", "what it says", *counts, "place"), rows, frozenset(counts))


def _optional(found: int | None) -> str:
    return NOTHING if found is None else number(found)


def _graph(result: ExplainResult, rules: Sequence[RuleExplanation]) -> list[PagePart]:
    """The graph: by blocks where the plan has some, else by what hangs together."""
    reading = [rule for rule in rules if rule.variables]
    if not reading:
        return []
    alternatives = {one.rule: len(one.alternatives) for one in result.coverage}
    drawn = {
        rule.id: GraphRule(
            rule.id,
            rule.variables,
            max(1, alternatives.get(rule.id, 1)),
            rule.soft,
        )
        for rule in reading
    }
    blocks = _planned(reading, drawn) or _hanging_together(reading, drawn)
    rows = tuple(
        (rule.id, ", ".join(rule.variables), ", ".join(rule.block or ()) or NOTHING,
         str(drawn[rule.id].strata))
        for rule in reading
    )  # fmt: skip
    planned = any(rule.block is not None for rule in reading)
    tied = [block for block in blocks if block.masked]
    largest = max(tied, key=lambda block: len(block.rules))
    what = "of masked fields" if planned else "of rules that share fields"
    sentence = (
        f"{counted(len(tied), 'block')} {what}; the largest has "
        f"{counted(len(largest.fields), 'field')} and {counted(len(largest.rules), 'rule')}."
    )
    legend = (
        "Left: fields, blue circles where they are masked, grey squares where they are not. Right: rules; a diamond "
        "parts the records into strata by its alternatives, yellow is soft."
        if planned
        else "Left: fields. Right: rules; a diamond has alternatives, yellow is soft."
    )
    return [
        PagePicture(
            "graph-of-rules",
            "Which rule reads which field",
            sentence,
            RuleGraph(blocks),
            ResultTable("Rules and their fields", ("rule", "fields", "masked together", "alternatives"), rows),
            legend,
        )
    ]


def _planned(rules: Sequence[RuleExplanation], drawn: dict[str, GraphRule]) -> tuple[GraphBlock, ...]:
    blocks: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        if rule.block is not None:
            blocks.setdefault(rule.block, []).append(rule.id)
    if not blocks:
        return ()
    found = []
    for fields, ids in blocks.items():
        own = tuple(drawn[name] for name in ids)
        others = dict.fromkeys(name for rule in own for name in rule.fields if name not in fields)
        aggregators = next(rule.candidates for rule in rules if rule.block == fields)
        by = f", by {' or '.join(aggregators)}" if aggregators else ""
        found.append(GraphBlock(f"masked together{by}", (*fields, *others), own, frozenset(fields)))
    rest = tuple(drawn[rule.id] for rule in rules if rule.block is None)
    if rest:
        names = dict.fromkeys(name for rule in rest for name in rule.fields)
        found.append(GraphBlock("not kept by a block: see the reasons below", tuple(names), rest, frozenset()))
    return tuple(found)


def _hanging_together(rules: Sequence[RuleExplanation], drawn: dict[str, GraphRule]) -> tuple[GraphBlock, ...]:
    """Rules that share a field, or share one with a rule that does."""
    parts: list[tuple[set[str], list[str]]] = []
    for rule in rules:
        fields, ids = {*rule.variables}, [rule.id]
        for part in [part for part in parts if part[0] & fields]:
            parts.remove(part)
            fields, ids = part[0] | fields, part[1] + ids
        parts.append((fields, ids))
    found = []
    for _, ids in parts:
        own = tuple(drawn[name] for name in ids)
        names = tuple(dict.fromkeys(name for rule in own for name in rule.fields))
        found.append(GraphBlock("rules that share fields", names, own, frozenset(names)))
    return tuple(found)


def _blocks(rules: Sequence[RuleExplanation]) -> list[PagePart]:
    blocks: dict[tuple[str, ...], list[RuleExplanation]] = {}
    for rule in rules:
        if rule.block is not None:
            blocks.setdefault(rule.block, []).append(rule)
    rows = tuple(
        (
            ", ".join(fields),
            ", ".join(rule.id for rule in own),
            ", ".join(own[0].candidates) or NOTHING,
            sentence(own[0].why or ""),
        )
        for fields, own in blocks.items()
    )
    unmasked = tuple(
        f"{rule.id}: {sentence(rule.why)}" for rule in rules if rule.block is None and rule.why is not None
    )
    columns = ("fields", "rules", "aggregators that keep them", "why")
    return [
        ResultTable("Blocks: fields that are masked together", columns, rows),
        *listed("Rules that no block keeps", unmasked),
    ]  # fmt: skip


def _strata(result: ExplainResult) -> list[PagePart]:
    """What the records do with the alternatives of each rule: records of a stratum satisfy the same ones."""
    rows = tuple(
        (one.rule, mathematical(part.part), number(part.holds), number(part.alone))
        for one in result.coverage
        for part in one.alternatives
    )
    if not rows:
        return []
    return [
        *said(
            "Groups are formed among records that satisfy the same alternatives of every rule. A rare alternative "
            "makes small strata, and so larger losses."
        ),
        ResultTable(
            "Alternatives of the rules on this file",
            ("rule", "alternative", "records that satisfy it", "and no other one"),
            rows,
            frozenset({"records that satisfy it", "and no other one"}),
        ),
    ]


def _preflight(preflight: Preflight) -> list[PagePart]:
    redundant = [
        f"{one.rule} follows from {', '.join(one.by) or 'nothing: every record satisfies it'}"
        for one in preflight.redundant
    ]
    return [
        *listed("Rules that follow from others", redundant),
        *listed("Rules that say the same", map(", ".join, preflight.duplicates)),
        *listed("Alternatives that no record can satisfy", _decided(preflight.impossible)),
        *listed("Rules that every record satisfies", preflight.always),
        *listed("Rules that no record satisfies", preflight.never),
        *listed("Not decided", preflight.undecided),
    ]


def _decided(parts: Sequence[RulePart]) -> list[str]:
    return [f"{one.part} in {one.rule}" + (f", by {', '.join(one.by)}" if one.by else "") for one in parts]


def _ranges(preflight: Preflight) -> list[PagePart]:
    rows = []
    for one in preflight.allowed:
        if one.values is not None:
            text = f"one of {', '.join(one.values)}"
        else:
            low = f"{one.low} {'<' if one.low_open else '≤'} " if one.low is not None else ""
            high = f" {'<' if one.high_open else '≤'} {one.high}" if one.high is not None else ""
            text = f"{low}{one.field}{high}"
        rows.append((one.field, text))
    return [ResultTable("Ranges, where all numbers are there", ("field", "what is left"), tuple(rows))]


def _fields(result: ExplainResult) -> list[PagePart]:
    rows = tuple(
        (
            one.name,
            one.label,
            one.role or NOTHING,
            one.kind or NOTHING,
            ", ".join(f"{value} = {text}" if text else value for value, text in one.missing.items()),
        )
        for one in result.fields
    )
    columns = ("field", "label", "role", "kind", "codes for missing values")
    return [ResultTable("Fields", columns, rows)]


def _lints(rules: Sequence[RuleExplanation]) -> list[PagePart]:
    return listed("Doubts about rules", [f"{rule.id}: {sentence(lint)}" for rule in rules for lint in rule.lints])
