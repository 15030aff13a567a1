"""What a repetition of a run depends on beside the records: of a run, in its manifest, and of the next file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from masktron.config import Config, Kind, ReadOptions, Role, config_from
from masktron.errors import UsageError
from masktron.files import file_hash
from masktron.jobs.documents import digests
from masktron.jobs.fields_by_level import (
    HeldField,
    completed_by_level,
    fields_by_level,
    levels_of_file,
    variables_by_level,
)
from masktron.jobs.job import Job
from masktron.jobs.lowering.lower import Lowered
from masktron.jobs.run import Run
from masktron.resources import NO_RULES
from masktron.rulebook.schema import Rulebook
from masktron.rules_given import rules_again
from masktron.serialised import Serialised, read_plain
from masktron.setting_values import ALL_FIELDS, Register
from masktron.sources.column import Column
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.opening import format_of
from masktron.sources.source import Source
from masktron.sources.variables import Variable
from masktron.trust import ReadFile, file_beside, relocated, without_named_only
from masktron.versions import versions
from masktron.write.manifest import DescribedRelease, described_release, manifest_content


@dataclass(frozen=True, slots=True)
class FieldTraits:
    """A field: what it holds and what it is taken for. No value of a field of numbers is here.

    Attributes
    ----------
    name : str
        Of a nested file the one that settings have for it.
    type : str
        ``numbers`` where most of its values are, ``texts`` or ``nothing``.
    gaps, negative : bool
        Whether it lacks values, and has negative ones.
    codes : tuple of str
        What is declared to mean 'missing' in it.
    role, kind : str or None
        None where nobody says what it is, and no run has decided it yet.
    categories : tuple of str or None
        What it holds, where it is masked as categories.
    """

    name: str
    type: str
    gaps: bool
    negative: bool
    codes: tuple[str, ...]
    role: str | None
    kind: str | None
    categories: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class TableFile:
    """The table of a level of nested records: its format and its SHA-256."""

    format: str
    sha256: str


@dataclass(frozen=True, slots=True)
class RunFacts(Serialised):
    """What has to be as it was when a run is repeated on another file.

    Attributes
    ----------
    format, record : str
    fields : tuple of FieldTraits
    rules : mapping of str to str
        The digest of each rule as it is understood, by its id.
    levels : tuple of str
        With those above, as ``Household/Person``; of a flat file, one.
    tables : mapping of str to TableFile
        By level, where keys join several tables.
    documents : mapping of str to str
        SHA-256 of each document that rules read, by its name; empty where it is the original.
    versions : mapping of str to str
        Of masktron, Python and packages. Manifests have both in places of their own.
    """

    KEYS: ClassVar = "format record fields rules levels tables"

    format: str
    record: str
    fields: tuple[FieldTraits, ...]
    rules: Mapping[str, str]
    levels: tuple[str, ...]
    tables: Mapping[str, TableFile]
    documents: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


type Taken = Callable[[str, HeldField], tuple[Role | None, Kind | None]]
"""What a field is taken for, by its name."""


def facts_of_run(run: Run, given: Config) -> RunFacts:
    """Return the facts of a run, before fields were treated: what they have changed is what it was in the next file.

    Parameters
    ----------
    run : Run
    given : Config
        The settings as they were stated, of a nested file with one name for each field.
    """
    if not isinstance(run.back, Lowered):
        return facts_of_file(run.job, fields_by_level(run.records), run.config, _taken(run, run.config))
    nested = run.back
    config, _ = completed_by_level(given, nested.job.source)
    reread = nested.job.source.level_records(missing=config.missing) if config.missing else nested.source.dataset
    return facts_of_file(nested.job, fields_by_level(reread), config, _taken(run, config))


def facts_of_file(job: Job, fields: Mapping[str, HeldField], config: Config, taken: Taken) -> RunFacts:
    """Return the facts of a file and its rules.

    Parameters
    ----------
    job : Job
    fields : mapping of str to HeldField
        Read with the missing codes of the settings.
    config : Config
        The settings, completed by what the file says.
    taken : callable
    """
    source = job.source
    codes = _declared_codes(variables_by_level(source), config)
    return RunFacts(
        format_of(source.path, config.reading),
        source.layout.record_tag,
        tuple(_traits(name, held.column, codes(name), *taken(name, held)) for name, held in fields.items()),
        rule_digests(job.rulebook),
        levels_of_file(source),
        _tables(source, config.reading),
        _documents(digests(job.rulebook, source.digest), source.digest),
        versions(),
    )


def _traits(name: str, column: Column, codes: Iterable[str], role: Role | None, kind: Kind | None) -> FieldTraits:
    present, numbers = int(column.present.sum()), int(column.is_number.sum())
    listed = role is Role.CONFIDENTIAL and kind is not Kind.NUMBER
    return FieldTraits(
        name,
        "nothing" if not present else "numbers" if 2 * numbers > present else "texts",
        not bool(column.present.all()),
        bool((column.values < 0).any()),
        tuple(sorted(codes)),
        role,
        kind,
        tuple(sorted(column.texts())) if listed else None,
    )


def _taken(run: Run, config: Config) -> Taken:
    """Return what tells what a field was masked as: a nested one at its first position, or around it."""
    known = {fact.name: fact for fact in run.fields}
    nested = run.back if isinstance(run.back, Lowered) else None
    leaves = {} if nested is None else nested.source.wide.by_field()

    def taken(name: str, field: HeldField) -> tuple[Role, Kind]:
        if nested is None:
            return known[name].role, known[name].kind
        own = [known[leaf.name] for leaf in leaves.get(nested.source.levels.names[name], ()) if leaf.name in known]
        role, kind = config.roles.get(name), config.kind_of(name)
        if own:
            return role or own[0].role, own[0].kind
        held = bool(field.column.present.any())
        # beside records that are protected alone, what is masked and has a value is a sum of theirs
        return (
            role or (Role.CONFIDENTIAL if held else Role.UNTOUCHED),
            kind or (Kind.NUMBER if field.column.numeric or not held else Kind.NOMINAL),
        )

    return taken


def _tables(source: Source, reading: ReadOptions) -> dict[str, TableFile]:
    """Return each table by its level; none where records stand in one file."""
    if not isinstance(source, JoinedSource) or not source.others:
        return {}
    top, *others = reading.levels.values()
    how = {one.name: ReadOptions(format=one.format, options=one.format_options) for one in others}
    tables = {top.name: source.tables[0], **source.others}
    return {
        name: TableFile(format_of(table.path, how.get(name, reading)), table.digest) for name, table in tables.items()
    }


def _documents(known: Mapping[str, str], original: str) -> dict[str, str]:
    return {name: "" if digest == original else digest for name, digest in known.items()}


def _declared_codes(variables: Iterable[Variable], config: Config) -> Callable[[str], frozenset[str]]:
    """Return what tells the codes for missing values of a field that somebody declared, and not records alone."""
    observed = {variable.name: variable.observed for variable in variables}
    nothing: frozenset[str] = frozenset()

    def codes(name: str) -> frozenset[str]:
        every = config.missing.get(name, nothing) | config.missing.get(ALL_FIELDS, nothing)
        return every - observed.get(name, nothing)

    return codes


def rule_digests(rulebook: Rulebook) -> dict[str, str]:
    """Return a digest of each rule as it is understood, by its id: messages and comments change nothing."""
    return {check: sha256(json.dumps(rule).encode()).hexdigest() for check, rule in _rules(rulebook)}


def _rules(rulebook: Rulebook) -> Iterator[tuple[str, list[Any]]]:
    spaces = [list(pair) for pair in rulebook.namespaces]
    lets = [[let.name, let.value] for let in rulebook.lets]
    for pattern in rulebook.patterns:
        outer = [*lets, *([let.name, let.value] for let in pattern.lets)]
        before = ""
        for rule in pattern.rules:
            bound = [*outer, *([let.name, let.value] for let in rule.lets)]
            for check in rule.checks:
                # a node fires the first rule of a pattern that takes it
                own = [rule.context, check.kind, check.test, check.soft]
                yield check.id, [pattern.version, spaces, bound, before, *own]
            before = sha256(f"{before} {rule.context}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FigureValue:
    """A figure; NaN where it has no value."""

    figure: str
    value: float


@dataclass(frozen=True, slots=True)
class MaskedBlock:
    """A block as it was masked."""

    variables: tuple[str, ...]
    aggregator: str
    groups: int
    information_loss: float


@dataclass(frozen=True, slots=True)
class RuleFailures:
    """How often a rule fails in the masked file; None where that was not counted."""

    id: str
    failed: int | None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run came to: a part of its result.

    Attributes
    ----------
    records_out : int
        Records that were released.
    excluded : tuple of int
        Records that were left out.
    figures : tuple of FigureValue
    blocks : tuple of MaskedBlock
    rules : tuple of RuleFailures
    """

    records_out: int
    excluded: tuple[int, ...]
    figures: tuple[FigureValue, ...]
    blocks: tuple[MaskedBlock, ...]
    rules: tuple[RuleFailures, ...]


