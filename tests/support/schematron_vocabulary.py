"""The vocabulary of ISO/IEC 19757-3:2016, :2020 and :2025, read from the RELAX NG schemas of the standard.

Attributes that the standard gives to an element stand beside it, those of later editions with their year. It is
written down apart from masktron's own table, which is compared with it. References (``see``) of properties are in the
text of the standard and in SVRL, not in its schemas.
"""

from __future__ import annotations

_RICH = "icon see fpi"
_WRITTEN = f"""
schema id schemaVersion defaultPhase queryBinding schematronEdition:2025 {_RICH}
library:2025 id {_RICH}
title
p id class icon
ns uri prefix
let name value as:2025
param name value
include href
extends rule href
phase id from:2025 when:2025 {_RICH}
active pattern
pattern id abstract is-a documents role:2025 {_RICH}
group:2025 id abstract is-a documents role {_RICH}
rules:2025 id {_RICH}
rule id abstract context flag role subject visit-each:2025 {_RICH}
assert test flag id diagnostics properties role subject severity:2025 {_RICH}
report test flag id diagnostics properties role subject severity:2025 {_RICH}
value-of select
name path
emph
dir value
span class
diagnostics
diagnostic id role:2020 {_RICH}
properties
property id role scheme {_RICH}
"""


def _editions() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _WRITTEN.split("\n"):
        element, *attributes = line.split() or [""]
        name, _, year = element.partition(":")
        if not name:
            continue
        found[name] = year or "2016"
        for attribute in attributes:
            key, _, later = attribute.partition(":")
            found[f"{name}/@{key}"] = later or found[name]
    return found


FIRST_EDITION = _editions()
"""The edition (2016, or a later one) that has an element or attribute first."""

_MESSAGE = "value-of name emph dir span"
_TOP = "title p let param group rules pattern diagnostics properties"
_RULES = "title p let rule param"
ELEMENTS_WITHIN = {
    parent: set(children.split())
    for parent, children in {
        "schema": f"{_TOP} ns phase",
        "library": _TOP,
        "phase": "p let active",
        "pattern": _RULES,
        "group": _RULES,
        "rules": "title p rule",
        "rule": "title p let assert report extends",
        "assert": _MESSAGE,
        "report": _MESSAGE,
        "diagnostic": _MESSAGE,
        "property": _MESSAGE,
        "diagnostics": "diagnostic",
        "properties": "property",
        "title": "dir",
        "p": "emph dir span",
        "active": "emph dir span",
        "emph": "value-of name",
        "dir": "value-of name",
        "span": "value-of name",
    }.items()
}
"""The elements that an element may hold in the latest edition; inclusions may stand anywhere."""
