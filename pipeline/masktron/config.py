"""Settings of a run: from ``masktron.toml``, from options, from Python; declared and checked once, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from dataclasses import field as part
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from masktron import perturbation_settings as perturbing
from masktron import recoding_settings as recoding
from masktron import setting_values as values
from masktron.addresses import typed_path
from masktron.declared import (
    HOW,
    IN,
    LIMITS,
    NAMED_ONLY,
    Declared,
    Integer,
    MaybeInteger,
    Settings,
    Shape,
    Taken,
    Trust,
    WrongValue,
    declared_in,
    require,
    setting,
)
from masktron.errors import UsageError
from masktron.level_settings import LevelSetting, LevelSettings, levels_from, with_tables
from masktron.perturbation_settings import WAYS as PRAM_WAYS
from masktron.perturbation_settings import moved_matrices
from masktron.problems.problem import Field, Known, Note, Sentence, Setting, SettingName
from masktron.problems.problem import fields as named_fields
from masktron.processes import RULE_SECONDS
from masktron.recoding_settings import WAYS, gives_numbers, how_of, moved_hierarchies
from masktron.setting_values import (
    Codes,
    Fields,
    File,
    FormatOptions,
    MaybeFilePath,
    Names,
    Param,
    Register,
    RuleIds,
    SecretOfRun,
)
from masktron.step_kinds import ALL, Postrandomised, Recoded, Swapped, Treatment, steps_of
from masktron.trust import FORMAT_OPTIONS, files_read, one_file

if TYPE_CHECKING:
    from masktron.rules_given import GivenRules


class Role(StrEnum):
    """What a field is to the disclosure-control methodologist, and so what masking does to it."""

    IDENTIFIER = "identifier"
    """Names a respondent: removed, never written."""
    RECORD_ID = "record-id"
    """Links or identifies a record inside the agency: written as it is, never masked."""
    CONFIDENTIAL = "confidential"
    """Masked. The default for numeric fields."""
    WEIGHT = "weight"
    """The survey weight: written as it is, honoured by every aggregator."""
    UNTOUCHED = "untouched"
    """Written as it is."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """Known to others, who may find a record by it: written as it is, and risk is measured over it."""


class Kind(StrEnum):
    """What the values of a field are to the methodologist, and so what stands for a group of them."""

    NUMBER = "number"
    """Quantities: means. The default for fields that hold numbers only."""
    ORDINAL = "ordinal"
    """Categories in an order: the median."""
    NOMINAL = "nominal"
    """Categories without an order: the mode. The default for fields that hold texts."""


type Grouping = Literal["rules", "all"]
type InvalidRecords = Literal["stop", "exclude"]
type Order = Literal["auto", "random", "keep"]
type OnRefusal = Literal["stop", "suggest"]
type ExecutorName = Literal["local", "dask"]

APART = ("rules", "tune")
"""Tables of a file of settings that are no settings of a run."""
EXECUTORS: tuple[ExecutorName, ...] = ("local", "dask")
"""Who works on slices of a file."""
LEAST_UNIT = 20
"""Groups of k that a unit of records has room for, at least: below, few groups are what they would be in the file."""
OBSERVED_SHARE = 1.0
"""Groups, in per cent, that may publish the values of one observed record where nobody says otherwise."""
WEAKENS = Trust(weakens=lambda value: value)
"""Whatever the setting holds relaxes what a result is judged by."""
_KINDS = ("nominal", "ordinal", "numeric")

READING = "describe suggest validate explain mask check assess tune hierarchy recode keys"
OF_FIELDS = "describe suggest explain mask assess tune recode keys"
JUDGING = "validate explain mask check tune recode keys"
RUNNING = "validate mask rerun check"

READ = Declared(panel=IN, topic="reading", commands=f"{READING} convert metadata", page="formats")
FIELD = Declared(panel=IN, topic="fields", commands=f"{OF_FIELDS} rerun", page="how-to/fields")
JUDGED = Declared(topic="judging", commands=JUDGING, page="how-to/validating")
WAY = Declared(panel=HOW, topic="way", commands="explain mask", page="methods", spared_by_tune=True)
TREATED = Declared(panel=HOW, topic="treating", spared_by_tune=True)
RUN = Declared(panel=HOW, topic="running", commands=RUNNING, local=True, decides="nothing", spared_by_tune=True)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user says of how a file is to be read.

    Attributes
    ----------
    record : str or None
        The record element, by local or Clark name; of the XML twin, for a table.
    format : str or None
        Name of the format; what the suffix says when None.
    options : mapping of str to str
        What the format is told, by the names of its options.
    metadata : Path or None
        A description of the variables that stands beside the file: DDI-Codebook, or Table Schema.
    inherited : bool
        Format and options are those of another file, such as the original of a manifest.
    levels : mapping of str to LevelSetting
        Where the file is one of several tables of nested records, or holds them in its rows.
    identifiers : frozenset of str
        Fields that a release lacks, also where they are the key of a level and join nothing.
    """

    record: str | None = None
    format: str | None = None
    options: Mapping[str, str] = part(default_factory=lambda: MappingProxyType({}))
    metadata: Path | None = None
    inherited: bool = False
    levels: LevelSettings = part(default_factory=lambda: MappingProxyType({}))
    identifiers: frozenset[str] = frozenset()

    def or_as(self, other: ReadOptions) -> ReadOptions:
        """Return these options; with the format, or the levels, of others where these say nothing of them."""
        own = self.or_levels_of(other)
        if self.format is not None or self.options:
            return own
        return replace(own, format=other.format, options=other.options, inherited=True)

    def or_levels_of(self, other: ReadOptions) -> ReadOptions:
        """Return these options; with the levels of others where these have none."""
        return replace(self, levels=self.levels or other.levels)


