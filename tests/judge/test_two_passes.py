"""Rules across records in two passes over a real file are the same as the engine on the whole document."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from across_rules import (
    BOTH,
    CONSTANT,
    DOMAIN,
    FIELDS,
    LAYOUT,
    LETS,
    UNIQUE,
    UNIQUE_LATER,
    WHOLE,
    WHOLE_LATER,
    book_of,
    plain,
    rows_of,
)
from across_runs import Row, texts, write
from cli_runner import Runner, write_rules
from examples import examples, parts
from masktron.errors import RulebookError
from masktron.judge import tiered
from masktron.judge.across.two_passes import FlatTable
from masktron.judge.columns.program import compile_program
from masktron.judge.deferral import DocumentFrame
from masktron.judge.exact import evaluate
from masktron.judge.findings import Evaluation, Finding, Shown
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schema import Rulebook, XPathVersion
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import iter_batches, survey_plain
from refusals import refused
from rulebook_builder import rulebook


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    """Batches have several parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("masktron.judge.walk.PART", 4)
        yield


WIDE: Row = {"@id": "w", "ID": "w", "A": "1", "B": "2", "V": "2.5"}


def data_of(value: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Row]]:
    """Enough records for the reader, the first of which has every field."""
    return rows_of(value).map(lambda rows: [*[{**WIDE, "@id": f"w{i}"} for i in range(8)], *rows])


plain_rows = data_of(plain)
odd_rows = data_of(st.sampled_from([None, "1", "0.1", "1e3", "", "x", "a&b", "-4.7"]))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as large."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)


def table_of(path: Path, size: int) -> FlatTable:
    found = survey_plain(path, record="Record")
    assert found is not None
    frame = DocumentFrame.of(path, found[0])
    assert frame is not None
    return FlatTable(lambda: path, found[0], frame, partial(iter_batches, path, found[0], found[2], rows=size))  # type: ignore[arg-type]


def in_passes(
    book: Rulebook, path: Path, size: int = 5, original: Path | None = None, memo: int = 1000, **options
) -> Evaluation:
    table = table_of(path, size)
    beside = None if original is None else partial(table_of, original, size)
    return tiered.over_columns(
        EvaluationRequest(path, book, table.layout, original=original or path, **options),
        tiered.Blocks(table.frame, table.batches, compile_program, beside=beside, memo=memo),
    )


def order(finding: Finding) -> tuple[int, int]:
    return finding.check, finding.record


