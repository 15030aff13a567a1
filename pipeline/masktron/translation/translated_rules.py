"""What becomes of each rule of a rulebook when fields are recoded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import Literal

from masktron.rulebook.expressions.words import variables
from masktron.rulebook.schema import Check, Let, Part, Pattern, Rule, Rulebook, ValueOf

SPACE = "http://purl.oclc.org/dsdl/schematron"
_LET_GO = "let go, so that records of this file may break it; a warning here"
_UPWARD = re.compile(r"\.\.(?:/@?[\w:.-]+)*")
_NOT_IN_NAME = re.compile(r"[^\w.-]")
_NOTHING = (
    "  <!-- nothing is left to ask; a rulebook has to ask something -->",
    "  <pattern>",
    '    <rule context="*[not(parent::*)]">',
    '      <assert id="nothing-left" test="true()">There is a document.</assert>',
    "    </rule>",
    "  </pattern>",
)
"""Where no rule is left: Schematron has no rulebook without one."""


@dataclass(frozen=True, slots=True)
class TranslatedCheck:
    """What is written for a check that reads recoded fields.

    Attributes
    ----------
    fate, old : str
        What became of it, and what it was in mathematics.
    test, context : str
        Empty where it is not asked any more.
    reason : str
        Why it is lost.
    focus : str
        The path from the record to the nodes on which the rule was asked before, where that was no record.
    """

    fate: str
    old: str
    test: str
    context: str
    reason: str
    focus: str = ""


def schematron_of(
    rulebook: Rulebook,
    changed: Mapping[int, TranslatedCheck],
    left_out: Collection[tuple[int, int]],
    title: str,
    named: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    let_go: Collection[str] = (),
) -> bytes:
    """Return a rulebook in which some checks are others, in UTF-8.

    Parameters
    ----------
    rulebook : Rulebook
    changed : mapping of int to TranslatedCheck
        By index of the check; all others are written as they are.
    left_out : collection of (int, int)
        Rules that keep no node from a check that is written, by the positions of pattern and rule.
    title : str
    named : mapping of str to mapping of str to str
        By field, what classes are called of which numbers stand in the file.
    let_go : collection of str
        Ids of rules that the records may break: where they are hard, they become warnings.
    """
    attributes = {"xmlns": SPACE}
    if rulebook.binding != "xslt":
        attributes["queryBinding"] = rulebook.binding
    if rulebook.about.edition:
        attributes["schematronEdition"] = rulebook.about.edition
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _tag("schema", attributes), f"  {_element('title', title)}"]
    lines += [f"  {_tag('ns', {'prefix': p, 'uri': uri}, empty=True)}" for p, uri in rulebook.namespaces if p]
    for coded, names in named.items():
        classes = ", ".join(f"{code} is {name}" for code, name in names.items())
        lines.append(f"  <!-- {_comment(f'{coded}: {classes}')} -->")
    body: list[str] = []
    read: list[str] = []
    taken = {_name(check.id) for check in rulebook.checks}
    for at, pattern in enumerate(rulebook.patterns):
        rules = [rule for position, rule in enumerate(pattern.rules) if (at, position) not in left_out]
        body += _kept(pattern, rules, changed, taken, let_go, read)
        for rule in pattern.rules:
            for check in rule.checks:
                if check.index in changed:
                    body += _new(pattern, rule, check, changed[check.index], let_go, read)
    if not any(line.startswith("  <pattern") for line in body):
        body += _NOTHING
    lines += [f"  {_let(let)}" for let in _used(rulebook.lets, read)]
    return ("\n".join([*lines, *body, "</schema>"]) + "\n").encode()


def _kept(
    pattern: Pattern,
    rules: list[Rule],
    changed: Mapping[int, TranslatedCheck],
    taken: set[str],
    let_go: Collection[str],
    read: list[str],
) -> Iterator[str]:
    """Write what is kept of a pattern; `read` gets the expressions.

    A rule of which no check is kept stays before others, without checks, as it keeps nodes from them.
    """
    while rules and not any(check.index not in changed for check in rules[-1].checks):
        rules.pop()
    if not rules:
        return
    lines: list[str] = []
    within: list[str] = []
    for rule in rules:
        own = [check for check in rule.checks if check.index not in changed]
        inner = [line for check in own for line in _assertion(check, check.kind, let_go)]
        asked = [expression for check in own for expression in _expressions(check)]
        lets = _used(rule.lets, asked)
        within += [rule.context, *asked, *(let.value for let in lets)]
        lines += [f"    {_tag('rule', {'context': rule.context})}", *(f"      {_let(let)}" for let in lets)]
        lines += [*inner, "    </rule>"]
    attributes = {}
    if (name := _name(pattern.id)) not in taken:
        taken.add(name)
        attributes["id"] = name
    yield f"  {_tag('pattern', attributes)}"
    lets = _used(pattern.lets, within)
    read += [*within, *(let.value for let in lets)]
    yield from (f"    {_let(let)}" for let in lets)
    yield from lines
    yield "  </pattern>"


def _new(
    pattern: Pattern, rule: Rule, check: Check, new: TranslatedCheck, let_go: Collection[str], read: list[str]
) -> Iterator[str]:
    """Write one translated check, or a comment in the place of one that is not asked; `read` gets the expressions."""
    why = f" ({new.reason})" if new.reason else ""
    yield f"  <!-- {_name(check.id)}: {_comment(new.fate + why)}; it was: {_comment(new.old)} -->"
    if not new.test:
        return
    said = tuple(_at_record(part, new.focus) for part in check.text)
    subject = None if new.focus else check.subject
    written = replace(check, test=new.test, message=said, subject=subject)
    asked = [*_expressions(written), new.context]
    inner = _used(rule.lets, asked)
    asked += [let.value for let in inner]
    outer = _used(pattern.lets, asked)
    read += [*asked, *(let.value for let in outer)]
    yield "  <pattern>"
    yield from (f"    {_let(let)}" for let in outer)
    yield f"    {_tag('rule', {'context': new.context})}"
    yield from (f"      {_let(let)}" for let in inner)
    yield from _assertion(written, "assert", let_go)
    yield "    </rule>"
    yield "  </pattern>"


def _at_record(part: Part, focus: str) -> Part:
    """Write what a message shows of a field as it is read at the record; what is no path from it is left out."""
    if not focus or not isinstance(part, ValueOf):
        return part
    if part.select in ("", "."):
        return replace(part, select=focus)
    return replace(part, select=f"{focus}/{part.select}") if _UPWARD.fullmatch(part.select) else "..."


def _expressions(check: Check) -> Iterator[str]:
    """Yield what a check asks and shows."""
    yield check.test
    yield from (part.select for part in check.text if isinstance(part, ValueOf))
    if check.subject:
        yield check.subject


def _assertion(check: Check, kind: str, let_go: Collection[str]) -> Iterator[str]:
    softened = check.id in let_go and not check.soft
    if softened:
        yield f"      <!-- {_name(check.id)}: {_LET_GO} -->"
    attributes = {"id": check.id, "test": check.test}
    given = {
        "role": "warning" if softened else check.role,
        "flag": check.flag,
        "severity": check.severity,
        "subject": check.subject,
    }
    given |= {"see": check.rich.see, "icon": check.rich.icon, "fpi": check.rich.fpi, "xml:lang": check.rich.lang}
    attributes |= {name: value for name, value in given.items() if value}
    yield f"      {_tag(kind, attributes)}{''.join(map(_part, check.text))}</{kind}>"


def _part(part: str | ValueOf) -> str:
    if isinstance(part, str):
        return escape(part, quote=False)
    if part.is_name:
        return _tag("name", {"path": part.select} if part.select else {}, empty=True)
    return _tag("value-of", {"select": part.select}, empty=True)


def _used(lets: Iterable[Let], expressions: Iterable[str]) -> list[Let]:
    """Return the variables that expressions read, and those that these read."""
    names = {name for expression in expressions for name in variables(expression)}
    found: list[Let] = []
    for let in reversed(list(lets)):
        if let.name in names:
            names |= variables(let.value)
            found.insert(0, let)
    return found


def _let(let: Let) -> str:
    return _tag("let", {"name": let.name, "value": let.value}, empty=True)


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(text, quote=False)}</{name}>"


def _tag(name: str, attributes: Mapping[str, str], *, empty: bool = False) -> str:
    given = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{given}{'/' if empty else ''}>"


def _attribute(value: str) -> str:
    """Write the value of an attribute, of which a parser makes one space of each line break that stands there."""
    text = escape(value, quote=False).replace('"', "&quot;")
    return text.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("--", "- -").rstrip("-")


def _name(text: str) -> str:
    return _NOT_IN_NAME.sub("-", text)


type Fate = Literal["kept", "exact", "implied", "weakened", "vacuous", "removed", "lost"]


@dataclass(frozen=True, slots=True)
class TranslatedRule:
    """One check and what became of it.

    Attributes
    ----------
    id : str
        That of the check, before and after.
    index : int
        Position of the check in the rulebook that was translated, from 0.
    fate : {"kept", "exact", "implied", "weakened", "vacuous", "removed", "lost"}
        ``kept``: it reads no recoded field and stays as it is written. ``exact``: all values of a class agree on it,
        so that nothing is lost. ``implied``: every value of each class obeys it, and a record without a value does;
        it is not asked any more. ``weakened``: it asks whether values of the classes could obey the old rule.
        ``vacuous``: in each class some value obeys it, whatever the other fields, so that it asks nothing any more of
        any class; at most what has none is asked. ``removed``: it reads a field that the file does
        not have any more, and is not asked. ``lost``: it cannot be translated.
    old, new : str
        The rule before and after, in mathematics, or as written where it has no form; ``new`` is empty where the
        rule is not asked any more.
    test : str
        The XPath of the new rule; empty where it is not asked any more.
    context : str
        The nodes on which it is asked; empty where it is not asked any more.
    reason : str
        Why it is lost or removed, with which other rules it is asked since they say more together, or that it asks
        nothing any more; else empty.
    fields : tuple of str
        The recoded fields that it reads, sorted.
    focus : str
        Where it was asked on nodes below the record and is asked on the record now: the path to them.
    """

    id: str
    index: int
    fate: Fate
    old: str
    new: str
    test: str
    context: str
    reason: str = ""
    fields: tuple[str, ...] = ()
    focus: str = ""

    @property
    def changed(self) -> bool:
        """Whether it is not as it was."""
        return self.fate != "kept"


@dataclass(frozen=True, slots=True)
class Translation:
    """A rulebook for the recoded file.

    Attributes
    ----------
    rulebook : Rulebook
        The rulebook that was translated.
    rules : tuple of TranslatedRule
        One for each check, by index.
    left_out : frozenset of (int, int)
        Rules whose context reads recoded fields, each as the positions of its pattern and of itself there. No check
        that is kept is asked on a node that such a rule could take: it would read the fields as well.
    let_go : frozenset of str
        Ids of rules that records may break: the translated rulebook asks them softly.
    """

    rulebook: Rulebook = field(repr=False)
    rules: tuple[TranslatedRule, ...]
    left_out: frozenset[tuple[int, int]] = frozenset()
    let_go: frozenset[str] = frozenset()

    @property
    def lost(self) -> tuple[TranslatedRule, ...]:
        """The rules that cannot be translated."""
        return tuple(rule for rule in self.rules if rule.fate == "lost")

    @property
    def asked(self) -> tuple[TranslatedRule, ...]:
        """The rules that the translated rulebook asks."""
        return tuple(rule for rule in self.rules if rule.test)

    def schematron(self, title: str, named: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> bytes:
        """Return the translated rulebook, in UTF-8.

        Patterns, variables and rules that no recoded field concerns are as they were. Each translated check has a
        pattern of its own, whose context is the record, with a comment that says its fate and the old rule. Rules
        that are not asked any more are named in comments. A hard rule that was let go has the role of a
        warning, with a comment, since whoever gets file and rulebook would find the file broken otherwise. What a
        phase left out is left out. Where no rule is left, one stands there that every document obeys, since
        Schematron has no rulebook without a rule.

        Parameters
        ----------
        title : str
        named : mapping of str to mapping of str to str
            By field, what classes are called of which numbers stand in the file: a comment says it.
        """
        written: Mapping[int, TranslatedCheck] = {
            rule.index: TranslatedCheck(rule.fate, rule.old, rule.test, rule.context, rule.reason, rule.focus)
            for rule in self.rules
            if rule.changed
        }
        return schematron_of(self.rulebook, written, self.left_out, title, named, self.let_go)
