"""Evaluation over columns with an engine for the rest is the same as the engine for everything."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runner import Runner
from examples import examples, spread
from masktron.errors import DocumentError, RulebookError
from masktron.judge import tiered
from masktron.judge.columns.program import compile_program
from masktron.judge.deferral import DocumentFrame
from masktron.judge.exact import evaluate
from masktron.judge.findings import Assigned, Evaluation, Finding, Shown, Tier
from masktron.judge.request import EvaluationRequest
from masktron.judge.walk import Walk
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import iter_batches, survey, survey_plain
from masktron.sources.xml.xml_source import XmlSource
from plain_twin import FakeCompiler, batches_of
from refusals import refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
LEXEMES = (
    "",
    "0",
    "1",
    "5",
    "-3",
    "2.50",
    "1e3",
    "+5",
    "INF",
    "x",
    " 7 ",
    "a&amp;b",
    "<![CDATA[4]]>",
    "é😀",
    "9" * 20,
)


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    """Batches have several parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("masktron.judge.walk.PART", 4)
        yield


def records(*, flat: bool) -> st.SearchStrategy[list[tuple[str, list[str], list[str], str]]]:
    names = st.sampled_from(("V1", "V2", "V3"))
    record = st.tuples(
        st.sampled_from(("", ' id="a"', ' id="b"', ' id="x&#10;y"')),
        st.lists(st.sampled_from(LEXEMES), min_size=3, max_size=3),
        st.lists(names, min_size=1, max_size=3, unique=True) if flat else st.lists(names, max_size=4),
        st.sampled_from(("", "", "", "\n", "\r\n ", "<!-- c -->", "<?p i?>")),
    )
    return st.lists(record, min_size=12 if flat else 1, max_size=25)


TESTS_1 = (
    "V1 = 5",
    "number(V2) < 3",
    "not(number(V1) < V3)",
    "V1 + V2 = V3 or @id",
    "count(*) < 3",
    "string(V2) != ''",
)
TESTS_2 = (*TESTS_1[:1], "V2 = 0", "xs:decimal(V1) < 3", "every $v in (V1, V3) satisfies $v castable as xs:integer")
CONTEXTS = ("Record", "Record[V1]", "V1", "V2[. > 1]", "@id", "Record[V2 = 0]", "*[self::V3]", "V1/text()")


def text_of(records: list[tuple[str, list[str], list[str], str]]) -> str:
    made = []
    for attributes, values, names, between in records:
        cells = [f"<{name}>{value}</{name}>" for name, value in zip(names, [*values, "8"], strict=False)]
        made.append(f"<Record{attributes}>{between.join(['', *cells])}{between}</Record>")
    return f"{HEAD}<Data>\n{''.join(record + '\n' * (i % 3) for i, record in enumerate(made))}</Data>"


def write(folder: Path, text: str, codec: str = "utf-8") -> Path:
    path = folder / "data.xml"
    path.write_bytes(text.encode(codec))
    return path


def rules(folder: Path, body: str, head: str = "") -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>{body}</schema>", encoding="utf-8")
    return read_rules(path)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def layout_of(path: Path) -> Layout:
    return survey(path, record="Record")[0]


def columns(
    path: Path,
    rulebook: Rulebook,
    layout: Layout,
    compiler: FakeCompiler,
    size: int = 7,
    codec: str = "utf-8",
    memo: int = tiered.MEMO,
    **more,
) -> Evaluation:
    frame = DocumentFrame.of(path, layout)
    assert frame is not None
    return tiered.over_columns(
        EvaluationRequest(path, rulebook, layout, **more),
        tiered.Blocks(frame, lambda: batches_of(path, layout, size, codec), compiler, memo=memo),
    )


