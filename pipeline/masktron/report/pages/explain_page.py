"""A rulebook explained as a page: rules in mathematics, and how rules and fields hang together."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.counts import counted
from masktron.report.pages.common_parts import NOTHING, bare, file_name, listed, mathematical, said
from masktron.report.pages.page import Fact, FactRow, Mark, Page, PagePart, PagePicture, PageTable, Section
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.rule_graph import GraphBlock, GraphRule, RuleGraph
from masktron.report.text import number


def explain_page(result: PlainData) -> Page:
    """Make a page of an explained rulebook.

    Parameters
    ----------
    result : PlainData
        As ``explain --json`` writes it.

    Raises
    ------
    UsageError
        The plain data are no explanation.
    """
    rules = result.parts("rules")
    with_data = any(rule.has("fired") for rule in rules)
    preflight = result.part("preflight")
    contradictions = preflight.parts("contradictions")
    obstacle = result.text("obstacle")
    opaque = [rule.text("id") for rule in rules if rule.text("class") == "opaque"]
    if contradictions or obstacle:
        verdict = Mark("The rules contradict each other" if contradictions else "Masking would stop", "bad")
    else:
        verdict = Mark(f"{number(len(rules) - len(opaque))} of {counted(len(rules), 'rule')} understood", "good")
    return Page(
        title=file_name(result.text("rulebook")),
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
            Section("levels", "Levels of the file", tuple(_levels(result))),
            Section("fields", "Fields of the file", tuple(_fields(result))),
            Section("notes", "Notes", (*listed("", result.names("notes")), *_lints(rules))),
        ),
        ends=(f"XPath {result.text('xpath')}. Rules were compared with each other by {preflight.text('solver')}.",),
    )  # fmt: skip


def _lead(rules: Sequence[PlainData], opaque: Sequence[str], *, with_data: bool) -> str:
    classes: dict[str, int] = {}
    for rule in rules:
        classes[rule.text("class")] = classes.get(rule.text("class"), 0) + 1
    kinds = ", ".join(f"{number(many)} {name}" for name, many in sorted(classes.items(), key=lambda one: -one[1]))
    left = f" Engines alone decide {', '.join(opaque)}." if opaque else ""
    data = "" if with_data else " Without data, nothing is said of how often rules fire or how they are kept."
    return f"{counted(len(rules), 'rule')}: {kinds}.{left}{data}"


def _facts(result: PlainData, rules: Sequence[PlainData], opaque: Sequence[str]) -> list[PagePart]:
    fields = {name for rule in rules for name in rule.names("variables")}
    blocks = {rule.names("block") for rule in rules if rule.has("block")}
    facts = [
        Fact("rules", number(len(rules)), f"{number(sum(rule.switch('soft') for rule in rules))} of them soft"),
        Fact("fields", number(len(fields)), "that rules read"),
        Fact("not understood", number(len(opaque)), "decided by engines alone", "bad" if opaque else "good"),
    ]
    if blocks:
        facts.append(Fact("blocks", number(len(blocks)), "fields that rules tie together"))
    if result.has("tested"):
        tested = result.part("tested")
        facts.append(Fact("rules tested", f"{tested.count('tested')} of {tested.count('rules')}", "by this file"))
    return [FactRow(tuple(facts))]


def _wrong(contradictions: Sequence[PlainData]) -> list[str]:
    return [
        f"No record satisfies {', '.join(one.names('rules'))} together"
        + (" unless a field is missing or holds no number." if one.switch("numbers_only") else ".")
        for one in contradictions
    ]


def _rules(rules: Sequence[PlainData], *, with_data: bool) -> PageTable:
    counts = ("fired", "failed") if with_data else ()
    rows = tuple(
        (
            rule.text("id") + (" (soft)" if rule.switch("soft") else ""),
            rule.text("class"),
            mathematical(rule.text("form")) or rule.text("reason"),
            *((_optional(rule, "fired"), _optional(rule, "failed")) if with_data else ()),
            bare(rule.text("origin")),
        )
        for rule in rules
    )
    return PageTable("Rules", ("rule", "class", "what it says", *counts, "place"), rows, frozenset(counts))


def _optional(rule: PlainData, key: str) -> str:
    found = rule.optional_count(key)
    return NOTHING if found is None else number(found)


def _graph(result: PlainData, rules: Sequence[PlainData]) -> list[PagePart]:
    """The graph: by blocks where the plan has some, else by what hangs together."""
    reading = [rule for rule in rules if rule.names("variables")]
    if not reading:
        return []
    alternatives = {one.text("rule"): len(one.parts("alternatives")) for one in result.parts("coverage")}
    drawn = {
        rule.text("id"): GraphRule(
            rule.text("id"),
            rule.names("variables"),
            max(1, alternatives.get(rule.text("id"), 1)),
            rule.switch("soft"),
        )
        for rule in reading
    }
    blocks = _planned(reading, drawn) or _hanging_together(reading, drawn)
    rows = tuple(
        (rule.text("id"), ", ".join(rule.names("variables")), ", ".join(rule.names("block")) or NOTHING,
         str(drawn[rule.text("id")].strata))
        for rule in reading
    )  # fmt: skip
    planned = any(rule.has("block") for rule in reading)
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
            PageTable("Rules and their fields", ("rule", "fields", "masked together", "alternatives"), rows),
            legend,
        )
    ]


def _planned(rules: Sequence[PlainData], drawn: dict[str, GraphRule]) -> tuple[GraphBlock, ...]:
    blocks: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        if rule.has("block"):
            blocks.setdefault(rule.names("block"), []).append(rule.text("id"))
    if not blocks:
        return ()
    found = []
    for fields, ids in blocks.items():
        own = tuple(drawn[name] for name in ids)
        others = dict.fromkeys(name for rule in own for name in rule.fields if name not in fields)
        aggregators = next(rule.names("candidates") for rule in rules if rule.names("block") == fields)
        by = f", by {' or '.join(aggregators)}" if aggregators else ""
        found.append(GraphBlock(f"masked together{by}", (*fields, *others), own, frozenset(fields)))
    rest = tuple(drawn[rule.text("id")] for rule in rules if not rule.has("block"))
    if rest:
        names = dict.fromkeys(name for rule in rest for name in rule.fields)
        found.append(GraphBlock("not kept by a block: see the reasons below", tuple(names), rest, frozenset()))
    return tuple(found)


def _hanging_together(rules: Sequence[PlainData], drawn: dict[str, GraphRule]) -> tuple[GraphBlock, ...]:
    """Rules that share a field, or share one with a rule that does."""
    parts: list[tuple[set[str], list[str]]] = []
    for rule in rules:
        fields, ids = {*rule.names("variables")}, [rule.text("id")]
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


def _blocks(rules: Sequence[PlainData]) -> list[PagePart]:
    blocks: dict[tuple[str, ...], list[PlainData]] = {}
    for rule in rules:
        if rule.has("block"):
            blocks.setdefault(rule.names("block"), []).append(rule)
    rows = tuple(
        (
            ", ".join(fields),
            ", ".join(rule.text("id") for rule in own),
            ", ".join(own[0].names("candidates")) or NOTHING,
            own[0].text("why"),
        )
        for fields, own in blocks.items()
    )
    unmasked = tuple(
        f"{rule.text('id')}: {rule.text('why')}" for rule in rules if not rule.has("block") and rule.has("why")
    )
    columns = ("fields", "rules", "aggregators that keep them", "why")
    return [
        *([PageTable("Blocks: fields that are masked together", columns, rows)] if rows else []),
        *listed("Rules that no block keeps", unmasked),
    ]  # fmt: skip


def _strata(result: PlainData) -> list[PagePart]:
    """What the records do with the alternatives of each rule: records of a stratum satisfy the same ones."""
    rows = tuple(
        (one.text("rule"), mathematical(part.text("part")), number(part.count("holds")), number(part.count("alone")))
        for one in result.parts("coverage")
        for part in one.parts("alternatives")
    )
    if not rows:
        return []
    return [
        *said(
            "Groups are formed among records that satisfy the same alternatives of every rule. A rare alternative "
            "makes small strata, and so larger losses."
        ),
        PageTable(
            "Alternatives of the rules on this file",
            ("rule", "alternative", "records that satisfy it", "and no other one"),
            rows,
            frozenset({"records that satisfy it", "and no other one"}),
        ),
    ]


def _preflight(preflight: PlainData) -> list[PagePart]:
    redundant = [
        f"{one.text('rule')} follows from {', '.join(one.names('by')) or 'nothing: every record satisfies it'}"
        for one in preflight.parts("redundant")
    ]
    return [
        *listed("Rules that follow from others", redundant),
        *listed("Rules that say the same", _duplicates(preflight)),
        *listed("Alternatives that no record can satisfy", _decided(preflight, "impossible")),
        *listed("Rules that every record satisfies", preflight.names("always")),
        *listed("Rules that no record satisfies", preflight.names("never")),
        *listed("Not decided", preflight.names("undecided")),
    ]


def _duplicates(preflight: PlainData) -> list[str]:
    found = preflight.content.get("duplicates") or ()
    return [", ".join(map(str, names)) for names in found]


def _decided(preflight: PlainData, key: str) -> list[str]:
    return [
        f"{one.text('part')} in {one.text('rule')}"
        + (f", by {', '.join(one.names('by'))}" if one.names("by") else "")
        for one in preflight.parts(key)
    ]


def _ranges(preflight: PlainData) -> list[PagePart]:
    rows = []
    for one in preflight.parts("allowed"):
        if one.has("values"):
            text = f"one of {', '.join(one.names('values'))}"
        else:
            low = f"{one.text('low')} {'<' if one.switch('low_open') else '≤'} " if one.has("low") else ""
            high = f" {'<' if one.switch('high_open') else '≤'} {one.text('high')}" if one.has("high") else ""
            text = f"{low}{one.text('field')}{high}"
        rows.append((one.text("field"), text))
    return [PageTable("Ranges, where all numbers are there", ("field", "what is left"), tuple(rows))] if rows else []


def _levels(result: PlainData) -> list[PagePart]:
    """Kinds of records of a nested file; results of earlier releases do not have them."""
    rows = tuple(
        (
            one.text("level"),
            number(one.count("records")),
            number(one.count("least")),
            number(one.count("most")),
            ", ".join(one.names("fields")) or NOTHING,
        )
        for one in (result.parts("levels"))
    )
    columns = ("level", "records", "least", "most", "fields")
    caption = "Kinds of records, and how many stand at least and at most in one record of the level above"
    return [PageTable(caption, columns, rows, frozenset(columns[1:4]))] if rows else []


def _fields(result: PlainData) -> list[PagePart]:
    rows = tuple(
        (
            one.text("name"),
            one.text("label"),
            one.text("role") or NOTHING,
            one.text("kind") or NOTHING,
            ", ".join(f"{value} = {text}" if text else value for value, text in one.part("missing").items()),
        )
        for one in result.parts("fields")
    )
    columns = ("field", "label", "role", "kind", "codes for missing values")
    return [PageTable("Fields", columns, rows)] if rows else []


def _lints(rules: Sequence[PlainData]) -> list[PagePart]:
    return listed(
        "Doubts about rules", [f"{rule.text('id')}: {lint}" for rule in rules for lint in rule.names("lints")]
    )
