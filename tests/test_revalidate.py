"""No engine of ours has the last word: one that is not ours sees every record, and what it counts otherwise stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.errors import ViolationError
from masktron.evaluation import exact, parallel, tiered
from masktron.evaluation.findings import Evaluation
from masktron.jobs import common
from masktron.jobs import revalidate as module
from masktron.jobs.common import no_progress, open_job
from masktron.jobs.revalidate import revalidate, second_opinions
from masktron.results import EngineResult

type Spoil = Callable[[Evaluation], Evaluation]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data.xml", [{"Id": at, **row} for at, row in enumerate(numbers())])


def opinions(data: Path, rules: Path, spoil: Spoil, only: list[int] | None = None) -> list[EngineResult]:
    job = open_job(data, rules)
    decided = spoil(exact.evaluate(data, job.rulebook, job.layout))
    chosen = list(range(len(job.rulebook.checks))) if only is None else only
    return list(second_opinions(data, job, job.layout, decided, chosen, original=None, progress=no_progress))


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_a_large_written_file_is_decided_over_columns(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr("masktron.read.plain.SMALLEST", least)
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A < 0", "count(//Record) = 40", "count(//Record) = A")
    job = open_job(data, rules)
    done = revalidate(data, job, job.layout, original=data, binding=range(4), progress=no_progress)
    expected = exact.evaluate(data, job.rulebook, job.layout)
    assert done.evaluation.judged.tolist() == expected.judged.tolist()
    assert done.engines[0].engine.startswith("masktron's columns with") == (least == 0)
    assert done.engines[0].violations == expected.violations
    assert all(one.agrees for one in done.engines)


def named(evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, engine="columns")


@pytest.mark.parametrize(
    ("binding", "asked"), [("", ["libxml2", "SaxonC-HE"]), ("xslt2", ["SaxonC-HE"])], ids=["1.0", "2.0"]
)
def test_an_engine_of_ours_is_followed_by_all_others(
    tmp_path: Path, data: Path, binding: str, asked: list[str]
) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A < 0", binding=binding)
    found = opinions(data, rules, named)
    assert [one.engine.split()[0] for one in found] == asked
    assert all(one.agrees and one.records == 40 and one.violations == 40 for one in found)


@pytest.mark.parametrize(("binding", "asked"), [("", ["SaxonC-HE"]), ("xslt2", [])], ids=["1.0", "2.0"])
def test_an_engine_that_decided_is_not_asked_again(
    tmp_path: Path, data: Path, binding: str, asked: list[str]
) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", binding=binding)
    assert [one.engine.split()[0] for one in opinions(data, rules, lambda same: same)] == asked


def more(name: str) -> Spoil:
    def spoil(evaluation: Evaluation) -> Evaluation:
        counts = np.array(getattr(evaluation, name))
        counts[1] += 1
        return replace(evaluation, engine="columns", **{name: counts})

    return spoil


@pytest.mark.parametrize("name", ["fired", "failed", "errors"])
def test_any_other_count_is_a_disagreement(tmp_path: Path, data: Path, name: str) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0")
    for one in opinions(data, rules, more(name)):
        assert not one.agrees
        assert len(one.notes) == 1
        assert one.notes[0].startswith("R2: fired ")
    assert all(one.agrees for one in opinions(data, rules, more(name), only=[0]))


def test_a_record_that_was_not_seen_is_a_disagreement(tmp_path: Path, data: Path) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T")
    found = opinions(data, rules, lambda e: replace(e, engine="columns", records=e.records - 1))
    assert [one.notes for one in found] == [("39 and 40 records",)] * 2


def test_the_first_record_that_fails_is_named(tmp_path: Path, data: Path) -> None:
    rules = write_rules(tmp_path / "rules.sch", "Id != 7")

    def blind(evaluation: Evaluation) -> Evaluation:
        return replace(evaluation, engine="columns", failed=np.zeros(1, dtype=np.int64))

    notes = {note for one in opinions(data, rules, blind) for note in one.notes}
    assert notes == {"R1: fired 40 and 40 times, failed 0 and 1 times, first in record 8"}


def test_what_decides_may_come_from_anywhere(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = open_job(data, write_rules(tmp_path / "rules.sch", "A + B = T"))
    decided = named(exact.evaluate(data, job.rulebook, job.layout))
    monkeypatch.setattr(module, "evaluate", None)
    verdict = revalidate(data, job, job.layout, original=data, binding=[0], progress=no_progress, decided=decided)
    assert verdict.evaluation is decided
    assert [one.engine.split()[0] for one in verdict.engines] == ["columns", "libxml2", "SaxonC-HE", "pyschematron"]
    assert all(one.agrees for one in verdict.engines)


def wrong(evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, engine="columns", fired=evaluation.fired - 1)


def test_mask_publishes_nothing_that_engines_disagree_on(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, out = write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0"), tmp_path / "out" / "masked.xml"
    out.parent.mkdir()
    real = tiered.evaluate
    monkeypatch.setattr(module, "evaluate", lambda *given, **options: wrong(real(*given, **options)))
    with pytest.raises(ViolationError, match=r"libxml2 .* does not agree .*\n  R1: fired 39 and 40 times"):
        masktron.mask(data, rules, out, k=4, roles={"Id": "key"})
    assert not list(out.parent.iterdir())


def test_check_reports_what_engines_disagree_on(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0")
    good = masktron.check(data, rules)
    assert good.complies
    assert any("SaxonC-HE" in line and "40 records" in line for line in good.checked)
    real = common.evaluate
    monkeypatch.setattr(common, "evaluate", lambda *given, **options: wrong(real(*given, **options)))
    bad = masktron.check(data, rules)
    assert not bad.complies
    assert sum("does not agree: R1: fired 39 and 40 times" in problem for problem in bad.problems) == 2


def test_progress_names_the_engine_and_counts_records(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel.count, "__kwdefaults__", parallel.count.__kwdefaults__ | {"small": 0, "size": 500})
    said: list[tuple[str, int]] = []
    job = open_job(data, write_rules(tmp_path / "rules.sch", "A + B = T"))
    decided = named(exact.evaluate(data, job.rulebook, job.layout))
    options: Any = {"original": None, "progress": lambda stage, done: said.append((stage, done))}
    list(second_opinions(data, job, job.layout, decided, [0], **options))
    assert {stage.split()[1] for stage, _ in said} == {"libxml2", "SaxonC-HE"}
    for name in ("libxml2", "SaxonC-HE"):
        done = [count for stage, count in said if name in stage]
        assert done == sorted(done)
        assert done[-1] == 40
        assert len(done) > 2
