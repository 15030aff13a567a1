"""The rules of a file in another language, as far as that can say what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from masktron.config import Config
from masktron.errors import UsageError
from masktron.files import refuse_outputs
from masktron.jobs.rulebooks import levels_of, open_rulebook, plain_rules
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.results import RulesResult, WrittenRule, shown
from masktron.rulebook.plain.compiled import compiled
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.kinds import kinds_by_use, without_tolerance
from masktron.rulebook.plain.spelling import UnspelledError, name_of_rule, spelled, spelled_rule
from masktron.rulebook.plain.tree import Call, PlainRule, PlainRules, walk
from masktron.rulebook.plain_of_schematron import Translated, plain_of_rulebook
from masktron.rulebook.schema import Check, Rulebook
from masktron.rules_given import is_plain
from masktron.sources.opening import open_source
from masktron.write.atomic import atomic_path, blamed

type Language = Literal["schematron", "plain", "validate-yaml"]
_PASSES = "a rule in Schematron passes where a missing value leaves the plain rule undecided"
_UNSAID = (
    "a comparison with a missing value fails in the original, and is not decided here: a file of rules cannot say so"
)
_FAILS = "a rule that fails where a value is missing says so: !missing(FIELD)"


def run_rules_written(
    rulebook: Path,
    language: Language,
    data: Path | None = None,
    out: Path | None = None,
    *,
    config: Config | None = None,
    progress: Progress = no_progress,
) -> RulesResult:
    """Write the rules of a file in another language.

    Parameters
    ----------
    rulebook : Path
    language : str
        ``plain``, ``schematron`` or ``validate-yaml``.
    data : Path, optional
        A file that says how its records and fields are called; else each field has the name of its element, or its
        column.
    out : Path, optional
        The new file; else the result alone has its text.
    config : Config, optional
        How the data are read, and what means 'missing' in them.

    Raises
    ------
    RulebookError
        The rules cannot be read.
    UsageError
        They are in Schematron already.
    DocumentError
        The data cannot be read.
    """
    if out is not None:
        refuse_outputs({"the rules": out}, {"the rulebook": rulebook, "the data": data})
    config = config or Config()
    levels: tuple[Records, ...] = ()
    losses: list[str] = []
    if data is not None:
        levels = levels_of(open_source(data, reading=config.reading, progress=progress), config.missing)
    if language == "schematron":
        if not is_plain(rulebook):
            to = Setting("--to", ("schematron",))
            raise UsageError.of("setting-not-usable", name=to, reason="the rules are in Schematron already")
        rules = plain_rules(rulebook)
        records = levels or (Records(codes=config.missing),)
        text = _as_schematron(compiled(rules, records, rulebook))
        notes = [] if rules.missing_fails else [_PASSES]
    else:
        if is_plain(rulebook):
            rules = _with_tolerances(plain_rules(rulebook))
            notes = [_UNSAID] if rules.missing_fails and language == "plain" else []
        else:
            rules, losses, notes = _from_schematron(plain_of_rulebook(open_rulebook(rulebook), levels))
        write = _as_plain if language == "plain" else _as_yaml
        text = write(rules, losses, notes, rulebook.name)
    if out is not None:
        with atomic_path(out, released=True) as temporary, blamed(out):
            temporary.write_text(text, encoding="utf-8")
    return RulesResult(
        rulebook=shown(rulebook),
        output=None if out is None else shown(out),
        rules=(),
        text=text,
        losses=tuple(losses),
        notes=tuple(notes),
    )


def listed(rulebook: Path) -> RulesResult:
    """List the rules of a file of plain rules, or of R's package validate."""
    rules = plain_rules(rulebook)
    return RulesResult(
        rulebook=shown(rulebook),
        output=None,
        rules=tuple(
            WrittenRule(
                number=number,
                id=one.name,
                kind="plain",
                context="",
                test=one.written,
                message=one.label or one.description,
                line=one.line,
                locked="a rule in plain text is changed in a text editor",
                message_locked="",
                soft=one.severity != "error",
            )
            for number, one in enumerate(rules.rules, 1)
        ),
    )


