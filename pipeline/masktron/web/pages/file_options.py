"""How a file is written, as forms say it: options of its format, and words for those that hints name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from masktron.errors import FormatOption, UsageError
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import ToldError, latest_run
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields


@dataclass(frozen=True, slots=True)
class _Choice:
    """An option of text with delimiters, and the values that a form offers for it."""

    name: str
    label: str
    values: Mapping[str, str]


_CHOICES = (
    _Choice(
        "delimiter",
        "Between cells",
        {
            "": "found by itself",
            "comma": "comma",
            "semicolon": "semicolon",
            "tab": "tab",
            "bar": "bar |",
            "space": "blank",
        },
    ),
    _Choice("decimal", "Decimal sign", {"": "point; doubts are asked about", "point": "point", "comma": "comma"}),
    _Choice(
        "grouping",
        "Between groups of three digits",
        {"": "nothing", "point": "point", "comma": "comma", "space": "blank"},
    ),
    _Choice(
        "encoding",
        "Encoding of letters",
        {
            "": "UTF-8, or as the file says",
            "cp1252": "Windows-1252, of Western Europe",
            "cp1250": "Windows-1250, of Central Europe",
            "iso8859-15": "ISO 8859-15, Latin 9",
            "iso8859-1": "ISO 8859-1, Latin 1",
            "cp850": "DOS 850",
            "mac-roman": "Mac OS Roman",
            "utf-16-le": "UTF-16, little-endian",
            "utf-16-be": "UTF-16, big-endian",
        },
    ),
    _Choice(
        "header",
        "First line",
        {"": "names of columns; doubts are asked about", "yes": "names of columns", "no": "a record"},
    ),
    _Choice("quote", "Quotes", {"": 'cells may stand in " "', "none": "plain characters"}),
)
_BY_NAME = {one.name: one for one in _CHOICES}
_NULL = "null"
_NULL_LABEL = "Texts for “no value”"
_BUTTONS = {
    "encoding": "Read it as {}",
    "decimal": "The decimal sign is a {}",
    "grouping": "Between groups of digits stands a {}",
    "header": "The first line is: {}",
    "quote": "Quotes are {}",
}
_TEXT = (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
_OPTION = re.compile(r"--format-option (\w+)=('[^']*'|[^\s,;]*[^\s,;.])")


def options_shown(project: Project) -> dict[str, Any] | None:
    """Return what the form shows, as settings say it now and what can be said; None where they are broken."""
    try:
        said = dict(project.settings.config.format_options)
    except UsageError:  # whoever wants to read the file is told
        return None
    data = project.data() or ""
    is_text = data.lower().endswith(_TEXT) or any(name in said for name in (*_BY_NAME, _NULL))
    known = {*_BY_NAME, _NULL} if is_text else set()
    return {
        "choices": [
            {
                "name": one.name,
                "label": one.label,
                "value": said.get(one.name, ""),
                # what somebody has written by hand stays
                "options": list({**one.values, **_own(said.get(one.name, ""), one)}.items()),
            }
            for one in _CHOICES
            if is_text
        ],
        "null": said.get(_NULL, "") if is_text else None,
        "null_label": _NULL_LABEL,
        "other": "\n".join(f"{name}={value}" for name, value in said.items() if name not in known),
        "any": bool(said),
    }


def _own(value: str, choice: _Choice) -> dict[str, str]:
    return {} if value in choice.values else {value: value}


def options_said(project: Project, form: FormFields) -> dict[str, str]:
    """Return the options that a form says.

    Raises
    ------
    UsageError
        One has no such value, or a line is no NAME=VALUE.
    """
    before = project.settings.config.format_options
    found: dict[str, str] = {}
    for one in _CHOICES:
        value = form.text(one.name)
        if value not in one.values and value != before.get(one.name):
            raise UsageError(f"{one.name}: there is no choice {value!r}", hint="take one of the list")
        if value:
            found[one.name] = value
    if form.text(_NULL):
        found[_NULL] = form.text(_NULL)
    for line in filter(None, map(str.strip, form.raw("other").split("\n"))):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals):
            raise UsageError("other: a line is not of the form NAME=VALUE", hint="such as sheet=Data")
        if name in found:
            raise UsageError(f"other: {name} is said twice", hint="keep one of them")
        found[name] = value
    return found


def option_offered(project: Project, form: FormFields) -> FormatOption:
    """Return the option that a button offers against the error of the latest reading.

    Raises
    ------
    UsageError
        The latest reading has no such error.
    """
    run = latest_run(project, run_kinds.DESCRIBE.step)
    wanted = FormatOption(form.text("name"), form.text("value"))
    if run is None or run.error is None or wanted not in run.error.format_options:
        raise UsageError("the file has been read anew since", hint="look at what was read")
    return wanted


def label_of(option: FormatOption) -> str:
    """Return what a button says that takes an option."""
    return _BUTTONS.get(option.name, "{} " + option.name).format(_value(option.name, option.value))


def told_here(error: ToldError) -> ToldError:
    """Return an error whose hint names what this page has, in the place of options of the command."""
    return replace(error, hint=in_words(error.hint))


def in_words(text: str) -> str:
    """Put the labels of the form in the place of options of the command."""
    return _OPTION.sub(_named, text)


def _named(match: re.Match[str]) -> str:
    name, value = match[1], match[2].strip("'")
    if name not in _BY_NAME and name != _NULL:
        return f"the option “{name}={value}”"
    label = _NULL_LABEL if name == _NULL else _BY_NAME[name].label
    return f"“{label.strip('“”')}”" if value.isupper() else f"“{label}: {_value(name, value)}”"


def _value(name: str, value: str) -> str:
    return _BY_NAME[name].values.get(value.lower(), value) if name in _BY_NAME else value
