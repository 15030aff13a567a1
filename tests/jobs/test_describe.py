"""What describe says of a file: kinds against those of mask, counts against Python, pages of rows, no values."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import Runner, write_data, write_rules
from examples import examples
from masktron.codes import apart, suspects
from masktron.config import Config, Role
from masktron.errors import DocumentError, UsageError
from masktron.jobs import describe as module
from masktron.results import DescribeResult, FieldDescription
from masktron.roles import resolve_roles
from masktron.sources.opening import open_source
from refusals import code_of, refused
from schema_files import conforms

VALUES = st.sampled_from(["1", "2", "3", " 4 ", "01", "1.5", "-9", "NA", "x", "y z", "", None, "1e3", "+7", "400"])
KINDS = st.sampled_from(["", "nominal", "numeric", "ordinal"])
ROLES = st.sampled_from([None, "confidential", "untouched", "identifier"])


def by_name(result: DescribeResult) -> dict[str, FieldDescription]:
    return {field.name: field for field in result.fields}


@examples(10, full=500)
@given(
    values=st.lists(VALUES, min_size=1, max_size=30),
    often=st.integers(1, 6),
    kind=KINDS,
    role=ROLES,
    code=st.booleans(),
)
def test_kinds_are_those_of_mask(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[str | None],
    often: int,
    kind: str,
    role: str | None,
    code: bool,
) -> None:
    """A field is what `resolve_roles` makes of it, or there is a problem where that or `suspects` refuses."""
    rows: list[dict[str, object]] = [{"F": value, "G": 5 * at + 1} for at, value in enumerate(values * often)]
    path = write_data(tmp_path_factory.mktemp("d") / "d.xml", rows)
    kinds: dict[str, Any] = {kind: {"F": ()} if kind == "ordinal" else ("F",)} if kind else {}
    config = Config(
        roles={} if role is None else {"F": Role(role)},
        missing={"F": frozenset({"NA", "-9"})} if code else {},
        **kinds,
    )
    records = open_source(path).records(missing=config.missing)
    if "F" not in records.columns:
        return
    told = masktron.describe(path, config=config)
    field, problems = by_name(told)["F"], [one for one in told.problems if one.field == "F"]
    try:
        facts = resolve_roles(records, config)
    except (UsageError, DocumentError) as error:
        if code_of(error) != "bad-order":  # describe does not look whether values have a place in their order
            assert problems or field.kind is None, error.what
        return
    fact = next(one for one in facts if one.name == "F")
    asked = {name for name, _ in suspects(records, facts, (), config).codes}
    present = records.columns["F"].present
    lexemes = [str(value).strip() for value in records.columns["F"].lexemes[present]]
    of_missing = [one for one in problems if "it may mean 'missing'" in one.what]
    of_kinds = [one for one in problems if one not in of_missing]
    assert bool(of_missing) == bool(apart(Counter(lexemes), len(lexemes)))
    assert bool(of_kinds) == ("F" in asked)
    assert field.role == str(fact.role)
    if fact.role is Role.CONFIDENTIAL and not of_kinds:
        assert field.kind == (None if field.type == "empty" else str(fact.kind))
    assert (field.type == "empty") == (not lexemes)
    assert (field.missing, field.distinct) == (len(present) - int(present.sum()), len(set(lexemes)))
    if field.frequent:
        counted = sorted(Counter(lexemes).items(), key=lambda one: (-one[1], one[0]))[:10]
        assert [(one.value, one.records) for one in field.frequent] == counted


@pytest.mark.parametrize(("records", "kind"), [(24, "number"), (59, "number"), (60, None)])
def test_few_integers_look_like_codes_where_many_records_share_them(records: int, kind: str | None) -> None:
    described = by_name(masktron.describe(pd.DataFrame({"F": [at % 12 for at in range(records)]})))
    assert described["F"].kind == kind


def frame(size: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "Name": [f"secret{at}" for at in range(size)],
            "Code": rng.choice(["a", "b"], size),
            "Amount": rng.integers(100_000, 999_999, size),
            "Odd": ["12", "13.5", *map(str, rng.integers(1, 99, size - 3)), "twelve"],
        }
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    frame().to_csv(tmp_path / "d.csv", index=False)
    return tmp_path / "d.csv"


def test_problems_have_record_and_line(data: Path) -> None:
    result = masktron.describe(data)
    problem = next(one for one in result.problems if one.field == "Odd")
    assert (problem.record, problem.line) == (50, 51)
    assert "holds a text in record 50" in problem.what
    assert "twelve" not in str(result.problems)
    assert {one.field for one in result.problems} == {"Name", "Code", "Odd"}
    assert (
        by_name(masktron.describe(data, roles={"Name": "record-id"}))["Name"].why
        == "declared as record-id: not masked"
    )


def test_rows_are_paged(data: Path) -> None:
    rows = masktron.describe(data, rows=3, start=49).rows
    assert [(row.record, row.line) for row in rows] == [(49, 50), (50, 51)]
    assert rows[1].values[0] == "secret49"
    assert rows[1].values[3] == "twelve"
    assert masktron.describe(data, rows=5, start=51).rows == ()
    assert len(masktron.describe(data).rows) == 20
    for wrong in ({"rows": -1}, {"start": 0}, {"rows": 10**6}, {"rows": 1.5}):
        arguments: Any = wrong
        with pytest.raises(UsageError):
            masktron.describe(data, **arguments)


def test_release_safe_shows_no_value(data: Path) -> None:
    open_, safe = masktron.describe(data), masktron.describe(data, release_safe=True)
    values = {str(value) for column in frame() for value in frame()[column] if len(str(value)) > 3}
    told = json.dumps(safe.as_dict()) + repr(safe)
    assert not [value for value in values if value in told]
    assert [value for value in values if value in json.dumps(open_.as_dict())]
    assert "CONFIDENTIAL" in repr(open_)
    assert "CONFIDENTIAL" not in repr(safe)
    assert [one.distinct for one in safe.fields] == [one.distinct for one in open_.fields]


def test_release_safe_does_not_say_which_record_holds_a_text(tmp_path: Path) -> None:
    path = write_data(tmp_path / "d.xml", [{"A": at if at != 6 else "unknown"} for at in range(9)])
    (told,) = masktron.describe(path, release_safe=True).problems
    assert (told.what, told.field, told.record, told.line) == ("the numeric field 'A' holds a text", "A", 0, 0)
    (told,) = masktron.describe(path).problems
    assert (told.record, told.line) == (7, 8) and "record 7" in told.what


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["d.csv", "d.xml"])
def test_a_file_that_is_streamed_says_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, size, long = tmp_path / name, 20_000, "N" * 50
    rows: list[dict[str, object]] = [
        {
            f"A{long}": at % 7,
            f"B{long}": f"{at}.5" if at % 3 else None,
            "C": f"c{at % 900}",
            "D": 7 * (at // 3),
            "E": 9 * at,
        }
        for at in range(size)
    ]
    if name == "d.csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        write_data(path, rows)
    assert open_source(path).document.flat is not None
    batches: list[int] = []
    streamed = module._streamed

    def spied(*arguments: Any) -> Any:
        found = streamed(*arguments)
        batches.append(0 if found is None else found.count)
        return found

    monkeypatch.setattr(module, "_streamed", spied)
    one = masktron.describe(path, start=size - 10)
    assert batches == [size]
    assert [note.partition(" of records")[0] for note in one.notes if note.startswith("D")] == [
        "D is masked as an amount, and repeats in runs"
    ]
    assert [note for note in one.notes if note.startswith("E is masked as an amount, and holds another whole number")]
    monkeypatch.setattr(module, "_streamed", lambda *_: None)
    assert masktron.describe(path, start=size - 10) == one
    assert len(one.rows) == 11


def test_many_values_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.jobs.describe.MOST_DISTINCT", 10)
    field = by_name(masktron.describe(frame()))["Name"]
    assert (field.distinct, field.many, field.frequent) == (10, True, ())


def test_the_command_writes_for_its_owner_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = Runner(capsys), data.with_name("told.json")
    done = run("describe", data, "--rows", 2, "--from", 3, "--json", out)
    assert done.code == 0
    assert "CONFIDENTIAL" in done.out
    assert "secret3" in done.out
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    content = json.loads(out.read_text())
    conforms(content, "describe")
    assert [row["record"] for row in content["rows"]] == [3, 4]
    safe = run("describe", data, "--release-safe")
    assert "secret" not in safe.out
    assert run("describe", data, "--from", 0).code == 2
    assert run("describe", data, "--rows", "some").code == 2
    assert run("describe", data, "--nominal", "Nobody").code == 2
    assert run("describe", data.with_name("none.csv")).code == 4


def test_labels_and_codes_are_told(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("S,V\n" + "1,5.5\n2,6\n9,-1\n" * 5)
    categories = [{"value": "1", "label": "m"}, {"value": "2", "label": "f"}]
    sex = {"name": "S", "title": "Sex", "categories": categories, "missingValues": ["9"]}
    meta = {"fields": [sex, {"name": "V"}]}
    (tmp_path / "d.json").write_text(json.dumps(meta))
    field = by_name(masktron.describe(data, metadata=tmp_path / "d.json", missing={"V": [-1]}))
    assert (field["S"].label, field["S"].labels, field["S"].missing) == ("Sex", {"1": "m", "2": "f"}, 5)
    assert field["S"].missing_codes == {"9": ""}
    assert [(one.value, one.label, one.records) for one in field["S"].frequent] == [("1", "m", 5), ("2", "f", 5)]
    assert (field["V"].missing, field["V"].least, field["V"].greatest) == (5, "5.5", "6")


def test_records_that_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "n.xml").write_text("<D>" + "<R><A>1</A>and<P><Q>1</Q></P></R>\n" * 3 + "</D>")
    result = masktron.describe(tmp_path / "n.xml")
    assert result.fields == ()
    assert "no rows of single values" in result.problems[0].what
    conforms(result.as_dict(), "describe")


@pytest.mark.parametrize(("name", "content"), [("d.csv", "a;b;c\n"), ("d.xml", "<D/>")])
def test_a_file_without_records_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with refused(DocumentError, "no-records"):
        masktron.describe(tmp_path / name)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("code", "others", "many", "told"),
    [
        ("-9", range(40), 10, True),
        ("-9", range(-3, 37), 10, False),
        ("-9", range(40), 2, False),
        ("9999", range(0, 4000, 100), 10, True),
        ("99", range(60, 100), 10, False),
        ("17", range(40), 10, False),
    ],
)
def test_usual_codes_that_stand_apart_are_a_problem(
    tmp_path: Path, code: str, others: range, many: int, told: bool
) -> None:
    path = tmp_path / "d.csv"
    path.write_text("A,B\n" + "".join(f"{value},1\n" for value in [*others, *[code] * many]))
    found = [one for one in masktron.describe(path).problems if "may mean 'missing'" in one.what]
    assert [(one.field, one.hint.partition(" if so")[0]) for one in found] == [
        ("A", f'missing={{"A": ["{code}"]}}')
    ] * told
    assert all(f"{code} in {many} records" in one.what for one in found)
    assert not [one for one in masktron.describe(path, release_safe=True).problems if "may mean" in one.what]
    declared = masktron.describe(path, missing={"A": [code]}).problems
    assert not [one for one in declared if "may mean" in one.what]
    rules = write_rules(tmp_path / "r.sch", "A >= -9")
    notes = masktron.mask(path, rules, tmp_path / "m.csv", k=3, numeric=["A"], roles={"B": "untouched"}).notes
    assert any(f"A is masked as a number, and {code} stands apart from the other values" in n for n in notes) is told
