"""Nested files in XML and in tables come out with the same bytes, whoever judges their slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import masktron
from cutting import cut_from
from examples import FULL
from masktron.executor.which import StandingExecutor
from masktron.sources.xml import flatness
from nested_survey import ROLES, made
from nested_tables import TWO, levels, tables_of

FORMS: Mapping[str, Mapping[str, Any] | None] = {"survey.xml": None, "households.csv": TWO}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "local, 1": {"workers": 1},
    "local, 2": {"workers": 2},
    **({"dask, 2": {"executor": "dask", "workers": 2}} if FULL else {}),
}


BROKEN = (2, 36)
"""Households of which the total is no sum, from 0."""


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a survey in which the totals of two households are wrong, one of them far behind."""
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 1, 40, gaps=0.1)
    parts = data.read_text(encoding="utf-8").split("<Total>")
    for at in BROKEN:
        parts[at + 1] = f"1{parts[at + 1]}"
    data.write_text("<Total>".join(parts), encoding="utf-8")
    tables_of(data, folder)
    return folder


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Let files be large from some bytes on, and count the stages in which workers have a part."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    monkeypatch.setattr(flatness, "SLICED", 4000)
    real = flatness.established

    def in_small_blocks(*given: Any) -> Any:
        *before, _, judge = given
        return real(*before, 1000, judge)

    monkeypatch.setattr(flatness, "established", in_small_blocks)
    cut_from(monkeypatch, 0, 4000, by_executor=0)
    found: Counter[str] = Counter()
    own = StandingExecutor.map

    def counting(self: StandingExecutor, *given: Any, stage: str, **more: Any) -> Any:
        found[stage] += 1
        return own(self, *given, stage=stage, **more)

    monkeypatch.setattr(StandingExecutor, "map", counting)
    return found


@pytest.mark.parametrize(
    "data", [pytest.param(one, marks=[pytest.mark.full] if one.endswith(".xml") else []) for one in FORMS]
)
def test_all_files_of_a_release_are_the_same_from_all(
    survey: Path, tmp_path: Path, stages: Counter[str], data: str
) -> None:
    if FULL:
        pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    said, judged = FORMS[data], Path(data).with_suffix(".xml").name
    more = {} if said is None else {"levels": levels(said, survey)}
    found: dict[str, dict[str, bytes]] = {}
    for way, settings in WAYS.items():
        folder = tmp_path / way
        folder.mkdir()
        stages.clear()
        result = masktron.mask(
            survey / data, survey / "rules.sch", folder / f"m{Path(data).suffix}", k=3, secret=bytes(range(32)),
            roles=ROLES, rare_units="exclude", max_observed_share=100, order="random", invalid="exclude",
            **more, **settings,
        )  # fmt: skip
        assert set(stages) == ({f"judging {judged}", "asking engines about m.xml"} if found else set()), way
        assert {*BROKEN} <= {*result.excluded}
        found[way] = {path.name: path.read_bytes() for path in folder.iterdir()}
        texts = found[way].pop("m.manifest.json").replace(str(folder).encode(), b"")
        found[way]["manifest"] = texts
    first, *others = found.values()
    assert [one.keys() for one in others] == [first.keys()] * len(others)
    assert {name for one in others for name, content in one.items() if content != first[name]} == set()
