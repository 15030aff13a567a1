"""One rule: changed, tried out while it is typed, removed, moved, or made."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from masktron.errors import RulebookError, UsageError
from masktron.rulebook_text.rule_changes import NewRule, alone, empty_rulebook, moved, with_parts, with_rules, without
from masktron.rulebook_text.rule_entries import RuleEntry, RulesInText, rules_in
from masktron.web.pages.roles_step import described
from masktron.web.pages.rule_facts import (
    RESULT,
    RuleFacts,
    checked_rules,
    entry_at,
    explain_arguments,
    facts_in,
    facts_of,
)
from masktron.web.pages.rules_step import rules_of, saved
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, RunState, latest_run, run_of
from masktron.web.store.disk import bytes_of
from masktron.web.store.project_settings import NAME as SETTINGS_FILE
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import FormFields, Fragment, Redirect, Visit, WebPage, problem_of

_OF_RULES = ("allow", "allow_unfired", "max_failures")
"""Settings that name other rules, which are not there when a rule is tried out alone."""
NEW = "new"
_PARTS = ("id", "context", "test", "message")


def _rules(project: Project) -> RulesInText:
    """Return the rules of the project, or those of a rulebook without any."""
    found = rules_of(project)
    return rules_in(empty_rulebook("rules")) if found is None else found


def _version(rules: RulesInText) -> str:
    return hashlib.sha256(rules.text.source).hexdigest()[:16]


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    rules = _rules(project)
    asked = visit.parts["rule"]
    entry = None if asked == NEW else entry_at(rules, asked)
    draft, whole = _draft_runs(project, visit.query.get("draft", ""))
    tried = None if draft is None else _tried(rules, whole or draft, entry)
    shown = tried or entry
    values = {part: "" if shown is None else getattr(shown, part) for part in _PARTS}
    checked = checked_rules(project)
    known = [] if entry is None else facts_of(entry, checked.facts, current=checked.known)
    if entry is None and tried is None:
        values["context"] = _usual(_contexts(rules, project))
    others = [] if entry is None else [rules.entries[number - 1].named for number in entry.beside]
    return {
        "entry": entry,
        "values": values,
        "stamp": _version(rules),
        "soft": shown is not None and shown.soft,
        "others": others,
        "known": known[0] if known else None,
        "command": None if entry is None else _change_command(entry, {"test": "..."}),
        "contexts": _contexts(rules, project),
        "fields": _fields(project),
        **_outcome(_Tried(visit, project, rules, entry, draft, whole)),
    }


def _contexts(rules: RulesInText, project: Project) -> list[str]:
    """Return what rules are asked of, the most usual first; the records of the data where there are none."""
    said = Counter(one.context for one in rules.entries if one.context)
    read = described(project)
    own = "" if read is None else read.get("record", "").rpartition("/")[2]
    return [*dict.fromkeys([*(one for one, _ in said.most_common(20)), *([own] if own else [])])]


def _by_rule_names(typed: str, project: Project) -> str:
    """Name fields in the braces of a message as rules do, where they are named as columns."""
    names = {one["column"]: one["name"] for one in _fields(project)}
    return re.sub(r"\{([^{}]+)\}", lambda found: f"{{{names.get(found[1].strip(), found[1])}}}", typed)


def _usual(contexts: list[str]) -> str:
    """Return the most usual name of records, before all contexts that are more than a name."""
    names = (one for one in contexts if re.fullmatch(r"[\w.:-]+", one))
    return next(names, contexts[0] if contexts else "")


def _fields(project: Project) -> list[dict[str, Any]]:
    """Return the fields of the data: what rules call them, and what the file does."""
    read = described(project)
    return [] if read is None else [{"name": one["name"], "column": one["column"]} for one in read["fields"]]


def _spelled(text: str, project: Project) -> str:
    """Say how fields are written in a rule that it names as the file does."""
    found = [
        f"{one['name']} for “{one['column']}”"
        for one in _fields(project)
        if one["name"] not in (one["column"], f"@{one['column']}") and one["column"] in text
    ]
    return f"Rules name fields without blanks and signs: write {', '.join(found[:5])}." if found else ""


def _draft_runs(project: Project, name: str) -> tuple[CommandRun | None, CommandRun | None]:
    """Return the runs that try a draft out: of the rule, and of all; the first where only that is there is of all."""
    run = run_of(project, name)
    if run is None or run.step not in (run_kinds.DRAFT.step, run_kinds.DRAFT_WHOLE.step):
        return None, None
    whole = latest_run(project, run_kinds.DRAFT_WHOLE.step) if run.step == run_kinds.DRAFT.step else None
    return run, whole if whole is not None and whole.number == run.number + 1 else None


def _tried(rules: RulesInText, draft: CommandRun, entry: RuleEntry | None) -> RuleEntry | None:
    """Return the rule as it stands in a draft; None where the draft has another number of rules, or none."""
    try:
        after = rules_in(bytes_of(draft.folder / RULES) or b"")
    except RulebookError:
        return None
    if len(after.entries) != len(rules.entries) + (entry is None):
        return None
    return after.entries[(entry.number if entry is not None else _place_of(rules, after)) - 1]


def _place_of(before: RulesInText, after: RulesInText) -> int:
    """Return the number of the rule that was added."""
    for one, other in zip(before.entries, after.entries, strict=False):
        if (one.kind, one.id, one.test, one.context, one.message) != (
            other.kind, other.id, other.test, other.context, other.message,
        ):  # fmt: skip
            return other.number
    return len(after.entries)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A rule that is tried out."""

    visit: Visit
    project: Project
    rules: RulesInText
    entry: RuleEntry | None
    draft: CommandRun | None
    whole: CommandRun | None

    def facts(self, run: CommandRun) -> RuleFacts | None:
        """Return what a run has found out about the rule."""
        whole = self.whole or self.draft
        tried = None if whole is None else _tried(self.rules, whole, self.entry)
        result = run.result(RESULT) if run.state is RunState.ENDED else None
        if tried is None or result is None:
            return None
        return next(iter(facts_of(tried, facts_in(result), current=True)), None)


