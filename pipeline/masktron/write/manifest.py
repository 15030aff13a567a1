"""The manifest: everything that was decided and found in a run. CONFIDENTIAL, for inside the agency only."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never, get_args

from masktron.config import AS_IT_SAYS, Config, ReadOptions, Role, config_from
from masktron.constraints import Linear
from masktron.contracts import IdenticalGroups
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.former_names import manifest_from
from masktron.level_settings import LevelSettings, levels_from
from masktron.perturbation_settings import PramSettings, SwapSettings, pram_settings, together
from masktron.results.rules import RuleFate
from masktron.results.verdict import telling_apart
from masktron.trust import without_named_only
from masktron.write.atomic import atomic_path
from masktron.write.declared import Declared, declared_from
from masktron.write.nested_release import NestedRelease
from masktron.write.treatments import (
    Postrandomised,
    Recoded,
    Reweighted,
    SharedKeys,
    Suppressed,
    Swapped,
    Treatment,
    suppressed_in,
    treatments_from,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_TEXTS = ("rule", "fate", "before", "after", "reason")


def fates_from(entries: Iterable[Mapping[str, Any]]) -> tuple[RuleFate, ...]:
    """Read what rules became from plain data, as a result has it.

    Parameters
    ----------
    entries : iterable of mapping

    Returns
    -------
    tuple of RuleFate

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of a wrong type, or no fate that a manifest can name.
    """
    return tuple(map(_fate, entries))


def _fate(entry: Mapping[str, Any]) -> RuleFate:
    from masktron.translation.translated_rules import Fate  # noqa: PLC0415 -- loads lxml, which few commands need

    fields = entry["fields"]
    if not all(isinstance(entry[key], str) for key in _TEXTS):
        raise TypeError("what a rule became is not told in texts")
    if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
        raise TypeError("the fields of a rule that became another are no list of names")
    if entry["fate"] not in {*get_args(Fate.__value__)} - {"kept"}:
        raise ValueError(f"{entry['fate']!r} is nothing that a rule becomes")
    return RuleFate(fields=tuple(fields), **{key: entry[key] for key in _TEXTS})


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
    roles: Mapping[str, str] = field(default_factory=dict)
    quasi_identifiers: tuple[str, ...] = ()
    phase: str | None = None
    treatments: tuple[Treatment, ...] = ()
    translated: str | None = None
    fates: tuple[RuleFate, ...] = ()
    version: str = ""
    nested: NestedRelease = field(default_factory=NestedRelease)
    relations: tuple[Linear, ...] = ()
    telling_apart: tuple[str, ...] = ()

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
        return _described(_table({"the manifest": content}, "the manifest"))
    except KeyError as error:
        raise UsageError.of("not-a-manifest", path, reason=f"{error} is missing") from error
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise UsageError.of("not-a-manifest", path, reason=str(error)) from error


def _described(content: Mapping[str, Any]) -> DescribedRelease:
    """Build it; KeyError for what is missing, TypeError for a wrong type, ValueError for nonsense."""
    if content["manifest_version"] != MANIFEST_VERSION:
        raise ValueError(f"its manifest_version is {content['manifest_version']!r}, not {MANIFEST_VERSION}")
    plan, result = _table(content, "plan"), _table(content, "result")
    facts = _list(plan, "fields", dict)
    fields = [(_text(fact, "name"), _text(fact, "role")) for fact in facts]
    if strange := [role for _, role in fields if role not in {*Role}]:
        raise ValueError(f"{strange[0]!r} is no role")
    masked = tuple(name for name, role in fields if role == "confidential")
    as_masked = _blocks(content, result)
    blocks = tuple(tuple(_list(block, "variables", str)) for block in as_masked)
    k = plan["k"]
    if not isinstance(k, int) or isinstance(k, bool) or k < 2:
        raise ValueError(f"k is {k!r}")
    if sorted(name for block in blocks for name in block) != sorted(masked):
        raise ValueError("its blocks do not hold each masked field once")
    solved = _solved(as_masked)
    excluded = tuple(position - 1 for position in _list(result, "excluded", int))
    if len({*excluded}) < len(excluded) or min(excluded, default=0) < 0:
        raise ValueError("the list of excluded records is wrong")
    order = None if content["order"] is None else _permutation(_list(content, "order", int))
    return DescribedRelease(
        output=_text(_table(content, "output"), "sha256"),
        original=_text(_table(content, "original"), "sha256"),
        rules=_text(_table(content, "rules"), "sha256"),
        k=k,
        blocks=blocks,
        solved=solved,
        removed=tuple(name for name, role in fields if role == "identifier"),
        kept=tuple(name for name, role in fields if role in _KEPT),
        masked=masked,
        allowed=tuple(_list(result, "allowed", str)),
        excluded=excluded,
        order=order,
        numeric=tuple(name for (name, role), fact in zip(fields, facts, strict=True) if _numeric(fact, role)),
        weight=next((name for name, role in fields if role == "weight"), None),
        missing={_text(fact, "name"): frozenset(_list(fact, "codes", str)) for fact in facts},
        medoid_share=_medoid_share(as_masked),
        means=frozenset(name for block in _of_means(as_masked) for name in block["variables"]),
        observed=frozenset(name for block in _of_means(as_masked) if _observed(block) for name in block["variables"]),
        declared=_declared(content, k, masked),
        untested=tuple(_text(rule, "id") for rule in result.get("rules", ()) if rule.get("untested")),
        documents=_digests(content),
        reading=_reading(content),
        limits=_limits(content),
        roles=dict(fields),
        quasi_identifiers=_marked(content),
        phase=_phase(content),
        treatments=_treatments(content),
        translated=_text(_table(content, "translated"), "sha256") if content.get("translated") else None,
        fates=fates_from(_list(result, "fates", dict)) if "fates" in result else (),
        version=_text(_table(content, "versions"), "masktron") if "versions" in content else "",
        nested=NestedRelease.from_plain(content["nested"]) if "nested" in content else NestedRelease(),
        relations=tuple(map(_relation, _list(plan, "relations", dict))) if "relations" in plan else (),
        telling_apart=telling_apart(
            ((_text(one, "kind"), _text(one, "says")) for one in _list(result, "concerns", dict)),
            original_order=result.get("original_order") is True,
        )
        if "concerns" in result
        else (),
    )


def _relation(plain: Mapping[str, Any]) -> Linear:
    """Read an equality or an inequality; numbers are texts, as they are exact."""
    relation, terms = _text(plain, "relation"), _list(plain, "terms", list)
    pairs = [dict(zip(("field", "coefficient"), pair, strict=True)) for pair in terms]
    exact = tuple((_text(pair, "field"), Fraction(_text(pair, "coefficient"))) for pair in pairs)
    if relation not in ("=", "<=") or not exact:
        raise ValueError(f"{relation!r} does not relate fields of the rules")
    return Linear(exact, "=" if relation == "=" else "<=", Fraction(_text(plain, "bound")))


def _permutation(order: list[Any]) -> NDArray[np.intp]:
    import numpy as np  # noqa: PLC0415 -- other commands read no long lists

    # what is out of range fits no array of integers, maybe
    if not all(0 <= position < len(order) for position in order):
        raise ValueError("the order of the records is not a permutation")
    found = np.array(order, dtype=np.intp)
    if (np.bincount(found, minlength=len(found)) > 1).any():
        raise ValueError("the order of the records is not a permutation")
    return found


def _limits(content: Mapping[str, Any]) -> dict[str, float]:
    """Return the limits of the run; a manifest without settings has none."""
    config = content.get("config")
    limits = config.get("limits") if isinstance(config, Mapping) else None
    if limits is None:
        return {}
    if not isinstance(limits, Mapping):
        raise TypeError("'limits' is not a table")
    try:
        return dict(config_from({"limits": limits}).limits)
    except UsageError as error:
        raise ValueError(error.what) from error


def _treatments(content: Mapping[str, Any]) -> tuple[Treatment, ...]:
    """Return what was done to keys, which is what the settings of the run ask for."""
    found = treatments_from(content["treatments"]) if "treatments" in content else ()
    if isinstance(config := _asking(content), Mapping):
        require_asked_for(found, config, nested="nested" in content)
    return found


def _asking(content: Mapping[str, Any]) -> Any:
    """Return the settings that have the names of fields that treatments have: of nested files, those by level."""
    repeat = content.get("repeat")
    if "nested" in content and isinstance(repeat, Mapping) and content.get("treatments"):
        return repeat.get("settings")
    return content.get("config")


def _marked(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the marks of the run; former versions had none."""
    config = content.get("config")
    if not isinstance(config, Mapping) or "quasi_identifiers" not in config:
        return ()
    return tuple(_list(dict(config), "quasi_identifiers", str))


