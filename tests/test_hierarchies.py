"""Hierarchies are read, made and written; what is no hierarchy is refused with its line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy, prefixes, read_hierarchy, widths, written
from refusals import refused

ARX = "34;20-60;*\n45;20-60;*\n66;>60;*\n70;>60;*\n"
"""The hierarchy of ages of ARX's first example."""


def read(path: Path, text: str, *, header: bool = False) -> Hierarchy:
    (path / "age.csv").write_text(text, encoding="utf-8")
    return read_hierarchy(path / "age.csv", "Age", header=header)


def rows(hierarchy: Hierarchy) -> list[str]:
    return written(hierarchy).decode().splitlines()


@pytest.mark.parametrize(
    ("text", "header"),
    [
        (ARX, False),
        ("\ufeff" + ARX.replace("\n", "\r\n"), False),
        (ARX.replace(";", "\t"), False),
        (ARX.replace(";", ","), False),
        (ARX.replace(";", " ; ") + "\n\n66;>60;*\n", False),
        ('"34";"20-60";"*"\n' + ARX[11:], False),
        ("Age;wide;all\n" + ARX, True),
    ],
    ids=["plain", "mark", "tab", "comma", "spaces", "quotes", "header"],
)
def test_all_spellings_are_one_hierarchy(tmp_path: Path, text: str, header: bool) -> None:
    found = read(tmp_path, text, header=header)
    assert (found.field, found.height) == ("Age", 2)
    assert rows(found) == ARX.splitlines()
    assert [found.recoding(level).label_of("66") for level in range(3)] == ["66", ">60", "*"]
    assert found.recoding(1).label_of("67") is None
    assert [one.label for one in found.recoding(1).classes] == ["20-60", ">60"]


def test_a_separator_within_labels_does_not_mislead(tmp_path: Path) -> None:
    found = read(tmp_path, "1;a, b;*\n2;c, d;*\n3;e, f;*\n")
    assert found.recoding(1).label_of("2") == "c, d"
    again = read(tmp_path, written(found).decode())
    assert again == found
    assert read(tmp_path, written(Hierarchy("Age", ({"1": "1"}, {"1": "a;b"}))).decode()).levels[1] == {"1": "a;b"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n\n", ""),
        ("34\n45\n", ":1"),
        ("34;a;*\n45;a\n", ":2"),
        ("34;a;*\n45;;*\n", ":2"),
        ("34;a;*\n;a;*\n", ":2"),
        ("34;a;*\n45;a\x07;*\n", ":2"),
        ("34;a;*\n45;a;*\n34;b;*\n", ":3"),
        ("34;a;x;*\n\n45;a;y;*\n", ":3"),
        ("34;a;x;*\n45;b;x;+\n", ":2"),
        ('34;"a;*\n45;a;*\n', ":2"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, text: str, line: str) -> None:
    with refused(UsageError, "bad-hierarchy", field="Age", where=f"{tmp_path / 'age.csv'}{line}"):
        read(tmp_path, text)


def test_levels_that_are_not_there(tmp_path: Path) -> None:
    found = read(tmp_path, ARX)
    for level in (-1, 3):
        with refused(UsageError, "unknown-name", name=str(level)):
            found.recoding(level)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"\xe4;b\n")
    for name, code in (("none.csv", "cannot-read"), ("latin.csv", "not-utf-8")):
        with refused(UsageError, code):
            read_hierarchy(tmp_path / name, "Age")


def test_intervals_double_and_are_listed_whole() -> None:
    found = widths("Age", ["17", "33"], 5)
    assert list(found.levels[0]) == [str(age) for age in range(40)]
    assert [labels["17"] for labels in found.levels] == ["17", "15-19", "10-19", "0-19", "*"]
    assert [labels["20"] for labels in found.levels] == ["20", "20-24", "20-29", "20-39", "*"]
    assert set(widths("Age", ["17"], 1, 1).levels[1].values()) == {"*"}
    assert widths("Age", ["17"], 1, 3).levels[1]["17"] == "17"


