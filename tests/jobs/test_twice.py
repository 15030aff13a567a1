"""`assess --against`: what two releases tell together, against what somebody computes from the published files."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lxml import etree
from numpy.typing import NDArray

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron import memory
from masktron.errors import UsageError
from masktron.sources.xml.xml_source import XmlSource
from nested_survey import ROLES, composition, made, masked_values, parsed
from refusals import refused
from schema_files import conforms

type Row = dict[str, object]

COUNTS = re.compile(
    r"of ([\d,]+) original values, .*? determine ([\d,]+); .*?, ([\d,]+) are determined, and ([\d,]+) are"
)


def made_rows(n: int = 60) -> list[Row]:
    return [{"Id": 100 + at, **row} for at, row in enumerate(numbers(n))]


class Releases:
    """A folder of originals and of what was made of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rules = write_rules(folder / "rules.sch", "A + B = T")

    def release(self, name: str, rows: list[Row], **settings: Any) -> None:
        data = write_data(self.folder / f"{name}.data.xml", rows)
        masktron.mask(
            data, self.rules, self.folder / f"{name}.xml", **{"roles": {"Id": "record-id"}, "k": 3, **settings}
        )

    def compare(self, name: str, earlier: str, **given: Any) -> masktron.AssessResult:
        return masktron.assess(
            self.folder / f"{name}.xml",
            self.folder / f"{name}.data.xml",
            manifest=self.folder / f"{name}.manifest.json",
            **{
                "measures": ["differencing"],
                "against": self.folder / f"{earlier}.xml",
                "against_original": self.folder / f"{earlier}.data.xml",
                **given,
            },
        )

    def read(self, file: str, name: str) -> dict[str, float]:
        """A field of a file, by the key of its records."""
        records = etree.parse(self.folder / file).getroot().findall("Record")
        return {one.findtext("Id"): float(one.findtext(name)) for one in records}

    def attacked(self, name: str, *earlier: str, field: str) -> tuple[list[bool], NDArray[np.float64]]:
        """Solve the sums of all releases for every respondent: who is determined, and how far the answer is off.

        Groups are records with one published number, and their sums that number times their size; no number of this
        field comes from two groups.
        """
        releases = (*earlier, name)
        truth = {key: value for one in releases for key, value in self.read(f"{one}.data.xml", field).items()}
        places = {key: at for at, key in enumerate(truth)}
        rows, sums = [], []
        for release in releases:
            published = self.read(f"{release}.xml", field)
            for value in {*published.values()}:
                members = [key for key, own in published.items() if own == value]
                rows.append(np.isin(np.arange(len(truth)), [places[key] for key in members]).astype(float))
                sums.append(value * len(members))
        matrix = np.array(rows)
        answer, _, rank, _ = np.linalg.lstsq(matrix, np.array(sums), rcond=None)
        _, _, right = np.linalg.svd(matrix)
        free = np.abs(right[rank:]).max(axis=0, initial=0.0)
        return (free < 1e-9).tolist(), np.abs(answer - np.array([*truth.values()]))


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    found = Releases(tmp_path_factory.mktemp("releases"))
    rows = made_rows()
    found.release("first", rows)
    found.release("second", rows, k=4)
    found.release("third", rows, k=5)
    found.release("less", rows[1:])
    return found


def counts(result: masktron.AssessResult) -> tuple[int, ...]:
    [note] = [note for note in result.notes if note.startswith("differencing: ")]
    found = COUNTS.search(note)
    assert found is not None, note
    return tuple(int(one.replace(",", "")) for one in found.groups())


def test_the_same_release_twice_tells_nothing_more(releases: Releases) -> None:
    result = releases.compare("first", "first")
    assert (result["differencing"], counts(result)) == (0.0, (180, 0, 0, 0))


