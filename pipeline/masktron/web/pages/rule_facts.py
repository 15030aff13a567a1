"""What the last check of the rules has said of each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from masktron.rulebook_text.rule_entries import RuleEntry, RulesInText
from masktron.web.pages.paging import whole_number
from masktron.web.pages.step_runs import is_current
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import (
    Argument,
    CommandRun,
    InRun,
    RunState,
    UnreadableResultError,
    latest_run,
    runs_of,
)
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import NothingHereError, Visit

RESULT, PAGE = "explain.json", "explain.html"
_ORIGIN = re.compile(r"(.*?):(\d+)(?: \(from .*\))?")
CLASSES = {
    "linear": "sums, differences and limits of numbers",
    "product": "products of numbers",
    "values": "limits of one field, or a list of its values",
    "governing": "fields in an order, an IF with its THEN, or several alternatives",
    "domain": "values that the original has",
    "cross-record": "asks several records at once",
    "opaque": "not understood: it is judged, and nothing is planned from it",
}
"""The classes of rules in plain words."""


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What is known of a rule.

    Attributes
    ----------
    id : str
        As reports call it.
    kind : str
        Its class.
    plain : str
        What the class means.
    form : str
        In mathematics; empty where it is not understood.
    reason : str
        Why it is not, or what it asks of several records.
    fired, failed : int or None
        Records that it was asked of, and that break it; None without data, or where they do not test it.
    soft : bool
    doubts : tuple of str
        What contradicts it, follows from it, or may be a mistake, in sentences.
    origin, context, test : str
    contradicts : bool
        Whether no record can obey it, alone or together with others.
    """

    id: str
    kind: str
    plain: str
    form: str
    reason: str
    fired: int | None
    failed: int | None
    soft: bool
    doubts: tuple[str, ...]
    origin: str
    context: str
    test: str
    contradicts: bool

    @property
    def line(self) -> int:
        """The line of the rulebook that it comes from; 0 where it comes from another file."""
        found = _ORIGIN.fullmatch(self.origin)
        return int(found[2]) if found is not None and found[1].rpartition("/")[2] == RULES else 0

    @property
    def place(self) -> str:
        """Where it stands, without the folder of the run."""
        return re.sub(r"(^|\(from )\S*/", r"\1", self.origin)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """What is known of all rules of a rulebook."""

    all: tuple[RuleFacts, ...] = ()
    by_line: Mapping[int, Sequence[RuleFacts]] = field(default_factory=dict)
    by_id: Mapping[str, Sequence[RuleFacts]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Sequence[RuleFacts]) -> KnownFacts:
        """Put facts in order."""
        lines: dict[int, list[RuleFacts]] = {}
        ids: dict[str, list[RuleFacts]] = {}
        for one in facts:
            ids.setdefault(one.id, []).append(one)
            if line := one.line:
                lines.setdefault(line, []).append(one)
        return cls(tuple(facts), lines, ids)


def facts_in(result: Mapping[str, Any]) -> KnownFacts:
    """Return what the JSON of `masktron explain` says of each rule."""
    doubts: dict[str, list[str]] = {}
    for rule, sentence in _doubts(result["preflight"]):
        doubts.setdefault(rule, []).append(sentence)
    contradicting = {rule for one in result["preflight"]["contradictions"] for rule in one["rules"]}
    facts = [
        RuleFacts(
            one["id"],
            one["class"],
            CLASSES.get(one["class"], ""),
            one["form"],
            one["reason"],
            one["fired"],
            one["failed"],
            one["soft"],
            (*doubts.get(one["id"], ()), *one["lints"]),
            one["origin"],
            one["context"],
            one["test"],
            one["id"] in contradicting,
        )
        for one in result["rules"]
    ]
    return KnownFacts.of(facts)