def _phase(content: Mapping[str, Any]) -> str | None:
    """Return the phase by whose rules the file was masked."""
    config = content.get("config")
    found = config.get("phase") if isinstance(config, Mapping) else None
    return found if isinstance(found, str) else None


def _reading(content: Mapping[str, Any]) -> ReadOptions:
    """Return how the original was read: as settings said, else in the format that its name said."""
    config = content.get("config")
    settings = without_named_only(config, Config) if isinstance(config, Mapping) else {}
    name, options = settings.get("format"), settings.get("format_options") or {}
    if not (name is None or isinstance(name, str)) or not isinstance(options, Mapping):
        raise ValueError("the format of the original is no name, or its options are no table")
    said = {str(key): str(value) for key, value in options.items()}
    repeat = content.get("repeat")
    found = repeat.get("format") if isinstance(repeat, Mapping) else None
    return ReadOptions(format=name or found, options=said, levels=_levels(settings))


def _levels(settings: Mapping[str, Any]) -> LevelSettings:
    """Return the levels of nested records in tables; former versions had none."""
    try:
        return levels_from(settings.get("levels") or {})
    except UsageError as error:
        raise ValueError(error.what) from error


def _digests(content: Mapping[str, Any]) -> dict[str, str]:
    documents = _table(content, "documents") if "documents" in content else {}
    return {name: _text(documents, name) for name in documents}


