"""A former run as its manifest has it: what is needed to repeat it on another file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from masktron.config import Config, config_from
from masktron.errors import UsageError
from masktron.files import file_hash
from masktron.resources import NO_RULES
from masktron.rules_given import rules_again
from masktron.setting_values import Register
from masktron.trust import ReadFile, file_beside, relocated, without_named_only
from masktron.write.manifest import DescribedRelease, described_release, manifest_content


@dataclass(frozen=True, slots=True)
class FormerField:
    """A field as it was.

    Attributes
    ----------
    type : str
        ``numbers``, ``texts`` or ``nothing``.
    gaps, negative : bool
        Whether it lacked values, and had negative ones.
    role, kind : str
    codes : frozenset of str
        What was declared to mean 'missing' in it.
    categories : frozenset of str or None
        What it held, where it was masked as categories.
    """

    type: str
    gaps: bool
    negative: bool
    role: str
    kind: str
    codes: frozenset[str]
    categories: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class FormerBlock:
    """A block as it was masked."""

    variables: tuple[str, ...]
    aggregator: str
    groups: int
    information_loss: float


@dataclass(frozen=True, slots=True)
class FormerTable:
    """The table of a level of nested records: its format and its SHA-256."""

    format: str
    digest: str


@dataclass(frozen=True, slots=True)
class FormerRun:
    """A run as its manifest has it.

    Attributes
    ----------
    described : DescribedRelease
    config : Config
        The settings as they were given, without those that only the user decides, such as the register. Files that
        they name lie in the folder of the manifest.
    elsewhere : tuple of ReadFile
        But for these: they do not.
    secret : bytes or None
        None where nothing was random.
    rules : Path or None
        The rulebook, or the rules in the manifest; None where it is not in the folder of the manifest.
    digests : mapping of str to str
        Of each rule, by its id.
    format, record : str
    levels : tuple of str
        With those above, as ``Household/Person``; of a flat file, one.
    tables : mapping of str to FormerTable
        By level, where keys join several tables.
    fields : mapping of str to FormerField
        Of a nested file by the names that settings have for them.
    versions : mapping of str to str
        Of masktron, Python and packages.
    records, excluded : int
        Records that were released, and left out.
    figures : mapping of str to float
    blocks : tuple of FormerBlock
    failures : mapping of str to int
        By rule: failures in the masked file.
    entry : str or None
        Its entry in a register of releases.
    register : Register or None
        Where the manifest says that this register was. No command opens it unless the user names it.
    """

    described: DescribedRelease
    config: Config
    elsewhere: tuple[ReadFile, ...]
    secret: bytes | None = field(repr=False)
    rules: Path | None
    digests: Mapping[str, str]
    format: str
    record: str
    levels: tuple[str, ...]
    tables: Mapping[str, FormerTable]
    fields: Mapping[str, FormerField]
    versions: Mapping[str, str]
    records: int
    excluded: int
    figures: Mapping[str, float]
    blocks: tuple[FormerBlock, ...]
    failures: Mapping[str, int]
    entry: str | None
    register: Register | None


def read_former_run(path: Path) -> FormerRun:
    """Read what a manifest says of its run.

    Raises
    ------
    UsageError
        It is no manifest, one of an older version, or contradicts itself. No value of it is shown.
    """
    content = manifest_content(path)
    described = described_release(content, path)
    if "repeat" not in content or ("nested" in content and "levels" not in content["repeat"]):
        raise UsageError.of("manifest-too-old", path, what="what its run was given")
    try:
        return _read(content, described, path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, UsageError):
            raise UsageError.of("not-a-manifest", path, reason=error.problem) from None
        raise UsageError.of("not-a-manifest", path, reason="what it says of its run cannot be read") from error


def _read(content: Mapping[str, Any], described: DescribedRelease, path: Path) -> FormerRun:
    repeat, result, rules = content["repeat"], content["result"], content["rules"]
    settings = without_named_only(repeat["settings"], Config)  # who runs `rerun` names these
    config, elsewhere = _located(config_from(settings), path)
    nested = "nested" in content
    fields = _fields(repeat["fields"]) if nested else _flat_fields(content)
    return FormerRun(
        described=described,
        config=config,
        elsewhere=elsewhere,
        secret=None if content.get("secret") is None else bytes.fromhex(content["secret"]),
        rules=rules_again(rules, path)
        or (NO_RULES if rules["sha256"] == file_hash(NO_RULES) else file_beside(Path(rules["path"]), path)),
        digests=dict(repeat["rules"]),
        format=repeat["format"],
        record=repeat["record"],
        levels=tuple(repeat["levels"]) if nested else (repeat["record"].rpartition("}")[2],),
        tables={name: FormerTable(one["format"], one["sha256"]) for name, one in repeat.get("tables", {}).items()},
        fields=fields,
        versions=dict(content["versions"]),
        records=int(result["records_out"]),
        excluded=len(result["excluded"]),
        figures={one["figure"]: _number(one["value"]) for one in result["figures"]},
        blocks=tuple(
            FormerBlock(
                tuple(one["variables"]), one["aggregator"], int(one["groups"]), _number(one["information_loss"])
            )
            for one in (repeat if nested else result)["blocks"]
        ),
        failures={one["id"]: int(one["failed"]) for one in result["rules"]},
        entry=str(content["register"]["id"]) if "register" in content else None,
        register=config_from({"register": repeat["settings"].get("register")}).register,
    )


def _located(config: Config, manifest: Path) -> tuple[Config, tuple[ReadFile, ...]]:
    """Return settings with files in the folder of the manifest, and the files that are not there."""
    elsewhere: list[ReadFile] = []

    def place(one: ReadFile) -> Path:
        there = file_beside(one.path, manifest)
        if there is None:
            elsewhere.append(one)
        return there or one.path

    return relocated(config, place), tuple(elsewhere)


def _flat_fields(content: Mapping[str, Any]) -> dict[str, FormerField]:
    """Return the fields of flat records: the plan has what they were taken for, the result what they held."""
    facts = {fact["name"]: fact for fact in content["plan"]["fields"]}
    categories = {one["field"]: [*_held(one["counts"])] for one in content["result"]["categories"]}
    return _fields(
        {
            **one,
            "role": facts[one["name"]]["role"],
            "kind": _kind(facts[one["name"]]),
            "categories": categories.get(one["name"]),
        }
        for one in content["repeat"]["fields"]
    )


def _fields(told: Iterable[Mapping[str, Any]]) -> dict[str, FormerField]:
    return {
        one["name"]: FormerField(
            one["type"],
            one["gaps"],
            one["negative"],
            one["role"],
            one["kind"],
            frozenset(one["codes"]),
            None if one["categories"] is None else frozenset(one["categories"]),
        )
        for one in told
    }


def _held(counts: list[dict[str, Any]]) -> Iterator[str]:
    return (one["category"] for one in counts if one["before"])


def _kind(fact: Mapping[str, Any]) -> str:
    if fact["numeric"]:
        return "number"
    return "nominal" if fact["order"] is None else "ordinal"


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
