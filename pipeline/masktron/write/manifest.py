"""The manifest: everything that was decided and found in a run. CONFIDENTIAL, for inside the agency only."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from masktron.config import AS_IT_SAYS, Config, ReadOptions, Role, config_from
from masktron.constraints import Linear
from masktron.contracts import IdenticalGroups
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.former_names import manifest_from
from masktron.results.rules import RuleFate
from masktron.results.verdict import telling_apart
from masktron.serialised import read_plain
from masktron.setting_values import ALL_FIELDS
from masktron.step_kinds import (
    Treatment,
    require_asked_for,
    suppressed_in,
    treatments_from,
)
from masktron.trust import without_named_only
from masktron.write.atomic import atomic_path
from masktron.write.declared import Declared, declared_from
from masktron.write.nested_release import NestedRelease

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MANIFEST_VERSION = 1
_NO_LISTS: Mapping[str, NDArray[np.integer]] = MappingProxyType({})
_AT_ONCE = 1 << 14
"""Numbers of a list that are written together."""
_KEPT = ("record-id", "weight", "untouched", "quasi-identifier")
"""Roles of fields that are written as they were."""
NOTICE = "CONFIDENTIAL: this manifest may help to undo the masking; it must not leave the agency."


def dump(content: Mapping[str, Any]) -> str:
    """Return plain data as JSON and a line end; what a terminal would obey, or UTF-8 cannot hold, as escapes."""
    return _harmless(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def dump_line(content: Mapping[str, Any]) -> str:
    """Return plain data as JSON on one line, without a line end; with the same escapes as `dump`."""
    return _harmless(json.dumps(content, ensure_ascii=False, allow_nan=False))


def _harmless(text: str) -> str:
    return _RISKY.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_RISKY = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def write_plain(path: Path, content: Mapping[str, Any], lists: Mapping[str, NDArray[np.integer]] = _NO_LISTS) -> None:
    """Write a manifest, plain data as UTF-8 JSON, to a path of `masktron.write.atomic.atomic_path`.

    Parameters
    ----------
    path : Path
    content : mapping of str to plain data
    lists : mapping of str to ndarray of integers, shape (n,)
        Long lists that stand in the place of entries of the content, and are never in memory as text or objects.
    """
    rest = dump({name: [] if name in lists else value for name, value in content.items()})
    with path.open("w", encoding="utf-8") as stream:
        for name in (name for name in content if name in lists):
            # a text has no line end in it, so that this is no text
            before, entry, rest = rest.partition(f"\n  {json.dumps(name)}: [")
            stream.write(before + entry)
            for begin in range(0, len(lists[name]), _AT_ONCE):
                part = lists[name][begin : begin + _AT_ONCE].tolist()
                stream.write(("," if begin else "") + ",".join(f"\n    {one}" for one in part))
            stream.write("\n  " if len(lists[name]) else "")
        stream.write(rest)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a result as UTF-8 JSON, whole or not at all, for its owner alone."""
    with atomic_path(path) as temporary:
        temporary.write_text(dump(content), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class DescribedRelease:
    """A masked file as its manifest describes it: what `check` and `assess` need.

    Attributes
    ----------
    output : str
        SHA-256 of the masked file.
    original : str
        SHA-256 of the original.
    rules : str
        SHA-256 of the rulebook (not of what it includes).
    k : int
    blocks : tuple of tuple of str
        Variables of each block: at least k records share each combination of their masked values.
    relations : tuple of Linear
        Equalities and ``<=`` that the rules demand of every record. Former manifests name none.
    solved : tuple of (str, str, int, int)
        Variables that do not count for that in records where an equality gives them: the rule, and where it stands.
    removed : tuple of str
        Identifiers that were left out.
    kept : tuple of str
        Fields that were not masked.
    masked : tuple of str
        Fields that were masked: each stands in one block.
    allowed : tuple of str
        Rules that the file may break.
    let_go : frozenset of str
        Of these, those that the settings name; the others may be broken if they are soft.
    excluded : tuple of int
        Positions (from 0) of the original records that were left out.
    order : ndarray of intp, shape (n,), or None
        Original position (among the records that were kept) of each masked record, where they were shuffled.
    numeric : tuple of str
        Those of the masked fields that were masked as numbers.
    weight : str or None
    missing : mapping of str to frozenset of str
        What means 'missing' in a field, by name.
    medoid_share : float
        Groups that copy one of their records, per cent of all groups.
    means : frozenset of str
        Masked fields of which groups publish a mean.
    observed : frozenset of str
        Of these: fields of which some groups publish values of their records instead.
    declared : Declared
        The method and what it promises; identical groups of k where the manifest says nothing of it.
    untested : tuple of str
        Rules that the masked file does not test, and need not.
    documents : mapping of str to str
        SHA-256 of the documents that the rules read, by the names that the rules have for them.
    reading : ReadOptions
        How the original was read, and so how both files are, where the user says nothing else.
    limits : mapping of str to float
        Bounds of figures under which the file was published.
    method : str
        By its name in the settings.
    params : mapping of str to value
        Of the method, as the settings give them.
    roles : mapping of str to str
        The role of each field of the original, in its order.
    quasi_identifiers : tuple of str
        Fields that were said to be known to others, besides those of that role.
    phase : str or None
        The phase by whose rules the file was masked, where somebody named one.
    treatments : tuple of Treatment
        What was done to fields before the others were masked, in order.
    translated : str or None
        SHA-256 of the rulebook that this left of the rules; None where they are as they were.
    fates : tuple of RuleFate
        What it says that each rule became which is not as it was. `check` finds that out itself.
    version : str
        That of masktron which wrote it.
    nested : NestedRelease
        How the units of a nested file were read.
    whole_record_k : int or None
        At least so many records share all masked values; None of nested files.
    telling_apart : tuple of str
        What told records apart when the file was masked. Former manifests name nothing.
    """

    output: str
    original: str
    rules: str
    k: int
    blocks: tuple[tuple[str, ...], ...]
    solved: tuple[tuple[str, str, int, int], ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    masked: tuple[str, ...]
    allowed: tuple[str, ...]
    excluded: tuple[int, ...]
    order: NDArray[np.intp] | None
    numeric: tuple[str, ...]
    weight: str | None
    missing: Mapping[str, frozenset[str]]
    medoid_share: float
    means: frozenset[str]
    observed: frozenset[str]
    declared: Declared
    untested: tuple[str, ...] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    reading: ReadOptions = AS_IT_SAYS
    limits: Mapping[str, float] = field(default_factory=dict)
    method: str = "mdav"
    params: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    quasi_identifiers: tuple[str, ...] = ()
    phase: str | None = None
    treatments: tuple[Treatment, ...] = ()
    translated: str | None = None
    fates: tuple[RuleFate, ...] = ()
    version: str = ""
    nested: NestedRelease = field(default_factory=NestedRelease)
    relations: tuple[Linear, ...] = ()
    whole_record_k: int | None = None
    telling_apart: tuple[str, ...] = ()
    let_go: frozenset[str] = frozenset()

    @property
    def key_k(self) -> int | None:
        """How many records were to share each combination of keys; None where nothing was suppressed for that."""
        return max((one.contract.k for one in suppressed_in(self.treatments)), default=None)

    @property
    def as_original(self) -> tuple[str, ...]:
        """Names that stood for the original in the rules."""
        return tuple(name for name, digest in self.documents.items() if digest == self.original)


def read_manifest(path: Path) -> DescribedRelease:
    """Read what a manifest says of the masked file.

    Raises
    ------
    UsageError
        The file is missing, is not JSON, is not a manifest of this version, or contradicts itself.
    """
    return described_release(manifest_content(path), path)


def manifest_content(path: Path) -> Any:
    """Read the plain data of a manifest, of which nothing has been checked.

    Raises
    ------
    UsageError
        The file is missing, or is not JSON.
    """
    text = read_text(path, "manifest")
    try:
        return manifest_from(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise UsageError.of("not-a-manifest", path, reason=reason) from error


def described_release(content: Any, path: Path) -> DescribedRelease:
    """Say what plain data of a manifest tell of the masked file.

    Raises
    ------
    UsageError
        It is not a manifest of this version, or contradicts itself.
    """
    try:
        table = read_plain(Mapping[str, Any], content, "the manifest")
        if (version := table.get("manifest_version")) != MANIFEST_VERSION:
            raise ValueError(f"its manifest_version is {version!r}, not {MANIFEST_VERSION}")  # noqa: TRY301 -- told below
        return _described(read_plain(_Content, table, ""))
    except KeyError as error:
        raise UsageError.of("not-a-manifest", path, reason=f"{error} is missing") from error
    except UsageError as error:
        raise UsageError.of("not-a-manifest", path, reason=error.problem) from error
    except (ValueError, TypeError, ZeroDivisionError, AttributeError) as error:
        raise UsageError.of("not-a-manifest", path, reason=str(error)) from error


@dataclass(frozen=True, slots=True)
class _File:
    sha256: str


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    role: str
    numeric: bool
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Relation:
    """An equality or an inequality; numbers are texts, as they are exact."""

    relation: str
    terms: tuple[tuple[str, ...], ...]
    bound: str


@dataclass(frozen=True, slots=True)
class _Plan:
    k: int
    fields: tuple[_Field, ...]
    relations: tuple[_Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Solved:
    field: str
    rule: str
    disjunct: int
    atom: int


@dataclass(frozen=True, slots=True)
class _Block:
    """A block as it was masked.

    The first manifests do not name what nothing was then: their runs solved no field in each record. They count
    copies by how values were found alone, medians of several records among them.
    """

    variables: tuple[str, ...]
    groups: int
    aggregator: str = ""
    exits: Mapping[str, int] = field(default_factory=dict)
    copied: int | None = None
    solved: tuple[_Solved, ...] = ()

    @property
    def observed(self) -> int:
        """Groups that publish values of one record."""
        return sum(self.exits.get(one, 0) for one in ("median", "medoid", "mode", "observed"))

    @property
    def copies(self) -> int:
        """Groups that copy one of their records."""
        return self.observed if self.copied is None else self.copied

    @property
    def counts(self) -> tuple[int, ...]:
        """All numbers of it."""
        places = (number for one in self.solved for number in (one.disjunct, one.atom))
        return (self.groups, self.copies, *self.exits.values(), *places)


@dataclass(frozen=True, slots=True)
class _Rule:
    id: str
    untested: Any = None


@dataclass(frozen=True, slots=True)
class _Concern:
    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class _Result:
    excluded: tuple[int, ...]
    allowed: tuple[str, ...]
    blocks: tuple[_Block, ...] | None = None
    rules: tuple[_Rule, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    concerns: tuple[_Concern, ...] | None = None
    original_order: Any = None
    whole_record_k: int | None = None


@dataclass(frozen=True, slots=True)
class _Nested:
    """The blocks as they were masked; earlier manifests of nested files have them in their result."""

    blocks: tuple[_Block, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Repeat:
    format: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Content:
    """What a manifest has. Former versions had less."""

    output: _File
    original: _File
    rules: _File
    plan: _Plan
    result: _Result
    order: tuple[int, ...] | None
    config: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    translated: _File | None = None
    treatments: tuple[Any, ...] = ()
    declared: Mapping[str, Any] | None = None
    nested: Any = None
    repeat: _Repeat = field(default_factory=_Repeat)

    @property
    def blocks(self) -> tuple[_Block, ...]:
        """The blocks as they were masked."""
        nested = None if self.nested is None else read_plain(_Nested, self.nested, "nested").blocks
        found = self.result.blocks if nested is None else nested
        if found is None:
            raise ValueError("result.blocks is missing")
        return found


def _described(content: _Content) -> DescribedRelease:
    """Build it; TypeError or ValueError for nonsense."""
    plan, result, masked_blocks = content.plan, content.result, content.blocks
    roles = {one.name: one.role for one in plan.fields}
    if strange := [role for role in roles.values() if role not in {*Role}]:
        raise ValueError(f"{strange[0]!r} is no role")
    masked = tuple(name for name, role in roles.items() if role == "confidential")
    if plan.k < 2:
        raise ValueError(f"k is {plan.k}")
    if sorted(name for block in masked_blocks for name in block.variables) != sorted(masked):
        raise ValueError("its blocks do not hold each masked field once")
    if any(number < 0 for block in masked_blocks for number in block.counts):
        raise ValueError("a number of a block is negative")
    excluded = tuple(position - 1 for position in result.excluded)
    if len({*excluded}) < len(excluded) or min(excluded, default=0) < 0:
        raise ValueError("the list of excluded records is wrong")
    means = [block for block in masked_blocks if block.aggregator == "mean"]
    config = _settings(content)
    treatments = treatments_from(content.treatments)
    nested = content.nested is not None
    asking = content.repeat.settings if nested and treatments else content.config  # by level, as treatments are
    require_asked_for(treatments, asking, nested=nested)
    _require_same_settings(content, config, roles)
    if not masked and not treatments:
        raise ValueError("it has no masked field, and its 'treatments' are empty")
    if excluded and "exclude" not in (content.config.get("invalid"), content.config.get("rare_units")):
        raise ValueError(
            "it leaves out records, and neither 'invalid' nor 'rare_units' of its 'config' asks for that"
        )
    return DescribedRelease(
        output=content.output.sha256,
        original=content.original.sha256,
        rules=content.rules.sha256,
        k=plan.k,
        blocks=tuple(block.variables for block in masked_blocks),
        solved=_solved(masked_blocks),
        removed=tuple(name for name, role in roles.items() if role == "identifier"),
        kept=tuple(name for name, role in roles.items() if role in _KEPT),
        masked=masked,
        allowed=result.allowed,
        let_go=frozenset(result.allowed).intersection(content.config.get("allow", ())),
        excluded=excluded,
        order=None if content.order is None else _permutation(content.order),
        numeric=tuple(one.name for one in plan.fields if one.numeric and one.role == "confidential"),
        weight=next((name for name, role in roles.items() if role == "weight"), None),
        missing={one.name: frozenset(one.codes) for one in plan.fields},
        medoid_share=_medoid_share(masked_blocks),
        means=frozenset(name for block in means for name in block.variables),
        observed=frozenset(name for block in means if block.observed for name in block.variables),
        declared=_declared(content.declared, plan.k, masked),
        untested=tuple(rule.id for rule in result.rules if rule.untested),
        documents=content.documents,
        reading=ReadOptions(
            format=config.format or content.repeat.format, options=config.format_options, levels=config.levels
        ),
        limits=config.limits,
        method=config.method,
        params=config.params,
        roles=roles,
        quasi_identifiers=config.quasi_identifiers,
        phase=config.phase,
        treatments=treatments,
        translated=None if content.translated is None else content.translated.sha256,
        fates=_known_fates(result.fates),
        version=content.versions.get("masktron", ""),
        nested=NestedRelease.from_plain(content.nested) if nested else NestedRelease(),
        relations=tuple(map(_relation, plan.relations)),
        whole_record_k=None if nested else result.whole_record_k,
        telling_apart=telling_apart(
            ((one.kind, one.says) for one in result.concerns), original_order=result.original_order is True
        )
        if result.concerns is not None
        else (),
    )


def _settings(content: _Content) -> Config:
    """Return those settings of the run that a check needs; former versions had others beside them."""
    wanted = (
        "format",
        "format_options",
        "levels",
        "limits",
        "method",
        "missing",
        "params",
        "phase",
        "quasi_identifiers",
        "roles",
    )
    settings = without_named_only(content.config, Config)
    return config_from({name: settings[name] for name in wanted if name in settings})


def _require_same_settings(content: _Content, config: Config, roles: Mapping[str, str]) -> None:
    """Refuse a manifest in which k, or the role of a field, is not the same everywhere."""
    stated = {"config.k": content.config.get("k"), "repeat.settings.k": content.repeat.settings.get("k")}
    for place, k in stated.items():
        if k is not None and k != content.plan.k:
            raise ValueError(f"{place} is {k!r}, and plan.k is {content.plan.k}")
    for name, role in config.roles.items():
        if roles.get(name, role) != role:
            raise ValueError(f"config.roles says that {name} is {role}, and plan.fields that it is {roles[name]}")
    # the settings of a nested file have codes by level, and its plan by member
    flat = content.nested is None
    for one in content.plan.fields:
        said = [codes for name, codes in config.missing.items() if name in (one.name, ALL_FIELDS) or not flat]
        if not {*one.codes} <= frozenset[str]().union(*said):
            raise ValueError(f"config.missing lacks codes for missing values of {one.name} that plan.fields has")


def _known_fates(fates: tuple[RuleFate, ...]) -> tuple[RuleFate, ...]:
    from masktron.translation.translated_rules import Fate  # noqa: PLC0415 -- loads lxml, which few commands need

    if unknown := [one.fate for one in fates if one.fate not in {*get_args(Fate.__value__)} - {"kept"}]:
        raise ValueError(f"{unknown[0]!r} is nothing that a rule becomes")
    return fates


def _relation(plain: _Relation) -> Linear:
    terms = tuple((field, Fraction(coefficient)) for field, coefficient in plain.terms)
    if plain.relation not in ("=", "<=") or not terms:
        raise ValueError(f"{plain.relation!r} does not relate fields of the rules")
    return Linear(terms, "=" if plain.relation == "=" else "<=", Fraction(plain.bound))


def _permutation(order: tuple[int, ...]) -> NDArray[np.intp]:
    import numpy as np  # noqa: PLC0415 -- other commands read no long lists

    # what is out of range fits no array of integers, maybe
    if not all(0 <= position < len(order) for position in order):
        raise ValueError("the order of the records is not a permutation")
    found = np.array(order, dtype=np.intp)
    if (np.bincount(found, minlength=len(found)) > 1).any():
        raise ValueError("the order of the records is not a permutation")
    return found


def _declared(content: Mapping[str, Any] | None, k: int, masked: tuple[str, ...]) -> Declared:
    if content is None:
        return Declared("mdav", IdenticalGroups(k))
    declared = declared_from(content, masked)
    if isinstance(declared.contract, IdenticalGroups) and declared.contract.k != k:
        raise ValueError(f"it promises groups of {declared.contract.k} and has k = {k}")
    return declared


def _medoid_share(blocks: Sequence[_Block]) -> float:
    groups, copied = sum(block.groups for block in blocks), sum(block.copies for block in blocks)
    if not blocks:
        return math.nan
    if not copied <= groups > 0:
        raise ValueError("it does not have so many groups")
    return 100 * copied / groups


def _solved(blocks: Sequence[_Block]) -> tuple[tuple[str, str, int, int], ...]:
    """Return what is solved in each record: one variable by each equality, and not all variables of a block."""
    for block in blocks:
        names = {one.field for one in block.solved}
        if not names <= {*block.variables} or (names and names == {*block.variables}):
            raise ValueError("the variables that follow in each record are not some of their block")
    found = tuple((one.field, one.rule, one.disjunct, one.atom) for block in blocks for one in block.solved)
    if len({place[1:] for place in found}) < len(found):
        raise ValueError("an equality gives two variables")
    return found