def outcome_of(result: object) -> RunOutcome:
    """Read what a run came to from the plain data of its result; ValueError names what cannot be read."""
    found: RunOutcome = read_plain(RunOutcome, result, "result")
    return found


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
    facts : RunFacts
    outcome : RunOutcome
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
    facts: RunFacts
    outcome: RunOutcome
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
    try:
        repeat = read_plain(Mapping[str, Any], content.get("repeat", {}), "repeat")
        if "levels" in repeat:
            return _read(content, repeat, described, path)
    except UsageError as error:
        raise UsageError.of("not-a-manifest", path, reason=error.problem) from None
    except ValueError as error:
        raise UsageError.of("not-a-manifest", path, reason=str(error)) from error
    raise UsageError.of("manifest-too-old", path, what="what its run was given")


def _read(
    content: Mapping[str, Any], repeat: Mapping[str, Any], described: DescribedRelease, path: Path
) -> FormerRun:
    rules = content["rules"]
    settings = read_plain(Mapping[str, Any], repeat.get("settings"), "repeat.settings")
    secret = read_plain(str | None, content.get("secret"), "secret")
    entry = read_plain(Mapping[str, Any], content["register"], "register") if "register" in content else None
    elsewhere: list[ReadFile] = []

    def beside(one: ReadFile) -> Path:
        if (there := file_beside(one.path, path)) is None:
            elsewhere.append(one)
        return there or one.path

    config = relocated(config_from(without_named_only(settings, Config)), beside)  # who runs `rerun` names these
    book = file_beside(Path(read_plain(str, rules.get("path"), "rules.path")), path)
    facts = read_plain(RunFacts, repeat, "repeat")
    known = read_plain(Mapping[str, str], content.get("versions"), "versions")
    return FormerRun(
        described=described,
        config=config,
        elsewhere=tuple(elsewhere),
        secret=None if secret is None else bytes.fromhex(secret),
        rules=rules_again(rules, path) or (NO_RULES if described.rules == file_hash(NO_RULES) else book),
        facts=replace(facts, documents=_documents(described.documents, described.original), versions=known),
        outcome=outcome_of(content["result"]),
        entry=None if entry is None else read_plain(str, entry.get("id"), "register.id"),
        register=config_from({"register": settings.get("register")}).register,
    )
