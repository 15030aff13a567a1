"""Every format into every other: the same texts arrive, or the conversion is refused, or says what is lost."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import masktron
from made_columns import new_column
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.results import MaskResult
from masktron.sources.column import Column
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_lexemes import plain
from masktron.sources.tables.frames import standing_for
from paths import RULES, SAMPLES, SHARED_DATA
from random_tables import FORMATS, FRAMES, random_table, trouble, write_table
from sample_settings import untreated

PAIRS = tuple(product(FORMATS, FORMATS))
ALWAYS = 40
"""Pairs that `make test` tries, each with a table of its own."""


def _tried(folder: Path, source: str, target: str, seed: int, seen: Counter[str]) -> list[str]:
    table = random_table(random.Random(seed))
    try:
        data = write_table(table, source, folder)
    except UsageError:
        seen["not written"] += 1
        return []
    return [f"table {seed}, {source} to {target}: {said}" for said in trouble(data, target, folder, seen)]


def test_what_arrives_is_the_same_or_refused_or_named(tmp_path: Path) -> None:
    """Some pairs, each with another table, so that all formats come up on both sides."""
    seen: Counter[str] = Counter()
    found = []
    for number, (source, target) in enumerate(random.Random(18).sample(PAIRS, ALWAYS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += _tried(folder, source, target, number, seen)
    assert not found
    assert seen["converted"] > ALWAYS // 2, seen


@pytest.mark.full
@pytest.mark.parametrize("source", FORMATS)
def test_every_pair_with_many_tables(source: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    found = []
    for seed, target in product(range(30), FORMATS):
        folder = tmp_path / f"{seed}-{target}"
        folder.mkdir()
        found += _tried(folder, source, target, seed, seen)
    assert not found
    assert seen["converted"] > 100, seen


@dataclass(frozen=True, eq=False)
class Survey:
    """A survey in XML, what masktron says of it, and how it is masked."""

    xml: Path
    rules: Path
    config: Config
    fired: list[tuple[str, int, int]]
    result: MaskResult
    masked: dict[str, Column]


def _shortest(column: Column) -> Column:
    """Numbers as types write them, so that a column of them is one of numbers in every format."""
    texts = column.lexemes.copy()
    codes = any(text and text[0] == "0" and text[1:2].isdigit() for text in texts)
    for at in np.flatnonzero(column.is_number).tolist() if column.numeric and not codes else ():
        texts[at] = plain(Decimal(texts[at]))
    return new_column(texts, np.arange(len(texts), dtype=np.intp))


def _survey(name: str, size: int | None, folder: Path) -> Survey:
    (folder / "xml").mkdir()
    xml, out = folder / "xml" / "data.xml", folder / "xml" / "masked.xml"
    if name == "census":
        masktron.convert(SHARED_DATA / "census.csv", xml)
        rules, config = RULES / "census_real.sch", Config(k=5, invalid="exclude")
    else:
        source = open_source(SAMPLES / f"{name}.xml")
        records = source.records()
        kept = np.arange(len(records)) < (size or len(records))
        rules, config = RULES / f"{name}.sch", untreated(name)
        amounts = [field for field, role in config.roles.items() if role is Role.CONFIDENTIAL]
        source.write(xml, {field: _shortest(records.columns[field]) for field in amounts}, keep=kept)
        config = config.updated(documents={f"{name}.xml": xml})
    config = config.updated(secret=bytes(range(32)), order="keep", max_observed_share=100.0)
    result = masktron.mask(xml, rules, out, config=config)
    return Survey(xml, rules, config, _counts(xml, rules, config), result, dict(open_source(out).records().columns))


def _counts(data: Any, rules: Path, config: Config) -> list[tuple[str, int, int]]:
    result = masktron.validate(data, rules, documents=config.documents)
    return [(rule.id, rule.fired, rule.failed) for rule in result.rules]


def _require_same(survey: Survey, kind: str, folder: Path) -> None:
    """Require the rule counts, the masked values and the figures of the survey in XML, and that `check` passes."""
    frame = kind in FRAMES
    data: Any = folder / f"data.{'parquet' if frame else kind}"
    masktron.convert(survey.xml, data)
    config, out = survey.config, folder / f"masked.{kind}"
    if frame:
        data = pq.read_table(data)
        data = data.to_pandas(types_mapper=pd.ArrowDtype) if kind == "pandas" else data
    assert _counts(data, survey.rules, config) == survey.fired
    result = masktron.mask(data, survey.rules, None if frame else out, config=config)
    figures = [[(one.name, repr(one.value)) for one in each.figures] for each in (result, survey.result)]
    assert figures[0] == figures[1]
    assert result.min_group == survey.result.min_group
    released: Any = result.data if frame else out
    found = open_source(standing_for(released) if frame else out).records().columns
    for field, column in survey.masked.items():
        own = found.get(field)
        if own is None:  # a field whose values are all gone
            assert not column.present.any(), field
            continue
        # an empty element of XML is no value, and a number of a type has no zeros at its end
        assert ((column.values == own.values) | (column.held == own.held)).all(), field
    documents = config.documents
    manifest = None if frame else folder / "masked.manifest.json"
    checked = masktron.check(released, survey.rules, original=data, manifest=manifest, documents=documents)
    assert checked.complies or frame, checked.problems
    assert not [rule for rule in checked.rules if rule.failed and not rule.soft]


@pytest.mark.full
def test_a_sample_is_masked_in_a_data_frame_as_in_xml(tmp_path: Path) -> None:
    _require_same(_survey("household", 60, tmp_path), "pandas", tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", ["household", "business", "census"])
def test_whole_surveys_are_masked_in_every_format_as_in_xml(name: str, tmp_path: Path) -> None:
    if name == "census" and not SHARED_DATA.exists():
        pytest.skip(f"{SHARED_DATA} is not there")
    survey = _survey(name, None, tmp_path)
    for kind in FORMATS[1:]:
        (tmp_path / kind).mkdir()
        if name == "business" and kind in ("sav", "dta", "xpt"):  # has a column @id
            with pytest.raises(UsageError, match="@id"):
                masktron.convert(survey.xml, tmp_path / kind / f"data.{kind}")
            continue
        _require_same(survey, kind, tmp_path / kind)