def test_memory_bounds_the_columns_of_earlier_releases_too(
    releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = releases.compare("second", "first").as_dict()
    monkeypatch.setattr(memory, "COLUMN_CELL", 300_000)
    where: list[object] = []
    real = XmlSource.records
    monkeypatch.setattr(
        XmlSource, "records", lambda *own, **how: where.append(how.get("storage")) or real(*own, **how)
    )
    assert releases.compare("second", "first", memory="400MB").as_dict() == expected
    assert len(where) == 6, "two files and two originals, and each original once more for what groups had"
    assert None not in where


@pytest.mark.parametrize("other", ["second", "less"])
def test_another_k_and_one_record_less_tell_what_an_attacker_computes(releases: Releases, other: str) -> None:
    result = releases.compare(other, "first")
    values, solvable, _, given_away = counts(result)
    determined, near = 0, 0
    for field in ("A", "B", "T"):
        known, off = releases.attacked(other, "first", field=field)
        deviation = np.std([*releases.read("first.data.xml", field).values()])
        determined += sum(known)
        near += sum(one and error <= 0.1 * deviation for one, error in zip(known, off, strict=True))
    assert values == 180
    assert solvable == determined > 0
    assert 0 < given_away <= near, "an attacker's answer is nearer than the interval in which it must be"
    assert result["differencing"] == pytest.approx(100 * given_away / values)
    assert result.figures[0].field in ("A", "B", "T")


@pytest.mark.full
def test_respondents_are_put_together_by_their_key_or_by_all_they_said(tmp_path: Path, releases: Releases) -> None:
    by_key = releases.compare("less", "first")
    assert any("59 respondents are in both releases, put together by Id" in note for note in by_key.notes)
    own = Releases(tmp_path)
    rows = [{name: row[name] for name in ("A", "B", "T")} for row in made_rows()]
    own.release("first", rows, roles={})
    own.release("turned", rows[:0:-1], roles={})
    result = own.compare("turned", "first")
    assert any("59 respondents are in both releases" in note for note in result.notes)
    assert counts(result) == counts(by_key)
    own.release("numbered", [{**row, "Id": 160 - at} for at, row in enumerate(made_rows())])
    own.release("other", made_rows())
    turned = own.compare("numbered", "other")
    assert not any("put together by Id" in note for note in turned.notes), "numbers that are given anew say nothing"
    assert counts(turned) == (180, 0, 0, 0)


@pytest.mark.full
def test_an_answer_that_was_corrected_is_another_value(tmp_path: Path) -> None:
    own = Releases(tmp_path)
    rows = made_rows()
    own.release("first", rows)
    own.release("second", [{**rows[0], "B": 999, "T": int(str(rows[0]["A"])) + 999}, *rows[1:]])
    assert counts(own.compare("second", "first"))[0] == 182


@pytest.mark.full
def test_a_field_that_one_release_shows_unmasked_is_given_away(tmp_path: Path) -> None:
    own = Releases(tmp_path)
    rows = [{**row, "X": 3 * at + 0.5} for at, row in enumerate(made_rows())]
    own.release("first", rows, roles={"Id": "record-id", "X": "untouched"})
    own.release("second", rows)
    result = own.compare("second", "first")
    assert counts(result) == (240, 60, 60, 60)
    assert result.figures[0].field == "X"
    assert own.compare("first", "second")["differencing"] == 25.0


@pytest.mark.full
def test_weighted_sums_are_those_of_weighted_values(tmp_path: Path) -> None:
    own = Releases(tmp_path)
    rows = [{**row, "W": 1 + at % 3} for at, row in enumerate(made_rows())]
    roles = {"Id": "record-id", "W": "weight"}
    own.release("first", rows, roles=roles)
    own.release("second", rows[:-1], roles=roles)
    weighted = counts(own.compare("second", "first"))
    assert weighted[1] > 0
    assert weighted[3] > 0
    heavy = [{**row, "W": 1000} for row in made_rows()]
    for name, own_roles in (("heavy", roles), ("light", {"Id": "record-id", "W": "untouched"})):
        own.release(name, heavy, roles=own_roles)
        own.release(f"{name}-less", heavy[1:], roles=own_roles)
    counted = counts(own.compare("heavy-less", "heavy"))
    assert counted == counts(own.compare("light-less", "light"))
    assert counted[3] > 0
    own.release("without", rows[1:], roles={"Id": "record-id", "W": "untouched"})
    result = own.compare("without", "first")
    assert np.isnan(result["differencing"])
    assert any(note.startswith("differencing says nothing of A, B, T") for note in result.notes)


def published(own: Releases, name: str, columns: dict[str, list[Any]], **settings: Any) -> None:
    """Mask a table of amounts, in its order."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (own.folder / f"{name}.data.csv").write_text("\n".join(lines) + "\n")
    given: dict[str, Any] = {"k": 2, "numeric": ["A"], "order": "keep", **settings}
    masktron.mask(own.folder / f"{name}.data.csv", own.rules, own.folder / f"{name}.csv", **given)


def compared(own: Releases, name: str, earlier: str) -> masktron.AssessResult:
    return masktron.assess(
        own.folder / f"{name}.csv",
        own.folder / f"{name}.data.csv",
        manifest=own.folder / f"{name}.manifest.json",
        against=own.folder / f"{earlier}.csv",
        against_original=own.folder / f"{earlier}.data.csv",
        measures=["differencing"],
    )


@pytest.fixture
def amounts(tmp_path: Path) -> Releases:
    own = Releases(tmp_path)
    write_rules(own.rules, "A >= 0")
    return own


def test_other_weights_of_the_same_groups_are_no_figure_of_0(amounts: Releases) -> None:
    rng = np.random.default_rng(3)
    values = [1000 * (at // 2) + int(own) for at, own in enumerate(rng.integers(0, 99, 40))]
    ids = [f"p{at}" for at in range(40)]
    weights = rng.integers(2, 9, (2, 40)).tolist()
    roles = {"Id": "untouched", "W": "weight"}
    for name, own in (("first", weights[0]), ("same", weights[0]), ("second", weights[1])):
        published(amounts, name, {"Id": ids, "W": own, "A": values}, roles=roles)
    result = compared(amounts, "second", "first")
    assert np.isnan(result["differencing"])
    assert any("says nothing of A: respondents of both releases have other weights" in one for one in result.notes)
    assert compared(amounts, "same", "first")["differencing"] == 0.0


def test_another_unit_of_the_same_numbers_is_no_figure_of_0(amounts: Releases) -> None:
    """Next month's numbers of the same respondents are other values: nothing says that they are the same people's."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 99999, 40)
    ids = [f"p{at}" for at in range(40)]
    published(amounts, "first", {"Id": ids, "A": values.tolist()}, roles={"Id": "untouched"})
    for name, own, said in (
        ("yearly", 12 * values, "in another unit or rounded otherwise"),
        ("partly", np.where(np.arange(40) < 4, 12 * values, values), "in another unit or rounded otherwise"),
        ("next", values + rng.integers(0, 20000, 40), "most respondents of both releases have other values"),
    ):
        published(amounts, name, {"Id": ids, "A": own.tolist()}, k=3, roles={"Id": "untouched"})
        result = compared(amounts, name, "first")
        assert np.isnan(result["differencing"])
        assert any(said in one for one in result.notes)


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Releases, dict[str, list[Any]]]:
    """A wave of a survey, and its columns: the next one has lost the first respondent."""
    own = Releases(tmp_path_factory.mktemp("waves"))
    write_rules(own.rules, "A >= 0")
    rng = np.random.default_rng(11)
    n = 80
    columns: dict[str, list[Any]] = {"Id": [*range(1, n + 1)], "Wave": ["w1"] * n}
    columns |= {name: rng.normal(2000, 200, n).round(1).tolist() for name in "ABC"}
    for at, name in enumerate("ABC"):
        columns[name][10 * at + 7] = columns[name][10 * at + 6]  # no field but the ids names the records
    published(own, "first", columns, **WAVES)
    return own, columns


