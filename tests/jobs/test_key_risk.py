"""Quasi-identifiers in runs: what they are, what is measured over them, and where results say so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.config import Role
from masktron.errors import OutsideLimitsError, UsageError
from masktron.figures import FIGURES, figure_of
from masktron.jobs import assess as assess_job
from masktron.jobs import mask_result
from masktron.jobs.assess import AssessRequest, run_assess
from masktron.measures.keys import individual_risk, key_frequencies, log_linear_risk
from masktron.report.protection import EVIDENCE
from masktron.report.sentences import estimate_lines
from refusals import refused
from schema_files import conforms

ROWS: list[dict[str, object]] = [
    {"ID": at, "SEX": "fm"[at % 2], "AGE": 20 + 10 * (at % 4), "A": at, "W": 2 + at % 3} for at in range(24)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return write_data(folder / "d.xml", ROWS), write_rules(folder / "r.sch", "A >= 0")


def test_a_quasi_identifier_is_written_as_it_is_and_one_with_the_mark_is_masked(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    data, rules = files
    out, again = tmp_path / "m.xml", tmp_path / "again.xml"
    roles = {"SEX": Role.QUASI_IDENTIFIER, "ID": Role.RECORD_ID, "W": Role.WEIGHT}
    masktron.mask(data, rules, out, roles=roles, quasi_identifiers=["A"], numeric=["AGE"], order="keep")
    shown = out.read_text()
    assert [shown.count(f"<SEX>{one}</SEX>") for one in "fm"] == [12, 12]
    assert shown.count("<A>0</A>") == 0, "a mark does not keep a field from being masked"
    masktron.rerun(tmp_path / "m.manifest.json", data, again, rules=rules)
    assert again.read_bytes() == out.read_bytes()
    assert masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data).complies


def test_a_mark_on_a_field_that_is_not_there_is_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    data, rules = files
    with pytest.raises(UsageError):
        masktron.mask(data, rules, tmp_path / "m.xml", quasi_identifiers=["AG"], roles={"SEX": Role.UNTOUCHED})


# what is measured

KEY_FIGURES = tuple(one.name for one in FIGURES if "keys" in one.needs and one.unasked)
SAID: dict[str, Any] = {
    "roles": {"ID": "record-id", "SEX": "untouched", "AGE": "untouched", "W": "weight"},
    "order": "keep",
}


@pytest.fixture(scope="module")
def masked(files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, masktron.MaskResult]:
    data, rules = files
    out = tmp_path_factory.mktemp("out") / "m.xml"
    return out, masktron.mask(data, rules, out, **SAID)


def by_hand(*names: str) -> list[int]:
    """How many records share the keys of each record."""
    rows = [tuple(row[name] for name in names) for row in ROWS]
    return [rows.count(row) for row in rows]


def test_without_a_name_the_unmasked_fields_are_taken_and_the_result_says_so(
    masked: tuple[Path, masktron.MaskResult],
) -> None:
    _, result = masked
    keys, shared = result.keys, by_hand("SEX", "AGE", "W")
    assert keys is not None
    assert (keys.fields, keys.stated, keys.weight) == (("SEX", "AGE", "W"), False, "W"), "no number of a record"
    assert keys.below == {str(k): sum(one < k for one in shared) for k in (2, 3, 5)}
    others = by_hand("SEX", "AGE")
    assert keys.below_without_weight == {str(k): sum(one < k for one in others) for k in (2, 3, 5)}
    figures = {one.name: one.value for one in result.figures}
    assert set(KEY_FIGURES) <= set(figures)
    assert (figures["key_k"], figures["key_uniques"]) == (min(shared), shared.count(1))
    assert figures["global_risk"] == pytest.approx(100 * figures["individual_risk"]) == pytest.approx(100 * keys.mean)
    assert "no quasi-identifier was named" in str(result)
    assert "by the keys, 0 of 24 records are like no other one; 24 stand in groups of fewer than 3" in str(result)


def test_the_result_has_its_schema_and_its_page(
    masked: tuple[Path, masktron.MaskResult], files: tuple[Path, Path], tmp_path: Path
) -> None:
    out, result = masked
    conforms(result.as_dict(), "mask")
    again = run_assess(
        AssessRequest(out, files[0], manifest=out.with_name("m.manifest.json"), html=tmp_path / "a.html")
    )
    conforms(again.as_dict(), "assess")
    assert again.keys == result.keys
    assert "Records that few are like, by their keys" in (tmp_path / "a.html").read_text()


def test_the_file_against_itself_gives_the_risk_before(files: tuple[Path, Path]) -> None:
    data, _ = files
    found = masktron.assess(data, data, same_order=True, quasi_identifiers=["A"], roles=SAID["roles"])
    assert found.keys is not None
    assert (found.keys.fields, found.keys.stated) == (("A", "W"), True)
    assert (found["key_uniques"], found["key_k"], found["suda_share"]) == (24, 1, 100)
    expected = sum(math.log(w) / (w - 1) for w in (row["W"] for row in ROWS) if isinstance(w, int))
    assert found["individual_risk"] == pytest.approx(expected / 24)


def test_a_masked_key_is_looked_at_as_it_is_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    data, rules = files
    result = masktron.mask(
        data, rules, tmp_path / "m.xml", k=4, quasi_identifiers=["A"], **SAID | {"grouping": "all"}
    )
    assert result.keys is not None
    assert result.keys.fields == ("A", "W")
    assert result.keys.below_without_weight == {"2": 0, "3": 0, "5": 24}, "A has groups of 4"


def test_limits(files: tuple[Path, Path], masked: tuple[Path, masktron.MaskResult], tmp_path: Path) -> None:
    data, rules = files
    out, limited = tmp_path / "m.xml", {"key_k": 3, "global_risk": 0.5}
    with refused(OutsideLimitsError, "outside-limits") as caught:
        masktron.mask(data, rules, out, limits=limited, **SAID)
    assert caught.value.facts[0].figures == ("key_k", "global_risk")
    assert not out.exists()
    released, result = masked
    manifest = released.with_name("m.manifest.json")
    found = masktron.check(released, rules, original=data, manifest=manifest, limits={"key_k": 2})
    assert (found.complies, {one.name for one in found.figures}) == (True, {*EVIDENCE})
    found = masktron.check(released, rules, original=data, manifest=manifest, limits={"key_uniques": 0, "key_k": 3})
    assert found.problems == ("key_k is 2, the limit 3",)
    named = {"original": data, "same_order": True, "limits": {"key_uniques": 0}}
    found = masktron.check(data, rules, quasi_identifiers=["A"], **named)
    assert "key_uniques is 24, the limit 0" in found.problems
    for name in KEY_FIGURES:
        figure = figure_of(name)
        value = next(one.value for one in result.figures if one.name == name)
        worse = value + 1 if figure.better == "higher" else value - 1
        assert not figure.meets(value, worse)


def test_what_takes_long_is_asked_for(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules = files
    monkeypatch.setattr(assess_job, "LOOKED_AT", 24 * 7 - 1)  # 7 sets of 3 keys
    told: dict[str, Any] = {"same_order": True, "roles": SAID["roles"]}
    found = masktron.assess(data, data, **told)
    assert "suda_share" not in {one.name for one in found.figures}
    assert any(note.startswith("takes long with 3 keys: suda_share") for note in found.notes)
    assert [one.name for one in masktron.assess(data, data, measures=["suda_share"], **told).figures] == [
        "suda_share"
    ]
    monkeypatch.setattr(mask_result, "UNIQUES_UNASKED", 24 * 7 - 1)
    assert "suda_share" not in {one.name for one in masktron.mask(data, rules, tmp_path / "m.xml", **SAID).figures}
    limited = masktron.mask(data, rules, tmp_path / "m.xml", limits={"suda_share": 100}, **SAID)
    assert "suda_share" in {one.name for one in limited.figures}


def test_without_any_key_there_is_no_figure_and_no_limit(tmp_path: Path, files: tuple[Path, Path]) -> None:
    _, rules = files
    data = write_data(tmp_path / "d.xml", [{"A": at, "B": 3 * at} for at in range(12)])
    result = masktron.mask(data, rules, tmp_path / "m.xml", order="keep")
    assert result.keys is None
    assert not {one.name for one in result.figures} & set(KEY_FIGURES)
    with refused(UsageError, "needs-setting", name="key_k"):
        masktron.mask(data, rules, tmp_path / "n.xml", limits={"key_k": 2})
    with refused(UsageError, "needs-setting", name=("key_k",)):
        masktron.assess(tmp_path / "m.xml", data, same_order=True, measures=["key_k"])
    found = masktron.assess(tmp_path / "m.xml", data, same_order=True)
    assert any(note.startswith("needs a quasi-identifier") for note in found.notes)
    checked = masktron.check(tmp_path / "m.xml", rules, original=data, same_order=True, limits={"key_k": 2})
    assert any(note.startswith("the limit key_k: needs a quasi-identifier") for note in checked.not_checked)


# two estimates

FINE = {"roles": {"P": "quasi-identifier", "Q": "quasi-identifier", "W": "weight"}, "order": "keep", "k": 3}
"""Two keys, of which the log-linear model expects more re-identifications than the weights."""


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("fine")
    pairs = rng.integers(0, 40, (240, 2)).tolist()
    rows: list[dict[str, object]] = [{"P": p, "Q": q, "A": at, "W": 25} for at, (p, q) in enumerate(pairs)]
    return write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", "A >= 0")


@pytest.mark.full
def test_the_larger_estimate_counts_for_limits_and_verdicts(fine: tuple[Path, Path], tmp_path: Path) -> None:
    data, rules = fine
    page, out = tmp_path / "m.html", tmp_path / "m.xml"
    result = masktron.mask(data, rules, out, **FINE)
    run_assess(AssessRequest(out, data, manifest=tmp_path / "m.manifest.json", html=page))
    keys = result.keys
    assert keys is not None and keys.model_expected is not None and keys.model_uniques is not None
    by_weights, by_model = 100 * keys.expected / 240, 100 * keys.model_expected / 240
    assert by_model > 1.1 * by_weights
    figures = {one.name: one.value for one in result.figures}
    assert figures["global_risk"] == pytest.approx(by_model)
    assert figures["key_population_uniques"] == pytest.approx(max(keys.population_uniques, keys.model_uniques))
    assert f"re-identify {by_model:.1f} % of the records" in result.verdict.details
    conforms(result.as_dict(), "mask")
    estimates = estimate_lines(keys.as_dict())
    assert len(estimates) == 3
    assert all(f"{one[:1].upper()}{one[1:]}." in page.read_text() for one in estimates)
    between = {"global_risk": (by_weights + by_model) / 2}
    with refused(OutsideLimitsError, "outside-limits"):
        masktron.mask(data, rules, tmp_path / "n.xml", limits=between, **FINE)


# one name, one figure


def test_uniques_are_counted_by_keys_and_by_recode_as_each_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing value matches every value in one, and is a value of its own in the other."""
    monkeypatch.setenv("COLUMNS", "300")
    rng = np.random.default_rng(3)
    drawn = [(int(p), None if at % 9 == 0 else int(q)) for at, (p, q) in enumerate(rng.integers(0, 12, (90, 2)))]
    data = tmp_path / "d.csv"
    data.write_text("P,Q,A\n" + "".join(f"{p},{'' if q is None else q},{at}\n" for at, (p, q) in enumerate(drawn)))
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    for name in "pq":
        (tmp_path / f"{name}.csv").write_text("".join(f"{value};{value // 4};*\n" for value in range(12)))
    matching = [
        sum(p == own and (q == other or q is None or other is None) for own, other in drawn) for p, q in drawn
    ]
    alone, apart = matching.count(1), [drawn.count(one) for one in drawn].count(1)
    assert alone < apart
    runner, roles = Runner(capsys), ["--role=P=quasi-identifier", "--role=Q=quasi-identifier"]
    keys = runner("keys", data, "--rules", rules, *roles, "--verbose")
    assert f"by the keys, {alone} of 90 records are like no other one" in keys.out
    assert "a missing value of a key matches every value (10 records)" in keys.out
    trees = [f"--hierarchy={name.upper()}={tmp_path / f'{name}.csv'}" for name in "pq"]
    recode = runner("recode", data, "--rules", rules, *trees, "--suppressed", "50%")
    (shown,) = (line.split() for line in recode.out.splitlines() if line.split()[:1] == ["key_uniques"])
    assert int(shown[1]) == apart
    assert "without a weight; a missing value counts as a value of its own" in " ".join(recode.out.split())


