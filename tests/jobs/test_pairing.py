"""Which masked record belongs to which of the original: what leads there, and what is refused where nothing does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import SEED
from cli_runner import Runner, numbers, write_data, write_rules
from made_columns import column_of_cells
from masktron.errors import UsageError
from masktron.figures import FIGURES
from masktron.kernels.distinct import codes_of
from masktron.measures.assessed import Assessed
from masktron.measures.figures import measure, unpaired
from masktron.sources.column import Column
from refusals import code_of, refused

UNPAIRED = "nothing says which masked record belongs to which of the original"
BY_RECORD = ("linkage", "information_loss", "unchanged", "interval_ranks", "interval_deviation", "il1s")


@pytest.fixture
def shuffled(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """A masked file in random order, its original, rules and manifest; H repeats, so no field names a record."""
    rows = [{"H": at % 4, **row} for at, row in enumerate(numbers())]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T")
    out, manifest = tmp_path / "m.xml", tmp_path / "m.json"
    masktron.mask(data, rules, out, k=3, roles={"H": "untouched"}, order="random", seed=SEED, manifest=manifest)
    return out, data, rules, manifest


def test_figures_by_record_are_not_computed_of_shuffled_files(
    shuffled: tuple[Path, Path, Path, Path], run: Runner
) -> None:
    out, data, rules, manifest = shuffled
    bare = run("assess", out, "--original", data)
    assert (bare.code, code_of(bare.err), "--same-order" in bare.err) == (2, "records-not-paired", True)
    for name in BY_RECORD:
        with refused(UsageError, "records-not-paired", figures=(name,)):
            masktron.assess(out, data, measures=[name])
    whole = masktron.assess(out, data, measures=["total_change", "whole_record_k"], roles={"H": "untouched"})
    told = masktron.assess(out, data, measures=["total_change", "whole_record_k"], manifest=manifest)
    assert [figure.value for figure in whole.figures] == pytest.approx([figure.value for figure in told.figures])
    with refused(UsageError, "records-not-paired", figures=("total_change",)):
        masktron.assess(out, data, measures=["total_change"], roles={"H": "untouched", "T": "weight"})
    check = ("check", out, "--rules", rules, "--original", data)
    unpaired = run(*check, "--limit", "linkage=20", "--limit", "total_change=100")
    assert unpaired.code == 1
    assert f"the limits linkage cannot be checked: {UNPAIRED}" in unpaired.out
    assert "1 figure within the limits" in unpaired.out
    assert run(*check, "--limit", "total_change=100").code == 0
    assert "linkage is " in run(*check, "--limit", "linkage=20", "--manifest", manifest).out


def test_what_is_said_of_the_order_is_tested(shuffled: tuple[Path, Path, Path, Path], run: Runner) -> None:
    out, data, rules, _ = shuffled
    roles = ("--role", "H=untouched")
    wrong = run("assess", out, "--original", data, "--same-order", *roles)
    wrong.refuses(2, "records-differ")
    said = run("assess", data, "--original", data, "--same-order", *roles, "--measures", "unchanged")
    assert (said.code, "their order is said to be the same" in said.out) == (0, True)
    assert "cannot be checked" not in run(
        "check", out, "-r", rules, "--original", data, "--limit", "linkage=100", "--same-order"
    ).out  # fmt: skip
    with refused(UsageError, "bad-value", expected="true or false", name="same_order"):
        masktron.assess(out, data, same_order="yes")  # type: ignore[arg-type]


def test_a_field_that_names_the_record_pairs(tmp_path: Path) -> None:
    before = [{"Id": 100 + at, "A": at // 2, "B": at // 3} for at in range(12)]
    original = write_data(tmp_path / "o.xml", before)
    masked = write_data(tmp_path / "m.xml", before[::-1])
    options: Any = {"measures": ["unchanged"]}
    result = masktron.assess(masked, original, **options)
    assert result["unchanged"] == 100.0
    assert "records are put together by Id" in result.notes[0]
    with refused(UsageError, "records-differ", field="Id"):
        masktron.assess(masked, original, same_order=True, **options)
    with refused(UsageError, "records-not-paired"):
        masktron.assess(masked, original, roles={"Id": "confidential"}, **options)
    # a declared key is told from other fields, and leads to records of which some were left out
    other = [{**row, "N": at} for at, row in enumerate(before)]
    original = write_data(tmp_path / "o.xml", other)
    masked = write_data(tmp_path / "m.xml", [{**row, "N": at} for at, row in enumerate(other[::-1])])
    with refused(UsageError, "records-not-paired"):
        masktron.assess(masked, original, **options)
    roles = {"Id": "record-id", "N": "confidential"}
    assert (
        masktron.assess(masked, original, roles={"Id": "record-id"}, **options)
        .notes[0]
        .startswith("records are put together by Id")
    )
    masked = write_data(tmp_path / "m.xml", [other[7], other[2]])
    assert masktron.assess(masked, original, roles=roles, **options)["unchanged"] == 100.0
    with refused(UsageError, "not-of-one-run", reason="2 masked records for 12 of the original"):
        masktron.assess(masked, original, **options)
    # a key that changed, or repeats, leads nowhere
    for spoiled in ({"Id": 107}, {"Id": 999}):
        masked = write_data(tmp_path / "m.xml", [{**other[0], **spoiled}, *other[1:]])
        with refused(UsageError, "records-not-paired"):
            masktron.assess(masked, original, roles=roles, **options)


def test_an_unmasked_field_that_differs_between_records_with_the_same_key(tmp_path: Path) -> None:
    rows = [{"Id": 100 + at, "A": at // 2, "U": at % 2} for at in range(6)]
    original = write_data(tmp_path / "o.xml", rows)
    masked = write_data(tmp_path / "m.xml", [{**row, "U": 1} for row in rows[::-1]])
    with refused(UsageError, "records-differ", field="U"):
        masktron.assess(masked, original, roles={"Id": "record-id", "U": "untouched"})


def test_check_compares_fields_that_settings_declare_as_unmasked(tmp_path: Path, run: Runner) -> None:
    rows = [{"Id": 100 + at, "A": at // 2, "U": at % 2} for at in range(6)]
    original, rules = write_data(tmp_path / "o.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    settings = tmp_path / "s.toml"
    masked = tmp_path / "m.xml"
    for key, last, code, says in (
        ("record-id", 1, 0, "checked: 2 unmasked fields cell by cell"),
        ("record-id", 5, 1, "problem: the records do not belong together: U is unmasked and differs"),
        ("confidential", 1, 0, f"not checked: unmasked fields cell by cell: {UNPAIRED}"),
    ):
        settings.write_text(f'[roles]\nId = "{key}"\nU = "untouched"\n')
        write_data(masked, [{**row, "A": row["A"] + 1} for row in [{**rows[5], "U": last}, *rows[:5]]])
        outcome = run("check", masked, "-r", rules, "--original", original, "--config", settings)
        assert (outcome.code, says in " ".join(outcome.out.split())) == (code, True), outcome.out


def test_check_and_assess_put_data_frames_together_alike(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    before = pd.DataFrame({"A": np.random.default_rng(1).integers(10, 99, 60)})
    masked = masktron.mask(before, rules, k=3, order="random").data
    assert masked is not None
    linkage = masktron.assess(masked, before, measures=["linkage"])["linkage"]
    assert linkage > 10
    checked = masktron.check(masked, rules, original=before, limits={"linkage": 0})
    assert [figure.value for figure in checked.figures] == [linkage]
    assert not checked.complies
    assert "put together by their index" in checked.notes[0]
    with refused(UsageError, "setting-not-usable"):
        masktron.assess(masked, before, same_order=True)
    anew = masked.reset_index(drop=True)
    with refused(UsageError, "records-not-paired"):
        masktron.assess(anew, before)
    assert UNPAIRED in masktron.check(anew, rules, original=before, limits={"linkage": 100}).problems[0]
    assert masktron.check(anew, rules, original=before, limits={"linkage": 100}, same_order=True).complies


def _column(values: np.ndarray[Any, Any]) -> Column:
    return column_of_cells(None if pd.isna(value) else value for value in values)


def test_figures_of_files_as_a_whole_do_not_depend_on_the_order() -> None:
    generator = np.random.default_rng(3)
    numbers_ = generator.normal(50, 9, (80, 3)).round(1)
    before = {name: numbers_[:, at] for at, name in enumerate("ABC")}
    after = {name: (own + generator.normal(0, 4, 80)).round() for name, own in before.items()}
    before["C"][:9] = after["C"][3:12] = np.nan
    before["K"], after["K"] = (np.array([*"xyz"])[generator.integers(0, 3, 80)] for _ in range(2))
    order = generator.permutation(80)

    def figures(masked: dict[str, Any]) -> dict[str, float]:
        columns = {name: _column(values) for name, values in masked.items()}
        codes = {name: codes_of(one.lexemes) for name, one in columns.items()}
        files = Assessed({name: _column(own) for name, own in before.items()}, columns, ("A", "B", "C"), codes)
        names = [figure.name for figure in FIGURES if not figure.needs and not figure.paired]
        assert unpaired(names, replace(files, paired=False)) == ()
        assert unpaired(names, replace(files, paired=False, weights=np.ones(80))) == tuple(names)
        return {one.figure.name: one.value for one in measure(names, files)}

    straight = figures(after)
    assert len(straight) >= 5
    mixed = figures({name: own[order] for name, own in after.items()})
    # files exchanged at random make the scale of this one
    assert mixed.pop("pmse_tree") == pytest.approx(straight.pop("pmse_tree"), rel=0.05)
    assert mixed == pytest.approx(straight, rel=1e-9)


def test_check_takes_a_masked_file_in_another_format(tmp_path: Path, run: Runner) -> None:
    """Settings say how the original is read; a format without zeros at the end of decimals holds the same values."""
    original, masked, settings = tmp_path / "o.csv", tmp_path / "m.csv", tmp_path / "s.toml"
    rows = [f"{100 + at};{at}.50;{at * 3}" for at in range(6)]
    original.write_text("\n".join(["Id;W;A", *rows]))
    settings.write_text('[roles]\nId = "record-id"\nW = "weight"\n[format_options]\ndelimiter = ";"\n')
    rules, said = write_rules(tmp_path / "r.sch", "A >= 0", context="row"), tmp_path / "said.json"
    for last, code in (("5.50", 0), ("5.75", 1)):
        masked.write_text("\n".join(["Id;W;A", *(f"{row}1" for row in rows[:5]), f"105;{last};15"]))
        out = tmp_path / "m.sav"
        assert run("convert", masked, "--out", out, "--format-option", "delimiter=;").code == 0
        outcome = run("check", out, "-r", rules, "--original", original, "--config", settings, "--json", said)
        assert outcome.code == code, outcome.out + outcome.err
        assert ("W is unmasked and differs" in outcome.out) == bool(code)
        found = json.loads(said.read_text())
        assert found["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