WAVES: dict[str, Any] = {"k": 3, "numeric": ["A", "B", "C"], "roles": {"Id": "untouched", "Wave": "untouched"}}


def after(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: own[1:] for name, own in columns.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("what", "ids", "by"),
    [
        ("as they were", [*range(2, 81)], "put together by Id"),
        ("counted anew from 1", [*range(1, 80)], "put together by all fields that both releases mask"),
        ("no number of the earlier one", [*range(9001, 9080)], "put together by all fields that both releases mask"),
    ],
)
def test_a_key_that_names_others_is_not_believed(
    what: str, ids: list[int], by: str, waves: tuple[Releases, dict[str, list[Any]]]
) -> None:
    del what
    own, columns = waves
    name = f"ids{ids[0]}"
    published(own, name, {**after(columns), "Id": ids, "Wave": ["w2"] * 79}, **WAVES)
    result = compared(own, name, "first")
    assert any(by in note for note in result.notes), result.notes
    assert counts(result)[1] > 0
    assert result["differencing"] > 0


def test_a_key_of_others_beside_other_values_is_no_figure(waves: tuple[Releases, dict[str, list[Any]]]) -> None:
    """The ids are counted anew, and each record has other values in two fields: nobody knows who is who."""
    own, columns = waves
    rest, rng = after(columns), np.random.default_rng(7)
    other = {name: rng.normal(2000, 200, 79).round(1).tolist() for name in "AB"}
    moved = {**rest, "Id": [*range(1, 80)], "Wave": ["w2"] * 79, **other}
    published(own, "moved", moved, **WAVES)
    result = compared(own, "moved", "first")
    assert np.isnan(result["differencing"])
    assert any("says nothing of A, B, C: most respondents" in note for note in result.notes)
    published(own, "none", {**moved, "Id": [*range(9001, 9080)]}, **WAVES)
    result = compared(own, "none", "first")
    assert np.isnan(result["differencing"])
    assert any("differencing has no figure: no field names" in note for note in result.notes)


