"""The fields of a wide record: those of a unit and of its members, position by position."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from masktron.sources.level_tree import Level, LevelPath
from masktron.sources.record_layout import Field, Layout


@dataclass(frozen=True, slots=True, eq=False)
class UnitField:
    """A field of the unit or of a member.

    Attributes
    ----------
    name : str
        Of the field of the wide record, ``@`` before it for an attribute.
    order : tuple of int
        Compares as nodes stand in the document.
    text : bool
        Whether the text node is meant, which an empty element does not have.
    """

    place: UnitPlace
    field: Field
    name: str
    order: tuple[int, ...]
    text: bool = False

    @property
    def parent(self) -> UnitPlace:
        """The element around it."""
        return self.place

    @property
    def tag(self) -> str:
        """Its Clark name."""
        return self.field.tag

    @property
    def key(self) -> tuple[str, bool]:
        """What tells it from other nodes."""
        return self.name, self.text

    def as_text(self) -> UnitField:
        """Return its text node."""
        return replace(self, text=True)


@dataclass(frozen=True, slots=True, eq=False)
class UnitPlace:
    """The unit, or one of its members.

    Attributes
    ----------
    name : str
        ``Person.2``; empty for the unit.
    path : tuple of (str, int)
        Kind and position, from 0, of each element on the way from the unit to this one.
    sure : bool
        Whether every unit that is described has it.
    presence : str
        The attribute of the wide record that says whether it is there; empty where it is `sure`.
    hidden : set of str
        Clark names of what it has besides, fields or members, of which the wide record says nothing; ``@`` before
        those of attributes.
    """

    level: Level
    name: str
    path: tuple[tuple[str, int], ...]
    parent: UnitPlace | None
    order: tuple[int, ...]
    sure: bool = True
    presence: str = ""
    hidden: set[str] = field(default_factory=set)
    leaves: list[UnitField] = field(default_factory=list)
    members: list[tuple[UnitPlace, ...]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, bool]:
        """What tells it from other nodes."""
        return f"/{self.name}", False

    @property
    def tag(self) -> str:
        """Its Clark name."""
        return self.level.tag

    @property
    def level_path(self) -> LevelPath:
        """The path of its level in the tree."""
        return tuple(name for name, _ in self.path)

    def below(self) -> Iterator[UnitPlace]:
        """Yield this element and all members below it, in document order."""
        yield self
        for kind in self.members:
            for member in kind:
                yield from member.below()


type UnitNode = UnitField | UnitPlace


@dataclass(frozen=True, slots=True, eq=False)
class WideRecord:
    """What a record has whose fields are those of a unit and of all its members.

    Attributes
    ----------
    unit : UnitPlace
    layout : Layout
        Of a flat file of such records: presences first, then the fields in document order; no name has a namespace.
    kinds : tuple of frozenset of str
        The compositions of the units that are described, each by the names of its members; none where nobody asks.
    kind : str
        Attribute of the wide record that says which of them it is, as `kind_text`; empty without kinds.
    """

    unit: UnitPlace
    layout: Layout
    kinds: tuple[frozenset[str], ...] = ()
    kind: str = ""

    @classmethod
    def of(cls, level: Level, composition: Composition, layout: Layout) -> Self:
        """Return the wide record of a composition.

        Parameters
        ----------
        level : Level
            The unit.
        composition : Composition
        layout : Layout
            Of the nested file.
        """
        names = _Names({field.tag.rpartition("}")[2] for field in level.fields})
        unit = names.place(level, composition, (), None, (), sure=True)
        places = list(unit.below())
        presences = [Field(f"@{p.presence}", p.presence, attribute=True) for p in places if not p.sure]
        fields = [
            Field(leaf.name, leaf.name.removeprefix("@"), attribute=leaf.field.attribute)
            for place in places
            for leaf in place.leaves
        ]
        path = tuple(tag.rpartition("}")[2] for tag in layout.record_path)
        fields.sort(key=lambda one: not one.attribute)
        return cls(unit, Layout(path, (*presences, *fields), encoding=layout.encoding))

    def only(self, names: Collection[str]) -> WideRecord:
        """Return the wide record without fields that no unit has, given the names of those that some have."""
        fields = [f for f in self.layout.fields if f.name in names or not self._is_leaf(f.name)]
        return replace(
            self, unit=_with_fields(self.unit, None, names), layout=replace(self.layout, fields=tuple(fields))
        )

    def of_kinds(self, kinds: Sequence[frozenset[str]]) -> WideRecord:
        """Return the wide record with an attribute that says which composition, of all that there are, a unit has."""
        name = "unit.composition"
        while self.layout.field(f"@{name}") is not None:
            name += "_"
        marked = (Field(f"@{name}", name, attribute=True), *self.layout.fields)
        return replace(self, layout=replace(self.layout, fields=marked), kinds=tuple(kinds), kind=name)

    def of_one_kind(self, members: Collection[str]) -> WideRecord:
        """Return the wide record of units that have these members, no others, and all of them; names stay."""
        return replace(self, unit=_pruned(self.unit, frozenset(members), None), kinds=(), kind="")

    def _is_leaf(self, name: str) -> bool:
        return name.removeprefix("@") not in {place.presence for place in self.places}

    @property
    def places(self) -> tuple[UnitPlace, ...]:
        """The unit and all its members, in document order."""
        return tuple(self.unit.below())

    def by_field(self) -> dict[tuple[LevelPath, Field], list[UnitField]]:
        """Return its fields at all positions, by level and field of the nested file."""
        found: dict[tuple[LevelPath, Field], list[UnitField]] = {}
        for place in self.places:
            for leaf in place.leaves:
                found.setdefault((place.level_path, leaf.field), []).append(leaf)
        return found


def kind_text(code: int) -> str:
    """Return what stands in a wide record of a composition, given its place among all, or -1 where it is none."""
    return str(code + 1)


def _pruned(place: UnitPlace, members: frozenset[str], parent: UnitPlace | None) -> UnitPlace:
    """Return an element with some of the members below it, which are all there."""
    own = replace(place, parent=parent, sure=True, presence="", leaves=[], members=[])
    own.leaves.extend(replace(leaf, place=own) for leaf in place.leaves)
    for kind in place.members:
        own.members.append(tuple(_pruned(one, members, own) for one in kind if one.name in members))
    return own


def _with_fields(place: UnitPlace, parent: UnitPlace | None, names: Collection[str]) -> UnitPlace:
    """Return an element, with all that is below it, without fields that have none of some names."""
    found = replace(place, parent=parent, leaves=[], members=[])
    found.leaves.extend(replace(leaf, place=found) for leaf in place.leaves if leaf.name in names)
    found.members.extend(tuple(_with_fields(member, found, names) for member in kind) for kind in place.members)
    return found


class _Names:
    """Names of wide fields, none of them twice."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def _new(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def place(
        self,
        level: Level,
        composition: Composition,
        path: tuple[tuple[str, int], ...],
        parent: UnitPlace | None,
        order: tuple[int, ...],
        *,
        sure: bool,
    ) -> UnitPlace:
        """Return an element with all that is below it."""
        name = ".".join(f"{kind}.{at + 1}" for kind, at in path)
        presence = "" if sure else self._new(name)
        place = UnitPlace(level, name, path, parent, order, sure, presence)
        for at, own in enumerate(level.fields):
            local = own.tag.rpartition("}")[2]
            wide = local if not name else self._new(f"{name}.{local}")
            rank = (0 if own.attribute else 1, at)
            place.leaves.append(UnitField(place, own, f"@{wide}" if own.attribute else wide, (*order, *rank)))
        for kind, (child, members) in enumerate(zip(level.children, composition.members, strict=True)):
            place.members.append(
                tuple(
                    self.place(
                        child,
                        member,
                        (*path, (child.name, at)),
                        place,
                        (*order, 2 + kind, at),
                        sure=sure and member.sure,
                    )
                    for at, member in enumerate(members)
                )
            )
        return place


