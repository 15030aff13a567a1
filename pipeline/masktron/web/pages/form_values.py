"""What several forms ask for: numbers and limits as somebody has typed them, and errors at their fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from masktron.config import Config
from masktron.declared import Declared, Shape, declared_in
from masktron.errors import UsageError
from masktron.web.pages.method_words import LIMITS
from masktron.web.runs.one_run import ToldError
from masktron.web.web_page import FormFields, PageProblem, problem_of, setting_of, wrong_input


def limits_from(form: FormFields, config: Config) -> dict[str, float]:
    """Return the limits of the settings with those of a form, which has a field for each of `LIMITS`.

    Raises
    ------
    UsageError
        One is no number.
    """
    limits = dict(config.limits)
    for name, text in form.with_prefix("limits.").items():
        if name not in LIMITS:
            raise UsageError.of("page-outdated", reason=f"it has no limit {name!r}")
        limits.pop(name, None)
        if text:
            limits[name] = number_from(f"limits.{name}", text)
    return limits


def number_from(name: str, text: str) -> float:
    """Read a number that somebody has typed, with a point or a comma.

    Raises
    ------
    UsageError
        It is none.
    """
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise wrong_input(name, "a number of at least 0, or empty", text)
    return int(found) if found.is_integer() else found


def whole_from(name: str, text: str, least: int = 0) -> int:
    """Read a whole number that somebody has typed, and that is at least so large.

    Raises
    ------
    UsageError
        It is none, or too small.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise wrong_input(name, "a whole number, such as 5", text)
    if int(text) < least:
        raise wrong_input(name, f"at least {least}", int(text))
    return int(text)


def choice_from(name: str, text: str, known: Collection[str]) -> str:
    """Read what somebody has chosen.

    Raises
    ------
    UsageError
        The form does not offer it.
    """
    if text not in known:
        raise wrong_input(name, "one of the list", text)
    return text


_SWITCHES = {"": None, "true": True, "false": False}


def further_settings(shown: Collection[str]) -> dict[str, Declared]:
    """Return the settings of masking that no page asks for by itself, by name.

    Parameters
    ----------
    shown : collection of str
        Those that the form asks for anyway.
    """
    return {
        name: one
        for name, one in declared_in(Config).items()
        if "mask" in one.commands.split()
        and one.topic in ("", "masking")
        and not (one.local or one.trust.named_only or one.form in (Shape.TABLE, Shape.LISTS))
        and name not in shown
    }


def further_controls(config: Config, shown: Collection[str]) -> list[dict[str, Any]]:
    """Return the fields of a form for `further_settings`; one that is empty is as usual."""
    usual = Config()
    controls = []
    for name, one in further_settings(shown).items():
        value, default = getattr(config, name), getattr(usual, name)
        said = "" if value == default else ", ".join(value) if one.form is Shape.LIST else _shown(value)
        values = ("true",) if one.form is Shape.SWITCH else tuple(each for each in one.choices if each != default)
        usually = one.shown or ("" if default in (None, ()) else _shown(default))
        choices = [("", f"as usual: {usually}"), *((each, each) for each in values)] if values else []
        hint = f"{one.help} Several with commas between." if one.form is Shape.LIST else one.help
        controls.append(
            {"name": name, "label": label_of(name), "hint": hint, "choices": choices, "value": said, "usual": usually}
        )
    return controls


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def further_changes(form: FormFields, config: Config, shown: Collection[str]) -> dict[str, Any]:
    """Return what a form says of `further_settings`: None for one that is as usual.

    Raises
    ------
    UsageError
        One cannot be read.
    """
    found: dict[str, Any] = {}
    as_it_was = {one["name"]: one["value"] for one in further_controls(config, shown)}
    for name, one in further_settings(shown).items():
        if name not in form.names or form.text(name) == as_it_was[name]:
            continue
        text = form.text(name)
        try:
            read = _SWITCHES[text] if one.form is Shape.SWITCH else one.read(text) if text else None
        except (KeyError, ValueError):
            expected = "true or false" if one.form is Shape.SWITCH else "a number"
            raise wrong_input(name, f"{expected}, or empty for what is usual", text) from None
        listed = [part.strip() for part in text.split(",") if part.strip()]
        found[name] = (listed if one.form is Shape.LIST else read) if text else None
    return found


_LABELS = {"k": "Smallest group (k)", "allow_lost": "Rules that may be lost"}


def label_of(name: str) -> str:
    """Return what a form calls an input of a setting, such as ``k`` or ``limits.linkage``."""
    table, _, key = name.partition(".")
    if table == "limits" and key in LIMITS:
        return LIMITS[key][0]
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def given_inputs(error: ToldError | None, fields: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the inputs of a form to which the hint of an error gives a value, with the value."""
    for setting in () if error is None else error.given:
        name = setting_of(setting.option)
        for value in setting.values:
            key, _, rest = value.rpartition("=")
            found = [(f"{name}.{key}", rest), (name, value)]
            yield from [one for one in found if one[0] in fields][:1]


def at_fields(error: ToldError | None, fields: Sequence[str]) -> list[PageProblem]:
    """Return an error of a run where it names a field of the form; what came of the run tells any."""
    found = None if error is None else problem_of(error, fields)
    return [found] if found is not None and found.field is not None else []
