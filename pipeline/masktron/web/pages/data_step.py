"""The first step: microdata uploaded, and what was read of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from masktron.errors import MasktronError, UsageError
from masktron.level_settings import LevelSetting
from masktron.sources.known_formats import XML, known_formats
from masktron.web.pages.paging import page_of_items
from masktron.web.pages.step_runs import is_current
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import Argument, CommandRun, InRun, RunState, ToldError, latest_run, runs_of
from masktron.web.store.projects import Project
from masktron.web.web_page import (
    FormFields,
    PageProblem,
    Redirect,
    StepState,
    Visit,
    WebPage,
    problem_of,
    wrong_input,
)


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
            raise wrong_input(one.name, "one of the list", value)
        if value:
            found[one.name] = value
    if form.text(_NULL):
        found[_NULL] = form.text(_NULL)
    for line in filter(None, map(str.strip, form.raw("other").split("\n"))):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals):
            raise wrong_input("other", "lines of the form NAME=VALUE, such as sheet=Data", line)
        if name in found:
            raise wrong_input("other", "one line for each name", line)
        found[name] = value
    return found


def option_offered(project: Project, form: FormFields) -> tuple[str, str]:
    """Return the option, and its value, that a button offers against the error of the latest reading.

    Raises
    ------
    UsageError
        The latest reading has no such error.
    """
    run = latest_run(project, run_kinds.DESCRIBE.step)
    wanted = form.text("name"), form.text("value")
    if run is None or run.error is None or wanted not in _offered(run.error):
        raise UsageError.of("page-outdated", reason="the file was read again since")
    return wanted


def label_of(name: str, value: str) -> str:
    """Return what a button says that takes an option."""
    shown = _value(name, value)
    return _BUTTONS[name].format(shown) if name in _BUTTONS else f"{shown} {name}"


def option_words(name: str, value: str) -> str:
    """Return what the form calls an option; one that it has no input for, as it stands."""
    if name not in _BY_NAME and name != _NULL:
        return f"the option “{name}={value}”"
    label = _NULL_LABEL if name == _NULL else _BY_NAME[name].label
    return f"“{label.strip('“”')}”" if value.isupper() else f"“{label}: {_value(name, value)}”"


def _offered(error: ToldError) -> Iterator[tuple[str, str]]:
    """Yield the options of the format that an error gives, with their values."""
    given = (value for one in error.given if one.option == "--format-option" for value in one.values)
    yield from ((name, value) for name, _, value in (one.partition("=") for one in given))


def _value(name: str, value: str) -> str:
    return _BY_NAME[name].values.get(value.lower(), value) if name in _BY_NAME else value


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
    unit, member = two if len(two) == 2 else (LevelSetting(name="Household"), LevelSetting(name="Person"))
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
            raise wrong_input(field, "the name that rules have for it, such as Household", name)
    if unit == member:
        raise wrong_input("member", "another name than that of the record above", member)
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


RESULT = "describe.json"
_RECORDS = 100
"""Records that a run writes down."""
_RECORDS_SHOWN = 10
_LONGEST = 60
"""Characters of a value in a table."""


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run, others = latest_run(project, run_kinds.DESCRIBE.step), latest_run(project, run_kinds.RECORDS.step)
    problems: list[PageProblem] = []
    found = None if run is None else _result(run, project, problems)
    rows = _rows_of(others, run, project, problems) if found is not None else None
    return {
        "uploads": project.uploads(),
        "data": project.data(),
        "has_settings": _has_others(project),
        "largest": min(visit.largest_upload, visit.store.left()),
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": run is not None and not run.is_over,
        "error": None if run is None else run.error,
        "helps": [] if run is None or run.error is None else list(_offered(run.error)),
        "label_of": label_of,
        "shown_name": shown_name,
        "written": options_shown(project),
        "households": levels_shown(project),
        "others": others,
        "reads_others": others is not None and not others.is_over,
        "others_path": None if others is None else visit.path_of_run(others),
        "result": found,
        "stale": run is not None and found is not None and not is_current(run),
        "found": None if found is None else _found(found, rows or found, visit),
        "problems": problems,
    }


def _result(run: CommandRun, project: Project, problems: list[PageProblem]) -> dict[str, Any] | None:
    """Return what the command found, if it speaks of the data that the project has now."""
    if run.state is not RunState.ENDED or not run.is_of(project.data()):
        return None
    try:
        return run.result(RESULT)
    except MasktronError as error:  # the page stays, so that other data can be chosen
        problems.append(problem_of(error))
        return None


def _has_others(project: Project) -> bool:
    """Return whether there are settings that may be of other data: more than how the file is written."""
    try:
        return bool(project.settings.table.keys() - {"format_options"})
    except UsageError:  # nobody can read them
        return project.settings.is_there


def _rows_of(
    others: CommandRun | None, run: CommandRun | None, project: Project, problems: list[PageProblem]
) -> dict[str, Any] | None:
    """Return what was read of other records, unless the file was read anew since, or that has failed."""
    if others is None or run is None or others.number < run.number or others.exit_code != 0:
        return None
    return _result(others, project, problems)


def _found(result: dict[str, Any], read: dict[str, Any], visit: Visit) -> dict[str, Any]:
    """Return what the tables show: some lines of each."""
    return {
        "fields": page_of_items(result["fields"], visit.query, wish="fields"),
        "wrong": page_of_items(result["problems"], visit.query, wish="wrong"),
        "records": page_of_items(read["rows"], visit.query, wish="records", size=_RECORDS_SHOWN),
        "names": [shown_name(one) for one in read["fields"]],
        "asks": sum(one["role"] is None or one["kind"] is None for one in result["fields"]),
        "longest": _LONGEST,
    }


def shown_name(one: Mapping[str, Any]) -> str:
    """Return the name of a field as the file has it; an attribute of XML has its ``@``."""
    name, column = str(one["name"]), str(one["column"])
    # several levels of a nested file may have a field that is called so
    return name if "/" in name or column == name.removeprefix("@") else column


def look_at(visit: Visit, project: Project) -> CommandRun:
    """Start the command that reads the data and says what it found.

    Raises
    ------
    UsageError
        There are none.
    """
    return visit.start(project, run_kinds.DESCRIBE, [*_words(project), f"--rows={_RECORDS}"])


def _words(project: Project) -> list[Argument]:
    if (data := project.data()) is None:
        raise UsageError.of("earlier-step-missing", missing="data", page="Data")
    return ["describe", data, "--json", InRun(RESULT)]


def _took(visit: Visit, project: Project, name: str) -> Redirect:
    project.choose_data(name)
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _choose(visit: Visit, project: Project, form: FormFields) -> Redirect:
    return _took(visit, project, form.text("file"))


def _read(visit: Visit, project: Project, _: FormFields) -> Redirect:
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _read_others(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Read other records than the first ones: the command goes through the file once more."""
    first = form.text("first")
    if not (first.isascii() and first.isdigit() and 0 < len(first) <= 12 and int(first) > 0):
        raise wrong_input("first", "the number of a record, such as 5000", first)
    visit.start(project, run_kinds.RECORDS, [*_words(project), f"--rows={_RECORDS}", f"--from={int(first)}"])
    return Redirect(visit.path(project, "data"))