def compare(
    book: Rulebook,
    data: Sequence[Row],
    size: int = 5,
    original: Sequence[Row] | None = None,
    limit: int | None = 1000,
    of: Layout = LAYOUT,
) -> Evaluation:
    """Assert that all that is said is as from the whole document."""
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "data.xml", of, texts(of, data))
        other = None if original is None else write(Path(folder) / "original.xml", of, texts(of, original))
        layout = table_of(path, size).layout
        shown = Shown(layout.field("@id"), tuple(layout.fields for _ in book.checks))
        options = {"limit": limit, "shown": shown, "keep_verdicts": True}
        sunk: list[Finding] = []
        expected_sunk: list[Finding] = []
        expected = evaluate(
            EvaluationRequest(path, book, layout, original=other or path, sink=expected_sunk.append, **options)
        )
        found = in_passes(book, path, size, other, sink=sunk.append, **options)
    assert found.records == expected.records
    for name in ("fired", "failed", "errors", "judged"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found.findings == expected.findings
    assert sorted(sunk, key=order) == sorted(expected_sunk, key=order)
    for check in range(len(book.checks)):
        own = [f.record for f in sunk if f.check == check]
        assert own == sorted(own)
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("rows", [plain_rows, odd_rows], ids=["plain", "odd"])
@examples(1, full=8)
@given(data=st.data())
def test_all_forms_say_what_the_whole_document_says(
    version: XPathVersion, rows: st.SearchStrategy[list[Row]], data: st.DataObject
) -> None:
    tests = [*UNIQUE, *(t for t in WHOLE if version != "1.0" or "abs" not in t)]
    tests += [] if version == "1.0" else [*UNIQUE_LATER, *WHOLE_LATER]
    kind = data.draw(st.sampled_from(("assert", "report")))
    drawn = data.draw(rows)
    book = book_of(tests, version, kind=kind, message="ID")
    done = compare(book, drawn, data.draw(st.integers(1, 9)), limit=data.draw(st.sampled_from((0, 2, None))))
    if rows is plain_rows and version == "1.0":
        assert done.handed_back == ()


@pytest.fixture
def no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may have the whole document."""

    def refused(*_: object) -> None:
        raise AssertionError("the whole document was parsed")

    monkeypatch.setattr("masktron.judge.exact.parse_tree", refused)
    monkeypatch.setattr("masktron.judge.programs.parse_tree", refused)


GOOD: list[Row] = [{"@id": str(i), "ID": str(i % 4), "A": str(i % 2), "B": "1", "V": f"{i}.14"} for i in range(1, 25)]


@pytest.mark.full
@pytest.mark.usefixtures("no_tree")
@pytest.mark.parametrize("version", parts(BOTH, 1))
def test_no_whole_tree_is_parsed(version: XPathVersion, tmp_path: Path) -> None:
    later = version != "1.0"
    tests = [t for t in (*UNIQUE, *WHOLE) if "[ID[" not in t and (later or "abs" not in t)]
    path = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    domain = [t.replace("document(", "doc(") if later else t for t in DOMAIN]
    book = replace(book_of([*tests, *domain, *(UNIQUE_LATER if later else [])], version), documents=("o.xml",))
    original = write(tmp_path / "original.xml", LAYOUT, texts(LAYOUT, GOOD))
    assert in_passes(book, path, original=original).failed.tolist() == in_passes(book, path).failed.tolist()
    done = in_passes(book, path)
    assert done.handed_back == ()
    assert done.engine.startswith("masktron's columns with ")
    roots = in_passes(book_of(CONSTANT[:8], version, context="/Records", message="count(//Record)"), path)
    assert roots.records == 24
    assert (roots.fired == 1).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("context", ["/", "Records", "/Records"])
@settings(max_examples=2)
@given(data=plain_rows)
def test_rules_at_the_root(version: XPathVersion, context: str, data: list[Row]) -> None:
    tests = [t for t in CONSTANT if version != "1.0" or (t in WHOLE and "abs" not in t)]
    tests = [t for t in tests if "+ A" not in t and "preceding" not in t]
    compare(book_of(tests, version, context=context, kind="report", message="count(//Record)"), data)
    # beside a rule on records, which is evaluated in the same pass
    both = book_of([*tests[:2], "A = 1"], version, message="A")
    patterns = [replace(p, rules=(replace(p.rules[0], context=context),)) for p in both.patterns[:2]]
    compare(replace(both, patterns=(*patterns, both.patterns[2])), data)


@pytest.mark.full
@pytest.mark.parametrize("version", BOTH)
@examples(1, full=2)
@given(data=plain_rows)
def test_variables_fields_and_first_matches(version: XPathVersion, data: list[Row]) -> None:
    for shared, own, test in LETS:
        compare(rulebook([("Record", test)], version=version, schema_lets=shared, rule_lets=own), data, 4)
    fields = rulebook(FIELDS, version=version)
    alone = tuple(replace(fields.patterns[0], rules=(rule,)) for rule in fields.patterns[0].rules)
    compare(replace(fields, patterns=alone), data)
    unique = "count(//Record[ID = current()/ID]) = 1"
    first = [("Record[A = 1]", "B"), ("Record", unique), ("*", "count(//Record) = 2")]
    compare(rulebook(first, version=version), data)


@pytest.mark.few(1)
@pytest.mark.parametrize("version", BOTH)
@settings(max_examples=4)
@given(data=plain_rows, original=st.one_of(st.none(), plain_rows))
def test_values_of_the_original(version: XPathVersion, data: list[Row], original: list[Row] | None) -> None:
    tests = [*DOMAIN, "count(//Record[A = document('o.xml')//A]) > 3"]
    tests = [t if version == "1.0" else t.replace("document(", "doc(") for t in tests]
    book = replace(book_of(tests, version), documents=("o.xml",))
    compare(book, data, 4, original)


def test_what_is_handed_back_is_said() -> None:
    data = [*GOOD, {"ID": "a&b", "A": "1"}, {"ID": "a&b"}]
    tests = ["count(//Record[ID = current()/ID]) = 1", "count(//Record) = 26", "ID = document('o.xml')//ID"]
    done = compare(replace(book_of(tests, "1.0"), documents=("o.xml",)), data)
    assert [(one.check, one.whole) for one in done.handed_back] == [(0, True), (2, False)]
    assert all("markup" in one.reason for one in done.handed_back)
    assert done.failed[1] == 0


def test_an_original_that_is_no_table_is_read_as_ever(tmp_path: Path) -> None:
    path = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    (tmp_path / "o.xml").write_text("<a><b><A>1</A></b><A>0</A></a>")
    book = replace(book_of(["A = document('o.xml')//A", "count(//Record) = 24"], "1.0"), documents=("o.xml",))
    table = table_of(path, 5)
    options = {"original": tmp_path / "o.xml", "keep_verdicts": True}
    asked: list[bool] = []
    found = tiered.over_columns(
        EvaluationRequest(path, book, table.layout, **options),
        tiered.Blocks(table.frame, table.batches, compile_program, beside=lambda: asked.append(True)),
    )
    assert asked == [True]
    assert (
        found.failed.tolist()
        == evaluate(EvaluationRequest(path, book, table.layout, **options)).failed.tolist()
        == [0, 0]
    )


def test_what_no_engine_takes_is_refused_as_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    with refused(RulebookError, "cannot-evaluate", expression="'count(//Record) = no-such(1)'"):
        in_passes(book_of(["count(//Record) = no-such(1)", "count(//Record) = 24"], "2.0"), path)


def test_an_interruption_of_the_first_pass_closes_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    table = table_of(path, 5)
    closed: list[bool] = []

    def batches() -> Generator[Batch]:
        try:
            yield from table.batches()
        finally:
            closed.append(True)

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    book = book_of(["count(//Record) = 24"], "1.0")
    with pytest.raises(KeyboardInterrupt):
        tiered.over_columns(
            EvaluationRequest(path, book, table.layout, progress=interrupt),
            tiered.Blocks(table.frame, batches, compile_program),
        )
    assert closed == [True]


def test_the_file_is_read_twice_and_no_more(tmp_path: Path) -> None:
    path = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    table = table_of(path, 5)
    for context, message, tests, times in (
        ("Record", "ID", ["count(//Record) = 24", "V > 0", "ID = //Record/A"], 2),
        ("Record", "ID", ["V > 0"], 1),
        ("/Records", "count(Record)", ["count(Record) = 24"], 1),
    ):
        read: list[int] = []

        def batches(read: list[int] = read) -> Generator[Batch]:
            read.append(1)
            return table.batches()

        book = book_of(tests, "1.0", context=context, message=message)
        tiered.over_columns(
            EvaluationRequest(path, book, table.layout), tiered.Blocks(table.frame, batches, compile_program)
        )
        assert len(read) == times


@pytest.mark.usefixtures("large")
def test_explain_and_validate_say_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masktron.jobs.common.LARGE", 10)
    run = Runner(capsys)
    unique = "count(//Record[ID = current()/ID]) >= 1"
    rules = write_rules(tmp_path / "r.sch", unique, "count(//Record) > 3")
    data = write(tmp_path / "data.xml", LAYOUT, texts(LAYOUT, GOOD))
    odd = write(tmp_path / "odd.xml", LAYOUT, texts(LAYOUT, [*GOOD, {"ID": "a&b"}]))
    across = "2: across records, two passes (an absolute path)"
    for path, tier in ((data, across), (odd, "3: whole document (there are values of ID with markup")):
        told = [
            rule["tier"] for rule in json.loads(run("explain", rules, "--data", path, "--json", "-").out)["rules"]
        ]
        assert told[0].startswith(tier)
        assert told[1] == across
        said = run("validate", path, "--rules", rules)
        assert said.code == 0
        assert ("R1: needs the whole file in memory (there are values of ID" in said.out) == (path == odd)
        assert "R2: needs" not in said.out


def test_shared_patterns_keep_other_rules_as_they_were() -> None:
    tests = [("Record", "count(//Record[ID = current()/ID]) = 1"), ("Record", "position() > 0"), ("ID", ". = 1")]
    compare(rulebook(tests), GOOD)
    compare(book_of(["A = 1", "count(//Record) = 24", "format-number(V, '0') = '1'", "sum(//V) = A"], "1.0"), GOOD)


_DIRTY = ("7", "3", "3", "", "-0", "0", "1e3", "n/a", "12.50", "+4", "INF", "-INF", "NaN", " 5 ", "1e999", ".5", "-")
_RANKS: dict[XPathVersion, tuple[str, ...]] = {
    "1.0": (
        "count(//Record[A > current()/A]) < 20",
        "count(//Record[number(A) = number(current()/A)]) = 1",
        "count(//Record[ID = current()/ID and A <= current()/A]) < 4",
        "not(preceding-sibling::Record[1]/A = A)",
        "sum(preceding-sibling::Record/B) < 30",
        "not(A = preceding-sibling::Record/A)",
    ),
    "2.0": (
        "count(//Record[number(A) > number(current()/A)]) < 20",
        "count(//Record[number(A) = number(current()/A)]) = 1",
        "count(//Record[ID = current()/ID and number(A) <= number(current()/A)]) < 4",
        "not(following-sibling::Record[1]/A = A)",
        "some $r in //Record satisfies $r/A = B",
        "every $r in //Record satisfies not($r/A = 'none')",
    ),
}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_ranks_and_neighbours_of_numbers_that_are_spelled_oddly(version: XPathVersion, tmp_path: Path) -> None:
    """Once ``1e3`` in one record sent the rule to the whole document, in a time that grows with the square."""
    rows = [
        {"@id": str(i), "ID": str(i % 3), "A": _DIRTY[i * 7 % len(_DIRTY)], "B": str(i % 5), "V": "1"}
        for i in range(60)
    ]
    path = write(tmp_path / "d.xml", LAYOUT, texts(LAYOUT, [*[{**WIDE, "@id": f"w{i}"} for i in range(8)], *rows]))
    book = book_of(_RANKS[version], version)
    found = in_passes(book, path)
    engine = evaluate(EvaluationRequest(path, book, table_of(path, 5).layout, original=path))
    assert not found.handed_back
    assert (found.judged == engine.judged).all()
    assert (engine.failed > 0).sum() >= 4


def test_a_number_beside_markup_is_not_missing_in_an_order(tmp_path: Path) -> None:
    """Once a cell with a comment in it had no place among the others."""
    path = write(
        tmp_path / "d.xml", LAYOUT, texts(LAYOUT, [{**WIDE, "@id": f"w{i}", "A": str(i)} for i in range(20)])
    )
    path.write_text(path.read_text().replace("<A>9</A>", "<A><!-- nine -->9</A>"))
    book = book_of(["count(//Record[A > current()/A]) < 12"], "1.0")
    assert in_passes(book, path).failed.tolist() == [8]


def test_a_small_file_whose_rules_compare_records_is_judged_in_two_passes(tmp_path: Path) -> None:
    path = write(
        tmp_path / "d.xml", LAYOUT, texts(LAYOUT, [{**WIDE, "@id": f"w{i}", "A": str(i % 400)} for i in range(600)])
    )
    book = book_of(["count(//Record[A > current()/A]) < 300"], "1.0")
    request = EvaluationRequest(path, book, table_of(path, 5).layout)
    found = tiered.evaluate(request)
    assert found.engine.startswith("masktron's columns")
    assert (found.judged == evaluate(request).judged).all()