def assert_same(one: Evaluation, other: Evaluation) -> None:
    assert one.records == other.records
    for name in ("fired", "failed", "errors"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.findings == other.findings
    if one.verdicts is not None and other.verdicts is not None:
        assert one.verdicts.tolist() == other.verdicts.tolist()


@st.composite
def rulebooks(draw: st.DrawFn, tests: tuple[str, ...]) -> str:
    patterns = []
    for _ in range(draw(st.integers(1, 3))):
        body = ""
        for _ in range(draw(st.integers(1, 3))):
            context = draw(st.sampled_from(CONTEXTS))
            checks = draw(
                st.lists(
                    st.tuples(st.sampled_from(("assert", "report")), st.sampled_from(tests)), min_size=1, max_size=3
                )
            )
            inner = "".join(
                f'<{kind} test="{escaped(test)}">{k} <value-of select="."/>, <value-of select="V1"/></{kind}>'
                for k, (kind, test) in enumerate(checks)
            )
            body += f'<rule context="{escaped(context)}">{inner}</rule>'
        patterns.append(f"<pattern>{body}</pattern>")
    return "".join(patterns)


CASES = [("", TESTS_1), ('queryBinding="xslt2"', TESTS_2)]


@dataclass
class Drawn:
    """A file, a rulebook and how they are evaluated."""

    path: Path
    rulebook: Rulebook
    layout: Layout
    options: dict[str, object]
    with_sink: bool


def drawn(folder: Path, head: str, tests: tuple[str, ...], data: st.DataObject, *, flat: bool) -> Drawn:
    path = write(folder, text_of(data.draw(records(flat=flat))))
    body = data.draw(rulebooks(tests))
    rulebook = rules(folder, f'<ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>{body}', head)
    layout = layout_of(path)
    shown = Shown(layout.field("@id"), tuple(layout.fields for _ in rulebook.checks))
    limit = data.draw(st.sampled_from((0, 1, 3, 1000, None)))
    return Drawn(path, rulebook, layout, {"limit": limit, "shown": shown}, data.draw(st.booleans()))


def assert_equal_to_the_engine(case: Drawn, columnar: Callable[..., Evaluation]) -> None:
    sunk: list[Finding] = []
    expected_sunk: list[Finding] = []
    expected = evaluate(
        EvaluationRequest(
            case.path,
            case.rulebook,
            case.layout,
            sink=expected_sunk.append if case.with_sink else None,
            **case.options,
        ),
        chunk=4,
    )
    done = columnar(sink=sunk.append if case.with_sink else None, keep_verdicts=True, **case.options)
    assert_same(done, expected)
    assert sunk == expected_sunk
    if case.with_sink:
        assert len(sunk) == expected.violations


@pytest.mark.few(1)
@pytest.mark.parametrize(("head", "tests"), CASES, ids=["1.0", "2.0"])
@examples(6, full=40)
@given(data=st.data())
def test_equal_to_the_engine_alone(
    tmp_path_factory: pytest.TempPathFactory, head: str, tests: tuple[str, ...], data: st.DataObject
) -> None:
    case = drawn(tmp_path_factory.mktemp("case"), head, tests, data, flat=False)
    without = frozenset(data.draw(st.sets(st.integers(0, len(case.rulebook.checks) - 1))))
    compiler = FakeCompiler(data.draw(st.integers(0, 99)), data.draw(st.sampled_from((0.0, 0.3, 1.0))), without)
    size, memo = data.draw(st.integers(1, 30)), data.draw(st.sampled_from((0, 2, 1000)))
    fixed = partial(columns, case.path, case.rulebook, case.layout, compiler, size=size, memo=memo)
    assert_equal_to_the_engine(case, fixed)


@pytest.mark.few(1)
@pytest.mark.parametrize(("head", "tests"), CASES, ids=["1.0", "2.0"])
@examples(6, full=40)
@given(data=st.data())
def test_the_reader_and_the_program_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, head: str, tests: tuple[str, ...], data: st.DataObject
) -> None:
    case = drawn(tmp_path_factory.mktemp("case"), head, tests, data, flat=True)
    found = survey_plain(case.path, record="Record")
    assert found is not None
    frame = DocumentFrame.of(case.path, case.layout)
    assert frame is not None
    batches = partial(iter_batches, case.path, case.layout, found[2], rows=data.draw(st.integers(1, 30)))

    def fixed(**options: Any) -> Evaluation:
        request = EvaluationRequest(case.path, case.rulebook, case.layout, **options)
        return tiered.over_columns(request, tiered.Blocks(frame, batches, compile_program))

    assert_equal_to_the_engine(case, fixed)


def position(text: str, location: str) -> tuple[int, int]:
    """Line and column of the element of a location, read off the text of a file without namespaces."""
    steps = [(name, int(number or 1)) for name, number in re.findall(r"/(\w+)(?:\[(\d+)\])?", location)]
    at = stop = 0
    for name, number in steps[1:]:
        starts = [m.start() for m in re.finditer(rf"<{name}[\s/>]", text[at : stop or len(text)])]
        at += starts[number - 1]
        end = re.search(rf"</{name}\s*>", text[at:])
        stop = at + end.end() if end else at
    before = re.split(r"\r\n|\r|\n", text[:at])
    return len(before), len(before[-1]) + 1


ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r", "none": ""}


