"""Values of its own for every record: whatever a method draws, the rules hold and nobody gets his record back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import masktron
from attacks import KEY
from cli_runner import write_data, write_rules
from drawing_methods import ALL as DRAWING
from masktron import methods
from masktron.errors import OutsideLimitsError
from masktron.masking.draws.drawing import _joins
from refusals import refused

type Rows = list[dict[str, object]]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "ALL", (*methods.ALL, *DRAWING))


def masked(folder: Path, rows: Rows, *tests: str, method: str = "test_noise", **settings: Any) -> masktron.MaskResult:
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    result = masktron.mask(
        data, rules, folder / "m.xml", method=method, **{"order": "keep", "secret": KEY, **settings}
    )
    records = etree.parse(folder / "m.xml").getroot().findall("Record")
    assert len(records) == len(rows)
    for test in tests:
        holds = etree.XPath(f"boolean({test})")
        assert all(holds(record) for record in records), test
    return result


def column(folder: Path, name: str) -> list[str | None]:
    return [record.findtext(name) for record in etree.parse(folder / "m.xml").getroot()]


def amounts(n: int, seed: int = 1) -> Rows:
    generator = np.random.default_rng(seed)
    rows: Rows = []
    for _ in range(n):
        first, second = (int(x) for x in generator.lognormal(6, 1, size=2))
        rows.append({"A": first, "B": second, "C": first + second})
    return rows


def exits(result: masktron.MaskResult) -> dict[str, int]:
    return {name: count for block in result.blocks for name, count in block.exits.items() if count}


def test_balances_and_signs_hold_in_every_record(tmp_path: Path) -> None:
    rows = amounts(80)
    result = masked(tmp_path, rows, "A + B = C", "A >= 0 and B >= 0")
    assert len({*column(tmp_path, "A")}) > 60
    assert all(str(row["A"]) != now for row, now in zip(rows, column(tmp_path, "A"), strict=True))
    assert result.draw is not None
    assert {moment.name for moment in result.draw.moments} == {"A", "B", "C"}
    assert sum(exits(result).values()) == 80


def test_the_same_key_gives_the_same_bytes_and_another_gives_others(tmp_path: Path) -> None:
    rows = amounts(40)
    files = []
    for key in (KEY, KEY, KEY[::-1]):
        masked(tmp_path, rows, "A + B = C", secret=key)
        files.append((tmp_path / "m.xml").read_bytes())
    assert files[0] == files[1] != files[2]


def test_who_would_come_out_as_he_went_in_takes_a_prototype(tmp_path: Path) -> None:
    rows = amounts(30)
    result = masked(tmp_path, rows, "A + B = C", method="test_returning", k=3)
    assert exits(result) == {"prototype": 30}
    assert result.draw is not None
    assert result.draw.unmoved == 0
    own = [tuple(map(str, row.values())) for row in rows]
    now = list(zip(*(column(tmp_path, name) for name in "ABC"), strict=True))
    assert not {*own} & {*now}


def test_a_field_that_is_as_it_was_in_every_record_is_not_published(tmp_path: Path) -> None:
    rows: Rows = [{"A": at % 2} for at in range(40)]  # k records share each value: nobody gets his own record back
    with refused(masktron.ViolationError, "contract-not-kept", method="test_returning"):
        masked(tmp_path, rows, "A >= 0", method="test_returning", k=3, numeric=["A"])
    assert not (tmp_path / "m.xml").exists()


def test_a_condition_on_an_unmasked_field_is_kept_record_by_record(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows: Rows = [{"A": int(a), "CAP": int(a + c)} for a, c in generator.integers(0, 50, size=(60, 2))]
    masked(tmp_path, rows, "A <= CAP", "A >= 0", roles={"CAP": "untouched"})
    assert column(tmp_path, "CAP") == [str(row["CAP"]) for row in rows]


def test_missing_values_stay_missing(tmp_path: Path) -> None:
    rows = amounts(60)
    for row in rows[::3]:
        del row["B"], row["C"]
    result = masked(tmp_path, rows, "not(B) or A + B = C")
    gone = column(tmp_path, "B")
    assert [at for at, text in enumerate(gone) if text is None] == list(range(0, 60, 3))
    assert result.draw is not None
    assert result.draw.strata == 2


def test_alternatives_of_a_rule_are_drawn_apart(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    rows: Rows = [
        {"AGE": int(age), "WAGE": 0 if age < 16 else int(wage)}
        for age, wage in zip(generator.integers(5, 60, 120), generator.integers(1000, 5000, 120), strict=True)
    ]
    result = masked(tmp_path, rows, "AGE >= 16 or WAGE = 0", "AGE >= 0", "WAGE >= 0")
    assert result.draw is not None
    assert result.draw.strata == 2
    young = sum(1 for row in rows if row["WAGE"] == 0)
    assert abs(sum(text == "0" for text in column(tmp_path, "WAGE")) - young) <= young // 2


def test_blocks_with_categories_are_grouped_where_the_method_draws_numbers(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    rows: Rows = [
        {"S": "abc"[at], "A": int(a)}
        for at, a in zip(generator.integers(0, 3, 60), generator.integers(0, 99, 60), strict=True)
    ]
    result = masked(tmp_path, rows, "A >= 0", "string-length(S) = 1", k=4, roles={"S": "confidential"})
    kinds = {block.variables: block.aggregator for block in result.blocks}
    assert kinds == {("S",): "mode", ("A",): "drawn"}
    assert result.min_group >= 4


def test_categories_are_drawn_where_the_method_can(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    rows: Rows = [
        {"S": "abc"[at], "A": 10 * int(at) + int(a)}
        for at, a in zip(generator.integers(0, 3, 90), generator.integers(0, 9, 90), strict=True)
    ]
    roles = {"S": "confidential"}
    result = masked(tmp_path, rows, "S != 'a' or A < 10", "A >= 0", k=4, roles=roles, method="test_mixing")
    assert [block.aggregator for block in result.blocks] == ["drawn"]
    before, after = ([str(text) for text in texts] for texts in ([row["S"] for row in rows], column(tmp_path, "S")))
    assert sum(own != now for own, now in zip(before, after, strict=True)) > 20
    assert {*after} == {"a", "b", "c"}


def test_a_method_sees_the_fields_that_it_keeps(tmp_path: Path) -> None:
    rows = [{**row, "Y": at} for at, row in enumerate(amounts(30))]
    params = {"keep": ["Y"]}
    result = masked(tmp_path, rows, "A + B = C", method="test_keeping", params=params, roles={"Y": "untouched"})
    assert column(tmp_path, "Y") == [str(at) for at in range(30)]
    assert result.draw is not None
    assert {moment.name for moment in result.draw.moments} == {"A", "B", "C"}


@pytest.mark.parametrize(("name", "code"), [("Q", "unknown-name"), ("T", "field-not-usable")])
def test_a_kept_field_has_to_be_there(tmp_path: Path, name: str, code: str) -> None:
    rows = [{**row, "T": "x"} for row in amounts(30)]
    with refused(masktron.UsageError, code, **{"name" if code == "unknown-name" else "field": name}):
        masked(tmp_path, rows, "A >= 0", method="test_keeping", params={"keep": [name]}, roles={"T": "untouched"})


def test_too_few_records_are_refused_by_the_name_of_the_method(tmp_path: Path) -> None:
    with refused(masktron.InfeasibleError, "too-few-records", what="test_noise of 3 fields", records=9):
        masked(tmp_path, amounts(9), "A >= 0", k=2)
    assert not (tmp_path / "m.xml").exists()


def test_totals_over_the_file_are_kept(tmp_path: Path) -> None:
    rows: Rows = [{"A": int(a)} for a in np.random.default_rng(7).integers(10, 90, 50)]
    total = sum(int(str(row["A"])) for row in rows)
    result = masked(tmp_path, rows, f"sum(../Record/A) = {total}", "A >= 0")
    assert sum(int(str(text)) for text in column(tmp_path, "A")) == total
    assert len(result.repairs) <= 1


def test_nobody_is_left_out_with_weights(tmp_path: Path) -> None:
    rows = [{**row, "W": 1 + at % 7} for at, row in enumerate(amounts(40))]
    result = masked(tmp_path, rows, "A + B = C", roles={"W": "weight"})
    assert result.records_out == 40


def test_a_field_that_is_masked_cannot_be_kept(tmp_path: Path) -> None:
    """It would come out as it was, but for the few records that settle moves; and no contract would see it."""
    rows = [{**row, "C": int(str(row["C"])) + at} for at, row in enumerate(amounts(60))]
    with refused(masktron.UsageError, "role-does-not-fit", field="B", role="untouched"):
        masked(tmp_path, rows, "A + B <= C", method="ipso", params={"conditions": ["B"]})
    result = masked(
        tmp_path, rows, "A + B <= C", method="ipso", params={"conditions": ["B"]}, roles={"B": "untouched"}
    )
    assert result.draw is not None
    assert {moment.name for moment in result.draw.moments} == {"A", "C"}


def test_a_field_that_is_not_masked_cannot_be_drawn(tmp_path: Path) -> None:
    with refused(masktron.UsageError, "role-does-not-fit", field="B", role="confidential"):
        masked(tmp_path, amounts(60), "A >= 0", method="cart", params={"order": ["B"]}, roles={"B": "untouched"})


def test_missing_categories_are_filled_with_categories(tmp_path: Path) -> None:
    generator = np.random.default_rng(8)
    rows: Rows = [
        {"S": "adz"[2 * at], "A": int(a)}
        for at, a in zip(generator.integers(0, 2, 60), generator.integers(0, 99, 60), strict=True)
    ]
    rows[7]["S"] = "d"
    del rows[3]["S"], rows[4]["S"]
    result = masked(tmp_path, rows, "A >= 0", "not(S) or S != 'x'", method="test_mixing", roles={"S": "confidential"})
    # a mean of the codes of a and z would read as a d that nobody has
    after = [text for text in column(tmp_path, "S") if text is not None]
    assert result.draw is not None
    assert result.draw.strata == 1
    assert after.count("d") <= 1


def test_prototypes_that_copy_a_record_are_counted_and_capped(tmp_path: Path) -> None:
    """A prototype that has to be a multiple of a large number is a median: the value of a record."""
    rows: Rows = [{"A": 9973 * int(a)} for a in np.random.default_rng(9).integers(100, 9000, 12)]
    with refused(masktron.InfeasibleError, "values-published"):
        masked(tmp_path, rows, "A mod 9973 = 0", method="test_returning", k=4)
    result = masked(tmp_path, rows, "A mod 9973 = 0", method="test_returning", k=4, max_observed_share=25)
    assert (exits(result), result.blocks[0].copied) == ({"prototype": 12}, 3)


def test_notes_tell_draws_that_were_moved_from_those_that_were_not(tmp_path: Path) -> None:
    generator = np.random.default_rng(10)
    rows: Rows = [{"S": "abc"[at]} for at in generator.integers(0, 3, 90)]
    result = masked(tmp_path, rows, "string-length(S) = 1", method="test_mixing", roles={"S": "confidential"})
    assert exits(result) == {"mode": 90}
    assert not any("to keep the rules" in note or "took another draw" in note for note in result.notes)


def test_values_that_were_not_to_be_replaced_are_no_records_that_went_wrong(tmp_path: Path) -> None:
    rows: Rows = [{"A": int(a)} for a in np.random.default_rng(11).integers(0, 10**6, 200)]
    result = masked(tmp_path, rows, "A >= 0", method="hierarchical", k=3)
    assert result.draw is not None
    assert result.unchanged["A"] > 50
    assert result.draw.unmoved_by.untouched == 170
    assert result.draw.unmoved_by.drawn == result.draw.unmoved_by.rare < 20


def test_what_a_drawing_method_does_not_heed_is_said(tmp_path: Path) -> None:
    rows = [{**row, "W": 1 + at % 7} for at, row in enumerate(amounts(40))]
    result = masked(tmp_path, rows, "A + B = C", roles={"W": "weight"}, max_block_records=20)
    assert any("without the weight W" in note for note in result.notes)
    assert any("max_block_records cuts nothing" in note for note in result.notes)


def test_limits_mean_the_same_in_mask_and_check(tmp_path: Path) -> None:
    generator = np.random.default_rng(12)
    rows: Rows = [
        {"S": "abc"[at], "A": int(a)}
        for at, a in zip(generator.integers(0, 3, 60), generator.integers(0, 9999, 60), strict=True)
    ]
    masked(tmp_path, rows, "A >= 0", "string-length(S) = 1", k=4, roles={"S": "confidential"})
    figures = {"block_k": 4.0}
    checked = masktron.check(
        tmp_path / "m.xml",
        tmp_path / "r.sch",
        original=tmp_path / "d.xml",
        manifest=tmp_path / "m.manifest.json",
        limits=figures,
    )
    with refused(OutsideLimitsError, "outside-limits"):
        masked(tmp_path, rows, "A >= 0", "string-length(S) = 1", k=4, roles={"S": "confidential"}, limits=figures)
    assert any("block_k" in problem for problem in checked.problems)


def test_the_smallest_stratum_joins_its_own_pattern_then_the_nearest() -> None:
    sizes, places = np.array([5, 1, 9, 9, 2]), np.array([[0.0], [1.0], [1.1], [3.0], [3.1]])
    pattern = np.array([0, 1, 0, 1, 2])
    made = list(_joins(sizes, places * sizes[:, None], pattern, 6))
    # 1 takes the far one of its pattern; 4 has none of its own and takes the nearest; 0 has 2 of its own
    assert made == [(1, 3), (4, 3), (0, 2)]