def _declared(content: Mapping[str, Any], k: int, masked: tuple[str, ...]) -> Declared:
    if "declared" not in content:
        return Declared("mdav", IdenticalGroups(k))
    declared = declared_from(_table(content, "declared"), masked)
    if isinstance(declared.contract, IdenticalGroups) and declared.contract.k != k:
        raise ValueError(f"it promises groups of {declared.contract.k} and has k = {k}")
    return declared


def _numeric(fact: Mapping[str, Any], role: str) -> bool:
    numeric = fact["numeric"]
    if not isinstance(numeric, bool):
        raise TypeError("'numeric' is not true or false")
    return numeric and role == "confidential"


def _medoid_share(blocks: list[Any]) -> float:
    groups = sum(_count(block, "groups") for block in blocks)
    # the first manifests count copies by how values were found alone, medians of several records among them
    copied = sum(_count(block, "copied") if "copied" in block else _observed(block) for block in blocks)
    if not blocks:
        return math.nan
    if not copied <= groups > 0:
        raise ValueError("it does not have so many groups")
    return 100 * copied / groups


def _blocks(content: Mapping[str, Any], result: Mapping[str, Any]) -> list[Any]:
    """Return the blocks as they were masked; earlier manifests of nested files have them in their result, too."""
    nested = content.get("nested")
    return _list(nested if isinstance(nested, dict) and "blocks" in nested else result, "blocks", dict)


def _of_means(blocks: list[Any]) -> list[Any]:
    """Return the blocks whose groups publish means; of one that does not say what they publish, nothing is known."""
    return [block for block in blocks if block.get("aggregator") == "mean"]


def _observed(block: Mapping[str, Any]) -> int:
    exits = _table(block, "exits") if "exits" in block else {}
    return sum(_count(exits, one) for one in ("median", "medoid", "mode", "observed") if one in exits)


def _solved(blocks: list[Any]) -> tuple[tuple[str, str, int, int], ...]:
    """Read what is solved in each record: one variable by each equality, and not all variables of a block.

    The first manifests do not name what nothing was then: their runs solved no field in each record.
    """
    found: list[tuple[str, str, int, int]] = []
    for block in blocks:
        own = [
            (_text(entry, "field"), _text(entry, "rule"), _count(entry, "disjunct"), _count(entry, "atom"))
            for entry in (_list(block, "solved", dict) if "solved" in block else ())
        ]
        names = {name for name, *_ in own}
        if not names <= set(block["variables"]) or (names and names == set(block["variables"])):
            raise ValueError("the variables that follow in each record are not some of their block")
        found += own
    if len({tuple(place) for _, *place in found}) < len(found):
        raise ValueError("an equality gives two variables")
    return tuple(found)


