"""Quasi-identifiers in runs: what they are, what is measured over them, and where results say so."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.config import Role
from masktron.errors import OutsideLimitsError, UsageError
from masktron.figures import FIGURES, figure_of
from masktron.jobs import assess as assess_job
from masktron.jobs import mask_result
from masktron.jobs.assess import run_assess
from masktron.report.key_lines import estimate_lines
from masktron.report.protection import EVIDENCE
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
    roles = {"SEX": Role.QUASI_IDENTIFIER, "ID": Role.KEY, "W": Role.WEIGHT}
    masktron.mask(data, rules, out, roles=roles, quasi_identifiers=["A"], numeric=["AGE"], order="keep")
    shown = out.read_text()
    assert [shown.count(f"<SEX>{one}</SEX>") for one in "fm"] == [12, 12]
    assert shown.count("<A>0</A>") == 0, "a mark does not keep a field from being masked"
    masktron.rerun(tmp_path / "m.manifest.json", data, again, rules=rules)
    assert again.read_bytes() == out.read_bytes()
    assert masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data).complies


def test_a_mark_on_a_field_that_is_not_there_is_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    data, rules = files
    with pytest.raises(
        UsageError, match="mark of a quasi-identifier is declared for 'AG', a field that the file does"
    ):
        masktron.mask(data, rules, tmp_path / "m.xml", quasi_identifiers=["AG"], roles={"SEX": Role.UNTOUCHED})


# what is measured

KEY_FIGURES = tuple(one.name for one in FIGURES if "keys" in one.needs and one.unasked)
SAID: dict[str, Any] = {
    "roles": {"ID": "key", "SEX": "untouched", "AGE": "untouched", "W": "weight"},
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
    again = run_assess(out, files[0], manifest=out.with_name("m.manifest.json"), html=tmp_path / "a.html")
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
    with pytest.raises(OutsideLimitsError, match=r"key_k is 2, the limit 3; global_risk is [0-9.]+, the limit 0.5"):
        masktron.mask(data, rules, out, limits=limited, **SAID)
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
    with pytest.raises(UsageError, match="the limit key_k needs a quasi-identifier"):
        masktron.mask(data, rules, tmp_path / "n.xml", limits={"key_k": 2})
    with pytest.raises(UsageError, match="key_k needs a quasi-identifier"):
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


def test_the_larger_estimate_counts_for_limits_and_verdicts(fine: tuple[Path, Path], tmp_path: Path) -> None:
    data, rules = fine
    page, out = tmp_path / "m.html", tmp_path / "m.xml"
    result = masktron.mask(data, rules, out, **FINE)
    run_assess(out, data, manifest=tmp_path / "m.manifest.json", html=page)
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
    assert len(estimates) == 2
    assert all(f"{one[:1].upper()}{one[1:]}." in page.read_text() for one in estimates)
    between = {"global_risk": (by_weights + by_model) / 2}
    with pytest.raises(OutsideLimitsError, match="global_risk is"):
        masktron.mask(data, rules, tmp_path / "n.xml", limits=between, **FINE)


def test_both_estimates_are_on_the_screen(
    fine: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules = fine
    monkeypatch.setenv("COLUMNS", "200")
    run, said = Runner(capsys), [f"--role={name}={role}" for name, role in FINE["roles"].items()]  # type: ignore[attr-defined]
    for words in (["mask", data, "--out", tmp_path / "m.xml"], ["keys", data]):
        shown = run(*words, "--rules", rules, *said)
        assert "by the survey weights" in shown.out and "by a log-linear model" in shown.out, words
    shown = run("assess", tmp_path / "m.xml", "--original", data, "--manifest", tmp_path / "m.manifest.json")
    assert "by the survey weights" in shown.out and "by a log-linear model" in shown.out
