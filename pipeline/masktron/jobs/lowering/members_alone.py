"""Members of a nested file, such as persons of households, as the records that are masked: without what is around."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.jobs.lowering.member_ordering import ordered_members
from masktron.problems.problem import Field as NamedField
from masktron.problems.problem import Known, Sentence
from masktron.rulebook.analysis import context_of
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Call, Comparison, Expression, NameTest, Path, Step
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.record_layout import Field
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.wide_record import SumOfMembers
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
    notes : tuple of Sentence
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
