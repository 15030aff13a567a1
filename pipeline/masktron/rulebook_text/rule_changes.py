"""One change of a rule in a file, or rules that `masktron suggest` adds; all other bytes stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masktron.errors import UsageError
from masktron.problems.problem import Rule, Setting
from masktron.rulebook_text.rule_entries import (
    SETS,
    RuleEntry,
    RulesInText,
    escaped,
    is_abstract,
    message_markup,
    quoted,
    rules_in,
)
from masktron.rulebook_text.spans import NAMESPACES, Element

_NAME = re.compile(r"[^\W\d][\w.\-·]*")
_PARTS = ("id", "context", "test", "message")


@dataclass(frozen=True, slots=True)
class NewRule:
    """A rule to add.

    Attributes
    ----------
    context, test, message : str
    id, role : str
        Empty where it gets none.
    """

    context: str
    test: str
    message: str
    id: str = ""
    role: str = ""


def with_parts(rules: RulesInText, name: str, parts: Mapping[str, str]) -> bytes:
    """Change id, context, test, message or role of a rule; what says the same as before is not touched.

    Parameters
    ----------
    rules : RulesInText
    name : str
        Its id, or ``#`` and its number.
    parts : mapping of str to str

    Raises
    ------
    UsageError
        It cannot be changed, or not like this.
    """
    entry = rules.entry(name)
    if entry.locked:
        raise _locked(entry, "changed", entry.locked)
    check = rules.elements[entry.number - 1]
    rule = _parent(check)
    wanted = {part: _plain(text) for part, text in parts.items() if _plain(text) != _plain(getattr(entry, part))}
    _require(rules, wanted, entry)
    edits = []
    for part, element in (("test", check), ("id", check), ("role", check), ("context", rule)):
        if part in wanted:
            edits.append(_attribute(rules, element, part, wanted[part]))
    if "message" in wanted:
        edits.append(_content(rules, check, message_markup(wanted["message"], rules.text)))
    return _checked(rules, _replaced(rules.text.source, edits), len(rules.entries))


def with_rules(rules: RulesInText, added: Sequence[NewRule], namespaces: Mapping[str, str] | None = None) -> bytes:
    """Add rules after the last pattern: a pattern for each context, so that no rule of the file takes their records.

    Parameters
    ----------
    rules : RulesInText
    added : sequence of NewRule
        An id that is taken gets a number.
    namespaces : mapping of str to str, optional
        Prefixes of the new rules, with what they stand for.

    Raises
    ------
    UsageError
        A part of one is empty or cannot be written.
    """
    root = rules.text.root
    if root.name != "schema":
        raise UsageError.of("not-a-rulebook", element=root.name)
    taken = set(rules.ids)
    by_context: dict[str, list[NewRule]] = {}
    for one in added:
        _require(rules, {part: _plain(getattr(one, part)) for part in _PARTS[1:]}, None)
        name = _free(one.id, taken)
        by_context.setdefault(_plain(one.context), []).append(
            NewRule(_plain(one.context), _plain(one.test), _plain(one.message), name, one.role)
        )
    prefixes = _prefix_markup(rules, namespaces or {})
    text = "".join(_pattern_markup(rules, context, own) for context, own in by_context.items())
    source = rules.text.source
    if root.inner == root.end:  # <schema/>
        name = rules.text.tag_name(root)
        edits = [(root.inner - 2, root.inner, rules.text.encoded(f">{prefixes}{text}{_newline(rules)}</{name}>"))]
    else:
        edits = [
            (_after(root, "ns", "title"), _after(root, "ns", "title"), rules.text.encoded(prefixes)),
            (place := _after(root, *SETS), place, rules.text.encoded(text)),
        ]
    return _checked(rules, _replaced(source, edits), len(rules.entries) + len(added))


def without(rules: RulesInText, name: str) -> bytes:
    """Remove a rule; what is left of its pattern means what it has meant.

    A rule element whose last check goes stays where rules of the pattern come after it, as it keeps its records from
    them; else it goes, and its pattern with it where that has no other.

    Raises
    ------
    UsageError
        It stands in another file, or a phase names its pattern, which would be empty.
    """
    entry = rules.entry(name)
    element = rules.elements[entry.number - 1]
    if not entry.removable:
        raise _locked(entry, "removed", entry.locked)
    gone = element
    rule = element.parent
    if entry.kind != "instance" and rule is not None and len(entry.together) == 1:
        found = _parent(rule)
        others = [one for one in found.children if one.name in ("rule", "include")]
        if others[-1] is rule and not rule.of("extends", "include"):  # which bring it checks of others
            gone = rule
            if len(others) == 1 and found.parent is not None:
                gone = found
    named = gone.attributes.get("id", "") if gone.name in SETS else ""
    if (phase := rules.phases.get(named)) is not None and named:
        raise _locked(entry, "removed", f"phase {phase!r} names its pattern {named!r}")
    left = len(rules.entries) - 1
    return _checked(rules, _replaced(rules.text.source, [_gone(rules, gone)]), left)


def moved(rules: RulesInText, name: str, *, up: bool) -> bytes:
    """Change places with the rule before, or after.

    Checks of one rule element change places; else their patterns do, since the order of the rules in a pattern says
    which of them a record gets.

    Raises
    ------
    UsageError
        It is the first, or the last, or stands in another file.
    """
    entry = rules.entry(name)
    if entry.kind == "include":
        raise _locked(entry, "moved", entry.locked)
    one: Element | None = rules.elements[entry.number - 1]
    while one is not None and one.parent is not None:
        siblings = [other for other in one.parent.children if _alike(one, other)]
        at = siblings.index(one) + (-1 if up else 1)
        if 0 <= at < len(siblings) and one.name != "rule":
            first, second = sorted((one, siblings[at]), key=lambda element: element.start)
            source = rules.text.source
            edits = [
                (first.start, first.end, source[second.start : second.end]),
                (second.start, second.end, source[first.start : first.end]),
            ]
            return _checked(rules, _replaced(source, edits), len(rules.entries))
        one = one.parent
    raise _locked(entry, "moved", f"it is the {'first' if up else 'last'} already")


def _locked(entry: RuleEntry, done: str, reason: str) -> UsageError:
    return UsageError.of("not-in-place", what=Rule(entry.named), done=done, reason=reason)


def alone(rules: RulesInText, name: str) -> bytes | None:
    """Return a rulebook with the pattern of a rule and no other, in which each rule has the line that it had.

    Returns
    -------
    bytes or None
        None where what is left would mean something else: a phase is the default, or the rule stands elsewhere.
    """
    root = rules.text.root
    kept: Element | None = rules.elements[rules.entry(name).number - 1]
    while kept is not None and kept.parent is not root:
        kept = kept.parent
    if kept is None or kept.name not in SETS or "defaultPhase" in root.attributes:
        return None
    source = rules.text.source
    gone = [
        one
        for one in root.children
        if one is not kept and (one.name == "phase" or (one.name in SETS and not is_abstract(one)))
    ]
    return _replaced(source, [(one.start, one.end, b"\n" * source.count(b"\n", one.start, one.end)) for one in gone])


def empty_rulebook(title: str) -> bytes:
    """Return a rulebook without rules, to which some are added."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<schema xmlns="{NAMESPACES[0]}">\n  <title>{escaped(title, "title")}</title>\n</schema>\n'
    ).encode()


