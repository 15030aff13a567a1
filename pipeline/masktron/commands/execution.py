"""What stands around a run on the command line: settings of a file and of options, outputs, what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from masktron.commands import running
from masktron.commands.base import Command, Plain
from masktron.commands.offered import offered, own_declared
from masktron.config import Config
from masktron.declared import declared_in
from masktron.errors import Exit, MasktronError, UsageError
from masktron.problems.problem import Setting
from masktron.processes import rules_within


def execute(kind: type[Plain], parsed: Mapping[str, Any]) -> Exit:
    """Run a command; return its exit code.

    Parameters
    ----------
    kind : type of Plain
    parsed : mapping
        What click has read, by the keys of what the command takes.
    """
    given = _given(kind, parsed)
    named, file = _files(kind, parsed)
    written, inputs = _outputs(kind, given), {**_inputs(kind, given), "the settings": file}
    made: Plain
    config = Config()
    try:
        if issubclass(kind, Command):
            config = _config(kind, named, file, given["setting"])
            made = kind.with_settings(config, **given["own"]).came_from(given["setting"], (file, named is not None))
        else:
            made = kind(**given["own"])
    except UsageError as error:
        if not error.where:
            error.at(_option_of(kind, error.setting, given))
        raise
    made.refuse_outputs(written, {**inputs, **config.named_files})
    try:
        signs = running.progress_shown() if kind.shows_progress else running.no_signs()
        with signs as progress, rules_within(config.rule_timeout):
            result = made.carry_out(progress)
    except MasktronError as error:
        made.tell_refusal(error)
        raise
    made.tell(result)
    return made.code(result)


def _option_of(kind: type[Plain], setting: str, given: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the option that gave a setting; empty where none did."""
    said = {**declared_in(Config), **own_declared(kind)}
    there = setting in given["setting"] or setting in given["own"]
    return said[setting].spelled(setting) if there and setting in said else ""


def _outputs(kind: type[Plain], given: Mapping[str, Mapping[str, Any]]) -> dict[str, Path | None]:
    """Return what is written, by the options that name it."""
    return {one.spelled(name): given["own"].get(name) for name, one in own_declared(kind).items() if one.writes}


def _inputs(kind: type[Plain], given: Mapping[str, Mapping[str, Any]]) -> dict[str, Path | None]:
    """Return what is read, by what messages call it."""
    return dict(
        one
        for says, values in ((own_declared(kind), given["own"]), (declared_in(Config), given["setting"]))
        for name, value in values.items()
        if name in says and says[name].reads and "{" not in says[name].reads
        for one in _named(says[name].reads, value)
    )


def _given(kind: type[Plain], parsed: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what was given, by the owner and the name of the field."""
    found: dict[str, dict[str, Any]] = {"own": {}, "setting": {}}
    for one in offered(kind):
        value = parsed.get(one.key)
        if one.owner == "file" or value in (None, ()) or (value is False and not one.said.off):
            continue
        if one.several:
            value = one.said.collected(one.name, value)
        table = found.setdefault(one.owner, {})
        if one.value:
            if one.name in table:
                first, second = (Setting(option) for option, _ in one.said.flags.values())
                raise UsageError.of("given-twice", one=first, other=second)
            table[one.name] = one.value
        elif one.part:
            table[one.name] = {**table.get(one.name, {}), one.part: value}
        else:
            table[one.name] = value
    for owner in found.keys() - {"own", "setting"}:
        found["own"][owner] = found[owner]
    return found


def _files(kind: type[Plain], parsed: Mapping[str, Any]) -> tuple[Path | None, Path | None]:
    """Return the file of settings that was named, and the one that is read."""
    if not (issubclass(kind, Command) and kind.takes_file):
        return None, None
    named, default = parsed.get("file__config"), Path("masktron.toml")
    path = None if named is None else Path(named)
    return path, path or (default if default.is_file() else None)


def _config(kind: type[Command], named: Path | None, file: Path | None, given: Mapping[str, Any]) -> Config:
    """Return the settings of a file and of options."""
    config = Config()
    if file is not None:
        from masktron.settings_file import found_config, load_config

        if named is None:
            Console(stderr=True, highlight=False, emoji=False).print(f"settings from {file}")
        config = found_config(file, judge=kind.name if kind.judging else "") if named is None else load_config(file)
    return config.with_options(given)


def _named(what: str, value: Any) -> Iterator[tuple[str, Path | None]]:
    """Yield inputs by what messages call them; of several, with a name or a number."""
    if isinstance(value, Mapping):
        yield from ((f"{what} of {name}", Path(one)) for name, one in value.items())
    elif isinstance(value, list):
        yield from ((f"{what}, number {at}" if len(value) > 1 else what, one) for at, one in enumerate(value, 1))
    else:
        yield what, None if value is None else Path(value)
