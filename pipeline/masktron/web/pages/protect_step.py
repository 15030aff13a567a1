"""The fifth step: what others may know is written in classes, drawn anew, swapped, or left out where few share it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.perturbation_settings import SWAP_NAMES, pram_settings, together
from masktron.problems.problem import Field, Known, Place
from masktron.recoding_settings import Breaks, FromHierarchy, Multiples, Widths, how_of
from masktron.web.pages.data_step import shown_name
from masktron.web.pages.form_values import at_fields, choice_from, number_from, whole_from
from masktron.web.pages.key_facts import current_keys, keys_arguments, keys_context, measure_keys
from masktron.web.pages.project_hierarchies import hierarchy_name, hierarchy_of
from masktron.web.pages.roles_step import described_fields, is_nested
from masktron.web.pages.step_runs import good_run
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, latest_run, run_of
from masktron.web.store.project_settings import NAME as SETTINGS_FILE
from masktron.web.store.projects import Project
from masktron.web.web_page import (
    FormFields,
    Fragment,
    PageProblem,
    Redirect,
    StepState,
    Visit,
    WebPage,
    problem_of,
    wrong_input,
)

_SHARE = "change"
_LISTS = ("regions", "keys", "similar")
_LEAST: Mapping[str, int] = {"k": 2, "required": 0, "least_regions": 1}
"""Settings of swapping that are whole numbers, and what they are at least."""


def pram_shown(how: str) -> str:
    """Return how a field is drawn anew as the form has it: ``0.1,stay:0.5`` for ``change:0.1,stay:0.5``.

    Parameters
    ----------
    how : str
        As settings say it, without a matrix; empty where the field is not drawn.
    """
    if not how:
        return ""
    parts = [tuple(side.strip() for side in part.partition(":")[::2]) for part in how.split(",")]
    (_, share), *rest = sorted(parts, key=lambda part: part[0] != _SHARE)
    return ",".join([share, *(f"{word}:{said}" for word, said in rest)])


def pram_from(
    form: FormFields, former: Mapping[str, str], shown: Iterable[str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return how fields are to be drawn anew, in the order in which settings had them.

    Parameters
    ----------
    form : FormFields
    former : mapping of str to str
        What settings say now; several fields that are drawn together have a ``+`` between them.
    shown : iterable of str
        Other fields that the form has.
    known : mapping of str to str
        The fields of the data, by what somebody may type.

    Raises
    ------
    UsageError
        What was typed is no way to draw; the field of the form is named.
    """
    found = {}
    for name in dict.fromkeys((*former, *shown)):
        setting, how = f"pram.{name}", former.get(name, "")
        if not (text := form.text(setting)):
            continue
        found[name] = how if text == pram_shown(how) else f"{_SHARE}:{text}"
        said = pram_settings(setting, found[name])
        _require_known(setting, (*said.within, *((said.household,) if said.household else ())), known.values())
    return found


