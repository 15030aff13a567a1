"""Files in units come out with the same bytes, whoever masks the units."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from masktron.config import Config
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from paths import RULES, SAMPLES
from sample_settings import untreated

WORKERS = [("local", 1), ("local", 2), ("local", 4), ("dask", 1), ("dask", 2), ("dask", 4)]
KEY = bytes(range(32))


def settings_of(name: str) -> Config:
    return replace(untreated(name), secret=KEY, invalid="exclude")


@pytest.mark.full
@pytest.mark.parametrize("method", ["mdav", "mst"])
@pytest.mark.parametrize("name", ["household", "business"])
def test_the_samples_have_the_same_bytes_from_all(name: str, method: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    config = replace(settings_of(name), method=method, unit_records=400)
    found: set[bytes] = set()
    data, rules = SAMPLES / f"{name}.xml", RULES / f"{name}.sch"
    for executor, workers in WORKERS:
        out = tmp_path / f"{executor}{workers}.xml"
        result = run_mask(MaskRequest(data, rules, out, config=replace(config, executor=executor, workers=workers)))
        assert result.valid
        assert any(block.cut is not None for block in result.blocks)
        found.add(out.read_bytes())
    assert len(found) == 1
    assert run_check(CheckRequest(out, rules, manifest=out.with_name("dask4.manifest.json"), original=data)).complies
