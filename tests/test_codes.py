"""Codes are not averaged before somebody says that they are no codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from examples import spread
from masktron.errors import UsageError, ViolationError
from masktron.problems.problem import Field
from refusals import problem_of, refused


def _rows(n: int = 45) -> list[dict[str, Any]]:
    """Amounts A, and codes: relat from 1 to 9, sex, and a number of two digits with zeros before it."""
    return [
        {
            "A": 1000 + 7 * at,
            "relat": at % 9 + 1,
            "sex": at % 2,
            "nace": f"{at % 30:02d}",
            "M": at % 5,
            "N": at % 5 + 1,
        }
        for at in range(n)
    ]


def _file(tmp_path: Path, *drop: str) -> Path:
    return write_data(tmp_path / "d.xml", [{k: v for k, v in row.items() if k not in drop} for row in _rows()])


def test_all_fields_that_look_like_codes_are_refused_at_once(tmp_path: Path, run: Runner) -> None:
    data, rules = _file(tmp_path), write_rules(tmp_path / "r.sch", "relat >= 1 and relat < 10", "M < N")
    fields, values = ("relat", "sex", "nace"), (9, 2, 30)
    with refused(UsageError, "likely-codes", fields=fields, values=values) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml")
    text = str(caught.value)
    assert 'nominal=["relat", "sex", "nace"]' in text
    assert 'numeric=["relat", "sex", "nace"]' in text
    assert 'roles={"relat": "identifier", "sex": "identifier", "nace": "identifier"}' in text
    assert not (tmp_path / "m.xml").exists()
    stopped = str(masktron.explain(rules, data).obstacle)
    assert "[likely-codes]" in stopped
    assert 'nominal=["relat", "sex", "nace"]' in stopped
    outcome = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml")
    outcome.refuses(2, "likely-codes")


def test_a_kind_lets_them_through_and_rules_that_reckon_are_told(tmp_path: Path, run: Runner) -> None:
    data, rules = _file(tmp_path), write_rules(tmp_path / "r.sch", "relat >= 1", "M < N")
    out = tmp_path / "m.xml"
    outcome = run(
        "mask", data, "--rules", rules, "--out", out, "--numeric", "relat", "--nominal", "sex", "--ordinal", "nace"
    )
    assert outcome.code == 0, outcome.err
    told = " ".join(outcome.out.split())
    assert "masked as numbers since rules treat them as quantities: M (5 different values), N (5 different" in told
    plain = masktron.explain(rules, data, numeric=["relat", "M", "N"], nominal=["sex"], ordinal=["nace"])
    assert plain.obstacle is None
    assert "look like codes" not in " ".join(plain.notes)
    values = {row.strip() for row in out.read_text().split("sex>")[1::2]}
    assert values <= {"0</", "1</"}


def test_telephone_numbers_are_no_codes_to_publish(tmp_path: Path) -> None:
    rows = [{"Name": f"n{at}", "A": 1000 + 7 * at, "Phone": f"0{at:04d}", "sex": at % 2} for at in range(45)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 1")
    out = tmp_path / "m.xml"
    # text fields and codes in one message
    with refused(UsageError, "no-role", fields=("Name",)) as caught:
        masktron.mask(data, rules, out)
    assert [one.code for one in problem_of(caught.value).further] == ["likely-names", "likely-codes", "likely-role"]
    with refused(UsageError, "likely-names", fields=("Phone",), values=(45,)):
        masktron.mask(data, rules, out, roles={"Name": "identifier"})
    options: dict[str, Any] = {"roles": {"Name": "identifier"}, "numeric": ["sex"], "nominal": ["Phone"]}
    result = masktron.mask(data, rules, out, **options)
    said = "Phone is masked as categories and has 45 different values in 45 records"
    assert said in " ".join(str(one.says) for one in result.concerns)
    assert said in " ".join(masktron.explain(rules, data, **options).notes)


def test_options_override_the_kinds_of_the_settings(tmp_path: Path, run: Runner) -> None:
    data, rules = _file(tmp_path, "nace", "M", "N"), write_rules(tmp_path / "r.sch", "A >= 1")
    (tmp_path / "s.toml").write_text('numeric = ["sex"]\nnominal = ["relat"]\n')
    options = ("explain", rules, "--data", data, "--config", tmp_path / "s.toml")
    assert "mask would stop" not in run(*options).out
    assert "mask would stop" not in run(*options, "--nominal", "sex", "--numeric", "relat").out


QUANTITIES = [
    "relat * A <= 5000 or A > 0",
    "relat <= A",
    "A - relat >= 0",
    "2 * relat <= A",
    "A = relat + 1 or A > 0",
]
CODES = [
    "relat >= 1",
    "relat = 1 or relat = 2 or A > 0",
    "not(relat = 3) or A >= 0",
    "relat = sex or A > 0",
]


@pytest.mark.parametrize(("test", "treated"), [(t, True) for t in QUANTITIES] + [(t, False) for t in CODES])
def test_what_treats_a_field_as_a_quantity(test: str, treated: bool, tmp_path: Path) -> None:
    data, rules = _file(tmp_path, "nace", "M", "N"), write_rules(tmp_path / "r.sch", test)
    obstacle = masktron.explain(rules, data, nominal=["sex"] if "sex" not in test else [], numeric=[]).obstacle
    assert ("[likely-codes]" in str(obstacle)) is not treated


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([1, 2] * 5, True),
        ([1, 2] * 4 + [1], False),  # fewer than five records for each
        ([1] * 20, False),
        ([*range(15)] * 5, True),
        ([*range(16)] * 5, False),
        ([1.5, 2] * 10, False),
        (["01", "2", "3", *range(4, 30)], True),
        (["-01", *range(4, 30)], True),
        (["0", "10", *range(20, 40)], False),
        ([1, 2, -9, None] * 5, True),
        (["1.0", "2.0"] * 10, True),
        (["1.0", "2"] * 10, False),  # not equally many digits
        (["46.90", "47.11", "62.01"] * 10, True),
        (["46.90", "47.11", "62.01"] * 4, False),
        (["01.10", *(f"{at}.{at}" for at in range(10, 30))], True),
    ],
)
def test_what_looks_like_a_code(values: list[Any], looks: bool, tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": 1000 + 7 * at, "C": value} for at, value in enumerate(values)])
    obstacle = masktron.explain(write_rules(tmp_path / "r.sch", "A > 0"), data, k=2, missing={"C": [-9]}).obstacle
    assert ("[likely-" in str(obstacle)) is looks


def test_codes_with_a_point_and_names_of_classifications_are_not_averaged_unasked(tmp_path: Path) -> None:
    nace = ["10.11", "13.20", "25.11", "43.21", "46.90", "47.11"]
    rows = [
        {"Jobs": 10 + 7 * at, "Activity": nace[at % 6], "Isco": 1110 + at, "Founded_year": 1950 + at}
        for at in range(45)
    ]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "Activity >= 1", "Jobs > 0")
    with refused(UsageError, "likely-names", fields=("Isco", "Founded_year")) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml")
    assert problem_of(caught.value).further[0].references["fields"] == (Field("Activity"),)
    described = {one.name: one for one in masktron.describe(data).fields}
    assert [described[name].kind for name in rows[0]] == ["number", None, None, None]
    # what a rule reckons with is an amount, whatever it is called
    rules = write_rules(tmp_path / "s.sch", "Activity + Isco <= Founded_year * 9")
    assert masktron.explain(rules, data).obstacle is None


def test_numeric_fields_hold_numbers_and_exist(tmp_path: Path) -> None:
    data, rules = _file(tmp_path, "nace", "M", "N"), write_rules(tmp_path / "r.sch", "A > 0")
    with refused(UsageError, "unknown-name"):
        masktron.mask(data, rules, tmp_path / "m.xml", numeric=["Sex"])
    with refused(UsageError, "given-twice"):
        masktron.mask(data, rules, tmp_path / "m.xml", numeric=["sex"], nominal=["sex"])
    with refused(UsageError, "bad-value"):
        masktron.mask(data, rules, tmp_path / "m.xml", numeric="sex")  # type: ignore[arg-type]
    words = write_data(tmp_path / "w.xml", [{"A": at, "C": "x" if at else "1"} for at in range(20)])
    with refused(masktron.DocumentError, "text-in-numbers", field="C"):
        masktron.mask(words, rules, tmp_path / "m.xml", numeric=["C"])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("rule", "codes", "reason"),
    spread(
        [
            ("A <= 3000 or A = 9998 or A = 9999", "9998,9999", "9998, 9999 stand apart in R1"),
            ("not(A) or (A > 3 and A < 3000) or A = -1.5", "-1.5", "-1.5 stands apart in R1"),
            ("A = 9999 or A <= 9 * M + 5000", "9999", "9999 stands apart in R1"),
            ("A = 0 or A >= 100", "", ""),  # an amount that may be nothing
            ("(A <= 3000 and M = 1) or A = 2000", "", ""),
            ("A = 1000 or A = 1007 or A != 5", "", ""),
            ("M != 3 or A = 9999 or A < 4000", "9999", "9999 stands apart in R1"),
            ("(M = 3 and A = 9999) or A < 4000", "", ""),
        ],
        every=2,
    ),
)
def test_codes_that_a_rule_admits_beside_a_range(tmp_path: Path, rule: str, codes: str, reason: str) -> None:
    data = _file(tmp_path, "relat", "sex", "nace", "N")
    rules = write_rules(tmp_path / "r.sch", rule, "M + A > 0")
    explained = masktron.explain(rules, data)
    told = [note for note in explained.notes if "'missing'" in note]
    assert [note.partition(" is masked")[0] for note in told] == (["A"] if codes else [])
    if codes:
        assert reason in told[0]
        listed = ", ".join(f'"{code}"' for code in codes.split(","))
        assert f'missing={{"A": [{listed}]}}' in told[0]
        assert set(told) < set(masktron.mask(data, rules, tmp_path / "m.xml", k=3).notes)
        declared = masktron.explain(rules, data, missing={"A": codes.split(",")})
        assert not [note for note in declared.notes if "'missing'" in note]


def test_labels_that_only_codes_have(tmp_path: Path) -> None:
    frame = pd.DataFrame({"rent": [500.0 + at for at in range(30)] + [9998.0], "M": [float(at) for at in range(31)]})
    data, rules = tmp_path / "d.dta", write_rules(tmp_path / "r.sch", "rent + M >= 0")
    pyreadstat.write_dta(frame, data, variable_value_labels={"rent": {9998: "refused", 9999: "do not know"}})
    (told,) = [note for note in masktron.explain(rules, data).notes if "'missing'" in note]
    assert told.startswith("rent is masked as a number, and 9998, 9999 have labels, as other values do not")
    pyreadstat.write_dta(frame.assign(rent=9998.0), data, variable_value_labels={"rent": {9998: "refused"}})
    assert not [note for note in masktron.explain(rules, data).notes if "'missing'" in note]


def test_all_misspelt_names_of_settings_are_told_at_once(tmp_path: Path) -> None:
    data, rules = _file(tmp_path), write_rules(tmp_path / "r.sch", "A > 0")
    with refused(UsageError, "unknown-name", name=("naze", "sx", "Relat", "zzz")):
        masktron.mask(
            data,
            rules,
            tmp_path / "m.xml",
            roles={"naze": "untouched"},
            nominal=["Relat"],
            ordinal={"zzz": []},
            numeric=["M"],
            missing={"sx": ["9"], "Relat": ["8"], "*": ["99"]},
        )


def test_a_rule_that_fails_at_a_code_for_missing_values_says_so(tmp_path: Path) -> None:
    rows = [{"Rent": -9 if at % 3 else 200 + 7 * at, "Debt": -at, "A": 1000 + 7 * at} for at in range(60)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "Rent >= 0", "Debt >= 0")
    validated = masktron.validate(data, rules)
    (said,) = [note for note in validated.notes if "code for missing" in note]
    assert "Rent is -9 in 40 of the 40 records that fail; -9 looks like a code for missing values." in said
    assert 'allow it in the rule (number(Rent) = -9 or ...) and declare it to mask: missing={"Rent": ["-9"]}' in said
    assert "in 9 of the first 9 records that fail" in " ".join(masktron.validate(data, rules, max_findings=9).notes)
    assert "code for missing" not in " ".join(masktron.validate(data, rules, release_safe=True).notes)
    with pytest.raises(ViolationError) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml")
    assert said in str(caught.value)
    # what it says mends the rule and the run
    rules = write_rules(tmp_path / "s.sch", "number(Rent) = -9 or Rent >= 0")
    options: dict[str, Any] = {"missing": {"Rent": ["-9"]}, "numeric": ["Debt", "A"]}
    assert masktron.mask(data, rules, tmp_path / "m.xml", **options).output