@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_what_was_rounded_anew_is_one_value_with_an_error(
    share: float, waves: tuple[Releases, dict[str, list[Any]]]
) -> None:
    """Rounded to units in part of the cells, where a deviation is 200 of them: who left is still told."""
    own, columns = waves
    rounded = after(columns)
    rng = np.random.default_rng(5)
    for field in "BC":
        cells = rng.random(79) < share
        rounded[field] = [round(one) if at else one for one, at in zip(rounded[field], cells, strict=True)]
    published(own, f"rounded{share}", rounded, **WAVES)
    result = compared(own, f"rounded{share}", "first")
    values, solvable, _, near = counts(result)
    assert values == 240, "a value and what it is rounded to are one"
    assert solvable >= near > 0
    # the one who left is the difference of the sums of his group, with and without him, in each field
    assert near >= 2


@pytest.mark.full
def test_another_release_never_lowers_what_a_pair_tells(amounts: Releases) -> None:
    """Nothing is known of what medians tell beside means."""
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 99999, 60).tolist() for name in "AB"}
    published(amounts, "first", columns, k=4, numeric=["A", "B"], aggregator="mean")
    published(amounts, "median", columns, k=4, numeric=["A", "B"], aggregator="median")
    published(amounts, "half", columns, k=4, aggregator="median", roles={"B": "untouched"})
    published(amounts, "second", columns, k=3, numeric=["A", "B"], aggregator="mean")

    def told(*others: str) -> masktron.AssessResult:
        return masktron.assess(
            amounts.folder / "second.csv",
            amounts.folder / "second.data.csv",
            manifest=amounts.folder / "second.manifest.json",
            against=[amounts.folder / f"{name}.csv" for name in others],
            measures=["differencing"],
        )

    alone = told("first")
    assert alone["differencing"] > 0
    for other, without in (("median", "A, B"), ("half", "A")):
        result = told("first", other)
        assert any(f"differencing of {without} is too low" in one for one in result.notes)
        assert result["differencing"] >= alone["differencing"], "never less than a pair tells"


def test_medians_are_values_and_no_sums(amounts: Releases) -> None:
    columns = {"A": np.random.default_rng(3).integers(0, 99999, 60).tolist()}
    published(amounts, "first", columns, k=3, aggregator="median")
    published(amounts, "second", columns, k=5, aggregator="mean")
    for pair in (("second", "first"), ("first", "second")):
        result = compared(amounts, *pair)
        assert np.isnan(result["differencing"])
        assert any("says nothing of A: one of the releases publishes no means" in one for one in result.notes)


def test_what_one_release_shows_is_given_away_whatever_the_other_publishes(amounts: Releases) -> None:
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 99999, 60).tolist() for name in "AB"}
    published(amounts, "first", columns, numeric=["A", "B"], aggregator="median")
    published(amounts, "second", columns, numeric=["A"], roles={"B": "untouched"}, aggregator="median")
    for pair in (("second", "first"), ("first", "second")):
        assert counts(compared(amounts, *pair)) == (60, 60, 60, 60)


