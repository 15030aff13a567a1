"""Settings of a run: from ``masktron.toml``, from options, checked once and never guessed."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from numbers import Integral
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from masktron.errors import UsageError
from masktron.figures import NAMES
from masktron.files import read_text
from masktron.level_settings import LevelSetting, LevelSettings, levels_from
from masktron.perturbation_settings import (
    SWAP_NAMES,
    located_pram,
    matrix_files,
    moved_matrices,
    pram_settings,
    together,
)
from masktron.perturbation_settings import WAYS as PRAM_WAYS
from masktron.processes import MOST_SECONDS, RULE_SECONDS
from masktron.recoding_settings import WAYS, gives_numbers, how_of, moved_hierarchies, resolved
from masktron.release_secret import former_units, secret_from
from masktron.thresholds import thresholds
from masktron.toml_text import TomlText
from masktron.trust import (
    FORMAT_OPTIONS,
    HARMLESS,
    NAMED_ONLY,
    declared,
    files_read,
    is_inside,
    named_only_in,
    one_file,
    shortened,
    trust_of,
    weakened_in,
)


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

EXECUTORS: tuple[ExecutorName, ...] = ("local", "dask")
"""Who works on slices of a file."""

type Param = str | int | float | bool | tuple[str | int | float, ...] | None
"""Value of a parameter of a method; None stands for ``auto``."""

LEAST_UNIT = 20
"""Groups of k that a unit of records has room for, at least: below, few groups are what they would be in the file."""
WHOLE = "whole"
"""In the place of the size of units: none are cut."""
LEAST_MEMORY = 400_000_000
"""Bytes: what masktron takes with little data, and some."""
ALL_FIELDS = "*"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?i?B)", re.IGNORECASE)
_FORMER = {"shuffle": 'order is "random", "keep" or "auto"'}
"""What stands for settings that had another name."""
OBSERVED_SHARE = 1.0
"""Groups, in per cent, that may publish the values of one observed record where nobody says otherwise."""
WEAKENS = declared(weakens=lambda value: value)
"""Whatever the setting holds relaxes what a result is judged by."""
SEE_METHODS = "`masktron methods` lists the methods, `masktron methods NAME` their parameters"


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
    """

    record: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    metadata: Path | None = None
    inherited: bool = False
    levels: LevelSettings = field(default_factory=lambda: MappingProxyType({}))

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


@dataclass(frozen=True, slots=True)
class Register:
    """The register of releases: which originals have been released.

    Attributes
    ----------
    path : Path
        A file to which every release adds a line; it is made where it is not there.
    salt : Path
        The secret without which the register tells nothing of a record: ``PATH.salt`` unless somebody says otherwise.
    """

    path: Path
    salt: Path

    @property
    def count(self) -> Path:
        """The file ``PATH.count``: how many lines the register has, and the hash of the last one."""
        return self.path.with_name(f"{self.path.name}.count")

    @property
    def files(self) -> dict[str, Path]:
        """All of them by the names that messages have for them: no output may overwrite them."""
        return {
            "the register of releases": self.path,
            "the salt of the register": self.salt,
            "the count of the register": self.count,
        }


def _moved_documents(documents: Mapping[str, Path], moved: Callable[[str, Path], Path]) -> dict[str, Path]:
    """Return documents of the rules that lie elsewhere."""
    return {name: moved(name, path) for name, path in documents.items()}