@pytest.mark.few(3)
@pytest.mark.parametrize("end", spread(ENDS.values(), every=3), ids=ENDS)
@pytest.mark.parametrize("codec", ["utf-8", "iso8859-1", "utf-8-sig", "utf-16"])
def test_lines_and_columns_are_those_of_the_text(tmp_path: Path, codec: str, end: str) -> None:
    name = {"utf-8-sig": "UTF-8", "iso8859-1": "ISO-8859-1", "utf-16": "UTF-16"}.get(codec, "UTF-8")
    more = "" if codec == "iso8859-1" else "😀"
    record = (
        f'<Record id="é{more}"{end or " "}b="2">é<V1>é{more}</V1>{end}{end} <V2 {end}>é</V2><V1/></Record >{end}é'
    )
    text = f'<?xml version="1.0" encoding="{name}"?>{end}<Data>' + record.replace("é<V1", "<V1")[:-1] * 40 + "</Data>"
    path = write(tmp_path, text, codec)
    rulebook = rules(
        tmp_path,
        "".join(
            f'<pattern><rule context="{c}"><report test="true()"/></rule></pattern>'
            for c in ("Record", "V1", "V2", "@b")
        ),
    )
    layout = layout_of(path)
    mark = "\ufeff" if codec in ("utf-8-sig", "utf-16") else ""
    whole = evaluate(EvaluationRequest(path, rulebook, layout))
    assert whole.failed.tolist() == [40, 80, 40, 40]
    for finding in whole.findings:
        assert (finding.line, finding.column) == position(mark + text, finding.location.partition("/@")[0])
    if codec != "utf-16":
        assert_same(columns(path, rulebook, layout, FakeCompiler(), codec=codec.removesuffix("-sig")), whole)