def _outcome(tried: _Tried) -> dict[str, Any]:
    """Return what the check of a draft has said so far."""
    nothing: dict[str, Any] = {"state": "none", "found": None, "error": None, "poll": "", "more": False}
    draft, whole = tried.draft, tried.whole
    if draft is None or draft.state in (RunState.CANCELLED, RunState.LOST):
        return nothing
    number = NEW if tried.entry is None else str(tried.entry.number)
    path = tried.visit.path(tried.project, f"rules/edit/{number}")
    polled = {**nothing, "poll": f"{path}?draft={draft.name}&again=1"}
    if not draft.is_over:
        return {**polled, "state": "active"}
    if draft.error is not None:
        typed = _tried(tried.rules, draft, tried.entry) if whole is None else _tried(tried.rules, whole, tried.entry)
        hint = (_spelled(typed.test, tried.project) if typed is not None else "") or draft.error.hint
        return {**nothing, "state": "error", "error": problem_of(replace(draft.error, hint=hint), at="test")}
    if whole is not None and whole.is_over and (found := tried.facts(whole)) is not None:
        return {**nothing, "state": "over", "found": found}
    found = tried.facts(draft)
    return {**polled, "state": "over" if found else "none", "found": found, "more": bool(whole and not whole.is_over)}


def _drafted(project: Project, visit: Visit, form: FormFields, *, trying: bool = False) -> tuple[bytes, str, str]:
    """Return the rulebook with what was typed, and what was done: in a sentence, and as a command.

    Raises
    ------
    UsageError
        It cannot be written like this, or the rules have changed meanwhile.
    """
    rules = _rules(project)
    if form.text("stamp") not in ("", _version(rules)):
        raise UsageError.of("page-outdated", reason="the rules have changed since; copy what you typed")
    typed = {part: form.text(part) for part in _PARTS if part in form.names}
    if "message" in typed:
        typed["message"] = _by_rule_names(typed["message"], project)
    if trying:  # what is not typed as yet is no mistake
        typed = {part: text for part, text in typed.items() if text or part == "test"}
        if visit.parts["rule"] == NEW:
            usual = next(iter(_contexts(rules, project)), "*")
            typed = {"context": usual, "message": "not said as yet", **typed}
    soft = form.text("soft") == "1"
    if visit.parts["rule"] == NEW:
        role = "warning" if soft else ""
        new = NewRule(
            typed.get("context", ""), typed.get("test", ""), typed.get("message", ""), typed.get("id", ""), role
        )
        command = _command("--add", {part: text for part, text in typed.items() if text}, soft=soft or None)
        return with_rules(rules, [new]), f"Rule {new.id or new.test} added", command
    entry = entry_at(rules, visit.parts["rule"])
    # the message is shown in one line, and what is shown is not what was typed
    changed = {part: text for part, text in typed.items() if " ".join(text.split()) != _shown(entry, part)}
    softened = soft if "soft_shown" in form.names and soft != entry.soft else None
    what = [*changed, *([] if softened is None else ["a warning from now on" if soft else "no warning any more"])]
    marked = {} if softened is None else {"role": "warning" if soft else ""}
    return (
        with_parts(rules, f"#{entry.number}", {**changed, **marked}),
        f"Rule {entry.named} changed: {', '.join(what) or 'nothing'}",
        _change_command(entry, changed, soft=softened),
    )


