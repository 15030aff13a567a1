"""The household sample as a table, for tests of formats."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import masktron
from made_columns import dataset_of
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.record_layout import column_name
from masktron.sources.tables.arrow_lexemes import plain
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import TableFormat
from masktron.sources.variables import Variable
from paths import RULES, SAMPLES
from sample_settings import untreated


def household(xml: Path = SAMPLES / "household.xml", limit: int = 120) -> Dataset:
    """Read the first records of the sample from XML, with the types that its values have."""
    records = open_source(xml).records()
    cells, variables = {}, []
    for name, column in records.columns.items():
        texts = [None if text is None else str(text) for text in column.lexemes[:limit].tolist()]
        stored: pa.DataType | None = None
        codes = any(text[0] == "0" and text[1:2].isdecimal() for text in texts if text)
        if not codes and not any(map(math.isnan, column.values[:limit][[bool(text) for text in texts]])):
            whole = not any("." in text for text in texts if text)
            stored = pa.int64() if whole else pa.float64()
            texts = [plain(Decimal(text)) if text else None for text in texts]
        cells[name] = pa.array([text or None for text in texts], type=pa.string())
        variables.append(Variable(name, column_name(name), stored=stored))
    return dataset_of(tuple(variables), pa.table(cells))


def require_masked_as_xml(folder: Path, made: TableFormat) -> None:
    """Require that rules count alike in a format and in XML, that both are masked alike, and that `check` passes."""
    data, twin = folder / f"household.{made.name}", folder / "household.xml"
    made.write(data, Release.new(household()))
    source = open_source(data)
    text = source.document_path.read_text().replace("Record>", "Household>").replace("Data>", "HouseholdSurvey>")
    twin.write_text(text)
    rules = RULES / "household.sch"
    config = replace(untreated("household"), seed=2**200 + 1, max_observed_share=100.0)
    counts, values = [], []
    for path in (data, twin):
        judged = masktron.validate(path, rules, original=path).evaluation
        counts.append((judged.fired.tolist(), judged.failed.tolist()))
        out = path.with_name(f"masked-{path.suffix[1:]}{path.suffix}")
        manifest = out.with_suffix(".json")
        assert masktron.mask(path, rules, out, config=config, manifest=manifest).valid
        released = open_source(out).records()
        values.append({name: column.lexemes.tolist() for name, column in released.columns.items()})
        verdict = masktron.check(out, rules, original=path, manifest=manifest)
        assert verdict.complies, verdict.problems
    assert sum(counts[0][0]) > 120
    assert counts[0] == counts[1]
    for name in values[0].keys() | values[1].keys():
        assert values[0].get(name) == values[1].get(name), name
