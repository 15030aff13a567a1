"""Settings of a nested file as settings of its wide records, by the names of fields in the tree of levels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.problems.problem import Field as NamedField
from masktron.problems.problem import Known, Note, Sentence, Setting, fields
from masktron.rulebook.schema import Rulebook
from masktron.setting_values import ALL_FIELDS
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource
from masktron.step_kinds import ALL
from masktron.unrolling.unrolled import Unrolled


def wide_settings(config: Config, wide: Job, source: WideSource, rulebook: Rulebook, unrolled: Unrolled) -> Config:
    """Return settings of a nested file as settings of its wide records, given the rules as written and unrolled.

    A field has the name that it has in the tree of levels, ``Income`` or ``Person/Age``, and what is said of it holds
    of all members. Rules are named as they are written.

    Raises
    ------
    UsageError
        A field or rule is not there; or something is asked that nested files do not get yet.
    """
    _refuse_settings(config, source)
    config = named_as_fields(config, source.levels, str(source.path))
    if isinstance(source.nested, JoinedSource):
        _require_roles_of_keys(config, source.nested)
    names = _WideNames(source)
    rules = {check.id: check.index for check in rulebook.checks}
    return replace(
        _with_wide_fields(config, source, names),
        allow=tuple(
            wide.rulebook.checks[at].id
            for rule in config.allow
            for at, origin in enumerate(unrolled.origins)
            if rule in rules and origin.check == rules[rule]
        ),
        allow_unfired=(ALL_FIELDS,),  # what fires on no member at one place may fire on others
        unit_records=0,
        # one member who is recognised gives the household away, and one spell the person
        grouping="all" if source.has_members else config.grouping,
    )


def weights_by_level(levels: Tree, roles: Mapping[str, Role], where: str) -> dict[LevelPath, str]:
    """Return the field of each level that is its weight, by its own name.

    Raises
    ------
    UsageError
        A level has two.
    """
    found: dict[LevelPath, str] = {}
    for name, role in roles.items():
        named = levels.named(name)
        if role is not Role.WEIGHT or named is None:
            continue
        path, own = named
        if path in found:
            raise UsageError.of(
                "given-twice",
                where,
                one=NamedField(found[path]),
                other=NamedField(own.name),
                to=f" as the weight of {levels.shown(path)}",
            )
        found[path] = own.name
    return found


def named_as_fields(config: Config, tree: Tree, where: str) -> Config:
    """Return settings that have one name for each field, where a longer one says the same: ``Person/Age``.

    Raises
    ------
    UsageError
        A field has two roles by two of its names.
    """

    def name(given: str) -> str:
        found = tree.named(given)
        return given if found is None else tree.name_of[found]

    roles: dict[str, Role] = {}
    for given, role in config.roles.items():
        if roles.setdefault(name(given), role) is not role:
            raise UsageError.of(
                "given-twice",
                where,
                one=Setting("--role", (f"{name(given)}={roles[name(given)]}",)),
                other=Setting("--role", (f"{given}={role}",)),
            )
    return replace(
        config,
        roles=roles,
        missing={name(given): codes for given, codes in config.missing.items()},
        nominal=tuple(map(name, config.nominal)),
        ordinal={name(given): order for given, order in config.ordinal.items()},
        numeric=tuple(map(name, config.numeric)),
        quasi_identifiers=tuple(map(name, config.quasi_identifiers)),
        member_order=config.member_order and tuple(map(name, config.member_order)),
        **_steps_renamed(config, lambda given: [name(given)]),
    )


def _steps_renamed(config: Config, names: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    """Return the settings of steps with fields called otherwise."""
    return {(name := kind.asked_by[0]): kind.renamed(getattr(config, name), names) for kind in ALL}


def fields_as_wide(config: Config, source: Source, *, roles_alone: bool = False) -> Config:
    """Return settings in which what is said of the fields of a nested file is said of those of its wide records.

    Parameters
    ----------
    config : Config
    source : Source
        Any other than a nested one has the settings as they are.
    roles_alone : bool
        Whether roles and marks of quasi-identifiers alone count, and those of fields that are not there do not.

    Raises
    ------
    UsageError
        A field is not there.
    """
    if not isinstance(source, WideSource):
        return config
    if roles_alone:
        known = source.levels.named
        config = replace(
            config,
            roles={name: role for name, role in config.roles.items() if known(name)},
            quasi_identifiers=tuple(name for name in config.quasi_identifiers if known(name)),
            missing={},
            nominal=(),
            ordinal={},
            numeric=(),
        )
    return _with_wide_fields(config, source, _WideNames(source))


def _with_wide_fields(config: Config, source: WideSource, names: _WideNames) -> Config:
    roles: dict[str, Role] = {f.name: Role.UNTOUCHED for f in source.layout.fields if names.is_presence(f.name)}
    weights = weights_by_level(source.levels, config.roles, str(source.path))
    around = [path for path in weights if source.record_level[: len(path)] == path]
    own_weight = max(around, key=len, default=None)
    for name, role in config.roles.items():
        fields = names.of(name, "a role")
        # a record has one weight: those of members within it are written, and count in figures of theirs
        found = source.levels.named(name)
        other = role is Role.WEIGHT and found is not None and found[0] != own_weight
        roles.update(dict.fromkeys(fields, Role.UNTOUCHED if other else role))
    return replace(
        config,
        roles=roles,
        missing={
            one: codes
            for name, codes in config.missing.items()
            for one in ([name] if name == ALL_FIELDS else names.of(name, "missing codes"))
        },
        nominal=names.all_of(config.nominal, "the kind nominal"),
        ordinal={one: order for name, order in config.ordinal.items() for one in names.of(name, "the kind ordinal")},
        numeric=names.all_of(config.numeric, "the kind numeric"),
        quasi_identifiers=names.all_of(config.quasi_identifiers, "the mark of a quasi-identifier"),
        **_steps_renamed(config, lambda name: names.of(name, "a treatment")),
    )


def roles_by_name(source: WideSource, roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return roles of wide fields, given roles by the names of the tree; those of no field are left out."""
    names = _WideNames(source)
    known = source.levels.named
    return {one: role for name, role in roles.items() if known(name) for one in names.of(name, "a role")}