@dataclass(frozen=True, slots=True)
class Composition:
    """Members of each kind that a unit has, in the order of `Level.children`.

    Attributes
    ----------
    members : tuple of tuple of Composition
        One tuple for each kind, in it each member with the members that it has itself.
    sure : bool
        Whether each unit that is described has this member: a class of several compositions has all the members that
        one of them has, and not every unit has them all.
    """

    members: tuple[tuple[Composition, ...], ...] = ()
    sure: bool = True


def joint(one: Composition, other: Composition) -> Composition:
    """Return the least composition that covers both: what only one of them has is not sure."""
    kinds = []
    for own, theirs in zip(one.members, other.members, strict=True):
        both = min(len(own), len(theirs))
        longer = own if len(own) > both else theirs
        shared = [joint(a, b) for a, b in zip(own[:both], theirs[:both], strict=True)]
        kinds.append((*shared, *(Composition(member.members, sure=False) for member in longer[both:])))
    return Composition(tuple(kinds), sure=one.sure and other.sure)


@dataclass(frozen=True, slots=True)
class SumOfMembers:
    """A field of a record around members that is the sum of one of theirs.

    Attributes
    ----------
    level : tuple of str
        Of the record around them.
    field : str
    of : str
        The field of the members.
    rule : str
        Id of the rule that says so.
    """

    level: LevelPath
    field: str
    of: str
    rule: str