def _alike(one: Element, other: Element) -> bool:
    kinds: tuple[tuple[str, ...], ...] = (("assert", "report"), SETS, ("rule",))
    return any(one.name in names and other.name in names for names in kinds)


def _parent(element: Element) -> Element:
    if element.parent is None:
        raise AssertionError
    return element.parent


def _plain(text: str) -> str:
    """Return a text as a parser reads it in an attribute, without white space around it."""
    return re.sub(r"\r\n|[\t\r\n]", " ", text).strip()


def _require(rules: RulesInText, wanted: Mapping[str, str], entry: RuleEntry | None) -> None:
    if empty := next((part for part in ("context", "test", "message") if wanted.get(part) == ""), None):
        raise UsageError.of("bad-value", name=Setting(empty), expected="a text", given="empty")
    if entry is not None and "message" in wanted and entry.message_locked:
        raise _locked(entry, "given another message", entry.message_locked)
    name = wanted.get("id", "")
    if name in rules.ids and name:
        raise UsageError.of("name-taken", kind=Setting("id"), name=name, first="in this rulebook")
    _require_name(name)


def _require_name(name: str) -> None:
    if name and not _NAME.fullmatch(name):
        expected = "a letter, then letters, digits, '.', '-' and '_', as in income-sum"
        raise UsageError.of("bad-value", name=Setting("id"), expected=expected, given=repr(name))


def _attribute(rules: RulesInText, element: Element, name: str, text: str) -> tuple[int, int, bytes]:
    found = rules.text.attribute_places(element).get(name)
    if found is None:
        place = element.start + 1 + len(rules.text.encoded(rules.text.tag_name(element)))
        return place, place, rules.text.encoded(f" {name}={quoted(text, name)}") if text else b""
    start, end = found
    quote = rules.text.source[start : start + 1].decode()
    if name in ("id", "role") and not text:  # with the white space before it
        tag = rules.text.source[element.start : start]
        begin = element.start + len(re.sub(rb"\s+\w+\s*=\s*\Z", b"", tag))
        return begin, end, b""
    return start, end, rules.text.encoded(quoted(text, name, quote))


def _content(rules: RulesInText, check: Element, markup: str) -> tuple[int, int, bytes]:
    if check.inner == check.end:
        name = rules.text.tag_name(check)
        return check.inner - 2, check.inner, rules.text.encoded(f">{markup}</{name}>")
    inside = rules.text.source[check.inner : check.close]
    before = len(inside) - len(inside.lstrip())
    after = len(inside.rstrip()) if inside.strip() else before
    return check.inner + before, check.inner + after, rules.text.encoded(markup)