def _doubts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in found["contradictions"]:
        numbers = " in which all fields are numbers" if one["numbers_only"] else ""
        for rule in one["rules"]:
            others = [other for other in one["rules"] if other != rule]
            beside = f" together with {_listed(others)}" if others else ""
            yield rule, f"Contradiction: no record{numbers} can obey it{beside}."
    for rule in found["always"]:
        yield rule, "Every record obeys it: it asks nothing."
    for one in found["redundant"]:
        if one["by"]:
            yield one["rule"], f"It follows from {_listed(one['by'])}, and could go."
    for same in found["duplicates"]:
        for rule in same:
            yield rule, f"It says the same as {_listed([other for other in same if other != rule])}."
    for one in found["impossible"]:
        yield one["rule"], f"No record can come to: {one['part']}. The reason is {_listed(one['by'])}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def facts_of(entry: RuleEntry, facts: KnownFacts, *, current: bool) -> list[RuleFacts]:
    """Return what is known of a rule of the file: of a pattern that makes several rules, of each.

    Parameters
    ----------
    entry : RuleEntry
    facts : KnownFacts
    current : bool
        Whether they are of the file as it is now; else what has changed since has none.
    """
    if current:
        lines = range(entry.line, entry.last_line + 1)
        return [one for line in lines for one in facts.by_line.get(line, ()) if _is_of(entry, one)]
    same = facts.by_id.get(entry.id, ()) if entry.id else ()
    if entry.kind in ("assert", "report"):
        return [one for one in same if one.context == entry.context and _is_of(entry, one)]
    return list(same)


def _is_of(entry: RuleEntry, facts: RuleFacts) -> bool:
    tests = {"assert": entry.test, "report": f"not({entry.test})"}
    return entry.kind not in tests or " ".join(facts.test.split()) == " ".join(tests[entry.kind].split())


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """The last check of the rules of a project.

    Attributes
    ----------
    run : CommandRun or None
    facts : KnownFacts
    current : bool
        Whether it speaks of the rules, data and settings as they are now.
    has_facts : bool
        Whether the facts are its own; else they are those of an earlier one.
    """

    run: CommandRun | None = None
    facts: KnownFacts = KnownFacts()
    current: bool = False
    has_facts: bool = False

    @property
    def known(self) -> bool:
        """Whether the facts are of the rules as they are now."""
        return self.current and self.has_facts

    @property
    def active(self) -> bool:
        """Whether it is under way."""
        return self.run is not None and not self.run.is_over


def checked_rules(project: Project) -> CheckedRules:
    """Return the last check; while one is under way, what the one before has said."""
    run = latest_run(project, run_kinds.RULES_CHECK.step)
    if run is None:
        return CheckedRules()
    current = is_current(run)
    # where a rule cannot be read, nothing is said of the others: what the check before has said of them stays
    said = next((one for one in runs_of(project) if one.step == run.step and one.output(RESULT) is not None), None)
    facts = KnownFacts() if said is None or said.state is not RunState.ENDED else _kept_facts(said)
    return CheckedRules(run, facts, current and run.state is RunState.ENDED, said == run)


@lru_cache(maxsize=4)
def _kept_facts(run: CommandRun) -> KnownFacts:
    """Return what a run that has ended has said, which every page of the project wants to know."""
    try:
        result = run.result(RESULT)
    except UnreadableResultError:  # more rules than a page shows: the report has them
        result = None
    return KnownFacts() if result is None else facts_in(result)


def explain_arguments(project: Project, *, page: bool) -> list[Argument]:
    """Return the command that checks the rules in the folder of a run."""
    words: list[Argument] = ["explain", InRun(RULES)]
    if (data := project.data()) is not None:
        words += ["--data", data]
    words += ["--json", InRun(RESULT)]
    return [*words, "--html", InRun(PAGE)] if page else words


def check_rules(visit: Visit, project: Project) -> CommandRun:
    """Start a check of the rules; one that is under way is of former rules, and ends."""
    run = latest_run(project, run_kinds.RULES_CHECK.step)
    if run is not None and not run.is_over:
        visit.queue.cancel(run)
    return visit.start(project, run_kinds.RULES_CHECK, explain_arguments(project, page=True))


def entry_at(rules: RulesInText, number: str) -> RuleEntry:
    """Return a rule by its number.

    Raises
    ------
    NothingHereError
        There is none.
    """
    found = whole_number(number) or 0
    if not 1 <= found <= len(rules.entries):
        raise NothingHereError
    return rules.entries[found - 1]