@pytest.mark.full
def test_groups_that_are_formed_and_combinations_that_are_written_have_names_of_their_own(
    tmp_path: Path, run: Runner
) -> None:
    """Groups whose means are rounded to the same age are several groups, and one combination of values."""
    data, out, page = tmp_path / "d.csv", tmp_path / "m.csv", tmp_path / "m.html"
    data.write_text("AGE,A\n" + "".join(f"{20 + at % 8},{at * at}\n" for at in range(120)))
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    told = tmp_path / "m.json"
    run(
        "mask", data, "--rules", rules, "--out", out, "-k", "3", "--numeric", "AGE", "--html", page, "--json", told
    )  # fmt: skip
    formed = next(one["groups"] for one in json.loads(told.read_text())["blocks"] if one["variables"] == ["AGE"])
    written = len({line.split(",")[0] for line in out.read_text().splitlines()[1:]})
    assert formed > written
    tables = {one.findtext("caption"): one for one in html.fromstring(page.read_text()).xpath("//table")}
    blocks, shared = tables["Blocks"], tables["Records that share their values, by block, as written"]
    heads = [[cell.text_content() for cell in one.xpath(".//thead//th")] for one in (blocks, shared)]
    rows = [
        next(row for row in one.xpath(".//tbody/tr") if row[0].text_content() == "AGE") for one in (blocks, shared)
    ]
    counts = [
        row[head.index(name)].text_content()
        for row, head, name in zip(rows, heads, ("groups formed", "different combinations of values"), strict=True)
    ]
    assert counts == [str(formed), str(written)]