def _gone(rules: RulesInText, element: Element) -> tuple[int, int, bytes]:
    """Return the span of an element, with its lines where nothing else stands on them."""
    source = rules.text.source
    start = rules.text.line_start(element.start)
    rest = re.compile(rb"[ \t]*(\r?\n)").match(source, element.end)
    if start is None or rest is None:
        return element.start, element.end, b""
    return start, rest.end(), b""


def _replaced(source: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    # of two at one place the first comes first
    for start, end, text in reversed(sorted(edits, key=lambda edit: edit[:2])):  # noqa: C413 -- it is stable
        source = source[:start] + text + source[end:]
    return source


def _checked(before: RulesInText, source: bytes, number: int) -> bytes:
    """Return a changed file, which is read once more."""
    after = rules_in(source)
    if len(after.entries) != number:
        raise AssertionError(f"{len(before.entries)} rules became {len(after.entries)}, not {number}")
    return source


def _free(name: str, taken: set[str]) -> str:
    if not name:
        return ""
    _require_name(name)
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


def _after(root: Element, *names: str) -> int:
    """Return the place after the last child of these names, or of those that stand before them."""
    order = ("title", "ns", "p", "let", "phase", "extends", "include", *SETS)
    last = max(order.index(name) for name in names)
    found = [one.end for one in root.children if one.name in names]
    return max(found or [one.end for one in root.children if one.name in order[: last + 1]], default=root.inner)


def _indent(rules: RulesInText) -> str:
    """Return the white space that is put before the elements of the schema."""
    for one in rules.text.root.children:
        if (start := rules.text.line_start(one.start)) is not None:
            return rules.text.source[start : one.start].decode(rules.text.encoding)
    return "  "


def _newline(rules: RulesInText) -> str:
    return "\r\n" if b"\r\n" in rules.text.source else "\n"


def _names(rules: RulesInText) -> str:
    prefix = rules.text.tag_name(rules.text.root).rpartition(":")[0]
    return f"{prefix}:" if prefix else ""


def _prefix_markup(rules: RulesInText, namespaces: Mapping[str, str]) -> str:
    """Return the declarations of prefixes that the file lacks.

    Raises
    ------
    UsageError
        A prefix stands for something else there.
    """
    known = {one.attributes.get("prefix"): one.attributes.get("uri") for one in rules.text.root.of("ns")}
    lines = ""
    for prefix, uri in namespaces.items():
        if known.get(prefix, uri) != uri:
            raise UsageError.of("name-taken", kind="prefix", name=prefix, first=f"for {known[prefix]}")
        if prefix not in known:
            lines += (
                f"{_newline(rules)}{_indent(rules)}<{_names(rules)}ns prefix={quoted(prefix, 'prefix')} "
                f"uri={quoted(uri, 'uri')}/>"
            )
    return lines


def _pattern_markup(rules: RulesInText, context: str, own: Sequence[NewRule]) -> str:
    unit, names, line = _indent(rules), _names(rules), _newline(rules)
    lines = [f"{unit}<{names}pattern>", f"{unit * 2}<{names}rule context={quoted(context, 'context')}>"]
    for one in own:
        name = f" id={quoted(one.id, 'id')}" if one.id else ""
        name += f" role={quoted(one.role, 'role')}" if one.role else ""
        lines += [
            f"{unit * 3}<{names}assert{name} test={quoted(one.test, 'test')}>",
            f"{unit * 4}{message_markup(one.message, rules.text)}",
            f"{unit * 3}</{names}assert>",
        ]
    lines += [f"{unit * 2}</{names}rule>", f"{unit}</{names}pattern>"]
    return line + line.join(lines)


def accepted_rules(found: Mapping[str, Any], wanted: Iterable[str]) -> tuple[list[NewRule], dict[str, str]]:
    """Return the proposals that are accepted, in their order, and the prefixes that they use.

    Parameters
    ----------
    found : mapping
        The JSON of `masktron suggest`.
    wanted : iterable of str
        Numbers or ids.

    Raises
    ------
    UsageError
        It is no such JSON, there is no such proposal, or none is wanted.
    """
    if found.get("job") != "suggest":
        raise UsageError.of("not-suggested-rules")
    proposals = found["proposals"]
    known = {name: one for one in proposals for name in (str(one["number"]), one["id"])}
    chosen = list(wanted)
    if missing := [name for name in chosen if name not in known] or [""][: not chosen]:
        expected, given = f"numbers from 1 to {len(proposals)}, or ids", repr(missing[0])
        raise UsageError.of("bad-value", name=Setting("accept"), expected=expected, given=given)
    ids = {known[name]["id"] for name in chosen}
    rules = [NewRule(one["context"], one["test"], one["message"], one["id"]) for one in proposals if one["id"] in ids]
    return rules, dict(found.get("namespaces", {}))