def _leave_settings(visit: Visit, project: Project, _: FormFields) -> Redirect:
    """Begin anew with settings: those that are there are about fields of other data."""
    project.settings.replace("", said="All settings left out, for other data")
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _written(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Read the file as the form says that it is written."""
    options = options_said(project, form)
    project.settings.update({"format_options": options or None}, said="How the file is written")
    return _read(visit, project, form)


def _households(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Read the table as records that stand in records, or no more."""
    project.settings.update({"levels": levels_said(form)}, said="Which records stand in which")
    return _read(visit, project, form)


def _help(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Read the file with an option that the error of the latest reading offers."""
    name, value = option_offered(project, form)
    options = {**project.settings.config.format_options, name: value}
    project.settings.update({"format_options": options}, said=label_of(name, value))
    return _read(visit, project, form)


def _remove(visit: Visit, project: Project, form: FormFields) -> Redirect:
    name = form.text("file")
    needs = [run for run in runs_of(project) if not run.is_over and f"files/{name}" in run.command.get("stamps", ())]
    # an upload is read at once, and that is of no use without it
    reading = [run for run in needs if run.step in (run_kinds.DESCRIBE.step, run_kinds.RECORDS.step)]
    if others := [run for run in needs if run not in reading]:
        raise UsageError.of("run-under-way", run=others[-1].name, reason="needs this file")
    for run in reading:
        visit.queue.cancel(run)
    project.remove_upload(name)
    return Redirect(visit.path(project, "data"))


def _state(project: Project) -> StepState:
    data = project.data()
    if data is None:
        return StepState(False, "upload a file")
    run, name = latest_run(project, run_kinds.DESCRIBE.step), Path(data).name
    if run is None or not run.is_of(data):
        return StepState(False, f"{name} was not read as yet")
    if not run.is_over:
        return StepState(False, f"{name} is being read")
    if run.exit_code != 0:
        return StepState(False, f"{name} could not be read", problem=True)
    return StepState(True, name)


DATA = WebPage(
    "data",
    "data",
    "Data",
    _show,
    step="data",
    actions={
        "choose": _choose,
        "read": _read,
        "written": _written,
        "households": _households,
        "help": _help,
        "others": _read_others,
        "leave-settings": _leave_settings,
        "remove": _remove,
    },
    take=_took,
    state=_state,
    writes=frozenset({"format_options", "levels"}),
)
