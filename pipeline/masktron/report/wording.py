"""How reports put rules, findings and values into words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

from masktron.judge import MemberValues
from masktron.results import RuleResult
from masktron.rulebook.schema import Check, ValueOf

ILLEGAL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPECIAL = re.compile('[&<>"\0-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')
_QUOTED = re.compile(r"[;\"\0-\x1f\x7f-\x9f\ud800-\udfff]|^\s|\s$|^$")


def rule_text(check: Check) -> str:
    """Return the text of a rule without any value: the expressions of ``value-of`` in brackets in their places."""
    parts = (part if isinstance(part, str) else f"[{_asked(part)}]" for part in check.text)
    return " ".join("".join(parts).split())


def _asked(part: ValueOf) -> str:
    return f"name of {part.select}" if part.is_name else part.select


def values_text(values: Iterable[tuple[str, str | None]], among: Iterable[MemberValues] = ()) -> str:
    """Return the variables of a finding on one line: ``V1=5; V7 absent; NAME="a;b"; Age=40 | 38 (3 more)``."""
    own = [f"{name} absent" if text is None else f"{name}={_value(text)}" for name, text in values]
    return "; ".join([*own, *map(_of_members, among)])


def _of_members(found: MemberValues) -> str:
    more = f" ({found.more:,} more)" if found.more else ""
    return f"{found.name}={' | '.join(map(_value, found.texts))}{more}"


def _value(text: str) -> str:
    return text if _QUOTED.search(text) is None else json.dumps(text, ensure_ascii=False)


def counts_text(rule: RuleResult) -> str:
    """Return how often a rule failed, and how often it may."""
    failed = f"failed on {rule.failed} of {rule.fired} nodes"
    errors = f", errors on {rule.errors}" if rule.errors else ""
    return f"{failed}{errors}" + ("" if rule.allowed is None else f" ({rule.allowed} allowed)")


def xml_text(text: str) -> str:
    """Return a text as XML holds it, in content or in quotes; what XML cannot hold is replaced."""
    if _SPECIAL.search(text) is None:
        return text
    legal = ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
    return escape(legal, {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def is_name(text: str) -> bool:
    """Whether a text is an NCName, as identifiers in SVRL have to be; those beyond ASCII are left out."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9._-]*", text) is not None