def _shown(entry: RuleEntry, part: str) -> str:
    return " ".join(str(getattr(entry, part)).split())


def _change_command(entry: RuleEntry, parts: dict[str, str], *, soft: bool | None = None) -> str:
    return _command(f"--change={entry.named}", parts, soft=soft)


def _command(what: str, parts: dict[str, str], *, soft: bool | None = None) -> str:
    words = [f"--{part}={text}" for part, text in parts.items()]
    words += [] if soft is None else ["--soft" if soft else "--hard"]
    return shlex.join(["masktron", "rules", RULES, what, *words])


def _check(visit: Visit, project: Project, form: FormFields) -> Redirect | Fragment:
    by_script = form.text("script") == "1"
    path = visit.path(project, f"rules/edit/{visit.parts['rule']}")
    try:
        draft, _, _ = _drafted(project, visit, form, trying=True)
    except UsageError as error:
        if not by_script:
            raise
        problem = problem_of(error, form.names)
        return Fragment("rule_checked.html", {**_ASKED, "state": "error", "error": problem})
    run = _try_out(visit, project, draft)
    if by_script:
        poll = f"{path}?draft={run.name}&again=1"
        return Fragment("rule_checked.html", {**_ASKED, "state": "active", "poll": poll})
    return Redirect(f"{path}?draft={run.name}")


_ASKED: Mapping[str, Any] = MappingProxyType({"error": None, "poll": "", "found": None, "more": False})


def _try_out(visit: Visit, project: Project, draft: bytes) -> CommandRun:
    """Start the runs that try a draft out, and return the one that ends first."""
    words = explain_arguments(project, page=False)
    after = rules_in(draft)
    number = visit.parts["rule"]
    name = f"#{number if number != NEW else _place_of(_rules(project), after)}"
    phase = "phase" in project.settings.table
    first = None if phase else alone(after, name)
    if first is None:
        return visit.try_out(project, run_kinds.DRAFT_WHOLE, words, {RULES: draft})
    files = {RULES: first, SETTINGS_FILE: project.settings.for_run(2, without=_OF_RULES)}
    run = visit.try_out(project, run_kinds.DRAFT, words, files)
    visit.try_out(project, run_kinds.DRAFT_WHOLE, words, {RULES: draft})
    return run


def _save(visit: Visit, project: Project, form: FormFields) -> Redirect:
    content, said, command = _drafted(project, visit, form)
    return saved(visit, project, {RULES: content}, f"{said} ({command})")


def _changed(visit: Visit, project: Project, form: FormFields, option: str) -> Redirect:
    rules = _rules(project)
    entry = entry_at(rules, visit.parts["rule"])
    if form.text("stamp") != _version(rules):
        raise UsageError.of("page-outdated", reason="the rules have changed since")
    name = f"#{entry.number}"
    content = without(rules, name) if option == "remove" else moved(rules, name, up=option == "up")
    done = {"remove": "removed", "up": "moved up", "down": "moved down"}[option]
    said = f"Rule {entry.named} {done} ({_command(f'--{option}={entry.named}', {})})"
    return saved(visit, project, {RULES: content}, said)


RULE_EDITOR = WebPage(
    "rule_editor",
    "rules/edit/{rule}",
    "A rule",
    _show,
    actions={
        "check": _check,
        "save": _save,
        "remove": lambda visit, project, form: _changed(visit, project, form, "remove"),
        "up": lambda visit, project, form: _changed(visit, project, form, "up"),
        "down": lambda visit, project, form: _changed(visit, project, form, "down"),
    },
)
