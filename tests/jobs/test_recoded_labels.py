"""Labelled fields of SPSS and Stata, recoded, suppressed, drawn and swapped: numbers of classes, and their labels."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from pandas.io.stata import StataReader

import masktron
from cli_runner import write_rules
from masktron.errors import UsageError
from refusals import refused

SIZE = 60
AGES = [16 + 7 * at % 60 for at in range(SIZE)]
REGIONS = [1 + at % 4 for at in range(SIZE)]
NAMES = {1: "North", 2: "East", 3: "South", 4: "West"}
RULES = ("B <= A", "AGE >= 16", "REGION = 1 or REGION = 2 or REGION = 3 or REGION = 4 or REGION = 9 or REGION = '.b'")
HIERARCHY = "North;Upper;*\nEast;Upper;*\nSouth;Lower;*\nWest;Lower;*\n"
FORMATS = ["sav", "dta"]


def numbers() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "AGE": [float(age) for age in AGES],
            "REGION": [float(region) for region in REGIONS],
            "JOB": [("11", "12", "21")[at % 3] for at in range(SIZE)],
            "A": [100.0 + 13 * at % 70 for at in range(SIZE)],
            "B": [10.0 + at % 9 for at in range(SIZE)],
        }
    )


def sav_of(path: Path, frame: pd.DataFrame) -> Path:
    frame = frame.assign(REGION=frame["REGION"].mask(frame.index == 7, 9))
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"AGE": "Age in years", "REGION": "Region"},
        variable_value_labels={
            "AGE": {98.0: "98 and more", 99.0: "refused"},
            "REGION": {**{float(code): name for code, name in NAMES.items()}, 9.0: "no answer"},
            "JOB": {"11": "farmer", "12": "miner", "21": "clerk"},
        },
        missing_ranges={"AGE": [99.0], "REGION": [{"lo": 8.0, "hi": 9.0}]},
        variable_measure={"AGE": "scale", "REGION": "nominal", "JOB": "nominal", "A": "scale", "B": "scale"},
        variable_format={"AGE": "F5.1", "REGION": "F1.0"},
    )
    return path


def dta_of(path: Path, frame: pd.DataFrame) -> Path:
    frame = frame.assign(
        AGE=frame["AGE"].astype("int32"),
        REGION=[int(one) if at != 7 else "b" for at, one in enumerate(frame["REGION"])],
    )
    pyreadstat.write_dta(
        frame,
        path,
        column_labels={"AGE": "Age in years", "REGION": "Region"},
        variable_value_labels={"AGE": {98: "98 and more"}, "REGION": {**NAMES, "b": "no answer"}},
        missing_user_values={"REGION": ["b"]},
    )
    return path


MADE = {"sav": sav_of, "dta": dta_of}
READ = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}
MISSING = {"sav": (9.0, "9"), "dta": ("b", ".b")}


@pytest.fixture(params=FORMATS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return MADE[request.param](tmp_path / f"d.{request.param}", numbers())


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "region.csv").write_text(HIERARCHY)
    return write_rules(tmp_path / "r.sch", *RULES)


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    roles = {"AGE": "quasi-identifier", "REGION": "quasi-identifier", "JOB": "quasi-identifier"}
    recode = {"AGE": "breaks:0,20,40,60", "REGION": str(folder / "region.csv")}
    return {"k": 3, "order": "keep", "roles": roles, "recode": recode, **more}


def read(path: Path) -> tuple[pd.DataFrame, Any]:
    frame, meta = READ[path.suffix[1:]](path, user_missing=True)
    return frame, meta


def age_class(age: int) -> int:
    return 1 + sum(age >= one for one in (20, 40, 60))


def masked(data: Path, rules: Path, **more: Any) -> tuple[Path, Any]:
    out = data.with_name(f"m{data.suffix}")
    result = masktron.mask(data, rules, out, **settings(data.parent, **more))
    assert result.valid
    return out, result


@pytest.mark.few(1)
def test_classes_are_numbers_with_labels_and_missing_values_stay(data: Path, rules: Path) -> None:
    out, result = masked(data, rules)
    frame, meta = read(out)
    code, lexeme = MISSING[data.suffix[1:]]
    assert frame["AGE"].tolist() == [age_class(age) for age in AGES]
    assert frame["REGION"].tolist() == [code if at == 7 else 1 + (at % 4) // 2 for at in range(SIZE)]
    labels = meta.variable_value_labels
    assert {name: one for name, one in labels["AGE"].items() if one != "refused"} == {
        1: "0-19",
        2: "20-39",
        3: "40-59",
        4: "60+",
    }
    assert labels["REGION"] == {1: "Upper", 2: "Lower", code: "no answer"}
    assert meta.column_names_to_labels["REGION"] == "Region"
    how = [(one.field, one.how) for one in result.treatments]
    assert how[1] == ("REGION", "level 1 of a hierarchy, written as numbers with labels")
    # the manifest has what numbers stand for, and check recodes the original again
    said = json.loads((data.with_name("m.manifest.json")).read_text())
    assert said["treatments"][1]["names"] == {"1": "Upper", "2": "Lower"}
    translated = data.with_name("m.rules.sch")
    assert "<!-- REGION: 1 is Upper, 2 is Lower -->" in translated.read_text()
    assert lexeme in {"9", ".b"}
    for book in (rules, translated):
        checked = masktron.check(out, book, manifest=data.with_name("m.manifest.json"), original=data)
        assert checked.complies, checked.problems
        assert not [one for one in checked.not_checked if "translated" in one]
    assert masktron.validate(out, translated).valid
    masktron.rerun(data.with_name("m.manifest.json"), data, again := data.with_name(f"again{data.suffix}"))
    assert read(again)[0].equals(frame)


def test_measures_and_formats_are_those_of_numbers_of_classes(rules: Path, tmp_path: Path) -> None:
    out, _ = masked(sav_of(tmp_path / "d.sav", numbers()), rules)
    _, meta = read(out)
    assert meta.variable_measure["AGE"] == "ordinal", "a scale has become classes in order"
    assert meta.variable_measure["REGION"] == "nominal"
    assert meta.original_variable_types["AGE"] == "F5.0"
    assert meta.missing_ranges["REGION"] == [{"lo": 8.0, "hi": 9.0}]
    assert meta.missing_ranges["AGE"] == [{"lo": 99.0, "hi": 99.0}]
    assert meta.variable_value_labels["AGE"][99.0] == "refused", "it means what it meant"
    assert 98.0 not in meta.variable_value_labels["AGE"], "98 is no age any more"


def test_another_reader_sees_the_labels_of_spss(rules: Path, tmp_path: Path) -> None:
    pyspssio = pytest.importorskip("pyspssio")
    out, _ = masked(sav_of(tmp_path / "d.sav", numbers()), rules)
    meta = pyspssio.read_metadata(str(out))
    assert meta["var_value_labels"]["REGION"] == {1.0: "Upper", 2.0: "Lower", 9.0: "no answer"}
    assert meta["var_measure_levels"]["AGE"] == "ordinal"
    frame, _ = pyspssio.read_sav(str(out))
    assert frame["AGE"].tolist() == [age_class(age) for age in AGES]


def test_another_reader_sees_the_labels_of_stata(rules: Path, tmp_path: Path) -> None:
    out, _ = masked(dta_of(tmp_path / "d.dta", numbers()), rules)
    opened: Any = StataReader(out)
    with opened as reader:
        sets = reader.value_labels()
    found = pd.read_stata(out, convert_categoricals=True)
    assert found["AGE"].astype(str).tolist() == [("0-19", "20-39", "40-59", "60+")[age_class(a) - 1] for a in AGES]
    assert {"Upper", "Lower", "no answer"} in [set(one.values()) for one in sets.values()]
    assert not any("98 and more" in one.values() for one in sets.values())


@pytest.mark.few(1)
def test_a_hierarchy_may_name_values_by_code_or_by_label(data: Path, rules: Path) -> None:
    by_label = read(masked(data, rules)[0])[0]["REGION"]
    codes = data.with_name("codes.csv")
    codes.write_text("1;Upper\nEast;Upper\n3;Lower\n4;Lower\n")
    by_both = read(masked(data, rules, recode={"REGION": str(codes)})[0])[0]["REGION"]
    assert by_label.tolist() == by_both.tolist()


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("1;Upper\nNorth;Lower\nEast;Upper\nSouth;Lower\nWest;Lower\n", "hierarchy-ambiguous"),
        ("North;Upper\nEast;Upper\nSouth;Lower\n", "value-without-class"),
    ],
)
def test_rows_that_do_not_agree_and_labels_without_a_row_are_refused(
    tmp_path: Path, rules: Path, rows: str, code: str
) -> None:
    data = sav_of(tmp_path / "d.sav", numbers())
    (tmp_path / "region.csv").write_text(rows)
    with refused(masktron.MasktronError, code):
        masked(data, rules)


def test_a_text_that_is_a_value_and_a_label_of_another_is_refused(tmp_path: Path, rules: Path) -> None:
    frame = numbers()
    labels = {"REGION": {1.0: "2", 2.0: "1", 3.0: "South", 4.0: "West"}}
    pyreadstat.write_sav(frame, tmp_path / "d.sav", variable_value_labels=labels)
    (tmp_path / "region.csv").write_text("1;Upper\n2;Upper\nSouth;Lower\nWest;Lower\n")
    with refused(UsageError, "hierarchy-ambiguous", field="REGION", values=("1", "2")):
        masked(tmp_path / "d.sav", rules)


def test_numbers_of_classes_pass_over_codes_for_missing_values(tmp_path: Path) -> None:
    """The eighth of the classes is 10 beside a range from 8 to 9, so that no record becomes missing."""
    values = [float(1 + at % 12 + (2 if at % 12 > 6 else 0)) for at in range(SIZE)]
    frame = numbers().assign(REGION=values)
    pyreadstat.write_sav(frame, tmp_path / "w.sav", missing_ranges={"REGION": [{"lo": 8.0, "hi": 9.0}]})
    out, _ = masked(tmp_path / "w.sav", write_rules(tmp_path / "w.sch", "B <= A"), recode={"REGION": "width:2"})
    found, meta = read(out)
    place = [int(value) // 2 + 1 for value in values]
    assert found["REGION"].tolist() == [one if one < 8 else one + 2 for one in place]
    assert meta.variable_value_labels["REGION"][7] == "12-13"
    assert meta.variable_value_labels["REGION"][10] == "14-15"


@pytest.mark.full
def test_no_numbers_for_classes_beside_a_range_without_an_end_are_refused(tmp_path: Path) -> None:
    frame = numbers().assign(REGION=[-float(1 + at % 4) for at in range(SIZE)])
    highest = {"REGION": [{"lo": 2.0, "hi": float("inf")}]}
    pyreadstat.write_sav(frame, tmp_path / "w.sav", missing_ranges=highest)
    with refused(UsageError, "cannot-hold"):
        masked(tmp_path / "w.sav", write_rules(tmp_path / "w.sch", "B <= A"), recode={"REGION": "width:2"})


def test_numbers_for_labels_stay_numbers_and_old_labels_of_others_go(data: Path, rules: Path) -> None:
    numbers_ = data.with_name("numbers.csv")
    numbers_.write_text("1;1\n2;2\n3;2\n4;5\n")
    frame, meta = read(masked(data, rules, recode={"REGION": str(numbers_)})[0])
    code, _ = MISSING[data.suffix[1:]]
    assert frame["REGION"].tolist() == [code if at == 7 else (1, 2, 2, 5)[at % 4] for at in range(SIZE)]
    assert meta.variable_value_labels["REGION"] == {1: "North", code: "no answer"}, "2 is East or South now"


def test_labels_of_classes_are_not_said_to_be_copied(data: Path, rules: Path) -> None:
    note = "labels of values that no released record has are copied, for {}: look at them"
    _, result = masked(data, rules, recode={"AGE": "breaks:0,20,40,60,90"})
    copied = data.suffix == ".sav"  # 99 means missing there, is labelled as in the original, and no record has it
    assert (note.format("AGE") in result.notes) == copied
    _, result = masked(data, rules, recode={}, replace=True)
    assert note.format("AGE") in result.notes


def test_tails_keep_the_labels_of_values_that_stay(data: Path, rules: Path) -> None:
    frame, meta = read(masked(data, rules, recode={"AGE": "top:70"})[0])
    assert set(frame["AGE"][np.array(AGES) < 70]) == {age for age in AGES if age < 70}
    assert "98 and more" not in meta.variable_value_labels.get("AGE", {}).values()


def test_labelled_texts_become_texts_of_classes(tmp_path: Path, rules: Path) -> None:
    job = tmp_path / "job.csv"
    job.write_text("farmer;country\nminer;country\nclerk;21\n")
    frame, meta = read(masked(sav_of(tmp_path / "d.sav", numbers()), rules, recode={"JOB": str(job)})[0])
    assert frame["JOB"].tolist() == [("country", "country", "21")[at % 3] for at in range(SIZE)]
    assert meta.variable_value_labels["JOB"] == {"21": "clerk"}


def test_a_label_that_spss_would_cut_is_refused(tmp_path: Path, rules: Path) -> None:
    data = sav_of(tmp_path / "d.sav", numbers())
    (tmp_path / "region.csv").write_text(HIERARCHY.replace("Upper", "U" * 121))
    with refused(UsageError, "cannot-hold", format="SPSS"):
        masked(data, rules)


def test_suppressed_cells_are_system_missing_and_labels_stay(data: Path, rules: Path) -> None:
    frame, meta = read(masked(data, write_rules(rules, "B <= A"), recode={"AGE": "breaks:0,40"}, key_k=3)[0])
    assert frame["REGION"].isna().any() or frame["AGE"].isna().any() or (frame["JOB"] == "").any()
    code, _ = MISSING[data.suffix[1:]]
    assert meta.variable_value_labels["REGION"] == {**NAMES, code: "no answer"}
    assert set(frame["AGE"].dropna()) == {1, 2}


@pytest.mark.few(1)
@pytest.mark.parametrize("drawn", [{"pram": {"REGION": "change:0.3"}}, {"swap": {"regions": ["REGION"]}}])
def test_drawn_and_swapped_fields_keep_their_labels(data: Path, rules: Path, drawn: dict[str, Any]) -> None:
    key = bytes(range(32))
    frame, meta = read(masked(data, rules, recode={"AGE": "breaks:0,40"}, secret=key, **drawn)[0])
    code, _ = MISSING[data.suffix[1:]]
    assert meta.variable_value_labels["REGION"] == {**NAMES, code: "no answer"}
    assert Counter(map(str, frame["REGION"])).keys() == Counter(map(str, read(data)[0]["REGION"])).keys()
    assert frame["REGION"].tolist() != read(data)[0]["REGION"].tolist()


@pytest.mark.few(1)
def test_classes_of_a_masked_release_are_drawn_with_their_labels(data: Path, rules: Path) -> None:
    out, _ = masked(data, rules, pram={"REGION": "change:0.3"}, secret=bytes(range(32)))
    code, _ = MISSING[data.suffix[1:]]
    assert read(out)[1].variable_value_labels["REGION"] == {1: "Upper", 2: "Lower", code: "no answer"}
    checked = masktron.check(out, rules, manifest=data.with_name("m.manifest.json"), original=data)
    assert checked.complies, checked.problems


def test_recode_searches_hierarchies_that_name_labels(data: Path, rules: Path) -> None:
    path = data.with_name("region.csv")
    roles = {"JOB": "untouched", "AGE": "untouched", "A": "confidential", "B": "confidential"}
    found = masktron.recode(data, rules, {"REGION": path}, key_k=2, suppressed="2", roles=roles)
    assert found.recode == {} or set(found.recode) == {"REGION"}


def test_dates_become_numbers_of_classes(tmp_path: Path) -> None:
    born = [f"19{50 + at % 40}-03-01" for at in range(SIZE)]
    frame = numbers().assign(BORN=pd.to_datetime(pd.Series(born)).dt.date)
    (tmp_path / "born.csv").write_text("".join(f"{day};{day[:3]}0s;*\n" for day in sorted(set(born))))
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    for suffix, write in (("sav", pyreadstat.write_sav), ("dta", pyreadstat.write_dta)):
        write(frame, tmp_path / f"d.{suffix}")
        more = {"roles": dict.fromkeys(("AGE", "REGION", "JOB", "BORN"), "quasi-identifier")}
        (tmp_path / "m.manifest.json").unlink(missing_ok=True)
        out, _ = masked(tmp_path / f"d.{suffix}", rules, recode={"BORN": str(tmp_path / "born.csv")}, **more)
        found, meta = read(out)
        assert found["BORN"].tolist() == [int(day[2]) - 4 for day in born]
        assert meta.variable_value_labels["BORN"] == {1: "1950s", 2: "1960s", 3: "1970s", 4: "1980s"}


def test_dates_that_mean_missing_are_not_made_numbers(tmp_path: Path) -> None:
    days = pd.Series([f"195{at % 9}-03-01" for at in range(SIZE)])
    seconds = (pd.to_datetime(days) - pd.Timestamp("1582-10-14")).dt.total_seconds()
    frame = numbers().assign(BORN=seconds)
    pyreadstat.write_sav(
        frame, tmp_path / "d.sav", variable_format={"BORN": "DATE11"}, missing_ranges={"BORN": [float(seconds[3])]}
    )
    (tmp_path / "born.csv").write_text("".join(f"{day};1950s\n" for day in sorted(set(days))))
    roles = dict.fromkeys(("AGE", "REGION", "JOB", "BORN"), "quasi-identifier")
    with refused(UsageError, "cannot-hold"):
        masked(
            tmp_path / "d.sav",
            write_rules(tmp_path / "r.sch", "B <= A"),
            recode={"BORN": str(tmp_path / "born.csv")},
            roles=roles,
        )


def test_a_set_of_labels_that_variables_share_stays_with_the_others(tmp_path: Path) -> None:
    """As Stata writes it: BORN_IN and REGION have one set, of which only REGION gets another one."""
    frame = numbers().assign(BORN_IN=[float(one) for one in REGIONS])[["REGION", "BORN_IN", "A", "B"]]
    frame = frame.astype({"REGION": "int32", "BORN_IN": "int32"})
    path = tmp_path / "d.dta"
    labels = {"REGION": NAMES, "BORN_IN": NAMES}
    pyreadstat.write_dta(frame, path, variable_value_labels=labels, version=10)
    content = path.read_bytes()
    # the names of sets stand in the header, in the order of the variables: let both have the first
    first, second = (content.index(name.ljust(33, b"\0"), at) for name, at in _names_of_sets(content))
    content = content[:second] + content[first : first + 33] + content[second + 33 :]
    path.write_bytes(content)
    (tmp_path / "region.csv").write_text(HIERARCHY)
    roles = dict.fromkeys(("REGION", "BORN_IN"), "quasi-identifier")
    recode = {"REGION": str(tmp_path / "region.csv")}
    out, _ = masked(path, write_rules(tmp_path / "r.sch", "B <= A"), recode=recode, roles=roles)
    meta = read(out)[1]
    assert meta.variable_value_labels == {"REGION": {1: "Upper", 2: "Lower"}, "BORN_IN": NAMES}


def _names_of_sets(content: bytes) -> list[tuple[bytes, int]]:
    """Return the names of the sets of labels of the first two of four variables of a file of release 114."""
    start = 4 + 2 + 4 + 81 + 18 + 4 + 4 * 33 + 2 * 5 + 4 * 49
    return [(content[start + at * 33 :][:33].split(b"\0")[0], start + at * 33) for at in (0, 1)]
