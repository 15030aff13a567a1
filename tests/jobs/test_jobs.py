"""The jobs end to end on the samples and on small made files: promises, contracts, results as documented."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from attacks import SEED
from cli_runner import Runner, numbers, write_data, write_rules
from examples import FULL, examples, parts
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.explain import run_explain
from masktron.jobs.job import Job
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.validate import ValidateRequest, run_validate
from masktron.kernels import linkage as kernel_linkage
from masktron.kernels import mdav, mdav_tree, univariate, univariate_path
from masktron.kernels.linkage_search import credit_links
from masktron.kernels.ready import kernels_kept
from masktron.partitions.partitioner import Partitioner
from masktron.progress import Progress
from masktron.report.rendering import tables_of
from masktron.resources import resource
from masktron.settings_file import load_config
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import detect_layout
from masktron.sources.xml.wellformed import SMALLEST
from refusals import refused
from sample_settings import untreated
from schema_files import conforms

SAMPLES = ["household", "business"]
ENDS = {"household": "</Household>", "business": "</b:Enterprise>"}


# the samples


@pytest.mark.parametrize("k", parts([5, 3, 10], 1))
@pytest.mark.parametrize("sample", parts(SAMPLES, 1))  # test_promise.py masks the other
def test_samples_are_masked_and_comply(sample: str, k: int, tmp_path: Path) -> None:
    rules, data, out = resource(f"rules/{sample}.sch"), tmp_path / f"{sample}.xml", tmp_path / "masked.xml"
    *records, end = resource(f"sample_xml/{sample}.xml").read_text(encoding="utf-8").split(ENDS[sample])
    size = 2000 if FULL else 400
    assert len(records) == 2000
    data.write_text(ENDS[sample].join([*records[:size], end]), encoding="utf-8")
    config = untreated(sample).updated(k=k)
    result = masktron.mask(data, rules, out, config=config)
    assert result.valid
    assert result.violations == 0
    assert result.min_group >= k
    assert result.records_out == result.records_in == size
    conforms(result.as_dict(), "mask")
    conforms(json.loads(out.with_suffix(".manifest.json").read_text()), "manifest")
    verdict = masktron.check(out, rules, original=data, manifest=out.with_suffix(".manifest.json"))
    assert verdict.complies, verdict
    assert verdict.min_group == result.min_group
    conforms(verdict.as_dict(), "check")
    identifiers = [name for name, role in config.roles.items() if role == "identifier"]
    assert identifiers
    fields = {field.name for field in detect_layout(out).fields}
    assert fields.isdisjoint(identifiers)


@pytest.mark.full
def test_any_number_of_workers_gives_the_same_bytes(tmp_path: Path) -> None:
    sample = resource("sample_xml/household.xml"), resource("rules/household.sch")
    config = load_config(resource("sample_xml/household.toml"))
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    written = set()
    for workers in (1, 3):
        masktron.mask(*sample, out, config=config, workers=workers)
        written.add((out.read_bytes(), manifest.read_bytes()))
    assert len(written) == 1
    assert "workers" not in json.loads(manifest.read_text())["config"]


@pytest.mark.few(1)
@pytest.mark.parametrize("grouping", ["rules", "all"])
def test_cut_records_give_the_same_bytes_for_any_number_of_workers(
    grouping: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Partitioner] = []
    monkeypatch.setattr(
        "masktron.masking.run.Partitioner",
        lambda *given, **also: made.append(Partitioner(*given, **also)) or made[-1],
    )
    rows = [{**row, "C": at * 7 % 11} for at, row in enumerate(numbers(90))]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T")
    out, written = tmp_path / "m.xml", set()
    for workers in (1, 2, 3):
        options: Any = {"max_block_records": 20, "grouping": grouping, "workers": workers, "numeric": ["C"]}
        result = masktron.mask(data, rules, out, k=3, order="keep", **options)
        cuts = [block.cut for block in result.blocks]
        assert all(cut is None or (cut.records, cut.blocks, cut.measured) == (90, 8, True) for cut in cuts)
        assert any(cuts)
        written.add(out.read_bytes())
    assert len(written) == 1
    # one partition has all cores for its blocks; several share them
    cores = [1, 2, 3] if grouping == "all" else [1, 1, 1]
    assert made == [Partitioner(20, own, of=90) for own in cores]


@pytest.mark.full
def test_what_a_cut_costs_is_what_the_file_loses(tmp_path: Path) -> None:
    values = np.round(np.random.default_rng(3).normal(size=(300, 4)), 9)
    values[:, 2] = np.where(values[:, 0] < values[:, 1], np.abs(values[:, 2]), -np.abs(values[:, 2]))
    data = write_data(tmp_path / "d.xml", [dict(zip("ABCD", row, strict=True)) for row in values.tolist()])
    rules = write_rules(tmp_path / "r.sch", "C >= 0 or A >= B", "B > A or 0 >= C")
    whole, cut = (
        masktron.mask(data, rules, tmp_path / "m.xml", k=4, grouping="all", max_block_records=most)
        for most in (None, 25)
    )
    assert {block.cut for block in whole.blocks} == {None}
    told = {block.cut for block in cut.blocks}
    assert len(told) == 1
    loss = told.pop().information_loss
    assert loss == pytest.approx(cut.information_loss - whole.information_loss, abs=1e-3)
    assert abs(loss) > 0.01
    # said once for all blocks of the partition
    assert sum("percentage points" in str(line) for line in tables_of(cut)) == 1


# one made file


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path, Path]:
    data = write_data(
        tmp_path / "data.xml", [{"@": None, **row, "NAME": f"n{at}"} for at, row in enumerate(numbers())]
    )
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0 and B >= 0", "string-length(NAME) > 0")
    return data, rules, tmp_path / "masked.xml"


def mask(made: tuple[Path, Path, Path], **settings_: Any) -> masktron.MaskResult:
    data, rules, out = made
    return masktron.mask(data, rules, out, roles={"NAME": "identifier"}, **settings_)


def test_linking_through_a_tree_changes_no_figure_and_who_waits_for_the_compiler_is_told(
    made: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules, out = made
    config, stages = Config(k=5, roles={"NAME": Role.IDENTIFIER}), list[str]()
    few = run_mask(MaskRequest(data, rules, out, config=config), progress=lambda stage, _: stages.append(stage))
    assert not [stage for stage in stages if stage.startswith("compiling")]
    (out.parent / "masked.manifest.json").unlink()  # it would be kept as that of an earlier release, and told
    monkeypatch.setattr(import_module("masktron.measures.linkage"), "TREE_FROM", 1)
    monkeypatch.setattr("masktron.kernels.compiling.is_compiled", lambda _: False)
    many = run_mask(MaskRequest(data, rules, out, config=config), progress=lambda stage, _: stages.append(stage))
    assert ("compiling, once" if kernels_kept() else "compiling, in each run") in "".join(stages)
    assert few.as_dict() == many.as_dict()
    assert 0 < few.linkage < 100


def test_what_is_compiled_ahead_is_what_is_called() -> None:
    points = np.random.default_rng(1).normal(size=(300, 3))
    entries = (mdav_tree._form, mdav_tree._add_all, univariate_path.last_groups, credit_links, mdav_tree.build_in)
    for compiling in (mdav.compile_tree, univariate.compile_path, kernel_linkage.compile_links):
        compiling()
    ahead = [len(entry.signatures) for entry in entries]
    mdav.mdav(points, 3, of=10**6)
    univariate.univariate(points[:, 0], 3, of=10**6)
    by_tree = import_module("masktron.measures.linkage").credit_through_tree
    by_tree(points, points + 0.1, 2)
    assert [len(entry.signatures) for entry in entries] == ahead


def test_shuffled_records_are_the_same_records(made: tuple[Path, Path, Path]) -> None:
    data, rules, out = made
    plain = mask(made, k=4, order="keep")
    before = read_records(out, detect_layout(out))
    shuffled = mask(made, k=4, order="random", seed=SEED)
    after = read_records(out, detect_layout(out))
    rows = [sorted(zip(*(r.columns[n].lexemes for n in "ABT"), strict=True)) for r in (before, after)]
    assert rows[0] == rows[1]
    assert before.columns["T"].lexemes.tolist() != after.columns["T"].lexemes.tolist()
    assert shuffled.linkage == pytest.approx(plain.linkage)
    assert masktron.check(out, rules, original=data, manifest=out.with_suffix(".manifest.json")).complies


def test_what_is_written_of_large_files_is_written_of_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = numbers()
    rows[3]["T"] = -1
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T")
    for order in ("keep", "random"):
        outputs = []
        for name, least in (("large", 0), ("small", SMALLEST)):
            monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", least)
            out = tmp_path / name / "m.xml"
            out.parent.mkdir(exist_ok=True)
            masktron.mask(data, rules, out, k=3, invalid="exclude", order=order, seed=SEED)
            outputs.append(out.read_bytes())
        assert outputs[0] == outputs[1]


def test_an_allowed_rule_may_break(tmp_path: Path) -> None:
    rows = numbers()
    rows[3]["T"] = -1
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T", "A >= 0")
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, allow=("R1",))
    assert result.valid
    assert result.allowed == ("R1",)
    assert [rule.id for rule in result.rules] == ["R2"]


def test_weights_pull_the_mean(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [0.5, 10.5] * 5, "W": [1.0, 3.0] * 5})
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    result = masktron.mask(frame, rules, k=10, roles={"W": "weight"})
    assert result.data is not None
    assert set(result.data["A"]) == {8.0}


def test_no_masked_value_becomes_a_missing_code(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [-10, -8, -10, -8, -9, -9]})
    rules = write_rules(tmp_path / "r.sch", "A < 0")
    result = masktron.mask(frame, rules, k=2, missing={"A": frozenset({"-9"})})
    assert result.data is not None
    assert (result.data["A"].to_numpy() == -9).sum() == 2


def test_rare_patterns_of_missing_values_take_over_that_of_their_group(tmp_path: Path) -> None:
    rows = numbers(30)
    rows[0]["B"] = None
    rows[0]["T"] = rows[0]["A"]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A + B = T or not(B)")
    out = tmp_path / "m.xml"
    result = masktron.mask(data, rules, out, k=3)
    assert result.valid
    assert result.blocks[0].copied == 0
    assert out.read_bytes().count(b"<B>") == len(rows)
    with refused(masktron.InfeasibleError, "rare-missing-pattern", k=3):
        masktron.mask(data, rules, tmp_path / "n.xml", k=3, keep_missing=True, manifest=tmp_path / "n.json")


def test_unmasked_fields_condition_the_groups(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    caps = generator.choice([100, 200], size=60)
    frame = pd.DataFrame({"CAP": caps, "A": (caps * generator.random(60)).astype(int)})
    rules = write_rules(tmp_path / "r.sch", "A <= CAP")
    result = masktron.mask(frame, rules, k=5, roles={"CAP": "untouched"}, order="keep")
    assert result.data is not None
    assert (result.data["CAP"] == caps).all()
    assert (result.data["A"] <= result.data["CAP"]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", ["linkage=0", "information_loss=0.001", "whole_record_k=41"])
def test_nothing_is_published_outside_a_limit(made: tuple[Path, Path, Path], run: Runner, limit: str) -> None:
    data, rules, out = made
    arguments = ("mask", data, "--rules", rules, "--out", out, "-k", 4, "--role", "NAME=identifier")
    outcome = run(*arguments, "--limit", limit)
    assert outcome.code == 1
    assert f"{limit.partition('=')[0]} is " in outcome.err
    assert not out.exists()
    assert run(*arguments, "--limit", "linkage=100", "--limit", "medoid_share=0").code == 0
    assert run(*arguments, "--limit", "linkage").code == 2


def test_explain_warns_of_equalities_on_decimals(tmp_path: Path) -> None:
    rows = [{"A": f"{at}.25", "T": f"{at}.25"} for at in range(6)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + 0 = T + 0")
    assert any("equality on decimals (A, T)" in note for note in masktron.explain(rules, data).notes)
    whole = write_data(tmp_path / "w.xml", [{"A": at, "T": at} for at in range(6)])
    assert not any("decimals" in note for note in masktron.explain(rules, whole).notes)


# a property over small files

MENU = {
    "A + B = T": lambda f: f.assign(T=f["A"] + f["B"]),
    "A <= B": lambda f: f.assign(A=np.minimum(f["A"], f["B"])),
    "not(A < 3) or B = 0": lambda f: f.assign(B=f["B"].where(f["A"] >= 3, 0)),
    "abs(A - B) <= 4 or C > 5": None,
    "A * B = P": lambda f: f.assign(P=f["A"] * f["B"]),
    "C = 0 or C >= 4": lambda f: f.assign(C=f["C"].where(f["C"] >= 4, 0)),
}
REPAIRS = {
    "abs(A - B) <= 4 or C > 5": lambda f: f.assign(C=f["C"].where((f["A"] - f["B"]).abs() <= 4, 6)),
}


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 40),
    k=st.integers(2, 6),
    chosen=st.lists(st.sampled_from(sorted(MENU)), min_size=1, max_size=3, unique=True),
    grouping=st.sampled_from(["rules", "all"]),
)
@examples(5, full=25)
def test_small_files_keep_their_rules(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, k: int, chosen: list[str], grouping: str
) -> None:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({name: generator.integers(0, 9, size=n) for name in "ABC"})
    for _ in range(4):  # repairs may undo each other; a few rounds settle most files
        for rule in chosen:
            frame = (MENU[rule] or REPAIRS[rule])(frame)
    folder = tmp_path_factory.mktemp("small")
    # XPath 1.0 has no abs(): the tolerance is spelled out.
    spelled = [rule.replace("abs(A - B) <= 4", "(A - B <= 4 and B - A <= 4)") for rule in chosen]
    rules = write_rules(folder / "rules.sch", *(rule.replace(" ", " ") for rule in spelled))
    if masktron.validate(frame, rules).violations:
        return
    result = masktron.mask(frame, rules, k=k, grouping=grouping, numeric=list(frame))
    assert result.valid
    assert result.min_group >= k
    assert result.data is not None
    assert masktron.validate(result.data, rules).violations == 0


def test_a_secret_in_every_place_but_the_data_is_not_released(tmp_path: Path) -> None:
    rows = numbers(12)
    body = "".join(
        f'<p:R xmlns:p="u" xmlns:secret{i}="urn:secret"><?secret?>{" " * i}<A>{row["A"]}<!--secret--></A>'
        f"<B>{row['B']}</B><T>{row['T']}</T></p:R><!-- secret -->"
        for i, row in enumerate(rows)
    )
    data, out = tmp_path / "d.xml", tmp_path / "m.xml"
    data.write_text(
        '<?secret?><!DOCTYPE secret><D xmlns:secret="urn:secret" at="/home/x">'
        f'<L secret="secret">{body}</L></D><?secret?>'
    )
    rules = write_rules(tmp_path / "r.sch", "A + B = T", context="p:R", extra='<ns prefix="p" uri="u"/>')
    result = masktron.mask(data, rules, out, k=3)
    text = out.read_text()
    assert "secret" not in text
    assert text.startswith('<D xmlns:ns0="u" at="/home/x"><L><ns0:R><A>')
    conforms(result.as_dict(), "mask")
    assert result.left_out == {
        "comments": 24,
        "processing_instructions": 14,
        "document_types": 1,
        "namespace_declarations": 25,
        "attributes": 1,
    }
    assert any(note.startswith("left out, since nobody knows what they tell: 24 comments") for note in result.notes)
    assert any("attributes of the root: at (a path or an address)" in note for note in result.notes)
    assert masktron.check(out, rules, original=data, manifest=tmp_path / "m.manifest.json").complies


@pytest.mark.parametrize("command", ["validate", "check", "explain", "mask"])
def test_rules_run_under_a_name_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    # what was told last is what stands there while an engine hangs on a rule
    class HangsError(Exception):
        pass

    def hangs(*_: object, **__: object) -> None:
        raise HangsError

    data, rules = write_data(tmp_path / "d.xml", numbers(12)), write_rules(tmp_path / "r.sch", "A + B = T")
    stages: list[str] = []
    jobs: dict[str, Callable[[Progress], object]] = {
        "validate": lambda told: run_validate(data, ValidateRequest(rules), progress=told),
        "check": lambda told: run_check(CheckRequest(data, rules), told),
        "explain": lambda told: run_explain(rules, data, progress=told),
        "mask": lambda told: run_mask(MaskRequest(data, rules, tmp_path / "out.xml"), told),
    }
    monkeypatch.setattr(Job, "evaluate", hangs)
    with pytest.raises(HangsError):
        jobs[command](lambda stage, _: stages.append(stage))
    assert stages[-1] == "validating d.xml"


def test_a_column_without_a_name_is_left_out_only_where_no_other_one_changes_its_name(tmp_path: Path) -> None:
    rows = [[at % 9, at % 5, at % 9 + at % 5] for at in range(30)]
    rules = write_rules(tmp_path / "first.sch", "V2 + V3 = V4"), write_rules(tmp_path / "last.sch", "V1 + V2 = V3")
    given: dict[str, Any] = {"k": 3, "format_options": {"header": "no"}}
    data = tmp_path / "d.csv"
    data.write_text("".join(f"p{at},{','.join(map(str, row))}\n" for at, row in enumerate(rows)))
    with refused(UsageError, "names-would-shift", fields=("V1",)):
        masktron.mask(data, rules[0], tmp_path / "m.csv", roles={"V1": "identifier"}, **given)
    assert not (tmp_path / "m.csv").exists()
    data.write_text("".join(f"{','.join(map(str, row))},p{at}\n" for at, row in enumerate(rows)))
    masktron.mask(data, rules[1], tmp_path / "m.csv", roles={"V4": "identifier"}, **given)
    written = [[int(cell) for cell in line.split(",")] for line in (tmp_path / "m.csv").read_text().splitlines()]
    assert len(written) == 30 and all(one + two == total for one, two, total in written)