def test_recode_looks_at_the_larger_estimate(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    data = tmp_path / "d.csv"
    pairs = rng.integers(0, 40, (240, 2)).tolist()
    data.write_text("P,Q,A,W\n" + "".join(f"{p},{q},{at},25\n" for at, (p, q) in enumerate(pairs)))
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    for name in "PQ":
        (tmp_path / f"{name}.csv").write_text("".join(f"{value};{value // 2};*\n" for value in range(40)))
    trees = {name: tmp_path / f"{name}.csv" for name in "PQ"}
    said: dict[str, Any] = {"key_k": 2, "suppressed": "100%", "roles": {"W": "weight"}}
    free = masktron.recode(data, rules, trees, **said)
    weights = np.full(240, 25.0)
    columns = [np.array(pairs)[:, at] // (2 if name in free.recode else 1) for at, name in enumerate("PQ")]
    by_model = 100 * log_linear_risk(columns, weights).mean
    by_weights = 100 * float(individual_risk(key_frequencies(columns, weights)).mean())
    assert by_weights < free.after.global_risk == pytest.approx(by_model)
    limit = (by_weights + by_model) / 2
    found = masktron.recode(data, rules, trees, limits={"global_risk": limit}, **said)
    assert found.recode != free.recode and found.after.global_risk <= limit
