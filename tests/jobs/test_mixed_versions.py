"""Rules in plain text that need XPath 2.0 leave the others in XPath 1.0, which libxml2 and Saxon judge both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import masktron
from cli_runner import write_data, write_rules
from masktron.classify import classify
from masktron.config import Config
from masktron.constraints import LinearEdit
from masktron.jobs import revalidate as module
from masktron.jobs.job import Job, open_job
from masktron.jobs.rerun.facts import rule_digests
from masktron.jobs.revalidate import Asking
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Tier
from masktron.judge.request import EvaluationRequest
from masktron.judge.second_opinions import SMALL_FILE, Cutting, Question, engine_opinions
from masktron.judge.tiered import evaluate
from masktron.masking import judging
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.plan import make_plan
from masktron.progress import no_progress
from masktron.results import EngineResult
from masktron.roles import resolve_roles
from masktron.rulebook.schematron.expressions import compile_all
from masktron.sources.wide.wide_record import Composition, WideRecord
from masktron.sources.xml.microdata import read_records
from masktron.unrolling.unrolled import unroll
from revalidated import revalidate

COLUMNS, ACROSS = Tier.COLUMNS, Tier.ACROSS
RECORDS = 40
BALANCE = "balance: A + B == T"
TOTAL = "total: sum(A) >= 0"
UNIQUE = "unique: is_unique(Id)"
CODE = 'code: grepl("^[A-C][0-9]{3}$", Code)'
EITHER = 'either: is_unique(Id) | grepl("^A", Code)'
MIXED = (BALANCE, TOTAL, CODE)
WHY = "in XPath 2.0, which libxml2 does not know"


def rows(records: int = RECORDS) -> list[dict[str, Any]]:
    return [
        {"Id": at, "A": at % 50, "B": at % 7, "T": at % 50 + at % 7, "Code": f"{'ABC'[at % 3]}{100 + at % 900}"}
        for at in range(records)
    ]


def written(folder: Path, *rules: str, data: list[dict[str, Any]] | None = None) -> tuple[Path, Path]:
    (folder / "edits.rules").write_text("\n".join(rules or MIXED))
    return write_data(folder / "data.xml", data or rows()), folder / "edits.rules"


def opinions(job: Job, decided: Evaluation) -> list[EngineResult]:
    decided = replace(decided, engine="columns")
    return Asking(job, None, no_progress).second_opinions(decided, range(len(job.rulebook.checks)))[0]


def said(engines: list[EngineResult] | tuple[EngineResult, ...]) -> list[tuple[str, int, bool, tuple[str, ...]]]:
    return [(one.engine.split()[0], one.rules, one.agrees, one.not_judged) for one in engines]


def test_each_rule_has_the_version_that_it_needs(tmp_path: Path) -> None:
    mixed = open_job(*written(tmp_path, *MIXED))
    alone = open_job(*written(tmp_path, BALANCE, TOTAL))
    assert mixed.rulebook.versions == ("1.0", "1.0", "2.0")
    assert [(one.binding, one.version) for one in (mixed.rulebook, alone.rulebook)] == [
        ("xslt2", "2.0"),
        ("xslt", "1.0"),
    ]
    assert isinstance(mixed.edits[0].constraint, LinearEdit)
    assert [edit.constraint for edit in mixed.edits[:2]] == [edit.constraint for edit in alone.edits]
    digests, of_alone = rule_digests(mixed.rulebook), rule_digests(alone.rulebook)
    assert of_alone == {name: digests[name] for name in ("balance", "total")}


@pytest.fixture
def by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are evaluated as large ones are."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)


@pytest.mark.usefixtures("by_columns")
def test_every_way_of_judging_counts_the_same(tmp_path: Path) -> None:
    data = rows()
    data[3]["T"], data[4]["A"], data[5]["Code"] = 1000, "", "D100"
    job = open_job(*written(tmp_path, *MIXED, UNIQUE, EITHER, data=data))
    assert job.rulebook.versions == ("1.0", "1.0", "2.0", "1.0", "2.0")
    assert [one.tier for one in job.tiers()] == [COLUMNS, ACROSS, COLUMNS, ACROSS, ACROSS]
    request = EvaluationRequest.of(job.source, job.rulebook)
    expected = exact.evaluate(request)
    assert expected.failed.tolist() == [1, 0, 1, 0, 0]
    for found in (
        exact.evaluate(replace(request, engine="saxon")),
        evaluate(request),
        engine_opinions(request, Question(("saxon",), frozenset(), 0), cutting=Cutting(small=0, size=300))[0],
    ):
        for name in ("fired", "failed", "errors"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.usefixtures("by_columns")
def test_a_pattern_is_evaluated_in_its_own_version(tmp_path: Path) -> None:
    """XPath 1.0 orders texts as numbers, later versions as texts; all count substring() from one."""
    tests = ("V1 < V2", f"count(//Record[V1 < V2]) = {RECORDS}", "substring(V1, 1.5) = '0'")
    data = write_data(tmp_path / "data.xml", [{"V1": 10, "V2": 9}] * RECORDS)
    job = open_job(data, write_rules(tmp_path / "rules.sch", *tests, *tests))
    first, later = job.rulebook.patterns[:3], job.rulebook.patterns[3:]
    later = tuple(replace(pattern, version="2.0") for pattern in later)
    book = replace(job.rulebook, patterns=(*first, *later))
    classes = [edit.constraint for edit in classify(book, job.source.layout)]
    assert classes[:3] == [edit.constraint for edit in job.edits[:3]]
    assert classes[3:] == [edit.constraint for edit in classify(replace(book, patterns=later), job.source.layout)]
    assert classes[0] != classes[3]
    request = EvaluationRequest.of(job.source, book).on_document()
    question = Question(("unaided", "saxon"), frozenset({1, 4}), RECORDS)
    libxml2, saxon = engine_opinions(request, question)
    assert sorted(libxml2.left) == [3, 4, 5]
    assert saxon.left == {}
    for found in (
        exact.evaluate(request),
        exact.evaluate(replace(request, engine="saxon")),
        evaluate(request),
        saxon,
    ):
        assert found.failed.tolist() == [RECORDS, RECORDS, 0, 0, 0, 0]
        assert found.errors.tolist() == [0] * 6
    assert libxml2.failed.tolist() == saxon.failed.tolist()
    assert libxml2.fired.tolist() == [RECORDS] * 3 + [0] * 3


@pytest.mark.parametrize("small", [0, 1 << 40], ids=["cut", "whole"])
def test_libxml2_counts_nothing_of_a_later_version(tmp_path: Path, small: int) -> None:
    data = rows()
    data[3]["T"], data[5]["Code"] = 1000, "D100"
    job = open_job(*written(tmp_path, data=data))
    request, question = EvaluationRequest.of(job.source, job.rulebook), Question(("unaided",), frozenset(), 0)
    (found,) = engine_opinions(request, question, cutting=Cutting(small=small))
    assert found.left == {2: WHY}
    assert (found.fired.tolist(), found.failed.tolist()) == ([RECORDS, 1, 0], [1, 0, 0])
    assert found.engine.startswith("libxml2 ")
    assert "Saxon" not in found.engine


def test_a_broken_rule_is_refused_by_all_that_know_it(tmp_path: Path) -> None:
    fine = open_job(*written(tmp_path))
    decided = exact.evaluate(EvaluationRequest.of(fine.source, fine.rulebook))
    assert said(opinions(fine, decided)) == [
        ("libxml2", 2, True, (f"code: {WHY}",)),
        ("SaxonC-HE", 3, True, ()),
    ]
    for field, value, agreeing in (("T", 1000, [False, False]), ("Code", "D100", [True, False])):
        data = rows()
        data[3][field] = value
        broken = open_job(*written(tmp_path, data=data))
        assert [one.agrees for one in opinions(broken, decided)] == agreeing


def test_results_name_what_each_engine_judged(tmp_path: Path) -> None:
    data, rules = written(tmp_path, *MIXED, 'letter: grepl("^[A-C]", Code)')
    validated = masktron.validate(data, rules)
    assert validated.valid
    assert "SaxonC-HE" in validated.engine
    assert validated.engine.endswith("in XPath 2.0 for code, letter")
    out, page = tmp_path / "out.xml", tmp_path / "page.html"
    roles = {"Id": "record-id", "Code": "quasi-identifier"}
    masked = masktron.mask(data, rules, out, k=4, roles=roles)
    left = tuple(f"{name}: {WHY}" for name in ("code", "letter"))
    assert said(masked.engines)[1:] == [("libxml2", 2, True, left), ("SaxonC-HE", 4, True, ())]
    assert masked.engines[2].engine.endswith(" in XPath 1.0 mode and in XPath 2.0 for code, letter")
    manifest = json.loads(Path(masked.manifest).read_text())
    assert [tuple(one["not_judged"]) for one in manifest["result"]["engines"]] == [(), left, ()]
    masktron.write_report(masked.manifest, html=page)
    assert left[0] in page.read_text()
    verdict = masktron.check(out, rules, manifest=masked.manifest)
    assert verdict.complies
    assert sorted(line for line in verdict.not_checked if WHY in line) == sorted(
        f"by {masked.engines[1].engine}, rule {one}" for one in left
    )


def test_rules_of_a_later_version_alone_are_for_saxon(tmp_path: Path) -> None:
    job = open_job(*written(tmp_path, CODE))
    decided = exact.evaluate(EvaluationRequest.of(job.source, job.rulebook))
    assert decided.engine == "SaxonC-HE 13.1"
    assert said(opinions(job, decided)) == [("SaxonC-HE", 1, True, ())]


def test_rules_of_nested_files_are_unrolled_in_their_version(tmp_path: Path) -> None:
    people = "<P><Inc>5</Inc><Job>J5</Job></P><P><Inc>7</Inc><Job>J7</Job></P>"
    (tmp_path / "data.xml").write_text(f"<D>{f'<H><N>12</N>{people}</H>' * 3}</D>")
    (tmp_path / "edits.rules").write_text(
        'members: sum(P.Inc) == N\njob: grepl("^J", Job)\nnear: abs(Inc - N) + Inc < 20'
    )
    job = open_job(tmp_path / "data.xml", tmp_path / "edits.rules")
    assert job.source.tree is not None
    assert job.rulebook.versions == ("1.0", "2.0", "2.0")
    member = Composition(())
    wide = WideRecord.of(job.source.tree.top, Composition(((member, member),)), job.source.layout)
    unrolled = unroll(job.rulebook, wide, job.source.layout)
    compile_all(unrolled.rulebook)
    assert unrolled.rulebook.versions == ("1.0", "2.0", "2.0", "2.0", "2.0")
    assert said(opinions(job, exact.evaluate(EvaluationRequest.of(job.source, job.rulebook)))) == [
        ("libxml2", 1, True, (f"job: {WHY}", f"near: {WHY}")),
        ("SaxonC-HE", 3, True, ()),
    ]


def test_translated_rules_are_one_schema(tmp_path: Path) -> None:
    """A file of Schematron has one query binding."""
    data = [{**row, "Age": 16 + row["Id"]} for row in rows()]
    source, rules = written(tmp_path, *MIXED, "age: Age >= 16", data=data)
    out, roles = tmp_path / "out.xml", {"Id": "record-id", "Code": "quasi-identifier", "Age": "quasi-identifier"}
    masked = masktron.mask(source, rules, out, k=4, roles=roles, recode={"Age": "breaks:0,30"})
    assert 'queryBinding="xslt2"' in Path(masked.rules_file).read_text()
    assert said(masked.engines) == [("SaxonC-HE", 3, True, ())]
    assert masktron.check(out, rules, manifest=masked.manifest).complies


@pytest.mark.usefixtures("by_columns")
def test_what_no_engine_could_be_asked_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WHOLE", 0)
    monkeypatch.setattr("masktron.judge.recount.recount.framed", lambda *_: None)
    found = masktron.check(*written(tmp_path, BALANCE, EITHER))
    alone = [line for line in found.not_checked if line.startswith("by an engine that is not masktron's")]
    assert [line.partition("rule ")[2] for line in alone] == [
        "either: judged by masktron's columns alone, the file cannot be cut into slices of records"
    ]


LARGE = 20_000


@pytest.mark.parametrize("recounted", [False, True])
def test_a_large_file_is_asked_before_the_decision(
    tmp_path: Path, recounted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = [{**row, "Pad": "x" * 200} for row in rows(LARGE)]
    rules = (BALANCE, CODE, UNIQUE, TOTAL, EITHER) if recounted else (BALANCE, CODE)
    if recounted:
        monkeypatch.setattr(module, "WHOLE", 0)
    job = open_job(*written(tmp_path, *rules, data=data))
    assert job.source.size > SMALL_FILE
    put: list[Question] = []

    def watched(request: EvaluationRequest, question: Question, **options: Any) -> Any:
        put.append(question)
        return engine_opinions(request, question, **options)

    monkeypatch.setattr(module, "engine_opinions", watched)
    options: Any = {"original": job.source, "binding": range(len(rules)), "progress": no_progress}
    engines = revalidate(job.source, job, **options).engines
    later = ("code", "either")[: 1 + recounted]
    assert said(engines) == [
        ("masktron's", len(rules), True, ()),
        ("libxml2", len(rules) - len(later), True, tuple(f"{name}: {WHY}" for name in later)),
        ("SaxonC-HE", len(rules), True, ()),
    ]
    assert engines[0].notes == ()
    assert put == [Question(("unaided", "saxon"), frozenset({2, 3, 4} if recounted else ()), LARGE)]


def texts(numbers: NDArray[np.int64]) -> NDArray[np.object_]:
    return np.array([*map(str, numbers.tolist())], dtype=np.object_)


@pytest.mark.parametrize("many", [False, True])
def test_prototypes_obey_rules_of_both_versions(tmp_path: Path, many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`abs()` is of XPath 2.0; both rules read the same fields, and so are judged together."""
    if many:
        monkeypatch.setattr(judging, "MANY", 1)
        monkeypatch.setattr(judging, "TREE_FROM", 1)
    data, path = written(
        tmp_path, BALANCE, "near: abs(A - B) + A <= 60", data=[{"A": i, "B": i, "T": 2 * i} for i in range(12)]
    )
    job = open_job(data, path)
    assert job.rulebook.versions == ("1.0", "2.0")
    records = read_records(data, job.source.layout)
    plan = make_plan(job.edits, resolve_roles(records, Config(k=2)), Config(k=2))
    rules = MaskingInputs.of(records, plan, job.edits, job.rulebook, data).rules
    (block,) = (block for partition in plan.partitions for block in partition.blocks)
    a, b, off = np.random.default_rng(3).integers(0, [[60], [60], [2]], (3, 80))
    made = {name: texts(own) for name, own in (("A", a), ("B", b), ("T", a + b + off))}
    obeyed = Judging(rules, block).many(made, np.arange(80) % 12)
    assert obeyed.tolist() == ((off == 0) & (abs(a - b) + a <= 60)).tolist()
    assert 5 < obeyed.sum() < (off == 0).sum()
