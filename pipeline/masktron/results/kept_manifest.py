"""What pages read of a manifest: nothing of it that is not declared here reaches whoever gets the masked file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as slot
from typing import Any, ClassVar

from masktron.results.rules import RuleFate, TreatmentResult
from masktron.results.verdict import ReleaseVerdict
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the run; `tables` are those beside it, by level."""

    path: str
    sha256: str
    tables: Mapping[str, KeptFile] = slot(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedField:
    """A field of the original, of a nested file one of its wide records."""

    name: str
    role: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned."""

    fields: tuple[PlannedField, ...]


@dataclass(frozen=True, slots=True)
class SolvedField:
    """A field that a rule gives in each record."""

    field: str
    rule: str


@dataclass(frozen=True, slots=True)
class MaskedBlock:
    """Fields that were masked together."""

    variables: tuple[str, ...]
    aggregator: str
    solved: tuple[SolvedField, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedRule(Serialised):
    """A rule on the released file."""

    KEYS: ClassVar = "id class=kind untested"

    id: str
    kind: str
    untested: Any = None


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """An engine, and how much it judged."""

    engine: str
    rules: int
    records: int


@dataclass(frozen=True, slots=True)
class RaisedConcern:
    """That a concern was raised, and of which field."""

    kind: str
    field: str


@dataclass(frozen=True, slots=True)
class WrittenLevel:
    """A level of the released file."""

    level: str
    records: int
    weight: str


@dataclass(frozen=True, slots=True)
class KeptResult(Serialised):
    """The result of the run, as far as it is public."""

    records_in: int
    records_out: int
    method: str
    promise: str
    k: int
    blocks: tuple[MaskedBlock, ...]
    rules: tuple[JudgedRule, ...]
    engines: tuple[JudgedBy, ...]
    allowed: tuple[str, ...]
    not_applicable: Mapping[str, Any]
    verdict: ReleaseVerdict
    missing_weight: float = math.nan
    concerns: tuple[RaisedConcern, ...] = ()
    levels: tuple[WrittenLevel, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    treatments: tuple[TreatmentResult, ...] = ()

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the verdict, which earlier versions may lack."""
        return {"verdict": ReleaseVerdict.issued(told)}


@dataclass(frozen=True, slots=True)
class LevelField:
    """A field of a level, and the wide fields that it was masked as."""

    level: str
    name: str
    wide: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class OfLevel:
    """What is known of one field of a level."""

    level: str
    field: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Removed:
    """Fields of a level that were left out."""

    level: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderField:
    """A field by which members were put side by side."""

    field: str


@dataclass(frozen=True, slots=True)
class LevelOrder:
    """The fields by which members of a level were put side by side."""

    level: str
    by: tuple[OrderField, ...]


@dataclass(frozen=True, slots=True)
class Nested:
    """How the units of a nested file were read and masked; manifests of earlier versions name no fields."""

    protect: str
    blocks: tuple[MaskedBlock, ...]
    fields: tuple[LevelField, ...] = ()
    sums: tuple[OfLevel, ...] = ()
    weights: tuple[OfLevel, ...] = ()
    removed: tuple[Removed, ...] = ()
    member_order: tuple[LevelOrder, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """A promise by its kind; of shared keys, how many records share how many of them."""

    kind: str = ""
    k: int = 0
    subsets: int | None = None
    missing_matches: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """What the method promises."""

    contract: Contract


@dataclass(frozen=True, slots=True)
class Treated:
    """A treatment, with what any kind of them may say."""

    kind: str
    field: str = ""
    fields: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    contract: Contract = slot(default_factory=Contract)
    cells: Mapping[str, tuple[int, int]] = slot(default_factory=dict)
    change: float = math.nan
    household: Any = None
    to: Any = None
    labels: Any = None


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """Settings of the run that are no secret."""

    grouping: str
    keep_missing: bool
    record: str | None = None
    metadata: str | None = None
    phase: str | None = None
    rare_units: str | None = None


@dataclass(frozen=True, slots=True)
class KeptManifest:
    """A manifest as pages read it."""

    output: KeptFile
    original: KeptFile
    rules: KeptFile
    plan: Plan
    config: KeptSettings
    declared: Declared
    result: KeptResult
    versions: Mapping[str, Any]
    translated: KeptFile | None = None
    nested: Nested | None = None
    treatments: tuple[Treated, ...] = ()
    order: Any = None

    @property
    def rulebook(self) -> KeptFile:
        """The rulebook that the released file obeys."""
        return self.translated or self.rules