def test_nodes_outside_records_have_lines_and_columns(tmp_path: Path) -> None:
    text = (
        "<Data>\n <!-- c --><Header>\n <N a='1'>2</N><N>3</N></Header>\n<Record><V1>1</V1></Record><Record/></Data>"
    )
    path = write(tmp_path, text)
    body = "".join(
        f'<pattern><rule context="{c}"><report test="true()"/></rule></pattern>'
        for c in ("N", "@a", "/", "/Data", "Record")
    )
    done = evaluate(EvaluationRequest(path, rules(tmp_path, body), layout_of(path), shown=Shown(None, ())))
    found = [(f.location, f.line, f.column, f.record) for f in done.findings]
    assert found == [
        ("/Data/Header/N[1]", 3, 2, -1),
        ("/Data/Header/N[2]", 3, 16, -1),
        ("/Data/Header/N[1]/@a", 3, 2, -1),
        ("/", 1, 1, -1),
        ("/Data", 1, 1, -1),
        ("/Data/Record[1]", 4, 1, 0),
        ("/Data/Record[2]", 4, 28, 1),
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_findings_show_the_key_and_the_values_of_their_record(tmp_path: Path, whole: bool) -> None:
    text = (
        '<Data><Record id=" a "><V1>1&lt;<!-- c -->2</V1><V2/></Record><Record><V2>3</V2><V2>4</V2></Record></Data>'
    )
    path = write(tmp_path, text)
    test = "count(//Record) > 0" if whole else "true()"
    rulebook = rules(tmp_path, f'<pattern><rule context="Record"><report test="{escaped(test)}"/></rule></pattern>')
    layout = layout_of(path)
    fields = tuple(f for f in layout.fields if not f.attribute)
    done = evaluate(EvaluationRequest(path, rulebook, layout, shown=Shown(layout.field("@id"), (fields,))))
    assert [(f.record_id, f.values) for f in done.findings] == [
        ("a", (("V1", "1<2"), ("V2", ""))),
        ("", (("V1", None), ("V2", "3"), ("V2", "4"))),
    ]
    without = evaluate(EvaluationRequest(path, rulebook, layout))
    assert [(f.record_id, f.values) for f in without.findings] == [(None, ()), (None, ())]


NAMESPACED = """<?xml version="1.0"?>
<!-- kept out --><d:Data xmlns:d="urn:d" xmlns="urn:v" xmlns:e="urn:d" version="2 &lt; &quot;3">
<e:List n="&#10;1"><d:Record d:id="1"><V1>1</V1></d:Record>
<d:Record d:id="2"><V1>2</V1></d:Record></e:List></d:Data>"""


def test_records_keep_what_stands_around_them(tmp_path: Path) -> None:
    path = write(tmp_path, NAMESPACED)
    namespaces = '<ns prefix="x" uri="urn:d"/><ns prefix="v" uri="urn:v"/>'
    body = """<pattern><rule context="x:List/x:Record"><report test="@x:id = 2 and v:V1 = 2">
        <value-of select="v:V1"/> <name/></report><assert test="/x:Data/@version = '2 &lt; &quot;3'"/>
        </rule></pattern>"""
    rulebook, layout = rules(tmp_path, namespaces + body), layout_of(path)
    frame = DocumentFrame.of(path, layout)
    assert frame is not None
    assert frame.outside == {"@version", "@n"}

    def batches():
        for batch in batches_of(path, replace(layout, record_path=("d:Record",)), 1):
            yield replace(batch, layout=layout)

    compiler = FakeCompiler(without=frozenset({0, 1}))
    done = tiered.over_columns(
        EvaluationRequest(path, rulebook, layout, keep_verdicts=True), tiered.Blocks(frame, batches, compiler)
    )
    expected = evaluate(EvaluationRequest(path, rulebook, layout))
    assert_same(done, expected)
    assert done.failed.tolist() == [1, 0]
    assert done.findings[0].message == "2 d:Record"


@pytest.fixture
def plain(tmp_path: Path) -> tuple[Path, Rulebook, Layout]:
    text = text_of([(f' id="{i}"', [str(i % 3), "", "5"], ["V1", "V2", "V3"], "") for i in range(60)])
    path = write(tmp_path, text)
    body = """<pattern><rule context="Record"><report test="V1 = 1">one <value-of select="@id"/></report>
        <assert test="V1 = 2"/></rule></pattern>"""
    return path, rules(tmp_path, body), layout_of(path)


def test_equal_cells_are_asked_about_once(
    plain: tuple[Path, Rulebook, Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rulebook, layout = plain
    asked: list[int] = []
    own = DocumentFrame.document
    monkeypatch.setattr(
        DocumentFrame, "document", lambda self, batch, rows: asked.append(len(rows)) or own(self, batch, rows)
    )
    position = next(i for i, f in enumerate(layout.fields) if f.name == "V1")
    for memo, number in ((0, 60), (2, None), (1000, 3)):
        asked.clear()
        compiler = FakeCompiler(share=1.0)
        monkeypatch.setattr("plain_twin.FakeProgram.reads", lambda self, check: frozenset({position}))
        done = columns(path, rulebook, layout, compiler, memo=memo, limit=0, keep_verdicts=True)
        assert_same(done, evaluate(EvaluationRequest(path, rulebook, layout, limit=0)))
        assert number in (None, sum(asked))


def test_columns_that_lie_are_found_out(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    assert columns(path, rulebook, layout, FakeCompiler()).failed.tolist() == [20, 40]
    with refused(RulebookError, "engines-disagree", about="'V1 = 1' in record 42"):
        columns(path, rulebook, layout, FakeCompiler(spoil=(41, 0)), size=20)


def test_a_file_that_changes_is_refused(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    frame = DocumentFrame.of(path, layout)
    assert frame is not None
    (batch,) = batches_of(path, layout, 100)
    cut = replace(batch, stops=batch.stops - 1)
    with refused(DocumentError, "file-changed", what=": records 1 to 4 are no longer what they were"):
        tiered.over_columns(
            EvaluationRequest(path, rulebook, layout),
            tiered.Blocks(frame, lambda: (b for b in [cut]), FakeCompiler(without=frozenset({0, 1}))),
        )


def test_an_interruption_closes_the_file_and_goes_on(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    frame = DocumentFrame.of(path, layout)
    assert frame is not None
    closed: list[bool] = []

    def batches():
        try:
            yield from batches_of(path, layout, 10)
        finally:
            closed.append(True)

    def interrupt(done: int) -> None:
        if done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiered.over_columns(
            EvaluationRequest(path, rulebook, layout, progress=interrupt),
            tiered.Blocks(frame, batches, FakeCompiler()),
        )
    assert closed == [True]


def test_memory_does_not_hold_findings_that_go_to_a_sink(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    sunk: list[Finding] = []
    done = columns(path, rulebook, layout, FakeCompiler(), limit=2, sink=sunk.append, size=9, keep_verdicts=False)
    assert [f.check for f in done.findings] == [0, 0, 1, 1]
    assert len(sunk) == 60
    assert [(f.record, f.check) for f in sunk] == sorted((f.record, f.check) for f in sunk)
    assert done.verdicts is None
    with pytest.raises(ValueError, match="not kept"):
        _ = done.judged


def test_no_more_findings_are_made_than_a_sink_needs(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    every: list[Finding] = []
    columns(path, rulebook, layout, FakeCompiler(), limit=1, sink=every.append, size=9)
    for sunk, limit in ((0, 5), (5, 0), (5, 3)):
        wanted = max(sunk, limit)
        for done in ("columns", "engine"):
            some: list[Finding] = []
            options = {"limit": limit, "sink": some.append, "sunk": sunk}
            if done == "columns":
                found = columns(path, rulebook, layout, FakeCompiler(), size=9, **options)
            else:
                found = evaluate(EvaluationRequest(path, rulebook, layout, **options), chunk=4)
            assert found.failed.tolist() == [sum(f.check == check for f in every) for check in (0, 1)]
            for check in (0, 1):
                own, all_own = ([f for f in them if f.check == check] for them in (some, every))
                assert wanted <= len(own) < len(all_own)
                assert own == all_own[: len(own)]
                assert [f for f in found.findings if f.check == check] == all_own[:limit]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as large."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)


@pytest.mark.usefixtures("large")
def test_validate_reads_columns_and_says_the_same(
    plain: tuple[Path, Rulebook, Layout], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rulebook, _ = plain
    run = Runner(capsys)
    arguments = ("validate", path, "--rules", rulebook.path, "--json", "-")
    done = json.loads(run(*arguments).out)
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 1 << 40)
    other = json.loads(run(*arguments).out)
    assert done.pop("engine") == f"masktron's columns with {other.pop('engine')}"
    assert done == other
    assert done["violations"] == 60


@pytest.mark.usefixtures("large")
def test_an_interrupted_validate_leaves_no_thread_and_no_file(
    plain: tuple[Path, Rulebook, Layout],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path, rulebook, _ = plain
    own = Walk.batch
    threads: list[int] = []

    def interrupted(self: Walk, batch: Batch) -> Iterator[int]:
        yield from own(self, batch)
        threads.append(threading.active_count())
        raise KeyboardInterrupt

    monkeypatch.setattr(Walk, "batch", interrupted)
    monkeypatch.setattr("masktron.report.watch.QUICK", 600.0)
    before, files = threading.active_count(), set(tmp_path.iterdir())
    svrl = tmp_path / "report.svrl"
    done = Runner(capsys)("validate", path, "--rules", rulebook.path, "--svrl", svrl)
    assert done.code == 130
    assert done.err.splitlines() == ["interrupted; nothing was written"]
    assert threads[0] > before
    assert threading.active_count() == before
    assert set(tmp_path.iterdir()) == files


@pytest.mark.usefixtures("large")
def test_a_large_file_that_is_broken_at_its_end_is_refused_as_ever(
    plain: tuple[Path, Rulebook, Layout], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rulebook, _ = plain
    path.write_bytes(path.read_bytes()[:-3])
    done = Runner(capsys)("validate", path, "--rules", rulebook.path)
    assert done.code == 4
    assert "data.xml:" in done.err
    assert "the file ends inside a tag" in done.err


@pytest.mark.usefixtures("large")
def test_each_rule_has_its_tier_and_the_reason(
    plain: tuple[Path, Rulebook, Layout], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, _ = plain
    body = "".join(
        f'<pattern><rule context="Record"><assert test="{escaped(test)}"/></rule></pattern>'
        for test in (
            "V1 = 1",
            "format-number(V1, '0') = '1'",
            "V1 = preceding-sibling::Record/V1",
            "name(preceding-sibling::Record[1]/V1) = 'V1'",
        )
    )
    rulebook = rules(tmp_path, body)
    request = EvaluationRequest.of(XmlSource(path, record="Record"), rulebook)
    columnar, alone, across, whole = tiered.tiers_asked(request)
    assert columnar == Assigned(Tier.COLUMNS)
    assert str(columnar) == "1: columns"
    assert (alone.tier, "format-number" in alone.reason) == (Tier.RECORDS, True)
    assert str(across) == "2: across records, two passes (the axis preceding-sibling)"
    assert str(whole) == "3: whole document (the axis preceding-sibling)"
    with monkeypatch.context() as patched:
        patched.setattr("masktron.sources.xml.wellformed.SMALLEST", 1 << 30)
        request = EvaluationRequest.of(XmlSource(path, record="Record"), rulebook)
        without = tiered.tiers_asked(request, "it is small")
    assert [str(a) for a in without[:2]] == ["2: record by record (it is small)"] * 2
    assert [str(a) for a in without[2:]] == ["3: whole document (the axis preceding-sibling)"] * 2


def test_saxon_in_1_0_mode_decides_without_columns(plain: tuple[Path, Rulebook, Layout], tmp_path: Path) -> None:
    path, _, layout = plain
    body = """<pattern><rule context="Record"><assert test="V1 = 1.14"/></rule></pattern>
        <pattern><rule context="Record[V1][1]"><assert test="V1 = 1"/></rule>
        <rule context="V1"><assert test=". = 1"/></rule></pattern>"""
    rulebook = rules(tmp_path, body)
    frame = DocumentFrame.of(path, layout)
    assert frame is not None
    chosen: list[set[int]] = []

    class Noting(FakeCompiler):
        def __call__(self, rulebook: Rulebook, layout: Layout, checks: Collection[int]):
            chosen.append(set(checks))
            return super().__call__(rulebook, layout, checks)

    for engine, expected in (("auto", {0}), ("saxon", set())):
        done = columns(path, rulebook, layout, Noting(), engine=engine, keep_verdicts=True)
        assert chosen.pop() == expected
        assert_same(done, evaluate(EvaluationRequest(path, rulebook, layout, engine=engine)))


def test_only_what_is_open_is_taken_from_the_engine(plain: tuple[Path, Rulebook, Layout]) -> None:
    path, rulebook, layout = plain
    for seed in range(5):
        done = columns(path, rulebook, layout, FakeCompiler(seed, share=0.1), size=60, keep_verdicts=True)
        assert_same(done, evaluate(EvaluationRequest(path, rulebook, layout)))


@pytest.mark.parametrize("memo", [0, 1000])
def test_cells_that_only_look_equal_are_asked_about_apart(tmp_path: Path, memo: int) -> None:
    cells = ("", "<V1></V1>", "<V1>a&amp;b</V1>", "<V1>a&lt;b</V1>", "<V1><![CDATA[c]]></V1>", "<V1/>", "<V1>c</V1>")
    path = write(tmp_path, f"<Data>{''.join(f'<Record>{cell}<V2>1</V2></Record>' for cell in cells)}</Data>")
    body = """<pattern><rule context="Record"><report test="V1"/><report test="V1 = 'a&amp;b'"/>
        <report test="V1 = 'c'"/></rule></pattern>"""
    rulebook, layout = rules(tmp_path, body), layout_of(path)
    done = columns(path, rulebook, layout, FakeCompiler(share=1.0), memo=memo, keep_verdicts=True)
    assert done.failed.tolist() == [6, 1, 2]
    assert_same(done, evaluate(EvaluationRequest(path, rulebook, layout)))


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "act", [Path.unlink, lambda path: path.with_name("new.xml").replace(path)], ids=["gone", "new"]
)
def test_a_file_that_is_replaced_meanwhile_is_refused(tmp_path: Path, act: Callable[[Path], object]) -> None:
    """The reader still has the old file, but what needs the whole document would open the new one."""
    text = "<Data>" + "<Record><V1>1</V1></Record>" * 20 + "</Data>"
    path = write(tmp_path, text)
    (tmp_path / "new.xml").write_text(text.replace("1", "2"), encoding="utf-8")
    body = "".join(
        f'<pattern><rule context="Record"><assert test="{test}"/></rule></pattern>'
        for test in ("V1 = 1", "count(//Record[V1 = 1]) = 20")
    )
    source = XmlSource(path)
    assert source.count == 20
    done: list[int] = []

    def progress(records: int) -> None:
        if not done:
            act(path)
        done.append(records)

    with pytest.raises(DocumentError, match=r"changed|does not exist"):
        tiered.evaluate(EvaluationRequest.of(source, rules(tmp_path, body), progress=progress))