@pytest.mark.full
def test_without_ids_one_corrected_field_hides_nobody_and_two_leave_no_figure(amounts: Releases) -> None:
    rng = np.random.default_rng(3)
    columns = {name: [*rng.integers(100, 700, 59).tolist(), 500] for name in "ABC"}
    for own in columns.values():
        own[1] = own[0]  # nothing names the records
    more = {name: [*own, 350] for name, own in columns.items()}
    updated = {**more, "C": [101 + one * 7919 % 613 for one in more["C"]]}
    both = {**updated, "B": [one + 1 for one in more["B"]]}
    for name, own, k in (("first", columns, 3), ("more", more, 4), ("updated", updated, 4), ("both", both, 4)):
        published(amounts, name, own, k=k, numeric=["A", "B", "C"])
    assert counts(compared(amounts, "more", "first"))[0] == 183
    one = compared(amounts, "updated", "first")
    assert any("put together by all fields that both originals have, or all but one" in note for note in one.notes)
    # those of A and B once; 2 of 60 records are alike in A and B; of C, which changed in most, there is no figure
    assert 122 <= counts(one)[0] <= 122 + 6
    assert any("says nothing of C: most respondents" in note for note in one.notes)
    assert one["differencing"] > 0
    two = compared(amounts, "both", "first")
    assert np.isnan(two["differencing"])
    assert any("differencing has no figure: no field names the records" in note for note in two.notes)


@pytest.mark.full
def test_what_is_drawn_is_not_covered_and_said_so(tmp_path: Path, releases: Releases) -> None:
    own = Releases(tmp_path)
    own.release("first", made_rows())
    own.release("drawn", made_rows(), method="noise")
    result = own.compare("drawn", "first")
    assert np.isnan(result["differencing"])
    assert any("differencing says nothing of A, B, T" in note and "draws" in note for note in result.notes)


def test_several_earlier_releases_tell_together_what_an_attacker_computes(releases: Releases) -> None:
    names = ["first", "third", "less"]
    earlier = [releases.folder / f"{name}.xml" for name in names]
    originals = [releases.folder / f"{name}.data.xml" for name in names]
    alone = {name: releases.compare("second", name) for name in names}
    result = releases.compare("second", "first", against=earlier, against_original=originals)
    told = [note for note in result.notes if note.startswith("differencing: of all 4 releases together")]
    found = COUNTS.search(*told)
    assert found is not None
    values, solvable, _, given_away = (int(one.replace(",", "")) for one in found.groups())
    known = [one for field in "ABT" for one in releases.attacked("second", *names, field=field)[0]]
    assert (values, solvable) == (len(known), sum(known))
    assert solvable > max(counts(one)[1] for one in alone.values())
    assert result["differencing"] == pytest.approx(100 * given_away / values)
    assert result["differencing"] >= max(one["differencing"] for one in alone.values())
    assert result.against == tuple(path.as_posix() for path in earlier)
    for path, name in zip(earlier, names, strict=True):
        [note] = [note for note in alone[name].notes if note.startswith("differencing: ")]
        assert f"{path.as_posix()}: {note}" in result.notes
    conforms(result.as_dict(), "assess")
    with refused(UsageError, "bad-value", given=1):
        releases.compare("second", "first", against=earlier)


def test_a_record_that_only_earlier_releases_have_is_one_unknown(releases: Releases) -> None:
    """The first record is in two earlier releases of one original, and not in the one at hand."""
    given: dict[str, Any] = {
        "against": [releases.folder / f"{name}.xml" for name in ("first", "third")],
        "against_original": [releases.folder / "first.data.xml"] * 2,
    }
    result = releases.compare("less", "first", **given)
    [note] = [note for note in result.notes if note.startswith("differencing: of all 3 releases together")]
    assert "of 180 original values" in note
    known = [one for field in "ABT" for one in releases.attacked("less", "first", "third", field=field)[0]]
    assert f"determine {sum(known):,};" in note


def test_two_tables_of_one_file_are_not_the_same_original(tmp_path: Path) -> None:
    """Who is who is told by their records, as for two files: not by where they stand."""
    own = Releases(tmp_path)
    rows = made_rows()
    new: list[Row] = [{"Id": 900 + at, "A": at % 7, "B": at % 5, "T": at % 7 + at % 5} for at in range(30)]
    files = {"first": rows, "second": [*rows[30:], *new]}
    with closing(sqlite3.connect(tmp_path / "both.sqlite")) as connection:
        for name, part in files.items():
            pd.DataFrame(part).to_sql(name, connection, index=False)
    data = tmp_path / "both.sqlite"
    for name in files:
        masktron.mask(data, own.rules, tmp_path / f"{name}.sqlite", k=3, roles={"Id": "record-id"},
                      format_options={"table": name})  # fmt: skip
    result = masktron.assess(
        tmp_path / "second.sqlite",
        data,
        manifest=tmp_path / "second.manifest.json",
        against=tmp_path / "first.sqlite",
        measures=["differencing"],
    )
    assert any("30 respondents are in both releases, put together by Id" in note for note in result.notes)


