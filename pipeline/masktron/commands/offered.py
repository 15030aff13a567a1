"""What a command takes on the command line: made of what fields declare, for the parser, help, pages and Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from masktron.addresses import file_path
from masktron.commands import COMMANDS
from masktron.commands.base import Command, Plain
from masktron.config import Config
from masktron.declared import IN, PANELS, Declared, Shape, declared_in


@dataclass(frozen=True, slots=True)
class Offered:
    """An argument or an option of a command.

    Attributes
    ----------
    owner : str
        Whose field it is: ``own``, ``setting``, or the name of the field that takes a table of options.
    name : str
        Of the field.
    said : Declared
    spellings : tuple of str
        Long ones first; empty for an argument.
    metavar, help, shown : str
        What stands for the value, what it does, and what it is where it is not given.
    required : bool
    value : str
        Of an option that stands for a value.
    part : str
        Of an option for an entry of a table.
    """

    owner: str
    name: str
    said: Declared
    spellings: tuple[str, ...]
    metavar: str
    help: str
    shown: str = ""
    required: bool = False
    value: str = ""
    part: str = ""

    @property
    def key(self) -> str:
        """A name of its own among all of a command."""
        return "__".join(part for part in (self.owner, self.name, self.value, self.part) if part)

    @property
    def switch(self) -> bool:
        """Whether it takes no value."""
        return bool(self.value) or self.said.form is Shape.SWITCH

    @property
    def several(self) -> bool:
        """Whether it may be given again."""
        return self.said.form in (Shape.LIST, Shape.TABLE, Shape.LISTS) and not self.part

    @property
    def panel(self) -> str:
        """Where the help has it."""
        return self.said.panel


def offered(kind: type[Plain]) -> list[Offered]:
    """Return what a command takes, arguments first, in the order in which it is declared."""
    own = [*_own(kind)]
    taken = {spelling for one in own for spelling in one.spellings}
    settings = [one for one in _settings(kind) if taken.isdisjoint(one.spellings)]
    return sorted([*own, *settings], key=lambda one: bool(one.spellings))


def in_panels(options: list[Offered]) -> dict[str, list[Offered]]:
    """Return options by panel, each from those that are needed to those that are rare."""
    found = {panel: [one for one in options if one.spellings and one.panel == panel] for panel in PANELS}
    return {panel: sorted(some, key=lambda one: not one.required) for panel, some in found.items() if some}


def settings_of(kind: type[Plain]) -> dict[str, Declared]:
    """Return the settings that a command takes on the command line, by name."""
    if not issubclass(kind, Config):
        return {}
    return {
        name: said
        for name, said in declared_in(Config).items()
        if kind.name in said.commands.split() and name not in kind.hides
    }


def keywords() -> dict[str, tuple[str, Shape]]:
    """Return the keyword of each option that a function takes, without its dashes, and the form of its values."""
    found: dict[str, tuple[str, Shape]] = {}
    for one in (one for listed in COMMANDS.values() if listed.in_python for one in offered(listed.kind)):
        name, form = one.name, one.said.form
        if one.owner == "file" or not one.said.init or one.part or one.name == "levels":
            continue
        if one.owner not in ("own", "setting"):
            name = f'{one.owner}["{"class" if name == "class_fields" else name}"]'
        if name == "swap":
            name, form = 'swap["regions"]', Shape.LIST
        said = f'{name}="{one.value}"' if one.value else f"{name}=True" if form is Shape.SWITCH else name
        for spelling in one.spellings:
            found.setdefault(spelling.removeprefix("--"), (said, Shape.SWITCH if one.value else form))
    return found


def takers_of(option: str) -> list[str]:
    """Return the commands that have an option."""
    return [name for name, one in COMMANDS.items() if any(option in each.spellings for each in offered(one.kind))]


def own_declared(kind: type[Plain]) -> dict[str, Declared]:
    """Return what the fields of a command declare that are no settings, by name; last, what only a terminal gives."""
    other = {*declared_in(Config), *kind.hides}
    own = [(name, said) for name, said in declared_in(kind).items() if name not in other]
    return dict(sorted(own, key=lambda one: not one[1].init))


def _own(kind: type[Plain]) -> Iterator[Offered]:
    for name, said in own_declared(kind).items():
        if said.options is not None:
            yield from (_option(name, key, one) for key, one in declared_in(said.options).items() if one.option != "")
        else:
            yield _option("own", name, said)
    if issubclass(kind, Command) and kind.takes_file:
        file = Declared(
            "Settings; else masktron.toml in this folder, which may do less.", IN, metavar="FILE", read=file_path
        )
        yield Offered("file", "config", file, ("--config",), "FILE", file.help)


def _settings(kind: type[Plain]) -> Iterator[Offered]:
    for name, said in settings_of(kind).items():
        for value, (option, told) in said.flags.items():
            yield Offered("setting", name, said, (option,), "", told, value=value)
        if not said.flags and said.option != "":
            one = _option("setting", name, said)
            told, shown = said.other.get(kind.name, (one.help, one.shown))
            yield replace(one, help=told, shown=shown)
        for part, (metavar, told, shown) in said.parts.items():
            yield Offered("setting", name, said, (f"--{part}",), metavar, told, shown, part=part)


def _option(owner: str, name: str, said: Declared) -> Offered:
    spellings = tuple(filter(None, (said.spelled(name), said.short))) if said.panel else ()
    plain = isinstance(said.default, str | int | float) and not isinstance(said.default, bool)
    usual = f"{said.default:g}" if isinstance(said.default, float) else str(said.default) if plain else ""
    needed = said.needed or said.required
    return Offered(owner, name, said, spellings, said.metavar, said.help, said.shown or usual, required=needed)