def drawn_together(pram: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the fields of which settings have combinations drawn, and how, as the form has it."""
    return [(name, pram_shown(how)) for name, how in pram.items() if len(together(name)) > 1]


def swap_shown(swap: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return what the form has of each setting of swapping; empty where nothing is said.

    Parameters
    ----------
    swap : mapping
        What settings say.
    columns : mapping of str to str
        What pages call fields, by the names that rules and settings have for them.
    """
    told = {
        name: names_told(columns.get(one, one) for one in said)
        if name in _LISTS
        else str(columns.get(said, said) if name == "household" else said)
        for name, said in swap.items()
        if said is not None
    }
    return {name: told.get(name, "") for name in SWAP_NAMES}


def swap_from(
    form: FormFields, former: Mapping[str, Any], known: Mapping[str, str], columns: Mapping[str, str]
) -> dict[str, Any]:
    """Return how regions are to be swapped; nothing where they are not.

    Parameters
    ----------
    form : FormFields
    former : mapping
        What settings say now; what nobody has changed stays.
    known : mapping of str to str
        The fields of the data, by what somebody may type.
    columns : mapping of str to str
        What pages call fields.

    Raises
    ------
    UsageError
        What was typed is none; the field of the form is named.
    """
    shown = swap_shown(former, columns)
    found: dict[str, Any] = {}
    for name in SWAP_NAMES:
        setting = f"swap.{name}"
        if not (text := form.text(setting)):
            continue
        if name in _LISTS:
            same = text == shown[name]
            found[name] = list(former[name]) if same else _names(setting, names_typed(setting, text), known)
        elif name == "household":
            [found[name]] = _names(setting, [text], known)
        else:
            found[name] = whole_from(setting, text, _LEAST[name]) if name in _LEAST else _rate(setting, text)
    if found and "regions" not in found:
        expected = "the regions from coarse to fine; or empty, with all else of swapping"
        raise wrong_input("swap.regions", expected, "")
    return found


def _rate(setting: str, text: str) -> float:
    if (rate := number_from(setting, text)) > 1:
        raise wrong_input(setting, "from 0 to 1; 0.02 is 2 in 100 records", rate)
    return rate


def _names(setting: str, typed: Iterable[str], known: Mapping[str, str]) -> list[str]:
    names = list(typed)
    _require_known(setting, names, known)
    return [*dict.fromkeys(known[name] for name in names)]


def _require_known(setting: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = list(known)
    for name in names:
        if name not in there:
            place, others = Place(field=Field(setting)), Known(name, tuple(there))
            raise UsageError.of("unknown-name", place, kind="field", name=name, known=others)


_NAME = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",\s][^,]*)?)\s*(?P<end>,|\Z)')


def names_told(names: Iterable[str]) -> str:
    """Return names as a form shows them, so that `names_typed` reads them again.

    >>> names_told(["COUNTY", "Town, code"])
    'COUNTY, "Town, code"'
    """
    return ", ".join(map(_told, names))


def names_typed(setting: str, text: str) -> list[str]:
    """Return the names that somebody has typed, in their order, without white space around them.

    Parameters
    ----------
    setting : str
        The name of the field of the form, for messages.
    text : str

    Raises
    ------
    UsageError
        A quotation mark is not closed, or more stands behind it than a comma.
    """
    names, at = list[str](), 0
    while True:
        found = _NAME.match(text, at)
        if found is None:
            expected = 'names with commas between, such as "Town, code", COUNTY; with each " in a name twice'
            raise wrong_input(setting, expected, text[at:].strip())
        quoted, plain = found["quoted"], found["plain"]
        names.append(quoted.replace('""', '"') if quoted is not None else (plain or "").strip())
        if not found["end"]:
            return [name for name in names if name]
        at = found.end()


def _told(name: str) -> str:
    if "," in name or name.startswith('"') or name != name.strip():
        return f'"{name.replace('"', '""')}"'
    return name


WAYS: Mapping[str, str] = {
    "": "written as it is",
    "hierarchy": "classes of its hierarchy",
    "width": "classes of one width",
    "breaks": "classes that begin at",
    "round": "rounded to multiples of",
    "tails": "the tails alike",
}
"""How a field may be recoded, by what forms call it."""
_WRITES = ("recode", "pram", "swap", "key_k", "keys", "allow_lost")


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    config = project.settings.config
    draft = _draft(project, visit.query.get("draft", ""))
    poll = "?again=1" if draft is None else f"?draft={draft.name}&again=1"
    found = keys_context(project, draft, poll)
    fields = [_row(project, one, config) for one in _keys(project, config)]
    return {
        **found,
        "read": described_fields(project) is not None,
        "data": project.data(),
        "nested": is_nested(project),
        "fields": fields,
        "ways": WAYS,
        "together": drawn_together(config.pram),
        "swap": swap_shown(config.swap, _columns(project)),
        "key_k": "" if config.key_k is None else config.key_k,
        "subsets": config.keys.get("subsets", ""),
        "missing_matches": bool(config.keys.get("missing_matches")),
        "lost": _lost(config, found["tried"]),
        "settings_text": project.settings.text,
        "hierarchies": [
            (name, f"/projects/{project.identity}/download/{name}")
            for one in fields
            if one["has_hierarchy"] and (name := hierarchy_name(one["name"]))
        ],
        "keys_path": None if found["keys_run"] is None else visit.path_of_run(found["keys_run"]),
        "runs": [("What keys tell", run)] if (run := latest_run(project, run_kinds.KEYS.step)) else [],
        "folder": str(project.folder) if visit.is_local else None,
        "problems": _problems(found["keys_run"], [*(one["name"] for one in fields), *config.pram]),
    }


def _columns(project: Project) -> dict[str, str]:
    """Return what pages call the fields, by the names that rules and settings have for them."""
    return {one["name"]: shown_name(one) for one in described_fields(project) or ()}


def _keys(project: Project, config: Config) -> list[dict[str, Any]]:
    """Return the fields that others may know and that are written as they are, but for the weight."""
    named = (name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER)
    drawn = (name for each in config.pram for name in together(each))
    known = {*named, *config.recode, *drawn, *config.swap.get("regions", ())}
    return [one for one in described_fields(project) or () if one["name"] in known]


def _row(project: Project, one: Mapping[str, Any], config: Config) -> dict[str, Any]:
    name = one["name"]
    way, text = _way_of(name, config.recode.get(name, ""))
    hierarchy = hierarchy_of(project, name)
    return {
        **one,
        "shown": shown_name(one),
        "way": way,
        "text": text,
        "drawn": pram_shown(config.pram.get(name, "")),
        "levels": None if hierarchy is None else hierarchy.height,
        "has_hierarchy": hierarchy is not None,
        "importance": f"{config.keys.get('importance', {}).get(name, 1):g}",
    }


def _way_of(name: str, how: str) -> tuple[str, str]:
    """Return a way to recode and its numbers, as forms have them."""
    if not how:
        return "", ""
    match how_of(f"recode.{name}", how):
        case FromHierarchy(level=level):
            return "hierarchy", str(level)
        case Widths():
            return "width", how.partition(":")[2]
        case Breaks():
            return "breaks", how.partition(":")[2]
        case Multiples():
            return "round", how.partition(":")[2]
    return "tails", how


def _lost(config: Config, tried: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the rules that are lost, or may be, and whether somebody lets them go."""
    found = {} if tried is None else {one["rule"]: one for one in tried["fates"] if one["fate"] == "lost"}
    names = dict.fromkeys((*found, *config.allow_lost))
    return [{"rule": name, "fate": found.get(name), "allowed": name in config.allow_lost} for name in names]


def _draft(project: Project, name: str) -> CommandRun | None:
    run = run_of(project, name)
    return run if run is not None and run.step == run_kinds.KEYS_DRAFT.step else None


def _problems(run: CommandRun | None, names: list[str]) -> list[PageProblem]:
    """Return what the latest run has against the settings, each at its field."""
    if run is None or not run.is_over or run.error is None:
        return []
    inputs = [f"{one}.{name}" for one in ("pram", "recode") for name in names]
    return at_fields(run.error, [*inputs, "key_k", *(f"swap.{one}" for one in SWAP_NAMES)])


def _changes(project: Project, form: FormFields) -> dict[str, Any]:
    """Return the settings that a form asks for.

    Raises
    ------
    UsageError
        What was typed is none; the field is named.
    """
    config = project.settings.config
    shown = [one["name"] for one in _keys(project, config)]
    known = {typed: name for name, column in _columns(project).items() for typed in (name, column)}
    recode = {name: how for name, how in config.recode.items() if name not in shown}
    for name in shown:
        if how := _how(project, name, form):
            recode[name] = how
    changes: dict[str, Any] = {
        "recode": recode or None,
        "pram": pram_from(form, config.pram, shown, known) or None,
        "swap": swap_from(form, config.swap, known, _columns(project)) or None,
        "allow_lost": [*dict.fromkeys(form.texts("allow_lost"))] or None,
        "key_k": None,
        "keys": _suppression(form, shown) or None,
    }
    return changes


def _how(project: Project, name: str, form: FormFields) -> str:
    """Return how a field is to be recoded, as settings say it; empty where it is not."""
    field, way, text = f"recode.{name}", form.text(f"way.{name}"), form.text(f"recode.{name}")
    if not choice_from(f"way.{name}", way, WAYS):
        return ""
    if way == "hierarchy":
        level = whole_from(field, text or "1")
        hierarchy = hierarchy_of(project, name)
        if hierarchy is None:
            place = Place(field=Field(field))
            raise UsageError.of("earlier-step-missing", place, missing="hierarchy of this field", page="Protect keys")
        if not 1 <= level <= hierarchy.height:
            raise wrong_input(field, f"a level of its hierarchy, from 1 to {hierarchy.height}", level)
        return f"{hierarchy_name(name)}:{level}"
    how = text if way == "tails" else f"{way}:{text}"
    how_of(field, how)  # says what is wrong with it
    return how


def _suppression(form: FormFields, names: list[str]) -> dict[str, Any]:
    """Return how keys are suppressed; nothing where they are not."""
    if not (text := form.text("key_k")):
        return {}
    found: dict[str, Any] = {"k": whole_from("key_k", text, 2)}
    if subsets := form.text("subsets"):
        found["subsets"] = whole_from("subsets", subsets, 1)
    if form.text("missing_matches") == "1":
        found["missing_matches"] = True
    costs = {name: number_from(f"importance.{name}", form.text(f"importance.{name}") or "1") for name in names}
    if said := {name: cost for name, cost in costs.items() if cost != 1}:
        found["importance"] = said
    return found


def _save(visit: Visit, project: Project, form: FormFields) -> Redirect:
    config, changes = project.settings.config, _changes(project, form)
    if is_nested(project) and any(value for name, value in changes.items() if name != "allow_lost"):
        raise UsageError.of(
            "setting-not-usable", name="a treatment of keys", reason="masktron cannot do this with a nested file yet"
        )
    project.settings.update(changes, said=f"Keys: {_said(changes)}")
    if project.settings.config != config or current_keys(project) is None:
        measure_keys(visit, project)
    return Redirect(visit.path(project, "protect"))


def _said(changes: Mapping[str, Any]) -> str:
    told = [f"{name} by {how}" for name, how in (changes["recode"] or {}).items()]
    told += [f"{name} drawn anew by {how}" for name, how in (changes["pram"] or {}).items()]
    told += [f"{', '.join(changes['swap']['regions'])} swapped"] if changes["swap"] else []
    told += [f"k = {changes['keys']['k']}"] if changes["keys"] else []
    told += [f"lost rules that may be: {', '.join(changes['allow_lost'])}"] if changes["allow_lost"] else []
    return "; ".join(told) or "written as they are"


def _try(visit: Visit, project: Project, form: FormFields) -> Redirect | Fragment:
    """Try out what was typed, with settings that nobody has saved."""
    by_script = form.text("script") == "1"
    try:
        settings = project.settings.for_run(2, changes=_changes(project, form))
        words = keys_arguments(project)
    except UsageError as error:
        if not by_script:
            raise
        problem = problem_of(error, form.names)
        return Fragment("keys_tried.html", {**_NOTHING, "keys_error": problem})
    run = visit.try_out(project, run_kinds.KEYS_DRAFT, words, {SETTINGS_FILE: settings})
    poll = f"{visit.path(project, 'protect')}?draft={run.name}&again=1"
    if by_script:
        return Fragment("keys_tried.html", {**_NOTHING, "keys_active": True, "keys_run": run, "keys_poll": poll})
    return Redirect(f"{visit.path(project, 'protect')}?draft={run.name}")


_NOTHING: Mapping[str, Any] = {
    "keys_run": None, "keys_active": False, "keys_poll": "", "keys_stale": False, "keys_error": None, "tried": None,
}  # fmt: skip


def _measure(visit: Visit, project: Project, _: FormFields) -> Redirect:
    measure_keys(visit, project)
    return Redirect(visit.path(project, "protect"))


def _state(project: Project) -> StepState:
    if described_fields(project) is None:
        return StepState(False)
    config = project.settings.config
    if not (keys := _keys(project, config)):
        return StepState(True, "no field has the role of what others know")
    found = current_keys(project)
    if found is not None and found["obstacle"] is not None:
        return StepState(False, "masking would stop here", problem=True)
    if told := list(_treated(config)):
        return StepState(True, ", ".join(told))
    masked = good_run(project, run_kinds.MASK.step) is not None
    return StepState(masked, f"{len(keys)} keys are written as they are")


def _treated(config: Config) -> Iterator[str]:
    if config.recode:
        yield f"{len(config.recode)} {'field is' if len(config.recode) == 1 else 'fields are'} recoded"
    if config.key_k is not None:
        yield f"keys are shared by {config.key_k} records"
    if config.pram:
        yield f"{', '.join(config.pram)} drawn anew"
    if config.swap:
        yield f"{', '.join(config.swap['regions'])} swapped"


PROTECT = WebPage(
    "protect",
    "protect",
    "Protect keys",
    _show,
    step="protect",
    actions={"save": _save, "try": _try, "measure": _measure},
    state=_state,
    writes=frozenset(_WRITES),
)
