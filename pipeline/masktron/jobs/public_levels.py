"""What may be told of a nested release: its levels, and the fields of each, whatever positions they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from masktron.addresses import is_address, parse_address
from masktron.errors import UsageError
from masktron.jobs.level_files import LevelFile
from masktron.jobs.public_figures import PublicFigures
from masktron.report.pages.plain_reader import PlainData
from masktron.results.public_release import SUMMED, PublicField, PublicLevel, PublicRelease

type FieldOf = Callable[[PlainData, tuple[int, PlainData] | None, PublicFigures], PublicField]
"""Given a field of the plan, its block with its number, and figures, returns what may be told of it."""


def with_levels(
    release: PublicRelease,
    manifest: PlainData,
    levels: Sequence[LevelFile],
    rules: Sequence[str],
    field_of: FieldOf,
    own_checksum: str,
) -> PublicRelease:
    """Return what may be told of a nested release, given what is told of its wide records.

    Parameters
    ----------
    release : PublicRelease
        With fields of wide records, which are replaced.
    manifest : PlainData
    levels : sequence of LevelFile
        Both files by level; empty where they are not at hand.
    rules : sequence of str
        Ids of the rules as they are written.
    field_of : callable
    own_checksum : str
        Of several tables, that of the top level; empty where it is not known.

    Raises
    ------
    UsageError
        The manifest is none, or one of an earlier version, which does not say what fields the levels have.
    """
    nested = manifest.part("nested")
    known = nested.parts("fields") if nested.has("fields") else ()
    if not known:
        raise UsageError(
            "the manifest does not say which fields the levels have: an earlier version of masktron wrote it",
            where=manifest.where,
            hint="mask the file again with this version; --secret MANIFEST gives the same random numbers",
        )
    plan = {fact.text("name"): fact for fact in manifest.part("plan").parts("fields")}
    blocks = {
        name: (at, block)
        for at, block in enumerate(manifest.part("result").parts("blocks"), start=1)
        for name in block.names("variables")
    }
    figures = {one.level: PublicFigures.of_level(one) for one in levels}
    nothing = PublicFigures.of_records(None, whole=False)
    sums = {(one.text("level"), one.text("field")): one.text("rule") for one in nested.parts("sums")}
    weights = {(one.text("level"), one.text("field")) for one in nested.parts("weights")}
    gone = {(one.text("level"), name) for one in nested.parts("removed") for name in one.names("fields")}
    top = known[0].text("level").partition("/")[0]
    numbered = [one.text("name") for one in known if one.has("numbered") and one.switch("numbered")]
    fields: list[PublicField] = []
    removed: list[str] = []
    for one in known:
        name, level = one.text("name"), one.text("level")
        facts = [plan[wide] for wide in one.names("wide") if wide in plan]
        place = level.partition("/")[2], name.rpartition("/")[2]
        if name in numbered:
            continue
        if place in gone or any(fact.text("role") == "identifier" for fact in facts):
            removed.append(name)
        elif place in sums:
            fields.append(PublicField(name, masked=True, number=True, level=level, how=SUMMED, solved_by=sums[place]))
        else:
            of_level = figures.get(level, nothing)
            own = [field_of(_named(fact, name), blocks.get(fact.text("name")), of_level) for fact in facts]
            at_each = [
                replace(told, solved_by=_written(_solved(blocks, fact), rules))
                for fact, told in zip(facts, own, strict=True)
            ]
            weight = place in weights
            fields.append(replace(_together(at_each, name), level=level, weight=weight))
    return replace(
        release,
        fields=tuple(fields),
        removed=tuple(removed),
        levels=tuple(_levels(manifest, nested, [one.text("level") for one in known])),
        protected="/".join(filter(None, (top, nested.text("protect")))),
        numbered=tuple(numbered),
        rare_left_out=release.left_out > 0 and manifest.part("config").text("rare_units") == "exclude",
        own_checksum=own_checksum if manifest.part("output").has("tables") else "",
    )


def _named(fact: PlainData, name: str) -> PlainData:
    return PlainData({**fact.content, "name": name}, fact.where)


def _solved(blocks: Mapping[str, tuple[int, PlainData]], fact: PlainData) -> str:
    """Return the rule of wide records from which a wide field follows in each record; empty for none."""
    name = fact.text("name")
    solved = blocks[name][1].parts("solved") if name in blocks else ()
    return next((one.text("rule") for one in solved if one.text("field") == name), "")


def _written(rule: str, rules: Iterable[str]) -> str:
    """Return the id of a rule as it is written, given one of wide records: ``total`` for ``total:Person.2``."""
    found = [own for own in rules if rule == own or rule.startswith(f"{own}:")]
    return max(found, key=len, default=rule)


def _together(places: Sequence[PublicField], name: str) -> PublicField:
    """Return what is told of a field, given what is told of it at each position; figures are of all of them."""
    if not places:
        return PublicField(name, masked=False, number=False)
    first = places[0]
    if not first.masked:
        return first
    numbers = sorted({one.block for one in places if one.block is not None})
    solved = [one.solved_by for one in places if one.solved_by]
    return replace(
        first,
        block=numbers[0],
        more_blocks=tuple(numbers[1:]),
        how=", ".join(dict.fromkeys(one.how for one in places)),
        solved_by=solved[0] if solved else "",
        solved_everywhere=len(solved) == len(places) or not solved,
        keeps_mean=all(one.keeps_mean for one in places) and not solved,
    )


def _levels(manifest: PlainData, nested: PlainData, named: Sequence[str]) -> Iterable[PublicLevel]:
    known = {one.text("level"): one for one in manifest.part("told").parts("levels")}
    output = manifest.part("output")
    tables = dict(output.part("tables").items()) if output.has("tables") else {}
    top = named[0].partition("/")[0]
    orders = {
        "/".join((top, one.text("level"))): tuple(key.text("field") for key in one.parts("by"))
        for one in nested.parts("member_order")
    }
    for level in dict.fromkeys(named):
        table = PlainData(tables.get(level.rpartition("/")[2], {}), manifest.where)
        own = known.get(level)
        yield PublicLevel(
            level,
            None if own is None else own.count("records"),
            "" if own is None else own.text("weight"),
            orders.get(level, ()),
            name_of_file(table.text("path")) if table.content else "",
            table.text("sha256") if table.content else "",
        )


def name_of_file(path: str) -> str:
    """Return the name of a file without folders, and that of a table without its server."""
    if is_address(path):
        return parse_address(path).table or "a query"
    return path.replace("\\", "/").rpartition("/")[2]