def _count(content: Mapping[str, Any], key: str) -> int:
    value = content[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{key!r} is not a position or count")
    return value


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content[key]
    if not isinstance(value, dict):
        raise TypeError(f"{key!r} is not a table")
    return value


def _text(content: Mapping[str, Any], key: str) -> str:
    value = content[key]
    if not isinstance(value, str):
        raise TypeError(f"{key!r} is not a text")
    return value


def _list(content: Mapping[str, Any], key: str, of: type) -> list[Any]:
    value = content[key]
    if not isinstance(value, list) or not all(isinstance(v, of) and not isinstance(v, bool) for v in value):
        raise TypeError(f"{key!r} is not a list of the right kind")
    return value


def require_asked_for(treatments: Sequence[Treatment], config: Mapping[str, Any], *, nested: bool = False) -> None:
    """Compare treatments with settings, so that `check` does not test a file for what nobody asked.

    Parameters
    ----------
    treatments : sequence of Treatment
        As the manifest declares them.
    config : mapping of str to plain data
        The settings of the same manifest.
    nested : bool
        Whether keys were suppressed level by level, with those of the levels around.

    Raises
    ------
    TypeError, ValueError
        They disagree, or the settings are nonsense.
    """
    recoded: dict[str, str] = {}
    drawn: dict[tuple[str, ...], PramSettings] = {}
    swapped: list[SwapSettings] = []
    spread: list[tuple[str, ...]] = []
    shared: list[SharedKeys] = []
    for one in treatments:
        match one:
            case Recoded():
                recoded[one.recoding.field] = one.how
            case Postrandomised():
                drawn[one.fields] = one.settings
            case Swapped():
                swapped.append(one.settings)
            case Reweighted():
                spread.append(one.within)
            case Suppressed():
                shared.append(one.contract)
            case _:
                assert_never(one)
    if spread and spread != [tuple(config.get("reweight", ()))]:
        raise ValueError("its 'treatments' are not what 'reweight' of its 'config' asks for")
    suppressed = [one for one in treatments if isinstance(one, Suppressed)]
    shared = list(dict.fromkeys(shared)) if nested else shared
    for setting, asked, done in (
        ("recode", dict(_settings_of(config, "recode")), recoded),
        ("pram", _pram(_settings_of(config, "pram")), drawn),
        ("swap", _swap(_settings_of(config, "swap"), swapped), swapped),
        ("keys", _keys(config), shared),
    ):
        if asked != done:
            raise ValueError(f"its 'treatments' are not what {setting!r} of its 'config' asks for")
    named = _named_keys(config)
    all_of_them = [{name for one in suppressed for name in one.fields}] if nested and suppressed else []
    for keys in all_of_them or [{*one.fields} for one in suppressed]:
        if left_out := sorted(named - keys):
            raise ValueError(
                f"its 'treatments' do not have {left_out[0]}, a quasi-identifier of its 'config', among the keys "
                "that k records share"
            )


def _settings_of(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of the settings; former versions lack some."""
    found = config.get(name, {})
    if not isinstance(found, Mapping):
        raise TypeError(f"{name!r} is not a table")
    return found


def _pram(said: Mapping[str, str]) -> dict[tuple[str, ...], PramSettings]:
    """Return how fields are drawn; a manifest has the matrix and not its file."""
    try:
        return {
            together(name): replace(pram_settings(f"pram.{name}", how), matrix=None) for name, how in said.items()
        }
    except UsageError as error:
        raise ValueError(error.what) from error


def _swap(said: Mapping[str, Any], done: Sequence[SwapSettings]) -> list[SwapSettings]:
    """Return how records are swapped; a manifest names the keys that were taken where settings leave them open."""
    if not said:
        return []
    settings: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in said.items()}
    asked = SwapSettings(**settings)
    return [asked if asked.keys or not done else replace(asked, keys=done[0].keys)]


def _named_keys(config: Mapping[str, Any]) -> set[str]:
    """Return the quasi-identifiers that settings name; where they name none, all that is written is one."""
    roles, marked = _settings_of(config, "roles"), config.get("quasi_identifiers", [])
    if not isinstance(marked, list):
        raise TypeError("'quasi_identifiers' is not a list")
    removed = {name for name, role in roles.items() if role == "identifier"}
    return {*marked}.difference(removed) | {name for name, role in roles.items() if role == "quasi-identifier"}


def _keys(config: Mapping[str, Any]) -> list[SharedKeys]:
    said, k = _settings_of(config, "keys"), config.get("key_k")
    return [] if k is None else [SharedKeys(k, said.get("subsets"), said.get("missing_matches", False))]