def test_what_is_lacking_is_named(releases: Releases, tmp_path: Path) -> None:
    folder = releases.folder
    with refused(UsageError, "needs-setting", setting="--manifest FILE"):
        masktron.assess(folder / "second.xml", folder / "second.data.xml", against=folder / "first.xml")
    with refused(UsageError, "needs-setting", setting="--against-original FILE"):
        releases.compare("less", "first", against_original=None)
    with refused(UsageError, "needs-setting", setting="--against-manifest FILE"):
        releases.compare("second", "first", against_manifest=tmp_path / "none.json")
    with refused(UsageError, "not-of-one-run"):
        releases.compare("second", "first", against_manifest=folder / "second.manifest.json")
    with refused(UsageError, "needs-setting", setting="--against FILE"):
        masktron.assess(folder / "second.xml", folder / "second.data.xml", against_manifest=folder / "x.json")
    with refused(UsageError, "needs-setting", name="differencing"):
        masktron.assess(
            folder / "second.xml",
            folder / "second.data.xml",
            manifest=folder / "second.manifest.json",
            measures=["differencing"],
        )
    with refused(UsageError, "setting-not-usable", name="differencing"):
        masktron.mask(folder / "first.data.xml", releases.rules, tmp_path / "m.xml", limits={"differencing": 1.0})


@pytest.mark.full
def test_on_the_command_line(releases: Releases, run: Runner, tmp_path: Path) -> None:
    folder, report = releases.folder, tmp_path / "report.json"
    common = ["assess", folder / "second.xml", "--original", folder / "second.data.xml"]
    common += ["--manifest", folder / "second.manifest.json"]
    page = tmp_path / "page.html"
    outcome = run(*common, "--against", folder / "first.xml", "--measures", "block_k,differencing", "--json", report,
                  "--html", page)  # fmt: skip
    assert outcome.code == 0, outcome.err
    content = json.loads(report.read_text())
    conforms(content, "assess")
    assert [path.rpartition("/")[2] for path in content["against"]] == ["first.xml"]
    assert [one["figure"] for one in content["figures"]] == ["block_k", "differencing"]
    assert "differencing" in outcome.out
    assert "beside what was released earlier: first.xml" in page.read_text()
    assert run(*common, "--against-manifest", folder / "first.manifest.json").code == 2


def determined(releases: list[Path]) -> tuple[int, int]:
    """Solve the sums of households that are alike, position by position: how many values there are and come out."""
    found: list[dict[int, tuple[object, ...]]] = []
    for out in releases:
        content = json.loads(out.with_suffix(".manifest.json").read_text(encoding="utf-8"))
        units = zip(content["order"], parsed(out), strict=True)
        found.append({at: (composition(unit), *masked_values(unit)) for at, unit in units})
    values = solved = 0
    for place in range(1, max(map(len, found[0].values()))):
        rows = [at for at, unit in found[0].items() if len(unit) > place]
        sums = [
            [float(release[at] == group) for at in rows]
            for release in found
            for group in {release[at] for at in rows}
        ]
        known = np.linalg.pinv(np.array(sums)) @ np.array(sums)
        values, solved = values + len(rows), solved + int((abs(np.diag(known) - 1) < 1e-9).sum())
    return values, solved


@pytest.mark.full
def test_two_releases_of_households_tell_what_their_sums_determine(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 21, mixed=True)
    outs = [tmp_path / "one.xml", tmp_path / "two.xml", tmp_path / "file.xml"]
    for out, k, order in zip(outs, (3, 4, 3), (None, None, "file"), strict=True):
        masktron.mask(
            data,
            rules,
            out,
            roles=ROLES,
            k=k,
            secret=bytes(range(16, 48)),
            member_order=order,
            max_observed_share=100,
        )
    given: dict[str, Any] = {"measures": ["differencing"], "manifest": tmp_path / "two.manifest.json"}
    result = masktron.assess(outs[1], data, against=outs[0], **given)
    [note] = [note for note in result.notes if note.startswith("differencing: 60 respondents")]
    values, solved = determined(outs[:2])
    told = COUNTS.search(note)
    assert told is not None
    assert tuple(int(one.replace(",", "")) for one in told.groups()[:2]) == (values, solved)
    assert solved > 0
    other = masktron.assess(outs[1], data, against=outs[2], **given)
    assert any("in another order" in note for note in other.notes), other.notes
    assert np.isnan(other.figures[0].value)