def test_intervals_of_numbers_that_are_not_whole_or_below_0() -> None:
    found = widths("X", ["7", "-1.5", "2.25", ".5"], Fraction(5, 2), 3)
    assert rows(found) == [
        "-1.5;[-2.5, 0);[-5, 0);*",
        ".5;[0, 2.5);[0, 5);*",
        "2.25;[0, 2.5);[0, 5);*",
        "7;[5, 7.5);[5, 10);*",
    ]
    assert rows(widths("X", ["-1", "3"], 5, 2, origin=1))[0] == "-4;[-4, 1);*"
    assert widths("X", ["1"], Fraction(1, 3), 3).levels[1]["1"] == "[1, 4/3)"
    assert widths("X", ["0.02"], Fraction(1, 20), 3).levels[1]["0.02"] == "[0, 0.05)"


def test_whole_numbers_far_apart_are_not_filled_up() -> None:
    found = widths("Income", ["100000", "5", "007"], 1000, 3)
    assert list(found.levels[0]) == ["5", "007", "100000"]
    assert list(widths("Income", ["100000", "5"], 1000, 3).levels[0]) == ["5", "100000"]
    assert len(widths("Income", ["9999", "5"], 1000, 3).levels[0]) == 10_000


def test_codes_by_their_beginnings() -> None:
    found = prefixes("NACE", ["47.11", "47.19", "01.1", "5", "47.11"], [3, 2])
    assert rows(found) == ["01.1;01.1;01;*", "47.11;47.1;47;*", "47.19;47.1;47;*", "5;5;5;*"]
    assert rows(prefixes("ISCO", ["C-1", "C-2"], [1])) == ["C-1;C;*", "C-2;C;*"]
    assert rows(prefixes("ISCO", ["12"], [])) == ["12;*"]


@pytest.mark.parametrize("lengths", [[2, 2], [2, 3], [1, 0], [-1]])
def test_lengths_that_do_not_fall(lengths: list[int]) -> None:
    with refused(UsageError, "bad-value"):
        prefixes("NACE", ["47.11"], lengths)


def test_made_hierarchies_nest(tmp_path: Path) -> None:
    made = (
        widths("Age", map(str, range(-9, 30)), 3, 6, origin=2),
        widths("Age", ["0.5", "7.25", "19.75"], Fraction(3, 4), 5),
        prefixes("Age", ["1.2.3.4", "1.2", "1.23.4", "12-3", "1"], [4, 3, 2, 1]),
    )
    for one in made:
        assert read(tmp_path, written(one).decode()) == one


def test_what_no_hierarchy_can_be_made_of() -> None:
    for make, code in (
        (lambda: widths("Age", ["17", "secret"], 5), "no-hierarchy"),
        (lambda: widths("Age", ["17"], 0), "bad-value"),
        (lambda: widths("Age", ["17"], 5, 0), "bad-value"),
        (lambda: widths("Age", [], 5), "no-hierarchy"),
        (lambda: prefixes("Age", [], [1]), "no-hierarchy"),
    ):
        with refused(UsageError, code) as caught:
            make()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values", "names"),
    [
        ("Age;wide;all\n" + ARX, {"34", "45"}, True),
        ("Age;wide\n34;20-60\n", {"34"}, True),
        ("Age;wide;all\n" + ARX, {"34", "Age"}, False),
        ("17;10-19;*\n" + ARX, {"34"}, False),
        ("20;20-60;+\n34;20-60;+\n", {"34"}, False),
        ("17;10-19\n", {"34"}, False),
    ],
    ids=["names", "one row", "a value", "any", "a label of others", "nothing else"],
)
def test_a_first_row_that_names_the_levels_is_refused(
    tmp_path: Path, text: str, values: set[str], names: bool
) -> None:
    found, path = read(tmp_path, text), tmp_path / "age.csv"
    if not names:
        found.require_no_names(path, values)
        return
    with refused(UsageError, "hierarchy-has-header", field="Age") as caught:
        found.require_no_names(path, values)
    assert caught.value.where == str(path)
    assert "wide" not in str(caught.value), "no label is shown"
