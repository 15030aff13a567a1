"""The fourth step: what each field is to masking, as settings say it and as the data were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.errors import UsageError
from masktron.problems.problem import Field
from masktron.setting_values import ALL_FIELDS
from masktron.sources.record_layout import column_name
from masktron.web.pages.data_step import RESULT, look_at, shown_name
from masktron.web.pages.form_values import choice_from, given_inputs
from masktron.web.pages.key_facts import keys_context, measure_keys
from masktron.web.pages.paging import page_of_items
from masktron.web.pages.step_runs import result_of
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, RunState, latest_run, runs_of
from masktron.web.store.projects import Project
from masktron.web.web_page import (
    FormFields,
    PageProblem,
    Redirect,
    StepState,
    Visit,
    WebPage,
    entered,
    problem_of,
    wrong_input,
)

_AUTO = ""
ROLES: Mapping[str, str] = {
    Role.CONFIDENTIAL: "masked",
    Role.IDENTIFIER: "names somebody: removed",
    Role.RECORD_ID: "number of the record: kept as it is",
    Role.WEIGHT: "survey weight: kept as it is",
    Role.QUASI_IDENTIFIER: "known to others: a key",
    Role.UNTOUCHED: "kept as it is",
}
"""What happens to a field, by its role."""
_KINDS: Mapping[str, str] = {
    Kind.NUMBER: "amounts",
    Kind.NOMINAL: "categories without an order",
    Kind.ORDINAL: "categories in an order",
}
_NEARLY = 0.95
"""Share of the values that are different in a field that nearly names each record."""
_SHOWN = {
    "": "all fields",
    "open": "fields to decide",
    "masked": "masked fields",
    "kept": "fields that are not masked",
}


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run, config = latest_run(project, run_kinds.DESCRIBE.step), project.settings.config
    found = described_fields(project)
    fields = [_row(one, config) for one in found or ()]
    shown = visit.query.get("show", "") if visit.query.get("show", "") in _SHOWN else ""
    kept = [one for one in fields if not shown or one["group"] == shown]
    found_page = page_of_items(kept, visit.query)
    inputs = [f"roles.{one['name']}" for one in fields]
    return {
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": run is not None and not run.is_over,
        "read": found is not None,
        "data": project.data(),
        "found": found_page,
        "count": len(fields),
        "open_fields": [one for one in fields if one["open"]],
        "asked_fields": [one for one in fields if one["asked"]],
        "counts": {key: sum(not key or one["group"] == key for one in fields) for key in _SHOWN},
        "shown": shown,
        "views": _SHOWN,
        "roles": ROLES,
        "kinds": _KINDS,
        "everywhere": ", ".join(sorted(config.missing.get(ALL_FIELDS, ()))),
        "known": [name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER],
        "nested": is_nested(project),
        **keys_context(project, None, "?again=1"),
        "settings_text": project.settings.text,
        "helps": [
            (f"{column_name(name.removeprefix('roles.'))}: {ROLES[role]}", {name: role})
            for name, role in given_inputs(run.error if run is not None and run.is_over else None, inputs)
            if role in ROLES
        ],
        "problems": _problems(run, [one["name"] for one in found_page.items]),
    }


def described(project: Project) -> dict[str, Any] | None:
    """Return what the latest run that read the data found; None where none has."""
    data = project.data()
    for run in runs_of(project):
        if run.step == run_kinds.DESCRIBE.step and run.state is RunState.ENDED and run.is_of(data):
            found = result_of(run, RESULT)
            if found is not None:
                return found
    return None


def described_fields(project: Project) -> list[dict[str, Any]] | None:
    """Return the fields of the data, as the latest run that read them describes them; None where none has."""
    found = described(project)
    if found is None:
        return None
    fields: list[dict[str, Any]] = found["fields"]
    asked = {one["field"]: one for one in found["problems"] if one["field"]}
    levels = {one["level"]: one["records"] for one in found.get("levels", ())}
    return [
        {
            **one,
            "problem": asked.get(one["name"]),
            "every": _alone(one, levels.get(one.get("level", ""), found["records"])),
        }
        for one in fields
    ]


def is_nested(project: Project) -> bool:
    """Whether the data, as the latest run that read them describes them, have records in records."""
    found = described(project)
    return bool(found and found.get("levels"))


def _alone(one: Mapping[str, Any], records: int) -> str:
    """Tell whether all or nearly all records have a value of their own, as names and numbers of records do."""
    if one["type"] == "decimal" or records < 2:
        return ""
    held = records - one["missing"]
    return "all" if one["distinct"] == records else "most" if one["distinct"] >= max(_NEARLY * held, 20) else ""


def _row(one: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """Return a field with what settings say of it now, which the latest reading may not know as yet."""
    name = one["name"]
    role, kind = config.roles.get(name), config.kind_of(name)
    is_open = lacks_role(one, config)
    asked = bool(one["problem"]) and not is_open and role is None and kind is None and one["role"] is not None
    taken = role or (Role(one["role"]) if one["role"] is not None and not is_open else None)
    taken = Role.CONFIDENTIAL if taken is None and not is_open else taken
    order = config.ordinal.get(name)
    values = [str(pair["value"]) for pair in one["frequent"]] if one["distinct"] <= len(one["frequent"]) else []
    return {
        **one,
        "shown": shown_name(one),
        # an amount has no categories
        "ordered": one["type"] != "empty"
        and role in (None, Role.CONFIDENTIAL)
        and (kind in (Kind.NOMINAL, Kind.ORDINAL) or (kind is None and (one["kind"] != Kind.NUMBER or asked))),
        "open": is_open,
        "asked": asked,
        "group": "open" if is_open or asked else "masked" if taken is Role.CONFIDENTIAL else "kept",
        "said_role": role.value if role is not None else _AUTO,
        "taken": None if taken is None else ROLES[taken],
        "said_kind": kind.value if kind is not None else _AUTO,
        "codes": ", ".join(sorted(config.missing.get(name, ()))),
        "unmet": sorted(set(one.get("unmet_codes", ())) & set(config.missing.get(name, ()))),
        # an order that nobody has given is none: the values stand beside the field
        "order": "\n".join(order or ()),
        "listed": ", ".join(values),
        "has_order": order is not None,
        "examples": ", ".join(str(pair["value"]) for pair in one["frequent"][:4]),
    }


def lacks_role(one: Mapping[str, Any], config: Config) -> bool:
    """Tell whether a field as `describe` has it may name a respondent, and nobody has said what it is."""
    unsaid = config.roles.get(one["name"]) is None and config.kind_of(one["name"]) is None
    return unsaid and one["type"] in ("text", "mixed") and one["kind"] is None


def _problems(run: CommandRun | None, names: list[str]) -> list[PageProblem]:
    """Return what the latest reading has against the settings, each at its field."""
    if run is None or not run.is_over:
        return []
    forms = [f"{what}.{name}" for name in names for what in ("ordinal", "missing", "kind", "roles")]
    return [] if run.error is None else [problem_of(run.error, forms)]


def _save(visit: Visit, project: Project, form: FormFields) -> Redirect:
    config = project.settings.config
    roles = {name: role.value for name, role in config.roles.items()}
    kinds = {name: kind for name in form.with_prefix("kind.") if (kind := form.text(f"kind.{name}"))}
    asked = set(form.with_prefix("kind."))
    for name, role in form.with_prefix("roles.").items():
        roles.pop(name, None)
        if role:
            roles[name] = choice_from(f"roles.{name}", role, ROLES)
    for name, kind in kinds.items():
        choice_from(f"kind.{name}", kind, _KINDS)
    changes = {
        "roles": roles,
        "nominal": _with_kind(config.nominal, asked, kinds, Kind.NOMINAL),
        "numeric": _with_kind(config.numeric, asked, kinds, Kind.NUMBER),
        "ordinal": {name: list(order) for name, order in config.ordinal.items() if name not in asked}
        | {name: _order(project, form, name) for name, kind in kinds.items() if kind == Kind.ORDINAL},
        "missing": _missing(form, config),
    }
    _require_one_weight(project, roles)
    project.settings.update({name: value or None for name, value in changes.items()}, said="Roles of the fields")
    look_at(visit, project)
    return Redirect(_back(visit, project))


def _back(visit: Visit, project: Project) -> str:
    """Return the path of the part of the table that was sent."""
    page = visit.query.get("page", "")
    shown = visit.query.get("show", "")
    asked = [f"show={shown}"] if shown in _SHOWN and shown else []
    asked += [f"page={page}"] if page.isascii() and page.isdigit() else []
    return visit.path(project, "roles") + (f"?{'&'.join(asked)}" if asked else "")


def _with_kind(before: tuple[str, ...], asked: set[str], kinds: Mapping[str, str], kind: Kind) -> list[str]:
    chosen = [name for name, one in kinds.items() if one == kind]
    return [
        *(name for name in before if name not in asked or name in chosen),
        *(n for n in chosen if n not in before),
    ]


def _order(project: Project, form: FormFields, name: str) -> list[str]:
    order = [line.strip() for line in form.raw(f"ordinal.{name}").split("\n") if line.strip()]
    texts = [one["name"] for one in described_fields(project) or () if one["type"] in ("text", "mixed")]
    if not order and name in texts:
        raise wrong_input(f"ordinal.{name}", "all its texts from low to high, one in a line", "")
    return order


def _missing(form: FormFields, config: Config) -> dict[str, list[str]]:
    found = {name: sorted(codes) for name, codes in config.missing.items()}
    for name, text in form.with_prefix("missing.").items():
        found.pop(name, None)
        if codes := _codes(text):
            found[name] = codes
    if "everywhere" in form.names:
        found.pop(ALL_FIELDS, None)
        if codes := _codes(form.text("everywhere")):
            found[ALL_FIELDS] = codes
    return found


def _codes(text: str) -> list[str]:
    return sorted({code.strip() for code in text.split(",") if code.strip()})


def _require_one_weight(project: Project, roles: Mapping[str, str]) -> None:
    """Refuse a second weight of a survey, or of a level of nested records."""
    levels = {one["name"]: one.get("level", "") for one in described_fields(project) or ()}
    weights: dict[str, str] = {}
    for name in (name for name, role in roles.items() if role == Role.WEIGHT):
        first = weights.setdefault(levels.get(name, ""), name)
        if first != name:
            whole = levels.get(name, "").rpartition("/")[2] or "the survey"
            raise UsageError.of(
                "given-twice", one=entered(f"roles.{name}"), other=Field(first), to=f" as the weight of {whole}"
            )


def _decide(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Give all text fields without a role the same one."""
    role, config = choice_from("all", form.text("all"), ROLES), project.settings.config
    names = [one["name"] for one in described_fields(project) or () if lacks_role(one, config)]
    if not names:
        raise UsageError.of("page-outdated", reason="every text field has a role by now")
    roles = {**{name: one.value for name, one in config.roles.items()}, **dict.fromkeys(names, role)}
    _require_one_weight(project, roles)
    project.settings.update({"roles": roles}, said=f"Role {role}: {', '.join(names)}")
    look_at(visit, project)
    return Redirect(visit.path(project, "roles"))


def _measure(visit: Visit, project: Project, _: FormFields) -> Redirect:
    measure_keys(visit, project)
    return Redirect(visit.path(project, "roles"))


def _read(visit: Visit, project: Project, _: FormFields) -> Redirect:
    look_at(visit, project)
    return Redirect(visit.path(project, "roles"))


def _state(project: Project) -> StepState:
    fields, config = described_fields(project), project.settings.config
    if fields is None:
        return StepState(False)
    lacking = [one["name"] for one in fields if lacks_role(one, config)]
    if lacking:
        some = "1 text field has no role" if len(lacking) == 1 else f"{len(lacking)} text fields have no role"
        return StepState(False, some, problem=True)
    groups = Counter(_row(one, config)["group"] for one in fields)
    if undecided := groups["open"]:
        return StepState(False, f"{counted(undecided, 'field')} to decide: codes or amounts")
    return StepState(True, f"{groups['masked']} of {len(fields)} fields are masked")


ROLES_PAGE = WebPage(
    "roles",
    "roles",
    "Roles",
    _show,
    step="roles",
    actions={"save": _save, "decide": _decide, "read": _read, "measure": _measure},
    state=_state,
    writes=frozenset({"roles", "nominal", "numeric", "ordinal", "missing"}),
)
