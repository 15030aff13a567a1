"""Households with their persons in one table, as the form of the data says them: ``[levels]`` of the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from masktron.errors import UsageError
from masktron.level_settings import LevelSetting
from masktron.sources.known_formats import XML, known_formats
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields

(_NESTING,) = known_formats(XML)
"""The format whose files say themselves which records stand in which."""


def levels_shown(project: Project) -> dict[str, Any] | None:
    """Return what the form shows: a field for each part, and whether anything is said.

    None where settings are broken, or where the file itself says what its levels are.
    """
    try:
        config = project.settings.config
    except UsageError:  # whoever wants to read the file is told
        return None
    data = project.data()
    if data is None or config.format == XML or data.lower().endswith(_NESTING.suffixes):
        return None
    levels = config.levels
    two = list(levels.values())
    unit, member = two if len(two) == 2 else (LevelSetting("Household"), LevelSetting("Person"))
    return {
        "unit": unit.name,
        "unit_key": ", ".join(unit.key),
        "unit_fields": ", ".join(unit.fields or ()),
        "member": member.name,
        "member_key": ", ".join(member.key),
        "any": bool(levels),
        "more": len(two) > 2,
    }


def levels_said(form: FormFields) -> Mapping[str, Any] | None:
    """Return the levels that a form says, as settings hold them; None where it says none.

    Raises
    ------
    UsageError
        The record above or that within has no name.
    """
    key = _columns(form.text("unit_key"))
    if not key:
        return None
    unit, member = form.text("unit"), form.text("member")
    for field, name in (("unit", unit), ("member", member)):
        if not name:
            raise UsageError(f"{field}: a name is missing", hint="the name by which rules call it, such as Household")
    if unit == member:
        raise UsageError(f"member: {member} is the name of both", hint="such as Household and Person")
    above: dict[str, Any] = {"key": _plainly(key)}
    if own := _columns(form.raw("unit_fields")):
        above["fields"] = own
    within: dict[str, Any] = {"same_table": True}
    if own := _columns(form.text("member_key")):
        within["key"] = _plainly(own)
    return {unit: above, member: within}


def _columns(text: str) -> list[str]:
    """Return the columns that a text names, as people type them and as a message of masktron shows them."""
    listed = re.sub(r"^\s*fields\s*=\s*", "", text).strip().removeprefix("[").removesuffix("]")
    return [name for part in re.split(r"[,;\n]", listed) if (name := part.strip().strip("\"'").strip())]


def _plainly(columns: list[str]) -> str | list[str]:
    """Return the columns of a key as somebody would write them."""
    return columns[0] if len(columns) == 1 else columns