_NOT_NESTED = "masktron cannot do this with a nested file yet (docs/nested-files.md says what to do instead)"


def _refuse_settings(config: Config, source: WideSource) -> None:
    given = [kind for kind in ALL if getattr(config, kind.asked_by[0])]
    asked = {kind: Setting(f"--{kind.asked_by[0].replace('_', '-')}") for kind in given}
    refuse_treatments([setting for kind, setting in asked.items() if not kind.of_keys], source)
    if (settings := tuple(asked.values())) and source.record_level != TOP:
        reason = "keys are treated where households are protected whole, and --protect protects their members alone"
        raise UsageError.of("setting-not-usable", source.path, name=settings, reason=reason)
    if config.unit_records:
        raise UsageError.of("setting-not-usable", source.path, name=(Setting("--unit-records"),), reason=_NOT_NESTED)


def grouping_notes(config: Config, source: WideSource) -> tuple[Sentence, ...]:
    """Say how groups of units are formed, where settings have it otherwise."""
    if source.record_level != TOP or config.grouping == "all":
        return ()
    top = source.levels.top.name
    return (
        Note(
            "groups of {top} are formed over all masked fields together, as with [[--grouping all]]: anybody who "
            "recognises one member of a {top} knows the others",
            top=top,
        ),
    )


def refuse_treatments(asked: Sequence[Setting | str], source: Source) -> None:
    """Refuse treatments of keys, by what asks for them, of which wide records know nothing yet.

    Raises
    ------
    UsageError
    """
    if asked and isinstance(source, WideSource):
        raise UsageError.of("setting-not-usable", source.path, name=tuple(asked), reason=_NOT_NESTED)


def _require_roles_of_keys(config: Config, source: JoinedSource) -> None:
    """Refuse to mask, or to leave open, what joins the tables: they would fall apart, or tell what nobody decided."""
    for name, level in source.joining.items():
        role = config.roles.get(name)
        if role not in (Role.IDENTIFIER, Role.RECORD_ID, Role.UNTOUCHED, Role.QUASI_IDENTIFIER):
            said = "has no role" if role is None else f"has the role {role}"
            raise UsageError.of(
                "role-does-not-fit",
                source.path,
                setting=f"the join of each {level}",
                field=NamedField(name),
                role="identifier",
                reason=f"which {said}",
            )


class _WideNames:
    """Fields of wide records by the names of the tree."""

    def __init__(self, source: WideSource) -> None:
        self._source = source
        self._presences = {place.presence for place in source.wide.places if place.presence} | {source.wide.kind}
        self._leaves = source.wide.by_field()

    def is_presence(self, name: str) -> bool:
        """Whether a field says whether a member is there."""
        return name.removeprefix("@") in self._presences and name.startswith("@")

    def of(self, name: str, what: str) -> list[str]:
        """Return the wide fields of a field, by its name in the tree.

        Raises
        ------
        UsageError
            There is none, or several are called so.
        """
        tree = self._source.levels
        found = tree.named(name)
        if found is None and (several := tree.candidates(name)):
            one_of = Note("one of {names:or}", names=fields(several))
            called = f"the field with {what}"
            raise UsageError.of("bad-value", self._source.path, name=called, expected=one_of, given=repr(name))
        if found is None:
            raise UsageError.of(
                "unknown-name",
                self._source.path,
                name=NamedField(name),
                known=Known(name, tuple(tree.names)),
                kind="field",
            )
        names = [leaf.name for leaf in self._leaves.get(found, ())]
        return [one for one in names if self._source.layout.field(one) is not None]

    def all_of(self, names: Collection[str], what: str) -> tuple[str, ...]:
        """Return the wide fields of several fields."""
        return tuple(one for name in names for one in self.of(name, what))
