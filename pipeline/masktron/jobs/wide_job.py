"""Nested files in jobs on flat records: a record is a unit with all its members, and rules are written for that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.classify import classify
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.jobs.member_ordering import ordered_members
from masktron.problems.problem import Field as NamedField
from masktron.problems.problem import Known, Note, Sentence, Setting, fields
from masktron.rulebook.analysis import context_of
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Call, Comparison, Expression, NameTest, Path, Step
from masktron.rulebook.schema import Rulebook
from masktron.setting_values import ALL_FIELDS
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.record_layout import Field
from masktron.sources.source import Source
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.sum_of_members import SumOfMembers
from masktron.sources.wide.wide_source import WideSource
from masktron.unrolling.unrolled import Unrolled, unroll

_UNMASKED = frozenset({Role.UNTOUCHED, Role.QUASI_IDENTIFIER, Role.RECORD_ID, Role.WEIGHT, Role.IDENTIFIER})
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class MemberProtection:
    """Members of one level as the records that are masked.

    Attributes
    ----------
    source : MemberSource
    unrolled : Unrolled
        The rules of single members.
    notes : tuple of str
        What is protected and what is not, and which rules were not planned for.
    """

    source: MemberSource
    unrolled: Unrolled
    notes: tuple[Sentence, ...]


def protected_level(levels: Tree, name: str | None, where: str) -> LevelPath:
    """Return the path of the level that is protected, by its name, or that of the levels down to it.

    Raises
    ------
    UsageError
        There is none, or several.
    """
    paths = {levels.shown(path): path for path, _ in levels.levels()}
    if name is None:
        return TOP
    found = [full for full in paths if full == name or full.endswith(f"/{name}")]
    if not found:
        raise UsageError.of("unknown-name", where, kind="level", name=name, known=Known(name, tuple(paths)))
    if len(found) > 1:
        one_of = f"one of {', '.join(found)}"
        raise UsageError.of("bad-value", where, name="the name of a level", expected=one_of, given=repr(name))
    return paths[found[0]]


def members_alone(job: Job, config: Config, path: LevelPath) -> MemberProtection:
    """Return the members of a level as records, with the rules that speak of each alone.

    Rules that tie masked fields of several members are not among them, unless they say that a field around the
    members is their sum: this is computed anew. They are judged in the written file as all rules are.

    Raises
    ------
    UsageError
        A field of another level is to be masked, and no rule says that it is a sum.
    """
    tree = job.source.tree
    if tree is None:
        raise TypeError(f"{job.source.path} is no nested file")
    sums = _sums(job, tree, path)
    masked, removed = _other_fields(job, tree, config, path)
    for above, own in masked:
        if (above, own.name) not in sums:
            _refuse(job, tree, path, above, own)
    used = [sums[above, own.name] for above, own in masked]
    order = ordered_members(job, config).source.member_order
    inner = order.without(frozenset(one for one, _ in tree.levels() if one[: len(path)] != path or one == path))
    source = MemberSource(job.source, path, used, removed, member_order=inner)
    unrolled = unroll(job.rulebook, source.wide, source.levels.layout)
    unmasked = {name for name, role in config.roles.items() if role in _UNMASKED}
    changed = {own.name.removeprefix("@") for name, (_, own) in tree.names.items() if name not in unmasked}
    return MemberProtection(source, unrolled, tuple(_notes(job, tree, path, used, unrolled, changed)))


def _other_fields(
    job: Job, tree: Tree, config: Config, path: LevelPath
) -> tuple[list[tuple[LevelPath, Field]], dict[LevelPath, frozenset[str]]]:
    """Return the masked and the removed fields of levels around and beside the members."""
    dataset = job.source.level_records()
    masked: list[tuple[LevelPath, Field]] = []
    removed: dict[LevelPath, frozenset[str]] = {}
    for name, (above, own) in tree.names.items():
        if above[: len(path)] == path:
            continue
        role = config.roles.get(name)
        column = dataset.levels[above].columns.get(own.name)
        held = column is not None and bool(column.present.any())
        if role is Role.IDENTIFIER:
            removed[above] = removed.get(above, frozenset()) | {own.name}
        if role is Role.CONFIDENTIAL or (role is None and held):
            masked.append((above, own))
    return masked, removed


def _refuse(job: Job, tree: Tree, path: LevelPath, above: LevelPath, own: Field) -> None:
    field = tree.name_of[above, own]
    kind, other = path[-1], above[-1] if above else tree.top.name
    raise UsageError.of(
        "masked-around-members",
        job.source.path,
        field=NamedField(field),
        unit=other,
        level=kind,
        top=tree.top.name,
    )


def _sums(job: Job, tree: Tree, path: LevelPath) -> Mapping[tuple[LevelPath, str], SumOfMembers]:
    """Return the fields around members of which a rule says that they are the sum of one of theirs."""
    found: dict[tuple[LevelPath, str], SumOfMembers] = {}
    tags = {one: level.tag for one, level in tree.levels()}
    for pattern in job.rulebook.patterns:
        for rule in pattern.rules:
            paths = context_of(job.rulebook, rule.context) or ()
            names = {one.steps[-1].plain_name for one in paths if one.steps and not one.steps[-1].predicates}
            above = next(
                (one for one in tags if path[: len(one)] == one != path and _local(tags[one]) in names), None
            )
            if above is None or len(names) != 1:
                continue
            for check in rule.checks:
                said = _sum_in(parsed(check.test, job.rulebook.namespaces), path[len(above) :])
                if said is None or check.soft or check.kind != "assert":
                    continue
                field, of = said
                if tree.level(above).field(field) and tree.level(path).field(of):
                    found.setdefault((above, field), SumOfMembers(above, field, of, check.id))
    return found


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _sum_in(test: Expression, down: LevelPath) -> tuple[str, str] | None:
    """Return the field and what it sums, of a test such as ``sum(Person/Income) = Total``."""
    if not isinstance(test, Comparison) or test.sign != "=":
        return None
    for one, other in ((test.left, test.right), (test.right, test.left)):
        summed = one.arguments if isinstance(one, Call) and one.standard == "sum" else ()
        steps, own = _names(*summed) if len(summed) == 1 else [], _names(other)
        if steps and steps[:-1] == [*down] and len(own) == 1:
            return own[0], steps[-1]
    return None


def _names(path: Expression) -> list[str]:
    """Return the names on a path of plain child or attribute steps; none where it is no such path."""
    match path:
        case Step(axis="child" | "attribute" as axis, test=NameTest(local=local, space=""), predicates=()):
            return [f"@{local}" if axis == "attribute" else local]
        case Path(first=first, hops=hops) if not any(hop.deep for hop in hops):
            parts = [_names(one) for one in (first, *(hop.to for hop in hops))]
            return [name for names in parts for name in names] if all(parts) else []
        case _:
            return []


def _notes(
    job: Job, tree: Tree, path: LevelPath, sums: list[SumOfMembers], unrolled: Unrolled, changed: set[str]
) -> Iterator[str]:
    kind, top = path[-1], tree.top.name
    yield (
        f"{kind} alone is protected, and no {top}: who recognises one {kind} of a {top} knows all others in it, as "
        "they stand together as they did"
    )
    for one in sums:
        yield f"{one.field} is computed anew as the sum of {one.of}, as rule {one.rule} says"
    known = {one.rule for one in sums}
    left = [job.rulebook.checks[index] for index in unrolled.reasons]
    if others := [check.id for check in left if check.id not in known and changed & {*_NAME.findall(check.test)}]:
        yield (
            f"not planned for, as they tie masked fields of more than one {kind}: {', '.join(others)}; the written "
            "file is judged by them as by all others"
        )


@dataclass(frozen=True, slots=True)
class NestedJob:
    """What wide records were made of: the nested file with the rules as they are written.

    Attributes
    ----------
    job : Job
        The rules as they are written, on the nested file.
    unrolled : Unrolled
        The rules of the wide records.
    notes : tuple of str
        In which order members stand in wide records.
    """

    job: Job
    unrolled: Unrolled
    notes: tuple[Sentence, ...]

    def written(self, check: int) -> int:
        """Return the check of the rulebook as it is written, given one of the wide records."""
        return self.unrolled.origins[check].check

    def of_wide(self, checks: Iterable[int]) -> list[int]:
        """Return the checks as they are written of which all parts are among some checks of the wide records."""
        some = frozenset(checks)
        parts: dict[int, list[bool]] = {}
        for index, origin in enumerate(self.unrolled.origins):
            parts.setdefault(origin.check, []).append(index in some)
        return sorted(check for check, found in parts.items() if all(found))


def wide_job(job: Job, config: Config) -> tuple[Job, NestedJob | None]:
    """Return a job on a nested file as one on its wide records; any other job as it is.

    Parameters
    ----------
    job : Job
    config : Config
        Says in which order members stand in wide records.

    Raises
    ------
    UsageError
        Members cannot stand in that order.
    """
    if job.source.tree is None:
        return job, None
    config = named_as_fields(config, job.source.tree, str(job.source.path))
    path = protected_level(job.source.tree, config.protect, str(job.source.path))
    found = members_alone(job, config, path) if path else ordered_members(job, config)
    return job_on(found.source, found.unrolled.rulebook), NestedJob(job, found.unrolled, found.notes)


def job_on(source: Source, rulebook: Rulebook) -> Job:
    """Return a job on a file, of which the rules are at hand."""
    return Job(source, rulebook, classify(rulebook, source.layout))


def wide_settings(config: Config, wide: Job, nested: NestedJob) -> Config:
    """Return settings of a nested file as settings of its wide records.

    A field has the name that it has in the tree of levels, ``Income`` or ``Person/Age``, and what is said of it holds
    of all members. Rules are named as they are written.

    Raises
    ------
    UsageError
        A field or rule is not there; or something is asked that nested files do not get yet.
    """
    source = wide.source
    if not isinstance(source, WideSource):
        raise TypeError(f"{source.path} has no wide records")
    _refuse_settings(config, source)
    config = named_as_fields(config, source.levels, str(source.path))
    if isinstance(source.nested, JoinedSource):
        _require_roles_of_keys(config, source.nested)
    names = _WideNames(source)
    rules = {check.id: check.index for check in nested.job.rulebook.checks}
    return replace(
        _with_wide_fields(config, source, names),
        allow=tuple(
            wide.rulebook.checks[at].id
            for rule in config.allow
            for at, origin in enumerate(nested.unrolled.origins)
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
    )


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
    )


def roles_by_name(source: WideSource, roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return roles of wide fields, given roles by the names of the tree; those of no field are left out."""
    names = _WideNames(source)
    known = source.levels.named
    return {one: role for name, role in roles.items() if known(name) for one in names.of(name, "a role")}


def compositions_of(job: Job) -> NDArray[np.intp]:
    """Return the code of each record: of wide records, which members the unit has; else one code for all."""
    source = job.source
    if not isinstance(source, WideSource):
        return np.zeros(0, dtype=np.intp)
    return source.members.kind_codes(source.members.kinds())


_NOT_NESTED = "masktron cannot do this with a nested file yet (docs/nested-files.md says what to do instead)"


def _refuse_settings(config: Config, source: Source) -> None:
    names = ("recode", "key_k", "pram", "swap", "reweight")
    refuse_treatments([Setting(f"--{name.replace('_', '-')}") for name in names if getattr(config, name)], source)
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
