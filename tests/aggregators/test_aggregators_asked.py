"""Aggregators that are asked for by name, on a file: rules kept, exits, exposure; kinds of coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cli_runner import write_data, write_rules
from masktron.aggregators import ALL, OFFERED
from masktron.config import Config
from masktron.jobs.job import open_job
from masktron.masking import MaskedBlock, mask_records
from masktron.masking.file_values import FileValues
from masktron.plan import make_plan
from masktron.roles import resolve_roles
from masktron.sources.xml.microdata import read_records

K = 4
RNG = np.random.default_rng(12)
ROWS: list[dict[str, object]] = [
    {"A": a, "B": a + b, "C": 2 * a + b + c, "S": "lmh"[a % 3], "R": "xyz"[b % 3]}
    for a, b, c in RNG.integers(0, 40, size=(50, 3)).tolist()
]


def masked(folder: Path, aggregator: str, *tests: str) -> tuple[tuple[MaskedBlock, ...], FileValues]:
    data, rules = write_data(folder / "d.xml", ROWS), write_rules(folder / "r.sch", *tests)
    job = open_job(data, rules)
    records = read_records(data, job.source.layout)
    config = Config(k=K, ordinal={"S": ("l", "m", "h")}, nominal=("R",))
    plan = make_plan(job.edits, resolve_roles(records, config), config, aggregator=aggregator)
    made = mask_records(records, plan, job.edits, job.rulebook, original=data, max_observed_share=1.0)
    return made.blocks, FileValues.of(records, plan)


def numbers(block: MaskedBlock) -> dict[str, NDArray[np.float64]]:
    return {
        name: block.settled.numbers[:, position][block.grouping.labels]
        for position, name in enumerate(block.block.variables)
    }


@pytest.mark.parametrize(
    "name", [one.name for one in ALL if one.observed and one.name not in ("mode", "convex_median")]
)
def test_an_order_survives_and_values_are_those_of_the_group(tmp_path: Path, name: str) -> None:
    (block, *_), file = masked(tmp_path, name, "number(A) <= number(B)")
    found = numbers(block)
    assert block.block.aggregator == name
    assert (found["A"] <= found["B"]).all()
    for variable, written in found.items():
        for group in range(block.grouping.groups):
            own = block.grouping.labels == group
            assert own.sum() >= K
            assert written[own][0] in file.values[variable][own]
    exits = set(block.settled.exits)
    assert exits == ({name} if name in ("median", "medoid") else {"observed"})


def test_extremes_are_those_of_the_groups(tmp_path: Path) -> None:
    (block, *_), file = masked(tmp_path, "minimum", "number(A) + number(B) <= number(C)")
    found = numbers(block)
    assert (found["A"] + found["B"] <= found["C"]).all()
    for group in range(block.grouping.groups):
        own = block.grouping.labels == group
        assert all(found[name][own][0] == file.values[name][own].min() for name in found)


@pytest.mark.parametrize("aggregator", OFFERED, ids=lambda one: one.name)
def test_values_of_records_are_counted_as_observed(tmp_path: Path, aggregator: object) -> None:
    """In a block of one variable every prototype is the cell of a record."""
    (block, *_), _ = masked(tmp_path, getattr(aggregator, "name"), "number(A) >= 0")  # noqa: B009
    assert block.block.variables == ("A",)
    assert block.exposure.observed.all()
    assert not block.exposure.coincident.any()
    assert not block.exposure.copied.any()


def test_ordered_categories_take_the_statistic_and_others_their_mode(tmp_path: Path) -> None:
    blocks, file = masked(tmp_path, "maximum", "number(A) <= number(B)")
    by_name = {block.block.variables: block for block in blocks}
    assert by_name[("R",)].block.aggregator == "mode"
    size = by_name[("S",)]
    assert size.block.aggregator == "maximum"
    order = {"l": 0, "m": 1, "h": 2}
    for group in range(size.grouping.groups):
        own = size.grouping.labels == group
        assert order[size.settled.lexemes[group, 0]] == file.ranks["S"][own].max()


def test_kinds_of_the_coordinates(tmp_path: Path) -> None:
    _, file = masked(tmp_path, "median", "number(A) <= number(B)")
    variables = ("R", "A", "S")
    kinds = file.kinds(variables)
    assert (kinds.kinds, kinds.widths) == (("nominal", "number", "ordinal"), (3, 1, 1))
    assert file.points(variables).shape[1] == kinds.columns