AS_IT_SAYS = ReadOptions()


def _roles(given: Mapping[str, Role | str]) -> dict[str, Role]:
    """Read what fields are."""
    require(isinstance(given, Mapping), "a table (in Python a dict) of a role for each field", given)
    for name, role in given.items():
        require(isinstance(name, str), "names of fields", name)
        if role not in [*Role]:
            raise WrongValue(
                "bad-value", name, given=repr(role), hint=Known(str(role), tuple(Role)), expected="a role"
            )
    return {name: Role(role) for name, role in given.items()}


def _untouched(roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the fields that nobody masks because their role says so."""
    return {name: role for name, role in roles.items() if role is Role.UNTOUCHED}


def _unless_stop(value: str) -> str:
    return "" if value == "stop" else value


def _looser_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return what lets fewer records share a combination of keys than `key_k` says by itself."""
    return {name: said for name, said in keys.items() if name in ("subsets", "missing_matches") and said}


def _moved_documents(documents: Mapping[str, Path], moved: Callable[[str, Path], Path]) -> dict[str, Path]:
    """Return documents of the rules that lie elsewhere."""
    return {name: moved(name, path) for name, path in documents.items()}


def _moved_register(register: Register | None, moved: Callable[[str, Path], Path]) -> Register | None:
    """Return a register that lies elsewhere."""
    return None if register is None else register.moved(moved)


class Config(Settings):
    """Everything that decides a run besides the data and the rules.

    Attributes
    ----------
    k : int
        Smallest number of records that share one masked value, at least 2.
    seed : int or None
        What every random choice comes from, for tests: `mask` refuses one of fewer than 128 binary digits where it
        would protect a release. A secret that nobody chose takes its place when None. For Python and the command line
        alone: a file of settings that has one is refused, as it would protect nothing.
    secret : bytes, path or None
        The same for releases: at least 16 bytes, or in Python and with ``--secret`` a file with at least 32
        hexadecimal digits, or the manifest of a former run; 256 bits from the operating system when None. `mask`
        writes it to the manifest, and nowhere else. For Python and the command line alone, as `seed`.
    roles : mapping of field name to Role
    missing : mapping of field name (or ``*`` for all fields) to the lexemes that mean 'missing'
    grouping : {"rules", "all"}
        ``rules``: one partition of the records per block of variables that share a rule, the other variables in
        groups of `group_size_vars` in file order. ``all``: one partition over all masked variables.
    group_size_vars : int
        How many masked fields that no rule ties to others are masked together.
    keep_missing : bool
        Stop rather than let a record with a rare pattern of missing values take over another's.
    invalid : {"stop", "exclude"}
        What to do with original records that break an edit.
    rare_units : {"stop", "exclude"}
        What to do with units of a nested file, such as households, that fewer than k - 1 others are composed like:
        with as many members of each kind.
    reweight : tuple of str
        Fields of which the classes share the weights of records that are left out.
    protect : str or None
        The level of a nested file that is protected: ``Household``, whole with all its members, or a kind of members
        such as ``Person``, each alone, with the fields of the records around it as they are. The top level when None.
    member_order : tuple of str, or None
        Fields of members, such as persons of a household, by which members of different units are put side by side
        before units are grouped; they are written as they are. ``file`` alone: as they stand in the file. When None,
        by fields that are called like a role, a sex and an age, in this order. Where rules speak of the order of
        members, it is that of the file.
    allow : tuple of str
        Ids of rules that the original and the masked file may break.
    allow_unfired : tuple of str
        Ids of rules that a file need not test: they may fire on nothing, or read a field that it never has; ``*`` for
        all rules.
    record : str or None
        Name of the record element; found from the file and the rulebook when None.
    format : str or None
        Name of the format of the data; what the suffix of the file says when None.
    format_options : mapping of str to str
        What the format is told, by the names of its options.
    metadata : path or None
        A description of the variables beside the file, DDI-Codebook or Table Schema.
    levels : mapping of str to LevelSetting
        Of nested records in tables: which table, or which columns, each level has, and what joins them. In Python, a
        mapping of what the settings say of each level.
    phase : str or None
        Schematron phase.
    limits : mapping of str to float
        Bounds that figures have to meet before a masked file appears, by the names that `masktron assess` prints: the
        least where a higher value is better, else the most.
    order : {"auto", "random", "keep"}
        Order of the written records: a random one, that of the original, or (``auto``) a random one unless the
        original is sorted by a written field that differs in every record, or a rule reads the order. The
        permutation goes to the manifest.
    nominal : tuple of str
        Fields whose values are categories without an order, numbers among them or not. Masked, without a role.
    ordinal : mapping of field name to tuple of str
        Fields whose values are categories, with these from the lowest to the highest; an empty tuple stands for
        numbers in their own order. Masked, without a role.
    numeric : tuple of str
        Fields whose values are quantities although they look like codes. Masked as
        numbers, without a role.
    quasi_identifiers : tuple of str
        Fields that an intruder may know of a respondent, besides those of that role, whatever else is done to them.
        Risk is measured over all of them and the weight; over the unmasked fields where none is named.
    max_observed_share : float
        Groups of a block, in per cent of the records and rounded up to whole groups, that may publish the values of
        one observed record because no mean satisfies their rules or because it rules its group.
    max_block_records : int or None
        Records that are partitioned together, at least 3k; more are cut into blocks of near records first. None for
        any number.
    unit_records : int or None
        Records for which groups and prototypes are found at once, at least 20 groups of k; more are cut
        into units of near records, each masked as a file of its own. 0 or ``whole``: all, whatever `memory` says.
        When None, what the manifest says that `secret` names, and else as many as `memory` holds.
    memory : int or None
        Bytes that `mask`, `check` and `assess` may take, in all their processes; a text such as ``4GB`` as well. Half
        of what is free when None. What `mask` does not fit into it is masked in units, and columns that would take
        much of it are read into files that are mapped to memory.
    max_failures : mapping of rule id to str
        Failures of a rule that `validate` and `check` let pass: ``5`` nodes, or ``0.5%`` of those on which it fired;
        ``*`` for the hard rules that it does not name. `mask` does not read it.
    method : str
        Masking method, by name; `mask` knows which there are (`masktron methods`).
    aggregator : str or None
        The aggregator that masks every block whose kinds of values it suits, by name; where its theorem does not keep
        the rules of one, `mask` stops. The one that loses least in each block when None.
    params : mapping of str to value
        Its parameters: texts, numbers, true or false, lists of names or numbers. What they may be, `mask` checks.
    rule_timeout : float
        Seconds that an engine may take for one rule on one record, or on a whole document. One that takes longer is
        ended, and the run stops: it names the rule and the record.
    documents : mapping of str to path
        Files that ``document()`` and ``doc()`` in the rules stand for, by the names that they have there; the
        original need not be among them.
    spare_documents : frozenset of str
        Those of them that a file of settings names, which may serve other phases and rulebooks: no rule need read
        them. `load_config` sets it; it is no setting.
    workers : int or None
        Partitions whose groups `mask` forms at once, or blocks of `max_block_records` where there is one; as
        many as there are cores when None. The written file is the same for any number. Processes that `validate`,
        `mask` and `check` give slices of a large flat file to, for the rules and for engines that are not ours; when
        None, this process alone, and for those engines as many as there are cores, up to four. Threads of `assess`.
    executor : {"local", "dask"}
        Who works on slices in `validate`, `mask` and `check` and on units in `mask`: processes of this machine, or
        the workers of a Dask cluster, for which ``masktron[dask]`` has to be installed. The result is the same.
    scheduler : str or None
        Address of a Dask scheduler, as ``tcp://HOST:8786``. When None, there is a cluster of `workers` on this
        machine (as many as there are cores when that is None, too), which ends with the run.
    recode : mapping of field name to str
        How unmasked fields are recoded before the numbers are masked, with rules to match: ``age.csv:2`` (a level of
        a hierarchy), ``width:5``, ``breaks:0,15,25,65``, ``round:100``, ``bottom:16,top:90:median``. A field without
        a role becomes a quasi-identifier.
    allow_lost : tuple of str
        Ids of rules that need not hold any more where a recoding leaves nothing of them to be asked; ``*`` for all.
    key_k : int or None
        Local suppression: cells of quasi-identifiers are left out, after recoding and where the rules let them be,
        until so many records share every combination as it is written. None suppresses nothing.
    keys : mapping of str to value
        How: ``k`` is `key_k`; ``subsets`` the size of the subsets of keys that are shared by k records, for intruders
        who know no more (all keys by default); ``importance`` a mapping of field to what a cell of it costs, the
        larger the rarer it is left out (1 by default); ``missing_matches`` whether a missing value counts as every
        value, which protects less.
    pram : mapping of str to str
        Fields whose values are drawn anew by known probabilities, after recoding and among what the rules admit in
        each record: ``change:0.1`` (the share that is expected to change), or a transition matrix ``sex.csv``;
        ``change:0.1,stay:0.5,within:REGION,alone:keep`` says more. ``AGE+STATUS`` are drawn together. A field without
        a role becomes a quasi-identifier.
    swap : mapping of str to value
        Targeted record swapping, after that: ``regions``, fields from coarse to fine, of which records that are rare
        in theirs change places with similar ones of other regions; ``household``, ``keys`` (the other
        quasi-identifiers by default), ``k`` (3), ``similar``, ``required``, ``rate`` (0) and ``least_regions`` (2):
        see docs/swapping.md. Nothing is swapped where it is empty.
    register : Register or None
        The register of releases, in which `mask` looks up whether the original has been released before, and which it
        adds to; a path, or a table of ``path`` and ``salt``. No register when None.
    on_refusal : {"stop", "suggest"}
        What `mask` does where it refuses: ``suggest`` tries what could help, on the records in memory, and says what
        each remedy costs. Nothing is written in either case.
    found : Problem or str
        What the first lines of a result say of a file of settings that the user did not name. `found_config` sets
        it; it is no setting.
    given_rules : GivenRules or None
        Rules of a file of settings, which hold where nobody names others. `load_config` sets it; it is no setting.
    recoded_unnamed : frozenset of str
        Recoded fields of which nobody gave the role, so that they are quasi-identifiers; it is no setting.
    """

    # fmt: off
    # what goes in
    roles: Taken[Mapping[str, Role], Mapping[str, Role | str]] = setting(
        "What a field is: identifier, record-id, confidential, weight, quasi-identifier or untouched.",
        like=FIELD, converter=_roles, factory=dict, option="--role", metavar="FIELD=ROLE", example="NAME=identifier",
        right=True, trust=Trust(weakens=_untouched),
    )
    quasi_identifiers: Names = setting(
        "Others may know it of a respondent, whatever masking does to it: risk is measured over such fields.",
        like=FIELD, default=(), option="--quasi-identifier", merge=lambda former, given: (*former, *given),
        commands=f"{OF_FIELDS} check rerun", page="keys",
    )
    missing: Taken[Mapping[str, frozenset[str]], Mapping[str, Codes] | Collection[str | int]] = setting(
        "A value that means 'missing'.",
        like=FIELD, converter=values.missing, factory=dict, metavar="[FIELD=]CODE", collect=values.missing_given,
        merge=values.joined_codes, commands=f"{OF_FIELDS} validate check hierarchy rerun",
    )
    nominal: Names = setting(
        "Its values are categories without an order.",
        like=FIELD, default=(), merge=lambda former, given: (*former, *given),
    )
    ordinal: Taken[Mapping[str, tuple[str, ...]], Mapping[str, Collection[str | int]] | Fields] = setting(
        "Its values are categories in this order, or in that of its numbers.",
        like=FIELD, converter=values.orders, factory=dict, metavar="FIELD[=LOW,MID,HIGH]",
        collect=values.orders_given,
    )
    numeric: Names = setting(
        "Its numbers are quantities, though they look like codes.",
        like=FIELD, default=(), merge=lambda former, given: (*former, *given),
    )
    format: str | None = setting(
        "Format of the data, where the name of the file does not say it.", like=READ, default=None, metavar="NAME"
    )
    format_options: FormatOptions = setting(
        "How the data are to be read, such as delimiter=; or sheet=2: see masktron formats.",
        like=READ, factory=dict, option="--format-option", example="'delimiter=;'", trust=FORMAT_OPTIONS,
    )
    record: str | None = setting(
        "Record element, where the file leaves it open.", like=READ, default=None, metavar="NAME"
    )
    levels: Taken[LevelSettings, object] = setting(
        "The table of a level of nested records, in the place of its data in [levels] of the settings.",
        like=READ, converter=levels_from, factory=dict, option="--table", metavar="LEVEL=FILE",
        example="Person=persons.csv", read=typed_path, stripped=True, merge=with_tables, commands=READING,
        page="nested-files", reads="the table of {}", trust=Trust(levels=LevelSetting),
    )
    metadata: MaybeFilePath = setting(
        "What the variables mean, beside the data: DDI-Codebook or Table Schema (JSON).",
        like=READ, default=None, commands=f"{READING} convert metadata rerun", reads="the metadata",
        spared_by_tune=True, trust=Trust(files=one_file, instead="--metadata FILE"),
    )
    phase: str | None = setting(
        "Schematron phase; #ALL for all patterns.",
        IN, like=JUDGED, default=None, metavar="ID", page="writing-rules",
        trust=Trust(weakens=lambda name: name != "#ALL" and name),
    )
    documents: Taken[Mapping[str, Path], Mapping[str, File]] = setting(
        "The file that document('NAME') in the rules stands for, where it is not the original.",
        IN, like=JUDGED, converter=values.documents, factory=dict, option="--document", metavar="NAME=FILE",
        example="nace.xml=codes/nace.xml", right=True, commands=f"{JUDGING} rerun", own_place=True,
        spared_by_tune=True, reads="the document {!r}",
        trust=Trust(files=_moved_documents, instead="--document {}=FILE", weakens=dict),
    )
    # how it is done
    k: Integer = setting(
        "Smallest group, at least 2.",
        like=WAY, default=5, short="-k", least=2, why="a group of one record is not masked at all; 3 to 10 are usual",
    )
    method: str = setting(
        "Masking method: see masktron methods.", like=WAY, converter=values.method, default="mdav", metavar="NAME"
    )
    params: Taken[Mapping[str, Param], Mapping[str, Param | list[str | int | float]]] = setting(
        "A parameter of the method: see masktron methods NAME.",
        like=WAY, converter=values.params, factory=dict, option="--param", metavar="NAME=VALUE", example="c=0.1",
        stripped=True,
    )
    aggregator: str | None = setting(
        "Mask by this aggregator where its theorem keeps the rules, and stop where it does not: mean, "
        "geometric_mean, median, mode, medoid, minimum, lower_quartile, upper_quartile, maximum, convex_median, "
        "boolean_max_min. By default the one that loses least.",
        like=WAY, default=None, metavar="NAME",
    )
    grouping: Grouping = setting(
        "rules: partition the records per block of variables; all: once, on all masked variables.",
        like=WAY, default="rules",
    )
    recode: Taken[Mapping[str, str], Mapping[str, File]] = setting(
        "Recode an unmasked field, and the rules with it: age.csv:2 (level of a hierarchy), width:5, "
        "breaks:0,15,25,65, round:100, bottom:16,top:90:median.",
        like=TREATED, converter=recoding.recode, factory=dict, metavar="FIELD=HOW",
        example=f"AGE=width:5; HOW is {WAYS}", stripped=True, twice="; both tails are one: bottom:16,top:90",
        commands="mask keys rerun", page="recoding", reads="the hierarchy of {}",
        trust=Trust(files=moved_hierarchies, instead="--recode {}=FILE:LEVEL"),
    )
    pram: Taken[Mapping[str, str], Mapping[str, File]] = setting(
        "Draw an unmasked category anew by known probabilities, among what the rules admit: change:0.1 (share "
        "expected to change), or sex.csv (a transition matrix); AGE+STATUS are drawn together.",
        like=TREATED, converter=perturbing.pram, factory=dict, metavar="FIELD=HOW", stripped=True,
        example=f"REGION=change:0.1; HOW is {PRAM_WAYS}", commands="mask rerun", page="pram",
        reads="the matrix of {}", trust=Trust(files=moved_matrices, instead="--pram {}=FILE"),
    )
    swap: Taken[Mapping[str, Any], Mapping[str, Fields | str | float | None]] = setting(
        "Let records that are rare in their region change places with similar ones of others: regions from "
        "coarse to fine; [swap] in settings says the rest.",
        like=TREATED, converter=perturbing.swap, factory=dict, metavar="FIELD,...",
        read=lambda text: {"regions": text.split(",")}, commands="mask", page="swapping", form=Shape.VALUE,
    )
    key_k: MaybeInteger = setting(
        "Leave out cells of quasi-identifiers until K records share every combination of them; [keys] in "
        "settings says how.",
        like=TREATED, default=None, metavar="K", least=2,
        why="a record that is alone with its keys is found by them; 3 to 5 are usual",
        other={"recode": ("Records that share a combination.", "3")}, commands="mask recode keys", page="suppression",
    )
    keys: Taken[Mapping[str, Any], Mapping[str, int | bool | Mapping[str, float]]] = setting(
        "How cells of quasi-identifiers are left out.",
        converter=perturbing.keys, factory=dict, option="", topic="treating", page="suppression",
        trust=Trust(weakens=_looser_keys), form=Shape.VALUE,
    )
    keep_missing: bool = setting(
        "Stop rather than change which values are missing.",
        HOW, default=False, topic="masking", commands="mask", page="refusals",
    )
    invalid: InvalidRecords = setting(
        "What to do with original records that break a rule.",
        HOW, default="stop", commands="mask tune recode keys", page="refusals", trust=Trust(weakens=_unless_stop),
    )
    rare_units: InvalidRecords = setting(
        "What to do with households (units of a nested file) that fewer than k are composed like.",
        HOW, default="stop", commands="mask", page="nested-files", trust=Trust(weakens=_unless_stop),
    )
    reweight: Names = setting(
        "Spread the weights of records left out over those that are alike in this field.",
        HOW, default=(), commands="mask", page="how-to/fields",
    )
    protect: str | None = setting(
        "What is protected of a nested file: the household whole (a unit with all its members), or each member "
        "of a kind alone, such as Person.",
        HOW, default=None, metavar="LEVEL", shown="the top level", commands="mask", page="nested-files",
    )
    member_order: Taken[tuple[str, ...] | None, Fields | str | None] = setting(
        "A field of members of a household (a unit of a nested file), written as it is, by which members of "
        "different households are put side by side. By default what is called like a role, a sex and "
        "an age.",
        HOW, converter=values.member_order, default=None, metavar="FIELD|file", commands="mask", page="nested-files",
    )
    group_size_vars: Integer = setting(
        "Variables without a rule are masked in groups of so many.",
        HOW, default=3, least=1, commands="explain mask tune", page="methods",
    )
    order: Order = setting(
        "The order of the written records; by default random where it could tell something.",
        HOW, default="auto",
        flags={
            "random": (
                "--shuffle",
                "Write the records in random order in any case; by default where their order could tell "
                "something.",
            ),
            "keep": ("--keep-order", "Write the records in the order of the original, and say what it tells."),
        },
        topic="masking", commands="mask", page="how-to/keys-and-order", decides="order",
        trust=Trust(weakens=lambda value: value == "keep" and value),
    )
    on_refusal: OnRefusal = setting(
        "Where the rules, k and limits cannot all be kept: suggest tries what could help and shows what it "
        "costs; nothing is written.",
        HOW, default="stop", commands="mask", page="refusals", local=True, decides="nothing", spared_by_tune=True,
    )
    secret: Taken[bytes | None, bytes | File | None] = setting(
        "Secret that all random numbers of the release come from: a file of at least 32 hexadecimal digits, or "
        "the manifest of the run that is to be repeated.",
        HOW, converter=values.secret, default=None, repr=False, metavar="FILE",
        shown="256 bits from the system, written to the manifest", reads="the secret", commands="mask",
        page="how-to/keys-and-order", confidential=True, own_place=True, spared_by_tune=True, trust=NAMED_ONLY,
    )
    seed: MaybeInteger = setting(
        "Seed in the place of a secret, for tests. To protect a release, it must be as long as a secret.",
        HOW, default=None, repr=False, least=0, commands="mask", page="how-to/keys-and-order", confidential=True,
        spared_by_tune=True, trust=NAMED_ONLY,
    )
    workers: MaybeInteger = setting(
        "Processes or threads that work at the same time; the result is the same for any number.",
        like=RUN, default=None, shown="the number of cores", least=1,
        other={
            "validate": ("Processes that a large flat file is given to in slices.", "this process alone"),
            "check": (
                "Processes that a large flat file is given to in slices.",
                "this process for the rules, the cores for engines",
            ),
            "assess": ("Threads; no figure depends on them.", "the number of cores"),
        },
        commands=f"{RUNNING} assess", page="workers",
    )
    executor: ExecutorName = setting(
        "Who works on parts of a large file: processes of this machine, or the workers of a Dask cluster "
        "(masktron[dask]).",
        like=RUN, default="local", page="clusters", trust=NAMED_ONLY,
    )
    scheduler: str | None = setting(
        "Dask scheduler, as tcp://HOST:8786; its workers find the files under the same paths.",
        like=RUN, default=None, metavar="ADDRESS", shown="a cluster of --workers on this machine", page="clusters",
        trust=NAMED_ONLY,
    )
    # limits
    limits: Mapping[str, float] = setting(
        "Exit code 1 outside a limit: the most that a figure of masktron assess may be, or the least where more "
        "is better, such as linkage=5 or block_k=5.",
        LIMITS, converter=values.limits, factory=dict, option="--limit", metavar="NAME=NUMBER", example="linkage=50",
        commands="mask check tune recode", page="how-to/limits", decides="nothing", spared_by_tune=True,
    )
    max_failures: Taken[Mapping[str, str], Mapping[str, int | str]] = setting(
        "Failures that a rule may have: nodes, or per cent of those on which it fired; * for all other hard "
        "rules. Exit code 1 only beyond that.",
        LIMITS, like=JUDGED, converter=values.failures, factory=dict, metavar="RULE=N|P%", example="income-sum=0.5%",
        right=True, commands="validate check", decides="nothing", spared_by_tune=True, trust=WEAKENS,
    )
    allow: RuleIds = setting(
        "Let a rule be broken.",
        LIMITS, default=(), commands="explain mask tune recode keys", page="refusals", trust=WEAKENS,
    )
    allow_unfired: RuleIds = setting(
        "Let a rule go untested: it may fire on nothing, or read a field that the file never has; * for all.",
        LIMITS, like=JUDGED, default=(), decides="nothing", spared_by_tune=True, trust=WEAKENS,
    )
    allow_lost: RuleIds = setting(
        "Let a rule go of which a recoding leaves nothing to ask; * for all.",
        LIMITS, default=(), commands="mask tune recode keys", topic="treating", page="recoding", trust=WEAKENS,
    )
    max_observed_share: float = setting(
        "Most groups of a block, in per cent of the records, that may publish one record's values for want of a "
        "mean that satisfies the rules.",
        LIMITS, converter=values.share, default=OBSERVED_SHARE, metavar="P", topic="masking",
        commands="mask", page="how-to/limits",
        trust=Trust(weakens=lambda share: share > OBSERVED_SHARE and share),
    )
    register: Taken[Register | None, Register | Mapping[str, File] | File | None] = setting(
        "The register of releases, in which the original is looked up and this release entered.",
        LIMITS, converter=values.register, default=None, metavar="FILE", read=lambda text: {"path": text},
        parts={"salt": ("FILE", "The secret of the register.", "REGISTER.salt")}, merge=values.joined_register,
        commands="mask rerun", page="repeating", decides="nothing",
        trust=Trust(named_only=True, files=_moved_register),
    )
    memory: Taken[int | None, int | str | None] = setting(
        "Memory that all processes of the run may take, such as 4GB: what would take much of it is read into "
        "files that are mapped to memory, and masked in units.",
        LIMITS, converter=values.memory, default=None, metavar="SIZE", shown="half of what is free",
        commands="mask check assess", page="large-files",
        other=dict.fromkeys(
            ("check", "assess"),
            (
                "Memory that all processes of the run may take, such as 4GB: what would take much of it is read "
                "into files that are mapped to memory.",
                "half of what is free",
            ),
        ),
        local=True, decides="nothing",
    )
    unit_records: Taken[int | None, int | str | None] = setting(
        "Mask more records than that in units of near ones, each as a file of its own; at least 20k. 'whole': "
        "cut nothing, whatever memory holds.",
        LIMITS, converter=values.units, default=None, metavar="N|whole", read=values.units_given,
        shown="that of the manifest of the secret, else what memory holds", commands="mask", page="large-files",
        decides="order",
    )
    max_block_records: MaybeInteger = setting(
        "Cut more records than that into blocks of near ones, and form groups in each; at least 3k.",
        LIMITS, default=None, shown="never cut", commands="mask", page="how-to/limits",
    )
    rule_timeout: float = setting(
        "What an engine may take for one rule on one record, or on a whole document; then it is ended, and the "
        "run stops (exit code 6). To name the record takes up to about three times as long.",
        LIMITS, like=JUDGED, converter=values.seconds, default=RULE_SECONDS, metavar="SECONDS", decides="nothing",
        spared_by_tune=True,
    )
    found: Sentence = field(default="", repr=False, compare=False)
    given_rules: GivenRules | None = field(default=None, repr=False, compare=False)
    spare_documents: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    recoded_unnamed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    # fmt: on

    def __post_init__(self) -> None:
        secret: object = self.secret
        if isinstance(secret, SecretOfRun):
            # with another k, the size of units of the run that the secret is of may be none
            if self.unit_records is None and (not secret.units or secret.units >= LEAST_UNIT * self.k):
                self._set("unit_records", secret.units)
            self._set("secret", bytes(secret))
        if self.seed is not None and secret is not None:
            raise UsageError.of("given-twice", one="seed", other="secret", why=": the secret")
        if self.scheduler is not None and self.executor != "dask":
            raise UsageError.of(
                "needs-setting", name="scheduler", setting=Setting("--executor", ("dask",)), needed="another option"
            )
        self._require_sizes()
        for one, other, said, also in (
            ({*self.nominal}, {*self.ordinal}, "nominal", "ordinal"),
            ({*self.numeric}, {*self.nominal, *self.ordinal}, "numeric", "categories"),
        ):
            if both := sorted(one & other):
                to = Note(" for {fields:and}", fields=named_fields(both))
                raise UsageError.of("given-twice", one=said, other=also, to=to)
        self._take_keys()
        self._take_treated()

    def _set(self, name: str, value: object) -> None:
        """Set a field of a new object: it takes one form of each setting only."""
        object.__setattr__(self, name, value)

    def _require_sizes(self) -> None:
        """Refuse numbers of records that are too few for groups of k."""
        for name, times, least, parts in (
            ("max_block_records", 3, 3 * self.k, "blocks"),
            ("unit_records", LEAST_UNIT, LEAST_UNIT * self.k, "units"),
        ):
            size = getattr(self, name)
            if size is not None and size < least and (name != "unit_records" or size != 0):
                raise UsageError.of(
                    "bad-value",
                    name=SettingName(name),
                    expected=f"at least {times}k = {least}",
                    given=size,
                    hint=f"10,000 and more are usual: smaller {parts} lose more information",
                )

    def _take_keys(self) -> None:
        """Take how keys are suppressed, with k at one place."""
        keys = {**self.keys}
        k = keys.pop("k", self.key_k)
        if self.key_k not in (None, k):
            raise UsageError.of("given-twice", one=f"key_k = {self.key_k}", other=f"keys.k = {k}")
        if k != self.key_k:
            least = declared_in(Config)["key_k"]
            if k is not None and k < least.least:
                wanted = f"at least {least.least}"
                setting = SettingName("key_k")
                raise UsageError.of("bad-value", name=setting, expected=wanted, given=k, hint=least.why)
        self._set("keys", keys)
        self._set("key_k", k)

    def _take_treated(self) -> None:
        """Take fields that are treated for quasi-identifiers, unless they have another role that is written."""
        named = {kind: own for kind, own in steps_of(self).items() if kind.named_as}
        drawn, regions = named.get(Postrandomised, ()), named.get(Swapped, ())
        if both := [name for name in regions if name in drawn]:
            to = Note(" for {fields:and}", fields=named_fields(both))
            raise UsageError.of("given-twice", one="swap", other="pram", to=to)
        for name, how in self.recode.items():
            if self.roles.get(name) is Role.WEIGHT and not gives_numbers(how_of(f"recode.{name}", how)):
                raise UsageError.of("weight-made-text", setting=SettingName("recode", (name,)))
        for step, own in named.items():
            for name in own:
                self._require_written(step, name)
        added = {name: Role.QUASI_IDENTIFIER for own in named.values() for name in own if name not in self.roles}
        if added:
            self._set("roles", {**self.roles, **added})
            self._set("recoded_unnamed", self.recoded_unnamed | (added.keys() & self.recode.keys()))

    def _require_written(self, step: type[Treatment], name: str) -> None:
        """Refuse to treat a field that is masked, removed, the weight, or no category."""
        role, kind = self.roles.get(name), self.kind_of(name)
        masked = role is None and kind is not None
        refused = {Role.CONFIDENTIAL, Role.IDENTIFIER} | (set() if step is Recoded else {Role.WEIGHT, Role.RECORD_ID})
        if masked or role in refused:
            said = f"is declared as {kind}, and so masked" if masked else f"has the role {role}"
            raise UsageError.of(
                "role-does-not-fit",
                setting=SettingName(step.asked_by[0], (name,)),
                field=Field(name),
                reason=f"which {said}, so it cannot be {step.named_as}",
                role=Role.QUASI_IDENTIFIER,
            )

    @property
    def reading(self) -> ReadOptions:
        """How the data are to be read."""
        identifiers = frozenset(name for name, role in self.roles.items() if role is Role.IDENTIFIER)
        return ReadOptions(
            self.record,
            self.format,
            self.format_options,
            self.metadata,
            levels=self.levels,
            identifiers=identifiers if self.levels else frozenset(),
        )

    @property
    def named_files(self) -> dict[str, Path]:
        """Documents of the rules, tables of levels, matrices, the register, by the names that messages have for them.

        What recoding reads and writes is known where it is done: `masktron.jobs.translated_rules.files_of_recoding`.
        """
        said, found = declared_in(Config), dict[str, Path]()
        for one in files_read(self):
            name, *place = one.setting
            # where the table of a level is written is no file that is read
            if said[name].reads and place[1:] != ["out"]:
                found[said[name].reads.format(*place)] = one.path
        return {**found, **({} if self.register is None else self.register.files)}

    @property
    def weight(self) -> str | None:
        """The field with the weights."""
        return next((name for name, role in self.roles.items() if role is Role.WEIGHT), None)

    @property
    def treats_keys(self) -> bool:
        """Whether fields that are not masked are written otherwise than they were."""
        return any(kind.of_keys for kind in steps_of(self))

    @property
    def draws_keys(self) -> bool:
        """Whether that takes random numbers."""
        return any(kind.draws for kind in steps_of(self))

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind that was declared for a field; None where none was."""
        if name in self.ordinal:
            return Kind.ORDINAL
        if name in self.numeric:
            return Kind.NUMBER
        return Kind.NOMINAL if name in self.nominal else None

    def choosing(self, method: str | None, params: Mapping[str, Any]) -> Self:
        """Return a copy with a method, or the same one, and more parameters.

        Parameters stand for a method: where another one is chosen, those that stood beside the former go with it.
        """
        name = self.method if method is None else method
        kept = self.params if name == self.method else {}
        return replace(self, method=name, params={**kept, **params})

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as plain data, without what is no setting."""
        return {name: _plain(getattr(self, name)) for name in declared_in(Config)}

    def updated(self, **changes: Any) -> Self:
        """Return a copy in which every argument that is not None replaces the setting."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def with_options(self, given: Mapping[str, Any]) -> Self:
        """Return a copy in which options add to tables, and replace or add to all else, as each setting declares.

        Parameters
        ----------
        given : mapping
            What options give, by the names of settings.
        """
        named = {kind: {*given.get(kind, ())} for kind in _KINDS}
        before = {name: getattr(self, name) for name in (*given, *(_KINDS if any(named.values()) else ()))}
        for kind in _KINDS if any(named.values()) else ():
            others = set().union(*(names for one, names in named.items() if one != kind))
            kept = [name for name in before[kind] if name not in others]
            before[kind] = {name: self.ordinal[name] for name in kept} if kind == "ordinal" else tuple(kept)
        if given.get("method", self.method) != self.method:
            before["params"] = {}
        declarations = declared_in(Config)
        merged = {
            name: declarations[name].merged(former, given[name]) if name in given else former
            for name, former in before.items()
        }
        return replace(self, spare_documents=self.spare_documents.difference(given.get("documents", ())), **merged)


def untreated(*, draws_alone: bool = False) -> dict[str, Any]:
    """Return the settings of steps as they ask for none, or of those alone that take random numbers."""
    nothing = Config()
    return {name: getattr(nothing, name) for kind in ALL if kind.draws or not draws_alone for name in kind.asked_by}


def _plain(value: Any) -> Any:
    """Return a value of a setting whose classes are plain data, as `dataclasses.asdict` makes it."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value


def config_from(table: Mapping[str, Any], *, where: str = "", base: Config | None = None) -> Config:
    """Build settings from the parsed table of a configuration file, or from arguments in Python.

    Parameters
    ----------
    table : mapping of str to value
    where : str
        Stands before every message.
    base : Config, optional
        What holds for the settings that `table` does not name; parameters only for the method that they stand beside.

    Raises
    ------
    UsageError
        As for `load_config`.
    """
    known = declared_in(Config)
    for name in table:
        if name not in known:
            raise UsageError.of("unknown-name", where, name=name, known=Known(name, (*known, *APART)), kind="setting")
    base, settings = base or Config(), dict(table)
    if "documents" in settings:
        settings["spare_documents"] = frozenset()
    if settings.get("method", base.method) != base.method:
        settings.setdefault("params", {})
    if isinstance(settings.get("keys"), Mapping) and "k" in settings["keys"]:
        settings.setdefault("key_k", None)  # which is said there
    try:
        return replace(base, **settings)
    except UsageError as error:
        error.at(where or error.problem.place)
        raise