def _untouched(roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the fields that nobody masks because their role says so."""
    return {name: role for name, role in roles.items() if role is Role.UNTOUCHED}


def _looser_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return what lets fewer records share a combination of keys than `key_k` says by itself."""
    return {name: said for name, said in keys.items() if name in ("subsets", "missing_matches") and said}


@dataclass(frozen=True, slots=True)
class Config:
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
    found : str
        What the first lines of a result say of a file of settings that the user did not name. `found_config` sets
        it; it is no setting.
    """

    k: int = field(default=5, metadata=HARMLESS)
    seed: int | None = field(default=None, repr=False, metadata=NAMED_ONLY)
    roles: Mapping[str, Role] = field(default_factory=dict, metadata=declared(weakens=_untouched))
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict, metadata=HARMLESS)
    grouping: Grouping = field(default="rules", metadata=HARMLESS)
    group_size_vars: int = field(default=3, metadata=HARMLESS)
    keep_missing: bool = field(default=False, metadata=HARMLESS)
    invalid: InvalidRecords = field(
        default="stop", metadata=declared(weakens=lambda value: value != "stop" and value)
    )
    rare_units: InvalidRecords = field(
        default="stop", metadata=declared(weakens=lambda value: value != "stop" and value)
    )
    reweight: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    protect: str | None = field(default=None, metadata=HARMLESS)
    member_order: tuple[str, ...] | None = field(default=None, metadata=HARMLESS)
    allow: tuple[str, ...] = field(default=(), metadata=WEAKENS)
    record: str | None = field(default=None, metadata=HARMLESS)
    format: str | None = field(default=None, metadata=HARMLESS)
    format_options: Mapping[str, str] = field(default_factory=dict, metadata=FORMAT_OPTIONS)
    metadata: Path | None = field(
        default=None,
        metadata=declared(files=one_file, option="--metadata FILE"),
    )
    levels: LevelSettings = field(
        default_factory=dict,
        metadata=declared(levels=LevelSetting),
    )
    phase: str | None = field(default=None, metadata=declared(weakens=lambda name: name != "#ALL" and name))
    limits: Mapping[str, float] = field(default_factory=dict, metadata=HARMLESS)
    order: Order = field(default="auto", metadata=declared(weakens=lambda value: value == "keep" and value))
    nominal: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    ordinal: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=HARMLESS)
    numeric: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    quasi_identifiers: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    max_observed_share: float = field(
        default=OBSERVED_SHARE, metadata=declared(weakens=lambda share: share > OBSERVED_SHARE and share)
    )
    max_block_records: int | None = field(default=None, metadata=HARMLESS)
    unit_records: int | None = field(default=None, metadata=HARMLESS)
    memory: int | None = field(default=None, metadata=HARMLESS)
    max_failures: Mapping[str, str] = field(default_factory=dict, metadata=WEAKENS)
    method: str = field(default="mdav", metadata=HARMLESS)
    params: Mapping[str, Param] = field(default_factory=dict, metadata=HARMLESS)
    aggregator: str | None = field(default=None, metadata=HARMLESS)
    workers: int | None = field(default=None, metadata=HARMLESS)
    executor: ExecutorName = field(default="local", metadata=NAMED_ONLY)
    scheduler: str | None = field(default=None, metadata=NAMED_ONLY)
    rule_timeout: float = field(default=RULE_SECONDS, metadata=HARMLESS)
    allow_unfired: tuple[str, ...] = field(default=(), metadata=WEAKENS)
    secret: bytes | None = field(default=None, repr=False, metadata=NAMED_ONLY)
    documents: Mapping[str, Path] = field(
        default_factory=dict, metadata=declared(files=_moved_documents, option="--document {}=FILE", weakens=dict)
    )
    recode: Mapping[str, str] = field(
        default_factory=dict, metadata=declared(files=moved_hierarchies, option="--recode {}=FILE:LEVEL")
    )
    allow_lost: tuple[str, ...] = field(default=(), metadata=WEAKENS)
    key_k: int | None = field(default=None, metadata=HARMLESS)
    keys: Mapping[str, Any] = field(default_factory=dict, metadata=declared(weakens=_looser_keys))
    pram: Mapping[str, str] = field(
        default_factory=dict, metadata=declared(files=moved_matrices, option="--pram {}=FILE")
    )
    swap: Mapping[str, Any] = field(default_factory=dict, metadata=HARMLESS)
    register: Register | None = field(default=None, metadata=NAMED_ONLY)
    on_refusal: OnRefusal = field(default="stop", metadata=HARMLESS)
    found: str = field(default="", repr=False, compare=False)
    spare_documents: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        self._plain_integers()
        _integer("k", self.k)
        _require(
            self.k >= 2,
            f"k must be at least 2, not {self.k}",
            "a group of one record is not masked at all; 3 to 10 are usual",
        )
        if self.seed is not None:
            _integer("seed", self.seed)
            _require(self.seed >= 0, f"seed must be at least 0, not {self.seed}")
        if self.secret is not None:
            named: object = self.secret
            object.__setattr__(self, "secret", secret_from(named))
            self._repeat_units(named)
            _require(self.seed is None, "a seed and a secret are both given", "keep one of them: the secret")
        _integer("group_size_vars", self.group_size_vars)
        _require(self.group_size_vars >= 1, f"group_size_vars must be at least 1, not {self.group_size_vars}")
        if self.workers is not None:
            _integer("workers", self.workers)
            _require(self.workers >= 1, f"workers must be at least 1, not {self.workers}")
        _require(
            _is_number(self.rule_timeout) and 0 < self.rule_timeout <= MOST_SECONDS,
            f"rule_timeout must be a number of seconds above 0, at most {MOST_SECONDS:g}, not {self.rule_timeout!r}",
        )
        _require(
            isinstance(self.keep_missing, bool), f"keep_missing must be true or false, not {self.keep_missing!r}"
        )
        for name in ("record", "format", "phase", "aggregator", "scheduler", "protect"):
            value = getattr(self, name)
            _require(value is None or isinstance(value, str), f"{name} must be a name, not {value!r}")
        _require(
            self.metadata is None or isinstance(self.metadata, str | PathLike),
            f"metadata must be the name of a file, not {self.metadata!r}",
        )
        if self.metadata is not None:
            object.__setattr__(self, "metadata", Path(self.metadata))
        for name, read in (("levels", levels_from), ("register", _register)):
            object.__setattr__(self, name, read(getattr(self, name), ""))
        _one_of("executor", self.executor, EXECUTORS)
        _require(
            self.scheduler is None or self.executor == "dask",
            "a scheduler is given, and no executor that has one",
            "say --executor dask, too",
        )
        _one_of("grouping", self.grouping, ("rules", "all"))
        for name in ("invalid", "rare_units"):
            _one_of(name, getattr(self, name), ("stop", "exclude"))
        _one_of("order", self.order, ("auto", "random", "keep"))
        _one_of("on_refusal", self.on_refusal, ("stop", "suggest"))
        _limits(self.limits, "")
        _require(
            _is_number(self.max_observed_share) and 0 <= self.max_observed_share <= 100,
            f"max_observed_share must be a number from 0 to 100 (per cent), not {self.max_observed_share!r}",
        )
        self._require_sizes()
        _require(
            isinstance(self.method, str) and bool(self.method),
            f"method must be a name, not {self.method!r}",
            SEE_METHODS,
        )
        object.__setattr__(self, "params", _params(self.params, ""))
        object.__setattr__(self, "allow_unfired", _strings(self.allow_unfired, "", "allow_unfired"))
        object.__setattr__(self, "recode", _recode(self.recode, ""))
        object.__setattr__(self, "allow_lost", _strings(self.allow_lost, "", "allow_lost"))
        texts = {rule: str(bound) for rule, bound in thresholds(self.max_failures).items()}
        object.__setattr__(self, "max_failures", texts)
        # As given in Python: lists, numbers as codes. A frozen object takes them in one form only this way.
        for name, taken in (("nominal", _nominal), ("reweight", _reweight), ("numeric", _numeric)):
            object.__setattr__(self, name, taken(getattr(self, name), ""))
        object.__setattr__(self, "ordinal", _ordinal(self.ordinal, ""))
        object.__setattr__(self, "quasi_identifiers", _quasi_identifiers(self.quasi_identifiers, ""))
        self._take_treated()
        both = sorted(set(self.nominal).intersection(self.ordinal))
        _require(not both, f"{', '.join(both)}: declared as nominal and as ordinal", "keep one of them")
        both = sorted(set(self.numeric).intersection((*self.nominal, *self.ordinal)))
        _require(not both, f"{', '.join(both)}: declared as numeric and as categories", "keep one of them")

    def _take_members(self) -> None:
        """Read what is said of the members of units."""
        if self.member_order is not None:
            object.__setattr__(self, "member_order", _member_order(self.member_order, ""))

    def _take_treated(self) -> None:
        """Take fields that are treated for quasi-identifiers, unless they have another role that is written."""
        self._take_keys()
        self._take_members()
        object.__setattr__(self, "pram", _pram(self.pram, ""))
        object.__setattr__(self, "swap", _swap(self.swap, ""))
        regions = self.swap.get("regions", ())
        drawn = [name for names in self.pram for name in together(names)]
        if again := next((name for name in drawn if drawn.count(name) > 1), ""):
            raise UsageError(f"pram names the field {again} twice", hint="draw a field once, alone or with others")
        if both := [name for name in regions if name in drawn]:
            raise UsageError(f"{both[0]} is a region of swap and is drawn by pram", hint="keep one of them")
        for name, how in self.recode.items():
            weight = self.roles.get(name) is Role.WEIGHT
            _require(
                not weight or gives_numbers(how_of(f"recode.{name}", how)),
                f"recode.{name}: the field is the weight, and would not be a number any more",
                "write its classes as their means (breaks:0,5,20:mean), or round it: round:5",
            )
            if not weight:
                self._require_written("recode", name, "recoded")
        for name in drawn:
            self._require_written("pram", name, "drawn anew")
        for name in regions:
            self._require_written("swap", name, "swapped")
        added = {name: Role.QUASI_IDENTIFIER for name in (*self.recode, *drawn, *regions) if name not in self.roles}
        if added:
            object.__setattr__(self, "roles", {**self.roles, **added})

    def _require_written(self, setting: str, name: str, done: str) -> None:
        """Refuse to treat a field that is masked, removed, the weight, or no category."""
        role, kind = self.roles.get(name), self.kind_of(name)
        masked = role is None and kind is not None
        refused = (
            Role.CONFIDENTIAL,
            Role.WEIGHT,
            Role.IDENTIFIER,
            *((Role.RECORD_ID,) if setting != "recode" else ()),
        )
        _require(
            not masked and role not in refused,
            f"{setting}.{name}: the field is declared as {kind}, and so masked"
            if masked
            else f"{setting}.{name}: the field has the role {role}",
            f"fields that are written as they are can be {done}: --role {name}=quasi-identifier; else leave out "
            f"how it is {done}",
        )

    def _take_keys(self) -> None:
        """Read how keys are suppressed, with k at one place."""
        keys = _keys(self.keys, "")
        k = keys.pop("k", self.key_k)
        _require(self.key_k in (None, k), f"key_k is {self.key_k}, and keys.k is {k}", "give one of them")
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "key_k", k)
        if self.key_k is None:
            _require(not keys, f"keys.{next(iter(keys), '')} is given without k", "say how many: --key-k 3")
            return
        _integer("key_k", self.key_k)
        _require(
            self.key_k >= 2,
            f"key_k must be at least 2, not {self.key_k}",
            "a record that is alone with its keys is found by them; 3 to 5 are usual",
        )

    def _plain_integers(self) -> None:
        """Take integers of numpy as those of Python, and no units as units of 0 records."""
        units: object = self.unit_records
        if units == WHOLE:
            object.__setattr__(self, "unit_records", 0)
        for name in (
            "k",
            "seed",
            "group_size_vars",
            "workers",
            "max_block_records",
            "unit_records",
            "memory",
            "key_k",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) and isinstance(value, Integral):
                object.__setattr__(self, name, int(value))

    def _repeat_units(self, secret: object) -> None:
        """Take the size of units of the run that a secret is of; with another k, that may be none."""
        if self.unit_records is None and isinstance(secret, str | PathLike):
            size = former_units(secret)
            if size is None or size == 0 or size >= LEAST_UNIT * self.k:
                object.__setattr__(self, "unit_records", size)

    def _require_sizes(self) -> None:
        """Refuse numbers of records and of bytes that nothing can be done with."""
        if self.max_block_records is not None:
            _integer("max_block_records", self.max_block_records)
            _require(
                self.max_block_records >= 3 * self.k,
                f"max_block_records must be at least 3k = {3 * self.k}, not {self.max_block_records}",
                "some ten thousand are usual: the smaller the blocks, the higher the information loss",
            )
        if self.unit_records is not None:
            _integer("unit_records", self.unit_records)
            _require(
                self.unit_records == 0 or self.unit_records >= LEAST_UNIT * self.k,
                f"unit_records must be at least {LEAST_UNIT}k = {LEAST_UNIT * self.k}, not {self.unit_records}",
                "some ten thousand and more are usual: the smaller the units, the higher the information loss",
            )
        if self.memory is not None:
            object.__setattr__(self, "memory", memory_of(self.memory))

    @property
    def reading(self) -> ReadOptions:
        """How the data are to be read."""
        return ReadOptions(self.record, self.format, self.format_options, self.metadata, levels=self.levels)

    @property
    def named_files(self) -> dict[str, Path]:
        """Documents of the rules, matrices of PRAM and the register, by the names that messages have for them.

        What recoding reads and writes is known where it is done: `masktron.jobs.treated.files_of_recoding`.
        """
        documents = {f"the document {name!r}": path for name, path in self.documents.items()}
        registered = {} if self.register is None else self.register.files
        return {**documents, **matrix_files(self.pram), **registered}

    @property
    def weight(self) -> str | None:
        """The field with the weights."""
        return next((name for name, role in self.roles.items() if role is Role.WEIGHT), None)

    @property
    def treats_keys(self) -> bool:
        """Whether fields that are not masked are written otherwise than they were."""
        return bool(self.recode or self.draws_keys)

    @property
    def draws_keys(self) -> bool:
        """Whether that takes random numbers."""
        return bool(self.pram or self.swap or self.key_k is not None)

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind that was declared for a field; None where none was."""
        if name in self.ordinal:
            return Kind.ORDINAL
        if name in self.numeric:
            return Kind.NUMBER
        return Kind.NOMINAL if name in self.nominal else None

    def choosing(self, method: str | None, params: Mapping[str, Any]) -> Config:
        """Return a copy with a method, or the same one, and more parameters.

        Parameters stand for a method: where another one is chosen, those that stood beside the former go with it.
        """
        name = self.method if method is None else method
        kept = self.params if name == self.method else {}
        return replace(self, method=name, params={**kept, **params})

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as plain data, without what is no setting."""
        plain = asdict(self)
        return {name: plain[name] for name in trust_of(Config)}

    def updated(self, **changes: Any) -> Config:
        """Return a copy in which every argument that is not None replaces the setting."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


def memory_of(size: object) -> int:
    """Read a number of bytes: an integer, or a text such as ``4GB``, ``512MB`` or ``1.5 GiB``.

    Raises
    ------
    UsageError
        It is none, or less than `LEAST_MEMORY`.
    """
    write = f"write it as 4GB or 512MB; the least is {LEAST_MEMORY // 10**6}MB"
    found = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if found is not None:
        number = int(Fraction(found[1]) * _UNITS[found[2].upper()])
    else:
        _require(not isinstance(size, str), f"memory must be a number of bytes with its unit, not {size!r}", write)
        _integer("memory", size)
        number = int(size) if isinstance(size, int) else 0
    _require(number >= LEAST_MEMORY, f"memory must be at least {LEAST_MEMORY // 10**6} MB, not {size}", write)
    return number


def load_config(path: str | PathLike[str]) -> Config:
    """Read a TOML file of settings.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    Config

    Raises
    ------
    UsageError
        The file is missing or malformed, or it holds an unknown key, role or a value of the wrong type.
    """
    _require(isinstance(path, str | PathLike), f"path must be the name of a file, not {path!r}")
    return _config_in(read_toml(Path(path)), path)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as plain data.

    Raises
    ------
    UsageError
        The file is missing or malformed.
    """
    text = read_text(path, "configuration")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"not valid TOML: {error}", where=str(path)) from error
    except RecursionError as error:
        raise UsageError("not valid TOML: nested too deeply", where=str(path)) from error


def found_config(path: Path, *, judging: bool = False) -> Config:
    """Read a TOML file of settings that the user did not name: see `masktron.trust`.

    Parameters
    ----------
    path : Path
    judging : bool
        Whether the command judges somebody's work. Then the settings leave out what relaxes a judgement.

    Raises
    ------
    UsageError
        As for `load_config`; or the file says what only a file that the user named may say.
    """
    table = read_toml(path)
    config = _config_in(table, path)
    for setting in named_only_in(table, Config):
        why, section = "a file that nobody named may not decide it", isinstance(table[setting[0]], Mapping)
        raise untrusted(path, setting, why, "" if section else _option_of(setting), section=section)
    require_beside(config, path)
    weak = weakened_in(config)
    if not weak:
        return config
    said = ", ".join(f"{name} ({_in_short(part)})" for name, part in weak.items())
    if judging:
        config = replace(config, **{name: _without(getattr(config, name), weak[name], name) for name in weak})
        said = f"{path.name} in this folder relaxes {said}; this was ignored, as nobody named the file. To apply it: "
        return replace(config, found=f"{said}--config {path}")
    return replace(config, found=f"{path.name} in this folder relaxes {said}, for commands that use these settings")


def require_beside(settings: Any, path: Path, within: tuple[str, ...] = ()) -> None:
    """Refuse a file of settings that names files outside its folder.

    Parameters
    ----------
    settings : Config, or another dataclass of settings
    path : Path
        The file.
    within : tuple of str
        The table of the file that has the settings.

    Raises
    ------
    UsageError
    """
    for one in files_read(settings):
        if not is_inside(one.path, path.parent):
            why = f"a file outside this folder: {shortened(one.path)}"
            raise untrusted(path, (*within, *one.setting), why, one.option)


def untrusted(
    path: Path, setting: tuple[str, ...], why: str, option: str = "", *, section: bool = False
) -> UsageError:
    """Return the error for a setting, or a section, that a file may have only where the user names the file."""
    line = TomlText(read_text(path, "configuration").replace("\r\n", "\n")).line_of(setting)
    instead = f"; or take line {line} out, and give {option}" if option else ""
    if section and len(setting) == 1:
        instead = f"; or take the section [{setting[0]}] out"
    return UsageError(
        f"{'.'.join(setting)}: {why}",
        where=f"{path}:{line}",
        hint=f"if you trust all of the file, name it: --config {path}{instead}",
    )


def _option_of(setting: tuple[str, ...]) -> str:
    return f"--{setting[0]} in the command" if len(setting) == 1 else ""


def _in_short(part: Any) -> str:
    """Show a part of a setting on part of a line."""
    listed = [str(one) for one in part] if isinstance(part, tuple | Mapping) else [str(part)]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _without(value: Any, part: Any, name: str) -> Any:
    """Return a setting without the part of it that relaxes a judgement."""
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if key not in part}
    return getattr(Config(), name)


def _config_in(table: Mapping[str, Any], path: str | PathLike[str]) -> Config:
    """Build settings from what a file of settings says."""
    _refuse_secrets(table, str(path))
    _require(
        table.get("swap") != {},
        "swap is given without anything that it holds, and nothing would be swapped",
        'name the fields that are swapped, from coarse to fine: regions = ["COUNTY"]; or leave the table out',
        str(path),
    )
    # what tune is asked to try changes nothing for other commands
    config = config_from({name: value for name, value in table.items() if name != "tune"}, where=str(path))
    return replace(config, spare_documents=frozenset(config.documents))


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
    known = [*trust_of(Config)]
    settings: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            hint = _FORMER.get(name) or did_you_mean(name, known)
            raise UsageError(f"unknown setting {name!r}", where=where, hint=hint)
        convert = _CONVERTERS.get(name)
        settings[name] = value if convert is None else convert(value, where)
    base = base or Config()
    if "k" in settings.get("keys", {}):
        k = settings["keys"].pop("k")
        _require(settings.get("key_k", k) == k, f"key_k is {settings.get('key_k')}, and keys.k is {k}", "", where)
        settings["key_k"] = k
    if "documents" in settings:
        settings["spare_documents"] = frozenset()
    if settings.get("method", base.method) != base.method:
        settings.setdefault("params", {})
    try:
        return replace(base, **settings)
    except UsageError as error:
        raise UsageError(error.what, where=where, hint=error.hint) from error


def _refuse_secrets(table: Mapping[str, Any], where: str) -> None:
    """Refuse secrets in a file of settings."""
    for name in ("seed", "secret"):
        _require(
            name not in table,
            f"{name} has no place among settings: they travel with a release, and whoever knows the {name} undoes "
            "what it protects",
            "take the line out: `mask` makes a secret for each release, and --secret MANIFEST repeats one",
            where,
        )


def parse_roles(assignments: Iterable[str]) -> dict[str, Role]:
    """Read ``FIELD=ROLE`` options.

    Raises
    ------
    UsageError
        An assignment is not of that form, or the role is unknown.
    """
    roles: dict[str, Role] = {}
    for assignment in assignments:
        name, equals, role = assignment.rpartition("=")
        if not equals or not name:
            raise UsageError(
                f"{assignment!r} is not of the form FIELD=ROLE", hint="for example: --role NAME=identifier"
            )
        roles[name] = _role(role, f"--role {assignment}")
    return roles


def limits_from(table: object) -> dict[str, float]:
    """Read a table of limits, as `Config.limits` has it.

    Raises
    ------
    UsageError
        It is no table, a figure is unknown, or a bound is no number of at least 0.
    """
    return _limits(table, "")


def parse_limits(assignments: Iterable[str]) -> dict[str, float]:
    """Read ``NAME=NUMBER`` options.

    Raises
    ------
    UsageError
        An assignment is not of that form, or the limit is unknown.
    """
    limits: dict[str, Any] = {}
    for assignment in assignments:
        name, _, bound = assignment.partition("=")
        try:
            limits[name] = float(bound)
        except ValueError:
            raise UsageError(
                f"{assignment!r} is not of the form NAME=NUMBER", hint="for example: --limit linkage=50"
            ) from None
    return _limits(limits, "--limit")


def parse_renames(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``OLD=NEW`` options; the new name has no ``=`` in it.

    Raises
    ------
    UsageError
        An assignment is not of that form, or an old name comes twice.
    """
    found: dict[str, str] = {}
    for assignment in assignments:
        old, equals, new = assignment.rpartition("=")
        if not equals or not old or not new:
            raise UsageError(
                f"{assignment!r} is not of the form OLD=NEW", hint="for example: --rename 'annual income=INCOME'"
            )
        if old in found:
            raise UsageError(f"--rename gives {old!r} two names", hint="give it one")
        found[old] = new
    return found


def parse_recodings(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``FIELD=HOW`` options.

    Raises
    ------
    UsageError
        An assignment is not of that form, a field comes twice, or that is no way to recode.
    """
    found = _ways_by_field(
        "--recode", assignments, f"AGE=width:5; HOW is {WAYS}", "both tails are one: bottom:16,top:90"
    )
    for name, how in found.items():
        how_of(f"--recode {name}", how)
    return found


def parse_pram(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``FIELD=HOW`` options of PRAM.

    Raises
    ------
    UsageError
        An assignment is not of that form, a field comes twice, or that is no way to draw values.
    """
    found = _ways_by_field("--pram", assignments, f"REGION=change:0.1; HOW is {PRAM_WAYS}", "keep one of them")
    for name, how in found.items():
        pram_settings(f"--pram {name}", how)
    return found


def _ways_by_field(option: str, assignments: Iterable[str], example: str, twice: str) -> dict[str, str]:
    """Read ``FIELD=HOW`` options; refuse another form, and a field that comes twice."""
    found: dict[str, str] = {}
    for assignment in assignments:
        name, equals, how = (part.strip() for part in assignment.partition("="))
        _require(
            bool(name and equals and how),
            f"{option} {assignment!r} is not of the form FIELD=HOW",
            f"for example {option} {example}",
        )
        _require(name not in found, f"{option} gives {name!r} twice", twice)
        found[name] = how
    return found


def parse_params(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VALUE`` options; the method reads the values.

    Raises
    ------
    UsageError
        An assignment is not of that form, or a name comes twice.
    """
    params: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        _require(
            bool(name and equals and value),
            f"{assignment!r} is not of the form NAME=VALUE",
            "for example: --param c=0.1",
            "--param",
        )
        _require(name not in params, f"{name} is given twice", f"several values have commas: {name}=A,B", "--param")
        params[name] = value
    return params


def parse_missing(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read ``CODE`` or ``FIELD=CODE`` options."""
    found: dict[str, frozenset[str]] = {}
    for code in codes:
        name, _, lexeme = code.rpartition("=")
        name = name or ALL_FIELDS
        found[name] = found.get(name, frozenset()) | {lexeme}
    return found


def parse_documents(assignments: Iterable[str]) -> dict[str, Path]:
    """Read ``NAME=FILE`` options; the name may hold ``=``, the file may not.

    Raises
    ------
    UsageError
        An assignment is not of that form, or a name is given twice.
    """
    documents: dict[str, Path] = {}
    for assignment in assignments:
        name, equals, path = assignment.rpartition("=")
        _require(
            bool(equals and name and path),
            f"--document {assignment!r} is not of the form NAME=FILE",
            "NAME is what stands in document('NAME'): --document nace.xml=codes/nace.xml",
        )
        _require(name not in documents, f"the document {name!r} is given twice", "keep one --document of this name")
        documents[name] = Path(path)
    return documents


def parse_format_options(assignments: Iterable[str], option: str = "--format-option") -> dict[str, str]:
    """Read ``NAME=VALUE`` options; the value may hold ``=``.

    Raises
    ------
    UsageError
        An assignment is not of that form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        _require(
            bool(equals and name),
            f"{option} {assignment!r} is not of the form NAME=VALUE",
            f"for example {option} 'delimiter=;'",
        )
        _require(name not in found, f"the option {name!r} of the format is given twice", "keep one of them")
        found[name] = value
    return found


def parse_orders(assignments: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read ``FIELD`` (numbers in their order) or ``FIELD=LOW,MID,HIGH`` options.

    Raises
    ------
    UsageError
        An order has fewer than two values, or one of them twice or empty.
    """
    orders: dict[str, tuple[str, ...]] = {}
    for assignment in assignments:
        name, equals, values = assignment.partition("=")
        _require(
            bool(name),
            f"{assignment!r} names no field",
            "for example: --ordinal SIZE=small,medium,large",
            "--ordinal",
        )
        orders[name] = _order(name, values.split(","), "--ordinal") if equals else ()
    return orders


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest of the known names, or lists them all."""
    names = list(known)
    same = [known for known in names if known.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, names, n=3)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if names else ""


def _role(text: Any, where: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise UsageError(
            f"unknown role {text!r}",
            where=where,
            hint="the roles are " + ", ".join(role.value for role in Role),
        ) from None


def _roles(value: Any, where: str) -> dict[str, Role]:
    what = f"roles must be a table (in Python a dict) of a role for each field, not {value!r}"
    _require(isinstance(value, Mapping), what, where=where)
    prefix = f"{where}: " if where else ""
    return {_name("roles", name, where): _role(role, f"{prefix}roles.{name}") for name, role in value.items()}


def _missing(value: Any, where: str) -> dict[str, frozenset[str]]:
    if isinstance(value, list | tuple | set | frozenset):
        value = {ALL_FIELDS: value}
    what = f"missing must be a list of codes, or a table (in Python a dict) of codes for each field, not {value!r}"
    _require(isinstance(value, Mapping), what, where=where)
    return {_name("missing", name, where): _codes(name, entry, where) for name, entry in value.items()}


def _codes(name: str, entry: Any, where: str) -> frozenset[str]:
    codes = entry if isinstance(entry, list | tuple | set | frozenset) else [entry]
    return frozenset(_lexemes(f"missing.{name}", codes, where))


def _lexemes(setting: str, values: Any, where: str) -> list[str]:
    """Read a list of codes as the file shows them."""
    _require(
        isinstance(values, list | tuple | set | frozenset)
        and all(isinstance(code, str | int | float) and not isinstance(code, bool) for code in values),
        f"{setting} must be a list of codes, not {values!r}",
        "a code is a text or an integer",
        where,
    )
    for code in values:
        _require(
            not isinstance(code, float),
            f"{setting}: a file may show the number {code!r} in more than one way",
            f'put the code into quotes as the file has it, for example "{code}"',
            where,
        )
    return [str(code).strip() for code in values]


def _fields(setting: str, example: str, value: Any, where: str) -> tuple[str, ...]:
    _require(
        isinstance(value, list | tuple),
        f"{setting} must be a list of fields, not {value!r}",
        f'for example ["{example}"]',
        where,
    )
    return tuple(dict.fromkeys(_name(setting, name, where) for name in value))


_nominal = partial(_fields, "nominal", "REGION")
_numeric = partial(_fields, "numeric", "CHILDREN")
_reweight = partial(_fields, "reweight", "REGION")
_named_order = partial(_fields, "member_order", "Role")


def _member_order(value: Any, where: str) -> tuple[str, ...]:
    found = _named_order([value] if isinstance(value, str) else value, where)
    _require(bool(found), "member_order names no field", 'for the order of the file: member_order = "file"', where)
    return found


_quasi_identifiers = partial(_fields, "quasi_identifiers", "REGION")


def _ordinal(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    if isinstance(value, list | tuple):
        value = {_name("ordinal", name, where): () for name in value}
    what = (
        "ordinal must be a list of fields, or a table (in Python a dict) of values from low to high for each, "
        f"not {value!r}"
    )
    _require(isinstance(value, Mapping), what, where=where)
    return {_name("ordinal", name, where): _order(name, entry, where) for name, entry in value.items()}


def _order(name: str, entry: Any, where: str) -> tuple[str, ...]:
    setting = f"ordinal.{name}"
    _require(isinstance(entry, list | tuple), f"{setting} must be a list of values, not {entry!r}", where=where)
    values = _lexemes(setting, entry, where)
    twice = sorted({value for value in values if values.count(value) > 1})
    _require(not twice, f"{setting} holds {', '.join(map(repr, twice))} more than once", where=where)
    _require(
        not values or (len(values) > 1 and "" not in values),
        f"{setting} must hold at least two values, from the lowest to the highest, and no empty one",
        "for numbers in their own order give the field without values",
        where,
    )
    return tuple(values)


def _name(setting: str, name: object, where: str) -> str:
    _require(isinstance(name, str), f"{setting}: {name!r} is not the name of a field", where=where)
    return str(name)


def _strings(value: Any, where: str, name: str = "allow") -> tuple[str, ...]:
    _require(
        isinstance(value, list | tuple) and all(isinstance(item, str) for item in value),
        f"{name} must be a list of rule ids, not {value!r}",
        'for example ["income-sum"]',
        where,
    )
    return tuple(value)


def _params(value: Any, where: str) -> dict[str, Param]:
    _require(isinstance(value, Mapping), f"params must be a table NAME = value, not {value!r}", SEE_METHODS, where)
    return {_param_name(name, where): _param(name, entry, where) for name, entry in value.items()}


def _param_name(name: object, where: str) -> str:
    _require(isinstance(name, str) and bool(name), f"params: {name!r} is not the name of a parameter", where=where)
    return str(name)


def _param(name: str, value: Any, where: str) -> Param:
    if isinstance(value, list | tuple) and all(isinstance(v, str) or _is_number(v) for v in value):
        return tuple(value)
    _require(
        value is None or isinstance(value, str | bool | int) or _is_number(value),
        f"params.{name} must be a text, a number, true, false or a list of names or numbers, not {value!r}",
        SEE_METHODS,
        where,
    )
    checked: Param = value
    return checked


def _limits(value: Any, where: str) -> dict[str, float]:
    _require(isinstance(value, Mapping), "limits must be a table NAME = number", where=where)
    for name, bound in value.items():
        if name not in NAMES:
            raise UsageError(f"unknown limit {name!r}", where=where, hint=did_you_mean(name, NAMES))
        _require(
            _is_number(bound) and bound >= 0, f"the limit {name} must be a number >= 0, not {bound!r}", where=where
        )
    return {name: float(bound) for name, bound in value.items()}


def _documents(value: Any, where: str) -> dict[str, Path]:
    _require(isinstance(value, Mapping), f"documents must be a table NAME = file, not {value!r}", where=where)
    for name, path in value.items():
        _require(isinstance(name, str), f"documents: {name!r} is not what stands in document()", where=where)
        _require(isinstance(path, str | PathLike), f"documents.{name} must be a path, not {path!r}", where=where)
    # a path in a file of settings starts at its folder
    return {name: Path(where).parent / path for name, path in value.items()}


def _register(value: Any, where: str) -> Register | None:
    if value is None or isinstance(value, Register):
        return value
    table = {"path": value} if isinstance(value, str | PathLike) else value
    _require(
        isinstance(table, Mapping) and "path" in table and {*table} <= {"path", "salt"},
        "register must be a table with the path of a file, and where its salt lies elsewhere, with salt",
        '[register] path = "releases.jsonl"',
        where,
    )
    for name, path in table.items():
        known = isinstance(path, str | PathLike) and str(path) != ""
        _require(
            known or (name == "salt" and path is None), f"register.{name} must be a path, not {path!r}", "", where
        )
    # a path in a file of settings starts at its folder
    path = Path(where).parent / table["path"]
    salt = table.get("salt")
    return Register(path, path.with_name(f"{path.name}.salt") if salt is None else Path(where).parent / salt)


def _format_options(value: Any, where: str) -> dict[str, str]:
    _require(isinstance(value, Mapping), f"format_options must be a table NAME = value, not {value!r}", where=where)
    found = {}
    for name, said in value.items():
        known = isinstance(said, str | int | float | bool)
        _require(isinstance(name, str) and known, f"format_options.{name} must be a text, not {said!r}", where=where)
        found[name] = str(said).lower() if isinstance(said, bool) else str(said)
    return found


def _recode(value: Any, where: str) -> dict[str, str]:
    _require(
        isinstance(value, Mapping),
        f"recode must be a table FIELD = how, not {value!r}",
        f"write {WAYS}",
        where,
    )
    found = {}
    for name, said in value.items():
        setting = f"recode.{_name('recode', name, where)}"
        _require(isinstance(said, str | PathLike), f"{setting} must be a text, not {said!r}", f"write {WAYS}", where)
        try:
            how_of(setting, str(said))
        except UsageError as error:
            raise UsageError(error.what, where=where, hint=error.hint) from None
        # a path in a file of settings starts at its folder
        found[name] = resolved(str(said), Path(where).parent) if where else str(said)
    return found


def _pram(value: Any, where: str) -> dict[str, str]:
    hint = f"write {PRAM_WAYS}"
    _require(isinstance(value, Mapping), f"pram must be a table FIELD = how, not {value!r}", hint, where)
    found = {}
    for name, said in value.items():
        setting = f"pram.{_name('pram', name, where)}"
        _require(all(together(name)), f"{setting}: a name is empty", "such as AGE, or AGE+STATUS", where)
        _require(isinstance(said, str | PathLike), f"{setting} must be a text, not {said!r}", hint, where)
        try:
            pram_settings(setting, str(said))
        except UsageError as error:
            raise UsageError(error.what, where=where, hint=error.hint) from None
        # a path in a file of settings starts at its folder
        found[name] = located_pram(str(said), Path(where).parent) if where else str(said)
    return found


def _swap(value: Any, where: str) -> dict[str, Any]:
    _require(
        isinstance(value, Mapping),
        f"swap must be a table, not {value!r}",
        f"what it may hold: {', '.join(SWAP_NAMES)}",
        where,
    )
    found: dict[str, Any] = {}
    for name, said in value.items():
        setting = f"swap.{name}"
        _require(name in SWAP_NAMES, f"unknown setting {setting}", did_you_mean(str(name), SWAP_NAMES), where)
        if name in ("regions", "keys", "similar"):
            if name == "regions" and isinstance(said, list | tuple):
                again = next((one for one in said if said.count(one) > 1), None)
                _require(again is None, f"{setting} names the field {again} twice", "swap a region once", where)
            found[name] = _fields(setting, "REGION", said, where)
        elif name == "household":
            found[name] = _name(setting, said, where)
        elif name == "rate":
            _require(_is_number(said) and 0 <= said <= 1, f"{setting} must be from 0 to 1, not {said!r}", "", where)
            found[name] = float(said)
        elif not (name == "required" and said is None):
            least = {"k": 2, "required": 0, "least_regions": 1}[name]
            whole = isinstance(said, int) and not isinstance(said, bool)
            _require(
                whole and said >= least, f"{setting} must be an integer of at least {least}, not {said!r}", "", where
            )
            found[name] = said
    _require(
        not found or bool(found.get("regions")),
        f"swap.{next(iter(found), '')} is given without regions",
        "name the fields that are swapped, from coarse to fine: --swap COUNTY,MUNICIPALITY",
        where,
    )
    return found


_OF_KEYS = ("k", "subsets", "importance", "missing_matches")
_MOST_IMPORTANT = 1e6  # costs of cells are added up, so that a cell of 1 beside one of 1e300 would cost nothing


def _keys(value: Any, where: str) -> dict[str, Any]:
    _require(
        isinstance(value, Mapping),
        f"keys must be a table, not {value!r}",
        f"what it may hold: {', '.join(_OF_KEYS)}",
        where,
    )
    found: dict[str, Any] = {}
    for name, said in value.items():
        _require(name in _OF_KEYS, f"unknown setting keys.{name}", did_you_mean(str(name), _OF_KEYS), where)
        if name == "missing_matches":
            _require(isinstance(said, bool), f"keys.{name} must be true or false, not {said!r}", "", where)
            found[name] = said
        elif name == "importance":
            found[name] = _importance(said, where)
        else:
            whole = isinstance(said, int) and not isinstance(said, bool)
            _require(whole and said >= 1, f"keys.{name} must be an integer of at least 1, not {said!r}", "", where)
            found[name] = said
    return found


def _importance(value: Any, where: str) -> dict[str, float]:
    example = "importance = {AGE = 2}; the larger, the rarer it is suppressed"
    _require(isinstance(value, Mapping), f"keys.importance must be a table, not {value!r}", example, where)
    least, most = 1 / _MOST_IMPORTANT, _MOST_IMPORTANT
    for name, cost in value.items():
        _require(
            isinstance(name, str) and _is_number(cost) and least <= cost <= most,
            f"keys.importance.{name} must be a number from {least:g} to {most:g}, not {cost!r}",
            example,
            where,
        )
    return {name: float(cost) for name, cost in value.items()}


_CONVERTERS: Mapping[str, Callable[[Any, str], Any]] = {
    "roles": _roles,
    "missing": _missing,
    "allow": _strings,
    "limits": _limits,
    "nominal": _nominal,
    "numeric": _numeric,
    "reweight": _reweight,
    "ordinal": _ordinal,
    "quasi_identifiers": _quasi_identifiers,
    "params": _params,
    "documents": _documents,
    "levels": levels_from,
    "format_options": _format_options,
    "register": _register,
    "recode": _recode,
    "keys": _keys,
    "pram": _pram,
    "swap": _swap,
    "allow_lost": lambda value, where: _strings(value, where, "allow_lost"),
    "member_order": lambda value, where: None if value is None else _member_order(value, where),
    # a path in a file of settings starts at its folder
    "metadata": lambda value, where: Path(where).parent / value if isinstance(value, str | PathLike) else value,
    "secret": lambda value, where: None if value is None else secret_from(value, where),
}


def _require(condition: bool, what: str, hint: str = "", where: str = "") -> None:
    if not condition:
        raise UsageError(what, where=where, hint=hint)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _integer(name: str, value: object) -> None:
    _require(
        isinstance(value, int) and not isinstance(value, bool),
        f"{name} must be an integer, not {value!r}",
        _as_integer(name, value),
    )


def _as_integer(name: str, value: object) -> str:
    """Say how to write a setting that is meant to be an integer."""
    whole = (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal())
    return f"write {name} = {int(value)}" if whole and isinstance(value, float | str) else ""


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    _require(value in allowed, f"{name} must be one of {', '.join(allowed)}, not {value!r}")
