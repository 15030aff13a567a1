"""The demonstration for the eye: the samples side by side."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.report.tables.cells import table_of
from masktron.results import DemoResult, SampleResult


def tables(result: DemoResult) -> list[RenderableType]:
    """One column per sample."""
    table = table_of()
    table.add_column("")
    for one in result.samples:
        table.add_column(one.sample, justify="right")
    rows = {
        "records": [f"{o.masked.records_out}" for o in result.samples],
        "rules": [f"{len(o.before.rules)}" for o in result.samples],
        "violations before editing": [f"{o.before.violations}" for o in result.samples],
        "violations after masking": [f"{o.check.violations}" for o in result.samples],
        "engines that agree": [f"{sum(e.agrees for e in o.masked.engines)}" for o in result.samples],
        "records alike in each block, at least": [f"{o.masked.min_group}" for o in result.samples],
        "alike in what others may know, at least": [_keys(o, "key_k", ".0f") for o in result.samples],
        "expected to be found by that, %": [_keys(o, "global_risk", ".2f") for o in result.samples],
        "information loss, %": [f"{o.masked.information_loss:.2f}" for o in result.samples],
        "linked to their original, %": [f"{o.masked.linkage:.1f}" for o in result.samples],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return [table]


def _keys(sample: SampleResult, figure: str, digits: str) -> str:
    """Say what a figure of the keys is, and what it was before they were treated, where they were."""
    masked = sample.masked
    before, now = ([one.value for one in part if one.name == figure] for part in (masked.before, masked.figures))
    told = [f"{value:{digits}} {when}" for values, when in ((before, "before"), (now, "now")) for value in values]
    return ", ".join(told) or "not asked"
