"""Results declare their keys: those that a schema has, and none that they cannot tell."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest

import masktron.results
from made_schemas import schema_of
from masktron.results import JobResult, MaskResult
from masktron.serialised import Serialised, plain_data
from paths import SCHEMAS

KINDS = [kind for kind in vars(masktron.results).values() if isinstance(kind, type) and is_dataclass(kind)]
JOBS = [kind for kind in KINDS if issubclass(kind, JobResult)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_result_has_what_its_keys_name(kind: type[Serialised]) -> None:
    for entry in kind.KEYS.split():
        key, _, name = entry.partition("=")
        assert hasattr(kind, name or key)
    assert all(hasattr(kind, name) for name in kind.EXACT)


@pytest.mark.parametrize("kind", JOBS, ids=lambda kind: kind.JOB)
def test_the_schema_of_a_job_is_made_of_its_types(kind: type[JobResult]) -> None:
    path = SCHEMAS / f"{kind.JOB}.schema.json"
    made = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("MASKTRON_WRITE_DOCS"):
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, f"run MASKTRON_WRITE_DOCS=1 pytest {Path(__file__).name}"


def test_a_schema_says_what_types_say() -> None:
    made = schema_of(MaskResult)
    block, total = made["$defs"]["BlockResult"], made["$defs"]["TotalResult"]
    assert block["required"] == [*block["properties"]] and not block["additionalProperties"]
    assert block["properties"]["groups"]["minimum"] == 0
    assert block["properties"]["observed_share"]["maximum"] == 100
    assert "lattice" in block["properties"]["exits"]["propertyNames"]["enum"]
    assert block["properties"]["cut"] == {
        "description": "Where more records than max_block_records would have been partitioned together.",
        "anyOf": [{"$ref": "#/$defs/CutResult"}, {"type": "null"}],
    }
    assert total["properties"]["change"]["type"] == ["number", "null"]
    assert total["properties"]["before"]["description"].startswith("In the original and in the masked file")


class Pair(NamedTuple):
    name: str
    size: float


@dataclass(frozen=True)
class Measure(Serialised):
    KEYS: ClassVar = "length=size twice"
    EXACT: ClassVar = frozenset({"twice"})

    size: float

    @property
    def twice(self) -> float:
        return 2 * self.size


def test_plain_data_is_what_json_can_hold() -> None:
    assert plain_data({"a": (1.23456789, math.nan, -math.inf), "b": [None, True, "x", 3]}) == {
        "a": [1.234568, None, None],
        "b": [None, True, "x", 3],
    }
    assert plain_data((Pair("p", 1 / 3),)) == [{"name": "p", "size": 0.333333}]
    assert plain_data(1 / 3, exact=True) == 1 / 3
    with pytest.raises(TypeError):
        plain_data(object())


def test_keys_can_have_another_name_and_exact_numbers() -> None:
    assert plain_data([Measure(1 / 3)]) == [{"length": 0.333333, "twice": 2 / 3}]