def _with_tolerances(rules: PlainRules) -> PlainRules:
    kinds = kinds_by_use(one.node for one in rules.rules)
    return replace(
        rules,
        rules=tuple(
            replace(one, node=without_tolerance(one.node, one.tolerance, kinds), tolerance=("", ""))
            for one in rules.rules
        ),
    )


def _from_schematron(found: Sequence[Translated]) -> tuple[PlainRules, list[str], list[str]]:
    named: dict[str, PlainRule] = {}
    for rule in (one.rule for one in found if one.rule is not None):
        names = (f"{name_of_rule(rule.name)}{'' if at == 1 else f'-{at}'}" for at in count(1))
        name = next(name for name in names if name not in named)
        named[name] = replace(rule, name=name)
    rules = tuple(named.values())
    losses = [f"{one.check.id} (line {one.check.origin.line}): {one.reason}" for one in found if one.rule is None]
    caveats = [f"{one.check.id}: {caveat}" for one in found for caveat in one.caveats]
    missing = any(isinstance(part, Call) and part.function == "missing" for one in rules for part in walk(one.node))
    return PlainRules(rules), losses, [*([_FAILS] if missing else []), *caveats]


def _as_schematron(rules: Rulebook) -> str:
    binding = ' queryBinding="xslt2"' if rules.binding == "xslt2" else ""
    lines = [f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{binding}>']
    lines += [f"  <ns prefix={quoteattr(p)} uri={quoteattr(uri)}/>" for p, uri in rules.namespaces]
    for rule in (rule for pattern in rules.patterns for rule in pattern.rules):
        lines += ["  <pattern>", f"    <rule context={quoteattr(rule.context)}>"]
        lines += [*map(_assert, rule.checks), "    </rule>", "  </pattern>"]
    return "\n".join([*lines, "</schema>", ""])


def _assert(check: Check) -> str:
    role = f' role="{check.role}"' if check.role else ""
    said = escape(" ".join(map(str, check.message)).replace("\n", " "))
    return f"      <assert id={quoteattr(check.id)}{role} test={_attribute(check.test)}>{said}</assert>"


def _attribute(text: str) -> str:
    return quoteattr(text).replace("&gt;", ">")


def _as_plain(rules: PlainRules, losses: list[str], notes: list[str], name: str) -> str:
    lines = [*_said(rules, spelled_rule, losses)]
    return "\n".join([*_comments(losses, notes, name), *lines, ""])


def _as_yaml(rules: PlainRules, losses: list[str], notes: list[str], name: str) -> str:
    import yaml  # noqa: PLC0415 -- only files of validate need it

    entries = [*_said(rules, _entry, losses)]
    missing = {"na.value": False} if rules.missing_fails else {}
    content = {"options": {"lin.eq.eps": 0, "lin.ineq.eps": 0, **missing}, "rules": entries}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
    return "\n".join([*_comments(losses, notes, name), text])


def _said[T](rules: PlainRules, say: Callable[[PlainRule], T], losses: list[str]) -> Iterator[T]:
    """Yield rules in a language; what it cannot say goes to the losses."""
    for one in rules.rules:
        try:
            yield say(one)
        except UnspelledError as error:
            losses.append(f"{one.name} (line {one.line}): {error}")


def _entry(rule: PlainRule) -> dict[str, object]:
    said = {"expr": spelled(rule.node, in_r=True), "name": name_of_rule(rule.name)}
    said |= {"label": rule.label} if rule.label else {}
    said |= {"description": rule.description} if rule.description else {}
    meta = {} if rule.severity == "error" else {"meta": {"severity": rule.severity}}
    return {**said, **meta}


def _comments(losses: Sequence[str], notes: Sequence[str], name: str) -> list[str]:
    said = [f"from {name}", *notes, *(f"not carried over: {one}" for one in losses)]
    return [f"# {' '.join(one.split())}" for one in said]
